"""Sums of hinge-like losses over rows on a device, for all outputs at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.devices.arrays import RowArray, bare
from splinear.devices.backend import LEAST_COST, Backend
from splinear.losses import EpsilonInsensitive, SquaredHinge
from splinear.objective.margin_sums import MarginKind, Measures, RowMargins

__all__ = ["DeviceMargins"]

INFEASIBLE = 1e-12  # share of a cost by which a dual variable may be out of its range


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
