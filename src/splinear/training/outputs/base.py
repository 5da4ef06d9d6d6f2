"""Interfaces of outputs, which turn scores into predictions, and of targets, made from y.

A reader checks y and returns a target, which poses the problems that solvers minimize. A target
exists during fit only; its outputs are stored in the fitted estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from splinear._types import AnyArray, Floats
from splinear.solvers.problems.loss_sums import LossSum, Separable
from splinear.solvers.problems.losses import ConvexLoss, SmoothLoss
from splinear.solvers.problems.problem import Problem
from splinear.solvers.rows.memory import BytesPerRow
from splinear.training.weighted import WeightedRows

__all__ = [
    "ClassOutputs",
    "NumberOutputs",
    "Outputs",
    "Problems",
    "Reader",
    "SeparateOutputs",
    "Target",
]

Problems = Callable[[int], Problem]  # from the index of an output to its problem


class Outputs(Protocol):
    """How scores (n_rows, n_outputs) become predictions."""

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        ...

    @property
    def together(self) -> int:
        """Number of outputs that Newton's method trains as one problem."""
        ...

    def label(self, output: int) -> object:
        """Return the class or label of an output; None if there is only one."""
        ...

    def predict(self, scores: Floats) -> AnyArray:
        """Return the predictions, (n_rows,) or (n_rows, n_labels)."""
        ...


class ClassOutputs(Outputs, Protocol):
    """Outputs that stand for classes or labels."""

    @property
    def classes(self) -> AnyArray:
        """The classes, or the indices of the labels."""
        ...

    def decision(self, scores: Floats) -> Floats:
        """Return the scores in the shape of decision_function."""
        ...


class NumberOutputs(Outputs, Protocol):
    """Outputs that predict a number."""

    @property
    def power(self) -> int:
        """The power of the mean to which the variance is proportional."""
        ...

    def unit(self, target: str) -> str:
        """Return the name of the score's unit, given the name of the target."""
        ...

    def quality(self, y: Floats, predicted: Floats, weights: Floats | None) -> float:
        """Return the explained share of the variance or deviance of y, at most 1."""
        ...


class Target(Protocol):
    """The target of a fit: y, read and checked."""

    @property
    def outputs(self) -> Outputs:
        """How the model's scores become predictions."""
        ...

    @property
    def numbers(self) -> AnyArray:
        """One number per row, or several: equal for equal y."""
        ...

    @property
    def need(self) -> BytesPerRow:
        """Memory per row."""
        ...

    @property
    def spread(self) -> float:
        """The scale of the scores: for regression, the standard deviation of y."""
        ...

    def center(self, rows: WeightedRows) -> float:
        """Return the number subtracted from y before training and added to the intercept after."""
        ...

    def unit(self, rows: WeightedRows) -> float:
        """Return the number that the centered y is divided by before training."""
        ...

    def among(self, rows: WeightedRows) -> Target:
        """Return the target of some of these rows, with the statistics of all of them."""
        ...

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the problem of each output, for C = 1; `bias` is B."""
        ...

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[LossSum]:
        """Return the sums of losses to minimize, which together have all outputs."""
        ...


class SeparateOutputs:
    """Base of targets whose outputs are independent problems.

    Scores have unit 1 and y is not centered, unless a subclass says so.
    """

    outputs: Outputs

    def among(self: Target, rows: WeightedRows) -> Target:
        """Return the target itself, which needs no statistics."""
        return self

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the problem of each output."""
        raise NotImplementedError

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[LossSum]:
        """Return one sum of losses per output."""
        problem_of = self.problems(rows, loss, bias=1.0)
        units = rows.place_units()
        return [Separable(problem_of(k), loss, units=units) for k in range(self.outputs.n_outputs)]

    @property
    def spread(self) -> float:
        """The unit of the scores."""
        return 1.0

    def center(self, rows: WeightedRows) -> float:
        """Return 0."""
        del rows
        return 0.0

    def unit(self, rows: WeightedRows) -> float:
        """Return 1."""
        del rows
        return 1.0


class Reader(Protocol):
    """Turns y into a target. Its kind is decided here and nowhere else."""

    @property
    def numeric(self) -> bool:
        """Whether y holds one number per row, and not classes or labels."""
        ...

    def read(self, y: AnyArray, kept: AnyArray | None) -> Target:
        """Check y (n,) or (n, n_labels) and return the target.

        `kept` (n,) marks the rows with a positive weight; None if all have one.
        """
        ...
