"""What the rows say of a model: second derivatives of the losses at the optimum, in little room.

Curves of many pieces have a Hessian of their own, a block of few bands, which is kept as it is. How
two curves hang together is kept for thinned ones, with a coefficient at every m-th function and
straight lines between (or one for m levels): B_j ~ P_j'B_j. What the others see of a curve is then
its projection on these, in the metric of the losses, which is most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.curves.basis import BSplineBasis
from splinear.model.group import TermGroup
from splinear.model.layout import Layout

__all__ = ["Information", "Thinned"]


@dataclass(frozen=True, eq=False)
class Thinned:
    """A layout whose curves have fewer coefficients: one in `factors[g]` of group g."""

    layout: Layout
    factors: tuple[int, ...]

    def basis(self, g: int) -> Floats:
        """Return P, the thinned functions by those of group g, (size, n_kept); a gap is no part."""
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
        """Which thinned functions, and gaps, the rows can reach, (n_features, n_kept + gap)."""
        out = []
        for g, group in enumerate(self.layout.groups):
            there = reached(group)
            kept = (there[:, : group.size].astype(float) @ self.basis(g)) > 0
            out.append(np.hstack([kept, there[:, group.size :]]))
        return out

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where they stand in the matrix of those that are reached; -1: nowhere."""
        none = np.zeros(0, dtype=bool)
        there = np.concatenate([none, *(part.ravel() for part in self.reached)])
        return np.where(there, np.cumsum(there) - 1, -1).astype(np.int64)

    @property
    def n_reached(self) -> int:
        """Number of those that are."""
        return int((self.places >= 0).sum())


@dataclass(frozen=True, eq=False)
class Information:
    """The second derivatives of one sum of losses by the tables of its outputs.

    Attributes
    ----------
    blocks : list of list of ndarray
        For each output and group, (n_features, stride, support): the blocks of single terms, by
        bands.
    ties : ndarray of shape (n_outputs, n_parameters)
        By the tables and the intercept of an output.
    totals : ndarray of shape (n_outputs,)
        By the intercepts.
    factors : tuple of int, or None
        How the groups are thinned in `coupling`; None: there is none, and terms count as if the
        others were known.
    coupling : ndarray
        The upper half of the matrix of all outputs, row by row: of each output the thinned
        functions that are reached, and its intercept.
    n_rows, n_coupled : int
        Rows that count, and those of them that `coupling` is from.
    slopes : ndarray of shape (n_outputs, n_parameters)
        The first derivatives by the parameters, which the penalty holds the balance; in units of
        the target, as the next.
    misfit : float
        What the dispersion is estimated from: twice the sum of the losses, or Pearson's statistic.
    weight : float or None
        That of all rows, where the dispersion is to be estimated; None: it is 1.
    dispersion : callable or None
        Then, by what the losses are to be divided to be likelihoods, given the misfit per degree of
        freedom that is left; None: by that.
    pair_blocks : list of list of ndarray
        For each output and group of surfaces, (n_pairs, size, 5): the blocks of single surfaces, by
        bands, in which the outputs of several classes count as independent.
    pair_slopes : ndarray of shape (n_outputs, n_nodes)
        The first derivatives by the tables of surfaces, as `slopes`.
    """

    blocks: list[list[Floats]]
    ties: Floats
    totals: Floats
    factors: tuple[int, ...] | None
    coupling: Floats
    n_rows: int
    n_coupled: int
    slopes: Floats
    misfit: float
    weight: float | None
    dispersion: Callable[[float], float] | None
    pair_blocks: list[list[Floats]]
    pair_slopes: Floats

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.blocks)

    @property
    def is_sampled(self) -> bool:
        """Whether `coupling` is from some of the rows; `blocks` are from all.

        After Ctrl-C they are from some as well, see `as_of`.
        """
        return self.n_coupled < self.n_rows

    def in_units(self, unit: float) -> Information:
        """Return that of targets that are a number of times as large."""
        return replace(
            self,
            slopes=unit * self.slopes,
            pair_slopes=unit * self.pair_slopes,
            misfit=unit**2 * self.misfit,
        )

    def as_of(self, n_rows: int) -> Information:
        """Return the information of this many rows, of which these are a sample."""
        if n_rows == self.n_rows:
            return self
        share = n_rows / self.n_rows
        return replace(
            self,
            blocks=[[share * block for block in own] for own in self.blocks],
            ties=share * self.ties,
            totals=share * self.totals,
            coupling=share * self.coupling,
            n_rows=n_rows,
            slopes=share * self.slopes,
            misfit=share * self.misfit,
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
    """Tell which entries of the tables rows can reach, free or held, (n_features, stride)."""
    there = np.arange(group.size) < group.embedding.n_used[:, None]
    if not group.has_gaps:
        return there
    has_gap = np.zeros(group.n_features) if group.gap_share is None else group.gap_share
    return np.column_stack([there, has_gap > 0])


def can_be_thinned(group: TermGroup) -> bool:
    """Tell whether the core can thin a group: B-splines of degree 0 and 1, of dense rows."""
    basis = group.embedding.basis
    is_simple = isinstance(basis, BSplineBasis) and basis.degree <= 1 and group.size > 2
    return is_simple and not group.embedding.through_zero


def thinned_within(
    layout: Layout, n_outputs: int, most: int, pieces: Sequence[int]
) -> Thinned | None:
    """Return the layout thinned to the first number of pieces that keeps the matrix small.

    It has at most `most` rows, all outputs counted; None: there is no such number. Levels are
    allowed four times as many.
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
