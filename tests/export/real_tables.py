"""Models of published tables, and 10,000 other rows of each."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splinear import AdditiveClassifier, AdditiveRegressor, datasets

NAMES = ["adult", "magic", "california_housing", "covtype"]
N_ROWS = 10_000

needs_data = pytest.mark.skipif(
    "SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA names no data folder"
)


@cache
def real(name: str) -> tuple[Any, pd.DataFrame]:
    """Return a fitted model and rows that it has not seen."""
    data = getattr(datasets, f"load_{'adult_raw' if name == 'adult' else name}")()
    X = pd.DataFrame(data.data)
    X.columns = [str(column) for column in X.columns] if name == "adult" else data.feature_names
    # The estimators score single precision by itself, in kernels that round.
    X = X.astype(dict.fromkeys(X.select_dtypes("number"), np.float64))
    order = np.random.default_rng(0).permutation(len(X))[: 2 * N_ROWS]
    X, y = X.iloc[order].reset_index(drop=True), np.asarray(data.target)[order]
    estimator: Any = AdditiveClassifier(random_state=0)
    if name == "california_housing":
        estimator = AdditiveRegressor(random_state=0)
    elif name != "covtype":
        estimator.set_params(interactions=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator.fit(X[:-N_ROWS], y[:-N_ROWS])
    return model, X[-N_ROWS:].reset_index(drop=True)
