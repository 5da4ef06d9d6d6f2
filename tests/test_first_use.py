"""What people meet first: raw tables, odd values, other tools, and what is said about them."""

import datetime
import subprocess
import sys
import textwrap
import time
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
)
from splinear.inspection import base_value, contributions, shape_functions
from splinear.terms import Category, Spline

CLASSIFIERS = [AdditiveClassifier(C=1.0, random_state=0), AdditiveSVC(random_state=0)]
FORMS = {"list": list, "array": np.asarray, "Series": pd.Series}  # of objects
REGRESSORS = [AdditiveRegressor(C=1.0, random_state=0), AdditiveSVR(random_state=0)]


def name_of(model):
    return type(model).__name__


def make_frame(n=200):
    """Numbers, text, a flag and a category of numbers; the first two matter most."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.normal(40, 10, n),
            "color": random.choice(["red", "green", "blue"], n),
            "dose": random.integers(0, 30, n),
            "flag": random.random(n) < 0.5,
            "city": pd.Categorical(random.choice([10, 20, 30], n)),
        }
    )
    score = X["age"] - 40 + 8.0 * (X["color"] == "red") + random.normal(0, 4, n)
    return X, np.where(score > score.median(), "yes", "no")


def parameters(model):
    return model._model.parameters


# -- missing targets -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
@pytest.mark.parametrize("bad", [None, "nan", np.nan, pd.NA, np.inf], ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_a_number_that_is_missing_in_the_target(model, bad, form):
    x = np.linspace(0, 1, 20)[:, None]
    y = (2 * x[:, 0]).astype(object)
    y[7] = bad
    with pytest.raises(ValueError, match=r"y contains (NaN|infinity) \(first in row 7\)"):
        clone(model).fit(x, FORMS[form](y))
    if model in REGRESSORS[1:]:
        with pytest.raises(ValueError, match=r"\(first in row 7\)"):
            clone(model).partial_fit(x, FORMS[form](y))


@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
def test_targets_that_are_no_numbers(model):
    x = np.linspace(0, 1, 20)[:, None]
    with pytest.raises(ValueError, match="y must hold numbers, but row 3 holds 'many'"):
        clone(model).fit(x, [0.5, 1.5, 2.5, "many", *range(16)])
    with pytest.raises(ValueError, match="it holds dates or times"):
        clone(model).fit(x, pd.date_range("2020", periods=20))
    masked = np.ma.masked_array(x[:, 0], mask=np.arange(20) == 7)
    with pytest.raises(ValueError, match=r"NaN \(first in row 7\)"):
        clone(model).fit(x, masked)
    nullable = pd.Series(x[:, 0]).astype("Float64")
    nullable[7] = pd.NA
    with pytest.raises(ValueError, match=r"NaN \(first in row 7\)"):
        clone(model).fit(x, nullable)
    text = pd.Series(x[:, 0]).astype(str)  # numbers that were read as text are numbers
    assert_array_equal(
        clone(model).fit(x, text).predict(x), clone(model).fit(x, x[:, 0]).predict(x)
    )


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize("bad", [None, np.nan, pd.NA], ids=repr)
@pytest.mark.parametrize("kind", [int, bool, str], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_a_class_that_is_missing(model, bad, kind, form):
    x = np.linspace(0, 1, 20)[:, None]
    y = (x[:, 0] > 0.5).astype(kind).astype(object)
    y[7] = bad
    with pytest.raises(ValueError, match=r"y contains NaN \(first in row 7\).*needs a class"):
        clone(model).fit(x, FORMS[form](y))


def test_missing_classes_of_other_types():
    x = np.linspace(0, 1, 20)[:, None]
    y = pd.Series(x[:, 0] > 0.5)
    for dtype in ("Int64", "boolean", "string", "category"):
        wrong = y.astype(int).astype(dtype) if dtype != "boolean" else y.astype(dtype)
        AdditiveSVC().fit(x, wrong)
        wrong[7] = None
        with pytest.raises(ValueError, match=r"y contains NaN \(first in row 7\)"):
            AdditiveSVC().fit(x, wrong)
    labels = np.column_stack([y, ~y]).astype(float)
    labels[7, 1] = np.nan
    for wrong in (labels, labels.astype(object), np.ma.masked_invalid(labels)):
        with pytest.raises(ValueError, match=r"y contains NaN \(first in row 7\)"):
            AdditiveSVC().fit(x, wrong)
    with pytest.raises(ValueError, match=r"y contains NaN \(first in row 7\)"):
        PathSearchCV(AdditiveSVC(), Cs=2).fit(x, y.astype(float).mask(y.index == 7))


# -- one gap ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "Cs"),
    [(AdditiveSVC(random_state=0), [0.1, 1.0]), (AdditiveClassifier(random_state=0), [None, 1.0])],
    ids=["AdditiveSVC", "AdditiveClassifier"],
)
def test_a_search_over_folds_of_which_one_has_the_gap(model, Cs):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6].copy()
    X[7, 3] = np.nan
    search = GridSearchCV(model, {"C": Cs}, cv=3, error_score="raise").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert (scores > 0.85).all()
    assert np.isfinite(cross_val_score(model, pd.DataFrame(X), y, error_score="raise")).all()
    path = PathSearchCV(AdditiveSVC(random_state=0), Cs=[0.1, 1.0], cv=3).fit(X, y)
    assert np.isfinite(path.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_a_gap_that_was_not_there_in_training_counts_as_the_mean(model):
    X, y = make_frame()
    model = clone(model).fit(X, y)
    parts = contributions(model, X, center=False)
    for j, name in enumerate(X.columns):
        row = X.head(1).astype(object)
        row[name] = None
        expected = model.decision_function(X.head(1)) - parts[0, j] + parts[:, j].mean()
        assert_allclose(model.decision_function(row), expected, atol=1e-4)


# -- a raw table -----------------------------------------------------------------------------------


def make_churn(n=5282):
    """21 columns as they come from a file: an identifier, text, flags, numbers, and 11 blanks."""
    random = np.random.default_rng(0)

    def yes(share):
        return np.where(random.random(n) < share, "Yes", "No")

    months = random.integers(0, 73, n)
    monthly = random.uniform(18, 119, n).round(2)
    total = (months * monthly).round(2).astype(str).astype(object)
    total[random.choice(n, 11, replace=False)] = " "
    contract = random.choice(["Month-to-month", "One year", "Two year"], n)
    services = {
        f"service {k}": random.choice(["Yes", "No", "No internet service"], n) for k in range(6)
    }
    X = pd.DataFrame(
        {
            "customerID": [f"{k:04d}-{random.integers(10_000, 99_999)}" for k in range(n)],
            "gender": random.choice(["Male", "Female"], n),
            "SeniorCitizen": random.integers(0, 2, n),
            "Partner": yes(0.5),
            "Dependents": yes(0.3),
            "tenure": months,
            "PhoneService": yes(0.9),
            "MultipleLines": random.choice(["Yes", "No", "No phone service"], n),
            "InternetService": random.choice(["DSL", "Fiber optic", "No"], n),
            **services,
            "Contract": contract,
            "PaperlessBilling": yes(0.6),
            "PaymentMethod": random.choice(["check", "mail", "bank", "card"], n),
            "MonthlyCharges": monthly,
            "TotalCharges": total,
            "IsActive": random.random(n) < 0.5,
        }
    )
    score = (monthly - 60) / 30 - months / 20 + 2.0 * (contract == "Month-to-month")
    return X, np.where(score + random.logistic(size=n) > 0, "Yes", "No")


def test_a_raw_table():
    X, y = make_churn()
    assert X.shape == (5282, 21)
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AdditiveClassifier(random_state=0).fit(X, y)
    assert time.process_time() - began < 20  # about three
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2
    assert said[1].startswith(
        "column 'TotalCharges' is read as categories, but 5,271 of 5,282 values are numbers; the "
        "others are ' '."
    )
    assert "has 5,282 levels in 5,282 rows: an identifier, or numbers read as text?" in said[0]
    assert model.classes_.tolist() == ["No", "Yes"]
    assert model.score(X, y) > 0.75
    # What they ask for can be done, by the model or before.
    X["TotalCharges"] = pd.to_numeric(X["TotalCharges"], errors="coerce")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = AdditiveClassifier(terms={"customerID": "drop"}, random_state=0).fit(X, y)
    assert len(better.terms_) == 20
    assert better.terms_[18].name == "TotalCharges"
    assert better.terms_[18].had_missing
    assert_array_equal(
        better.predict(X.assign(customerID=None)), better.predict(X.assign(customerID=7))
    )


@pytest.mark.parametrize("kind", ["text", "dates", "NaN", "infinity"])
def test_dropped_features_may_hold_anything(kind):
    X, y = make_frame()
    day = pd.date_range("2020", periods=len(X))
    held = {"text": day.astype(str), "dates": day, "NaN": np.nan, "infinity": np.inf}[kind]
    for table in (X, X[["age", "dose"]]):
        wide = table.assign(extra=held)
        model = AdditiveSVC(terms={"extra": "drop"}, missing="error", random_state=0).fit(wide, y)
        plain = AdditiveSVC(random_state=0).fit(table, y)
        assert_array_equal(model.decision_function(wide), plain.decision_function(table))
        assert_array_equal(
            model.decision_function(wide.assign(extra="?")), plain.decision_function(table)
        )
        parts = contributions(model, wide)
        assert_array_equal(parts[:, -1], 0)
    rows = wide.to_numpy(object)
    model = AdditiveSVC(terms={2: "drop"}, random_state=0).fit(rows, y)
    assert_array_equal(model.decision_function(rows), plain.decision_function(table))
    assert_array_equal(model.decision_function(rows.tolist()), plain.decision_function(table))


# -- reasons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_reasons_are_deviations_from_the_mean(model):
    """A feature that adds the same to all rows is no reason, however much it adds."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"flat": np.full(400, 5.0), "x": random.normal(size=400)})
    X["rare"] = np.where(random.random(400) < 0.02, "seldom", "mostly")
    y = X["x"] + 3 * (X["rare"] == "seldom") + random.normal(0, 0.3, 400) > 0
    model = clone(model).fit(X, y)
    parts, raw = contributions(model, X), contributions(model, X, center=False)
    assert_allclose(parts, raw - raw.mean(axis=0), atol=1e-4)
    assert_allclose(base_value(model) + parts.sum(axis=1), model.decision_function(X), atol=1e-9)
    assert_allclose(model.intercept_[0] + raw.sum(axis=1), model.decision_function(X), atol=1e-9)
    assert base_value(model) == pytest.approx(model.decision_function(X).mean(), abs=1e-4)
    assert_allclose(parts[:, 0], 0, atol=1e-12)
    seldom = np.flatnonzero((X["rare"] == "seldom") & (X["x"].abs() < 0.2))
    assert len(seldom)
    assert (np.abs(parts[seldom]).argmax(axis=1) == 2).all()
    usual = np.flatnonzero((X["rare"] == "mostly") & (X["x"].abs() > 1))
    assert (np.abs(parts[usual]).argmax(axis=1) == 1).all()


# -- other tools -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize("form", ["frame", "array of objects"])
def test_tools_of_scikit_learn_on_text(model, form):
    X, y = make_frame()
    X = X if form == "frame" else X.to_numpy(object)
    chosen = SelectFromModel(model).fit(X, y)
    assert chosen.get_support().tolist() == [True, True, False, False, False]
    steps = make_pipeline(clone(chosen), clone(model)).fit(X, y)
    assert steps.score(X, y) > 0.75
    bags = BaggingClassifier(model, n_estimators=3, max_features=0.8, random_state=0).fit(X, y)
    assert bags.score(X, y) > 0.75
    scale = ColumnTransformer([("scale", StandardScaler(), [0])], remainder="passthrough")
    scaled = make_pipeline(scale, clone(model)).fit(X, y)
    assert scaled.score(X, y) > 0.8
    stack = StackingClassifier([("a", model), ("b", clone(model).set_params(C=0.1))], cv=2)
    assert stack.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_tools_of_scikit_learn_on_numbers(model):
    X, y = make_frame()
    X = X[["dose", "age", "flag"]]
    for tool in (RFE, SequentialFeatureSelector):
        chosen = tool(clone(model), n_features_to_select=1).fit(X, y)
        assert chosen.get_support().tolist() == [False, True, False]


def test_what_scikit_learn_sets_survives_a_fit():
    X, y = make_frame()
    with config_context(enable_metadata_routing=True):
        model = AdditiveSVC(random_state=0).set_fit_request(sample_weight=True).fit(X, y)
        assert clone(model).get_metadata_routing().fit.requests["sample_weight"] is True
        assert model.partial_fit(X, y).get_metadata_routing().fit.requests["sample_weight"] is True


def test_arrays_of_objects_are_tables():
    X, y = make_frame()
    X = X[["age", "color", "dose", "flag"]]
    expected = AdditiveSVC(random_state=0).fit(X, y)
    rows = X.to_numpy(object)
    for table in (rows, rows.tolist(), [tuple(row) for row in rows.tolist()]):
        model = AdditiveSVC(random_state=0).fit(table, y)
        assert [term.kind for term in model.terms_] == ["Spline", "Category", "Spline", "Spline"]
        assert_array_equal(parameters(model), parameters(expected))
        assert_array_equal(model.decision_function(table), expected.decision_function(X))
        model.partial_fit(table, y)
    numbers = X[["age", "dose"]].to_numpy(object)
    assert [term.kind for term in AdditiveSVC().fit(numbers, y).terms_] == ["Spline", "Spline"]
    for gap in (None, np.nan, pd.NA):
        rows[3, 0] = rows[4, 1] = gap
        model = AdditiveSVC(random_state=0).fit(rows, y)
        assert [term.had_missing for term in model.terms_] == [True, True, False, False]
        assert_array_equal(model.predict(rows.tolist()), model.predict(rows))
        numbers[5, 1] = gap
        model = AdditiveSVC(random_state=0).fit(numbers, y)
        assert [term.had_missing for term in model.terms_] == [False, True]
        assert_array_equal(model.predict(numbers.tolist()), model.predict(numbers))
    text = X[["color"]].to_numpy(str)
    assert AdditiveSVC().fit(text, y).terms_[0].levels == ("blue", "green", "red")


# -- messages --------------------------------------------------------------------------------------


def test_a_gap_is_reported_in_the_users_columns():
    X, y = make_frame()
    bad = X.copy()
    bad.loc[5, "color"] = None
    with pytest.raises(ValueError, match=r"NaN in column 'color' \(first in row 5\); Addit"):
        AdditiveClassifier(missing="error").fit(bad, y)
    bad.loc[3, "age"] = np.nan
    message = r"NaN in column 'age' \(first in row 3\) and 1 other column; "
    with pytest.raises(ValueError, match=message):
        AdditiveClassifier(missing="error").fit(bad, y)


def test_an_empty_frame_has_a_shape():
    X, y = make_frame()
    for table, shape in ((X, r"\(0, 5\)"), (X[["age", "dose"]], r"\(0, 2\)")):
        model = AdditiveSVC(random_state=0).fit(table, y)
        with pytest.raises(ValueError, match=rf"0 sample\(s\) \(shape={shape}\)"):
            model.predict(table.head(0))
        with pytest.raises(ValueError, match=rf"0 sample\(s\) \(shape={shape}\)"):
            AdditiveSVC().fit(table.head(0), y[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(200, 0\)\)"):
        AdditiveSVC().fit(X[[]], y)


def test_one_name_is_no_list():
    X, y = make_frame()
    model = AdditiveSVC(random_state=0).fit(X, y)
    message = r"features must be a list of names or positions; .*Write \['age'\]"
    with pytest.raises(TypeError, match=message):
        shape_functions(model, features="age")
    pytest.importorskip("matplotlib")
    from splinear.plotting import CurvesDisplay

    with pytest.raises(TypeError, match=message):
        CurvesDisplay.from_estimator(model, X, features="age")


def test_columns_in_another_order():
    X, y = make_frame()
    for table in (X, X[["age", "dose", "flag"]]):
        model = AdditiveSVC(random_state=0).fit(table, y)
        for act in (model.predict, lambda X, model=model: model.partial_fit(X, y)):
            with pytest.raises(ValueError, match="must be in the same order"):
                act(table[table.columns[::-1]])
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(table.rename(columns={"age": "years"}))


def test_files_are_matched_by_name(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = make_frame()
    model = AdditiveSVC(random_state=0).fit(X, y)
    X[X.columns[::-1]].assign(more="?").to_parquet(tmp_path / "x.parquet")
    assert_array_equal(model.predict(tmp_path / "x.parquet"), model.predict(X))


# -- dates and times -------------------------------------------------------------------------------

DAYS = pd.date_range("2020-01-01", periods=200)
DATES = {
    "datetime.date": [day.date() for day in DAYS],
    "datetime.datetime": pd.Series([day.to_pydatetime() for day in DAYS], dtype=object),
    "datetime.time": [datetime.time(day.day % 24) for day in DAYS],
    "datetime.timedelta": pd.Series([datetime.timedelta(k) for k in range(200)], dtype=object),
    "datetime64": DAYS,
    "with a time zone": DAYS.tz_localize("UTC"),
    "timedelta64": DAYS - DAYS[0],
    "Period": DAYS.to_period("D"),
    "Period objects": pd.Series(list(DAYS.to_period("D")), dtype=object),
    "Interval": pd.interval_range(0, 200),
}


@pytest.mark.parametrize("kind", DATES)
@pytest.mark.parametrize("more", [["age"], ["age", "color"]], ids=" and ".join)
def test_dates_are_refused_by_name(kind, more):
    X, y = make_frame()
    bad = X[more].assign(when=DATES[kind])
    message = r"intervals: when\. Use numbers instead, for example days .*; or text, to have cat"
    for model in (AdditiveClassifier(), AdditiveClassifier(categorical_features=["when"])):
        with pytest.raises(ValueError, match=message):
            model.fit(bad, y)
    numbers = X[more].assign(when=np.arange(200.0))
    model = AdditiveSVC(random_state=0).fit(numbers, y)
    with pytest.raises(ValueError, match=message):
        model.predict(bad)
    with pytest.raises(ValueError, match=rf"times or intervals: column {len(more)}\. Use"):
        AdditiveClassifier().fit(bad.to_numpy(object), y)


def test_names_that_are_numbers_are_positions():
    """As in scikit-learn, where names count only if all of them are text."""
    X, y = make_frame()
    numbered = pd.DataFrame({1: X["age"], 0: DAYS})
    with pytest.raises(ValueError, match=r"times or intervals: column 1\. Use"):
        AdditiveClassifier().fit(numbered, y)
    lists = pd.DataFrame({1: X["age"], 0: [[k] for k in range(len(X))]})
    with pytest.raises(TypeError, match=r"hold other objects: column 1\. Every"):
        AdditiveClassifier(categorical_features=None).fit(lists, y)
    colors = pd.DataFrame({1: X["age"], 0: X["color"]})
    by_position = AdditiveClassifier(C=1.0, categorical_features=[1]).fit(colors, y)
    assert [term.levels is None for term in by_position.terms_] == [True, False]


def test_repeated_names_are_refused():
    pa = pytest.importorskip("pyarrow")
    X, y = make_frame()
    for frame in (X[["age", "age"]], pa.table([X["age"]] * 2, names=["age", "age"])):
        with pytest.raises(ValueError, match=r"several columns of the same name.*'age' 2"):
            AdditiveClassifier().fit(frame, y)


def test_arrays_of_dates():
    _, y = make_frame()
    dates = DAYS.to_numpy()[:, None].astype("M8[s]")  # a list of nanoseconds would be numbers
    model = AdditiveSVC(random_state=0).fit(np.arange(200.0)[:, None], y)
    masked = np.ma.masked_array(dates, mask=np.arange(200)[:, None] == 3)
    listed = [[day.date()] for day in DAYS]
    for wrong in (dates, dates - dates[0], dates.tolist(), listed, masked):
        with pytest.raises(ValueError, match="times or intervals: column 0"):
            AdditiveSVC().fit(wrong, y)
        with pytest.raises(ValueError, match="times or intervals: column 0"):
            model.predict(wrong)


def test_categories_of_dates_are_no_numbers():
    X, y = make_frame()
    by_month = X.assign(month=pd.Categorical(DAYS.to_period("M")), size=pd.cut(X["age"], 3))
    model = AdditiveSVC(random_state=0).fit(by_month, y)
    assert len(model.terms_[-2].levels) == 7
    assert len(model.terms_[-1].levels) == 3
    dates = pd.Categorical(DAYS)
    with pytest.raises(ValueError, match="these columns hold text or categories: age"):
        model.predict(by_month.assign(age=dates))
    with pytest.raises(ValueError, match="these columns hold text or categories: age"):
        AdditiveSVC().fit(X[["age"]], y).predict(pd.DataFrame({"age": dates}))


def test_other_numbers():
    """Decimals, as they come from a database, are numbers; complex numbers are not."""
    X, y = make_frame()
    exact = X.assign(age=[Decimal(repr(age)) for age in X["age"]])
    for columns in (["age"], ["age", "color"]):
        model = AdditiveSVC(random_state=0).fit(exact[columns], y)
        plain = AdditiveSVC(random_state=0).fit(X[columns], y)
        assert_array_equal(parameters(model), parameters(plain))
    for wrong in (X["age"] * 1j, (X["age"] * 1j).astype(object)):
        with pytest.raises(ValueError, match="these columns hold complex numbers: age"):
            AdditiveSVC().fit(X.assign(age=wrong), y)
        with pytest.raises(ValueError, match="these columns hold complex numbers: age"):
            AdditiveSVC().fit(X, y).predict(X.assign(age=wrong))


# -- gaps of other types ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, int, object])
def test_what_is_masked_is_missing(dtype):
    X, y = make_frame()
    columns = ["age", "dose"] if dtype is not object else ["age", "color", "dose"]
    values = X[columns].to_numpy(dtype)
    mask = np.random.default_rng(1).random(values.shape) < 0.1
    masked = np.ma.masked_array(values, mask=mask)
    plain = np.where(mask, None if dtype is object else np.nan, values)
    plain = plain.astype(np.float64 if dtype is int else dtype)
    for listed in ("from_dtype", [1]):
        model = AdditiveSVC(categorical_features=listed, random_state=0).fit(masked, y)
        expected = AdditiveSVC(categorical_features=listed, random_state=0).fit(plain, y)
        assert all(term.had_missing for term in model.terms_)
        assert_array_equal(parameters(model), parameters(expected))
        assert_array_equal(expected.decision_function(masked), expected.decision_function(plain))
    with pytest.raises(ValueError, match="NaN in column 0"):
        AdditiveSVC(missing="error").fit(masked, y)
    search = PathSearchCV(AdditiveSVC(random_state=0), Cs=[1.0], cv=2)
    assert_array_equal(search.fit(masked, y).predict(masked), search.fit(plain, y).predict(plain))


def with_gaps():
    X, y = make_frame()
    X = X[["age", "color", "dose", "flag"]].astype({"dose": float, "flag": float})
    return X.mask(np.random.default_rng(1).random(X.shape) < 0.1), y


@pytest.mark.parametrize("columns", [["age", "dose", "flag"], ["age", "color", "dose", "flag"]])
def test_types_of_pandas_with_a_value_for_what_is_missing(columns):
    X, y = with_gaps()
    nullable = X.astype({"age": "Float64", "color": "string", "dose": "Int64", "flag": "boolean"})
    expected = AdditiveSVC(random_state=0).fit(X[columns], y)
    objects = nullable.astype(object)
    assert any(value is pd.NA for value in objects["dose"])
    for table in (nullable[columns], objects[columns]):
        model = AdditiveSVC(random_state=0).fit(table, y)
        assert_array_equal(parameters(model), parameters(expected))
        assert_array_equal(model.decision_function(table), expected.decision_function(X[columns]))
        assert_array_equal(expected.decision_function(table), model.decision_function(X[columns]))
        with pytest.raises(ValueError, match="NaN in column 'age'"):
            AdditiveSVC(missing="error").fit(table, y)


@pytest.mark.parametrize("columns", [["age", "dose", "flag"], ["age", "color", "dose", "flag"]])
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries(library, columns):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y = with_gaps()
    nullable = X.astype({"dose": "Int64", "flag": "boolean"})

    def table_of(frame):
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        return polars.from_arrow(table) if library == "polars" else table

    table = table_of(nullable[columns])
    expected = AdditiveSVC(random_state=0).fit(X[columns], y)
    target = polars.Series(y) if library == "polars" else pyarrow.array(y)
    model = AdditiveSVC(random_state=0).fit(table, target)
    assert_array_equal(parameters(model), parameters(expected))
    assert model.feature_names_in_.tolist() == columns
    assert_array_equal(model.decision_function(table), expected.decision_function(X[columns]))
    assert_array_equal(expected.decision_function(table), expected.decision_function(X[columns]))
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(table_of(nullable[columns[::-1]]))
    with pytest.raises(ValueError, match="times or intervals: when"):
        AdditiveSVC().fit(table_of(X[columns].assign(when=DAYS)), y)
    with pytest.raises(ValueError, match="times or intervals: when"):
        AdditiveSVC().fit(table_of(X[columns].assign(when=DATES["datetime.date"])), y)
    if library == "polars":
        with pytest.raises(TypeError, match=r"X is a LazyFrame, .*use X.collect\(\)"):
            AdditiveSVC().fit(table.lazy(), y)


WITHOUT_PANDAS = """
    import sys

    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "pandas":
                raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    sys.meta_path.insert(0, Blocked())
    import numpy as np
    import polars as pl
    from splinear import AdditiveSVC

    def refused(act, said):
        try:
            act()
        except ValueError as error:
            assert said in str(error), error
        else:
            raise AssertionError(said)

    random = np.random.default_rng(0)
    X = pl.DataFrame({"age": random.normal(size=100), "dose": random.integers(0, 9, 100)})
    X = X.with_columns(dose=pl.when(X["dose"] == 3).then(None).otherwise(X["dose"]))
    y = X["age"].to_numpy() > 0
    text = X.with_columns(place=pl.Series(["here", "there", None, "here"] * 25))
    for table in (X, text, text.to_arrow()):
        model = AdditiveSVC(random_state=0).fit(table, y)
        assert model.feature_names_in_[:2].tolist() == ["age", "dose"]
        assert [term.had_missing for term in model.terms_] == [False, True, True][: table.shape[1]]
        assert model.score(table, y) > 0.9
        names = table.columns if hasattr(table, "dtypes") else table.column_names
        refused(lambda: model.predict(table.select(names[::-1])), "same order")
    assert model.terms_[2].levels == ("here", "there")
    day = text.with_columns(day=pl.date(2020, 1, 1))
    refused(lambda: AdditiveSVC().fit(day, y), "times or intervals: day")
    AdditiveSVC(terms={"day": "drop", "place": "drop"}).fit(day, y).predict(day)
    assert "pandas" not in sys.modules
    print("well")
"""


def test_polars_without_pandas():
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT_PANDAS)], capture_output=True, text=True
    )
    assert ran.stdout == "well\n", ran.stderr


# -- levels of another type ------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["list", "type", "term"])
def test_levels_that_have_become_text(by):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=100), "code": random.integers(0, 2, 100)})
    y = X["code"] == 1
    as_type = X.astype({"code": "category"}) if by == "type" else X
    options = {"list": {"categorical_features": ["code"]}, "term": {"terms": {"code": Category()}}}
    model = AdditiveSVC(random_state=0, **options.get(by, {})).fit(as_type, y)
    assert model.score(as_type, y) == 1.0
    for same in (X.astype({"code": float}), X.astype({"code": bool}), X.astype({"code": object})):
        assert model.score(same, y) == 1.0
    message = r"column 'code' holds '[01]', which is text, but its levels in fit are not text: 0, 1"
    with pytest.warns(UserWarning, match=message):
        parts = contributions(model, X.astype({"code": str}))
    assert_allclose(parts[:, 1], 0, atol=1e-12)
    with pytest.warns(UserWarning, match=message):
        model.predict(X.astype({"code": str}))
    text = AdditiveSVC(random_state=0).fit(X.astype({"code": str}), y)
    message = r"column 'code' holds [01], which is not text, but its levels in fit are text: '0'"
    with pytest.warns(UserWarning, match=message):
        text.predict(X)


# -- LIBSVM files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_the_base_of_a_libsvm_file_is_learned(model, tmp_path):
    random = np.random.default_rng(0)
    X = random.poisson(1.0, (300, 5)).astype(float)
    y = (X[:, 1] > X[:, 2]).astype(int)
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    dump_svmlight_file(X, y, str(train), zero_based=True)
    less = X[:80].copy()
    less[:, 0] = 0.0  # no index 0 in this file
    dump_svmlight_file(less, y[:80], str(test), zero_based=True)
    model = clone(model).fit(train)
    rows = csr_array(less)
    assert_allclose(model.decision_function(test), model.decision_function(rows), atol=1e-9)
    assert model.score(test) == model.score(rows, y[:80]) > 0.9
    assert_allclose(contributions(model, test), contributions(model, rows), atol=1e-9)


def test_a_libsvm_file_read_as_a_dense_one(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4)).round(3)
    y = (X[:, 1] > 0).astype(int)
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=True)
    model = AdditiveSVC(Spline(through_zero=False), random_state=0).fit(tmp_path / "x.svm")
    dense = AdditiveSVC(random_state=0).fit(X, y)
    assert_array_equal(parameters(model), parameters(dense))
    X[:, 0] = 0.0
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=True)
    scores = model.decision_function(tmp_path / "x.svm")
    assert_allclose(scores, dense.decision_function(X), atol=1e-9)


def test_every_module_is_there_after_one_import():
    """Those that few need are read on first use."""
    lines = [
        "import sys, splinear",
        "assert not {'splinear.plotting', 'splinear.datasets', 'matplotlib'} & set(sys.modules)",
        "assert {'plotting', 'datasets', 'features', 'dask', 'report'} <= set(dir(splinear))",
        "print(splinear.plotting.CurvesDisplay.__name__, splinear.datasets.load_disk.__name__)",
        "print(splinear.features.GradientPyramid.__name__, hasattr(splinear, 'plots'))",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["CurvesDisplay", "load_disk", "GradientPyramid", "False"]
