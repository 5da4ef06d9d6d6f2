"""Test of a flat curve or surface: p-values of quadratic forms in normal variables."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from splinear._types import Floats

__all__ = ["p_value", "upper_tail"]

LEAST = 1e-12  # relative to the largest weight; smaller ones are ignored


class Tested(Protocol):
    """The statistics for a test of a flat curve or surface; see CurvePosterior."""

    @property
    def score(self) -> Floats:
        """The negative gradient of the losses at a flat term, in directions of a fixed prior."""
        ...

    @property
    def score_variances(self) -> Floats:
        """The eigenvalues of the score's covariance over phi."""
        ...

    @property
    def noise(self) -> float:
        """The dispersion phi."""
        ...


def p_value(term: Tested, n_left: float) -> float:
    """Return the p-value of the hypothesis that a curve or surface is flat.

    This is a score test of the term's variance. With U the gradient of the losses with respect to
    the term at a flat term, U'K U is compared with its distribution if the term is flat, sum_k
    lambda_k chi^2_1. K is the covariance of a prior that does not depend on the data, unlike the
    chosen one. If the variance of the noise is estimated, `n_left` are its degrees of freedom.
    """
    weights = term.score_variances
    q = float(term.score @ term.score) / term.noise if term.noise > 0 else 0.0
    if not weights.any():
        return 1.0
    if np.isinf(n_left):
        return upper_tail(q, weights, np.ones(len(weights)))
    # q is a ratio: sum_k lambda_k chi^2_1 > q chi^2_n / n.
    weights, counts = np.append(weights, -q / n_left), np.append(np.ones(len(weights)), n_left)
    return upper_tail(0.0, weights, counts)


def upper_tail(q: float, weights: Floats, counts: Floats) -> float:
    """Return P(sum_k weights_k chi^2_{counts_k} > q), by Kuonen's saddlepoint approximation.

    Kuonen, "Saddlepoint approximations for distributions of quadratic forms in normal variables",
    Biometrika 1999.
    """
    there = np.abs(weights) > LEAST * np.abs(weights).max()
    weights, counts = weights[there], counts[there]
    scale = np.abs(weights).max()
    weights, q = weights / scale, q / scale
    mean = float(weights @ counts)
    if q <= 0.0 and (weights > 0).all():
        return 1.0

    def slope(s: float) -> float:  # derivative of the cumulant generating function, minus q
        return float((counts * weights / (1.0 - 2.0 * s * weights)).sum()) - q

    lowest, highest = _range_of(weights, float(counts.sum()), q)
    spread = np.sqrt(2.0 * float(counts @ weights**2))
    if abs(mean - q) < 1e-4 * spread:  # the formula is 0 / 0 here: take the mean of both sides
        beside = 1e-3 * spread
        sides = [upper_tail(q + by, weights, counts) for by in (-beside, beside)]
        return float(np.mean(sides))
    s = float(brentq(slope, lowest, highest, xtol=1e-14, rtol=1e-12))
    cumulant = -0.5 * float((counts * np.log1p(-2.0 * s * weights)).sum())
    second = 2.0 * float((counts * (weights / (1.0 - 2.0 * s * weights)) ** 2).sum())
    w = np.sign(s) * np.sqrt(max(2.0 * (s * q - cumulant), 0.0))
    v = s * np.sqrt(second)
    return float(np.clip(norm.sf(w + np.log(v / w) / w), 0.0, 1.0))


def _range_of(weights: Floats, n: float, q: float) -> tuple[float, float]:
    """Return an interval that contains the saddlepoint."""
    near = 1.0 - 1e-13
    top = float(weights.max())
    highest = near / (2.0 * top) if top > 0 else 1e6
    low = float(weights.min())
    if low < 0:
        return near / (2.0 * low), highest
    # All weights positive: the slope at s < 0 is at most n / (-2 s).
    return -n / (2.0 * max(q, 1e-300)) - 1.0, highest
