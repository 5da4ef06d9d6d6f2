"""Regression with a log link, where the mean of y is exp(f(x)): counts and positive numbers.

Newton's method begins with zero curves and solves for the intercept, so its first score is the
logarithm of the mean of y.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import d2_tweedie_score

from splinear._types import AnyArray, Floats
from splinear.solvers.problems.loss_sums import LossSum, Separable
from splinear.solvers.problems.losses import ConvexLoss, SmoothLoss
from splinear.solvers.problems.problem import Problem
from splinear.solvers.rows.memory import BytesPerRow
from splinear.training.outputs.base import Problems, SeparateOutputs
from splinear.training.outputs.numbers import NumberReader
from splinear.training.weighted import WeightedRows

__all__ = [
    "CountReader",
    "CountTarget",
    "LogMean",
    "OfAll",
    "PositiveReader",
    "PositiveTarget",
    "smallest_event",
]

LEAST_COUNT = 1e-30  # relative to the mean count; replaces counts of 0
LEAST_LARGEST = 1e-30  # count; curvatures have its size, and are summed in single precision
ROUNDING = 1e-9  # relative error of predictions
NO_COUNTS = (
    'loss="poisson" needs a count above 0 in the rows to learn from, but all targets there are 0: '
    "the logarithm of their mean would be minus infinity."
)
SCORED = 1e-150, 1e150  # range of predictions whose deviance can be computed


@dataclass(frozen=True)
class LogMean:
    """Log link: the single score is the logarithm of the prediction.

    The variance of y is proportional to its mean to the given power: 1 for counts, 2 for gamma.
    """

    power: int
    n_outputs: int = 1
    together: int = 1

    def unit(self, target: str) -> str:
        """Return a name for the logarithm of the target."""
        return f"log of {target}"

    def label(self, output: int) -> object:
        """Return None, because there is only one output."""
        del output
        return None

    def predict(self, scores: Floats) -> Floats:
        """Return exp(scores), (n_rows,), none of them 0 or infinite."""
        ends = np.finfo(np.float64)
        return np.clip(np.exp(np.clip(scores[:, 0], -800.0, 709.0)), ends.tiny, ends.max)

    def quality(self, y: Floats, predicted: Floats, weights: Floats | None) -> float:
        """Return D^2; for a constant y, 1 if the predictions equal it and 0 otherwise."""
        y, mu = np.asarray(y), np.clip(predicted, *SCORED)
        if len(y) == len(mu) > 1 and np.all(y == y[0]):
            return float(np.allclose(y, mu, rtol=ROUNDING, atol=0.0))
        return float(d2_tweedie_score(y, mu, sample_weight=weights, power=self.power))


@dataclass(frozen=True)
class OfAll:
    """Statistics of the targets of all rows, where only some of the rows are in this process."""

    largest: float
    mean: float
    event: float  # the smallest positive product of target and weight


class LogTarget(SeparateOutputs):
    """Base of targets whose logarithms are learned, minus the logarithm of the largest.

    With this center, targets that are all equal become exactly 0.
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
    """Positive targets `values` (n,), for losses of m = log y - f."""

    values: Floats
    outputs: LogMean = LogMean(power=2)
    of_all: OfAll | None = None

    @property
    def numbers(self) -> AnyArray:
        """The values."""
        return self.values

    @property
    def need(self) -> BytesPerRow:
        """Memory of the values, and of their logarithms in training order."""
        return BytesPerRow(shared=16, each=8)

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the single problem."""
        logs = np.log(self.values) - np.log(self.largest)
        problem = _posed(rows, -1, logs, rows.place_weights(), loss, bias)
        return lambda _: problem


@dataclass(frozen=True, eq=False)
class CountTarget(LogTarget):
    """Counts `values` (n,), at least 0, for losses of m = f - log y with costs multiplied by y.

    The loss of a row with count 0 is exp(f). Its count is replaced by 1e-30 of the mean count,
    which changes the loss by less than rounding unless f is more than 60 below the logarithm of the
    mean. This also keeps the predictions finite in regions without any counts.
    """

    values: Floats
    outputs: LogMean = LogMean(power=1)
    of_all: OfAll | None = None

    @property
    def numbers(self) -> AnyArray:
        """The values."""
        return self.values

    @property
    def need(self) -> BytesPerRow:
        """Memory of values and costs, and of costs and logarithms in training order."""
        return BytesPerRow(shared=24, each=16)

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the single problem."""
        mean = rows.mean(self.values) if self.of_all is None else self.of_all.mean
        if not mean > 0.0:
            raise ValueError(NO_COUNTS)  # possible in a fold
        counts = np.maximum(self.values, LEAST_COUNT * mean)
        logs = np.log(counts) - np.log(self.largest)
        problem = _posed(rows, 1, logs, rows.place_weights(counts), loss, bias)
        return lambda _: problem

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[LossSum]:
        """Return the single sum; its dispersion is at least that of one event."""
        [total] = super().sums(rows, loss)
        assert isinstance(total, Separable)
        event = self.of_all.event if self.of_all is not None else self._event(rows)
        return [replace(total, least_dispersion=event)]

    def among(self, rows: WeightedRows) -> CountTarget:
        """Return the target of some of these rows: without the others, all may be 0."""
        if self.of_all is not None:
            return self
        return replace(self, of_all=OfAll(self.largest, rows.mean(self.values), self._event(rows)))

    def _event(self, rows: WeightedRows) -> float:
        """Return the weight of one event, the smallest count in the unit of the weights."""
        counts, weights, more = self.values, rows.weights, rows.units.counts
        if weights is not None:
            counts = counts * (weights if more is None else weights / np.maximum(more, 1.0))
        return smallest_event(counts)


def smallest_event(counts: Floats) -> float:
    """Return the smallest count above 0."""
    return float(counts[counts > 0.0].min(initial=np.inf))


def _posed(
    rows: WeightedRows,
    sign: int,
    logs: Floats,
    weights: Floats | None,
    loss: ConvexLoss,
    bias: float,
) -> Problem:
    """Return the problem of a loss of m = sign (f - log y), given log y."""
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
        """Check y (n,), which must be finite and above 0 in rows with a positive weight."""
        values = _numbers(y, kept)
        _refuse(values <= 0.0, values, 'loss="gamma" needs targets above 0')
        return PositiveTarget(values)


@dataclass(frozen=True)
class CountReader:
    """Reads counts or rates, which need not be integers."""

    numeric = True

    def read(self, y: AnyArray, kept: AnyArray | None) -> CountTarget:
        """Check y (n,), which must be finite and at least 0 in rows with a positive weight."""
        values = _numbers(y, kept)
        _refuse(values < 0.0, values, 'loss="poisson" needs targets of 0 or more')
        if not values.any():
            raise ValueError(NO_COUNTS)
        if (largest := float(values.max())) < LEAST_LARGEST:
            raise ValueError(
                f'loss="poisson" cannot be computed for targets of at most {largest:.2g}; multiply '
                f"y to have some above {LEAST_LARGEST:g}."
            )
        return CountTarget(values)


def _numbers(y: AnyArray, kept: AnyArray | None) -> Floats:
    """Read y; rows of weight 0 get a valid value."""
    values = NumberReader().read(y, kept).values
    return values if kept is None else np.where(kept, values, values[kept].max())


def _refuse(wrong: AnyArray, values: Floats, need: str) -> None:
    """Raise if any target is wrong, naming the first."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{need}; y is {values[row]:g} in row {row}.")
