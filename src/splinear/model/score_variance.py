"""Variances of scores, from the posterior of all terms.

With b the vector of all basis functions in a row, a score has the variance b'V b. In the notation
of `covariance`, (H + S)^{-1} = M^{-1} - M^{-1} R'Q R M^{-1} with M = blockdiag(H_j + S_j). V
includes the bias expected under the prior; the part of it that kappa_j excludes is subtracted:
sum_j (1 - kappa_j) (V b)_j' S_j (V b)_j / phi.

The variances of surfaces are added, as if they were independent of each other and of the curves,
with respect to which they are centered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from splinear._types import AnyArray, Floats
from splinear.model.covariance import JointPosterior
from splinear.model.fitted import FittedTerm, FittedTerms
from splinear.tables.chunks import Chunk, as_dense
from splinear.tables.table import Table

__all__ = ["ScoreVariances"]

AT_ONCE = 2**22  # numbers computed per batch


@dataclass(frozen=True, eq=False)
class _Part:
    """A term of one output, in directions in which H_j and S_j are diagonal."""

    output: int
    directions: FittedTerm
    mu: Floats
    onto: Floats  # (n_thinned, n), maps directions to thinned functions
    at: slice
    kappa: float
    center: Floats  # subtracted from the directions' values if terms are not joint

    def values(self, piece: AnyArray, weights: Floats) -> Floats:
        """Return the weighted values of the directions in some rows, (n_rows, n)."""
        x = piece[:, self.directions.features[0]]
        return (self.directions.evaluate(x) - self.center) * weights[:, [self.output]]


class ScoreVariances:
    """Variances of weighted sums of the scores of one problem's outputs."""

    def __init__(self, posterior: JointPosterior) -> None:
        self.posterior, self.is_joint = posterior, posterior.is_joint
        terms = FittedTerms(posterior.model, None, None)
        self.parts = self._joint(terms) if self.is_joint else self._apart(terms)
        self.n = sum(len(part.mu) for part in self.parts)
        if self.is_joint:
            C, G = posterior.off_diagonal, posterior.covariance
            self.Q = C - C @ G @ C
        self.surfaces = [
            (k, surface)
            for pair in terms.pairs
            for k, output in enumerate(posterior.outputs)
            if (surface := posterior.surface(pair.features, output)) is not None
        ]

    def _joint(self, terms: FittedTerms) -> list[_Part]:
        out, posterior = [], self.posterior
        for node in posterior.nodes:
            if (block := node.block) is None:
                continue
            L = block.prior
            mu, U = eigh(L.T @ block.information @ L)
            directions = np.zeros((len(mu), block.group.stride))
            directions[:, block.group.used[0]] = (L @ U).T
            term, curve = terms.of_feature(block.feature), posterior.curve_of(block)
            assert term is not None
            onto, none = block.projection @ L @ U, np.zeros(len(mu))
            own = term.with_parameters(directions)
            mu = np.maximum(mu, 0.0)
            out.append(_Part(block.output, own, mu, onto, node.at, curve.kappa, none))
        return out

    def _apart(self, terms: FittedTerms) -> list[_Part]:
        out = []
        for block in self.posterior.blocks:
            term, curve = terms.of_feature(block.feature), self.posterior.curve_of(block)
            assert term is not None
            free = block.group.used[0]
            mean = curve.directions[:, free] @ block.free_ties / block.total
            own, onto = term.with_parameters(curve.directions), np.zeros((0, 0))
            out.append(_Part(block.output, own, curve.mu, onto, slice(0), curve.kappa, mean))
        return out

    def of(self, table: Table, weights: Floats, of_shared: Floats | None = None) -> Floats:
        """Return the variances of sum_k weights[i, k] f_k(x_i), (n_rows,).

        Where shared parameters take the place of the intercept, f_k is the curves' part, to which
        the parameters times `of_shared` (n_rows, n_shared) are added; by default, their mean is.
        """
        sizes = [len(own) for own in self.posterior.information.of_intercepts]
        ends = [np.tile(weights[:, [k]] / n, n) for k, n in enumerate(sizes)]
        ends = ends if of_shared is None else [of_shared]
        out = np.empty(table.shape[0])
        step = max(1, AT_ONCE // max(1, self.n))
        for rows, chunk in table.chunks():
            for start in range(rows.start, rows.stop, step):
                some = slice(start, min(start + step, rows.stop))
                piece: Chunk = chunk[some.start - rows.start : some.stop - rows.start]
                out[some] = self.posterior.noise * self._of(
                    as_dense(piece), weights[some], [own[some] for own in ends]
                )
                out[some] += self._of_surfaces(as_dense(piece), weights[some])
        return out

    def _of_surfaces(self, piece: AnyArray, weights: Floats) -> Floats:
        """Return the part of surfaces in the variances of some rows, (n_rows,)."""
        out = np.zeros(len(piece))
        for output, surface in self.surfaces:
            x, z = (piece[:, chain.feature] for chain in surface.group.chains[0])
            out += weights[:, output] ** 2 * surface.variances(x, z)
        return out

    def _of(self, piece: AnyArray, weights: Floats, ends: list[Floats]) -> Floats:
        values = [part.values(piece, weights) for part in self.parts]
        if not self.is_joint:
            variance = np.zeros(len(piece))
            for own, (_, unknown) in zip(ends, self.posterior.intercepts, strict=True):
                variance += ((own @ unknown) * own).sum(axis=1)
            for part, e in zip(self.parts, values, strict=True):
                variance += (e**2 * (part.mu + part.kappa) / (1.0 + part.mu) ** 2).sum(axis=1)
            return np.asarray(variance)
        q, variance = np.zeros((len(piece), len(self.Q))), np.zeros(len(piece))
        for part, e in zip(self.parts, values, strict=True):
            seen = e / (1.0 + part.mu)
            variance += (e * seen).sum(axis=1)
            q[:, part.at] = seen @ part.onto.T
        for own, (at, unknown) in zip(ends, self.posterior.intercepts, strict=True):
            q[:, at] = own @ unknown
            variance += (q[:, at] * own).sum(axis=1)
        known = q @ self.Q
        variance -= (q * known).sum(axis=1)
        for part, e in zip(self.parts, values, strict=True):
            left = (e - known[:, part.at] @ part.onto) / (1.0 + part.mu)
            variance -= (1.0 - part.kappa) * (left**2).sum(axis=1)
        return np.asarray(np.maximum(variance, 0.0))
