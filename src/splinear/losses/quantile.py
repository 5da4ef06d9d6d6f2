"""Quantiles: the pinball loss, and the smooth loss that Newton's method sees in its place.

With r = y - f the pinball loss of level q is q r for r > 0 and (q - 1) r otherwise. Its mean is
least where a share q of the targets is below f. It has no curvature, and a kink at r = 0, which is
smoothed by a logistic kernel of some width w:

    w log(1 + exp(-r / w)) + q r,     slope expit(-r / w) - q,     curvature p (1 - p) / w,

with p = expit(-r / w). These slopes lie between -q and 1 - q, as those of the pinball loss do, so
that they are feasible dual variables of it. Its conjugate at such a slope s is s y, and the gap of
a row,

    pinball - (f - y) s = max(r, 0) (q + s) + max(-r, 0) (1 - q - s),

is |r| times the share of the kernel that lies beyond r: at most .28 w, and it falls off
exponentially. Over many rows their sum is pi^2 / 6 w^2 times the number of rows per unit of r at 0.

Where smoothness is chosen the width is that of M. Fernandes, E. Guerre and E. Horta, "Smoothing
quantile regressions" (2021), as X. He, X. Pan, K. Tan and W. Zhou use it for models of many
parameters: ((edf + log n) / n)^(2/5) times the spread of the residuals. Then solvers reduce it,
until the gap of the pinball loss itself is within the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import d2_pinball_score

from splinear._types import AnyArray, Floats
from splinear.losses.base import Loss
from splinear.losses.curvature import Curvature, Diagonal
from splinear.losses.logistic import divergence

__all__ = ["Quantile", "SmoothedQuantile"]

FIRST_WIDTH = 0.125  # relative to the unit, a power of 2 above the distances of y to its mean
LEAST_WIDTH = 1e-9  # the same
MOST_ROWS = 50_000.0  # smoothness is chosen from about as many at most, and the width is for these
LEAST_LEFT = 0.1  # of the residual degrees of freedom, as a share of the rows
NEARLY_THE_SAME = 0.05  # relative change of a width that is neglected
NORMAL_SPREAD = 1.349  # the interquartile range of a normal distribution of variance 1
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
ROUNDING_OF_SLOPES = 1e-12

LossT = TypeVar("LossT", bound=Loss)


@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss, whose best prediction is a quantile of y.

    ``level * (y - f)`` where y is above f, and ``(1 - level) * (f - y)`` where it is below.

    Parameters
    ----------
    level : float or sequence of float, default=0.5
        The share of the targets that should be below the prediction, between 0 and 1; 0.5 is the
        median. With several levels, `predict` returns one column for each, in this order. Every
        level has terms of its own, and a smoothness. They are fitted such that the quantiles never
        cross, wherever the features are; `target=level` chooses one in `splinear.inspection`.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.losses import Quantile
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 1.0, (2000, 1))
    >>> y = 5.0 * X[:, 0] ** 2 + X[:, 0] * rng.exponential(size=2000)
    >>> model = AdditiveRegressor(loss=Quantile(0.9)).fit(X, y)
    >>> bool(0.88 < np.mean(y < model.predict(X)) < 0.92)
    True
    """

    level: float | Sequence[float] = 0.5

    name = "quantile"
    convex = True
    predicts_mean = False
    n_offsets = 1

    def __post_init__(self) -> None:
        wrong = "Quantile needs a level between 0 and 1, or a list of different ones"
        try:
            levels = np.asarray(self.level)
        except ValueError:  # lists of different lengths
            raise ValueError(f"{wrong}; got {self.level!r}.") from None
        if levels.dtype.kind not in "iuf":  # text is not read as numbers
            raise ValueError(f"{wrong}; got {self.level!r}.")
        levels = levels.astype(np.float64)
        each = np.atleast_1d(levels)
        is_inside = levels.ndim <= 1 and len(each) > 0 and np.all((each > 0.0) & (each < 1.0))
        if not is_inside or len(np.unique(each)) < len(each):
            raise ValueError(f"{wrong}; got {self.level!r}.")
        plain: Any = float(levels) if levels.ndim == 0 else tuple(levels.tolist())
        object.__setattr__(self, "level", plain)  # dataclasses are frozen

    @property
    def levels(self) -> tuple[float, ...]:
        """All levels, in the order given."""
        return self.level if isinstance(self.level, tuple) else (self._level,)

    @property
    def _level(self) -> float:
        """The level, if there is one."""
        assert isinstance(self.level, float)
        return self.level

    @property
    def n_problems(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def may_extrapolate(self) -> bool:
        """Whether there is one level: lines of several levels would cross somewhere."""
        return self.n_problems == 1

    def label(self, output: int) -> object:
        """Return the level of an output; None if there is only one."""
        return None if self.n_outputs == 1 else self.levels[output]

    @property
    def ascending(self) -> NDArray[np.intp]:
        """The outputs in the order of their levels."""
        return np.argsort(self.levels)

    def alone(self) -> list[Quantile]:
        """Return the loss of every level."""
        return [self._known(Quantile(level)) for level in self.levels]

    def _known(self, other: LossT) -> LossT:
        object.__setattr__(other, "seen", self.seen)
        return other

    def surrogate(self) -> SmoothedQuantile | None:
        """Return the smoothed loss, with a width to begin with."""
        return self._known(SmoothedQuantile(self._level, FIRST_WIDTH * self.unit))

    def value(self, y: AnyArray, f: Floats) -> Floats:
        """Return the loss of every row; 0 if f is y up to rounding."""
        r = _residuals(y, f)
        return np.maximum(self._level * r, (self._level - 1.0) * r)

    def gap(self, y: AnyArray, F: Floats, R: Floats) -> Floats:
        """Return ``|f - y|`` times the distance of the slope to that at f."""
        r, s, level = _residuals(y, F[0]), R[0], self._level
        inside = np.clip(s, -level, 1.0 - level)
        each = np.maximum(r, 0.0) * (inside + level)
        each += np.maximum(-r, 0.0) * (1.0 - level - inside)
        return np.where(np.abs(s - inside) <= ROUNDING_OF_SLOPES, each, np.inf)

    def shift(self, y: AnyArray, f: Floats, cost: Floats) -> float:
        """Return the weighted quantile of y - f: the least at which the slopes sum to 0 or more."""
        r = _residuals(y, f)
        order = np.argsort(r)
        below = np.cumsum(cost[order])
        at = int(np.searchsorted(below, self._level * below[-1] * (1.0 - ROUNDING)))
        return float(r[order[min(at, len(order) - 1)]])

    def predict(self, scores: Floats) -> AnyArray:
        """Return quantiles (n_rows,), or (n_rows, n_levels) of several levels.

        The levels of a model do not cross, and those of rounded sums do not either.
        """
        if self.n_outputs == 1:
            return scores[:, 0]
        out, order = np.empty_like(scores), self.ascending
        out[:, order] = np.maximum.accumulate(scores[:, order], axis=1)
        return out

    def quality(self, y: Floats, predicted: Floats, weights: Floats | None) -> float:
        """Return the share of the pinball losses of the best constant that is saved.

        Of several levels it is the mean of their shares.
        """
        if self.n_outputs > 1:
            columns = zip(self.alone(), np.asarray(predicted).T, strict=True)
            return float(np.mean([one.quality(y, own, weights) for one, own in columns]))
        if len(y) > 1 and np.all(y == y[0]):
            return super().quality(y, predicted, weights)
        return float(d2_pinball_score(y, predicted, sample_weight=weights, alpha=self._level))

    def score_name(self, target: str) -> str:
        """Return the name of what the score is, given the name of the target, or of the level."""
        if self.n_outputs > 1:
            return target
        return (
            f"median of {target}" if self.level == 0.5 else f"quantile {self.level:.4g} of {target}"
        )

    @property
    def title(self) -> str:
        """The name with the levels: "Quantile (level 0.9)"."""
        levels = ", ".join(f"{level:.4g}" for level in self.levels)
        return f"Quantile (level{'s' if self.n_outputs > 1 else ''} {levels})"

    def parameters(self) -> dict[str, Any]:
        """Return the level, or the levels."""
        return {"level": self.level}


@dataclass(frozen=True)
class SmoothedQuantile(Loss):
    """The pinball loss smoothed by a logistic kernel of a width, which is in the unit of y."""

    level: float
    width: float

    convex = True
    is_estimated = True

    @property
    def exact(self) -> Quantile:
        """The pinball loss."""
        found = Quantile(self.level)
        object.__setattr__(found, "seen", self.seen)
        return found

    @property
    def resolution(self) -> float:
        """The width."""
        return self.width

    def narrowed(self, factor: float) -> SmoothedQuantile | None:
        """Return the loss with its width times a factor; None if it is too small already."""
        width = max(factor * self.width, LEAST_WIDTH * self.unit)
        return self._of_width(width) if width < self.width else None

    def _of_width(self, width: float) -> SmoothedQuantile:
        other = copy(self)
        object.__setattr__(other, "width", width)
        return other

    @property
    def typical_curvature(self) -> float:
        """About one row per unit of y, over twice its range."""
        return 4.0 / self.unit

    def value(self, y: AnyArray, f: Floats) -> Floats:
        """Return the smoothed loss, which is above the pinball loss by at most .7 widths."""
        r = _residuals(y, f)
        m = -r / self.width
        straight = np.where(m > 0.0, (1.0 - self.level) * -r, self.level * r)
        return straight + self.width * np.log1p(np.exp(-np.abs(m)))

    def _share(self, y: AnyArray, f: Floats) -> Floats:
        share: Floats = expit((f - y) / self.width)
        return share

    def slope(self, y: AnyArray, f: Floats) -> Floats:
        """Return the first derivatives, which are slopes of the pinball loss somewhere."""
        return self._share(y, f) - self.level

    def curvature(self, y: AnyArray, f: Floats) -> Floats:
        """Return the density of the kernel."""
        return self._share(y, f) * self._share(f, y) / self.width

    def evaluate(self, y: AnyArray, F: Floats, cost: Floats) -> tuple[Floats, Floats, Curvature]:
        """Return values, slopes and curvatures times cost, using one exponential."""
        r = _residuals(y, F[0])
        m = -r / self.width
        small = np.exp(-np.abs(m))
        rare = small / (1.0 + small)  # the smaller share, to full precision
        share = np.where(m > 0.0, 1.0 - rare, rare)
        value = np.where(m > 0.0, (self.level - 1.0) * r, self.level * r)
        value += self.width * np.log1p(small)
        bends = rare * (1.0 - rare) / self.width
        return cost * value, (cost * (share - self.level))[None], Diagonal((cost * bends)[None])

    def cautious(self, y: AnyArray, F: Floats, cost: Floats) -> Curvature:
        """Return the curvature of parabolas that touch the loss at r and -r, and are above it.

        Where rows are far from the kernel the loss is straight, but the step ends at the kink.
        """
        r = np.abs(_residuals(y, F[0]))
        second = self.curvature(y, F[0])
        far = np.flatnonzero(r > self.width)
        second[far] = np.tanh(0.5 * r[far] / self.width) / (2.0 * r[far])
        return Diagonal((cost * second)[None])

    def gap(self, y: AnyArray, F: Floats, R: Floats) -> Floats:
        """Return the width times the relative entropy of the shares of two slopes."""
        share = R[0] + self.level
        feasible = np.clip(share, 0.0, 1.0)
        m = (y - F[0]) / self.width
        off = feasible - expit(-m)
        each = self.width * (divergence(feasible, off, m) + divergence(1.0 - feasible, -off, -m))
        return np.where(np.abs(share - feasible) <= ROUNDING_OF_SLOPES, each, np.inf)

    def constant(self, y: AnyArray) -> Floats:
        """Return 0: it is judged by the pinball loss itself."""
        return np.zeros(len(y))

    def renewed(self, y: AnyArray, F: Floats, cost: Floats, edf: float) -> SmoothedQuantile:
        """Return the loss with the width for residuals of a model with so many parameters."""
        r, weights = _residuals(y, F[0]), cost / cost.max()
        order = np.argsort(r)
        ranks = np.cumsum(weights[order])
        mean = float(weights @ r) / ranks[-1]
        spread = float(np.sqrt(weights @ (r - mean) ** 2 / ranks[-1]))
        places = np.searchsorted(ranks, np.array([0.25, 0.75]) * ranks[-1])
        low, high = r[order[np.minimum(places, len(r) - 1)]]
        if high > low:  # where half of the residuals equal each other, it is no measure of spread
            spread = min(spread, float(high - low) / NORMAL_SPREAD)
        n = min(MOST_ROWS, len(y) if self.seen is None else self.seen.n_effective)
        share = min(1.0, (edf + np.log(n + 1.0)) / max(n, 1.0))
        # The residuals of rows that the model has not seen would be larger by this factor.
        spread /= max(1.0 - edf / max(n, 1.0), LEAST_LEFT)
        width = np.clip(spread * share**0.4, LEAST_WIDTH * self.unit, FIRST_WIDTH * self.unit)
        return self._of_width(float(width))

    def is_near(self, other: Loss) -> bool:
        """Return whether the width of another loss is nearly the same."""
        assert isinstance(other, SmoothedQuantile)
        return abs(self.width - other.width) <= NEARLY_THE_SAME * self.width

    def parameters(self) -> dict[str, Any]:
        """Return the level and the width."""
        return {"level": self.level, "width": self.width}


def _residuals(y: AnyArray, f: Floats) -> Floats:
    """Return y - f; 0 if they are equal up to rounding.

    Under the pinball loss a rounding error of f costs as much as it is large, and a sum of such
    costs has no smaller gap relative to it, however good the model is.
    """
    r = y - f
    return np.where(np.abs(r) <= ROUNDING * np.abs(y), 0.0, r)
