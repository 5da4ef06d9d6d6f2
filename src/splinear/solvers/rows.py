"""The training rows in the form that the core reads, prepared once for any number of problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.additive import group_columns
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.disk import codes_on_disk, entries_on_disk
from splinear.solvers.memory import MemoryPlan
from splinear.tables.chunks import as_dense, as_sparse, csr_parts
from splinear.tables.table import Table

__all__ = ["CODES_SUFFICE", "TrainingRows"]

# The tolerance from which on 16-bit codes serve: their rounding moves the objective by far less.
CODES_SUFFICE = 1e-3
STREAM = 0x5EED
_STEP = 2**18  # rows at a time, where NumPy would make an index of 8 bytes for each


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of X that count, shuffled once so that a pass may take them nearly in order.

    Every value is rounded to one of at least 32,768 places along its axis, a code of 16 bits: 2
    bytes per value beyond X, in memory or in a file (4 for a category of more than 65,534 levels).
    A tolerance below 1e-3 could tell the difference; then X itself is read, and there are no codes.
    Nor are there of a sparse X, of which every value that is not zero takes 8 bytes.
    """

    parts: tuple[_core.Rows, ...]  # one per group of the layout
    layout: Layout
    kept: AnyArray | None  # (n,) which rows of X count; None: all
    n_given: int  # rows of X
    seed: int
    n_values: int  # read in a pass
    is_coded: bool
    plan: MemoryPlan = field(default_factory=MemoryPlan)
    n_first: int | None = None  # only so many of them, see first()

    @classmethod
    def prepare(
        cls,
        X: Table,
        layout: Layout,
        *,
        tol: float,
        seed: int = 0,
        kept: AnyArray | None = None,
        weights: Floats | None = None,
        n_threads: int = 1,
        plan: MemoryPlan | None = None,
    ) -> TrainingRows:
        """Code the rows of X, or note their order; of a sparse X, take the non-zeros.

        Where there are gaps, the mean m_j of the basis over the rows, by their `weights`, becomes
        part of the layout.
        """
        plan = plan or MemoryPlan()
        order = _Order.draw(X.shape[0], kept, seed)
        sparse = X.is_sparse and all(g.embedding.through_zero for g in layout.groups)
        is_coded = not sparse and tol >= CODES_SUFFICE
        if sparse:
            parts = _nonzeros(X, layout, order, plan)
        elif is_coded:
            parts = _codes(X, layout, order, plan, n_threads)
        else:
            parts = _values(X, layout, order)
        n_values = (
            int(X.values_per_row * X.shape[0])
            if sparse
            else X.shape[0] * sum(g.n_features for g in layout.groups)
        )
        rows = cls(tuple(parts), layout, kept, X.shape[0], seed, n_values, is_coded, plan)
        return rows._with_gap_means(weights, n_threads)

    @cached_property
    def n_rows(self) -> int:
        """Rows that count."""
        if self.n_first is not None:
            return self.n_first
        return self.n_given if self.kept is None else int(np.count_nonzero(self.kept))

    @cached_property
    def groups(self) -> list[_core.Group]:
        """The groups of the layout over these rows, for the core."""
        pairs = zip(self.layout.groups, self.parts, strict=True)
        return [group.core(part) for group, part in pairs]

    def with_layout(self, layout: Layout) -> TrainingRows:
        """Return the same rows for a layout of the same groups, with other variances or means."""
        return replace(self, layout=layout)

    def first(self, n: int) -> TrainingRows:
        """Return the first n rows alone: a sample, as rows are in random order."""
        if n >= self.n_rows:
            return self
        parts = tuple(_core.first_rows(part, n) for part in self.parts)
        n_values = self.n_values * n // self.n_rows
        return replace(self, parts=parts, n_first=n, n_values=n_values)

    def some(self, numbers: AnyArray) -> TrainingRows:
        """Return the rows of these numbers alone, in the order of training, for passes over them.

        What is given per row of X has no place among them.
        """
        parts = tuple(_core.some_rows(part, numbers.astype(np.int64)) for part in self.parts)
        n_values = self.n_values * len(numbers) // self.n_rows
        return replace(self, parts=parts, n_first=len(numbers), n_values=n_values)

    @property
    def is_on_disk(self) -> bool:
        """Whether the rows are in a file, of which a block at a time is in memory."""
        return self.plan.rows_per_block is not None

    def scores(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return sum_k f_k(x_i) of every output and every row that counts.

        `parameters` is (n_outputs, n_parameters); the result (n_outputs, n_rows), in the order of
        training.
        """
        tables = np.ascontiguousarray(self.layout.tables(parameters))
        scores: Floats = _core.score_many(self.groups, tables, n_threads)
        return scores.reshape(len(tables), -1)

    def sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the derivative of sum(R * scores(parameters)) by parameters, R (n_outputs, n)."""
        return self.layout.gather(self.raw_sums(R, n_threads))

    def raw_sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the same derivative by the entries of the tables, in which gaps stand alone."""
        sums: Floats = _core.sum_many(self.groups, np.ascontiguousarray(R), n_threads)
        return sums.reshape(len(R), -1)

    def blocks(self, H: Floats, n_threads: int = 1) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i' for each row h of H, and each group.

        By bands, in shapes (n_features, stride, support): entry [j, k, p] is that of functions k
        and k + p. The row of a gap holds the sum of h over gaps.
        """
        flat = _core.blocks_many(self.groups, np.ascontiguousarray(H), n_threads)
        out = []
        for own in flat.reshape(len(H), -1):
            parts, start = [], 0
            for group in self.layout.groups:
                shape = (*group.shape, group.embedding.basis.support)
                parts.append(own[start : start + prod(shape)].reshape(shape))
                start += prod(shape)
            out.append(parts)
        return out

    def place(self, values: AnyArray) -> AnyArray:
        """Return one value per row of X, (n_given,), in the order of training, (n_rows,)."""
        return self._order().place(values)[: self.n_first]

    def weight(self, weights: Floats | None) -> float:
        """Return the weight of these rows in all, given that of every row of X (None: 1 each)."""
        return float(self.n_rows if weights is None else self.place(weights).sum())

    def restore(self, values: AnyArray) -> AnyArray:
        """Undo place(); rows that do not count get 0."""
        return self._order().restore(values)

    def _order(self) -> _Order:
        return _Order.draw(self.n_given, self.kept, self.seed)  # drawn anew, not kept

    def _with_gap_means(self, weights: Floats | None, n_threads: int) -> TrainingRows:
        """Compute m_j of the groups that have gaps."""
        if not any(group.has_gaps for group in self.layout.groups):
            return self
        w = np.ones(self.n_rows) if weights is None else self.place(weights)
        groups = list(self.layout.groups)
        for k, group in enumerate(groups):
            if group.has_gaps:
                sums = _core.sum_all([self.groups[k]], w, n_threads).reshape(group.shape)
                there = np.maximum(w.sum() - sums[:, -1:], np.finfo(float).tiny)
                share = sums[:, -1] / max(float(w.sum()), np.finfo(float).tiny)
                groups[k] = replace(group, mean=sums[:, :-1] / there, gap_share=share)
        return self.with_layout(self.layout.with_groups(groups))


def _codes(
    X: Table, layout: Layout, order: _Order, plan: MemoryPlan, n_threads: int
) -> list[_core.Rows]:
    if plan.rows_per_block is not None:
        codes = codes_on_disk(
            X, order.of, order.n_rows, layout.groups, plan.rows_per_block, n_threads
        )
    else:
        codes = [_core.Codes(order.n_rows, g.n_features, g.grid) for g in layout.groups]
        axes = [group.embedding.axes.core() for group in layout.groups]
        for rows, piece in X.chunks():
            places = order.of(rows)
            for group, ax, out in zip(layout.groups, axes, codes, strict=True):
                out.fill(as_dense(piece), group.features.astype(np.int64), places, ax, n_threads)
    pairs = zip(layout.groups, codes, strict=True)
    return [_core.coded_rows(out, group.embedding.axes.core()) for group, out in pairs]


def _values(X: Table, layout: Layout, order: _Order) -> list[_core.Rows]:
    numbers, array = order.place(np.arange(X.shape[0])), as_dense(X.whole())
    return [
        _core.value_rows(
            array, group.features.astype(np.int64), group.embedding.axes.core(), numbers
        )
        for group in layout.groups
    ]


def _nonzeros(X: Table, layout: Layout, order: _Order, plan: MemoryPlan) -> list[_core.Rows]:
    if plan.rows_per_block is not None:
        return [
            entries_on_disk(X, order.of, order.n_rows, group, plan.rows_per_block)
            for group in layout.groups
        ]
    numbers, matrix = order.place(np.arange(X.shape[0])), as_sparse(X.whole())

    def of_group(group: TermGroup) -> _core.Rows:
        here = csr_parts(group_columns(matrix, group))
        return _core.sparse_rows(*here, group.embedding.axes.core(), numbers)

    return [of_group(group) for group in layout.groups]


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
        # A stream of its own: data shuffled with the same seed must not come out in order.
        np.random.default_rng([seed, STREAM]).shuffle(shuffled)
        if kept is None:
            return cls(shuffled, n_rows)
        places = np.full(n, np.iinfo(dtype).max, dtype=dtype)
        places[kept] = shuffled
        return cls(places, n_rows)

    def of(self, rows: slice) -> NDArray[np.int64]:
        """Return the places of some rows, -1 for those that do not count."""
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
