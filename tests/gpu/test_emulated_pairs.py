"""The kernels of surfaces, compiled as C++: some of what is compared where there is a GPU."""

from __future__ import annotations

import emulated_cupy
import numpy as np
import pytest
from pairs_compared import (
    both,
    pairs_of,
    placed,
    same_evidence,
    same_passes,
    same_passes_of_the_largest,
    same_positions,
    same_predictions,
)

from splinear import AdditiveClassifier
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.terms import Spline, Varying

pytestmark = pytest.mark.skipif(emulated_cupy.COMPILER is None, reason="there is no compiler")


@pytest.fixture(scope="module")
def backend():
    return emulated_cupy.backend()


@pytest.mark.parametrize(("dtype", "exact"), [(np.float64, True), (np.float32, False)])
def test_where_rows_stand(backend, dtype, exact):
    same_positions(backend, dtype, exact)


@pytest.mark.parametrize(("n_outputs", "exact"), [(1, False), (17, True)])
def test_passes_are_those_of_numpy(backend, n_outputs, exact):
    same_passes(backend, placed(backend, exact), placed(NumPyBackend(), exact), n_outputs)


def test_the_finest_surface(backend):
    same_passes_of_the_largest(backend)


def test_surfaces_that_shared_memory_has_no_room_for(backend, monkeypatch):
    monkeypatch.setattr(backend, "shared_bytes", 1000)
    mine, slow = placed(backend).first(200), placed(NumPyBackend()).first(200)
    same_passes(backend, mine, slow, 1)


def test_evidence(backend):
    same_evidence(backend, 2, n=600)


def test_predictions(backend):
    same_predictions(backend, 3)


def test_fits(backend, monkeypatch):
    """The pairs that are found, and the model, are those of the processor."""
    monkeypatch.setattr(
        "splinear.estimators.gpu.cuda_backend",
        lambda device: None if device == "cpu" else backend,
    )
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 4))
    X[::11, 1] = np.nan
    y = np.nan_to_num(X[:, 1]) * X[:, 2] + 0.3 * X[:, 0] > 0.1
    terms = {(0, 3): Varying()}
    model = AdditiveClassifier(
        Spline(4), terms=terms, interactions=1, C=0.3, tol=0.05, random_state=0
    )
    here, there = both(model, X, y)
    assert there.certified_
    assert pairs_of(there) == pairs_of(here) == [(0, 3), (1, 2)]
    assert there.objective_ == pytest.approx(here.objective_, rel=0.1)
