"""Cholesky factors of several matrices at once, inverted, by products of halves.

With H = [[A, B'], [B, C]] and A = K K', the factor of H has K and M = B K^{-T} below it, and beside
that the factor N of what is left, C - M M'. Its inverse has K^{-1}, N^{-1} and -N^{-1} M K^{-1}. So
a matrix takes those of its halves and four products; and a GPU that would be idle most of the time
while it factors one matrix multiplies those of all outputs at once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from splinear.devices.backend import DeviceArray

__all__ = ["LEAF", "inverse_by_halves"]

LEAF = 64  # rows of a matrix that is not divided

Leaf = Callable[[DeviceArray], DeviceArray]


def inverse_by_halves(H: DeviceArray, leaf: Leaf) -> DeviceArray:
    """Return L^{-1} of matrices H = L L', (n, m, m), given what does so up to LEAF rows.

    Where `leaf` finds no such L its answer is not finite, and so is that of the whole.
    """
    m = H.shape[1]
    if m <= LEAF:
        return leaf(H)
    half = LEAF * ((ceil(m / LEAF) + 1) // 2)
    first = inverse_by_halves(H[:, :half, :half].copy(), leaf)
    below = H[:, half:, :half].copy() @ _transposed(first)
    last = inverse_by_halves(H[:, half:, half:] - below @ _transposed(below), leaf)
    out = np.zeros_like(H)
    out[:, :half, :half] = first
    out[:, half:, half:] = last
    out[:, half:, :half] = -(last @ (below @ first))
    return out


def _transposed(A: DeviceArray) -> DeviceArray:
    return np.swapaxes(A, 1, 2)
