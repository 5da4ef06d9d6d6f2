"""Surfaces over pairs of features: asked for, found, fitted to the optimum, and used."""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from written_out import explicit, scores

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import base_value, contributions, importances, surface
from splinear.solvers.reml import turns
from splinear.terms import Category, Pair, Spline

BOTH = [AdditiveClassifier, AdditiveRegressor]
both = pytest.mark.parametrize("estimator", BOTH)
chosen_or_fixed = pytest.mark.parametrize("C", [None, 1.0])


def rows(n=300, n_features=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, n_features))


def product(X, noise=0.2, seed=1):
    """Return a target of the product of the first two features, and a line."""
    random = np.random.default_rng(seed)
    return 3.0 * X[:, 0] * X[:, 1] + X[:, 2] + noise * random.normal(size=len(X))


def target(estimator, X, **named):
    y = product(np.nan_to_num(X), **named)
    return y > 0 if estimator is AdditiveClassifier else y


def pairs_of(model):
    return [pair.features for pair in model.terms_.pairs]


def predicted(model, X):
    return model.predict(X) if isinstance(model, AdditiveRegressor) else model.decision_function(X)


def same(one, other, X):
    np.testing.assert_array_equal(predicted(one, X), predicted(other, X))


# -- the optimum ---------------------------------------------------------------------------------


def least_by_others(phi, y, n_classes):
    """Return the least of losses + 1/2 |w|^2 on an explicit embedding, the intercept free."""
    A = np.column_stack([phi, np.ones(len(y))])
    ridge = np.append(np.ones(phi.shape[1]), 0.0)
    if n_classes == 0:
        w = np.linalg.solve(A.T @ A + np.diag(ridge), A.T @ y)
        return 0.5 * float(((A @ w - y) ** 2).sum() + ridge @ w**2)
    Y = np.eye(n_classes)[y.astype(int)]
    # Two classes have one output: the other class scores 0.
    n_outputs = n_classes if n_classes > 2 else 1

    def value(flat):
        W = flat.reshape(A.shape[1], n_outputs)
        F = A @ W if n_outputs > 1 else np.column_stack([np.zeros(len(y)), A @ W])
        slope = (softmax(F, axis=1) - Y)[:, -n_outputs:]
        loss = -(Y * log_softmax(F, axis=1)).sum() + 0.5 * (ridge[:, None] * W**2).sum()
        return loss, (A.T @ slope + ridge[:, None] * W).ravel()

    options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(A.shape[1] * n_outputs)
    return minimize(value, start, jac=True, method="L-BFGS-B", options=options).fun


def mixed_problem(n_classes):
    """Return rows with gaps, and a target of numbers (0) or classes."""
    X = rows()
    X[::9, 1] = np.nan
    y = product(np.nan_to_num(X))
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, y


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_optimum_is_that_of_the_explicit_embedding(n_classes):
    X, y = mixed_problem(n_classes)
    make = AdditiveClassifier if n_classes else AdditiveRegressor
    model = make(
        Spline(6), terms={(0, 1): Pair(4)}, interactions=[(2, 1)], C=2.0, tol=1e-8, random_state=0
    ).fit(X, y)
    assert pairs_of(model) == [(0, 1), (1, 2)]
    assert model.certified_
    layout = model._model.layout
    best = least_by_others(explicit(layout, X)[:, layout.used], y, n_classes)
    # tol is 1e-8, and positions have 24 bits.
    np.testing.assert_allclose(model.objective_, best, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@chosen_or_fixed
def test_objective_and_gap_in_numpy(n_classes, C):
    """P from the terms; D from the losses' derivatives, which the intercept makes sum to 0."""
    X, y = mixed_problem(n_classes)
    make = AdditiveClassifier if n_classes else AdditiveRegressor
    model = make(Spline(6), interactions=[(0, 1), (0, 2)], C=C, tol=1e-6, random_state=0).fit(X, y)
    assert model.certified_
    found = model._model
    flat = zip(found.parameters, found.intercept, strict=True)
    F = np.stack([scores(found.layout, theta, b, X) for theta, b in flat])
    penalty = sum(found.layout.penalty_value(theta) for theta in found.parameters)
    if n_classes == 0:
        losses, R = 0.5 * ((F[0] - y) ** 2).sum(), F - y
    else:
        both = F if n_classes > 2 else np.vstack([np.zeros(len(y)), F[0]])
        Y = np.eye(n_classes)[y].T
        losses = -(Y * log_softmax(both, axis=0)).sum()
        R = (softmax(both, axis=0) - Y)[-len(F) :]
    np.testing.assert_allclose(model.objective_, penalty + losses, rtol=1e-6)
    np.testing.assert_allclose(R.sum(axis=1), 0.0, atol=1e-4 * np.abs(R).sum())
    gap = 0.0
    for theta, r in zip(found.parameters, R, strict=True):
        g = found.layout.stiffen(theta) + gradient_by_hand(found.layout, X, r)
        g = np.where(found.layout.used, g, 0.0)
        gap += 0.5 * g @ found.layout.soften(g)
    # The certificate may be that of other dual variables, whose gap is smaller.
    assert gap <= 1e-3 * model.objective_


def gradient_by_hand(layout, X, r):
    """Return the derivative of sum_i r_i f(x_i) by parameters, from scores of unit vectors."""
    out = np.zeros(layout.n_parameters)
    for k in np.flatnonzero(layout.used):
        unit = np.zeros(layout.n_parameters)
        unit[k] = 1.0
        out[k] = scores(layout, unit, 0.0, X) @ r
    return out


@both
@chosen_or_fixed
def test_scores_are_those_of_numpy(estimator, C):
    X = rows()
    curve = Spline(extrapolation="constant")
    model = estimator(curve, interactions=2, C=C, random_state=0).fit(X, target(estimator, X))
    other = rows(50, seed=5) * 1.5
    [theta], [b] = model._model.parameters, model.intercept_
    expected = scores(model._model.layout, theta, b, other)
    np.testing.assert_allclose(predicted(model, other), expected, rtol=1e-9, atol=1e-9)


@both
def test_surfaces_are_centered_over_the_training_rows(estimator):
    """Along either feature: for rows at the nodes the weighted means are 0."""
    X = np.random.default_rng(0).integers(0, 5, (400, 3)).astype(float)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 400)
    y = target(estimator, X - 2.0)
    model = estimator(interactions=[(0, 1)], random_state=0).fit(X, y, sample_weight=weights)
    [pair] = model.terms_.pairs
    f = pair.evaluate(X[:, 0], X[:, 1])[:, 0]
    assert np.abs(f).max() > 0.1
    for feature in (0, 1):
        for value in range(5):
            here = X[:, feature] == value
            assert abs(np.average(f[here], weights=weights[here])) < 1e-9


# -- which pairs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", BOTH)
def test_planted_products_are_found(estimator):
    """Three among the 190 pairs of 20 features, and no more than two others before them."""
    X = rows(10_000, 20)
    planted = [(1, 5), (2, 17), (8, 9)]
    f = sum(3.0 * X[:, a] * X[:, b] for a, b in planted) + X[:, 3]
    random = np.random.default_rng(2)
    y = f + random.normal(size=len(X))
    if estimator is AdditiveClassifier:
        y = y > 0
    model = estimator(interactions=5, C=1.0, random_state=0).fit(X, y)
    assert set(planted) <= set(pairs_of(model))
    assert len(pairs_of(model)) == 5


@pytest.mark.parametrize("seed", range(4))
def test_a_product_is_found_in_few_rows(seed):
    """A grid with about a row per cell would tell as much of any two features."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (300, 5))
    mean = np.exp(0.5 + 0.5 * X[:, 0] + 1.2 * X[:, 0] * X[:, 1] + 0.3 * np.sin(3 * X[:, 2]))
    model = AdditiveRegressor(loss="poisson", interactions=1, random_state=0)
    assert pairs_of(model.fit(X, random.poisson(mean))) == [(0, 1)]


@both
@chosen_or_fixed
def test_no_interactions_are_no_change(estimator, C):
    X = rows()
    y = target(estimator, X)
    plain = estimator(C=C, random_state=0).fit(X, y)
    assert plain.terms_.pairs == []
    same(plain, estimator(C=C, interactions=[], random_state=0).fit(X, y), X)
    same(plain, estimator(C=C, interactions=np.int64(0), random_state=0).fit(X, y), X)


@both
@pytest.mark.parametrize("interactions", [1, "auto", [(0, 1)], [("a", "b")], [["b", "a"]]])
def test_every_way_to_ask(estimator, interactions):
    X = pd.DataFrame(rows(1000), columns=["a", "b", "c"])
    y = target(estimator, X.to_numpy())
    model = estimator(interactions=interactions, random_state=0).fit(X, y)
    assert (0, 1) in pairs_of(model)
    plain = estimator(random_state=0).fit(X, y)
    assert model.score(X, y) > plain.score(X, y) + 0.1
    assert repr(model.terms_.of_pair(1, 0)).startswith("<Pair of 'a × b'")


@both
def test_a_term_of_two_features(estimator):
    X, listed = rows(), np.array([[0, 1]])
    y = target(estimator, X)
    by_term = estimator(terms={(1, 0): Pair()}, random_state=0).fit(X, y)
    same(by_term, estimator(interactions=listed, random_state=0).fit(X, y), X)
    both_ways = estimator(terms={(1, 0): Pair(3)}, interactions=[(0, 1), (1, 2)], random_state=0)
    both_ways.fit(X, y)
    assert [pair.coef.shape[1:] for pair in both_ways.terms_.pairs] == [(4, 4), (24, 24)]


def test_more_pairs_than_there_are():
    X = rows()
    model = AdditiveRegressor(interactions=100, C=1.0, random_state=0).fit(X, product(X))
    assert pairs_of(model) == [(0, 1), (0, 2), (1, 2)]
    alone = AdditiveRegressor(interactions="auto", random_state=0).fit(X[:, :1], X[:, 0])
    assert alone.terms_.pairs == []


def test_without_interactions_auto_finds_few():
    X = rows(2000, 6)
    y = X.sum(axis=1) + np.random.default_rng(3).normal(size=2000)
    plain = AdditiveRegressor(random_state=0).fit(X, y)
    model = AdditiveRegressor(interactions="auto", random_state=0).fit(X, y)
    fresh = rows(2000, 6, seed=9)
    excess = [np.mean((m.predict(fresh) - fresh.sum(axis=1)) ** 2) for m in (plain, model)]
    assert excess[1] < excess[0] + 0.02


def additive_with_shops(n_levels, n=1500, seed=0):
    """Return rows and two classes without any interaction; one feature has random effects."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.uniform(-1, 1, (n, 2)), columns=["a", "b"])
    shop = random.integers(0, n_levels, n)
    X["shop"] = pd.Categorical(shop)
    f = 1.5 * np.sin(3 * X["a"]) - X["b"] + 0.7 * random.normal(size=n_levels)[shop]
    return X, random.random(n) < 1 / (1 + np.exp(-f))


@pytest.mark.parametrize("n_levels", [20, 300])
def test_random_effects_are_no_interactions(n_levels):
    """The order of the levels is estimated from other rows than those that test it."""
    for seed in range(2):
        X, y = additive_with_shops(n_levels, seed=seed)
        model = AdditiveClassifier(interactions="auto", random_state=0).fit(X, y)
        assert not any(2 in pair for pair in pairs_of(model))


def test_pairs_of_classes_that_curves_nearly_separate():
    """Where the curves explain the training rows, only other rows say what is missing."""
    random = np.random.default_rng(0)
    y = random.integers(0, 4, 1200)
    X = random.normal(size=(1200, 4)) * 0.5
    sign = np.where(y < 2, 1.0, -1.0)
    X[:, 1] = sign * X[:, 0] + 0.1 * random.normal(size=1200)
    X[:, 2] += 3.0 * (y % 2)
    X[:, 3] = 3.0 * random.permutation(1200)
    curves = AdditiveClassifier(random_state=0).fit(X[:800], y[:800])
    model = AdditiveClassifier(interactions="auto", random_state=0).fit(X[:800], y[:800])
    assert (0, 1) in pairs_of(model)
    assert model.score(X[800:], y[800:]) > curves.score(X[800:], y[800:]) + 0.1


@both
def test_the_search_is_reported(estimator, capsys):
    X = rows(1000)
    model = estimator(interactions="auto", verbose=1, random_state=0).fit(X, target(estimator, X))
    found = model.pair_search_
    assert found["looked_at"] == 3
    assert found["found"] >= found["kept"] == len(pairs_of(model)) > 0
    assert found["gain"] > 0.0
    assert found["why_none"] is None
    assert f"{found['kept']} of 3 pairs" in capsys.readouterr().err
    asked = estimator(interactions=1, random_state=0).fit(X, target(estimator, X)).pair_search_
    assert asked == {"looked_at": 3, "found": 1, "kept": 1, "gain": None, "why_none": None}
    assert estimator(interactions=[(0, 1)]).fit(X, target(estimator, X)).pair_search_ is None


@both
def test_why_no_pairs_were_kept(estimator, capsys):
    X = rows(1000)
    y = X[:, 0] + np.random.default_rng(1).normal(size=1000)
    y = y > 0 if estimator is AdditiveClassifier else y
    model = estimator(interactions="auto", verbose=1, random_state=0).fit(X, y)
    assert pairs_of(model) == []
    assert model.pair_search_["kept"] == 0
    assert model.pair_search_["why_none"] in capsys.readouterr().err
    alone = estimator(interactions="auto").fit(X[:, :1], y)
    assert alone.pair_search_["why_none"] == "there were no pairs to look at"


def test_many_weak_pairs_share_a_variance():
    """One by one they do not help on held-out rows; together they do, also on new rows."""
    random, n = np.random.default_rng(2), 2500
    X = random.uniform(-1, 1, (n + 8000, 10))
    f = X[:, 0].copy()
    for a, b in combinations(range(10), 2):
        f += 0.18 * random.choice([-1, 1]) * X[:, a] * X[:, b]
    y = random.random(len(X)) < expit(f)

    def loss(**how):
        model = AdditiveClassifier(random_state=0, **how).fit(X[:n], y[:n])
        return model, log_loss(y[n:], model.predict_proba(X[n:])[:, 1])

    (_, of_curves), (model, of_both) = loss(), loss(interactions="auto")
    surfaces = list(model.terms_.pairs)
    assert len(surfaces) > 30
    assert len({term.smoothness for term in surfaces}) == 1
    assert of_both < of_curves - 0.004


@pytest.mark.parametrize("seed", range(3))
def test_a_product_of_counts_is_found_in_300_rows(seed):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (300, 4))
    y = random.poisson(np.exp(0.5 + 0.5 * X[:, 2] + 1.5 * X[:, 0] * X[:, 1]))
    model = AdditiveRegressor(loss="poisson", interactions="auto", random_state=0).fit(X, y)
    assert (0, 1) in pairs_of(model)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_no_pairs_are_looked_for_where_classes_have_a_row_or_two():
    X, y = rows(120), np.arange(120) % 100
    model = AdditiveClassifier(interactions="auto", random_state=0).fit(X, y)
    assert model.pair_search_["looked_at"] == 0
    assert "too few rows for so many classes" in model.pair_search_["why_none"]
    assert AdditiveClassifier(interactions=[(0, 1)]).fit(X[:40], y[:40] % 20).terms_.pairs


@both
def test_pairs_are_the_same_every_time(estimator):
    X = frame_of_kinds(800)
    y = target(estimator, np.column_stack([X["x"], X["z"], X["x"]]))
    first, again = (
        estimator(interactions="auto", random_state=3).fit(X, np.asarray(y)) for _ in range(2)
    )
    assert pairs_of(first) == pairs_of(again)
    same(first, again, X)


@both
@chosen_or_fixed
def test_a_search_that_is_stopped_leaves_the_curves(estimator, C):
    X = rows(500)

    def stop(progress):
        return progress.phase == "pairs"

    model = estimator(interactions="auto", C=C, callback=stop, random_state=0)
    with pytest.warns(ConvergenceWarning, match="before pairs of features had been looked at"):
        model.fit(X, target(estimator, X))
    assert pairs_of(model) == []
    assert model.pair_search_ is None
    assert np.isfinite(predicted(model, X)).all()


# -- what features may hold ----------------------------------------------------------------------


def frame_of_kinds(n=1500, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": random.uniform(-1, 1, n),
            "kind": random.choice(["a", "b", "c"], n),
            "shop": random.choice([f"s{k:02d}" for k in range(40)], n),
            "z": random.uniform(-1, 1, n),
        }
    )


@both
@pytest.mark.parametrize("which", ["category and number", "two categories"])
def test_categories_have_surfaces(estimator, which):
    X, random = frame_of_kinds(), np.random.default_rng(4)
    sign = np.where(X["kind"] == "a", 1.0, np.where(X["kind"] == "b", -1.0, 0.0))
    of_shop = np.where(X["shop"].str[1:].astype(int) % 2 == 0, 1.0, -1.0)
    other = X["x"] if which == "category and number" else of_shop
    f = 3.0 * sign * other
    y = f + 0.3 * random.normal(size=len(X))
    y = y > 0 if estimator is AdditiveClassifier else y
    model = estimator(interactions=1, random_state=0).fit(X, y)
    expected = (0, 1) if which == "category and number" else (1, 2)
    plain = estimator(random_state=0).fit(X, y).score(X, y)
    assert pairs_of(model) == [expected]
    assert model.score(X, y) > plain + 0.1


def test_a_missing_value_is_a_node():
    """The slope is another one where z is missing."""
    X = rows(1500, 2)
    gap = np.random.default_rng(5).random(1500) < 0.3
    y = np.where(gap, 2.0, -1.0) * X[:, 0]
    X[gap, 1] = np.nan
    model = AdditiveRegressor(interactions="auto", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99
    assert model.terms_.pairs[0].chains[1].has_missing


@both
def test_what_fit_has_not_seen_adds_nothing(estimator):
    X = frame_of_kinds(400)
    y = target(estimator, rows(400))
    model = estimator(interactions=[("x", "kind"), ("x", "z")], random_state=0).fit(X, y)
    new = X[:3].assign(kind=["unseen", None, "a"], z=[0.0, 0.0, np.nan])
    parts = contributions(model, new)[:, 4:]
    np.testing.assert_array_equal(parts[:2, 0], 0.0)
    assert parts[2, 1] == 0.0
    assert np.isfinite(predicted(model, new)).all()


def test_beyond_the_range_a_surface_stays_as_it_is():
    X = rows()
    model = AdditiveRegressor(interactions=[(0, 1)], random_state=0).fit(X, product(X))
    [pair] = model.terms_.pairs
    far = pair.evaluate(np.array([-9.0, 9.0]), np.array([9.0, 0.3]))
    lo, hi = X.min(axis=0), X.max(axis=0)
    at_end = pair.evaluate(np.array([lo[0], hi[0]]), np.array([hi[1], 0.3]))
    np.testing.assert_array_equal(far, at_end)


@both
@pytest.mark.parametrize("interactions", [2, "auto", [(0, 1)]])
def test_constants_have_no_surfaces(estimator, interactions):
    X = rows()
    X[:, 0] = 4.0
    X[:, 2] = np.nan
    y = X[:, 1] > 0 if estimator is AdditiveClassifier else X[:, 1]
    model = estimator(interactions=interactions, random_state=0).fit(X, y)
    assert model.terms_.pairs == []
    assert np.isfinite(predicted(model, X)).all()


def test_periods_are_taken_once():
    """A surface reads hours as its curve does: modulo the period."""
    from splinear.terms import Fourier

    random = np.random.default_rng(6)
    X = np.column_stack([random.uniform(0, 240, 1000), random.uniform(-1, 1, 1000)])
    y = np.sin(2 * np.pi * X[:, 0] / 24) * X[:, 1]
    model = AdditiveRegressor(terms={0: Fourier(2, period=24.0)}, interactions=1, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    shifted = X + np.array([48.0, 0.0])
    np.testing.assert_allclose(model.predict(shifted), model.predict(X), rtol=1e-6, atol=1e-6)
    parts = contributions(model, X, center=False).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, model.predict(X), rtol=1e-6, atol=1e-6)


# -- weights -------------------------------------------------------------------------------------


@both
def test_a_count_of_two_is_two_rows(estimator, monkeypatch):
    """If pairs are named: others are found on folds, in which copies are rows like any others."""
    # Preconditioners are of samples of rows, and rough steps would end elsewhere.
    monkeypatch.setattr(turns, "STEP_ACCURACY", 1e-9)
    X = frame_of_kinds(400)
    numbers = np.column_stack([X["x"], X["z"], X["shop"].str[1:].astype(int) / 20 - 1])
    y = target(estimator, numbers)
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    counts = np.random.default_rng(7).integers(1, 4, 400)
    twice = np.repeat(np.arange(400), counts)
    common = {"interactions": [("x", "z"), ("x", "shop")], "tol": 1e-9, "random_state": 0}
    counted = estimator(**common).fit(X, y, counts=counts)
    repeated = estimator(**common).fit(X.iloc[twice], y[twice], counts=np.ones(len(twice)))
    assert pairs_of(counted) == pairs_of(repeated)
    np.testing.assert_allclose(predicted(counted, X), predicted(repeated, X), rtol=1e-4, atol=1e-4)


def test_rows_of_weight_zero_are_not_there():
    X = rows()
    y, weights = product(X), np.ones(300)
    weights[200:] = 0.0
    y[200:] = 1e6
    model = AdditiveRegressor(interactions="auto", tol=1e-9, random_state=0)
    found = clone(model).fit(X, y, sample_weight=weights)
    other = clone(model).fit(X[:200], y[:200])
    assert pairs_of(found) == pairs_of(other)
    np.testing.assert_allclose(found.predict(X), other.predict(X), rtol=1e-4, atol=1e-4)


# -- inspection ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_contributions_sum_to_the_score(n_classes):
    X, y = mixed_problem(n_classes)
    make = AdditiveClassifier if n_classes else AdditiveRegressor
    model = make(interactions=2, C=1.0, random_state=0).fit(X, y)
    parts = contributions(model, X)
    assert parts.shape[1] == 3 + 2
    total = base_value(model) + parts.sum(axis=1)
    np.testing.assert_allclose(total, predicted(model, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_importances_have_halves_of_surfaces(n_classes):
    X, y = mixed_problem(n_classes)
    make = AdditiveClassifier if n_classes else AdditiveRegressor
    model = make(interactions=[(0, 1), (1, 2)], C=1.0, random_state=0).fit(X, y)
    of_terms = contributions(model, X).std(axis=0)
    of_terms = of_terms.mean(axis=1) if n_classes == 3 else of_terms
    half = 0.5 * of_terms[3:]
    expected = of_terms[:3] + np.array([half[0], half.sum(), half[1]])
    # Codes of 16 bits in training, values here.
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-3)
    np.testing.assert_allclose(importances(model, X), expected, rtol=1e-6)
    np.testing.assert_allclose(importances(model, X, by="term"), of_terms, rtol=1e-6)


def test_a_surface_on_a_grid():
    X = rows(1000)
    model = AdditiveRegressor(interactions=[(0, 1)], random_state=0).fit(X, product(X))
    x, z, f = surface(model, (1, 0), n_points=9)
    assert f.shape == (9, 9)
    assert np.abs(f - 3.0 * np.outer(x, z)).mean() < 0.2
    _, _, other = surface(model, (0, 1), grids=(z, x))
    np.testing.assert_allclose(other, f.T, atol=1e-12)
    with pytest.raises(ValueError, match="no surface of 0 and 2"):
        surface(model, (0, 2))


# -- what scikit-learn does ----------------------------------------------------------------------


@both
def test_parameters_and_copies(estimator):
    X = rows()
    y = target(estimator, X)
    model = estimator(interactions=[(0, 1)], random_state=0).fit(X, y)
    assert model.get_params()["interactions"] == [(0, 1)]
    same(model, pickle.loads(pickle.dumps(model)), X)
    same(model, clone(model).fit(X, y), X)
    before = predicted(model, X)
    model.set_params(interactions=0)
    np.testing.assert_array_equal(predicted(model, X), before)
    assert model.fit(X, y).terms_.pairs == []


@both
@chosen_or_fixed
def test_warm_starts(estimator, C):
    """From a model with surfaces, and to other surfaces: the optimum is the same."""
    X = rows()
    y = target(estimator, X)
    cold = estimator(interactions=[(0, 1)], C=C, tol=1e-6, random_state=0).fit(X, y)
    warm = estimator(interactions=[(1, 2)], C=C, tol=1e-6, warm_start=True, random_state=0)
    warm.fit(X, y).set_params(interactions=[(0, 1)]).fit(X, y)
    warm.fit(X, y)
    assert pairs_of(warm) == [(0, 1)]
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-5)
    assert warm.set_params(interactions=0).fit(X, y).terms_.pairs == []


@both
def test_threads_change_no_bit(estimator):
    X = rows(6000)
    y = target(estimator, X)
    one = estimator(interactions=2, C=1.0, random_state=0).fit(X, y)
    same(one, estimator(interactions=2, C=1.0, n_jobs=2, random_state=0).fit(X, y), X)


def test_categories_in_terms():
    X = rows(600)
    X[:, 2] = np.random.default_rng(8).integers(0, 3, 600)
    y = np.where(X[:, 2] == 1, 2.0, -1.0) * X[:, 0]
    model = AdditiveRegressor(terms={2: Category(), (0, 2): Pair(6)}, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99
    assert model.terms_.of_pair(0, 2).levels[1] == (0.0, 1.0, 2.0)


def test_no_warnings_by_default():
    X = rows(500)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        AdditiveClassifier(interactions="auto", random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
