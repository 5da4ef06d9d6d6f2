"""One small adapter per rival: a name, fit(X, y), scores(X), and a certificate of what it found.

All of them minimize 1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i f(x_i)) with C = 1, labels -1 and
1, each in its own features.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.svm import LinearSVC

from splinear import AdditiveSVC, _core
from splinear.terms import Spline

Array = npt.NDArray[Any]

LINEAR, SPLINES, REFERENCE, FAST = "linear", "splines", "reference", "fast"
PLAIN = "plain splines"
KEYS = (LINEAR, SPLINES, REFERENCE, FAST)

_CHUNK = 4096  # rows whose splines are computed at a time when scoring


@dataclass(frozen=True)
class Curves:
    """The splines that are compared: how many bins, and the order of our penalty."""

    n_bins: int
    order: int


@dataclass(frozen=True)
class Certificate:
    """The objective reached, how far above the dual it is (relative), and the passes made."""

    objective: float
    gap: float | None
    n_iter: int


class Rival(Protocol):
    """What the benchmark asks of a rival."""

    name: str
    wants_unit_scale: bool  # float64 features in [0, 1] instead of the data as it is

    def fit(self, X: Array, y: Array) -> None:
        """Learn from labels -1 and 1; this is what is timed."""

    def scores(self, X: Array) -> Array:
        """Return f(x) for each row."""

    def certificate(self, X: Array, y: Array) -> Certificate:
        """Say how good the solution is on the rows it was fitted to."""


def make(key: str, curves: Curves) -> Rival:
    """Make the rival of that key."""
    if key == LINEAR:
        return Liblinear("LinearSVC, linear model", LinearSVC(**_HINGE))
    if key == SPLINES:
        return spline_transformer(curves)
    if key == PLAIN:
        plain = spline_transformer(curves)
        plain.svm.set_params(C=1.0, intercept_scaling=1.0)
        plain.name, plain.unit = "SplineTransformer + LinearSVC(C=1)", 1
        return plain
    return Splinear("reference" if key == REFERENCE else fastest_instructions(), curves)


def fastest_instructions() -> str:
    """Return the name of the fastest instruction set of this machine."""
    return str(_core.instruction_sets()[0])


class Splinear:
    """AdditiveSVC with a given instruction set, to a relative duality gap of 1e-2."""

    wants_unit_scale = False

    def __init__(self, instructions: str, curves: Curves) -> None:
        self.name = f"splinear, {instructions}"
        self.instructions = instructions
        curve = Spline(curves.n_bins, penalty_order=curves.order, knots="uniform")
        self.model = AdditiveSVC(curve, C=1.0, tol=1e-2, random_state=0)

    def fit(self, X: Array, y: Array) -> None:
        os.environ["SPLINEAR_INSTRUCTIONS"] = self.instructions
        self.model.fit(X, y)

    def scores(self, X: Array) -> Array:
        return self.model.decision_function(X)

    def certificate(self, X: Array, y: Array) -> Certificate:
        del X, y
        return Certificate(self.model.objective_, self.model.dual_gap_, self.model.n_iter_)


_HINGE: dict[str, Any] = {"loss": "hinge", "C": 1.0, "tol": 0.1, "random_state": 0, "verbose": 1}


class Liblinear:
    """LinearSVC, alone or behind a transformer.

    LIBLINEAR keeps its dual variables to itself, but prints the dual objective: that is read, and
    compared with the primal one. `unit` converts its objective into that of the benchmark.
    """

    wants_unit_scale = True

    def __init__(self, name: str, svm: LinearSVC, transformer: Any = None, unit: float = 1) -> None:
        self.name = name
        self.svm = svm
        self.model = svm if transformer is None else make_pipeline(transformer, svm)
        self.unit = unit
        self.dual: float | None = None

    def fit(self, X: Array, y: Array) -> None:
        with _stdout_of_c() as output, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap tells
            self.model.fit(X, y)
        self.dual = _dual_objective(output.text)

    def scores(self, X: Array) -> Array:
        pieces = range(0, len(X), _CHUNK)
        return np.concatenate([self.model.decision_function(X[i : i + _CHUNK]) for i in pieces])

    def certificate(self, X: Array, y: Array) -> Certificate:
        b = float(self.svm.intercept_[0]) / self.svm.intercept_scaling
        penalty = 0.5 * (float(np.sum(self.svm.coef_**2)) + b**2)
        losses = float(np.sum(np.maximum(0, 1 - y * self.scores(X))))
        primal = penalty + self.svm.C * losses
        gap = None if self.dual is None else (primal - self.dual) / primal
        return Certificate(self.unit * primal, gap, int(np.max(self.svm.n_iter_)))


def spline_transformer(curves: Curves) -> Liblinear:
    """SplineTransformer + LinearSVC on B-splines of degree 1 with the same bins.

    Our features are B-splines times sqrt(1 / n_bins). Instead of multiplying them, LIBLINEAR gets
    C / n_bins and a bias of sqrt(n_bins): with D_0 that is exactly our problem, and n_bins times
    its objective is ours. With D_1 it is the same splines under the penalty that a sparse matrix
    can carry.
    """
    transformer = SplineTransformer(
        n_knots=curves.n_bins + 1,
        degree=1,
        knots="uniform",
        extrapolation="constant",
        include_bias=True,
        sparse_output=True,
    )
    svm = LinearSVC(**_HINGE)
    svm.set_params(C=1 / curves.n_bins, intercept_scaling=curves.n_bins**0.5)
    return Liblinear("SplineTransformer + LinearSVC", svm, transformer, unit=curves.n_bins)


def spline_transformer_bytes(n_rows: int, n_columns: int) -> int:
    """Estimate the memory of SplineTransformer + LinearSVC beyond the data.

    Degree 1 makes 2 entries per value: 12 bytes each in the pieces and in the stacked matrix, and
    16 in LIBLINEAR's own copy.
    """
    return 2 * n_rows * n_columns * (12 + 12 + 16)


class _Output:
    text = ""


@contextmanager
def _stdout_of_c() -> Iterator[_Output]:
    """Collect what compiled code prints."""
    output, libc = _Output(), ctypes.CDLL(None)
    sys.stdout.flush()
    libc.fflush(None)
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield output
        finally:
            sys.stdout.flush()
            libc.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            output.text = file.read().decode()


def _dual_objective(printed: str) -> float | None:
    """Read the dual objective, which LIBLINEAR prints as a minimum, with the other sign."""
    found = re.findall(r"Objective value = (\S+)", printed)
    return -float(found[-1]) if found else None
