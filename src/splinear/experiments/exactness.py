"""On features of 8 bits, a spline of degree 1 on 255 bins under D_1 is the min-kernel SVM.

Shown on a few rows of MNIST, where LIBSVM can be run as well. The problems differ in how the bias
is penalized: not at all by LIBSVM, very little by the spline here.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from splinear import AdditiveSVC
from splinear._types import AnyArray, Floats
from splinear.experiments.bench import Bench
from splinear.experiments.mnist import to_bytes
from splinear.experiments.models import SEED, spline
from splinear.experiments.results import Column, Measured, Row, Table
from splinear.kernels import min_kernel

__all__ = ["CURVE", "LEVELS", "libsvm_scores", "spline_scores", "table"]

LEVELS = 255
CURVE = spline(LEVELS, degree=1, order=1)
ROWS, QUICK_ROWS = 4_000, 100
TEST_ROWS, QUICK_TEST_ROWS = 2_000, 200
TOL = 1e-3
BIAS = 10.0  # makes the bias all but free


def table(bench: Bench, C: float) -> Table:
    """Train both on the same few rows, and compare what they say of test rows."""
    bench.report("LIBSVM and the spline on 255 bins, on few rows")
    data = bench.mnist
    n_rows, n_test = (QUICK_ROWS, QUICK_TEST_ROWS) if bench.quick else (ROWS, TEST_ROWS)
    X, X_test = to_bytes(data.X_train[:n_rows], data.X_test[:n_test])
    y, y_test = data.y_train[:n_rows], data.y_test[:n_test]
    exact = libsvm_scores(X / LEVELS, y, X_test / LEVELS, C)
    ours = spline_scores(X, y, X_test, C, bench.n_workers)
    first, second = (scores.argmax(axis=1) for scores in (exact, ours))
    cells = [
        Measured(100 * float(np.mean(first != y_test))),
        Measured(100 * float(np.mean(second != y_test))),
        Measured(100 * float(np.mean(first == second))),
        Measured(float(np.median(np.abs(exact - ours)))),
        Measured(float(np.median(np.abs(exact)))),
    ]
    columns = [
        Column("test error, LIBSVM", "%"),
        Column("test error, spline", "%"),
        Column("same digit", "%"),
        Column("median difference of scores", "", 4),
        Column("median size of scores", "", 4),
    ]
    title = f"The min kernel by LIBSVM and by a spline on {LEVELS} bins: the same classifier"
    return Table(title, "rows", columns, [Row(f"{n_rows} to train, {n_test} to test", cells)])


def libsvm_scores(X: AnyArray, y: AnyArray, X_test: AnyArray, C: float) -> Floats:
    """Return scores (n_test, n_digits) of the SVM with the min kernel; X lies in [0, 1]."""
    K, K_test = min_kernel(X), min_kernel(X_test, X)
    svm = SVC(kernel="precomputed", C=C)
    return np.stack([svm.fit(K, y == digit).decision_function(K_test) for digit in np.unique(y)], 1)


def spline_scores(X: AnyArray, y: AnyArray, X_test: AnyArray, C: float, n_jobs: int) -> Floats:
    """Return scores (n_test, n_digits) of the spline; X is whole numbers from 0 to 255."""
    model = AdditiveSVC(
        CURVE, C=C, tol=TOL, intercept_scaling=BIAS, n_jobs=n_jobs, random_state=SEED
    )
    return model.fit(X, y).decision_function(X_test)
