"""DaskAdditiveSVC against AdditiveSVC, and whatever the workers do."""

from __future__ import annotations

import os
import pickle
import signal
import warnings

import numpy as np
import pytest
from dask_clusters import LONG, a_cluster, clusters_of_fits
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from splinear import AdditiveSVC
from splinear.terms import Spline

da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")

from splinear.dask import DaskAdditiveSVC, margins  # noqa: E402

pytestmark = pytest.mark.dask

TOL = 1e-3


@pytest.fixture(autouse=True)
def passes(monkeypatch):
    """Fits go through all rows in passes, few as these are."""
    monkeypatch.setattr(margins, "has_many_rows", lambda *_: True)


def divided(frame, ends):
    """Return a frame of Dask, with partitions that end there."""
    starts, stops = [0, *ends], [*ends, len(frame)]
    parts = [frame.iloc[a:b] for a, b in zip(starts, stops, strict=True)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


def both(X, y, ends, weights=None, **params):
    """Fit both, on the same rows."""
    params = {"random_state": 0, "tol": TOL, "max_iter": 5000} | params
    more = {"y": y} if weights is None else {"y": y, "w": weights}
    given = divided(X.assign(**more), ends)
    dX = given.drop(columns=list(more))
    own = None if weights is None else given["w"]
    found = DaskAdditiveSVC(**params).fit(dX, given["y"], own)
    local = AdditiveSVC(**params).fit(X, y, weights)
    assert found.certified_
    assert found.dual_gap_ <= TOL
    assert found.objective_ == pytest.approx(local.objective_, rel=1.01 * TOL)
    return found, local


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_frame_with_gaps_text_and_categories(client, frame, loss):
    X, y = frame
    found, local = both(X, y, [1, 1, 300, 500], loss=loss)
    assert found.classes_.tolist() == ["no", "yes"]
    for own, other in zip(found.terms_, local.terms_, strict=True):
        np.testing.assert_array_equal(own.knots, other.knots)
    assert np.mean(found.predict(X) == local.predict(X)) > 0.97


def test_weights_and_weights_of_classes(client, frame):
    X, y = frame
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(np.float64)
    weights[:200] = 0.0  # a partition of which nothing counts
    both(X, y, [200, 500], weights, class_weight="balanced")
    both(X, y, [400], class_weight={"no": 1.0, "yes": 20.0})


@pytest.mark.parametrize(
    "params",
    [
        {"fit_intercept": False},
        pytest.param({"intercept_scaling": 10.0}, marks=LONG),
        pytest.param({"C": 1e-6}, marks=LONG),
        pytest.param({"C": 30.0}, marks=LONG),
        pytest.param({"curve": Spline(degree=3, penalty_order=2)}, marks=LONG),
    ],
    ids=repr,
)
def test_other_parameters(client, frame, params):
    X, y = frame
    found, _ = both(X, y, [350], **params)
    assert params.get("fit_intercept", True) or found.intercept_[0] == 0.0


def test_several_classes(client, frame):
    """All of them in the same passes."""
    X, y = frame
    classes = np.where(X["x"].to_numpy() > 0.5, "high", y)
    found, local = both(X, classes, [300])
    assert found.classes_.tolist() == ["high", "no", "yes"]
    lazy = found.decision_function(divided(X, [100]))
    assert lazy.shape[1] == 3
    np.testing.assert_array_equal(lazy.compute(), found.to_local().decision_function(X))
    assert np.mean(found.predict(X) == local.predict(X)) > 0.95


def test_predictions_are_lazy_and_models_local(client, frame):
    X, y = frame
    found = DaskAdditiveSVC(random_state=0, client=client, C=1.0)
    found.fit(divided(X, [300]), divided(X.assign(y=y), [300])["y"])
    local = found.to_local()
    assert type(local) is AdditiveSVC
    for name in ("predict", "decision_function"):
        lazy = getattr(found, name)(divided(X, [300, 300]))
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(local, name)(X))
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.decision_function(X), local.decision_function(X))
    assert clone(found).client is client
    assert not hasattr(found, "partial_fit")


def waves(n_parts, n=4_000):
    """Rows and noisy classes, of which partitions are made on the workers."""
    random = np.random.default_rng(5)
    X = random.random((n, 4))
    y = np.sin(8 * X[:, 0]) + X[:, 1] + 0.5 * random.normal(size=n) > 0.5
    return da.from_array(X, chunks=(n // n_parts, 4)), da.from_array(y, chunks=n // n_parts)


def test_partitions_change_nothing_beyond_the_tolerance(client):
    objectives = [
        DaskAdditiveSVC(random_state=0, tol=TOL, C=1.0).fit(*waves(n)).objective_ for n in (1, 4)
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=TOL)


def test_a_tolerance_below_the_rounding_of_codes(client):
    """Steps on X itself then follow."""
    X, y = waves(2, n=1_000)
    found = DaskAdditiveSVC(random_state=0, tol=2e-6, max_iter=200, C=1.0).fit(X, y)
    assert found.certified_
    local = AdditiveSVC(random_state=0, tol=2e-6, max_iter=100_000, C=1.0).fit(
        X.compute(), y.compute()
    )
    assert found.objective_ == pytest.approx(local.objective_, rel=3e-6)


def test_a_model_to_start_from_helps(client):
    X, y = waves(2)
    found = DaskAdditiveSVC(random_state=0, warm_start=True, C=1.0).fit(X, y)
    n_before = found.n_iter_
    assert found.fit(X, y).n_iter_ < n_before


@pytest.mark.parametrize("weighted", [False, True])
def test_classes_of_a_wide_table_that_can_be_told_apart(client, monkeypatch, weighted):
    """Few rows support the model: passes over all rows would be thousands."""
    monkeypatch.undo()
    random = np.random.default_rng(0)
    X = random.normal(size=(1_000, 150))
    y = X[:, :20] @ random.normal(size=20) > 0
    weights = random.integers(0, 3, len(X)).astype(float) if weighted else None
    found = DaskAdditiveSVC(random_state=0, C=1.0)
    with clusters_of_fits() as made:
        found.fit(da.from_array(X, chunks=(300, 150)), da.from_array(y, chunks=300), weights)
    [cluster] = made
    assert cluster.n_passes < 100
    local = AdditiveSVC(random_state=0, C=1.0).fit(X, y, weights)
    assert found.certified_
    assert found.objective_ == pytest.approx(local.objective_, rel=local.tol)
    assert np.mean(found.to_local().predict(X) == local.predict(X)) > 0.99


def test_progress_and_limits(client, frame, monkeypatch):
    """Warnings are looked for where they are made: workers' threads may hide them from pytest."""
    X, y = frame
    told, warned = [], []
    monkeypatch.setattr(warnings, "warn", lambda *args, **_: warned.extend(args[1:2]))
    model = DaskAdditiveSVC(random_state=0, callback=told.append, max_iter=1, tol=1e-9, C=1.0)
    given = divided(X.assign(y=y), [400])
    model.fit(given.drop(columns="y"), given["y"])
    assert ConvergenceWarning in warned
    assert {progress.n_rows for progress in told} == {len(X)}
    assert not model.certified_
    assert 1e-9 < model.dual_gap_ < np.inf


def test_refusals(client, frame):
    X, y = frame
    given = divided(X.assign(y=y), [400])
    held = {"z": Spline(monotone="increasing")}
    with pytest.raises(ValueError, match="monotone"):
        DaskAdditiveSVC(terms=held, C=1.0).fit(given.drop(columns="y"), given["y"])
    with pytest.raises(ValueError, match="max_memory"):
        DaskAdditiveSVC(max_memory="1GB", C=1.0).fit(given.drop(columns="y"), given["y"])


@LONG
def test_workers_change_no_bit_and_may_die():
    scores = []
    for n_workers in (1, 2):
        with a_cluster(n_workers, processes=True):
            model = DaskAdditiveSVC(random_state=0, tol=TOL, C=1.0).fit(*waves(6))
        assert model.certified_
        scores.append(model.to_local().decision_function(waves(1)[0].compute()))
    killed = []

    def on_pass(progress) -> None:
        if len(killed) < 2:
            pids = [worker.pid for worker in client.cluster.workers.values()]
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    with a_cluster(2, processes=True, silence_logs=50) as client:
        model = DaskAdditiveSVC(random_state=0, tol=TOL, callback=on_pass, C=1.0).fit(*waves(6))
        scores.append(model.to_local().decision_function(waves(1)[0].compute()))
    assert len(killed) == 2
    for own in scores[1:]:
        np.testing.assert_array_equal(own, scores[0])
