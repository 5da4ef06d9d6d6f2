"""The training set: weighted rows, their response, and the interactions to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from splinear._types import AnyArray
from splinear.losses.base import Loss
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.problem import Result, Start
from splinear.training.response import Problems, Response
from splinear.training.weighted import WeightedRows

if TYPE_CHECKING:
    from splinear.training.interactions import Interactions
    from splinear.training.pair_check import PairSearch

__all__ = ["TrainingSet"]

Found = TypeVar("Found", Result, Start)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Weighted rows and their response, from which the problems of solvers are made.

    Solvers see scores less the response's centers, divided by the loss's unit. `centered` converts
    models to these units, and `restored` converts results back.
    """

    weighted: WeightedRows
    response: Response
    interactions: Interactions | None = None  # None if there are no surfaces
    search: PairSearch | None = None  # how pairs were searched, once they have been
    problem: int | None = None  # of several unrelated ones, as labels are; None for all

    @property
    def rows(self) -> TrainingRows:
        """The rows as the core reads them."""
        return self.weighted.rows

    @property
    def loss(self) -> Loss:
        """What y means, and what a score does."""
        return self.response.loss

    @property
    def has_searched(self) -> bool:
        """Whether all pairs that were asked for have been looked for."""
        asked = self.interactions
        return asked is None or asked.n_more == 0 or self.search is not None

    def within(self, kept: AnyArray) -> TrainingSet:
        """Return the set restricted to the rows in `kept` (n_given,), for a fold."""
        weighted = self.weighted.within(kept)
        return replace(self, weighted=weighted, response=self.response.fitted(weighted.survey))

    def without(self, held_out: AnyArray) -> TrainingSet:
        """Return the set with a weight of 0 in the rows `held_out` (n_given,).

        Unlike `within`, it keeps what the loss knows of all rows, so that scores mean the same.
        """
        return replace(self, weighted=self.weighted.within(~held_out))

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
