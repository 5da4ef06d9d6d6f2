"""Outputs, which turn scores into predictions, and targets, which turn y into problems.

Outputs are what a fitted estimator keeps. A target is y in the form that is trained on, together
with the outputs that it asks for; it is gone after the fit.
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

Problems = Callable[[int], Problem]  # from the number of an output to its problem


class Outputs(Protocol):
    """How scores (n_rows, n_outputs) become predictions."""

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        ...

    @property
    def together(self) -> int:
        """Number of outputs that are one problem for Newton's method."""
        ...

    def label(self, output: int) -> object:
        """Name what an output stands for; None if there is only one."""
        ...

    def predict(self, scores: Floats) -> AnyArray:
        """Return the predictions, (n_rows,) or one per label."""
        ...


class ClassOutputs(Outputs, Protocol):
    """Outputs that stand for classes or labels."""

    @property
    def classes(self) -> AnyArray:
        """The classes, or the numbers of the labels."""
        ...

    def decision(self, scores: Floats) -> Floats:
        """Return the scores as decision_function does."""
        ...


class NumberOutputs(Outputs, Protocol):
    """Outputs that stand for a number."""

    @property
    def power(self) -> int:
        """That of the mean to which the variance is proportional."""
        ...

    def unit(self, target: str) -> str:
        """Name what the score is of, given a name of the target."""
        ...

    def quality(self, y: Floats, predicted: Floats, weights: Floats | None) -> float:
        """Return the share of what varies in y that is predicted, 1 at most."""
        ...


class Target(Protocol):
    """What is to be learned from the rows of X."""

    @property
    def outputs(self) -> Outputs:
        """What the model will predict."""
        ...

    @property
    def need(self) -> BytesPerRow:
        """Bytes per row that it takes."""
        ...

    @property
    def spread(self) -> float:
        """The unit of the scores."""
        ...

    def center(self, rows: WeightedRows) -> float:
        """Return the number that is subtracted before training, and belongs to the intercept."""
        ...

    def unit(self, rows: WeightedRows) -> float:
        """Return the number that what is left is divided by."""
        ...

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Pose the problem of each output, for C = 1; `bias` is B."""
        ...

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[LossSum]:
        """Return the sums of losses, together of all outputs."""
        ...


class SeparateOutputs:
    """A target whose outputs know nothing of each other: a sum of losses each.

    Scores have no unit, and nothing is subtracted, unless a subclass says so.
    """

    outputs: Outputs

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Pose the problem of each output."""
        raise NotImplementedError

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[LossSum]:
        """Return a sum of losses per output."""
        problem_of = self.problems(rows, loss, bias=1.0)
        return [Separable(problem_of(k), loss) for k in range(self.outputs.n_outputs)]

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
    """Makes a target of y: what kind it is, is decided here and nowhere else."""

    @property
    def numeric(self) -> bool:
        """Whether y holds a number per row, and not a class or several labels."""
        ...

    def read(self, y: AnyArray, kept: AnyArray | None) -> Target:
        """Check y (n,) or (n, n_labels); `kept` (n,) marks the rows that count."""
        ...
