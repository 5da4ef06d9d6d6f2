"""Oriented gradients of images: votes, filters, normalization."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.ndimage import gaussian_filter1d

from splinear._types import AnyArray, Input
from splinear.features.parameters import Floats, Pair, check_shape

__all__ = [
    "axis_filters",
    "batches",
    "centered",
    "check_range",
    "flatten",
    "normalized",
    "votes",
]

# The votes of one batch. Small enough for the second-level cache, and for the allocator to hand out
# the same memory again: with larger temporaries, page faults cost more than the arithmetic.
_BATCH_BYTES = 2**19


# Sums of float32 votes over millions of pixels of this size still end below the float32 limit.
_LARGEST_PIXEL = 1e30


def axis_filters(length: int, smoothing: float) -> tuple[Floats, Floats]:
    """Return the matrices S and D S of shape (length, length) for one axis."""
    smooth = np.eye(length)
    if smoothing > 0:
        smooth = gaussian_filter1d(smooth, smoothing, axis=0, mode="nearest")
    padded = np.pad(smooth, ((1, 1), (0, 0)), mode="edge")
    slope = (padded[2:] - padded[:-2]) / 2
    return smooth.astype(np.float32), slope.astype(np.float32)


def votes(gx: Floats, gy: Floats, n_orientations: int, signed: bool) -> Floats:
    """Share gradient magnitudes between the two nearest orientation bins.

    Parameters
    ----------
    gx, gy : ndarray of shape (n, h, w)
        Gradients.
    n_orientations : int
        Number of bins.
    signed : bool
        Whether the bins cover 360 or 180 degrees.

    Returns
    -------
    votes : ndarray of shape (n, h, w, n_orientations)
    """
    half_turn = n_orientations / 2 if signed else n_orientations
    position = (np.arctan2(gy, gx) * np.float32(half_turn / np.pi)).ravel()
    lower = np.floor(position)
    magnitude = np.hypot(gx, gy).ravel()
    to_upper = magnitude * (position - lower)
    # Positions lie between -n and n, ends included, so one correction each way closes the circle.
    bins = lower.astype(np.intp)
    bins[bins < 0] += n_orientations
    bins[bins >= n_orientations] -= n_orientations
    first_bins = np.arange(bins.size) * n_orientations
    votes = np.zeros(bins.size * n_orientations, dtype=np.float32)
    votes[first_bins + bins] = magnitude - to_upper
    bins += 1
    bins[bins == n_orientations] = 0
    # Added, not assigned: with a single bin both neighbors are the same one.
    votes[first_bins + bins] += to_upper
    return votes.reshape(*gx.shape, n_orientations)


def normalized(level: Floats, norm: str | None) -> Floats:
    """Divide each row of a level (n, d) by its norm; rows of zeros stay."""
    if norm is None:
        return level
    # Divided by the largest value first, squares can neither overflow nor vanish.
    peak = level.max(axis=1, keepdims=True)
    peak[peak == 0] = 1
    level = level / peak
    if norm == "l1":
        size = level.sum(axis=1, keepdims=True)
    else:
        size = np.sqrt(np.einsum("ij,ij->i", level, level))[:, None]
    size[size == 0] = 1
    level /= size
    return level


def batches(n_images: int, bytes_per_image: int) -> Iterator[slice]:
    """Cut the rows into slices whose votes fill `_BATCH_BYTES`, at least one image each."""
    step = max(1, _BATCH_BYTES // bytes_per_image)
    for start in range(0, n_images, step):
        yield slice(start, start + step)


def centered(rows: AnyArray, shape: Pair) -> Floats:
    """Return images (n, h, w) in float32, less the value of their first pixel.

    Gradients do not see the shift, but rounding does: without it a constant image would get tiny
    gradients, which the normalization would then blow up.
    """
    dtype = np.result_type(rows.dtype, np.float32)
    shifted: Floats = np.subtract(rows, rows[:, :1], dtype=dtype).astype(np.float32, copy=False)
    return shifted.reshape(-1, *shape)


def flatten(X: Input, expected: Pair | None) -> tuple[Input, Pair]:
    """Return a table with one image per row, and the shape of the images.

    Tables are handed through unchanged, so that column names and unusual types are dealt with by
    scikit-learn's own checks.
    """
    if not hasattr(X, "ndim"):
        X = np.asarray(X)
    if X.ndim == 3:
        shape = check_shape(X.shape[1:], "X.shape[1:]")
        if expected is not None and shape != expected:
            raise ValueError(f"X has images of shape {shape}, but image_shape is {expected}.")
        return np.asarray(X).reshape(X.shape[0], shape[0] * shape[1]), shape
    if X.ndim != 2:
        raise ValueError(
            "X must be images of shape (n_samples, h, w) or a table of shape (n_samples, h * w); "
            f"got {X.ndim} dimension(s)."
        )
    if expected is None:
        raise ValueError(
            f"X is a table of shape {X.shape}: set image_shape=(h, w) so that its rows can be read "
            "as images, or pass an array of shape (n_samples, h, w)."
        )
    if X.shape[1] != expected[0] * expected[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but image_shape {expected} makes "
            f"{expected[0] * expected[1]}."
        )
    return X, expected


def check_range(table: AnyArray) -> None:
    """Refuse pixels whose gradients would not fit into float32."""
    largest = max(float(table.max()), -float(table.min()))
    if largest > _LARGEST_PIXEL:
        raise ValueError(
            f"X must hold values between -{_LARGEST_PIXEL:g} and {_LARGEST_PIXEL:g}; "
            f"found one of magnitude {largest:g}."
        )
