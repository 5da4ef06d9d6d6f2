"""Shape constraints (monotone, convex, concave) as linear inequalities of the parameters.

If a constrained feature also has surfaces W_p (see PairGroup), the constraint is on the sum: c(x) +
sum_p T_p(x, z_p) must have the form in x for all z_p. As a function of x, T_p = W_p - a_p 1' - 1
b_p' is W_p - a_p up to a constant. So it is sufficient that every column of every W_p has the form,
and that

    c - sum_p a_p

has it too. This is also necessary: a function of x can be moved from the curve to W_p, and if W_p
is left with as little of it as possible, then in each piece of x some column is just at the
boundary of the constraint. The pieces of a surface are unions of pieces of the curve (see
`splinear.solvers.pairs.held`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import SuperLU, splu

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.model.nonnegative import Metric, inverted
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import PairGroup

__all__ = ["Cone", "cone_of"]

CHUNK = 64  # columns solved for per batch

Inverse = Callable[[Floats], Floats]


@dataclass(frozen=True)
class _Surface:
    """Surface p of a group, whose parameters begin at `start`."""

    start: int
    group: PairGroup
    p: int

    @property
    def places(self) -> NDArray[np.intp]:
        """Indices of its parameters in the flat vector, (m1, m2)."""
        at = self.start + np.arange(self.group.size, dtype=np.intp)
        return at.reshape(self.group.n_nodes)


@dataclass(frozen=True)
class _Term:
    """Constrained curve j of a group, whose parameters begin at `start`, and its surfaces."""

    start: int
    group: TermGroup
    j: int
    surfaces: tuple[_Surface, ...]


@dataclass(frozen=True, eq=False)
class Cone:
    """The set of parameters theta with A theta >= 0, the same for every output.

    A holds some rows of an invertible matrix B, so that z = B theta are coordinates of which the
    `bounded` ones are nonnegative.

    Attributes
    ----------
    B : sparse array of shape (n_parameters, n_parameters)
        Invertible. Rows of parameters that are not constrained are those of the identity.
    bounded : ndarray of shape (n_bounded,)
        Indices of the nonnegative coordinates z.
    blocks : ndarray of shape (n_bounded,)
        The index in `terms` of the curve that each inequality belongs to; the inequalities of
        surfaces belong to their curve.
    terms : tuple of _Term
        The constrained curves.
    """

    B: sparse.csr_array
    bounded: NDArray[np.intp]
    blocks: NDArray[np.intp]
    terms: tuple[_Term, ...]

    @cached_property
    def inequalities(self) -> sparse.csr_array:
        """A, (n_bounded, n_parameters)."""
        return self.B[self.bounded]

    @cached_property
    def has_surfaces(self) -> bool:
        """Whether any constrained curve has surfaces."""
        return any(term.surfaces for term in self.terms)

    def slack(self, parameters: Floats) -> Floats:
        """Return A theta, (n_outputs, n_bounded), for parameters (n_outputs, n_parameters)."""
        return np.asarray((self.inequalities @ parameters.T).T)

    def with_slack(self, parameters: Floats, slacks: Floats) -> Floats:
        """Return the parameters with A theta = slacks, and the other coordinates unchanged."""
        z = self.B @ parameters.T
        z[self.bounded] = slacks.T
        return np.asarray(self._factored.solve(z).T)

    @cached_property
    def _factored(self) -> SuperLU:
        return splu(self.B.tocsc())

    def pull(self, multipliers: Floats) -> Floats:
        """Return A'm, (n_outputs, n_parameters), for multipliers (n_outputs, n_bounded)."""
        return np.asarray((self.inequalities.T @ multipliers.T).T)

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """The indices of the inequalities of each block."""
        order = np.argsort(self.blocks, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.blocks[order])) + 1)

    def metric(self, inverses: Sequence[Inverse]) -> Metric:
        """Return (A M^{-1} A')^{-1} for each output.

        Each inverse multiplies rows (n, n_parameters) by M^{-1}. M must not couple different
        blocks. This allows the k-th columns of all blocks to be computed together.
        """
        return Metric([self._blocks_of(inverse, self.places) for inverse in inverses])

    def whole_metric(self, inverses: Sequence[Inverse]) -> Metric:
        """Return (A M^{-1} A')^{-1} for M that couples all terms."""
        whole = [np.arange(len(self.bounded))]
        return Metric([self._blocks_of(inverse, whole) for inverse in inverses])

    def _blocks_of(
        self, inverse: Inverse, places: list[NDArray[np.intp]]
    ) -> list[tuple[NDArray[np.intp], Floats]]:
        sizes = [len(at) for at in places]
        column = np.empty(len(self.bounded), dtype=np.intp)  # each inequality's index in its block
        column[np.concatenate(places)] = np.concatenate([np.arange(n) for n in sizes])
        at = (column, np.arange(len(column)))
        ones = sparse.csr_array((np.ones(len(column)), at), shape=(max(sizes), len(column)))
        sums, products = ones @ self.inequalities, np.empty((max(sizes), len(column)))
        for first in range(0, max(sizes), CHUNK):
            some = slice(first, first + CHUNK)
            products[some] = self.slack(inverse(sums[some].toarray()))
        return [(at, inverted(products[: len(at), at])) for at in places]

    def joint_metric(self, matrices: Sequence[Floats], used: NDArray[np.intp]) -> Metric:
        """Return (A M^{-1} A')^{-1} for each output's M, a matrix over the parameters in `used`.

        M may have further rows and columns after these, for unconstrained variables.
        """
        rows, at = np.arange(len(self.bounded)), np.searchsorted(used, self.bounded)
        outputs = []
        for M in matrices:
            half = np.ascontiguousarray(self._pulled(M, used, self.terms).T)
            outputs.append([(rows, _reduced(self._pulled(half, used, self.terms), at))])
        return Metric(outputs)

    @cached_property
    def penalty_metric(self) -> Metric:
        """(A S^{-1} A')^{-1} with S the matrix of the penalty, shared by all outputs.

        For curves it is computed from S, and not from its inverse, which is far less accurate.
        """
        blocks = []
        for term, places in zip(self.terms, self.places, strict=True):
            of_block = self._of_surfaces if term.surfaces else self._of_curve
            blocks.append((places, of_block(term, places)))
        return Metric([blocks])

    def _of_curve(self, term: _Term, places: NDArray[np.intp]) -> Floats:
        used = term.start + np.flatnonzero(term.group.used[term.j])
        one = term.group.of_features(np.array([term.j]))
        S = one.stiffen(np.eye(one.stride)[:, None, :])[:, 0]
        S = S[np.ix_(used - term.start, used - term.start)]
        H = self._pulled(self._pulled(S, used, [term]).T, used, [term])
        return _reduced(H, np.searchsorted(used, self.bounded[places]))

    def _of_surfaces(self, term: _Term, places: NDArray[np.intp]) -> Floats:
        A, one = self.inequalities[places], term.group.of_features(np.array([term.j]))
        own = A[:, term.start : term.start + one.stride].toarray()
        products = own @ one.soften(own[:, None])[:, 0].T
        for surface in term.surfaces:
            alone = surface.group.of_features(np.array([surface.p]))
            own = A[:, surface.start : surface.start + alone.size].toarray()
            products += own @ alone.soften(own[:, None])[:, 0].T
        return inverted(products)

    def _pulled(self, gradient: Floats, used: NDArray[np.intp], terms: Sequence[_Term]) -> Floats:
        """Return B^{-T} g for gradients g (n_used, m) with respect to the parameters in `used`.

        There may be further rows after these, which are left as they are.
        """
        out = gradient.copy()
        for term in terms:
            widths, form = term.group.form_widths[term.j], term.group.form
            assert form is not None
            first, last = np.searchsorted(used, [term.start, term.start + len(widths) + 1])
            whole = np.zeros((len(widths) + 1, gradient.shape[1]))
            places = used[first:last] - term.start
            whole[places] = gradient[first:last]
            out[first:last] = form.pulled(whole, widths)[places]
        return out

    def snapped(self, parameters: Floats) -> Floats:
        """Return parameters that are in the cone up to rounding, moved inside it."""
        out = parameters
        if self.has_surfaces:
            out = self.with_slack(parameters, np.maximum(self.slack(parameters), 0.0))
        out = out.copy()
        for term in self.terms:
            if not term.surfaces:
                widths, form = term.group.form_widths[term.j], term.group.form
                assert form is not None
                own = out[:, term.start : term.start + len(widths) + 1]
                own[:] = form.snapped(own, widths)
        return out


def _held(groups: Sequence[TermGroup], pairs: Sequence[PairGroup]) -> Iterator[_Term]:
    """Yield the shape-constrained curves."""
    of_feature: dict[int, list[_Surface]] = {}
    start = sum(group.n_features * group.stride for group in groups)
    for pair in pairs:
        for p in range(pair.n_pairs):
            if pair.held is not None and pair.held[p] and pair.variance[p] > 0:
                own = _Surface(start, pair, p)
                of_feature.setdefault(pair.chains[p][0].feature, []).append(own)
            start += pair.size
    start = 0
    for group in groups:
        features = [] if group.form is None else group.features.tolist()
        for j, feature in enumerate(features):
            if len(group.form_widths[j]):
                at = start + j * group.stride
                yield _Term(at, group, j, tuple(of_feature.get(feature, ())))
        start += group.n_features * group.stride


def _reduced(M: Floats, at: NDArray[np.intp]) -> Floats:
    """Return the Schur complement of M on the indices `at`, the others being eliminated."""
    others = np.setdiff1d(np.arange(len(M)), at)
    tied = M[np.ix_(others, at)]
    if not len(others):
        return M
    follow = cho_solve(cho_factor(M[np.ix_(others, others)]), tied)
    return np.asarray(M[np.ix_(at, at)] - tied.T @ follow)


class _Rows:
    """Collects the rows of B and the indices of those that are bounded."""

    def __init__(self, n: int) -> None:
        self.n, self.is_plain = n, np.ones(n, dtype=bool)
        self.entries: list[tuple[Floats, NDArray[np.intp], NDArray[np.intp]]] = []
        self.bounded: list[NDArray[np.intp]] = []
        self.blocks: list[NDArray[np.intp]] = []

    def add(self, B: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        """Add entries (n_rows, n_columns)."""
        i, k = np.nonzero(B)
        self.is_plain[rows] = False
        self.entries.append((B[i, k], rows[i], columns[k]))

    def bound(self, places: NDArray[np.intp], block: int) -> None:
        """Add inequalities: the coordinates at these indices are nonnegative."""
        self.bounded.append(places)
        self.blocks.append(np.full(len(places), block))

    def cone(self, terms: tuple[_Term, ...]) -> Cone:
        """Return the cone; rows of B that were not added are those of the identity."""
        plain = np.flatnonzero(self.is_plain)
        self.entries.append((np.ones(len(plain)), plain, plain))
        values, rows, columns = map(np.concatenate, zip(*self.entries, strict=True))
        B = sparse.csr_array((values, (rows, columns)), shape=(self.n, self.n))
        return Cone(B, np.concatenate(self.bounded), np.concatenate(self.blocks), terms)


def cone_of(groups: tuple[TermGroup, ...], pairs: tuple[PairGroup, ...] = ()) -> Cone | None:
    """Return the inequalities of all shape-constrained curves; None if there are none."""
    n = sum(g.shape[0] * g.shape[1] for g in groups) + sum(g.n_pairs * g.size for g in pairs)
    found, terms = _Rows(n), list[_Term]()
    for term in _held(groups, pairs):
        B, at = _coordinates(term.group, term.j)
        if len(at):
            own = term.start + np.arange(len(B))
            found.add(B, own, own)
            found.bound(own[at], len(terms))
            for surface in term.surfaces:
                _add_surface(found, term, surface, B, len(terms))
            terms.append(term)
    return found.cone(tuple(terms)) if terms else None


def _add_surface(found: _Rows, term: _Term, surface: _Surface, B: Floats, block: int) -> None:
    """Constrain the columns of a surface like its curve, and the curve to c - sum_p a_p.

    B (n, n) holds the coordinates of the curve.
    """
    group, form, places = surface.group, term.group.form, surface.places
    knots = group.chains[surface.p][0].knots
    assert form is not None
    assert knots is not None
    n = len(knots)
    widths = np.diff(0.5 * knots) / (0.5 * knots[-1] - 0.5 * knots[0])
    own, bounded = form.coordinates((n - 1) * widths)
    for column in places[:n].T:
        found.add(own, column, column)
        found.bound(column[bounded], block)
    edges = term.group.embedding.axes.edges_of(term.j)
    between = np.array([np.interp(edges, knots, hat) for hat in np.eye(n)])
    taken = -B[1:] @ between.T @ group.shared_functions(surface.p)[:n]
    found.add(taken, term.start + np.arange(1, len(B)), places.ravel())


def _coordinates(group: TermGroup, j: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return B for the coefficients of one curve, and the indices of its inequalities."""
    assert group.form is not None
    B, bounded = group.form.coordinates(group.form_widths[j])
    used = group.used[j, : len(B)]
    B[~used] = np.eye(len(B))[~used]
    return B, np.flatnonzero(bounded & used)
