"""The choice of pairs of features that get surfaces, and the rows' positions on them.

Once curves have been trained, the derivatives g_i of the losses have no trend along any single
feature. A trend over two features together is evidence for a surface: on a grid of at most 16 x 16
nodes, fewer where there are few rows,

    z = (E - chance) / sd,   E = 1/2 sum_c G_c^2 / (H_c + 1),

where G_c and H_c are the sums of first and second derivatives over the rows nearest to node c. E is
about how much the objective would fall if every node had an effect of its own under a ridge;
`chance` and `sd` are its mean and standard deviation without an interaction (see
core/pairs/evidence.hpp).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Integral
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from splinear._caching import cached_property
from splinear._lookup import is_whole
from splinear._types import Floats
from splinear.model.plan import FeaturePair, TermPlan
from splinear.objective.local.memory import BytesPerRow
from splinear.objective.local.pair_rows import MOST_CELLS
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.point import Point
from splinear.solvers.pairs.crossfit import CrossFit, grid_evidence, is_worth_a_pass
from splinear.solvers.pairs.held import HeldFeatures
from splinear.terms.base import Advice, ColumnData
from splinear.terms.group import split_by
from splinear.terms.pair import N_BINS, LevelEffects, Pair
from splinear.terms.pair_group import Chain, PairGroup
from splinear.terms.varying_group import VaryingGroup

__all__ = [
    "Interactions",
    "asks_for_pairs",
    "check_interactions",
    "read_interactions",
]

MOST_ROWS, LEAST_ROWS = 50_000, 5_000  # rows that the evidence is computed from
MOST_WORK = 2 * 10**9  # rows times pairs times outputs, unless that leaves fewer than LEAST_ROWS
MOST_FEATURES = 400  # features considered: those whose curves vary most
# Cells of grids for numbers have at least so many rows in the mean: of single rows, any two
# features would tell as much.
ROWS_PER_CELL, LEAST_BINS = 10, 3
# "auto" takes all pairs with evidence of LEAST_EVIDENCE, and others down to LEAST_OF_CHEAP while
# they cost little: REML flattens those without an effect, many weak ones can matter together, and
# held-out rows decide what share of them is kept.
LEAST_EVIDENCE, LEAST_OF_CHEAP = 2.0, -1.0
CHEAP = 2 * 10**6  # rows times pairs
# Upper limits on the number of pairs that "auto" takes.
PAIRS_PER_FEATURE, FEW_PAIRS = 8, 60
ROWS_PER_PAIR = 30
ROWS_PER_OUTPUT = 5  # with fewer, "auto" looks for none: a surface has as many functions


def check_interactions(request: object) -> None:
    """Check the parameter `interactions`, as far as possible without a table."""
    if isinstance(request, str) and request == "auto":
        return
    if is_whole(request) and request >= 0:
        return
    if _is_list(request) and all(_is_list(entry) and len(entry) == 2 for entry in request):
        return
    raise ValueError(
        "interactions must be a number of pairs, 'auto', or a list of pairs of features, each by "
        f"name or position; got {request!r}."
    )


def asks_for_pairs(request: object, terms: object) -> bool:
    """Return whether the parameters `interactions` and `terms` ask for any surfaces."""
    of_two = isinstance(terms, Mapping) and any(isinstance(key, tuple) for key in terms)
    return of_two or (len(request) > 0 if _is_list(request) else request != 0)


def _is_list(value: object) -> TypeGuard[Sequence[Sequence[object]]]:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def read_interactions(
    request: object, plan: TermPlan, data: ColumnData, held: HeldFeatures, advice: Advice
) -> Interactions | None:
    """Return the surfaces that `interactions` and `terms` ask for; None if there are none.

    `advice` is about the curves of varying coefficients.
    """
    given = dict(plan.pairs)
    n_more: int | None = 0
    if isinstance(request, str):
        n_more = None
    elif isinstance(request, Integral):
        n_more = int(request)
    elif _is_list(request):
        for entry in request:
            at = plan.pair_position(entry, "interactions")
            if at in plan.varying or at[::-1] in plan.varying:
                raise ValueError(
                    f"interactions names the pair {entry!r}, for which terms has a Varying()."
                )
            given.setdefault(at, Pair())
    if n_more == 0 and not given and not plan.varying:
        return None
    if data.through_zero:
        raise ValueError(
            "Surfaces over pairs of features need a dense X; got a sparse one. Use X.toarray(), or "
            "leave out `interactions` and pairs in `terms`."
        )
    held.check(given, data.label)
    held.check_varying(plan.varying, data.label)
    varying = []
    for (of, by), term in plan.varying.items():
        term.check_columns(of, by, data)
        group = term.place_two(of, by, data, advice)
        varying += [] if group is None else [group]
    return Interactions(given, n_more, frozenset(plan.dropped), data, held, tuple(varying))


@dataclass(frozen=True, eq=False)
class Interactions:
    """The surfaces that are asked for, and the columns in which further ones are searched.

    Attributes
    ----------
    given : dict of (int, int) to Pair
        Surfaces that the user named.
    n_more : int or None
        Number of further surfaces to find; None for as many as the evidence supports.
    dropped : frozenset of int
        Features that are ignored.
    data : ColumnData
    held : HeldFeatures
        Features whose curves, and hence surfaces, are shape-constrained.
    varying : tuple of VaryingGroup
        The varying coefficients that the user named, one each.
    n_units : float or None
        Number of independent rows if `data` does not tell; None if it holds all rows, each one.
    """

    given: dict[FeaturePair, Pair]
    n_more: int | None
    dropped: frozenset[int]
    data: ColumnData
    held: HeldFeatures
    varying: tuple[VaryingGroup, ...] = ()
    n_units: float | None = None

    def find(
        self,
        crossed: CrossFit,
        rows: TrainingRows,
        totals: Sequence[LossSum],
        held_out: int | None = None,
    ) -> tuple[dict[FeaturePair, Pair], int]:
        """Return pairs to add to those the user named, by evidence, and how many were looked at.

        `rows` are all rows, and `totals` the sums of losses over them. The rows of the fold
        `held_out` are not used.
        """
        chains = self._candidates(crossed)
        all_pairs = combinations(sorted(chains[0]), 2)
        named = {*self.given, *(_sorted_columns(group) for group in self.varying)}
        pairs = [p for p in all_pairs if p not in named and self.held.allow(*p)]
        if not pairs:
            return {}, 0
        if is_worth_a_pass(rows, len(pairs)):
            z = grid_evidence(rows, totals, crossed, chains[0], pairs)
        else:
            z = self._evidence(crossed, chains, pairs, held_out)
        if self.n_more is None:
            z = np.where((z < LEAST_EVIDENCE) & self._are_ordered(pairs), -np.inf, z)
        order = np.argsort(-z, kind="stable")
        found = [pairs[k] for k in order[: self._n_taken(z, len(chains[0]))]]
        return {pair: Pair() for pair in found}, len(pairs)

    def has_rows_for(self, n_outputs: int) -> bool:
        """Return whether there are enough rows to look for surfaces of so many outputs."""
        return self.n_more is not None or self._n_units >= ROWS_PER_OUTPUT * n_outputs

    def _are_ordered(self, pairs: list[FeaturePair]) -> NDArray[np.bool_]:
        """Return whether each pair has a category.

        The rows also order its levels, so that REML cannot tell whether a surface has an effect.
        """
        return np.array([not self.data.levels.keys().isdisjoint(pair) for pair in pairs])

    def _n_taken(self, z: Floats, n_features: int) -> int:
        if self.n_more is not None:
            return self.n_more
        n_sure = int(np.count_nonzero(z >= LEAST_EVIDENCE))
        n_likely = int(np.count_nonzero(z >= LEAST_OF_CHEAP))
        n_cheap = int(min(n_likely, CHEAP // max(1.0, self._n_units)))
        return min(self._most_found(n_features), max(n_sure, n_cheap))

    def _most_found(self, n_features: int) -> int:
        """Return the largest number of pairs to find among this many features."""
        n_pairs = n_features * (n_features - 1) // 2
        if self.n_more is not None:
            return min(self.n_more, n_pairs)
        most = max(FEW_PAIRS, PAIRS_PER_FEATURE * n_features)
        return int(min(n_pairs, most, self._n_units // ROWS_PER_PAIR))

    @cached_property
    def _n_units(self) -> float:
        """The number of independent rows with a positive weight."""
        if self.n_units is not None:
            return self.n_units
        kept, n_rows = self.data.kept, self.data.table.shape[0]
        return float(n_rows if kept is None else np.count_nonzero(kept))

    def need(self, n_outputs: int) -> BytesPerRow:
        """Return an upper bound of the memory per row that surfaces take.

        This is a position per row and chain, half as much for samples of rows, and for every
        surface a factored block per output, with three more as temporaries.
        """
        n_features = min(self.data.table.shape[1] - len(self.dropped), MOST_FEATURES)
        n_found = self._most_found(n_features)
        wanted = [*self.given.values(), *[Pair()] * n_found]
        of_given = {(j, term.n_bins) for pair, term in self.given.items() for j in pair}
        n_chains = len(of_given) + min(2 * n_found, n_features) + 2 * len(self.varying)
        of_surfaces = sum(8.0 * m**2 * (m + 2) * (n_outputs + 3) for m in map(_n_nodes, wanted))
        n_rows = max(1, self.data.table.shape[0])
        return BytesPerRow(shared=6.0 * n_chains + of_surfaces / n_rows)

    def _effects(self, points: Sequence[Point]) -> LevelEffects:
        rows, weights = _rows_of(points), self.data.weights
        w = np.ones(rows.n_rows) if weights is None else rows.place(weights)
        return _effects(points, w)

    def _candidates(self, crossed: CrossFit) -> list[dict[int, Chain]]:
        """Return the features among which pairs are searched, as chains of grid nodes, per fold.

        The levels of a category are ordered by their effects in the rows outside of the fold.
        """
        features = [j for j in range(self.data.table.shape[1]) if j not in self.dropped]
        if len(features) > MOST_FEATURES:
            strength = _strengths(crossed.points[0], self.data.table.shape[1])
            strongest = np.argsort(-strength[features], kind="stable")[:MOST_FEATURES]
            features = sorted(features[k] for k in strongest)
        of_levels = [j for j in features if j in self.data.levels]
        of_numbers = [j for j in features if j not in self.data.levels]
        n_bins = int(np.clip(np.sqrt(self._n_units / ROWS_PER_CELL), LEAST_BINS, MOST_CELLS - 2))
        grid, effects = Pair(n_bins=MOST_CELLS - 2), self._effects(crossed.points[0])
        first = Pair(n_bins=n_bins).chains(of_numbers, self.data, effects)
        first = first | grid.chains(of_levels, self.data, effects)
        chains = [first]
        for points in crossed.points[1:]:
            own = grid.chains(of_levels, self.data, self._effects(points)) if of_levels else {}
            chains.append(first | own)
        shared = set.intersection(*(set(own) for own in chains))
        return [{j: own[j] for j in first if j in shared} for own in chains]

    def _evidence(
        self,
        crossed: CrossFit,
        chains: list[dict[int, Chain]],
        pairs: list[FeaturePair],
        held_out: int | None,
    ) -> Floats:
        """Return z of every pair, (n_pairs,): the sum over outputs / sqrt(n_outputs)."""
        rows, table = crossed.data.rows, self.data.table
        n_outputs = sum(point.space.n_outputs for point in crossed.points[0])
        n = int(np.clip(MOST_WORK // (n_outputs * len(pairs)), LEAST_ROWS, MOST_ROWS))
        n = min(n, rows.n_rows)
        distinct = list({id(chain): chain for own in chains for chain in own.values()}.values())
        place = {id(chain): k for k, chain in enumerate(distinct)}
        at = np.array([[place[id(chain)] for chain in own.values()] for own in chains])
        seen = rows.nearest(distinct, table, n).crossed(at, crossed.fold[:n])
        number = {j: k for k, j in enumerate(chains[0])}
        numbers = np.array([[number[a], number[b]] for a, b in pairs], dtype=np.int64)
        total, n_threads = np.zeros(len(pairs)), crossed.points[0][0].space.n_threads
        looked_at = crossed.fold[:n] != held_out
        for g, h in crossed.derivatives():
            for own in seen.evidence(
                looked_at * g[:, :n], looked_at * h[:, :n], numbers, n_threads
            ):
                total += own
        return np.asarray(total / np.sqrt(n_outputs))

    def add(
        self,
        rows: TrainingRows,
        wanted: dict[FeaturePair, Pair],
        points: Sequence[Point],
        weights: Floats,
        n_threads: int,
    ) -> TrainingRows:
        """Return the rows with surfaces added; `weights` (n_rows,) are in training order."""
        surfaces = self._chained(self.held.limited(wanted), self._effects(points))
        if not surfaces and not self.varying:
            return rows
        sizes = np.array([[a.n_nodes, b.n_nodes] for a, b in surfaces]).reshape(-1, 2)
        of_pairs = [self._group([surfaces[int(k)] for k in at]) for at in split_by(sizes)]
        groups = (*of_pairs, *self.varying)
        pairs = rows.placed(groups, self.data.table)
        [mass] = pairs.sums(weights[None], n_threads)
        ends = np.cumsum([group.n_pairs * group.size for group in groups])
        groups = tuple(
            group.with_mass(own.reshape(group.mass.shape))
            for group, own in zip(groups, np.split(mass, ends[:-1]), strict=True)
        )
        return rows.with_pairs(rows.layout.with_pairs(groups), replace(pairs, groups=groups))

    def _group(self, surfaces: list[tuple[Chain, Chain]]) -> PairGroup:
        """Return surfaces of one size as a group."""
        held = np.array([first.feature in self.held.knots for first, _ in surfaces])
        return PairGroup.of(tuple(surfaces)).with_held(held if held.any() else None)

    def _chained(
        self, wanted: dict[FeaturePair, Pair], effects: LevelEffects
    ) -> list[tuple[Chain, Chain]]:
        """Return the two chains of every pair, without pairs that have a constant feature.

        The shape-constrained feature comes first; otherwise the longer chain does.
        """
        of_bins: dict[int | None, tuple[Pair, set[int]]] = {}
        for pair, term in wanted.items():
            of_bins.setdefault(term.n_bins, (term, set()))[1].update(pair)
        chains = {}
        for n_bins, (term, features) in of_bins.items():
            found = term.chains(sorted(features), self.data, effects)
            chains[n_bins] = {j: self.held.placed(chain) for j, chain in found.items()}
        out = []
        for (j, k), term in wanted.items():
            known = chains[term.n_bins]
            if j in known and k in known:
                first, second = sorted((known[j], known[k]), key=self._rank)
                out.append((first, second))
        return out

    def _rank(self, chain: Chain) -> tuple[bool, int]:
        return chain.feature not in self.held.knots, -chain.n_nodes


def _sorted_columns(group: VaryingGroup) -> FeaturePair:
    columns = group.of_column, group.by_column
    return min(columns), max(columns)


def _rows_of(points: Sequence[Point]) -> TrainingRows:
    """Return the rows in this process that the points were computed on."""
    space = points[0].space
    return space.rows.first(space.n_rows)


def _n_nodes(term: Pair) -> int:
    """Return the largest number of nodes per feature, including that of missing values."""
    return (N_BINS if term.n_bins is None else int(term.n_bins)) + 2


def _effects(points: Sequence[Point], weights: Floats) -> LevelEffects:
    """Return, for each categorical feature, the effects and the weights of its levels.

    For several outputs, the effects are projected on their first principal direction.
    """
    layout, out = points[0].space.layout, {}
    theta = np.concatenate([point.parameters for point in points])
    mass = layout.split(points[0].space.rows.raw_sums(weights[None]))
    for group, part, own in zip(layout.groups, layout.split(theta), mass, strict=True):
        if group.levels is None:
            continue
        for k, j in enumerate(map(int, group.features)):
            n_levels = len(group.levels[k])
            coef, weight = part[:, k, :n_levels], own[0, k, :n_levels]
            out[j] = _along(coef, weight), weight
    return out


def _along(coef: Floats, weight: Floats) -> Floats:
    """Return coef (n_outputs, n) projected on its first principal direction, (n,)."""
    if len(coef) == 1 or coef.shape[1] < 2:  # a category may have no levels
        return np.asarray(coef[0])
    share = weight / max(float(weight.sum()), np.finfo(float).tiny)
    centered = coef - (coef @ share)[:, None]
    directions, _, _ = np.linalg.svd(centered * np.sqrt(share), full_matrices=False)
    return np.asarray(directions[:, 0] @ centered)


def _strengths(points: Sequence[Point], n_columns: int) -> Floats:
    """Return roughly how much every feature's curve varies, (n_columns,)."""
    layout, out = points[0].space.layout, np.zeros(n_columns)
    theta = np.concatenate([point.parameters for point in points])
    for group, part in zip(layout.groups, layout.split(theta), strict=True):
        out[group.features] = part[..., : group.size].std(axis=2).max(axis=0)
    return out
