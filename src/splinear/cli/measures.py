"""Measures of a model's quality on held-out rows of a file."""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray
from splinear.cli.data import blocks, some_rows
from splinear.cli.progress import Track
from splinear.report.measures import Measure, measure
from splinear.report.scoring import score_rows
from splinear.tables.table import Table
from splinear.training.estimator import AdditiveEstimator

__all__ = ["measure_rows"]


def measure_rows(
    model: AdditiveEstimator, table: Table, y: AnyArray, wanted: AnyArray, track: Track
) -> list[Measure]:
    """Return the measures of a model on the rows in the mask `wanted` (n_rows,)."""
    scores = []
    for rows, block in blocks(table):
        track(rows.start, "")
        if wanted[rows].any():
            scores.append(model._scores(some_rows(block, wanted[rows])))
    classes = [str(name) for name in getattr(model, "classes_", ())]
    return measure(score_rows(model, np.concatenate(scores), y[wanted], None, classes))
