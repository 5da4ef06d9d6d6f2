"""Fits on clusters that are stopped, or whose workers lose what they hold."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from dask_clusters import a_cluster, clusters_of_fits
from sklearn.exceptions import ConvergenceWarning

da = pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask is not installed")

from splinear.dask import (  # noqa: E402
    DaskAdditiveClassifier,
    DaskAdditiveSVC,
    cluster,
    fitting,
    waiting,
)
from splinear.dask.shelf import Shelf  # noqa: E402
from splinear.estimators import base as estimator  # noqa: E402
from splinear.estimators import live  # noqa: E402
from splinear.objective import moments, watch  # noqa: E402

pytestmark = pytest.mark.dask

N_ROWS, N_PARTS = 6_000, 4
MOST_LATE = 6  # passes: a step that has begun is ended, but for its products


class Clock:
    """Stands still, but for passes over all rows: each takes a second."""

    def __init__(self) -> None:
        self.n_passes = 0

    def monotonic(self) -> float:
        return float(self.n_passes)


READ = []  # partitions of X, one after the other


def block(numbers):
    """Return rows of these numbers, always the same."""
    READ.append(int(numbers[0, 0]))
    return np.random.default_rng(READ[-1]).normal(size=(len(numbers), 3))


def rows():
    """Return rows that are made whenever they are read."""
    numbers = da.arange(N_ROWS, chunks=N_ROWS // N_PARTS)[:, None]
    X = numbers.map_blocks(block, chunks=(numbers.chunks[0], (3,)), meta=np.empty((0, 0)))
    noise = da.from_array(np.random.default_rng(1).normal(size=N_ROWS), chunks=N_ROWS // N_PARTS)
    return X, X[:, 0] + da.sin(3 * X[:, 1]) + noise > 0


@pytest.fixture
def clock(monkeypatch):
    """Passes are all that takes time; the sample is small, so that there are many."""
    own, asked = Clock(), cluster.Cluster._asked

    def counted(self, *args):
        own.n_passes += 1
        return asked(self, *args)

    monkeypatch.setattr(cluster.Cluster, "_asked", counted)
    for module in (watch, estimator):
        monkeypatch.setattr(module, "time", own)
    monkeypatch.setattr(fitting, "SAMPLE", 300)
    monkeypatch.setattr(fitting, "enough_rows", lambda levels: 200)
    monkeypatch.setattr(moments, "LEAST_ROWS", 100)  # that tell the deviations of terms in haste
    monkeypatch.setattr(moments, "MOST_IN_HASTE", 100)
    return own


@pytest.mark.parametrize("kind", [DaskAdditiveClassifier, DaskAdditiveSVC])
@pytest.mark.parametrize("limit", [1.0, 7.0, 25.0])
def test_a_time_limit_ends_a_fit_within_a_few_passes(kind, limit, client, clock):
    """Whatever it was doing: steps on codes, products with the Hessian, steps on X itself."""
    model = kind(C=10.0, tol=1e-9, random_state=0, time_limit=limit)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(*rows())
    assert limit < clock.n_passes <= limit + MOST_LATE
    assert not model.certified_
    assert np.isfinite(model.dual_gap_)
    assert np.isfinite(model.feature_importances_).all()


def test_a_callback_that_stops_a_fit_ends_it_at_once(client, clock):
    """Without another pass, and X is not read again for a certificate."""
    stopped = []
    READ.clear()

    def stop(progress) -> bool:
        if progress.phase is None:
            stopped.append(clock.n_passes)
        return progress.phase is None

    model = DaskAdditiveClassifier(tol=1e-9, random_state=0, callback=stop)
    with pytest.warns(ConvergenceWarning, match="by the callback"):
        model.fit(*rows())
    assert stopped == [clock.n_passes]
    assert len(READ) == 3 * N_PARTS  # a survey, the sample and the codes
    assert model.predict_proba(np.zeros((2, 3))).shape == (2, 2)


def test_workers_that_lose_their_parts_time_and_again_are_told_of(client, monkeypatch):
    monkeypatch.setattr(Shelf, "get", lambda self, key: None)
    monkeypatch.setattr(cluster, "MOST_LOST", 2)
    with pytest.raises(RuntimeError, match=r"begun 3 times.*short of memory"):
        DaskAdditiveClassifier(C=1.0, random_state=0).fit(*rows())


def test_long_passes_are_told_of_one_by_one(client, monkeypatch, capsys):
    monkeypatch.setattr(live, "LONG_ROUND", 0.0)
    with clusters_of_fits() as made:
        DaskAdditiveClassifier(C=1.0, random_state=0, verbose=2).fit(*rows())
    told = re.findall(r"^  round (\d+) of all workers in \d+\.\d s", capsys.readouterr().err, re.M)
    assert list(map(int, told)) == list(range(1, made[0].n_passes + 1))


def test_an_interrupted_fit_leaves_nothing_with_workers(client):
    """Even while its traceback is there, as in a notebook."""

    def fail(progress) -> None:
        raise KeyboardInterrupt

    before = set(client.who_has())
    with pytest.raises(KeyboardInterrupt) as held:
        DaskAdditiveClassifier(C=1.0, random_state=0, callback=fail).fit(*rows())
    for _ in range(100):  # the scheduler tells workers in its own time
        if set(client.who_has()) <= before:
            break
        time.sleep(0.05)
    assert held.tb is not None
    assert set(client.who_has()) <= before


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(waiting, "POLL", 0.05)
    monkeypatch.setattr(waiting, "WARNED", 0.1)
    monkeypatch.setattr(waiting, "PATIENCE", 0.3)
    model = DaskAdditiveClassifier(C=1.0, random_state=0)
    with (
        a_cluster(0, processes=False),
        pytest.warns(UserWarning, match="has no workers"),
        pytest.raises(RuntimeError, match=r"no workers for 0 seconds.*cluster\.scale"),
    ):
        model.fit(*rows())
    assert not hasattr(model, "terms_")


def test_a_client_that_is_closed_during_a_fit():
    model = DaskAdditiveClassifier(C=1.0, random_state=0)
    with a_cluster(1, processes=False) as client:
        model.set_params(callback=lambda progress: client.close())
        with pytest.raises(RuntimeError, match="was closed during the fit"):
            model.fit(*rows())
    assert not hasattr(model, "terms_")
