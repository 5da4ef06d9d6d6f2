"""AdditiveRegressor against other regressions on the explicit embedding."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from splinear import AdditiveRegressor
from splinear.losses import EpsilonInsensitive, SquaredError
from splinear.objective import primal

BASES = [
    {"basis": "bspline", "degree": 0, "n_bins": 8},
    {"basis": "bspline", "degree": 1},
    {"basis": "bspline", "degree": 3, "penalty_order": 2, "n_bins": 6},
    {"basis": "bspline", "knots": "quantile", "scale": "native"},
    {"basis": "fourier", "degree": 2},
    {"basis": "hermite", "degree": 3},
]
SOLVERS = ["newton", "dual_cd"]


# Weights and repeats are compared to 1e-7 in the predictions, which takes a gap of its square.
@parametrize_with_checks(
    [
        AdditiveRegressor(tol=1e-15),
        AdditiveRegressor(solver="dual_cd", tol=1e-15, max_iter=20_000),
        AdditiveRegressor(loss="epsilon_insensitive", tol=1e-15, max_iter=20_000),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:250, :6], y[:250] / 50.0


def make(**params):
    return AdditiveRegressor(**{"random_state": 0, "max_iter": 100_000, **params})


def value_of(model, X, y, mean, cost=1.0):
    """The objective by NumPy, from the model's curves."""
    squared = model.loss == "squared_error"
    loss = SquaredError() if squared else EpsilonInsensitive(model.epsilon)
    bias = model.intercept_scaling if model.fit_intercept else 0.0
    b = model.intercept_[0] - mean
    ones = np.ones(len(y))
    return primal(
        model.embedding_, loss, model.coef_[0], b, X, ones, model.C * cost, bias, y - mean
    )


@pytest.mark.parametrize("params", BASES, ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_squared_error_is_ridge_regression(params, solver, C, diabetes):
    X, y = diabetes
    model = make(**params, solver=solver, C=C, intercept_scaling=2.0, tol=1e-9).fit(X, y)
    phi = np.column_stack([model.embedding_.transform(X), np.full(len(X), 2.0)])
    residual = y - y.mean()
    other = Ridge(alpha=1 / C, fit_intercept=False, solver="cholesky").fit(phi, residual)
    w = other.coef_
    theirs = 0.5 * w @ w + 0.5 * C * np.sum((phi @ w - residual) ** 2)
    assert model.objective_ == pytest.approx(theirs, rel=1e-7)
    assert model.objective_ == pytest.approx(value_of(model, X, y, y.mean()), rel=1e-9)
    # The gap bounds the squared distance.
    np.testing.assert_allclose(model.predict(X), phi @ w + y.mean(), atol=1e-3)


@pytest.mark.parametrize("params", BASES, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_epsilon_insensitive_is_liblinears_regression(params, epsilon, diabetes):
    X, y = diabetes
    model = make(**params, loss="epsilon_insensitive", epsilon=epsilon, tol=1e-7).fit(X, y)
    phi, residual = model.embedding_.transform(X), y - y.mean()
    other = LinearSVR(epsilon=epsilon, tol=1e-7, max_iter=1_000_000, random_state=0)
    other.fit(phi, residual)
    w, b = other.coef_, other.intercept_[0]
    losses = np.maximum(0, np.abs(phi @ w + b - residual) - epsilon)
    theirs = 0.5 * w @ w + 0.5 * b**2 + losses.sum()
    assert model.objective_ == pytest.approx(theirs, rel=1e-5)
    assert model.objective_ <= theirs * (1 + 1e-6)
    assert model.objective_ == pytest.approx(value_of(model, X, y, y.mean()), rel=1e-9)


def test_statsmodels_finds_the_same_curves(diabetes):
    api = pytest.importorskip("statsmodels.api")
    X, y = diabetes
    model = make(C=0.5, tol=1e-10).fit(X, y)
    phi = np.column_stack([model.embedding_.transform(X), np.ones(len(X))])
    other = api.OLS(y - y.mean(), phi).fit_regularized(alpha=2 / len(y), L1_wt=0.0)
    np.testing.assert_allclose(model.predict(X), phi @ other.params + y.mean(), atol=1e-4)


def test_pygam_finds_the_same_curve():
    """Its penalty differs, so both are made weak: what is left is least squares by splines."""
    pygam = pytest.importorskip("pygam")
    random = np.random.default_rng(0)
    x = random.uniform(0, 2 * np.pi, size=(2000, 1))
    y = np.sin(x[:, 0]) + 0.3 * random.normal(size=2000)
    terms = pygam.s(0, n_splines=15, spline_order=3, lam=1e-7)
    other = pygam.LinearGAM(terms).fit(x, y)
    model = make(degree=3, n_bins=12, C=1e7, tol=1e-9).fit(x, y)
    np.testing.assert_allclose(model.predict(x), other.predict(x), atol=1e-3)


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
@pytest.mark.parametrize("solver", ["auto", "dual_cd"])
def test_weights_are_repeats(loss, solver, diabetes):
    X, y = diabetes
    repeats = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = make(loss=loss, solver=solver, tol=1e-10).fit(X, y, sample_weight=repeats)
    repeated = make(loss=loss, solver=solver, tol=1e-10)
    repeated.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-4)


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_a_shift_of_the_target_shifts_the_intercept_alone(loss, diabetes):
    X, y = diabetes
    one, two = (make(loss=loss, tol=1e-9).fit(X, y + shift) for shift in (0.0, 1e3))
    np.testing.assert_allclose(two.predict(X), one.predict(X) + 1e3, atol=1e-3)
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_an_intercept(solver, diabetes):
    X, y = diabetes
    model = make(fit_intercept=False, solver=solver, tol=1e-9).fit(X, y)
    assert model.intercept_ == 0.0
    phi = model.embedding_.transform(X)
    other = Ridge(alpha=1.0, fit_intercept=False, solver="cholesky").fit(phi, y)
    np.testing.assert_allclose(model.predict(X), other.predict(phi), atol=1e-3)


@pytest.mark.parametrize("params", [{}, {"solver": "dual_cd"}, {"loss": "epsilon_insensitive"}])
def test_a_constant_target(params, diabetes):
    X, _ = diabetes
    model = make(**params).fit(X, np.full(len(X), 3.5))
    np.testing.assert_allclose(model.predict(X), 3.5)
    assert model.dual_gap_ == 0.0


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
@pytest.mark.parametrize("solver", ["auto", "dual_cd"])
def test_warm_start_goes_on(loss, solver, diabetes):
    X, y = diabetes
    model = make(loss=loss, solver=solver, tol=1e-7, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0
    cold = make(loss=loss, solver=solver, tol=1e-7, C=1.2).fit(X, y)
    warm = model.set_params(C=1.2).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    if solver == "dual_cd" or loss == "epsilon_insensitive":
        assert warm.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
@pytest.mark.parametrize("solver", ["auto", "dual_cd"])
def test_partial_fit_stays_close_to_the_last_model(loss, solver, diabetes):
    """The second chunk is a fit to what the first model leaves over."""
    X, y = diabetes
    params = {"loss": loss, "solver": solver, "tol": 1e-9}
    model = make(**params).fit(X, y)
    before, scores = clone(model).fit(X, y), model.predict(X)
    chunk = np.arange(0, len(X), 3)
    model.partial_fit(X[chunk], y[chunk])
    left = y[chunk] - scores[chunk]
    rest = make(**params)
    rest.embedding_ = before.embedding_
    rest._learn(rest._prepare(X[chunk], None, 0), left, None, None, None, 0.0)
    assert model.objective_ == pytest.approx(rest.objective_, rel=1e-6)
    np.testing.assert_allclose(model.coef_, before.coef_ + rest.coef_, atol=1e-3)


def test_partial_fit_over_chunks_approaches_the_whole():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(6000, 3))
    y = np.abs(X[:, 0]) + X[:, 1] ** 2 + 0.1 * random.normal(size=6000)
    whole = make().fit(X, y)
    model, scores = make(), []
    for start in range(0, 6000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
        scores.append(model.score(X, y))
    assert scores[-1] > scores[0]
    assert scores[-1] > whole.score(X, y) - 0.01


def test_stops_by_the_clock_and_says_so(diabetes):
    X, y = diabetes
    model = make(solver="dual_cd", C=1e6, tol=1e-14, time_limit=1e-3)
    with pytest.warns(ConvergenceWarning, match=r"Stopped by time_limit=0.001 s after \d+ passes"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge"}, "'loss' parameter of AdditiveRegressor must be"),
        ({"epsilon": -1.0}, "'epsilon' parameter of AdditiveRegressor must be"),
        ({"loss": "epsilon_insensitive", "solver": "newton"}, "solver='newton' needs a smooth"),
    ],
)
def test_bad_parameters(params, message, diabetes):
    with pytest.raises(ValueError, match=message):
        AdditiveRegressor(**params).fit(*diabetes)
