"""How many of the pairs that "auto" finds predict rows that were not used to find them.

What helps to choose pairs also makes them look good: the rows that found them, the order of a
category's levels, the variances of the surfaces. So all of it is done again without the rows of a
fold, and the losses of these rows decide how many pairs there should be, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.model.plan import FeaturePair
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.point import Point
from splinear.objective.problem import Start, Stopping
from splinear.objective.training_set import TrainingSet
from splinear.solvers.pairs.crossfit import N_FOLDS, CrossFit
from splinear.solvers.pairs.interactions import Interactions
from splinear.solvers.reml.smoothness import LEAST_FREEDOM, SETTLED, Smoothness
from splinear.tables.table import Table
from splinear.terms.pair import Pair
from splinear.terms.pair_group import PairGroup
from splinear.terms.varying_group import VaryingGroup

__all__ = ["N_TURNS", "PairCheck", "PairSearch", "Smooth", "without_flat"]

SHARES = 1.0, 0.5, 0.25, 0.125, 0.0625  # of the pairs found, those with most evidence
SURE = 2.0  # standard errors of the gain, or loss, from which on no further fold is looked at
# Standard errors that the gain of a second attempt must have. The first one needs none: REML
# flattens surfaces without an effect, and on few rows the gain of a strong product may be unclear.
CLEAR = 1.0
N_TURNS = 8  # of REML, where models are only compared
N_TURNS_OF_ONE = 4  # where all surfaces share a variance

# From a set with surfaces, a model to begin with, and a number of turns to the smoothness of all.
Smooth = Callable[[TrainingSet, Smoothness, int], Smoothness]

Pairs = dict[FeaturePair, Pair]
FLAT = SETTLED * LEAST_FREEDOM  # degrees of freedom, which REML settles no more accurately

Kept: TypeAlias = Sequence[NDArray[np.bool_]]  # of each group: whether its surfaces stay


@dataclass(frozen=True)
class PairSearch:
    """What became of a search for pairs.

    Attributes
    ----------
    n_looked_at, n_found : int
        Number of pairs, and of those that were found to interact.
    gain : float or None
        By how much surfaces lowered the loss per held-out row; None if that was not checked.
    has_rows : bool
        Whether there are enough rows to look for pairs.
    is_clear : bool
        Whether the gain was enough.
    """

    n_looked_at: int
    n_found: int
    gain: float | None = None
    has_rows: bool = True
    is_clear: bool = True

    def report(self, layout: Layout, n_given: int) -> dict[str, int | float | str | None]:
        """Return all of it as a dict, with a reason if no surfaces are kept.

        `layout` is that of the model, of whose surfaces the user named `n_given`.
        """
        n_kept = max(0, sum(group.n_pairs for group in layout.pairs) - n_given)
        return {
            "looked_at": self.n_looked_at,
            "found": self.n_found,
            "kept": n_kept,
            "gain": self.gain,
            "why_none": None if n_kept else self._why_none(),
        }

    def _why_none(self) -> str:
        if not self.has_rows:
            return "there are too few rows for so many classes or labels"
        if not self.n_looked_at:
            return "there were no pairs to look at"
        if not self.n_found:
            return "no pair had enough evidence"
        if self.gain is not None and not self.is_clear:
            return "surfaces did not lower the loss of held-out rows"
        return "their surfaces turned out to be flat"


@dataclass(eq=False)
class PairCheck:
    """Compares curves with curves and surfaces on held-out rows, fold by fold.

    It ends when the gain or loss is clear, or after all folds.

    Attributes
    ----------
    guess : float
        The factor of the first variances of surfaces.
    gains : ndarray of shape (n_shares, n_held_out)
        By how much each share of the pairs found lowers the loss of each unit.
    """

    asked: Interactions
    crossed: CrossFit
    curves: Smoothness
    stopping: Stopping
    smooth: Smooth
    guess: float
    gains: Floats = field(default_factory=lambda: np.zeros((len(SHARES), 0)))
    last: Smoothness | None = None  # the model of the last fold
    one_variance: bool = False  # whether all surfaces share one
    found: dict[int, Pairs] = field(default_factory=dict)  # without the rows of each fold

    def share(self, rows: TrainingRows, totals: Sequence[LossSum]) -> float:
        """Return the share of the pairs found that is best; 0 if none is worth having.

        `rows` are all rows, and `totals` the sums of losses over them. If surfaces with a variance
        each do not help, all of them with the same one are tried: many weak effects may be lost in
        choosing among them, but not together.
        """
        self._look(rows, totals)
        if not self.is_clear and self.last is not None and self.last.n_turns > 0:
            own = self.gains, self.last
            self.one_variance, self.gains = True, np.zeros((len(SHARES), 0))
            self._look(rows, totals)
            if not self.is_clear:
                self.gains, self.last = own
        return SHARES[self._best] if self.is_clear else 0.0

    def _look(self, rows: TrainingRows, totals: Sequence[LossSum]) -> None:
        """Compare on held-out rows, until it is clear whether there is a gain."""
        for k in range(N_FOLDS):
            if k not in self.found:
                self.found[k], _ = self.asked.find(self.crossed, rows, totals, held_out=k)
            if self.stopping.watch.poll():
                break
            own = self._gains(k, self.found[k])
            self.gains = np.concatenate([self.gains, own], axis=1)
            if abs(self._in_errors) > SURE:
                break

    @property
    def _best(self) -> int:
        """The number of the share with the largest gain."""
        return int(self.gains.sum(axis=1).argmax())

    @property
    def _in_errors(self) -> float:
        """The gain of the best share, in standard errors; 0 where no losses differ."""
        best = self.gains[self._best]
        error = float(best.std()) * np.sqrt(len(best)) if len(best) else 0.0
        return float(best.sum() / error) if error > 0.0 else 0.0

    @property
    def is_clear(self) -> bool:
        """Whether there is a gain; a second attempt must gain more than the error of that."""
        return self._in_errors > (CLEAR if self.one_variance else 0.0)

    @property
    def gain(self) -> float:
        """By how much the best share lowers the loss of a held-out unit, in the mean."""
        return float(self.gains.mean(axis=1).max()) if self.gains.size else 0.0

    def _gains(self, k: int, found: Pairs) -> Floats:
        """Return by how much each share of the pairs lowers the losses of the units of fold k."""
        given, crossed = self.asked.given, self.crossed
        has_some = given or self.asked.varying
        points = self._trained(k, given) if has_some else crossed.points[k]
        without = crossed.losses(k, [point.F for point in points])
        if not found:
            return np.zeros((len(SHARES), len(without)))
        points, out = self._trained(k, given | found), []
        for share in SHARES[:1] if self.one_variance else SHARES:
            kept = set(given) | set(list(found)[: ceil(share * len(found))])
            scores = [_scores_of(point, kept) for point in points]
            out.append(without - crossed.losses(k, scores))
        # A shared variance is that of all: shares of them were not chosen.
        return np.stack(out + out * (len(SHARES) - len(out)))

    def _trained(self, k: int, pairs: Pairs) -> list[Point]:
        """Return models of curves and surfaces trained without fold k."""
        crossed, stopping = self.crossed, self.stopping
        part, points = crossed.parts[k], crossed.points[k]
        _, weights = part.rows.weighted_first(part.weighted.weights, part.rows.n_rows)
        rows = self.asked.add(part.rows, pairs, points, weights, stopping.n_threads)
        starts = [Start(coef=p.parameters, intercept=p.theta[:, -1]) for p in points]
        surfaces = [group.scaled(self.guess) for group in rows.layout.pairs]
        if self.one_variance and self.last is not None:
            more = _shared(self.last, surfaces)
            surfaces = [
                group if isinstance(group, VaryingGroup) else group.scaled(more)
                for group in surfaces
            ]
        begin = replace(self.curves, starts=starts, one_for_pairs=self.one_variance)
        begin = begin.beside(surfaces)
        n_turns = N_TURNS_OF_ONE if self.one_variance else N_TURNS
        self.last = self.smooth(part.with_rows(rows), begin, n_turns)
        rows = rows.with_layout(self.last.layout)
        return crossed.trained(rows, k, self.last.starts, stopping)

    def begun(self, surfaces: Sequence[PairGroup]) -> Smoothness:
        """Return a model to begin with: for surfaces of the last fold, what it ended with."""
        if self.last is None:
            return self.curves.beside(surfaces)
        before, groups = self.last.layout, list[PairGroup]()
        known = {key: (group, p, at) for group, p, key, at in _surfaces(before)}
        for group in surfaces:
            if isinstance(group, VaryingGroup):
                groups.append(group.with_prior_of(known[_keys(group)[0]][0]))
                continue
            variance, edges = group.variance.copy(), np.ones(group.shape)
            for p, key in enumerate(_keys(group)):
                if key in known:
                    of_fold, q, _ = known[key]
                    variance[p], edges[p] = of_fold.variance[q], of_fold.edge_weights[q]
            groups.append(group.with_variance(variance, edges))
        layout = before.with_pairs(groups)
        starts = []
        for start in self.last.starts:
            assert start.coef is not None
            coef = np.zeros((*start.coef.shape[:-1], layout.n_parameters))
            coef[..., : layout.n_of_curves] = start.coef[..., : layout.n_of_curves]
            for _, _, key, at in _surfaces(layout):
                if key in known:
                    coef[..., at] = start.coef[..., known[key][2]]
            starts.append(replace(start, coef=coef))
        return replace(self.last, layout=layout, starts=starts, n_turns=self.curves.n_turns)


def _shared(before: Smoothness, surfaces: Sequence[PairGroup]) -> float:
    """Return the mean variance of surfaces by their degrees of freedom, relative to first ones."""
    total = freedom = 0.0
    of_pairs = before.edf[len(before.layout.groups) :]
    for group, edf in zip(before.layout.pairs, of_pairs, strict=True):
        if not isinstance(group, VaryingGroup):
            total += float(group.variance @ edf)
            freedom += float(edf.sum())
    first = [group.variance for group in surfaces if not isinstance(group, VaryingGroup)]
    if not first or not total > 0.0:
        return 1.0
    return total / (freedom * float(np.concatenate(first).mean()))


def _scores_of(point: Point, kept: set[FeaturePair]) -> Floats:
    """Return a model's scores without the surfaces of other pairs."""
    layout, theta = point.space.layout, point.parameters.copy()
    for group, _, key, at in _surfaces(layout):
        if tuple(sorted(key[:2])) not in kept and not isinstance(group, VaryingGroup):
            theta[:, at] = 0.0
    return np.asarray(point.space.rows.scores(theta, point.space.n_threads) + point.theta[:, -1:])


def _surfaces(layout: Layout) -> list[tuple[PairGroup, int, tuple[int, ...], slice]]:
    """Return group, number in the group, key, and place of the parameters of every surface."""
    out, first = [], layout.n_of_curves
    for group in layout.pairs:
        for p, key in enumerate(_keys(group)):
            out.append((group, p, key, slice(first, first + group.size)))
            first += group.size
    return out


def _keys(group: PairGroup) -> list[tuple[int, ...]]:
    """Return both features and both numbers of nodes of every surface."""
    return [(int(a), int(b), *group.n_nodes) for a, b in group.features]


def without_flat(
    data: TrainingSet, chosen: list[Smoothness], asked: Interactions
) -> tuple[TrainingSet, list[Smoothness]]:
    """Return the training set and its smoothness without flat surfaces, if "auto" found them.

    "auto" takes pairs with little evidence as well, because REML flattens those without an effect
    (see `splinear.solvers.pairs.interactions`). A surface with hardly any degrees of freedom is
    zero, but would still be stored, listed and drawn.

    The smoothness is that of each problem; a surface stays if it is not flat in all of them.
    """
    if asked.n_more is not None:
        return data, chosen
    # If REML looked at a sample, all rows have more degrees of freedom, at most in proportion.
    n, pairs = len(data.rows.layout.groups), data.rows.layout.pairs
    kept = [_named(group, asked.given) for group in pairs]
    for one in chosen:
        growth = data.rows.n_rows / one.n_rows
        kept = [own | (growth * edf > FLAT) for own, edf in zip(kept, one.edf[n:], strict=True)]
    if all(own.all() for own in kept):
        return data, chosen
    rows = _restricted(data.rows, kept, asked.data.table)
    return data.with_rows(rows), [_with_surfaces(one, kept) for one in chosen]


def _named(group: PairGroup, given: Container[FeaturePair]) -> NDArray[np.bool_]:
    """Return whether the user named each surface, (n_pairs,)."""
    if isinstance(group, VaryingGroup):
        return np.ones(1, dtype=bool)
    pairs = np.sort(group.features, axis=1).tolist()
    return np.array([(j, k) in given for j, k in pairs])


def _restricted(rows: TrainingRows, kept: Kept, table: Table) -> TrainingRows:
    """Return the rows with some of their surfaces."""
    groups = _some(rows.layout.pairs, kept)
    if not groups:
        return rows.without_pairs()
    return rows.with_pairs(rows.layout.with_pairs(groups), rows.placed(groups, table))


def _with_surfaces(chosen: Smoothness, kept: Kept) -> Smoothness:
    """Return the smoothness of a model with some of its surfaces."""
    n, places = len(chosen.layout.groups), _places(chosen.layout, kept)
    edf = [own[there] for own, there in zip(chosen.edf[n:], kept, strict=True) if there.any()]
    return replace(
        chosen,
        layout=chosen.layout.with_pairs(_some(chosen.layout.pairs, kept)),
        edf=(*chosen.edf[:n], *edf),
        starts=[
            Start(None if start.coef is None else start.coef[..., places], start.intercept)
            for start in chosen.starts
        ],
    )


def _some(groups: Sequence[PairGroup], kept: Kept) -> tuple[PairGroup, ...]:
    """Return groups with the surfaces that stay; those without any are left out."""
    both = zip(groups, kept, strict=True)
    return tuple(group.of_features(np.flatnonzero(own)) for group, own in both if own.any())


def _places(layout: Layout, kept: Kept) -> NDArray[np.intp]:
    """Return the indices of the parameters that stay."""
    of_curves = np.ones(layout.n_of_curves, dtype=bool)
    both = zip(layout.pairs, kept, strict=True)
    return np.flatnonzero(
        np.concatenate([of_curves, *(np.repeat(own, group.size) for group, own in both)])
    )
