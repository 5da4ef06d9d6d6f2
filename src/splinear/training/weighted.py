"""Rows of X, and how much each of them counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.solvers.rows.training_rows import TrainingRows

__all__ = ["WeightedRows"]


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The rows of X as the core reads them, and how much each of them counts.

    Attributes
    ----------
    rows : TrainingRows
    weights : ndarray of shape (n_given,) or None
        c_i of every row of X; None: 1 each.
    kept : ndarray of shape (n_given,) or None
        Which rows count, those of a weight above 0; None: all.
    """

    rows: TrainingRows
    weights: Floats | None = None
    kept: AnyArray | None = None

    def within(self, kept: AnyArray) -> WeightedRows:
        """Return the same rows, of which only those in `kept` (n_given,) count."""
        weights = kept.astype(np.float64) if self.weights is None else kept * self.weights
        return replace(self, weights=weights, kept=kept if self.kept is None else kept & self.kept)

    def over(self, rows: TrainingRows) -> WeightedRows:
        """Return these weights for other rows of the same X: the first of them, for example."""
        return replace(self, rows=rows)

    def with_layout(self, layout: Layout) -> WeightedRows:
        """Return the same rows for a layout of the same groups."""
        return self.over(self.rows.with_layout(layout))

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return self.rows.weight(self.weights)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of one value per row of X."""
        return float(np.average(values, weights=self.weights))

    def place_weights(self, more: Floats | None = None) -> Floats | None:
        """Return the weights, times `more` (n_given,), in the order of training; None: 1 each."""
        weights = self.weights
        if more is not None:
            weights = more if weights is None else weights * more
        return None if weights is None else self.rows.place(weights)
