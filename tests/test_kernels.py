"""The min kernel, and the kernels that splines imply."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from splinear import SplineEmbedding
from splinear.kernels import min_kernel, spline_kernel
from splinear.penalties import smoothing_matrix

unit = st.floats(0, 1)


def drawn(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, 3))


def test_min_kernel_is_a_sum_of_smaller_values() -> None:
    X, Y = drawn(5), drawn(4, seed=1)
    expected = [[sum(map(min, x, y)) for y in Y.tolist()] for x in X.tolist()]
    assert_allclose(min_kernel(X, Y), expected, rtol=1e-15)
    assert_array_equal(min_kernel(X), min_kernel(X, X))


@given(st.integers(1, 3), st.integers(4, 60), unit, unit)
def test_first_order_is_the_min_kernel_but_for_near_values(
    degree: int, n_bins: int, x: float, y: float
) -> None:
    """min(x, y) + (r + 1) / (2 N) from a distance of r bins on; the paper prints (r + 1) / 2."""
    low, high = sorted((x, y))
    high = min(max(high, low + degree / n_bins), 1.0)  # r bins away, where there is room for it
    low = min(low, high - degree / n_bins)
    found = spline_kernel([[low]], [[high]], degree=degree, n_bins=n_bins)
    assert_allclose(found, low + (degree + 1) / (2 * n_bins), rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_near_values_fall_short_of_the_min_kernel(degree: int) -> None:
    K = spline_kernel([[0.52]], [[0.53]], degree=degree, n_bins=10)
    assert K[0, 0] < 0.52 + (degree + 1) / 20 - 1e-3


@given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 30))
def test_spline_kernel_is_the_product_of_embeddings(degree: int, order: int, n_bins: int) -> None:
    X = np.vstack([np.zeros(3), np.ones(3), drawn(6)])  # so that every column spans [0, 1]
    embed = SplineEmbedding(
        degree=degree, penalty_order=order, n_bins=n_bins, sparse_output=False
    ).fit(X)
    phi, other = embed.transform(X), embed.transform(X[:4])
    K = spline_kernel(X, X[:4], degree=degree, order=order, n_bins=n_bins)
    assert_allclose(K, phi @ other.T, rtol=1e-12)
    assert_allclose(spline_kernel(X, degree=degree, order=order, n_bins=n_bins), phi @ phi.T)


def test_spline_kernel_by_the_smoothing_matrix() -> None:
    """(1/N) phi(x)' L_2 phi(y) at knots, where phi is one unit vector for degree 1."""
    knots = np.linspace(0, 1, 6)[:, None]
    K = spline_kernel(knots, degree=1, order=2, n_bins=5)
    assert_allclose(K, smoothing_matrix(6, 2) / 5, rtol=1e-12)


def test_values_outside_count_as_the_nearer_end() -> None:
    inside = spline_kernel([[0.0], [1.0]], [[0.3]])
    assert_array_equal(spline_kernel([[-2.0], [9.0]], [[0.3]]), inside)


@given(st.lists(st.tuples(*[st.integers(0, 255)] * 3), min_size=1, max_size=12))
def test_on_bytes_with_255_bins_it_is_the_min_kernel(rows: list[tuple[int, ...]]) -> None:
    X = np.array(rows, dtype=float)
    K = spline_kernel(X / 255, degree=1, order=1, n_bins=255)
    # At whole numbers the constant (r + 1) / (2 N) holds at all distances, zero included.
    assert_allclose(255 * K, min_kernel(X) + X.shape[1], rtol=1e-13)
