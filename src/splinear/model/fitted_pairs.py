"""The fitted surfaces of a model: the pairs in `terms_`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.model.chains import Chain, interpolated
from splinear.model.pairs import PairGroup, surfaces
from splinear.model.varying import VaryingGroup

__all__ = ["FittedPair", "FittedVarying"]


@dataclass(frozen=True, eq=False)
class FittedPair:
    """The interaction of two features: what they add to the score beyond their two curves.

    It is a surface f(x, z), bilinear between nodes. Its mean over the training rows is 0, and so is
    its mean along either feature.

    Attributes
    ----------
    features : tuple of int
        Positions of its two features in X, in ascending order.
    name : str
        The names of both features, with a cross between them.
    coef : ndarray of shape (n_outputs, n_first, n_second)
        The values at the nodes of the first and of the second feature. If a feature had missing
        values, its last node stands for them.
    smoothness : float or ndarray of shape (n_labels,)
        t_p, the variance of the prior of the mixed differences, as that of curves.
    edf : float
        The effective degrees of freedom; NaN where the smoothness was not chosen from the data.
    """

    features: tuple[int, int]
    name: str
    coef: Floats
    smoothness: float | Floats
    edf: float
    chains: tuple[Chain, Chain]
    levels: tuple[tuple[object, ...] | None, tuple[object, ...] | None]
    group: PairGroup  # of this pair alone
    table: Floats  # (n_outputs, size) in the order of the group's chains

    kind = "Pair"

    @cached_property
    def mean(self) -> Floats:
        """The mean over the training rows, 0, shape (n_outputs,)."""
        return np.zeros(len(self.table))

    @property
    def deviation(self) -> float:
        """The standard deviation over the training rows, averaged over outputs."""
        return float("nan") if self.group.deviation is None else float(self.group.deviation[0])

    def evaluate(self, x: AnyArray, z: AnyArray) -> Floats:
        """Return f(x, z) for values (n,) of the two features, (n, n_outputs).

        Levels are given by their positions, -1 for an unseen one; NaN is a missing value.
        """
        of = {self.features[0]: x, self.features[1]: z}
        chains = self.group.chains[0]
        positions = np.stack([chain.positions(of[chain.feature]) for chain in chains])
        core = surfaces(positions, chains, (self.group,))
        return np.asarray(core.score(np.ascontiguousarray(self.table), 1).T)

    def __repr__(self) -> str:
        edf = "" if np.isnan(self.edf) else f", edf={self.edf:.1f}"
        sizes = " x ".join(map(str, self.coef.shape[1:]))
        return f"<{self.kind} of {self.name!r}: {sizes}{edf}>"


@dataclass(frozen=True, eq=False, repr=False)
class FittedVarying(FittedPair):
    """A varying coefficient: a slope, or a curve, that depends on another feature.

    It is a FittedPair whose surface is z f(x), with z centered, or one curve f(x) per level of z.
    Its mean over the training rows is 0. What `coef` holds for a number z are the values at both
    ends of its range.

    Attributes
    ----------
    of, by : int
        The positions in X of x and of z.
    curves : ndarray of shape (n_outputs, n_curves, n_nodes)
        The values of f at the nodes of x: the slope of z, in units of the score per unit of z, less
        its mean over the training rows; or those of each level's curve, less its mean over the rows
        of the level. If x had missing values, the last node stands for them. If z is a category and
        had missing values, the last curve stands for them.
    """

    group: VaryingGroup
    parameters: Floats  # (n_outputs, size)

    kind = "Varying"

    @property
    def of(self) -> int:
        """The position of x."""
        return self.group.of_column

    @property
    def by(self) -> int:
        """The position of z."""
        return self.group.by_column

    @cached_property
    def curves(self) -> Floats:
        """The values of the curves at the nodes of x."""
        F = self.group.values_of_curves(self.parameters[:, None])
        return np.asarray(F / self.group.unit)

    @property
    def levels_of_by(self) -> tuple[object, ...]:
        """The levels of z; empty if it is a number."""
        levels = self.levels[self.features.index(self.by)]
        return () if levels is None else levels

    def curves_at(self, x: AnyArray) -> Floats:
        """Return the curves at values (n,) of x, (n, n_curves, n_outputs); see `curves`.

        Levels are given by their positions; the result is 0 for an unseen one, and NaN is missing.
        """
        return interpolated(self.curves, self.group.chains[0][0].positions(x)).T
