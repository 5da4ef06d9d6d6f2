"""Histograms of oriented gradients in a spatial pyramid.

An image I of shape (h, w) becomes one long non-negative vector. With S the Gaussian smoothing and
D the central difference along one axis, both written as matrices, the gradient of all pixels is

    gx = S_h I (D_w S_w)',    gy = (D_h S_h) I S_w'        (x to the right, y downward).

Pixel p votes with its magnitude m = sqrt(gx^2 + gy^2) at the position t = n_orientations * angle /
period, shared linearly by the two bins on either side of t. Level l of the pyramid sums the votes
V (h, w, n_orientations) over its grid of rectangular cells,

    F_l[r, c, o] = sum_{y, x} R_l[r, y] C_l[c, x] V[y, x, o],

with 0/1 matrices R_l and C_l that say which pixel belongs to which row and column of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from splinear.features.gradients import (
    axis_filters,
    batches,
    centered,
    check_range,
    flatten,
    normalized,
    votes,
)
from splinear.features.parameters import (
    Floats,
    Grid,
    Level,
    Pair,
    check_cells,
    check_scalars,
    check_shape,
)

__all__ = ["GradientPyramid"]


class GradientPyramid(TransformerMixin, BaseEstimator):
    """Turn images into a spatial pyramid of histograms of oriented gradients.

    Every pixel votes with the magnitude of its gradient for the two orientation bins nearest to
    the direction of its gradient; the votes are summed over the cells of each level, and every
    level is normalized on its own. All features are non-negative, as additive kernels like the
    minimum kernel expect.

    Parameters
    ----------
    n_orientations : int, default=12
        Number of orientation bins. Bin k is centered at the angle k * period / n_orientations,
        measured from the direction of growing column index toward growing row index.
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
    def mnist(cls, **changes: object) -> GradientPyramid:
        """Return the pyramid for 28 x 28 digits: 12 signed bins x (144 + 36 + 1) cells = 2172.

        Parameters
        ----------
        **changes
            Parameters that replace those of the preset.
        """
        return cls(
            n_orientations=12,
            signed=True,
            cells=((6, 2), (8, 4), "image"),
            smoothing=1.0,
            norm="l2",
            image_shape=(28, 28),
        )._changed(changes)

    @classmethod
    def daimler(cls, **changes: object) -> GradientPyramid:
        """Return the pyramid for 36 x 18 pedestrians: 8 unsigned bins x (72 + 8 + 2) cells = 656.

        Parameters
        ----------
        **changes
            Parameters that replace those of the preset.
        """
        return cls(
            n_orientations=8,
            signed=False,
            cells=((3, 3), (9, 9), (18, 18)),
            smoothing=0.0,
            norm="l1",
            image_shape=(36, 18),
        )._changed(changes)

    def _changed(self, changes: dict[str, object]) -> GradientPyramid:
        changed: GradientPyramid = self.set_params(**changes)
        return changed

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
        check_scalars(self.n_orientations, self.signed, self.smoothing, self.norm)
        expected = None if self.image_shape is None else check_shape(self.image_shape)
        table, shape = flatten(X, expected)
        grids = check_cells(self.cells, shape)
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
        table, _ = flatten(X, self.image_shape_)
        table = validate_data(self, table, reset=False)
        check_range(table)
        features = np.empty((table.shape[0], self._plan.n_features), dtype=np.float32)
        for rows in batches(table.shape[0], self._plan.vote_bytes):
            self._plan.describe(centered(table[rows], self.image_shape_), out=features[rows])
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


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
        grids: Sequence[Grid],
        n_orientations: int,
        signed: bool,
        smoothing: float,
        norm: str | None,
    ) -> _Plan:
        """Compute all matrices for images of one shape."""
        rows = [grid.membership(0, shape[0]) for grid in grids]
        ends = np.cumsum([0] + [len(matrix) for matrix in rows]).tolist()
        smooth_rows, slope_rows = axis_filters(shape[0], smoothing)
        smooth_columns, slope_columns = axis_filters(shape[1], smoothing)
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
        cast = votes(gx, gy, self.n_orientations, self.signed)
        n, h, w = images.shape
        row_sums = self.row_cells @ cast.reshape(n, h, w * self.n_orientations)
        row_sums = row_sums.reshape(n, -1, w, self.n_orientations)
        start = 0
        for rows, columns in zip(self.row_slices, self.column_cells, strict=True):
            level = (columns @ row_sums[:, rows]).reshape(n, -1)
            stop = start + level.shape[1]
            out[:, start:stop] = normalized(level, self.norm)
            start = stop
