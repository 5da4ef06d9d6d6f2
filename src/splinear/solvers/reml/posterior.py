"""The posterior of the curves of a penalized fit: variances and degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from splinear import _core
from splinear._caching import cached_property
from splinear._types import Floats
from splinear.model.factoring import factor_with, pair_variances
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.model.pairs import PairGroup
from splinear.penalties import DifferencePenalty
from splinear.solvers.newton.banded import penalized_bands
from splinear.solvers.newton.iterate import Iterate

__all__ = ["Measures", "posterior_variances"]

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
    """

    group: TermGroup | PairGroup
    squares: Floats
    variance: Floats
    n_outputs: int

    @classmethod
    def of(cls, points: list[Iterate], g: int, group: TermGroup) -> Measures:
        """Return the measures of group g of curves at the models of all outputs."""
        squares, variance, n_outputs = np.zeros(group.shape), np.zeros(group.shape), 0
        for point in points:
            theta = point.space.layout.split(point.parameters)[g]
            ties = point.space.layout.split(point.ties)[g]
            of_b = np.maximum(point.bends, TINY)
            u = np.where(group.used, ties / np.sqrt(of_b)[:, None, None], 0.0)
            blocks = [own[g] for own in point.blocks]
            squares += (group.differences(theta) ** 2).sum(axis=0)
            variance += _variances_of_all(group, blocks, u, point.space.n_threads)
            n_outputs += len(u)
        return cls(group, squares / n_outputs, variance / n_outputs, n_outputs)

    @classmethod
    def of_pairs(cls, points: list[Iterate], g: int, group: PairGroup) -> Measures:
        """Return the measures of group g of surfaces at the models of all outputs."""
        squares, variance, n_outputs = np.zeros(group.shape), np.zeros(group.shape), 0
        for point in points:
            theta = point.space.layout.split_pairs(point.parameters)[g]
            for k, blocks in enumerate(point.pair_blocks):
                squares += group.differences(theta[k]) ** 2
                variance += pair_variances(group, blocks[g])
                n_outputs += 1
        return cls(group, squares / n_outputs, variance / n_outputs, n_outputs)

    @classmethod
    def of_all(cls, points: list[Iterate], layout: Layout) -> list[Measures]:
        """Return the measures of all groups of a layout: of curves, then of surfaces."""
        curves = [cls.of(points, g, group) for g, group in enumerate(layout.groups)]
        return curves + [cls.of_pairs(points, g, group) for g, group in enumerate(layout.pairs)]

    @cached_property
    def freedom(self) -> Floats:
        """1 - w_jk Var(d_jk) / t_j, summed over outputs."""
        share = self.group.used - self.group.precision * self.variance
        return self.n_outputs * np.minimum(np.maximum(share, 0.0), 1.0)

    @cached_property
    def edf(self) -> Floats:
        """Degrees of freedom of every term, including its gap."""
        return np.asarray(self.freedom.sum(axis=1))


def posterior_variances(group: TermGroup, blocks: Floats, u: Floats, n_threads: int = 1) -> Floats:
    """Return Var(d_jk), (n_features, stride), from a group's blocks (n_features, stride, support).

    u (n_features, stride) is the coupling of the tables to the intercept, divided by the square
    root of the second derivative with respect to the intercept: with the intercept integrated out,
    the block M_j becomes M_j - u_j u_j'.
    """
    bands = penalized_bands(group, blocks, n_threads)
    penalty = group.embedding.penalty
    takes_steps = isinstance(penalty, DifferencePenalty) and penalty.order <= 1
    if bands.shape[2] <= 2 and (takes_steps or penalty.bandwidth == 0):
        variance, x = _tridiagonal_variances(group, bands, u, n_threads)
    else:
        variance, x = _dense_variances(group, bands, u)
    left = np.maximum(1.0 - (u * x).sum(axis=1), 1e-10)
    variance += group.differences(x) ** 2 / left[:, None]
    return np.where(group.used, variance, 0.0)


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
