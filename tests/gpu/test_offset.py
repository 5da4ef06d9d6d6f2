"""Offsets of rows that are on a device."""

from __future__ import annotations

import emulated_cupy
import numpy as np
import pytest
from test_fits import both, digits, same

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.losses import Softmax
from splinear.objective.gpu.losses import DeviceSoftmax, on_device
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.objective.loss_sums import Summed
from splinear.terms import Spline


def rows(kind: str, n: int = 600):
    random = np.random.default_rng(0)
    X, f = random.normal(size=(n, 3)), random.normal(size=(n, 3))
    score = f + np.column_stack([np.sin(2 * X[:, 0]), 0.5 * X[:, 1], 0.0 * X[:, 0]])
    one, offset = score[:, 0], f[:, 0]
    if kind in ("squared_error", "svr"):
        return X, one + 0.5 * random.normal(size=n), offset
    if kind == "poisson":
        return X, 1.0 * random.poisson(np.exp(one)), offset
    if kind in ("logistic", "hinge", "squared_hinge"):
        return X, (one > random.logistic(size=n)).astype(int), offset
    return X, (score + random.gumbel(size=(n, 3))).argmax(axis=1), f


def model_of(kind: str, **params):
    options = {"curve": Spline(8), "random_state": 0, "tol": 1e-4} | params
    if kind in ("squared_error", "poisson"):
        return AdditiveRegressor(loss=kind, **options)
    if kind == "svr":
        return AdditiveSVR(C=0.1, **options)
    if kind in ("hinge", "squared_hinge", "one_vs_rest"):
        loss = "hinge" if kind == "one_vs_rest" else kind
        return AdditiveSVC(loss=loss, C=0.1, **options)
    return AdditiveClassifier(**options)


KINDS = ["squared_error", "poisson", "logistic", "softmax"]
MARGINS = ["svr", "hinge", "squared_hinge", "one_vs_rest"]


def alike(kind: str, n: int = 600, **params) -> None:
    X, y, offset = rows(kind, n)
    here, there = both(model_of(kind, **params), X, y, offset=offset)
    # Smoothness is chosen until little evidence is gained, from sums in another precision.
    same(here, there, X, 1e-3 if kind in KINDS else 1e-4)
    if kind in KINDS:  # margins determine the scores less well
        expected = here._scores(X)
        np.testing.assert_allclose(there._scores(X), expected, atol=0.05 * np.abs(expected).max())
    without = model_of(kind, **params).fit(X, y)
    assert abs(without.objective_ / here.objective_ - 1.0) > 0.02


@pytest.mark.parametrize("kind", [*KINDS, *MARGINS])
def test_fits_are_those_of_the_processor(on_backend, kind):
    alike(kind)


@pytest.mark.skipif(emulated_cupy.COMPILER is None, reason="there is no compiler")
def test_several_classes_by_the_kernels_of_a_gpu(monkeypatch):
    backend = emulated_cupy.backend()
    monkeypatch.setattr(
        "splinear.estimators.gpu.cuda_backend",
        lambda device: None if device == "cpu" else backend,
    )
    alike("softmax", 100, C=1.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_wide_tables(on_backend, loss):
    X, y = digits(400)
    offset = 0.5 * np.random.default_rng(1).normal(size=(400, 3))
    model = AdditiveSVC(loss=loss, C=1.0, tol=1e-3, random_state=0)
    here, there = both(model, X, y, offset=offset)
    same(here, there, X, 1e-3)
    assert abs(here.objective_ / model.fit(X, y).objective_ - 1.0) > 0.01


def test_sums_of_several_classes_are_those_of_scores_with_the_offset(backend):
    random, n = np.random.default_rng(0), 50
    labels, cost = random.integers(0, 3, n), random.random(n)
    F, D, offset = random.normal(size=(3, 3, n))
    loss = Softmax(np.arange(3))
    plain, total = Summed(loss, labels, cost), Summed(loss, labels, cost, offset)
    there = on_device(total, backend)
    assert isinstance(there, DeviceSoftmax)
    moved, R = F + offset, plain.gradient(D)
    assert there.value(F) == pytest.approx(plain.value(moved))
    np.testing.assert_allclose(there.each(F), plain.each(moved), rtol=1e-10)
    np.testing.assert_allclose(there.gradient(F), plain.gradient(moved), atol=1e-10)
    assert there.gap(F, R) == pytest.approx(plain.gap(moved, R), rel=1e-8)
    np.testing.assert_allclose(there.best_shift(F), plain.best_shift(moved), atol=1e-5)
    for cautious in (False, True):
        found = there.curvature(F, cautious=cautious)
        expected = plain.curvature(moved, cautious=cautious)
        np.testing.assert_allclose(found.times(D), expected.times(D), atol=1e-10)
        np.testing.assert_allclose(found.diagonal, expected.diagonal, atol=1e-10)
        if not cautious:
            np.testing.assert_allclose(found.total(), expected.total(), atol=1e-10)


def test_the_numpy_backend_knows_no_offset_as_none():
    random = np.random.default_rng(0)
    total = Summed(Softmax(np.arange(3)), random.integers(0, 3, 20), np.ones(20))
    F = random.normal(size=(3, 20))
    assert on_device(total, NumPyBackend()).value(F) == pytest.approx(total.value(F))
