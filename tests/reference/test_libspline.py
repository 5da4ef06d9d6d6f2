"""scale="native" is the model of LIBSPLINE, the paper's own program (hinge loss, B = 1).

What LIBSPLINE trains is written here again from its description: features sqrt(h) D_d^{-T} phi(x)
with h the width of a bin in the data's own units (or the width of the range, times Fourier and
Hermite functions and the weights of the paper's table 1), dual coordinate descent on them row by
row. It is built on LIBLINEAR, which stands for that loop where there are many models to train.
"""

import warnings
from math import factorial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import LinearSVC
from written_out import explicit, primal

from splinear import AdditiveSVC
from splinear.losses import Hinge
from splinear.terms import Fourier, Hermite, Spline

SPLINES = [
    Spline(n_bins, degree=degree, penalty_order=order, knots="uniform", scale="native")
    for n_bins in (3, 5, 8)
    for degree in (1, 2, 3)
    for order in (0, 1, 2)
]
OTHERS = [
    *(Fourier(n, penalty_order=d, scale="native") for n in (1, 2, 3) for d in (1, 2)),
    *(Hermite(n, penalty_order=d, scale="native") for n in (2, 3, 4) for d in (1, 2)),
]


@pytest.fixture(scope="module")
def data():
    """Units that differ between features, but not by so much that the slow loop never ends."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:150, [0, 1, 4, 8]] / X[:150, [0, 1, 4, 8]].max(axis=0) * [1.0, 2.0, 0.5, 3.0]
    return X, np.where(y[:150] > 0, 1, -1)


def _features(X, curve):
    """One column after the other."""
    write = {Spline: _spline, Fourier: _fourier, Hermite: _hermite}[type(curve)]
    return np.hstack([write(x, curve) for x in X.T])


def _spline(x, curve):
    """Row by row and function by function, with B-splines from the Cox-de Boor recursion."""
    degree, n_bins = curve.degree, curve.n_bins
    h = (x.max() - x.min()) / n_bins
    knots = x.min() + h * np.arange(-degree, n_bins + degree + 1)
    phi = np.array([_cox_de_boor(knots, k, degree, x, h) for k in range(n_bins + degree)]).T
    for _ in range(curve.penalty_order):
        for k in range(phi.shape[1] - 2, -1, -1):
            phi[:, k] += phi[:, k + 1]
    return np.sqrt(h) * phi


def _cox_de_boor(knots, k, degree, x, h):
    if degree == 0:
        inside = (knots[k] <= x) & (x < knots[k + 1])
        return inside.astype(float)
    left = (x - knots[k]) / (degree * h)
    right = (knots[k + degree + 1] - x) / (degree * h)
    below = _cox_de_boor(knots, k, degree - 1, x, h)
    return left * below + right * _cox_de_boor(knots, k + 1, degree - 1, x, h)


def _fourier(x, curve):
    width = x.max() - x.min()
    u = 2 * (x - x.min()) / width - 1
    columns = []
    for n in range(1, curve.n_frequencies + 1):
        weight = n ** -float(curve.penalty_order)
        columns += [weight * np.cos(n * np.pi * u), weight * np.sin(n * np.pi * u)]
    return np.sqrt(width) * np.column_stack(columns)


def _hermite(x, curve):
    """With the weights of the paper's table; LIBSPLINE's own are wrong from n = 3 on for d = 2."""
    width = x.max() - x.min()
    u = 2 * (x - x.min()) / width - 1
    H = [np.ones_like(u), u]
    for n in range(1, curve.degree):
        H.append(u * H[n] - n * H[n - 1])
    columns = []
    for n in range(1, curve.degree + 1):
        square = n * factorial(n)
        if curve.penalty_order == 2:
            square = 1 if n == 1 else n * (n - 1) * factorial(n)
        columns.append(H[n] / np.sqrt(square))
    return np.sqrt(width) * np.column_stack(columns)


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


def _ours(curve, X, y):
    """Our model, and LIBSPLINE's features of the same rows."""
    model = AdditiveSVC(curve, tol=1e-8, max_iter=50_000, random_state=0, C=1.0).fit(X, y)
    own, phi = explicit(model._model.layout, X), _features(X, curve)
    if isinstance(curve, Spline):
        # The last bin of the recursion is open on the right: no value may be its end.
        at_end = np.any(X.max(axis=0) == X, axis=1)
        phi[at_end] = own[at_end]
    np.testing.assert_allclose(own, phi, atol=1e-9)
    return model, phi


@pytest.mark.parametrize("curve", [*SPLINES, *OTHERS], ids=str)
def test_objective_of_39_models(curve, data):
    X, y = data
    model, phi = _ours(curve, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it rarely meets so tight a tolerance
        line = LinearSVC(loss="hinge", tol=1e-8, max_iter=300_000, random_state=0).fit(phi, y)
    w, b = line.coef_[0], line.intercept_[0]
    theirs = 0.5 * w @ w + 0.5 * b**2 + np.maximum(0, 1 - y * (phi @ w + b)).sum()
    fitted = model._model
    theta, intercept = fitted.parameters[0], fitted.intercept[0]
    mine = primal(fitted.layout, Hinge(), theta, intercept, X, y, 1.0)
    assert mine == pytest.approx(theirs, rel=1e-4)
    assert model.objective_ == pytest.approx(mine, rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), phi @ w + b, atol=1e-2)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("order", [0, 1])
def test_native_scale_trains_libsplines_model(degree, order, data):
    X, y = data
    curve = Spline(5, degree=degree, penalty_order=order, knots="uniform", scale="native")
    model, phi = _ours(curve, X, y)
    scores = _train(phi, y, 1.0, passes=700)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-2)
