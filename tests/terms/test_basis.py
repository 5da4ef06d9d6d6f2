"""The families of curves, against SciPy, calculus and the core."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import BSpline
from scipy.special import eval_hermitenorm

from splinear.penalties import difference_inverse_transpose
from splinear.terms.basis import Basis, BSplineBasis, FourierBasis, HermiteBasis, SampledBasis

bsplines = st.builds(BSplineBasis, st.integers(0, 3), st.integers(1, 40))
shares = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)  # of the way along


def points_of(basis: Basis, n: int = 41) -> np.ndarray:
    """Places all over the domain, ends and knots included."""
    return np.linspace(*basis.domain, n)


def extended_knots(basis: BSplineBasis) -> np.ndarray:
    return np.arange(-basis.degree, basis.n_bins + basis.degree + 1.0)


@given(bsplines, shares)
def test_bsplines_sum_to_one(basis: BSplineBasis, shares: np.ndarray) -> None:
    values = basis.evaluate(shares * basis.n_bins)
    assert values.shape == (len(shares), basis.size)
    assert_allclose(values.sum(axis=1), 1.0, rtol=1e-14)
    assert (values >= 0).all()
    assert ((values > 0).sum(axis=1) <= basis.support).all()


@given(bsplines, shares)
def test_bsplines_are_those_of_scipy(basis: BSplineBasis, shares: np.ndarray) -> None:
    t = shares * basis.n_bins
    scipy = BSpline.design_matrix(t, extended_knots(basis), basis.degree).toarray()
    # Weights such as a^3 / 6 lose all digits as a vanishes: 1e-15 is absolute.
    assert_allclose(basis.evaluate(t), scipy, rtol=1e-12, atol=1e-15)


@given(bsplines, shares)
def test_local_weights_are_the_non_zero_part(basis: BSplineBasis, shares: np.ndarray) -> None:
    t = shares * basis.n_bins
    bins, weights = basis.local(t)
    rebuilt = np.zeros((len(t), basis.size))
    for i, b in enumerate(bins):
        rebuilt[i, b : b + basis.support] = weights[i]
    assert_array_equal(basis.evaluate(t), rebuilt)
    assert_array_equal(bins, np.minimum(np.floor(t), basis.n_bins - 1))


def test_bsplines_have_their_known_values() -> None:
    quadratic, cubic = BSplineBasis(2, 2), BSplineBasis(3, 2)
    assert_allclose(quadratic.evaluate(np.array([0.5])), [[1 / 8, 6 / 8, 1 / 8, 0]])
    assert_allclose(cubic.evaluate(np.array([1.0])), [[0, 1 / 6, 4 / 6, 1 / 6, 0]], atol=1e-16)
    assert_allclose(
        cubic.evaluate(np.array([1.5])), [[0, 1 / 48, 23 / 48, 23 / 48, 1 / 48]], rtol=1e-14
    )


@given(bsplines, shares)
def test_order_degree_plus_one_gives_truncated_powers(
    basis: BSplineBasis, shares: np.ndarray
) -> None:
    """phi^{r+1}_i(t) = (t - tau_i)_+^r / r!, tau_i the left end of the i-th B-spline's support."""
    r, t = basis.degree, shares * basis.n_bins
    tau = np.arange(basis.size) - r
    distance = t[:, None] - tau
    # At a knot the step function of degree 0 is 1, and the last bin keeps its right end.
    powers = np.where(distance >= 0, np.maximum(distance, 0.0) ** r, 0.0) / [1, 1, 2, 6][r]
    phi = basis.evaluate(t) @ difference_inverse_transpose(basis.size, r + 1).T
    # Sums of up to n^r / r!, in which the digits of the smallest terms are lost.
    assert_allclose(phi, powers, rtol=1e-11, atol=1e-13 * powers.max())


def test_a_partition_sums_to_one_and_no_other(basis: Basis) -> None:
    total = basis.evaluate(points_of(basis)).sum(axis=1)
    assert np.allclose(total, 1.0) == basis.is_partition


def test_twin_bases_agree(basis: Basis) -> None:
    x = points_of(basis)
    core = basis.core()
    assert core.size == basis.size == len(basis.names())
    # Degree 3 gives its last weight as one minus the others, and the recurrences add up rounding.
    assert_allclose(core.evaluate(x), basis.evaluate(x), rtol=1e-12, atol=1e-14)


@given(bsplines, shares)
def test_twin_bsplines_agree_anywhere(basis: BSplineBasis, shares: np.ndarray) -> None:
    t = shares * basis.n_bins
    assert_allclose(basis.core().evaluate(t), basis.evaluate(t), rtol=1e-12, atol=1e-15)


def test_evaluate_keeps_the_shape(basis: Basis) -> None:
    x = points_of(basis, 12).reshape(3, 4)
    values = basis.evaluate(x)
    assert values.shape == (3, 4, basis.size)
    assert_array_equal(values[1, 2], basis.evaluate(x[1, 2:3])[0])


def test_fourier_at_known_places() -> None:
    values = FourierBasis(2).evaluate(np.array([0.0, 0.5, 1.0]))
    expected = [[1, 0, 1, 0], [0, 1, -1, 0], [-1, 0, 1, 0]]
    assert_allclose(values, expected, atol=1e-15)
    assert FourierBasis(2).names() == ["cos1", "sin1", "cos2", "sin2"]


def test_hermite_polynomials_are_those_of_scipy() -> None:
    x = np.linspace(-3, 3, 13)
    values = HermiteBasis(8).evaluate(x)
    expected = np.stack([eval_hermitenorm(n, x) for n in range(1, 9)], axis=1)
    assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def nth_derivative(basis: Basis, order: int, x: np.ndarray) -> np.ndarray:
    """The d-th derivatives by central differences: good to about 1e-8 for d <= 2 here."""
    h = 1e-3
    f = basis.evaluate
    if order == 1:
        return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)
    near, far = f(x + h) + f(x - h), f(x + 2 * h) + f(x - 2 * h)
    return (16 * near - far - 30 * f(x)) / (12 * h**2)


@pytest.mark.parametrize("order", [1, 2])
def test_fourier_derivatives_are_orthogonal(order: int) -> None:
    basis = FourierBasis(4)
    x, quadrature = leggauss(60)
    phi = basis.penalty(order).embed(nth_derivative(basis, order, x))
    gram = phi.T @ (quadrature[:, None] * phi)
    assert_allclose(gram, np.pi ** (2 * order) * np.eye(basis.size), atol=1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_hermite_derivatives_are_orthogonal(order: int) -> None:
    basis = HermiteBasis(6)
    x, quadrature = hermegauss(20)  # exact up to degree 39, with the weight exp(-x^2 / 2)
    phi = basis.penalty(order).embed(nth_derivative(basis, order, x))
    gram = phi.T @ (quadrature[:, None] * phi) / np.sqrt(2 * np.pi)
    expected = np.eye(basis.size)
    if order == 2:
        expected[0, 0] = 0  # a straight line has no second derivative; its weight is a convention
        assert basis.penalty(2).weights[0] == basis.penalty(1).weights[0]
    assert_allclose(gram, expected, atol=1e-5)


def test_scales_of_unit_and_native_width(basis: Basis) -> None:
    length, width = np.array([2.0, 5.0]), np.array([1.0, 3.0])
    if isinstance(basis, BSplineBasis):  # the width of a bin
        assert_array_equal(basis.variance(length, 1.0), [1 / 2, 1 / 5])
        assert_array_equal(basis.variance(length, width), [1 / 2, 3 / 5])
    else:
        assert_array_equal(basis.variance(length, 1.0), [1.0, 1.0])
        assert_array_equal(basis.variance(length, width), width)


def test_core_refuses_other_degrees() -> None:
    with pytest.raises(ValueError, match="degree 0, 1, 2 or 3"):
        BSplineBasis(4, 10).core()


def test_derivative_by_differences(basis: Basis) -> None:
    """Inside the pieces, where every function is smooth; central differences."""
    first, last = basis.domain
    x = np.linspace(first, last, 200)[1:-1] + 1e-4
    per_unit = basis.n_cells / 2 if isinstance(basis, SampledBasis) else 1
    x = x[np.abs(x - np.round(x * per_unit) / per_unit) > 1e-5]
    step = 1e-6
    expected = (basis.evaluate(x + step) - basis.evaluate(x - step)) / (2 * step)
    assert_allclose(basis.derivative(x), expected, rtol=1e-5, atol=1e-5)
