"""A varying coefficient: a slope, or a curve, that depends on another feature."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import Chain, PairGroup

__all__ = ["VaryingGroup"]


@dataclass(frozen=True, eq=False)
class VaryingGroup(PairGroup):
    """One term sum_c f_c(x) v_c(z) of two features, x (`of`) and z (`by`).

    If z is a number, there is one curve f, and v(z) is z less its mean over the training rows,
    divided by its standard deviation. If z is a category, there is a curve for each of its levels,
    and v_c(z) is 1 at level c and 0 at the others. The curves are those of x alone: piecewise
    linear, or an effect per level, under their usual penalty.

    On the nodes of two chains this is a surface whose table has few degrees of freedom,

        T_kl = sum_c (F_ck - m_c'F_c) V_lc - mean,

    with F_ck the value of curve c at node k of x, and V_lc that of v_c at node l of z: a number z
    has a node at each end of its range, since v is a line. So the core, rows on GPUs and clusters,
    exports and contributions need to know surfaces only. (Curves whose rows have a multiplier would
    read two numbers per row and not four, but would be another kind of rows in every place.)

    m_c is the mean of the curve's basis over the training rows (those of its level, if z is a
    category): what the mean of a curve could add belongs to the term of z. The mean of the surface
    belongs to the intercept.

    A missing z is one more level of a category, and counts as the mean of a number. A missing x has
    a coefficient of its own, as in the curve of x. Parameters are (1, m1 * m2) as tables are: curve
    c is column c of the grid, and further columns are not used.

    Attributes
    ----------
    curve : TermGroup
        The curves f_c, as those of as many features; m_c is their mean.
    values : ndarray of shape (m2, n_curves)
        V.
    """

    curve: TermGroup = field(kw_only=True)
    values: Floats = field(kw_only=True)

    @classmethod
    def between(cls, chains: tuple[Chain, Chain], curve: TermGroup, values: Floats) -> VaryingGroup:
        """Create a group whose rows are not known yet: N is 1 everywhere."""
        shape = chains[0].n_nodes, chains[1].n_nodes
        made = cls((chains,), np.ones(1), np.ones((1, *shape)), curve=curve, values=values)
        return made.with_curve(curve)

    def with_curve(self, curve: TermGroup) -> VaryingGroup:
        """Return the group with curves of another penalty or mean."""
        return replace(self, curve=curve, variance=curve.embedding.variance[:1])

    def with_mass(self, mass: Floats) -> VaryingGroup:
        """Return the group with N, and the m_c that follow from it."""
        size = self.curve.size
        per_curve = (mass[0] @ (self.values != 0.0)).T  # rows in which v_c has a value
        there, in_all = per_curve[:, :size].sum(axis=1, keepdims=True), per_curve.sum(axis=1)
        mean = np.divide(
            per_curve[:, :size], there, out=np.zeros((len(there), size)), where=there > 0
        )
        gaps = None
        if self.curve.has_gaps:
            gaps = np.divide(per_curve[:, -1], in_all, out=np.zeros(len(there)), where=in_all > 0)
        return replace(self.with_curve(replace(self.curve, mean=mean, gap_share=gaps)), mass=mass)

    def of_features(self, at: AnyArray) -> VaryingGroup:
        """Return the group itself: it has one term."""
        assert np.array_equal(at, [0])
        return self

    @property
    def of_column(self) -> int:
        """The column of x."""
        return self.chains[0][0].feature

    @property
    def by_column(self) -> int:
        """The column of z."""
        return self.chains[0][1].feature

    @property
    def by_number(self) -> bool:
        """Whether z is a number."""
        return self.chains[0][1].knots is not None

    @property
    def unit(self) -> float:
        """How many units of z are 1 in v, if z is a number; otherwise 1."""
        knots = self.chains[0][1].knots
        if knots is None:
            return 1.0
        return float((knots[1] - knots[0]) / (self.values[1, 0] - self.values[0, 0]))

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Whether each parameter is free, (1, size)."""
        return self.from_curves(self.curve.used.astype(np.float64)) > 0.0

    # -- parameters and tables -------------------------------------------------------------------

    def curves_of(self, parameters: Floats) -> Floats:
        """Return parameters (..., 1, size) as those of the curves, (..., n_curves, m1)."""
        grids = parameters.reshape(*parameters.shape[:-2], *self.n_nodes)
        return np.swapaxes(grids[..., : self.curve.n_features], -1, -2)

    def from_curves(self, curves: Floats) -> Floats:
        """Return the inverse of `curves_of`."""
        out = np.zeros((*curves.shape[:-2], *self.n_nodes))
        out[..., : self.curve.n_features] = np.swapaxes(curves, -1, -2)
        return out.reshape(*out.shape[:-2], 1, self.size)

    def values_of_curves(self, parameters: Floats) -> Floats:
        """Return the values of the curves at their nodes, (..., n_curves, m1)."""
        F = self.curve.tables(self.curves_of(parameters))
        level = np.einsum("...ck,ck->...c", F[..., : self.curve.size], self.curve.mean)
        return np.asarray(F - level[..., None])

    def tables(self, parameters: Floats) -> Floats:
        """Return the tables of parameters (..., 1, size), in the same shape."""
        F = self.values_of_curves(parameters)
        T: Floats = np.swapaxes(F, -1, -2) @ self.values.T
        T = T - np.einsum("...kl,kl->...", T, self.share)[..., None, None]
        return T.reshape(*T.shape[:-2], 1, self.size)

    def gather(self, sums: Floats) -> Floats:
        """Return the gradient with respect to parameters, given that with respect to tables."""
        S = sums.reshape(*sums.shape[:-2], *self.n_nodes)
        S = S - S.sum(axis=(-1, -2), keepdims=True) * self.share
        G = np.ascontiguousarray(np.swapaxes(S @ self.values, -1, -2))
        G[..., : self.curve.size] -= G.sum(axis=-1, keepdims=True) * self.curve.mean
        return self.from_curves(self.curve.gather(G))

    @cached_property
    def share(self) -> Floats:
        """The share of the training rows at every node, (m1, m2)."""
        [mass] = self.mass
        return np.asarray(mass / max(float(mass.sum()), np.finfo(float).tiny))

    def blocks_of_curves(self, blocks: Floats) -> Floats:
        """Return the blocks of the curves, in bands, given those of the table (1, size, 5)."""
        B = blocks.reshape(*self.n_nodes, -1)
        V, below = self.values, self.values[1:] * self.values[:-1]
        out = np.zeros(self.curve.block_shape)
        # Two nodes l and l + 1 of z share the rows between them; see PairGroup.band_distances.
        out[:, :, 0] = (B[:, :, 0] @ V**2 + 2.0 * B[:, :-1, 1] @ below).T
        if out.shape[2] > 1:
            out[:, :, 1] = (B[:, :, 3] @ V**2 + (B[:, :-1, 4] + B[:, 1:, 2]) @ below).T
        return out

    def ties_of_curves(self, blocks: Floats) -> Floats:
        """Return u_c = H_c 1 / sqrt(1'H_c 1), (n_curves, m1), for blocks H_c in bands.

        H_c - u_c u_c' is the information on a curve with its level integrated out.
        """
        sums = blocks[:, :, 0].copy()
        for p in range(1, blocks.shape[2]):
            sums[:, :-p] += blocks[:, :-p, p]
            sums[:, p:] += blocks[:, :-p, p]
        total = np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return np.asarray(sums / np.sqrt(total))

    # -- the penalty -----------------------------------------------------------------------------

    def differences(self, parameters: Floats) -> Floats:
        """Return the differences of the curves, (n_curves, m1)."""
        return self.curve.differences(self.curves_of(parameters))

    @cached_property
    def precision(self) -> Floats:
        """The precisions of the curves' differences, (n_curves, m1)."""
        return self.curve.precision

    def stiffen(self, parameters: Floats) -> Floats:
        """Return the gradient of the penalty at parameters (..., 1, size)."""
        return self.from_curves(self.curve.stiffen(self.curves_of(parameters)))

    def soften(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return K g for gradients g (..., 1, size): the inverse of `stiffen`."""
        return self.from_curves(self.curve.soften(self.curves_of(parameters), n_threads))

    def scaled(self, factor: float) -> VaryingGroup:
        """Return the group with all variances multiplied by a factor."""
        return self.with_curve(self.curve.scaled(factor))

    def with_prior_of(self, other: PairGroup) -> VaryingGroup:
        """Return the group with the variances and edge weights of another one."""
        assert isinstance(other, VaryingGroup)
        mean = self.curve.mean
        return self.with_curve(replace(other.curve, mean=mean))
