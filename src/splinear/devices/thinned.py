"""The coupling of thinned terms, computed on the device of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from splinear._types import Floats
from splinear.devices.arrays import bare
from splinear.devices.backend import Backend, Cells
from splinear.model.information import Thinned
from splinear.objective.rows import ThinnedProducts

__all__ = ["thinned_products"]


def thinned_products(backend: Backend, cells: Sequence[Cells], how: Thinned) -> ThinnedProducts:
    """Return a function that computes matrices sum_i h_i t_i t_i' of several h (n_rows,).

    t_i are the values of the thinned functions in row i, without those that no row reaches, and a
    one.
    """
    parts = [own.expanded(_maps(how, g)) for g, own in enumerate(cells)]
    parts.append(backend.array(np.ones((cells[0].n_rows, 1), dtype=parts[0].dtype)))
    reached = np.flatnonzero(np.append(how.places >= 0, True))
    A = np.concatenate(parts, axis=1)[:, backend.array(reached)]

    def products(weights: Iterable[Floats]) -> list[Floats]:
        there = (bare(h, backend).astype(A.dtype)[:, None] for h in weights)
        found = np.stack([A.T @ (A * h) for h in there])
        return list(np.asarray(backend.numpy(found), dtype=np.float64))

    return products


def _maps(how: Thinned, g: int) -> Floats:
    """Return the matrices from group g's functions to its thinned ones.

    They are (n_features, stride, n_kept), or n_kept + 1 with the indicator of missing values last.
    """
    group, P = how.layout.groups[g], how.basis(g)
    size, n_kept = P.shape
    one = np.zeros((group.stride, n_kept + group.has_gaps))
    one[:size, :n_kept] = P
    if group.has_gaps:
        one[-1, -1] = 1.0
    return np.ascontiguousarray(np.broadcast_to(one, (group.n_features, *one.shape)))
