"""Projection on linear inequalities: the nearest vector that satisfies A v >= 0.

Let distances be measured by a matrix M. The projection of v is v + M^{-1} A'm, where the slack u =
A v + A M^{-1} A'm is the nonnegative vector nearest to w = A v in the metric S = (A M^{-1}
A')^{-1}, and m = S (u - w) >= 0 are the multipliers. For every inequality, u or m is 0. For
shape-constrained curves, few slacks u are positive.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from splinear._types import Floats

__all__ = ["Metric", "inverted", "nearest"]

ROUNDING = 1e-12  # relative to the largest number, with S scaled to a unit diagonal
JITTER = 1e-12  # relative to the diagonal, if S cannot be factored by rounding
MOST_EXCHANGES, PATIENCE = 50, 3


class Metric:
    """The block-diagonal matrix S of each output: indices of inequalities, and their block.

    If there is only one list of blocks, all outputs share it.
    """

    def __init__(self, outputs: Sequence[Sequence[tuple[NDArray[np.intp], Floats]]]) -> None:
        self.outputs = [[(at, *_scaled(S)) for at, S in blocks] for blocks in outputs]

    def nearest(self, w: Floats, guess: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
        """Return u and m for w (n_outputs, n_inequalities).

        `guess`, of the same shape, marks where u is expected to be positive.
        """
        u, m = w.copy(), np.zeros_like(w)
        for k, own in enumerate(w):
            for places, S, scale in self.outputs[k % len(self.outputs)]:
                if (own[places] < 0.0).any():
                    goal = own[places] / scale
                    above = goal > 0.0 if guess is None else guess[k, places]
                    found, push = nearest(S, goal, above)
                    u[k, places], m[k, places] = found * scale, push / scale
        return u, m


def nearest(S: Floats, w: Floats, above: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return u >= 0 that minimizes (u - w)'S (u - w), and m = S (u - w); S has diagonal 1.

    This is block principal pivoting. Starting from a guess of where u is positive, it solves for u
    there, with u = 0 elsewhere, and then exchanges all entries whose u or m is negative, as long as
    their number decreases. Otherwise the active-set method takes over.
    """
    goal, above = S @ w, above.copy()
    least = -ROUNDING * float(np.abs(goal).max(initial=0.0))
    fewest, patience = len(w) + 1, PATIENCE
    for _ in range(MOST_EXCHANGES):
        u = _solved(S, goal, above)
        m = S @ u - goal
        wrong = np.where(above, u, m) < least
        n_wrong = int(np.count_nonzero(wrong))
        if n_wrong == 0:
            break
        patience = PATIENCE if n_wrong < fewest else patience - 1
        fewest = min(fewest, n_wrong)
        if patience < 0:
            return _one_by_one(S, goal, least)
        above ^= wrong
    u = np.maximum(u, 0.0)
    return u, np.where(u > 0.0, 0.0, np.maximum(m, 0.0))


def _solved(S: Floats, goal: Floats, above: NDArray[np.bool_]) -> Floats:
    """Return u with S u = goal on the entries in `above`, and u = 0 elsewhere."""
    u, part = np.zeros_like(goal), S[np.ix_(above, above)]
    try:
        u[above] = cho_solve(
            cho_factor(part, overwrite_a=True, check_finite=False), goal[above], check_finite=False
        )
    except LinAlgError:
        u[above] = np.linalg.lstsq(part, goal[above], rcond=JITTER)[0]
    return u


def _one_by_one(S: Floats, goal: Floats, least: float) -> tuple[Floats, Floats]:
    """Return u and m by the active-set method of Lawson and Hanson, which always ends.

    Starting from u = 0, the entry with the lowest m joins the positive set. If the solution on this
    set has negative entries, u moves toward it until the first entry becomes 0 and leaves the set.
    Every new entry reduces the distance, by goal'u / 2 in total; if it does not, only rounding
    errors are left.
    """
    u, m, above = np.zeros_like(goal), -goal, np.zeros(len(goal), dtype=bool)
    gained = 0.0
    while (m[~above] < least).any():
        joins = int(np.argmin(np.where(above, 0.0, m)))
        above[joins] = True
        while (to := _solved(S, goal, above))[above].min(initial=0.0) < least:
            falls = np.flatnonzero(above & (to < np.minimum(u, -least)))
            shares = u[falls] / (u[falls] - to[falls])
            u = np.where(above, u + min(1.0, shares.min()) * (to - u), 0.0)
            u[falls[np.argmin(shares)]] = 0.0
            above &= u > 0.0
        u = np.maximum(to, 0.0)
        m = S @ u - goal
        before, gained = gained, float(goal @ u)
        if gained <= before * (1.0 + ROUNDING):
            break
    return u, np.where(above, 0.0, np.maximum(m, 0.0))


def inverted(Q: Floats) -> Floats:
    """Return the inverse of a symmetric matrix that may be singular up to rounding."""
    Q, scale = _scaled(Q)
    Q[np.diag_indices_from(Q)] += JITTER
    return np.asarray(np.linalg.inv(Q) * scale * scale[:, None])


def _scaled(S: Floats) -> tuple[Floats, Floats]:
    """Return S scaled to a unit diagonal, and the scale of each row."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(S), np.finfo(float).tiny))
    scaled = S * scale
    scaled *= scale[:, None]
    return scaled, scale
