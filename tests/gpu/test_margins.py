"""Sums of hinge losses on every backend, against those of rows that are here."""

from __future__ import annotations

import numpy as np
import pytest

from splinear.losses import EpsilonInsensitive, Hinge, SquaredHinge
from splinear.objective.gpu.arrays import RowArray
from splinear.objective.gpu.losses import DeviceMargins
from splinear.objective.margin_sums import RowMargins
from splinear.objective.problem import Problem


def problems(loss, n=500):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, n).astype(float)
    if isinstance(loss, EpsilonInsensitive):
        targets = rng.normal(size=n)
        return [Problem(np.ones(n, dtype=np.int8), loss, 0.7, 0.7, weights, targets)]
    signs = [np.where(rng.random(n) < 0.3, 1, -1).astype(np.int8) for _ in range(3)]
    return [Problem(y, loss, 0.5, 2.0, weights) for y in signs]


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), EpsilonInsensitive(0.2)])
@pytest.mark.parametrize("n", [None, 200])
def test_sums_are_those_of_rows_that_are_here(backend, loss, n):
    here = RowMargins(problems(loss))
    there = DeviceMargins(here, backend)
    if n is not None:
        here, there = here.first(n), there.first(n)
    rng, k = np.random.default_rng(1), here.n_outputs
    F, D = rng.normal(size=(2, k, n or 500))
    ramps = np.column_stack([rng.uniform(0.5, 2.0, k), rng.random((k, 2))])
    on = RowArray(backend.array(F), backend)
    same(there.slopes(on, ramps), here.slopes(F, ramps))
    same(there.bends(on, ramps), here.bends(F, ramps))
    found, expected = there.measured(on, ramps), here.measured(F, ramps)
    for name in ("losses", "parts", "bent", "centers"):
        same(getattr(found, name), getattr(expected, name))
    shares = np.array([0.1, 1.0, 3.0])
    same(there.along(on, D, ramps, shares), here.along(F, D, ramps, shares))
    R = here.slopes(D, ramps)
    for a, b in zip(there.gaps(on, R), here.gaps(F, R), strict=True):
        same(a, b)
    if not isinstance(loss, SquaredHinge):
        assert np.isinf(there.gaps(on, R + 100.0)[1]).all()


def same(found, expected):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)
