"""Differences, their inverses, and the running sums that stand for both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from splinear import _core
from splinear.penalties import (
    DiagonalPenalty,
    DifferencePenalty,
    MatrixPenalty,
    Penalty,
    difference_inverse,
    difference_inverse_transpose,
    difference_matrix,
    smoothing_matrix,
)

sizes = st.integers(1, 12)
orders = st.integers(0, 4)


def some_rows(n: int, size: int) -> np.ndarray:
    """Small whole numbers, so that sums and differences of them are exact."""
    return np.random.default_rng(n).integers(-9, 10, (n, size)).astype(float)


def matrices_of(penalty: Penalty) -> tuple[np.ndarray, np.ndarray]:
    """The map T of a penalty and its inverse, written out without its methods."""
    if isinstance(penalty, DiagonalPenalty):
        return np.diag(penalty.weights), np.diag(1 / penalty.weights)
    if isinstance(penalty, MatrixPenalty):
        return np.linalg.inv(penalty.matrix), penalty.matrix
    D = difference_matrix(penalty.size, penalty.order)
    return np.linalg.inv(D).round(), D


def test_first_and_second_differences_are_those_printed() -> None:
    assert_array_equal(
        difference_matrix(4, 1), [[1, 0, 0, 0], [-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]]
    )
    assert_array_equal(
        difference_matrix(4, 2), [[1, 0, 0, 0], [-2, 1, 0, 0], [1, -2, 1, 0], [0, 1, -2, 1]]
    )


@given(sizes)
def test_transposed_inverses_are_those_printed(n: int) -> None:
    i, j = np.indices((n, n))
    assert_array_equal(difference_inverse_transpose(n, 1), np.where(j >= i, 1, 0))
    assert_array_equal(difference_inverse_transpose(n, 2), np.where(j >= i, j - i + 1, 0))


@given(sizes, orders)
def test_inverse_is_exact(n: int, order: int) -> None:
    product = difference_matrix(n, order) @ difference_inverse(n, order)
    assert_array_equal(product, np.eye(n))  # whole numbers: no rounding


@given(sizes, orders)
def test_powers_of_the_first_difference(n: int, order: int) -> None:
    step = difference_matrix(n, 1)
    assert_array_equal(difference_matrix(n, order + 1), step @ difference_matrix(n, order))


@given(sizes, orders)
def test_steps_a_and_b_are_the_smoothing_matrix(n: int, order: int) -> None:
    smoothed = np.eye(n)
    for a in smoothed:
        for _ in range(order):
            for i in range(n - 2, -1, -1):
                a[i] += a[i + 1]
        for _ in range(order):
            for i in range(1, n):
                a[i] += a[i - 1]
    assert_array_equal(smoothed.T, smoothing_matrix(n, order))
    assert_array_equal(DifferencePenalty(order, n).smooth(np.eye(n)).T, smoothing_matrix(n, order))


def test_maps_are_those_of_the_matrix(penalty: Penalty) -> None:
    rows = some_rows(5, penalty.size)
    T, inverse = matrices_of(penalty)
    assert_allclose(penalty.integrate(rows), rows @ T.T, rtol=1e-13)
    assert_allclose(penalty.embed(rows), rows @ T, rtol=1e-13)
    assert_allclose(penalty.smooth(rows), rows @ T @ T.T, rtol=1e-13)
    assert_allclose(penalty.difference(rows), rows @ inverse.T, rtol=1e-13)
    assert_allclose(penalty.difference_transpose(rows), rows @ inverse, rtol=1e-13)
    assert penalty.free.all()


HELD = [DifferencePenalty(order, 9, held) for order in range(4) for held in (1, 2, 9)]
HELD += [DiagonalPenalty(np.array([0.0, 0.5, 0.0, 2.0]))]


@pytest.mark.parametrize("held", HELD, ids=repr)
def test_coefficients_that_are_held_are_zero_and_the_others_as_if_alone(held: Penalty) -> None:
    rows = some_rows(4, held.size)
    free = held.free
    if isinstance(held, DiagonalPenalty):
        alone: Penalty = DiagonalPenalty(held.weights[free])
    else:
        alone = DifferencePenalty(held.order, int(free.sum()))
    for name in ("embed", "integrate", "smooth", "difference", "difference_transpose"):
        found = getattr(held, name)(rows)
        assert_array_equal(found[:, ~free], 0)
        assert_array_equal(found[:, free], getattr(alone, name)(rows[:, free]))
    core = held.core(1)
    for name in ("embed", "integrate", "smooth", "difference"):
        assert_allclose(getattr(core, name)(rows), getattr(held, name)(rows), rtol=1e-13)


def test_difference_undoes_integrate(penalty: Penalty) -> None:
    rows = some_rows(3, penalty.size)
    assert_allclose(penalty.difference(penalty.integrate(rows)), rows, rtol=1e-14)


@pytest.mark.parametrize("name", ["embed", "integrate", "smooth", "difference"])
def test_twin_maps_agree(penalty: Penalty, name: str) -> None:
    rows = np.random.default_rng(0).normal(size=(4, penalty.size))
    core = penalty.core(min(2, penalty.size))
    twin = getattr(penalty, name)(rows)
    # atol: a difference of neighbors may cancel, and the sums run in another order.
    atol = 1e-14 * np.abs(twin).max()
    assert_allclose(getattr(core, name)(rows), twin, rtol=1e-13, atol=atol)


def group_penalty(penalty: Penalty, random: np.random.Generator, n: int) -> tuple[Any, ...]:
    """Return the twin of n features with gaps, its weights, variances and those of gaps."""
    weights, variance = random.random((n, penalty.size)), random.uniform(0.1, 10.0, n)
    missing = random.uniform(0.1, 10.0, n)
    used = np.ones((n, penalty.size + 1), dtype=bool)
    core = penalty.core(min(2, penalty.size))
    none = np.empty(0)
    parts = np.empty((0, 0, 2)), none, np.empty((0, 0)), none
    twin = _core.GroupPenalty(core, used, weights, variance, missing, *parts, True)
    return twin, weights, variance, missing


def test_twins_agree_on_weighted_penalties(penalty: Penalty) -> None:
    random = np.random.default_rng(1)
    twin, weights, variance, missing = group_penalty(penalty, random, 3)
    theta = random.normal(size=(3, penalty.size + 1))
    curves, gaps, found = theta[:, :-1], theta[:, -1], np.zeros((1, theta.size))
    twin.add_pull(theta.reshape(1, -1), found, 1)
    stiffness = weights / variance[:, None]
    pull = penalty.difference_transpose(stiffness * penalty.difference(curves))
    expected = np.column_stack([pull, gaps / missing])
    size = np.abs(expected).max()
    assert_allclose(found.reshape(3, -1), expected, rtol=1e-12, atol=1e-13 * size)
    softened = np.empty_like(found)
    twin.soften(theta.reshape(1, -1), softened, 1)
    inverse = penalty.integrate(penalty.embed(curves) / stiffness)
    expected, size = np.column_stack([inverse, gaps * missing]), np.abs(inverse).max()
    assert_allclose(softened.reshape(3, -1), expected, rtol=1e-12, atol=1e-13 * size)
    squares = (penalty.embed(curves) ** 2 / stiffness).sum() + gaps**2 @ missing
    assert_allclose(twin.softness(theta.ravel(), 1), squares, rtol=1e-12)
    ones = np.ones_like(curves)
    S1 = penalty.difference_transpose(weights * penalty.difference(ones))
    totals = S1.sum(axis=1, keepdims=True)
    levels = np.column_stack([np.where(totals > 0, S1 / totals, 0.0), np.zeros(3)])
    atol = 1e-12 * max(1.0, np.abs(levels).max())
    assert_allclose(twin.level_weights, levels, rtol=1e-9, atol=atol)


@pytest.mark.parametrize("n_threads", [2, 3, 16])
def test_threads_change_no_bit_of_weighted_penalties(penalty: Penalty, n_threads: int) -> None:
    random = np.random.default_rng(2)
    twin, *_ = group_penalty(penalty, random, 50)
    theta, one = random.normal(size=(2, 3, 50 * (penalty.size + 1)))
    many = one.copy()
    for call in (twin.add_pull, twin.soften):
        call(theta, one, 1)
        call(theta, many, n_threads)
        np.testing.assert_array_equal(many, one)
    assert twin.softness(theta[0], n_threads) == twin.softness(theta[0], 1)


@given(st.integers(1, 10), orders, st.integers(1, 4), st.data())
def test_core_quadratic_is_that_of_the_dense_matrix(
    extra: int, order: int, support: int, data: st.DataObject
) -> None:
    size = support + extra
    first = data.draw(st.integers(0, extra))
    weights = np.array(data.draw(st.lists(st.floats(0, 1), min_size=support, max_size=support)))
    v = np.zeros(size)
    v[first : first + support] = weights
    core = DifferencePenalty(order, size).core(support)
    expected = v @ smoothing_matrix(size, order) @ v
    # The smallest squares vanish in one order of products and not in the other.
    assert_allclose(core.quadratic(first, weights), expected, rtol=1e-12, atol=1e-300)


def test_core_quadratic_of_a_diagonal_penalty() -> None:
    penalty, v = DiagonalPenalty(np.array([1.0, 0.5, 0.25])), np.array([3.0, -4.0, 8.0])
    assert penalty.core(3).quadratic(0, v) == 9 + 4 + 4


def test_core_quadratic_of_a_matrix() -> None:
    penalty = MatrixPenalty(np.array([[2.0, 1.0, 0.0], [0.0, 4.0, -1.0], [1.0, 0.0, 1.0]]))
    T = np.linalg.inv(penalty.matrix)
    v = np.array([0.0, 3.0, -5.0])
    assert_allclose(penalty.core(2).quadratic(1, v[1:]), v @ T @ T.T @ v, rtol=1e-13)


def test_stiffness_bands_are_those_of_the_matrix(penalty: Penalty) -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, (3, penalty.size))
    _, D = matrices_of(penalty)
    bands = penalty.stiffness_bands(weights)
    assert bands.shape == (3, penalty.size, penalty.bandwidth + 1)
    for w, band in zip(weights, bands, strict=True):
        S = D.T @ np.diag(w) @ D
        rebuilt = sum(np.diag(band[: penalty.size - p, p], p) for p in range(penalty.bandwidth + 1))
        assert_allclose(rebuilt, np.triu(S), rtol=1e-12, atol=1e-12)


def test_core_refuses_rows_of_another_size(penalty: Penalty) -> None:
    with pytest.raises(ValueError, match=f"must be {penalty.size}, not {penalty.size + 1}"):
        penalty.core(1).embed(np.zeros((2, penalty.size + 1)))
