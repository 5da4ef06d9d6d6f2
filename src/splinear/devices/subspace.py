"""Where a quadratic function in a box is least as long as the same bounds hold.

Coordinate descent soon finds out which numbers are at a bound, and then takes very many sweeps
where rows are much alike. So between sweeps the others are solved for together, of all outputs
at once: a step of Newton's method on what is free, cut off at the bounds, and as long as the
function falls.
"""

from __future__ import annotations

import numpy as np

from splinear.devices.backend import Backend, DeviceArray, diagonals, twice
from splinear.solvers.box import Box

__all__ = ["free_step"]

MOST_FREE = 3072  # rows of an output: beyond that, matrices would take too long
GROWTH = 1e-6  # of a diagonal, as products are in single precision
JOINING = 0.3  # of the largest violation: rows of more leave their bounds in a step
SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # of a step: the farther, the more is cut off


def free_step(
    backend: Backend, K: DeviceArray, box: Box, b: DeviceArray, gradient: DeviceArray
) -> tuple[DeviceArray, DeviceArray]:
    """Return b and the gradient after a step of all that is free, (n_outputs, n_rows) each."""
    low, high, slope = box.low, box.high, gradient
    if box.shrinkage:  # no sign changes
        low, high = np.where(b > 0.0, 0.0, low), np.where(b < 0.0, 0.0, high)
        slope = gradient + box.shrinkage * np.sign(b)
    free, m = _free(box, b, gradient)
    if not 0 < m <= MOST_FREE:
        return b, gradient
    rows = np.argsort((~free).astype(np.int8), axis=1)[:, :m]  # free ones first
    at = (backend.array(np.arange(len(b))[:, None]), rows)
    counts = free[at]
    step = _solved(backend, K, np.where(counts, rows, -1), box.ridge[at], counts * slope[at])
    if not bool(np.isfinite(step).all()):
        return b, gradient
    direction = np.zeros_like(b)
    direction[at] = counts * -step
    return _best_of_path(K, box, b, direction, (low, high), gradient, slope)


def _free(box: Box, b: DeviceArray, gradient: DeviceArray) -> tuple[DeviceArray, int]:
    """Return what is free in every output, and the most of them.

    That is what is at no bound, and what will leave one soonest, unless it is too much.
    """
    free = (b > box.low) & (b < box.high)
    if box.shrinkage:
        free &= b != 0.0
    else:
        violation = box.violation(b, gradient)
        least = np.maximum(JOINING * violation.max(axis=1), np.finfo(float).tiny)
        more = free | (violation > least[:, None])
        if (m := int(more.sum(axis=1).max())) <= MOST_FREE:
            return more, m
    return free, int(free.sum(axis=1).max())


def _best_of_path(
    K: DeviceArray,
    box: Box,
    b: DeviceArray,
    direction: DeviceArray,
    bounds: tuple[DeviceArray, DeviceArray],
    gradient: DeviceArray,
    slope: DeviceArray,
) -> tuple[DeviceArray, DeviceArray]:
    """Go to the best of some points on the way, each cut off at the bounds, or to before it."""
    n_outputs, n = b.shape
    to = np.stack([b + share * direction for share in SHARES])
    moves = np.minimum(np.maximum(to, bounds[0]), bounds[1]) - b  # (n_shares, n_outputs, n)
    follows = (moves.reshape(-1, n).astype(K.dtype) @ K).astype(np.float64).reshape(moves.shape)
    follows += box.ridge * moves
    fall, bend = -(slope * moves).sum(axis=2), (moves * follows).sum(axis=2)
    share = np.where((fall > 0.0) & (bend > 0.0), fall / np.maximum(bend, 1e-300), 0.0)
    share = np.minimum(share, 1.0)
    best = (share * fall - 0.5 * share**2 * bend).argmax(axis=0)
    at = np.arange(n_outputs)
    share = share[best, at][:, None]
    return b + share * moves[best, at], gradient + share * follows[best, at]


def _solved(
    backend: Backend, K: DeviceArray, rows: DeviceArray, ridge: DeviceArray, slope: DeviceArray
) -> DeviceArray:
    """Return the solutions of (K + d) x = slope over rows, -1 being none; not finite: there is none."""
    H = backend.among(K, rows)
    diagonal = diagonals(H)
    diagonal *= 1.0 + GROWTH
    diagonal += ridge
    factors = backend.inverse_factors(H)
    return twice(factors, slope)
