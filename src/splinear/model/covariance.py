"""The posterior of a fitted model's curves, from the information stored with it.

With H the Hessian of the losses and S that of the penalty, the coefficients of all terms and the
intercept have the covariance V = phi (H + S)^{-1}, where phi is the variance of the noise (1 for
likelihoods). H is stored as the blocks H_j of single terms and a matrix C that couples thinned
terms (see `information`). With R_j the projection of term j on its thinned functions,

    H = blockdiag(H_j) + R'(C - blockdiag(C))R,

so that terms are coupled in the few dimensions of C only. For one term, with all others and the
intercept integrated out,

    V_j = phi (J_j + S_j)^{-1},     J_j = H_j - R_j' C_j. G C_.j R_j,

where G is the covariance of the other thinned terms given term j, over phi.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.model.additive import Model
from splinear.model.curve_posterior import CurvePosterior
from splinear.model.factoring import freedom_alone, pair_variances
from splinear.model.information import Information, Thinned, reached
from splinear.model.surface_posterior import SurfacePosterior
from splinear.model.term_block import TermBlock
from splinear.model.varying_posterior import VaryingPosterior, curve_posteriors
from splinear.terms.group import TermGroup
from splinear.terms.varying_group import VaryingGroup

__all__ = ["MOST_PARAMETERS", "JointPosterior", "is_too_large", "joint_posteriors"]

MOST_PARAMETERS = 2_000  # per term; larger terms have no covariance
SOME_MORE = 1e-9  # relative to a diagonal, added to make matrices invertible
# Added to the information of intercepts, relatively: an intercept common to all classes has none.
FIRM = 1e-7
LEAST_EIGENVALUE = 1e-10  # relative to the largest; smaller ones count as 0


@dataclass(eq=False)
class _Node:
    """One term of one output, or an intercept (block None), and its rows in `coupling`.

    In place of an intercept there may be shared parameters, which have several rows.
    """

    at: slice
    block: TermBlock | None


class JointPosterior:
    """The posterior of the outputs of one problem.

    `outputs` are their indices in the model.
    """

    def __init__(self, model: Model, information: Information, outputs: range) -> None:
        self.model, self.information, self.outputs = model, information, outputs

    def __getstate__(self) -> dict[str, object]:
        """Return the arguments only; cached values are not stored in files."""
        return {name: vars(self)[name] for name in ("model", "information", "outputs")}

    @property
    def is_joint(self) -> bool:
        """Whether the uncertainty of other terms is included; if not, they count as known."""
        return self.information.factors is not None

    @cached_property
    def freedom(self) -> float:
        """Effective degrees of freedom of all terms and intercepts, surfaces included."""
        of_curves = sum(curve.edf for curves in self._curves for curve in curves.values())
        return self._freedom_of_others + self.share * of_curves

    @property
    def share(self) -> float:
        """Share of an output's degrees of freedom that counts: only differences of classes do."""
        n = len(self.outputs)
        return 1.0 if n == 1 else 1.0 - 1.0 / n

    @property
    def _freedom_of_others(self) -> float:
        """Effective degrees of freedom of intercepts, surfaces, and terms without a covariance."""
        freedom = self.share * sum(len(own) for own in self.information.of_intercepts)
        for of_output in self.information.blocks:
            for curves, own in zip(self.model.layout.groups, of_output, strict=True):
                if is_too_large(curves):
                    freedom += self.share * freedom_alone(curves, own)
        for k, blocks in enumerate(self.information.pair_blocks):
            for g, (group, own) in enumerate(zip(self.model.layout.pairs, blocks, strict=True)):
                if isinstance(group, VaryingGroup):
                    found = self._curves_of_varying[k].get(g)
                    alone_freedom = freedom_alone(group.curve, group.blocks_of_curves(own))
                    own_freedom = sum(curve.edf for curve in found) if found else alone_freedom
                    freedom += self.share * own_freedom
                    continue
                alone = group.with_held(None)  # functions shared with a curve are counted there
                share = 1.0 - alone.precision * pair_variances(alone, own)
                freedom += self.share * float(np.clip(share, 0.0, 1.0)[alone.used].sum())
        return freedom

    @cached_property
    def n_left(self) -> float:
        """Residual degrees of freedom; infinite for a likelihood."""
        scatter = self.information.scatter
        return np.inf if scatter.is_likelihood else scatter.n_left(self.freedom)

    @cached_property
    def noise(self) -> float:
        """The dispersion phi."""
        return self.information.scatter.dispersion(self.freedom)

    @property
    def residual_variance(self) -> float:
        """The variance of the residuals of the squared error, weighted like the rows."""
        return self.information.scatter.residual_variance(self.freedom)

    def curve(self, feature: int, output: int) -> CurvePosterior | None:
        """Return the posterior of a feature's curve; None if it has none or is too large."""
        found = self._curves[output - self.outputs[0]].get(feature)
        return None if found is None else found.under(self.noise)

    def curve_of(self, block: TermBlock) -> CurvePosterior:
        """Return the posterior of the curve of one term."""
        return self._curves[block.output][block.feature].under(self.noise)

    def surface(
        self, pair: tuple[int, int], output: int
    ) -> SurfacePosterior | VaryingPosterior | None:
        """Return the posterior of the surface over two features; None if there is none.

        Classes count as independent: variances of surfaces minus their mean over classes are sums
        of these.
        """
        if (pair, output) not in self._surfaces:
            self._surfaces[pair, output] = self._make_surface(pair, output)
        return self._surfaces[pair, output]

    def _make_surface(
        self, pair: tuple[int, int], output: int
    ) -> SurfacePosterior | VaryingPosterior | None:
        layout, k = self.model.layout, output - self.outputs[0]
        parameters = layout.split_pairs(self.model.parameters)
        no_curves = np.zeros((len(self.outputs), layout.n_of_curves))
        slopes = layout.split_pairs(np.hstack([no_curves, self.information.pair_slopes]))
        for g, group in enumerate(layout.pairs):
            for p, features in enumerate(group.features):
                if tuple(sorted(features.tolist())) == pair and group.used[p].any():
                    if isinstance(group, VaryingGroup):
                        curves = self._curves_of_varying[k].get(g)
                        return VaryingPosterior(group, curves, self.noise) if curves else None
                    own = group.of_features(np.array([p])).with_held(None)
                    [table] = own.tables(parameters[g][output, [p]])
                    H = self.information.pair_blocks[k][g][p]
                    return SurfacePosterior(own, H, table, slopes[g][k, p], self.noise)
        return None

    @cached_property
    def _curves_of_varying(self) -> list[dict[int, list[CurvePosterior]]]:
        """The posteriors of varying coefficients, by output and group, unless too large."""
        layout, n = self.model.layout, self.model.layout.n_of_curves
        out: list[dict[int, list[CurvePosterior]]] = []
        for k, output in enumerate(self.outputs):
            flat = np.concatenate([np.zeros(n), self.information.pair_slopes[k]])
            slopes = layout.split_pairs(flat)
            parameters = layout.split_pairs(self.model.parameters[output])
            own = {}
            for g, group in enumerate(layout.pairs):
                if isinstance(group, VaryingGroup) and not is_too_large(group.curve):
                    bands = self.information.pair_blocks[k][g][0]
                    own[g] = curve_posteriors(group, bands, parameters[g][0], slopes[g][0])
            out.append(own)
        return out

    @cached_property
    def _surfaces(
        self,
    ) -> dict[tuple[tuple[int, int], int], SurfacePosterior | VaryingPosterior | None]:
        """The surface posteriors computed so far."""
        return {}

    # -- blocks ----------------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> list[TermBlock]:
        """All terms that are not constant, output by output."""
        return list(self._make_blocks())

    def _make_blocks(self) -> Iterator[TermBlock]:
        layout, kept = self.model.layout, self.information
        thinned = None if kept.factors is None else Thinned(layout, kept.factors)
        parts = layout.split(self.model.parameters)
        ties, slopes = layout.split(kept.ties), layout.split(kept.slopes)
        for k, output in enumerate(self.outputs):
            start = 0
            for g, group in enumerate(layout.groups):
                there = reached(group)
                for j in range(group.n_features):
                    n_kept = 0 if thinned is None else int(thinned.reached[g][j].sum())
                    if group.used[j].any() and not is_too_large(group):
                        yield TermBlock(
                            group.of_features(np.array([j])),
                            k,
                            slice(start, start + n_kept),
                            kept.blocks[k][g][j],
                            ties[g][k, j],
                            float(kept.totals[k]),
                            there[j],
                            None if thinned is None else thinned.basis(g),
                            parts[g][output, j],
                            slopes[g][k, j],
                        )
                    start += n_kept

    # -- coupling of terms -----------------------------------------------------------------------

    @cached_property
    def nodes(self) -> list[_Node]:
        """All terms and intercepts, each with its rows in `coupling`."""
        n = len(self.coupling) // len(self.outputs)
        out = []
        for k, of_intercept in enumerate(self.information.of_intercepts):
            for block in self.blocks:
                if block.output == k:
                    at = slice(k * n + block.thinned.start, k * n + block.thinned.stop)
                    out.append(_Node(at, block))
            out.append(_Node(slice((k + 1) * n - len(of_intercept), (k + 1) * n), None))
        return out

    @cached_property
    def coupling(self) -> Floats:
        """C, including its diagonal blocks, as a square matrix."""
        return self.information.coupling_matrix()

    @cached_property
    def off_diagonal(self) -> Floats:
        """C without its diagonal blocks; a C of a sample is rescaled to the blocks of all rows."""
        C = self.coupling
        if self.information.is_sampled:
            C = self._in_accord(C)
        out = np.zeros_like(C)
        rows = np.concatenate([np.arange(len(C))[node.at] for node in self.nodes])
        out[np.ix_(rows, rows)] = C[np.ix_(rows, rows)]
        for node in self.nodes:
            out[node.at, node.at] = 0.0
        return out

    def _in_accord(self, C: Floats) -> Floats:
        """Return C of a sample, rescaled so that its diagonal blocks are those of all rows."""
        Z = np.eye(len(C))
        for node in self.nodes:
            own = C[node.at, node.at]
            true = self._own(node)
            Z[node.at, node.at] = _root(true, 0.5) @ _root(own, -0.5)
        return np.asarray(Z @ C @ Z.T)

    def _own(self, node: _Node) -> Floats:
        if node.block is not None:
            return node.block.own
        k = node.at.start * len(self.outputs) // len(self.coupling)
        return np.asarray(self.information.of_intercepts[k])

    @cached_property
    def covariance(self) -> Floats:
        """G, the covariance of all thinned terms and intercepts, over phi."""
        E = np.zeros_like(self.coupling)
        for node in self.nodes:
            if node.block is not None:
                E[node.at, node.at] = node.block.seen
        for at, unknown in self.intercepts:
            E[at, at] = unknown
        G = np.linalg.solve(np.eye(len(E)) + E @ self.off_diagonal, E)
        return np.asarray((G + G.T) / 2.0)

    @property
    def intercepts(self) -> list[tuple[slice, Floats]]:
        """The rows of every intercept in `coupling`, and its variance over phi given all terms.

        The variance is a matrix, (1, 1) unless there are shared parameters in its place.
        """
        firm = FIRM if len(self.outputs) > 1 else 0.0
        places = [node.at for node in self.nodes if node.block is None]
        unknown = [_inverse((1.0 + firm) * own) for own in self.information.of_intercepts]
        return list(zip(places, unknown, strict=True))

    def _shared(self, node: _Node) -> Floats:
        """Return C_j. G C_.j: the information on a term that is lost to the other terms."""
        C, G = self.off_diagonal[:, node.at], self.covariance
        once, own = G[node.at] @ C, G[node.at, node.at]
        out = C.T @ G @ C - once.T @ np.linalg.pinv(own, hermitian=True) @ once
        return np.asarray((out + out.T) / 2.0)

    def concurvity(self, feature: int, output: int) -> float:
        """Return the share of a fitted curve that the other terms can reproduce.

        It is measured in the metric of the losses and adjusted for chance; NaN if unknown.
        """
        n, k = len(self.coupling) // len(self.outputs), output - self.outputs[0]
        C, n_rows = (
            self.coupling[k * n : (k + 1) * n, k * n : (k + 1) * n],
            self.information.n_coupled,
        )
        block = next((b for b in self.blocks if (b.feature, b.output) == (feature, k)), None)
        if block is None:
            return np.nan
        at, curve = block.thinned, block.projection @ block.free_parameters
        n_left = n_rows - (n - len(curve))
        ends = self.nodes[-1].at.start - self.nodes[-1].at.stop  # rows of the intercept
        tie = C[at, ends:].sum(axis=1)
        centered = C[at, at] - np.outer(tie, tie) / C[ends:, ends:].sum()
        in_all = float(curve @ centered @ curve)
        if not in_all > 0.0 or n_left <= 0:
            return np.nan
        left = float(curve @ np.linalg.solve(self._inverses[k][at, at], curve))
        return float(np.clip(1.0 - n_rows / n_left * left / in_all, 0.0, 1.0))

    @cached_property
    def _inverses(self) -> list[Floats]:
        """The inverse of C of each output, with a small ridge.

        C is singular because all terms contain the constant, and because the sample it is computed
        on may lack a level.
        """
        n = len(self.coupling) // len(self.outputs)
        parts = [self.coupling[k : k + n, k : k + n] for k in range(0, len(self.coupling), n)]
        more = [SOME_MORE * (np.diag(C) + np.diag(C).mean()) for C in parts]
        whole = [C + np.diag(own) for C, own in zip(parts, more, strict=True)]
        return [np.asarray(np.linalg.inv(C), dtype=np.float64) for C in whole]

    # -- curves ----------------------------------------------------------------------------------

    @cached_property
    def _curves(self) -> list[dict[int, CurvePosterior]]:
        """The posterior of each curve, by output and feature."""
        out: list[dict[int, CurvePosterior]] = [{} for _ in self.outputs]
        if not self.is_joint:
            for block in self.blocks:
                out[block.output][block.feature] = block.posterior(block.known, n_classes=1)
            return out
        for node in self.nodes:
            if node.block is not None:
                block, n_classes = node.block, len(self.outputs)
                J = block.left(self._shared(node))
                out[block.output][block.feature] = block.posterior(J, n_classes=n_classes)
        return out


def is_too_large(group: TermGroup) -> bool:
    """Return whether a term has too many parameters for its covariance to be computed."""
    return bool(group.used.sum(axis=1).max(initial=0) > MOST_PARAMETERS)


def joint_posteriors(model: Model, kept: Sequence[Information]) -> list[JointPosterior]:
    """Return the posterior of each problem's outputs."""
    out: list[JointPosterior] = []
    first = 0
    for information in kept:
        outputs = range(first, first + information.n_outputs)
        own = replace(model, layout=model.layouts[len(out)], layouts=()) if model.layouts else model
        out.append(JointPosterior(own, information, outputs))
        first = outputs.stop
    return out


def _inverse(A: Floats) -> Floats:
    """Return the inverse of a small matrix; of one number, it is never infinite."""
    if len(A) == 1:
        return np.asarray(1.0 / np.maximum(A, np.finfo(float).tiny))
    return np.asarray(np.linalg.pinv(A, hermitian=True))


def _root(A: Floats, power: float) -> Floats:
    """Return A^power of a symmetric matrix; tiny eigenvalues become 0."""
    values, vectors = eigh(A)
    there = values > LEAST_EIGENVALUE * max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    powers = np.where(there, np.maximum(values, np.finfo(float).tiny) ** power, 0.0)
    return np.asarray((vectors * powers) @ vectors.T)
