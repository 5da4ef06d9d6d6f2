"""Check of values outside the training range, for extrapolation="error"."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from splinear.model.group import Extrapolation
from splinear.model.layout import Layout
from splinear.tables.checks import check_in_range
from splinear.tables.chunks import dense_columns
from splinear.tables.table import Table

__all__ = ["check_ranges"]


def check_ranges(estimator: BaseEstimator, layout: Layout, table: Table) -> None:
    """Raise if a value is outside the training range of a term with extrapolation="error"."""
    for group in layout.groups:
        if group.extrapolation is not Extrapolation.ERROR:
            continue
        axes = group.embedding.axes
        for rows, piece in table.chunks(group.features):
            for k, values in enumerate(dense_columns(piece)):
                lo, hi, j = float(axes.lo[k]), float(axes.hi[k]), int(group.features[k])
                check_in_range(estimator, values, j, lo, hi, rows.start)
