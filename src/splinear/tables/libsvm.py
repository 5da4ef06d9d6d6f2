"""LIBSVM (svmlight) files."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from io import BytesIO
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from splinear._types import Floats
from splinear.tables.files import checked_paths

__all__ = ["LibsvmFile"]

CHUNK = 2**23  # bytes of text that are read at a time


class LibsvmFile:
    """The rows of a LIBSVM file, `label index:value index:value ...` a line.

    They are those of a sparse matrix.

    Parameters
    ----------
    path : path
    zero_based : bool, default=None
        Whether the first column has the index 0. None: if there is an index 0 in the file; in
        prediction, if it was so in fit.
    """

    names: list[str] | None = None
    dtype = np.dtype(np.float64)

    def __init__(self, path: Any, zero_based: bool | None = None) -> None:
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

    def __len__(self) -> int:
        return self.shape[0]

    def __str__(self) -> str:
        return str(self.path)

    def chunks(self, n_rows: int) -> Iterator[Any]:
        """Give all rows in order, at most n_rows at a time, as sparse arrays."""
        for raw, _ in self._read():
            columns = raw.indices if self.zero_based else raw.indices - 1
            X = sparse.csr_array((raw.data, columns, raw.indptr), (raw.shape[0], self.shape[1]))
            for start in range(0, X.shape[0], n_rows):
                yield X[start : start + n_rows]

    def counted_from(self, zero_based: bool | None) -> LibsvmFile:
        """Return the same rows, indices being counted as in another file unless the user said how.

        None: there is no other file.
        """
        if zero_based is None or self._is_given or zero_based == self.zero_based:
            return self
        other = copy(self)
        other._count_from(zero_based)
        return other

    def _count_from(self, zero_based: bool) -> None:
        if self._has_zero and not zero_based:
            raise ValueError(
                f"{self.path} has the index 0, but its indices should begin with 1 as those of the "
                "training file do. Give io.LibsvmFile(path, zero_based=True) where they begin with "
                "0."
            )
        self.zero_based = zero_based
        self.shape = (len(self.labels), int(self._most) + zero_based)

    def widened(self, n_features: int) -> LibsvmFile:
        """Give the same rows in more columns, those at the end being 0 everywhere."""
        wider = copy(self)
        wider.shape = (self.shape[0], max(n_features, self.shape[1]))
        return wider

    def target(self, y: Any) -> Any:
        """Give the target: y itself, or the labels of the file."""
        return self.labels if y is None else y

    def _read(self) -> Iterator[tuple[Any, Floats]]:
        """Give the file's rows in pieces, columns being numbered as in the file; and labels."""
        with self.path.open("rb") as file:
            line = 0
            while text := file.read(CHUNK) + file.readline():
                if text.strip():
                    yield self._parsed(text, line)
                line += text.count(b"\n")

    def _parsed(self, text: bytes, line: int) -> tuple[Any, Floats]:
        """Read lines of text, the first being number `line`, from 0."""
        try:
            X, y = load_svmlight_file(BytesIO(text), zero_based=True)
        except ValueError as error:
            for k, one in enumerate(text.splitlines()):
                _check(one, f"{self.path}, line {line + k + 1}")
            raise ValueError(f"{self.path} cannot be read: {error}") from error
        return X, y


def _check(text: bytes, where: str) -> None:
    """Name a line that is not of the format."""
    try:
        load_svmlight_file(BytesIO(text), zero_based=True)
    except ValueError as error:
        shown = text[:60].decode(errors="replace") + ("..." if len(text) > 60 else "")
        raise ValueError(
            f"{where} is not of the form 'label index:value ...': {shown!r} ({error})."
        ) from error
