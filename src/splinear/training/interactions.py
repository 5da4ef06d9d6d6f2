"""Which pairs of features get surfaces, and how the training rows stand on them.

Once curves have been trained, the losses' derivatives g_i have no trend along any one feature. What
trend they have over two together is evidence for a surface: on a grid of at most 16 x 16 nodes,

    z = (E - chance) / sd,   E = 1/2 sum_c G_c^2 / (H_c + 1),

G_c and H_c being the sums of first and second derivatives of the rows nearest to node c: E is about
what the objective would fall by if every node had an effect of its own under a ridge (see
core/pairs/evidence.hpp for what chance gives).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Integral
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._lookup import is_whole
from splinear._types import Floats
from splinear.model.chains import Chain
from splinear.model.group import split_by
from splinear.model.layout import Layout
from splinear.model.pairs import PairGroup, chains_of
from splinear.solvers.iterate import Iterate
from splinear.solvers.pair_rows import PairRows
from splinear.solvers.rows import TrainingRows
from splinear.tables.chunks import as_dense
from splinear.terms.base import ColumnData
from splinear.terms.pair import LevelEffects, Pair
from splinear.terms.plan import FeaturePair, TermPlan

__all__ = ["Interactions", "check_interactions", "read_interactions"]

MOST_ROWS, LEAST_ROWS = 50_000, 5_000  # that pairs are looked for in
MOST_WORK = 2 * 10**9  # rows times pairs, if that leaves LEAST_ROWS
MOST_CELLS = 16  # per feature, that of missing values included
MOST_FEATURES = 400  # that pairs are looked for among: those whose curves say most
# "auto" takes all pairs of so much evidence, and others as long as they cost little: REML finds out
# which of them say nothing, and many that say little can say much together.
LEAST_EVIDENCE, LEAST_OF_CHEAP = 2.0, 0.0
CHEAP = 2 * 10**6  # rows times pairs
# The most that "auto" takes.
PAIRS_PER_FEATURE, FEW_PAIRS = 4, 60
ROWS_PER_PAIR = 60


def check_interactions(request: object) -> None:
    """Check the parameter `interactions` as far as that is possible without a table."""
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


def _is_list(value: object) -> TypeGuard[Sequence[Sequence[object]]]:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def read_interactions(request: object, plan: TermPlan, data: ColumnData) -> Interactions | None:
    """Return what the parameters `interactions` and `terms` ask for; None: no surfaces."""
    given = dict(plan.pairs)
    n_more: int | None = 0
    if isinstance(request, str):
        n_more = None
    elif isinstance(request, Integral):
        n_more = int(request)
    elif _is_list(request):
        for entry in request:
            given.setdefault(plan.pair_position(entry, "interactions"), Pair())
    if n_more == 0 and not given:
        return None
    if data.through_zero:
        raise ValueError(
            "Surfaces over pairs of features need a dense X; got a sparse one. Use X.toarray(), or "
            "leave out `interactions` and pairs in `terms`."
        )
    return Interactions(given, n_more, frozenset(plan.dropped), data)


@dataclass(frozen=True, eq=False)
class Interactions:
    """What is to be found, and the columns it is to be found in.

    Attributes
    ----------
    given : dict of (int, int) to Pair
        Surfaces that were asked for.
    n_more : int or None
        How many others are to be found; None: as many as the evidence pays for.
    dropped : frozenset of int
        Features that take no part.
    data : ColumnData
    """

    given: dict[FeaturePair, Pair]
    n_more: int | None
    dropped: frozenset[int]
    data: ColumnData

    def find(self, points: Sequence[Iterate]) -> dict[FeaturePair, Pair]:
        """Return all surfaces, those found after those given, by models of curves."""
        if self.n_more == 0:
            return self.given
        chains = self._candidates(points)
        pairs = [p for p in combinations(sorted(chains), 2) if p not in self.given]
        if not pairs:
            return self.given
        z = self._evidence(points, chains, pairs)
        order, n_rows = np.argsort(-z, kind="stable"), self._n_rows()
        found = [pairs[k] for k in order[: self._n_taken(z, len(chains), n_rows)]]
        return self.given | {pair: Pair() for pair in found}

    def _n_taken(self, z: Floats, n_features: int, n_rows: int) -> int:
        if self.n_more is not None:
            return self.n_more
        most = min(max(FEW_PAIRS, PAIRS_PER_FEATURE * n_features), n_rows // ROWS_PER_PAIR)
        n_sure = int(np.count_nonzero(z >= LEAST_EVIDENCE))
        n_likely = int(np.count_nonzero(z >= LEAST_OF_CHEAP))
        return min(most, max(n_sure, min(n_likely, CHEAP // n_rows)))

    def _n_rows(self) -> int:
        kept = self.data.kept
        return self.data.table.shape[0] if kept is None else int(np.count_nonzero(kept))

    def _candidates(self, points: Sequence[Iterate]) -> dict[int, Chain]:
        """Return the features among which pairs are looked for, as chains."""
        features = [j for j in range(self.data.table.shape[1]) if j not in self.dropped]
        if len(features) > MOST_FEATURES:
            strength = _strengths(points, self.data.table.shape[1])
            strongest = np.argsort(-strength[features], kind="stable")[:MOST_FEATURES]
            features = sorted(features[k] for k in strongest)
        return Pair(n_bins=MOST_CELLS - 2).chains(features, self.data, _effects(points))

    def _evidence(
        self,
        points: Sequence[Iterate],
        chains: dict[int, Chain],
        pairs: list[FeaturePair],
    ) -> Floats:
        """Return z of every pair, the root mean of squares over outputs if these are several."""
        rows = points[0].space.rows
        n = int(np.clip(MOST_WORK // len(pairs), LEAST_ROWS, MOST_ROWS))
        n = min(n, rows.n_rows)
        positions = self._positions(tuple(chains.values()), rows, n)
        cells = np.clip(np.rint(positions), 0, MOST_CELLS - 1).astype(np.uint8)
        place = {j: k for k, j in enumerate(chains)}
        numbers = np.array([[place[a], place[b]] for a, b in pairs], dtype=np.int64)
        total, n_outputs = np.zeros(len(pairs)), 0
        for point in points:
            g = point.total.gradient(point.F)[:, :n]
            h = point.curvature.diagonal[:, :n]
            g = g / np.sqrt(point.total.dispersion(_mean_square(g, h)))
            for k in range(len(g)):
                own = np.ascontiguousarray(g[k]), np.ascontiguousarray(h[k])
                total += _core.pair_evidence(cells, *own, numbers, point.space.n_threads)
                n_outputs += 1
        return np.asarray(total / np.sqrt(n_outputs))

    def add(
        self,
        rows: TrainingRows,
        wanted: dict[FeaturePair, Pair],
        points: Sequence[Iterate],
        weights: Floats | None,
        n_threads: int,
    ) -> TrainingRows:
        """Return the rows with surfaces; `weights` are in the order of training, None: 1 each."""
        surfaces = self._chained(wanted, _effects(points))
        if not surfaces:
            return rows
        sizes = np.array([[a.n_nodes, b.n_nodes] for a, b in surfaces])
        groups = tuple(PairGroup.of(tuple(surfaces[int(k)] for k in at)) for at in split_by(sizes))
        chains = chains_of(groups)
        positions = self._positions(chains, rows, rows.n_rows)
        w = np.ones((1, rows.n_rows)) if weights is None else weights[None]
        mass = PairRows(chains, positions, groups).sums(w, n_threads)
        layout = Layout((), 0, groups)
        groups = tuple(
            replace(group, mass=own[0].reshape(group.mass.shape))
            for group, own in zip(groups, layout.split_pairs(mass), strict=True)
        )
        return rows.with_pairs(rows.layout.with_pairs(groups), PairRows(chains, positions, groups))

    def _chained(
        self, wanted: dict[FeaturePair, Pair], effects: LevelEffects
    ) -> list[tuple[Chain, Chain]]:
        """Return the chains of every pair, the longer one first; of one node there is no pair."""
        of_bins: dict[int | None, tuple[Pair, set[int]]] = {}
        for pair, term in wanted.items():
            of_bins.setdefault(term.n_bins, (term, set()))[1].update(pair)
        chains = {
            n_bins: term.chains(sorted(features), self.data, effects)
            for n_bins, (term, features) in of_bins.items()
        }
        out = []
        for (j, k), term in wanted.items():
            known = chains[term.n_bins]
            if j in known and k in known:
                a, b = known[j], known[k]
                out.append((a, b) if a.n_nodes >= b.n_nodes else (b, a))
        return out

    def _positions(
        self, chains: Sequence[Chain], rows: TrainingRows, n: int
    ) -> NDArray[np.float32]:
        """Return where the first n rows in the order of training stand, (n_chains, n)."""
        out = np.empty((len(chains), n), dtype=np.float32)
        columns = np.array([chain.feature for chain in chains], dtype=np.intp)
        order = rows.order()
        for here, piece in self.data.table.chunks(columns):
            places = order.of(here)
            taken = (places >= 0) & (places < n)
            values, to = as_dense(piece)[taken], places[taken]
            for k, chain in enumerate(chains):
                out[k, to] = chain.positions(values[:, k])
        return out


def _mean_square(g: Floats, h: Floats) -> float:
    """Return the mean of g^2 / h by h: of the squared error, the variance of the residuals."""
    total = float(np.divide(g**2, h, out=np.zeros_like(g), where=h > 0).sum())
    return max(total / max(float(h.sum()), np.finfo(float).tiny), np.finfo(float).tiny)


def _effects(points: Sequence[Iterate]) -> LevelEffects:
    """Return what the levels of categories add to the score, and their weight.

    Of several outputs, what most of the variation between levels goes along with.
    """
    layout, out = points[0].space.layout, {}
    theta = np.concatenate([point.parameters for point in points])
    mass = layout.split(points[0].space.rows.raw_sums(np.ones((1, points[0].space.n_rows))))
    for group, part, own in zip(layout.groups, layout.split(theta), mass, strict=True):
        if group.levels is None:
            continue
        for k, j in enumerate(map(int, group.features)):
            n_levels = len(group.levels[k])
            coef, weight = part[:, k, :n_levels], own[0, k, :n_levels]
            out[j] = _along(coef, weight), weight
    return out


def _along(coef: Floats, weight: Floats) -> Floats:
    """Return coef (n_outputs, n) along its first principal direction, (n,)."""
    if len(coef) == 1:
        return np.asarray(coef[0])
    share = weight / max(float(weight.sum()), np.finfo(float).tiny)
    centred = coef - (coef @ share)[:, None]
    directions, _, _ = np.linalg.svd(centred * np.sqrt(share), full_matrices=False)
    return np.asarray(directions[:, 0] @ centred)


def _strengths(points: Sequence[Iterate], n_columns: int) -> Floats:
    """Return about how much every feature's curve varies, (n_columns,)."""
    layout, out = points[0].space.layout, np.zeros(n_columns)
    theta = np.concatenate([point.parameters for point in points])
    for group, part in zip(layout.groups, layout.split(theta), strict=True):
        out[group.features] = part[..., : group.size].std(axis=2).max(axis=0)
    return out
