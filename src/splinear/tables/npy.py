"""Arrays in .npy files."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Literal

import numpy as np

from splinear._types import AnyArray, Input
from splinear.tables.chunks import Chunk, float_type
from splinear.tables.dense import ArrayTable
from splinear.tables.files import checked_paths, ending, is_path, listed
from splinear.tables.table import ColumnNumbers, Table

__all__ = ["NpyFiles", "are_npy", "open_npy"]

# NumPy evaluates a header as a Python literal, which may fail in any of these ways.
HEADER_ERRORS = (
    ValueError,
    EOFError,
    TypeError,
    OverflowError,
    SyntaxError,
    TokenError,
    RecursionError,
    MemoryError,
)


class NpyFiles(Table):
    """The rows of one or several .npy files, one after the other.

    Parameters
    ----------
    paths : path or sequence of paths
        Files of two-dimensional arrays of numbers, with the same columns and of the same type.
    """

    is_on_disk = True

    def __init__(self, paths: Input) -> None:
        self.paths = checked_paths(paths)
        first, n_rows = self.paths[0], 0
        for path in self.paths:
            array = open_npy(path)
            if array.ndim != 2 or array.dtype.kind not in "fiub":
                raise ValueError(
                    f"{path} holds an array of shape {array.shape} and type {array.dtype}; a table "
                    "of numbers was expected, with two dimensions."
                )
            if path == first:
                width, kind = array.shape[1], array.dtype
            if (array.shape[1], array.dtype) != (width, kind):
                raise ValueError(
                    f"{path} has {array.shape[1]} columns of type {array.dtype}; {first} has "
                    f"{width} of type {kind}. All files must be alike."
                )
            n_rows += len(array)
        self._shape, self._dtype = (n_rows, width), float_type(kind)

    def __str__(self) -> str:
        return listed(self.paths)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return self._dtype

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values, in order."""
        start = 0
        for path in self.paths:
            for _, piece in ArrayTable(open_npy(path)).chunks(columns):
                yield slice(start, start + len(piece)), piece
                start += len(piece)

    def target(self, y: Input) -> Input:
        """Return the target: y itself, or the content of the .npy files that it names."""
        if y is None or not are_npy(y):
            return y
        paths = checked_paths(y)
        parts = [open_npy(path) for path in paths]
        for path, part in zip(paths, parts, strict=True):
            if part.ndim != parts[0].ndim or part.dtype != parts[0].dtype:
                raise ValueError(
                    f"{path} holds an array of {part.ndim} dimensions and type {part.dtype}; the "
                    f"files of y before it hold {parts[0].ndim} and {parts[0].dtype}."
                )
        return np.concatenate(parts)


def are_npy(value: Input) -> bool:
    """Return whether the value is the name of a .npy file, or a list of such names."""
    if is_path(value):
        return ending(value) == ".npy"
    several = isinstance(value, (list, tuple)) and len(value) > 0
    return several and all(is_path(path) and ending(path) == ".npy" for path in value)


def open_npy(path: Path) -> AnyArray:
    """Return a .npy file as a memory map; raise if it is damaged."""
    shape, by_column, dtype, start = _read_header(path)
    if dtype.hasobject or dtype.itemsize == 0:
        what = "Python objects" if dtype.hasobject else f"values of the type {dtype}"
        raise ValueError(f"{path} holds {what}; numbers were expected.")
    found, expected = path.stat().st_size, start + math.prod(shape) * dtype.itemsize
    if found < expected:
        raise ValueError(
            f"{path} is truncated: it has {found:,} bytes, and its header announces {expected:,}."
        )
    if 0 in shape:
        return np.empty(shape, dtype)
    order: Literal["F", "C"] = "F" if by_column else "C"
    return np.memmap(path, dtype, "r", start, shape, order)


def _read_header(path: Path) -> tuple[tuple[int, ...], bool, np.dtype[np.generic], int]:
    """Return the shape, whether it is in Fortran order, the type, and where values begin."""
    with path.open("rb") as file:
        try:
            is_first = np.lib.format.read_magic(file) == (1, 0)
            read = (
                np.lib.format.read_array_header_1_0
                if is_first
                else np.lib.format.read_array_header_2_0
            )
            shape, by_column, dtype = read(file)
        except HEADER_ERRORS as error:
            raise ValueError(f"{path} is not a whole .npy file: {error}") from error
        start = file.tell()
    if not all(type(n) is int and 0 <= n <= sys.maxsize for n in shape):
        raise ValueError(f"{path} is not a whole .npy file: its header has the shape {shape}.")
    return shape, by_column, dtype, start
