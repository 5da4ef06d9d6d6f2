"""Numbers of lanes, rows and outputs per launch, and the scales of integer sums."""

from __future__ import annotations

from math import ceil

import numpy as np

from splinear._types import Floats
from splinear.objective.gpu.backend import DeviceArray

__all__ = [
    "LANES",
    "NOWHERE",
    "batches",
    "fixed_scale",
    "fixed_scales",
    "lanes_of",
    "padded",
    "rows_at_once",
]

LANES = 32  # lanes of a warp
NOWHERE = np.uint64(0)  # null pointer, for an optional array


def lanes_of(n_features: int) -> int:
    """Return how many lanes of a warp share a row, one feature each; others take other rows."""
    return min(LANES, 1 << max(0, n_features - 1).bit_length())


def padded(n_features: int) -> int:
    """Return the number of features of a row, padded so that warps read whole rows."""
    lanes = lanes_of(n_features)
    return ceil(n_features / lanes) * lanes


def rows_at_once(n_outputs: int) -> int:
    """Return how many rows with n_outputs numbers each a lane holds in registers."""
    return max(1, min(8, 32 // n_outputs))


def batches(n: int, most: int) -> list[slice]:
    """Return slices of range(n) of about equal length, at most `most` each."""
    n_batches = ceil(n / most)
    step = ceil(n / max(n_batches, 1))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def fixed_scale(R: DeviceArray) -> float:
    """Return a power of two such that sums of scale * R over rows fit in 63 bits.

    NaN if a number is not finite.
    """
    (scale,) = fixed_scales(np.array([float(abs(R).max())]), R.shape[-1])
    return float(scale)


def fixed_scales(largest: Floats, n_rows: int) -> Floats:
    """Return powers of two such that scaled sums of n_rows numbers up to `largest` fit in 63 bits.

    NaN where `largest` is not finite, so that the sums are NaN as well.
    """
    _, exponent = np.frexp(largest)
    _, of_rows = np.frexp(float(n_rows))
    scales = np.ldexp(1.0, np.clip(62 - exponent - of_rows, -1022, 1023))
    return np.where(np.isfinite(largest), scales, np.nan)
