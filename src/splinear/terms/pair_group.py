"""A group of surfaces over pairs of features, with equal numbers of nodes.

The nodes of one feature of a surface are a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.terms.embedding import bounded
from splinear.terms.group import TermGroup

__all__ = [
    "NOWHERE",
    "N_BANDS",
    "Chain",
    "PairGroup",
    "chains_of",
    "interpolated",
    "numbered_surfaces",
    "split_blocks",
    "surfaces",
]

NOWHERE = -1.0  # position of a value for which surfaces are 0, such as an unseen level
SHARED = 1e-3  # weight of the differences that a surface shares with a curve
N_BANDS = 5  # bands of a block: node k with k + 0, 1, m2 - 1, m2 and m2 + 1


@dataclass(frozen=True, eq=False)
class Chain:
    """The nodes of one feature, ordered so that neighbors are similar.

    A number has a node at each knot and is interpolated linearly between them. The levels of a
    category are assigned to nodes. Missing values, if there were any in training, have one more
    node at the end.

    Attributes
    ----------
    feature : int
        The column of X.
    knots : ndarray of shape (n_knots,) or None
        Ascending; None for a category.
    node_of_level : ndarray of shape (n_levels,) or None
        The node of each level; None for numbers.
    has_missing : bool
    """

    feature: int
    knots: Floats | None = None
    node_of_level: NDArray[np.intp] | None = None
    has_missing: bool = False

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.n_values + self.has_missing

    @property
    def n_values(self) -> int:
        """Number of nodes without that of missing values."""
        if self.node_of_level is not None:
            return int(self.node_of_level.max(initial=-1)) + 1
        return 0 if self.knots is None else len(self.knots)

    def positions(self, x: AnyArray) -> Floats:
        """Return the positions of values (n,): k at node k, and -1 where surfaces are 0.

        Levels are given by their indices, a negative one for an unseen level; NaN is a missing
        value. Numbers beyond the first or last knot have its position.
        """
        x = np.asarray(x, dtype=np.float64)
        missing = np.isnan(x)
        at = self._of_levels(x, missing) if self.knots is None else self._of_numbers(x)
        at[missing] = self.n_values if self.has_missing else NOWHERE
        return at

    def _of_levels(self, x: Floats, missing: NDArray[np.bool_]) -> Floats:
        assert self.node_of_level is not None
        nodes = np.append(self.node_of_level.astype(np.float64), NOWHERE)
        return nodes[np.where(missing | (x < 0), -1, x).astype(np.intp)]

    def _of_numbers(self, x: Floats) -> Floats:
        knots = self.knots
        assert knots is not None
        if len(knots) < 2:
            return np.zeros(len(x))
        inside = np.clip(x, knots[0], knots[-1])
        k = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        # Halved if numbers are large, so that differences do not overflow; halves of the smallest
        # numbers would be rounded.
        half = 0.5 if np.abs(knots).max() > 1.0 else 1.0
        length = half * knots[k + 1] - half * knots[k]
        beyond = half * inside - half * knots[k]
        share = np.divide(beyond, length, out=np.zeros(len(x)), where=length > 0)
        return np.asarray(k + np.minimum(share, 1.0))


@dataclass(frozen=True, eq=False)
class PairGroup:
    """One surface f_p(x, z) = sum_kl T_pkl B_k(x) B_l(z) for each of several pairs of features.

    B_k is the hat function that is 1 at node k of a chain and 0 at the others. The parameters of a
    surface are W (m1, m2), whose first row and column are 0. Its table T is W minus functions of
    one feature, which belong to the curves:

        T = W - a 1' - 1 b',   sum_l N_kl T_kl = sum_k N_kl T_kl = 0,

    where N_kl is the weight of the training rows at node (k, l). The penalty is on the mixed
    differences, which are 0 for functions of one feature,

        1/2 sum_p sum_kl w_pkl d_pkl^2 / t_p,   d_kl = W_kl - W_{k-1,l} - W_{k,l-1} + W_{k-1,l-1},

    so that d = D_1 W D_1'. This is the product of two embeddings under D_1; the kernel of a surface
    is the product of two min kernels. One increment d_kl is a step in both features at once, like
    that of a decision tree of depth two.

    If the curve of the first feature is shape-constrained, so is its sum with all its surfaces (see
    `splinear.model.cone`). W then has a first column as well: a function of the feature that can be
    moved from the curve to the surface without changing any score or mixed difference. Its own
    differences have the small weight `SHARED`, which makes the best W unique.

    Parameters and tables are (n_pairs, m1 * m2).

    Attributes
    ----------
    chains : tuple of (Chain, Chain)
        The two features of each pair.
    variance : ndarray of shape (n_pairs,)
        t_p.
    mass : ndarray of shape (n_pairs, m1, m2)
        N.
    edges : ndarray of shape (n_pairs, m1 * m2) or None
        w_pkl; None if all are 1.
    deviation : ndarray of shape (n_pairs,) or None
        The standard deviation of the fitted surfaces over the training rows, averaged over outputs;
        None before the fit.
    held : ndarray of shape (n_pairs,) or None
        Whether the curve of each surface's first feature is shape-constrained; None if none is.
    """

    chains: tuple[tuple[Chain, Chain], ...]
    variance: Floats
    mass: Floats
    edges: Floats | None = None
    deviation: Floats | None = None
    held: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, chains: tuple[tuple[Chain, Chain], ...]) -> PairGroup:
        """Create a group whose rows are not known yet: N is 1 everywhere.

        The variance t_p is 1 / ((m1 - 1) (m2 - 1)).
        """
        first, second = chains[0]
        shape = first.n_nodes, second.n_nodes
        variance = np.full(len(chains), 1.0 / ((shape[0] - 1) * (shape[1] - 1)))
        return cls(chains, variance, np.ones((len(chains), *shape)))

    def of_features(self, at: AnyArray) -> PairGroup:
        """Return the group restricted to the pairs at these positions."""
        out = replace(
            self,
            chains=tuple(self.chains[int(k)] for k in at),
            variance=self.variance[at],
            mass=self.mass[at],
            edges=None if self.edges is None else self.edges[at],
            deviation=None if self.deviation is None else self.deviation[at],
            held=None if self.held is None else self.held[at],
        )
        out.__dict__["_inverse"] = self._inverse[at]
        return out

    @property
    def n_pairs(self) -> int:
        """Number of surfaces."""
        return len(self.chains)

    @cached_property
    def n_nodes(self) -> tuple[int, int]:
        """m1 and m2, the numbers of nodes of the first and second feature."""
        return int(self.mass.shape[1]), int(self.mass.shape[2])

    @cached_property
    def size(self) -> int:
        """Number of nodes per surface."""
        return self.n_nodes[0] * self.n_nodes[1]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Shape of parameters and tables."""
        return self.n_pairs, self.size

    @property
    def block_shape(self) -> tuple[int, int, int]:
        """Shape of the Hessian's diagonal blocks, stored as bands; see `band_distances`."""
        return (*self.shape, N_BANDS)

    @property
    def features(self) -> NDArray[np.intp]:
        """Columns of X, (n_pairs, 2)."""
        return np.array([[a.feature, b.feature] for a, b in self.chains], dtype=np.intp)

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Whether each parameter is free, (n_pairs, size)."""
        used = self._own.copy()
        used[:, :, 0] = self._shared
        return used.reshape(self.shape)

    @cached_property
    def _own(self) -> NDArray[np.bool_]:
        """Whether each parameter is free apart from the shared first column, (n_pairs, m1, m2)."""
        own = np.zeros(self.mass.shape, dtype=bool)
        own[:, 1:, 1:] = self.variance[:, None, None] > 0
        return own

    @cached_property
    def _shared(self) -> NDArray[np.bool_]:
        """Whether each entry of the first column is free, shared with a curve, (n_pairs, m1)."""
        n = [first.n_values for first, _ in self.chains]
        nodes = np.arange(self.n_nodes[0])
        shared = (nodes > 0) & (nodes < np.array(n)[:, None]) & (self.variance > 0)[:, None]
        held = np.zeros(self.n_pairs, dtype=bool) if self.held is None else self.held
        return np.asarray(shared & held[:, None])

    # -- parameters and tables -------------------------------------------------------------------

    def tables(self, parameters: Floats) -> Floats:
        """Return the tables of parameters (..., n_pairs, size), in the same shape."""
        W = self._as_grids(parameters)
        weighted = W * self.mass
        a, b = self._solved(weighted.sum(axis=-1), weighted.sum(axis=-2))
        return self._flat(W - a[..., :, None] - b[..., None, :])

    def gather(self, sums: Floats) -> Floats:
        """Return the gradient with respect to parameters, given that with respect to tables."""
        S = self._as_grids(sums)
        a, b = self._solved(S.sum(axis=-1), S.sum(axis=-2))
        return self._flat(S - self.mass * (a[..., :, None] + b[..., None, :]))

    def from_tables(self, tables: Floats) -> Floats:
        """Return the parameters of tables: the inverse of `tables`."""
        T = self._as_grids(tables)
        return self._flat(T - T[..., :1, :] - T[..., :, :1] + T[..., :1, :1])

    def scatter(self, sums: Floats) -> Floats:
        """Return a gradient with respect to tables, given that with respect to free parameters.

        The other entries are chosen such that the derivative along any function of one feature is
        0.
        """
        S = np.where(self._own, self._as_grids(sums), 0.0)
        S[..., 0, :] = -S[..., 1:, :].sum(axis=-2)
        S[..., :, 0] = -S[..., :, 1:].sum(axis=-1)
        return self._flat(S)

    def _solved(self, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """Return a and b such that a 1' + 1 b' has these weighted row and column sums."""
        both = np.concatenate([rows, columns], axis=-1)
        found = np.einsum("pij,...pj->...pi", self._inverse, both)
        return found[..., : rows.shape[-1]], found[..., rows.shape[-1] :]

    @cached_property
    def _inverse(self) -> Floats:
        """The inverse of the map from (a, b) to the weighted sums of a 1' + 1 b'."""
        m1, m2 = self.n_nodes
        A = np.zeros((self.n_pairs, m1 + m2, m1 + m2))
        at = np.arange(m1 + m2)
        A[:, at, at] = np.concatenate([self.mass.sum(axis=2), self.mass.sum(axis=1)], axis=1)
        A[:, :m1, m1:] = self.mass
        A[:, m1:, :m1] = np.swapaxes(self.mass, 1, 2)
        # A pseudoinverse, because a constant can be moved between a and b.
        return np.asarray(np.linalg.pinv(A, rcond=1e-10, hermitian=True))

    def prepare_centering(self) -> None:
        """Compute the matrix that `tables` needs now, rather than on first use."""
        _ = self._inverse

    def centering(self) -> tuple[Floats, Floats]:
        """Return K (size, m1 + m2) and M (n_pairs, m1 + m2, size): a table is W - K M W.

        The columns of K are the functions of one feature; M W are their coefficients in W.
        """
        m1, m2 = self.n_nodes
        first, second = np.kron(np.eye(m1), np.ones((m2, 1))), np.kron(np.ones((m1, 1)), np.eye(m2))
        K = np.hstack([first, second])
        return K, np.asarray(self._inverse @ (K.T * self._flat(self.mass)[:, None]))

    def _as_grids(self, flat: Floats) -> Floats:
        return flat.reshape(*flat.shape[:-1], *self.n_nodes)

    def _flat(self, grids: Floats) -> Floats:
        return grids.reshape(*grids.shape[:-2], self.size)

    # -- the penalty -----------------------------------------------------------------------------

    def differences(self, parameters: Floats) -> Floats:
        """Return the differences d of parameters (..., n_pairs, size); the first row is 0.

        The first column holds those of the function shared with a curve.
        """
        W = self._as_grids(parameters)
        out = np.zeros_like(W)
        out[..., 1:, 0] = np.diff(W[..., 0], axis=-1) * self._shared[:, 1:]
        out[..., 1:, 1:] = np.diff(np.diff(W, axis=-1), axis=-2)
        return self._flat(out)

    @cached_property
    def edge_weights(self) -> Floats:
        """Weights w where parameters are free and 0 elsewhere, (n_pairs, size)."""
        w = self._own.astype(np.float64)
        if self.edges is not None:
            w *= self._as_grids(self.edges)
        w[:, :, 0] = SHARED * self._shared
        return self._flat(w)

    @cached_property
    def precision(self) -> Floats:
        """Precisions w / t where parameters are free and 0 elsewhere, (n_pairs, size)."""
        inverse = np.divide(1.0, self.variance, out=np.zeros(self.n_pairs), where=self.variance > 0)
        return self.edge_weights * inverse[:, None]

    def stiffen(self, parameters: Floats) -> Floats:
        """Return the gradient of the penalty at parameters (..., n_pairs, size)."""
        d = self._as_grids(self.differences(parameters) * self.precision)
        out = d.copy()
        out[..., :-1, :] -= d[..., 1:, :]
        right = out[..., :, 1:].copy()
        out[..., :, :-1] -= right
        return np.where(self.used, self._flat(out), 0.0)

    def add_stiffness(self, parameters: Floats, to: Floats, n_threads: int) -> None:
        """Add the gradient of the penalty to `to` in place; both are (n, n_pairs * size)."""
        del n_threads
        to += self.stiffen(parameters.reshape(-1, *self.shape)).reshape(to.shape)

    def soften(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return K g for gradients g (..., n_pairs, size): the inverse of `stiffen`."""
        del n_threads
        precision = np.where(self._own, self._as_grids(self.precision), 0.0)
        g = np.where(self._own, self._as_grids(parameters), 0.0)
        summed = np.flip(np.flip(g, (-1, -2)).cumsum(axis=-1).cumsum(axis=-2), (-1, -2))
        d = np.divide(summed, precision, out=np.zeros_like(summed), where=precision > 0)
        return self._flat(d.cumsum(axis=-1).cumsum(axis=-2)) + self.soften_shared(parameters)

    def softness(self, gradient: Floats, n_threads: int = 1) -> float:
        """Return g'soften(g)."""
        return float(np.vdot(gradient, self.soften(gradient, n_threads)))

    def soften_shared(self, parameters: Floats) -> Floats:
        """Return the part of `soften` in the functions that are shared with a curve."""
        if self.held is None:
            return np.zeros_like(parameters)
        g = self._as_grids(np.where(self.used, parameters, 0.0)).sum(axis=-1) * self._shared
        precision = np.where(self._shared, self._as_grids(self.precision)[..., 0], np.inf)
        f = np.cumsum(np.cumsum(g[..., ::-1], axis=-1)[..., ::-1] / precision, axis=-1)
        return self._flat(np.repeat((f * self._shared)[..., None], self.n_nodes[1], axis=-1))

    def extended(self, parameters: Floats) -> Floats:
        """Return the parameters unchanged; surfaces have no unused nodes to continue to."""
        return parameters

    def penalty_bands(self) -> Floats:
        """Return the bands of the penalty's matrix over all nodes, (n_pairs, size, 5)."""
        w = self._as_grids(self.precision)[:, 1:, 1:]  # one per cell between four nodes
        out = np.zeros((self.n_pairs, *self.n_nodes, N_BANDS))
        for r, c in ((0, 0), (0, 1), (1, 0), (1, 1)):
            out[:, r : r + w.shape[1], c : c + w.shape[2], 0] += w
        out[:, :-1, :-1, 1] -= w  # neighbors in a row, on both sides of the cell
        out[:, 1:, :-1, 1] -= w
        out[:, :-1, 1:, 2] += w  # one diagonal of the cell
        out[:, :-1, :-1, 3] -= w  # neighbors in a column
        out[:, :-1, 1:, 3] -= w
        out[:, :-1, :-1, 4] += w  # the other diagonal
        return out.reshape(self.block_shape)

    @property
    def band_distances(self) -> tuple[int, ...]:
        """The difference of the indices of two nodes, for each band."""
        m2 = self.n_nodes[1]
        return 0, 1, m2 - 1, m2, m2 + 1

    # -- smoothness ------------------------------------------------------------------------------

    def scaled(self, factor: float) -> PairGroup:
        """Return the group with all variances multiplied by a factor."""
        return self.with_variance(factor * self.variance, self.edges)

    def with_variance(self, variance: Floats, edges: Floats | None = None) -> PairGroup:
        """Return the group with other variances t_p and edge weights."""
        return self._changed(variance=bounded(variance), edges=edges)

    def with_mass(self, mass: Floats) -> PairGroup:
        """Return the group with the weights N of the training rows at all nodes."""
        return replace(self, mass=mass)

    def with_prior_of(self, other: PairGroup) -> PairGroup:
        """Return the group with the variances and edge weights of another one of its kind."""
        return self.with_variance(other.variance, other.edges)

    def with_deviation(self, deviation: Floats) -> PairGroup:
        """Return the group with the standard deviations of its fitted surfaces."""
        return self._changed(deviation=deviation)

    def with_held(self, held: NDArray[np.bool_] | None) -> PairGroup:
        """Return the group with other surfaces shape-constrained."""
        return self._changed(held=held)

    def shared_functions(self, p: int) -> Floats:
        """Return the matrix (m1, size) that maps the parameters of surface p to a."""
        m1, _ = self.n_nodes
        inverse = self._inverse[p, :m1]
        of_each = inverse[:, :m1, None] + inverse[:, None, m1:]
        return np.asarray((of_each * self.mass[p]).reshape(m1, self.size))

    def _changed(self, **fields: AnyArray | None) -> PairGroup:
        out = replace(self, **fields)  # type: ignore[arg-type]
        if "_inverse" in self.__dict__:  # expensive, and depends on `mass` only
            out.__dict__["_inverse"] = self._inverse
        return out


def interpolated(nodes: Floats, positions: Floats) -> Floats:
    """Return functions with values (..., n_nodes) at positions (n,), (..., n); 0 where unknown."""
    k = np.clip(positions.astype(np.intp), 0, max(nodes.shape[-1] - 2, 0))
    after = np.minimum(k + 1, nodes.shape[-1] - 1)
    share = positions - k
    values = (1.0 - share) * nodes[..., k] + share * nodes[..., after]
    return np.where(positions >= 0, values, 0.0)


def chains_of(groups: Sequence[PairGroup]) -> tuple[Chain, ...]:
    """Return the distinct chains of some groups."""
    return tuple({id(c): c for group in groups for pair in group.chains for c in pair}.values())


def numbered_surfaces(chains: Sequence[Chain], groups: Sequence[PairGroup]) -> NDArray[np.int64]:
    """Return the indices and sizes of both chains of every surface, (n_surfaces, 4)."""
    place = {id(chain): k for k, chain in enumerate(chains)}
    numbers = [
        (place[id(a)], place[id(b)], a.n_nodes, b.n_nodes)
        for group in groups
        for a, b in group.chains
    ]
    return np.array(numbers, dtype=np.int64).reshape(-1, 4)


def split_blocks(flat: Floats, groups: Sequence[TermGroup | PairGroup]) -> list[Floats]:
    """Split the flat blocks of all curves or surfaces by group, each in its `block_shape`."""
    shapes, whole = [group.block_shape for group in groups], flat.ravel()
    ends = pairwise(accumulate(map(prod, shapes), initial=0))
    return [whole[a:b].reshape(shape) for (a, b), shape in zip(ends, shapes, strict=True)]


def surfaces(
    positions: NDArray[np.float32] | Floats, chains: Sequence[Chain], groups: Sequence[PairGroup]
) -> _core.Surfaces | _core.ExactSurfaces:
    """Return the compiled twin of the groups, for positions (n_chains, n_rows)."""
    table = numbered_surfaces(chains, groups)
    if positions.dtype == np.float32:
        return _core.Surfaces(positions.astype(np.float32, copy=False), table)
    return _core.ExactSurfaces(positions.astype(np.float64, copy=False), table)
