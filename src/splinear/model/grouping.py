"""Grouping of features, for example by their number of coefficients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray

__all__ = ["size_class", "split_by"]

# Upper ends of the size classes. The core pads tables to a multiple of 16 entries, so terms of one
# class cost the same.
CLASSES = np.array([15, 31, 47, 63, *(2**k - 1 for k in range(7, 32))])


def split_by(keys: AnyArray) -> list[NDArray[np.intp]]:
    """Return the indices of each set of equal rows of keys (n, n_keys), by first occurrence."""
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return [np.flatnonzero(inverse.ravel() == k) for k in np.argsort(first)]


def size_class(sizes: AnyArray) -> NDArray[np.intp]:
    """Return the class of each number of coefficients; terms of one class form a group."""
    return np.searchsorted(CLASSES, sizes)
