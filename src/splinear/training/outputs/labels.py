"""Any number of labels per row: one binary problem per label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.solvers.problems.losses import ConvexLoss
from splinear.solvers.problems.problem import Problem
from splinear.solvers.rows.memory import BytesPerRow
from splinear.tables.device import special_functions
from splinear.training.outputs.base import Problems, SeparateOutputs
from splinear.training.outputs.class_weights import ClassWeight, class_weights
from splinear.training.outputs.classes import sided
from splinear.training.weighted import WeightedRows

__all__ = ["MultiLabel", "MultiLabelTarget"]


@dataclass(frozen=True, eq=False)
class MultiLabel:
    """Labels: one output each, whose score is positive for rows that have the label."""

    n_outputs: int
    together: int = 1

    @property
    def classes(self) -> AnyArray:
        """The indices of the labels."""
        return np.arange(self.n_outputs)

    def label(self, output: int) -> object:
        """Return the index of an output's label; None if there is only one."""
        return None if self.n_outputs == 1 else self.classes[output]

    def decision(self, scores: Floats) -> Floats:
        """Return the scores (n_rows, n_labels)."""
        return scores

    def predict(self, scores: Floats) -> AnyArray:
        """Return 1 for the labels of each row and 0 for the others, (n_rows, n_labels)."""
        return (scores > 0).astype(np.int64)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of every label, (n_rows, n_labels)."""
        found: Floats = special_functions(scores).expit(scores)
        return found


@dataclass(frozen=True, eq=False)
class MultiLabelTarget(SeparateOutputs):
    """Labels: one problem each, with class weights for the classes 0 and 1.

    `indicator` (n, n_labels) is 1 for the labels of a row and 0 for the others.
    """

    outputs: MultiLabel
    indicator: AnyArray
    class_weight: ClassWeight = None

    @property
    def numbers(self) -> AnyArray:
        """The indicator."""
        return self.indicator

    @property
    def need(self) -> BytesPerRow:
        """Memory of the indicator."""
        return BytesPerRow(shared=self.indicator.itemsize * self.indicator.shape[1])

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the problems of rows with a label against those without it."""
        placed, classes, counts = rows.place_weights(), np.array([0, 1]), rows.units.counts

        def problem_of(k: int) -> Problem:
            has = self.indicator[:, k]
            costs = class_weights(self.class_weight, classes, has, rows.kept, counts)
            return sided(rows, has > 0, costs, placed, loss, bias)

        return problem_of
