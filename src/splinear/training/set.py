"""The training set: weighted rows, their target, and the interactions to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from splinear._types import AnyArray
from splinear.model.layout import Layout
from splinear.solvers.problems.loss_sums import LossSum
from splinear.solvers.problems.losses import Loss, SmoothLoss
from splinear.solvers.problems.problem import Result, Start
from splinear.solvers.rows.training_rows import TrainingRows
from splinear.training.outputs.base import Outputs, Problems, Target
from splinear.training.weighted import WeightedRows

if TYPE_CHECKING:
    from splinear.training.interactions import Interactions
    from splinear.training.pair_check import PairSearch

__all__ = ["TrainingSet"]

Found = TypeVar("Found", Result, Start)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Weighted rows and their target, from which the problems of solvers are made.

    Solvers see the target minus its center, divided by its unit. `centered` converts models to
    these units, and `restored` converts results back.
    """

    weighted: WeightedRows
    target: Target
    interactions: Interactions | None = None  # None if there are no surfaces
    search: PairSearch | None = None  # how pairs were searched, once they have been

    @property
    def rows(self) -> TrainingRows:
        """The rows as the core reads them."""
        return self.weighted.rows

    @property
    def outputs(self) -> Outputs:
        """How the model's scores become predictions."""
        return self.target.outputs

    @property
    def has_searched(self) -> bool:
        """Whether all pairs that were asked for have been looked for."""
        asked = self.interactions
        return asked is None or asked.n_more == 0 or self.search is not None

    def within(self, kept: AnyArray) -> TrainingSet:
        """Return the set restricted to the rows in `kept` (n_given,), for a fold."""
        return replace(self, weighted=self.weighted.within(kept))

    def without(self, held_out: AnyArray) -> TrainingSet:
        """Return the set with a weight of 0 in the rows `held_out` (n_given,).

        Unlike `within`, it keeps what the target takes from all rows, so that scores mean the same.
        """
        return replace(self.within(~held_out), target=self.target.among(self.weighted))

    def with_layout(self, layout: Layout) -> TrainingSet:
        """Return the set with a layout of the same groups."""
        return replace(self, weighted=self.weighted.with_layout(layout))

    def with_rows(self, rows: TrainingRows) -> TrainingSet:
        """Return the set with the same rows in another form."""
        return replace(self, weighted=self.weighted.over(rows))

    def problems(self, loss: Loss, bias: float) -> Problems:
        """Return the problem of each output for dual coordinate descent, for C = 1."""
        return self.target.problems(self.weighted, loss, bias)

    def sums(self, loss: SmoothLoss, rows: TrainingRows | None = None) -> list[LossSum]:
        """Return the sums of losses for Newton's method, over all rows or over `rows`."""
        weighted = self.weighted if rows is None else self.weighted.over(rows)
        return [weighted.rows.adopted(total) for total in self.target.sums(weighted, loss)]

    def centered(self, starts: Sequence[Found]) -> list[Found]:
        """Return models in the units of solvers."""
        center, unit = self._center_and_unit()
        return [_divided(one, -center, unit) for one in starts]

    def restored(self, results: Sequence[Result]) -> list[Result]:
        """Return a solver's results in the units of the target."""
        center, unit = self._center_and_unit()
        return [_multiplied(found, center, unit) for found in results]

    @property
    def unit(self) -> float:
        """The target's unit."""
        return self.target.unit(self.weighted)

    def _center_and_unit(self) -> tuple[float, float]:
        return self.target.center(self.weighted), self.target.unit(self.weighted)


def _divided(one: Found, shift: float, unit: float) -> Found:
    coef = None if one.coef is None else one.coef / unit
    return replace(one, coef=coef, intercept=(one.intercept + shift) / unit)


def _multiplied(found: Result, center: float, unit: float) -> Result:
    """Return a result in the units of the target; the objective has the squared unit."""
    if center == 0.0 and unit == 1.0:
        return found  # avoids a copy of the coefficients
    return replace(
        found,
        coef=unit * found.coef,
        intercept=unit * found.intercept + center,
        primal=unit**2 * found.primal,
        dual=unit**2 * found.dual,
    )
