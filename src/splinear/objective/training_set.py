"""The training set: weighted rows and their response.

The response is y as numbers, and the loss that says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.utils import compute_class_weight

from splinear._types import AnyArray, Floats
from splinear.losses.base import Loss, Offset
from splinear.losses.classes import kept_pieces
from splinear.losses.margin import MarginLoss
from splinear.losses.sides import SideLoss
from splinear.losses.survey import Survey
from splinear.model.layout import Layout
from splinear.objective.local.memory import BytesPerRow
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum, Separable, Summed
from splinear.objective.problem import Problem, Result, Start
from splinear.objective.units import EVERY_ROW, Units

__all__ = ["ClassWeight", "Problems", "Response", "TrainingSet", "WeightedRows", "class_weights"]

ClassWeight = dict[Any, float] | Literal["balanced"] | None
OF_CLASSES = ("multiclass", "ordinal")  # tasks whose class weights are weights of rows

Problems = Callable[[int], Problem]  # from the index of an output to its problem
Found = TypeVar("Found", Result, Start)


def class_weights(
    class_weight: ClassWeight,
    classes: AnyArray,
    index: AnyArray,
    kept: AnyArray | None,
    rows: Floats | None = None,
) -> Floats:
    """Return the weight of every class, (n_classes,).

    `index` (n,) holds the index of each row's class; `kept` (n,) marks the rows with a positive
    weight, and `rows` (n,) says how many rows each stands for, if that is not one. Under
    "balanced", a class without rows has weight 1.
    """
    weights = np.ones(len(classes))
    if class_weight is None:
        return weights
    counts = np.zeros(len(classes))
    if rows is not None:
        counts += np.bincount(index, rows, minlength=len(classes))
    else:
        for piece in kept_pieces(index, kept):
            counts += np.bincount(piece, minlength=len(classes))
    present = np.flatnonzero(counts)
    if isinstance(class_weight, dict):
        weights[:] = compute_class_weight(class_weight, classes=classes, y=classes[present])
        _check(classes, weights)
    else:
        weights[present] = counts.sum() / (len(present) * counts[present])
    return weights


def _check(classes: AnyArray, weights: Floats) -> None:
    """Raise if a weight is negative, infinite or NaN, naming its class."""
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        name, weight = classes[wrong[0]], weights[wrong[0]]
        raise ValueError(
            f"class_weight must be finite and not negative; that of class {name!s} is {weight:g}."
        )


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
        is_in_unit = self.loss.link == "identity" and self.loss.n_offsets == 1
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


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Weighted rows and their response, from which the problems of solvers are made.

    Solvers see scores less the response's centers, divided by the loss's unit. `centered` converts
    models to these units, and `restored` converts results back.
    """

    weighted: WeightedRows
    response: Response
    problem: int | None = None  # of several unrelated ones, as labels are; None for all

    @property
    def rows(self) -> TrainingRows:
        """The rows as the core reads them."""
        return self.weighted.rows

    @property
    def loss(self) -> Loss:
        """What y means, and what a score does."""
        return self.response.loss

    def within(self, kept: AnyArray) -> TrainingSet:
        """Return the set restricted to the rows in `kept` (n_given,), for a fold."""
        weighted = self.weighted.within(kept)
        return replace(self, weighted=weighted, response=self.response.fitted(weighted.survey))

    def without(self, held_out: AnyArray) -> TrainingSet:
        """Return the set with a weight of 0 in the rows `held_out` (n_given,).

        Unlike `within`, it keeps what the loss knows of all rows, so that scores mean the same.
        """
        return replace(self, weighted=self.weighted.within(~held_out))

    def n_units(self, rows: TrainingRows) -> float:
        """Return the number of independent units among some of the rows."""
        return self.weighted.over(rows).n_units

    def problem_by_problem(self) -> list[TrainingSet]:
        """Return one set per unrelated problem: of each label, or of all classes."""
        n = self.loss.n_problems
        return [self] if n == 1 else [replace(self, problem=k) for k in range(n)]

    def with_layout(self, layout: Layout) -> TrainingSet:
        """Return the set with a layout of the same groups."""
        return replace(self, weighted=self.weighted.with_layout(layout))

    def with_rows(self, rows: TrainingRows) -> TrainingSet:
        """Return the set with the same rows in another form."""
        return replace(self, weighted=self.weighted.over(rows))

    def with_loss(self, loss: Loss | None) -> TrainingSet:
        """Return the set with parameters of the loss that were estimated; itself for None."""
        return self if loss is None else replace(self, response=self.response.with_loss(loss))

    def problems(self, bias: float) -> Problems:
        """Return the problem of each output for dual coordinate descent, for C = 1."""
        return self.response.problems(self.weighted, bias)

    def sums(self, rows: TrainingRows | None = None, loss: Loss | None = None) -> list[LossSum]:
        """Return the sums of losses for Newton's method, over all rows or over `rows`.

        `loss` is the loss with other parameters, if they were estimated.
        """
        if loss is not None:
            return self.with_loss(loss).sums(rows)
        weighted = self.weighted if rows is None else self.weighted.over(rows)
        sums = self.response.sums(weighted, self.problem)
        return [weighted.rows.adopted(total) for total in sums]

    def centered(self, starts: Sequence[Found]) -> list[Found]:
        """Return models in the units of solvers."""
        both = zip(starts, self._centers, strict=True)
        return [_divided(one, -center, self.loss.unit) for one, center in both]

    def restored(self, results: Sequence[Result]) -> list[Result]:
        """Return a solver's results in the units of y."""
        both = zip(results, self._centers, strict=True)
        return [_multiplied(found, center, self.loss.unit) for found, center in both]

    @property
    def _centers(self) -> list[float]:
        """What is added to the intercepts of solvers, for the outputs of the set's problems."""
        centers: list[float] = self.response.centers.tolist()
        return centers if self.problem is None else [centers[self.problem]]


def _divided(one: Found, shift: float, unit: float) -> Found:
    coef = None if one.coef is None else one.coef / unit
    return replace(one, coef=coef, intercept=(one.intercept + shift) / unit)


def _multiplied(found: Result, center: float, unit: float) -> Result:
    """Return a result in the units of y; the objective has the squared unit."""
    if center == 0.0 and unit == 1.0:
        return found  # avoids a copy of the coefficients
    return replace(
        found,
        coef=unit * found.coef,
        intercept=unit * found.intercept + center,
        primal=unit**2 * found.primal,
        dual=unit**2 * found.dual,
    )
