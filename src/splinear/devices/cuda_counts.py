"""How many rows and outputs a kernel takes at a time, and how large sums may become."""

from __future__ import annotations

from math import ceil

import numpy as np

from splinear._types import Floats
from splinear.devices.backend import DeviceArray

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

LANES = 32  # of a warp
NOWHERE = np.uint64(0)  # the pointer to no array


def lanes_of(n_features: int) -> int:
    """Return how many lanes of a warp are features; the others take other rows."""
    return min(LANES, 1 << max(0, n_features - 1).bit_length())


def padded(n_features: int) -> int:
    """Return the features of a row, and what is added to them so that warps read whole rows."""
    lanes = lanes_of(n_features)
    return ceil(n_features / lanes) * lanes


def rows_at_once(n_outputs: int) -> int:
    """Return how many rows a warp holds in registers, all outputs of each."""
    return max(1, min(8, 32 // n_outputs))


def batches(n: int, most: int) -> list[slice]:
    """Return slices of about the same length, each of this many at most."""
    n_batches = ceil(n / most)
    step = ceil(n / max(n_batches, 1))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def fixed_scale(R: DeviceArray) -> float:
    """Return a power of two by which sums of each row of R still fit into 63 bits, or NaN."""
    (scale,) = fixed_scales(np.array([float(abs(R).max())]), R.shape[-1])
    return float(scale)


def fixed_scales(largest: Floats, n_rows: int) -> Floats:
    """Return powers of two by which sums of so many numbers, up to `largest`, fit into 63 bits.

    NaN where a number is not finite: so will be the sums.
    """
    _, exponent = np.frexp(largest)
    _, of_rows = np.frexp(float(n_rows))
    scales = np.ldexp(1.0, np.clip(62 - exponent - of_rows, -1022, 1023))
    return np.where(np.isfinite(largest), scales, np.nan)
