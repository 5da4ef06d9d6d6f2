"""Losses: the values, the dual, and the step that maximizes it along one coordinate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

from splinear.solvers.problems.log_link import Gamma, Poisson
from splinear.solvers.problems.losses import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    SmoothLoss,
    SquaredError,
    SquaredHinge,
)

costs = st.floats(1e-3, 1e3)
margins = st.floats(-10, 10)
parts = st.floats(0, 1)  # of the way from 0 to the largest alpha


def ends(loss: Loss, cost: float, margin: float) -> tuple[float, float]:
    """Where to look for the dual variable: its bounds, or as far as need may drive it."""
    low, high = loss.range(cost)
    far = 2 * cost * (1 + abs(margin)) + cost
    return max(low, -far), min(high, far)


def test_values() -> None:
    margin = np.array([-1.0, 0.5, 1.0, 3.0])
    assert_allclose(Hinge().value(margin), [2, 0.5, 0, 0])
    assert_allclose(SquaredHinge().value(margin), [4, 0.25, 0, 0])
    assert_allclose(Logistic().value(margin), np.log1p(np.exp(-margin)))
    assert_allclose(SquaredError().value(margin), [0.5, 0.125, 0.5, 4.5])
    assert_allclose(EpsilonInsensitive(0.5).value(margin), [0.5, 0, 0.5, 2.5])
    assert Logistic().value(np.array(-800.0)) == 800
    assert LOSSES["hinge"] == Hinge()


SMOOTH = [loss for loss in LOSSES.values() if hasattr(loss, "curvature")]
SMOOTH += [Poisson(), Gamma()]


@pytest.mark.parametrize("smooth", SMOOTH, ids=repr)
def test_derivatives(smooth: SmoothLoss) -> None:
    m = np.linspace(-5, 5, 42)  # not 1, where a squared hinge has no second derivative
    h = 1e-5
    rise = (smooth.value(m + h) - smooth.value(m - h)) / (2 * h)
    assert_allclose(smooth.slope(m), rise, rtol=1e-8, atol=1e-8)
    bend = (smooth.slope(m + h) - smooth.slope(m - h)) / (2 * h)
    assert_allclose(smooth.curvature(m), bend, rtol=1e-8, atol=1e-8)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_half_deviances_are_those_of_scikit_learn(y: float, mu: float) -> None:
    m = np.log([mu / y])
    poisson, gamma = y * Poisson().value(m), Gamma().value(-m)
    for value, deviance in ((poisson, mean_poisson_deviance), (gamma, mean_gamma_deviance)):
        assert_allclose(2.0 * value, deviance([y], [mu]), rtol=1e-6, atol=1e-12 * y)


@given(costs, margins, parts)
def test_the_dual_of_a_half_deviance_is_its_conjugate(cost: float, m: float, part: float) -> None:
    """min over m of c value(m) + alpha m, by a search; nothing is lower at any other m."""
    loss = Poisson()
    alpha = cost * (1.0 - 50.0 * part)
    found = minimize_scalar(lambda x: cost * loss.value(x) + alpha * x, bracket=(-1.0, 1.0))
    dual = float(loss.dual(np.array(alpha), np.array(cost)))
    if part > 1e-3:  # at the end of its range the least value is at minus infinity
        assert_allclose(dual, found.fun, rtol=1e-7, atol=1e-9 * cost)
    assert dual <= cost * loss.value(np.array(m)) + alpha * m + 1e-9 * cost * (1 + abs(m))
