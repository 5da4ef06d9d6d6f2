"""Sparse partitions, against local fits on the sparse matrix."""

from __future__ import annotations

import numpy as np
import pytest
from dask_clusters import LONG, a_cluster
from scipy import sparse

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC
from splinear.terms import Fourier

da = pytest.importorskip("dask.array", reason="dask is not installed")

from dask.delayed import delayed  # noqa: E402

from splinear.dask import (  # noqa: E402
    DaskAdditiveClassifier,
    DaskAdditiveRegressor,
    DaskAdditiveSVC,
    margins,
    storing,
)

pytestmark = pytest.mark.dask

EMPTY = sparse.csr_array((0, 0))


def counts(n=1_200, p=12, seed=0):
    """Return a matrix of few counts, and a number that depends on it."""
    random = np.random.default_rng(seed)
    X = random.poisson(0.3, (n, p)) * random.random((n, p))
    f = 3 * np.sqrt(X[:, 0]) - 2 * X[:, 1] + X[:, 2] + random.logistic(size=n) - 0.5
    return sparse.csr_array(X), f


def divided(X, chunks):
    """Return a matrix as partitions, each of which is sparse."""
    ends = np.cumsum(chunks)
    parts = [X[end - n : end] for n, end in zip(chunks, ends, strict=True)]
    made = [da.from_delayed(delayed(own), own.shape, own.dtype, meta=EMPTY) for own in parts]
    return da.concatenate(made, allow_unknown_chunksizes=True)


CHUNKS = (1, 499, 700)


@pytest.mark.parametrize(
    ("kinds", "params"),
    [
        ((DaskAdditiveClassifier, AdditiveClassifier), {}),
        pytest.param((DaskAdditiveClassifier, AdditiveClassifier), {"C": 1.0}, marks=LONG),
        ((DaskAdditiveRegressor, AdditiveRegressor), {}),
        ((DaskAdditiveSVC, AdditiveSVC), {"tol": 1e-3, "max_iter": 5_000}),
        pytest.param(
            (DaskAdditiveSVC, AdditiveSVC), {"tol": 1e-3, "loss": "squared_hinge"}, marks=LONG
        ),
    ],
    ids=repr,
)
def test_the_model_is_that_of_a_local_fit(client, monkeypatch, kinds, params):
    monkeypatch.setattr(margins, "has_many_rows", lambda *_: True)  # passes, few as rows are
    X, f = counts()
    y = f if kinds[0] is DaskAdditiveRegressor else f > 0
    found = kinds[0](random_state=0, **params)
    found.fit(divided(X, CHUNKS), da.from_array(y, chunks=(CHUNKS,)))
    local = kinds[1](random_state=0, **params).fit(X, y)
    assert found.certified_
    assert found.objective_ == pytest.approx(local.objective_, rel=1.01 * local.tol)
    for own, other in zip(found.terms_, local.terms_, strict=True):
        np.testing.assert_array_equal(own.knots, other.knots)
    lazy = found.predict(divided(X, (600, 0, 600)))
    np.testing.assert_array_equal(lazy.compute(), found.to_local().predict(X))


def test_gaps_weights_and_partitions_without_rows(client):
    X, f = counts()
    X.data[::17] = np.nan
    w = np.random.default_rng(1).integers(0, 3, len(f)).astype(float)
    chunks = (0, 500, 700, 0)
    found = DaskAdditiveClassifier(random_state=0)
    found.fit(divided(X, chunks), da.from_array(f > 0, chunks=1200).rechunk((chunks,)), w)
    local = AdditiveClassifier(random_state=0).fit(X, f > 0, w)
    assert found.certified_
    assert found.objective_ == pytest.approx(local.objective_, rel=local.tol)


@LONG
def test_a_tolerance_below_single_precision(client):
    X, f = counts(600)
    params = {"C": 1.0, "tol": 1e-8, "random_state": 0}
    found = DaskAdditiveRegressor(**params)
    found.fit(divided(X, (300, 300)), da.from_array(f, chunks=300))
    local = AdditiveRegressor(**params).fit(X, f)
    assert found.objective_ == pytest.approx(local.objective_, rel=1e-7)
    assert found.certified_


def test_parts_without_room_in_memory(monkeypatch):
    X, f = counts()
    scores = []
    for full in (0.4, 0.0):
        monkeypatch.setattr(storing, "FULL", full)
        with a_cluster(2, processes=False, memory_limit="4GB"):
            found = DaskAdditiveClassifier(C=1.0, random_state=0)
            found.fit(divided(X, CHUNKS), da.from_array(f > 0, chunks=(CHUNKS,)))
        assert found.certified_
        scores.append(found.to_local().decision_function(X))
    np.testing.assert_array_equal(*scores)


def test_refusals(client):
    rows = da.from_array(np.eye(8), chunks=(4, 8))
    y = da.from_array(np.arange(8) % 2, chunks=4)
    unknown = rows.map_blocks(sparse.csr_array, meta=rows._meta)
    with pytest.raises(TypeError, match=r"takes it for an array.*meta.*in partition ."):
        DaskAdditiveClassifier().fit(unknown, y)
    with pytest.raises(TypeError, match="takes it for sparse"):
        DaskAdditiveClassifier().fit(rows.map_blocks(lambda part: part, meta=EMPTY), y)
    known = rows.map_blocks(sparse.csr_array)
    with pytest.raises(ValueError, match="need a dense X"):
        DaskAdditiveClassifier(interactions=1).fit(known, y)
    with pytest.raises(ValueError, match="Categories are for dense tables"):
        DaskAdditiveClassifier(categorical_features=[0]).fit(known, y)
    with pytest.raises(ValueError, match="period"):
        DaskAdditiveClassifier(terms={0: Fourier(period=3.0)}).fit(known, y)
