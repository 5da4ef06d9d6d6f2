"""Measures of a model's quality on held-out rows of a file."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import is_classifier
from sklearn.metrics import roc_auc_score

from splinear._types import AnyArray, Floats
from splinear.cli.data import blocks, some_rows
from splinear.cli.progress import Track
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection import base_value
from splinear.report.events import events_of
from splinear.report.measures import Measure, measure
from splinear.report.scoring import score_rows
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table

__all__ = ["find_leak", "measure_rows"]

LOOKED_AT = 10_000  # rows at the beginning of a file
FEWEST = 20  # rows: in fewer, one column may tell the others apart by chance
PERFECT = 0.9999  # of an accuracy, area under ROC or rank correlation


def measure_rows(
    model: AdditiveEstimator,
    table: Table,
    y: AnyArray,
    wanted: AnyArray,
    offset: Floats | None,
    track: Track,
) -> list[Measure]:
    """Return the measures of a model on the rows in the mask `wanted` (n_rows,)."""
    scores = []
    for rows, block in blocks(table):
        track(rows.start, "")
        if wanted[rows].any():
            own = None if offset is None else offset[rows][wanted[rows]]
            scores.append(model._scores(some_rows(block, wanted[rows]), own))
    classes = [str(name) for name in getattr(model, "classes_", ())]
    scored = score_rows(model, np.concatenate(scores), y[wanted], None, classes)
    return measure(scored, events_of(scored))


def find_leak(model: AdditiveEstimator, table: Table, y: AnyArray, there: AnyArray) -> str | None:
    """Return a warning if one column alone gives the target away; None otherwise."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    j = int(np.argmax(model.feature_importances_))
    rows, values = next(iter(model._read_table(table).chunks([j])))
    known = np.flatnonzero(there[rows])[:LOOKED_AT]
    target = y[rows][known]
    if len(target) < FEWEST or len(np.unique(target)) < 2:
        return None
    term = model.terms_.of_feature(j)
    if term is None:
        return None
    part = term.evaluate(as_dense(values)[known, 0]) - term.mean
    if not _tells(model, part if part.shape[1] > 1 else part[:, 0], target):
        return None
    return (
        f"column {names[j]!r} alone gives the target away; --drop it if it is not known when "
        "predictions are made"
    )


def _tells(model: AdditiveEstimator, part: AnyArray, target: AnyArray) -> bool:
    """Return whether the contribution of one term puts all rows in the order of the target."""
    if not is_classifier(model):
        return bool(np.ptp(part) > 0.0 and spearmanr(part, target).statistic > PERFECT)
    if model._loss.task == "ordinal":
        number = model._loss.numbers(target)
        cuts = range(int(number.min()), int(number.max()))
        return all(roc_auc_score(number > k, part) > PERFECT for k in cuts)
    if part.ndim == 1:
        return bool(roc_auc_score(target == model.classes_[1], part) > PERFECT)
    found = model.classes_[np.argmax(part + base_value(model), axis=1)]
    return bool(np.mean(found == target) > PERFECT)
