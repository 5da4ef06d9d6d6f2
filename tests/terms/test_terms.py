"""Terms: their parameters, how features get them, and what the fitted ones say."""

import re
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_param_validation

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR, PathSearchCV
from splinear._compat import InvalidParameterError
from splinear.inspection import base_value, contributions, importances
from splinear.terms import Category, Fourier, Hermite, Linear, Spline

TERMS = [
    Spline(7, 2, 1, "uniform", None, None, "linear", "native", False),
    Fourier(4, 2, 24.0, "native"),
    Hermite(5, 2, "standard"),
    Linear(),
    Category("error", True),
]
CURVES = [
    Spline(6),
    Spline(12, degree=3, penalty_order=2, knots="quantile"),
    Spline(4, degree=0, knots="uniform", scale="native"),
    Spline(8, extrapolation="linear"),
    Fourier(2),
    Fourier(3, period=2.5),
    Hermite(3),
    Hermite(3, scale="standard"),
    Linear(),
]
ESTIMATORS = [AdditiveClassifier, AdditiveSVC, AdditiveRegressor, AdditiveSVR]
FIXED = [
    AdditiveClassifier(C=1.0, random_state=0),
    AdditiveSVC(random_state=0, C=1.0),
    AdditiveRegressor(C=1.0, random_state=0),
    AdditiveSVR(random_state=0, C=1.0),
]

# A gap promises its root: predictions within sqrt(2 tol P) of the optimum. Double precision is good
# for 1e-30.
EXACT = 1e-18

by_name = pytest.mark.parametrize("estimator", ESTIMATORS)
every_curve = pytest.mark.parametrize("curve", CURVES, ids=repr)


def score(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def frame(n=400, seed=0):
    """Numbers, text, gaps in both, an hour; and a target."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.uniform(18, 90, n),
            "dose": random.exponential(size=n),
            "hour": random.uniform(0, 24, n),
            "city": random.choice(["Amherst", "Ithaca", "Paris"], n),
        }
    )
    signal = 0.03 * X["age"] + np.sin(X["hour"] * np.pi / 12) + (X["city"] == "Paris") - 2.0
    y = (signal + 0.3 * random.normal(size=n)).to_numpy()
    X.loc[::7, "dose"] = np.nan
    X.loc[::11, "city"] = None
    return X, y


def target(estimator, y):
    """Numbers, or three classes for classifiers."""
    classifies = estimator in (AdditiveClassifier, AdditiveSVC)
    return np.digitize(y, np.quantile(y, [0.3, 0.7])) if classifies else y


# -- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("term", TERMS, ids=lambda term: type(term).__name__)
def test_terms_are_scikit_learn_objects(term):
    again = clone(term)
    assert again is not term
    assert again.get_params() == term.get_params()
    assert repr(again) == repr(term)
    default = type(term)()
    assert default.set_params(**term.get_params()).get_params() == term.get_params()
    term.check()
    assert not hasattr(term, "fit")


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (Spline(n_bins=0), r"'n_bins' parameter of Spline .* \[1, 32768\].* Got 0"),
        (Spline(n_bins=2.5), "'n_bins' parameter of Spline .* Got 2.5"),
        (Spline(n_bins=40_000), r"'n_bins' parameter of Spline .* Got 40000"),
        (Spline(degree=4), r"'degree' parameter of Spline .* \[0, 3\]. Got 4"),
        (Spline(degree=-1), "'degree' parameter of Spline"),
        (Spline(penalty_order=-1), "'penalty_order' parameter of Spline"),
        (Spline(knots="random"), "'knots' parameter of Spline .* Got 'random'"),
        (Spline(knots=[1.0]), "knots.*Spline"),
        (Spline(knots=[1.0, 1.0, 2.0]), "knots.*Spline"),
        (Spline(extrapolation="cubic"), "'extrapolation' parameter of Spline .* Got 'cubic'"),
        (Spline(scale="standard"), "'scale' parameter of Spline .* Got 'standard'"),
        (Spline(through_zero="yes"), "'through_zero' parameter of Spline .* Got 'yes'"),
        (Fourier(0), "'n_frequencies' parameter of Fourier .* Got 0"),
        (Fourier(penalty_order=0), r"'penalty_order' parameter of Fourier .* \[1, 2\]. Got 0"),
        (Fourier(period=0), "'period' parameter of Fourier .* Got 0"),
        (Fourier(period="day"), "'period' parameter of Fourier .* Got 'day'"),
        (Fourier(scale="standard"), "'scale' parameter of Fourier"),
        (Hermite(0), r"'degree' parameter of Hermite .* \[1, 150\]. Got 0"),
        (Hermite(penalty_order=3), r"'penalty_order' parameter of Hermite .* \[1, 2\]. Got 3"),
        (Hermite(scale="log"), "'scale' parameter of Hermite .* Got 'log'"),
        (Category(unseen="mean"), "'unseen' parameter of Category .* Got 'mean'"),
        (Category(ordered="yes"), "'ordered' parameter of Category .* Got 'yes'"),
    ],
    ids=lambda value: repr(value) if not isinstance(value, str) else "",
)
def test_wrong_parameters_are_named(term, message):
    with pytest.raises(ValueError, match=message):
        term.check()
    X, y = frame()
    with pytest.raises(ValueError, match=message):
        AdditiveRegressor(terms={"age": term}).fit(X, y)
    if not isinstance(term, Category):
        with pytest.raises(ValueError, match=message):
            AdditiveRegressor(term).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"curve": Spline}, r"Got <class .*Spline'> instead. It is a class; call it: Spline\(\)"),
        ({"curve": "spline"}, r"of AdditiveSVC must be a term such as Spline\(\).*Got 'spline'"),
        ({"curve": Category()}, "Category is for categories. Use terms="),
        ({"terms": ["age"]}, r"of AdditiveSVC must be a dict .*'age': Spline\(\).*Got \['age'\]"),
        ({"terms": Spline()}, r"of AdditiveSVC must be a dict .*Got Spline\(\) .*Use curve="),
        ({"terms": {"age": None}}, r"terms\['age'\] must be .*, or 'drop'; got None"),
        ({"terms": {"age": "linear"}}, r"terms\['age'\] must be .* Linear\(\).*; got 'linear'"),
        ({"terms": {"age": Linear}}, r"terms\['age'\] must be .* It is a class; call it"),
        ({"terms": {"aeg": Linear()}}, "feature 'aeg', which is not there. Did you mean 'age'?"),
        ({"terms": {"weight": Linear()}}, "X has 'age', 'dose', 'hour', 'city'"),
        ({"terms": {4: Linear()}}, "feature 4, .* position from 0 to 3"),
        ({"terms": {-1: Linear()}}, "feature -1, .* position from 0 to 3"),
        ({"terms": {1.0: Linear()}}, "feature 1.0, .* position from 0 to 3"),
        ({"terms": {True: Linear()}}, "feature True, .* position from 0 to 3"),
        ({"terms": {"age": Linear(), 0: "drop"}}, "terms names column 0 twice"),
        ({"terms": dict.fromkeys(range(4), "drop")}, "terms drops all features"),
        ({"terms": {"city": Linear()}}, r"column 'city' holds text .* term is Linear\(\)"),
        ({"categorical_features": ["town"]}, "there is no 'town' among 4 features"),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_wrong_terms_are_named(params, message):
    X, y = frame()
    with pytest.raises(ValueError, match=message):
        AdditiveSVC(**params).fit(X, y > 0)


@by_name
@pytest.mark.parametrize("name", ["curve", "terms"])
@pytest.mark.parametrize("wrong", [Spline, "spline", 3, [Spline()]], ids=repr)
def test_what_is_not_a_term_is_refused_in_plain_words(estimator, name, wrong):
    X, y = frame()
    for value in [wrong] if name == "curve" else [wrong, {"age": wrong}, {("age", "dose"): wrong}]:
        with pytest.raises(InvalidParameterError) as raised:
            estimator(**{name: value}).fit(X, target(estimator, y))
        message = str(raised.value).replace(repr(wrong), "what was found")
        assert name in message
        assert "what was found" in message
        assert "Spline()" in message or "Pair()" in message
        assert "splinear." not in message


@by_name
def test_scikit_learn_on_wrong_parameters(estimator):
    check_param_validation(estimator.__name__, estimator())


def test_a_name_where_there_are_no_names():
    with pytest.raises(ValueError, match="'age', which is not there: X has no column names"):
        AdditiveRegressor(terms={"age": Linear()}).fit(np.ones((5, 2)), np.arange(5.0))


@by_name
def test_parameters_of_the_curve_in_a_grid(estimator):
    X, y = frame()
    y = target(estimator, y)
    names = {"curve__n_bins": [3, 6], "curve__degree": [0, 1]}
    model = estimator(Spline(), C=1.0, random_state=0, tol=0.1)
    grid = GridSearchCV(model, names, cv=2).fit(X, y)
    chosen = grid.best_estimator_.curve
    assert grid.best_params_ == {"curve__n_bins": chosen.n_bins, "curve__degree": chosen.degree}
    assert len(grid.best_estimator_.terms_[0].knots) == chosen.n_bins + 1
    whole = {"curve": [Spline(3), Linear()], "terms": [None, {"hour": Fourier(period=24)}]}
    grid = GridSearchCV(model.set_params(curve=None), whole, cv=2).fit(X, y)
    assert grid.best_params_["terms"] is not None  # the hour is a wave


@by_name
def test_parameters_of_a_curve_that_is_none(estimator):
    with pytest.raises(ValueError, match=r"curve__n_bins .* curve is None.* curve=Spline\(\)"):
        estimator().set_params(curve__n_bins=5)
    model = estimator().set_params(curve=Spline(), curve__n_bins=5)
    assert model.curve.n_bins == 5
    with pytest.raises(ValueError, match="Invalid parameter 'n_frequencies' for estimator Spline"):
        model.set_params(curve__n_frequencies=5)


@by_name
def test_parameters_after_a_fit_change_no_prediction(estimator):
    X, y = frame()
    curve, hour = Spline(5), Fourier(2, period=24)
    city = Category(unseen="ignore")
    model = estimator(curve, terms={"hour": hour, "city": city}, random_state=0)
    model.fit(X, target(estimator, y))
    before, told = score(model, X), [(repr(term), term.coef.copy()) for term in model.terms_]
    model.set_params(curve__n_bins=20, curve__extrapolation="error", C=77.0, tol=0.5)
    hour.set_params(n_frequencies=7, period=3.0)
    city.set_params(unseen="error", ordered=True)
    far = X.assign(age=1000.0, city="Berlin")
    assert np.isfinite(score(model, far)).all()
    model.set_params(terms={"age": "drop"}, curve=Linear(), categorical_features=None)
    np.testing.assert_array_equal(score(model, X), before)
    for term, (name, coef) in zip(model.terms_, told, strict=True):
        assert repr(term) == name
        np.testing.assert_array_equal(term.coef, coef)


# -- which feature gets which term -----------------------------------------------------------------


def test_terms_by_name_and_by_position():
    X, y = frame()
    terms = {"age": Linear(), 2: Fourier(2, period=24), "dose": "drop"}
    model = AdditiveRegressor(Hermite(2), terms=terms, random_state=0).fit(X, y)
    assert [term.kind for term in model.terms_] == ["Linear", "Fourier", "Category"]
    assert [term.name for term in model.terms_] == ["age", "hour", "city"]
    assert [term.features for term in model.terms_] == [(0,), (2,), (3,)]
    assert model.n_features_in_ == 4
    assert model.feature_importances_[1] == 0.0
    np.testing.assert_array_equal(model.predict(X.assign(dose=5.0)), model.predict(X))
    without = AdditiveRegressor(Hermite(2), terms={"age": Linear(), 1: terms[2]}, random_state=0)
    np.testing.assert_allclose(
        model.predict(X), without.fit(X.drop(columns="dose"), y).predict(X.drop(columns="dose"))
    )


@by_name
def test_a_dropped_column_may_hold_anything(estimator):
    X, y = frame()
    y = target(estimator, y)
    odd = X.assign(dose=[f"row {k}" for k in range(len(X))])
    odd.loc[0, "age"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator(terms={"dose": "drop", "age": "drop"}, random_state=0).fit(odd, y)
    assert [term.name for term in model.terms_] == ["hour", "city"]
    again = estimator(terms={1: "drop", 0: "drop"}, random_state=0)
    again.fit(X.assign(age=np.inf, dose=pd.Timestamp("2020-01-01")), y)
    np.testing.assert_array_equal(score(again, odd), score(model, odd))


@by_name
def test_the_default_curve_is_a_spline_and_text_a_category(estimator):
    X, y = frame()
    model = estimator(random_state=0).fit(X, target(estimator, y))
    assert [term.kind for term in model.terms_] == ["Spline"] * 3 + ["Category"]
    assert model.terms_[3].levels == ("Amherst", "Ithaca", "Paris")


def test_terms_are_those_of_the_columns_whatever_else_there_is():
    """Groups of several shapes side by side equal one fit of the explicit features."""
    X, y = frame()
    terms = {"age": Spline(7, degree=3, penalty_order=2), "hour": Fourier(2, period=24)}
    model = AdditiveRegressor(Linear(), terms=terms, C=2.0, tol=EXACT, random_state=0).fit(X, y)
    x = X["age"].to_numpy()
    knots = np.linspace(x.min(), x.max(), 8)
    wide = np.concatenate([knots[0] - (knots[1] - knots[0]) * np.arange(3, 0, -1), knots])
    wide = np.concatenate([wide, knots[-1] + (knots[1] - knots[0]) * np.arange(1, 4)])
    age = BSpline.design_matrix(np.minimum(x, np.nextafter(x.max(), 0)), wide, 3).toarray()
    D2 = np.linalg.matrix_power(np.eye(10) - np.eye(10, k=-1), 2)
    u = X["hour"].to_numpy() / 12.0 - 1.0
    waves = np.column_stack([f(n * np.pi * u) for n in (1, 2) for f in (np.cos, np.sin)])
    dose = X["dose"].to_numpy()
    gap = np.isnan(dose)
    v = 2 * (dose - np.nanmin(dose)) / (np.nanmax(dose) - np.nanmin(dose)) - 1
    v = np.where(gap, np.nanmean(v), v)
    cities = X["city"].to_numpy(dtype=object)
    levels = np.column_stack([cities == name for name in ("Amherst", "Ithaca", "Paris")]) * 1.0
    lost = pd.isna(cities)
    levels[lost] = levels[~lost].mean(axis=0)
    design = np.column_stack([np.ones(len(y)), age, waves, v, gap, levels, lost]).astype(float)
    penalty = np.zeros((design.shape[1],) * 2)
    penalty[1:11, 1:11] = D2.T @ D2 * 7
    penalty[11:15, 11:15] = np.diag([1.0, 1.0, 4.0, 4.0])
    penalty[15:, 15:] = np.eye(6)
    theta = np.linalg.solve(design.T @ design + penalty / 2.0, design.T @ y)
    np.testing.assert_allclose(model.predict(X), design @ theta, atol=1e-6)


# -- fitted terms ----------------------------------------------------------------------------------


@by_name
def test_what_a_fitted_term_says(estimator):
    X, y = frame()
    n_outputs = 3 if estimator in (AdditiveClassifier, AdditiveSVC) else 1
    terms = {"hour": Fourier(2, period=24), "dose": Hermite(2)}
    curve = Spline(6, knots="uniform")
    model = estimator(curve, terms=terms, random_state=0).fit(X, target(estimator, y))
    age, _, hour, city = model.terms_
    assert len(model.terms_) == 4
    assert [term.kind for term in model.terms_] == ["Spline", "Hermite", "Fourier", "Category"]
    assert [term.coef.shape for term in model.terms_] == [
        (n_outputs, 7), (n_outputs, 2), (n_outputs, 4), (n_outputs, 3)
    ]  # fmt: skip
    assert (age.lo, age.hi) == (X["age"].min(), X["age"].max())
    assert (hour.lo, hour.hi) == (0.0, 24.0)
    np.testing.assert_allclose(age.knots, np.linspace(age.lo, age.hi, 7))
    assert age.levels is None
    assert city.levels == ("Amherst", "Ithaca", "Paris")
    assert [term.had_missing for term in model.terms_] == [False, True, False, True]
    chosen = estimator in (AdditiveClassifier, AdditiveRegressor)
    assert all(np.isnan(term.edf) != chosen for term in model.terms_)
    assert all(term.smoothness > 0 for term in model.terms_)
    assert model.terms_[-1].name == "city"
    assert [term.name for term in model.terms_[1:3]] == ["dose", "hour"]
    with pytest.raises(IndexError):
        model.terms_[4]
    assert model.terms_["hour"].name == "hour"
    with pytest.raises(KeyError, match=r"no column 'houre'. Did you mean 'hour'"):
        model.terms_["houre"]
    fewer = estimator(terms={"age": "drop"}, random_state=0).fit(X, target(estimator, y))
    assert fewer.terms_["hour"].name == "hour"
    with pytest.raises(KeyError, match="'age' has no term: it was dropped"):
        fewer.terms_["age"]
    without_names = estimator(random_state=0).fit(X[["age"]].to_numpy(), target(estimator, y))
    with pytest.raises(KeyError, match="X has no column names"):
        without_names.terms_["age"]
    assert "<Category of 'city': 3 levels" in repr(model.terms_)
    for term in model.terms_:
        assert term.at_missing.shape == term.mean.shape == (n_outputs,)
        for array in (term.coef, term.at_missing, term.mean):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0.0
        with pytest.raises(AttributeError):
            term.coef = np.zeros(3)


@by_name
def test_evaluate_is_what_a_term_adds(estimator):
    X, y = frame()
    terms = {"hour": Fourier(2, period=24), "dose": Hermite(2, scale="standard")}
    model = estimator(Spline(6, extrapolation="linear"), terms=terms, random_state=0)
    model.fit(X, target(estimator, y))
    far = X.assign(age=X["age"] * 2 - 60, hour=X["hour"] + 24 * 5)
    far.loc[:20, "age"] = np.nan  # had no gaps
    far.loc[30:40, "city"] = "Berlin"
    codes = far["city"].map({"Amherst": 0.0, "Ithaca": 1.0, "Paris": 2.0, "Berlin": -1.0})
    table = far.assign(city=codes).to_numpy(dtype=float)
    parts = np.stack([t.evaluate(table[:, t.features[0]]) for t in model.terms_], axis=1)
    total = score(model, far).reshape(len(far), -1)
    np.testing.assert_allclose(model.intercept_ + parts.sum(axis=1), total, atol=1e-9)
    centered = parts - np.stack([term.mean for term in model.terms_])
    np.testing.assert_allclose(
        contributions(model, far).reshape(centered.shape), centered, atol=1e-12
    )
    np.testing.assert_allclose(base_value(model) + centered.sum(axis=1), total, atol=1e-9)


@by_name
def test_prediction_is_thread_safe(estimator):
    X, y = frame(3000)
    model = estimator(terms={"hour": Fourier(period=24)}, random_state=0)
    model.fit(X, target(estimator, y))
    pieces = [X[k::16] for k in range(16)]
    expected = [score(model, piece) for piece in pieces]

    def work(k):
        terms = [(term.coef, term.evaluate(np.zeros(3))) for term in model.terms_]
        return score(model, pieces[k % 16]), terms

    with ThreadPoolExecutor(8) as pool:
        for k, (found, _) in enumerate(pool.map(work, range(64))):
            np.testing.assert_array_equal(found, expected[k % 16])


# -- curves ----------------------------------------------------------------------------------------


@every_curve
@pytest.mark.parametrize("model", FIXED, ids=lambda model: type(model).__name__)
def test_importances_are_deviations_over_the_training_rows(curve, model):
    random = np.random.default_rng(0)
    X = random.uniform(-2, 3, size=(300, 3)).astype(np.float32).astype(np.float64)
    X[::5, 1] = np.nan
    y = np.digitize(np.sin(X[:, 0]) + X[:, 2] + 0.3 * random.normal(size=300), [0.0, 1.0])
    weights = random.integers(0, 3, 300).astype(float)
    # Below a tolerance of 5e-4 X itself is read for them, not codes.
    model = clone(model).set_params(curve=curve, tol=4e-4, max_iter=100_000)
    model.fit(X, y, sample_weight=weights)
    kept = weights > 0
    parts = contributions(model, X[kept]).reshape(kept.sum(), 3, -1)
    w = weights[kept] / weights.sum()
    means = np.einsum("i,ijo->jo", w, parts)
    deviations = np.sqrt(np.einsum("i,ijo->jo", w, (parts - means) ** 2)).mean(axis=1)
    np.testing.assert_allclose(means, 0.0, atol=1e-8)
    np.testing.assert_allclose(model.feature_importances_, deviations, rtol=1e-6, atol=1e-7)
    assert model.feature_importances_[2] > 0.1


@by_name
def test_importances_of_text_and_gaps(estimator):
    X, y = frame()
    model = estimator(random_state=0, tol=1e-5, max_iter=100_000).fit(X, target(estimator, y))
    np.testing.assert_allclose(model.feature_importances_, importances(model, X), rtol=1e-5)
    assert model.feature_importances_.shape == (4,)


@pytest.mark.parametrize("period", [24, 2.5])
def test_a_period_wraps(period):
    random = np.random.default_rng(0)
    X = random.uniform(-50, 50, size=(400, 1))
    y = np.sin(2 * np.pi * X[:, 0] / period) + 0.1 * random.normal(size=400)
    model = AdditiveRegressor(Fourier(2, period=period), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    inside = np.linspace(0, period, 50, endpoint=False)[:, None]
    for turns in (-1000, -1, 1, 7):
        np.testing.assert_allclose(
            model.predict(inside + turns * period), model.predict(inside), atol=1e-9
        )
    [term] = model.terms_
    np.testing.assert_allclose(
        term.evaluate(inside[:, 0] + 3 * period), term.evaluate(inside[:, 0]), atol=1e-9
    )
    ends = model.predict([[0.0], [period], [np.nextafter(period, 0)]])
    np.testing.assert_allclose(ends, ends[0])
    # Without a period the ends of the training range count.
    clamped = AdditiveRegressor(Fourier(2), random_state=0).fit(X, y)
    assert clamped.predict([[60.0]]) == clamped.predict(X[[X.argmax()]])


def n_frequencies_of(model, X, y):
    return [term.coef.size // 2 for term in model.fit(X, y).terms_]


def test_the_default_number_of_frequencies_suits_the_values():
    """As many as differ at the values of a feature, if REML can shrink those that are too many."""
    random = np.random.default_rng(0)
    n = 600
    X = np.column_stack(
        [random.uniform(0, 24, n), random.integers(0, 24, n), random.integers(0, 7, n)]
    ).astype(float)
    X = np.column_stack([X, random.integers(0, 2, n), np.where(X[:, 0] < 2, np.nan, X[:, 0])])
    y = np.cos(6 * np.pi * X[:, 1] / 12) + 0.1 * random.normal(size=n)
    chosen = AdditiveRegressor(Fourier(), random_state=0)
    assert n_frequencies_of(chosen, X, y) == [12, 12, 3, 3, 12]
    assert chosen.score(X, y) > 0.9
    assert n_frequencies_of(AdditiveRegressor(Fourier(5)), X, y) == [5] * 5
    assert n_frequencies_of(AdditiveRegressor(Fourier(), C=1.0), X, y) == [3] * 5
    assert n_frequencies_of(AdditiveSVR(Fourier(), C=1.0), X, y) == [3] * 5
    assert n_frequencies_of(AdditiveRegressor(Fourier(), device="auto"), X, y)[0] == 8


def test_infinity_does_not_wrap():
    X, y = frame()
    model = AdditiveRegressor(terms={"hour": Fourier(period=24)}).fit(X, y)
    odd = X.copy()
    odd.loc[5, "hour"] = np.inf
    with pytest.raises(ValueError, match=r"infinity in column 'hour' \(first in row 5\)"):
        clone(model).fit(odd, y)
    with pytest.raises(ValueError, match=r"infinity in column 'hour' \(first in row 5\)"):
        model.predict(odd)


def test_a_period_needs_a_dense_table():
    X = sparse.random(50, 2, density=0.5, format="csr", random_state=0)
    with pytest.raises(ValueError, match=r"is for dense tables: .* X is sparse\. Drop column 0"):
        AdditiveRegressor(Fourier(period=24)).fit(X, np.arange(50.0))


def test_a_line_is_ridge_regression():
    random = np.random.default_rng(0)
    x = random.normal(3, 5, size=200)
    y = 2 * x + random.normal(size=200)
    u = 2 * (x - x.min()) / np.ptp(x) - 1
    deviation = u - u.mean()
    slope = deviation @ y / (deviation @ deviation + 1 / 0.3)
    model = AdditiveRegressor(Linear(), C=0.3, tol=EXACT).fit(x[:, None], y)
    assert model.terms_[0].coef[0, 0] == pytest.approx(slope, rel=1e-6)
    # Beyond the range the line goes on.
    beyond = model.predict([[x.max() + 10.0], [x.max()]])
    assert beyond[0] - beyond[1] == pytest.approx(slope * 2 * 10.0 / np.ptp(x), rel=1e-6)
    # With a chosen smoothness so clear a slope is hardly shrunk.
    free = AdditiveRegressor(Linear()).fit(x[:, None], y)
    assert free.terms_[0].coef[0, 0] == pytest.approx(np.polyfit(u, y, 1)[0], rel=1e-3)
    assert free.terms_[0].edf == pytest.approx(1.0, abs=1e-3)


def test_lines_are_logistic_regression():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)) * [1.0, 9.0]
    y = np.where(X[:, 0] + 0.1 * X[:, 1] + random.normal(size=200) > 0.5, 1, -1)
    u = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1

    def value(p):
        return np.logaddexp(0, -y * (p[0] + u @ p[1:])).sum() + 0.5 * p[1:] @ p[1:] / 2.0

    found = minimize(value, np.zeros(3), tol=1e-10)
    model = AdditiveClassifier(Linear(), C=2.0, tol=EXACT).fit(X, y)
    slopes = [term.coef[0, 0] for term in model.terms_]
    np.testing.assert_allclose([model.intercept_[0], *slopes], found.x, atol=1e-4)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)


@every_curve
def test_a_constant_column_adds_nothing(curve):
    random = np.random.default_rng(0)
    X = np.column_stack([np.full(200, 7.5), random.normal(size=200), np.full(200, np.nan)])
    y = np.sin(2 * X[:, 1]) + 0.1 * random.normal(size=200)
    common = {"random_state": 0, "tol": 1e-6, "max_iter": 100_000}
    for model in (AdditiveRegressor(curve, **common), AdditiveSVR(curve, C=1.0, **common)):
        model.fit(X, y)
        alone = clone(model).fit(X[:, [1]], y)
        np.testing.assert_array_equal(model.terms_[0].coef, 0.0)
        np.testing.assert_array_equal(model.terms_[2].coef, 0.0)
        assert model.feature_importances_[0] == model.feature_importances_[2] == 0.0
        np.testing.assert_allclose(model.predict(X), alone.predict(X[:, [1]]), atol=1e-3)
        odd = X.copy()
        odd[:, 0], odd[:, 2] = np.nan, 3.0  # gaps where there were none, and the other way round
        np.testing.assert_allclose(model.predict(odd), model.predict(X), atol=1e-12)


@pytest.mark.parametrize("model", FIXED, ids=lambda model: type(model).__name__)
def test_weights_of_two_are_two_rows(model):
    X, y = frame(150)
    y = target(type(model), y)
    weights = np.random.default_rng(1).integers(0, 3, 150)
    terms = {"hour": Fourier(2, period=24), "age": Spline(6, knots="quantile")}
    tight = clone(model).set_params(curve=Spline(5), terms=terms, tol=1e-12, max_iter=20_000)
    weighted = clone(tight).fit(X, y, sample_weight=weights)
    places = np.repeat(np.arange(150), weights)
    repeated = clone(tight).fit(X.iloc[places], y[places])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    np.testing.assert_allclose(score(weighted, X), score(repeated, X), atol=1e-4)
    for one, other in zip(weighted.terms_, repeated.terms_, strict=True):
        np.testing.assert_array_equal(one.knots, other.knots)
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-4)


@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor])
def test_counts_of_two_are_two_rows_in_the_choice_of_smoothness(estimator):
    """With so few bins that curves cannot go through all rows: repeats would say, no noise."""
    X, y = frame(300)
    y = target(estimator, y)
    weights = np.random.default_rng(1).integers(0, 3, 300)
    places = np.repeat(np.arange(300), weights)
    exact = estimator(Spline(8), tol=1e-12, random_state=0)
    weighted = clone(exact).fit(X, y, counts=weights)
    repeated = clone(exact).fit(X.iloc[places], y[places], counts=np.ones(len(places)))
    np.testing.assert_allclose(score(weighted, X), score(repeated, X), atol=1e-5)
    # Where a term is nearly a line the likelihood is flat, and rounding moves its variance.
    for one, other in zip(weighted.terms_, repeated.terms_, strict=True):
        assert one.smoothness == pytest.approx(other.smoothness, rel=1e-2)
        assert one.edf == pytest.approx(other.edf, rel=1e-2, abs=1e-3)


# -- categories ------------------------------------------------------------------------------------


def groups(n=300, n_levels=30, seed=0):
    random = np.random.default_rng(seed)
    level = random.integers(0, n_levels, n)
    y = 3.0 + 0.7 * random.normal(size=n_levels)[level] + random.normal(size=n)
    return pd.DataFrame({"site": [f"site {k:02d}" for k in level]}), level, y


def test_a_category_is_a_random_effect():
    """By its restricted likelihood, written out: y ~ N(m, v (I + t Z Z'))."""
    X, level, y = groups()
    model = AdditiveRegressor(tol=1e-8).fit(X, y)
    [term] = model.terms_
    sizes, sums = np.bincount(level), np.bincount(level, y)

    def restricted(log_t):
        t = np.exp(log_t)
        shrink = t / (1 + t * sizes)  # V^{-1} = I - Z diag(shrink) Z'
        information = len(y) - shrink @ sizes**2
        mean = (y.sum() - shrink @ (sizes * sums)) / information
        squares = np.sum((y - mean) ** 2) - shrink @ (sums - mean * sizes) ** 2
        v = squares / (len(y) - 1)
        return np.log1p(t * sizes).sum() + np.log(information) + (len(y) - 1) * np.log(v)

    best = minimize_scalar(restricted, bounds=(-5, 5), method="bounded", options={"xatol": 1e-8})
    assert term.smoothness == pytest.approx(np.exp(best.x), rel=0.02)
    assert restricted(np.log(term.smoothness)) - best.fun < 1e-3


def test_statsmodels_finds_the_same_effects():
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    X, _, y = groups()
    model = AdditiveRegressor(tol=1e-8).fit(X, y)
    other = mixed.MixedLM(y, np.ones((len(y), 1)), groups=X["site"].to_numpy()).fit(reml=True)
    theirs = [float(other.random_effects[level].iloc[0]) for level in model.terms_[0].levels]
    np.testing.assert_allclose(model.terms_[0].coef[0], theirs, atol=2e-3)
    assert model.intercept_[0] == pytest.approx(float(other.fe_params[0]), abs=1e-3)


def test_effects_that_are_noise_are_shrunk_away():
    X, _, _ = groups(2000)
    y = np.random.default_rng(1).normal(size=2000)
    free = AdditiveRegressor(C=100.0).fit(X, y)
    chosen = AdditiveRegressor().fit(X, y)
    assert chosen.feature_importances_[0] < 0.3 * free.feature_importances_[0]


@by_name
def test_categories_by_type_by_name_and_as_numbers(estimator):
    X, y = frame()
    y = target(estimator, y)
    expected = score(estimator(random_state=0).fit(X, y), X)
    typed = X.astype({"city": "category"})
    np.testing.assert_array_equal(score(estimator(random_state=0).fit(typed, y), typed), expected)
    codes = typed["city"].cat.codes.to_numpy(dtype=float)
    coded = X.assign(city=np.where(codes < 0, np.nan, codes))
    for form in (["city"], [3], [False, False, False, True]):
        model = estimator(categorical_features=form, random_state=0).fit(coded, y)
        assert model.terms_[3].levels == (0.0, 1.0, 2.0)
        np.testing.assert_array_equal(score(model, coded), expected)
    model = estimator(terms={"city": Category()}, random_state=0).fit(coded, y)
    np.testing.assert_array_equal(score(model, coded), expected)
    array = X.to_numpy(dtype=object)
    model = estimator(random_state=0).fit(array, y)
    np.testing.assert_allclose(score(model, array), expected, atol=1e-9)
    model = estimator(random_state=0).fit(array.tolist(), y)
    np.testing.assert_allclose(score(model, array.tolist()), expected, atol=1e-9)


@by_name
def test_an_unseen_level_counts_as_the_mean(estimator):
    X, y = frame()
    model = estimator(random_state=0, tol=1e-5, max_iter=100_000).fit(X, target(estimator, y))
    term, there = model.terms_[3], X["city"].notna()
    shares = X["city"][there].value_counts(normalize=True)
    mean = term.coef @ [shares[level] for level in term.levels]
    parts = contributions(model, X.assign(city="Berlin"), center=False)[:, 3]
    np.testing.assert_allclose(parts.reshape(len(X), -1), np.tile(mean, (len(X), 1)))
    strict = estimator(terms={"city": Category(unseen="error")}, random_state=0)
    strict.fit(X, target(estimator, y))
    assert np.isfinite(score(strict, X)).all()
    message = r"'Berlin' in column 'city' \(first in row 2\).*'Amherst', 'Ithaca', 'Paris'"
    with pytest.raises(ValueError, match=message):
        score(strict, X.assign(city=["Paris", None] + ["Berlin"] * (len(X) - 2)))


def test_ordered_levels_are_alike_next_to_each_other():
    """D_1 over the levels in the order of the type, against a solution by hand."""
    random = np.random.default_rng(0)
    sizes = ["XS", "S", "M", "L", "XL"]
    level = random.integers(0, 5, 100)
    y = 0.5 * level + random.normal(size=100)
    X = pd.DataFrame({"size": pd.Categorical.from_codes(level, sizes, ordered=True)})
    terms = {"size": Category(ordered=True)}
    model = AdditiveRegressor(terms=terms, C=0.2, tol=EXACT).fit(X, y)
    [term] = model.terms_
    assert term.levels == tuple(sizes)
    Z = np.column_stack([np.ones(100), level[:, None] == np.arange(5)])
    D = np.eye(5) - np.eye(5, k=-1)
    penalty = np.zeros((6, 6))
    penalty[1:, 1:] = D.T @ D / 0.2
    theta = np.linalg.solve(Z.T @ Z + penalty, Z.T @ y)
    np.testing.assert_allclose(model.predict(X), Z @ theta, atol=1e-5)
    np.testing.assert_allclose(term.coef[0] + model.intercept_, theta[1:] + theta[0], atol=1e-5)
    # Plain text is in alphabetical order, and means something else.
    text = X.astype({"size": str})
    other = AdditiveRegressor(terms=terms, C=0.2, tol=EXACT).fit(text, y)
    assert other.terms_[0].levels == tuple(sorted(sizes))
    assert np.abs(other.predict(text) - model.predict(X)).max() > 0.01
    # A ridge knows no order.
    ridge = [
        AdditiveRegressor(C=0.2, tol=EXACT).fit(table, y).predict(table) for table in (X, text)
    ]
    np.testing.assert_allclose(*ridge, atol=1e-5)


@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveSVR])
def test_a_hundred_thousand_levels(estimator):
    random = np.random.default_rng(0)
    level = random.integers(0, 100_000, 300_000)
    effect = random.normal(size=100_000)
    X = pd.DataFrame({"customer": level.astype(str), "x": random.normal(size=300_000)})
    y = effect[level] + X["x"].to_numpy() ** 2 + 0.3 * random.normal(size=300_000)
    y, given = (y > 1, {}) if estimator is AdditiveClassifier else (y, {"C": 1.0})
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator(random_state=0, **given).fit(X, y)
    assert time.process_time() - began < 20.0  # about one
    n_levels = len(np.unique(level))
    assert model.terms_[0].coef.shape == (1, n_levels)
    found = model.terms_[0].coef[0]
    truth = effect[np.array(model.terms_[0].levels, dtype=int)]
    assert np.corrcoef(found, truth)[0, 1] > 0.75
    unseen = X.assign(customer="nobody")
    assert np.isfinite(score(model, unseen)).all()


def test_identifiers_are_warned_of():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=5282), "id": [f"row {k}" for k in range(5282)]})
    message = "column 'id' has 5,282 levels in 5,282 rows: an identifier, or numbers read as text?"
    with pytest.warns(UserWarning, match=re.escape(message)) as caught:
        AdditiveSVC(random_state=0, C=1.0).fit(X, X["x"] > 0)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdditiveSVC(terms={"id": "drop"}, random_state=0, C=1.0).fit(X, X["x"] > 0)
        some = X.assign(id=[f"group {k // 3}" for k in range(5282)])
        AdditiveSVC(random_state=0, C=1.0).fit(some, X["x"] > 0)


# -- gaps ------------------------------------------------------------------------------------------


def with_gaps(n_gaps, n=500, seed=0):
    """A steep line whose gaps are where the target is 1 higher than the line's mean."""
    random = np.random.default_rng(seed)
    x = random.uniform(0, 1, n)
    y = 6 * x + 0.5 * random.normal(size=n)
    x[:n_gaps] = np.nan
    y[:n_gaps] = 4.0 + 0.5 * random.normal(size=n_gaps)
    return x[:, None], y


@pytest.mark.parametrize("n_gaps", [1, 4, 100])
def test_gaps_by_hand(n_gaps):
    """coef under D_1, a gap as the mean row of the basis plus a deviation of its own."""
    X, y = with_gaps(n_gaps)
    C, n = 0.5, 8
    model = AdditiveRegressor(Spline(n, knots="uniform"), C=C, tol=EXACT).fit(X, y)
    x, gap = X[:, 0], np.isnan(X[:, 0])
    t = (x[~gap] - x[~gap].min()) / np.ptp(x[~gap]) * n
    B = np.maximum(0, 1 - np.abs(t[:, None] - np.arange(n + 1)))
    design = np.zeros((len(y), n + 3))
    design[:, 0], design[~gap, 1:-1], design[gap, 1:-1] = 1.0, B, B.mean(axis=0)
    design[gap, -1] = 1.0
    D = np.eye(n + 1) - np.eye(n + 1, k=-1)
    penalty = np.zeros((n + 3, n + 3))
    penalty[1:-1, 1:-1], penalty[-1, -1] = D.T @ D * n / C, n / C
    theta = np.linalg.solve(design.T @ design + penalty, design.T @ y)
    np.testing.assert_allclose(model.predict(X), design @ theta, atol=1e-6)
    [term] = model.terms_
    assert term.at_missing[0] == pytest.approx(theta[1:-1] @ B.mean(axis=0) + theta[-1], abs=1e-6)


@pytest.mark.parametrize("model", FIXED, ids=lambda model: type(model).__name__)
def test_few_gaps_shrink_toward_the_mean_of_the_curve(model):
    classifies = hasattr(model, "decision_function")
    shares = []
    for n_gaps in (1, 5, 100):
        X, y = with_gaps(n_gaps)
        fitted = clone(model).set_params(curve=Spline(8)).fit(X, y > 3 if classifies else y)
        [term] = fitted.terms_
        there = X[n_gaps:, 0]
        mean, left = term.evaluate(there).mean(), term.evaluate(np.array([there.min()]))[0, 0]
        right = term.evaluate(np.array([there.max()]))[0, 0]
        assert left < mean < term.at_missing[0] < right
        shares.append((term.at_missing[0] - mean) / (right - mean))
    assert shares[0] < 0.25
    assert shares[0] < 0.6 * shares[1]
    assert shares[0] < 0.6 * shares[2]


@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor])
def test_gaps_that_say_nothing_are_the_mean_with_a_chosen_smoothness(estimator):
    random = np.random.default_rng(1)
    x = random.uniform(0, 1, 2000)
    y = 2 * x + random.normal(size=2000)
    gap = random.random(2000) < 0.1
    X = np.where(gap, np.nan, x)[:, None]
    model = estimator().fit(X, y > 1 if estimator is AdditiveClassifier else y)
    [term] = model.terms_
    f = term.evaluate(x[~gap])[:, 0]
    assert abs(term.at_missing[0] - f.mean()) < 0.1 * np.ptp(f)


@by_name
@pytest.mark.parametrize("curve", [None, Fourier(2), Hermite(3), Linear()], ids=repr)
def test_a_gap_where_training_had_none_is_the_mean_of_the_curve(estimator, curve):
    random = np.random.default_rng(0)
    X = random.exponential(size=(400, 2)).astype(np.float32).astype(np.float64)
    y = np.digitize(np.log(X[:, 0]) + X[:, 1] + 0.3 * random.normal(size=400), [0.0, 1.0])
    model = estimator(curve, random_state=0, tol=1e-4, max_iter=100_000).fit(X, y)
    gaps = X.copy()
    gaps[:, 0] = np.nan
    parts = contributions(model, X, center=False).reshape(400, 2, -1)
    expected = model.intercept_ + parts[:, 0].mean(axis=0) + parts[:, 1]
    np.testing.assert_allclose(score(model, gaps).reshape(400, -1), expected, atol=1e-6)
    np.testing.assert_allclose(model.terms_[0].at_missing, parts[:, 0].mean(axis=0), atol=1e-6)
    with pytest.raises(ValueError, match=r"contains NaN in column 0 \(first in row 0\)"):
        score(estimator(curve, missing="error").fit(X, y), gaps)


@by_name
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_nan_in_a_sparse_matrix_is_a_gap(estimator, kind):
    random = np.random.default_rng(0)
    X = random.random((300, 4)) * (random.random((300, 4)) < 0.4)
    y = 2 * X[:, 0] - X[:, 1] + 0.05 * random.normal(size=300)
    X[:25, 0] = np.nan
    X[:, 3] = np.where(X[:, 3] > 0, np.nan, 0.0)  # zeros and gaps
    y = target(estimator, y)
    common = {"C": 1.0, "tol": 1e-6, "max_iter": 100_000, "random_state": 0}
    model = estimator(Spline(6), **common).fit(kind(X), y)
    dense = estimator(Spline(6, through_zero=True), **common).fit(X, y)
    np.testing.assert_allclose(score(model, kind(X)), score(dense, X), atol=1e-2)
    np.testing.assert_allclose(score(model, kind(X)), score(model, X), atol=1e-9)
    assert [term.had_missing for term in model.terms_] == [True, False, False, True]
    new = X.copy()
    new[:30, 1] = np.nan  # had none
    parts = contributions(model, new, center=False)[:30, 1]
    expected = contributions(model, X, center=False)[:, 1].mean(axis=0)
    np.testing.assert_allclose(parts, np.tile(expected, (30,) + (1,) * (parts.ndim - 1)), atol=1e-6)
    with pytest.raises(ValueError, match=r"NaN in column 0 \(first in row 0\) and 1 other column"):
        estimator(missing="error").fit(kind(X), y)


# -- with the rest of scikit-learn -----------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    """A table of text and numbers in which two columns say something."""
    X, y = frame(300)
    random = np.random.default_rng(5)
    return X.assign(noise=random.normal(size=300), dust=random.choice(["a", "b"], 300)), y > 0


@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveSVC])
def test_feature_selection_by_importances(estimator, noisy):
    X, y = noisy
    model = estimator(random_state=0)
    select = SelectFromModel(model, max_features=3, threshold=-np.inf)
    select.set_output(transform="pandas").fit(X, y)
    assert set(select.get_feature_names_out()) == {"age", "hour", "city"}
    assert not hasattr(select.estimator_, "coef_")
    # The following take tables of numbers only.
    numbers = X.drop(columns=["city", "dust"])
    rfe = RFE(model, n_features_to_select=2).fit(numbers, y)
    assert set(numbers.columns[rfe.support_]) == {"age", "hour"}
    chosen = SequentialFeatureSelector(model, n_features_to_select=2, cv=2).fit(numbers, y)
    assert set(numbers.columns[chosen.get_support()]) == {"age", "hour"}


def test_ensembles_of_tables_with_text(noisy):
    X, y = noisy
    model = AdditiveClassifier(C=1.0, random_state=0)
    stack = StackingClassifier([("curves", model), ("margins", AdditiveSVC(C=1.0))], cv=2).fit(X, y)
    assert stack.score(X, y) > 0.8
    numbers = X.drop(columns=["city", "dust"]).to_numpy()
    bag = BaggingClassifier(model, n_estimators=4, max_features=0.8, random_state=0)
    assert bag.fit(numbers, y).score(numbers, y) > 0.75
    text = BaggingClassifier(model, n_estimators=3, random_state=0)
    assert text.fit(X.to_numpy(dtype=object), y).score(X.to_numpy(dtype=object), y) > 0.8


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_behind_a_column_transformer(output, noisy):
    X, y = noisy
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), ["age", "noise"])], remainder="passthrough"
    ).set_output(transform=output)
    model = make_pipeline(columns, AdditiveClassifier(C=1.0, random_state=0)).fit(X, y)
    assert model.score(X, y) > 0.8
    kinds = {term.kind for term in model[-1].terms_}
    assert kinds == {"Spline", "Category"}


def test_terms_in_a_path_search():
    X, y = frame()
    grid = {"terms": [None, {"hour": Fourier(2, period=24)}, {"hour": "drop"}]}
    search = PathSearchCV(AdditiveRegressor(), Cs=[0.1, 1.0], param_grid=grid, cv=3).fit(X, y)
    assert search.best_params_["terms"] == grid["terms"][1]
    assert search.best_estimator_.terms_[2].kind == "Fourier"
