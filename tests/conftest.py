"""The lists that drive the tests: what is added here gets every property test of its kind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from splinear.basis import Basis, BSplineBasis, FourierBasis, HermiteBasis
from splinear.losses import LOSSES, Loss
from splinear.penalties import Penalty

settings.register_profile("default", deadline=None, max_examples=40)
settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("ci" if "CI" in os.environ else "default")

ALL_BSPLINES = [BSplineBasis(degree, n_bins) for degree in range(4) for n_bins in (1, 2, 9)]
ALL_BASES: list[Basis] = [
    *ALL_BSPLINES,
    FourierBasis(1),
    FourierBasis(6),
    HermiteBasis(1),
    HermiteBasis(7),
]
ALL_PENALTIES: list[Penalty] = [
    *(BSplineBasis(1, n_bins).penalty(order) for n_bins in (1, 8) for order in range(5)),
    *(FourierBasis(5).penalty(order) for order in (1, 2)),
    *(HermiteBasis(6).penalty(order) for order in (1, 2)),
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
def loss(request: pytest.FixtureRequest) -> Loss:
    loss: Loss = request.param
    return loss


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
