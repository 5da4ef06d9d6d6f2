"""The whole Hessian of one output's curves, as one dense matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.objective.point import Point
from splinear.objective.space import Space
from splinear.terms.group import TermGroup

__all__ = [
    "FEW_SAMPLED",
    "MAX_DENSE",
    "KeptHessian",
    "WholeHessian",
    "entries_per_row",
    "forms_hessian",
    "numbered",
    "penalty_entries",
]

MAX_DENSE = 2500  # largest number of coefficients per output for which the matrix may be formed
# Share of the sum of second derivatives up to whose change an earlier matrix is kept: steps that
# follow changes of variances take no more turns with it.
KEPT_UNTIL = 0.02
FEW_SAMPLED = 0.5  # of a function's diagonal entry: below this share, the one of all rows is used


def forms_hessian(layout: Layout) -> bool:
    """Return whether the Hessian of one output's curves is small enough to be formed."""
    return layout.n_free_of_curves < MAX_DENSE


def entries_per_row(space: Space) -> float:
    """Return how many functions of all curves are nonzero in a row, on average."""
    n_terms = sum(group.n_features for group in space.layout.groups)
    per_row = space.layout.functions_per_row
    return per_row * space.rows.n_values / (space.rows.n_rows * max(1, n_terms))


class WholeHessian:
    """The dense matrix over the used parameters of curves, with the intercept at the end.

    Attributes
    ----------
    places : ndarray of shape (n,)
        The index of each row of the matrix in a vector theta; the intercept is last in both.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        used = space.used[: space.layout.n_of_curves]
        raw = used.copy()
        for group, own in zip(space.layout.groups, space.layout.split(raw), strict=True):
            if group.has_gaps:  # a gap contributes to its curve even without a deviation
                own[:, -1] = True
        self._raw = numbered(raw)
        self._free = np.append(self._raw[used], int(raw.sum()))
        self._place = numbered(used)
        self.places = np.append(np.flatnonzero(used), -1)
        pairs = zip(space.layout.groups, space.layout.split(self._raw), strict=True)
        self._ties = [tie for group, places in pairs for tie in _ties(group, places)]

    def of_losses(
        self,
        h: Floats,
        blocks: list[Floats],
        n_sample: int,
        more: Iterable[Floats] = (),
    ) -> Floats:
        """Return the rows' part of the Hessian, from the first n_sample of them.

        `h` are the second derivatives of all rows. Rows are in random order, so the first ones are
        a sample. Diagonal entries are those of all rows, taken from `blocks`, where the sample has
        too few: functions that are nonzero in few rows would otherwise appear to be free. `more`
        are matrices (n_features, stride, stride) that are added, one per group of curves.
        """
        H = self.raw(h, n_sample)
        if n_sample < self.space.n_rows:
            at = np.arange(len(H) - 1)
            of_all, of_sample = self.diagonal(h, blocks)[:-1], H[at, at]
            H[at, at] = np.where(of_sample < FEW_SAMPLED * of_all, of_all, of_sample)
        for own, places in zip(more, self.space.layout.split(self._raw), strict=False):
            for matrix, at in zip(own, places, strict=True):
                there = np.flatnonzero(at >= 0)
                H[np.ix_(at[there], at[there])] += matrix[np.ix_(there, there)]
        return self.finished(H)

    def raw(self, h: Floats, n_sample: int) -> Floats:
        """Return the matrix of the first rows, scaled to all, with respect to tables."""
        space, n = self.space, int(self._free[-1]) + 1
        share = n_sample / space.n_rows
        H: Floats = _core.hessian_some(
            space.rows.first(space.n_rows).groups,
            self._raw,
            n,
            np.ascontiguousarray(h[:n_sample]) / share,
            1.0,
            space.n_threads,
        )
        return H.reshape(n, n)

    def diagonal(self, h: Floats, blocks: list[Floats]) -> Floats:
        """Return the diagonal of the matrix of all rows."""
        flat = np.concatenate([own[:, :, 0].ravel() for own in blocks])
        return np.append(flat[self._raw >= 0], h.sum())

    def finished(self, H: Floats) -> Floats:
        """Return the matrix with respect to parameters, given that of tables; leave levels to b."""
        space, n = self.space, len(H)
        of_level = float(H[-1, -1]) * space.has_level
        H[-1, -1] += space.precision_of_b
        for tie in self._ties:
            tie.apply(H, of_level)
        if len(self._free) < n:
            H = np.ascontiguousarray(H[np.ix_(self._free, self._free)])
        return H

    def add_penalty(self, H: Floats, layout: Layout) -> None:
        """Add the penalty of a layout with the same parameters, in place."""
        for group, at in zip(layout.groups, layout.split(self._place), strict=True):
            for to, beside, values in _band_entries(group, at):
                H[to, beside] += values
            for own, lowered in _lowered(group, at):
                if own[-1] - own[0] + 1 == len(own):  # far faster than by indices
                    here = slice(int(own[0]), int(own[-1]) + 1)
                    H[here, here] -= np.outer(lowered, lowered)
                else:
                    H[np.ix_(own, own)] -= np.outer(lowered, lowered)


class KeptHessian:
    """The Hessian of the losses of one output, computed again if second derivatives change much."""

    def __init__(self, space: Space) -> None:
        self.whole = WholeHessian(space)
        self._raw = self._h = np.zeros(0)

    def at(self, point: Point) -> Floats:
        """Return the matrix at a point, without the penalty; the caller may overwrite it."""
        h = point.curvature.diagonal[0]
        if len(self._h) != len(h) or np.abs(h - self._h).sum() > KEPT_UNTIL * h.sum():
            self._raw, self._h = self.whole.raw(h, len(h)), h
        return self.whole.finished(self._raw.copy())


def penalty_entries(
    layout: Layout, places: AnyArray
) -> Iterator[tuple[AnyArray, AnyArray, Floats]]:
    """Yield rows, columns and entries of the penalty's matrix; indices are unique in each yield.

    `places` are the indices of parameters in the matrix, -1 for those that are not in it.
    """
    for group, at in zip(layout.groups, layout.split(places), strict=True):
        yield from _band_entries(group, at)
        for own, lowered in _lowered(group, at):
            to, beside = np.meshgrid(own, own, indexing="ij")
            yield to.ravel(), beside.ravel(), -np.outer(lowered, lowered).ravel()


def _band_entries(group: TermGroup, at: AnyArray) -> Iterator[tuple[AnyArray, AnyArray, Floats]]:
    """Yield rows, columns and entries of the penalty's bands, for parameters at these places."""
    bands = group.penalty_bands
    for p in range(bands.shape[2]):
        n = group.stride - p
        values, to, beside = bands[:, :n, p], at[:, :n], at[:, p:]
        there = (values != 0.0) & (to >= 0) & (beside >= 0)
        yield to[there], beside[there], values[there]
        if p:
            yield beside[there], to[there], values[there]


def _lowered(group: TermGroup, at: AnyArray) -> Iterator[tuple[AnyArray, Floats]]:
    """Yield the places of a curve and the vector v by which its line lowers the matrix: by v v'."""
    if group.parts is None:
        return
    for own, lowered in zip(at, group.lines[1], strict=True):
        there = np.flatnonzero((lowered != 0.0) & (own >= 0))
        if len(there):
            yield own[there], lowered[there]


def numbered(mask: AnyArray) -> AnyArray:
    """Return 0, 1, ... where the mask is set, and -1 elsewhere."""
    return np.where(mask, np.cumsum(mask) - 1, -1)


@dataclass(frozen=True, eq=False)
class _Tie:
    """How the coefficients of one feature are coupled to its gap, and to the intercept.

    `level` are the indices of the coefficients whose mean by `weights` is the curve's level;
    `curve` are those whose mean by `mean` is part of the value of a gap.
    """

    level: AnyArray
    weights: Floats
    curve: AnyArray
    mean: Floats
    gap: int

    def apply(self, H: Floats, of_level: float) -> None:
        """Couple the gap to its curve, and leave the level to the intercept."""
        if len(self.curve):
            H[self.curve] += self.mean[:, None] * H[self.gap]
            H[:, self.curve] += H[:, self.gap][:, None] * self.mean
        if len(self.level):
            H[self.level[:, None], self.level] += of_level * np.outer(self.weights, self.weights)


def _ties(group: TermGroup, places: AnyArray) -> Iterator[_Tie]:
    """Yield the couplings of a group's features, if there are any."""
    if not (group.has_gaps or group.has_level):
        return
    for j in np.flatnonzero(group.used.any(axis=1)):
        curve = np.flatnonzero(group.embedding.used[j]) if group.has_gaps else np.zeros(0, np.intp)
        level = np.flatnonzero(group.level_weights[j]) if group.has_level else np.zeros(0, np.intp)
        mean, weights = group.mean[j, curve], group.level_weights[j, level]
        yield _Tie(places[j, level], weights, places[j, curve], mean, int(places[j, -1]))
