"""The posterior of a varying coefficient, curve by curve.

The terms of its two features count as known, apart from what they share with the curves: the level
of a curve, which belongs to the term of `by`, is integrated out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.model.curve_posterior import CurvePosterior
from splinear.model.information import reached
from splinear.model.term_block import TermBlock
from splinear.terms.pair_group import interpolated
from splinear.terms.varying_group import VaryingGroup

__all__ = ["VaryingPosterior", "curve_posteriors"]

AT_ONCE = 2**22  # numbers computed per batch


def curve_posteriors(
    group: VaryingGroup, bands: Floats, parameters: Floats, slopes: Floats
) -> list[CurvePosterior]:
    """Return the posteriors of the curves over phi = 1.

    `bands` (size, 5) is the block of the table, `parameters` are those of the term, and `slopes`
    the gradient of the losses with respect to the table, both (size,).
    """
    curve, blocks = group.curve, group.blocks_of_curves(bands[None])
    u, theta = group.ties_of_curves(blocks), group.curves_of(parameters[None])
    pull, there = group.curves_of(group.gather(slopes[None])), reached(curve)
    out = []
    for c in range(curve.n_features):
        block = TermBlock(
            group=curve.of_features(np.array([c])),
            output=0,
            thinned=slice(0),
            bands=blocks[c],
            ties=u[c],
            total=1.0,
            reached=there[c],
            basis=None,
            parameters=theta[c],
            slopes=pull[c],
        )
        out.append(block.posterior(block.known, n_classes=1))
    return out


@dataclass(eq=False)
class VaryingPosterior:
    """The posterior of one varying coefficient of one output.

    Attributes
    ----------
    group : VaryingGroup
    curves : list of CurvePosterior
        Those of its curves, which are independent of each other.
    noise : float
        phi.
    """

    group: VaryingGroup
    curves: list[CurvePosterior]
    noise: float

    @property
    def edf(self) -> float:
        """Effective degrees of freedom."""
        return sum(curve.edf for curve in self.curves)

    @property
    def score(self) -> Floats:
        """The negative gradient of the losses at a flat term; see CurvePosterior."""
        return np.concatenate([curve.score for curve in self.curves])

    @property
    def score_variances(self) -> Floats:
        """The eigenvalues of the score's covariance over phi, if the term is flat."""
        return np.concatenate([curve.score_variances for curve in self.curves])

    @cached_property
    def _variances(self) -> list[Floats]:
        """The variances of each curve's coefficients in its directions."""
        return [curve.under(self.noise).variances for curve in self.curves]

    def _directions(self, c: int) -> Floats:
        """Return the values of curve c's directions at the nodes, centered, (n, m1)."""
        curve = self.group.curve.of_features(np.array([c]))
        F = curve.tables(self.curves[c].directions[:, None])[:, 0]
        return np.asarray(F - (F[:, : curve.size] @ curve.mean[0])[:, None])

    def variances_of_curves(self, x: AnyArray) -> Floats:
        """Return the variances (n_curves, n) of the curves at values of `of`; 0 where unknown."""
        p = self.group.chains[0][0].positions(x)
        return np.stack(
            [
                variances @ interpolated(self._directions(c), p) ** 2
                for c, variances in enumerate(self._variances)
            ]
        )

    def variances(self, x: AnyArray, z: AnyArray) -> Floats:
        """Return the variances (n,) at values of `of` and `by`; 0 where the term is 0."""
        out = np.zeros(len(x))
        step = max(1, AT_ONCE // self.group.n_nodes[0])
        for start in range(0, len(x), step):
            some = slice(start, start + step)
            out[some] = self._some_variances(x[some], z[some])
        return out

    def _some_variances(self, x: AnyArray, z: AnyArray) -> Floats:
        first, second = self.group.chains[0]
        p, q = first.positions(x), second.positions(z)
        known, out = (p >= 0) & (q >= 0), np.zeros(len(p))
        values = interpolated(self.group.values.T, q)
        for c, variances in enumerate(self._variances):
            F = self._directions(c)
            mean = np.einsum("ak,kl,l->a", F, self.group.share, self.group.values[:, c])
            out += variances @ (values[c] * interpolated(F, p) - mean[:, None]) ** 2
        return np.where(known, out, 0.0)

    @cached_property
    def node_variances(self) -> Floats:
        """The variances of the table, (size,)."""
        out = np.zeros(self.group.size)
        for c, variances in enumerate(self._variances):
            out += (self._tables(c, np.eye(len(variances))) ** 2).T @ variances
        return out

    def draws(self, normal: Floats) -> Floats:
        """Turn standard normal numbers (n, size) into centered posterior draws, (n, size)."""
        out, first = np.zeros(normal.shape), 0
        for c, variances in enumerate(self._variances):
            own = normal[:, first : first + len(variances)]
            out += self._tables(c, own * np.sqrt(variances))
            first += len(variances)
        return out

    def _tables(self, c: int, z: Floats) -> Floats:
        """Return the tables (n, size) of curve c with coefficients z (n, n_directions)."""
        curves = np.zeros((len(z), self.group.curve.n_features, self.group.n_nodes[0]))
        curves[:, c] = z @ self.curves[c].directions
        return np.asarray(self.group.tables(self.group.from_curves(curves))[:, 0])
