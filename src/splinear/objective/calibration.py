"""The Hessian of a sample, and a correction toward the Hessian of all rows.

Some basis functions may be nonzero in few rows, and in hardly any row of a sample. In these
directions only the penalty would limit steps by the sample's Hessian, and they would be far too
long. One pass over all rows computes the diagonal blocks W of their Hessian. A W A is added to the
Hessian of the sample, with A diagonal: nearly 0 where the sample has many rows, and 1 where it has
none. So the sum is positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.objective.space import Space

__all__ = ["Blocks", "Calibration"]

Blocks = list[list[Floats]]  # per output and group, in bands; see Space.blocks


@dataclass(frozen=True, eq=False)
class Calibration:
    """A matrix to be added to the Hessian of a sample.

    It leaves out the level of each curve, which the intercept can replace, and which is well
    determined by a sample: means of curves, weighted by `means`, are subtracted first.

    Attributes
    ----------
    layout : Layout
    blocks : list of list of ndarray
        A W A per output and group, first of curves, then of surfaces.
    means : list of list of ndarray
        Weights of the functions per output and group, (n_features, stride). They sum to 1, or are 0
        if a constant is no sum of the functions.
    """

    layout: Layout
    blocks: Blocks
    means: Blocks

    @classmethod
    def between(cls, layout: Layout, some: Blocks, of_all: Blocks) -> Calibration:
        """Return the correction, given the blocks of a sample and of all rows."""
        groups, has_level = _distances(layout), _has_level(layout)
        blocks, means = [], []
        for own, whole in zip(some, of_all, strict=True):
            lacks = [_lack(*each) for each in zip(own, whole, strict=True)]
            blocks.append([_scaled(*each) for each in zip(groups, whole, lacks, strict=True)])
            means.append([_mean(*each) for each in zip(whole, has_level, strict=True)])
        return cls(layout, blocks, means)

    def added(self, some: Blocks) -> Blocks:
        """Return the blocks of a sample plus A W A, levels included, to precondition."""
        outputs = zip(some, self.blocks, strict=True)
        return [[a + b for a, b in zip(*both, strict=True)] for both in outputs]

    def times(self, space: Space, parameters: Floats) -> Floats:
        """Return the product with parameters (n_outputs, n_parameters)."""
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
        """Yield the matrices of output k, (n_features, stride, stride), one per group of curves."""
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
    """Return, per group, the distance between the two functions of each band."""
    curves = [range(group.embedding.basis.support) for group in layout.groups]
    return [*curves, *(group.band_distances for group in layout.pairs)]


def _has_level(layout: Layout) -> list[bool]:
    """Return, per group, whether its functions sum to one."""
    embeddings = [group.embedding for group in layout.groups]
    curves = [own.basis.is_partition and not own.through_zero for own in embeddings]
    return [*curves, *(False for _ in layout.pairs)]


def _lack(some: Floats, of_all: Floats) -> Floats:
    """Return the diagonal of A, which raises the diagonal of `some` to that of `of_all`."""
    own, whole = some[:, :, 0], of_all[:, :, 0]
    reached = np.divide(own, whole, out=np.ones_like(whole), where=whole > 0.0)
    return np.sqrt(np.maximum(1.0 - reached, 0.0))


def _mean(of_all: Floats, has_level: bool) -> Floats:
    diagonal = of_all[:, :, 0]
    total = diagonal.sum(axis=1, keepdims=True)
    return np.asarray(has_level * diagonal / np.maximum(total, np.finfo(float).tiny))


def _scaled(distances: Sequence[int], blocks: Floats, scale: Floats) -> Floats:
    """Return A W A for blocks W (n_features, stride, n_bands) and the diagonal of A."""
    out = np.zeros_like(blocks)
    for p, d in enumerate(distances):
        n = max(0, blocks.shape[1] - d)
        out[:, :n, p] = blocks[:, :n, p] * scale[:, :n] * scale[:, d:]
    return out


def _product(distances: Sequence[int], blocks: Floats, x: Floats) -> Floats:
    """Return the product of blocks (n_features, stride, n_bands) and x (n_features, stride)."""
    out = np.asarray(blocks[:, :, 0] * x)
    for p, d in enumerate(distances):
        n = x.shape[1] - d
        if d and n > 0:
            beside = blocks[:, :n, p]
            out[:, :n] += beside * x[:, d:]
            out[:, d:] += beside * x[:, :n]
    return out
