"""The training rows in the form that the core reads, prepared once for any number of problems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._reading import as_floats, float_chunks
from splinear._sparse import csr_parts, is_sparse
from splinear._types import AnyArray, Floats, Table
from splinear.embedding import Embedding

__all__ = ["CODES_SUFFICE", "TrainingRows"]

# The tolerance from which on 16-bit codes serve: their rounding moves the objective by far less.
CODES_SUFFICE = 1e-3


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of X that count, shuffled once so that a pass may take them nearly in order.

    Every value is rounded to one of at least 32,768 places along its axis, a code of 16 bits: 2
    bytes a value beyond X. A tolerance below 1e-3 could tell the difference; then X itself is read,
    and there are no codes. Nor are there of a sparse X, of which every value that is not zero takes
    8 bytes.
    """

    core: _core.Rows
    embedding: Embedding
    kept: AnyArray | None  # (n,) which rows of X count; None: all
    n_given: int  # rows of X
    seed: int
    n_values: int  # read in a pass
    is_coded: bool

    @classmethod
    def prepare(
        cls,
        X: Table,
        embedding: Embedding,
        *,
        tol: float,
        seed: int = 0,
        kept: AnyArray | None = None,
        n_threads: int = 1,
    ) -> TrainingRows:
        """Code the rows of X, or note their order; of a CSR matrix, take the non-zeros."""
        n_rows, n_features = X.shape
        places = _places(n_rows, kept, seed)
        axes = embedding.axes.core()
        is_coded = tol >= CODES_SUFFICE and not is_sparse(X)
        n_values = n_rows * n_features
        if is_sparse(X):
            n_values = X.nnz
            core = _core.sparse_rows(*csr_parts(X), axes, _order(places))
        elif is_coded:
            codes = _core.Codes(int(places.max()) + 1, X.shape[1], embedding.basis.grid())
            for rows, piece in float_chunks(X):
                codes.fill(piece, places[rows], axes, n_threads)
            core = _core.coded_rows(codes, axes)
        else:
            core = _core.value_rows(as_floats(X), axes, _order(places))
        return cls(core, embedding, kept, n_rows, seed, n_values, is_coded)

    @cached_property
    def n_rows(self) -> int:
        """Rows that count."""
        return self.n_given if self.kept is None else int(np.count_nonzero(self.kept))

    def scores(self, coef: Floats, n_threads: int = 1) -> Floats:
        """Give sum_j coef_kj'B(x_j) of every output k and every row that counts.

        `coef` is (n_outputs, n_features, size); the result (n_outputs, n_rows), in the order of
        training.
        """
        basis = self.embedding.basis.core()
        tables = np.ascontiguousarray(coef)
        return np.stack([_core.score_all(self.core, basis, table, n_threads) for table in tables])

    def place(self, values: AnyArray) -> AnyArray:
        """Give one value a row of X, (n_given,), in the order of training, (n_rows,)."""
        places = _places(self.n_given, self.kept, self.seed)
        out = np.empty(self.n_rows, dtype=values.dtype)
        out[places[places >= 0]] = values[places >= 0]
        return out

    def restore(self, values: AnyArray) -> AnyArray:
        """Undo place(); rows that do not count get 0."""
        places = _places(self.n_given, self.kept, self.seed)
        return np.where(places >= 0, values[places], values.dtype.type(0))


def _order(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the rows that count in the order of their places."""
    return np.argsort(places)[np.count_nonzero(places < 0) :]


def _places(n: int, kept: AnyArray | None, seed: int) -> NDArray[np.int64]:
    """Give every row that counts a random place, the others -1."""
    if kept is None:
        return np.random.default_rng(seed).permutation(n)
    places = np.full(n, -1, dtype=np.int64)
    places[kept] = np.random.default_rng(seed).permutation(np.count_nonzero(kept))
    return places
