"""scale="native" is the model of LIBSPLINE, the paper's own program (hinge loss, B = 1).

What LIBSPLINE trains is written here again from its description: features sqrt(h) D_d^{-T} phi(x)
with h the width of a bin in the data's own units, dual coordinate descent on them row by row.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from splinear import AdditiveClassifier


def _features(X, degree, order, n_bins):
    """Row by row and function by function, with B-splines from the Cox-de Boor recursion."""
    columns = []
    for x in X.T:
        h = (x.max() - x.min()) / n_bins
        knots = x.min() + h * np.arange(-degree, n_bins + degree + 1)
        phi = np.array([_cox_de_boor(knots, k, degree, x, h) for k in range(n_bins + degree)]).T
        for _ in range(order):
            for k in range(phi.shape[1] - 2, -1, -1):
                phi[:, k] += phi[:, k + 1]
        columns.append(np.sqrt(h) * phi)
    return np.hstack(columns)


def _cox_de_boor(knots, k, degree, x, h):
    if degree == 0:
        inside = (knots[k] <= x) & (x < knots[k + 1])
        return inside.astype(float)
    left = (x - knots[k]) / (degree * h)
    right = (knots[k + degree + 1] - x) / (degree * h)
    below = _cox_de_boor(knots, k, degree - 1, x, h)
    return left * below + right * _cox_de_boor(knots, k + 1, degree - 1, x, h)


def _train(phi, y, C, passes):
    phi = np.column_stack([phi, np.ones(len(phi))])
    norms = np.sum(phi**2, axis=1)
    alpha, w = np.zeros(len(y)), np.zeros(phi.shape[1])
    random = np.random.default_rng(0)
    for _ in range(passes):
        for i in random.permutation(len(y)):
            step = np.clip(alpha[i] + (1 - y[i] * (w @ phi[i])) / norms[i], 0, C) - alpha[i]
            w += step * y[i] * phi[i]
            alpha[i] += step
    return phi @ w


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_native_scale_trains_libsplines_model(degree, order):
    X, y = load_breast_cancer(return_X_y=True)
    # Units that differ between features, but not by so much that the slow loop never ends.
    X = X[:150, [0, 1, 4, 8]] / X[:150, [0, 1, 4, 8]].max(axis=0) * [1.0, 2.0, 0.5, 3.0]
    # The last bin of the recursion above is open on the right: no value may be its end.
    edge = X.max(axis=0)
    y = np.where(y[:150] > 0, 1, -1)
    ours = AdditiveClassifier(
        scale="native",
        degree=degree,
        penalty_order=order,
        n_bins=5,
        tol=1e-8,
        max_iter=20_000,
        random_state=0,
    ).fit(X, y)
    inside = np.all(edge > X, axis=1)
    phi = _features(X, degree, order, 5)
    phi[~inside] = ours.embedding_.transform(X[~inside])
    np.testing.assert_allclose(ours.embedding_.transform(X), phi, atol=1e-9)
    scores = _train(phi, y, 1.0, passes=1000 if order < 2 else 3000)
    np.testing.assert_allclose(ours.decision_function(X), scores, atol=1e-2)
