"""The backend in NumPy, with surfaces over pairs of features: slow and plain, for tests."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.objective.gpu.backend import Grid
from splinear.objective.gpu.plain_classes import (
    bent_classes,
    bent_diagonals,
    diverging_classes,
    raised_costs,
    shifted_classes,
    soft_classes,
    summed_moments,
)
from splinear.objective.local.pair_rows import MOST_CELLS, standardized
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import N_BANDS, Chain

__all__ = ["CoreSurfaces", "NumPyBackend", "NumPySurfaces", "grid_evidence"]

Own = TypeVar("Own", bound="NumPySurfaces")

CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))  # of a cell


@dataclass(frozen=True, eq=False)
class NumPySurfaces:
    """Surfaces, and the rows' positions on their chains; see `backend.Surfaces`."""

    chains: tuple[Chain, ...]
    table: AnyArray  # (n_surfaces, 4): the indices of two chains, then their numbers of nodes
    positions: AnyArray  # (n_chains, n_rows)

    @classmethod
    def empty(
        cls: type[Own], chains: Sequence[Chain], table: AnyArray, n_rows: int, *, exact: bool
    ) -> Own:
        """Return surfaces for n_rows rows, whose positions are still to be set."""
        dtype = np.float64 if exact else np.float32
        return cls(tuple(chains), table, np.zeros((len(chains), n_rows), dtype=dtype))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.positions.shape[1])

    def over(self: Own, n_rows: int, *, exact: bool) -> Own:
        """Return the same surfaces for n_rows other rows, whose positions are still to be set."""
        return type(self).empty(self.chains, self.table, n_rows, exact=exact)

    def first(self: Own, n: int) -> Own:
        """Return the first n rows."""
        return replace(self, positions=np.ascontiguousarray(self.positions[:, :n]))

    def fill(self, X: AnyArray, places: AnyArray | None = None) -> None:
        """Store the position of row i of X at index places[i] (i if places is None)."""
        places = np.arange(len(X)) if places is None else places
        there = (places >= 0) & (places < self.n_rows)
        for to, chain in zip(self.positions, self.chains, strict=True):
            to[places[there]] = chain.positions(np.asarray(X)[there, chain.feature])

    def scores(self, tables: Floats) -> Floats:
        """Return the sum of all surfaces with tables (n_outputs, n_nodes): (n_outputs, n_rows)."""
        out = np.zeros((len(tables), self.n_rows))
        for nodes, weights in self._cells():
            for node, w in zip(nodes, weights, strict=True):
                out += w * tables[:, node]
        return out

    def sums(self, R: Floats) -> Floats:
        """Return the sums of R over the nodes of all surfaces, (n_outputs, n_nodes)."""
        out = np.zeros((len(R), self._n_nodes))
        for nodes, weights in self._cells():
            for node, w in zip(nodes, weights, strict=True):
                np.add.at(out.T, node, (w * R).T)
        return out

    def blocks(self, H: Floats) -> Floats:
        """Return the diagonal blocks of sum_i h_i B_i B_i' as bands, (n_outputs, n_nodes, 5)."""
        out = np.zeros((len(H), self._n_nodes, N_BANDS))
        for nodes, weights in self._cells():
            for a, (row, column) in enumerate(CORNERS):
                for b, (other_row, other_column) in enumerate(CORNERS[a:], start=a):
                    across = other_column - column
                    band = across if row == other_row else 3 + across
                    products = weights[a] * weights[b] * H
                    np.add.at(out[:, :, band].T, nodes[a], products.T)
        return out

    @property
    def _n_nodes(self) -> int:
        return int((self.table[:, 2] * self.table[:, 3]).sum())

    def _cells(self) -> Iterator[tuple[list[AnyArray], list[Floats]]]:
        """Yield, per surface, the nodes and weights of the four corners of every row's cell."""
        start = 0
        for first, second, n_first, n_second in self.table:
            p, q = self.positions[[first, second]].astype(np.float64)
            there = (p >= 0) & (q >= 0)
            k = np.clip(p.astype(np.intp), 0, n_first - 2)
            m = np.clip(q.astype(np.intp), 0, n_second - 2)
            along, across = p - k, q - m
            nodes = [start + (k + r) * n_second + (m + c) for r, c in CORNERS]
            weights = [
                np.where(there, (along if r else 1 - along) * (across if c else 1 - across), 0.0)
                for r, c in CORNERS
            ]
            yield nodes, weights
            start += n_first * n_second


@dataclass(frozen=True, eq=False)
class CoreSurfaces(NumPySurfaces):
    """The same surfaces, computed by the core."""

    def scores(self, tables: Floats) -> Floats:
        """Return the sum of all surfaces."""
        return self._twin.score(np.ascontiguousarray(tables), 1)

    def sums(self, R: Floats) -> Floats:
        """Return the sums of R over the nodes of all surfaces."""
        return self._twin.sum(np.ascontiguousarray(R), 1)

    def blocks(self, H: Floats) -> Floats:
        """Return the diagonal blocks of sum_i h_i B_i B_i' as bands."""
        return self._twin.blocks(np.ascontiguousarray(H), 1).reshape(len(H), -1, N_BANDS)

    @property
    def _twin(self) -> _core.Surfaces | _core.ExactSurfaces:
        kind = _core.Surfaces if self.positions.dtype == np.float32 else _core.ExactSurfaces
        return kind(self.positions, np.ascontiguousarray(self.table, dtype=np.int64))


def grid_evidence(cells: AnyArray, G: Floats, H: Floats, pairs: AnyArray) -> Floats:
    """Return the evidence for interactions of pairs, (n_outputs, n_pairs)."""
    n, side = len(G), MOST_CELLS
    out = np.zeros((n, len(pairs)))
    for k, (first, second) in enumerate(pairs):
        at, sums = cells[first].astype(np.intp) * side + cells[second], np.zeros((2 * n, side**2))
        np.add.at(sums.T, at, np.concatenate([G, H]).T)
        out[:, k] = standardized(sums[:n], sums[n:])
    return out


class NumPyBackend:
    """NumPy arrays; see `backend.Backend` for the methods."""

    name = "numpy"

    @property
    def place(self) -> Hashable:
        """None, because there is a single device."""
        return None

    def array(self, values: AnyArray) -> AnyArray:
        """Return the array itself."""
        return np.asarray(values)

    def numpy(self, array: AnyArray) -> AnyArray:
        """Return the array itself."""
        return np.asarray(array)

    def zeros(self, shape: tuple[int, ...]) -> Floats:
        """Return an array of zeros."""
        return np.zeros(shape)

    def coded(self, group: TermGroup, n_rows: int) -> NumPyCells:
        """Return an array for the codes of n_rows rows, to be set by `fill`."""
        dtype = np.uint32 if Grid.of(group).is_wide else np.uint16
        codes = np.zeros((n_rows, group.n_features), dtype=dtype)
        return NumPyCells(group, np.empty((n_rows, group.n_features)), codes)

    def valued(self, group: TermGroup, X: AnyArray) -> NumPyCells:
        """Return the rows of X as values."""
        return NumPyCells(group, np.asarray(X)[:, group.features].astype(np.float64))

    def curves(self, group: TermGroup, tables: Floats) -> NumPyCurves:
        """Return the curves of a group."""
        return NumPyCurves(group, tables)

    def surfaces(
        self, chains: Sequence[Chain], table: AnyArray, n_rows: int, *, exact: bool = False
    ) -> NumPySurfaces:
        """Return surfaces for n_rows rows, whose positions are still to be set."""
        return NumPySurfaces.empty(chains, table, n_rows, exact=exact)

    def pair_evidence(self, cells: AnyArray, G: Floats, H: Floats, pairs: AnyArray) -> Floats:
        """Return the evidence for interactions of pairs."""
        return grid_evidence(cells, G, H, pairs)

    def grams(self, A: Floats, weights: Floats) -> Floats:
        """Return A' diag(w) A for each row w of the weights."""
        return np.stack([A.T @ (w[:, None] * A) for w in weights])

    def inverse_factors(self, H: Floats) -> Floats:
        """Return L^{-1} of matrices H = L L'; not finite if a matrix has no such L."""
        out = np.full(H.shape, np.nan)
        for own, to in zip(H, out, strict=True):
            L, failed = dpotrf(own, lower=1)
            if not failed:
                to[:] = dtrtri(L, lower=1)[0]
        return out

    def twice(self, factors: Floats, vectors: Floats) -> Floats:
        """Return M'M v for matrices M (n, m, m) and vectors v (n, m)."""
        half = (factors @ vectors[:, :, None])[:, :, 0]
        return np.asarray((half[:, None, :] @ factors)[:, 0])

    def classes(self, F: Floats, labels: AnyArray, *, minus: bool = False) -> tuple[Floats, Floats]:
        """Return the softmax of F, and the log-probabilities of the labels."""
        return soft_classes(F, labels, np.arange(len(labels)), minus)

    def class_moments(self, F: Floats, shift: Floats, cost: Floats) -> Floats:
        """Return sums over rows of probabilities and of their products."""
        return np.asarray(summed_moments(F, shift, cost))

    def class_shift(self, F: Floats, cost: Floats, of_classes: Floats) -> Floats:
        """Return the shift of all classes' scores that minimizes the loss."""
        return shifted_classes(partial(summed_moments, F, cost=cost), of_classes)

    def class_bends(
        self, p: Floats, cost: Floats, V: Floats, extra: Floats | None = None
    ) -> Floats:
        """Return the product of the softmax loss's second derivatives and V."""
        return np.asarray(bent_classes(p, cost, V, extra))

    def class_diagonals(self, p: Floats, cost: Floats, extra: Floats | None = None) -> Floats:
        """Return the diagonal of the softmax loss's second derivatives."""
        return np.asarray(bent_diagonals(p, cost, extra))

    def cautious_costs(self, p: Floats, own: Floats, cost: Floats) -> Floats:
        """Return costs, raised where a label is unlikely."""
        return np.asarray(raised_costs(p, own, cost))

    def class_divergence(
        self, F: Floats, R: Floats, labels: AnyArray, cost: Floats, rounding: float
    ) -> float:
        """Return the divergence between the probabilities given by R and those of scores F."""
        return diverging_classes(F, R, labels, np.arange(len(labels)), cost, rounding)

    def free_bytes(self) -> int | None:
        """Return None, because memory need not be checked."""
        return None


@dataclass(frozen=True, eq=False)
class NumPyCurves:
    """The curves of a group."""

    group: TermGroup
    tables: Floats

    def scores(self, X: AnyArray) -> Floats:
        """Return the scores (n_outputs, n_rows), NaN for rows with an infinite value."""
        values = np.asarray(X)[:, self.group.features].astype(np.float64)
        gaps = np.isnan(values)
        B = self.group.embedding.basis.evaluate(
            self.group.embedding.axes.argument(np.nan_to_num(values))
        )
        if self.tables.shape[2] > self.group.size:
            B = _with_gaps(B, gaps)
        found = np.einsum("ijs,kjs->ki", B, self.tables)
        return np.where(np.isinf(values).any(axis=1), np.nan, found)


def _with_gaps(B: Floats, gaps: AnyArray) -> Floats:
    """Return B (n_rows, n_features, size) with the indicator of missing values appended."""
    return np.concatenate([np.where(gaps[..., None], 0.0, B), gaps[..., None]], axis=2)


@dataclass(frozen=True, eq=False)
class NumPyCells:
    """The values (n_rows, n_features) of a group's features, or their codes."""

    group: TermGroup
    X: Floats
    coded: AnyArray | None = None

    real = np.dtype(np.float64)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    def fill(self, X: AnyArray, places: AnyArray) -> None:
        """Store row i of X, coded, at index places[i]; skip rows with a negative index."""
        assert self.coded is not None
        grid, counts = Grid.of(self.group), places >= 0
        values = np.asarray(X)[:, self.group.features].astype(np.float64)[counts]
        t = self.group.embedding.axes.argument(np.nan_to_num(values))
        axes = self.group.embedding.axes
        steps = (t - axes.first) * grid.density(self.group) + grid.rounding
        codes = np.minimum(steps, grid.last).astype(self.coded.dtype)
        if grid.gap_code >= 0:
            codes[np.isnan(values)] = grid.gap_code
        self.coded[places[counts]] = codes

    def codes(self) -> AnyArray:
        """Return the codes."""
        assert self.coded is not None
        return self.coded

    def first(self, n: int) -> NumPyCells:
        """Return the first n rows."""
        return self.some(np.arange(n))

    def some(self, numbers: AnyArray) -> NumPyCells:
        """Return the rows at these indices."""
        coded = None if self.coded is None else self.coded[numbers]
        return replace(self, X=self.X[numbers], coded=coded)

    def expanded(self, maps: Floats) -> Floats:
        """Return the functions of all features times maps, (n_rows, n_features * n)."""
        found = np.einsum("ijs,jsn->ijn", self._functions(), maps)
        return np.asarray(found.reshape(self.n_rows, -1))

    def scores(self, tables: Floats, to: Floats | None = None) -> Floats:
        """Return the scores (n_outputs, n_rows), added to `to` if it is given."""
        found = np.einsum("ijs,kjs->ki", self._functions(), tables)
        return np.asarray(found) if to is None else np.add(to, found, out=to)

    def sums(self, R: Floats) -> Floats:
        """Return sums of functions over rows, (n_outputs, n_features, stride)."""
        return np.asarray(np.einsum("ki,ijs->kjs", R, self._functions()))

    def blocks(self, H: Floats) -> Floats:
        """Return sums of products over rows as bands, (n_outputs, n_features, stride, support)."""
        B, n = self._functions(), self.group.embedding.basis.support
        out = np.zeros((len(H), *self.group.shape, n))
        for p in range(n):
            some = B.shape[2] - p
            products = B[:, :, :some] * B[:, :, p:]
            out[:, :, :some, p] = np.einsum("ki,ijs->kjs", H, products)
        return out

    def _functions(self) -> Floats:
        """Return the values of all functions, (n_rows, n_features, stride)."""
        group, axes = self.group, self.group.embedding.axes
        if self.coded is None:
            gaps, t = np.isnan(self.X), axes.argument(np.nan_to_num(self.X))
        else:
            grid = Grid.of(group)
            gaps = self.coded == grid.gap_code
            t = axes.first + np.where(gaps, 0, self.coded) / grid.density(group)
        B = group.embedding.basis.evaluate(t)
        return _with_gaps(B, gaps) if group.has_gaps else B
