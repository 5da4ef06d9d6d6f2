"""The Hessian of a sample, and what it lacks of that of all rows.

There may be functions that few rows reach, and hardly any of a sample: steps by its Hessian alone
would be far too long there, as only the penalty holds them back. One pass over all rows tells the
blocks on the diagonal of their Hessian, W. To that of the sample A W A is added, A being diagonal:
nearly 0 where the sample has many rows, and 1 where it has none. So no direction is negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.solvers.newton.iterate import Space

__all__ = ["Blocks", "Calibration"]

Blocks = list[list[Floats]]  # per output and group, by bands; see Space.blocks


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is added to the Hessian of a sample.

    It says nothing of a curve's level, which the intercept can make up for, and of which a sample
    knows enough: curves are taken without their `means`.

    Attributes
    ----------
    layout : Layout
    blocks : list of list of ndarray
        A W A per output and group: of curves, then of surfaces.
    means : list of list of ndarray
        Per output and group, (n_features, stride): weights of the functions that sum to 1; or to 0
        where functions do not add up to a level.
    """

    layout: Layout
    blocks: Blocks
    means: Blocks

    @classmethod
    def between(cls, layout: Layout, some: Blocks, of_all: Blocks) -> Calibration:
        """Compare blocks of a sample with those of all rows: of curves, and of surfaces if any."""
        groups, has_level = _distances(layout), _has_level(layout)
        blocks, means = [], []
        for own, whole in zip(some, of_all, strict=True):
            lacks = [_lack(*each) for each in zip(own, whole, strict=True)]
            blocks.append([_scaled(*each) for each in zip(groups, whole, lacks, strict=True)])
            means.append([_mean(*each) for each in zip(whole, has_level, strict=True)])
        return cls(layout, blocks, means)

    def added(self, some: Blocks) -> Blocks:
        """Return the sum of both, but for levels: these blocks are to precondition."""
        outputs = zip(some, self.blocks, strict=True)
        return [[a + b for a, b in zip(*both, strict=True)] for both in outputs]

    def times(self, space: Space, parameters: Floats) -> Floats:
        """Multiply parameters (n_outputs, n_parameters)."""
        tables = self.layout.tables(parameters)
        out = np.empty_like(tables)
        for k, (own, to) in enumerate(zip(tables, out, strict=True)):
            x, y = (
                [*self.layout.split(part), *self.layout.split_pairs(part)] for part in (own, to)
            )
            parts = zip(_distances(self.layout), self.blocks[k], self.means[k], x, y, strict=True)
            for distances, blocks, mean, given, place in parts:
                level = (mean * given).sum(axis=1, keepdims=True)
                product = _product(distances, blocks, given - level)
                place[:] = product - mean * product.sum(axis=1, keepdims=True)
        return np.where(space.used, self.layout.gather(out), 0.0)

    def matrices(self, k: int) -> Iterator[Floats]:
        """Yield the matrices of output k, (n_features, stride, stride), of groups of curves."""
        n = len(self.layout.groups)
        for blocks, mean in zip(self.blocks[k][:n], self.means[k][:n], strict=True):
            stride = blocks.shape[1]
            out = np.zeros((len(blocks), stride, stride))
            for p in range(min(blocks.shape[1:])):
                at = np.arange(stride - p)
                out[:, at, at + p] = out[:, at + p, at] = blocks[:, : stride - p, p]
            out -= out.sum(axis=2, keepdims=True) * mean[:, None]
            out -= out.sum(axis=1, keepdims=True) * mean[:, :, None]
            yield out


def _distances(layout: Layout) -> list[Sequence[int]]:
    """Return how far apart the two functions of each band are, per group."""
    curves = [range(group.embedding.basis.support) for group in layout.groups]
    return [*curves, *(group.band_distances for group in layout.pairs)]


def _has_level(layout: Layout) -> list[bool]:
    """Tell which groups have functions that sum to one."""
    embeddings = [group.embedding for group in layout.groups]
    curves = [own.basis.is_partition and not own.through_zero for own in embeddings]
    return [*curves, *(False for _ in layout.pairs)]


def _lack(some: Floats, of_all: Floats) -> Floats:
    """Return A, with which the diagonal is at least that of all rows, given blocks."""
    own, whole = some[:, :, 0], of_all[:, :, 0]
    reached = np.divide(own, whole, out=np.ones_like(whole), where=whole > 0.0)
    return np.sqrt(np.maximum(1.0 - reached, 0.0))


def _mean(of_all: Floats, has_level: bool) -> Floats:
    diagonal = of_all[:, :, 0]
    total = diagonal.sum(axis=1, keepdims=True)
    return np.asarray(has_level * diagonal / np.maximum(total, np.finfo(float).tiny))


def _scaled(distances: Sequence[int], blocks: Floats, scale: Floats) -> Floats:
    """Multiply blocks (n_features, stride, n_bands) by a diagonal from both sides."""
    out = np.zeros_like(blocks)
    for p, d in enumerate(distances):
        n = max(0, blocks.shape[1] - d)
        out[:, :n, p] = blocks[:, :n, p] * scale[:, :n] * scale[:, d:]
    return out


def _product(distances: Sequence[int], blocks: Floats, x: Floats) -> Floats:
    """Multiply blocks (n_features, stride, n_bands) by x (n_features, stride)."""
    out = np.asarray(blocks[:, :, 0] * x)
    for p, d in enumerate(distances):
        n = x.shape[1] - d
        if d and n > 0:
            beside = blocks[:, :n, p]
            out[:, :n] += beside * x[:, d:]
            out[:, d:] += beside * x[:, :n]
    return out
