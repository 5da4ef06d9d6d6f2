"""Sums of losses over rows on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.devices.arrays import RowArray, bare
from splinear.devices.backend import LEAST_COST, Backend, DeviceArray
from splinear.losses import Logistic, Softmax, SquaredError
from splinear.losses.curvature import Coupled, Curvature, Diagonal
from splinear.losses.margin import NEARLY_STRAIGHT
from splinear.model.scatter import Scatter
from splinear.objective.loss_sums import (
    FARTHEST,
    LAST_SHIFT,
    MAX_SHIFTS,
    ROUNDING,
    Likened,
    LossSum,
    Separable,
    Summed,
)
from splinear.objective.units import scatter_sums

__all__ = ["on_device"]


def on_device(total: LossSum, backend: Backend) -> LossSum:
    """Return a sum of losses as one over rows on a device.

    Losses that the device cannot compute are computed on the host: scores are copied there, and
    derivatives back.
    """
    known = isinstance(total, Separable) and isinstance(total.loss, Logistic | SquaredError)
    if isinstance(total, Separable) and known:
        return DeviceSeparable(total, backend, *_problem(total, backend))
    if isinstance(total, Summed) and isinstance(total.loss, Softmax):
        labels = backend.array(total.y).astype(np.int64)  # converted on the device
        offset = 0.0 if total.offset is None else backend.array(np.asarray(total.offset))
        return DeviceSoftmax(total, backend, labels, backend.array(total.cost), offset)
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

    def exact(self, F: Floats, R: Floats) -> tuple[float, float]:
        """Return the sum of the losses themselves, and its gap to R."""
        if self.loss.exact is self.loss:
            return self.value(F), self.gap(F, R)
        return self.like.exact(np.asarray(F), np.asarray(R))

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
        return cast(Floats, RowArray(self.cost * self.like.loss.of_margin(m), self.backend))

    def value(self, F: Floats) -> float:
        """Return the sum."""
        m = self._margin(bare(F, self.backend)[0])
        return float(self.cost @ self.like.loss.of_margin(m))

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F."""
        m = self._margin(bare(F, self.backend)[0])
        return self._row((self.cost * self.y) * self.like.loss.derivatives(m)[0])

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F."""
        loss, m = self.like.loss, self._margin(bare(F, self.backend)[0])
        bend = loss.derivatives(m)[1]
        if cautious:
            far = np.minimum(m, -NEARLY_STRAIGHT)
            bend = np.where(m < -NEARLY_STRAIGHT, loss.caution(far), bend)
        return Diagonal(self._row(self.cost * bend))

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        return _scatter(self, self.cost, F)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F) by the losses' duals, with R_i = -y_i alpha_i."""
        m, cost = self._margin(bare(F, self.backend)[0]), np.maximum(self.cost, LEAST_COST)
        alpha = -self.y * bare(R, self.backend)[0]
        low, high = self.like.loss.range(cost)
        feasible = np.clip(alpha, low, high)
        if float((np.abs(alpha - feasible) - ROUNDING * cost).max()) > 0.0:
            return np.inf
        each = self.like.loss.dual_gap(feasible, m, cost)
        return float(np.where(self.cost > 0.0, each, 0.0).sum())

    def best_shift(self, F: Floats) -> Floats:
        """Return the constant (1,) that minimizes the sum when added to F."""
        f, shift = bare(F, self.backend)[0], 0.0
        for _ in range(MAX_SHIFTS):
            m = self._margin(f + shift)
            slope = float((self.cost * self.y) @ self.like.loss.derivatives(m)[0])
            bend = float(self.cost @ self.like.loss.derivatives(m)[1])
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
    return Scatter.of(sums, 2.0 * total.value(F), 0.0, is_likelihood=like.loss.likelihood)


@dataclass(frozen=True, eq=False)
class DeviceSoftmax(HostSum):
    """sum_i c_i (log sum_k exp F_ki - F_{label_i, i}), F being the scores plus the offset."""

    like: Summed
    labels: Any = None
    cost: Any = None
    offset: Any = 0.0

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
        there = self._row_array(self._moved(F))
        return DeviceSoftmaxCurvature(self._row_array(p), self._row_array(cost), scores=there)

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        return _scatter(self, self.cost, F)

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F) = sum_i c_i KL(q_i, p_i)."""
        backend, there = self.backend, (self._moved(F), bare(R, self.backend))
        return max(0.0, backend.class_divergence(*there, self.labels, self.cost, ROUNDING))

    def best_shift(self, F: Floats) -> Floats:
        """Return the constants (n_outputs,), of mean 0, that minimize the sum when added to F."""
        there, like = self._moved(F), self.like
        of_classes = np.bincount(like.y, like.cost, minlength=like.n_outputs).astype(np.float64)
        return self.backend.class_shift(there, self.cost, of_classes)

    def _classes(self, F: Floats, *, minus: bool = False) -> tuple[Any, Any]:
        return self.backend.classes(self._moved(F), self.labels, minus=minus)

    def _moved(self, F: Floats) -> Any:
        there = bare(F, self.backend)
        return there if self.like.offset is None else there + self.offset


@dataclass(frozen=True, eq=False)
class DeviceSoftmaxCurvature(Coupled):
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

    def total(self) -> Floats:
        """Return the second derivatives with respect to constants added to the scores."""
        if self.scores is None:
            return super().total()
        backend, _, cost, _ = self._there
        both = backend.class_moments(bare(self.scores, backend), np.zeros(len(self.scores)), cost)
        H = np.diag(both[:, -1]) - both[:, :-1]
        return H if self.extra is None else H + float(self.extra.sum()) * np.eye(len(H))

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
