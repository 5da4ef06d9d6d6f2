"""One number per row: regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.solvers.losses import Loss, SmoothLoss
from splinear.solvers.memory import Need
from splinear.solvers.problem import Problem
from splinear.solvers.smooth import Sum
from splinear.tables.target import read_numbers
from splinear.training.outputs.base import Problems, separable
from splinear.training.weighted import WeightedRows

__all__ = ["NumberReader", "Regression", "RegressionTarget"]


@dataclass(frozen=True)
class Regression:
    """The one score is the prediction."""

    n_outputs: int = 1
    together: int = 1

    def label(self, output: int) -> Any:
        """Return None: there is only one output."""
        del output

    def predict(self, scores: Floats) -> Floats:
        """Return the scores (n_rows,)."""
        return scores[:, 0]


@dataclass(frozen=True, eq=False)
class RegressionTarget:
    """`values` (n,); of these `fixed_centre` is taken off, or else their mean.

    Without it sums of squares would lose digits, and a penalised intercept would be pulled to 0.
    """

    values: Floats
    fixed_centre: float | None = None
    outputs: Regression = Regression()

    @property
    def need(self) -> Need:
        """Bytes of the values, of what the centre leaves, and of that in the order of training."""
        return Need(shared=16, each=8)

    @property
    def spread(self) -> float:
        """The standard deviation of the values; 1 if they are all the same."""
        return float(np.std(self.values)) or 1.0

    def centre(self, rows: WeightedRows) -> float:
        """Return what is taken off the values."""
        return rows.mean(self.values) if self.fixed_centre is None else self.fixed_centre

    def problems(self, rows: WeightedRows, loss: Loss, bias: float) -> Problems:
        """Pose the one problem."""
        problem = Problem(
            y=np.ones(rows.rows.n_rows, dtype=np.int8),
            targets=rows.rows.place(self.values - self.centre(rows)),
            loss=loss,
            cost_negative=1.0,
            cost_positive=1.0,
            weights=rows.place_weights(),
            bias=bias,
        )
        return lambda _: problem

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[Sum]:
        """Return the sum of losses of the one output."""
        return separable(self, rows, loss)


@dataclass(frozen=True)
class NumberReader:
    """Reads the numbers of a regression; `fixed_centre` as in RegressionTarget."""

    fixed_centre: float | None = None

    @property
    def numeric(self) -> bool:
        """Whether y holds a number per row."""
        return True

    def read(self, y: AnyArray, kept: AnyArray | None) -> RegressionTarget:
        """Check y (n,), which must be finite in the rows that count."""
        return RegressionTarget(read_numbers(y, kept), self.fixed_centre)
