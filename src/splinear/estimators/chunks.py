"""Checks of the later chunks of partial_fit, whose terms are those of the first."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from splinear._types import Floats
from splinear._warning import warn
from splinear.estimators.reading import TrainingTable
from splinear.losses.base import Loss
from splinear.tables.checks import column_ranges, feature_label

__all__ = ["check_chunk"]


def check_chunk(work: BaseEstimator, data: TrainingTable, loss: Loss) -> None:
    """Check a later chunk of partial_fit, and count its rows."""
    if loss.task != work._loss.task:
        raise ValueError(
            f"y is of another kind ({loss.task}) than in the first call of partial_fit "
            f"({work._loss.task})."
        )
    _check_finite(work, data)
    work._columns = data.columns


def _check_finite(work: BaseEstimator, data: TrainingTable) -> None:
    """Raise if a later chunk has infinity, or missing values or levels new since the first."""
    gaps = work.missing == "level"
    lo, hi, has_gap = column_ranges(work, data.table, data.kept, gaps=gaps)
    if not data.table.is_sparse:  # where a chunk without a word is ordinary
        _warn_of_constants(work, lo, hi)
    for group in work._model.layout.groups:
        if group.levels is not None and (lo[group.features] < 0).any():
            raise ValueError(
                f"Input X contains a level in {feature_label(work, int(group.features[0]))} "
                "that did not occur in the first call of partial_fit. Begin with a chunk that "
                "has all levels."
            )
        new = group.features[has_gap[group.features]]
        if len(new) and not group.has_gaps:
            raise ValueError(
                f"Input X contains NaN in {feature_label(work, int(new[0]))}, which had no "
                "missing values in the first call of partial_fit. Begin with a chunk that has "
                "some."
            )


def _warn_of_constants(work: BaseEstimator, lo: Floats, hi: Floats) -> None:
    """Warn if a later chunk has other values of features that were constant in the first."""
    wrong = [
        j
        for group in work._model.layout.groups
        if group.levels is None
        for j, only, last in zip(
            group.features.tolist(),
            group.embedding.axes.lo,
            group.embedding.axes.hi,
            strict=True,
        )
        if only == last and (lo[j] < only or hi[j] > only)
    ]
    if wrong:
        more = len(wrong) - 1
        others = f" and {more} other column{'s' if more > 1 else ''}" if more else ""
        warn(
            f"{feature_label(work, wrong[0])}{others} had a single value in the first call of "
            "partial_fit, which fixes the ranges of curves, so nothing is learned from it. "
            "Begin with a larger chunk."
        )
