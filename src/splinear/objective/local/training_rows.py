"""The training rows in the form that the core reads, prepared once for any number of problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.losses.curvature import Curvature
from splinear.model.information import Thinned
from splinear.model.layout import Layout
from splinear.model.scoring import group_columns
from splinear.objective.local.coding import code_rows, read_codes
from splinear.objective.local.disk import entries_on_disk
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.order import Order, divided, end_of_group, order_of
from splinear.objective.local.pair_rows import GridRows, PairRows, nearest_nodes, positions_of
from splinear.objective.loss_sums import LossSum
from splinear.objective.rows import ThinnedProducts
from splinear.tables.chunks import Chunk, as_dense, as_sparse, csr_parts
from splinear.tables.table import Table
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import Chain, PairGroup, chains_of, split_blocks

__all__ = [
    "TrainingRows",
    "ValuePiece",
    "all_scores",
    "all_sums",
    "nonzero_parts",
    "sample_rows",
    "takes_nonzeros",
    "value_parts",
]

COLUMNS_TO_HOLD = 50  # values per row from which on the rows' order is kept in memory

_PIECE, _SPARSE_PIECE = 2**15, 2**16  # rows per batch of X in full precision
EVENLY = 0.05  # of the mean of h, added to every h_i so that no row has probability 0


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of X with a positive weight, shuffled once so that passes may read them in order.

    Every value is rounded to one of at least 32,768 positions along its axis, a 16-bit code. This
    takes 2 bytes per value beyond X, in memory or in a file (4 for a category with more than 65,534
    levels). In a sparse X every non-zero takes 8 bytes, with its position in single precision. The
    effect of the rounding is measured on X itself, which `values` reads and `exactly` trains on.
    """

    parts: tuple[_core.Rows, ...]  # one per group of the layout
    layout: Layout
    kept: AnyArray | None  # (n_given,) whether each row has a positive weight; None if all have
    n_given: int  # number of rows of X
    seed: int
    n_values: int  # number of values read per pass
    is_coded: bool
    table: Table  # X itself
    plan: MemoryPlan = field(default_factory=MemoryPlan)
    row_groups: NDArray[np.intp] | None = None  # (n_given,) groups that the order keeps together
    n_first: int | None = None  # number of rows of a subset, see `first`
    pairs: PairRows | None = None  # the rows' positions on surfaces, if there are any
    _one_reader: Lock = field(default_factory=Lock, repr=False)
    _held: Order | None = field(default=None, repr=False)  # the order, if kept in memory
    is_here = True
    inverse = None  # solvers precondition these rows themselves

    @classmethod
    def prepare(
        cls,
        X: Table,
        layout: Layout,
        *,
        exact: bool = False,
        seed: int = 0,
        kept: AnyArray | None = None,
        weights: Floats | None = None,
        n_threads: int = 1,
        plan: MemoryPlan | None = None,
        row_groups: NDArray[np.intp] | None = None,
        by_content: bool = False,
    ) -> TrainingRows:
        """Return the rows of X as codes, in full precision if `exact`, or as non-zeros if sparse.

        For groups with gaps, the weighted mean m_j of the basis over the rows is stored in the
        layout. If `by_content`, the training order of a small table does not depend on the order of
        its rows.
        """
        plan, n = plan or MemoryPlan(), X.shape[0]
        order = order_of(X, kept, seed, row_groups, layout if by_content else None)
        nonzeros = takes_nonzeros(X, layout)
        is_coded = not nonzeros and not exact
        if nonzeros and not exact:
            parts = nonzero_parts(X, layout, order, plan)
        elif is_coded:
            codes = code_rows(X, layout, order, plan, n_threads)
            parts = read_codes(codes, layout)
        else:
            parts = value_parts(X.whole(), layout, order.place(np.arange(n)), nonzeros)
        per_row = X.values_per_row if nonzeros else sum(g.n_features for g in layout.groups)
        n_values = int(per_row * n)
        rows = cls(tuple(parts), layout, kept, n, seed, n_values, is_coded, X, plan, row_groups)
        # 4 bytes per row, little compared to the codes of many columns.
        if order.by_content or (not plan.is_bounded and n_values >= COLUMNS_TO_HOLD * n):
            rows = replace(rows, _held=order)
        return rows.with_gap_means(rows, weights, n_threads)

    def exactly(self) -> TrainingRows:
        """Return the same rows in full precision, in the same order, with all of X in memory."""
        numbers, whole = self.place(np.arange(self.n_given)), self.table.whole()
        parts = value_parts(whole, self.layout, numbers, takes_nonzeros(self.table, self.layout))
        return replace(
            self,
            parts=tuple(parts),
            is_coded=False,
            plan=replace(self.plan, rows_per_block=None),
            pairs=None if self.pairs is None else self.pairs.of_values(as_dense(whole), numbers),
        )

    def values(self, only: NDArray[np.bool_] | None = None) -> Iterator[ValuePiece]:
        """Yield X itself in full precision, in batches of rows, in the order of X.

        `only` (n_rows,) selects rows, in training order; None for all.
        """
        if only is not None:
            yield from self._pieces(only)
            return
        with self._one_reader:  # other threads wait for its result
            all_of_it = self._only_piece
        if all_of_it is None:
            yield from self._pieces()
        else:
            yield all_of_it

    @cached_property
    def _only_piece(self) -> ValuePiece | None:
        """A sparse X that fits into one batch, shared by all outputs; None if it does not."""
        if not takes_nonzeros(self.table, self.layout) or self.n_rows > self._piece_rows:
            return None
        first = next(self._pieces(), None)
        return first if first is not None and len(first.places) == self.n_rows else None

    @property
    def _piece_rows(self) -> int:
        # Batches must be small to save memory, but not so small that adding their sums is
        # expensive.
        least = _SPARSE_PIECE if takes_nonzeros(self.table, self.layout) else _PIECE
        return max(least, self.table.rows_of(2 * self.layout.n_parameters))

    def _pieces(self, only: NDArray[np.bool_] | None = None) -> Iterator[ValuePiece]:
        order, step = self.order(), self._piece_rows
        nonzeros = takes_nonzeros(self.table, self.layout)
        for rows, chunk in self.table.long_chunks():
            # Batches of sparse rows would each go through the whole chunk.
            for some in [rows] if nonzeros else divided(rows, 2 * step):
                places, begin = order.of(some), some.start - rows.start
                inside = np.arange(begin, begin + len(places))
                if self.kept is not None or only is not None:
                    there = places >= 0
                    if only is not None:
                        there[there] = only[places[there]]
                    places, inside = places[there], inside[there]
                for start in range(0, len(places), step):
                    here = slice(start, start + step)
                    yield self._piece(chunk, inside[here], places[here], nonzeros)

    def _piece(
        self, chunk: Chunk, numbers: AnyArray, places: AnyArray, nonzeros: bool
    ) -> ValuePiece:
        parts = value_parts(chunk, self.layout, numbers, nonzeros)
        pairs = zip(self.layout.groups, parts, strict=True)
        groups = [group.core(part) for group, part in pairs]
        own = None if self.pairs is None else self.pairs.of_values(as_dense(chunk), numbers)
        return ValuePiece(self.layout, groups, places, own)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows with a positive weight, or of rows in the subset."""
        if self.n_first is not None:
            return self.n_first
        return self.n_given if self.kept is None else int(np.count_nonzero(self.kept))

    @cached_property
    def groups(self) -> list[_core.Group]:
        """The compiled groups of the layout, on these rows."""
        pairs = zip(self.layout.groups, self.parts, strict=True)
        return [group.core(part) for group, part in pairs]

    def with_layout(self, layout: Layout) -> TrainingRows:
        """Return the rows with a layout of the same groups, with other variances or means."""
        return replace(self, layout=layout)

    def in_unit(self, unit: float, n_threads: int) -> tuple[list[_core.Group], AnyArray | None]:
        """Return the groups with embeddings divided by sqrt(unit), and the rows' squared norms.

        The squared norms of sparse rows are computed once for all outputs. Otherwise they are None,
        and the core computes them for each output and frees them after use; for rows on disk this
        takes a while, and can be interrupted.
        """
        with self._one_reader:  # other threads wait for its result
            if unit not in self._in_units:
                groups = self.with_layout(self.layout.scaled(1.0 / unit)).groups
                shares = takes_nonzeros(self.table, self.layout) and not self.is_on_disk
                norms = _core.squared_norms(groups, n_threads) if shares else None
                self._in_units[unit] = groups, norms
            return self._in_units[unit]

    @cached_property
    def _in_units(self) -> dict[float, tuple[list[_core.Group], AnyArray | None]]:
        return {}

    def placed(self, groups: tuple[PairGroup, ...], table: Table) -> PairRows:
        """Return the rows' positions on surfaces, from the values of a table."""
        chains = chains_of(groups)
        return PairRows(chains, positions_of(chains, table, self.order(), self.n_rows), groups)

    def nearest(self, chains: Sequence[Chain], table: Table, n: int) -> GridRows:
        """Return the cells of the first n rows on coarse grids, from the values of a table."""
        return GridRows(nearest_nodes(positions_of(chains, table, self.order(), n)))

    def with_pairs(self, layout: Layout, pairs: PairRows) -> TrainingRows:
        """Return the rows with a layout that has surfaces as well."""
        return replace(self, layout=layout, pairs=pairs)

    def without_pairs(self) -> TrainingRows:
        """Return the rows without surfaces."""
        return replace(self, layout=self.layout.with_pairs([]), pairs=None)

    def first(self, n: int) -> TrainingRows:
        """Return the first n rows, which are a sample, because rows are in random order."""
        if n >= self.n_rows:
            return self
        parts = tuple(_core.first_rows(part, n) for part in self.parts)
        n_values, pairs = self.n_values * n // self.n_rows, self.pairs and self.pairs.first(n)
        return replace(self, parts=parts, n_first=n, n_values=n_values, pairs=pairs)

    def n_whole(self, n: int) -> int:
        """Return the smallest number of first rows, at least n, that divides no group."""
        groups = self.row_groups
        return min(n, self.n_rows) if groups is None else end_of_group(self.place(groups), n)

    def some(self, numbers: AnyArray, n_threads: int = 1) -> TrainingRows:
        """Return the rows at these indices in training order, for passes over them.

        `place` and `restore` do not apply to them.
        """
        at = numbers.astype(np.int64)
        parts = tuple(_core.some_rows(part, at, n_threads) for part in self.parts)
        n, pairs = len(numbers), None if self.pairs is None else self.pairs.some(numbers)
        n_values = self.n_values * n // self.n_rows
        return replace(self, parts=parts, n_first=n, n_values=n_values, pairs=pairs)

    @property
    def n_sampled(self) -> int:
        """Largest number of rows of a proper sample."""
        return self.n_rows - 1

    def sampled(
        self, curvature: Curvature, n: int, n_threads: int = 1
    ) -> tuple[TrainingRows, Curvature]:
        """Return a sample of about n rows, and its second derivatives weighted to represent all.

        Rows are sampled by their contribution to the Hessian. If the model is certain about most
        rows, a few others make up nearly all of it.
        """
        numbers, weights = sample_rows(curvature.diagonal, n, self.is_on_disk, n_threads)
        some = self.first(n) if self.is_on_disk else self.some(numbers, n_threads)
        return some, curvature.some(numbers, weights)

    @property
    def value_price(self) -> float:
        """Cost of a value in a pass over the rows, in multiplications and additions."""
        return 2.0 if self.is_coded else 20.0

    def thinned(self, how: Thinned, n: int, n_threads: int) -> ThinnedProducts:
        """Return a function that computes matrices sum_i h_i t_i t_i' of several h (n,).

        t_i are the values of the thinned functions in row i of the first n, and a one.
        """
        groups, factors = self.first(n).groups, np.array(how.factors, dtype=np.int64)
        size = how.n_reached + 1

        def product(h: Floats) -> Floats:
            flat: Floats = _core.hessian_thinned(
                groups, factors, how.places, size, np.ascontiguousarray(h), 1.0, n_threads
            )
            return flat.reshape(size, size)

        return lambda weights: [product(h) for h in weights]

    def adopted(self, total: LossSum) -> LossSum:
        """Return a sum of losses unchanged, because these rows are in this process."""
        return total

    @property
    def is_on_disk(self) -> bool:
        """Whether the rows are in a file, with one block at a time in memory."""
        return self.plan.rows_per_block is not None

    def scores(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return sum_k f_k(x_i) for every output and row, (n_outputs, n_rows), in training order.

        `parameters` is (n_outputs, n_parameters).
        """
        return self.table_scores(self.layout.tables(parameters), n_threads)

    def table_scores(self, tables: Floats, n_threads: int = 1) -> Floats:
        """Return the scores for tables (n_outputs, n_parameters)."""
        return all_scores(self.groups, self.pairs, self.layout, tables, n_threads)

    def zero_scores(self, n_outputs: int) -> Floats:
        """Return the scores for parameters that are all 0."""
        return np.zeros((n_outputs, self.n_rows))

    def curved(
        self, parameters: Floats, h: Floats, n_threads: int = 1
    ) -> tuple[Floats, float, Floats]:
        """Return scores, a level and sums(h * scores) of one output's curves, in one call.

        The level is a constant, added to the scores, such that h * scores sums to 0 over rows.
        """
        tables = np.ascontiguousarray(self.layout.tables(parameters))
        scores, level, sums = _core.curved_sums(
            self.groups, tables[0], np.ascontiguousarray(h[0]), n_threads
        )
        return scores[None], level, self.layout.gather(sums[None])

    def sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the gradient of sum(R * scores) with respect to parameters, R (n_outputs, n)."""
        return self.layout.gather(self.raw_sums(R, n_threads))

    def raw_sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the gradient of sum(R * scores) with respect to the tables."""
        return all_sums(self.groups, self.pairs, R, n_threads)

    def blocks(self, H: Floats, n_threads: int = 1) -> list[list[Floats]]:
        """Return the curves' diagonal blocks of sum_i h_i B_i B_i', for each row h of H and group.

        Their bands have the shape (n_features, stride, support): entry [j, k, p] is that of
        functions k and k + p. The last k, for gaps, holds the sum of h over rows with a gap.
        """
        flat = _core.blocks_many(self.groups, np.ascontiguousarray(H), n_threads)
        return [split_blocks(own, self.layout.groups) for own in flat.reshape(len(H), -1)]

    def place(self, values: AnyArray) -> AnyArray:
        """Return values (n_given,), one per row of X, in training order, (n_rows,)."""
        return self.order().place(values)[: self.n_first]

    def restore(self, values: AnyArray) -> AnyArray:
        """Return values in the order of X, the inverse of `place`; 0 for rows of weight 0."""
        return self.order().restore(values)

    def order(self) -> Order:
        """Return the training order, which is drawn again unless it is kept in memory."""
        return self._held or Order.draw(self.n_given, self.kept, self.seed, self.row_groups)

    def holding_order(self) -> TrainingRows:
        """Return the rows with their order in memory, 4 bytes per row."""
        return replace(self, _held=self.order())

    def with_gap_means(
        self, over: TrainingRows, weights: Floats | None, n_threads: int
    ) -> TrainingRows:
        """Return the rows with m_j of groups that have gaps, computed over the rows `over`."""
        if not any(group.has_gaps for group in self.layout.groups):
            return self
        w = np.ones(self.n_rows) if weights is None else self.place(weights)
        sums = [
            _core.sum_all([own], w, n_threads).reshape(group.shape) if group.has_gaps else None
            for group, own in zip(self.layout.groups, over.groups, strict=True)
        ]
        return self.with_layout(self.layout.with_gap_means(sums, float(w.sum())))

    def on_values(self, parameters: Floats, R: Floats, n_threads: int) -> tuple[Floats, Floats]:
        """Return `scores` and `sums` for X in full precision, reading it once."""
        R = np.ascontiguousarray(R)
        F, sums = np.zeros_like(R), np.zeros_like(parameters)
        for piece in self.values():
            _core.put_rows(F, piece.places, piece.scores(parameters, n_threads), n_threads)
            sums += piece.sums(_core.take_rows(R, piece.places, n_threads), n_threads)
        return F, sums

    def weighted_first(self, weights: Floats | None, n: int) -> tuple[TrainingRows, Floats]:
        """Return the first n rows and their weights, or all rows if the n have no weight."""
        w = np.ones(self.n_rows) if weights is None else self.place(weights)
        if n < self.n_rows and w[:n].sum() > 0:
            return self.first(n), w[:n]
        return self, w


def sample_rows(h: Floats, n: int, in_order: bool, n_threads: int = 1) -> tuple[AnyArray, Floats]:
    """Return the indices of about n rows, and weights that make sums over them unbiased.

    Row i is taken with probability p_i = min(1, h_i / t), with t such that n rows are expected, and
    has the weight 1 / p_i. Because rows are in random order, it suffices to take those at which the
    cumulative sum of p passes an integer. If `in_order`, the first n rows are taken, all with the
    same weight. An h (n_outputs, n_rows) is summed over outputs.
    """
    h = h if h.ndim == 1 else h[0] if len(h) == 1 else h.sum(axis=0)
    if not in_order:
        numbers, weights = _core.sample_rows(np.ascontiguousarray(h), n, EVENLY, n_threads)
        if len(numbers):
            return numbers, weights
    return np.arange(n), np.full(n, len(h) / n)


def takes_nonzeros(X: Table, layout: Layout) -> bool:
    """Return whether only the non-zeros of rows are trained on."""
    return X.is_sparse and all(group.embedding.through_zero for group in layout.groups)


def value_parts(
    chunk: Chunk, layout: Layout, numbers: AnyArray, nonzeros: bool
) -> list[_core.Rows]:
    """Return the rows `numbers` of a chunk in full precision, as values or as non-zeros."""
    if nonzeros:
        return [_entries(as_sparse(chunk), group, numbers, exact=True) for group in layout.groups]
    array = as_dense(chunk)
    return [
        _core.value_rows(
            array, group.features.astype(np.int64), group.embedding.axes.core(), numbers
        )
        for group in layout.groups
    ]


def _entries(
    matrix: sparse.csr_array, group: TermGroup, numbers: AnyArray, *, exact: bool
) -> _core.Rows:
    here, embedding = csr_parts(group_columns(matrix, group)), group.embedding
    return _core.sparse_rows(*here, embedding.axes.core(), numbers, embedding.places(), exact)


def nonzero_parts(X: Table, layout: Layout, order: Order, plan: MemoryPlan) -> list[_core.Rows]:
    """Return the non-zeros of all rows in single precision, in memory or in files."""
    if plan.rows_per_block is not None:
        return [
            entries_on_disk(X, order.of, order.n_rows, group, plan.rows_per_block)
            for group in layout.groups
        ]
    numbers, matrix = order.place(np.arange(X.shape[0])), as_sparse(X.whole())
    return [_entries(matrix, group, numbers, exact=False) for group in layout.groups]


@dataclass(frozen=True, eq=False)
class ValuePiece:
    """A batch of rows of X in full precision, and their places in training order."""

    layout: Layout
    groups: list[_core.Group]
    places: NDArray[np.int64]
    pairs: PairRows | None

    def scores(self, parameters: Floats, n_threads: int) -> Floats:
        """Return the scores (n_outputs, n_rows of the batch); see TrainingRows.scores."""
        return self.table_scores(self.layout.tables(parameters), n_threads)

    def table_scores(self, tables: Floats, n_threads: int) -> Floats:
        """Return the scores for tables; see TrainingRows.table_scores."""
        return all_scores(self.groups, self.pairs, self.layout, tables, n_threads)

    def sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the sums for R (n_outputs, n_rows of the batch); see TrainingRows.sums."""
        return self.layout.gather(self.raw_sums(R, n_threads))

    def raw_sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the sums with respect to tables; see TrainingRows.raw_sums."""
        return all_sums(self.groups, self.pairs, R, n_threads)


def all_scores(
    groups: list[_core.Group],
    pairs: PairRows | None,
    layout: Layout,
    tables: Floats,
    n_threads: int,
) -> Floats:
    """Return the scores of curves and surfaces, (n_outputs, n_rows)."""
    n = layout.n_of_curves
    flat: Floats = _core.score_many(groups, np.ascontiguousarray(tables[:, :n]), n_threads)
    scores = flat.reshape(len(tables), -1)
    if pairs is not None:
        scores += pairs.scores(tables[:, n:], n_threads)
    return scores


def all_sums(
    groups: list[_core.Group], pairs: PairRows | None, R: Floats, n_threads: int
) -> Floats:
    """Return the gradient of sum(R * scores) with respect to tables, (n_outputs, n_parameters)."""
    flat: Floats = _core.sum_many(groups, np.ascontiguousarray(R), n_threads)
    sums = flat.reshape(len(R), -1)
    if pairs is None:
        return sums
    return np.concatenate([sums, pairs.sums(R, n_threads)], axis=1)
