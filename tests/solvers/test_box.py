"""Dual problems of hinge losses as quadratic functions between bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from splinear.losses import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from splinear.objective.problem import Problem
from splinear.solvers.hinge.box import Box

LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.2)]


def problem(loss, n=12):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, n).astype(float)
    if isinstance(loss, EpsilonInsensitive):
        return Problem(np.ones(n, dtype=np.int8), loss, 0.7, 0.7, weights, rng.normal(size=n))
    y = np.where(rng.random(n) < 0.4, 1, -1).astype(np.int8)
    return Problem(y, loss, 0.5, 2.0, weights)


def products(n=12):
    A = np.random.default_rng(1).normal(size=(n, n))
    return A @ A.T


@pytest.mark.parametrize("loss", LOSSES)
def test_the_function_is_minus_the_dual(loss):
    own, K = problem(loss), products()
    box = Box.of([own], np.zeros((1, 12)))
    rng = np.random.default_rng(2)
    low, high = np.maximum(box.low[0], -3.0), np.minimum(box.high[0], 3.0)
    b = rng.uniform(low, high)
    value = 0.5 * b @ ((K + np.diag(box.ridge[0])) @ b) - box.targets[0] @ b
    value += box.shrinkage * np.abs(b).sum()
    counts = own.cost > 0
    alpha = own.y * b
    assert not b[~counts].any()
    dual = loss.dual(alpha[counts], own.cost[counts]).sum() - 0.5 * b @ (K @ b)
    if own.targets is not None:
        dual += alpha @ own.targets
    assert value == pytest.approx(-dual)


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_is_violated_at_the_least_value_alone(loss):
    K, box = products(), Box.of([problem(loss)], np.zeros((1, 12)))
    H, t, e = K + np.diag(box.ridge[0]), box.targets[0], box.shrinkage

    def value(parts):  # b = up - down: no kinks
        up, down = np.split(parts, 2)
        b = up - down
        slope = H @ b - t
        return 0.5 * b @ (H @ b) - t @ b + e * parts.sum(), np.concatenate([slope + e, e - slope])

    bounds = [(0, high) for high in box.high[0]] + [(0, -low) for low in box.low[0]]
    found = minimize(
        value, np.zeros(24), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000},
    )  # fmt: skip
    up, down = np.split(found.x, 2)
    b = np.where(np.abs(up - down) < 1e-9, 0.0, up - down)
    assert box.violation(b[None], (H @ b - t)[None]).max() < 1e-4
    off = b.copy()
    off[np.flatnonzero(box.high[0] > box.low[0])[0]] = 0.123 * np.sign(box.high[0] + box.low[0])[0]
    assert box.violation(off[None], (H @ off - t)[None]).max() > 1e-4


def test_other_losses_have_no_such_form():
    with pytest.raises(TypeError, match="Logistic"):
        Box.of([problem(Logistic())], np.zeros((1, 12)))
