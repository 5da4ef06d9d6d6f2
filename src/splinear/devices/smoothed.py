"""Problems in a box with more on the diagonal, solved as those of smooth losses are.

With f = K b the scores, 1/2 b'(K + diag(w)) b - t'b + e |b| in a box is least where every b_i is
what its own score asks for: (t_i - f_i) / w_i, shrunk by e / w_i and cut off at the bounds. That is
the slope of a smooth loss, so Newton's method for these losses finds it in few steps from far away,
where coordinate descent takes very many to find out which rows matter: rows that a score asks
nothing of leave at once, others come. The larger w is, the fewer; and a solution for some w is near
that for a smaller one.
"""

from __future__ import annotations

import numpy as np

from splinear._types import Floats
from splinear.devices.backend import Backend, DeviceArray, asked_for
from splinear.devices.subspace import solved_within
from splinear.solvers.box import Box

__all__ = ["smoothed"]

SHARES = np.linspace(0.0, 1.0, 17)  # of a step, at which slopes are looked at
ENOUGH = 0.01  # of the function: a step that promises less is the last


def smoothed(
    backend: Backend,
    K: DeviceArray,
    box: Box,
    b: DeviceArray,
    gradient: DeviceArray,
    more: float,
    most: int,
) -> tuple[DeviceArray, DeviceArray]:
    """Return b near the solution with `more` on the diagonal, and the gradient without it.

    After at most so many steps, and if b is better than it was. Arrays are (n_outputs, n_rows).
    """
    before, gradient_before = b, gradient
    f, w = gradient + box.targets - box.ridge * b, box.ridge + more
    for _ in range(most):
        direction = _direction(backend, K, box, b, f, w)
        if direction is None:
            break
        moved = _product(direction, K)
        slopes = backend.slopes(box, w, (b, direction), (f, moved), SHARES)
        size = 0.5 * backend.numpy((b * f).sum(axis=1))
        share = backend.array(_least(slopes)[:, None])
        b, f = b + share * direction, f + share * moved
        if np.all(-0.5 * slopes[:, 0] <= ENOUGH * np.maximum(size, 0.0)):
            break
    b = np.minimum(np.maximum(b, box.low), box.high)
    gradient = _product(b, K) + box.ridge * b - box.targets
    better = (_value(box, b, gradient) < _value(box, before, gradient_before))[:, None]
    return np.where(better, b, before), np.where(better, gradient, gradient_before)


def _value(box: Box, b: DeviceArray, gradient: DeviceArray) -> DeviceArray:
    return (0.5 * b * (gradient - box.targets) + box.shrinkage * np.abs(b)).sum(axis=1)


def _direction(
    backend: Backend, K: DeviceArray, box: Box, b: DeviceArray, f: DeviceArray, w: DeviceArray
) -> DeviceArray:
    """Return a step of Newton's method; None if there is none."""
    goal = asked_for(box, f, w)
    free = (goal > box.low) & (goal < box.high)
    if box.shrinkage:
        free &= goal != 0.0
    off = goal - b
    far = np.where(free, 0.0, off)  # these go where they are asked to
    found = solved_within(backend, K, free, w, w * off - _product(far, K))
    return None if found is None else found + far


def _product(b: DeviceArray, K: DeviceArray) -> DeviceArray:
    return (b.astype(K.dtype) @ K).astype(np.float64)


def _least(slopes: Floats) -> Floats:
    """Return where slopes, which ascend, at SHARES cross 0: the share of the step to go."""
    after = np.argmax(slopes > 0.0, axis=1)
    k, before = np.arange(len(slopes)), np.maximum(after - 1, 0)
    low, high = slopes[k, before], slopes[k, after]
    way = np.where(high > low, -low / np.where(high > low, high - low, 1.0), 0.0)
    crossed = SHARES[before] + np.clip(way, 0.0, 1.0) * (SHARES[after] - SHARES[before])
    return np.where(slopes[:, 0] >= 0.0, 0.0, np.where(slopes[:, -1] <= 0.0, 1.0, crossed))
