"""The Hessian in Newton's method: its products with vectors, and preconditioners for them.

A product with the Hessian takes two passes over the rows: one scores a direction, the other sums
over rows. The Hessian itself is formed only as a preconditioner, in one of two ways:

- `_Banded`: its diagonal blocks, one per feature, which are banded for B-splines and together one
  banded matrix. This is cheap, but takes many iterations if features are strongly related.
- `_Dense`: the whole matrix (one per output), from all rows or, as a preconditioner need not be
  exact, from a sample. With all rows and one output it is the Hessian, and one iteration suffices.

Both are for curves. Surfaces have one block each in addition (`solvers.newton.pair_blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Literal, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from splinear import _core
from splinear._types import Floats
from splinear.model.cone import Cone
from splinear.model.factoring import factor_with
from splinear.model.nonnegative import Metric
from splinear.solvers.newton.arrow import Arrow
from splinear.solvers.newton.iterate import Iterate, Space
from splinear.solvers.newton.pair_blocks import SurfaceBlocks
from splinear.solvers.newton.part import Part
from splinear.solvers.newton.passes import Inverse, Stepping
from splinear.solvers.newton.steps import ENOUGH, FARTHEST_PROVEN, MAX_CG, Aim, Step
from splinear.solvers.newton.whole_hessian import WholeHessian, entries_per_row, forms_hessian
from splinear.solvers.problems.watch import Watch
from splinear.solvers.rows.training_rows import TrainingRows

__all__ = ["Chooser", "Preconditioner", "QuadraticModel"]

Preconditioner = Literal["auto", "banded", "dense"]

ROWS_PER_COEFFICIENT = 12  # rows of the sample for the dense preconditioner

# Rows of the first sample for products. It is larger for several outputs, and for terms with
# levels, which may be missing from a small sample.
FIRST_SAMPLE, LARGER_SAMPLE = 5_000, 10_000
SAMPLE_GROWTH, GROW_ABOVE = 4, 0.5
TINY = float(np.finfo(np.float64).tiny)
FEW_PRODUCTS = 12  # up to this many in a step, the preconditioner is reused for the next one
WORTH_SOLVING = 8  # forming and factoring the whole Hessian may cost as much as this many products


class QuadraticModel(Protocol):
    """A quadratic model of the objective around a point."""

    space: Space  # of the rows that products use
    is_whole: bool  # whether these are all rows

    def times(self, direction: Floats) -> tuple[Floats, Floats]:
        """Return the scores of a direction and its product with the Hessian."""
        ...

    def precondition(self, theta: Floats) -> Floats:
        """Return theta multiplied by an approximate inverse of the Hessian."""
        ...

    def metric(self, cone: Cone) -> Metric:
        """Return (A M^{-1} A')^{-1}, where `precondition` multiplies by M^{-1}."""
        ...

    def least(self, gradient: Floats, radius: float, watch: Watch, aim: Aim) -> Step | None:
        """Return the step that minimizes the model, or None if this takes calls of `times`."""
        ...


class Chooser:
    """Chooses the preconditioner of the next step, given the number of products in the last one.

    The cost of both is measured in numbers that are multiplied and added somewhere in memory.
    """

    def __init__(self, at: Iterate, preconditioner: str) -> None:
        space = self.space = at.space
        n = space.layout.n_free_of_curves + 1
        self.n_sample = min(space.n_rows, ROWS_PER_COEFFICIENT * n)
        self.dense_price = 0.5 * self.n_sample * entries_per_row(space) ** 2 + n**3 / 30
        per_row = space.rows.n_values / space.n_rows
        self.price_per_row = space.rows.value_price * per_row  # of a product
        if space.rows.pairs is not None:
            self.price_per_row += space.rows.pairs.price * space.rows.pairs.n_pairs
        if preconditioner == "banded" or not forms_hessian(space.layout):
            self.dense_price = np.inf
        elif preconditioner == "dense" or space.cone is not None:
            self.dense_price = 0.0  # in a cone, steps by products take very many of them
        self.keeps = space.cone is not None  # whether a preconditioner is kept for later steps
        self.kept: _Dense | None = None
        # The first step starts from zero, where all rows have about the same weight, and is easy.
        self.last_products = 10
        # Products with the Hessian may use a sample, as long as the steps make progress.
        has_levels = any(group.levels is not None for group in space.layout.groups)
        n_first = LARGER_SAMPLE if has_levels or space.n_outputs > 1 else FIRST_SAMPLE
        self.n_product = space.n_rows if space.n_rows <= 2 * n_first else n_first
        if not space.rows.is_here:  # a pass over all rows costs far more than one over the sample
            self.n_product = max(1, space.rows.n_sampled)  # 0: all rows
        if space.cone is not None and self.dense_price == 0.0:  # few products, may prove a gap
            self.n_product = space.n_rows
        elif at.n_product is not None:
            self.n_product = max(self.n_product, min(at.n_product, space.n_rows))
        if at.total.is_quadratic and preconditioner == "auto" and self._can_solve(n):
            self.n_product = self.n_sample = space.n_rows
            self.dense_price, self.keeps = 0.0, True

    def _can_solve(self, n: int) -> bool:
        """Return whether forming the (n, n) Hessian costs no more than a few products with it.

        A quadratic objective is minimized by one step with it.
        """
        space = self.space
        is_plain = space.n_outputs == 1 and not space.layout.pairs and space.cone is None
        if not (is_plain and space.rows.is_here and forms_hessian(space.layout)):
            return False
        price = 0.5 * space.n_rows * entries_per_row(space) ** 2 + n**3 / 30
        return price <= WORTH_SOLVING * self.price_per_row * space.n_rows

    def model(self, at: Iterate) -> QuadraticModel:
        """Return the model of the next step."""
        part = Part(at, self.n_product)
        if self.kept is not None and self.last_products <= FEW_PRODUCTS:
            return self.kept.under(part)
        if self._is_hard and (inverse := part.inverse()) is not None:
            return _Inverse(part, inverse)
        if self.last_products * self.price_per_row * part.space.n_rows <= self.dense_price:
            return _Banded(part)
        self.dense_price = 0.0  # dense from now on
        dense = _Dense(part, self.n_sample)
        self.kept = dense if self.keeps else None
        return dense

    @property
    def _is_hard(self) -> bool:
        """Whether blocks are a poor preconditioner: several outputs, or many products before."""
        is_many = self.space.n_outputs > 1 or self.last_products > FEW_PRODUCTS
        return is_many and self.space.cone is None

    def grow(self, before: Iterate, after: Iterate) -> None:
        """Enlarge the sample if the gap fell by little."""
        if after.gap > GROW_ABOVE * before.gap:
            self.grow_sample()

    def grow_sample(self) -> None:
        """Use a larger sample, or all rows."""
        n, most = SAMPLE_GROWTH * self.n_product, self.space.rows.n_sampled
        is_enough = n <= most and 2 * n <= self.space.n_rows
        self.n_product = n if is_enough else max(most + 1, self.space.n_rows)

    def note(self, n_products: int) -> None:
        """Record how many products a step took."""
        self.last_products = n_products


class _ByPasses:
    """Products with the Hessian as two passes over the rows."""

    def __init__(self, part: Part) -> None:
        self.space, self.curvature, self.is_whole = part.space, part.curvature, part.is_whole
        self.calibration = part.calibration
        self.surfaces = [SurfaceBlocks(self.space.layout, own) for own in part.pair_blocks]

    def times(self, direction: Floats) -> tuple[Floats, Floats]:
        """Return the scores of a direction and its product with the Hessian.

        Free intercepts follow: those of the direction are replaced in place, such that their part
        of the product is 0.
        """
        space = self.space
        is_one = space.is_free and space.n_outputs == 1 and not space.layout.pairs
        if is_one and isinstance(space.rows, TrainingRows):
            scores, product = self._times_at_once(space.rows, direction)
        else:
            scores, product = self._times_step_by_step(direction)
        if self.calibration is not None:
            product[:, :-1] += self.calibration.times(space, direction[:, :-1])
        return scores, product

    def least(self, gradient: Floats, radius: float, watch: Watch, aim: Aim) -> Step | None:
        """Return None: the minimum takes calls of `times`."""
        del gradient, radius, watch, aim
        return None

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

    def _times_step_by_step(self, direction: Floats) -> tuple[Floats, Floats]:
        if self.space.is_free:
            direction[:, -1] = 0.0
        scores = self.space.scores(direction)
        if self.space.is_free:
            direction[:, -1] = self.curvature.level(scores)
            scores += direction[:, -1:]
        product = self.space.sums(self.curvature.times(scores))
        self.space.add_stiffness(direction, product)
        return scores, product

    def _times_at_once(self, rows: TrainingRows, direction: Floats) -> tuple[Floats, Floats]:
        """Return the same in one call of the core, for one output's curves and local rows."""
        h, n_threads = self.curvature.diagonal, self.space.n_threads
        scores, direction[0, -1], sums = rows.curved(direction[:, :-1], h, n_threads)
        product = self.space.join(sums, np.zeros(1))
        self.space.add_stiffness(direction, product)
        return scores, product


class _Banded(_ByPasses):
    """Preconditioned by the diagonal blocks M_j, one per feature, and the intercept b.

    A curve can shift the mean score as b can. So b is replaced by b' = b + sum_j u_j'theta_j / s,
    with u_j the `ties` and s the sum of second derivatives, and M_j by M_j - u_j u_j' / s. This is
    in terms of tables, where a gap has a value of its own, and not of parameters, where it has a
    deviation from its curve's mean.
    """

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        s = self.space.totals(part.curvature.diagonal) + self.space.stiffness_of_b
        s = np.maximum(s, TINY)
        self.outputs = [
            Arrow(self.space, blocks, u, float(of_b))
            for blocks, u, of_b in zip(part.blocks, part.ties, s, strict=True)
        ]

    def precondition(self, theta: Floats) -> Floats:
        return self._beside_surfaces(theta, self._of_curves)

    def _of_curves(self, theta: Floats) -> Floats:
        solved = [arrow.solve(theta[k : k + 1]) for k, arrow in enumerate(self.outputs)]
        return solved[0] if len(solved) == 1 else np.concatenate(solved)

    def least(self, gradient: Floats, radius: float, watch: Watch, aim: Aim) -> Step | None:
        space, rows = self.space, self.space.rows
        is_one = space.n_outputs == 1 and not space.layout.pairs and self.calibration is None
        if not is_one or not isinstance(rows, TrainingRows):
            return None
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
        return cone.metric([partial(self._solve, k) for k in range(len(self.outputs))])

    def _solve(self, k: int, r: Floats) -> Floats:
        """Return r (n, n_parameters), 0 for the intercept, times the inverse of output k."""
        out, n = np.empty_like(r), self.space.layout.n_of_curves
        out[:, :n] = self.outputs[k].solve_curves(r[:, :n])
        out[:, n:] = self.surfaces[k].solve(r)
        return out


class _Inverse(_ByPasses):
    """Preconditioned by the inverse Hessian of each output's curves, computed elsewhere."""

    def __init__(self, part: Part, inverse: Inverse) -> None:
        super().__init__(part)
        self.inverse = inverse

    def precondition(self, theta: Floats) -> Floats:
        return self._beside_surfaces(theta, self.inverse.times)

    def least(self, gradient: Floats, radius: float, watch: Watch, aim: Aim) -> Step | None:
        if not isinstance(self.inverse, Stepping):
            return None
        return self.inverse.step(self.space, self.curvature, gradient, radius, watch, aim)

    def metric(self, cone: Cone) -> Metric:
        raise NotImplementedError  # other preconditioners are used in a cone


class _Dense(_ByPasses):
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
        self.exact = self.matrices[0] if is_exact else None

    def _matrix(
        self, h: Floats, blocks: list[Floats], n_sample: int, more: Iterable[Floats]
    ) -> Floats:
        H = self.whole.of_losses(h, blocks, n_sample, more)
        self.whole.add_penalty(H, self.whole.space.layout)
        return H

    def under(self, part: Part) -> _Dense:
        """Return the model of another part, with the preconditioner of this one."""
        other = copy(self)
        _ByPasses.__init__(other, part)
        other.exact = None
        return other

    def times(self, direction: Floats) -> tuple[Floats, Floats]:
        if self.exact is None:
            return super().times(direction)
        out = np.zeros_like(direction)
        out[0, self.places] = self.exact @ direction[0, self.places]
        return self.space.scores(direction), out

    def precondition(self, theta: Floats) -> Floats:
        out = np.zeros_like(theta)
        for k, factor in enumerate(self.factors):
            out[k, self.places] = cho_solve(factor, theta[k, self.places])
            n = self.space.layout.n_of_curves
            out[k, n:-1] = self.surfaces[k].solve(theta[k, :-1])
        return out

    def metric(self, cone: Cone) -> Metric:
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
