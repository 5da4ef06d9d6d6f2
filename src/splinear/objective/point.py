"""Points of an objective, and what is known there."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.losses.curvature import Curvature
from splinear.model.layout import Layout
from splinear.model.scatter import Scatter
from splinear.objective.loss_sums import LossSum, left_of, missing_curvature, shared_of
from splinear.objective.problem import Result
from splinear.objective.rows import RowValues
from splinear.objective.space import Space, dot
from splinear.objective.step import Step

if TYPE_CHECKING:
    from splinear.objective.objective import Objective

__all__ = ["Point"]

MOST_EXTRA = 1e32  # largest curvature of a row: sums over codes are in single precision


class Point:
    """A point, with optimal intercepts unless it is asked to keep them, and values computed there.

    Values that depend only on the scores remain valid under another layout; see `under`. F is owned
    by the point from now on, and is changed in place.
    """

    def __init__(
        self, objective: Objective, theta: Floats, F: RowValues, *, free: bool = True
    ) -> None:
        self.objective, self.theta, self.F = objective, theta, F
        if free:
            self._solve_for_intercepts()
        self.n_iter = 0
        self.extra: RowValues | None = None  # additional curvature of rows
        self.n_raised, self.is_cautious = 0, False
        self.n_product: int | None = None  # number of rows that products used on the way here
        self.proof: RowValues | None = None  # dual variables of the gap; None: the losses' slopes

    def _solve_for_intercepts(self) -> None:
        space = self.space
        shift = self.total.best_shift(self.F) if space.is_free else np.zeros(space.n_outputs)
        self.theta = space.leveled(space.shifted(self.theta, shift))
        self.F = space.lifted(self.F, shift)
        # Adding the same to all classes changes no probability, so the common part is kept at 0.
        if space.is_tied:
            self.F -= self.F.mean(axis=0)
        elif space.n_outputs > 1:
            common = self.theta[:, -1].mean()
            self.theta[:, -1] -= common
            self.F -= common

    @property
    def space(self) -> Space:
        """The rows, and vectors of the length of the model."""
        return self.objective.space

    @property
    def total(self) -> LossSum:
        """The sum of the losses."""
        return self.objective.total

    @property
    def layout(self) -> Layout:
        """The terms, with their variances."""
        return self.objective.space.layout

    # -- other points ----------------------------------------------------------------------------

    def moved(self, step: Step, share: float = 1.0) -> Point:
        """Return the point after a share of a step, whose scores are computed only once."""
        space = self.space
        theta = space.snapped(self.theta + share * step.vector)
        return Point(self.objective, theta, space.moved(self.F, space.scores_of(step), share))

    def under(self, layout: Layout) -> Point:
        """Return the same point for other variances; no pass over the rows."""
        other = copy(self)
        for name in ("penalty_gradient", "value", "gap"):
            other.__dict__.pop(name, None)
        other.proof = None
        other.objective = self.objective.under(layout)
        return other

    def by(self, total: LossSum) -> Point:
        """Return the same point for another loss, with intercepts that are optimal for it."""
        return Point(replace(self.objective, total=total), self.theta.copy(), self.F.copy())

    def raised(self, failed: Step) -> Point:
        """Return the same point with extra curvature for rows that made a step fail."""
        D = self.space.scores_of(failed)
        more = missing_curvature(self.total, self.F, D, self.step_curvature)
        other = self.cautious()
        extra = more if self.extra is None else self.extra + more
        other.extra = np.minimum(extra, MOST_EXTRA)
        other.n_raised = self.n_raised + 1
        return other

    def cautious(self) -> Point:
        """Return the same point with more curvature where losses are nearly linear."""
        other = copy(self)
        other.__dict__.pop("step_curvature", None)
        other.is_cautious = True
        return other

    @cached_property
    def step_curvature(self) -> Curvature:
        """The second derivatives used for steps."""
        at = self.total.curvature(self.F, cautious=True) if self.is_cautious else self.curvature
        return at if self.extra is None else at.raised(self.extra)

    @property
    def is_bare(self) -> bool:
        """Whether steps use the losses' own second derivatives."""
        return self.extra is None and not self.is_cautious

    # -- the objective ---------------------------------------------------------------------------

    @property
    def parameters(self) -> Floats:
        """The layout's parameters, (n_outputs, n_parameters)."""
        return self.theta[:, :-1]

    @cached_property
    def losses(self) -> float:
        """The sum of the losses."""
        return self.total.value(self.F)

    @cached_property
    def penalty_gradient(self) -> Floats:
        """The gradient of the penalty."""
        return self.space.penalty_gradient(self.theta)

    @cached_property
    def value(self) -> float:
        """The objective P."""
        return 0.5 * dot(self.theta, self.penalty_gradient) + self.losses

    @cached_property
    def loss_gradient(self) -> Floats:
        """The gradient of the losses."""
        return self.space.sums(self.total.gradient(self.F))

    @property
    def gradient(self) -> Floats:
        """The gradient of P."""
        return self.penalty_gradient + self.loss_gradient

    @cached_property
    def gap(self) -> float:
        """The smallest known duality gap, by default the one to the losses' derivatives."""
        return self.space.gap(self.gradient, self.theta)

    def duals(self, step: Step) -> RowValues:
        """Return the slopes of the losses' quadratic model at the end of a step from here.

        They prove more than the slopes of the losses at its end do; see `solvers.newton`.
        """
        R = self.total.gradient(self.F)
        R += self.step_curvature.times(self.space.scores_of(step))
        return R

    def gap_to(self, duals: RowValues) -> float:
        """Return the duality gap to slopes (n_outputs, n_rows) that sum to 0 for every output.

        It is infinite if they are not feasible.
        """
        gap = self.total.gap(self.F, duals)
        if gap == np.inf:
            return gap
        sums = self.space.sums(duals)
        return gap + self.space.gap(self.penalty_gradient + sums, self.theta)

    def settled(self) -> Point:
        """Return the point with the intercepts that are best for the losses themselves.

        The slopes at this point are its proof.
        """
        R = self.total.gradient(self.F) if self.proof is None else self.proof
        shift = self.total.by(self.total.loss.exact).best_shift(self.F)
        theta, F = self.space.shifted(self.theta, shift), self.F + shift[:, None]
        other = Point(self.objective, theta, F, free=False)
        other.proof, other.n_iter = R, self.n_iter
        return other

    def exactly(self) -> tuple[float, float, float]:
        """Return the objective of the losses themselves, its gap, and what smoothing adds to it.

        They differ from `value` and `gap` if the losses are surrogates; the third is the losses'
        part of the gap.
        """
        R = self.total.gradient(self.F) if self.proof is None else self.proof
        losses, gap = self.total.exact(self.F, R)
        model = self.space.gap(self.penalty_gradient + self.space.sums(R), self.theta)
        value = 0.5 * dot(self.theta, self.penalty_gradient) + losses
        return value, gap + model, gap

    # -- derivatives of the losses ---------------------------------------------------------------

    @cached_property
    def curvature(self) -> Curvature:
        """The second derivatives of the losses."""
        return self.total.curvature(self.F)

    @cached_property
    def bends(self) -> Floats:
        """The losses' second derivatives with respect to b: sums over rows, (n_outputs,)."""
        return self.space.totals(self.curvature.diagonal)

    @cached_property
    def blocks(self) -> list[list[Floats]]:
        """The diagonal blocks of the losses' Hessian in bands, per output and group of curves."""
        return self.space.blocks(self.curvature.diagonal)

    @cached_property
    def pair_blocks(self) -> list[list[Floats]]:
        """The diagonal blocks of surfaces; see PairRows.blocks."""
        return self.space.pair_blocks(self.curvature.diagonal)

    def independent_pair_blocks(self) -> list[list[Floats]]:
        """Return the blocks of surfaces for a curvature in which outputs are independent."""
        return self.space.pair_blocks(self.curvature.independent)

    def table_slopes(self) -> Floats:
        """Return the gradient of the losses with respect to the entries of tables."""
        return self.space.rows.raw_sums(self.total.gradient(self.F), self.space.n_threads)

    @cached_property
    def ties(self) -> Floats:
        """The Hessian's entries between tables of curves and b, (n_outputs, n_of_curves)."""
        return self.space.ties(self.curvature.diagonal, self.blocks)

    @property
    def scatter(self) -> Scatter:
        """The sums from which the dispersion follows."""
        return self.total.scatter(self.F)

    # -- results ---------------------------------------------------------------------------------

    @property
    def relative_gap(self) -> float:
        """The gap relative to P; 0 if P = 0, which is the minimum, and NaN if P is NaN."""
        return self.gap / self.value if self.value != 0.0 else 0.0

    def is_converged(self, tol: float) -> bool:
        """Return whether the gap is within tol, and is a proof."""
        return bool(self.relative_gap <= tol and self._tilt <= tol * self.value)

    @cached_property
    def _tilt(self) -> float:
        """An upper bound of what better intercepts would gain; the gap assumes optimal ones."""
        if not self.space.is_free:
            return 0.0
        slopes = self.space.totals(self.total.gradient(self.F))
        tilt = float(np.abs(slopes) @ np.abs(self.total.best_shift(self.F)))
        return tilt + left_of(self.total, self.F)

    def results(self, tol: float) -> list[Result]:
        """Return the models of all outputs, with their certificate."""
        coef = self.space.layout.extended(self.parameters)
        slopes = self.total.gradient(self.F) if self.proof is None else self.proof
        value, gap, converged = self.value, self.gap, self.is_converged(tol)
        shared = shared_of(self.total, self.F)
        if self.total.loss.exact is not self.total.loss:
            value, gap, _ = self.exactly()
            tilt = np.abs(self.space.totals(slopes)) @ np.abs(self.total.best_shift(self.F))
            converged = value == 0.0 or bool(gap <= tol * value and tilt <= tol * value)
        return [
            Result(
                coef=coef[k],
                intercept=float(self.theta[k, -1]),
                primal=value,
                dual=value - gap,
                gap=gap / value if value != 0.0 else 0.0,
                n_iter=self.n_iter,
                converged=converged,
                certified=converged,
                slopes=slopes[k],
                shared=shared,
            )
            for k in range(len(coef))
        ]
