"""Sums of losses over rows on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.losses import EpsilonInsensitive, Logistic, Softmax, SquaredError, SquaredHinge
from splinear.losses.curvature import Coupled, Curvature, Diagonal
from splinear.losses.margin import NEARLY_STRAIGHT
from splinear.model.scatter import Scatter
from splinear.objective.gpu.arrays import RowArray, bare
from splinear.objective.gpu.backend import LEAST_COST, Backend, DeviceArray
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
from splinear.objective.margin_sums import MarginKind, Measures, RowMargins
from splinear.objective.units import scatter_sums

__all__ = ["DeviceMargins", "on_device"]

INFEASIBLE = 1e-12  # share of a cost by which a dual variable may be out of its range


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


@dataclass(frozen=True, eq=False)
class DeviceMargins:
    """The sums of a `objective.margin_sums.RowMargins` (`like`), computed on a device."""

    like: RowMargins
    backend: Backend
    weight: float = 1.0
    n_rows: int | None = None  # number of rows used, from the first on; None for all

    @property
    def kind(self) -> MarginKind:
        """The loss, the intercepts and the number of sums."""
        return self.like.kind

    def first(self, n: int) -> DeviceMargins:
        """Return the sums over the first n rows, reweighted to the total weight of all rows."""
        in_all = len(self.like.problems[0].y) if self.n_rows is None else self.n_rows
        return replace(self, weight=self.weight * in_all / max(n, 1), n_rows=n)

    def slopes(self, F: Floats, ramps: Floats) -> Floats:
        """Return the gradient of the smoothed sums with respect to F."""
        y, cost = self._signs_and_costs
        return self._rows(-cost * y * self._slope(self._margin(F), ramps))

    def bends(self, F: Floats, ramps: Floats) -> Floats:
        """Return the second derivatives of the smoothed sums, (n_outputs, n_rows)."""
        return self._rows(self._signs_and_costs[1] * self._bend(self._margin(F), ramps))

    def measured(self, F: Floats, ramps: Floats) -> Measures:
        """Return the sums of the unsmoothed losses, and their gap to the smoothed slopes."""
        (y, cost), m = self._signs_and_costs, self._margin(F)
        slope, bent = self._slope(m, ramps), (self._bend(m, ramps) > 0.0) & (cost > 0.0)
        second = slope < 0.0 if isinstance(self.kind.loss, EpsilonInsensitive) else y > 0
        sides = [bent & ~second, bent & second]
        size = np.abs(slope)
        sums = [
            (cost * self.kind.loss.of_margin(m)).sum(axis=1),
            self._gap(cost * slope, m, cost).sum(axis=1),
            *(side.sum(axis=1).astype(np.float64) for side in sides),
            *(np.where(side, size, 0.0).sum(axis=1) for side in sides),
        ]
        found = self.backend.numpy(np.stack(sums))
        return Measures(found[0], found[1], found[2:4].T, found[4:].T)

    def along(self, F: Floats, D: Floats, ramps: Floats, shares: Floats) -> Floats:
        """Return the derivatives in t of the smoothed sums at F + t D, (n_outputs, n_shares)."""
        (y, cost), m = self._signs_and_costs, self._margin(F)
        moved = y * bare(D, self.backend)
        weighted = cost * moved
        sums = [-(weighted * self._slope(m + float(t) * moved, ramps)).sum(axis=1) for t in shares]
        return self.backend.numpy(np.stack(sums, axis=1))

    def gaps(self, F: Floats, R: Floats) -> tuple[Floats, Floats]:
        """Return, per output, the sum of the losses at F and the rows' part of the gap to R.

        That part is infinite if R is not feasible.
        """
        (y, cost), m = self._signs_and_costs, self._margin(F)
        alpha = -y * bare(R, self.backend)
        low, high = self.kind.loss.range(cost)
        feasible = np.minimum(np.maximum(alpha, low), high)
        wrong = (np.abs(alpha - feasible) > INFEASIBLE * cost).any(axis=1)
        sums = np.stack(
            [
                (cost * self.kind.loss.of_margin(m)).sum(axis=1),
                np.where(wrong, np.inf, self._gap(feasible, m, cost).sum(axis=1)),
            ]
        )
        losses, parts = self.backend.numpy(sums)
        return losses, parts

    @cached_property
    def _signs_and_costs(self) -> tuple[Any, Any]:
        """The signs y and costs c of all outputs, (n_outputs, n_rows) each."""
        problems, n = self.like.problems, self.n_rows
        y = self.backend.array(np.stack([problem.y[:n] for problem in problems]))
        cost = self.backend.array(np.stack([problem.cost[:n] for problem in problems]))
        return y.astype(np.float64), self.weight * self.like.weight * cost

    @cached_property
    def _targets(self) -> Any:
        targets = [problem.targets for problem in self.like.problems]
        known = [own[: self.n_rows] for own in targets if own is not None]
        return self.backend.array(np.stack(known)) if known else 0.0

    def _margin(self, F: Floats) -> Any:
        return self._signs_and_costs[0] * bare(F, self.backend) - self._targets

    def _gap(self, alpha: Any, m: Any, cost: Any) -> Any:
        """Return each row's part of the gap; 0 for rows without weight."""
        return np.where(
            cost > 0.0, self.kind.loss.dual_gap(alpha, m, np.maximum(cost, LEAST_COST)), 0.0
        )

    def _slope(self, m: Any, ramps: Floats) -> Any:
        """Return minus the slope of the smoothed loss at m."""
        if isinstance(self.kind.loss, SquaredHinge):
            return np.maximum(2.0 - 2.0 * m, 0.0)
        raw = [np.minimum(np.maximum(own, 0.0), 1.0) for own in self._ramped(m, ramps)]
        return raw[0] if len(raw) == 1 else raw[0] - raw[1]

    def _bend(self, m: Any, ramps: Floats) -> Any:
        """Return the second derivative of the smoothed loss at m."""
        if isinstance(self.kind.loss, SquaredHinge):
            return np.where(m < 1.0, 2.0, 0.0)
        width = self.backend.array(ramps[:, :1])
        inside = [np.where((own > 0.0) & (own < 1.0), 1.0, 0.0) for own in self._ramped(m, ramps)]
        return (inside[0] if len(inside) == 1 else inside[0] + inside[1]) / width

    def _ramped(self, m: Any, ramps: Floats) -> list[Any]:
        """Return the positions of margins on the ramps, from 0 at one end to 1 at the other."""
        width, low, high = (self.backend.array(ramps[:, k : k + 1]) for k in range(3))
        if isinstance(loss := self.kind.loss, EpsilonInsensitive):
            epsilon = loss.epsilon
            return [(-m - epsilon) / width + low, (m - epsilon) / width + high]
        center = 0.5 * (low + high) + (0.5 * (high - low)) * self._signs_and_costs[0]
        return [(1.0 - m) / width + center]

    def _rows(self, values: Any) -> Floats:
        return cast(Floats, RowArray(values, self.backend))
