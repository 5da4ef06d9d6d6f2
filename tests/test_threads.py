"""Work that is divided among threads of Python."""

import _thread
import threading
import time

import pytest

from splinear._threads import on_threads


@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_results_are_in_order(n_threads):
    def work(k):
        time.sleep(0.001 * (k % 3))
        return k * k

    assert on_threads(work, range(40), n_threads) == [k * k for k in range(40)]
    assert on_threads(work, [], n_threads) == []


def test_two_threads_work_at_once():
    both = threading.Barrier(2, timeout=60)
    assert len(on_threads(lambda _: both.wait(), range(2), 2)) == 2


@pytest.mark.parametrize("n_threads", [1, 3])
def test_errors_are_raised_here(n_threads):
    def work(k):
        if k == 5:
            raise MemoryError("no more")
        return k

    with pytest.raises(MemoryError, match="no more"):
        on_threads(work, range(20), n_threads)


@pytest.mark.parametrize("error", [None, RuntimeError, MemoryError])
def test_threads_that_do_not_start_are_not_waited_for(monkeypatch, error):
    def start(*_):
        if error is not None:
            raise error
        return 0  # it began, and had no memory for its first line

    monkeypatch.setattr(_thread, "start_new_thread", start)
    assert on_threads(str, range(5), 3) == ["0", "1", "2", "3", "4"]
