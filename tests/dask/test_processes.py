"""Fits on workers that are processes, some of which die. Long: .ci/long asks for them."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from dask_clusters import LONG, a_cluster

from splinear import AdditiveClassifier

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

from splinear.dask import DaskAdditiveClassifier  # noqa: E402

pytestmark = [pytest.mark.dask, LONG]

N_ROWS = 6_000


def block(numbers, *, slow: float = 0.0):
    """Return rows of these numbers, always the same."""
    time.sleep(slow)
    random = np.random.default_rng(int(numbers[0, 0]))
    return random.normal(size=(len(numbers), 4))


def rows(n_parts: int, slow: float = 0.0):
    """Return rows that are made on the workers, and classes."""
    numbers = da.arange(N_ROWS, chunks=N_ROWS // n_parts)[:, None]
    X = numbers.map_blocks(block, slow=slow, chunks=(numbers.chunks[0], (4,)), dtype=np.float64)
    noise = np.random.default_rng(1).normal(size=N_ROWS)
    y = da.sin(2 * X[:, 0]) + X[:, 1] + da.from_array(noise, chunks=N_ROWS // n_parts) > 0
    return X, y


@pytest.fixture(scope="module")
def expected():
    X, y = rows(6)
    with a_cluster(1, processes=False):
        X, y = X.compute(), y.compute()
    return AdditiveClassifier(random_state=0).fit(X, y), X


@pytest.fixture(scope="module")
def found() -> list[np.ndarray]:
    return []


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_number_of_workers_changes_no_bit(n_workers, expected, found):
    local, X = expected
    with a_cluster(n_workers, processes=True):
        model = DaskAdditiveClassifier(random_state=0).fit(*rows(6))
    assert model.certified_
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-5)
    found.append(model.predict_proba(X))
    np.testing.assert_array_equal(found[0], found[-1])


def test_a_worker_that_dies_changes_no_bit(expected, found):
    """Kill one whenever a pass has been reported, and one while rows are being read."""
    _, X = expected
    killed = []

    def kill() -> None:
        pids = [worker.pid for worker in client.cluster.workers.values()]
        killed.append(pids[0])
        os.kill(pids[0], signal.SIGKILL)

    def on_pass(progress) -> None:
        if len(killed) < 2:
            kill()

    with a_cluster(2, processes=True, silence_logs=50) as client:
        model = DaskAdditiveClassifier(random_state=0, callback=on_pass)
        timer = threading.Timer(1.0, kill)
        timer.start()
        model.fit(*rows(6, slow=0.3))
        timer.cancel()
    assert killed
    assert model.certified_
    np.testing.assert_array_equal(model.predict_proba(X), found[0])


def test_all_workers_die_at_once(expected, found):
    """Others take their places: Dask alone would wait for those that are gone."""
    _, X = expected
    killed = []

    def on_pass(progress) -> None:
        if not killed:
            killed.extend(worker.pid for worker in client.cluster.workers.values())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    with a_cluster(2, processes=True, silence_logs=50) as client:
        model = DaskAdditiveClassifier(random_state=0, callback=on_pass).fit(*rows(6))
    assert len(killed) == 2
    assert model.certified_
    np.testing.assert_array_equal(model.predict_proba(X), found[0])


def test_workers_that_run_out_of_memory_write_parts_to_disk(expected, found):
    """Parts are pickled, and read again."""
    _, X = expected
    spilled = {"distributed.worker.memory.target": 1e-6, "distributed.worker.memory.spill": False}
    with dask.config.set(spilled), a_cluster(2, processes=True, memory_limit="2GB"):
        model = DaskAdditiveClassifier(random_state=0).fit(*rows(6))
    np.testing.assert_array_equal(model.predict_proba(X), found[0])
