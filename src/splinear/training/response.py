"""The response of a fit: y as numbers, and the loss that says what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses.base import Loss, Offset
from splinear.losses.margin import MarginLoss
from splinear.losses.sides import SideLoss
from splinear.losses.survey import Survey
from splinear.objective.local.memory import BytesPerRow
from splinear.objective.loss_sums import LossSum, Separable, Summed
from splinear.objective.problem import Problem
from splinear.training.class_weights import ClassWeight, class_weights
from splinear.training.weighted import WeightedRows

__all__ = ["Problems", "Response"]

OF_CLASSES = ("multiclass", "ordinal")  # tasks whose class weights are weights of rows

Problems = Callable[[int], Problem]  # from the index of an output to its problem


@dataclass(frozen=True, eq=False)
class Response:
    """y as numbers, and the loss of a fit, from which the problems of solvers are made.

    Attributes
    ----------
    loss : Loss
    y : ndarray of shape (n_given,) or (n_given, n_labels)
        Numbers, the index of each row's class, or an indicator matrix of labels.
    class_weight : dict, "balanced" or None
    offset : ndarray of shape (n_given,) or (n_given, n_outputs), or None
        What is added to f(x), less `moved`.
    moved : float or ndarray of shape (n_outputs,)
        The means of the offsets that the user gave, where free intercepts can take them over. They
        are found faster so, and to more digits.
    """

    loss: Loss
    y: AnyArray
    class_weight: ClassWeight = None
    offset: Floats | None = None
    moved: Floats | float = 0.0

    def fitted(self, survey: Callable[[AnyArray], Survey]) -> Response:
        """Return the response whose loss knows of y what `survey` tells: of all rows, or a fold."""
        found = self
        if self.offset is not None and self.takes_means:
            columns = self.offset.reshape(len(self.offset), -1).T
            means = np.array([survey(own).mean for own in columns])
            found = replace(self, offset=self.offset - means, moved=self.moved + means)
        if self.loss.kind == "class":
            return found
        return replace(found, loss=self.loss.fitted(survey(self.unexplained)))

    @property
    def takes_means(self) -> bool:
        """Whether intercepts take over the means of offsets.

        They do not if scores are margins, because the intercept is penalized, nor if they are in
        the unit of y, from which offsets are subtracted.
        """
        return self.loss.link not in (None, "identity")

    @property
    def centers(self) -> Floats:
        """What is added to the intercepts of solvers, times the loss's unit, (n_outputs,)."""
        moved = np.broadcast_to(np.asarray(self.moved, dtype=np.float64), (self.loss.n_outputs,))
        if self.loss.tied:
            moved = moved - moved.mean()
        return self.loss.center - moved

    @property
    def unexplained(self) -> AnyArray:
        """The numbers y less the offset, if scores are in their unit; otherwise y."""
        is_in_unit = self.loss.link == "identity" and self.loss.n_outputs == 1
        return self.y if self.offset is None or not is_in_unit else self.y - self.offset

    def with_loss(self, loss: Loss) -> Response:
        """Return the response with other parameters of the loss."""
        return replace(self, loss=loss)

    @property
    def need(self) -> BytesPerRow:
        """Memory per row: y, what solvers see of it, and weights by class."""
        if self.loss.kind == "number":
            shared, each = self.loss.bytes_per_row
        else:
            columns = self.y.shape[1] if self.y.ndim == 2 else 1
            shared, each = self.y.itemsize * columns, 0
            shared += 16 if self.class_weight is not None and self.loss.task in OF_CLASSES else 0
        if self.offset is not None:
            shared, each = shared + 8 * self.loss.n_outputs, each + 8 * self.loss.n_scores
        return BytesPerRow(shared=shared, each=each)

    def problems(self, rows: WeightedRows, bias: float) -> Problems:
        """Return the problem of each output for C = 1; `bias` is B."""
        weights = rows.place_weights(self._by_class(rows))

        def problem_of(k: int) -> Problem:
            loss, y, offset = self._coded(k)
            posed = loss.posed(y, offset)
            placed, costs = weights, self._costs_of_sides(k, rows)
            if posed.factor is not None:
                factor = rows.rows.place(posed.factor)
                placed = factor if weights is None else weights * factor
            return Problem(
                y=rows.rows.place(posed.sign),
                targets=None if posed.target is None else rows.rows.place(posed.target),
                loss=loss,
                cost_negative=float(costs[0]),
                cost_positive=float(costs[1]),
                weights=placed,
                bias=bias,
            )

        return problem_of

    def sums(self, rows: WeightedRows, problem: int | None = None) -> list[LossSum]:
        """Return the sums of losses to minimize: of one problem, or of all, with all outputs."""
        units = rows.place_units()
        if isinstance(self.loss, MarginLoss):
            problem_of = self.problems(rows, bias=1.0)
            wanted = range(self.loss.n_problems) if problem is None else [problem]
            return [Separable(problem_of(k), units=units) for k in wanted]
        weights, place = rows.place_weights(self._by_class(rows)), rows.rows.place
        cost = np.ones(rows.rows.n_rows) if weights is None else weights
        y, offset = self.loss.coded(self.y, self.offset)
        if isinstance(offset, np.ndarray):
            offset = place(offset) if offset.ndim == 1 else np.stack([place(o) for o in offset.T])
        return [Summed(self.loss, place(y), cost, offset, units)]

    def _coded(self, k: int) -> tuple[MarginLoss, AnyArray, Offset]:
        """Return the loss of output k, and y and offsets as solvers see them."""
        loss, y, offset = self.loss, self.y, self.offset
        if offset is not None and offset.ndim == 2:
            offset = offset[:, k]
        if isinstance(loss, SideLoss):
            return loss, loss.sides(k, y), offset
        if not isinstance(loss, MarginLoss):
            raise TypeError(f"Dual coordinate descent needs a loss of margins; got {loss!r}.")
        return loss, *loss.coded(y, offset)

    def _by_class(self, rows: WeightedRows) -> Floats | None:
        """Return the weight of the class of each row, of several classes; None if all are 1."""
        if self.class_weight is None or self.loss.task not in OF_CLASSES:
            return None
        classes = self.loss.known_classes  # type: ignore[attr-defined]
        of_classes = class_weights(self.class_weight, classes, self.y, rows.kept, rows.units.counts)
        return of_classes[self.y]

    def _costs_of_sides(self, k: int, rows: WeightedRows) -> Floats:
        """Return the weights (2,) of rows without and with a label, or of two classes."""
        if self.class_weight is None or self.loss.task not in ("binary", "multilabel"):
            return np.ones(2)
        if self.loss.task == "binary":
            classes, index = self.loss.known_classes, self.y  # type: ignore[attr-defined]
        else:
            classes, index = np.array([0, 1]), self.y[:, k]
        return class_weights(self.class_weight, classes, index, rows.kept, rows.units.counts)
