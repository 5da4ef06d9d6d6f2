"""The posterior of the curves of a penalized fit: variances and degrees of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from splinear import _core
from splinear._caching import cached_property
from splinear._types import Floats
from splinear.model.factoring import factor_with, pair_variances
from splinear.model.layout import Layout
from splinear.objective.blocks import penalized_bands
from splinear.objective.point import Point
from splinear.penalties import DifferencePenalty
from splinear.terms.embedding import reciprocals
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import PairGroup
from splinear.terms.varying_group import VaryingGroup

__all__ = ["Measures", "PartsPosterior", "posterior_variances"]

TINY = float(np.finfo(np.float64).tiny)
AT_ONCE = 2**22  # entries of the matrices that are inverted at once


@dataclass
class Measures:
    """The posterior of the differences d of one group, for all outputs together.

    Attributes
    ----------
    squares : ndarray of shape (n_features, stride)
        The mean of d_jk^2 over outputs; the last one is that of the gap.
    variance : ndarray of shape (n_features, stride)
        The mean of Var(d_jk) over outputs, likewise.
    n_outputs : int
    parts : OfParts or None
        The same of the bends and lines of the curves; None if these have no such penalty. Then d
        are the steps without those of the line.
    is_one_term : bool
        Whether the curves of the group are one term, a varying coefficient.
    """

    group: TermGroup | PairGroup
    squares: Floats
    variance: Floats
    n_outputs: int
    parts: OfParts | None = None
    is_one_term: bool = False

    @classmethod
    def of(cls, points: list[Point], g: int, group: TermGroup) -> Measures:
        """Return the measures of group g of curves at the models of all outputs."""
        seen = []
        for point in points:
            ties = point.layout.split(point.ties)[g]
            of_b = np.maximum(point.bends, TINY)
            u = np.where(group.used, ties / np.sqrt(of_b)[:, None, None], 0.0)
            theta = point.layout.split(point.parameters)[g]
            seen.append(_Seen(theta, [own[g] for own in point.blocks], u, point.space.n_threads))
        return cls._of_curves(group, seen)

    @classmethod
    def _of_curves(cls, group: TermGroup, seen: Sequence[_Seen]) -> Measures:
        squares, variance, n_outputs = np.zeros(group.shape), np.zeros(group.shape), 0
        parts = None if group.parts is None else OfParts.none(group)
        for at in seen:
            n_outputs += len(at.u)
            if parts is None:
                squares += (group.differences(at.theta) ** 2).sum(axis=0)
                variance += _variances_of_all(group, at.blocks, at.u, at.n_threads)
                continue
            for own, block, u in zip(group.differences(at.theta), at.blocks, at.u, strict=True):
                posterior = PartsPosterior.of(group, block, u, at.n_threads)
                squares += parts.add(group, own, posterior) ** 2
                variance += posterior.steps
        parts = None if parts is None else parts.divided(n_outputs)
        return cls(group, squares / n_outputs, variance / n_outputs, n_outputs, parts)

    @classmethod
    def of_varying(cls, points: list[Point], g: int, group: VaryingGroup) -> Measures:
        """Return the measures of the curves of group g of surfaces."""
        seen = []
        for point in points:
            theta = group.curves_of(point.layout.split_pairs(point.parameters)[g])
            blocks = [group.blocks_of_curves(own[g]) for own in point.pair_blocks]
            u = np.stack([group.ties_of_curves(own) for own in blocks])
            u = np.where(group.curve.used, u, 0.0)
            seen.append(_Seen(theta, blocks, u, point.space.n_threads))
        return replace(cls._of_curves(group.curve, seen), is_one_term=True)

    @classmethod
    def of_pairs(cls, points: list[Point], g: int, group: PairGroup) -> Measures:
        """Return the measures of group g of surfaces at the models of all outputs."""
        if isinstance(group, VaryingGroup):
            return cls.of_varying(points, g, group)
        squares, variance, n_outputs = np.zeros(group.shape), np.zeros(group.shape), 0
        for point in points:
            theta = point.layout.split_pairs(point.parameters)[g]
            for k, blocks in enumerate(point.pair_blocks):
                squares += group.differences(theta[k]) ** 2
                variance += pair_variances(group, blocks[g])
                n_outputs += 1
        return cls(group, squares / n_outputs, variance / n_outputs, n_outputs)

    @classmethod
    def of_all(cls, points: list[Point], layout: Layout) -> list[Measures]:
        """Return the measures of all groups of a layout: of curves, then of surfaces."""
        curves = [cls.of(points, g, group) for g, group in enumerate(layout.groups)]
        return curves + [cls.of_pairs(points, g, group) for g, group in enumerate(layout.pairs)]

    @cached_property
    def freedom(self) -> Floats:
        """The degrees of freedom of each difference: 1 - w_jk Var(d_jk) / t_j, over all outputs.

        With parts, the 1 is the same share of the variance before any rows were seen.
        """
        share = self.group.used - self.group.precision * self.variance
        if self.parts is not None:
            share += self.group.precision * self.parts.prior_of_steps - self.group.used
        return self.n_outputs * np.minimum(np.maximum(share, 0.0), 1.0)

    @cached_property
    def edf(self) -> Floats:
        """Degrees of freedom of every term, including its gap."""
        own = self.freedom.sum(axis=1)
        if self.parts is not None:
            own = own + self.parts_freedom.sum(axis=0)
        return np.asarray(own.sum(keepdims=True) if self.is_one_term else own)

    @cached_property
    def parts_freedom(self) -> Floats:
        """The degrees of freedom of all bends, then of all lines, (2, n_features)."""
        assert self.parts is not None
        return self.n_outputs * np.stack([self.parts.bend_freedom, self.parts.line_freedom])


@dataclass(frozen=True, eq=False)
class _Seen:
    """The curves of one group at one point: what `posterior_variances` takes, per output."""

    theta: Floats  # (n_outputs, n_features, stride)
    blocks: list[Floats]
    u: Floats
    n_threads: int


@dataclass
class OfParts:
    """The posterior of the bends e and the slopes b of the lines of one group, per output.

    Attributes
    ----------
    group : TermGroup
    squares, variance, prior : ndarray of shape (n_features, size)
        The means over outputs of e_jk^2 and Var(e_jk), and Var(e_jk) before any rows were seen.
    line_squares, line_share : ndarray of shape (n_features,)
        The means over outputs of b_j^2, and of the share 1 - Var(b_j) / t_line.
    prior_of_steps : ndarray of shape (n_features, stride)
        Var(d_jk) before any rows were seen.
    """

    group: TermGroup
    squares: Floats
    variance: Floats
    prior: Floats
    line_squares: Floats
    line_share: Floats
    prior_of_steps: Floats

    @classmethod
    def none(cls, group: TermGroup) -> OfParts:
        """Return the sums before those of any output are added."""
        n, size = group.n_features, group.size
        of_steps, prior = _prior_variances(group)
        empty, none = np.zeros((n, size)), np.zeros(n)
        return cls(group, empty, empty.copy(), prior, none, none.copy(), of_steps)

    def add(self, group: TermGroup, steps: Floats, posterior: PartsPosterior) -> Floats:
        """Add the numbers of one output, with these differences (n_features, stride).

        Return the differences without those of the line.
        """
        parts, size = group.parts, group.size
        assert parts is not None
        slopes = parts.slopes(steps[:, :size], group.precision[:, :size])
        own = steps.copy()
        own[:, :size] -= slopes[:, None] * parts.line
        self.squares += parts.bends_of(own[:, :size]) ** 2
        self.variance += posterior.bends
        self.line_squares += slopes**2
        self.line_share += posterior.line_shares
        return own

    def divided(self, n_outputs: int) -> OfParts:
        """Return the means over outputs."""
        return replace(
            self,
            squares=self.squares / n_outputs,
            variance=self.variance / n_outputs,
            line_squares=self.line_squares / n_outputs,
            line_share=self.line_share / n_outputs,
        )

    @property
    def bend_freedom(self) -> Floats:
        """The degrees of freedom of every curve's bends, (n_features,)."""
        assert self.group.parts is not None
        precision = reciprocals(self.group.parts.bend_variance)[:, None]
        share = precision * (self.prior - self.variance)
        return np.asarray(np.minimum(np.maximum(share, 0.0), 1.0).sum(axis=1))

    @property
    def line_freedom(self) -> Floats:
        """The degrees of freedom of every line, (n_features,)."""
        return np.minimum(np.maximum(self.line_share, 0.0), 1.0)


def posterior_variances(group: TermGroup, blocks: Floats, u: Floats, n_threads: int = 1) -> Floats:
    """Return Var(d_jk), (n_features, stride), from a group's blocks (n_features, stride, support).

    u (n_features, stride) is the coupling of the tables to the intercept, divided by the square
    root of the second derivative with respect to the intercept: with the intercept integrated out,
    the block M_j becomes M_j - u_j u_j'; see `_apart` for gaps.
    """
    u, of_gap = _apart(group, blocks, u)
    bands = penalized_bands(group, blocks, n_threads)
    penalty = group.embedding.penalty
    takes_steps = isinstance(penalty, DifferencePenalty) and penalty.order <= 1
    if bands.shape[2] <= 2 and (takes_steps or penalty.bandwidth == 0):
        variance, x = _tridiagonal_variances(group, bands, u, n_threads)
    else:
        variance, x = _dense_variances(group, bands, u)
    left = np.maximum(1.0 - (u * x).sum(axis=1), 1e-10)
    variance += group.differences(x) ** 2 / left[:, None]
    if group.has_gaps:
        variance[:, -1] = _of_deviation(variance[:, -1], of_gap)
    return np.where(group.used, variance, 0.0)


def _apart(group: TermGroup, blocks: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return u of the curves alone, with 0 for gaps, and u of the gaps.

    The value of a gap is its curve's mean plus a deviation. In the rows without the gap, a curve's
    level is left to the intercept; in the others it is the mean, so a curve that moves as a whole
    moves all rows, as the intercept does. If the second derivatives of all rows are equal, a curve
    is thus tied to the intercept as if there were only the rows without the gap, and not to the
    deviation. (Otherwise M_j - u_j u_j' would depend on which function the intercept replaces.)
    """
    if not group.has_gaps:
        return u, np.zeros(0)
    of_gap = u[:, -1]
    share = np.divide(of_gap**2, blocks[:, -1, 0], out=np.zeros(len(u)), where=of_gap != 0.0)
    alone = u / np.sqrt(np.maximum(1.0 - share, TINY))[:, None]
    alone[:, -1] = 0.0
    return alone, of_gap


def _of_deviation(variance: Floats, u: Floats) -> Floats:
    """Return the variance of a gap's deviation with the intercept integrated out."""
    return np.asarray(variance / np.maximum(1.0 - u**2 * variance, 1e-10))


@dataclass(frozen=True)
class PartsPosterior:
    """Posterior variances of one output's curves in a group with parts.

    Attributes
    ----------
    steps : ndarray of shape (n_features, stride)
        Var(d_jk) of the steps without those of the line; of gaps, that of the deviation.
    bends : ndarray of shape (n_features, size)
        Var(e_jk).
    line_shares : ndarray of shape (n_features,)
        1 - Var(b_j) / t_line: the degrees of freedom of the line.
    """

    steps: Floats
    bends: Floats
    line_shares: Floats

    @classmethod
    def of(cls, group: TermGroup, blocks: Floats, u: Floats, n_threads: int = 1) -> PartsPosterior:
        """Compute the variances; the arguments are those of `posterior_variances`."""
        parts = group.parts
        assert parts is not None
        line, _, precision = group.lines
        u, of_gap = _apart(group, blocks, u)
        bands = penalized_bands(group, blocks, n_threads)
        rows, bends_of, of_b = map(np.ascontiguousarray, (blocks, parts.bends, u))

        def variances(matrices: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
            found = _core.part_variances(
                matrices, rows, group.used, line, precision, bends_of, of_b, n_threads
            )
            if found is None:
                raise LinAlgError("a block is not positive definite")
            return found

        steps, bends, seen, slope, left = factor_with(variances, bands, bands[:, :, 0])
        if group.has_gaps:
            steps[:, -1] = _of_deviation(steps[:, -1], of_gap)
        return cls(
            np.where(group.used, steps, 0.0),
            np.where(parts.has_bends, bends, 0.0),
            # 1 - 1 / (sigma t_line), which would cancel, and what the intercept takes of it
            (parts.line_variance > 0) * (seen / (precision + seen))
            - reciprocals(parts.line_variance) * slope**2 / left,
        )


def _prior_variances(group: TermGroup) -> tuple[Floats, Floats]:
    """Return Var(d_jk), (n_features, stride), and Var(e_jk) before any rows were seen."""
    assert group.parts is not None
    of_steps, of_bends = group.core_penalty.prior_variances(np.ascontiguousarray(group.parts.bends))
    return of_steps, np.where(group.parts.has_bends, of_bends, 0.0)


def _variances_of_all(group: TermGroup, blocks: list[Floats], u: Floats, n_threads: int) -> Floats:
    """Return the sum of posterior_variances over outputs, computed as one group of features."""
    n_outputs, at = len(u), np.arange(group.n_features)
    if n_outputs == 1:
        return posterior_variances(group, blocks[0], u[0], n_threads)
    many = group.of_features(np.tile(at, n_outputs))
    flat = (len(many.features), group.stride)
    found = posterior_variances(many, np.concatenate(blocks), u.reshape(flat), n_threads)
    return np.asarray(found.reshape(u.shape).sum(axis=0))


def _tridiagonal_variances(
    group: TermGroup, bands: Floats, u: Floats, n_threads: int
) -> tuple[Floats, Floats]:
    """Return the variances of d_j and M_j^{-1} u_j, for tridiagonal M_j."""

    def variances(matrices: Floats) -> tuple[Floats, Floats, Floats]:
        found = _core.step_variances(matrices, np.ascontiguousarray(u), n_threads)
        if found is None:
            raise LinAlgError("a block is not positive definite")
        return found

    own, steps, x = factor_with(variances, bands, bands[:, :, 0])
    if group.embedding.penalty.bandwidth == 0:
        return own * _unit_of_difference(group) ** 2, x
    both = group.used[:, 1:] & group.used[:, :-1]
    if group.has_gaps:
        both[:, -1] = False
    np.copyto(own[:, 1:], steps[:, 1:], where=both)
    return own, x


def _unit_of_difference(group: TermGroup) -> Floats:
    """Return d_jk for a coefficient of 1, (n_features, stride), for diagonal penalties."""
    return group.differences(np.ones(group.shape))


def _dense_variances(group: TermGroup, bands: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return the variances of d_j and M_j^{-1} u_j, by inverting M_j."""
    variance, x = np.zeros(group.shape), np.zeros(group.shape)
    at_once = max(1, AT_ONCE // group.stride**2)
    for first in range(0, group.n_features, at_once):
        some = np.arange(first, min(group.n_features, first + at_once))
        here = group.of_features(some)
        V: Floats = np.linalg.inv(_dense(bands[some])).astype(np.float64)
        x[some] = np.einsum("jkl,jl->jk", V, u[some])
        penalty, size = here.embedding.penalty, here.size
        once = np.swapaxes(penalty.difference(V[:, :size, :size]), 1, 2)
        twice = penalty.difference(once)
        variance[some, :size] = np.diagonal(twice, axis1=1, axis2=2)
        if here.has_gaps:
            variance[some, -1] = V[:, -1, -1]
    return variance, x


def _dense(bands: Floats) -> Floats:
    """Return the symmetric matrices (n, m, m) whose entries (k, k + p) are bands[:, k, p]."""
    n, m, n_bands = bands.shape
    out = np.zeros((n, m, m))
    for p in range(min(m, n_bands)):
        at = np.arange(m - p)
        out[:, at, at + p] = out[:, at + p, at] = bands[:, : m - p, p]
    return out
