"""One class per row: two classes, one-vs-rest, or softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.solvers.problems.loss_sums import LossSum
from splinear.solvers.problems.losses import ConvexLoss, SmoothLoss
from splinear.solvers.problems.problem import Problem
from splinear.solvers.problems.softmax import Softmax as SoftmaxSum
from splinear.solvers.rows.memory import BytesPerRow
from splinear.tables.device import special_functions, taken
from splinear.training.outputs.base import Problems, SeparateOutputs
from splinear.training.outputs.class_weights import ClassWeight, class_weights
from splinear.training.weighted import WeightedRows

__all__ = [
    "Binary",
    "BinaryTarget",
    "OneVsRest",
    "OneVsRestTarget",
    "Softmax",
    "SoftmaxTarget",
    "sided",
]


SIGNS = np.array([-1.0, 1.0])  # sign of the score for the first and second class


@dataclass(frozen=True, eq=False)
class Binary:
    """Two classes: one output, whose score is positive for the second class."""

    classes: AnyArray
    n_outputs: int = 1
    together: int = 1

    def label(self, output: int) -> object:
        """Return None, because there is only one output."""
        del output
        return None

    def decision(self, scores: Floats) -> Floats:
        """Return the scores (n_rows,)."""
        return scores[:, 0]

    def predict(self, scores: Floats) -> AnyArray:
        """Return the classes (n_rows,)."""
        return taken(self.classes, (scores[:, 0] > 0).astype(np.intp))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of both classes, (n_rows, 2)."""
        signs = np.asarray(SIGNS, like=scores)
        found: Floats = special_functions(scores).expit(scores * signs)
        return found


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """Several classes: one output each; the highest score wins."""

    classes: AnyArray

    @property
    def n_outputs(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def together(self) -> int:
        """1, because every class is a problem of its own."""
        return 1

    def label(self, output: int) -> object:
        """Return the class of an output."""
        return self.classes[output]

    def decision(self, scores: Floats) -> Floats:
        """Return the scores (n_rows, n_classes)."""
        return scores

    def predict(self, scores: Floats) -> AnyArray:
        """Return the classes (n_rows,)."""
        return taken(self.classes, scores.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Softmax(OneVsRest):
    """Several classes whose scores are log-probabilities, up to a constant per row."""

    @property
    def together(self) -> int:
        """The number of classes, which are one problem."""
        return self.n_outputs

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes, (n_rows, n_classes)."""
        found: Floats = special_functions(scores).softmax(scores, axis=1)
        return found


@dataclass(frozen=True, eq=False)
class BinaryTarget(SeparateOutputs):
    """Two classes: one problem, with one weight per class.

    `index` (n,) holds the index of each row's class.
    """

    outputs: Binary
    index: AnyArray
    class_weight: ClassWeight = None

    @property
    def numbers(self) -> AnyArray:
        """The index of each class."""
        return self.index

    @property
    def need(self) -> BytesPerRow:
        """Memory of `index`."""
        return BytesPerRow(shared=self.index.itemsize)

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the problem of the second class against the first."""
        costs = class_weights(
            self.class_weight, self.outputs.classes, self.index, rows.kept, rows.units.counts
        )
        placed = rows.place_weights()
        return lambda _: sided(rows, self.index == 1, costs, placed, loss, bias)


@dataclass(frozen=True, eq=False)
class OneVsRestTarget(SeparateOutputs):
    """Several classes: one problem each; a row has the weight of its own class in all of them.

    `index` (n,) holds the index of each row's class.
    """

    outputs: OneVsRest
    index: AnyArray
    class_weight: ClassWeight = None

    @property
    def numbers(self) -> AnyArray:
        """The index of each class."""
        return self.index

    @property
    def need(self) -> BytesPerRow:
        """Memory of `index`, and of the weights by class."""
        return BytesPerRow(shared=self.index.itemsize + (0 if self.class_weight is None else 16))

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the problems of each class against the rest."""
        placed, alike = self._placed(rows), np.ones(2)
        return lambda k: sided(rows, self.index == k, alike, placed, loss, bias)

    def _placed(self, rows: WeightedRows) -> Floats | None:
        """Return the sample weights times the class weights, in training order."""
        if self.class_weight is None:
            return rows.place_weights()
        by_class = class_weights(
            self.class_weight, self.outputs.classes, self.index, rows.kept, rows.units.counts
        )
        return rows.place_weights(by_class[self.index])


@dataclass(frozen=True, eq=False)
class SoftmaxTarget(OneVsRestTarget):
    """Several classes, coupled in one problem by the softmax loss."""

    outputs: Softmax

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[LossSum]:
        """Return one sum for all classes: the softmax log-loss, whatever `loss` is."""
        del loss
        placed, index = self._placed(rows), rows.rows.place(self.index)
        cost = np.ones(rows.rows.n_rows) if placed is None else placed
        units = rows.place_units()
        return [SoftmaxSum(index, cost, self.outputs.n_outputs, units=units)]


def sided(
    rows: WeightedRows,
    member: AnyArray,
    costs: Floats,
    weights: Floats | None,
    loss: ConvexLoss,
    bias: float,
) -> Problem:
    """Return the problem of a class against the others; `member` (n_given,) marks its rows.

    `costs` (2,) are the weights of the others and of the members; `weights` are in training order.
    """
    return Problem(
        y=rows.rows.place(np.where(member, np.int8(1), np.int8(-1))),
        loss=loss,
        cost_negative=float(costs[0]),
        cost_positive=float(costs[1]),
        weights=weights,
        bias=bias,
    )
