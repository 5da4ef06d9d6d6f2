"""The Fisher information of a model, stored compactly: the losses' Hessian at the optimum.

The Hessian block of a single curve has few bands and is stored as it is. The coupling of two curves
is stored for thinned curves, which have a coefficient at every m-th basis function and are linear
in between (or have one coefficient for m levels): B_j ~ P_j'B_j. So other terms see the projection
of a curve on these functions, in the metric of the losses, which is most of the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.model.scatter import Scatter
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import TermGroup

__all__ = ["Information", "Thinned"]


@dataclass(frozen=True, eq=False)
class Thinned:
    """A layout with thinned curves: in group g, one coefficient for every `factors[g]`."""

    layout: Layout
    factors: tuple[int, ...]

    def basis(self, g: int) -> Floats:
        """Return P (size, n_kept), the coefficients of group g's thinned functions, gaps aside."""
        group, factor = self.layout.groups[g], self.factors[g]
        at = np.arange(group.size)
        if factor == 1:
            return np.eye(group.size)
        if group.embedding.basis.support == 1:
            return np.eye((group.size - 1) // factor + 1)[at // factor]
        kept = np.arange((group.size - 2) // factor + 2)
        return np.maximum(0.0, 1.0 - np.abs(at[:, None] / factor - kept))

    @cached_property
    def reached(self) -> list[NDArray[np.bool_]]:
        """Whether rows can depend on each thinned function and gap, (n_features, n_kept + gap)."""
        out = []
        for g, group in enumerate(self.layout.groups):
            there = reached(group)
            kept = (there[:, : group.size].astype(float) @ self.basis(g)) > 0
            out.append(np.hstack([kept, there[:, group.size :]]))
        return out

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The row of each thinned function in the coupling matrix; -1 for those not reached."""
        none = np.zeros(0, dtype=bool)
        there = np.concatenate([none, *(part.ravel() for part in self.reached)])
        return np.where(there, np.cumsum(there) - 1, -1).astype(np.int64)

    @property
    def n_reached(self) -> int:
        """Number of thinned functions that are reached."""
        return int((self.places >= 0).sum())


@dataclass(frozen=True, eq=False)
class Information:
    """The Hessian of one sum of losses with respect to the tables of its outputs.

    Attributes
    ----------
    blocks : list of list of ndarray
        For each output and group, (n_features, stride, support): the bands of the blocks of single
        terms.
    ties : ndarray of shape (n_outputs, n_parameters)
        Mixed derivatives with respect to the tables and the intercept of an output.
    totals : ndarray of shape (n_outputs,)
        Second derivatives with respect to the intercepts.
    factors : tuple of int, or None
        How the groups are thinned in `coupling`; None if there is no coupling, and the other terms
        count as known.
    coupling : ndarray
        The upper triangle, row by row, of the matrix over all outputs: for each output the thinned
        functions that are reached, followed by its intercept (or by `shared`).
    n_rows, n_coupled : int
        Number of rows with a positive weight, and of those that `coupling` is computed from.
    slopes : ndarray of shape (n_outputs, n_parameters)
        The gradient of the losses with respect to the parameters, which at the optimum balances
        that of the penalty; in units of the target, like `scatter`.
    scatter : Scatter
        The sums that the dispersion is estimated from.
    pair_blocks : list of list of ndarray
        For each output and group of surfaces, (n_pairs, size, 5): the bands of the blocks of single
        surfaces. Classes count as independent here.
    pair_slopes : ndarray of shape (n_outputs, n_nodes)
        The gradient with respect to the tables of surfaces, like `slopes`.
    shared : ndarray of shape (n_shared, n_shared) or None
        Second derivatives with respect to shared parameters, for one output: of minus the cut
        points. They take the place of the intercept in `coupling`. None if there are none.
    """

    blocks: list[list[Floats]]
    ties: Floats
    totals: Floats
    factors: tuple[int, ...] | None
    coupling: Floats
    n_rows: int
    n_coupled: int
    slopes: Floats
    scatter: Scatter
    pair_blocks: list[list[Floats]]
    pair_slopes: Floats
    shared: Floats | None = None

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.blocks)

    @property
    def is_sampled(self) -> bool:
        """Whether `coupling` is computed from a sample of the rows.

        `blocks` are from all rows, except after Ctrl-C (see `as_of`).
        """
        return self.n_coupled < self.n_rows

    @property
    def of_intercepts(self) -> list[Floats]:
        """The second derivatives with respect to each output's intercept, or what replaces it."""
        if self.shared is not None:
            return [self.shared]
        return [np.array([[total]]) for total in self.totals]

    def in_units(self, unit: float) -> Information:
        """Return the information for targets multiplied by `unit`."""
        return replace(
            self,
            slopes=unit * self.slopes,
            pair_slopes=unit * self.pair_slopes,
            scatter=self.scatter.in_units(unit),
        )

    def as_of(self, n_rows: int) -> Information:
        """Return the information extrapolated from a sample to `n_rows` rows."""
        if n_rows == self.n_rows:
            return self
        share = n_rows / self.n_rows
        return replace(
            self,
            blocks=[[share * block for block in own] for own in self.blocks],
            ties=share * self.ties,
            totals=share * self.totals,
            shared=None if self.shared is None else share * self.shared,
            coupling=share * self.coupling,
            n_rows=n_rows,
            slopes=share * self.slopes,
            scatter=self.scatter.times(share),
            pair_blocks=[[share * block for block in own] for own in self.pair_blocks],
            pair_slopes=share * self.pair_slopes,
        )

    def coupling_matrix(self) -> Floats:
        """Return `coupling` as a square matrix."""
        n = int((np.sqrt(8 * len(self.coupling) + 1) - 1) // 2)
        out = np.zeros((n, n))
        out[np.triu_indices(n)] = self.coupling
        return np.asarray(out + np.triu(out, 1).T)


def reached(group: TermGroup) -> NDArray[np.bool_]:
    """Return whether scores can depend on each entry of the tables, (n_features, stride).

    This includes entries that are fixed at 0.
    """
    there = np.arange(group.size) < group.embedding.n_used[:, None]
    if not group.has_gaps:
        return there
    has_gap = np.zeros(group.n_features) if group.gap_share is None else group.gap_share
    return np.column_stack([there, has_gap > 0])


def can_be_thinned(group: TermGroup) -> bool:
    """Return whether the core can thin a group: B-splines of degree 0 or 1, on dense rows."""
    basis = group.embedding.basis
    is_simple = isinstance(basis, BSplineBasis) and basis.degree <= 1 and group.size > 2
    return is_simple and not group.embedding.through_zero


def thinned_within(
    layout: Layout, n_outputs: int, most: int, pieces: Sequence[int]
) -> Thinned | None:
    """Return the layout thinned to the first number of `pieces` that keeps the matrix small.

    The matrix of all outputs has at most `most` rows; None if no number of pieces achieves that.
    Categories may keep four times as many levels.
    """
    for n_pieces in pieces if layout.groups else ():
        factors = []
        for group in layout.groups:
            n = n_pieces if group.levels is None else 4 * n_pieces
            factors.append(-(-(group.size - 1) // n) if can_be_thinned(group) else 1)
        found = Thinned(layout, tuple(max(1, factor) for factor in factors))
        if n_outputs * (found.n_reached + 1) <= most:
            return found
    return None
