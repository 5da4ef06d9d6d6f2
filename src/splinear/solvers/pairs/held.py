"""Surfaces of features whose curves are shape-constrained (monotone or of one curvature).

The surface takes its nodes from the knots of the curve. The sum of both is then piecewise linear on
the same pieces, and satisfies the constraint if some linear inequalities hold (see
`splinear.model.cone`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.model.plan import FeaturePair
from splinear.terms.basis import BSplineBasis
from splinear.terms.pair import N_BINS, Pair
from splinear.terms.pair_group import Chain

__all__ = ["HeldFeatures"]

MOST_CELLS = 500  # over all such surfaces: each cell is an inequality, at cubic cost per step
LEAST_BINS = 6  # per feature, however many surfaces there are


@dataclass(frozen=True, eq=False)
class HeldFeatures:
    """The features whose curves are shape-constrained.

    Attributes
    ----------
    knots : dict of int to ndarray
        The knots of constrained curves of degree 1, by feature.
    others : frozenset of int
        Features with constrained curves of another degree, which can have no surfaces.
    """

    knots: dict[int, Floats]
    others: frozenset[int]

    @classmethod
    def of(cls, layout: Layout) -> HeldFeatures:
        """Find the constrained features of a layout."""
        knots, others = {}, set()
        for group in layout.groups:
            if group.form is None:
                continue
            basis = group.embedding.basis
            assert isinstance(basis, BSplineBasis)
            for j, feature in enumerate(group.features.tolist()):
                if basis.degree != 1:
                    others.add(feature)
                elif len(group.form_widths[j]):
                    knots[feature] = group.embedding.axes.edges_of(j)
        return cls(knots, frozenset(others))

    def check(self, pairs: Collection[FeaturePair], label: Callable[[int], str]) -> None:
        """Raise if a pair cannot have a surface."""
        for pair in pairs:
            for j in self.others.intersection(pair):
                raise ValueError(
                    f"Where a feature has a surface, Spline(monotone=..., curvature=...) needs "
                    f"degree=1, and that of {label(j)} has another. Use degree=1, or leave out the "
                    "pair or the constraints."
                )
            if all(j in self.knots for j in pair):
                a, b = map(label, pair)
                raise ValueError(
                    f"A surface cannot satisfy the forms of two curves, those of {a} and {b}. "
                    "Leave out their pair, or the constraints (monotone, curvature) of one of them."
                )

    def check_varying(
        self, pairs: Collection[tuple[int, int]], label: Callable[[int], str]
    ) -> None:
        """Raise if a varying coefficient would be added to a curve that is constrained."""
        for j in (j for pair in pairs for j in pair if j in self.knots or j in self.others):
            raise ValueError(
                f"Varying cannot satisfy the form of a curve, that of {label(j)}. Leave out the "
                "constraints (monotone, curvature), or use Pair()."
            )

    def allow(self, a: int, b: int) -> bool:
        """Return whether two features can have a surface."""
        return not (self.others & {a, b}) and not (a in self.knots and b in self.knots)

    def limited(self, wanted: dict[FeaturePair, Pair]) -> dict[FeaturePair, Pair]:
        """Return the surfaces, with fewer bins for the constrained ones if these are many."""
        held = [pair for pair in wanted if self.knots.keys() & set(pair)]
        n_bins = max(LEAST_BINS, int(np.sqrt(MOST_CELLS / max(1, len(held)))))
        coarse = [pair for pair in held if wanted[pair].n_bins is None and n_bins < N_BINS]
        return wanted | {pair: Pair(n_bins=n_bins) for pair in coarse}

    def placed(self, chain: Chain) -> Chain:
        """Return a feature's chain with its nodes at knots of the curve, if that is constrained."""
        knots = self.knots.get(chain.feature)
        if knots is None or chain.knots is None:
            return chain
        after = np.clip(np.searchsorted(knots, chain.knots), 1, len(knots) - 1)
        is_nearer = chain.knots - knots[after - 1] < knots[after] - chain.knots
        at = np.union1d(after - is_nearer, [0, len(knots) - 1])
        return replace(chain, knots=knots[at])
