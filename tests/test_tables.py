"""Tables with categories and missing values."""

import os
import pickle
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

from splinear import (
    AdditiveClassifier,
    AdditiveClassifierCV,
    AdditiveRegressor,
    AdditiveRegressorCV,
)
from splinear.inspection import (
    column_names,
    contributions,
    importances,
    knots,
    shape_function,
    shape_functions,
)

EXACT = {"loss": "logistic", "knots": "quantile", "tol": 1e-10, "random_state": 0}


def make_table(n=400, seed=0, holes=0.0):
    """Two numbers, two categories and a flag that all matter."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.normal(40, 10, n).round(1),
            "colour": random.choice(["red", "green", "blue"], n),
            "tall": random.random(n) < 0.5,
            "dose": random.integers(0, 30, n),
            "city": pd.Categorical(random.choice([10, 20, 30, 40], n)),
        }
    )
    score = np.sin(X["age"] / 8) + (X["colour"] == "red") + 0.5 * X["tall"] - X["dose"] / 20
    score += 0.7 * (X["city"] == 20)
    y = score + random.logistic(0, 0.5, n) > score.median()
    if holes:
        X = X.astype({"dose": float}).mask(random.random(X.shape) < holes)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def whole():
    X, y = make_table()
    return X, y, AdditiveClassifier(**EXACT).fit(X, y)


@pytest.fixture(scope="module")
def holed():
    X, y = make_table(holes=0.15)
    return X, y, AdditiveClassifier(missing="level", **EXACT).fit(X, y)


# -- missing values --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_missing_is_an_indicator_and_the_median(dtype, tol):
    X, y = make_table(401)
    X = X[["age", "dose"]].to_numpy(dtype)
    X[np.random.default_rng(1).random(401) < 0.2, 0] = np.nan
    X[0, 0] = np.nan if np.isnan(X[:, 0]).sum() % 2 else X[0, 0]
    missing = np.isnan(X[:, 0])
    median = np.quantile(X[~missing, 0], 0.5, method="inverted_cdf")
    by_hand = np.column_stack([np.where(missing, median, X[:, 0]), missing, X[:, 1]])
    ours = AdditiveClassifier(missing="level", tol=tol, random_state=0).fit(X, y)
    theirs = AdditiveClassifier(tol=tol, random_state=0).fit(by_hand.astype(dtype), y)
    assert_array_equal(ours.coef_, theirs.coef_)
    assert_array_equal(ours.decision_function(X), theirs.decision_function(by_hand.astype(dtype)))
    assert column_names(ours) == ["x0", "x0 is missing", "x1"]
    assert ours.n_features_in_ == 2


def test_the_level_of_missing_is_free():
    """Rows without a value are all of one class; no curve of the values could say so."""
    x = np.linspace(0, 1, 300)
    y = x > 0.5
    x[100:140] = np.nan
    y[100:140] = True
    model = AdditiveClassifier(missing="level", C=10.0, random_state=0).fit(x[:, None], y)
    assert model.score(x[:, None], y) > 0.95
    assert model.predict(x[100:140, None]).all()
    _, (low, level) = shape_function(model, 0, [0.4, np.nan])
    below, above = model.decision_function([[0.4], [np.nan]])
    assert below < 0 < above
    assert_allclose([below, above], model.intercept_ + np.array([low, level]), atol=1e-9)


def test_without_missing_values_nothing_changes():
    X, y = make_table()
    X = X[["age", "dose"]].to_numpy(float)
    plain = AdditiveClassifier(random_state=0).fit(X, y)
    ready = AdditiveClassifier(missing="level", random_state=0).fit(X, y)
    assert_array_equal(ready.coef_, plain.coef_)
    with pytest.raises(ValueError, match=r"NaN in column 1 \(first in row 0\).*no level for them"):
        ready.predict([[1.0, np.nan]])


def test_missing_values_are_an_error_unless_asked_for():
    X, y = make_table()
    for name, value in (("age", np.nan), ("colour", None), ("city", np.nan)):
        bad = X.copy()
        bad.loc[7, name] = value
        with pytest.raises(ValueError, match=rf"NaN in column '{name}' \(first in row 7\)"):
            AdditiveClassifier().fit(bad, y)
        model = AdditiveClassifier(missing="level", random_state=0).fit(X, y)
        with pytest.raises(ValueError, match=rf"NaN in column '{name}' \(first in row 7\)"):
            model.predict(bad)
        with pytest.raises(ValueError, match=rf"NaN in column '{name}'"):
            contributions(model, bad)
    with pytest.raises(ValueError, match="NaN in column 'colour'"):
        AdditiveClassifier().fit(X.assign(colour=pd.Categorical([None] * len(X))), y)


def test_columns_of_nothing_have_no_effect():
    X, y = make_table()
    X = X[["age"]].assign(empty=np.nan, void=pd.Categorical([None] * len(X)))
    model = AdditiveClassifier(missing="level", random_state=0).fit(X, y)
    assert_array_equal(importances(model, X)[1:], 0)


def test_infinity_is_still_an_error(holed):
    X, y, model = holed
    bad = X.copy()
    bad.loc[3, "dose"] = np.inf
    for action in (model.predict, lambda X: clone(model).fit(X, y)):
        with pytest.raises(ValueError, match=r"infinity in column 'dose' \(first in row 3\)"):
            action(bad)


# -- categories ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_categories_are_columns_of_zeros_and_ones(tol):
    X, y = make_table()
    ours = AdditiveClassifier(random_state=0, tol=tol).fit(X, y)
    encoder = OneHotEncoder(sparse_output=False)
    by_hand = np.column_stack(
        [
            X["age"],
            encoder.fit_transform(X[["colour"]]),
            X[["tall", "dose"]].to_numpy(float),
            encoder.fit_transform(X[["city"]]),
        ]
    )
    theirs = AdditiveClassifier(random_state=0, tol=tol).fit(by_hand, y)
    assert_array_equal(ours.coef_, theirs.coef_)
    assert_array_equal(ours.decision_function(X), theirs.decision_function(by_hand))
    assert ours.columns_.groups == [
        slice(0, 1),
        slice(1, 4),
        slice(4, 5),
        slice(5, 6),
        slice(6, 10),
    ]
    assert column_names(ours) == [
        *("age", "colour=blue", "colour=green", "colour=red", "tall", "dose"),
        *("city=10", "city=20", "city=30", "city=40"),
    ]
    assert ours.n_features_in_ == 5
    assert list(ours.feature_names_in_) == list(X.columns)


@pytest.mark.parametrize(("n_bins", "knots"), [(1, "uniform"), (8, "uniform"), (8, "quantile")])
def test_effects_of_levels_are_shrunk_as_by_ridge_regression(n_bins, knots):
    """Under D_1 a column of 0 and 1 costs c0^2 / s^2 for its left end, and the step squared."""
    X, _ = make_table()
    y = X["dose"] + 4.0 * (X["colour"] == "red")
    model = AdditiveRegressor(n_bins=n_bins, knots=knots, C=0.3, tol=1e-12).fit(X[["colour"]], y)
    steps = pd.get_dummies(X["colour"]).to_numpy(float)
    s = np.sqrt(1 / n_bins) if knots == "uniform" else 1.0
    Z = np.column_stack([steps, np.full((len(X), 3), s), np.ones(len(X))])  # the last one for b
    ridge = Ridge(alpha=1 / 0.3, fit_intercept=False).fit(Z, y - y.mean())
    assert_allclose(model.predict(X[["colour"]]), ridge.predict(Z) + y.mean(), rtol=1e-6)
    _, effects = shape_function(model, "colour")
    assert_allclose(np.diff(effects), np.diff(ridge.coef_[:3]), rtol=1e-5)


@given(st.permutations(range(5)))
def test_permuting_columns_permutes_curves(holed, order):
    X, y, model = holed
    X = X.iloc[:, order]
    other = AdditiveClassifier(missing="level", **EXACT).fit(X, y)
    assert_allclose(importances(other, X), importances(model, holed[0])[order], atol=1e-5)


def test_duplicates_equal_weights():
    X, y = make_table(holes=0.15)
    weights = np.random.default_rng(2).integers(0, 4, len(X))
    X.loc[weights == 0, "colour"] = "only where nothing counts"
    rows = np.repeat(np.arange(len(X)), weights)
    model = AdditiveClassifier(missing="level", **EXACT)
    weighted = clone(model).fit(X, y, weights)
    repeated = clone(model).fit(X.iloc[rows], y[rows])
    assert weighted.columns_ == repeated.columns_
    seen = X[weights > 0]
    assert_allclose(weighted.decision_function(seen), repeated.decision_function(seen), atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype({"colour": "category", "city": object}),
        lambda X: X.astype({"colour": "string", "age": "Float64"}),
        lambda X: X.astype({"colour": object}),
        lambda X: X.astype({"colour": "category"}).sample(frac=1, random_state=0).sort_index(),
    ],
)
def test_the_type_of_a_column_of_text_does_not_matter(holed, change):
    X, y, model = holed
    same = AdditiveClassifier(missing="level", categorical=["city"], **EXACT).fit(change(X), y)
    assert_array_equal(same.coef_, model.coef_)
    assert_array_equal(model.predict(change(X)), model.predict(X))


def test_tables_of_polars_and_arrow(holed):
    X, y, model = holed
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")

    class Stream:  # of a library that knows Arrow's protocol and nothing else
        def __init__(self, table):
            self.table = table

        def __arrow_c_stream__(self, schema=None):
            return self.table.__arrow_c_stream__(schema)

    X = X.astype({"city": str, "tall": float}).assign(city=lambda X: X["city"].replace("nan", None))
    arrow = pyarrow.Table.from_pandas(X)
    expected = clone(model).fit(X, y)
    for table in (polars.from_arrow(arrow), arrow, Stream(arrow)):
        found = clone(model).fit(table, y)
        assert_array_equal(found.coef_, expected.coef_)
        assert_array_equal(found.feature_names_in_, X.columns)
        assert_array_equal(expected.predict(table), expected.predict(X))


@pytest.mark.parametrize("listed", [[1, 4], np.array([False, True, False, False, True])])
def test_categories_of_arrays(whole, listed):
    X, y, model = whole
    for array in (X.to_numpy(object), X.to_numpy(object).tolist()):
        same = AdditiveClassifier(categorical=listed, **EXACT).fit(array, y)
        assert_array_equal(same.coef_, model.coef_)
        assert_array_equal(same.predict(array), model.predict(X))
    assert column_names(same)[1] == "x1=blue"
    codes = np.column_stack([X["age"], X["city"].cat.codes])
    number = AdditiveClassifier(categorical=[1], random_state=0).fit(codes, y)
    assert column_names(number) == ["x0", "x1=0.0", "x1=1.0", "x1=2.0", "x1=3.0"]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (["color"], "there is no 'color' among 5 features, with the names age, colour"),
        ([5], "there is no 5 among 5 features"),
        ([True, False], "of length 2 for 5 features"),
        ([[1]], "categorical must list features"),
        ("colour", "'categorical' parameter"),
    ],
)
def test_wrong_lists_of_categories(whole, listed, message):
    with pytest.raises(ValueError, match=message):
        AdditiveClassifier(categorical=listed).fit(*whole[:2])


def test_what_is_no_category():
    X, y = make_table(4)
    with pytest.raises(ValueError, match=r"numbers or categories in column 'colour': unhashable"):
        AdditiveClassifier().fit(X.assign(colour=[[1], [2], [3], [4]]), y)


def test_too_many_levels():
    X = pd.DataFrame({"name": [f"person {k}" for k in range(10_001)]})
    with pytest.raises(ValueError, match=r"column 'name' have 10,001 levels; at most 10,000"):
        AdditiveClassifier().fit(X, np.arange(10_001) % 2)


def test_unseen_levels_count_as_none(whole):
    X, y, model = whole
    new = X.head(3).assign(colour="violet")
    parts = contributions(model, new)[:, 1]
    at_zero = sum(shape_function_at_zero(model, column) for column in range(1, 4))
    assert_allclose(parts, at_zero)
    assert_allclose(shape_function(model, "colour", ["violet"])[1], at_zero)
    strict = AdditiveClassifier(unseen="error", random_state=0).fit(X, y)
    strict.predict(X)
    with pytest.raises(
        ValueError, match=r"'violet' in column 'colour' \(first in row 0\).*levels are 'blue', 'gr"
    ):
        strict.predict(new)


def shape_function_at_zero(model, column):
    return model.coef_[0, column, 0]  # the first B-spline is 1 at the left end, others are 0


def test_columns_at_predict(whole):
    X, _, model = whole
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="X must hold numbers in column 'dose'"):
        model.predict(X.assign(dose="much"))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X.head(0))
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(np.array(["red", "green"], dtype=object))
    with pytest.raises(ValueError, match=r"'age'; it holds dates"):
        model.predict(X.assign(age=pd.Timestamp("2020-01-01")))


def test_pickle_and_clone(holed):
    X, y, model = holed
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)


def test_partial_fit_and_warm_start(holed):
    X, y, model = holed
    chunks = AdditiveClassifier(missing="level", random_state=0)
    chunks.partial_fit(X[:300], y[:300], classes=[False, True])
    chunks.partial_fit(X[300:].assign(colour="violet"), y[300:])
    assert chunks.score(X, y) > 0.7
    warm = clone(model).set_params(warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 1
    number = AdditiveRegressor(missing="level").partial_fit(X[:300], y[:300].astype(float))
    assert number.partial_fit(X[300:], y[300:].astype(float)).score(X, y) > 0.1


@pytest.mark.parametrize("named", [True, False])
def test_searches(holed, named):
    X, y, _ = holed
    X = X if named else X.to_numpy(object)
    options = {"missing": "level", "categorical": [1, 4], "random_state": 0}
    chosen = AdditiveClassifierCV(Cs=[0.1, 1.0], cv=3, **options).fit(X, y)
    same = AdditiveClassifier(C=chosen.C_, **options).fit(X, y)
    assert_array_equal(chosen.coef_, same.coef_)
    assert_array_equal(chosen.predict(X), same.predict(X))
    number = AdditiveRegressorCV(Cs=[0.1, 1.0], cv=3, **options).fit(X, y.astype(float))
    assert number.best_score_ > 0.1


# -- inspection ------------------------------------------------------------------------------------


def test_contributions_are_of_features(holed):
    X, _, model = holed
    parts = contributions(model, X)
    assert parts.shape == X.shape
    assert_allclose(model.intercept_ + parts.sum(axis=1), model.decision_function(X), atol=1e-9)
    assert_allclose(importances(model, X), parts.std(axis=0))
    for name in X:
        values = X[name].astype(object).where(X[name].notna(), None)
        grid = values if name in ("colour", "city") else X[name].astype(float)
        _, f = shape_function(model, name, grid, center=True, X=X)
        part = parts[:, X.columns.get_loc(name)]
        assert_allclose(f, part - part.mean(), atol=1e-9)


def test_a_categorical_feature_has_levels(holed):
    model = holed[2]
    levels, effects = shape_function(model, "colour")
    assert list(levels) == ["blue", "green", "red", None]
    assert effects[2] == effects[:3].max()
    assert knots(model, "colour").size == 0
    assert len(knots(model, "dose")) > 5
    with pytest.raises(ValueError, match="'colour' is categorical and has no curve"):
        shape_functions(model)
    assert shape_functions(model, ["age", "dose"], 5)[1].shape == (2, 5)


def test_pictures_of_levels_and_missing_values(holed):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from splinear.plotting import CurvesDisplay

    X, y, model = holed
    display = CurvesDisplay.from_estimator(model, X, features=["age", "colour"], figure=Figure())
    age, colour = display.curves
    parts = contributions(model, X)
    assert_allclose(age.f_missing, parts[X["age"].isna(), 0][0] - parts[:, 0].mean())
    assert colour.levels[-1] == "red"
    assert_array_equal(np.sort(colour.f), colour.f)
    counts = X["colour"].value_counts()
    assert_array_equal(colour.counts[colour.levels.index("red")], counts["red"])
    assert_allclose(display.lines_[1].get_ydata(), colour.f)
    assert [text.get_text() for text in display.axes_[1].get_xticklabels()] == list(colour.levels)
    many = X.assign(colour=np.arange(len(X)).astype(str))
    one_each = AdditiveClassifier(missing="level", random_state=0).fit(many, y)
    (panel,) = CurvesDisplay.from_estimator(
        one_each, many, features=["colour"], figure=Figure()
    ).curves
    assert (len(panel.levels), panel.n_hidden) == (12, 388)


# -- scikit-learn, and a real table ----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor])
def test_scikit_learn_contract_with_missing_values(estimator):
    model = estimator(missing="level", tol=1e-15, max_iter=20_000)
    assert model.__sklearn_tags__().input_tags.allow_nan
    assert not estimator().__sklearn_tags__().input_tags.allow_nan
    check_estimator(model, on_skip=None)


@pytest.mark.data
@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA is not set")
def test_the_raw_table_goes_straight_in():
    from splinear.datasets import load_adult_raw

    adult = load_adult_raw()
    train, test, y = ~adult.is_test, adult.is_test, adult.target
    model = AdditiveClassifier(
        loss="logistic",
        knots="quantile",
        n_bins=128,
        smoothness="reml",
        missing="level",
        n_jobs=2,
        random_state=0,
    )

    def auc(X):
        model.fit(X[train], y[train])
        return roc_auc_score(y[test], model.predict_proba(X[test])[:, 1])

    began = time.monotonic()
    whole = auc(adult.data)
    assert time.monotonic() - began < 30  # 4 s of processor time; wide, for machines that are busy
    assert whole >= 0.923
    blank = np.random.default_rng(0).random(adult.data.shape) < 0.2
    assert auc(adult.data.mask(blank)) >= whole - 0.02


def test_knots_are_those_of_the_users_features():
    """Knots and numbers of bins count features, however many columns the model makes of them."""
    random = np.random.default_rng(0)
    age = random.uniform(20, 80, 300)
    age[::7] = np.nan
    table = pd.DataFrame(
        {
            "job": random.choice(["a", "b", "c"], 300),
            "age": age,
            "pay": random.exponential(1000, 300),
        }
    )
    y = (table["pay"] > 700) ^ (table["job"] == "a")
    places = [20, 30, 65, 80]
    for wanted in ({"age": places, "pay": "quantile"}, ["uniform", places, "quantile"]):
        model = AdditiveClassifier(knots=wanted, n_bins=6, missing="level", random_state=0)
        model.fit(table, y)
        np.testing.assert_array_equal(knots(model, "age"), places)
        assert len(knots(model, "pay")) == 7
        assert model.coef_.shape[1] == 3 + 2 + 1
    several = AdditiveClassifier(n_bins=[1, 4, 8], missing="level", random_state=0).fit(table, y)
    assert len(knots(several, "age")) == 5
    assert len(knots(several, "pay")) == 9


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_a_large_matrix_is_made_in_pieces(holes, monkeypatch):
    """The same model to the bit, and the same errors, without the matrix ever being there."""
    X, y = make_table(holes=holes)
    options = {"missing": "level", "unseen": "error", "random_state": 0}
    expected = AdditiveClassifier(**options).fit(X, y)
    scores = expected.decision_function(X)
    monkeypatch.setattr("splinear._columns.MOST_AT_ONCE", 100)
    monkeypatch.setattr("splinear._reading._COPIED_PIECE", 500)
    model = AdditiveClassifier(**options).fit(X, y)
    assert_array_equal(model.coef_, expected.coef_)
    assert_array_equal(model.decision_function(X), scores)
    assert_allclose(contributions(model, X), contributions(expected, X))
    X = X.copy()
    X.loc[333, "colour"] = "violet"
    with pytest.raises(ValueError, match=r"'violet' in column 'colour' \(first in row 333\)"):
        model.predict(X)


def test_many_levels_take_two_bytes_each():
    """2,000 levels: a matrix in float64 would take 320 MB."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"shop": random.integers(0, 2000, 20_000).astype(str)})
    y = X["shop"].astype(int) % 2
    tracemalloc.start()
    model = AdditiveClassifier(random_state=0).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.score(X, y) > 0.99
    assert peak < 150e6  # codes are not traced
