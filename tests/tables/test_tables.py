"""Tables with categories and missing values."""

import os
import pickle
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
    SplineEmbedding,
)
from splinear.inspection import (
    base_value,
    contributions,
    importances,
    knots,
    shape_function,
    shape_functions,
)
from splinear.solvers.reml import choosing
from splinear.terms import Category, Fourier, Hermite, Linear, Spline

# What a gap promises is its root: scores within about sqrt(2 tol P) of the optimum, P near 200.
EXACT = {"curve": Spline(10, knots="quantile"), "C": 1.0, "tol": 1e-16, "random_state": 0}
LINEAR = {"tol": 1e-10, "max_iter": 10**6, "random_state": 0}


def make_table(n=400, seed=0, holes=0.0):
    """Two numbers, two categories and a flag that all matter."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.normal(40, 10, n).round(1),
            "color": random.choice(["red", "green", "blue"], n),
            "tall": random.random(n) < 0.5,
            "dose": random.integers(0, 30, n),
            "city": pd.Categorical(random.choice([10, 20, 30, 40], n)),
        }
    )
    score = np.sin(X["age"] / 8) + (X["color"] == "red") + 0.5 * X["tall"] - X["dose"] / 20
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
    return X, y, AdditiveClassifier(**EXACT).fit(X, y)


def parameters(model):
    return model._model.parameters


# -- missing values --------------------------------------------------------------------------------


def embedded(X, n_bins=10):
    """Write out phi(x) by hand, a gap as the mean of phi and a column of its own."""
    columns = []
    for x in np.asarray(X, dtype=float).T:
        gap = np.isnan(x)
        embed = SplineEmbedding(n_bins=n_bins, knots="uniform").fit(x[~gap, None])
        phi = embed.transform(np.where(gap, 0.0, x)[:, None])
        phi[gap] = phi[~gap].mean(axis=0)
        columns += [phi, np.sqrt(1 / n_bins) * gap[:, None]]
    return np.hstack(columns)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_a_gap_is_the_mean_and_a_deviation(dtype, tol):
    """The same optimum as LIBLINEAR's, where a gap is written out as the mean of the others."""
    X, y = make_table(401)
    X = X[["age", "dose"]].to_numpy(dtype)
    X[np.random.default_rng(1).random(401) < 0.2, 0] = np.nan
    curve = Spline(10, knots="uniform")
    ours = AdditiveSVC(curve, loss="squared_hinge", tol=tol, random_state=0, C=1.0).fit(X, y)
    phi, sign = embedded(X), np.where(y, 1, -1)
    theirs = LinearSVC(loss="squared_hinge", dual=True, **LINEAR).fit(phi, y)
    losses = np.maximum(0, 1 - sign * theirs.decision_function(phi)) ** 2
    best = 0.5 * (np.sum(theirs.coef_**2) + theirs.intercept_[0] ** 2) + losses.sum()
    assert best * (1 - 1e-6) <= ours.objective_ <= best * (1 + tol)
    if tol == 1e-6:
        assert_allclose(ours.decision_function(X), theirs.decision_function(phi), atol=2e-3)
        gaps = np.isnan(X[:, 0])
        assert_allclose(
            ours.decision_function(X[gaps]), theirs.decision_function(phi[gaps]), atol=2e-3
        )
    term = ours.terms_[0]
    assert term.had_missing
    assert not ours.terms_[1].had_missing
    assert ours.n_features_in_ == len(ours.terms_) == 2


def test_a_gap_under_log_loss():
    X, y = make_table(401)
    X = X[["age", "dose"]].astype(float)
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    ours = AdditiveClassifier(Spline(10, knots="uniform"), C=2.0, tol=1e-14).fit(X, y)
    phi = embedded(X)
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(phi, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(phi), atol=1e-3)


def test_few_gaps_shrink_toward_the_mean():
    """Of two rows without a value little is learned; of two hundred, what they have in common."""
    random = np.random.default_rng(0)
    x = random.uniform(0, 1, 600)
    y = 10 * x + random.normal(0, 0.1, 600)
    for n, share in ((2, 0.3), (200, 0.9)):
        X, target = x.copy()[:, None], y.copy()
        X[:n] = np.nan
        target[:n] = 20.0
        term = AdditiveRegressor(Spline(10), C=1.0, tol=1e-8).fit(X, target).terms_[0]
        at_mean = term.coef @ term.group.mean[0]
        deviation = (term.at_missing - at_mean)[0]
        assert deviation > 0
        reached = deviation / (20.0 - 5.0)
        assert reached < share if n == 2 else reached > share


def test_the_level_of_missing_is_free():
    """Rows without a value are all of one class; no curve of the values could say so."""
    x = np.linspace(0, 1, 300)
    y = x > 0.5
    x[100:140] = np.nan
    y[100:140] = True
    for model in (AdditiveSVC(C=10.0, random_state=0), AdditiveClassifier(random_state=0)):
        model.fit(x[:, None], y)
        assert model.score(x[:, None], y) > 0.95
        assert model.predict(x[100:140, None]).all()
        _, (low, level) = shape_function(model, 0, [0.4, np.nan])
        below, above = model.decision_function([[0.4], [np.nan]])
        assert below < 0 < above
        assert_allclose([below, above], model.intercept_ + np.array([low, level]), atol=1e-9)


@pytest.mark.parametrize("curve", [Spline(), Fourier(2), Hermite(2), Linear()], ids=repr)
def test_a_gap_that_fit_has_not_seen_is_the_mean_of_the_curve(curve):
    X, y = make_table()
    X = X[["age", "dose"]].to_numpy(float)
    model = AdditiveClassifier(curve, C=1.0, random_state=0).fit(X, y)
    parts = contributions(model, X, center=False)
    rows = np.column_stack([X[:5, 0], np.full(5, np.nan)])
    expected = model.intercept_ + parts[:5, 0] + parts[:, 1].mean()
    assert_allclose(model.decision_function(rows), expected, atol=1e-4)
    assert_allclose(contributions(model, rows)[:, 1], 0, atol=1e-12)
    strict = AdditiveClassifier(curve, C=1.0, missing="error", random_state=0).fit(X, y)
    assert_array_equal(parameters(strict), parameters(model))
    with pytest.raises(ValueError, match=r"NaN in column 1 \(first in row 0\)"):
        strict.predict(rows)


def test_missing_values_are_an_error_on_request():
    X, y = make_table()
    model = AdditiveClassifier(missing="error", C=1.0, random_state=0)
    assert not model.__sklearn_tags__().input_tags.allow_nan
    assert AdditiveClassifier().__sklearn_tags__().input_tags.allow_nan
    for name, value in (("age", np.nan), ("color", None), ("city", np.nan)):
        bad = X.copy()
        bad.loc[7, name] = value
        message = rf"NaN in column '{name}' \(first in row 7\); .*Use missing='level'"
        with pytest.raises(ValueError, match=message):
            clone(model).fit(bad, y)
        model.fit(X, y)
        for read in (model.predict, lambda X: contributions(model, X)):
            with pytest.raises(ValueError, match=message):
                read(bad)
    with pytest.raises(ValueError, match="NaN in column 'color'"):
        model.fit(X.assign(color=pd.Categorical([None] * len(X))), y)


def test_columns_of_nothing_have_no_effect():
    X, y = make_table()
    X = X[["age"]].assign(empty=np.nan, void=pd.Categorical([None] * len(X)))
    for model in (AdditiveClassifier(random_state=0), AdditiveSVC(random_state=0, C=1.0)):
        model.fit(X, y)
        assert_array_equal(importances(model, X)[1:], 0)
        assert_array_equal(model.feature_importances_[1:], 0)
        full = X.assign(empty=3.0, void="something")
        assert_array_equal(model.decision_function(full), model.decision_function(X))


def test_infinity_is_still_an_error(holed):
    X, y, model = holed
    bad = X.copy()
    bad.loc[3, "dose"] = np.inf
    for action in (model.predict, lambda X: clone(model).fit(X, y)):
        with pytest.raises(ValueError, match=r"infinity in column 'dose' \(first in row 3\)"):
            action(bad)


# -- categories ------------------------------------------------------------------------------------


def one_hot(X, names):
    return OneHotEncoder(sparse_output=False).fit_transform(X[names])


def by_hand(X):
    """Write out phi(x) of the whole table: splines, and a column of 0 and 1 per level."""
    numbers = X[["age", "tall", "dose"]].to_numpy(float)
    phi = SplineEmbedding(knots="uniform").fit_transform(numbers)
    return np.hstack([phi, one_hot(X, ["color", "city"])])


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_a_category_is_as_good_as_columns_of_zeros_and_ones(tol):
    X, y = make_table()
    curve = Spline(10, knots="uniform")
    ours = AdditiveSVC(curve, loss="squared_hinge", random_state=0, tol=tol, C=1.0).fit(X, y)
    phi, sign = by_hand(X), np.where(y, 1, -1)
    theirs = LinearSVC(loss="squared_hinge", dual=True, **LINEAR).fit(phi, y)
    losses = np.maximum(0, 1 - sign * theirs.decision_function(phi)) ** 2
    best = 0.5 * (np.sum(theirs.coef_**2) + theirs.intercept_[0] ** 2) + losses.sum()
    assert best * (1 - 1e-6) <= ours.objective_ <= best * (1 + tol)
    assert [term.kind for term in ours.terms_] == [
        *("Spline", "Category", "Spline", "Spline", "Category")
    ]
    color, city = ours.terms_[1], ours.terms_[4]
    assert color.levels == ("blue", "green", "red")
    assert city.levels == (10, 20, 30, 40)
    assert [term.name for term in ours.terms_] == list(X.columns)
    assert ours.n_features_in_ == 5
    assert list(ours.feature_names_in_) == list(X.columns)
    if tol == 1e-6:
        assert_allclose(ours.decision_function(X), theirs.decision_function(phi), atol=2e-3)
        assert_allclose(color.coef[0], theirs.coef_[0, 30 + 3 : 33 + 3], atol=2e-3)
        assert_allclose(city.coef[0], theirs.coef_[0, 33 + 3 :], atol=2e-3)


def test_categories_under_log_loss():
    X, y = make_table()
    ours = AdditiveClassifier(Spline(10, knots="uniform"), C=0.5, tol=1e-14).fit(X, y)
    phi = by_hand(X)
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(phi, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(phi), atol=1e-3)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_effects_of_levels_are_shrunk_as_by_ridge_regression():
    X, _ = make_table()
    y = X["dose"] + 4.0 * (X["color"] == "red")
    C, tol = 0.3, 1e-16
    model = AdditiveRegressor(C=C, tol=tol, random_state=0).fit(X[["color"]], y)
    hot = one_hot(X, ["color"])
    ridge = Ridge(alpha=1 / C).fit(hot, y)
    # The objective is 1/2 |f - f*|^2 + 1/2 |w - w*|^2 / C above its minimum, and tol bounds that.
    assert model.certified_
    above = tol * model.objective_
    assert np.linalg.norm(model.predict(X[["color"]]) - ridge.predict(hot)) < np.sqrt(2 * above)
    found = shape_function(model, "color")[1]
    assert np.linalg.norm(found - ridge.coef_) < np.sqrt(2 * C * above)


def test_effects_of_ordered_levels_are_smooth():
    """D_1 shrinks the differences of neighbors, and the first to 0; in the order of the type."""
    random = np.random.default_rng(0)
    sizes = ["small", "medium", "large", "huge"]
    size = pd.Categorical(random.choice(sizes, 200), categories=sizes, ordered=True)
    X, y = pd.DataFrame({"size": size}), size.codes + random.normal(size=200)
    terms, tol = {"size": Category(ordered=True)}, 1e-16
    model = AdditiveRegressor(terms=terms, C=0.01, tol=tol, random_state=0).fit(X, y)
    assert model.terms_[0].levels == tuple(sizes)
    hot = np.eye(4)[size.codes]
    steps = hot @ np.tril(np.ones((4, 4)))  # sums of differences
    ridge = Ridge(alpha=100.0).fit(steps, y)
    assert model.certified_
    apart = np.linalg.norm(model.predict(X) - ridge.predict(steps))
    assert apart < np.sqrt(2 * tol * model.objective_)


def test_with_a_chosen_smoothness_levels_are_a_random_effect():
    """Its variance is where the likelihood of y, all effects integrated out, is largest."""
    random = np.random.default_rng(0)
    level = np.repeat(np.arange(40), random.integers(2, 30, 40))
    y = random.normal(0, 2.0, 40)[level] + random.normal(0, 1.0, len(level))
    X = pd.DataFrame({"level": level.astype(str)})
    model = AdditiveRegressor(tol=1e-8).fit(X, y)
    n, counts, sums = len(y), np.bincount(level), np.bincount(level, y)

    def reml(log_ratio):
        """-2 log likelihood of contrasts under V = I + r Z Z', the noise profiled out."""
        ratio = np.exp(log_ratio[0])
        shrink = ratio / (1 + ratio * counts)  # V^{-1} = I - Z diag(shrink) Z'
        one_one = n - np.sum(shrink * counts**2)
        one_y = y.sum() - np.sum(shrink * counts * sums)
        y_y = y @ y - np.sum(shrink * sums**2)
        of_V = np.log1p(ratio * counts).sum()
        return (n - 1) * np.log(y_y - one_y**2 / one_one) + of_V + np.log(one_one)

    best = minimize(reml, [0.0], method="Nelder-Mead", options={"xatol": 1e-6})
    assert reml([np.log(model.terms_[0].smoothness)]) == pytest.approx(best.fun, abs=0.01)
    assert model.terms_[0].smoothness == pytest.approx(np.exp(best.x[0]), rel=0.15)


@given(st.permutations(range(5)))
@settings(max_examples=10)
def test_permuting_columns_permutes_curves(holed, order):
    X, y, model = holed
    X = X.iloc[:, order]
    other = AdditiveClassifier(**EXACT).fit(X, y)
    assert_allclose(importances(other, X), importances(model, holed[0])[order], atol=1e-5)


@pytest.mark.parametrize("C", [None, 1.0])
def test_repeated_rows_equal_weights_or_counts(C, monkeypatch):
    monkeypatch.setattr(choosing, "SETTLED", 1e-6)  # both to the same end
    monkeypatch.setattr(choosing, "MAX_TURNS", 200)
    X, y = make_table(holes=0.15)
    weights = np.random.default_rng(2).integers(0, 4, len(X))
    X.loc[weights == 0, "color"] = "only where nothing counts"
    rows = np.repeat(np.arange(len(X)), weights)
    model = AdditiveClassifier(**EXACT | {"C": C})
    if C is None:  # weights say how much a row counts, counts how many rows there are
        weighted = clone(model).fit(X, y, counts=weights)
        repeated = clone(model).fit(X.iloc[rows], y[rows], counts=np.ones(len(rows)))
    else:
        weighted = clone(model).fit(X, y, weights)
        repeated = clone(model).fit(X.iloc[rows], y[rows])
    assert weighted._columns.levels == repeated._columns.levels
    seen = X[weights > 0]
    close = 1e-5 if C else 1e-3
    assert_allclose(weighted.decision_function(seen), repeated.decision_function(seen), atol=close)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype({"color": "category", "city": object}),
        lambda X: X.astype({"color": "string", "age": "Float64"}),
        lambda X: X.astype({"color": object}),
        lambda X: X.astype({"color": "category"}).sample(frac=1, random_state=0).sort_index(),
    ],
)
def test_the_type_of_a_column_of_text_does_not_matter(holed, change):
    X, y, model = holed
    listed = ["color", "city"]
    same = AdditiveClassifier(categorical_features=listed, **EXACT).fit(change(X), y)
    assert_array_equal(parameters(same), parameters(model))
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
        assert_array_equal(parameters(found), parameters(expected))
        assert_array_equal(found.feature_names_in_, X.columns)
        assert_array_equal(expected.predict(table), expected.predict(X))


@pytest.mark.parametrize("listed", [[1, 4], np.array([False, True, False, False, True])])
def test_categories_of_arrays(whole, listed):
    X, y, model = whole
    for array in (X.to_numpy(object), X.to_numpy(object).tolist()):
        same = AdditiveClassifier(categorical_features=listed, **EXACT).fit(array, y)
        assert_array_equal(parameters(same), parameters(model))
        assert_array_equal(same.predict(array), model.predict(X))
    assert same.terms_[1].name == "x1"
    assert same.terms_[1].levels == ("blue", "green", "red")
    codes = np.column_stack([X["age"], X["city"].cat.codes])
    number = AdditiveClassifier(categorical_features=[1], random_state=0).fit(codes, y)
    assert number.terms_[0].levels is None
    assert number.terms_[1].levels == (0.0, 1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (["colors"], "there is no 'colors' among 5 features, with the names age, color"),
        ([5], "there is no 5 among 5 features"),
        ([True, False], "of length 2 for 5 features"),
        ([[1]], "categorical_features must be 'from_dtype', None, or list features"),
        ("color", "'categorical_features' parameter"),
        ([4], "these columns hold text or categories: color"),  # a list is all of them
        (None, "these columns hold text or categories: color, city"),
    ],
)
def test_wrong_lists_of_categories(whole, listed, message):
    with pytest.raises(ValueError, match=message):
        AdditiveClassifier(categorical_features=listed).fit(*whole[:2])


def test_what_is_no_category():
    X, y = make_table(4)
    with pytest.raises(TypeError, match=r"numbers or categories in column 'color': .*unhashable"):
        AdditiveClassifier().fit(X.assign(color=[[1], [2], [3], [4]]), y)


def test_more_levels_than_16_bits_can_number():
    """70,000 levels, and gaps: codes have 32 bits, in memory and on disk."""
    level = np.repeat(np.arange(70_000), 2)
    names = pd.Series(level.astype(str)).mask(np.arange(140_000) % 1000 == 0)
    X, y = pd.DataFrame({"name": names}), level % 2
    options = {"C": 1.0, "random_state": 0}
    model = AdditiveClassifier(**options).fit(X, y)
    assert len(model.terms_[0].levels) == 70_000
    assert model.score(X[names.notna()], y[names.notna()]) == 1.0
    small = AdditiveClassifier(max_memory="30MB", **options).fit(X, y)
    assert_array_equal(parameters(small), parameters(model))
    with pytest.warns(UserWarning, match="column 'name' has 70,000 levels in 70,000 rows"):
        AdditiveSVC(random_state=0, C=1.0).fit(X[1::2], y[1::2])


def test_unseen_levels_count_as_the_mean(whole):
    X, y, model = whole
    new = X.head(3).assign(color="violet")
    mean = contributions(model, X, center=False)[:, 1].mean()
    assert_allclose(contributions(model, new, center=False)[:, 1], mean, atol=1e-9)
    assert_allclose(contributions(model, new)[:, 1], 0, atol=1e-9)
    assert_allclose(shape_function(model, "color", ["violet"])[1], mean, atol=1e-9)
    strict = AdditiveClassifier(terms={"color": Category(unseen="error")}, C=1.0).fit(X, y)
    strict.predict(X.assign(city=50))
    with pytest.raises(
        ValueError, match=r"'violet' in column 'color' \(first in row 0\).*levels are 'blue', 'gr"
    ):
        strict.predict(new)


def test_unseen_levels_and_gaps_are_scored_as_the_terms_say(holed):
    X, _, model = holed
    X = X.head(50).copy()
    X.loc[::3, "city"] = np.nan
    X["color"] = np.where(np.arange(50) % 4 == 0, "violet", X["color"])
    codes = {"color": ["blue", "green", "red"], "city": [10, 20, 30, 40]}
    total = np.full(50, model.intercept_[0])
    for term in model.terms_:
        x = X[term.name]
        if term.levels is not None:
            known = {level: k for k, level in enumerate(codes[term.name])}
            x = [np.nan if pd.isna(value) else known.get(value, -1) for value in x]
        total += term.evaluate(np.asarray(x, dtype=float))[:, 0]
    assert_allclose(model.decision_function(X), total, atol=1e-9)


def test_columns_at_predict(whole):
    X, _, model = whole
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match=r"numeric, as it was in fit, but .*: dose"):
        model.predict(X.assign(dose="much"))
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 5\)\)"):
        model.predict(X.head(0))
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(np.array(["red", "green"], dtype=object))
    with pytest.raises(ValueError, match=r"hold dates, times or intervals: age"):
        model.predict(X.assign(age=pd.Timestamp("2020-01-01")))


@pytest.mark.parametrize("model", [AdditiveSVC(C=1.0), AdditiveRegressor(C=1.0)], ids=str)
def test_missing_is_what_it_was_in_fit(model):
    """Parameters that are set after a fit change no prediction, and what is drawn neither."""
    X, y = make_table()
    X = X[["age", "dose"]].astype(float)
    gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    model = clone(model).fit(gaps, y)
    expected, curves = model.predict(gaps), contributions(model, gaps)
    model.set_params(missing="error")
    assert_array_equal(model.predict(gaps), expected)
    assert_array_equal(contributions(model, gaps), curves)
    shape_function(model, "age", [40.0, np.nan])
    model.fit(X, y)
    model.set_params(missing="level")
    for act in (model.predict, lambda X: contributions(model, X)):
        with pytest.raises(ValueError, match="contains NaN in column 'age'"):
            act(gaps)
    with pytest.raises(ValueError, match="grid must hold finite numbers"):
        shape_function(model, "age", [40.0, np.nan])


def test_pickle_and_clone(holed):
    X, y, model = holed
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(parameters(clone(model).fit(X, y)), parameters(model))


def test_partial_fit_and_warm_start(holed):
    X, y, model = holed
    chunks = AdditiveSVC(random_state=0, C=1.0)
    chunks.partial_fit(X[:300], y[:300], classes=[False, True])
    chunks.partial_fit(X[300:], y[300:])
    assert chunks.score(X, y) > 0.7
    with pytest.raises(ValueError, match="a level in column 'color' that did not occur in the fi"):
        chunks.partial_fit(X[300:].assign(color="violet"), y[300:])
    warm = AdditiveSVC(warm_start=True, tol=1e-4, random_state=0, C=1.0).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 1
    smooth = clone(model).set_params(warm_start=True).fit(X, y)
    assert smooth.fit(X, y).n_iter_ <= 1
    number = AdditiveSVR(random_state=0, C=1.0).partial_fit(X[:300], y[:300].astype(float))
    assert number.partial_fit(X[300:], y[300:].astype(float)).score(X, y) > 0.1


def test_a_later_chunk_with_gaps_where_the_first_had_none():
    X, y = make_table()
    model = AdditiveSVC(random_state=0, C=1.0).partial_fit(X[:300], y[:300], classes=[False, True])
    bad = X[300:].copy()
    bad.loc[310, "age"] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 'age', which had no missing values in"):
        model.partial_fit(bad, y[300:])


@pytest.mark.parametrize("named", [True, False])
def test_searches(holed, named):
    X, y, _ = holed
    X = X if named else X.to_numpy(object)
    options = {"categorical_features": [1, 4], "random_state": 0}
    chosen = PathSearchCV(AdditiveSVC(**options), Cs=[0.1, 1.0], cv=3).fit(X, y)
    same = AdditiveSVC(**options, **chosen.best_params_).fit(X, y)
    assert_array_equal(parameters(chosen.best_estimator_), parameters(same))
    assert_array_equal(chosen.predict(X), same.predict(X))
    number = PathSearchCV(AdditiveRegressor(C=1.0, **options), Cs=[0.1, 1.0], cv=3)
    assert number.fit(X, y.astype(float)).best_score_ > 0.1


# -- inspection ------------------------------------------------------------------------------------


def test_contributions_are_of_features(holed):
    X, _, model = holed
    for center, base in ((False, model.intercept_[0]), (True, base_value(model))):
        parts = contributions(model, X, center=center)
        assert parts.shape == X.shape
        assert_allclose(base + parts.sum(axis=1), model.decision_function(X), atol=1e-9)
        assert_allclose(importances(model, X), parts.std(axis=0))
    assert_allclose(parts.mean(axis=0), 0, atol=1e-9)
    assert_allclose(model.feature_importances_, parts.std(axis=0), rtol=1e-6)
    for name in X:
        values = X[name].astype(object).where(X[name].notna(), None)
        grid = values if name in ("color", "city") else X[name].astype(float)
        _, f = shape_function(model, name, grid, center=True)
        assert_allclose(f, parts[:, X.columns.get_loc(name)], atol=1e-9)
        _, f = shape_function(model, name, grid, center=True, X=X)
        assert_allclose(f, parts[:, X.columns.get_loc(name)], atol=1e-9)


def test_a_categorical_feature_has_levels(holed):
    model = holed[2]
    levels, effects = shape_function(model, "color")
    assert list(levels) == ["blue", "green", "red", None]
    assert effects[2] == effects[:3].max()
    assert knots(model, "color").size == 0
    assert len(knots(model, "dose")) > 5
    with pytest.raises(ValueError, match="'color' is a category and has no curve"):
        shape_functions(model)
    assert shape_functions(model, ["age", "dose"], 5)[1].shape == (2, 5)


def test_pictures_of_levels_and_missing_values(holed):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from splinear.plotting import CurvesDisplay

    X, y, model = holed
    display = CurvesDisplay.from_estimator(model, X, features=["age", "color"], figure=Figure())
    age, color = display.curves
    parts = contributions(model, X, center=False)
    assert_allclose(age.f_missing, parts[X["age"].isna(), 0][0] - parts[:, 0].mean())
    assert color.levels[-1] == "red"
    assert_array_equal(np.sort(color.f), color.f)
    counts = X["color"].value_counts()
    assert_array_equal(color.counts[color.levels.index("red")], counts["red"])
    assert_allclose(display.lines_[1].datavalues, color.f)
    assert [text.get_text() for text in display.axes_[1].get_xticklabels()] == list(color.levels)
    many = X.assign(color=np.arange(len(X)).astype(str))
    with pytest.warns(UserWarning, match="an identifier"):
        one_each = AdditiveClassifier(C=1.0, random_state=0).fit(many, y)
    (panel,) = CurvesDisplay.from_estimator(
        one_each, many, features=["color"], figure=Figure()
    ).curves
    assert (len(panel.levels), panel.n_hidden) == (12, 388)


# -- scikit-learn, and a real table ----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        AdditiveClassifier(missing="error", C=1.0, tol=1e-9),
        AdditiveRegressor(missing="error", C=1.0, tol=1e-12),
    ],
    ids=repr,
)
def test_scikit_learn_contract_without_missing_values(model):
    """With them, the default, it is tested beside each estimator."""
    check_estimator(model, on_skip=None)


@pytest.mark.data
@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA is not set")
def test_the_raw_table_goes_straight_in():
    from splinear.datasets import load_adult_raw

    adult = load_adult_raw()
    train, test, y = ~adult.is_test, adult.is_test, adult.target
    model = AdditiveClassifier(n_jobs=2, random_state=0)

    def auc(X):
        model.fit(X[train], y[train])
        return roc_auc_score(y[test], model.predict_proba(X[test])[:, 1])

    began = time.process_time()
    whole = auc(adult.data)
    assert time.process_time() - began < 30  # about three
    assert whole >= 0.923
    blank = np.random.default_rng(0).random(adult.data.shape) < 0.2
    assert auc(adult.data.mask(blank)) >= whole - 0.02


def test_terms_are_those_of_the_users_features():
    """Terms are given by name or position, whatever other features hold."""
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
    by_name = {"age": Spline(knots=places), "pay": Spline(6, knots="quantile")}
    by_place = {1: Spline(knots=places), 2: Spline(6, knots="quantile")}
    for terms in (by_name, by_place):
        model = AdditiveSVC(terms=terms, random_state=0, C=1.0).fit(table, y)
        assert_array_equal(knots(model, "age"), places)
        assert len(knots(model, "pay")) == 7
        assert len(model.terms_) == 3
    less = AdditiveSVC(terms={"job": "drop", 1: "drop"}, random_state=0, C=1.0).fit(table, y)
    assert [term.name for term in less.terms_] == ["pay"]
    assert_array_equal(less.feature_importances_[:2], 0)
    alone = AdditiveSVC(random_state=0, C=1.0).fit(table[["pay"]], y)
    assert_array_equal(parameters(less), parameters(alone))


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_a_large_matrix_is_made_in_pieces(holes, monkeypatch):
    """The same model to the bit, and the same errors, without the matrix ever being there."""
    X, y = make_table(holes=holes)
    options = {"terms": {"color": Category(unseen="error")}, "random_state": 0}
    expected = AdditiveSVC(**options).fit(X, y)
    scores = expected.decision_function(X)
    monkeypatch.setattr("splinear.estimators.reading.MOST_AT_ONCE", 100)
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 500)
    model = AdditiveSVC(**options).fit(X, y)
    assert_array_equal(parameters(model), parameters(expected))
    assert_array_equal(model.decision_function(X), scores)
    assert_allclose(contributions(model, X), contributions(expected, X))
    X = X.copy()
    X.loc[333, "color"] = "violet"
    with pytest.raises(ValueError, match=r"'violet' in column 'color' \(first in row 333\)"):
        model.predict(X)


def test_a_level_takes_no_column():
    """2,000 levels: a matrix in float64 would take 320 MB, and one of 16-bit codes 80."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"shop": random.integers(0, 2000, 20_000).astype(str)})
    y = X["shop"].astype(int) % 2
    for model in (AdditiveSVC(random_state=0, C=1.0), AdditiveClassifier(random_state=0)):
        tracemalloc.start()
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert model.score(X, y) > 0.99
        assert peak < 20e6  # codes are not traced; a Hessian of all pairs would take 32 MB
