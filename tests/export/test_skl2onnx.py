"""Pipelines that end with an additive estimator, converted by skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("onnx")
pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

import onnxruntime as ort
import skl2onnx
from exported_models import CASES, ODD_NAME, classifier, fitted, rows, table, three, two
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.export import register_skl2onnx

NUMBERS = ["a", "b", "few", "hour"]


@pytest.fixture(autouse=True)
def _registered() -> None:
    register_skl2onnx()


def converted(model: Any, X: Any, **options: Any) -> list[np.ndarray]:
    made = skl2onnx.to_onnx(model, X[:1], **options)
    run = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in run.get_inputs()]
    if isinstance(X, np.ndarray):
        return run.run(None, {names[0]: X})
    return run.run(None, {name: X[[name]].to_numpy() for name in names})


@pytest.mark.parametrize("target", [two, three])
def test_classifier_behind_a_scaler(target: Any) -> None:
    X = table(500, 0)
    inside = X[NUMBERS].to_numpy()
    model = make_pipeline(StandardScaler(), AdditiveClassifier(random_state=0, interactions=1))
    model.fit(inside, target(X))
    options = {id(model): {"zipmap": False}}
    label, probabilities = converted(model, inside, options=options)
    np.testing.assert_allclose(probabilities, model.predict_proba(inside), atol=1e-9)
    np.testing.assert_array_equal(label, model.predict(inside))


def test_maps_from_classes_to_probabilities() -> None:
    X = table(500, 0)
    inside = X[NUMBERS].to_numpy(dtype=np.float32)
    model = AdditiveClassifier(random_state=0).fit(inside, two(X))
    _, maps = converted(model, inside)
    expected = model.predict_proba(inside.astype(np.float64))
    found = [[row["no"], row["yes"]] for row in maps]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("estimator", [AdditiveRegressor(), AdditiveSVR(C=1.0), AdditiveSVC(C=1.0)])
def test_other_estimators_behind_a_scaler(estimator: Any) -> None:
    X = table(500, 0)
    inside, y = X[NUMBERS].to_numpy(), X["a"].to_numpy() + X["few"].to_numpy()
    is_svc = isinstance(estimator, AdditiveSVC)
    model = make_pipeline(StandardScaler(), estimator.set_params(random_state=0))
    model.fit(inside, y > 2 if is_svc else y)
    found = converted(model, inside)
    if is_svc:
        np.testing.assert_array_equal(found[0], model.predict(inside).astype(int))
        np.testing.assert_allclose(found[1][:, 0], model.decision_function(inside), rtol=1e-9)
    else:
        np.testing.assert_allclose(found[0][:, 0], model.predict(inside), rtol=1e-9, atol=1e-9)


def test_columns_of_numbers_and_codes() -> None:
    X = table(500, 0)
    X[ODD_NAME] = X[ODD_NAME].fillna("none")
    X = X.rename(columns={ODD_NAME: "color"})
    split = ColumnTransformer(
        [("numbers", StandardScaler(), NUMBERS), ("codes", OrdinalEncoder(), ["color"])]
    )
    model = make_pipeline(split, AdditiveClassifier(categorical_features=[4], random_state=0))
    model.fit(X, two(table(500, 0)))
    _, probabilities = converted(
        model,
        X[[*NUMBERS, "color"]].astype({"color": object}),
        options={id(model): {"zipmap": False}},
    )
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-9)


def test_columns_of_text_without_a_pipeline() -> None:
    model, X = fitted("pairs"), rows("pairs")
    names = list(CASES["pairs"].columns)
    kinds = skl2onnx.common.data_types
    types = [
        (
            name,
            (kinds.StringTensorType if name == ODD_NAME else kinds.DoubleTensorType)([None, 1]),
        )
        for name in names
    ]
    made = skl2onnx.convert_sklearn(
        model, initial_types=types, options={id(model): {"zipmap": False}}
    )
    run = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    filled = X.assign(**{ODD_NAME: X[ODD_NAME].fillna("")})
    given = {}
    for one, name in zip(run.get_inputs(), names, strict=True):
        is_text = name == ODD_NAME
        given[one.name] = filled[[name]].to_numpy(dtype=object if is_text else np.float64)
    _, probabilities = run.run(None, given)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-9)


def test_text_in_one_table_is_refused() -> None:
    model = fitted("two classes")
    kinds = skl2onnx.common.data_types
    types = [("X", kinds.DoubleTensorType([None, 7]))]
    with pytest.raises(TypeError, match="OrdinalEncoder"):
        skl2onnx.convert_sklearn(model, initial_types=types)


def test_old_operators_are_refused() -> None:
    X = table(200, 0)
    model = classifier(terms=None).fit(X[NUMBERS].to_numpy(), two(X))
    with pytest.raises(ValueError, match="target_opset must be from 13"):
        converted(model, X[NUMBERS].to_numpy(), target_opset={"": 12, "ai.onnx.ml": 2})
