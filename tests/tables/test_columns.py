"""What a model keeps of its columns: how many rows there were, and of each level."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import splinear
from splinear import AdditiveRegressor, AdditiveSVC


def test_rows_of_each_level_are_counted() -> None:
    rng = np.random.default_rng(0)
    letter = pd.Series(rng.choice(["a", "b", "c", None], 500, p=[0.6, 0.25, 0.1, 0.05]))
    X = pd.DataFrame({"letter": letter, "x": rng.normal(size=500)})
    weights = (rng.random(500) < 0.7).astype(float)
    model = AdditiveRegressor(random_state=0).fit(X, X["x"], sample_weight=weights)
    counted = letter[weights > 0].value_counts()
    assert model._columns.n_rows == int(weights.sum())
    assert dict(zip(model._columns.levels[0], model._columns.counts[0], strict=True)) == dict(
        counted
    )


def test_rows_of_further_calls_are_counted() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 2
    model = AdditiveSVC(random_state=0, C=1.0)
    for rows in (slice(0, 40), slice(40, 90)):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert model._columns.n_rows == 90


def test_files_keep_the_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("xyz"), 100), "b": rng.normal(size=100)})
    model = AdditiveRegressor(random_state=0).fit(X, X["b"])
    splinear.save(model, tmp_path / "model.splinear")
    again = splinear.load(tmp_path / "model.splinear")
    assert again._columns == model._columns
    assert sum(again._columns.counts[0]) == again._columns.n_rows == 100
