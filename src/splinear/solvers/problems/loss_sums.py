"""Sums of smooth losses as functions of the scores, which Newton's method minimizes.

Scores F are (n_outputs, n_rows). `Separable` is the sum of a binary problem or a regression, with
one output; `solvers.problems.softmax` couples the outputs of all classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.model.scatter import Scatter
from splinear.solvers.problems import per_row
from splinear.solvers.problems.losses import Loss, SmoothLoss, SquaredError
from splinear.solvers.problems.problem import Problem
from splinear.solvers.problems.units import EVERY_ROW, Units, scatter_sums, typical_weight

__all__ = [
    "FARTHEST",
    "LAST_SHIFT",
    "MAX_SHIFTS",
    "NEARLY_STRAIGHT",
    "ROUNDING",
    "Curvature",
    "Diagonal",
    "Likened",
    "LossSum",
    "Separable",
    "missing_curvature",
]

MAX_SHIFTS = 100
LAST_SHIFT = 1e-6  # size of the last Newton step; the remaining error is about its square
NEARLY_STRAIGHT = 1.0  # distance on the wrong side from which on losses are nearly linear
ROUNDING = 1e-12  # tolerance for probabilities
STEP = 2**14  # rows per batch
LEAST_EVENT = 1e-3  # relative to the mean weight: a smaller event is not typical
FARTHEST = 40.0  # largest shift: the intercept of a class without rows would go to infinity


class LossSum(Protocol):
    """A sum of losses of the scores F (n_outputs, n_rows)."""

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        ...

    @property
    def is_quadratic(self) -> bool:
        """Whether it equals its quadratic model."""
        ...

    @property
    def farthest(self) -> float:
        """Largest step of a score from which a missing curvature is measured."""
        ...

    @property
    def typical_weight(self) -> float:
        """The weight of a typical row: variances are first guessed in its unit."""
        ...

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows, the divisor of the losses."""
        ...

    def on_threads(self, n: int) -> LossSum:
        """Return the same sum, computed on n threads."""
        ...

    @property
    def bias(self) -> float | None:
        """B, if intercepts have the penalty 1/2 b^2 / B^2; None if they are free."""
        ...

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        ...

    def value(self, F: Floats) -> float:
        """Return the sum."""
        ...

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F, in the same shape."""
        ...

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F.

        For a row far on the wrong side the loss is nearly linear, and a Newton step would be far
        too long. If `cautious`, the curvature of such a row is that of a parabola that touches the
        loss at its margin m and at -m.
        """
        ...

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F), with L the sum and L* its convex conjugate.

        It is at least 0, is 0 if R is the gradient at F, and is infinite where L* is.
        """
        ...

    def best_shift(self, F: Floats) -> Floats:
        """Return the constants (n_outputs,) that minimize the sum when added to F."""
        ...


@dataclass(frozen=True, eq=False)
class Likened:
    """Base of sums over rows on a GPU or on Dask workers: properties of a local sum `like`."""

    like: LossSum

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return self.like.n_outputs

    @property
    def is_quadratic(self) -> bool:
        """Whether it equals its quadratic model."""
        return self.like.is_quadratic

    @property
    def farthest(self) -> float:
        """Largest step of a score from which a missing curvature is measured."""
        return self.like.farthest

    @property
    def typical_weight(self) -> float:
        """The weight of a typical row."""
        return self.like.typical_weight

    @property
    def bias(self) -> float | None:
        """B of penalized intercepts; None if they are free."""
        return self.like.bias


def missing_curvature(total: LossSum, F: Floats, D: Floats, curvature: Curvature) -> Floats:
    """Return the curvature (n_rows,) to add after a step D of the scores F that failed.

    A row whose loss rose by more than its quadratic model predicted gets the curvature that would
    have predicted the rise. For losses that grow exponentially, the rise is measured on a part of
    the step.
    """
    if isinstance(total, Separable) and total.twin is not None:
        h, far = np.ascontiguousarray(curvature.diagonal[0]), total.farthest
        found: Floats = _core.missing_bends(*total.twin, F[0], D[0], h, far, total.n_threads)
        return found
    D = np.clip(D, -total.farthest, total.farthest)
    rise = total.each(F + D) - total.each(F)
    rise -= np.einsum("ki,ki->i", total.gradient(F), D)
    said = 0.5 * np.einsum("ki,ki->i", curvature.times(D), D)
    squares = np.maximum(np.einsum("ki,ki->i", D, D), np.finfo(float).tiny)
    return np.where(rise > 2.0 * said, 2.0 * (rise - said) / squares, 0.0)


class Curvature(Protocol):
    """Second derivatives of a sum of losses."""

    @property
    def diagonal(self) -> Floats:
        """The diagonal, (n_outputs, n_rows)."""
        ...

    @property
    def independent(self) -> Floats:
        """The diagonal (n_outputs, n_rows) of a curvature in which outputs are independent.

        It has the same information on differences of outputs. Classes count as if each were a
        Poisson count.
        """
        ...

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to scores of outputs k and m, (n_rows,)."""
        ...

    def times(self, V: Floats) -> Floats:
        """Return the product with V (n_outputs, n_rows)."""
        ...

    def level(self, V: Floats) -> Floats:
        """Return the constants (n_outputs,) to add to V such that times(V) sums to 0 over rows."""
        ...

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal of each output."""
        ...

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        ...


@dataclass(frozen=True, eq=False)
class Separable:
    """The sum sum_i c_i loss(y_i f_i - t_i), with a single output.

    The core computes it if it has the loss, and NumPy otherwise.
    """

    problem: Problem
    loss: SmoothLoss
    n_outputs: int = 1
    bias: float | None = None
    n_threads: int = 1
    units: Units = EVERY_ROW
    least_dispersion: float = 0.0  # that of one event, for counts
    _known: dict[str, Floats] = field(default_factory=dict)  # cached at the scores "F"

    def on_threads(self, n: int) -> Separable:
        """Return the same sum, computed on n threads."""
        return self if n == self.n_threads else replace(self, n_threads=n)

    @cached_property
    def cost(self) -> Floats:
        """The weight of every row, (n_rows,)."""
        return self.problem.cost

    @cached_property
    def twin(self) -> tuple[_core.Loss, _core.DualProblem] | None:
        """The compiled loss and problem; None if the core does not have the loss."""
        if not isinstance(self.loss, Loss) or not _core.is_smooth(loss := self.loss.core()):
            return None
        return loss, replace(self.problem, y=self.problem.y.astype(np.int8, copy=False)).core()

    def _at(self, F: Floats, what: str) -> Floats:
        """Return "value" (1,), "slopes" (n,) or "bends" (n,) at F; the cache gives each once."""
        if self._known.get("F") is not F or what not in self._known:
            self._known.clear()
            self._known.update(self._computed(F), F=F)
        return self._known.pop(what)

    def _computed(self, F: Floats) -> dict[str, Floats]:
        if self.twin is not None:
            in_all, slopes, bends = _core.loss_sums(*self.twin, F[0], self.n_threads)
            return {"value": np.array([in_all]), "slopes": slopes, "bends": bends}
        margin = self.problem.margin(F[0])
        slopes, bends = self.loss.derivatives(margin)
        bends *= self.cost
        slopes *= self.cost
        slopes *= self.problem.y
        in_all = float(self.cost @ self.loss.value(margin))
        return {"value": np.array([in_all]), "slopes": slopes, "bends": bends}

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        if self.twin is not None:
            each: Floats = _core.loss_each(*self.twin, F[0], self.n_threads)
            return each
        return self.cost * self.loss.value(self.problem.margin(F[0]))

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return float(self._at(F, "value")[0])

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F, in the same shape."""
        return self._at(F, "slopes")[None]

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F: a diagonal."""
        if cautious and self.twin is not None:
            n = self.n_threads
            bends: Floats = _core.cautious_bends(*self.twin, F[0], NEARLY_STRAIGHT, n)
            return Diagonal(bends[None], n)
        second = self._at(F, "bends")[None]
        if cautious:
            margin = self.problem.margin(F[0])
            wrong = np.flatnonzero(margin < -NEARLY_STRAIGHT)
            second[0, wrong] = self.cost[wrong] * self.loss.caution(margin[wrong])
        return Diagonal(second, self.n_threads)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F) by the losses' duals, with R_i = -y_i alpha_i."""
        if self.twin is not None:
            return _core.loss_gap(*self.twin, F[0], np.ascontiguousarray(R[0]), self.n_threads)
        pieces = [slice(start, start + STEP) for start in range(0, F.shape[1], STEP)]
        return float(sum(self._gap_of(F[0], R[0], some) for some in pieces))

    def _gap_of(self, F: Floats, R: Floats, some: slice) -> float:
        """Return the part of some rows; batches save memory."""
        counts = np.flatnonzero(self.cost[some]) + some.start
        cost, alpha = self.cost[counts], -self.problem.y[counts] * R[counts]
        feasible = np.clip(alpha, *self.loss.range(cost))
        if not np.all(np.abs(alpha - feasible) <= ROUNDING * cost):
            return np.inf
        m = self.problem.some(counts).margin(F[counts])
        return float(self.loss.gap(feasible, m, cost).sum())

    def best_shift(self, F: Floats) -> Floats:
        """Return the constant (1,) that minimizes the sum when added to F."""
        if self.twin is not None:
            found = _core.loss_shift(
                *self.twin,
                F[0],
                last=LAST_SHIFT,
                farthest=FARTHEST,
                max_steps=MAX_SHIFTS,
                n_threads=self.n_threads,
            )
            return np.array([found])
        known = self.loss.shift(self.problem.margin(F[0]), self.cost)
        if known is not None:
            sign = float(self.problem.y[0])  # the same for all rows if there is a formula
            return np.array([sign * known])
        shift = np.zeros(1)
        for _ in range(MAX_SHIFTS):
            margin = self.problem.margin(F[0] + shift)
            slopes, bends = self.loss.derivatives(margin)
            slope = float((self.problem.y * slopes) @ self.cost)
            bend = float(self.cost @ bends)
            step = np.clip(-slope / bend if bend > 0 else -np.sign(slope), -1.0, 1.0)
            shift += step
            if abs(step) <= LAST_SHIFT or abs(shift[0]) > FARTHEST:
                break
        return shift

    @property
    def is_quadratic(self) -> bool:
        """Whether it equals its quadratic model."""
        return isinstance(self.loss, SquaredError)

    @property
    def farthest(self) -> float:
        """Largest step of a score from which a missing curvature is measured."""
        return self.loss.farthest

    @cached_property
    def typical_weight(self) -> float:
        """The weight of a typical row; of counts, about the smallest event."""
        if self.least_dispersion > 0.0:
            return max(self.least_dispersion, LEAST_EVENT * float(self.cost.mean()))
        return typical_weight(self.units, self.cost)

    @property
    def is_likelihood(self) -> bool:
        """Whether the losses are negative log-likelihoods for weights of 1."""
        return self.loss.is_likelihood

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        value, G = self.value(F), self.gradient(F)
        sums = scatter_sums(self.units, self.cost, G, self.curvature(F).diagonal)
        return Scatter.of(
            sums, 2.0 * value, self.least_dispersion, is_likelihood=self.is_likelihood
        )


@dataclass(frozen=True, eq=False)
class Diagonal:
    """Second derivatives of a sum that does not couple outputs."""

    diagonal: Floats
    n_threads: int = 1

    @cached_property
    def _total(self) -> float:
        return max(float(self.diagonal.sum()), np.finfo(float).tiny)

    @property
    def independent(self) -> Floats:
        """The diagonal itself."""
        return self.diagonal

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to scores of outputs k and m, (n_rows,)."""
        return np.asarray(self.diagonal[k] if k == m else np.zeros(self.diagonal.shape[1]))

    def times(self, V: Floats) -> Floats:
        """Return the product with V (n_outputs, n_rows)."""
        return self.diagonal * V

    def level(self, V: Floats) -> Floats:
        """Return the constants to add to V such that times(V) sums to 0 over rows."""
        return np.asarray(-np.einsum("ki,ki->k", self.diagonal, V) / self._total)

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal."""
        return replace(self, diagonal=per_row.raised(self.diagonal, extra, self.n_threads))

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        return Diagonal(per_row.taken(self.diagonal, numbers, self.n_threads) * weights)
