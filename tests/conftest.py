"""The lists that drive the tests: what is added here gets every property test of its kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from splinear.losses.margin import MarginLoss
from splinear.model.layout import Layout
from splinear.model.plan import TermPlan
from splinear.penalties import MatrixPenalty, Penalty
from splinear.tables.opening import open_table
from splinear.terms import Category, Fourier, Hermite, Linear, Spline
from splinear.terms.axes import Axes
from splinear.terms.base import Advice, ColumnData
from splinear.terms.basis import Basis, BSplineBasis, FourierBasis, HermiteBasis, SampledBasis
from splinear.terms.embedding import Embedding
from splinear.terms.group import TermGroup
from tests.reference.losses import LOSSES

# What a shell runs in the background ignores Ctrl-C, and so would the processes of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run is the same, unless it is to look for tests that depend on chance.
SEED = os.environ.get("SPLINEAR_TEST_SEED")
settings.register_profile("splinear", deadline=None, max_examples=40, derandomize=SEED is None)
settings.load_profile("splinear")


def _seed() -> None:
    """Seed NumPy's global generator, from which estimators without a random_state draw."""
    np.random.seed(int(SEED or 0))  # noqa: NPY002


# Hooks, not a fixture: fixtures of modules and sessions, which fit too, are set up before it.


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    _seed()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    _seed()


@dataclass(frozen=True)
class Exponentials(SampledBasis):
    """exp(x), exp(2 x), exp(3 x): a basis that has no compiled twin of its own."""

    size = 3

    def functions(self, x: np.ndarray) -> np.ndarray:
        return np.exp(x[:, None] * np.arange(1, 4))

    def penalty(self, order: int, *, through_zero: bool = False) -> MatrixPenalty:
        assert not through_zero
        return MatrixPenalty(np.eye(3) + 0.5 * np.eye(3, k=order))


ALL_BSPLINES = [BSplineBasis(degree, n_bins) for degree in range(4) for n_bins in (1, 2, 9)]
ALL_BASES: list[Basis] = [
    *ALL_BSPLINES,
    FourierBasis(1),
    FourierBasis(6),
    HermiteBasis(1),
    HermiteBasis(7),
    Exponentials(),
]
ALL_PENALTIES: list[Penalty] = [
    *(BSplineBasis(1, n_bins).penalty(order) for n_bins in (1, 8) for order in range(5)),
    *(FourierBasis(5).penalty(order) for order in (1, 2)),
    *(HermiteBasis(6).penalty(order) for order in (1, 2)),
    MatrixPenalty(np.array([[2.0, 1.0, 0.0], [0.0, 4.0, -1.0], [1.0, 0.0, 1.0]])),
]
ALL_LOSSES = list(LOSSES.values())

# Session scope: the objects do not change, and Hypothesis wants fixtures that are not set up anew
# for each example.


@pytest.fixture(scope="session", params=ALL_BSPLINES, ids=repr)
def bspline(request: pytest.FixtureRequest) -> BSplineBasis:
    basis: BSplineBasis = request.param
    return basis


@pytest.fixture(scope="session", params=ALL_BASES, ids=repr)
def basis(request: pytest.FixtureRequest) -> Basis:
    basis: Basis = request.param
    return basis


@pytest.fixture(scope="session", params=ALL_PENALTIES, ids=lambda p: repr(p).split("(w")[0])
def penalty(request: pytest.FixtureRequest) -> Penalty:
    penalty: Penalty = request.param
    return penalty


@pytest.fixture(scope="session", params=ALL_LOSSES, ids=repr)
def loss(request: pytest.FixtureRequest) -> MarginLoss:
    loss: MarginLoss = request.param
    return loss


def _curves(X: np.ndarray, basis: Basis, order: int = 1, *, native: bool = False) -> Layout:
    lo, hi = (end(X, axis=0).astype(np.float64) for end in (np.nanmin, np.nanmax))
    axes = Axes.spanning(lo, hi, basis)
    embedding = Embedding.of(axes, basis, order, native=native)
    has_gaps = bool(np.isnan(X).any())
    missing_variance = embedding.variance if has_gaps else np.zeros(X.shape[1])
    group = TermGroup.of("Spline", np.arange(X.shape[1]), embedding, has_gaps, missing_variance)
    return Layout((group,), X.shape[1])


@pytest.fixture(scope="session")
def curves() -> Callable[..., Layout]:
    """Lay out curves(X, basis, order, native=False): one group of curves over all columns of X."""
    return _curves


def _laid_out(
    X: np.ndarray,
    terms: dict[int, Any],
    levels: dict[int, tuple[Any, ...]] | None = None,
    weights: np.ndarray | None = None,
) -> Layout:
    gap = np.isnan(X)
    lo = np.where(gap.all(axis=0), np.nan, np.min(np.where(gap, np.inf, X), axis=0))
    hi = np.where(gap.all(axis=0), np.nan, np.max(np.where(gap, -np.inf, X), axis=0))
    data = ColumnData(
        table=open_table(X),
        lo=lo,
        hi=hi,
        has_gap=gap.any(axis=0),
        levels=levels or {},
        kept=None,
        weights=weights,
        through_zero=False,
        label=lambda j: f"column {j}",
    )
    plan = TermPlan.read(Spline(8), terms, X.shape[1], None)
    return plan.place(data, Advice(n_bins=8, quantiles=False))


@pytest.fixture(scope="session")
def laid_out() -> Callable[..., Layout]:
    """Lay out laid_out(X, terms, levels, weights): terms, by column, over a table of numbers."""
    return _laid_out


def _mixed(
    seed: int = 0, n: int = 150, *, n_levels: int = 7, gaps: bool = True
) -> tuple[np.ndarray, Layout]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 14))
    X[:, 2] = random.lognormal(size=n)
    X[:, 4] = random.integers(0, n_levels, n)
    X[:, 5] = random.integers(0, 5, n)
    X[:, 9], X[:, 10] = 2.5, -1.0
    X[:, 12], X[:, 13] = random.integers(0, 3, n), random.integers(0, 5, n) ** 2
    if gaps:
        with_gaps = [1, 2, 4, 5, 7, 10]
        X[:, with_gaps] = np.where(random.random((n, 6)) < 0.15, np.nan, X[:, with_gaps])
        X[:, 11] = np.nan
    plain, few = Spline(6), Spline()
    terms = {
        0: plain,
        1: plain,
        2: Spline(9, degree=3, penalty_order=2, knots="quantile"),
        3: Spline(4, degree=0, penalty_order=0),
        4: Category(),
        5: Category(ordered=True),
        6: Hermite(3),
        7: Fourier(2),
        8: Linear(),
        9: plain,  # one value
        10: plain,  # one value and gaps
        11: plain,  # gaps alone
        12: few,  # a knot at each of three values,
        13: few,  # and of five, in the same group
    }
    levels = {4: tuple(range(n_levels)), 5: tuple("abcde")}
    return X, _laid_out(X, terms, levels)


@pytest.fixture(scope="session")
def mixed() -> Callable[..., tuple[np.ndarray, Layout]]:
    """Make mixed(seed, n, n_levels=7, gaps=True): a table with terms of all kinds, laid out."""
    return _mixed


def _on_code_grid(X: np.ndarray, layout: Layout) -> np.ndarray:
    out = X.copy()
    for group in layout.groups:
        axes, basis = group.embedding.axes, group.embedding.basis
        for k, j in enumerate(group.features):
            if group.levels is not None or not axes.varies[k]:
                continue
            first, length = axes.first[k], axes.length[k]
            # B-splines divide all of the basis's axis; others that of each feature.
            whole = basis.n_bins if isinstance(basis, BSplineBasis) else length
            steps = group.grid.steps * length / whole
            x = np.where(np.isnan(X[:, j]), axes.lo[k], X[:, j])
            along = (axes.argument_of(x, k) - first) / length * steps
            at_bins = isinstance(basis, BSplineBasis) and basis.degree == 0
            share = (np.minimum(np.floor(along), steps - 1) if at_bins else np.round(along)) / steps
            knots = axes.knots_of(k)
            ends = np.array([axes.lo[k], axes.hi[k]]) if knots is None else knots
            values = np.interp(share, np.linspace(0, 1, len(ends)), ends)
            out[:, j] = np.where(np.isnan(X[:, j]), np.nan, values)
    return out


@pytest.fixture(scope="session")
def on_code_grid() -> Callable[[np.ndarray, Layout], np.ndarray]:
    """Round X, on_code_grid(X, layout), to the values that its codes of 16 bits stand for."""
    return _on_code_grid


@pytest.fixture(scope="session")
def run_benchmark() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run benchmarks/<name>.py as a user would, but without the data sets."""

    def run(name: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if key != "SPLINEAR_DATA"}
        script = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
        return subprocess.run(
            [sys.executable, str(script), *arguments],
            capture_output=True,
            text=True,
            env=kept | more,
            timeout=300,
        )

    return run


def _on_a_terminal(command: list[str], *, term: str = "xterm") -> str:
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": term, "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not piece:
            break
        written += piece
    os.close(ours)
    assert process.wait(timeout=120) == 0, written
    return written.decode()


@pytest.fixture(scope="session")
def on_a_terminal() -> Callable[..., str]:
    """Run a command whose output goes to a terminal; return all that was written."""
    return _on_a_terminal
