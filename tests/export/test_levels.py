"""Categories of many levels, of truth values and of numbers, in all exports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("onnxruntime")
pytest.importorskip("duckdb")

import onnxruntime as ort
import pandas as pd
from databases import KEY, ask
from json_evaluator import JsonModel

from splinear import AdditiveClassifier
from splinear.export import to_json, to_onnx, to_sql

WORDS = [
    f"{letter}{k}" for letter in ("a", "B", "é", "'", '"', "\U0001f600", " ") for k in range(6)
]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "word": rng.choice(WORDS, 900),
            "flag": rng.random(900) < 0.5,
            "share": rng.choice([0.1, 0.2, 1 / 3, np.nan], 900),
            "id": rng.integers(0, 40, 900) * 1_000_003,
        }
    )


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> Any:
    index = table["word"].map({word: k for k, word in enumerate(WORDS)})
    y = (index % 7 + 3 * table["flag"] + table["id"] % 5 + 10 * table["share"].fillna(0)) % 2 > 1
    return AdditiveClassifier(
        categorical_features=[0, 1, 2, 3], interactions=[(0, 3), (1, 2)], C=1.0, random_state=0
    ).fit(table, y)


@pytest.fixture(scope="module")
def rows(table: pd.DataFrame) -> pd.DataFrame:
    new = table[:6].copy()
    new["word"] = ["a", "", "zz", "~", "é5x", "\U0001f600"]
    new["share"] = [0.1000001, 0.3, np.nan, 0.0, 9.0, 0.2]
    new["id"] = [1, 1_000_004, 1_000_002, -5, 40_000_120, 0]
    return pd.concat([table, new], ignore_index=True)


def test_json(model: Any, rows: pd.DataFrame) -> None:
    found = JsonModel(to_json(model)).scores(rows.astype(object).to_numpy().tolist())[:, 0]
    np.testing.assert_allclose(found, model.decision_function(rows), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx(model: Any, rows: pd.DataFrame, dtype: str) -> None:
    made = to_onnx(model, dtype=dtype)  # type: ignore[arg-type]
    run = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {name: rows[[name]].to_numpy(dtype=dtype) for name in ("flag", "share", "id")}
    inputs["word"] = rows[["word"]].replace("", "other").to_numpy(dtype=object)
    found = run.run(["scores"], inputs)[0]
    tol = 1e-6 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(found, model.decision_function(rows), rtol=tol, atol=tol)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_sql(model: Any, rows: pd.DataFrame, dialect: str) -> None:
    scores = ask(to_sql(model, "t", dialect, keep=KEY), rows, dialect)["score"]
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-11, atol=1e-11)
