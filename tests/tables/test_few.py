"""Few rows are read in a short way: the same predictions, errors and warnings as in the long."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.estimators import reading
from splinear.tables.few import open_few
from splinear.terms import Category, Fourier, Spline


def frame(n: int = 80) -> pd.DataFrame:
    random = np.random.default_rng(0)
    data = pd.DataFrame(random.normal(size=(n, 2)), columns=["a", "b"])
    data.loc[::7, "b"] = np.nan
    data["whole"] = random.integers(0, 9, n)
    data["truth"] = random.random(n) < 0.5
    data["text"] = random.choice(["x", "y", "z"], n)
    data["maybe"] = random.choice(np.array(["x", None], dtype=object), n)
    data["old"] = data["text"].astype(object)
    data["code"] = pd.Categorical(random.integers(0, 3, n))
    data["part"] = pd.cut(data["a"], 3)
    data["size"] = pd.Categorical(data["text"], ["z", "x", "y"], ordered=True)
    return data


ALL = frame()
NUMBERS = ALL[["a", "b", "whole", "truth"]]
Y = ALL["a"].to_numpy() > 0


@pytest.fixture(scope="module")
def models():
    def fit(X, **more):
        return AdditiveClassifier(Spline(n_bins=5), random_state=0, **more).fit(X, Y)

    plain = ALL[["a", "b"]].to_numpy()
    return {
        "all": fit(ALL),
        "numbers": fit(NUMBERS),
        "floats": fit(ALL[["a", "b"]]),
        "array": fit(plain),
        "strict": fit(ALL[["a", "b"]].fillna(0.0), missing="error"),
        "dropped": fit(ALL, terms={"text": "drop", "old": Category(unseen="error")}),
        "period": fit(NUMBERS, terms={"a": Fourier(period=1.0)}),
        "range": AdditiveClassifier(Spline(3, extrapolation="error")).fit(ALL[["a"]], Y),
        "one": fit(ALL[["code"]]),
        "codes": fit(NUMBERS, categorical_features=["whole", "truth"]),
    }


def changed(column: str, values: object) -> pd.DataFrame:
    return ALL.assign(**{column: values})


TABLES = {
    "all": ALL,
    "numbers": NUMBERS,
    "floats": ALL[["a", "b"]],
    "single": ALL[["a", "b"]].astype(np.float32),
    "half single": ALL[["a", "b"]].astype({"a": np.float32}),
    "small whole": NUMBERS.astype({"whole": np.int8, "a": np.float32}),
    "nullable": ALL[["a", "b"]].convert_dtypes(),
    "reordered": ALL[["b", "a"]],
    "too few": ALL[["a"]],
    "others": ALL[["a", "b"]].rename(columns={"b": "c"}),
    "no names": ALL[["a", "b"]].rename(columns={"a": 0, "b": 1}),
    "mixed names": ALL[["a", "b"]].rename(columns={"a": 0}),
    "twice": pd.concat([ALL[["a"]], ALL[["a"]]], axis=1),
    "infinite": ALL[["a", "b"]].assign(b=np.inf),
    "far": ALL[["a"]] * 100,
    "text for numbers": ALL[["a", "b"]].assign(b="x"),
    "codes for numbers": ALL[["a", "b"]].assign(b=pd.Categorical(np.zeros(len(ALL), dtype=int))),
    "objects": ALL[["a", "b"]].astype(object),
    "dates": ALL[["a", "b"]].assign(b=pd.Timestamp("2020-01-01")),
    "complex": ALL[["a", "b"]].assign(b=1j),
    "unseen": changed("old", "new"),
    "unseen code": changed("code", pd.Categorical(np.full(len(ALL), 17))),
    "numbers for text": changed("text", 3),
    "lists": changed("old", pd.Series([[1]] * len(ALL))),
    "nullable text": changed("text", ALL["text"].astype("string").where(ALL["a"] > 0)),
    "one": ALL[["code"]],
    "one number": ALL[["code"]].astype(float),
    "empty": ALL[:0],
    "array": ALL[["a", "b"]].to_numpy(),
    "single array": ALL[["a", "b"]].to_numpy(np.float32),
    "columns first": np.asfortranarray(ALL[["a", "b"]].to_numpy()),
    "every other": np.repeat(ALL[["a", "b"]].to_numpy(), 2, axis=1)[:, ::2],
    "wide array": np.zeros((3, 5)),
    "flat": np.zeros(2),
    "infinite array": np.array([[0.0, np.inf]]),
    "array without rows": np.zeros((0, 2)),
    "whole array": np.zeros((2, 2), dtype=int),
}


def outcome(model, X):
    """What comes of a prediction: numbers, or an error; and the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = model.predict_proba(X)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return found, [str(warning.message) for warning in seen]


@pytest.mark.parametrize("rows", [slice(0, 1), slice(7, 8), slice(0, 30)], ids=["1", "gap", "30"])
@pytest.mark.parametrize("name", list(TABLES))
def test_the_short_way_is_as_the_long_one(name, rows, models, monkeypatch):
    X = TABLES[name][rows]
    short = {kind: outcome(model, X) for kind, model in models.items()}
    monkeypatch.setattr(reading, "open_few", lambda *_: None)
    monkeypatch.setattr("splinear.tables.checks._is_as_in_fit", lambda *_: False)
    for kind, model in models.items():
        found, said = outcome(model, X)
        assert type(short[kind][0]) is type(found), (kind, short[kind], found)
        assert_array_equal(short[kind][0], found, err_msg=kind)
        assert short[kind][1] == said


def test_the_short_way_is_taken():
    for name in ("all", "numbers", "floats", "single", "one", "array"):
        assert open_few(TABLES[name][:1]) is not None, name
    for name in ("dates", "no names", "twice", "nullable", "flat", "whole array"):
        assert open_few(TABLES[name][:1]) is None, name


def test_many_threads_predict_the_same():
    X = ALL.drop(columns=["part"])
    expected = AdditiveRegressor(random_state=0).fit(X, ALL["a"]).predict(X)
    model = AdditiveRegressor(random_state=0).fit(X, ALL["a"])  # which has not predicted yet
    with ThreadPoolExecutor(8) as pool:
        rows = [pool.submit(model.predict, X[k : k + 1]) for k in range(len(X))]
        assert_array_equal(np.concatenate([row.result() for row in rows]), expected)
