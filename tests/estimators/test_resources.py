"""Memory of a fit, and Ctrl-C in the middle of one; each in a process of its own."""

import os
import signal
import subprocess
import sys

import pytest

MEASURE = """
import ctypes, sys
# PR_SET_THP_DISABLE: where the system gives large pages unasked, they round every array up.
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
import numpy as np
from splinear import AdditiveSVC

def status(field):  # not ru_maxrss: that of a new process begins with its parent's
    [line] = [line for line in open("/proc/self/status") if line.startswith(field)]
    return 1024 * int(line.split()[1])

n_rows, n_columns, tol = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
random = np.random.default_rng(0)
X = np.empty((n_rows, n_columns), dtype=np.float32)
for start in range(0, n_rows, 10_000):  # no temporary array as large as X
    X[start : start + 10_000] = random.random((10_000, n_columns), dtype=np.float32)
y = X[:, 0] > 0.3
AdditiveSVC(C=1.0, random_state=0).fit(X[:1000], y[:1000])  # imports and allocator warmed up
before = status("VmRSS")
AdditiveSVC(C=1.0, random_state=0, tol=tol).fit(X, y)
print(status("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "tol"),
    [(200_000, 50, "1e-2"), (400_000, 8, "5e-4")],  # codes, and X itself
)
def test_memory_beyond_the_data(n_rows, n_columns, tol):
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(n_rows), str(n_columns), tol],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"},  # what is freed is given back
    )
    half_of_float32 = 2 * n_rows * n_columns
    tables = 8 * n_columns * 11
    slack = 3 * 2**20  # pieces of X in flight, and what the allocator rounds up
    assert int(run.stdout) <= half_of_float32 + 16 * n_rows + tables + slack


# The clock of Ctrl-C is that of the processor, which other programs do not make run faster.
AFTER, IN_TIME = 2.0, 2.0
PRESSED = f"""
import signal, sys, time
signal.signal(signal.SIGPROF, signal.default_int_handler)

def interrupted(work):
    signal.setitimer(signal.ITIMER_PROF, {AFTER})
    began = time.process_time()
    try:
        work()
    except KeyboardInterrupt:
        print(time.process_time() - began)
"""

LONG_FIT = """
import numpy as np
from splinear import AdditiveClassifier, AdditiveSVC
from splinear.terms import Spline

random = np.random.default_rng(0)
X, y = random.random((100_000, 60)), random.integers(0, 5, 100_000)
svc = AdditiveSVC(Spline(10, penalty_order=2), C=1e6, tol=1e-12, max_iter=10**9)
fits = {"fit": lambda: svc.fit(X, y > 2)}
interrupted(fits.get(sys.argv[1], lambda: AdditiveClassifier(tol=0.0).fit(X, y)))
"""

LONG_KERNEL = """
import numpy as np
from splinear.kernels import min_kernel

X = np.random.default_rng(0).random((16_000, 1_000), dtype=np.float32)
interrupted(lambda: min_kernel(X))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX")
@pytest.mark.parametrize(
    ("name", "work"),
    [("fit", LONG_FIT), ("choice of smoothness", LONG_FIT), ("min_kernel", LONG_KERNEL)],
)
def test_ctrl_c_ends_long_work(name, work):
    run = subprocess.run(  # which would go on for hours
        [sys.executable, "-c", PRESSED + work, name], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) - AFTER < IN_TIME


SCARCE = """
import resource, sys
import numpy as np
from splinear import AdditiveClassifier, AdditiveSVC, _core
from splinear.terms import Spline

random = np.random.default_rng(0)
X = random.random((80_000, 30))
y = X[:, 0] + X[:, 1] > 1.0

# Two tasks, of which each takes 72 MB: more than an allocator has in store for a thread.
n_levels, n_rows = 9_000_000, 9_200_000
last, none, r = np.array([float(n_levels)]), np.empty((0, 0)), np.ones(n_rows)
axes = _core.Axes(np.zeros(1), last, np.zeros(1), last, none)
codes = _core.Codes(n_rows, 1, _core.CodeGrid.bins(n_levels, 0, False))
basis, penalty = _core.bspline(0, n_levels), _core.difference_penalty(0, n_levels, 1, 0)
rows = _core.coded_rows(codes, axes)
group = _core.Group(rows, basis, penalty, np.ones(1), none, np.empty(0))

work, step = {
    "tasks": (lambda: _core.sum_all([group], r, 2), 40),
    "fit": (lambda: AdditiveSVC(Spline(50), n_jobs=2, random_state=0).fit(X, y), 2),
    "newton": (lambda: AdditiveClassifier(Spline(50), C=1.0, n_jobs=2).fit(X, y), 4),
}[sys.argv[1]]
work()  # what is imported or kept is there
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
endless = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
n_failed = 0
for k in range(16):  # from nothing at all to enough
    resource.setrlimit(resource.RLIMIT_AS, (used + k * step * 2**20, resource.RLIM_INFINITY))
    try:
        work()
    except MemoryError:
        n_failed += 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, endless)
work()
print(n_failed)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS and /proc are Linux's")
@pytest.mark.parametrize("work", ["tasks", "fit", "newton"])
def test_too_little_memory_is_a_memory_error(work):
    """Wherever it ends, and on whichever thread; the next fit is as any other."""
    # The allocator returns what is freed: what it keeps otherwise can be enough for the next fit.
    returned = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    run = subprocess.run(
        [sys.executable, "-c", SCARCE, work],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | returned,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 0
