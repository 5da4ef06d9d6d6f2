"""Random estimators, drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.terms import Fourier, Hermite, Linear, Spline
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
    if is_numeric:
        return AdditiveRegressor(C=C, **common)
    return AdditiveClassifier(C=C, class_weight=random.choice([None, None, "balanced"]), **common)


def _draw_terms(random: Random, n_columns: int) -> dict[Any, Any]:
    chosen = random.choice(n_columns, random.integers(1, n_columns + 1), replace=False)
    return {int(j): "drop" if random.random() < 0.2 else draw_term(random) for j in chosen}
