"""ONNX graphs say what the estimators say; onnxruntime computes them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx
import onnxruntime as ort
from exported_models import CASES, ODD_NAME, clear_levels, fitted, rows
from real_tables import NAMES, needs_data, real

from splinear import AdditiveClassifier, AdditiveRegressor, inspection
from splinear.export import to_onnx

TYPES = {"tensor(string)": object, "tensor(float)": np.float32, "tensor(double)": np.float64}


def session(model: Any) -> Any:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def feed(run: Any, X: Any) -> dict[str, np.ndarray]:
    """The columns of a frame as the inputs that a graph wants."""
    inputs = run.get_inputs()
    if [one.name for one in inputs] == ["X"]:
        text = X.select_dtypes(exclude="number").columns  # dropped: any number will do
        return {"X": X.assign(**dict.fromkeys(text, 0.0)).to_numpy(dtype=TYPES[inputs[0].type])}
    out = {}
    for one in inputs:
        column = X[one.name]
        if TYPES[one.type] is object:
            out[one.name] = column.astype(object).fillna("").to_numpy()[:, None]
        else:
            out[one.name] = column.to_numpy(dtype=TYPES[one.type])[:, None]
    return out


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    run = session(model)
    names = [one.name for one in run.get_outputs()]
    return dict(zip(names, run.run(names, feed(run, X)), strict=True))


def check(model: Any, X: Any, found: dict[str, np.ndarray], tol: float) -> None:
    """Compare all outputs with the estimator's own, of the same rows."""
    near = {"rtol": tol, "atol": tol}
    if hasattr(model, "classes_"):
        is_ordered = hasattr(model, "predict_latent")
        scores = model.predict_latent(X) if is_ordered else model.decision_function(X)
        assert found["scores"].shape == scores.shape
        np.testing.assert_allclose(found["scores"], scores, **near)
        clear = clear_levels(model, X) if is_ordered else is_clear(scores, 10 * tol)
        np.testing.assert_array_equal(found["label"][clear], model.predict(X)[clear])
        assert ("probabilities" in found) == hasattr(model, "predict_proba")
        if "probabilities" in found:
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=tol)
    else:
        np.testing.assert_allclose(found["prediction"], model.predict(X), **near)


def is_clear(scores: np.ndarray, margin: float) -> np.ndarray:
    """Rows whose class no rounding can change."""
    if scores.ndim == 1:
        return np.abs(scores) > margin
    top = np.sort(scores, axis=1)
    return (np.abs(scores).min(axis=1) > margin) & (top[:, -1] - top[:, -2] > margin)


def rounded(X: Any) -> Any:
    """Numbers as single precision has them."""
    X = X.copy()
    for name in X.select_dtypes("number"):
        X[name] = X[name].astype(np.float32).astype(np.float64)
    return X


@pytest.mark.parametrize("name", CASES)
def test_double_precision(name: str) -> None:
    model, X = fitted(name), rows(name)
    check(model, X, outputs(to_onnx(model, dtype="float64"), X), 1e-11)


@pytest.mark.parametrize("name", [name for name in CASES if not CASES[name].refuses])
def test_single_precision(name: str) -> None:
    model, X = fitted(name), rounded(rows(name))
    check(model, X, outputs(to_onnx(model), X), 1e-5)


@pytest.mark.parametrize("name", ["pairs", "three classes", "svr", "numbers"])
def test_contributions(name: str) -> None:
    model, X = fitted(name), rows(name)
    made = to_onnx(model, dtype="float64", contributions=True)
    own = inspection.contributions(model, X)
    np.testing.assert_allclose(outputs(made, X)["contributions"], own, atol=1e-11)
    names = {entry.key: entry.value for entry in made.metadata_props}["terms"].split("\n")
    assert names == inspection.term_names(model)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 1e-5), ("float64", 1e-9)])
def test_real_tables(name: str, dtype: str, tol: float) -> None:
    model, X = real(name)
    X = rounded(X) if dtype == "float32" else X
    found = outputs(to_onnx(model, dtype=dtype), X)
    assert len(found["scores"]) == 10_000
    if name == "california_housing":
        np.testing.assert_allclose(found["prediction"], model.predict(X), atol=tol, rtol=tol)
    else:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=tol)
        clear = is_clear(model.decision_function(X), tol)
        np.testing.assert_array_equal(found["label"][clear], model.predict(X)[clear])


@pytest.mark.parametrize("opset", [13, 17, onnx.defs.onnx_opset_version()])
def test_versions_of_operators(opset: int) -> None:
    made = to_onnx(fitted("waves"), dtype="float64", target_opset=opset)
    assert {one.domain: one.version for one in made.opset_import}[""] == opset
    if opset <= 17:
        check(fitted("waves"), rows("waves"), outputs(made, rows("waves")), 1e-11)


@pytest.mark.parametrize("name", ["waves", "pairs of waves"])
def test_waves_run_where_there_is_no_cosine(name: str) -> None:
    """As in onnxruntime before 2026, in double precision and on processors."""
    made = to_onnx(fitted(name))
    assert {"Cos", "Sin"} & {node.op_type for node in made.graph.node} == {"Sin"}


def test_rows_that_are_refused_have_no_score() -> None:
    model, X = fitted("refusing"), rows("refusing")[:6].copy()
    X["code"] = X["code"].astype(float)
    X.loc[1, "few"] = np.nan
    X.loc[2, "a"] = 1e6
    X.loc[3, "a"] = -1e6
    X.loc[4, "code"] = 77
    for k in range(1, 5):
        with pytest.raises(ValueError, match="X"):
            model.predict(X[k : k + 1])
    scores = outputs(to_onnx(model, dtype="float64"), X)["scores"]
    np.testing.assert_array_equal(np.isnan(scores), [False, True, True, True, True, False])


def test_text_that_stands_for_missing_values() -> None:
    model, X = fitted("two classes"), rows("two classes")
    made = to_onnx(model, dtype="float64", missing_text="n/a")
    given = X.assign(**{ODD_NAME: X[ODD_NAME].astype(object).fillna("n/a")})
    np.testing.assert_allclose(outputs(made, given)["scores"], model.decision_function(X))
    with pytest.raises(ValueError, match="'red' is a level of"):
        to_onnx(model, missing_text="red")


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="target_opset must be from 13"):
        to_onnx(fitted("two classes"), target_opset=12)
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64'"):
        to_onnx(fitted("two classes"), dtype="float16")
    cells = np.array([["a", 1] * 20], dtype=object).reshape(40, 1)
    mixed = AdditiveClassifier(random_state=0).fit(cells, np.arange(40) % 2)
    with pytest.raises(TypeError, match=r"all text or all numbers .* got types int, str"):
        to_onnx(mixed)
    path = tmp_path / "model.onnx"
    made = to_onnx(fitted("svr"), path)
    assert onnx.load(path) == made


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'splinear[onnx]'")):
        to_onnx(fitted("two classes"))


RESERVED = ["label", "scores", "probabilities", "prediction", "contributions"]
INSIDE = ["splinear_0", "splinear_constant_0", "splinear__0", "N", "X", "x0", ""]


@pytest.mark.parametrize("task", ["classes", "numbers"])
@pytest.mark.parametrize(
    "names", [*([name] for name in RESERVED), RESERVED, INSIDE, ["label", "label_"]]
)
def test_columns_may_have_the_names_of_outputs(names, task):
    """An output whose name is that of an input gets underscores; inputs keep the columns' names."""
    import pandas as pd

    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(80, len(names))), columns=names)
    X["town"] = random.choice(["Ghent", "Lille"], 80)
    y = X.iloc[:, 0] + (X["town"] == "Lille")
    model = (
        AdditiveClassifier(C=1.0).fit(X, y > 0) if task == "classes"
        else AdditiveRegressor(C=1.0).fit(X, y)
    )  # fmt: skip
    graph = to_onnx(model, dtype="float64", contributions=True)
    run = session(graph)
    inputs = [one.name for one in run.get_inputs()]
    assert inputs == [name or "x6" for name in names] + ["town"]
    usual = ["label", "probabilities"] if task == "classes" else ["prediction"]
    expected = [*usual, "scores", "contributions"]
    wanted = [one + "_" * (one in names) + "_" * ({one, f"{one}_"} <= {*names}) for one in expected]
    assert [one.name for one in run.get_outputs()] == wanted
    feeds = {
        given: X[name].to_numpy(dtype=object if name == "town" else np.float64)[:, None]
        for given, name in zip(inputs, X.columns, strict=True)
    }
    found = dict(zip(expected, run.run(None, feeds), strict=True))
    check(model, X, found, 1e-9)
    np.testing.assert_allclose(
        found["contributions"], inspection.contributions(model, X), atol=1e-9
    )
