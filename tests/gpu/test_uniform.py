"""Scores of float32 values where knots are uniform."""

from __future__ import annotations

import numpy as np
import pytest

from splinear import AdditiveSVC
from splinear.objective.gpu.finding import NoDeviceError, cuda_backend
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.objective.gpu.uniform import COLUMNS, SentTables, UniformTables
from splinear.terms import Spline

SHARED = 227 * 1024
SHAPES = [(1, 1), (1, 100), (3, 54), (6, 17), (1, 600)]


def curves(degree, n_features, n_outputs, gaps):
    """Return a group with curves, and values, some of them missing or beyond the ends."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, n_features)).astype(np.float32)
    X += 50 * np.arange(n_features, dtype=np.float32)
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    term = Spline(n_bins=9, degree=degree, knots="uniform")
    model = AdditiveSVC(term, C=1.0).fit(X[:200], np.arange(200) % 2)
    (group,) = model._model.layout.groups
    return group, rng.normal(size=(n_outputs, *group.shape)), X


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("n_outputs", "n_features"), SHAPES)
def test_tables_are_laid_as_they_are_looked_up(n_features, n_outputs, gaps):
    """The arithmetic of the kernel, in NumPy."""
    group, tables, X = curves(1, n_features, n_outputs, gaps)
    found = UniformTables.of(group, tables, SHARED)
    sent = SentTables.of(found, NumPyBackend())
    axes, entries = sent.axes, np.concatenate(sent.entries, axis=2)
    assert [k for some in sent.outputs for k in range(n_outputs)[some]] == list(range(n_outputs))
    F = np.zeros((n_outputs, len(X)))
    for j in range(n_features):
        quad, k = divmod(j, 4)
        step, lane = divmod(quad, found.lanes)
        near, slope, shift, most = axes[step, k, lane]
        t = (X[:, j] - near) * slope + shift
        t = np.minimum(np.maximum(np.nan_to_num(t, nan=-0.5), -0.5), most)
        at = np.rint(t).astype(int)
        way = t - at
        if found.has_gap:
            at[np.isnan(X[:, j])] = found.gap
        for own in range(lane, COLUMNS, found.lanes):  # all that repeat it
            looked_up = entries[step, k, :, :, own][:, at]
        F += looked_up[..., 0] + looked_up[..., 1] * way
    expected = NumPyBackend().valued(group, X).scores(tables)
    np.testing.assert_allclose(F, expected, atol=2e-5 * n_features)


def test_what_is_left_to_the_general_kernel():
    group, tables, _ = curves(1, 3, 1, gaps=False)
    assert UniformTables.of(group, tables, 1000) is None  # no room
    for degree, knots in [(0, "uniform"), (2, "uniform"), (1, "quantile")]:
        X = np.random.default_rng(0).normal(size=(200, 3))
        model = AdditiveSVC(Spline(degree=degree, knots=knots), C=1.0)
        (group,) = model.fit(X, np.arange(200) % 2)._model.layout.groups
        assert UniformTables.of(group, np.zeros((1, *group.shape)), SHARED) is None


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize(("n_outputs", "n_features"), SHAPES)
def test_scores_on_a_gpu(degree, n_features, n_outputs, gaps, order, monkeypatch):
    try:
        backend = cuda_backend("cuda")
    except (ImportError, NoDeviceError) as error:
        pytest.skip(f"no GPU: {error}")
    group, tables, X = curves(degree, n_features, n_outputs, gaps)
    there = backend.cupy.asarray(np.tile(X, (40, 1)), order=order)
    sent = backend.curves(group, tables)
    found = sent.scores(there).get()
    expected = np.tile(NumPyBackend().valued(group, X).scores(tables), 40)
    np.testing.assert_allclose(found, expected, atol=2e-5 * n_features)
    there[5, 0] = np.inf
    found = sent.scores(there).get()
    assert np.isnan(found[:, 5]).all()
    assert np.isnan(found).sum() == n_outputs
    monkeypatch.setattr(UniformTables, "of", lambda *given: None)
    general = backend.curves(group, tables).scores(there).get()
    np.testing.assert_allclose(general, found, atol=2e-4 * n_features)
