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


def min_kernel_by_columns(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    K = np.zeros((len(X), len(Y)))
    for x, y in zip(X.T.astype(float), Y.T.astype(float), strict=True):
        K += np.minimum.outer(x, y)
    return K


# Fewer and more than the core's tiles of 192 rows, 128 features and 8 features hold.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "m", "n_features"), [(5, 4, 3), (1, 193, 8), (192, 400, 9), (385, 1, 129), (200, 7, 300)]
)
def test_min_kernel_by_columns(n: int, m: int, n_features: int, dtype: type) -> None:
    random = np.random.default_rng(n)
    X, Y = (random.normal(size=(k, n_features)).astype(dtype) for k in (n, m))  # negative, too
    expected = min_kernel_by_columns(X, Y)
    # Sums of up to 300 numbers around 1, in two orders.
    assert_allclose(min_kernel(X, Y), expected, rtol=1e-13, atol=1e-12)
    assert_array_equal(min_kernel(X, Y, n_jobs=2), min_kernel(X, Y))
    by_columns = np.asfortranarray(np.repeat(X, 2, axis=0))[::2]
    assert_array_equal(min_kernel(by_columns, Y), min_kernel(X, Y))


@pytest.mark.parametrize("n_jobs", [None, 2, -1])
@pytest.mark.parametrize("n", [1, 192, 500])
def test_min_kernel_of_one_set_is_symmetric(n: int, n_jobs: int | None) -> None:
    X = np.random.default_rng(0).normal(size=(n, 20))
    K = min_kernel(X, n_jobs=n_jobs)
    assert_array_equal(K, K.T)
    assert_array_equal(K, min_kernel(X, X.copy()))


def test_min_kernel_of_other_types() -> None:
    X = np.random.default_rng(0).integers(0, 256, (30, 11), dtype=np.uint8)
    assert_array_equal(min_kernel(X), min_kernel_by_columns(X, X))
    mixed = min_kernel(X.astype(np.float32), X[:4] / 3)
    assert_allclose(mixed, min_kernel_by_columns(X, X[:4] / 3), rtol=1e-14)
    assert_array_equal(min_kernel(X.astype(">f4")), min_kernel(X))


def test_min_kernel_names_what_is_wrong() -> None:
    X = drawn(5)
    with pytest.raises(ValueError, match=r"X.shape\[1\] == 3 while Y.shape\[1\] == 2"):
        min_kernel(X, X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        min_kernel(X * np.nan)
    with pytest.raises(TypeError, match="n_jobs must be an instance of"):
        min_kernel(X, n_jobs=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_jobs"):
        min_kernel(X, n_jobs=0)


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
