"""Weights, counts and groups of rows that are on a device."""

from __future__ import annotations

import numpy as np
import pytest
from test_fits import both

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.losses import Logistic, Softmax, SquaredError
from splinear.objective.gpu.losses import on_device
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.objective.loss_sums import Separable, Summed
from splinear.objective.problem import Problem
from splinear.objective.units import Units
from splinear.terms import Spline

RANDOM = np.random.default_rng(0)
N = 60
UNITS = {
    "rows": Units(),
    "counts": Units(RANDOM.integers(1, 4, N) * 1.0),
    "groups": Units(None, RANDOM.integers(0, 9, N)),
}


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("loss", [Logistic(), SquaredError(), None], ids=str)
def test_sums_of_the_dispersion_are_those_of_the_processor(units, loss):
    random, classes = np.random.default_rng(1), 3
    cost, labels = random.random(N), random.integers(0, classes, N)
    if loss is None:
        total = Summed(Softmax(np.arange(classes)), labels, cost, units=UNITS[units])
    else:
        y = np.where(labels > 0, 1, -1).astype(np.int8)
        total = Separable(Problem(y, loss, 1.0, 1.0, cost), units=UNITS[units])
    F = random.normal(size=(total.n_outputs, N))
    there = on_device(total, NumPyBackend())
    found, expected = there.scatter(F), total.scatter(F)
    assert vars(found) == pytest.approx(vars(expected))
    assert there.typical_weight == total.typical_weight


@pytest.mark.parametrize("kind", [AdditiveClassifier, AdditiveRegressor])
def test_groups_and_counts_are_those_of_the_processor(on_backend, kind):
    random = np.random.default_rng(0)
    X, groups = np.repeat(random.normal(size=(60, 3)), 5, axis=0), np.repeat(np.arange(60), 5)
    y, counts = X[:, 0] + np.repeat(random.normal(size=60), 5), random.integers(1, 3, 300)
    target = y > 0 if kind is AdditiveClassifier else y
    model = kind(Spline(8), random_state=0, tol=1e-6)
    here, there = both(model, X, target, counts=counts, groups=groups)
    noise = here._posteriors[0].noise
    assert noise > (3.0 if kind is AdditiveRegressor else 2.0)
    assert there._posteriors[0].noise == pytest.approx(noise, rel=0.02)
