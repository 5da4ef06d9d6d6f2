"""The training rows and their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses.survey import Survey
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.units import EVERY_ROW, Units

__all__ = ["WeightedRows"]


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The rows of X in the core's form, and their weights.

    Attributes
    ----------
    rows : TrainingRows
    weights : ndarray of shape (n_given,) or None
        The weight c_i of every row of X; None if all are 1.
        A row that stands for several has the weight of all of them.
    kept : ndarray of shape (n_given,) or None
        Whether each row has a positive weight; None if all have one.
    units : Units
        Which rows of X are independent, and how many each stands for.
    """

    rows: TrainingRows
    weights: Floats | None = None
    kept: AnyArray | None = None
    units: Units = EVERY_ROW

    def within(self, kept: AnyArray) -> WeightedRows:
        """Return the same rows with a weight of 0 outside of `kept` (n_given,)."""
        weights = kept.astype(np.float64) if self.weights is None else kept * self.weights
        counts, kept = self.units.counts, kept if self.kept is None else kept & self.kept
        units = self.units if counts is None else replace(self.units, counts=counts * kept)
        return replace(self, weights=weights, kept=kept, units=units)

    def over(self, rows: TrainingRows) -> WeightedRows:
        """Return these weights with another form or subset of the rows of the same X."""
        return replace(self, rows=rows)

    def with_layout(self, layout: Layout) -> WeightedRows:
        """Return the same rows with a layout of the same groups."""
        return self.over(self.rows.with_layout(layout))

    @property
    def n_units(self) -> float:
        """The number of independent units among the rows."""
        placed = self.place_units()
        if placed.groups is not None:
            return float(len(np.unique(placed.groups)))
        return placed.n_rows(self.rows.n_rows)

    def place_units(self) -> Units:
        """Return the units of the rows, in training order."""
        counts, groups = self.units.counts, self.units.groups
        if counts is None and groups is None:
            return EVERY_ROW
        return Units(
            None if counts is None else self.rows.place(counts),
            None if groups is None else self.rows.place(groups),
        )

    def survey(self, y: AnyArray) -> Survey:
        """Return the survey of numbers, one per row of X."""
        return Survey.of(y, self.weights, self.kept, self.units.counts)

    @property
    def mean_weight(self) -> float:
        """The mean weight of the rows that have one: the unit of C."""
        weights = self.weights
        return 1.0 if weights is None else float(weights[weights > 0.0].mean())

    def place_weights(self, more: Floats | None = None) -> Floats | None:
        """Return the weights, times `more` (n_given,), in training order; None if all are 1."""
        weights = self.weights
        if more is not None:
            weights = more if weights is None else weights * more
        return None if weights is None else self.rows.place(weights)
