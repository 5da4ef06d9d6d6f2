"""The function that is minimised, written out in NumPy.

P(coef, b) = 1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 + 1/2 b^2 + sum_i c_i loss(y_i f(x_i) - t_i),
f(x) = B b + sum_j coef_j' B(x_j), with c_i = C times the row's and its class's weight. The paper's
lambda is 1 / (C n).
"""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.embedding import Embedding
from splinear.losses import Loss

__all__ = ["primal", "scores"]


def scores(embedding: Embedding, coef: Floats, intercept: float, X: AnyArray) -> Floats:
    """f(x) for the rows of X, shape (n,): the slow and readable way."""
    arguments = embedding.axes.argument(X)
    total = np.full(len(X), float(intercept))
    for j in range(embedding.n_features):
        total += embedding.basis.evaluate(arguments[:, j]) @ coef[j]
    return total


def primal(
    embedding: Embedding,
    loss: Loss,
    coef: Floats,
    intercept: float,
    X: AnyArray,
    y: AnyArray,
    cost: Floats | float,
    bias: float = 1.0,
    targets: Floats | float = 0.0,
) -> float:
    """P(coef, b) for labels y in {-1, 1}; intercept = B b and bias = B (0: no intercept).

    Regression has y = 1 and its targets.
    """
    weights = embedding.weights(coef)
    b = intercept / bias if bias > 0 else 0.0
    losses = loss.value(y * scores(embedding, coef, intercept, X) - targets)
    return float(0.5 * np.sum(weights**2) + 0.5 * b**2 + np.sum(cost * losses))
