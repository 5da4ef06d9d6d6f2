"""The layout of a model: its terms, and where their parameters are in a flat vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from splinear._caching import cached_property, sharing
from splinear._types import AnyArray, Floats
from splinear.model.cone import Cone, cone_of
from splinear.tables.checks import check_in_range
from splinear.tables.chunks import dense_columns
from splinear.tables.table import Table
from splinear.terms.embedding import Embedding
from splinear.terms.group import Extrapolation, TermGroup
from splinear.terms.pair_group import PairGroup

__all__ = ["Layout", "check_ranges"]

# Cached properties that do not depend on variances.
_LASTING = {"ends", "used", "unused", "n_parameters"}
_LASTING |= {"n_of_curves", "n_free_of_curves", "functions_per_row", "_places", "_has_own_tables"}


@dataclass(frozen=True, eq=False)
class Layout:
    """The terms of a model, and their places in a flat vector of parameters.

    A flat vector (..., n_parameters) holds the parameters of all groups of curves,
    (n_features, stride) each, one after the other, then those of all groups of surfaces.
    """

    groups: tuple[TermGroup, ...]  # of curves
    n_columns: int  # of X
    pairs: tuple[PairGroup, ...] = ()

    @cached_property
    def n_parameters(self) -> int:
        """Length of a flat vector."""
        return int(self.ends[-1])

    @cached_property
    def n_of_curves(self) -> int:
        """Length of the curves' part of a flat vector."""
        return int(self.ends[len(self.groups)])

    @property
    def curve_features(self) -> AnyArray:
        """The features that have curves or effects of levels."""
        none = np.zeros(0, dtype=np.intp)
        return np.concatenate([none, *(group.features for group in self.groups)])

    @cached_property
    def _all(self) -> tuple[TermGroup | PairGroup, ...]:
        return (*self.groups, *self.pairs)

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """The boundaries of the groups in a flat vector, surfaces last, (n_groups + 1,)."""
        lengths = [group.shape[0] * group.shape[1] for group in self._all]
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.intp)])

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Whether each parameter is free and some score can depend on it, (n_parameters,)."""
        none = np.zeros(0, dtype=bool)
        return np.concatenate([none, *(group.used.ravel() for group in self._all)])

    @cached_property
    def unused(self) -> NDArray[np.intp]:
        """The indices of the parameters that are not used."""
        return np.flatnonzero(~self.used)

    @cached_property
    def n_free_of_curves(self) -> int:
        """How many parameters of curves are used."""
        return int(np.count_nonzero(self.used[: self.n_of_curves]))

    @cached_property
    def functions_per_row(self) -> float:
        """How many functions of all curves are not zero in a row that has a value for each."""
        return float(sum(_functions_per_row(group.embedding) for group in self.groups))

    @cached_property
    def cone(self) -> Cone | None:
        """The shape constraints of curves and their surfaces; None if there are none."""
        return cone_of(self.groups, self.pairs)

    def split(self, flat: AnyArray) -> list[AnyArray]:
        """Return views of a flat vector (..., n_parameters), one per group of curves.

        The vector may consist of the curves' part only.
        """
        return self._split(flat)[: len(self.groups)]

    def split_pairs(self, flat: AnyArray) -> list[AnyArray]:
        """Return views of a flat vector (..., n_parameters), one per group of surfaces."""
        return self._split(flat)[len(self.groups) :]

    def _split(self, flat: AnyArray) -> list[AnyArray]:
        before, n = flat.shape[:-1], flat.shape[-1]
        return [flat[..., a:b].reshape(*before, *shape) for a, b, shape in self._places if b <= n]

    @cached_property
    def _places(self) -> list[tuple[int, int, tuple[int, int]]]:
        """The begin, end and shape of every group."""
        ends = pairwise(self.ends.tolist())
        return [(a, b, group.shape) for group, (a, b) in zip(self._all, ends, strict=True)]

    def join(self, parts: Sequence[Floats]) -> Floats:
        """Return the flat vector of `split`, or of `split` and `split_pairs` together."""
        if not parts:
            return np.zeros(0)
        return np.concatenate([part.reshape(*part.shape[:-2], -1) for part in parts], axis=-1)

    def tables(self, flat: Floats) -> Floats:
        """Return the tables of parameters; see TermGroup.tables."""
        return self._between_tables(flat, "tables")

    def gather(self, flat: Floats) -> Floats:
        """Return the gradient with respect to parameters; see TermGroup.gather."""
        return self._between_tables(flat, "gather")

    def from_tables(self, flat: Floats) -> Floats:
        """Return the parameters of tables; see TermGroup.from_tables."""
        return self._between_tables(flat, "from_tables")

    def scatter(self, flat: Floats) -> Floats:
        """Return the gradient with respect to tables; see TermGroup.scatter."""
        return self._between_tables(flat, "scatter")

    def stiffen(self, flat: Floats) -> Floats:
        """Return the gradient of the penalty; see TermGroup.stiffen."""
        return self._map(flat, "stiffen")

    def add_stiffness(self, flat: Floats, to: Floats, n_threads: int) -> None:
        """Add the gradient of the penalty at the rows of `flat` to those of `to`, in place."""
        for group, (a, b, _) in zip(self._all, self._places, strict=True):
            group.add_stiffness(flat[:, a:b], to[:, a:b], n_threads)

    def soften(self, flat: Floats, n_threads: int = 1) -> Floats:
        """Return the inverse of `stiffen`; see TermGroup.soften."""
        return self._map(flat, "soften", n_threads)

    def softness(self, flat: Floats, n_threads: int = 1) -> float:
        """Return g'soften(g) of a gradient g (..., n_parameters)."""
        parts = zip(self._all, self._split(flat), strict=True)
        return sum(group.softness(part, n_threads) for group, part in parts)

    def extended(self, flat: Floats) -> Floats:
        """Return parameters with unused coefficients continuing curves; see TermGroup.extended."""
        return self._map(flat, "extended")

    def _between_tables(self, flat: Floats, method: str) -> Floats:
        """Apply a method between parameters and tables, which differ by gaps and surfaces only."""
        return self._map(flat, method) if self._has_own_tables else flat

    @cached_property
    def _has_own_tables(self) -> bool:
        return bool(self.pairs) or any(group.has_gaps for group in self.groups)

    def _map(self, flat: Floats, method: str, *args: int) -> Floats:
        """Apply a method of every group to its part of a flat vector."""
        if not self._all:
            return flat.copy()
        if len(self._all) == 1 and flat.shape[-1] == self.n_parameters:
            group = self._all[0]
            whole = flat.reshape(*flat.shape[:-1], *group.shape)
            return np.asarray(getattr(group, method)(whole, *args).reshape(flat.shape))
        parts = zip(self._all, self._split(flat), strict=False)  # may be the curves' part only
        return self.join([getattr(group, method)(part, *args) for group, part in parts])

    def penalty_value(self, flat: Floats) -> float:
        """Return the penalty of parameters (..., n_parameters)."""
        return 0.5 * float(np.vdot(flat, self.stiffen(flat)))

    def distance(self, flat: Floats, sums: Floats) -> tuple[float, float]:
        """Return c'S c and q'K q of curves c and sums (n_parameters,); see TermGroup.distance."""
        parts = zip(self.groups, self.split(flat), self.split(sums), strict=True)
        found = [group.distance(own, summed) for group, own, summed in parts]
        return sum(value for value, _ in found), sum(distance for _, distance in found)

    @cached_property
    def variances(self) -> Floats:
        """s_j^2 of all curves, g_j of their gaps, and those of bends and lines, group by group."""
        parts = [np.zeros(0)]
        for group in self.groups:
            parts += [group.embedding.variance]
            parts += [group.missing_variance] if group.has_gaps else []
            if group.parts is not None:
                parts += [group.parts.bend_variance, group.parts.line_variance]
        return np.concatenate(parts)

    def with_variances(self, variances: Floats, edges: Sequence[Floats | None]) -> Layout:
        """Return the layout with other `variances`, and other edge weights of each group."""
        groups, rest = [], variances
        for group, own in zip(self.groups, edges, strict=True):
            n = group.n_features
            variance, rest = rest[:n], rest[n:]
            gaps, parts = group.missing_variance, group.parts
            if group.has_gaps:
                gaps, rest = rest[:n], rest[n:]
            if parts is not None:
                parts, rest = parts.with_variances(rest[:n], rest[n : 2 * n]), rest[2 * n :]
            groups.append(group.with_variance(variance, gaps, own, parts))
        return self.with_groups(groups)

    def scaled(self, factor: float) -> Layout:
        """Return the layout with all variances multiplied by a factor."""
        curves = self.with_groups([group.scaled(factor) for group in self.groups])
        return curves.with_pairs([group.scaled(factor) for group in self.pairs])

    def with_groups(self, groups: Sequence[TermGroup]) -> Layout:
        """Return a layout of the same columns and surfaces with other curves."""
        other = replace(self, groups=tuple(groups))
        if all(a.used is b.used for a, b in zip(self.groups, other.groups, strict=True)):
            return sharing(self, _LASTING, other)
        return other

    def with_pairs(self, pairs: Sequence[PairGroup]) -> Layout:
        """Return a layout of the same columns and curves with other surfaces."""
        if not pairs and not self.pairs:
            return self
        return replace(self, pairs=tuple(pairs))

    def with_gap_means(self, sums: Sequence[Floats | None], weight: float) -> Layout:
        """Return the layout with m_j, the mean of the basis, for groups that have gaps.

        `sums` holds, for each group, the weighted sums of the basis functions and last of the gaps,
        (n_features, stride), over rows of total weight `weight`; None for a group without gaps.
        """
        groups, tiny = list(self.groups), np.finfo(float).tiny
        for k, own in enumerate(sums):
            if own is not None:
                there = np.maximum(weight - own[:, -1:], tiny)
                share = own[:, -1] / max(weight, tiny)
                groups[k] = replace(groups[k], mean=own[:, :-1] / there, gap_share=share)
        return self.with_groups(groups)

    def with_moments_of(self, other: Layout) -> Layout:
        """Return the layout with the means of curves and deviations of surfaces of another one."""
        curves = zip(self.groups, other.groups, strict=True)
        surfaces = zip(self.pairs, other.pairs, strict=True)
        own = self.with_groups([replace(group, mean=like.mean) for group, like in curves])
        return own.with_pairs([like.with_prior_of(pair) for pair, like in surfaces])

    def without_forms(self) -> Layout:
        """Return the layout without shape constraints."""
        curves = self.with_groups([replace(group, form=None) for group in self.groups])
        return curves.with_pairs([group.with_held(None) for group in self.pairs])

    def with_forms_of(self, other: Layout) -> Layout:
        """Return the layout with the shape constraints of another one."""
        curves = zip(self.groups, other.groups, strict=True)
        surfaces = zip(self.pairs, other.pairs, strict=True)
        held = self.with_groups([replace(group, form=like.form) for group, like in curves])
        return held.with_pairs([group.with_held(like.held) for group, like in surfaces])


def _functions_per_row(embedding: Embedding) -> int:
    """Return how many functions of all features are not zero in a row, at most."""
    # Of two functions, as a 0/1 column has them, one is zero.
    n_free = embedding.used.sum(axis=1)
    most = np.minimum(np.maximum(n_free - 1, 1), embedding.basis.support)
    return int(most[n_free > 0].sum())


def check_ranges(estimator: BaseEstimator, layout: Layout, table: Table) -> None:
    """Raise if a value is outside the training range of a term with extrapolation="error"."""
    for group in layout.groups:
        if group.extrapolation is not Extrapolation.ERROR:
            continue
        axes = group.embedding.axes
        for rows, piece in table.chunks(group.features):
            for k, values in enumerate(dense_columns(piece)):
                lo, hi, j = float(axes.lo[k]), float(axes.hi[k]), int(group.features[k])
                check_in_range(estimator, values, j, lo, hi, rows.start)
