"""Losses: the values, the dual, and the step that maximises it along one coordinate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from splinear.losses import LOSSES, Hinge, Loss, SquaredHinge

costs = st.floats(1e-3, 1e3)
margins = st.floats(-10, 10)
parts = st.floats(0, 1)  # of the way from 0 to the largest alpha


def largest_alpha(loss: Loss, cost: float, margin: float) -> float:
    """Where the dual variable ends: the hinge has a bound, the squared hinge grows with need."""
    return cost if loss is Hinge else 2 * cost * (1 + abs(margin)) + cost


def test_values() -> None:
    margin = np.array([-1.0, 0.5, 1.0, 3.0])
    assert_allclose(Hinge.value(margin), [2, 0.5, 0, 0])
    assert_allclose(SquaredHinge.value(margin), [4, 0.25, 0, 0])
    assert {"hinge": Hinge, "squared_hinge": SquaredHinge} == LOSSES


@given(costs, margins, parts)
def test_gap_of_a_row_is_not_negative(loss: Loss, cost: float, margin: float, part: float) -> None:
    """Fenchel and Young: cost * value(m) + conjugate(-alpha) >= -alpha m."""
    alpha = part * largest_alpha(loss, cost, margin)
    gap = cost * loss.value(margin) - loss.dual(alpha, cost) + alpha * margin
    assert gap >= -1e-12 * cost * (1 + abs(margin)) ** 2


@given(costs, margins)
def test_dual_is_the_conjugate(loss: Loss, cost: float, margin: float) -> None:
    """cost * value(m) = max over alpha of dual(alpha) - alpha m, found by a search."""
    end = largest_alpha(loss, cost, margin)
    found = minimize_scalar(
        lambda a: a * margin - loss.dual(a, cost), bounds=(0, end), method="bounded"
    )
    best = max(-found.fun, 0.0, loss.dual(end, cost) - end * margin)  # the search avoids the ends
    assert_allclose(best, cost * loss.value(margin), rtol=1e-6, atol=1e-9 * cost)


@given(costs, margins, parts, st.floats(1e-2, 1e2))
def test_step_maximises_the_dual_along_its_coordinate(
    loss: Loss, cost: float, margin: float, part: float, curvature: float
) -> None:
    end = largest_alpha(loss, cost, margin)
    alpha = part * end

    def dual(to: float) -> float:
        return float(
            loss.dual(to, cost) - (to - alpha) * margin - curvature * (to - alpha) ** 2 / 2
        )

    best = loss.step(alpha, margin, curvature, cost)
    assert best >= 0
    if loss is Hinge:
        assert best <= cost
    found = minimize_scalar(lambda a: -dual(a), bounds=(0, end), method="bounded")
    others = max(-found.fun, dual(0.0), dual(end))
    slack = 1e-12 * (abs(others) + cost * (1 + abs(margin)) + curvature * end**2)
    assert dual(best) >= others - slack
    assert dual(best) <= others + 1e-6 * (1 + abs(others)) + 1e-6 * curvature * end**2


def test_a_step_stays_where_it_is_best(loss: Loss) -> None:
    margin = 0.85 if loss is SquaredHinge else 1.0  # the dual's slope at 0.3 is zero, at cost 1
    assert loss.step(0.3, margin, 2.0, 1.0) == pytest.approx(0.3, rel=1e-15)
    assert loss.step(0.0, 1.5, 2.0, 1.0) == 0.0
