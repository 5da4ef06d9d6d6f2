import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.inspection import (
    band,
    base_value,
    contributions,
    explain,
    standard_error,
    term_names,
)
from splinear.terms import Category

Z95 = 1.959963984540054


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    n = 500
    X = pd.DataFrame(
        {
            "note": [f"note {i}" for i in range(n)],
            "a": random.uniform(-1, 1, n),
            "b": random.uniform(-1, 1, n),
            "gap": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n)),
            "kind": random.choice(["u", "v", None], n, p=[0.5, 0.3, 0.2]),
            "flag": random.random(n) < 0.5,
        }
    )
    score = 2 * X["a"] + 3 * X["a"] * X["b"] + X["gap"].isna() + (X["kind"] == "u")
    return X, score.to_numpy() + random.normal(size=n)


OPTIONS = {"terms": {"note": "drop"}, "random_state": 0}


def fitted(kind, table, labels=None, **options):
    X, y = table
    target = y if labels is None else np.asarray(labels)[np.digitize(y, np.quantile(y, CUTS))]
    return kind(**OPTIONS, **options).fit(X, target)


CUTS = [0.3, 0.7]


@pytest.fixture(scope="module")
def models(table):
    X, y = table
    two = np.where(y > 1, "yes", "no")
    pairs = {"interactions": [("a", "b")]}
    return {
        "two": AdditiveClassifier(**OPTIONS, **pairs).fit(X, two),
        "three": fitted(AdditiveClassifier, table, ["p", "q", "r"], **pairs),
        "labels": AdditiveClassifier(**OPTIONS).fit(X, np.column_stack([y > 0, y > 1, y > 2])),
        "svc": AdditiveSVC(**OPTIONS).fit(X, two),
        "svc of three": fitted(AdditiveSVC, table, ["p", "q", "r"]),
        "number": AdditiveRegressor(**OPTIONS, **pairs).fit(X, y),
        "count": AdditiveRegressor(loss="poisson", **OPTIONS).fit(X, np.exp(0.3 * y)),
        "svr": AdditiveSVR(**OPTIONS).fit(X, y),
    }


NAMES = ["two", "three", "labels", "svc", "svc of three", "number", "count", "svr"]


@pytest.mark.parametrize("name", NAMES)
def test_base_and_contributions_sum_up_to_the_score(models, table, name):
    X, model = table[0].head(50), models[name]
    found = explain(model, X)
    if hasattr(model, "decision_function"):
        score = model.decision_function(X)
    else:
        score = np.log(model.predict(X)) if name == "count" else model.predict(X)
    np.testing.assert_allclose(found.score, score, rtol=1e-12, atol=1e-12)
    total = found.base_value + found.contribution.sum(axis=1)
    np.testing.assert_allclose(total, score, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(found.prediction, model.predict(X))
    assert len(found) == 50


@pytest.mark.parametrize("name", NAMES)
def test_terms_are_those_of_contributions_without_dropped_features(models, table, name):
    X, model = table[0].head(20), models[name]
    found = explain(model, X)
    names = term_names(model)
    assert found.terms == tuple(names[1:])
    np.testing.assert_array_equal(found.contribution, contributions(model, X)[:, 1:])
    np.testing.assert_array_equal(found.base_value, base_value(model))


@pytest.mark.parametrize("name", ["two", "three", "labels"])
def test_probabilities_are_those_of_the_model(models, table, name):
    X, model = table[0].head(20), models[name]
    expected = model.predict_proba(X)
    expected = expected[:, 1] if name == "two" else expected
    np.testing.assert_allclose(explain(model, X).probability, expected, rtol=1e-14)
    for k, label in enumerate(model.classes_[-1:] if name == "two" else model.classes_):
        one = explain(model, X, target=label).probability
        np.testing.assert_array_equal(one, expected if name == "two" else expected[:, k])


@pytest.mark.parametrize("name", ["svc", "svc of three", "svr"])
def test_what_has_no_likelihood_has_no_errors(models, table, name):
    found = explain(models[name], table[0].head(3))
    assert found.standard_error is None
    assert found.score_error is None
    assert found.probability is None
    assert np.isnan(found.reasons().score_error)
    assert "±" not in str(found)
    assert "standard_error" not in found.to_frame()


@pytest.mark.parametrize("name", ["two", "three", "labels", "count"])
def test_errors_are_those_of_bands(models, table, name):
    X, model = table[0].head(30), models[name]
    found = explain(model, X)
    np.testing.assert_array_equal(found.score_error, standard_error(model, X))
    for feature in ("a", "gap", "kind"):
        values = X[feature].tolist()
        if feature == "kind":
            values = [None if pd.isna(value) else value for value in values]
        _, lower, upper = band(model, feature, grid=values)
        if name == "count":  # by Student's t
            continue
        errors = found.standard_error[:, found.terms.index(feature)]
        np.testing.assert_allclose(errors, (upper - lower) / 2 / Z95, rtol=1e-9)
    if "a × b" in found.terms:
        _, _, lower, upper = band(model, ("a", "b"), grid=(X["a"], X["b"]))
        expected = np.einsum("ii...->i...", upper - lower) / 2 / Z95
        errors = found.standard_error[:, found.terms.index("a × b")]
        np.testing.assert_allclose(errors, expected, rtol=1e-9)


def test_targets_choose_outputs(models, table):
    X, model = table[0].head(10), models["three"]
    whole = explain(model, X)
    assert whole.targets == ("p", "q", "r")
    assert whole.contribution.shape == (10, 6, 3)
    some = explain(model, X, target=["r", "p"])
    assert some.targets == ("r", "p")
    for name in ("contribution", "standard_error", "score", "score_error", "probability"):
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[..., [2, 0]])
    one = explain(model, X, target="q")
    assert one.contribution.shape == (10, 6)
    assert one.base_value == whole.base_value[1]
    with pytest.raises(ValueError, match=r"no target 's'. The classes are 'p', 'q', 'r'"):
        explain(model, X, target="s")
    with pytest.raises(ValueError, match="empty list"):
        explain(model, X, target=[])


def test_values_are_what_the_rows_hold(models, table):
    X = table[0].head(40)
    values = explain(models["two"], X).values
    for j, name in enumerate(X.columns[1:], start=1):
        expected = [None if pd.isna(value) else value for value in X[name].tolist()]
        assert values[:, j].tolist() == expected
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(
        explain(models["two"], polars.from_pandas(X)).values[:, 1:], values[:, 1:]
    )


def test_an_unseen_level_is_named(models, table):
    found = explain(models["two"], table[0].head(1).assign(kind="new"))
    assert found.values[0, 4] == "new"
    assert "new" in {reason.value for reason in found.reasons().terms}


def test_reasons_are_in_the_order_of_their_size(models, table):
    X = table[0].head(5)
    found = explain(models["two"], X)
    for row in range(5):
        reasons = found.reasons(row, top=3)
        parts = found.contribution[row]
        sizes = [abs(reason.contribution) for reason in reasons.terms]
        assert sizes == sorted(np.abs(parts), reverse=True)[:3]
        assert reasons.n_others == len(parts) - 3
        total = reasons.base + sum(r.contribution for r in reasons.terms) + reasons.rest
        assert total == pytest.approx(reasons.score, abs=1e-12)
    assert found.reasons(0, top=5).n_others == 0  # one term alone is no rest
    assert found.reasons(-1).row == 4


def test_of_several_outputs_that_of_the_highest_score(models, table):
    found = explain(models["three"], table[0].head(20))
    for row in range(20):
        reasons = found.reasons(row)
        assert reasons.unit == f"relative log-odds of {found.prediction[row]}"
        assert reasons.probability == found.probability[row].max()
        assert found.reasons(row, target="q").unit == "relative log-odds of q"
    with pytest.raises(ValueError, match=r"no target 7 .*'p', 'q', 'r'"):
        found.reasons(0, target=7)


@pytest.mark.parametrize("row", [20, -21, 0.5, None])
def test_rows_that_do_not_exist(models, table, row):
    found = explain(models["two"], table[0].head(20))
    with pytest.raises(IndexError, match="rows are 0 to 19"):
        found.reasons(row)


@pytest.mark.parametrize("name", NAMES)
def test_frames_sum_up_to_the_score(models, table, name):
    found = explain(models[name], table[0].head(6))
    frame = found.to_frame()
    keys = ["row", "target"] if found.targets else ["row"]
    totals = frame.groupby(keys, sort=False)["contribution"].sum()
    np.testing.assert_allclose(totals, found.score.ravel(), atol=1e-9)
    assert len(frame) == found.score.size * (len(found.terms) + 1)
    line = frame[(frame["row"] == 4) & (frame["term"] == "gap")].iloc[0]
    expected = table[0]["gap"].iloc[4]
    assert pd.isna(line["value"]) if pd.isna(expected) else line["value"] == expected


def test_frames_without_pandas(models, table, monkeypatch):
    found = explain(models["two"], table[0].head(2))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'splinear\[data\]'"):
        found.to_frame()


def test_text_tells_values_and_numbers(models, table):
    text = str(explain(models["two"], table[0].head(5), class_names=["never", "always"]))
    found = explain(models["two"], table[0].head(1))
    assert repr(found).startswith("Row 0: ")
    assert repr(found.reasons(0)).startswith("Row 0: ")
    assert "log-odds of always" in text
    assert text.count("base value") == 3
    assert "... and 2 more rows" in text
    first = models["two"].predict(table[0].head(1))[0]
    assert f"Row 0: {'always' if first == 'yes' else 'never'} (probability of always" in text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b", "two\nlines", "\x1b[31m"])
def test_names_and_levels_stay_text(name):
    X = pd.DataFrame({name: [0.0, 1.0, 2.0, 3.0] * 20, "level": [name, "b"] * 40})
    y = np.array([name, "c"] * 40)
    y[::3] = "c"
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, y)
    found = explain(model, X.head(2), class_names=[name, name])
    page, text = found._repr_html_(), str(found)
    assert "<script>" not in page
    assert "a&b" not in page
    lines = text.splitlines()
    assert len(lines) == 2 * 8 + 1
    assert "\x1b" not in text


def test_many_levels_have_no_errors():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=6000), "town": random.integers(0, 2500, 6000)})
    model = AdditiveRegressor(terms={"town": Category()}, C=1.0, random_state=0)
    model.fit(X, X["x"] + random.normal(size=6000))
    found = explain(model, X.head(3))
    assert np.isnan(found.standard_error[:, 1]).all()
    assert (found.standard_error[:, 0] > 0).all()
    assert found.score_error is None


def test_a_pipeline_is_explained_in_the_columns_of_its_last_step():
    X, y = load_iris(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler(), AdditiveClassifier(random_state=0)).fit(X, y == 2)
    scaled = pipeline[:-1].transform(X)
    found, inner = explain(pipeline, X), explain(pipeline[-1], scaled)
    assert found.terms == tuple(X.columns)
    assert inner.terms == ("x0", "x1", "x2", "x3")
    np.testing.assert_array_equal(found.contribution, inner.contribution)
    np.testing.assert_array_equal(found.values.astype(float), scaled)
    np.testing.assert_allclose(found.probability, pipeline.predict_proba(X)[:, 1])
