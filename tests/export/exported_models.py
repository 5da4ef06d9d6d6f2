"""Models of every term, loss and number of classes, and rows that try them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from splinear import (
    AdditiveClassifier,
    AdditiveOrdinal,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
)
from splinear.terms import Category, Fourier, Hermite, Linear, Pair, Spline, Varying

ODD_NAME = "co\"lor 's;"  # a name that has to be quoted


def table(n: int, seed: int, *, far: float = 0.0) -> pd.DataFrame:
    """Numbers, few numbers, gaps, text and codes; `far` widens the ranges."""
    rng = np.random.default_rng(seed)
    wide = 1.0 + far
    a, b = rng.normal(size=n) * wide, rng.uniform(10, 20, n) + far * rng.normal(size=n) * 10
    few = rng.integers(0, 6, n).astype(float)
    hour = rng.uniform(-30 * far, 24 + 30 * far, n)
    b[rng.random(n) < 0.15] = np.nan
    color = rng.choice(["red", "gr'een", 'blue "x"', "Größe"], n).astype(object)
    code = rng.integers(0, 5, n)
    if far:
        color[::7] = "never seen"
        code[::5] = 99
        a[::11] = np.nan
        hour[::13] = np.nan
    color[rng.random(n) < 0.1] = None
    frame = {"a": a, "b": b, "few": few, "hour": hour, ODD_NAME: color, "code": code}
    return pd.DataFrame(frame | {"same": np.full(n, 3.0)})


def signal(X: pd.DataFrame) -> np.ndarray:
    gap = X["b"].isna().to_numpy()
    b = X["b"].fillna(15.0).to_numpy()
    level = X[ODD_NAME].map({"red": 1.0, "gr'een": -1.0}).fillna(0.2).to_numpy()
    a, hour = X["a"].fillna(0.0).to_numpy(), X["hour"].fillna(0.0).to_numpy()
    wave = np.sin(2 * np.pi * hour / 24)
    return np.sin(2 * a) + 0.3 * (b - 15) * level + gap + wave + 0.2 * X["few"].to_numpy() * a


def number(X: pd.DataFrame) -> np.ndarray:
    return signal(X) + np.random.default_rng(1).normal(size=len(X)) * 0.3


def two(X: pd.DataFrame) -> np.ndarray:
    return np.where(number(X) > 0.4, "yes", "no")


def three(X: pd.DataFrame) -> np.ndarray:
    return np.digitize(number(X), [0.0, 1.0]) * 10


def grades(X: pd.DataFrame) -> np.ndarray:
    """Four grades, of which the third is too rare to be the most probable one anywhere."""
    return np.array(["poor", "fair", "odd", "good"])[np.digitize(number(X), [0.0, 0.95, 1.0])]


def labels(X: pd.DataFrame) -> np.ndarray:
    y = number(X)
    return np.column_stack([y > 0, y > 1, X["a"].fillna(0) > 0]).astype(int)


def count(X: pd.DataFrame) -> np.ndarray:
    return np.random.default_rng(2).poisson(np.exp(0.5 * signal(X)))


def positive(X: pd.DataFrame) -> np.ndarray:
    return np.exp(0.5 * number(X))


@dataclass(frozen=True)
class Case:
    estimator: Any
    target: Callable[[pd.DataFrame], np.ndarray]
    columns: tuple[str, ...] = ("a", "b", "few", "hour", ODD_NAME, "code", "same")
    refuses: bool = False  # gaps, unseen levels or values out of range


def classifier(**parameters: Any) -> AdditiveClassifier:
    given: dict[str, Any] = {"random_state": 0, "terms": {"code": Category()}}
    return AdditiveClassifier(**(given | parameters))


NUMBERS = ("a", "few", "hour", "same")
OTHER = {"code": Category(), ODD_NAME: "drop"}


def curves(*terms: Any, **parameters: Any) -> Case:
    """A case whose numbers have these terms."""
    own = dict(zip(("a", "b", "few", "hour"), terms, strict=True))
    return Case(classifier(terms=own | OTHER, **parameters), two)


def splines(**parameters: Any) -> Case:
    term = Spline(n_bins=7, **parameters)
    return curves(term, term, Spline(**parameters), term)


PAIRS = [("a", "few"), ("b", ODD_NAME), (ODD_NAME, "code"), ("a", "b")]

VARYING = {("a", "b"): Varying(), (ODD_NAME, "a"): Varying(), ("few", "code"): Varying()}

CASES = {
    "two classes": Case(classifier(), two),
    "three classes": Case(classifier(), three),
    "labels": Case(classifier(), labels),
    "pairs": Case(classifier(interactions=PAIRS), two),
    "pairs of three classes": Case(classifier(interactions=PAIRS), three),
    "pairs with few nodes": Case(
        classifier(terms={"code": Category(), ("a", ODD_NAME): Pair(n_bins=2)}), two
    ),
    "pairs of waves": Case(
        classifier(
            terms={"a": Fourier(period=0.7), ("a", "few"): Pair(), ("a", "code"): Pair(n_bins=1)}
        ),
        two,
    ),
    "varying": Case(
        AdditiveRegressor(terms={"code": Category(), **VARYING}, random_state=0), number
    ),
    "varying, three classes": Case(
        classifier(terms={"code": Category(), **VARYING}, interactions=[("a", "few")]), three
    ),
    "varying, labels": Case(classifier(terms={"code": Category(), **VARYING}), labels),
    "fixed C": Case(classifier(C=0.1), two),
    "squared error": Case(AdditiveRegressor(random_state=0, interactions=PAIRS[:2]), number),
    "poisson": Case(AdditiveRegressor(loss="poisson", random_state=0), count),
    "gamma": Case(AdditiveRegressor(loss="gamma", random_state=0), positive),
    "ordered levels": Case(
        AdditiveOrdinal(
            levels=["poor", "fair", "odd", "good"],
            random_state=0,
            terms={"code": Category()},
            interactions=PAIRS[:1],
        ),
        grades,
    ),
    "two ordered levels": Case(AdditiveOrdinal(random_state=0), two, NUMBERS),
    "svc": Case(AdditiveSVC(random_state=0, C=1.0), two),
    "svc of three": Case(AdditiveSVC(random_state=0, C=1.0), three),
    "svc of labels": Case(AdditiveSVC(loss="squared_hinge", random_state=0, C=1.0), labels),
    "svr": Case(AdditiveSVR(random_state=0, C=1.0), number),
    **{f"degree {r}": splines(degree=r) for r in range(4)},
    **{f"degree {r}, uniform": splines(degree=r, knots="uniform") for r in range(4)},
    **{f"degree {r}, quantile": splines(degree=r, knots="quantile") for r in range(4)},
    **{f"degree {r}, linear": splines(degree=r, extrapolation="linear") for r in range(4)},
    "given knots": curves(
        Spline(knots=[-1, 0, 0.5, 2]), Spline(degree=0, knots=[12, 13, 17]), Linear(), Linear()
    ),
    "waves": curves(
        Fourier(), Fourier(n_frequencies=5), Fourier(period=7.0), Fourier(2, period=24)
    ),
    "polynomials": curves(
        Hermite(), Hermite(12), Hermite(scale="standard"), Hermite(6, scale="standard")
    ),
    "refusing": Case(
        classifier(
            missing="error",
            terms={"a": Spline(extrapolation="error"), "code": Category(unseen="error")},
            categorical_features=["code"],
        ),
        two,
        ("a", "few", "hour", "code"),
        refuses=True,
    ),
    "refusing steps": Case(
        classifier(missing="error", terms={"a": Spline(degree=0, extrapolation="error")}),
        two,
        ("a", "few", "hour"),
        refuses=True,
    ),
    "numbers": Case(AdditiveClassifier(random_state=0, interactions=1), two, NUMBERS),
    "numbers, three classes": Case(AdditiveClassifier(random_state=0), three, NUMBERS),
}


@cache
def fitted(name: str) -> Any:
    """Return the model of a case."""
    case, X = CASES[name], table(600, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.estimator.fit(X[list(case.columns)], case.target(X))


def clear_levels(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Rows whose most probable ordered level no rounding can change."""
    top = np.sort(model.predict_proba(X), axis=1)
    return top[:, -1] - top[:, -2] > 1e-5


def rows(name: str, n: int = 300, seed: int = 5) -> pd.DataFrame:
    """Return rows to try a model on, inside and outside of what it has seen, and at its knots."""
    case, model = CASES[name], fitted(name)
    X = table(n, seed)
    if not case.refuses:
        X = pd.concat([X, table(n, seed + 1, far=0.4)], ignore_index=True)
    at = {"a": 0, "b": 1, "few": 2, "hour": 3}
    for column in [c for c in case.columns if c in at]:
        term = model.terms_.of_feature(case.columns.index(column))
        own = np.concatenate([term.knots, [term.lo, term.hi]])
        own = np.concatenate([own, np.nextafter(own, np.inf), np.nextafter(own, -np.inf)])
        if case.refuses:
            own = own[(own >= term.lo) & (own <= term.hi)]
            X[column] = X[column].clip(term.lo, term.hi)
        X.loc[: len(own[:n]) - 1, column] = own[:n]
    return X[list(case.columns)]
