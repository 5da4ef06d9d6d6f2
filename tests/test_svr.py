"""AdditiveSVR: an insensitive zone, beside LinearSVR on the explicit embedding."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks
from written_out import explicit, primal

from splinear import AdditiveSVR
from splinear.losses import EpsilonInsensitive
from splinear.terms import Fourier, Hermite, Linear, Spline

CURVES = [
    Spline(8, degree=0),
    Spline(10),
    Spline(6, degree=3, penalty_order=2),
    Spline(10, knots="quantile", scale="native"),
    Fourier(2),
    Hermite(3),
    Linear(),
]


# Weights and repeats are compared to 1e-7 in the predictions, which takes a gap of its square.
@parametrize_with_checks([AdditiveSVR(C=1.0, tol=1e-15, max_iter=3000)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:250, :6], y[:250] / 50.0


def make(**params):
    return AdditiveSVR(**{"C": 1.0, "random_state": 0, "max_iter": 100_000, **params})


def value_of(model, X, y, mean):
    """The objective by NumPy, from the model's curves."""
    bias = model.intercept_scaling if model.fit_intercept else 0.0
    fitted = model._model
    return primal(
        fitted.layout, EpsilonInsensitive(model.epsilon), fitted.parameters[0],
        model.intercept_[0] - mean, X, np.ones(len(y)), model.C, bias, y - mean,
    )  # fmt: skip


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_optimum_is_that_of_liblinear(curve, epsilon, diabetes):
    X, y = diabetes
    model = make(curve=curve, epsilon=epsilon, tol=1e-7).fit(X, y)
    phi, residual = explicit(model._model.layout, X), y - y.mean()
    other = LinearSVR(epsilon=epsilon, tol=1e-7, max_iter=1_000_000, random_state=0)
    other.fit(phi, residual)
    w, b = other.coef_, other.intercept_[0]
    losses = np.maximum(0, np.abs(phi @ w + b - residual) - epsilon)
    theirs = 0.5 * w @ w + 0.5 * b**2 + losses.sum()
    assert model.objective_ == pytest.approx(theirs, rel=1e-5)
    assert model.objective_ <= theirs * (1 + 1e-6)
    assert model.objective_ == pytest.approx(value_of(model, X, y, y.mean()), rel=1e-9)


def test_a_weak_penalty_is_least_absolute_deviations():
    """By linear programming, with the penalty all but gone."""
    random = np.random.default_rng(0)
    x = np.arange(120) % 4
    y = np.array([1.0, -1.0, 2.0, 0.5])[x] + random.standard_cauchy(120)
    model = make(epsilon=0.0, C=100.0, tol=1e-4).fit(x[:, None], y)
    Z = (x[:, None] == np.arange(4)).astype(float)
    n = len(y)
    found = linprog(
        np.concatenate([np.zeros(4), np.ones(2 * n)]),
        A_eq=np.hstack([Z, np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(None, None)] * 4 + [(0, None)] * (2 * n),
    )
    assert np.abs(model.predict(x[:, None]) - y).sum() == pytest.approx(found.fun, rel=5e-3)


def test_residuals_in_the_zone_cost_nothing(diabetes):
    X, y = diabetes
    model = make(epsilon=10.0).fit(X, y)
    assert model.objective_ == 0.0
    np.testing.assert_allclose(model.predict(X), y.mean())


def test_outliers_matter_less_than_to_least_squares():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(500, 1))
    f = np.sin(3 * X[:, 0])
    y = f + 0.1 * random.normal(size=500)
    y[::20] += 50.0
    model = make(epsilon=0.1, C=10.0).fit(X, y)
    assert np.abs(model.predict(X) - f).mean() < 0.1


def test_without_an_intercept(diabetes):
    X, y = diabetes
    model = make(fit_intercept=False, tol=1e-7).fit(X, y)
    assert model.intercept_ == 0.0
    phi = explicit(model._model.layout, X)
    other = LinearSVR(epsilon=0.1, fit_intercept=False, tol=1e-7, max_iter=10**6, random_state=0)
    w = other.fit(phi, y).coef_
    theirs = 0.5 * w @ w + np.maximum(0, np.abs(phi @ w - y) - 0.1).sum()
    assert model.objective_ == pytest.approx(theirs, rel=1e-5)


def test_fitted_attributes(diabetes):
    X, y = diabetes
    model = AdditiveSVR(Spline(7, degree=2), C=1.0, random_state=0).fit(X, y)
    assert all(term.coef.shape == (1, 9) for term in model.terms_)
    assert model.intercept_.shape == (1,)
    assert 0 <= model.dual_gap_ <= model.tol
    assert model.certified_
    assert 1 <= model.n_iter_ <= model.max_iter
    assert model.feature_importances_.shape == (6,)


def test_warm_start_is_shorter(diabetes):
    X, y = diabetes
    cold = make(tol=1e-6, C=1.2).fit(X, y)
    warm = make(tol=1e-6, warm_start=True).fit(X, y).set_params(C=1.2).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-5)


def test_partial_fit_stays_close_to_the_last_model(diabetes):
    """The second chunk is a fit to what the first model leaves over."""
    X, y = diabetes
    model = make(tol=1e-9).fit(X, y)
    before, predictions = clone(model).fit(X, y), model.predict(X)
    chunk = np.arange(0, len(X), 3)
    model.partial_fit(X[chunk], y[chunk])
    left = y[chunk] - predictions[chunk]
    phi = explicit(before._model.layout, X[chunk])
    other = LinearSVR(epsilon=0.1, tol=1e-9, max_iter=10**6, random_state=0).fit(phi, left)
    w, b = other.coef_, other.intercept_[0]
    theirs = 0.5 * w @ w + 0.5 * b**2
    theirs += np.maximum(0, np.abs(phi @ w + b - left) - 0.1).sum()
    assert model.objective_ == pytest.approx(theirs, rel=1e-5)
    np.testing.assert_allclose(model.predict(X[chunk]), predictions[chunk] + phi @ w + b, atol=1e-2)


def test_partial_fit_over_chunks_approaches_the_whole():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(6000, 3))
    y = np.abs(X[:, 0]) + X[:, 1] ** 2 + 0.1 * random.normal(size=6000)
    whole = make().fit(X, y)
    model, scores = make(), []
    for start in range(0, 6000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
        scores.append(model.score(X, y))
    assert scores[0] > 0.9
    assert scores[-1] > whole.score(X, y) - 0.01
    assert model.terms_[0].hi == X[:500, 0].max()  # the first chunk fixes the ranges


def test_stops_by_the_clock_and_says_so(diabetes):
    X, y = diabetes
    model = make(C=1e6, tol=1e-14, time_limit=1e-3)
    with pytest.warns(ConvergenceWarning, match=r"Stopped by time_limit=0.001 s after \d+ passes"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert not model.certified_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"epsilon": -1.0}, "'epsilon' parameter of AdditiveSVR must be"),
        ({"C": 0.0}, "'C' parameter of AdditiveSVR must be"),
        ({"intercept_scaling": -1.0}, "'intercept_scaling' parameter of AdditiveSVR must be"),
    ],
)
def test_bad_parameters(params, message, diabetes):
    with pytest.raises(ValueError, match=message):
        AdditiveSVR(**params).fit(*diabetes)
