"""Mistakes that people make, and what they are told."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import splinear
from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
    report,
)
from splinear.inspection import contributions, explain, importances, shape_function

random = np.random.default_rng(0)
X = pd.DataFrame({"age": random.normal(size=80), "fee": random.normal(size=80)})
Y = (X["age"] + random.normal(size=80) > 0).rename("Churn")
ESTIMATORS = [AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_dict_as_the_table(estimator):
    given = {name: X[name].to_numpy() for name in X}
    with pytest.raises(TypeError, match=r"X is a dict, not a table; use pandas.DataFrame") as found:
        estimator().fit(given, Y)
    assert len(str(found.value)) < 200


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_name_as_y_of_a_table_in_memory(estimator):
    frame = X.assign(Churn=Y)
    with pytest.raises(ValueError, match=r"fit\(df.drop\(columns='Churn'\), df\['Churn'\]\)"):
        estimator().fit(frame, "Churn")
    with pytest.raises(ValueError, match=r"y is the text 'churn'.*mean the column 'Churn'"):
        estimator().fit(frame, "churn")
    with pytest.raises(ValueError, match=r"y must hold one value per row\.$"):
        estimator().fit(frame.to_numpy(), "Churn")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_two_columns_as_y(estimator):
    with pytest.raises(ValueError, match=r"y has 2 columns.*sklearn\.multioutput\.MultiOutput"):
        estimator().fit(X, X.to_numpy())
    if estimator in (AdditiveClassifier, AdditiveSVC):
        with pytest.raises(ValueError, match=r"y has 2 columns"):
            estimator().fit(X, np.array([["a", "b"], ["b", "c"]] * 40))


@pytest.mark.parametrize(
    "model", [AdditiveSVC(loss="squared_hinge", C=1e300), AdditiveSVR(C=1e201)]
)
def test_costs_whose_squares_overflow(model):
    with pytest.raises(ValueError, match=r"'C' parameter .* in the range \(0.*1e\+200\]"):
        model.fit(X, Y)


@pytest.mark.parametrize(("C", "weight"), [(1e40, 1.0), (1e200, 1.0), (1e20, 1e20), (1e200, 1e27)])
def test_costs_that_overflow_in_single_precision(C, weight):
    """Newton's method met infinity, and said that an array must not contain it."""
    model = AdditiveSVC(loss="squared_hinge", C=C)
    with pytest.raises(ValueError, match=r"C and the weights of all rows multiply to .*lower C"):
        model.fit(X, Y, sample_weight=np.full(len(X), weight))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)])
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (AdditiveClassifier(max_iter=1, C=1e4, tol=1e-9), ConvergenceWarning),
        (AdditiveSVC(max_iter=1, C=1e4, tol=1e-9), ConvergenceWarning),
        (PathSearchCV(AdditiveSVC(max_iter=1, tol=1e-9), Cs=[1e4], cv=2), ConvergenceWarning),
    ],
    ids=lambda given: type(given).__name__,
)
def test_warnings_point_to_the_line_of_the_user(model, kind, wrap):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        wrap(model).fit(X, Y)
    assert any(one.category is kind for one in found)
    assert {one.filename for one in found} == {__file__}


def test_other_warnings_do_so_as_well(tmp_path):
    identifier = X.assign(name=[f"person {k}" for k in range(80)])
    model = AdditiveClassifier(C=1.0, random_state=np.random.RandomState(0))
    with pytest.warns(UserWarning, match="80 levels") as found:
        model.fit(identifier, Y)
    with pytest.warns(UserWarning, match="random_state") as more:
        splinear.save(model, tmp_path / "m")
    assert {one.filename for one in [*found, *more]} == {__file__}


@pytest.mark.parametrize("kind", [TunedThresholdClassifierCV, FixedThresholdClassifier])
def test_thresholds_are_looked_through(kind):
    """They change the classes alone: an explanation has the classes of the wrapper."""
    inner = AdditiveClassifier(C=1.0)
    wrapper = kind(inner, **({"threshold": 0.9} if kind is FixedThresholdClassifier else {}))
    wrapper = make_pipeline(StandardScaler().set_output(transform="pandas"), wrapper).fit(X, Y)
    model = wrapper[-1].estimator_
    Z = wrapper[0].transform(X)
    np.testing.assert_array_equal(contributions(wrapper, X), contributions(model, Z))
    np.testing.assert_array_equal(importances(wrapper, X), importances(model, Z))
    grid = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_array_equal(
        shape_function(wrapper, "age", grid), shape_function(model, "age", grid)
    )
    found = explain(wrapper, X)
    np.testing.assert_array_equal(found.prediction, wrapper.predict(X))
    np.testing.assert_array_equal(found.score, model.decision_function(Z))
    if kind is FixedThresholdClassifier:
        assert (found.prediction != model.predict(Z)).any()
    with pytest.raises(TypeError, match=r"decides by a threshold of its own.*estimator_"):
        report.write(wrapper, "never.html", X, Y)


@pytest.mark.parametrize(
    ("wrapper", "way_out"),
    [
        (
            CalibratedClassifierCV(AdditiveClassifier(C=1.0), cv=2),
            r"calibrated_classifiers_\[0\]\.estimator",
        ),
        (
            TransformedTargetRegressor(AdditiveRegressor(C=1.0), func=np.cbrt, inverse_func=np.exp),
            "pass regressor_",
        ),
        (TunedThresholdClassifierCV(AdditiveClassifier()), "call fit first"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_wrappers_that_change_predictions_name_the_model_inside(wrapper, way_out):
    if "first" not in way_out:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapper.fit(X, Y.astype(float) if "Target" in type(wrapper).__name__ else Y)
    for look in (explain, contributions, importances):
        with pytest.raises(TypeError, match=way_out):
            look(wrapper, X)
