"""One number per row whose mean is exp(f(x)): counts, and positive numbers.

The first score that is tried is that of the mean, as Newton's method begins with curves of 0 and
solves for the intercept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import d2_tweedie_score

from splinear._types import AnyArray, Floats
from splinear.solvers.problems.losses import ConvexLoss
from splinear.solvers.problems.problem import Problem
from splinear.solvers.rows.memory import BytesPerRow
from splinear.training.outputs.base import Problems, SeparateOutputs
from splinear.training.outputs.numbers import NumberReader
from splinear.training.weighted import WeightedRows

__all__ = ["CountReader", "CountTarget", "LogMean", "OfAll", "PositiveReader", "PositiveTarget"]

LEAST_COUNT = 1e-30  # of the mean count
ROUNDING = 1e-9  # of predictions
NO_COUNTS = (
    'loss="poisson" needs a count above 0 in the rows to learn from, but all targets there are 0: '
    "the logarithm of their mean would be minus infinity."
)
SCORED = 1e-150, 1e150  # predictions whose deviance can be computed


@dataclass(frozen=True)
class LogMean:
    """The one score is the logarithm of the prediction; the variance is mean^power."""

    power: int
    n_outputs: int = 1
    together: int = 1

    def unit(self, target: str) -> str:
        """Name what the score is of."""
        return f"log of {target}"

    def label(self, output: int) -> object:
        """Return None: there is only one output."""
        del output
        return None

    def predict(self, scores: Floats) -> Floats:
        """Return exp(scores), (n_rows,), none of them 0 or infinite."""
        ends = np.finfo(np.float64)
        return np.clip(np.exp(np.clip(scores[:, 0], -800.0, 709.0)), ends.tiny, ends.max)

    def quality(self, y: Floats, predicted: Floats, weights: Floats | None) -> float:
        """Return D^2. A target that does not vary is predicted, 1, or it is not, 0."""
        y, mu = np.asarray(y), np.clip(predicted, *SCORED)
        if len(y) == len(mu) > 1 and np.all(y == y[0]):
            return float(np.allclose(y, mu, rtol=ROUNDING, atol=0.0))
        return float(d2_tweedie_score(y, mu, sample_weight=weights, power=self.power))


@dataclass(frozen=True)
class OfAll:
    """What is known of the targets of all rows, where those at hand are some of them."""

    largest: float
    mean: float


class LogTarget(SeparateOutputs):
    """A target of `values`, of which logarithms are learned, less that of the largest.

    So targets that are all the same are 0, to the last bit.
    """

    values: Floats
    of_all: OfAll | None

    @property
    def largest(self) -> float:
        """The largest value."""
        return float(self.values.max()) if self.of_all is None else self.of_all.largest

    def center(self, rows: WeightedRows) -> float:
        """Return the logarithm of the largest value."""
        del rows
        return float(np.log(self.largest))


@dataclass(frozen=True, eq=False)
class PositiveTarget(LogTarget):
    """`values` (n,) above 0, by losses of m = log y - f."""

    values: Floats
    outputs: LogMean = LogMean(power=2)
    of_all: OfAll | None = None

    @property
    def need(self) -> BytesPerRow:
        """Bytes of the values, and of their logarithms in the order of training."""
        return BytesPerRow(shared=16, each=8)

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Pose the one problem."""
        logs = np.log(self.values) - np.log(self.largest)
        problem = _posed(rows, -1, logs, rows.place_weights(), loss, bias)
        return lambda _: problem


@dataclass(frozen=True, eq=False)
class CountTarget(LogTarget):
    """`values` (n,) of 0 at least, by losses of m = f - log y whose costs are times y.

    The loss of a row without counts is exp(f), that of a mean. It counts as a row of 1e-30 of the
    mean count: the loss then differs by less than rounding, unless f is lower by 60 than the
    logarithm of the mean. So a region without any counts has a finite prediction, too.
    """

    values: Floats
    outputs: LogMean = LogMean(power=1)
    of_all: OfAll | None = None

    @property
    def need(self) -> BytesPerRow:
        """Bytes of the values and costs, and of costs and logarithms in the order of training."""
        return BytesPerRow(shared=24, each=16)

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Pose the one problem."""
        mean = rows.mean(self.values) if self.of_all is None else self.of_all.mean
        if not mean > 0.0:
            raise ValueError(NO_COUNTS)  # in the rows of a fold
        counts = np.maximum(self.values, LEAST_COUNT * mean)
        logs = np.log(counts) - np.log(self.largest)
        problem = _posed(rows, 1, logs, rows.place_weights(counts), loss, bias)
        return lambda _: problem


def _posed(
    rows: WeightedRows,
    sign: int,
    logs: Floats,
    weights: Floats | None,
    loss: ConvexLoss,
    bias: float,
) -> Problem:
    """Pose the problem of a loss of m = sign (f - log y), given log y."""
    return Problem(
        y=np.full(rows.rows.n_rows, sign, dtype=np.int8),
        targets=sign * rows.rows.place(logs),
        loss=loss,
        cost_negative=1.0,
        cost_positive=1.0,
        weights=weights,
        bias=bias,
    )


@dataclass(frozen=True)
class PositiveReader:
    """Reads positive numbers."""

    numeric = True

    def read(self, y: AnyArray, kept: AnyArray | None) -> PositiveTarget:
        """Check y (n,), which must be finite and above 0 in the rows that count."""
        values = _numbers(y, kept)
        _refuse(values <= 0.0, values, 'loss="gamma" needs targets above 0')
        return PositiveTarget(values)


@dataclass(frozen=True)
class CountReader:
    """Reads counts, or rates; they need not be whole."""

    numeric = True

    def read(self, y: AnyArray, kept: AnyArray | None) -> CountTarget:
        """Check y (n,), which must be finite and at least 0 in the rows that count."""
        values = _numbers(y, kept)
        _refuse(values < 0.0, values, 'loss="poisson" needs targets of 0 or more')
        if not values.any():
            raise ValueError(NO_COUNTS)
        return CountTarget(values)


def _numbers(y: AnyArray, kept: AnyArray | None) -> Floats:
    """Read y; rows that do not count get a value that does."""
    values = NumberReader().read(y, kept).values
    return values if kept is None else np.where(kept, values, values[kept].max())


def _refuse(wrong: AnyArray, values: Floats, need: str) -> None:
    """Refuse targets, naming the first."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{need}; y is {values[row]:g} in row {row}.")
