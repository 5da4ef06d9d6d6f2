"""Cumulative logits: ordered levels, by the proportional-odds model.

With K levels and cut points c_0 < ... < c_(K-2), the probability of a level up to k is

    P(y <= k) = expit(c_k - f),

so that a level between the cut points a and b has P(y) = expit(b - f) - expit(a - f), and

    -log P(y) = log(1 + exp(f - b)) + log(1 + exp(a - f)) - log(1 - exp(a - b)).

In this form nothing cancels. It is convex in f and the cut points together: two logistic losses,
and a barrier that keeps the cut points apart. The lowest and the highest level lack one of them.

The cut points are shared by all rows. As intercepts are, they are solved for at all scores, so that
solvers see the function of the scores

    L(F) = min over cut points of sum_i c_i -log P(y_i).

Its gradient is that at the best cut points, as these do not change it to first order. A constant
added to all scores moves the cut points, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from splinear._types import AnyArray, Floats, Input
from splinear._warning import warn
from splinear.losses.base import Task
from splinear.losses.classes import ClassLoss
from splinear.losses.curvature import Curvature, Profiled
from splinear.losses.logistic import divergence
from splinear.losses.margin import NEARLY_STRAIGHT
from splinear.tables.values import level_order

__all__ = ["Ordinal"]

REACH = 800.0  # beyond all cut points; there the lowest or the highest level is most probable
FAR = 40.0  # distance of the cut points of a lowest or highest level without rows
TINY = float(np.finfo(np.float64).tiny)
LAST_STEP = 1e-7  # of Newton's method for cut points: the error that remains is about its square
MOST_STEPS, MOST_HALVINGS = 60, 30
FARTHEST = 5.0  # largest first step of a cut point; those after it may be twice as long each
LONGEST = 100.0  # step where there is hardly any curvature
LITTLE = 1e-22  # gain per unit of weight that is below rounding
EDGE = 0.9  # share of the width of a level that a step may take
ROUNDING = 1e-12  # tolerance of slopes
WIDEST = 1400.0  # half of it has a finite hyperbolic cosine


@dataclass(frozen=True, eq=False)
class Ordinal(ClassLoss):
    """-log P(y) of ordered levels, with P(y <= k) = expit(cut point k - f).

    The loss of :class:`~splinear.AdditiveOrdinal`. A score is a position on a latent scale: the
    higher it is, the more likely are higher levels. Two levels make it :class:`Logistic`.

    Parameters
    ----------
    levels : sequence or None, default=None
        The levels, from the lowest to the highest; None for the order of an ordered categorical
        type, or else the sorted values.

    Attributes
    ----------
    classes : ndarray or None
        The levels that have rows, in order; None before y has been read.
    cut_points : ndarray of shape (n_classes - 1,) or None
        Where they are on the scale of the scores, in ascending order; None before they are known.
    there : ndarray or None
        The positions of the levels that had rows where the cut points were solved for, such as a
        fold; None for all.
    left : float
        About what better cut points would gain: 0 if they were found.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import Ordinal
    >>> loss = Ordinal().of_classes(np.array([1, 2, 3])).with_shared(np.array([-1.0, 1.0]))
    >>> loss.probabilities(np.array([[0.0], [3.0]])).round(3)
    array([[0.269, 0.462, 0.269],
           [0.018, 0.101, 0.881]])
    """

    levels: Any = None
    classes: AnyArray | None = field(default=None, repr=False)
    cut_points: Floats | None = field(default=None, repr=False)
    there: AnyArray | None = field(default=None, repr=False)
    left: float = field(default=0.0, repr=False)

    name = "ordinal"
    link = "ordinal"
    has_labels = False
    convex = True
    likelihood = True

    # -- levels ----------------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        """What y holds."""
        return "ordinal"

    @property
    def n_outputs(self) -> int:
        """One score per row, whatever the number of levels."""
        return 1

    def label(self, output: int) -> object:
        """Return None, as the score is that of all levels."""
        del output
        return None

    def knowing(self, y: Input) -> Ordinal:
        """Return the loss with the order of the categories, if y is of an ordered type."""
        if self.levels is not None or (order := level_order(y)) is None:
            return self
        return Ordinal(order)

    def of_classes(self, classes: AnyArray, *, has_labels: bool = False) -> Ordinal:
        """Return the loss of these classes, in their order unless `levels` has another."""
        if has_labels:
            raise ValueError("Ordered levels need one level per row; y has several columns.")
        found = copy(self)
        object.__setattr__(found, "classes", classes)  # dataclasses are frozen
        return found

    def _known(self, found: AnyArray) -> AnyArray:
        """Return the levels in `found`, which are sorted, in their order; raise if one is new."""
        if self.levels is None:
            known = super()._known(found)
            if len(known) > 2 and isinstance(known[0], str):
                warn(
                    "y holds text without an order, and its levels are taken in alphabetical "
                    f"order: {', '.join(map(str, known[:10]))}{', ...' * (len(known) > 10)}. Give "
                    "`levels`, from the lowest to the highest, or y as an ordered categorical."
                )
            return known
        there = set(found.tolist())
        if unknown := there.difference(self.levels):
            raise ValueError(
                f"y holds {sorted(unknown, key=str)[0]!r}, which is not among the levels "
                f"{list(self.levels)!r}."
            )
        kept = [level for level in self.levels if level in there]
        if len(kept) < 2:
            raise ValueError(f"y must have two levels, but only one was found: {kept!r}.")
        out = np.empty(len(kept), dtype=found.dtype)
        out[:] = kept
        return out

    def numbers(self, y: AnyArray) -> AnyArray:
        """Return the position of each row's level, (n,).

        A level that occurs only in rows of weight 0 gets the position of some other level.
        """
        classes = self.known_classes
        order = np.argsort(classes, kind="stable")
        if np.array_equal(order, np.arange(len(order))):
            return super().numbers(y).astype(np.int32)
        ascending = Ordinal(classes=classes[order]).numbers(y)
        return order[ascending].astype(np.int32)

    # -- shared parameters -----------------------------------------------------------------------

    @property
    def n_shared(self) -> int:
        """Number of cut points."""
        return self.n_classes - 1

    @property
    def shared(self) -> Floats | None:
        """The cut points."""
        return self.cut_points

    def with_shared(self, shared: Floats, intercept: float = 0.0) -> Ordinal:
        """Return the loss with cut points, for scores less an intercept."""
        found = copy(self)
        cuts = np.asarray(shared, dtype=np.float64) - intercept
        object.__setattr__(found, "cut_points", cuts)  # dataclasses are frozen
        return found

    def shared_sums(self, y: AnyArray, F: Floats, cost: Floats) -> Floats:
        """Return sums over rows, (4, n_classes), of which the last two are per cut point.

        They are the weight of each level, and its weighted scores; then the first and the second
        derivatives with respect to the cut points, without those of the barriers.
        """
        n, f = self.n_classes, F[0]
        out = np.zeros((4, n))
        out[0], out[1] = np.bincount(y, cost, n), np.bincount(y, cost * f, n)
        if self.cut_points is not None:
            low, high = self._bounds(y)
            below, above = expit(low - f), expit(f - high)
            u, v = cost * above, cost * below
            out[2, :-1] = np.bincount(y, v, n)[1:] - np.bincount(y, u, n)[:-1]
            u *= 1.0 - above
            v *= 1.0 - below
            out[3, :-1] = np.bincount(y, v, n)[1:] + np.bincount(y, u, n)[:-1]
        return out

    def solved(self, sums_at: Callable[[Ordinal], Floats]) -> Ordinal:
        """Return the loss with the best cut points, by Newton's method from its own.

        Levels without rows have a probability of 0, or nearly so: their cut points meet, or are far
        away.
        """
        sums = sums_at(self)
        levels = _Levels.of(sums[0])
        there, total = levels.there, float(sums[0].sum())
        middle = float(sums[1].sum()) / total
        if len(there) == 1:
            far = np.where(np.arange(self.n_shared) < there[0], -FAR, FAR)
            return self._at(far + middle, there)
        known = None if self.cut_points is None else self.cut_points[there[:-1]]
        if known is None or np.any(np.diff(known) <= 0.0) or self.there is None:
            share = np.cumsum(levels.weight)[:-1] / total
            odds = share / (np.cumsum(levels.weight[::-1])[-2::-1] / total)
            known = np.log(odds) + middle
            sums = sums_at(self._at(levels.spread(known), there))

        def derivatives(z: Floats) -> tuple[Floats, Floats]:
            return levels.derivatives(z, sums_at(self._at(levels.spread(np.cumsum(z)), there)))

        first = np.concatenate([known[:1], np.diff(known)])
        z, left = _least(first, levels.derivatives(first, sums), derivatives, total)
        return self._at(levels.spread(np.cumsum(z)), there, left)

    def _at(self, cuts: Floats, there: AnyArray, left: float = 0.0) -> Ordinal:
        found = self.with_shared(cuts)
        object.__setattr__(found, "there", there)
        object.__setattr__(found, "left", left)
        return found

    @property
    def _levels(self) -> AnyArray:
        return np.arange(self.n_classes) if self.there is None else self.there

    def shift(self, y: AnyArray, f: Floats, cost: Floats) -> float:
        """Return the constant that moves the mean of the cut points to 0.

        Any constant is as good for the sum, if the cut points follow.
        """
        del y, f, cost
        there = self._levels
        return -float(self._cuts[there[:-1]].mean()) if len(there) > 1 else 0.0

    def shared_flows(self, y: AnyArray, R: Floats, cost: Floats) -> Floats:
        """Return the weight of each level, and the slopes along the cut points, (2, n_classes)."""
        n, (below, above) = self.n_classes, self._split(y, R[0])
        flows = np.zeros((2, n))
        flows[0] = np.bincount(y, cost, n)
        of_upper = np.bincount(y, cost * above, n)[:-1]
        flows[1, :-1] = of_upper - np.bincount(y, cost * below, n)[1:]
        return flows

    def shared_gap(self, flows: Floats) -> float:
        """Return what `gap`, for fixed cut points, lacks: the part of the barriers.

        The slopes R of the rows are made of slopes along the cut points. Where R is the gradient of
        the sum these balance those of the barriers N w(c), w = -log(1 - exp(-width)). In general
        they say that a barrier has the slope -N p, and the gap is

            N (p log(p / q) - (1 + p) log((1 + p) / (1 + q))),     q = 1 / (exp(width) - 1).
        """
        levels = _Levels.of(flows[0])
        if len(levels.there) < 3:
            return 0.0
        N, cuts = levels.weight[1:-1], self._cuts[levels.there[:-1]]
        p, widths = np.cumsum(levels.at_cuts(flows[1]))[:-1] / N, np.diff(cuts)
        if np.any(p < -ROUNDING * (1.0 + _barrier_slope(widths))):
            return np.inf
        return float(N @ _barrier_gap(np.maximum(p, 0.0), widths))

    # -- what a score costs ----------------------------------------------------------------------

    @property
    def _cuts(self) -> Floats:
        if self.cut_points is None:
            raise ValueError("The cut points are not known yet; see `with_shared`.")
        return self.cut_points

    def _bounds(self, y: AnyArray) -> tuple[Floats, Floats]:
        """Return the cut points below and above each row's level, infinite beyond the last."""
        ends = np.concatenate([[-np.inf], self._cuts, [np.inf]])
        return ends[y], ends[np.asarray(y) + 1]

    def value(self, y: AnyArray, f: Floats) -> Floats:
        """Return -log P(y)."""
        low, high = self._bounds(y)
        return _of_margin(f - low)[0] + _of_margin(high - f)[0] + self._barriers[y]

    @property
    def _barriers(self) -> Floats:
        """What keeps the cut points of every level apart, (n_classes,)."""
        widths = np.concatenate([[np.inf], np.diff(self._cuts), [np.inf]])
        return np.asarray(-np.log(np.maximum(-np.expm1(-widths), TINY)))

    def slope(self, y: AnyArray, f: Floats) -> Floats:
        """Return P(y > level) - P(y < level)."""
        low, high = self._bounds(y)
        return expit(f - high) - expit(low - f)

    def curvature(self, y: AnyArray, f: Floats) -> Floats:
        """Return the second derivatives for fixed cut points."""
        lower, upper = self._curvatures(y, f)
        return lower + upper

    def _curvatures(self, y: AnyArray, f: Floats) -> tuple[Floats, Floats]:
        """Return the parts of the second derivatives that are due to the cut points of the row."""
        low, high = self._bounds(y)
        return _of_margin(f - low)[2], _of_margin(high - f)[2]

    def evaluate(self, y: AnyArray, F: Floats, cost: Floats) -> tuple[Floats, Floats, Curvature]:
        """Return values, slopes, and the curvature of the sum whose cut points follow F."""
        low, high = self._bounds(y)
        below, above = _of_margin(F[0] - low), _of_margin(high - F[0])
        values = below[0] + above[0] + self._barriers[y]
        profile = self._profile(y, cost, (below[2], above[2]))
        return cost * values, (cost * (above[1] - below[1]))[None], profile

    def cautious(self, y: AnyArray, F: Floats, cost: Floats) -> Curvature:
        """Return a larger curvature where the loss is nearly straight, far beyond a cut point.

        It is that of a parabola that touches the part of that cut point there and on its other
        side.
        """
        low, high = self._bounds(y)
        parts = []
        for m, own in zip((F[0] - low, high - F[0]), self._curvatures(y, F[0]), strict=True):
            far = np.flatnonzero(m < -NEARLY_STRAIGHT)
            own[far] = np.tanh(0.5 * m[far]) / (2.0 * m[far])
            parts.append(own)
        return self._profile(y, cost, (parts[0], parts[1]))

    def _profile(self, y: AnyArray, cost: Floats, parts: tuple[Floats, Floats]) -> Profiled:
        there, number, barrier = self._levels, y, np.zeros(0)
        if len(there) < self.n_classes:
            place = np.searchsorted(there, np.arange(self.n_classes))
            number = np.minimum(place, len(there) - 1)[y]
        if len(there) > 2:
            weight = np.bincount(y, cost, self.n_classes)[there]
            barrier = weight[1:-1] * _barrier_curvature(np.diff(self._cuts[there[:-1]]))
        return Profiled(number, cost * parts[0], cost * parts[1], barrier, len(there))

    def gap(self, y: AnyArray, F: Floats, R: Floats) -> Floats:
        """Return value(y, f) + conjugate(y, r) - r f for fixed cut points.

        It is the sum of two relative entropies: of the probabilities to be above and below the
        level whose difference is R, to those at F.
        """
        low, high = self._bounds(y)
        below, above = self._split(y, R[0])
        each = np.zeros(F.shape[1])
        for p, m in ((above, high - F[0]), (below, F[0] - low)):
            m = np.minimum(m, 1e300)  # beyond the lowest and the highest level
            off = p - expit(-m)
            each += divergence(p, off, m) + divergence(1.0 - p, -off, -m)
        wrong = np.abs(above - below - R[0]) > ROUNDING
        return np.where(wrong, np.inf, each)

    def _split(self, y: AnyArray, r: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities to be below and above the level where the slope is r.

        With t the distance of the score from the middle of the level, and 2 h its width, the slope
        is sinh t / (cosh t + cosh h). Where r is no slope, the next one is taken.
        """
        low, high = self._bounds(y)
        out_below, out_above = np.clip(-r, 0.0, 1.0), np.clip(r, 0.0, 1.0)
        out_above[np.isinf(high)] = 0.0
        out_below[np.isinf(low)] = 0.0
        inner = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
        h = 0.5 * np.minimum(high[inner] - low[inner], WIDEST)
        size, sign = np.minimum(np.abs(r[inner]), 1.0), np.sign(r[inner])
        with np.errstate(divide="ignore"):
            root = np.hypot(size * np.cosh(h), np.sqrt((1.0 - size) * (1.0 + size)))
            t = np.log(size * np.cosh(h) + root) - np.log1p(-size)
        # The smaller probability keeps its digits; the other one is that plus r.
        small = expit(-t - h)
        rest = np.where(size < 1.0, small + size, 1.0)
        out_below[inner] = np.where(sign > 0.0, small, rest)
        out_above[inner] = np.where(sign > 0.0, rest, small)
        return out_below, out_above

    # -- what a score means ----------------------------------------------------------------------

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of all levels, (n_rows, n_classes)."""
        f, cuts = scores[:, :1], self._cuts
        widths = np.concatenate([[np.inf], np.diff(cuts), [np.inf]])
        above = expit(f - np.concatenate([[-np.inf], cuts]))  # P(y >= level)
        below = expit(np.concatenate([cuts, [np.inf]]) - f)  # P(y <= level)
        return np.asarray(above * below * -np.expm1(-widths))

    def log_odds_slopes(self, scores: Floats) -> Iterator[Floats]:
        """Yield, for every level, the slopes of its log-odds along minus the cut points.

        They are (n_rows, n_classes - 1), and sum to those along the score.
        """
        margins = self._cuts - scores[:, :1]
        below, above = expit(margins), expit(-margins)
        P = self.probabilities(scores)
        for k in range(self.n_classes):
            slopes, unit = np.zeros_like(margins), P[:, k] * (1.0 - P[:, k])
            unit = np.maximum(unit, TINY)
            if k < self.n_shared:
                slopes[:, k] = -below[:, k] * above[:, k] / unit
            if k > 0:
                slopes[:, k - 1] = below[:, k - 1] * above[:, k - 1] / unit
            yield slopes

    def predict(self, scores: Floats) -> AnyArray:
        """Return the most probable levels (n_rows,)."""
        return np.asarray(self.known_classes[self.probabilities(scores).argmax(axis=1)])

    @property
    def modes(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The levels that are most probable for some scores, and where all but the first begin.

        The higher the score, the higher is the most probable level: of any two levels, the odds of
        the higher one increase with the score.
        """
        y = np.arange(self.n_classes)

        def log_odds(f: float, a: int, b: int) -> float:
            found = -self.value(y[[a, b]], np.full(2, f))
            return float(found[1] - found[0])

        ends = self._cuts[0] - REACH, self._cuts[-1] + REACH
        modes, starts = [0], [-np.inf]
        for k in range(1, self.n_classes):
            while True:
                if log_odds(ends[1], modes[-1], k) <= 0.0:  # never more probable
                    break
                at = -np.inf
                if log_odds(ends[0], modes[-1], k) < 0.0:
                    at = brentq(log_odds, *ends, args=(modes[-1], k), xtol=1e-14)
                if at > starts[-1]:
                    modes.append(k)
                    starts.append(float(at))
                    break
                modes.pop()
                starts.pop()
        return tuple(modes), tuple(starts[1:])

    def decision(self, scores: Floats) -> Floats:
        """Return the scores (n_rows,)."""
        return scores[:, 0]

    def score_name(self, target: str) -> str:
        """Return the name of what the score is, given the name of the target."""
        return f"latent scale of {target}"

    def parameters(self) -> dict[str, Any]:
        """Return the cut points."""
        return {"cut_points": self.cut_points}

    @property
    def title(self) -> str:
        """The name of the loss in words, with its cut points."""
        if self.cut_points is None:
            return "Ordinal"
        return f"Ordinal (cut points {', '.join(f'{cut:.3g}' for cut in self.cut_points)})"


@dataclass(frozen=True, eq=False)
class _Levels:
    """The levels that have rows.

    Attributes
    ----------
    there : ndarray
        Their positions among all levels.
    weight : ndarray
        Their weights.
    n_levels : int
        Number of all levels.
    """

    there: AnyArray
    weight: Floats
    n_levels: int

    @classmethod
    def of(cls, weight: Floats) -> _Levels:
        there = np.flatnonzero(weight > 0.0)
        return cls(there, weight[there], len(weight))

    def at_cuts(self, sums: Floats) -> Floats:
        """Return sums (n_levels,) of all cut points, of which those that meet are added up."""
        return np.asarray(np.add.reduceat(sums[: self.there[-1]], self.there[:-1]))

    def spread(self, cuts: Floats) -> Floats:
        """Return the cut points between all levels, with those of levels without rows."""
        n_below = np.searchsorted(self.there, np.arange(self.n_levels - 1), side="right")
        ends = np.concatenate([[cuts[0] - FAR], cuts, [cuts[-1] + FAR]])
        return np.asarray(ends[n_below])

    def derivatives(self, z: Floats, sums: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the Hessian with respect to the first cut point and widths.

        `sums` are those of `Ordinal.shared_sums` at these cut points.
        """
        N = self.weight[1:-1]
        gradient = np.cumsum(self.at_cuts(sums[2])[::-1])[::-1].copy()
        gradient[1:] -= N * _barrier_slope(z[1:])
        return gradient, _of_widths(self.at_cuts(sums[3]), N * _barrier_curvature(z[1:]))


def _least(
    z: Floats,
    at_z: tuple[Floats, Floats],
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    unit: float,
) -> tuple[Floats, float]:
    """Return the first cut point and the widths after it that are best, from z on.

    In these terms even a tiny width keeps its digits. The second result is about what is left to
    gain: 0 unless the steps end before they are small; `unit` is the weight of all rows.
    """
    gradient, hessian = at_z
    farthest, left = FARTHEST, np.inf
    for _ in range(MOST_STEPS):
        step = -_solved(hessian, gradient)
        scale = np.concatenate([[1.0], np.minimum(z[1:], 1.0)])
        slope = float(gradient @ step)
        left = -0.5 * slope
        if np.all(np.abs(step) <= LAST_STEP * scale):
            return z + step, 0.0
        if left <= LITTLE * unit:  # where the sum is flat up to rounding
            return z, 0.0
        moved = np.abs(np.cumsum(step)).max()
        share = min(1.0, farthest / moved if moved > 0.0 else 1.0)
        farthest *= 2.0
        shrinking = step[1:] < 0.0
        if shrinking.any():
            room = z[1:][shrinking] / -step[1:][shrinking]
            share = min(share, EDGE * float(room.min()))
        for _ in range(MOST_HALVINGS):
            there = z + share * step
            found = derivatives(there)
            if float(found[0] @ step) <= -0.5 * slope:  # not far beyond the minimum
                break
            share *= 0.5
        z, (gradient, hessian) = there, found
    return z, left


def _of_margin(m: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log(1 + exp(-m)), expit(-m), and its curvature, with one exponential."""
    rare = expit(-np.abs(m))  # the smaller probability, to full precision
    often = 1.0 - rare
    value: Floats = np.maximum(-m, 0.0) - np.log1p(-rare)
    return value, np.where(m > 0.0, rare, often), rare * often


def _of_widths(of_cuts: Floats, of_barriers: Floats) -> Floats:
    """Return the Hessian with respect to the first cut point and the widths after it."""
    n = len(of_cuts)
    later = np.cumsum(of_cuts[::-1])[::-1]
    at = np.arange(n)
    H = later[np.maximum(at[:, None], at)]
    H[at[1:], at[1:]] += of_barriers
    return np.asarray(H)


def _solved(H: Floats, gradient: Floats) -> Floats:
    """Return H^{-1} gradient, of a matrix whose entries may differ by many orders.

    Where it has next to no curvature, as far beyond all rows, steps are at most LONGEST.
    """
    H = H + np.diag(np.maximum(np.abs(gradient) / LONGEST - np.diagonal(H), 0.0))
    there = np.diagonal(H) > 1e-290  # elsewhere there is no slope, either
    scale = np.where(there, 1.0 / np.sqrt(np.where(there, np.diagonal(H), 1.0)), 0.0)
    inner = H * scale[:, None] * scale
    return np.asarray(scale * np.linalg.lstsq(inner, scale * gradient, rcond=1e-14)[0])


def _barrier_slope(widths: Floats) -> Floats:
    """Return minus the derivative of -log(1 - exp(-width)), 1 / (exp(width) - 1)."""
    return np.asarray(np.exp(-widths) / np.maximum(-np.expm1(-widths), TINY))


def _barrier_curvature(widths: Floats) -> Floats:
    """Return the second derivative of -log(1 - exp(-width))."""
    return np.asarray(np.exp(-widths) / np.maximum(-np.expm1(-widths), TINY**0.5) ** 2)


def _barrier_gap(p: Floats, widths: Floats) -> Floats:
    """Return p log(p / q) - (1 + p) log((1 + p) / (1 + q)), q being the slope at the widths.

    It is computed by a series if terms would cancel.
    """
    q = _barrier_slope(widths)
    off = p - q
    small = (np.abs(off) < 1e-3 * q) & (q > 1e-100)
    d, r = np.where(small, off, 0.0), np.where(small, q, 1.0)
    series = d**2 * (
        0.5 / (r * (1.0 + r))
        + d * (1.0 / (1.0 + r) ** 2 - 1.0 / r**2) / 6.0
        + d**2 * (1.0 / r**3 - 1.0 / (1.0 + r) ** 3) / 12.0
    )
    log_q = -widths - np.log(np.maximum(-np.expm1(-widths), TINY))
    log_p = np.log(np.where(p > 0.0, p, 1.0))
    plain = p * (log_p - log_q) - (1.0 + p) * np.log1p(off / (1.0 + q))
    return np.where(small, series, np.maximum(plain, 0.0))
