"""Golden files: models of one version of the format, with rows and what they predict.

`python tests/files/golden.py` writes those of today's version. They stay as they are: once there is
a new version, its files come beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import splinear
from splinear.files.saving import VERSION
from splinear.terms import Category, Fourier, Hermite, Linear, Pair, Spline

FOLDER = Path(__file__).parent / "golden"
N_ROWS = 12  # that are kept
NUMBERS = ("age", "size")


def table() -> pd.DataFrame:
    """Return numbers, text and codes, with gaps."""
    random = np.random.default_rng(0)
    n = 200
    data = pd.DataFrame(random.uniform(-1, 1, (n, 2)), columns=list(NUMBERS))
    data.loc[random.random(n) < 0.1, "size"] = np.nan
    data["text"] = random.choice(np.array(["a", "b,\n", "ü", None], dtype=object), n)
    data["code"] = pd.Categorical(random.integers(0, 4, n))
    return data


def rows_of(kind: str, columns: dict[str, list[Any]]) -> Any:
    """Return the rows of a golden file, as the model takes them."""
    data = pd.DataFrame(
        {
            "age": np.array(columns["age"], dtype=float),
            "size": np.array(columns["size"], dtype=float),
            "text": np.array(columns["text"], dtype=object),
            "code": pd.Categorical(columns["code"]),
        }
    )
    if kind == "classifier":
        return data
    X = np.column_stack([data["age"], data["size"], np.array(columns["code"], dtype=float)])
    return sparse.csr_array(np.abs(np.nan_to_num(X))) if kind == "svc" else X


def fitted(kind: str, X: Any) -> Any:
    """Fit the model of a golden file."""
    rows = X.to_numpy()[:, 0] if kind == "classifier" else None
    first = np.asarray((X.toarray() if kind == "svc" else X)[:, 0] if rows is None else rows, float)
    few = Spline(n_bins=4)
    if kind == "classifier":
        terms = {("age", "text"): Pair(n_bins=3), "size": Spline(3, extrapolation="linear")}
        model = splinear.AdditiveClassifier(few, terms=terms, random_state=0)
        return model.fit(X, np.where(first + (X["text"] == "a") > 0.2, "yes", "no"))
    if kind == "regressor":
        terms = {0: Fourier(2, period=1.5), 1: Hermite(), 2: Category(unseen="error")}
        model = splinear.AdditiveRegressor(terms=terms, loss="gamma", random_state=0)
        return model.fit(X, np.exp(np.sin(4 * first)))
    if kind == "svc":
        return splinear.AdditiveSVC(few, C=1.0, random_state=0).fit(
            X, np.digitize(first, [0.3, 0.6])
        )
    if kind == "svr":
        terms = {0: Spline(3, knots=[-1.0, 0.1, 1.0], degree=2), 1: Linear(), 2: "drop"}
        return splinear.AdditiveSVR(terms=terms, C=1.0, warm_start=True, random_state=0).fit(
            X, first**2
        )
    return splinear.SplineEmbedding(n_bins=3, knots="quantile").fit(np.nan_to_num(X))


KINDS = ("classifier", "regressor", "svc", "svr", "embedding")


def answer(model: Any, X: Any) -> np.ndarray:
    """Return what a golden file has to say of rows."""
    for name in ("transform", "predict_proba", "decision_function", "predict"):
        if hasattr(model, name):
            rows = np.nan_to_num(X) if name == "transform" else X
            return np.asarray(getattr(model, name)(rows), dtype=float)
    raise AssertionError


def main() -> None:
    whole = table()
    columns = {name: whole[name].astype(object).where(whole[name].notna(), None).tolist()
               for name in whole}  # fmt: skip
    kept = {name: values[:N_ROWS] for name, values in columns.items()}
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    for kind in KINDS:
        model = fitted(kind, rows_of(kind, columns))
        splinear.save(model, FOLDER / f"{kind}_v{VERSION}.splinear")
        expected[kind] = answer(model, rows_of(kind, kept)).tolist()
    content = json.dumps({"rows": kept, "expected": expected}, indent=1)
    (FOLDER / f"expected_v{VERSION}.json").write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
