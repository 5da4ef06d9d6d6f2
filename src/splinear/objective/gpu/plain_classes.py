"""Softmax computations of backends, for NumPy and CuPy arrays and any number of classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from splinear._types import Floats
from splinear.objective.gpu.backend import LEAST_COST, DeviceArray
from splinear.objective.loss_sums import FARTHEST, LAST_SHIFT, MAX_SHIFTS

__all__ = [
    "bent_classes",
    "bent_diagonals",
    "diverging_classes",
    "raised_costs",
    "shifted_classes",
    "soft_classes",
    "summed_moments",
]


def _log_softmax(F: DeviceArray) -> DeviceArray:
    """Return the log-softmax of F (n_outputs, n_rows)."""
    shifted = F - F.max(axis=0)
    return shifted - np.log(np.exp(shifted).sum(axis=0))


def summed_moments(F: DeviceArray, shift: DeviceArray, cost: DeviceArray) -> DeviceArray:
    """Compute :meth:`Backend.class_moments`."""
    p = np.exp(_log_softmax(F + shift[:, None]))
    return (cost * p) @ np.concatenate([p, np.ones_like(p[:1])]).T


def shifted_classes(moments: Callable[[Floats], Floats], of_classes: Floats) -> Floats:
    """Compute :meth:`Backend.class_shift`, given a function that returns moments at a shift."""
    K = len(of_classes)
    shift = np.zeros(K)
    for _ in range(MAX_SHIFTS):
        both = moments(shift)
        slope, H = both[:, -1] - of_classes, np.diag(both[:, -1]) - both[:, :-1]
        # Makes H invertible: a constant common to all classes has no effect, and is kept at 0.
        H += np.trace(H) / K**2 + np.finfo(float).tiny
        step = np.clip(-_solution(H, slope), -1.0, 1.0)
        step -= step.mean()
        shift += step
        if np.abs(step).max() <= LAST_SHIFT or np.abs(shift).max() > FARTHEST:
            break
    return shift


def _solution(H: Floats, slope: Floats) -> Floats:
    """Return the solution x of H x = slope, in the least-squares sense if H is singular."""
    try:
        found = np.linalg.solve(H, slope)
    except np.linalg.LinAlgError:
        found = np.full_like(slope, np.nan)
    if not np.isfinite(found).all():
        found = np.linalg.lstsq(H, slope, rcond=None)[0]
    return found.astype(np.float64)


def soft_classes(
    F: DeviceArray, labels: DeviceArray, numbers: DeviceArray, minus: bool
) -> tuple[DeviceArray, DeviceArray]:
    """Compute :meth:`Backend.classes`; `numbers` are the indices of all rows."""
    logs = _log_softmax(F)
    p, own = np.exp(logs), logs[labels, numbers]
    if minus:
        p[labels, numbers] -= 1.0
    return p, own


def bent_classes(
    p: DeviceArray, cost: DeviceArray, V: DeviceArray, extra: DeviceArray | None
) -> DeviceArray:
    """Compute :meth:`Backend.class_bends`."""
    out = cost * p * (V - (p * V).sum(axis=0))
    if extra is not None:
        out += extra * V
    return out.astype(V.dtype, copy=False)


def bent_diagonals(p: DeviceArray, cost: DeviceArray, extra: DeviceArray | None) -> DeviceArray:
    """Compute :meth:`Backend.class_diagonals`."""
    out = cost * p * (1.0 - p)
    return out if extra is None else out + extra


def raised_costs(p: DeviceArray, own: DeviceArray, cost: DeviceArray) -> DeviceArray:
    """Compute :meth:`Backend.cautious_costs`."""
    own = np.minimum(own, -1e-9)
    m = own - np.log1p(-np.exp(own))  # log-odds of the label against all other classes
    far = np.minimum(m, -1.0)
    bound = np.tanh(far / 2.0) / (2.0 * far)
    most = np.maximum((p * (1.0 - p)).max(axis=0), 1e-12)
    return np.where(m < -1.0, cost * np.maximum(1.0, bound / most), cost)


def diverging_classes(
    F: DeviceArray,
    R: DeviceArray,
    labels: DeviceArray,
    numbers: DeviceArray,
    cost: DeviceArray,
    rounding: float,
) -> float:
    """Compute :meth:`Backend.class_divergence`; `numbers` are the indices of all rows."""
    q = R / np.maximum(cost, LEAST_COST)
    q[labels, numbers] += 1.0
    off = abs(q.sum(axis=0) - 1.0)
    if not (float(q.min()) >= -rounding and float(off.max()) <= rounding):
        return np.inf
    q = np.maximum(q, 0.0)
    logs = np.log(np.maximum(q, np.finfo(float).tiny))
    return float(cost @ (q * (logs - _log_softmax(F))).sum(axis=0))
