"""LIBSVM (svmlight) files."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from io import BytesIO

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from splinear._types import Floats, Input
from splinear.tables import table as sizes
from splinear.tables.chunks import Chunk, as_csr
from splinear.tables.files import checked_paths
from splinear.tables.table import MOST_COLUMNS, ColumnNumbers, Table

__all__ = ["LibsvmFile"]

CHUNK = 2**23  # bytes of text read at a time


class LibsvmFile(Table):
    """The rows of a LIBSVM file, which has one line `label index:value index:value ...` per row.

    They form a sparse matrix.

    Parameters
    ----------
    path : path
    zero_based : bool, default=None
        Whether the first column has the index 0. None means True if the file has an index 0;
        in prediction, None means as in fit.
    """

    is_sparse = is_on_disk = True

    def __init__(self, path: Input, zero_based: bool | None = None) -> None:
        [self.path] = checked_paths(path)
        labels, least, most = [], np.inf, -1
        self.nnz = 0
        for X, y in self._read():
            labels.append(y)
            self.nnz += X.nnz
            if X.nnz:
                least, most = min(least, X.indices.min()), max(most, X.indices.max())
        self.labels: Floats = np.concatenate(labels) if labels else np.empty(0)
        self._has_zero, self._most, self._is_given = bool(least == 0), most, zero_based is not None
        self._count_from(self._has_zero if zero_based is None else bool(zero_based))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self.labels), self.n_columns

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return np.dtype(np.float64)

    @property
    def values_per_row(self) -> float:
        """Number of non-zeros per row, on average."""
        return self.nnz / max(1, len(self.labels))

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and CSR matrices, in order."""
        n_rows, done = self.rows_of(sizes.COPIED_AT_ONCE), 0
        for raw, _ in self._read():
            at = raw.indices if self.zero_based else raw.indices - 1
            X = as_csr(sparse.csr_array((raw.data, at, raw.indptr), (raw.shape[0], self.shape[1])))
            for start in range(0, X.shape[0], n_rows):
                piece = X[start : start + n_rows]
                yield (
                    slice(done, done + piece.shape[0]),
                    piece if columns is None else piece[:, list(columns)],
                )
                done += piece.shape[0]

    def matched(self, names: list[str] | None, n_columns: int, zero_based: bool | None) -> Table:
        """Return the rows with the columns seen in fit.

        Indices begin as in fit, unless the user set zero_based. Columns at the end that are 0
        everywhere do not occur in the file.
        """
        del names
        other = copy(self)
        if zero_based is not None and not self._is_given:
            other._count_from(zero_based)
        other.n_columns = max(n_columns, other.n_columns)
        return other

    def _count_from(self, zero_based: bool) -> None:
        if self._has_zero and not zero_based:
            raise ValueError(
                f"{self.path} has the index 0, but its indices should begin with 1 as those of the "
                "training file do. Use LibsvmFile(path, zero_based=True) of splinear.tables.libsvm "
                "where they begin with 0."
            )
        self.zero_based = zero_based
        self.n_columns = max(0, int(self._most) + zero_based)  # 0 if there are labels only

    def target(self, y: Input) -> Input:
        """Return the target: y itself, or the labels of the file."""
        return self.labels if y is None else y

    def _read(self) -> Iterator[tuple[sparse.csr_matrix, Floats]]:
        """Yield chunks of rows, with column indices as in the file, and their labels."""
        with self.path.open("rb") as file:
            line = 0
            while text := file.read(CHUNK) + file.readline():
                if text.strip():
                    yield self._parsed(text, line)
                line += text.count(b"\n")

    def _parsed(self, text: bytes, line: int) -> tuple[sparse.csr_matrix, Floats]:
        """Parse lines of text, of which the first has the number `line`, from 0 on."""
        try:
            return _parse(text)
        except (ValueError, OverflowError):
            k, wrong = _first_wrong(text)
            where = f"{self.path}, line {line + k + 1}"
            shown = wrong[:60].decode(errors="replace") + ("..." if len(wrong) > 60 else "")
            try:
                _parse(wrong)
            except (ValueError, OverflowError) as error:
                raise ValueError(
                    f"{where} is not of the form 'label index:value ...': {shown!r} ({error}). "
                    "The name of a table of columns must end in .csv or .tsv."
                ) from error
            raise


def _parse(text: bytes) -> tuple[sparse.csr_matrix, Floats]:
    """Return the rows and labels of lines of text."""
    X, y = load_svmlight_file(BytesIO(text), zero_based=True)
    most = X.indices.max(initial=0)
    if most > MOST_COLUMNS:
        raise ValueError(
            f"index {most:,} is above {MOST_COLUMNS:,}, the most columns that a model can have"
        )
    return X, y


def _first_wrong(text: bytes) -> tuple[int, bytes]:
    """Return the number and text of the first line that cannot be parsed; there is one."""
    lines = text.split(b"\n")
    first, last = 0, len(lines)  # it is one of lines[first:last]
    while last - first > 1:
        middle = (first + last) // 2
        try:
            _parse(b"\n".join(lines[first:middle]))
            first = middle
        except (ValueError, OverflowError):
            last = middle
    return first, lines[first]
