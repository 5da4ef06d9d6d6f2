"""Curves that are held to a form, through the estimators."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from written_out import explicit

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR, PathSearchCV
from splinear.terms import Spline

SIGN = {None: 0, "increasing": 1, "decreasing": -1, "convex": 1, "concave": -1}
N_GRID = 10_000
ROUNDING = 1e-13  # of the largest score: what sums of doubles may be off
SINGLE = 5e-6  # the same for X in single precision, in which its scores are computed


def scores(model, X):
    found = model.predict(X) if hasattr(model, "loss") else model.decision_function(X)
    return found.reshape(len(X), -1)


def violation(model, X, j, *, beyond=0.0):
    """How far scores along feature j go the wrong way, and bend it, at 10,000 points."""
    term = model.get_params()["curve"]
    lo, hi = np.nanmin(X[:, j]), np.nanmax(X[:, j])
    Z = np.tile(np.nanmedian(X, axis=0), (N_GRID, 1)).astype(X.dtype)
    Z[:, j] = np.linspace(lo - beyond * (hi - lo), hi + beyond * (hi - lo), N_GRID)
    f = scores(model, Z)
    steps, unit = np.diff(f, axis=0), np.abs(f).max() or 1.0
    wrong_way = -(SIGN[term.monotone] * steps).min() / unit
    wrong_bend = -(SIGN[term.curvature] * np.diff(steps, axis=0)).min() / unit
    return max(wrong_way, wrong_bend)


def random_problem(seed):
    """An estimator of a random kind, form and smoothness, its rows and its target."""
    random = np.random.default_rng(seed)
    n, p = int(random.integers(20, 200)), int(random.integers(1, 4))
    X = random.normal(size=(n, p)) if seed % 3 else np.round(4 * random.exponential(size=(n, p)))
    signal = np.sin(2 * X).sum(axis=1) + random.normal(size=n)
    X = X * 10.0 ** random.integers(-6, 7, size=p)
    monotone = [None, "increasing", "decreasing"][seed % 3]
    curvature = [None, "convex", "concave"][(seed // 3) % 3] if monotone else "convex"
    term = Spline(
        n_bins=[None, 12][seed % 2],
        degree=int(random.integers(0 if curvature is None else 1, 4)),
        penalty_order=int(random.integers(0, 3)),
        monotone=monotone,
        curvature=curvature,
        extrapolation="linear",
    )
    C = [None, 1e-2, 1.0, 1e3][seed // 2 % 4]
    kind = seed // 5 % 3
    if kind == 0:
        return AdditiveRegressor(term, C=C), X, signal
    if kind == 1:
        return AdditiveClassifier(term, C=C), X, signal > np.median(signal)
    return AdditiveClassifier(term, C=C), X, np.digitize(signal, np.quantile(signal, [0.3, 0.7]))


@pytest.mark.parametrize("part", range(10))
def test_no_violation_on_a_grid(part):
    """200 random problems, and half a range beyond the rows on either side."""
    for seed in range(20 * part, 20 * (part + 1)):
        model, X, y = random_problem(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, y)
        assert model.certified_
        for j in range(X.shape[1]):
            assert violation(model, X, j, beyond=0.5) <= ROUNDING, (seed, j)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_single_precision(degree):
    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 3)).astype(np.float32)
    y = np.sin(2 * X).sum(axis=1) + X[:, 0] + random.normal(size=1000)
    model = AdditiveRegressor(Spline(degree=degree, monotone="increasing")).fit(X, y)
    assert max(violation(model, X, j) for j in range(3)) <= SINGLE


def test_constant_continuation_is_monotone():
    model, X, y = random_problem(1)
    term = Spline(monotone="increasing")
    model = AdditiveRegressor(term).fit(X, np.asarray(y, dtype=float))
    assert violation(model, X, 0, beyond=1.0) <= ROUNDING


def test_curves_that_obey_anyway_are_left_alone():
    random = np.random.default_rng(0)
    X = random.uniform(size=(2000, 1))
    y = 5 * X[:, 0] + 0.01 * random.normal(size=2000)
    free = AdditiveRegressor(Spline(n_bins=8), C=1.0, tol=1e-6).fit(X, y)
    term = Spline(n_bins=8, monotone="increasing")
    held = AdditiveRegressor(term, C=1.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(held.objective_, free.objective_, rtol=1e-6)
    np.testing.assert_allclose(held.predict(X), free.predict(X), atol=1e-3)


def test_smoothness_is_that_of_the_free_fit():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * random.normal(size=500)
    free = AdditiveRegressor(Spline(n_bins=64), random_state=0).fit(X, y)
    term = Spline(n_bins=64, monotone="increasing")
    held = AdditiveRegressor(term, random_state=0).fit(X, y)
    for a, b in zip(free.terms_, held.terms_, strict=True):
        assert a.smoothness == b.smoothness
    assert held.objective_ > free.objective_
    assert held.certified_


def test_features_of_one_and_two_values():
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 2, 200), np.ones(200), random.normal(size=200)])
    y = X @ [1.0, 0.0, -1.0] + 0.1 * random.normal(size=200)
    for C in (None, 1.0):
        for n in (1, 3):  # of two values alone a convex curve has nothing to obey
            model = AdditiveRegressor(Spline(curvature="convex"), C=C).fit(X[:, :n], y)
            assert model.certified_
        model = AdditiveRegressor(Spline(monotone="decreasing"), C=C).fit(X, y)
        assert model.certified_
        assert abs(np.ptp(model.terms_[0].coef)) < 1e-9


def test_missing_values_are_not_held():
    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 2))
    X[::5, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), -5.0, X[:, 0]) + 0.1 * random.normal(size=1000)
    model = AdditiveRegressor(Spline(monotone="increasing")).fit(X, y)
    assert model.score(X, y) > 0.99
    assert violation(model, X, 0) <= ROUNDING


@pytest.mark.parametrize(
    "shape", [("decreasing", None), ("decreasing", "convex"), (None, "concave")]
)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_sparse_rows(shape, degree):
    random = np.random.default_rng(0)
    X = random.exponential(size=(800, 3)) * (random.random((800, 3)) < 0.4)
    y = -np.sqrt(X).sum(axis=1) + np.cos(3 * X[:, 0]) + 0.1 * random.normal(size=800)
    term = Spline(degree=degree, monotone=shape[0], curvature=shape[1])
    model = AdditiveRegressor(term, C=1.0)
    if degree > 1 and all(shape):
        with pytest.raises(ValueError, match="begins flat"):
            model.fit(sparse.csr_array(X), y)
        return
    model.fit(sparse.csr_array(X), y)
    assert model.certified_
    for j in range(3):
        Z = np.zeros((N_GRID, 3))
        Z[:, j] = np.linspace(0, X[:, j].max(), N_GRID)
        steps = np.diff(model.predict(sparse.csr_array(Z)))
        assert (SIGN[shape[0]] * steps).min() >= -ROUNDING
        assert (SIGN[shape[1]] * np.diff(steps)).min() >= -ROUNDING


# -- AdditiveSVC -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_squared_hinge_equals_scipy(C, bias):
    """In the weights of D_1, increasing means that all but the first are at least 0: bounds."""
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 2))
    y = np.sin(2 * X[:, 0]) - X[:, 1] + 0.5 * random.normal(size=200) > 0.3
    more = {"intercept_scaling": bias} if bias else {"fit_intercept": False}
    term = Spline(n_bins=6, knots="uniform", monotone="increasing")
    model = AdditiveSVC(term, loss="squared_hinge", C=C, tol=1e-6, **more).fit(X, y)
    phi = np.column_stack([explicit(model._model.layout, X), np.full(200, bias)])
    signs = np.where(y, 1.0, -1.0)

    def value(w):
        short = np.maximum(0.0, 1.0 - signs * (phi @ w))
        return 0.5 * w @ w + C * short @ short, w - 2 * C * phi.T @ (signs * short)

    bounds = [(None, None) if k % 7 == 0 else (0.0, None) for k in range(phi.shape[1])]
    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10}
    best = minimize(
        value, np.zeros(15), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    assert model.certified_
    np.testing.assert_allclose(model.objective_, best.fun, rtol=1e-4)
    assert violation_of_svc(model, X) <= ROUNDING


def violation_of_svc(model, X):
    Z = np.tile(np.median(X, axis=0), (N_GRID, 1))
    Z[:, 0] = np.linspace(X[:, 0].min(), X[:, 0].max(), N_GRID)
    f = model.decision_function(Z)
    return -np.diff(f).min() / np.abs(f).max()


def test_several_classes_against_the_rest():
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + 0.3 * random.normal(size=300), [-0.5, 0.5])
    model = AdditiveSVC(Spline(monotone="increasing"), loss="squared_hinge", C=1.0).fit(X, y)
    assert model.certified_
    Z = np.tile(np.median(X, axis=0), (N_GRID, 1))
    Z[:, 0] = np.linspace(-3, 3, N_GRID)
    assert np.diff(model.decision_function(Z), axis=0).min() >= -ROUNDING


def test_paths():
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 2))
    y = X[:, 0] + np.sin(3 * X[:, 0]) + random.normal(size=300) > 0
    term = Spline(monotone="increasing")
    for model in (AdditiveClassifier(term, C=1.0), AdditiveSVC(term, loss="squared_hinge", C=1.0)):
        search = PathSearchCV(model, Cs=4, cv=3).fit(X, y)
        assert violation_of_svc(search.best_estimator_, X) <= ROUNDING


# -- what is refused -------------------------------------------------------------------------------


def test_losses_without_derivatives_are_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20) > 9
    term = Spline(monotone="increasing")
    for model in (AdditiveSVC(term, C=1.0), AdditiveSVR(term, C=1.0)):
        with pytest.raises(ValueError, match=r"squared_hinge.*AdditiveRegressor"):
            model.fit(X, y)
    model = AdditiveSVC(term, loss="squared_hinge", C=1.0).partial_fit(X, y, classes=[False, True])
    with pytest.raises(ValueError, match="partial_fit takes no Spline with monotone"):
        model.partial_fit(X, y)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (Spline(monotone="up"), "monotone"),
        (Spline(curvature="increasing"), "curvature"),
        (Spline(curvature="convex", degree=0), "a step function"),
        (Spline(curvature="convex", degree=2, knots="quantile"), "pieces of equal width"),
        (Spline(curvature="concave", degree=3, knots=[0.0, 1.0, 3.0]), "pieces of equal width"),
    ],
)
def test_parameters(term, message):
    with pytest.raises(ValueError, match=message):
        AdditiveRegressor(term).fit(np.arange(20.0)[:, None], np.arange(20.0))
