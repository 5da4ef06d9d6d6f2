"""Arrays in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray, Floats, Input
from splinear.tables import table as sizes
from splinear.tables.chunks import Chunk, float_type
from splinear.tables.table import ColumnNumbers, Table

__all__ = [
    "DeviceTable",
    "is_on_device",
    "on_host",
    "special_functions",
    "taken",
    "to_cupy",
    "to_cupy_like",
]

ON_GPU = 2  # DLPack's device type of CUDA
AT_ONCE = 4096  # parts of the rows that are reduced in parallel


def is_on_device(X: object) -> bool:
    """Return whether X is an array in the memory of a GPU, of CuPy or any with DLPack."""
    if hasattr(X, "__cuda_array_interface__"):
        return True
    where = getattr(X, "__dlpack_device__", None)
    if where is None or isinstance(X, np.ndarray):
        return False
    try:
        return int(where()[0]) == ON_GPU
    except (TypeError, ValueError, NotImplementedError, BufferError):  # for example Arrow's text
        return False


def to_cupy(X: Any) -> Any:
    """Return an array in the memory of a GPU as a CuPy array, without a copy."""
    try:
        import cupy
    except ImportError as error:
        raise ImportError(
            "X lies on a GPU, which is read by CuPy: pip install 'splinear[cuda]'."
        ) from error
    if isinstance(X, cupy.ndarray):
        return X
    return cupy.asarray(X) if hasattr(X, "__cuda_array_interface__") else cupy.from_dlpack(X)


def on_host(values: Input) -> Input:
    """Return an array on a GPU as a NumPy array, and anything else unchanged."""
    return to_cupy(values).get() if is_on_device(values) else values


def to_cupy_like(found: Floats, X: Input) -> Floats:
    """Return a NumPy array as a CuPy array if X is on a GPU."""
    there: Floats = _like(to_cupy(X), found) if is_on_device(X) else found
    return there


def taken(values: AnyArray, index: AnyArray) -> AnyArray:
    """Return values[index] on the device of `index`, or on the host if values are text."""
    if not is_on_device(index):
        found: AnyArray = values[index]
    elif values.dtype.kind in "fiub":
        found = _like(index, values)[index]
    else:
        found = values[_numpy(index)]
    return found


def special_functions(values: AnyArray) -> ModuleType:
    """Return `scipy.special`, or CuPy's version of it if the values are on a GPU."""
    return import_module("cupyx.scipy.special" if is_on_device(values) else "scipy.special")


class DeviceTable(Table):
    """A two-dimensional array of numbers in the memory of a GPU.

    Parameters
    ----------
    on_device : array of shape (n_rows, n_columns)
        A CuPy array.
    """

    is_numeric = True

    def __init__(self, on_device: Any) -> None:
        if on_device.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {on_device.ndim}D array instead: X must have rows and "
                "columns."
            )
        if on_device.dtype.kind not in "fiub":
            raise ValueError(f"X must hold numbers, and is of type {on_device.dtype}.")
        self.on_device = on_device

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return int(self.on_device.shape[0]), int(self.on_device.shape[1])

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return float_type(np.dtype(self.on_device.dtype))

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values, copied to the host, in order."""
        step = self.rows_of(sizes.READ_AT_ONCE)
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            piece = self.on_device[rows]
            yield rows, self._here(piece if columns is None else piece[:, list(columns)])

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows of some columns, or of all."""
        X = self.on_device
        if columns is None:
            return self._here(X[_like(X, rows)])
        at = (_like(X, own) for own in np.ix_(rows, np.asarray(columns, dtype=np.intp)))
        return self._here(X[tuple(at)])

    def sorted_columns(
        self, rows: NDArray[np.integer], columns: ColumnNumbers, n_threads: int = 1
    ) -> AnyArray:
        """Return some columns of some rows, (n_columns, n_rows), each sorted ascending."""
        del n_threads
        X = self.on_device
        at = (_like(X, own) for own in np.ix_(np.asarray(columns, dtype=np.intp), rows))
        some = X[tuple(at)[::-1]]
        return np.ascontiguousarray(self._here(np.sort(some, axis=1)))

    def ends(
        self, kept: AnyArray | None, n_threads: int = 1
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the lowest and highest value of every column, and whether it has NaN."""
        del n_threads
        X = self.on_device
        if kept is not None:
            X = X[_like(X, np.flatnonzero(kept))]
        lo, hi = (_numpy(_along(X, end)).astype(np.float64) for end in (np.min, np.max))
        has_gap = np.isnan(lo)
        if has_gap.any():
            some = X[:, _like(X, np.flatnonzero(has_gap))]
            lo[has_gap], hi[has_gap] = (_numpy(end(some, axis=0)) for end in (np.nanmin, np.nanmax))
        return lo, hi, has_gap

    def _here(self, piece: Any) -> AnyArray:
        return _numpy(piece).astype(self.dtype, copy=False)


def _along(X: Any, end: Callable[..., Any]) -> Any:
    """Return the minimum or maximum of each column, computed for many parts of rows first."""
    n = len(X) // AT_ONCE * AT_ONCE
    if not n or not X.flags.c_contiguous:
        return end(X, axis=0)
    parts = end(X[:n].reshape(AT_ONCE, -1, X.shape[1]), axis=1)
    return end(np.concatenate([parts, X[n:]]), axis=0)


def _like(X: Any, values: AnyArray) -> Any:
    """Return a NumPy array on the device of X."""
    return np.asarray(values, like=X)


def _numpy(array: Any) -> AnyArray:
    found: AnyArray = array.get() if hasattr(array, "get") else np.asarray(array)
    return found
