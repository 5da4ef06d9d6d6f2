"""Kernels of additive models (paper, section 4): the min kernel and those that splines imply."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import check_pairwise_arrays

from splinear._types import AnyArray, Floats
from splinear.basis import BSplineBasis

__all__ = ["min_kernel", "spline_kernel"]


def min_kernel(X: AnyArray, Y: AnyArray | None = None) -> Floats:
    """K(x, y) = sum_j min(x_j, y_j), the histogram intersection kernel.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
    Y : array-like of shape (m, n_features), default=X

    Returns
    -------
    K : ndarray of shape (n, m)
    """
    X, Y = check_pairwise_arrays(X, Y, dtype=np.float64)
    K = np.zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        K += np.minimum.outer(x, y)
    return K


def spline_kernel(
    X: AnyArray,
    Y: AnyArray | None = None,
    *,
    degree: int = 1,
    order: int = 1,
    n_bins: int = 10,
) -> Floats:
    """K(x, y) = (1/N) sum_j phi^d(x_j)'phi^d(y_j) for B-splines on N bins of [0, 1].

    For d = 1 this is the min kernel but for values nearer to each other than r bins (r the degree),
    and for a constant: (1/N) phi^1(x)'phi^1(y) = min(x, y) + (r + 1) / (2 N) where
    |x - y| >= r / N. (The paper prints the constant as (r + 1) / 2, without the 1/N.)

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Values in [0, 1]; others count as the nearer end.
    Y : array-like of shape (m, n_features), default=X
    degree : int, default=1
        Degree of the B-splines, 0 to 3.
    order : int, default=1
        Order d of the difference penalty.
    n_bins : int, default=10
        N.

    Returns
    -------
    K : ndarray of shape (n, m)
    """
    X, Y = check_pairwise_arrays(X, Y, dtype=np.float64)
    basis = BSplineBasis(degree, n_bins)
    penalty = basis.penalty(order)
    K = np.zeros((len(X), len(Y)))
    for columns in zip(X.T, Y.T, strict=True):
        x, y = (penalty.embed(basis.evaluate(np.clip(c, 0.0, 1.0) * n_bins)) for c in columns)
        K += x @ y.T / n_bins
    return K
