"""Sums of smooth losses as functions of the scores, which Newton's method minimizes.

Scores F are (n_outputs, n_rows). `Summed` is the sum of any loss, and `Separable` that of a loss of
margins, which the core computes if it has the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.losses.base import Loss, Offset
from splinear.losses.curvature import Curvature, Diagonal
from splinear.losses.margin import NEARLY_STRAIGHT, MarginLoss
from splinear.model.scatter import Scatter
from splinear.objective.problem import Problem
from splinear.objective.units import EVERY_ROW, Units, scatter_sums, typical_weight

__all__ = [
    "FARTHEST",
    "LAST_SHIFT",
    "MAX_SHIFTS",
    "ROUNDING",
    "Likened",
    "LossSum",
    "Separable",
    "Summed",
    "constant_of",
    "exact_value",
    "left_of",
    "missing_curvature",
    "renewed",
    "shared_of",
]

MAX_SHIFTS = 100
LAST_SHIFT = 1e-6  # size of the last Newton step; the remaining error is about its square
ROUNDING = 1e-12  # tolerance for probabilities
STEP = 2**14  # rows per batch
LEAST_EVENT = 1e-3  # relative to the mean weight: a smaller event is not typical
FARTHEST = 40.0  # largest shift: the intercept of a class without rows would go to infinity


LikenedSum = TypeVar("LikenedSum", bound="Likened")


class LossSum(Protocol):
    """A sum of losses of the scores F (n_outputs, n_rows)."""

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        ...

    @property
    def loss(self) -> Loss:
        """The loss."""
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

    def exact(self, F: Floats, R: Floats) -> tuple[float, float]:
        """Return the sum of the losses themselves and their gap to R, `value` and `gap`.

        They differ from these for losses with a kink, of which the sum is of smooth surrogates.
        """
        ...

    def by(self, loss: Loss) -> LossSum:
        """Return the same sum of a loss with other parameters."""
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
    def loss(self) -> Loss:
        """The loss."""
        return self.like.loss

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

    def by(self: LikenedSum, loss: Loss) -> LikenedSum:
        """Return the same sum of a loss with other parameters."""
        return replace(self, like=self.like.by(loss))


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
    if total.loss.n_shared:
        rise = cast(Summed, total).rise(F, D)
    else:
        rise = total.each(F + D) - total.each(F)
    rise -= np.einsum("ki,ki->i", total.gradient(F), D)
    said = 0.5 * np.einsum("ki,ki->i", curvature.times(D), D)
    squares = np.maximum(np.einsum("ki,ki->i", D, D), np.finfo(float).tiny)
    return np.where(rise > 2.0 * said, 2.0 * (rise - said) / squares, 0.0)


@dataclass(frozen=True, eq=False)
class Separable:
    """The sum sum_i c_i loss(y_i f_i - t_i), with a single output.

    The core computes it if it has the loss, and NumPy otherwise.
    """

    problem: Problem
    n_outputs: int = 1
    bias: float | None = None
    n_threads: int = 1
    units: Units = EVERY_ROW
    _known: dict[str, Floats] = field(default_factory=dict)  # cached at the scores "F"

    def on_threads(self, n: int) -> Separable:
        """Return the same sum, computed on n threads."""
        return self if n == self.n_threads else replace(self, n_threads=n)

    @property
    def loss(self) -> MarginLoss:
        """The loss."""
        return self.problem.loss

    @cached_property
    def cost(self) -> Floats:
        """The weight of every row, (n_rows,)."""
        return self.problem.cost

    @cached_property
    def twin(self) -> tuple[_core.Loss, _core.DualProblem] | None:
        """The compiled loss and problem; None if the core does not have the loss."""
        loss = self.loss.core()
        if loss is None or not _core.is_smooth(loss):
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
        in_all = float(self.cost @ self.loss.of_margin(margin))
        return {"value": np.array([in_all]), "slopes": slopes, "bends": bends}

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        if self.twin is not None:
            each: Floats = _core.loss_each(*self.twin, F[0], self.n_threads)
            return each
        return self.cost * self.loss.of_margin(self.problem.margin(F[0]))

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
        return float(self.loss.dual_gap(feasible, m, cost).sum())

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
        known = self.loss.margin_shift(self.problem.margin(F[0]), self.cost)
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
        return self.loss.quadratic

    @property
    def farthest(self) -> float:
        """Largest step of a score from which a missing curvature is measured."""
        return self.loss.farthest

    @cached_property
    def typical_weight(self) -> float:
        """The weight of a typical row; of counts, about the smallest event."""
        return _typical_weight(self)

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        return _scatter(self, F)

    def exact(self, F: Floats, R: Floats) -> tuple[float, float]:
        """Return the sum and its gap to R."""
        return self.value(F), self.gap(F, R)

    def by(self, loss: Loss) -> Separable:
        """Return the same sum of a loss with other parameters."""
        assert isinstance(loss, MarginLoss)
        return replace(self, problem=replace(self.problem, loss=loss), _known={})


@dataclass(frozen=True, eq=False)
class Summed:
    """The sum sum_i c_i value(y_i, unit F_i + offset_i) / unit^2 of any loss.

    The unit is that of the loss, so that curvatures do not depend on it.

    Attributes
    ----------
    loss : Loss
    y : ndarray of shape (n_rows,)
        As solvers see it.
    cost : ndarray of shape (n_rows,)
    offset : ndarray of shape (n_rows,) or (n_outputs, n_rows), float or None
    is_held : bool
        Whether the loss keeps its shared parameters; otherwise they follow the scores.
    """

    loss: Loss
    y: AnyArray
    cost: Floats
    offset: Offset = None
    units: Units = EVERY_ROW
    bias: float | None = None
    is_held: bool = False
    _known: list[Any] = field(default_factory=list)  # scores, and what is known at them

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return self.loss.n_scores

    @property
    def is_quadratic(self) -> bool:
        """Whether it equals its quadratic model."""
        return self.loss.quadratic

    @property
    def farthest(self) -> float:
        """Largest step of a score from which a missing curvature is measured."""
        return self.loss.farthest / self.loss.unit

    @cached_property
    def typical_weight(self) -> float:
        """The weight of a typical row."""
        return _typical_weight(self)

    def on_threads(self, n: int) -> Summed:
        """Return the same sum, because NumPy computes it on one thread."""
        del n
        return self

    def _scores(self, F: Floats) -> Floats:
        """Return the scores that the loss takes."""
        unit, offset = self.loss.unit, self.offset
        F = F if unit == 1.0 else unit * F
        return F if offset is None else F + offset

    def _at(self, F: Floats) -> tuple[Floats, Floats, Curvature]:
        """Return values (n_rows,), slopes and curvatures at F; those of the last F are known."""
        if not self._known or self._known[0] is not F:
            unit, scores = self.loss.unit, self._scores(F)
            loss = self.loss
            if loss.n_shared and not self.is_held:
                last: Loss = self._known[2] if self._known else loss
                loss = last.profiled(self.y, scores, self.cost)
            each, slopes, bends = loss.evaluate(self.y, scores, self.cost)
            if unit != 1.0:
                each, slopes = each / unit**2, slopes / unit
            self._known[:] = [F, (each, slopes, bends), loss]
        found: tuple[Floats, Floats, Curvature] = self._known[1]
        return found

    def loss_at(self, F: Floats) -> Loss:
        """Return the loss with the shared parameters, if it has some, that are best at F."""
        if not self.loss.n_shared or self.is_held:
            return self.loss
        self._at(F)
        found: Loss = self._known[2]
        return found

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        return self._each(self.loss_at(F), F)

    def _each(self, loss: Loss, F: Floats) -> Floats:
        return self.cost * loss.values(self.y, self._scores(F)) / loss.unit**2

    def rise(self, F: Floats, D: Floats) -> Floats:
        """Return what a step D of the scores adds to every term, with parameters that stay."""
        loss = self.loss_at(F)
        return self._each(loss, F + D) - self._each(loss, F)

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return float(self._at(F)[0].sum())

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F, in a new array."""
        return self._at(F)[1].copy()

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F."""
        if cautious:
            return self.loss_at(F).cautious(self.y, self._scores(F), self.cost)
        return self._at(F)[2]

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F); infinite if R is no slope at any score."""
        counts, unit, loss = np.flatnonzero(self.cost), self.loss.unit, self.loss_at(F)
        if len(counts) == len(self.cost):
            scores, cost, y = self._scores(F), self.cost, self.y
        else:
            scores, cost, y = self._scores(F)[:, counts], self.cost[counts], self.y[counts]
            R = R[:, counts]
        R = unit * R / cost
        in_all = float(cost @ loss.gap(y, scores, R))
        if loss.n_shared and not self.is_held:
            in_all += loss.shared_gap(loss.shared_flows(y, R, cost))
        return max(0.0, in_all / unit**2)

    def best_shift(self, F: Floats) -> Floats:
        """Return the constants (n_outputs,) that minimize the sum when added to F.

        Where a constant common to all outputs has no effect, their mean is 0.
        """
        if self.n_outputs > 1:
            return self._best_shifts(F)
        loss = self.loss_at(F)
        known = loss.shift(self.y, self._scores(F)[0], self.cost)
        if known is not None:
            if loss.shared is not None:  # the caller may shift F in place
                self._known[:] = [None, None, loss.with_shared(loss.shared, -known)]
            return np.array([known / loss.unit])
        return np.array([self._root(F)])

    def _best_shifts(self, F: Floats) -> Floats:
        shift, k = np.zeros(self.n_outputs), self.n_outputs
        for _ in range(MAX_SHIFTS):
            _, slopes, bends = self.loss.evaluate(
                self.y, self._scores(F + shift[:, None]), self.cost
            )
            slope, H = slopes.sum(axis=1), bends.total()
            if self.loss.tied:  # makes H invertible; the common constant stays 0
                H += np.trace(H) / k**2 + np.finfo(float).tiny
            step = np.clip(-np.linalg.lstsq(H, slope, rcond=None)[0], -1.0, 1.0)
            if self.loss.tied:
                step -= step.mean()
            shift += step
            if np.abs(step).max() <= LAST_SHIFT or np.abs(shift).max() > FARTHEST:
                break
        return shift

    def _root(self, F: Floats) -> float:
        """Return the constant at which the slopes sum to 0, by Newton steps between bounds."""
        low, high, shift, last = -np.inf, np.inf, 0.0, 1.0
        enough = LAST_SHIFT * min(1.0, self.loss.resolution / self.loss.unit)
        for _ in range(MAX_SHIFTS):
            _, slopes, bends = self.loss.evaluate(self.y, self._scores(F + shift), self.cost)
            unit = self.loss.unit
            slope, bend = float(slopes.sum()) / unit, float(bends.diagonal.sum())
            if slope == 0.0:
                break
            low, high = (shift, high) if slope < 0.0 else (low, shift)
            step = -slope / bend if bend > 0.0 else -np.sign(slope) * np.inf
            step = float(np.clip(step, -2.0 * last, 2.0 * last))
            if not low < shift + step < high:
                step = 0.5 * (low + high) - shift
            shift, last = shift + step, max(abs(step), enough)
            if abs(step) <= enough * max(1.0, abs(shift)) or abs(shift) > FARTHEST:
                break
        return shift

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        return _scatter(self, F)

    def exact(self, F: Floats, R: Floats) -> tuple[float, float]:
        """Return the sum of the losses themselves, and its gap to R."""
        if self.loss.exact is self.loss:
            return self.value(F), self.gap(F, R)
        return exact_value(self, F), self.by(self.loss.exact).gap(F, R)

    def by(self, loss: Loss) -> Summed:
        """Return the same sum of a loss with other parameters."""
        return replace(self, loss=loss, _known=[])


def exact_value(total: LossSum, F: Floats) -> float:
    """Return the sum of the losses themselves, also if those of `total` are surrogates."""
    loss = total.loss
    return total.value(F) if loss.exact is loss else float(total.by(loss.exact).each(F).sum())


def shared_of(total: LossSum, F: Floats) -> Floats | None:
    """Return the shared parameters of the loss that are best at F; None if it has none."""
    if not total.loss.n_shared:
        return None
    return cast(Summed, total).loss_at(F).shared  # or a sum over workers, which has the same


def left_of(total: LossSum, F: Floats) -> float:
    """Return about what better shared parameters of the loss would gain at F; 0 without any."""
    return cast(Summed, total).loss_at(F).left if total.loss.n_shared else 0.0


def constant_of(total: LossSum) -> float:
    """Return what the sum lacks of minus the log-likelihood, if it has a parameter to estimate."""
    if not total.loss.is_estimated:
        return 0.0
    total = total.like if isinstance(total, Likened) else total
    assert isinstance(total, Summed)
    return float(total.cost @ total.loss.constant(total.y))


def renewed(total: LossSum, F: Floats, dispersion: float, edf: float) -> LossSum:
    """Return the sum with the parameters of the loss that fit a model with scores F best."""
    like = total.like if isinstance(total, Likened) else total  # on a GPU
    assert isinstance(like, Summed)  # no loss of margins has parameters to estimate
    cost, scores = like.cost / dispersion, like._scores(np.asarray(F))
    return total.by(like.loss.renewed(like.y, scores, cost, edf))


def _typical_weight(total: Separable | Summed) -> float:
    """Return the weight of a typical row; of counts, about the smallest event."""
    if (least := total.loss.least_dispersion) > 0.0:
        return max(least, LEAST_EVENT * float(total.cost.mean()))
    return typical_weight(total.units, total.cost) * total.loss.typical_curvature


def _scatter(total: Separable | Summed, F: Floats) -> Scatter:
    """Return the sums from which the dispersion follows."""
    value, G, loss = total.value(F), total.gradient(F), total.loss
    sums = scatter_sums(total.units, total.cost, G, total.curvature(F).diagonal)
    return Scatter.of(sums, 2.0 * value, loss.least_dispersion, is_likelihood=loss.likelihood)
