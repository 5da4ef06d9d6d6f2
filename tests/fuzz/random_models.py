"""Random estimators, drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.terms import Fourier, Hermite, Linear, Pair, Spline, Varying
from splinear.terms.base import Term

Random = np.random.Generator
Estimator = AdditiveClassifier | AdditiveRegressor | AdditiveSVC | AdditiveSVR


def draw_term(random: Random) -> Term:
    """Draw a term of numbers."""
    scale = str(random.choice(["unit", "unit", "native"]))
    kind = random.choice(["spline", "spline", "spline", "fourier", "hermite", "linear"])
    if kind == "fourier":
        period = random.choice([None, None, 24.0, 0.5])
        return Fourier(int(random.integers(1, 5)), int(random.integers(1, 3)), period, scale)
    if kind == "hermite":
        scale = str(random.choice(["unit", "native", "standard"]))
        return Hermite(int(random.integers(1, 6)), int(random.integers(1, 3)), scale)
    if kind == "linear":
        return Linear()
    return Spline(
        random.choice([None, 1, 2, 5, 10, 30]),
        degree=int(random.integers(0, 4)),
        penalty_order=int(random.choice([0, 1, 1, 2, 3])),
        knots=str(random.choice(["auto", "uniform", "quantile"])),
        extrapolation=str(random.choice(["constant", "linear"])),
        scale=scale,
    )


def draw_model(random: Random, n_columns: int, *, is_numeric: bool, extreme: bool) -> Estimator:
    """Draw an estimator for a table of so many columns; `extreme`: C may be anything."""
    power = random.uniform(-30, 30) if extreme else random.uniform(-4, 3)
    C: Any = float(10.0**power)
    common: dict[str, Any] = {
        "curve": None if random.random() < 0.5 else draw_term(random),
        "terms": _draw_terms(random, n_columns) if random.random() < 0.3 else None,
        "tol": float(random.choice([1e-1, 1e-2, 1e-2, 1e-3, 1e-4, 1e-6])),
        "max_iter": int(random.choice([1000, 1000, 1000, 20])),
        "n_jobs": random.choice([None, None, 2]),
        "warm_start": bool(random.random() < 0.3),
        "max_memory": random.choice([None, None, None, None, "50MB"]),
        "random_state": int(random.integers(100)),
    }
    if random.random() < 0.5:
        dual = {
            "C": C,
            "fit_intercept": bool(random.random() < 0.8),
            "intercept_scaling": float(random.choice([1.0, 1.0, 10.0, 1e-2])),
        }
        if is_numeric:
            epsilon = float(random.choice([0.0, 0.1, 1.0]))
            return AdditiveSVR(epsilon=epsilon, **dual, **common)
        loss = str(random.choice(["hinge", "squared_hinge"]))
        weights = random.choice([None, None, "balanced"])
        return AdditiveSVC(loss=loss, class_weight=weights, **dual, **common)
    C = None if random.random() < 0.4 else C
    if random.random() < 0.5:
        common |= _draw_pairs(random, n_columns, common["terms"])
    if is_numeric:
        return AdditiveRegressor(C=C, **common)
    return AdditiveClassifier(C=C, class_weight=random.choice([None, None, "balanced"]), **common)


def _draw_terms(random: Random, n_columns: int) -> dict[Any, Any]:
    chosen = random.choice(n_columns, random.integers(1, n_columns + 1), replace=False)
    return {int(j): "drop" if random.random() < 0.2 else draw_term(random) for j in chosen}


def _draw_pairs(random: Random, n_columns: int, terms: dict[Any, Any] | None) -> dict[str, Any]:
    """Draw surfaces: so many, as many as pay, these, or as terms; some of them cannot be had."""
    kind = random.choice(["number", "auto", "list", "terms"])
    if kind == "number":
        return {"interactions": int(random.integers(0, 4))}
    if kind == "auto":
        return {"interactions": "auto"}
    n_pairs = int(random.integers(1, 4))
    pairs = (
        [tuple(map(int, random.choice(n_columns, 2, replace=False))) for _ in range(n_pairs)]
        if n_columns > 1
        else []
    )
    if kind == "list":
        return {"interactions": pairs}
    surfaces = {
        tuple(sorted(pair)): Varying()
        if random.random() < 0.3
        else Pair(random.choice([None, 1, 4, 10]))
        for pair in pairs
    }
    return {"terms": {**(terms or {}), **surfaces}}
