"""Reading a table as the core takes it: in pieces, as floats, copied only where it must be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from splinear._types import AnyArray

__all__ = ["as_floats", "float_chunks"]

# Values per piece of X that is read at a time, so that Ctrl-C is heard; fewer where a piece is
# copied because its type must be converted, so that the copy stays small.
_PIECE = 2**24
_COPIED_PIECE = 2**20


def as_floats(X: AnyArray) -> AnyArray:
    """Give X as the core reads it: float32 and float64 as they are, other types as float64."""
    native = X.dtype.newbyteorder("=")
    wanted = native if native in (np.float32, np.float64) else np.dtype(np.float64)
    return X if X.dtype == wanted and X.flags.aligned else X.astype(wanted)


def float_chunks(X: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
    """Give X in pieces of rows, as the core reads them."""
    size = _PIECE if X.dtype in (np.float32, np.float64) else _COPIED_PIECE
    rows = max(1, size // max(1, X.shape[1]))
    for start in range(0, len(X), rows):
        piece = as_floats(X[start : start + rows])
        yield slice(start, start + len(piece)), piece
