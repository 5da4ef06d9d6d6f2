"""Linear algebra keeps to one thread during fits, and has its threads back afterward."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from splinear import AdditiveClassifier, AdditiveSVC, AdditiveSVR
from splinear.objective.running import one_blas_thread
from splinear.terms import Spline

pytestmark = pytest.mark.skipif(
    not ThreadpoolController().select(user_api="blas").lib_controllers,
    reason="this linear algebra has no threads to count",
)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def set_threads(n):
    """On a thread that ends: threadpoolctl would not let others set limits while it lives."""
    pools = ThreadpoolController().select(user_api="blas")
    thread = threading.Thread(target=lambda: pools.limit(limits=n))
    thread.start()
    thread.join()


@pytest.fixture(autouse=True)
def two_threads():
    (before,) = blas_threads()
    set_threads(2)
    assert blas_threads() == {2}
    yield
    set_threads(before)


def test_many_fits_at_once_leave_the_threads_as_they_were():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 2))
    y = X[:, 0] + random.normal(size=120) > 0
    begin, inside = threading.Barrier(64), []

    def fit(k):
        def note(*_):
            inside.append(blas_threads())
            if k % 8 == 0:
                raise RuntimeError("no more")

        model = AdditiveClassifier(Spline(5), C=1.0, callback=note)
        begin.wait()
        try:
            model.fit(X, y)
        except RuntimeError:
            return False
        return True

    with ThreadPoolExecutor(64) as pool:
        fitted = list(pool.map(fit, range(64)))
    assert fitted == [k % 8 != 0 for k in range(64)]
    assert len(inside) >= 64
    assert all(found == {1} for found in inside)
    assert blas_threads() == {2}


@pytest.mark.parametrize("kind", [AdditiveSVC, AdditiveSVR])
def test_dual_coordinate_descent_keeps_to_one_thread(kind):
    X, inside = np.random.default_rng(0).normal(size=(120, 2)), []
    kind(callback=lambda _: inside.append(blas_threads())).fit(X, X[:, 0] > 0)
    assert inside
    assert all(found == {1} for found in inside)
    assert blas_threads() == {2}


def test_the_last_one_out_lifts_the_limit():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


def test_after_an_exception():
    with pytest.raises(ZeroDivisionError), one_blas_thread(), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_waits_for_nobody():
    """Not for the threads that were inside of the limit, or held its lock, when it was forked."""
    entered, end = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread():
            entered.set()
            end.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        with one_blas_thread():
            inside = blas_threads()
        os._exit(0 if (inside, blas_threads()) == ({1}, {2}) else 1)
    _, status = os.waitpid(child, 0)
    end.set()
    thread.join()
    assert status == 0
    assert blas_threads() == {2}
