"""Sums of smooth losses over rows, as functions of the rows' scores: what Newton's method sees.

Scores F are (n_outputs, n_rows). One output of a binary problem or a regression is `Separable`;
`Softmax` couples the outputs of all classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, log_softmax

from splinear._types import AnyArray, Floats
from splinear.solvers.losses import SmoothLoss, SquaredError
from splinear.solvers.problem import Problem

__all__ = ["LossSum", "Separable", "Softmax"]

MAX_SHIFTS = 100
LAST_SHIFT = 1e-6  # of Newton's method: what is left behind it is about its square
NEARLY_STRAIGHT = 1.0  # a loss on the wrong side of 0, from so far on
LEAST_CURVATURE = 1e-12  # of a loss that can be divided by
ROUNDING = 1e-12  # of probabilities
STEP = 2**16  # rows at a time
FARTHEST = 40.0  # of a shift: the intercept of a class without rows would go to infinity


class LossSum(Protocol):
    """A sum of losses of the scores F (n_outputs, n_rows)."""

    @property
    def n_outputs(self) -> int:
        """Number of scores a row."""
        ...

    @property
    def is_quadratic(self) -> bool:
        """Whether it equals its quadratic model."""
        ...

    @property
    def farthest(self) -> float:
        """How far a score may move for its rise to say what curvature a step should have had."""
        ...

    def dispersion(self, deviance: float) -> float:
        """Return by what the losses are to be divided to be negative log-likelihoods.

        `deviance` is twice the sum of the losses per degree of freedom that the model leaves.
        """
        ...

    @property
    def bias(self) -> float | None:
        """B of intercepts with the penalty 1/2 b^2 / B^2; None: they are free."""
        ...

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        ...

    def value(self, F: Floats) -> float:
        """Return the sum."""
        ...

    def gradient(self, F: Floats) -> Floats:
        """Return its derivatives by F, same shape."""
        ...

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return its second derivatives at F.

        Of a row that is far on the wrong side the loss is nearly straight, and a Newton step would
        be far too long. If `cautious`, the curvature of such a row is that of a parabola that
        touches the loss at f and at -f, where f is how far the row is from the middle.
        """
        ...

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F), with L the sum and L* its convex conjugate.

        It is 0 at least, and is 0 where R are the derivatives at F; infinite where L* is.
        """
        ...

    def best_shift(self, F: Floats) -> Floats:
        """Return the numbers (n_outputs,) whose addition to F makes the sum least."""
        ...


class Curvature(Protocol):
    """Second derivatives of a sum of losses."""

    @property
    def diagonal(self) -> Floats:
        """Return the diagonal, (n_outputs, n_rows)."""
        ...

    @property
    def independent(self) -> Floats:
        """Return the diagonal of one that says as much of differences of outputs, and no more.

        Classes then count as if each were a number of events with a Poisson distribution.
        """
        ...

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives by the scores of outputs k and m, (n_rows,)."""
        ...

    def times(self, V: Floats) -> Floats:
        """Multiply by V (n_outputs, n_rows)."""
        ...

    def level(self, V: Floats) -> Floats:
        """Return the numbers (n_outputs,) whose addition to V makes the sums of times(V) zero."""
        ...

    def raised(self, extra: Floats) -> Curvature:
        """Return it with more on the diagonal: extra (n_rows,) for each output."""
        ...

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return that of the rows of these numbers, each times its weight."""
        ...


@dataclass(frozen=True, eq=False)
class Separable:
    """sum_i c_i loss(y_i f_i - t_i), with a single output."""

    problem: Problem
    loss: SmoothLoss
    n_outputs: int = 1
    bias: float | None = None
    _last: list[Floats] = field(default_factory=list)  # scores, and the second derivatives there

    @cached_property
    def _cost(self) -> Floats:
        return self.problem.cost

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        return self._cost * self.loss.value(self.problem.margin(F[0]))

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return float(self._cost @ self.loss.value(self.problem.margin(F[0])))

    def gradient(self, F: Floats) -> Floats:
        """Return its derivatives by F, same shape."""
        slope, bend = self.loss.derivatives(self.problem.margin(F[0]))
        bend *= self._cost
        self._last[:] = [F, bend[None]]
        slope *= self._cost
        slope *= self.problem.y
        return slope[None]

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return its second derivatives at F: a diagonal, as y_i^2 = 1."""
        margin = self.problem.margin(F[0])
        if self._last and self._last[0] is F:
            second = self._last[1]
        else:
            second = (self._cost * self.loss.curvature(margin))[None]
        self._last.clear()
        if cautious:
            wrong = np.flatnonzero(margin < -NEARLY_STRAIGHT)
            m = margin[wrong]
            second = second.copy()
            second[0, wrong] = self._cost[wrong] * self.loss.caution(m)
        return _Diagonal(second)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F), by the losses' duals: R is -y_i alpha_i."""
        pieces = [slice(start, start + STEP) for start in range(0, F.shape[1], STEP)]
        return float(sum(self._gap_of(F[0], R[0], some) for some in pieces))

    def _gap_of(self, F: Floats, R: Floats, some: slice) -> float:
        """Return the part of some rows: few at a time take little memory."""
        counts = np.flatnonzero(self._cost[some]) + some.start
        cost, alpha = self._cost[counts], -self.problem.y[counts] * R[counts]
        feasible = np.clip(alpha, *self.loss.range(cost))
        if not np.all(np.abs(alpha - feasible) <= ROUNDING * cost):
            return np.inf
        m = self.problem.some(counts).margin(F[counts])
        return float(self.loss.gap(feasible, m, cost).sum())

    def best_shift(self, F: Floats) -> Floats:
        """Return the number (1,) whose addition to F makes the sum least."""
        known = self.loss.shift(self.problem.margin(F[0]), self._cost)
        if known is not None:
            sign = float(self.problem.y[0])  # of all rows, where there is a formula
            return np.array([sign * known])
        shift = np.zeros(1)
        for _ in range(MAX_SHIFTS):
            margin = self.problem.margin(F[0] + shift)
            slopes, bends = self.loss.derivatives(margin)
            slope = float((self.problem.y * slopes) @ self._cost)
            bend = float(self._cost @ bends)
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
        """How far a score may move for its rise to say what curvature a step should have had."""
        return self.loss.farthest

    def dispersion(self, deviance: float) -> float:
        """Return by what the losses are to be divided to be negative log-likelihoods."""
        return self.loss.dispersion(deviance)


@dataclass(frozen=True, eq=False)
class _Diagonal:
    diagonal: Floats

    @property
    def independent(self) -> Floats:
        return self.diagonal

    def between(self, k: int, m: int) -> Floats:
        return np.asarray(self.diagonal[k] if k == m else np.zeros(self.diagonal.shape[1]))

    def times(self, V: Floats) -> Floats:
        return self.diagonal * V

    def level(self, V: Floats) -> Floats:
        total = max(float(self.diagonal.sum()), np.finfo(float).tiny)
        return np.asarray(-np.einsum("ki,ki->k", self.diagonal, V) / total)

    def raised(self, extra: Floats) -> Curvature:
        return _Diagonal(self.diagonal + extra)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        return _Diagonal(self.diagonal[:, numbers] * weights)


@dataclass(frozen=True, eq=False)
class Softmax:
    """sum_i c_i (log sum_k exp F_ki - F_{label_i, i}).

    Penalised alike, all classes are needed: none stands for the rest.
    """

    labels: NDArray[np.intp]  # (n_rows,)
    cost: Floats  # (n_rows,)
    n_outputs: int
    _last: list[Floats] = field(default_factory=list)  # scores, and their log_softmax
    is_quadratic: bool = False
    bias: float | None = None
    farthest: float = np.inf

    def dispersion(self, deviance: float) -> float:
        """Return 1: they are log-likelihoods."""
        del deviance
        return 1.0

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        return -self.cost * self._log_softmax(F)[self.labels, np.arange(F.shape[1])]

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return float(self.each(F).sum())

    def _log_softmax(self, F: Floats) -> Floats:
        """Return log_softmax(F), which value, gradient and curvature of one F share."""
        if not self._last or self._last[0] is not F:
            self._last[:] = [F, log_softmax(F, axis=0)]
        return self._last[1]

    def gradient(self, F: Floats) -> Floats:
        """Return its derivatives by F: c_i (probability - indicator)."""
        out = np.exp(self._log_softmax(F))
        out[self.labels, np.arange(F.shape[1])] -= 1.0
        out *= self.cost
        return out

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return its second derivatives at F."""
        logs, cost = self._log_softmax(F), self.cost
        p = np.exp(logs)
        if cautious:
            own = np.minimum(logs[self.labels, np.arange(F.shape[1])], -1e-9)
            m = own - np.log1p(-np.exp(own))  # against all other classes
            wrong = np.flatnonzero(m < -NEARLY_STRAIGHT)
            bound = np.tanh(m[wrong] / 2.0) / (2.0 * m[wrong])
            most = (p[:, wrong] * (1.0 - p[:, wrong])).max(axis=0)
            cost = cost.copy()
            cost[wrong] *= np.maximum(1.0, bound / np.maximum(most, LEAST_CURVATURE))
        return _SoftmaxCurvature(p, cost)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F): c_i KL(q_i, p_i), p_i being the probabilities at F.

        q_i = indicator + R_i / c_i; it must be probabilities too.
        """
        counts = np.flatnonzero(self.cost)
        cost, q = self.cost[counts], R[:, counts] / self.cost[counts]
        q[self.labels[counts], np.arange(len(counts))] += 1.0
        if not (np.all(q >= -ROUNDING) and np.all(np.abs(q.sum(axis=0) - 1.0) <= ROUNDING)):
            return np.inf
        q = np.maximum(q, 0.0)
        each = -entr(q).sum(axis=0) - (q * self._log_softmax(F)[:, counts]).sum(axis=0)
        return max(0.0, float(cost @ each))

    def best_shift(self, F: Floats) -> Floats:
        """Return the numbers (n_outputs,), of mean 0, whose addition to F makes the sum least."""
        shift = np.zeros(self.n_outputs)
        for _ in range(MAX_SHIFTS):
            p = np.exp(log_softmax(F + shift[:, None], axis=0))
            slope = (self.cost * p).sum(axis=1) - self._cost_of_classes
            H = np.diag((self.cost * p).sum(axis=1)) - (self.cost * p) @ p.T
            # The same number for all classes changes nothing, and is kept at 0.
            H += np.trace(H) / self.n_outputs**2 + np.finfo(float).tiny
            step = np.clip(-np.linalg.lstsq(H, slope, rcond=None)[0], -1.0, 1.0)
            step -= step.mean()
            shift += step
            if np.abs(step).max() <= LAST_SHIFT or np.abs(shift).max() > FARTHEST:
                break
        return shift

    @cached_property
    def _cost_of_classes(self) -> Floats:
        found = np.bincount(self.labels, self.cost, minlength=self.n_outputs)
        return found.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _SoftmaxCurvature:
    """c_i (diag(p_i) - p_i p_i') + extra_i I."""

    probabilities: Floats
    cost: Floats
    extra: Floats | None = None

    @cached_property
    def diagonal(self) -> Floats:
        p = self.probabilities
        out = self.cost * p * (1.0 - p)
        return out if self.extra is None else out + self.extra

    @property
    def independent(self) -> Floats:
        out = self.cost * self.probabilities
        return out if self.extra is None else out + self.extra

    def between(self, k: int, m: int) -> Floats:
        p = self.probabilities
        return np.asarray(self.diagonal[k] if k == m else -self.cost * p[k] * p[m])

    def times(self, V: Floats) -> Floats:
        p = self.probabilities
        mean = np.einsum("ki,ki->i", p, V)
        product: Floats = self.cost * p * (V - mean)
        if self.extra is not None:
            product += self.extra * V
        return product

    def level(self, V: Floats) -> Floats:
        return -np.asarray(self._of_levels @ self.times(V).sum(axis=1))

    @cached_property
    def _of_levels(self) -> Floats:
        """The inverse of the second derivatives by levels, (n_outputs, n_outputs).

        The same number for all classes changes nothing, and is kept at 0.
        """
        weighted = self.cost * self.probabilities
        H = np.diag(weighted.sum(axis=1)) - weighted @ self.probabilities.T
        if self.extra is not None:
            H = H + self.extra.sum() * np.eye(len(H))
        return np.asarray(np.linalg.pinv(H, rcond=1e-12, hermitian=True), dtype=np.float64)

    def raised(self, extra: Floats) -> Curvature:
        before = 0.0 if self.extra is None else self.extra
        return _SoftmaxCurvature(self.probabilities, self.cost, before + extra)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        extra = None if self.extra is None else self.extra[numbers] * weights
        p, cost = self.probabilities[:, numbers], self.cost[numbers] * weights
        return _SoftmaxCurvature(p, cost, extra)
