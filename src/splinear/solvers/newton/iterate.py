"""Points visited by Newton's method, and values computed there."""

from __future__ import annotations

from copy import copy

import numpy as np

from splinear import _core
from splinear import _per_row as per_row
from splinear._caching import cached_property
from splinear._types import Floats
from splinear.losses.curvature import Curvature
from splinear.model.layout import Layout
from splinear.solvers.newton.passes import Inverting, RowPasses
from splinear.solvers.problems.loss_sums import LossSum, missing_curvature
from splinear.solvers.problems.problem import Result, Start

__all__ = ["Iterate", "Space", "added", "begin", "dot"]

MOST_EXTRA = 1e32  # largest curvature of a row: sums over codes are in single precision

LEAST_BIAS = 1e-15  # a smaller intercept is 0 to all digits


def begin(rows: RowPasses, total: LossSum, n_threads: int, start: Start | None = None) -> Iterate:
    """Return the starting point: an earlier model if its objective is smaller, otherwise zero."""
    space, total = Space(rows, total.n_outputs, n_threads, total.bias), total.on_threads(n_threads)
    theta = space.zeros()
    zero = Iterate(space, total, theta, space.zero_scores())
    if not np.isfinite(zero.value):
        raise ValueError(
            "The sum of the losses is not finite even without any curves: weights or targets are "
            "too large."
        )
    if start is None or start.coef is None:
        return zero
    # Leveled before scoring: in single precision large levels would cost digits.
    theta = space.join(np.atleast_2d(start.coef), np.atleast_1d(start.intercept))
    theta = space.leveled(theta)
    first = Iterate(space, total, theta, space.scores(theta))
    return first if first.value < zero.value else zero


class Iterate:
    """A point with optimal intercepts, and values computed there.

    Values that depend only on the scores remain valid under another layout; see `under`. F is owned
    by the point from now on, and is changed in place.
    """

    def __init__(self, space: Space, total: LossSum, theta: Floats, F: Floats) -> None:
        shift = total.best_shift(F) if space.is_free else np.zeros(space.n_outputs)
        self.space, self.total = space, total
        self.theta = space.leveled(space.shifted(theta, shift))
        self.F = space.lifted(F, shift)
        # Adding the same to all classes changes no probability, so the common part is kept at 0.
        if space.is_tied:
            self.F -= self.F.mean(axis=0)
        elif space.n_outputs > 1:
            common = self.theta[:, -1].mean()
            self.theta[:, -1] -= common
            self.F -= common
        self.n_iter = 0
        self.extra: Floats | None = None  # additional curvature of rows
        self.n_raised, self.is_cautious = 0, False
        self.n_product: int | None = None  # number of rows that products used on the way here
        self.proof: Floats | None = None  # dual variables of the gap; None: the losses' slopes

    def under(self, layout: Layout) -> Iterate:
        """Return the same point for other variances; keep `sums`, `curvature` and `blocks`."""
        other = copy(self)
        for name in ("pull", "value", "gap"):
            other.__dict__.pop(name, None)
        other.proof = None
        rows = self.space.rows.with_layout(layout)
        other.space = self.space.over(rows)
        return other

    def raised(self, D: Floats) -> Iterate:
        """Return the same point with extra curvature for rows that made a step fail.

        D are the changes of scores by that step.
        """
        more = missing_curvature(self.total, self.F, D, self.step_curvature)
        other = self.cautious()
        extra = more if self.extra is None else self.extra + more
        other.extra = np.minimum(extra, MOST_EXTRA)
        other.n_raised = self.n_raised + 1
        return other

    def cautious(self) -> Iterate:
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

    @property
    def parameters(self) -> Floats:
        """The layout's parameters, (n_outputs, n_parameters)."""
        return self.theta[:, :-1]

    @cached_property
    def losses(self) -> float:
        """The sum of the losses."""
        return self.total.value(self.F)

    @cached_property
    def pull(self) -> Floats:
        """The gradient of the penalty."""
        return self.space.stiffen(self.theta)

    @cached_property
    def value(self) -> float:
        """The objective P."""
        return 0.5 * dot(self.theta, self.pull) + self.losses

    @cached_property
    def sums(self) -> Floats:
        """The gradient of the losses."""
        return self.space.sums(self.total.gradient(self.F))

    @property
    def gradient(self) -> Floats:
        """The gradient of P."""
        return self.pull + self.sums

    @cached_property
    def gap(self) -> float:
        """The smallest known duality gap, by default the one to the losses' derivatives."""
        return self.space.gap(self.gradient, self.theta)

    def gap_to(self, R: Floats) -> float:
        """Return the duality gap to R (n_outputs, n_rows), which sums to zero for every output.

        It is infinite if R is not feasible.
        """
        gap = self.total.gap(self.F, R)
        if gap == np.inf:
            return gap
        return gap + self.space.gap(self.pull + self.space.sums(R), self.theta)

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

    @cached_property
    def ties(self) -> Floats:
        """The Hessian's entries between tables of curves and b, (n_outputs, n_of_curves)."""
        return self.space.ties(self.curvature.diagonal, self.blocks)

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
        return float(np.abs(slopes) @ np.abs(self.total.best_shift(self.F)))

    def results(self, tol: float) -> list[Result]:
        """Return the models of all outputs, with their certificate."""
        coef = self.space.layout.extended(self.parameters)
        slopes = self.total.gradient(self.F) if self.proof is None else self.proof
        converged = self.is_converged(tol)
        return [
            Result(
                coef=coef[k],
                intercept=float(self.theta[k, -1]),
                primal=self.value,
                dual=self.value - self.gap,
                gap=self.relative_gap,
                n_iter=self.n_iter,
                converged=converged,
                certified=converged,
                slopes=slopes[k],
            )
            for k in range(len(coef))
        ]


class Space:
    """Vectors theta (n_outputs, n_parameters + 1): the layout's parameters, followed by b.

    Unused parameters (of constant features, or beyond the bins of a feature with fewer than others)
    are 0, and the penalty is that of the used ones alone. The intercepts are free unless there is a
    `bias` B: then their penalty is 1/2 b^2 / B^2, and they are 0 if B is 0.
    """

    def __init__(
        self, rows: RowPasses, n_outputs: int, n_threads: int, bias: float | None = None
    ) -> None:
        self.rows, self.n_outputs, self.n_threads, self.bias = rows, n_outputs, n_threads, bias
        self.is_free = bias is None
        self.stiffness_of_b = 0.0 if bias is None else 1.0 / max(bias, LEAST_BIAS) ** 2
        self.layout, self.n_rows = rows.layout, rows.n_rows
        self.used = self.layout.used
        self.cone = self.layout.cone
        # Several outputs are classes: adding the same to all of them changes no probability.
        are_classes = self.is_free and n_outputs > 1 and self.cone is None
        self.is_tied = are_classes and isinstance(rows, Inverting)
        self.has_level = self.is_free and any(group.has_level for group in self.layout.groups)

    def over(self, rows: RowPasses) -> Space:
        """Return the same space for other rows."""
        return Space(rows, self.n_outputs, self.n_threads, self.bias)

    def zeros(self) -> Floats:
        """Return the zero vector."""
        return np.zeros((self.n_outputs, len(self.used) + 1))

    def zero_scores(self) -> Floats:
        """Return the scores of the zero vector."""
        return self.rows.zero_scores(self.n_outputs)

    def join(self, parameters: Floats, b: Floats) -> Floats:
        """Return the vector of parameters and intercepts; unused parameters become 0."""
        out = np.empty((len(parameters), len(self.used) + 1))
        out[:, :-1], out[:, -1] = parameters, b
        if len(self.layout.unused):
            out[:, self.layout.unused] = 0.0
        return out

    def shifted(self, theta: Floats, shift: Floats) -> Floats:
        """Return the vector with `shift` added to the intercepts."""
        out = theta.copy()
        out[:, -1] += shift
        return out

    def leveled(self, theta: Floats) -> Floats:
        """Return theta with the levels of curves and categories moved to the intercept.

        This changes no score and minimizes the penalty; otherwise the Hessian would be almost flat
        in these directions. The same holds for the common part of classes, which is subtracted.
        """
        if not self.has_level and not self.is_tied:
            return theta
        out = theta - theta.mean(axis=0) if self.is_tied else theta.copy()
        pairs = zip(self.layout.groups, self.layout.split(out[:, :-1]), strict=True)
        for group, part in pairs:
            if group.has_level:
                out[:, -1] += group.take_level(part)
        return out

    def scores(self, theta: Floats) -> Floats:
        """Return the scores F (n_outputs, n_rows)."""
        F = self.rows.scores(theta[:, :-1], self.n_threads)
        return self.lifted(F, np.ascontiguousarray(theta[:, -1]))

    def lifted(self, F: Floats, levels: Floats) -> Floats:
        """Return scores F plus levels (n_outputs,), computed in place."""
        return per_row.lifted(F, levels, self.n_threads)

    def totals(self, R: Floats) -> Floats:
        """Return the sums of R (n_outputs, n_rows) over rows."""
        return per_row.totals(R, self.n_threads)

    def moved(self, F: Floats, D: Floats, share: float = 1.0) -> Floats:
        """Return scores F + share * D."""
        return per_row.moved(F, D, share, self.n_threads)

    def sums(self, R: Floats) -> Floats:
        """Return the gradient of sum(R * F) with respect to theta."""
        return self.join(self.rows.sums(R, self.n_threads), self.totals(R))

    def stiffen(self, theta: Floats) -> Floats:
        """Return the gradient of the penalty."""
        out = self.zeros()
        self.add_stiffness(theta, out)
        return out

    def soften(self, theta: Floats) -> Floats:
        """Return the inverse of `stiffen`, for intercepts with a penalty."""
        curves = self.layout.soften(theta[:, :-1], self.n_threads)
        return self.join(curves, theta[:, -1] / self.stiffness_of_b)

    def add_stiffness(self, theta: Floats, to: Floats) -> None:
        """Add the gradient of the penalty to a vector, in place."""
        self.layout.add_stiffness(theta[:, :-1], to[:, :-1], self.n_threads)
        to[:, -1] += self.stiffness_of_b * theta[:, -1]
        if len(self.layout.unused):
            to[:, self.layout.unused] = 0.0

    def snapped(self, theta: Floats) -> Floats:
        """Return a vector that is in the cone up to rounding as one exactly inside."""
        if self.cone is None:
            return theta
        return np.column_stack([self.cone.snapped(theta[:, :-1]), theta[:, -1]])

    def gap(self, gradient: Floats, theta: Floats) -> float:
        """Return the penalty's part of the duality gap at theta, and the cone's if there is one.

        It is 1/2 g'K g, where the gradients with respect to b and levels, which are 0 up to
        rounding, are set to 0. In the cone A theta >= 0 it is the minimum of 1/2 h'K h + m'A theta
        with h = g - A'm over m >= 0: compared to equality in the inequalities with a multiplier,
        theta costs m'A theta more.
        """
        g, of_b = self._without_levels(gradient), 0.0
        if not self.is_free:
            of_b = 0.5 * dot(gradient[:, -1], gradient[:, -1]) / self.stiffness_of_b
        if self.cone is None:
            return 0.5 * self.layout.softness(g, self.n_threads) + of_b
        slacks = self.cone.slack(theta[:, :-1])
        _, m = self.cone.penalty_metric.nearest(slacks - self.cone.slack(self.layout.soften(g)))
        h = g - self.cone.pull(m)
        return max(0.0, 0.5 * dot(h, self.layout.soften(h)) + dot(m, slacks)) + of_b

    def _without_levels(self, gradient: Floats) -> Floats:
        """Return a gradient with respect to the parameters, with 0 along levels."""
        g = np.where(self.used, gradient[:, :-1], 0.0)
        if self.has_level:
            for group, part in zip(self.layout.groups, self.layout.split(g), strict=True):
                if group.has_level:
                    part[:] = group.without_slope(part)
        return g

    def blocks(self, H: Floats) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i', for each row h of H and each group.

        They are in bands, (n_features, stride, support); the row of a gap holds the sum of h over
        gaps.
        """
        return self.rows.blocks(H, self.n_threads)

    def pair_blocks(self, H: Floats) -> list[list[Floats]]:
        """Return the blocks of surfaces; see PairRows.blocks."""
        pairs = self.rows.pairs
        none: list[list[Floats]] = [[] for _ in range(self.n_outputs)]
        return none if pairs is None else pairs.blocks(H, self.n_threads)

    def ties(self, H: Floats, blocks: list[list[Floats]]) -> Floats:
        """Return sum_i h_i B_i of curves for each row h of H, (n_outputs, n_of_curves).

        If the functions sum to one it follows from the blocks; otherwise it takes a pass over the
        rows.
        """
        if not all(group.embedding.basis.is_partition for group in self.layout.groups):
            return self.rows.raw_sums(H, self.n_threads)[:, : self.layout.n_of_curves]
        parts = [np.ascontiguousarray(part) for own in blocks for part in own]
        sums = [_core.band_sums(part, self.n_threads).reshape(-1) for part in parts]
        flat = sums[0] if len(sums) == 1 else np.concatenate([np.zeros(0), *sums])
        return flat.reshape(len(blocks), self.layout.n_of_curves)


def added(to: Floats, share: float, more: Floats) -> Floats:
    """Return to + share * more, computed in place."""
    _core.add_scaled(to, share, more)
    return to


def dot(a: Floats, b: Floats) -> float:
    """Return the sum of the products of all entries."""
    return float(np.vdot(a, b))
