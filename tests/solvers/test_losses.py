"""Losses: the values, the dual, and the step that maximizes it along one coordinate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

from splinear.losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Logistic,
    Poisson,
    SquaredError,
    SquaredHinge,
)
from splinear.losses.margin import MarginLoss
from tests.reference.losses import LOSSES

costs = st.floats(1e-3, 1e3)
margins = st.floats(-10, 10)
parts = st.floats(0, 1)  # of the way from 0 to the largest alpha


def ends(loss: MarginLoss, cost: float, margin: float) -> tuple[float, float]:
    """Where to look for the dual variable: its bounds, or as far as need may drive it."""
    low, high = loss.range(cost)
    far = 2 * cost * (1 + abs(margin)) + cost
    return max(low, -far), min(high, far)


def test_values() -> None:
    margin = np.array([-1.0, 0.5, 1.0, 3.0])
    assert_allclose(Hinge().of_margin(margin), [2, 0.5, 0, 0])
    assert_allclose(SquaredHinge().of_margin(margin), [4, 0.25, 0, 0])
    assert_allclose(Logistic().of_margin(margin), np.log1p(np.exp(-margin)))
    assert_allclose(SquaredError().of_margin(margin), [0.5, 0.125, 0.5, 4.5])
    assert_allclose(EpsilonInsensitive(0.5).of_margin(margin), [0.5, 0, 0.5, 2.5])
    assert Logistic().of_margin(np.array(-800.0)) == 800
    assert isinstance(LOSSES["hinge"], Hinge)


SMOOTH = [SquaredHinge(), Logistic(), SquaredError(), Poisson(), Gamma()]


@pytest.mark.parametrize("smooth", SMOOTH, ids=repr)
def test_derivatives(smooth: MarginLoss) -> None:
    m = np.linspace(-5, 5, 42)  # not 1, where a squared hinge has no second derivative
    h = 1e-5
    rise = (smooth.of_margin(m + h) - smooth.of_margin(m - h)) / (2 * h)
    slope, curvature = smooth.derivatives(m)
    assert_allclose(slope, rise, rtol=1e-8, atol=1e-8)
    bend = (smooth.derivatives(m + h)[0] - smooth.derivatives(m - h)[0]) / (2 * h)
    assert_allclose(curvature, bend, rtol=1e-8, atol=1e-8)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_half_deviances_are_those_of_scikit_learn(y: float, mu: float) -> None:
    m = np.log([mu / y])
    poisson, gamma = y * Poisson().of_margin(m), Gamma().of_margin(-m)
    for value, deviance in ((poisson, mean_poisson_deviance), (gamma, mean_gamma_deviance)):
        assert_allclose(2.0 * value, deviance([y], [mu]), rtol=1e-6, atol=1e-12 * y)


@given(costs, margins, parts)
def test_the_dual_of_a_half_deviance_is_its_conjugate(cost: float, m: float, part: float) -> None:
    """min over m of c value(m) + alpha m, by a search; nothing is lower at any other m."""
    loss = Poisson()
    alpha = cost * (1.0 - 50.0 * part)
    found = minimize_scalar(lambda x: cost * loss.of_margin(x) + alpha * x, bracket=(-1.0, 1.0))
    dual = float(loss.dual(np.array(alpha), np.array(cost)))
    if part > 1e-3:  # at the end of its range the least value is at minus infinity
        assert_allclose(dual, found.fun, rtol=1e-7, atol=1e-9 * cost)
    assert dual <= cost * loss.of_margin(np.array(m)) + alpha * m + 1e-9 * cost * (1 + abs(m))


def test_what_is_beyond_all_bounds_is_finite() -> None:
    m = np.array([-1e6, 800.0, 1e6])
    assert np.isfinite(Poisson().of_margin(m)).all()
    assert np.isfinite(Poisson().derivatives(m)).all()
    assert Poisson().margin_shift(m, np.array([0.0, 2.0, 0.0])) == -800.0
    assert Gamma().margin_shift(np.array([0.0, 1e6]), np.ones(2)) == pytest.approx(np.log(2) - 1e6)


@given(costs, margins, parts)
def test_gap_of_a_row_is_not_negative(
    loss: MarginLoss, cost: float, margin: float, part: float
) -> None:
    """Fenchel and Young: cost * value(m) + conjugate(-alpha) >= -alpha m."""
    low, high = ends(loss, cost, margin)
    alpha = low + part * (high - low)
    gap = cost * loss.of_margin(margin) - loss.dual(alpha, cost) + alpha * margin
    assert gap >= -1e-12 * cost * (1 + abs(margin)) ** 2
    at = np.array([alpha]), np.array([margin]), np.array([cost])
    assert loss.dual_gap(*at)[0] >= 0.0
    assert loss.dual_gap(*at)[0] == pytest.approx(
        gap, rel=1e-9, abs=1e-12 * cost * (1 + abs(margin)) ** 2
    )


def test_the_gap_of_a_rare_class_has_all_its_digits() -> None:
    """Where probabilities are 1e-17, which 1 - p does not tell from 0."""
    m, cost = np.array([39.0, 300.0, 800.0]), np.ones(3)
    q = np.exp(-m)
    for share in (0.5, 0.999, 1.0, 1.5):
        expected = q * (share * np.log(share) - share + 1.0)
        assert_allclose(Logistic().dual_gap(share * q, m, cost), expected, rtol=1e-6, atol=1e-140)
    assert_allclose(Logistic().dual_gap(np.array([0.1]), m[2:], cost[:1]), 80.0, rtol=0.01)


@given(costs, margins)
def test_dual_is_the_conjugate(loss: MarginLoss, cost: float, margin: float) -> None:
    """cost * value(m) = max over alpha of dual(alpha) - alpha m, found by a search."""
    low, high = ends(loss, cost, margin)
    found = minimize_scalar(
        lambda a: a * margin - loss.dual(a, cost),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-8 * (high - low)},
    )
    at_ends = (loss.dual(a, cost) - a * margin for a in (low, 0.0, high))
    best = max(-found.fun, *at_ends)  # the search avoids the ends
    assert_allclose(best, cost * loss.of_margin(margin), rtol=1e-6, atol=1e-9 * cost)


@given(costs, margins, parts, st.floats(1e-2, 1e2))
def test_step_maximizes_the_dual_along_its_coordinate(
    loss: MarginLoss, cost: float, margin: float, part: float, curvature: float
) -> None:
    low, end = ends(loss, cost, margin)
    alpha = low + part * (end - low)

    def dual(to: float) -> float:
        return float(
            loss.dual(to, cost) - (to - alpha) * margin - curvature * (to - alpha) ** 2 / 2
        )

    best = loss.step(alpha, margin, curvature, cost)
    lowest, highest = loss.range(cost)
    assert lowest <= best <= highest
    found = minimize_scalar(
        lambda a: -dual(a),
        bounds=(low, end),
        method="bounded",
        options={"xatol": 1e-8 * (end - low)},
    )
    others = max(-found.fun, dual(low), dual(0.0), dual(end))
    slack = 1e-12 * (abs(others) + cost * (1 + abs(margin)) + curvature * end**2)
    assert dual(best) >= others - slack
    assert dual(best) <= others + 1e-6 * (1 + abs(others)) + 1e-6 * curvature * end**2


REST = {  # a margin at which the slope of the dual at alpha = 0.3 is zero, at cost 1
    "hinge": 1.0,
    "squared_hinge": 0.85,
    "logistic": np.log(0.7 / 0.3),
    "squared_error": -0.3,
    "epsilon_insensitive": -0.1,
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_step_stays_where_it_is_best(name: str) -> None:
    loss = LOSSES[name]
    assert loss.step(0.3, REST[name], 2.0, 1.0) == pytest.approx(0.3, rel=1e-12)


def test_a_step_stays_at_its_end() -> None:
    assert Hinge().step(0.0, 1.5, 2.0, 1.0) == 0.0
    assert SquaredHinge().step(0.0, 1.5, 2.0, 1.0) == 0.0
    assert EpsilonInsensitive(0.1).step(0.0, 0.05, 2.0, 1.0) == 0.0
    assert EpsilonInsensitive(0.1).step(-1.0, 3.0, 2.0, 1.0) == -1.0
