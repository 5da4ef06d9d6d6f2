"""The parameters of a pyramid, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from splinear._lookup import is_whole

__all__ = [
    "Extent",
    "Floats",
    "Grid",
    "Level",
    "Pair",
    "as_extent",
    "check_cells",
    "check_level",
    "check_scalars",
    "check_shape",
]

Floats: TypeAlias = npt.NDArray[np.float32]
Pair: TypeAlias = tuple[int, int]
Extent: TypeAlias = int | Pair
Level: TypeAlias = tuple[Extent, Extent] | Literal["image"]


@dataclass(frozen=True)
class Grid:
    """Cells of `size` pixels every `stride` pixels, both as (rows, columns)."""

    size: Pair
    stride: Pair

    def shape(self, image_shape: Pair) -> Pair:
        """Count the cells along each axis: (length - size) // stride + 1."""
        rows, columns = (
            (length - size) // stride + 1
            for length, size, stride in zip(image_shape, self.size, self.stride, strict=True)
        )
        return rows, columns

    def membership(self, axis: int, length: int) -> Floats:
        """Return A of shape (n_cells, length): A[c, p] = 1 if pixel p lies in cell c, else 0."""
        starts = np.arange(0, length - self.size[axis] + 1, self.stride[axis])[:, None]
        pixels = np.arange(length)
        return ((pixels >= starts) & (pixels < starts + self.size[axis])).astype(np.float32)


def check_scalars(n_orientations: object, signed: object, smoothing: object, norm: object) -> None:
    """Check the parameters that do not depend on the images."""
    if not _is_positive_int(n_orientations):
        raise ValueError(
            f"n_orientations must be an integer of at least 1; got {n_orientations!r}."
        )
    if not isinstance(signed, bool | np.bool_):
        raise ValueError(f"signed must be True or False; got {signed!r}.")
    is_number = isinstance(smoothing, Real) and not isinstance(smoothing, bool)
    if not (is_number and 0 <= smoothing < np.inf):  # type: ignore[operator]
        raise ValueError(f"smoothing must be a finite number of at least 0; got {smoothing!r}.")
    if norm is not None and norm not in ("l1", "l2"):
        raise ValueError(f"norm must be 'l1', 'l2' or None; got {norm!r}.")


def check_shape(shape: object, name: str = "image_shape") -> Pair:
    """Return (h, w) as two positive integers."""
    extent = as_extent(shape) if _is_pair(shape) else None
    if extent is None:
        raise ValueError(f"{name} must be a pair (h, w) of positive integers; got {shape!r}.")
    return extent


def check_cells(cells: object, image_shape: Pair) -> list[Grid]:
    """Return one grid per level, each with at least one cell."""
    if isinstance(cells, str) or not isinstance(cells, Sequence | np.ndarray) or len(cells) == 0:
        raise ValueError(
            f"cells must be a sequence of at least one level, (size, stride) or 'image'; "
            f"got {cells!r}."
        )
    return [check_level(level, index, image_shape) for index, level in enumerate(cells)]


def check_level(level: object, index: int, image_shape: Pair) -> Grid:
    """Return the cells of one level, or say why there are none."""
    if isinstance(level, str) and level == "image":
        return Grid(size=image_shape, stride=image_shape)
    size, stride = map(as_extent, level) if _is_pair(level) else (None, None)
    if size is None or stride is None:
        raise ValueError(
            f"cells[{index}] must be 'image' or a pair (size, stride), each a positive integer or "
            f"a pair (rows, columns) of them; got {level!r}."
        )
    if size[0] > image_shape[0] or size[1] > image_shape[1]:
        raise ValueError(
            f"cells[{index}] has cells of {size[0]} x {size[1]} pixels, larger than the images of "
            f"{image_shape[0]} x {image_shape[1]}."
        )
    return Grid(size=size, stride=stride)


def as_extent(value: object) -> Pair | None:
    """Read an integer or a pair of integers as (rows, columns); None if it is neither."""
    if _is_positive_int(value):
        return int(value), int(value)
    if _is_pair(value):
        rows, columns = value
        if _is_positive_int(rows) and _is_positive_int(columns):
            return int(rows), int(columns)
    return None


def _is_pair(value: object) -> TypeGuard[Sequence[object]]:
    is_sequence = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    return is_sequence and len(value) == 2  # type: ignore[arg-type]


def _is_positive_int(value: object) -> TypeGuard[int]:
    return is_whole(value) and value >= 1
