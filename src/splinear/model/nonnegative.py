"""The nearest vector that obeys inequalities.

Let A v >= 0 be asked for, and let lengths be measured by a matrix M. The nearest vector to v that
obeys has A v = u, where u is the non-negative vector nearest to w = A v by the length of
S = (A M^{-1} A')^{-1}; and it is v + M^{-1} A'm with the multipliers m = S (u - w) >= 0. In every
place u or m is 0. Curves that are held to a form have few places where u is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from splinear._types import Floats

__all__ = ["Metric", "inverted", "nearest"]

ROUNDING = 1e-12  # of the largest number, in units in which the diagonal of S is 1
JITTER = 1e-12  # of the diagonal, where rounding has taken away that S can be factored
MOST_EXCHANGES, PATIENCE = 50, 3


class Metric:
    """S by blocks, for each output: places of rows of A, and the part of S that is theirs.

    Between rows of two blocks S is 0. If there is only one list of blocks, all outputs share it.
    """

    def __init__(self, outputs: Sequence[Sequence[tuple[NDArray[np.intp], Floats]]]) -> None:
        self.outputs = [[(at, *_scaled(S)) for at, S in blocks] for blocks in outputs]

    def nearest(self, w: Floats, guess: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
        """Return u and m for w (n_outputs, n_inequalities); `guess`: where u may be above 0."""
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
    """Return u >= 0 with least (u - w)'S (u - w), and m = S (u - w); the diagonal of S is 1.

    By block principal pivoting: where u is above 0 is guessed, it is 0 in the other places, and all
    places that turn out to be on the wrong side change it, as long as they become fewer.
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
    """Return u with S u = goal in some places, and 0 in the others."""
    u, part = np.zeros_like(goal), S[np.ix_(above, above)]
    try:
        u[above] = cho_solve(
            cho_factor(part, overwrite_a=True, check_finite=False), goal[above], check_finite=False
        )
    except LinAlgError:
        u[above] = np.linalg.lstsq(part, goal[above], rcond=JITTER)[0]
    return u


def _one_by_one(S: Floats, goal: Floats, least: float) -> tuple[Floats, Floats]:
    """Return u and m by the active-set method of Lawson and Hanson: slower, but it always ends.

    From 0 on, the place with the lowest m joins those above 0. Where that would make others
    negative, u goes as far as it can, and the first to become 0 leave. The distance becomes less
    with every place, by goal'u / 2 in all; if not, what is left is rounding.
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
    """Return the inverse of a symmetric matrix, which may be singular but for rounding."""
    Q, scale = _scaled(Q)
    Q[np.diag_indices_from(Q)] += JITTER
    return np.asarray(np.linalg.inv(Q) * scale * scale[:, None])


def _scaled(S: Floats) -> tuple[Floats, Floats]:
    """Return S in units in which its diagonal is 1, and these units."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(S), np.finfo(float).tiny))
    scaled = S * scale
    scaled *= scale[:, None]
    return scaled, scale
