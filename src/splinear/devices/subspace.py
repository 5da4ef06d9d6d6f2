"""Newton steps of the free variables of box-constrained problems, those at no bound.

Coordinate descent soon finds which variables are at a bound, but if rows are similar, it then takes
very many sweeps. So between sweeps all free variables are solved for jointly, for all outputs at
once: a Newton step, clipped at the bounds, and only as long as the objective falls.
"""

from __future__ import annotations

import numpy as np

from splinear.devices.backend import Backend, DeviceArray, diagonals
from splinear.solvers.hinge.box import Box

__all__ = ["free_step", "solved_within"]

MOST_FREE = 4096  # free rows per output; factoring larger matrices would take too long
GROWTH = 2e-6  # share added to diagonals, because inner products are in single precision
SHARES = 0.5 ** np.arange(6)  # step lengths to try: of a longer step, more is clipped


def free_step(
    backend: Backend, K: DeviceArray, box: Box, b: DeviceArray, gradient: DeviceArray
) -> tuple[DeviceArray, DeviceArray]:
    """Return b and the gradient after a step of the free variables, (n_outputs, n_rows) each."""
    free = (b > box.low) & (b < box.high)
    low, high, slope = box.low, box.high, gradient
    if box.shrinkage:  # no sign changes
        free &= b != 0.0
        low, high = np.where(b > 0.0, 0.0, low), np.where(b < 0.0, 0.0, high)
        slope = gradient + box.shrinkage * np.sign(b)
    direction = solved_within(backend, K, free, box.ridge, -slope)
    if direction is None:
        return b, gradient
    return _best_of_path(backend, K, box, b, direction, (low, high), gradient, slope)


def solved_within(
    backend: Backend, K: DeviceArray, free: DeviceArray, more: DeviceArray, right: DeviceArray
) -> DeviceArray:
    """Solve (K + diag(more)) x = right over the free rows of every output; x is 0 elsewhere.

    Arrays are (n_outputs, n_rows). Returns None if no row is free, too many are, or a matrix is not
    positive definite.
    """
    m = int(free.sum(axis=1).max())
    if not 0 < m <= MOST_FREE:
        return None
    rows = np.argsort((~free).astype(np.int8), axis=1)[:, :m]  # free rows first
    at = (backend.array(np.arange(len(free))[:, None]), rows)
    counts = free[at]
    for type_ in (K.dtype, np.dtype(np.float64)):
        H = _among(K, rows, counts).astype(type_, copy=False)
        x = _solved(backend, H, counts.sum(axis=1), more[at], counts * right[at])
        if x is not None:
            out = np.zeros_like(right)
            out[at] = counts * x
            return out
    return None


def _among(K: DeviceArray, rows: DeviceArray, counts: DeviceArray) -> DeviceArray:
    """Return K over rows (n_outputs, m), as (n_outputs, m, m).

    Where `counts` is false, rows and columns are those of the identity matrix.
    """
    both = counts[:, :, None] & counts[:, None, :]
    H = np.where(both, K[rows[:, :, None], rows[:, None, :]], K.dtype.type(0.0))
    diagonal = diagonals(H)
    diagonal[~counts] = 1.0
    return H


def _solved(
    backend: Backend, H: DeviceArray, sizes: DeviceArray, more: DeviceArray, right: DeviceArray
) -> DeviceArray:
    """Return the solutions (n_outputs, m), or None if H's precision is too low; overwrites H."""
    diagonal = diagonals(H)
    diagonal *= 1.0 + GROWTH
    diagonal += more.astype(H.dtype, copy=False)
    right = right.astype(H.dtype, copy=False)
    x = backend.twice(backend.inverse_factors(H, sizes), right).astype(np.float64)
    return x if bool(np.isfinite(x).all()) else None


def _best_of_path(
    backend: Backend,
    K: DeviceArray,
    box: Box,
    b: DeviceArray,
    direction: DeviceArray,
    bounds: tuple[DeviceArray, DeviceArray],
    gradient: DeviceArray,
    slope: DeviceArray,
) -> tuple[DeviceArray, DeviceArray]:
    """Return b and the gradient after the best of several step lengths.

    Each step is clipped at the bounds, then shortened to where the objective is lowest along it.
    """
    n_outputs, n = b.shape
    to = b + backend.array(SHARES[:, None, None]) * direction
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
