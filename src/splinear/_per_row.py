"""Operations on arrays with one column per row of X, on threads if they are NumPy arrays."""

from __future__ import annotations

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats

__all__ = ["lifted", "moved", "raised", "taken", "totals"]


def lifted(F: Floats, levels: Floats, n_threads: int) -> Floats:
    """Add levels (n_outputs,) to F (n_outputs, n_rows) in place, and return F."""
    if _is_here(F) and F.flags.c_contiguous:
        _core.add_levels(F, levels, n_threads)
    else:
        F += levels[:, None]
    return F


def totals(R: Floats, n_threads: int) -> Floats:
    """Return the sums of R (n_outputs, n_rows) over rows, (n_outputs,)."""
    if _is_here(R) and R.flags.c_contiguous:
        found: Floats = _core.row_sums(R, n_threads)
        return found
    total: Floats = R.sum(axis=1)
    return total


def moved(F: Floats, D: Floats, share: float, n_threads: int) -> Floats:
    """Return F + share * D, both (n_outputs, n_rows)."""
    if _is_here(F) and _is_here(D):
        there: Floats = _core.moved_scores(
            np.ascontiguousarray(F), np.ascontiguousarray(D), share, n_threads
        )
        return there
    return F + (D if share == 1.0 else share * D)


def raised(H: Floats, extra: Floats, n_threads: int) -> Floats:
    """Return H (n_outputs, n_rows) + extra (n_rows,)."""
    if _is_here(extra) and len(H) == 1:
        return moved(H, extra[None], 1.0, n_threads)
    return H + extra


def taken(H: Floats, numbers: AnyArray, n_threads: int) -> Floats:
    """Return the columns of H (n_outputs, n_rows) for the rows at these indices."""
    if _is_here(H) and H.flags.c_contiguous:
        some: Floats = _core.take_rows(H, numbers.astype(np.int64, copy=False), n_threads)
        return some
    return np.take(H, numbers, axis=1)


def _is_here(F: Floats) -> bool:
    return isinstance(F, np.ndarray)
