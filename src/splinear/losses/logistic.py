"""The logistic loss: log-odds of two classes, or of each of several labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.losses.base import Link
from splinear.losses.classes import ClassLoss
from splinear.losses.margin import T
from splinear.losses.sides import SideLoss
from splinear.losses.softmax import Softmax
from splinear.tables.device import special_functions

__all__ = ["Logistic", "divergence"]

SIGNS = np.array([-1.0, 1.0])  # sign of the score for the first and second class


@dataclass(frozen=True, eq=False)
class Logistic(SideLoss):
    """log(1 + exp(-m)); its dual variable lies in [0, c].

    Of several classes that exclude each other, it becomes `Softmax`.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import Logistic
    >>> Logistic().value(np.array([1, -1]), np.array([2.0, 2.0])).round(3)
    array([0.127, 2.127])
    """

    name = "logistic"
    link: ClassVar[Link | None] = "logistic"
    likelihood = True

    def of_classes(self, classes: AnyArray, *, has_labels: bool) -> ClassLoss:
        """Return the loss of these classes or labels."""
        if has_labels or len(classes) == 2:
            return Logistic(classes, has_labels)
        return Softmax(classes)

    def of_margin(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.logaddexp(0.0, -m)

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives, using one exponential."""
        rare = _expit(-np.abs(m))  # the smaller probability, to full precision
        often = 1.0 - rare
        return -np.where(m > 0.0, rare, often), rare * often

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return c times the entropy of alpha / c."""
        share, entr = np.clip(alpha / cost, 0.0, 1.0), special_functions(alpha).entr
        dual: Floats = cost * (entr(share) + entr(1.0 - share))
        return dual

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[0, c]."""
        return 0.0, cost

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate: the root of the dual's slope."""

        def slope(u: float) -> float:  # in u = log((c - alpha) / alpha)
            return float(u - m - curvature * (cost * _expit(-u) - alpha))

        low, high = m - curvature * alpha, m + curvature * (cost - alpha)
        return float(cost * _expit(-brentq(slope, low - 1e-9, high + 1e-9, xtol=1e-14)))

    def dual_gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return c times the relative entropy of alpha / c to the probability at m.

        It is the sum of two nonnegative parts, p log(p / q) - p + q and the same for 1 - p and 1 -
        q.
        """
        share = np.clip(alpha / cost, 0.0, 1.0)
        off = share - _expit(-m)
        return cost * (divergence(share, off, m) + divergence(1.0 - share, -off, -m))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of both classes, or of every label, (n_rows, n_classes)."""
        if self.task == "binary":
            scores = scores * np.asarray(SIGNS, like=scores)
        found: Floats = _expit(scores)
        return found

    def score_name(self, target: str) -> str:
        """Return the name of what the score is, given the name of a class."""
        return f"log-odds of {target}"

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.logistic()


def _expit(m: Any) -> Any:
    return special_functions(m).expit(m)


def divergence(p: Floats, off: Floats, m: Floats) -> Floats:
    """Return p log(p / q) - off for q = p - off = expit(-m), by a series if terms would cancel."""
    q = _expit(-m)
    t = off / np.maximum(q, np.finfo(float).tiny)
    small = np.abs(t) < 1e-3
    t = np.where(small, t, 0.0)
    series = q * t**2 * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0)))
    entropy = special_functions(p).entr(p)
    plain = np.maximum(0.0, p * np.logaddexp(0.0, m) - entropy - off)
    found: Floats = np.where(small, series, plain)
    return found
