"""What must hold whatever the data: orders, repetitions, units and odd numbers change nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.preprocessing import OneHotEncoder

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.inspection import base_value, contributions, importances, knots, shape_function
from splinear.terms import Category, Hermite, Spline

HUGE = 1.7e308
TINY = 5e-324
RULES = ["auto", "uniform", "quantile"]
# Solved far beyond what the comparisons ask for: a gap promises its root, sqrt(2 tol P) with P near
# 200, and Newton's method can prove 1e-30.
CURVE = Spline(10)
LOGISTIC = AdditiveClassifier(CURVE, C=1.0, tol=1e-18, random_state=0)
HINGE = AdditiveSVC(CURVE, tol=1e-6, random_state=0, C=1.0)
SQUARED = AdditiveRegressor(CURVE, C=1.0, tol=1e-18, random_state=0)
TUBE = AdditiveSVR(CURVE, tol=1e-6, random_state=0, C=1.0)
SMOOTH = [LOGISTIC, SQUARED]
ALL = [LOGISTIC, HINGE, SQUARED, TUBE]


def name_of(model):
    return type(model).__name__


def parameters(model):
    return model._model.parameters


def make_rows(n=300, seed=0):
    """Columns of every kind: smooth, long-tailed, mostly zero, whole numbers, 0 and 1."""
    random = np.random.default_rng(seed)
    X = np.column_stack(
        [
            random.normal(size=n),
            random.lognormal(0, 2, n),
            np.where(random.random(n) < 0.9, 0, random.exponential(1e4, n)),
            random.integers(0, 6, n),
            random.integers(0, 2, n),
        ]
    )
    signal = np.sin(2 * X[:, 0]) + np.log1p(X[:, 1]) / 2 + (X[:, 2] > 0) + X[:, 3] / 4 + X[:, 4]
    return X, (signal + random.logistic(0, 0.5, n) > np.median(signal)).astype(int)


def score(model, X):
    of_numbers = isinstance(model, (AdditiveRegressor, AdditiveSVR))
    return model.predict(X) if of_numbers else model.decision_function(X)


def assert_same_fit(one, other, X, X_other=None):
    """The same objective, and for a strictly convex one the same scores."""
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-5)
    f, g = score(one, X), score(other, X if X_other is None else X_other)
    # The hinge has flat parts: scores are as close as the gap says, 1e-6 of an objective near 100.
    assert_allclose(f, g, atol=0.05 if isinstance(one, (AdditiveSVC, AdditiveSVR)) else 1e-5)


# -- orders ----------------------------------------------------------------------------------------


@given(st.permutations(range(5)), st.sampled_from(RULES))
@settings(max_examples=10)
def test_permuting_columns_permutes_curves(order, rule):
    X, y = make_rows()
    terms = [
        Spline(4, knots=rule),
        Spline(knots=[0.0, 0.5, 2.0, 40.0]),
        Spline(12, knots=rule),
        Hermite(2),
        Category(),
    ]
    model = clone(LOGISTIC).set_params(terms=dict(enumerate(terms))).fit(X, y)
    other = clone(LOGISTIC).set_params(terms={k: terms[j] for k, j in enumerate(order)})
    other.fit(X[:, order], y)
    for k, j in enumerate(order):
        assert_array_equal(knots(other, k), knots(model, j))
        assert_allclose(other.terms_[k].coef, model.terms_[j].coef, atol=1e-6)
    assert_allclose(other.intercept_, model.intercept_, atol=1e-6)
    assert_allclose(contributions(other, X[:, order]), contributions(model, X)[:, order], atol=1e-6)
    assert_allclose(importances(other, X[:, order]), importances(model, X)[order], atol=1e-6)
    importance = other.feature_importances_
    assert_allclose(importance, model.feature_importances_[list(order)], atol=1e-6)


@pytest.mark.parametrize("model", ALL, ids=name_of)
@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_rows_does_not_matter(model, rule):
    X, y = make_rows()
    model = clone(model).set_params(curve__knots=rule)
    assert_same_fit(clone(model).fit(X, y), clone(model).fit(X[::-1], y[::-1]), X)


# -- repetitions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ALL, ids=name_of)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_bins", [3, 40, None])
def test_repeated_rows_equal_weights(model, rule, n_bins):
    X, y = make_rows()
    weights = np.random.default_rng(1).integers(0, 5, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    model = clone(model).set_params(curve=Spline(n_bins, knots=rule))
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(X[rows], y[rows])
    for j in range(X.shape[1]):
        assert_array_equal(knots(weighted, j), knots(repeated, j))
    assert_same_fit(weighted, repeated, X[rows])


def test_quantile_knots_do_not_depend_on_the_unit_of_weights():
    X, y = make_rows()
    weights = np.random.default_rng(1).integers(1, 5, len(X))
    model = AdditiveSVC(Spline(10, knots="quantile"), random_state=0, C=1.0)
    one = clone(model).fit(X, y, sample_weight=weights)
    other = clone(model).fit(X, y, sample_weight=weights / 1024)
    plain = clone(model).fit(X, y)
    assert_array_equal(knots(other, 0), knots(one, 0))
    assert not np.array_equal(knots(plain, 0), knots(one, 0))


@pytest.mark.parametrize("model", SMOOTH, ids=name_of)
@pytest.mark.parametrize("rule", RULES)
def test_repeated_rows_of_a_table_equal_weights(model, rule):
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["kind"] = np.array(["x", "y", "z"])[frame.pop("d").to_numpy().astype(int) % 3]
    frame = frame.mask(np.random.default_rng(2).random(frame.shape) < 0.2)
    weights = np.random.default_rng(3).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    model = clone(model).set_params(curve__knots=rule)
    weighted = clone(model).fit(frame, y, sample_weight=weights)
    repeated = clone(model).fit(frame.iloc[rows], y[rows])
    # How many rows there were is another thing than what they weigh.
    without_counts = [replace(m._columns, n_rows=0, counts={}) for m in (weighted, repeated)]
    assert without_counts[0] == without_counts[1]
    for name in "abce":
        assert_array_equal(knots(weighted, name), knots(repeated, name))
    assert_same_fit(weighted, repeated, frame.iloc[rows])


# -- columns that say nothing, or say the same otherwise -------------------------------------------


@pytest.mark.parametrize("model", ALL, ids=name_of)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("constant", [0.0, -3.5, 1e300])
def test_a_constant_column_changes_nothing(model, rule, constant):
    X, y = make_rows()
    model = clone(model).set_params(curve__knots=rule)
    plain = clone(model).fit(X, y)
    wider = np.insert(X, 2, constant, axis=1)
    other = clone(model).fit(wider, y)
    assert_array_equal(other.terms_[2].coef, 0)
    assert_same_fit(plain, other, X, wider)


def test_a_column_of_missing_values_changes_nothing():
    X, y = make_rows()
    wider = np.insert(X, 1, np.nan, axis=1)
    plain = clone(LOGISTIC).fit(X, y)
    other = clone(LOGISTIC).fit(wider, y)
    assert_array_equal(other.terms_[1].coef, 0)
    assert_array_equal(other.terms_[1].at_missing, 0)
    assert_same_fit(plain, other, X, wider)


@pytest.mark.parametrize("model", SMOOTH, ids=name_of)
def test_a_category_is_its_one_hot_columns(model):
    X, y, frame, hot = one_category()
    model = clone(model).set_params(C=0.5)
    category = clone(model).set_params(terms={"kind": Category()}).fit(frame, y)
    # Under D_1 and one bin a column costs its left end squared, too: nothing is gained by it, as
    # the intercept is free. Its step is the level's effect.
    columns = clone(model).set_params(terms={k: Spline(1) for k in (1, 2, 3)})
    columns.fit(np.column_stack([X, hot]), y)
    steps = [np.diff(columns.terms_[k].coef[0])[0] for k in (1, 2, 3)]
    assert_allclose(category.terms_[1].coef[0], steps, atol=1e-6)
    assert_allclose(category.terms_[0].coef, columns.terms_[0].coef, atol=1e-6)
    assert_allclose(category.objective_, columns.objective_, rtol=1e-8)


def test_levels_are_shrunk_as_coefficients_under_the_identity():
    _, y, frame, hot = one_category()
    model = clone(SQUARED).fit(frame[["kind"]], y)
    ridge = Ridge(alpha=1.0).fit(hot, y)
    assert_allclose(model.predict(frame[["kind"]]), ridge.predict(hot), atol=1e-6)
    assert_allclose(model.terms_[0].coef[0], ridge.coef_, atol=1e-6)


def one_category():
    X, y = make_rows()
    levels = np.array(["u", "v", "w"])[X[:, 3].astype(int) % 3]
    hot = OneHotEncoder(sparse_output=False).fit_transform(levels[:, None])
    return X[:, :1], y, pd.DataFrame({"a": X[:, 0], "kind": levels}), hot


@pytest.mark.parametrize("model", ALL, ids=name_of)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("exponent", [-900, -3, 40, 990])
def test_units_that_are_powers_of_two_change_no_bit(model, rule, exponent):
    X, y = make_rows()
    scaled = X.copy()
    scaled[:, 1] = np.ldexp(X[:, 1], exponent)
    model = clone(model).set_params(curve__knots=rule, tol=1e-2)
    plain, other = clone(model).fit(X, y), clone(model).fit(scaled, y)
    assert_array_equal(knots(other, 1), np.ldexp(knots(plain, 1), exponent))
    assert_array_equal(parameters(other), parameters(plain))
    assert_array_equal(score(other, scaled), score(plain, X))


# -- odd numbers -----------------------------------------------------------------------------------

ODD = {
    "huge": np.array([-HUGE, -1e300, 0.0, 1e300, HUGE]),
    "denormal": np.array([0.0, TINY, 2 * TINY, 7 * TINY, 1e-310]),
    "huge and tiny": np.array([-HUGE, -TINY, 0.0, TINY, HUGE]),
    "neighbors": np.nextafter(1.0, [0.0, 1.0, 2.0, 2.0, 2.0]),
    "whole numbers beyond 2^53": np.array([0, 2**53, 2**53 + 2, 2**60, 2**62]),
    "signed zeros": np.array([-0.0, 0.0, -0.0, 0.0, 1.0]),
}


@pytest.mark.parametrize("model", [*ALL, AdditiveClassifier(CURVE)], ids=repr)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_odd_numbers_are_numbers(model, rule, kind, degree):
    """A finite model of finite objective, whose curve takes their order into account."""
    X, y = make_rows()
    values = ODD[kind].astype(float)
    X[:, 0] = values[np.random.default_rng(0).integers(0, 5, len(X))]
    model = clone(model).set_params(curve=Spline(10, degree, knots=rule), tol=1e-2).fit(X, y)
    assert np.isfinite(parameters(model)).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.feature_importances_).all()
    assert np.isfinite(score(model, X)).all()
    parts = contributions(model, X)
    assert_allclose(base_value(model) + parts.sum(axis=1), score(model, X), atol=1e-8)
    _, f = shape_function(model, 0, grid=np.unique(values))
    assert np.isfinite(f).all()
    bad = X[:1].copy()
    for wrong in (np.inf, -np.inf):
        bad[0, 0] = wrong
        with pytest.raises(ValueError, match="in column 0"):
            score(model, bad)
    bad[0, 0] = np.nan
    assert np.isfinite(score(model, bad)).all()
    model = clone(model).set_params(missing="error").fit(X, y)
    with pytest.raises(ValueError, match="in column 0"):
        score(model, bad)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float32])
@pytest.mark.parametrize("rule", RULES)
def test_the_type_of_whole_numbers_does_not_matter(dtype, rule):
    random = np.random.default_rng(0)
    X = random.integers(0, 2 if dtype is bool else 100, (200, 3))
    y = (X[:, 0] + X[:, 1] + random.normal(size=200) > X[:, :2].sum(axis=1).mean()).astype(int)
    model = AdditiveSVC(Spline(10, knots=rule), random_state=0, C=1.0)
    plain = clone(model).fit(X.astype(float), y)
    other = clone(model).fit(X.astype(dtype), y)
    assert_allclose(parameters(other), parameters(plain), atol=1e-12)
    same = 1e-5 if dtype == np.float32 else 1e-12  # float32 is scored in single precision
    assert_allclose(score(other, X.astype(dtype)), score(plain, X.astype(float)), atol=same)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=40))
@settings(max_examples=60)
@pytest.mark.parametrize("rule", RULES)
def test_any_finite_column_has_a_curve(rule, values):
    x = np.array(values)[:, None]
    y = np.arange(len(x)) % 2
    model = AdditiveSVC(Spline(6, knots=rule), random_state=0, C=1.0).fit(x, y)
    places = knots(model, 0)
    assert np.all(np.diff(places) > 0)
    assert np.isfinite(model.decision_function(x)).all()
