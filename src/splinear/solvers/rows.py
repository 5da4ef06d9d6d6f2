"""The training rows in the form that the core reads, prepared once for any number of problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._reading import as_array, as_one_csr, float_chunks, left_out_zeros
from splinear._sparse import csr_parts
from splinear._types import AnyArray, Floats, Table
from splinear.embedding import Embedding
from splinear.solvers.disk import codes_on_disk, entries_on_disk
from splinear.solvers.memory import MemoryPlan

__all__ = ["CODES_SUFFICE", "TrainingRows"]

# The tolerance from which on 16-bit codes serve: their rounding moves the objective by far less.
CODES_SUFFICE = 1e-3
_STEP = 2**18  # rows at a time, where NumPy would make an index of 8 bytes for each


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of X that count, shuffled once so that a pass may take them nearly in order.

    Every value is rounded to one of at least 32,768 places along its axis, a code of 16 bits: 2
    bytes a value beyond X, in memory or in a file. A tolerance below 1e-3 could tell the
    difference; then X itself is read, and there are no codes. Nor are there of a sparse X, of which
    every value that is not zero takes 8 bytes.
    """

    core: _core.Rows
    embedding: Embedding
    kept: AnyArray | None  # (n,) which rows of X count; None: all
    n_given: int  # rows of X
    seed: int
    n_values: int  # read in a pass
    is_coded: bool
    plan: MemoryPlan = field(default_factory=MemoryPlan)

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
        plan: MemoryPlan | None = None,
    ) -> TrainingRows:
        """Code the rows of X, or note their order; of a sparse X, take the non-zeros."""
        plan = plan or MemoryPlan()
        order = _Order.draw(X.shape[0], kept, seed)
        sparse = left_out_zeros(X) and embedding.through_zero
        is_coded = not sparse and tol >= CODES_SUFFICE
        if sparse:
            core = _nonzeros(X, embedding, order, plan)
        elif is_coded:
            core = _codes(X, embedding, order, plan, n_threads)
        else:
            numbers = order.place(np.arange(X.shape[0]))
            core = _core.value_rows(as_array(X), embedding.axes.core(), numbers)
        n_values = X.nnz if sparse else X.shape[0] * X.shape[1]
        return cls(core, embedding, kept, X.shape[0], seed, n_values, is_coded, plan)

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
        return self._order().place(values)

    def restore(self, values: AnyArray) -> AnyArray:
        """Undo place(); rows that do not count get 0."""
        return self._order().restore(values)

    def _order(self) -> _Order:
        return _Order.draw(self.n_given, self.kept, self.seed)  # drawn anew, not kept


def _codes(
    X: Table, embedding: Embedding, order: _Order, plan: MemoryPlan, n_threads: int
) -> _core.Rows:
    axes, block = embedding.axes.core(), plan.rows_per_block
    if block is None:
        codes = _core.Codes(order.n_rows, X.shape[1], embedding.basis.grid())
        for rows, piece in float_chunks(X):
            codes.fill(piece, order.of(rows), axes, n_threads)
    else:
        codes = codes_on_disk(X, order.of, order.n_rows, embedding, block, n_threads)
    return _core.coded_rows(codes, axes)


def _nonzeros(X: Table, embedding: Embedding, order: _Order, plan: MemoryPlan) -> _core.Rows:
    if plan.rows_per_block is not None:
        return entries_on_disk(X, order.of, order.n_rows, embedding, plan.rows_per_block)
    numbers = order.place(np.arange(X.shape[0]))
    return _core.sparse_rows(*csr_parts(as_one_csr(X)), embedding.axes.core(), numbers)


@dataclass(frozen=True, eq=False)
class _Order:
    """A random place for every row that counts; NOWHERE, the largest number, for the others."""

    places: AnyArray
    n_rows: int  # that count

    @classmethod
    def draw(cls, n: int, kept: AnyArray | None, seed: int) -> _Order:
        dtype = np.uint32 if n < 2**32 - 1 else np.uint64
        n_rows = n if kept is None else int(np.count_nonzero(kept))
        shuffled = np.arange(n_rows, dtype=dtype)
        np.random.default_rng(seed).shuffle(shuffled)
        if kept is None:
            return cls(shuffled, n_rows)
        places = np.full(n, np.iinfo(dtype).max, dtype=dtype)
        places[kept] = shuffled
        return cls(places, n_rows)

    def of(self, rows: slice) -> NDArray[np.int64]:
        """Give the places of some rows, -1 for those that do not count."""
        places = self.places[rows]
        nowhere = places == np.iinfo(places.dtype).max
        out = places.astype(np.int64)
        out[nowhere] = -1
        return out

    def place(self, values: AnyArray) -> AnyArray:
        out = np.empty(self.n_rows, dtype=values.dtype)
        for rows in self._steps():
            places = self.of(rows)
            counts = places >= 0
            out[places[counts]] = values[rows][counts]
        return out

    def restore(self, values: AnyArray) -> AnyArray:
        out = np.zeros(len(self.places), dtype=values.dtype)
        for rows in self._steps():
            places = self.of(rows)
            counts = places >= 0
            out[rows][counts] = values[places[counts]]
        return out

    def _steps(self) -> Iterator[slice]:
        for start in range(0, len(self.places), _STEP):
            yield slice(start, start + _STEP)
