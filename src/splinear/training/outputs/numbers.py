"""One number per row: regression."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import r2_score

from splinear._types import AnyArray, Floats
from splinear.solvers.problems.losses import ConvexLoss
from splinear.solvers.problems.problem import Problem
from splinear.solvers.rows.memory import BytesPerRow
from splinear.tables.target import target_numbers
from splinear.training.outputs.base import Problems, SeparateOutputs
from splinear.training.weighted import WeightedRows

__all__ = ["NumberReader", "Regression", "RegressionTarget", "power_of_two"]

LARGEST = 1e37  # absolute value of a target


@dataclass(frozen=True)
class Regression:
    """Regression: the single score is the prediction, and the variance is mean^power."""

    power: int = 0
    n_outputs: int = 1
    together: int = 1

    def unit(self, target: str) -> str:
        """Return the name of the target, which the score predicts."""
        return target

    def label(self, output: int) -> object:
        """Return None, because there is only one output."""
        del output
        return None

    def predict(self, scores: Floats) -> Floats:
        """Return the scores (n_rows,)."""
        return scores[:, 0]

    def quality(self, y: Floats, predicted: Floats, weights: Floats | None) -> float:
        """Return R^2."""
        return float(r2_score(y, predicted, sample_weight=weights))


@dataclass(frozen=True, eq=False)
class RegressionTarget(SeparateOutputs):
    """Targets `values` (n,), minus `fixed_center` or else their mean.

    Without centering, sums of squares would lose digits, and a penalized intercept would be pulled
    to 0. If `standardized`, the centered targets are also divided by a power of 2, which is exact,
    so that squares neither overflow nor underflow.
    """

    values: Floats
    fixed_center: float | None = None
    standardized: bool = False
    outputs: Regression = Regression()

    @property
    def numbers(self) -> AnyArray:
        """The values."""
        return self.values

    @property
    def need(self) -> BytesPerRow:
        """Memory of the values, of the centered values, and of those in training order."""
        return BytesPerRow(shared=16, each=8)

    @property
    def spread(self) -> float:
        """The standard deviation of the values; 1 if they are all equal."""
        return float(np.std(self.values)) or 1.0

    def center(self, rows: WeightedRows) -> float:
        """Return the number subtracted from the values."""
        return rows.mean(self.values) if self.fixed_center is None else self.fixed_center

    def among(self, rows: WeightedRows) -> RegressionTarget:
        """Return the target of some of these rows, with the center of all of them."""
        return replace(self, fixed_center=self.center(rows))

    def unit(self, rows: WeightedRows) -> float:
        """Return the number that the centered values are divided by."""
        return power_of_two(self._left(rows)) if self.standardized else 1.0

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the single problem."""
        left = self._left(rows)
        problem = Problem(
            y=np.ones(rows.rows.n_rows, dtype=np.int8),
            targets=left / power_of_two(left) if self.standardized else left,
            loss=loss,
            cost_negative=1.0,
            cost_positive=1.0,
            weights=rows.place_weights(),
            bias=bias,
        )
        return lambda _: problem

    def _left(self, rows: WeightedRows) -> Floats:
        """Return the centered values, in training order."""
        return rows.rows.place(self.values - self.center(rows))


def power_of_two(values: Floats) -> float:
    """Return the least power of 2 above the absolute values."""
    return float(np.exp2(np.frexp(np.abs(values).max())[1]))


@dataclass(frozen=True)
class NumberReader:
    """Reads the targets of a regression; the attributes are those of RegressionTarget."""

    fixed_center: float | None = None
    standardized: bool = False

    @property
    def numeric(self) -> bool:
        """True: y holds one number per row."""
        return True

    def read(self, y: AnyArray, kept: AnyArray | None) -> RegressionTarget:
        """Check y (n,), which must be finite and not too large in rows with a positive weight."""
        values = target_numbers(y, kept)
        largest = float(np.abs(values if kept is None else values[kept]).max())
        if largest > LARGEST:
            raise ValueError(
                f"Targets of up to {largest:.2g} are too large for single precision, in which some "
                f"predictions are computed; divide y to have at most {LARGEST:g}."
            )
        return RegressionTarget(values, self.fixed_center, self.standardized)
