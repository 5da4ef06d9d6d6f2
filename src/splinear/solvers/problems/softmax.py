"""The softmax log-loss, which couples the scores of several classes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.model.scatter import Scatter
from splinear.solvers.problems.loss_sums import (
    FARTHEST,
    LAST_SHIFT,
    MAX_SHIFTS,
    NEARLY_STRAIGHT,
    ROUNDING,
    Curvature,
)
from splinear.solvers.problems.units import EVERY_ROW, Units, scatter_sums, typical_weight

__all__ = ["Softmax", "SoftmaxCurvature"]

LEAST_CURVATURE = 1e-12  # avoids a division by 0


@dataclass(frozen=True, eq=False)
class Softmax:
    """The sum sum_i c_i (log sum_k exp F_ki - F_{label_i, i}).

    All classes have curves, and none is the reference class, because all are penalized alike.
    """

    labels: NDArray[np.intp]  # (n_rows,)
    cost: Floats  # (n_rows,)
    n_outputs: int
    _last: list[Floats] = field(default_factory=list)  # scores, and their log_softmax
    is_quadratic: bool = False
    bias: float | None = None
    farthest: float = np.inf
    is_likelihood: bool = True
    units: Units = EVERY_ROW

    def on_threads(self, n: int) -> Softmax:
        """Return the same sum, because NumPy computes it on one thread."""
        del n
        return self

    @cached_property
    def typical_weight(self) -> float:
        """The weight of a typical row."""
        return typical_weight(self.units, self.cost)

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        H = self.curvature(F).diagonal
        sums = scatter_sums(self.units, self.cost, self.gradient(F), H)
        return Scatter.of(sums, 2.0 * self.value(F), 0.0, is_likelihood=True)

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum, (n_rows,)."""
        return -self.cost * self._log_softmax(F)[self.labels, np.arange(F.shape[1])]

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return float(self.each(F).sum())

    def _log_softmax(self, F: Floats) -> Floats:
        """Return log_softmax(F), cached for value, gradient and curvature at the same F."""
        if not self._last or self._last[0] is not F:
            self._last[:] = [F, _log_softmax(F)]
        return self._last[1]

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F: c_i (probability - indicator)."""
        out = np.exp(self._log_softmax(F))
        out[self.labels, np.arange(F.shape[1])] -= 1.0
        out *= self.cost
        return out

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F."""
        logs, cost = self._log_softmax(F), self.cost
        p = np.exp(logs)
        if cautious:
            own = np.minimum(logs[self.labels, np.arange(F.shape[1])], -1e-9)
            m = own - np.log1p(-np.exp(own))  # log-odds of the own class
            wrong = np.flatnonzero(m < -NEARLY_STRAIGHT)
            bound = np.tanh(m[wrong] / 2.0) / (2.0 * m[wrong])
            most = (p[:, wrong] * (1.0 - p[:, wrong])).max(axis=0)
            cost = cost.copy()
            cost[wrong] *= np.maximum(1.0, bound / np.maximum(most, LEAST_CURVATURE))
        return SoftmaxCurvature(p, cost)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F) = sum_i c_i KL(q_i, p_i), p_i the probabilities at F.

        q_i = indicator + R_i / c_i must be probabilities too; otherwise the gap is infinite.
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
        """Return the constants (n_outputs,), of mean 0, that minimize the sum when added to F."""
        shift = np.zeros(self.n_outputs)
        for _ in range(MAX_SHIFTS):
            p = np.exp(_log_softmax(F + shift[:, None]))
            weighted = self.cost * p
            in_all = weighted.sum(axis=1)
            slope, H = in_all - self.cost_of_classes, np.diag(in_all) - weighted @ p.T
            # Makes H invertible: a constant common to all classes has no effect, and is kept at 0.
            H += np.trace(H) / self.n_outputs**2 + np.finfo(float).tiny
            step = np.clip(-np.linalg.lstsq(H, slope, rcond=None)[0], -1.0, 1.0)
            step -= step.mean()
            shift += step
            if np.abs(step).max() <= LAST_SHIFT or np.abs(shift).max() > FARTHEST:
                break
        return shift

    @cached_property
    def cost_of_classes(self) -> Floats:
        """The total cost of the rows of every class, (n_outputs,)."""
        found = np.bincount(self.labels, self.cost, minlength=self.n_outputs)
        return found.astype(np.float64)


def _log_softmax(F: Floats) -> Floats:
    """Return log(exp F_ki / sum_k exp F_ki); SciPy's takes far longer for few rows."""
    below: Floats = F - F.max(axis=0)
    below -= np.log(np.exp(below).sum(axis=0))
    return below


@dataclass(frozen=True, eq=False)
class SoftmaxCurvature:
    """The matrices c_i (diag(p_i) - p_i p_i') + extra_i I of all rows."""

    probabilities: Floats
    cost: Floats
    extra: Floats | None = None

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal, (n_outputs, n_rows)."""
        p = self.probabilities
        out = self.cost * p * (1.0 - p)
        return out if self.extra is None else out + self.extra

    @property
    def independent(self) -> Floats:
        """The diagonal of a curvature in which outputs are independent."""
        out = self.cost * self.probabilities
        return out if self.extra is None else out + self.extra

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to scores of outputs k and m, (n_rows,)."""
        p = self.probabilities
        return np.asarray(self.diagonal[k] if k == m else -self.cost * p[k] * p[m])

    def times(self, V: Floats) -> Floats:
        """Return the product with V (n_outputs, n_rows)."""
        p = self.probabilities
        mean = np.einsum("ki,ki->i", p, V)
        product: Floats = self.cost * p * (V - mean)
        if self.extra is not None:
            product += self.extra * V
        return product

    def level(self, V: Floats) -> Floats:
        """Return the constants to add to V such that times(V) sums to 0 over rows."""
        return -np.asarray(self._of_levels @ self.times(V).sum(axis=1))

    @cached_property
    def _of_levels(self) -> Floats:
        return self._inverse_by_levels()

    def _inverse_by_levels(self) -> Floats:
        """Return the inverse of the Hessian of constants added to the scores.

        It is (n_outputs, n_outputs), and a pseudoinverse, because a constant common to all classes
        has no effect.
        """
        weighted = self.cost * self.probabilities
        H = np.diag(weighted.sum(axis=1)) - weighted @ self.probabilities.T
        if self.extra is not None:
            H = H + self.extra.sum() * np.eye(len(H))
        return np.asarray(np.linalg.pinv(H, rcond=1e-12, hermitian=True), dtype=np.float64)

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal."""
        before = 0.0 if self.extra is None else self.extra
        return SoftmaxCurvature(self.probabilities, self.cost, before + extra)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        extra = None if self.extra is None else self.extra[numbers] * weights
        p, cost = self.probabilities[:, numbers], self.cost[numbers] * weights
        return SoftmaxCurvature(p, cost, extra)
