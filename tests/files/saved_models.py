"""Small fitted models of every kind, and what may be asked of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from splinear import (
    AdditiveClassifier,
    AdditiveOrdinal,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    FourierEmbedding,
    HermiteEmbedding,
    PathSearchCV,
    SplineEmbedding,
    inspection,
)
from splinear.losses import NegativeBinomial, Quantile, Tweedie
from splinear.terms import Category, Fourier, Hermite, Linear, Pair, Spline, Varying

FEW = Spline(n_bins=5)  # pieces, so that posteriors are small

Case = tuple[Any, Any]  # a fitted model, and rows for it


def numbers(n: int = 120, gaps: bool = False) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (n, 4))
    X[:, 2] = np.round(3 * X[:, 2])
    score = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 0] + 0.3 * X[:, 2]
    if gaps:
        X[random.random(n) < 0.1, 1] = np.nan
    return X, score + 0.3 * random.normal(size=n)


def frame(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    X, score = numbers(n, gaps=True)
    random = np.random.default_rng(1)
    data = pd.DataFrame(X, columns=["age", "größe", "n \U0001f600", 'q"'])
    data["text"] = random.choice(["a", "b", "a,b\n", "ü"], n)
    data["maybe"] = random.choice(np.array(["x", "y", None], dtype=object), n)
    data["code"] = pd.Categorical(random.integers(0, 4, n))
    data["truth"] = pd.Categorical(random.random(n) < 0.4)
    data["share"] = pd.Categorical(random.choice([0.1, 0.5, np.inf], n))
    data["mixed"] = random.choice(np.array(["x", 1, 2.5, True], dtype=object), n)
    data["part"] = pd.cut(data["age"], 3)
    stamps = pd.to_datetime(["2020-01-01", "2020-02-03 04:05:06.123456789"], format="ISO8601")
    data["when"] = pd.Categorical(stamps[random.integers(0, 2, n)])
    zoned = stamps.tz_localize("Europe/Berlin")
    data["zone"] = pd.Categorical(zoned[random.integers(0, 2, n)])
    months = pd.PeriodIndex(["2020-01", "2020-02"], freq="M")
    data["month"] = pd.Categorical(months[random.integers(0, 2, n)])
    spans = pd.to_timedelta(["1h", "2D"])
    data["span"] = pd.Categorical(spans[random.integers(0, 2, n)])
    size = random.choice(["low", "mid", "high"], n)
    data["size"] = pd.Categorical(size, ["low", "mid", "high"], ordered=True)
    return data, score + (data["text"] == "a")


def _classes(*labels: object, dtype: object = None) -> np.ndarray:
    _, score = numbers()
    number = np.digitize(score, np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1]))
    return np.array(labels, dtype=dtype)[number]


def binary(model: Any = None, *labels: object, dtype: object = None, **more: Any) -> Case:
    X, _ = numbers()
    y = _classes(*(labels or (0, 1)), dtype=dtype)
    return (model or AdditiveClassifier(FEW, random_state=0, **more)).fit(X, y), X


def from_frame(**more: Any) -> Case:
    X, y = frame()
    return AdditiveClassifier(FEW, random_state=0, **more).fit(X, y > 0), X


def regression(model: Any, positive: bool = False, gaps: bool = False) -> Case:
    X, y = numbers(gaps=gaps)
    return model.fit(X, np.exp(y) if positive else y), X


def labels(model: Any) -> Case:
    X, y = numbers()
    return model.fit(X, np.column_stack([y > 0, X[:, 0] > 0, X[:, 1] > y])), X


def of_sparse(model: Any) -> Case:
    X = sparse.random(200, 30, 0.2, format="csr", random_state=0)
    return model.fit(X, np.asarray(X[:, :5].sum(axis=1)).ravel() > 0.4), X


def shaped() -> Case:
    terms = {
        0: Spline(monotone="increasing", extrapolation="linear"),
        1: Spline(curvature="convex", degree=2, knots="uniform"),
        2: Linear(),
        3: "drop",
    }
    X, y = numbers()
    return AdditiveRegressor(FEW, terms=terms, random_state=0).fit(X, y), X


def many_terms() -> Case:
    X, y = numbers(gaps=True)
    terms = {
        0: Fourier(period=0.7),
        1: Hermite(degree=4, scale="standard"),
        2: Category(unseen="ignore"),
        3: Spline(degree=3, penalty_order=2, knots=[-1.0, 0.0, 0.2, 1.0]),
    }
    return AdditiveRegressor(FEW, terms=terms, random_state=0).fit(X, y), X


def pairs() -> Case:
    X, y = frame()
    X = X[["age", "größe", "text", "maybe"]]
    terms = {("age", "text"): Pair(n_bins=5), ("größe", "maybe"): Pair(n_bins=4)}
    model = AdditiveClassifier(terms=terms, interactions=[("age", "größe")], curve=FEW)
    return model.fit(X, y > 0), X


def varying(labels: bool = False) -> Case:
    X, y = frame()
    X = X[["age", "größe", "text", "maybe"]]
    terms = {
        ("age", "größe"): Varying(),
        ("text", "größe"): Varying(Category(unseen="error")),
        ("age", "maybe"): Varying(Spline(n_bins=4)),
    }
    model = AdditiveClassifier(terms=terms, curve=FEW, random_state=0)
    return model.fit(X, np.column_stack([y > 0, y > 1]) if labels else y > 0), X


def embedding(transformer: Any) -> Case:
    X, _ = numbers()
    return transformer.fit(pd.DataFrame(X, columns=list("abcd"))), pd.DataFrame(
        X, columns=list("abcd")
    )


def searched() -> Case:
    X, y = numbers()
    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=3, cv=2).fit(X, y > 0)
    return search.best_estimator_, X


MADE: dict[str, Callable[[], Case]] = {
    "two classes": binary,
    "a fixed C": lambda: binary(None, C=2.0, class_weight={0: 1.0, 1: 2.0}),
    "truth values": lambda: binary(None, False, True),
    "texts": lambda: binary(None, "no", "yes, \u00e9"),
    "objects": lambda: binary(None, "a", "bb", dtype=object),
    "floats": lambda: binary(None, -1.0, 0.0, 2.0**60),
    "small types": lambda: binary(AdditiveSVC(random_state=0, C=1.0), 1, 2, 3, dtype=np.int8),
    "three classes": lambda: binary(None, "a", "b", "c"),
    "ordered levels": lambda: binary(
        AdditiveOrdinal(FEW, levels=["low", "mid", "top"], random_state=0), "top", "mid", "low"
    ),
    "ordered numbers": lambda: binary(AdditiveOrdinal(FEW, random_state=0), 1, 2, 3, 4),
    "labels": lambda: labels(AdditiveClassifier(FEW, random_state=0)),
    "labels of SVC": lambda: labels(AdditiveSVC(random_state=0, C=1.0)),
    "frame": from_frame,
    "pairs": pairs,
    "varying": varying,
    "varying, labels": lambda: varying(labels=True),
    "shaped": shaped,
    "many terms": many_terms,
    "squared error": lambda: regression(AdditiveRegressor(FEW, random_state=0), gaps=True),
    "poisson": lambda: regression(AdditiveRegressor(FEW, loss="poisson"), positive=True),
    "gamma": lambda: regression(AdditiveRegressor(FEW, loss="gamma"), positive=True),
    "tweedie": lambda: regression(AdditiveRegressor(FEW, loss=Tweedie(1.3)), positive=True),
    "negative binomial": lambda: regression(
        AdditiveRegressor(FEW, loss=NegativeBinomial()), positive=True
    ),
    "quantile": lambda: regression(AdditiveRegressor(FEW, loss=Quantile(0.8))),
    "quantiles": lambda: regression(AdditiveRegressor(FEW, loss=Quantile([0.9, 0.1]))),
    "svr": lambda: regression(AdditiveSVR(warm_start=True, random_state=0, C=1.0)),
    "sparse": lambda: of_sparse(AdditiveSVC(random_state=0, C=1.0)),
    "sparse, log-loss": lambda: of_sparse(AdditiveClassifier(FEW, random_state=0)),
    "search": searched,
    "spline embedding": lambda: embedding(SplineEmbedding(knots="quantile")),
    "fourier embedding": lambda: embedding(FourierEmbedding()),
    "hermite embedding": lambda: embedding(HermiteEmbedding(scale="standard")),
}


@cache
def case(name: str) -> Case:
    """Return a fitted model and rows for it: always the same objects."""
    return MADE[name]()


@cache
def expected(name: str) -> dict[str, Any]:
    """Return what a model answers before anything is done to it."""
    return answers(*case(name))


def answers(model: Any, X: Any) -> dict[str, Any]:
    """Ask a model all that can be asked."""
    asked = ["transform", "predict", "decision_function", "predict_proba", "predict_interval"]
    if hasattr(model, "loss_") and model.loss_.n_outputs > 1:
        asked.remove("predict_interval")  # of several quantiles there are none
    out = {name: getattr(model, name)(X) for name in asked if hasattr(model, name)}
    if hasattr(model, "transform"):
        return out | {"names": model.get_feature_names_out()}
    for name in ("intercept_", "feature_importances_", "n_iter_", "dual_gap_", "objective_"):
        out[name] = getattr(model, name)
    out["classes"] = getattr(model, "classes_", None)
    out["certified"], out["terms"] = model.certified_, repr(model.terms_)
    for k, term in enumerate(model.terms_):
        for name in ("name", "coef", "levels", "mean", "edf", "smoothness", "features"):
            out[f"{name} of {k}"] = getattr(term, name)
    out["base"] = inspection.base_value(model)
    out["contributions"] = inspection.contributions(model, X)
    if model._posteriors:
        out["errors"] = inspection.standard_error(model, X)
        out["summary"] = str(inspection.summary(model))
    return out
