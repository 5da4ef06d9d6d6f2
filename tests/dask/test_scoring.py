"""Scores of collections, against those of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
from dask_clusters import LONG, a_cluster

da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")

from splinear.dask import (  # noqa: E402
    DaskAdditiveClassifier,
    DaskAdditiveRegressor,
    DaskAdditiveSVC,
)

pytestmark = pytest.mark.dask

ENDS = [0, 1, 1, 300, 500]


def divided(whole, ends=ENDS):
    """Return a frame of Dask, with partitions that end there."""
    parts = [whole.iloc[a:b] for a, b in zip([0, *ends], [*ends, len(whole)], strict=True)]
    return dd.from_map(lambda part: part, parts, meta=whole.iloc[:0])


def numbers(loss: str, n: int = 600):
    random = np.random.default_rng(3)
    X = random.normal(size=(n, 2))
    mean = np.exp(np.sin(2 * X[:, 0]))
    y = {
        "squared_error": 1e4 + mean + random.normal(size=n),
        "poisson": random.poisson(mean * (X[:, 1] > -1)).astype(float),
        "gamma": random.gamma(3.0, mean / 3.0),
    }
    return X, y[loss], random.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("kind", [DaskAdditiveClassifier, DaskAdditiveSVC])
def test_accuracy_of_a_frame(client, frame, kind):
    X, y = frame
    w = np.where(np.arange(len(X)) < 300, 0.0, 1.0 + np.arange(len(X)) % 3)
    whole = divided(X.assign(y=y, w=w))
    dX, dy, dw = whole[list(X.columns)], whole["y"], whole["w"]
    model = kind(random_state=0).fit(dX, dy)
    local = model.to_local()
    found = model.score(dX, dy)
    assert isinstance(found, float)
    assert found == pytest.approx(local.score(X, y), rel=1e-12)
    assert model.score(dX, dy, dw) == pytest.approx(local.score(X, y, w), rel=1e-12)
    assert model.score(dX, dy, sample_weight=dw) == model.score(dX, dy, dw)
    assert model.score(X, y, w) == local.score(X, y, w)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_the_share_that_is_explained(client, loss):
    X, y, w = numbers(loss)
    order = np.argsort(y)  # so that partitions differ in their means; some have counts of 0 alone
    X, y, w = X[order], y[order], w[order]
    dX, dy, dw = (da.from_array(a, chunks=(60, *a.shape[1:])) for a in (X, y, w))
    model = DaskAdditiveRegressor(loss=loss, random_state=0).fit(dX, dy)
    local = model.to_local()
    assert model.score(dX, dy) == pytest.approx(local.score(X, y), rel=1e-9)
    assert model.score(dX, dy, dw) == pytest.approx(local.score(X, y, w), rel=1e-9)
    assert model.score(dX.rechunk((70, 1)), y) == pytest.approx(local.score(X, y), rel=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_a_target_that_does_not_vary(client, loss):
    X, y, _ = numbers(loss)
    dX, same = da.from_array(X, chunks=(100, 2)), da.full(len(X), 0.1, chunks=100)
    constant = DaskAdditiveRegressor(loss=loss, random_state=0).fit(dX, same)
    assert constant.score(dX, same) == 1.0
    other = DaskAdditiveRegressor(loss=loss, random_state=0).fit(dX, da.from_array(y, chunks=100))
    assert other.score(dX, same) == 0.0


def test_refusals(client, frame):
    X, y = frame
    whole = divided(X.assign(y=y))
    dX, dy = whole[list(X.columns)], whole["y"]
    model = DaskAdditiveClassifier(random_state=0).fit(dX, dy)
    with pytest.raises(ValueError, match="y is None"):
        model.score(dX)
    with pytest.raises(ValueError, match="feature names"):
        model.score(dX[["x", "z"]], dy)
    with pytest.raises(ValueError, match="6 partitions, but y has 1"):
        model.score(dX, divided(X.assign(y=y), [])["y"])
    with pytest.raises(ValueError, match="weights add up to 0"):
        model.score(dX, dy, whole["x"] * 0.0)


@LONG
def test_workers_that_are_processes():
    X, y, w = numbers("poisson")
    with a_cluster(2, processes=True) as client:
        dX, dy, dw = (da.from_array(a, chunks=(100, *a.shape[1:])) for a in (X, y, w))
        model = DaskAdditiveRegressor(loss="poisson", client=client, random_state=0).fit(dX, dy)
        found = model.score(dX, dy, dw)
    assert found == pytest.approx(model.to_local().score(X, y, w), rel=1e-9)
