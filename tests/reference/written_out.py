"""The functions that are minimized, written out in NumPy: slow, readable, and what tests hold to.

AdditiveSVC and AdditiveSVR (`bias` B, lambda = 1 / (C n) in the paper):

    P = penalty + 1/2 b^2 + sum_i c_i loss(y_i f(x_i) - t_i),   f(x) = B b + sum_k f_k(x),

AdditiveClassifier and AdditiveRegressor (free intercept, `bias` None): the same without 1/2 b^2.
The penalty is that of all groups of the layout, 1/2 sum_k |T^{-1} coef_k|^2 / s_k^2 and more (see
`splinear.terms.group` and `splinear.terms.pair_group`).
"""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses.margin import MarginLoss
from splinear.model.layout import Layout
from splinear.terms.pair_group import PairGroup
from splinear.terms.varying_group import VaryingGroup


def scores(layout: Layout, parameters: Floats, intercept: float, table: AnyArray) -> Floats:
    """f(x) of the rows of a table of numbers, shape (n,)."""
    total = np.full(len(table), float(intercept))
    for group, part in zip(layout.groups, layout.split(parameters), strict=True):
        embedding, values = group.embedding, group.with_gap_values(part)
        for k, j in enumerate(group.features):
            x = table[:, j].astype(np.float64)
            gap = np.isnan(x)
            argument = embedding.axes.argument_of(np.where(gap, embedding.axes.lo[k], x), k)
            f = embedding.basis.evaluate(argument) @ values[k, :-1]
            total += np.where(gap, values[k, -1], f)
    for pairs, part in zip(layout.pairs, layout.split_pairs(parameters), strict=True):
        tables = pairs.tables(part)
        for k in range(pairs.n_pairs):
            total += node_functions(pairs, k, table) @ tables[k]
    return total


def node_functions(pairs: PairGroup, k: int, table: AnyArray) -> Floats:
    """Return the functions B_k(x) B_l(z) of all nodes of surface k at the rows, (n, size)."""
    hats = []
    for chain, m in zip(pairs.chains[k], pairs.n_nodes, strict=True):
        at = chain.positions(table[:, chain.feature]).astype(np.float64)[:, None]
        hats.append(np.where(at < 0, 0.0, np.maximum(0.0, 1.0 - np.abs(at - np.arange(m)))))
    return np.asarray(np.einsum("ik,il->ikl", *hats).reshape(len(table), -1))


def explicit(layout: Layout, table: AnyArray) -> Floats:
    """Write out phi(x) of the rows, (n, n_parameters): |w|^2 / 2 is the penalty of w'phi.

    For groups of curves without edge weights. A gap is (s_j T' m_j, sqrt(g_j)).
    """
    columns = []
    for group in layout.groups:
        embedding = group.embedding
        root = np.sqrt(embedding.variance)
        for k, j in enumerate(group.features):
            x = table[:, j].astype(np.float64)
            gap = np.isnan(x)
            argument = embedding.axes.argument_of(np.where(gap, embedding.axes.lo[k], x), k)
            B = embedding.basis.evaluate(argument)
            B[gap] = group.mean[k]
            columns.append(root[k] * embedding.penalty.embed(B))
            if group.has_gaps:
                columns.append(np.sqrt(group.missing_variance[k]) * gap[:, None])
    for pairs in layout.pairs:
        B = np.stack([node_functions(pairs, k, table) for k in range(pairs.n_pairs)], axis=1)
        columns.append(_embedded(pairs, B).reshape(len(table), -1))
    return np.column_stack(columns)


def _embedded(pairs: PairGroup, B: Floats) -> Floats:
    """Turn functions of nodes (n, n_pairs, size) into those of the mixed differences, scaled.

    An increment d_kl raises all nodes from (k, l) on; what functions of one feature can say of
    that is taken off. Varying coefficients have the embeddings of their curves.
    """
    if isinstance(pairs, VaryingGroup):
        curve, B = pairs.curve, pairs.curves_of(pairs.gather(B)).copy()
        B[..., : curve.size] = curve.embedding.penalty.embed(B[..., : curve.size])
        B[..., : curve.size] *= np.sqrt(curve.embedding.variance)[:, None]
        B[..., curve.size :] *= np.sqrt(curve.missing_variance)[:, None]
        return pairs.from_curves(B)
    grids = pairs.gather(B).reshape(*B.shape[:-1], *pairs.n_nodes)
    beyond = np.flip(np.flip(grids, (-1, -2)).cumsum(axis=-1).cumsum(axis=-2), (-1, -2))
    precision = np.where(pairs.used, pairs.precision, np.inf)
    return np.asarray(beyond.reshape(B.shape) / np.sqrt(precision))


def primal(
    layout: Layout,
    loss: MarginLoss,
    parameters: Floats,
    intercept: float,
    table: AnyArray,
    y: AnyArray,
    cost: Floats | float,
    bias: float | None = 1.0,
    targets: Floats | float = 0.0,
) -> float:
    """P for labels y in {-1, 1}; intercept = B b and bias = B (0: no intercept; None: a free one).

    Regression has y = 1 and its targets.
    """
    b = intercept / bias if bias else 0.0
    losses = loss.of_margin(y * scores(layout, parameters, intercept, table) - targets)
    return float(layout.penalty_value(parameters) + 0.5 * b**2 + np.sum(cost * losses))


def parameters_of(layout: Layout, w: Floats) -> Floats:
    """Return coef_j = s_j T w_j, and the deviations of gaps, of weights w of the embedding."""
    parts = []
    for group, part in zip(layout.groups, layout.split(w), strict=True):
        coef = group.embedding.coefficients(part[:, : group.size])
        gaps = np.sqrt(group.missing_variance)[:, None] * part[:, group.size :]
        parts.append(np.hstack([coef, gaps]))
    return layout.join(parts)


def weights_of(layout: Layout, parameters: Floats) -> Floats:
    """Undo `parameters_of`: w_j = T^{-1} coef_j / s_j, and d_j / sqrt(g_j) of gaps."""
    parts = []
    for group, part in zip(layout.groups, layout.split(parameters), strict=True):
        root = np.where(group.missing_variance > 0, np.sqrt(group.missing_variance), np.inf)
        own = group.embedding.weights(part[:, : group.size])
        parts.append(np.hstack([own, part[:, group.size :] / root[:, None]]))
    return layout.join(parts)
