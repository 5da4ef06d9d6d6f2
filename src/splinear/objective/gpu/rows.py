"""The training rows on a device, with the interface that Newton's method uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.losses.curvature import Curvature
from splinear.model.information import Thinned
from splinear.model.layout import Layout
from splinear.objective.gpu.arrays import RowArray, bare
from splinear.objective.gpu.backend import Backend, Cells, DeviceArray, Surfaces, is_supported
from splinear.objective.gpu.losses import on_device
from splinear.objective.gpu.pairs import DeviceGrids, DevicePairs
from splinear.objective.gpu.whole import Inverses
from splinear.objective.local.coding import copied_codes, read_codes
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.order import Order, end_of_group, order_of
from splinear.objective.local.pair_rows import nearest_nodes
from splinear.objective.loss_sums import LossSum
from splinear.objective.rows import Inverse, Rows, ThinnedProducts
from splinear.objective.space import Space
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table
from splinear.terms.pair_group import Chain, PairGroup

__all__ = ["DeviceRows", "can_hold", "in_memory_of", "thinned_products"]

ROOM = 3.0  # X is kept on the device if this many times its size is free
EXACTLY = 2**22  # rows whose exact positions on surfaces are stored at a time


def can_hold(table: Table, layout: Layout) -> bool:
    """Return whether a device can hold a table's rows: it is dense, and all terms have kernels."""
    return not table.is_sparse and all(map(is_supported, layout.groups))


def in_memory_of(backend: Backend, make: Callable[..., DeviceRows], *given: object) -> DeviceRows:
    """Return rows on a device; if they do not fit, raise a MemoryError that says so."""
    try:
        return make(backend, *given)
    except MemoryError as error:
        raise MemoryError(
            "The memory of the GPU is too small for the codes of the rows, 2 bytes per value: use "
            f"fewer rows, or device='cpu' ({error})."
        ) from error


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """`objective.local.training_rows.TrainingRows` for rows that a device holds.

    They are in the same random order, so that samples are the same. Arrays of one number per row
    are :class:`~splinear.objective.gpu.arrays.RowArray`. X itself is kept on the device too if it
    fits; otherwise it is copied again for the certificate, some rows at a time.
    """

    backend: Backend
    cells: tuple[Cells, ...]  # one per group of the layout
    layout: Layout
    places: Order
    n_given: int
    seed: int
    table: Table
    X: DeviceArray = None  # on the device; None if it does not fit
    is_coded: bool = True
    n_first: int | None = None
    plan: MemoryPlan = field(default_factory=lambda: MemoryPlan(holds_values=False))
    pairs: DevicePairs | None = None
    row_groups: AnyArray | None = None  # (n_given,) groups that the order keeps together
    inverses: Inverses = field(kw_only=True)

    is_here = False
    is_on_disk = False
    n_sampled = 0  # products with the Hessian use all rows
    value_price = 0.02  # relative cost of a value in a pass; 2 for the core

    @classmethod
    def prepare(
        cls,
        backend: Backend,
        table: Table,
        layout: Layout,
        *,
        seed: int,
        kept: AnyArray | None,
        weights: Floats | None,
        row_groups: AnyArray | None = None,
        by_content: bool = False,
    ) -> DeviceRows:
        """Copy the rows to the device and code them there, in the order of TrainingRows."""
        order = order_of(table, kept, seed, row_groups, layout if by_content else None)
        X = _whole(backend, table)
        cells = [backend.coded(group, order.n_rows) for group in layout.groups]
        for rows, piece in _pieces(backend, table, X):
            places = backend.array(order.of(rows))
            for own in cells:
                own.fill(piece, places)
        plan = MemoryPlan(holds_values=X is not None)
        found = cls(
            backend,
            tuple(cells),
            layout,
            order,
            table.shape[0],
            seed,
            table,
            X,
            plan=plan,
            row_groups=row_groups,
            inverses=Inverses(backend),
        )
        return found.with_gap_means(found, weights, 1)

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight, or of the sample."""
        return self.places.n_rows if self.n_first is None else self.n_first

    @property
    def n_values(self) -> int:
        """Number of values that a pass reads."""
        return self.n_rows * sum(group.n_features for group in self.layout.groups)

    @property
    def kept(self) -> AnyArray | None:
        """Mask of the rows of X that are trained on; None if all are."""
        whole = self.places.n_rows == self.n_given
        return None if whole else self.places.of(slice(0, self.n_given)) >= 0

    @cached_property
    def groups(self) -> list[_core.Group]:
        """The groups of the layout over a copy of these rows on the host, for the core."""
        if not self.is_coded:
            return self._coded().groups
        pairs = zip(self.layout.groups, self.cells, strict=True)
        codes = [copied_codes(own.codes(), group) for group, own in pairs]  # type: ignore[attr-defined]
        parts = zip(self.layout.groups, read_codes(codes, self.layout), strict=True)
        return [group.core(part) for group, part in parts]

    def _coded(self) -> DeviceRows:
        rows = DeviceRows.prepare(
            self.backend,
            self.table,
            self.layout,
            seed=self.seed,
            kept=self.kept,
            weights=None,
            row_groups=self.row_groups,
            by_content=self.places.by_content,
        )
        return rows.with_layout(self.layout).first(self.n_rows)

    def adopted(self, total: LossSum) -> LossSum:
        """Return a sum of losses as one over these rows, computed on the device."""
        return on_device(total, self.backend)

    def with_layout(self, layout: Layout) -> DeviceRows:
        """Return the same rows for a layout of the same groups."""
        return replace(self, layout=layout)

    def first(self, n: int) -> DeviceRows:
        """Return the first n rows alone; as rows are in random order, they are a sample."""
        if n >= self.n_rows:
            return self
        cells = tuple(own.first(n) for own in self.cells)
        return replace(self, cells=cells, n_first=n, pairs=self.pairs and self.pairs.first(n))

    def n_whole(self, n: int) -> int:
        """Return the smallest number of first rows, at least n, that divides no group."""
        groups = self.row_groups
        return min(n, self.n_rows) if groups is None else end_of_group(self.place(groups), n)

    def sampled(
        self, curvature: Curvature, n: int, n_threads: int = 1
    ) -> tuple[DeviceRows, Curvature]:
        """Return the first n rows, and their second derivatives weighted to represent all."""
        n = min(n, self.n_rows)
        return self.first(n), curvature.some(np.arange(n), np.full(n, self.n_rows / n))

    def exactly(self) -> DeviceRows:
        """Return the same rows in full precision, in the same order."""
        X = _whole(self.backend, self.table) if self.X is None else self.X
        numbers = self.places.place(np.arange(self.n_given))[: self.n_rows]
        ordered = X[self.backend.array(numbers)]
        cells = tuple(self.backend.valued(group, ordered) for group in self.layout.groups)
        pairs = self.pairs and self.pairs.of_values(ordered)
        inverses = Inverses(self.backend)
        return replace(self, cells=cells, is_coded=False, pairs=pairs, inverses=inverses)

    def placed(self, groups: tuple[PairGroup, ...], table: Table) -> DevicePairs:
        """Return the rows' positions on surfaces; the table is that of these rows."""
        assert table is self.table
        try:
            pairs = DevicePairs.of(self.backend, groups, self.n_rows)
            self._fill(pairs.surfaces)
        except MemoryError as error:
            raise MemoryError(
                "The memory of the GPU is too small for surfaces, 4 bytes per row and feature that "
                f"has one: use fewer rows or pairs, or device='cpu' ({error})."
            ) from error
        return pairs

    def nearest(self, chains: Sequence[Chain], table: Table, n: int) -> DeviceGrids:
        """Return the grid cells of the first n rows; the table is that of these rows."""
        assert table is self.table
        surfaces = self.backend.surfaces(chains, np.zeros((0, 4), dtype=np.int64), n)
        self._fill(surfaces)
        return DeviceGrids(self.backend, nearest_nodes(surfaces.positions))

    def _fill(self, surfaces: Surfaces) -> None:
        for rows, piece in _pieces(self.backend, self.table, self.X):
            surfaces.fill(piece, self.backend.array(self.places.of(rows)))

    def with_pairs(self, layout: Layout, pairs: DevicePairs) -> DeviceRows:
        """Return the same rows for a layout with surfaces."""
        return replace(self, layout=layout, pairs=pairs)

    def without_pairs(self) -> DeviceRows:
        """Return the same rows without surfaces."""
        return replace(self, layout=self.layout.with_pairs([]), pairs=None)

    def scores(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return the scores of all rows, (n_outputs, n_rows)."""
        del n_threads
        return self._wrapped(_scores(self.cells, self.pairs, self.layout, parameters))

    def zero_scores(self, n_outputs: int) -> Floats:
        """Return the scores of a model with zero parameters, (n_outputs, n_rows)."""
        return self._wrapped(self.backend.zeros((n_outputs, self.n_rows)))

    def sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the gradient of sum(R * scores) with respect to the parameters."""
        return self.layout.gather(self.raw_sums(R, n_threads))

    def raw_sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the gradient of sum(R * scores) with respect to the tables."""
        del n_threads
        return self.backend.numpy(_sums(self.cells, self.pairs, bare(R, self.backend)))

    def blocks(self, H: Floats, n_threads: int = 1) -> list[list[Floats]]:
        """Return the curves' diagonal blocks of sum_i h_i B_i B_i', for each row h of H and group.

        They are bands (n_features, stride, support), on the host.
        """
        del n_threads
        there = _rows_first(self.cells[0], bare(H, self.backend))
        parts = [own.blocks(there) for own in self.cells]
        flat = [part.reshape(len(there), -1) for part in parts]
        found = self.backend.numpy(flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1))
        ends = np.cumsum([part.shape[1] for part in flat])[:-1]
        shapes = [part.shape[1:] for part in parts]
        return [
            [part.reshape(shape) for part, shape in zip(np.split(own, ends), shapes, strict=True)]
            for own in found
        ]

    def inverse(
        self, space: Space, curvature: Curvature, blocks: list[list[Floats]]
    ) -> Inverse | None:
        """Return the inverse of each output's Hessian, computed on the device from first rows."""
        if self.pairs is None:
            return self.inverses.at(self.cells, space, curvature, blocks)
        of_curves = space.over(cast(Rows, self.without_pairs()))
        return self.inverses.at(self.cells, of_curves, curvature, blocks, steps=False)

    def thinned(self, how: Thinned, n: int, n_threads: int) -> ThinnedProducts:
        """Return a function that computes matrices sum_i h_i t_i t_i' of several h (n,).

        t_i are the values of the thinned functions in row i, and a one.
        """
        del n_threads
        return thinned_products(self.backend, [own.first(n) for own in self.cells], how)

    def on_values(self, parameters: Floats, R: Floats, n_threads: int) -> tuple[Floats, Floats]:
        """Return `scores` and `sums` for X without rounding, reading it once."""
        del n_threads
        backend, there = self.backend, bare(R, self.backend)
        F, sums = backend.zeros(tuple(there.shape)), backend.zeros(parameters.shape)
        most = None if self.pairs is None else EXACTLY
        for rows, piece in _pieces(backend, self.table, self.X, most):
            places = self.places.of(rows)
            if self.places.n_rows < self.n_given:
                counts = np.flatnonzero(places >= 0)
                piece, places = piece[backend.array(counts)], places[counts]
            at = backend.array(places)
            own, cells, pairs = there[:, at], *self._exact(piece)
            F[:, at] = _scores(cells, pairs, self.layout, parameters)
            counts = np.flatnonzero((own != 0.0).any(axis=0))
            if 2 * len(counts) < len(piece):  # the hinge's dual variables are mostly 0
                own, (cells, pairs) = own[:, counts], self._exact(piece[counts])
            sums += _sums(cells, pairs, own)
        return self._wrapped(F), self.layout.gather(backend.numpy(sums))

    def _exact(self, X: DeviceArray) -> tuple[list[Cells], DevicePairs | None]:
        """Return the rows of X for curves and for surfaces, in full precision."""
        cells = [self.backend.valued(group, X) for group in self.layout.groups]
        return cells, self.pairs and self.pairs.of_values(X)

    def place(self, values: AnyArray) -> AnyArray:
        """Return values (n_given,), one per row of X, in training order, on the host."""
        return self.places.place(values)[: self.n_first]

    def restore(self, values: AnyArray) -> AnyArray:
        """Return values in the order of X, the inverse of `place`; 0 for rows of weight 0."""
        return self.places.restore(np.asarray(values))

    def order(self) -> Order:
        """Return the training order."""
        return self.places

    def weighted_first(self, weights: Floats | None, n: int) -> tuple[DeviceRows, Floats]:
        """Return all rows and their weights, because a pass over all costs little."""
        del n
        return self, np.ones(self.n_rows) if weights is None else self.place(weights)

    def with_gap_means(
        self, over: DeviceRows, weights: Floats | None, n_threads: int
    ) -> DeviceRows:
        """Return the rows with m_j of groups that have missing values, computed over `over`."""
        if not any(group.has_gaps for group in self.layout.groups):
            return self
        w = np.ones(self.n_rows) if weights is None else self.place(weights)
        sums = self.layout.split(over.raw_sums(w[None], n_threads)[0])
        pairs = zip(self.layout.groups, sums, strict=True)
        own = [part if group.has_gaps else None for group, part in pairs]
        return self.with_layout(self.layout.with_gap_means(own, float(w.sum())))

    def _wrapped(self, values: Any) -> Floats:
        return cast(Floats, RowArray(values, self.backend))


def _scores(
    cells: Sequence[Cells], pairs: DevicePairs | None, layout: Layout, parameters: Floats
) -> DeviceArray:
    tables = layout.tables(parameters)
    found = None if pairs is None else pairs.scores(tables[:, layout.n_of_curves :])
    for own, table in zip(cells, layout.split(tables), strict=True):
        found = own.scores(np.ascontiguousarray(table), found)
    return found


def _sums(cells: Sequence[Cells], pairs: DevicePairs | None, R: DeviceArray) -> DeviceArray:
    """Return the sums of R over rows by the entries of tables, of curves and then of surfaces."""
    of_surfaces = [] if pairs is None else [pairs.surfaces.sums(R)]
    laid = _rows_first(cells[0], R)
    of_curves = [own.sums(laid).reshape(len(R), -1) for own in cells]
    return np.concatenate([*of_curves, *of_surfaces], axis=1)


def _rows_first(cells: Cells, R: DeviceArray) -> DeviceArray:
    """Return R (n_outputs, n_rows) in the order and type that passes read, for all groups."""
    return R.astype(cells.real, order="F", copy=False)


def _whole(backend: Backend, table: Table) -> Any:
    """Return X on the device; None if it does not fit, or is on disk."""
    on_device = getattr(table, "on_device", None)
    if on_device is not None:
        return on_device
    free = backend.free_bytes()
    n_bytes = table.shape[0] * table.shape[1] * table.dtype.itemsize
    if table.is_on_disk or (free is not None and ROOM * n_bytes > free):
        return None
    return backend.array(as_dense(table.whole()))


def _pieces(
    backend: Backend, table: Table, X: Any, most: int | None = None
) -> Iterator[tuple[slice, Any]]:
    """Yield slices of rows and their values on the device.

    If X is on the device, they are slices of at most `most` rows; otherwise the table's chunks.
    """
    if X is not None:
        n = table.shape[0]
        for start in range(0, n, most or n):
            rows = slice(start, min(start + (most or n), n))
            yield rows, X[rows]
        return
    for rows, chunk in table.chunks():
        yield rows, backend.array(as_dense(chunk))


def thinned_products(backend: Backend, cells: Sequence[Cells], how: Thinned) -> ThinnedProducts:
    """Return a function that computes matrices sum_i h_i t_i t_i' of several h (n_rows,).

    t_i are the values of the thinned functions in row i, without those that no row reaches, and a
    one.
    """
    parts = [own.expanded(_maps(how, g)) for g, own in enumerate(cells)]
    parts.append(backend.array(np.ones((cells[0].n_rows, 1), dtype=parts[0].dtype)))
    reached = np.flatnonzero(np.append(how.places >= 0, True))
    A = np.concatenate(parts, axis=1)[:, backend.array(reached)]

    def products(weights: Iterable[Floats]) -> list[Floats]:
        there = (bare(h, backend).astype(A.dtype)[:, None] for h in weights)
        found = np.stack([A.T @ (A * h) for h in there])
        return list(np.asarray(backend.numpy(found), dtype=np.float64))

    return products


def _maps(how: Thinned, g: int) -> Floats:
    """Return the matrices from group g's functions to its thinned ones.

    They are (n_features, stride, n_kept), or n_kept + 1 with the indicator of missing values last.
    """
    group, P = how.layout.groups[g], how.basis(g)
    size, n_kept = P.shape
    one = np.zeros((group.stride, n_kept + group.has_gaps))
    one[:size, :n_kept] = P
    if group.has_gaps:
        one[-1, -1] = 1.0
    return np.ascontiguousarray(np.broadcast_to(one, (group.n_features, *one.shape)))
