import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from splinear import AdditiveClassifier, AdditiveSVC, PathSearchCV
from splinear.inspection import (
    band,
    concurvity,
    contributions,
    explain,
    feature_index,
    feature_names,
    importances,
    knots,
    shape_function,
    standard_error,
    summary,
    surface,
    term_names,
)


@pytest.fixture(scope="module")
def table():
    X = pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, (300, 3)), columns=["a", "b", "c"])
    return X, (X["a"] * X["b"] + 0.3 * X["c"] > 0).to_numpy()


@pytest.fixture(scope="module")
def pipeline(table):
    model = AdditiveClassifier(interactions=[(0, 1)], random_state=0)
    return make_pipeline("passthrough", StandardScaler(), model).fit(*table)


def test_every_function_reads_a_pipeline(pipeline, table):
    X, _ = table
    model, scaled = pipeline[-1], pipeline[:-1].transform(X)
    assert term_names(pipeline) == ["a", "b", "c", "a × b"]
    assert feature_index(pipeline, "c") == 2
    for ours, theirs in (
        (contributions(pipeline, X), contributions(model, scaled)),
        (importances(pipeline, X), importances(model, scaled)),
        (standard_error(pipeline, X), standard_error(model, scaled)),
        (concurvity(pipeline), concurvity(model)),
        (knots(pipeline, "b"), knots(model, 1)),
        (band(pipeline, "b").lower, band(model, 1).lower),
        (surface(pipeline, ("a", "b"))[2], surface(model, (0, 1))[2]),
        (
            shape_function(pipeline, "a", center=True, X=X)[1],
            shape_function(model, 0, center=True, X=scaled)[1],
        ),
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert {line.feature for line in summary(pipeline).lines} == {"a", "b", "c", "a × b"}
    assert feature_names(model) == ["x0", "x1", "x2"]  # as it was


def test_names_are_those_that_the_last_step_sees(table):
    X, y = table
    steps = make_column_transformer((StandardScaler(), ["c"]), (PolynomialFeatures(), ["a"]))
    pipeline = make_pipeline(steps, AdditiveSVC(random_state=0, C=1.0)).fit(X, y)
    expected = ["standardscaler__c", "polynomialfeatures__1", "polynomialfeatures__a"]
    assert feature_names(pipeline)[:3] == expected
    steps.set_output(transform="pandas")
    pipeline = make_pipeline(steps, AdditiveSVC(random_state=0, C=1.0)).fit(X, y)
    assert feature_names(pipeline)[:3] == expected
    assert explain(pipeline, X).terms[:3] == tuple(expected)


def test_steps_that_do_not_tell_names(table):
    X, y = table
    pipeline = make_pipeline(FunctionTransformer(np.asarray), AdditiveSVC(random_state=0, C=1.0))
    assert feature_names(pipeline.fit(X, y)) == ["x0", "x1", "x2"]


def test_searches_stand_for_what_they_found(table):
    X, y = table
    path = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=[0.1, 1.0], cv=2).fit(X, y)
    inner = make_pipeline(StandardScaler(), AdditiveSVC(random_state=0, C=1.0))
    grid = GridSearchCV(inner, {"additivesvc__C": [0.1, 1.0]}, cv=2).fit(X, y)
    nested = make_pipeline(
        StandardScaler(), PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=[0.1], cv=2)
    ).fit(X, y)
    for search in (path, grid, nested):
        found = explain(search, X)
        assert found.terms == ("a", "b", "c")
        np.testing.assert_allclose(found.score, search.decision_function(X), atol=1e-12)


def test_what_is_no_additive_model(table):
    X, y = table
    others = (
        make_pipeline(StandardScaler(), LinearSVC()).fit(X, y),
        GridSearchCV(LinearSVC(), {"C": [1.0]}, cv=2).fit(X, y),
        LinearSVC().fit(X, y),
    )
    for other in others:
        with pytest.raises(TypeError, match=r"pipeline or a search that ends in one; got Linear"):
            explain(other, X)
    for unfitted in (
        AdditiveClassifier(),
        make_pipeline(StandardScaler(), AdditiveClassifier()),
    ):
        with pytest.raises(NotFittedError):
            explain(unfitted, X)
