"""Offsets of rows on workers: fits and predictions are those of the local estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask is not installed")

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC  # noqa: E402
from splinear.dask import (  # noqa: E402
    DaskAdditiveClassifier,
    DaskAdditiveRegressor,
    DaskAdditiveSVC,
)
from splinear.terms import Spline  # noqa: E402

pytestmark = pytest.mark.dask


def rows(kind: str, n: int = 1_000):
    random = np.random.default_rng(0)
    X, f = random.normal(size=(n, 2)), random.normal(size=(n, 3))
    score = f + np.column_stack([np.sin(2 * X[:, 0]), 0.5 * X[:, 1], 0.0 * X[:, 0]])
    one, offset = score[:, 0], f[:, 0]
    if kind == "squared_error":
        return X, one + 40.0 * offset + random.normal(size=n), 41.0 * offset
    if kind == "poisson":
        return X, 1.0 * random.poisson(np.exp(one)), offset
    if kind in ("logistic", "hinge"):
        return X, (one > random.logistic(size=n)).astype(int), offset
    return X, (score + random.gumbel(size=(n, 3))).argmax(axis=1), f


def models(kind: str, **params):
    options = {"curve": Spline(8), "random_state": 0, "tol": 1e-5} | params
    if kind in ("squared_error", "poisson"):
        pair = AdditiveRegressor, DaskAdditiveRegressor
        return tuple(own(loss=kind, **options) for own in pair)
    pair = AdditiveClassifier, DaskAdditiveClassifier
    if kind in ("hinge", "one_vs_rest"):
        pair, options["C"] = (AdditiveSVC, DaskAdditiveSVC), 0.1
    return tuple(own(**options) for own in pair)


KINDS = ["squared_error", "poisson", "logistic", "softmax", "hinge", "one_vs_rest"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_on_workers_is_that_of_a_local_one(client, kind):
    X, y, offset = rows(kind)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    here, there = models(kind)
    here.fit(X, y, weights, offset=offset)
    there_X, there_o = da.from_array(X, chunks=(130, 2)), da.from_array(offset, chunks=130)
    parts = [da.from_array(own, chunks=130) for own in (y, weights)]
    there.fit(there_X, *parts, offset=there_o)
    assert there.certified_
    expected = here._scores(X)
    spread = np.abs(expected).max()
    np.testing.assert_allclose(there.to_local()._scores(X), expected, atol=0.02 * spread)
    assert there.objective_ == pytest.approx(here.objective_, rel=0.01)
    without = models(kind)[0].fit(X, y, weights)._scores(X)
    assert np.abs(without - expected).max() > 0.1 * spread
    # Predictions are lazy, and those of the local model.
    local = there.to_local()
    found = there.predict(there_X, offset=there_o)
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), local.predict(X, offset=offset))
    if hasattr(local, "predict_proba"):
        np.testing.assert_array_equal(
            there.predict_proba(there_X, offset=there_o), local.predict_proba(X, offset=offset)
        )
    if hasattr(local, "classes_"):
        np.testing.assert_array_equal(
            there.decision_function(there_X, offset=there_o),
            local.decision_function(X, offset=offset),
        )
    expected = local.score(X, y, weights, offset=offset)
    assert there.score(there_X, *parts, offset=there_o) == pytest.approx(expected, abs=1e-9)
    assert there.score(X, y, weights, offset=offset) == pytest.approx(expected, abs=1e-9)
    assert expected != pytest.approx(local.score(X, y, weights), abs=1e-3)


@pytest.mark.parametrize("kind", ["poisson", "softmax"])
def test_columns_of_a_frame(client, kind):
    X, y, offset = rows(kind, 600)
    frame = pd.DataFrame(X, columns=["a", "b"])
    names = ["log_t"] if offset.ndim == 1 else ["o", "p", "q"]
    frame["y"], frame[names] = y, offset.reshape(600, -1)
    parts = dd.from_pandas(frame, npartitions=4)
    column = parts[names[0]] if offset.ndim == 1 else parts[names]
    one, other = models(kind)[1], models(kind)[1]
    one.fit(parts[["a", "b"]], parts["y"], offset=column)
    chunks = [da.from_array(own, chunks=150) for own in (X, y, offset)]
    other.fit(*chunks[:2], offset=chunks[2])
    np.testing.assert_array_equal(one._scores(frame[["a", "b"]]), other._scores(X))
    lazy = one.predict(parts[["a", "b"]], offset=column)
    np.testing.assert_array_equal(lazy.compute(), other.predict(X, offset=offset))
    apart = dd.from_pandas(frame[names], npartitions=4)  # of another frame
    lazy = one.predict(parts[["a", "b"]], offset=apart)
    np.testing.assert_array_equal(lazy.compute(), other.predict(X, offset=offset))


def test_pairs_on_workers_know_the_offset(client):
    random = np.random.default_rng(0)
    X = random.uniform(-1.5, 1.5, size=(2_000, 3))
    offset = 3.0 * X[:, 1] * X[:, 2]
    y = X[:, 0] * X[:, 1] + offset + 0.5 * random.normal(size=2_000)
    model = models("squared_error", interactions=1, tol=1e-3)[1]
    chunks = [da.from_array(own, chunks=500) for own in (X, y, offset)]
    model.fit(*chunks[:2], offset=chunks[2])
    assert [pair.features for pair in model.terms_.pairs] == [(0, 1)]


def test_wrong_offsets_are_refused(client):
    X, y, offset = rows("softmax", 300)
    chunks = [da.from_array(own, chunks=100) for own in (X, y, offset)]
    model = models("softmax")[1]
    with pytest.raises(ValueError, match="one column for each of the 3 scores of a row; it has 1"):
        model.fit(*chunks[:2], offset=chunks[2][:, 0])
    with pytest.raises(ValueError, match="X has 300 rows, but offset has 200"):
        model.fit(*chunks[:2], offset=chunks[2][:200])
    with pytest.raises(ValueError, match="offset must have one or two dimensions; it has 0"):
        model.fit(*chunks[:2], offset="log_t")
    gap = offset.copy()
    gap[150, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"offset contains NaN \(first in row 50\).*in partition 1"
    ):
        model.fit(*chunks[:2], offset=da.from_array(gap, chunks=100))
    model.fit(*chunks[:2], offset=chunks[2])
    with pytest.raises(ValueError, match="one column for each of the 3 scores of a row; it has 2"):
        model.predict(chunks[0], offset=chunks[2][:, :2])
    with pytest.raises(ValueError, match="one column for each of the 3 scores of a row; it has 1"):
        model.score(*chunks[:2], offset=chunks[2][:, 0])
