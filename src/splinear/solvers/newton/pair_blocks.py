"""The Hessian of surfaces: one block per surface, banded over its nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dpbtrs

from splinear._types import Floats
from splinear.model.factoring import factored_surfaces
from splinear.model.layout import Layout
from splinear.model.pairs import PairGroup

__all__ = ["SurfaceBlocks"]


class SurfaceBlocks:
    """The factored blocks of all surfaces of one output, as a preconditioner."""

    def __init__(self, layout: Layout, blocks: Sequence[Floats]) -> None:
        self.layout = layout
        pairs = zip(layout.pairs, blocks, strict=True)
        self.factors = [factored_surfaces(group, own) for group, own in pairs]

    def solve(self, r: Floats) -> Floats:
        """Return the surfaces' part of flat vectors (..., n_parameters) times the inverse."""
        parts = zip(self.layout.pairs, self.factors, self.layout.split_pairs(r), strict=True)
        solved = [_solved(group, factor, part) for group, factor, part in parts]
        return self.layout.join(solved)


def _solved(group: PairGroup, factor: Floats, part: Floats) -> Floats:
    flat = group.scatter(part).reshape(-1, group.n_pairs * group.size)
    y = dpbtrs(factor, flat.T, lower=1)[0].T.reshape(part.shape)
    return np.where(group.used, group.from_tables(y) + group.soften_shared(part), 0.0)
