"""Pair: a surface over two features."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from splinear._compat import Interval
from splinear._types import Constraints, Floats
from splinear.terms.base import ColumnData, Term
from splinear.terms.knots import FOR_QUANTILES, Sample, samples
from splinear.terms.pair_group import Chain

__all__ = ["N_BINS", "LevelEffects", "Pair"]

N_BINS = 23  # default per feature

# By categorical feature: the effects of its levels on the score, and their weights, (n_levels,).
LevelEffects = dict[int, tuple[Floats, Floats]]


class Pair(Term):
    """A surface over two features: what they add together beyond what each adds alone.

    The surface is bilinear between nodes. The nodes of a number are quantiles, or its values if
    they are few. The nodes of a category are its levels in the order of their effects, with
    neighbors merged where there are more levels than nodes. A missing value has a node of its own.
    What functions of one feature can express is left to the curves: over the training rows, the
    mean of a surface along either feature is 0.

    With W the values at the nodes, the penalty is ``1/2 |D_1 W D_1'|^2 / s^2``, on mixed
    differences; the kernel of the surface is the product of two min kernels.

    Parameters
    ----------
    n_bins : int or None, default=None
        The maximum number of pieces along each feature, up to 63. None means 23.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveClassifier
    >>> from splinear.terms import Pair
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = AdditiveClassifier(terms={(0, 1): Pair(n_bins=8)}, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        "n_bins": [Interval(Integral, 1, 63, closed="both"), None],
    }

    def __init__(self, n_bins: int | None = None) -> None:
        self.n_bins = n_bins

    def chains(
        self, features: list[int], data: ColumnData, effects: LevelEffects
    ) -> dict[int, Chain]:
        """Return the chain of nodes of each feature; features with one node are left out."""
        n_bins = N_BINS if self.n_bins is None else int(self.n_bins)
        out = {}
        for j in features:
            if j in data.levels:
                out[j] = _chain_of_levels(j, *effects[j], n_bins, bool(data.has_gap[j]))
        numbers = np.array([j for j in features if j not in data.levels], dtype=np.intp)
        rows = FOR_QUANTILES.rows(data.table.shape[0], data.kept, len(numbers))
        for k, seen in samples(data.table, rows, numbers, data.weights, data.most_bytes):
            j = int(numbers[k])
            knots = _knots(seen, float(data.lo[j]), float(data.hi[j]), n_bins)
            out[j] = Chain(j, knots=knots, has_missing=bool(data.has_gap[j]))
        return {j: out[j] for j in features if out[j].n_nodes > 1}


def _knots(seen: Sample, lo: float, hi: float, n_bins: int) -> Floats:
    """Return both ends of a range with all values of the feature if few, or else quantiles."""
    if not np.isfinite(lo):  # all are missing
        return np.empty(0)
    distinct = np.union1d([lo, hi], seen.distinct)
    if len(distinct) <= n_bins + 1:
        return distinct
    inner = seen.quantiles(np.arange(1, n_bins) / n_bins)
    return np.union1d([lo, hi], inner)


def _chain_of_levels(
    feature: int, effect: Floats, weight: Floats, n_bins: int, has_missing: bool
) -> Chain:
    """Return the chain of levels sorted by effect; if many, merged to nodes of equal weight."""
    order = np.argsort(effect, kind="stable")
    if len(order) <= n_bins + 1:
        node = np.empty(len(order), dtype=np.intp)
        node[order] = np.arange(len(order))
        return Chain(feature, node_of_level=node, has_missing=has_missing)
    share = np.cumsum(weight[order]) - 0.5 * weight[order]
    cells = np.floor(share / max(float(weight.sum()), np.finfo(float).tiny) * (n_bins + 1))
    node = np.empty(len(order), dtype=np.intp)
    node[order] = np.unique(cells, return_inverse=True)[1]
    return Chain(feature, node_of_level=node, has_missing=has_missing)
