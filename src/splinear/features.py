"""Histograms of oriented gradients in a spatial pyramid.

An image I of shape (h, w) becomes one long non-negative vector. With S the Gaussian smoothing and
D the central difference along one axis, both written as matrices, the gradient of all pixels is

    gx = S_h I (D_w S_w)',    gy = (D_h S_h) I S_w'        (x to the right, y downwards).

Pixel p votes with its magnitude m = sqrt(gx^2 + gy^2) at the position t = n_orientations * angle /
period, shared linearly by the two bins on either side of t. Level l of the pyramid sums the votes
V (h, w, n_orientations) over its grid of rectangular cells,

    F_l[r, c, o] = sum_{y, x} R_l[r, y] C_l[c, x] V[y, x, o],

with 0/1 matrices R_l and C_l that say which pixel belongs to which row and column of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["GradientPyramid"]

Floats: TypeAlias = npt.NDArray[np.float32]
Pair: TypeAlias = tuple[int, int]
Extent: TypeAlias = int | Pair
Level: TypeAlias = tuple[Extent, Extent] | Literal["image"]

# The votes of one batch. Small enough for the second-level cache, and for the allocator to hand out
# the same memory again: with larger temporaries, page faults cost more than the arithmetic.
_BATCH_BYTES = 2**19

# Sums of float32 votes over millions of pixels of this size still end below the float32 limit.
_LARGEST_PIXEL = 1e30


class GradientPyramid(TransformerMixin, BaseEstimator):
    """Turn images into a spatial pyramid of histograms of oriented gradients.

    Every pixel votes with the magnitude of its gradient for the two orientation bins nearest to
    the direction of its gradient; the votes are summed over the cells of each level, and every
    level is normalised on its own. All features are non-negative, as additive kernels like the
    minimum kernel expect.

    Parameters
    ----------
    n_orientations : int, default=12
        Number of orientation bins. Bin k is centred at the angle k * period / n_orientations,
        measured from the direction of growing column index towards growing row index.
    signed : bool, default=True
        If True the period is 360 degrees: dark-to-bright and bright-to-dark edges differ. If
        False it is 180 degrees and they are counted together.
    cells : sequence of levels, default=((6, 2), (8, 4), "image")
        One entry per level of the pyramid: a pair ``(size, stride)`` in pixels, or ``"image"``
        for one cell that covers the whole image. Size and stride are integers, or pairs
        ``(rows, columns)`` of integers. An axis of L pixels has (L - size) // stride + 1 cells;
        pixels behind the last cell that fits are left out.
    smoothing : float, default=1.0
        Standard deviation in pixels of the Gaussian that is applied first; 0 for none.
    norm : {"l1", "l2"} or None, default="l2"
        The norm that each level of each image is divided by. A level without any gradient stays
        zero.
    image_shape : (int, int) or None, default=None
        Shape (h, w) of the images. Needed when images arrive as the rows of a table of shape
        (n_samples, h * w); None reads the shape from the three-dimensional array given to `fit`.

    Attributes
    ----------
    image_shape_ : (int, int)
        Shape (h, w) of the images.
    grid_shapes_ : tuple of (int, int)
        Rows and columns of cells in each level.
    n_features_in_ : int
        h * w.
    feature_names_in_ : ndarray of str
        Names of the columns, when `fit` saw a table that has them.

    Notes
    -----
    Features are ordered by level, then cell row, cell column and orientation. Pixels outside the
    image repeat its border, for the smoothing as well as for the central differences
    g(p) = (I(p + 1) - I(p - 1)) / 2. Smoothing, differences and cell sums are matrix products on
    a batch of images at a time, so memory does not grow with the number of images beyond the
    output.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.features import GradientPyramid
    >>> ramps = np.tile(np.arange(8.0), (5, 8, 1))
    >>> pyramid = GradientPyramid(n_orientations=4, cells=[(4, 4), "image"], norm="l1")
    >>> pyramid.fit_transform(ramps).shape
    (5, 20)
    >>> pyramid.grid_shapes_
    ((2, 2), (1, 1))
    """

    def __init__(
        self,
        *,
        n_orientations: int = 12,
        signed: bool = True,
        cells: Sequence[Level] = ((6, 2), (8, 4), "image"),
        smoothing: float = 1.0,
        norm: Literal["l1", "l2"] | None = "l2",
        image_shape: Pair | None = None,
    ) -> None:
        self.n_orientations = n_orientations
        self.signed = signed
        self.cells = cells
        self.smoothing = smoothing
        self.norm = norm
        self.image_shape = image_shape

    @classmethod
    def mnist(cls, **changes: Any) -> GradientPyramid:
        """Return the pyramid for 28 x 28 digits: 12 signed bins x (144 + 36 + 1) cells = 2172.

        Parameters
        ----------
        **changes
            Parameters that replace those of the preset.
        """
        preset: dict[str, Any] = {
            "n_orientations": 12,
            "signed": True,
            "cells": ((6, 2), (8, 4), "image"),
            "smoothing": 1.0,
            "norm": "l2",
            "image_shape": (28, 28),
        }
        return cls(**(preset | changes))

    @classmethod
    def daimler(cls, **changes: Any) -> GradientPyramid:
        """Return the pyramid for 36 x 18 pedestrians: 8 unsigned bins x (72 + 8 + 2) cells = 656.

        Parameters
        ----------
        **changes
            Parameters that replace those of the preset.
        """
        preset: dict[str, Any] = {
            "n_orientations": 8,
            "signed": False,
            "cells": ((3, 3), (9, 9), (18, 18)),
            "smoothing": 0.0,
            "norm": "l1",
            "image_shape": (36, 18),
        }
        return cls(**(preset | changes))

    def fit(self, X: npt.ArrayLike, y: object = None) -> GradientPyramid:
        """Check the parameters and learn the shape of the images; nothing else is learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, h, w) or (n_samples, h * w)
            Images, or a table of flattened images if `image_shape` is given.
        y : ignored
            Present for the interface.

        Returns
        -------
        self : GradientPyramid
        """
        _check_scalars(self.n_orientations, self.signed, self.smoothing, self.norm)
        expected = None if self.image_shape is None else _check_shape(self.image_shape)
        table, shape = _flatten(X, expected)
        grids = _check_cells(self.cells, shape)
        validate_data(self, table)
        self.image_shape_ = shape
        self.grid_shapes_ = tuple(grid.shape(shape) for grid in grids)
        self._plan = _Plan.build(
            shape, grids, int(self.n_orientations), bool(self.signed), self.smoothing, self.norm
        )
        return self

    def transform(self, X: npt.ArrayLike) -> Floats:
        """Compute the features of images.

        Parameters
        ----------
        X : array-like of shape (n_samples, h, w) or (n_samples, h * w)
            Images, or a table of flattened images.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out), float32
        """
        check_is_fitted(self)
        table, _ = _flatten(X, self.image_shape_)
        table = validate_data(self, table, reset=False)
        _check_range(table)
        features = np.empty((table.shape[0], self._plan.n_features), dtype=np.float32)
        for rows in _batches(table.shape[0], self._plan.vote_bytes):
            self._plan.describe(_centred(table[rows], self.image_shape_), out=features[rows])
        return features

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return names such as ``level0_row3_col4_bin5``.

        Parameters
        ----------
        input_features : ignored
            Present for the interface: a feature stands for a cell, not for an input column.

        Returns
        -------
        names : ndarray of shape (n_features_out,), object
        """
        check_is_fitted(self)
        names = [
            f"level{level}_row{row}_col{column}_bin{bin_}"
            for level, (n_rows, n_columns) in enumerate(self.grid_shapes_)
            for row in range(n_rows)
            for column in range(n_columns)
            for bin_ in range(self._plan.n_orientations)
        ]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


@dataclass(frozen=True)
class _Grid:
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


@dataclass(frozen=True)
class _Plan:
    """The matrices of the formulas in the module's docstring, ready for batches of images.

    `row_cells` stacks R_l of all levels, so that one product per image does the row sums of the
    whole pyramid; `row_slices` says where each level lies in it.
    """

    smooth_rows: Floats
    slope_rows: Floats
    smooth_columns: Floats
    slope_columns: Floats
    row_cells: Floats
    row_slices: tuple[slice, ...]
    column_cells: tuple[Floats, ...]
    n_orientations: int
    signed: bool
    norm: str | None

    @classmethod
    def build(
        cls,
        shape: Pair,
        grids: Sequence[_Grid],
        n_orientations: int,
        signed: bool,
        smoothing: float,
        norm: str | None,
    ) -> _Plan:
        """Compute all matrices for images of one shape."""
        rows = [grid.membership(0, shape[0]) for grid in grids]
        ends = np.cumsum([0] + [len(matrix) for matrix in rows]).tolist()
        smooth_rows, slope_rows = _axis_filters(shape[0], smoothing)
        smooth_columns, slope_columns = _axis_filters(shape[1], smoothing)
        return cls(
            smooth_rows=smooth_rows,
            slope_rows=slope_rows,
            smooth_columns=smooth_columns,
            slope_columns=slope_columns,
            row_cells=np.concatenate(rows),
            row_slices=tuple(map(slice, ends[:-1], ends[1:])),
            column_cells=tuple(grid.membership(1, shape[1]) for grid in grids),
            n_orientations=n_orientations,
            signed=signed,
            norm=norm,
        )

    @property
    def vote_bytes(self) -> int:
        """Bytes of the votes of one image."""
        return 4 * len(self.smooth_rows) * len(self.smooth_columns) * self.n_orientations

    @property
    def n_features(self) -> int:
        """Sum over levels of cell rows * cell columns * orientations."""
        n_rows = [rows.stop - rows.start for rows in self.row_slices]
        n_columns = [len(columns) for columns in self.column_cells]
        return int(np.dot(n_rows, n_columns)) * self.n_orientations

    def describe(self, images: Floats, out: Floats) -> None:
        """Write the features of images (n, h, w) into out (n, n_features)."""
        gx = self.smooth_rows @ (images @ self.slope_columns.T)
        gy = self.slope_rows @ (images @ self.smooth_columns.T)
        votes = _votes(gx, gy, self.n_orientations, self.signed)
        n, h, w = images.shape
        row_sums = self.row_cells @ votes.reshape(n, h, w * self.n_orientations)
        row_sums = row_sums.reshape(n, -1, w, self.n_orientations)
        start = 0
        for rows, columns in zip(self.row_slices, self.column_cells, strict=True):
            level = (columns @ row_sums[:, rows]).reshape(n, -1)
            stop = start + level.shape[1]
            out[:, start:stop] = _normalised(level, self.norm)
            start = stop


def _axis_filters(length: int, smoothing: float) -> tuple[Floats, Floats]:
    """Return the matrices S and D S of shape (length, length) for one axis."""
    smooth = np.eye(length)
    if smoothing > 0:
        smooth = gaussian_filter1d(smooth, smoothing, axis=0, mode="nearest")
    padded = np.pad(smooth, ((1, 1), (0, 0)), mode="edge")
    slope = (padded[2:] - padded[:-2]) / 2
    return smooth.astype(np.float32), slope.astype(np.float32)


def _votes(gx: Floats, gy: Floats, n_orientations: int, signed: bool) -> Floats:
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
    # Added, not assigned: with a single bin both neighbours are the same one.
    votes[first_bins + bins] += to_upper
    return votes.reshape(*gx.shape, n_orientations)


def _normalised(level: Floats, norm: str | None) -> Floats:
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


def _batches(n_images: int, bytes_per_image: int) -> Iterator[slice]:
    """Cut the rows into slices whose votes fill `_BATCH_BYTES`, at least one image each."""
    step = max(1, _BATCH_BYTES // bytes_per_image)
    for start in range(0, n_images, step):
        yield slice(start, start + step)


def _centred(rows: npt.NDArray[Any], shape: Pair) -> Floats:
    """Return images (n, h, w) in float32, less the value of their first pixel.

    Gradients do not see the shift, but rounding does: without it a constant image would get tiny
    gradients, which the normalisation would then blow up.
    """
    dtype = np.result_type(rows.dtype, np.float32)
    shifted: Floats = np.subtract(rows, rows[:, :1], dtype=dtype).astype(np.float32, copy=False)
    return shifted.reshape(-1, *shape)


def _flatten(X: Any, expected: Pair | None) -> tuple[Any, Pair]:
    """Return a table with one image per row, and the shape of the images.

    Tables are handed through unchanged, so that column names and unusual types are dealt with by
    scikit-learn's own checks.
    """
    if not hasattr(X, "ndim"):
        X = np.asarray(X)
    if X.ndim == 3:
        shape = _check_shape(X.shape[1:], "X.shape[1:]")
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


def _check_range(table: npt.NDArray[Any]) -> None:
    """Refuse pixels whose gradients would not fit into float32."""
    largest = max(float(table.max()), -float(table.min()))
    if largest > _LARGEST_PIXEL:
        raise ValueError(
            f"X must hold values between -{_LARGEST_PIXEL:g} and {_LARGEST_PIXEL:g}; "
            f"found one of magnitude {largest:g}."
        )


def _check_scalars(n_orientations: object, signed: object, smoothing: object, norm: object) -> None:
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


def _check_shape(shape: Any, name: str = "image_shape") -> Pair:
    """Return (h, w) as two positive integers."""
    if not (_is_pair(shape) and all(map(_is_positive_int, shape))):
        raise ValueError(f"{name} must be a pair (h, w) of positive integers; got {shape!r}.")
    return int(shape[0]), int(shape[1])


def _check_cells(cells: Any, image_shape: Pair) -> list[_Grid]:
    """Return one grid per level, each with at least one cell."""
    if isinstance(cells, str) or not isinstance(cells, Sequence | np.ndarray) or len(cells) == 0:
        raise ValueError(
            f"cells must be a sequence of at least one level, (size, stride) or 'image'; "
            f"got {cells!r}."
        )
    return [_check_level(level, index, image_shape) for index, level in enumerate(cells)]


def _check_level(level: Any, index: int, image_shape: Pair) -> _Grid:
    if isinstance(level, str) and level == "image":
        return _Grid(size=image_shape, stride=image_shape)
    size, stride = map(_as_extent, level) if _is_pair(level) else (None, None)
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
    return _Grid(size=size, stride=stride)


def _as_extent(value: Any) -> Pair | None:
    """Read an integer or a pair of integers as (rows, columns); None if it is neither."""
    if _is_positive_int(value):
        return int(value), int(value)
    if _is_pair(value) and all(map(_is_positive_int, value)):
        return int(value[0]), int(value[1])
    return None


def _is_pair(value: object) -> bool:
    is_sequence = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    return is_sequence and len(value) == 2  # type: ignore[arg-type]


def _is_positive_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
