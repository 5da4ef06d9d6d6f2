"""The grid nodes of one feature of a surface: a chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray, Floats

__all__ = ["NOWHERE", "Chain", "interpolated"]

NOWHERE = -1.0  # position of a value for which surfaces are 0, such as an unseen level


@dataclass(frozen=True, eq=False)
class Chain:
    """The nodes of one feature, ordered so that neighbors are similar.

    A number has a node at each knot and is interpolated linearly between them. The levels of a
    category are assigned to nodes. Missing values, if there were any in training, have one more
    node at the end.

    Attributes
    ----------
    feature : int
        The column of X.
    knots : ndarray of shape (n_knots,) or None
        Ascending; None for a category.
    node_of_level : ndarray of shape (n_levels,) or None
        The node of each level; None for numbers.
    has_missing : bool
    """

    feature: int
    knots: Floats | None = None
    node_of_level: NDArray[np.intp] | None = None
    has_missing: bool = False

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.n_values + self.has_missing

    @property
    def n_values(self) -> int:
        """Number of nodes without that of missing values."""
        if self.node_of_level is not None:
            return int(self.node_of_level.max(initial=-1)) + 1
        return 0 if self.knots is None else len(self.knots)

    def positions(self, x: AnyArray) -> Floats:
        """Return the positions of values (n,): k at node k, and -1 where surfaces are 0.

        Levels are given by their indices, a negative one for an unseen level; NaN is a missing
        value. Numbers beyond the first or last knot have its position.
        """
        x = np.asarray(x, dtype=np.float64)
        missing = np.isnan(x)
        at = self._of_levels(x, missing) if self.knots is None else self._of_numbers(x)
        at[missing] = self.n_values if self.has_missing else NOWHERE
        return at

    def _of_levels(self, x: Floats, missing: NDArray[np.bool_]) -> Floats:
        assert self.node_of_level is not None
        nodes = np.append(self.node_of_level.astype(np.float64), NOWHERE)
        return nodes[np.where(missing | (x < 0), -1, x).astype(np.intp)]

    def _of_numbers(self, x: Floats) -> Floats:
        knots = self.knots
        assert knots is not None
        if len(knots) < 2:
            return np.zeros(len(x))
        inside = np.clip(x, knots[0], knots[-1])
        k = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        # Halved if numbers are large, so that differences do not overflow; halves of the smallest
        # numbers would be rounded.
        half = 0.5 if np.abs(knots).max() > 1.0 else 1.0
        length = half * knots[k + 1] - half * knots[k]
        beyond = half * inside - half * knots[k]
        share = np.divide(beyond, length, out=np.zeros(len(x)), where=length > 0)
        return np.asarray(k + np.minimum(share, 1.0))


def interpolated(nodes: Floats, positions: Floats) -> Floats:
    """Return functions with values (..., n_nodes) at positions (n,), (..., n); 0 where unknown."""
    k = np.clip(positions.astype(np.intp), 0, max(nodes.shape[-1] - 2, 0))
    after = np.minimum(k + 1, nodes.shape[-1] - 1)
    share = positions - k
    values = (1.0 - share) * nodes[..., k] + share * nodes[..., after]
    return np.where(positions >= 0, values, 0.0)
