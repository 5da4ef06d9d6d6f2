"""Sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from splinear._types import Input
from splinear.tables.chunks import Chunk, as_csr
from splinear.tables.table import ColumnNumbers, Table

__all__ = ["SparseTable"]


class SparseTable(Table):
    """A sparse matrix, stored as CSR.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_rows, n_columns)
    """

    is_sparse = True

    def __init__(self, matrix: Input) -> None:
        self.matrix = self.given = as_csr(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return self.matrix.dtype

    @property
    def values_per_row(self) -> float:
        """Number of non-zeros per row, on average."""
        return self.matrix.nnz / max(1, self.shape[0])

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield all rows as one chunk."""
        some = self.matrix if columns is None else self.matrix[:, list(columns)]
        yield slice(0, self.shape[0]), some

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows of some columns, or of all."""
        some = self.matrix[rows]
        return some if columns is None else some[:, np.asarray(columns)]
