"""The kernels of a GPU, compiled as C++: some of what other tests compare where there is one."""

from __future__ import annotations

import emulated_cupy
import numpy as np
import pytest
from sklearn.datasets import make_classification
from test_backends import (
    TERMS,
    N,
    groups_of,
    same_classes,
    same_factors,
    same_matrices,
    same_moments,
    same_passes,
    same_shift,
)

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.objective.gpu.cuda import CudaCells
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.terms import Spline

pytestmark = pytest.mark.skipif(emulated_cupy.COMPILER is None, reason="there is no compiler")


@pytest.fixture(scope="module")
def backend():
    return emulated_cupy.backend()


def test_passes_are_those_of_numpy(backend):
    groups, X = groups_of(TERMS["warped"], 35, gaps=True)
    for group in groups:
        mine, slow = backend.coded(group, N), NumPyBackend().coded(group, N)
        mine.fill(backend.array(X), np.arange(N))
        slow.fill(X, np.arange(N))
        assert np.abs(mine.codes().astype(int) - slow.codes()).max() <= 1
        slow.coded[:] = mine.codes()
        same_passes(backend, mine, slow, group, 1e-5)
        maps = np.random.default_rng(0).normal(size=(*group.shape, 5))
        found = backend.numpy(mine.expanded(maps))
        np.testing.assert_allclose(found, slow.expanded(maps), atol=1e-5)


def test_tables_of_more_entries_than_32_bits_count(backend, monkeypatch):
    """They are laid out all the same; there is no room for them here, only for what is asked."""
    groups, _ = groups_of(TERMS["line"], 40, gaps=False)
    cells, asked = backend.coded(groups[0], 1), []
    zeros = {"empty": lambda shape, dtype: np.broadcast_to(dtype.type(0), shape)}
    for name, instead in (zeros | {"asarray": lambda values: values}).items():
        monkeypatch.setattr(backend.cupy, name, instead)
    monkeypatch.setattr(CudaCells, "_kernel", lambda *how: lambda *given: asked.append(given))
    entries = 2**25 + 1
    laid = cells._laid(np.broadcast_to(0.0, (1, 40, entries - 1)), entries, 32)
    [((n_blocks,), (n_threads,), (_, _, size, *_))] = asked
    assert laid.size == size == 2 * entries * 32 > 2**31
    assert n_blocks * n_threads >= size > (n_blocks - 1) * n_threads


@pytest.mark.parametrize("pass_", ["scores", "sums", "blocks"])
def test_tables_that_kernels_cannot_count(backend, pass_, monkeypatch):
    groups, _ = groups_of(TERMS["line"], 3, gaps=False)
    cells, n = backend.coded(groups[0], 5), groups[0].stride + 1
    given = np.zeros((1, 5 if pass_ != "scores" else 3, groups[0].stride))
    given = given if pass_ == "scores" else backend.array(given[:, :, 0])
    n_entries = 32 * (2 * n if pass_ == "blocks" else n)
    monkeypatch.setattr("splinear.objective.gpu.cuda_cells.MOST_ENTRIES", n_entries)
    getattr(cells, pass_)(given)
    monkeypatch.setattr("splinear.objective.gpu.cuda_cells.MOST_ENTRIES", n_entries - 1)
    with pytest.raises(ValueError, match=rf"have {n_entries:,} entries, .*device='cpu'"):
        getattr(cells, pass_)(given)


def test_matrices_and_their_factors(backend):
    same_matrices(backend, 37)


@pytest.mark.parametrize("m", [1, 7, 64, 150])
def test_factors_of_matrices(backend, m):
    same_factors(backend, m, np.float32 if m == 7 else np.float64)


def test_sums_of_probabilities(backend):
    same_moments(backend, 7)
    same_shift(backend, 7)
    same_classes(backend, 7)


@pytest.fixture
def on_emulated(backend, monkeypatch):
    monkeypatch.setattr(
        "splinear.estimators.gpu.cuda_backend",
        lambda device: None if device == "cpu" else backend,
    )


def test_classes_with_smoothness_given(on_emulated):
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    made = {"C": 0.3, "tol": 1e-3, "random_state": 0}
    there = AdditiveClassifier(Spline(5), device="cuda", **made).fit(X, y)
    here = AdditiveClassifier(Spline(5), **made).fit(X, y)
    assert there.certified_
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-3)


def test_hinges(on_emulated):
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    made = {"C": 0.3, "tol": 1e-2, "random_state": 0}
    there = AdditiveSVC(Spline(5), device="cuda", **made).fit(X, y)
    here = AdditiveSVC(Spline(5), **made).fit(X, y)
    assert there.certified_
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-2)
