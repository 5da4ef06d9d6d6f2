"""Kernels of additive models (paper, section 4): the min kernel and those that splines imply."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.metrics.pairwise import check_pairwise_arrays
from sklearn.utils import check_scalar

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.tables.chunks import as_floats
from splinear.terms.basis import BSplineBasis

__all__ = ["min_kernel", "spline_kernel"]


def min_kernel(X: AnyArray, Y: AnyArray | None = None, *, n_jobs: int | None = None) -> Floats:
    """K(x, y) = sum_j min(x_j, y_j), the histogram intersection kernel.

    A pair of rows costs 2 n_features operations, by vector instructions and in double precision.
    Without Y only half of the pairs are computed, and K is exactly symmetric. Beyond K, each thread
    takes less than a megabyte.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        If X and Y are both float32 they are read as they are; other types become float64.
    Y : array-like of shape (m, n_features), default=X
    n_jobs : int or None, default=None
        The number of threads; None means 1, -1 all processors. The result does not depend on it.

    Returns
    -------
    K : ndarray of shape (n, m)
        float64.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.kernels import min_kernel
    >>> min_kernel(np.array([[0.2, 0.8], [0.5, 0.5]])).round(2)
    array([[1. , 0.7],
           [0.7, 1. ]])
    """
    if n_jobs is not None:
        check_scalar(n_jobs, "n_jobs", Integral)
    same = Y is None
    X, Y = check_pairwise_arrays(X, Y, accept_sparse=False)
    K = np.empty((len(X), len(Y)))
    other = None if same else as_floats(Y)
    _core.min_kernel(as_floats(X), other, K, int(effective_n_jobs(n_jobs)))
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

    For d = 1 this is the min kernel plus a constant, except for values that are closer together
    than r bins (r is the degree): ``(1/N) phi^1(x)'phi^1(y) = min(x, y) + (r + 1) / (2 N)`` where
    ``|x - y| >= r / N``. (The paper prints the constant as (r + 1) / 2, without the 1/N.)

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Values in [0, 1]; values outside count as the nearest end.
    Y : array-like of shape (m, n_features), default=X
    degree : int, default=1
        Degree of the B-splines, 0 to 3.
    order : int, default=1
        Order d of the difference penalty, 0 to 10.
    n_bins : int, default=10
        N.

    Returns
    -------
    K : ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.kernels import spline_kernel
    >>> X = np.array([[0.1], [0.5]])
    >>> spline_kernel(X, degree=1, n_bins=100).round(3)  # nearly the min kernel
    array([[0.11, 0.11],
           [0.11, 0.51]])
    """
    X, Y = check_pairwise_arrays(X, Y, dtype=np.float64)
    basis = BSplineBasis(degree, n_bins)
    penalty = basis.penalty(order)
    K = np.zeros((len(X), len(Y)))
    for columns in zip(X.T, Y.T, strict=True):
        x, y = (penalty.embed(basis.evaluate(np.clip(c, 0.0, 1.0) * n_bins)) for c in columns)
        K += x @ y.T / n_bins
    return K
