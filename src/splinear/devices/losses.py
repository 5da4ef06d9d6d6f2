"""Sums of losses over rows on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.devices.arrays import RowArray, bare
from splinear.devices.backend import LEAST_COST, Backend, DeviceArray
from splinear.model.scatter import Scatter
from splinear.solvers.problems.loss_sums import (
    FARTHEST,
    LAST_SHIFT,
    MAX_SHIFTS,
    ROUNDING,
    Curvature,
    Diagonal,
    Likened,
    LossSum,
    Separable,
)
from splinear.solvers.problems.losses import Logistic, SquaredError
from splinear.solvers.problems.softmax import Softmax, SoftmaxCurvature
from splinear.solvers.problems.units import scatter_sums

__all__ = ["on_device"]


def on_device(total: LossSum, backend: Backend) -> LossSum:
    """Return a sum of losses as one over rows on a device.

    Losses that the device cannot compute are computed on the host: scores are copied there, and
    derivatives back.
    """
    known = isinstance(total, Separable) and isinstance(total.loss, Logistic | SquaredError)
    if isinstance(total, Separable) and known:
        return DeviceSeparable(total, backend, *_problem(total, backend))
    if isinstance(total, Softmax):
        labels = backend.array(total.labels).astype(np.int64)  # converted on the device
        return DeviceSoftmax(total, backend, labels, backend.array(total.cost))
    return HostSum(total, backend)


def _problem(total: Separable, backend: Backend) -> tuple[Any, Any, Any]:
    """Return y, costs and targets on the device, in double precision."""
    problem, to = total.problem, backend.array
    y = to(np.asarray(problem.y, dtype=np.float64))
    targets = 0.0 if problem.targets is None else to(problem.targets)
    return y, to(problem.cost), targets


@dataclass(frozen=True, eq=False)
class HostSum(Likened):
    """A sum computed on the host."""

    backend: Backend

    def on_threads(self, n: int) -> HostSum:
        """Return the same sum, with this many threads on the host."""
        return replace(self, like=self.like.on_threads(n))

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum."""
        return self._row_array(self.like.each(np.asarray(F)))

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return self.like.value(np.asarray(F))

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F."""
        return self._row_array(self.like.gradient(np.asarray(F)))

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F."""
        found = self.like.curvature(np.asarray(F), cautious=cautious)
        return Diagonal(self._row_array(found.diagonal))

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        return self.like.scatter(np.asarray(F))

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F)."""
        return self.like.gap(np.asarray(F), np.asarray(R))

    def best_shift(self, F: Floats) -> Floats:
        """Return the constants (n_outputs,) that minimize the sum when added to F."""
        return self.like.best_shift(np.asarray(F))

    def _row_array(self, values: Any) -> Floats:
        return cast(Floats, RowArray(self.backend.array(values), self.backend))


@dataclass(frozen=True, eq=False)
class DeviceSeparable(HostSum):
    """sum_i c_i loss(y_i f_i - t_i) with a single output, for the logistic and squared losses."""

    like: Separable
    y: Any = None
    cost: Any = None
    targets: Any = 0.0

    def on_threads(self, n: int) -> DeviceSeparable:
        """Return the sum itself."""
        del n
        return self

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum."""
        m = self._margin(bare(F, self.backend)[0])
        return cast(Floats, RowArray(self.cost * _value(self.like.loss, m), self.backend))

    def value(self, F: Floats) -> float:
        """Return the sum."""
        m = self._margin(bare(F, self.backend)[0])
        return float(self.cost @ _value(self.like.loss, m))

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F."""
        m = self._margin(bare(F, self.backend)[0])
        return self._row((self.cost * self.y) * _slope(self.like.loss, m))

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F."""
        loss, m = self.like.loss, self._margin(bare(F, self.backend)[0])
        bend = _bend(loss, m)
        if cautious and isinstance(loss, Logistic):
            far = np.minimum(m, -1.0)
            bend = np.where(m < -1.0, (_slope(loss, far) - _slope(loss, -far)) / (2.0 * far), bend)
        return Diagonal(self._row(self.cost * bend))

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        return _scatter(self, self.cost, F)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F) by the losses' duals, with R_i = -y_i alpha_i."""
        m, cost = self._margin(bare(F, self.backend)[0]), np.maximum(self.cost, LEAST_COST)
        alpha = -self.y * bare(R, self.backend)[0]
        if isinstance(self.like.loss, SquaredError):
            return float((0.5 * cost * (m + alpha / cost) ** 2).sum())
        share = alpha / cost
        if float((share * (1.0 - share)).min()) < -ROUNDING:
            return np.inf
        share = np.clip(share, 0.0, 1.0)
        off = share - _expit(-m)
        return float(cost @ (_divergence(share, off, m) + _divergence(1.0 - share, -off, -m)))

    def best_shift(self, F: Floats) -> Floats:
        """Return the constant (1,) that minimizes the sum when added to F."""
        f, shift = bare(F, self.backend)[0], 0.0
        for _ in range(MAX_SHIFTS):
            m = self._margin(f + shift)
            slope = float((self.cost * self.y) @ _slope(self.like.loss, m))
            bend = float(self.cost @ _bend(self.like.loss, m))
            step = -slope / bend if bend > 0 else -float(np.sign(slope))
            step = step if self.is_quadratic else min(max(step, -1.0), 1.0)
            shift += step
            if self.is_quadratic or abs(step) <= LAST_SHIFT or abs(shift) > FARTHEST:
                break
        return np.array([shift])

    def _margin(self, f: Any) -> Any:
        return self.y * f - self.targets

    def _row(self, values: Any) -> Floats:
        return cast(Floats, RowArray(values[None], self.backend))


def _scatter(total: DeviceSeparable | DeviceSoftmax, cost: Any, F: Floats) -> Scatter:
    """Return the scatter of a sum whose costs are on the device."""
    like, on_rows = total.like, cast(Floats, RowArray(cost, total.backend))
    H = total.curvature(F).diagonal
    sums = scatter_sums(like.units, on_rows, total.gradient(F), H)
    return Scatter.of(sums, 2.0 * total.value(F), 0.0, is_likelihood=like.is_likelihood)


def _expit(m: Any) -> Any:
    return 0.5 + 0.5 * np.tanh(0.5 * m)


def _value(loss: object, m: Any) -> Any:
    if isinstance(loss, SquaredError):
        return 0.5 * m * m
    return np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m)))


def _slope(loss: object, m: Any) -> Any:
    if isinstance(loss, SquaredError):
        return m
    rare = _rare(m)
    return -np.where(m > 0.0, rare, 1.0 - rare)


def _bend(loss: object, m: Any) -> Any:
    if isinstance(loss, SquaredError):
        return np.ones_like(m)
    rare = _rare(m)
    return rare * (1.0 - rare)


def _rare(m: Any) -> Any:
    """Return the smaller of the two classes' probabilities, without cancellation."""
    e = np.exp(-np.abs(m))
    return e / (1.0 + e)


def _entropy(p: Any) -> Any:
    return -p * np.log(np.maximum(p, np.finfo(float).tiny))


def _divergence(p: Any, off: Any, m: Any) -> Any:
    """Return p log(p / q) - off, with q = p - off = expit(-m); see `solvers.problems.losses`."""
    q = np.where(m > 0.0, _rare(m), 1.0 - _rare(m))
    t = off / np.maximum(q, np.finfo(float).tiny)
    small = np.abs(t) < 1e-3
    t = np.where(small, t, 0.0)
    series = q * t**2 * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0)))
    log1p_exp = np.maximum(m, 0.0) + np.log1p(np.exp(-np.abs(m)))
    return np.where(small, series, np.maximum(0.0, p * log1p_exp - _entropy(p) - off))


@dataclass(frozen=True, eq=False)
class DeviceSoftmax(HostSum):
    """sum_i c_i (log sum_k exp F_ki - F_{label_i, i})."""

    like: Softmax
    labels: Any = None
    cost: Any = None

    def on_threads(self, n: int) -> DeviceSoftmax:
        """Return the sum itself."""
        del n
        return self

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum."""
        own = self._classes(F)[1]
        return cast(Floats, RowArray(-self.cost * own, self.backend))

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return -float(self.cost @ self._classes(F)[1])

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F: c_i (probability - indicator)."""
        out, _ = self._classes(F, minus=True)
        out *= self.cost
        return self._row_array(out)

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F."""
        (p, own), cost = self._classes(F), self.cost
        if cautious:
            cost = self.backend.cautious_costs(p, own, cost)
        return DeviceSoftmaxCurvature(self._row_array(p), self._row_array(cost), scores=F)

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        return _scatter(self, self.cost, F)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F) = sum_i c_i KL(q_i, p_i)."""
        backend, there = self.backend, (bare(F, self.backend), bare(R, self.backend))
        return max(0.0, backend.class_divergence(*there, self.labels, self.cost, ROUNDING))

    def best_shift(self, F: Floats) -> Floats:
        """Return the constants (n_outputs,), of mean 0, that minimize the sum when added to F."""
        there, of_classes = bare(F, self.backend), self.like.cost_of_classes
        return self.backend.class_shift(there, self.cost, of_classes)

    def _classes(self, F: Floats, *, minus: bool = False) -> tuple[Any, Any]:
        return self.backend.classes(bare(F, self.backend), self.labels, minus=minus)


@dataclass(frozen=True, eq=False)
class DeviceSoftmaxCurvature(SoftmaxCurvature):
    """The softmax curvature on a device; all arrays are row arrays."""

    scores: Floats | None = None  # where the probabilities were computed

    def times(self, V: Floats) -> Floats:
        """Return the product with V (n_outputs, n_rows), in the precision of V."""
        backend, p, cost, extra = self._there
        return cast(
            Floats, RowArray(backend.class_bends(p, cost, bare(V, backend), extra), backend)
        )

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal, (n_outputs, n_rows)."""
        backend, p, cost, extra = self._there
        return cast(Floats, RowArray(backend.class_diagonals(p, cost, extra), backend))

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to scores of outputs k and m, (n_rows,)."""
        p = self.probabilities
        found: Floats = self.diagonal[k] if k == m else -self.cost * p[k] * p[m]
        return found

    @cached_property
    def _of_levels(self) -> Floats:
        if self.scores is None:
            return self._inverse_by_levels()
        backend, _, cost, _ = self._there
        both = backend.class_moments(bare(self.scores, backend), np.zeros(len(self.scores)), cost)
        H = np.diag(both[:, -1]) - both[:, :-1]
        if self.extra is not None:
            H = H + float(self.extra.sum()) * np.eye(len(H))
        return np.asarray(np.linalg.pinv(H, rcond=1e-12, hermitian=True), dtype=np.float64)

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal of each output."""
        return replace(self, extra=extra if self.extra is None else self.extra + extra)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        backend, p, cost, extra = self._there
        at, w = backend.array(numbers), backend.array(weights)
        found = [p[:, at], cost[at] * w, *([] if extra is None else [extra[at] * w])]
        return DeviceSoftmaxCurvature(*(cast(Floats, RowArray(own, backend)) for own in found))

    @property
    def _there(self) -> tuple[Backend, DeviceArray, DeviceArray, DeviceArray]:
        """The backend, and its arrays of probabilities, costs and `extra`."""
        backend = cast(RowArray, self.probabilities).backend
        extra = None if self.extra is None else bare(self.extra, backend)
        return backend, bare(self.probabilities, backend), bare(self.cost, backend), extra
