"""Quadratic models of an objective around a point: products with the Hessian, and steps.

A product with the Hessian takes two passes over the rows: one scores a direction, the other sums
over rows. The Hessian itself is formed only as a preconditioner, in one of two ways:

- `Banded`: its diagonal blocks, one per feature, which are banded for B-splines and together one
  banded matrix. This is cheap, but takes many iterations if features are strongly related.
- `Dense`: the whole matrix (one per output), from all rows or, as a preconditioner need not be
  exact, from a sample. With all rows and one output it is the Hessian, and one iteration suffices.

Both are for curves. Surfaces have one block each in addition. `Inverted` has inverses that were
computed where the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from splinear import _core
from splinear._caching import cached_property
from splinear._types import Floats
from splinear.losses.curvature import Curvature, Diagonal
from splinear.model.cone import Cone
from splinear.model.factoring import factor_with
from splinear.model.nonnegative import Metric
from splinear.objective.blocks import Arrow, SurfaceBlocks
from splinear.objective.calibration import Blocks, Calibration
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.point import Point
from splinear.objective.rows import Inverse, RowValues
from splinear.objective.space import Space, added, dot
from splinear.objective.step import ENOUGH, FARTHEST_PROVEN, MAX_CG, Aim, Length, Step
from splinear.objective.watch import Watch
from splinear.objective.whole_hessian import WholeHessian

__all__ = ["Banded", "Dense", "Inverted", "Model", "Part", "conjugate_gradients"]

TINY = float(np.finfo(np.float64).tiny)


class Part:
    """The rows used for the Hessian at a point: all, or a sample of about n."""

    def __init__(self, at: Point, n: int) -> None:
        self.is_whole = n > at.space.rows.n_sampled
        self.all_rows, self.all_curvature = at.space, at.step_curvature
        self.space, self.curvature = self.all_rows, self.all_curvature
        self._at, self._is_own = at, self.is_whole and at.is_bare
        if not self.is_whole:
            some, self.curvature = at.space.rows.sampled(self.curvature, n, at.space.n_threads)
            self.space = at.space.over(some)

    @cached_property
    def seen(self) -> Blocks:
        """The diagonal blocks of curves from these rows."""
        return self._at.blocks if self._is_own else self.space.blocks(self.curvature.diagonal)

    @cached_property
    def ties(self) -> Floats:
        """The coupling of curves' tables to the intercept."""
        if self._is_own:
            return self._at.ties
        return self.space.ties(self.curvature.diagonal, self.seen)

    @cached_property
    def calibration(self) -> Calibration | None:
        """The correction for functions that are nonzero in too few rows of a sample, or None."""
        at = self._at
        if self.is_whole or at.space.rows.is_here or self.space.n_rows >= at.space.n_rows:
            return None
        of_all = _joined(at.blocks, at.pair_blocks)
        return Calibration.between(
            self.space.layout, _joined(self.seen, self._seen_of_pairs), of_all
        )

    @property
    def blocks(self) -> Blocks:
        """The diagonal blocks of curves, calibrated."""
        return [one[: len(self.space.layout.groups)] for one in self._all_blocks]

    @property
    def pair_blocks(self) -> Blocks:
        """The diagonal blocks of surfaces, calibrated."""
        if not self.space.layout.pairs:
            return self._seen_of_pairs
        return [one[len(self.space.layout.groups) :] for one in self._all_blocks]

    @cached_property
    def _seen_of_pairs(self) -> Blocks:
        if self._is_own:
            return self._at.pair_blocks
        return self.space.pair_blocks(self.curvature.diagonal)

    @cached_property
    def _all_blocks(self) -> Blocks:
        own = _joined(self.seen, self._seen_of_pairs)
        return own if self.calibration is None else self.calibration.added(own)

    def inverse(self) -> Inverse | None:
        """Return the inverse of the Hessian if the rows can compute it, otherwise None.

        For all rows, the blocks at the point itself are accurate enough, and known already.
        """
        rows = self.space.rows
        if not rows.inverts:
            return None
        blocks = self._at.blocks if self.is_whole else self.blocks
        return rows.inverse(self.space, self.curvature, blocks)

    def of_dense(self, n: int) -> tuple[Space, Curvature, Blocks, Calibration | None]:
        """Return a space whose first n rows make the dense preconditioner, and values for it.

        These are the curvature, the blocks of curves, and their calibration (or None).
        """
        space, curvature = self.all_rows, self.all_curvature
        if space.rows.is_here:
            return space, curvature, self.blocks, None
        if not self.is_whole:
            return self.space, self.curvature, self.seen, self.calibration
        some, curvature = space.rows.sampled(curvature, n, space.n_threads)
        space = space.over(some)
        seen, curves = space.blocks(curvature.diagonal), space.layout.with_pairs([])
        return space, curvature, seen, Calibration.between(curves, seen, self.blocks)


class Model:
    """The quadratic model of an objective around a point, by passes over all rows or a sample."""

    def __init__(self, part: Part) -> None:
        self.space, self.curvature, self.is_whole = part.space, part.curvature, part.is_whole
        self.calibration = part.calibration
        self.surfaces = [SurfaceBlocks(self.space.layout, own) for own in part.pair_blocks]

    def times(self, direction: Floats) -> tuple[RowValues, Floats]:
        """Return the scores of a direction and its product with the Hessian.

        Free intercepts follow: those of the direction are replaced in place, such that their part
        of the product is 0.
        """
        rows = self._rows_at_once
        if rows is not None and self.space.is_free:
            scores, product = self._times_at_once(rows, direction)
        else:
            scores, product = self._times_step_by_step(direction)
        if self.calibration is not None:
            product[:, :-1] += self.calibration.times(self.space, direction[:, :-1])
        return scores, product

    @property
    def _rows_at_once(self) -> TrainingRows | None:
        """The rows, if the core can compute all of a product with the Hessian; otherwise None.

        It can for the curves of one output, and for losses that tie no row to another.
        """
        rows, is_one = self.space.rows, self.space.n_outputs == 1 and not self.space.layout.pairs
        if not is_one or not isinstance(rows, TrainingRows):
            return None
        return rows if isinstance(self.curvature, Diagonal) else None

    def precondition(self, theta: Floats) -> Floats:
        """Return theta multiplied by an approximate inverse of the Hessian."""
        raise NotImplementedError

    def metric(self, cone: Cone) -> Metric:
        """Return (A M^{-1} A')^{-1}, where `precondition` multiplies by M^{-1}."""
        raise NotImplementedError

    def least(self, gradient: Floats, radius: float, watch: Watch, aim: Aim) -> Step:
        """Minimize gradient's + 1/2 s'H s over steps s no longer than the radius."""
        return conjugate_gradients(self, gradient, radius, watch, aim)

    def _beside_surfaces(self, theta: Floats, of_curves: Callable[[Floats], Floats]) -> Floats:
        """Return theta times the inverses: `of_curves` (with intercepts), and of surfaces."""
        if not self.space.layout.pairs:
            return of_curves(theta)
        out, n = np.empty_like(theta), self.space.layout.n_of_curves
        solved = of_curves(np.delete(theta, np.s_[n:-1], axis=1))
        out[:, :n], out[:, -1] = solved[:, :-1], solved[:, -1]
        for own, to, surfaces in zip(theta, out, self.surfaces, strict=True):
            to[n:-1] = surfaces.solve(own[:-1])
        return out

    def _times_step_by_step(self, direction: Floats) -> tuple[RowValues, Floats]:
        if self.space.is_free:
            direction[:, -1] = 0.0
        scores = self.space.scores(direction)
        if self.space.is_free:
            direction[:, -1] = self.curvature.level(scores)
            scores += direction[:, -1:]
        product = self.space.sums(self.curvature.times(scores))
        self.space.penalty_gradient(direction, product)
        return scores, product

    def _times_at_once(self, rows: TrainingRows, direction: Floats) -> tuple[Floats, Floats]:
        """Return the same in one call of the core, for one output's curves and local rows."""
        h, n_threads = self.curvature.diagonal, self.space.n_threads
        scores, direction[0, -1], sums = rows.curved(direction[:, :-1], h, n_threads)
        product = self.space.join(sums, np.zeros(1))
        self.space.penalty_gradient(direction, product)
        return scores, product


class Banded(Model):
    """Preconditioned by the diagonal blocks M_j, one per feature, and the intercept b.

    A curve can shift the mean score as b can. So b is replaced by b' = b + sum_j u_j'theta_j / s,
    with u_j the `ties` and s the sum of second derivatives, and M_j by M_j - u_j u_j' / s. This is
    in terms of tables, where a gap has a value of its own, and not of parameters, where it has a
    deviation from its curve's mean.
    """

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        s = self.space.totals(part.curvature.diagonal) + self.space.precision_of_b
        s = np.maximum(s, TINY)
        self.outputs = [
            Arrow(self.space, blocks, u, float(of_b))
            for blocks, u, of_b in zip(part.blocks, part.ties, s, strict=True)
        ]

    def precondition(self, theta: Floats) -> Floats:
        """Return theta multiplied by the approximate inverse."""
        return self._beside_surfaces(theta, self._of_curves)

    def _of_curves(self, theta: Floats) -> Floats:
        solved = [arrow.solve(theta[k : k + 1]) for k, arrow in enumerate(self.outputs)]
        return solved[0] if len(solved) == 1 else np.concatenate(solved)

    def least(self, gradient: Floats, radius: float, watch: Watch, aim: Aim) -> Step:
        """Minimize the model, in one call where that is possible."""
        space, rows = self.space, self._rows_at_once
        if rows is None or self.calibration is not None:
            return super().least(gradient, radius, watch, aim)
        limits = _core.StepLimits(
            radius=radius,
            accuracy=aim.accuracy,
            gap=ENOUGH * aim.gap,
            max_products=MAX_CG,
            keeps_scores=self.is_whole,
            is_quadratic=aim.is_quadratic,
            farthest=FARTHEST_PROVEN,
        )
        h = self.curvature.diagonal[0]
        found = self.outputs[0].least(space, rows, h, gradient[0], limits, watch)
        scores = found.scores if self.is_whole else None
        how_far = (found.n_products, found.length, found.at_edge)
        return Step(found.to, scores, found.decrease, found.left, *how_far)

    def metric(self, cone: Cone) -> Metric:
        """Return (A M^{-1} A')^{-1}."""
        return cone.metric([partial(self._solve, k) for k in range(len(self.outputs))])

    def _solve(self, k: int, r: Floats) -> Floats:
        """Return r (n, n_parameters), 0 for the intercept, times the inverse of output k."""
        out, n = np.empty_like(r), self.space.layout.n_of_curves
        out[:, :n] = self.outputs[k].solve_curves(r[:, :n])
        out[:, n:] = self.surfaces[k].solve(r)
        return out


class Inverted(Model):
    """Preconditioned by the inverse Hessian of each output's curves, computed elsewhere."""

    def __init__(self, part: Part, inverse: Inverse) -> None:
        super().__init__(part)
        self.inverse = inverse

    def precondition(self, theta: Floats) -> Floats:
        """Return theta multiplied by the approximate inverse."""
        return self._beside_surfaces(theta, self.inverse.times)

    def least(self, gradient: Floats, radius: float, watch: Watch, aim: Aim) -> Step:
        """Minimize the model, in one call where that is possible."""
        found = self.inverse.step(self.space, self.curvature, gradient, radius, watch, aim)
        return super().least(gradient, radius, watch, aim) if found is None else found


class Dense(Model):
    """Preconditioned by the whole Hessian of each output, from the first n_sample rows.

    Rows are in random order, so these are a sample. Diagonal entries are those of all rows where
    the sample has too few: functions that are nonzero in few rows would otherwise appear to be
    free.
    """

    def __init__(self, part: Part, n_sample: int) -> None:
        super().__init__(part)
        space, curvature, seen, calibration = part.of_dense(n_sample)
        n_sample = min(n_sample, space.n_rows)
        self.whole = WholeHessian(space)
        self.places = self.whole.places
        self.matrices = [
            self._matrix(h, seen[k], n_sample, calibration.matrices(k) if calibration else ())
            for k, h in enumerate(curvature.diagonal)
        ]
        self.factors = [factor_with(cho_factor, H, np.einsum("kk->k", H)) for H in self.matrices]
        self._metric: Metric | None = None
        is_all = n_sample == space.n_rows and (part.all_rows.rows.is_here or not part.is_whole)
        is_exact = is_all and space.n_outputs == 1 and not space.layout.pairs
        is_exact = is_exact and isinstance(curvature, Diagonal)
        self.exact = self.matrices[0] if is_exact else None

    def _matrix(
        self, h: Floats, blocks: list[Floats], n_sample: int, more: Iterable[Floats]
    ) -> Floats:
        H = self.whole.of_losses(h, blocks, n_sample, more)
        self.whole.add_penalty(H, self.whole.space.layout)
        return H

    def under(self, part: Part) -> Dense:
        """Return the model of another part, with the preconditioner of this one."""
        other = copy(self)
        Model.__init__(other, part)
        other.exact = None
        return other

    def times(self, direction: Floats) -> tuple[RowValues, Floats]:
        """Return the scores of a direction and its product with the Hessian."""
        if self.exact is None:
            return super().times(direction)
        out = np.zeros_like(direction)
        out[0, self.places] = self.exact @ direction[0, self.places]
        return self.space.scores(direction), out

    def precondition(self, theta: Floats) -> Floats:
        """Return theta multiplied by the approximate inverse."""
        out = np.zeros_like(theta)
        for k, factor in enumerate(self.factors):
            out[k, self.places] = cho_solve(factor, theta[k, self.places])
            n = self.space.layout.n_of_curves
            out[k, n:-1] = self.surfaces[k].solve(theta[k, :-1])
        return out

    def metric(self, cone: Cone) -> Metric:
        """Return (A M^{-1} A')^{-1}."""
        if self._metric is None:
            if cone.has_surfaces:
                inverses = [partial(self._solve, k) for k in range(len(self.factors))]
                self._metric = cone.whole_metric(inverses)
            else:
                self._metric = cone.joint_metric(self.matrices, self.places[:-1])
        return self._metric

    def _solve(self, k: int, r: Floats) -> Floats:
        """Return r (n, n_parameters), 0 for the intercept, times the inverse of output k."""
        out, n = np.zeros_like(r), self.space.layout.n_of_curves
        places = self.places[:-1]
        padded = np.column_stack([r[:, places], np.zeros(len(r))])
        out[:, places] = cho_solve(self.factors[k], padded.T).T[:, :-1]
        out[:, n:] = self.surfaces[k].solve(r)
        return out


def conjugate_gradients(
    model: Model, gradient: Floats, radius: float, watch: Watch, aim: Aim
) -> Step:
    """Minimize gradient's + 1/2 s'H s over steps s no longer than the radius, by products with H.

    They stop at the boundary (Steihaug's method), or when the step is as accurate as asked for.
    """
    space = model.space
    step, step_scores = np.zeros_like(gradient), space.zero_scores()
    residual = -gradient
    if space.is_free:  # intercepts are optimal: this is 0 up to rounding
        residual[:, -1] = 0.0
    z = space.leveled(model.precondition(residual))
    direction, rz = z, dot(residual, z)
    goal, decrease, left = aim.accuracy**2 * rz, 0.0, np.inf
    length, at_edge, n_products = Length(radius, direction=rz), False, 0
    while n_products < MAX_CG and rz > 0.0:
        n_products += 1
        own_scores, product = model.times(direction)
        curvature = dot(direction, product)
        if not 0.0 < curvature < np.inf:  # rounding errors dominate
            break
        t, at_edge = length.go(rz / curvature)
        decrease += t * dot(direction, residual) - 0.5 * t * t * curvature
        step = added(step, t, direction)
        step_scores = space.moved(step_scores, own_scores, t) if model.is_whole else step_scores
        if at_edge or watch.poll():
            break
        residual = added(residual, -t, product)
        z = space.leveled(model.precondition(residual))
        previous, rz = rz, dot(residual, z)
        # The gap of the model is at least rz / 2, as its Hessian is at least the penalty's.
        left = space.gap(residual, step) if rz <= 2.0 * ENOUGH * aim.gap else np.inf
        if left <= ENOUGH * aim.gap:
            break
        # If only the gap of the model is still too large, it is worth continuing.
        if rz <= goal and not (model.is_whole and aim.is_near(step_scores, decrease)):
            break
        direction = added(z, rz / previous, direction)
        length.turn(t, rz / previous, rz)
    scores = step_scores if model.is_whole else None
    return Step(step, scores, decrease, left, n_products, float(np.sqrt(length.step)), at_edge)


def _joined(curves: Blocks, surfaces: Blocks) -> Blocks:
    return [[*own, *more] for own, more in zip(curves, surfaces, strict=True)]
