"""AdditiveRegressor against other regressions, and what AdditiveSVR shares with it."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits
from written_out import explicit, primal

from splinear import AdditiveRegressor, AdditiveSVR
from splinear.losses import SquaredError
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
BOTH = [
    AdditiveRegressor(C=1.0, random_state=0),
    AdditiveSVR(random_state=0, max_iter=100_000, C=1.0),
]

both = pytest.mark.parametrize("model", BOTH, ids=lambda model: type(model).__name__)


# What scikit-learn 1.6 asks of estimators that take no sparse tables, too.
FOR_SPARSE = {"check_sample_weight_equivalence_on_sparse_data": "surfaces are for dense tables"}


# Weights and repeats are compared to 1e-7 in the predictions, which takes a gap of its square.
@pytest.mark.filterwarnings("ignore:.*equal another row in X and y")
@parametrize_with_checks(
    [
        AdditiveRegressor(tol=1e-15),
        AdditiveRegressor(C=1.0, tol=1e-15),
        AdditiveRegressor(interactions="auto", tol=1e-15),
        AdditiveRegressor(interactions=2, C=1.0, tol=1e-15),
    ],
    expected_failed_checks=lambda own: {} if get_tags(own).input_tags.sparse else FOR_SPARSE,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:250, :6], y[:250] / 50.0


def make(**params):
    return AdditiveRegressor(**{"random_state": 0, **params})


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_squared_error_is_ridge_regression(curve, C, diabetes):
    X, y = diabetes
    model = make(curve=curve, C=C, tol=1e-9).fit(X, y)
    phi = explicit(model._model.layout.scaled(1 / C), X)
    other = Ridge(alpha=1 / C, solver="cholesky").fit(phi, y)  # its intercept is free too
    w = other.coef_
    theirs = 0.5 * w @ w / C + 0.5 * np.sum((other.predict(phi) - y) ** 2)
    assert model.objective_ == pytest.approx(theirs, rel=1e-7)
    # The gap bounds the squared distance.
    np.testing.assert_allclose(model.predict(X), other.predict(phi), atol=1e-3)
    fitted = model._model
    value = primal(
        fitted.layout, SquaredError(), fitted.parameters[0], fitted.intercept[0], X,
        np.ones(len(y)), 1.0, None, y,
    )  # fmt: skip
    assert model.objective_ == pytest.approx(value, rel=1e-9)


@threadpool_limits.wrap(1, user_api="blas")
def test_statsmodels_finds_the_same_curves(diabetes):
    api = pytest.importorskip("statsmodels.api")
    X, y = diabetes
    model = make(C=0.5, tol=1e-10).fit(X, y)
    phi = explicit(model._model.layout.scaled(2.0), X)
    deviation, residual = phi - phi.mean(axis=0), y - y.mean()
    other = api.OLS(residual, deviation).fit_regularized(alpha=2 / len(y), L1_wt=0.0)
    np.testing.assert_allclose(model.predict(X), deviation @ other.params + y.mean(), atol=1e-4)


def test_pygam_finds_the_same_curve():
    """Its penalty differs, so both are made weak: what is left is least squares by splines."""
    pygam = pytest.importorskip("pygam")
    random = np.random.default_rng(0)
    x = random.uniform(0, 2 * np.pi, size=(2000, 1))
    y = np.sin(x[:, 0]) + 0.3 * random.normal(size=2000)
    terms = pygam.s(0, n_splines=15, spline_order=3, lam=1e-7)
    other = pygam.LinearGAM(terms).fit(x, y)
    model = make(curve=Spline(12, degree=3, knots="uniform"), C=1e7, tol=1e-9).fit(x, y)
    np.testing.assert_allclose(model.predict(x), other.predict(x), atol=1e-3)


@threadpool_limits.wrap(1, user_api="blas")
def test_smoothness_has_the_best_restricted_likelihood():
    """Curves with one variance: y ~ N(m, v (I + t_1 K_1 + t_2 K_2)), over t by SciPy."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(200, 2))
    y = np.sin(4 * X[:, 0]) + 0.3 * X[:, 1] + 0.4 * random.normal(size=200)
    curve = Spline(12, penalty_order=0, knots="uniform")
    model = make(curve=curve, tol=1e-8).fit(X, y)
    plain = make(curve=curve, C=12.0).fit(X, y)._model.layout  # of variances 12 / 12
    phi = explicit(plain, X).reshape(200, 2, 13)
    kernels = [phi[:, k] @ phi[:, k].T for k in range(2)]

    def restricted(log_t):
        V = np.eye(200) + sum(np.exp(t) * K for t, K in zip(log_t, kernels, strict=True))
        factor = np.linalg.cholesky(V)
        one, u = solve_triangular(factor, np.column_stack([np.ones(200), y]), lower=True).T
        residual = u - one * (one @ u) / (one @ one)
        v = residual @ residual / 199
        return 2 * np.log(np.diag(factor)).sum() + np.log(one @ one) + 199 * np.log(v)

    found = minimize(restricted, np.zeros(2), method="Nelder-Mead", options={"maxiter": 200})
    ours = restricted(np.log([term.smoothness for term in model.terms_]))
    assert ours - found.fun < 0.5  # other features' curves are taken as known, which costs little
    assert restricted(np.log([term.smoothness * 4 for term in model.terms_])) - ours > 0.5
    assert restricted(np.log([term.smoothness / 4 for term in model.terms_])) - ours > 0.5
    assert 2 < model.terms_[0].edf < 12


def test_smoothness_is_better_than_any_one_strength():
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, size=(3000, 6))
    f = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1]
    y = f + random.normal(size=3000)
    model = make().fit(X, y)
    errors = [
        np.mean((make(curve=Spline(50), C=C).fit(X, y).predict(X) - f) ** 2)
        for C in np.geomspace(1e-2, 1e2, 5)
    ]
    assert np.mean((model.predict(X) - f) ** 2) < min(errors)
    assert model.feature_importances_[2:].max() < 0.1 * model.feature_importances_[:2].min()


@pytest.mark.parametrize("C", [None, 1.0])
def test_the_intercept_is_free(C, diabetes):
    """So the residuals have mean zero, however strong the penalty is."""
    X, y = diabetes
    for weights in (None, np.random.default_rng(0).random(len(y))):
        model = make(C=C and 1e-4).fit(X, y, weights)
        assert np.average(y - model.predict(X), weights=weights) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("model", [*BOTH, make()], ids=["fixed", "SVR", "chosen"])
def test_counts_are_repeats(model, diabetes):
    X, y = diabetes
    repeats = np.random.default_rng(0).integers(0, 4, len(y))
    exact = clone(model).set_params(curve=Spline(8), tol=1e-10)
    weighted = clone(exact).fit(X, y, counts=repeats)
    again = np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    repeated = clone(exact).fit(*again, counts=np.ones(repeats.sum()))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


@both
def test_a_shift_of_the_target_shifts_the_intercept_alone(model, diabetes):
    X, y = diabetes
    exact = clone(model).set_params(tol=1e-9)
    one, two = (clone(exact).fit(X, y + shift) for shift in (0.0, 1e3))
    np.testing.assert_allclose(two.predict(X), one.predict(X) + 1e3, atol=1e-3)
    for a, b in zip(one.terms_, two.terms_, strict=True):
        np.testing.assert_allclose(a.coef, b.coef, atol=1e-3)


def test_units_of_the_target_do_not_matter_to_smoothness(diabetes):
    X, y = diabetes
    one, two = make(tol=1e-6).fit(X, y), make(tol=1e-6).fit(X, 1000 * y)
    np.testing.assert_allclose(two.predict(X), 1000 * one.predict(X), rtol=1e-3)
    for a, b in zip(one.terms_, two.terms_, strict=True):
        assert a.smoothness == pytest.approx(b.smoothness, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("model", [*BOTH, make()], ids=["fixed", "SVR", "chosen"])
def test_a_constant_target(model, diabetes):
    X, _ = diabetes
    model = clone(model).fit(X, np.full(len(X), 3.5))
    np.testing.assert_allclose(model.predict(X), 3.5)
    assert model.dual_gap_ == 0.0


@both
def test_warm_start_goes_on(model, diabetes):
    X, y = diabetes
    exact = clone(model).set_params(tol=1e-7)
    warm = clone(exact).set_params(warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ == 0
    cold = clone(exact).set_params(C=1.2).fit(X, y)
    warm.set_params(C=1.2).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    assert warm.n_iter_ <= cold.n_iter_


@pytest.mark.parametrize("model", [*BOTH, make()], ids=["fixed", "SVR", "chosen"])
def test_a_fit_that_fails_leaves_the_last_model(model, diabetes):
    X, y = diabetes
    model = clone(model).fit(X, y)
    before = model.predict(X)
    wrong = y.copy()
    wrong[3] = np.nan
    with pytest.raises(ValueError, match=r"y contains NaN|Input y contains NaN"):
        model.fit(X, wrong)
    with pytest.raises(ValueError, match=r"hold dates.*: when"):
        model.fit(pd.DataFrame({"when": pd.Timestamp("2020-01-01"), "x": X[:, 0]}), y)
    np.testing.assert_array_equal(model.predict(X), before)
    assert len(model.terms_) == 6


@both
def test_not_fitted(model):
    with pytest.raises(NotFittedError):
        clone(model).predict([[1.0]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "epsilon_insensitive"}, "'loss' parameter of AdditiveRegressor must be"),
        ({"C": -1.0}, "'C' parameter of AdditiveRegressor must be"),
        ({"tol": -1.0}, "'tol' parameter of AdditiveRegressor must be"),
        ({"missing": "drop"}, "'missing' parameter of AdditiveRegressor must be"),
    ],
)
def test_bad_parameters(params, message, diabetes):
    with pytest.raises(ValueError, match=message):
        AdditiveRegressor(**params).fit(*diabetes)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_levels_without_noise_are_found(gaps):
    """Where nothing is penalized, what all levels have in common must not run away."""
    random = np.random.default_rng(0)
    level = random.integers(0, 3, 2000).astype(float)
    level[random.random(2000) < gaps] = np.nan
    x = random.uniform(size=2000)
    y = np.where(np.isnan(level), 1.2, level) + np.sin(6 * x)
    model = AdditiveRegressor(categorical_features=[1]).fit(np.column_stack([x, level]), y)
    assert model.score(np.column_stack([x, level]), y) > 0.99999  # of 40 pieces, which are straight
    assert np.abs(model.terms_[1].coef).max() < 2


def test_two_rows_tell_the_mean():
    """A line through two rows says nothing about noise, and would lead anywhere beyond them."""
    random = np.random.default_rng(0)
    for n_features in (1, 3):
        X, y = random.normal(size=(2, n_features)), np.array([9.0, 12.0])
        new = np.vstack([X, random.normal(size=(50, n_features))])
        np.testing.assert_allclose(AdditiveRegressor().fit(X, y).predict(new), 10.5, atol=0.1)


@pytest.mark.parametrize("n_rows", [3, 5, 8, 12])
@pytest.mark.parametrize("n_features", [1, 3])
def test_few_rows_do_not_lead_far_beyond_their_targets(n_rows, n_features):
    for seed in range(20):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(n_rows, n_features)), random.normal(size=n_rows)
        predicted = (
            AdditiveRegressor().fit(X, y).predict(10.0 * random.normal(size=(200, n_features)))
        )
        assert predicted.min() > y.min() - np.ptp(y)
        assert predicted.max() < y.max() + np.ptp(y)


def test_few_rows_on_a_line_are_learned():
    X = np.linspace(-1.0, 1.0, 12)[:, None]
    y = 3.0 * X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=12)
    assert AdditiveRegressor().fit(X, y).score(X, 3.0 * X[:, 0]) > 0.95
