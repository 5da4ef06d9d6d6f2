"""What is refused changes nothing: no model where there was none, the same bits where there was."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    FourierEmbedding,
    HermiteEmbedding,
    PathSearchCV,
    SplineEmbedding,
)
from splinear.terms import Category, Spline

RANDOM = np.random.default_rng(0)
X = np.abs(RANDOM.normal(size=(120, 3)))
TARGET = X[:, 0] + 0.1 * RANDOM.normal(size=120)
CLASSES = np.digitize(TARGET, [np.median(TARGET)])

ESTIMATORS = [AdditiveClassifier(), AdditiveSVC(C=1.0), AdditiveRegressor(), AdditiveSVR(C=1.0)]
SEARCHES = [
    PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=2, cv=2),
    PathSearchCV(AdditiveRegressor(random_state=0), Cs=2, cv=2),
]
EMBEDDINGS = [SplineEmbedding(), FourierEmbedding(), HermiteEmbedding()]


def name(model):
    inner = getattr(model, "estimator", None)
    return type(model).__name__ + ("" if inner is None else f"({type(inner).__name__})")


def target_of(model):
    return CLASSES if is_classifier(model) else TARGET


def with_value(value):
    out = X.copy()
    out[5, 1] = value
    return out


def refuse(*_, **__):
    raise ValueError("refused in the middle")


# What to change before the fit, and what to pass to it.
REFUSALS = {
    "y too short": lambda y: ({}, X, y[:-1]),
    "y with a gap": lambda y: ({}, X, np.where(np.arange(len(y)) == 3, np.nan, y)),
    "no y": lambda y: ({}, X, None),
    "infinity": lambda y: ({}, with_value(np.inf), y),
    "NaN": lambda y: ({"missing": "error"}, with_value(np.nan), y),
    "text": lambda y: ({"categorical_features": None}, X.astype(str).astype(object) + "?", y),
    "no rows": lambda y: ({}, X[:0], y[:0]),
    "no columns": lambda y: ({}, X[:, :0], y),
    "one dimension": lambda y: ({}, X[:, 0], y),
    "other columns, y too short": lambda y: ({}, X[:, :2], y[:-1]),
    "other columns, infinity": lambda y: ({}, with_value(np.inf)[:, 1:], y),
    "a bad term": lambda y: ({"terms": {7: Spline()}}, X, y),
    "a bad parameter": lambda y: ({"C": -1.0}, X, y),
    "a bad curve": lambda y: ({"curve": Spline(degree=-1)}, X, y),
    "sparse categories": lambda y: ({"terms": {0: Category()}}, csr_array(X), y),
    "too little memory": lambda y: ({"max_memory": 10}, X, y),
}
OF_ANY_TABLE = ["infinity", "no rows", "no columns", "one dimension", "other columns, infinity"]


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("model", ESTIMATORS, ids=name)
def test_a_refused_first_fit_leaves_nothing(model, refusal):
    params, rows, y = REFUSALS[refusal](target_of(model))
    model = clone(model).set_params(**params)
    with pytest.raises((ValueError, TypeError)):
        model.fit(rows, y)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("model", ESTIMATORS, ids=name)
def test_a_refused_refit_leaves_the_old_model(model, refusal):
    y = target_of(model)
    model = clone(model).set_params(random_state=0).fit(X, y)
    before, learned = model.predict(X), learned_by(model)
    params, rows, y = REFUSALS[refusal](y)
    with pytest.raises((ValueError, TypeError)):
        model.set_params(**params).fit(rows, y)
    assert learned_by(model) == learned
    np.testing.assert_array_equal(model.set_params(missing="level").predict(X), before)


@pytest.mark.parametrize("model", ESTIMATORS, ids=name)
def test_a_refit_that_breaks_in_the_middle_leaves_the_old_model(model, monkeypatch):
    """Wherever an error comes from, even when training is done."""
    y = target_of(model)
    model = clone(model).set_params(random_state=0).fit(X, y)
    before, learned = model.predict(X), learned_by(model)
    for step in ("_column_data", "_plan_memory", "_training_set", "_stopping", "_store"):
        with monkeypatch.context() as patch:
            patch.setattr(type(model), step, refuse)
            with pytest.raises(ValueError, match="refused in the middle"):
                model.fit(X[:60, :2], y[:60])
        assert learned_by(model) == learned
        np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("refusal", ["y too short", "infinity", "no rows", "one dimension"])
@pytest.mark.parametrize("model", SEARCHES, ids=name)
def test_searches_too(model, refusal):
    y = target_of(model)
    _, rows, wrong = REFUSALS[refusal](y)
    model = clone(model)
    with pytest.raises(ValueError):  # noqa: PT011 (any)
        model.fit(rows, wrong)
    with pytest.raises(NotFittedError):
        model.predict(X)
    before, learned = model.fit(X, y).predict(X), learned_by(model)
    with pytest.raises(ValueError):  # noqa: PT011 (any)
        model.fit(rows, wrong)
    assert learned_by(model) == learned
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("refusal", OF_ANY_TABLE)
@pytest.mark.parametrize("model", EMBEDDINGS, ids=name)
def test_embeddings_too(model, refusal):
    _, rows, _ = REFUSALS[refusal](TARGET)
    model = clone(model)
    with pytest.raises(ValueError):  # noqa: PT011 (any)
        model.fit(rows)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]
    with pytest.raises(NotFittedError):
        model.transform(X)
    before, learned = model.fit(X).transform(X), learned_by(model)
    with pytest.raises(ValueError):  # noqa: PT011 (any)
        model.fit(rows)
    assert learned_by(model) == learned
    np.testing.assert_array_equal(model.transform(X), before)


def learned_by(model):
    """The very objects that a fit has left."""
    return {
        name: id(value) for name, value in vars(model).items() if name not in model.get_params()
    }


# -- partial_fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, np.float32, csr_array])
@pytest.mark.parametrize("missing", ["error", "level"])
@pytest.mark.parametrize("model", [AdditiveSVC(C=1.0), AdditiveSVR(C=1.0)], ids=name)
def test_later_chunks_are_checked_as_the_first(model, missing, form, value):
    y = target_of(model)
    first = {"classes": [0, 1]} if is_classifier(model) else {}
    model = clone(model).set_params(missing=missing, random_state=0)
    model.partial_fit(form(X), y, **first)
    before = model.predict(form(X))
    message = "NaN in column 1" if np.isnan(value) else r"infinity in column 1 \(first in row 5\)"
    for _ in range(2):  # in the second chunk, and in the third
        with pytest.raises(ValueError, match=f"Input X contains {message}"):
            model.partial_fit(form(with_value(value)), y)
        np.testing.assert_array_equal(model.predict(form(X)), before)
        before = model.partial_fit(form(X), y).predict(form(X))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("model", [AdditiveSVC(C=1.0), AdditiveSVR(C=1.0)], ids=name)
def test_gaps_where_there_were_some(model, form):
    """A missing value is one in any chunk, if the first has some in this column."""
    y = target_of(model)
    first = {"classes": [0, 1]} if is_classifier(model) else {}
    model = clone(model).set_params(random_state=0)
    model.partial_fit(form(with_value(np.nan)), y, **first)
    other = copy.deepcopy(model)
    model.partial_fit(form(with_value(np.nan)), y)
    other.partial_fit(form(X), y)
    assert np.isfinite(model.intercept_).all()
    score = "decision_function" if is_classifier(model) else "predict"
    assert not np.array_equal(getattr(model, score)(X), getattr(other, score)(X))
    for value in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="infinity in column 1"):
            model.partial_fit(form(with_value(value)), y)
