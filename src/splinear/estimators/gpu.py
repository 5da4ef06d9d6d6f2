"""Training and prediction on a GPU, and the choice between it and the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator

from splinear._types import Floats
from splinear.estimators.dual import DualTrainer, PassTrainer
from splinear.estimators.reading import TrainingTable
from splinear.estimators.trainer import Fitter, Trainer
from splinear.model.additive import Model
from splinear.model.layout import Layout, check_ranges
from splinear.model.scoring import Scorer, scorers_of
from splinear.objective.gpu.backend import Backend, Curves
from splinear.objective.gpu.finding import cuda_backend
from splinear.objective.gpu.losses import DeviceMargins
from splinear.objective.gpu.pairs import SentSurfaces
from splinear.objective.gpu.rows import DeviceRows, can_hold, in_memory_of
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.margin_sums import MarginSums
from splinear.objective.training_set import TrainingSet
from splinear.tables.checks import column_ranges
from splinear.tables.device import DeviceTable
from splinear.tables.table import Table
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import Extrapolation, TermGroup

__all__ = ["device_rows", "device_scores", "refusal", "trainer_on"]

AT_ONCE = 2**24  # scores, and positions on surfaces, computed per batch


def refusal(estimator: BaseEstimator, trainer: Trainer, table: Table, layout: Layout) -> str | None:
    """Return why a fit cannot run on a device, as a message; None if it can."""
    if estimator.max_memory is not None:
        return "has no max_memory: the rows lie in the device's memory."
    if hasattr(estimator, "terms_"):
        return "learns from all rows at once, and partial_fit has further chunks."
    if table.is_sparse:
        return "takes dense tables, and X is sparse."
    if not can_hold(table, layout):
        return "has B-splines, categories, and Fourier and Hermite curves of up to 16 functions."
    if isinstance(trainer, DualTrainer) and layout.cone is not None:
        return (
            "takes no Spline with monotone or curvature in AdditiveSVC; AdditiveClassifier and "
            "AdditiveRegressor do."
        )
    return None


def device_rows(
    estimator: BaseEstimator, trainer: Trainer, data: TrainingTable, layout: Layout, seed: int
) -> TrainingRows | None:
    """Return the training rows in the device's memory; None to train on the CPU.

    With device="auto", fits that have no kernels on the device run on the CPU.
    """
    device = getattr(estimator, "device", "cpu")
    if device == "cpu":
        return None
    why = refusal(estimator, trainer, data.table, layout)
    backend = cuda_backend(device)
    if backend is None or (device == "auto" and why is not None):
        return None
    if why is not None:
        raise ValueError(f"device='cuda' {why} Use device='cpu', or 'auto'.")
    make = partial(
        DeviceRows.prepare,
        seed=seed,
        kept=data.kept,
        weights=data.weights,
        row_groups=data.units.groups,
        by_content=trainer.merges_copies,
    )
    return cast(TrainingRows, in_memory_of(backend, make, data.table, layout))


def trainer_on(rows: object, trainer: Trainer) -> Fitter:
    """Return the trainer for these rows.

    Dual coordinate descent runs on the CPU only; rows on a device are trained by full passes.
    """
    if not isinstance(rows, DeviceRows) or not isinstance(trainer, DualTrainer):
        return trainer

    def margins(data: TrainingSet) -> MarginSums:
        return DeviceMargins(trainer.margins(data.response, data.weighted), rows.backend)

    return PassTrainer(margins)


def device_scores(estimator: BaseEstimator, model: Model, table: DeviceTable) -> Floats:
    """Return f(x) of rows on a device as an array on the device, (n_rows, n_outputs)."""
    backend = cuda_backend("cuda")
    assert backend is not None
    out: Floats = scores_on(backend, model, table.on_device)
    gaps = estimator._columns.takes_gaps
    if not gaps or bool(np.isnan(out.sum())) or _refuses(model.layout):
        check_ranges(estimator, model.layout, table)
        column_ranges(estimator, table, gaps=gaps)  # raises an error that names the value
    return out


def _refuses(layout: Layout) -> bool:
    return any(group.extrapolation is Extrapolation.ERROR for group in layout.groups)


def scores_on(backend: Backend, model: Model, X: Any) -> Any:
    """Return f(x) of an array on the device, in batches of rows: (n_rows, n_outputs)."""
    place = backend.name, backend.place
    there = model.prepared(place, lambda: SentTerms.of(backend, model))
    n_positions = 0 if there.surfaces is None else len(there.surfaces.surfaces.positions)
    step = max(1, AT_ONCE // (model.n_outputs + n_positions))
    added = partial(_added, backend, model, there)
    if len(X) <= step:
        out = added(X)
    else:
        out = backend.zeros((model.n_outputs, len(X)))
        for start in range(0, len(X), step):
            out[:, start : start + step] = added(X[start : start + step])
    out += there.intercept
    return out.T


@dataclass(frozen=True, eq=False)
class SentTerms:
    """The terms of a model: those on the device, and those that the host evaluates."""

    surfaces: SentSurfaces | None
    curves: list[Curves]
    others: list[Scorer]
    intercept: Any  # (n_outputs, 1)

    @classmethod
    def of(cls, backend: Backend, model: Model) -> SentTerms:
        """Copy the terms that have kernels to the device."""
        surfaces = SentSurfaces.of(backend, model)
        intercept = backend.array(model.intercept[:, None])
        sent = [
            backend.curves(group, np.ascontiguousarray(group.with_gap_values(own)))
            for group, own in model.parts()
            if _on_device(group)
        ]
        others = scorers_of([part for part in model.parts() if not _on_device(part[0])])
        return cls(surfaces, sent, others, intercept)


def _added(backend: Backend, model: Model, terms: SentTerms, X: Any) -> Any:
    """Return the sum of all terms for rows on the device, (n_outputs, n_rows)."""
    found = None
    for curves in (*terms.curves, *([] if terms.surfaces is None else [terms.surfaces])):
        more = curves.scores(X)
        found = more if found is None else found + more
    if found is None:
        found = backend.zeros((model.n_outputs, len(X)))
    if terms.others:
        found += backend.array(_rest(model, terms.others, backend.numpy(X)).T)
    return found


def _on_device(group: TermGroup) -> bool:
    """Return whether kernels can evaluate a group.

    They evaluate neither categories nor linear extrapolation.
    """
    known = isinstance(group.embedding.basis, BSplineBasis) and not group.embedding.through_zero
    return known and group.levels is None and group.extrapolation is not Extrapolation.LINEAR


def _rest(model: Model, others: Sequence[Scorer], piece: Any) -> Floats:
    """Return the sum of the terms evaluated on the host, (n_rows, n_outputs)."""
    piece = piece if piece.dtype.char in "fd" else piece.astype(np.float64)
    found = np.zeros((len(piece), model.n_outputs))
    for scorer in others:
        found += scorer.scores(piece, 1)
    return found
