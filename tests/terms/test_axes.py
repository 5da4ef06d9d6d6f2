"""From values to the arguments of a basis, in NumPy and in the core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from splinear import _core
from splinear.tables.opening import open_table
from splinear.terms.axes import Axes, standardized
from splinear.terms.basis import Basis, BSplineBasis, HermiteBasis

LARGEST = np.finfo(np.float64).max
DENORMAL = 5e-324
EXTREMES = [
    (0.0, 1.0),
    (-3.0, 7.0),
    (-1e300, 1e300),
    (0.0, 1e-300),
    (-LARGEST, LARGEST),  # hi - lo is infinite
    (0.0, 1024 * DENORMAL),
    (1e300, float(np.nextafter(1e300, np.inf))),
    (1.0, float(np.nextafter(1.0, 2.0))),
]
GAP = 77.0  # the value of a gap, where one is asked for
finite = st.floats(allow_nan=False, allow_infinity=False)
often_equal = st.sampled_from([-1.0, 0.0, DENORMAL, 1.0, LARGEST]) | finite


def axis(lo: float, hi: float, first: float, last: float, knots: Any = None) -> Axes:
    ends = (np.array([float(end)]) for end in (lo, hi, first, last))
    return Axes(*ends, None if knots is None else np.array([knots], dtype=float))


def arguments(axes: Axes, x: Any) -> np.ndarray:
    return axes.argument_of(np.asarray(x, dtype=float), 0)


def core_arguments(axes: Axes, X: np.ndarray, j: int = 0) -> np.ndarray:
    """What the core sees: the decision of the curve H_1(a) = a on feature j alone."""
    tables = np.zeros((1, axes.n_features, 2))
    tables[0, j] = [1.0, GAP]
    columns = np.arange(axes.n_features)
    curves = _core.Curves(_core.hermite(1), axes.core(), tables, np.zeros(1))
    return _core.decision(curves, X, columns, 1)[:, 0]


@pytest.mark.parametrize(("lo", "hi"), EXTREMES)
def test_ends_middle_and_beyond(lo: float, hi: float) -> None:
    axes = axis(lo, hi, 0, 10)
    assert_array_equal(arguments(axes, [lo, hi, -LARGEST, LARGEST]), [0, 10, 0, 10])
    quarter, middle = 0.75 * lo + 0.25 * hi, 0.5 * lo + 0.5 * hi
    if lo < quarter < middle < hi:  # neighbors have nothing between them
        assert_allclose(arguments(axes, [quarter, middle]), [2.5, 5], rtol=1e-14)


@pytest.mark.parametrize(("lo", "hi"), EXTREMES)
def test_twins_agree_on_extremes(lo: float, hi: float) -> None:
    x = np.array([lo, hi, 0.5 * lo + 0.5 * hi, 0.9 * lo + 0.1 * hi, 0.0, -LARGEST, LARGEST])
    for first, last in [(0, 10), (-1, 1)]:
        axes = axis(lo, hi, first, last)
        assert_allclose(core_arguments(axes, x[:, None]), arguments(axes, x), rtol=0, atol=1e-14)


@given(finite, finite, st.lists(finite, min_size=1, max_size=10))
def test_twins_agree_anywhere(a: float, b: float, x: list[float]) -> None:
    axes = axis(min(a, b), max(a, b), -1, 1)
    column = np.array(x)[:, None]
    assert_allclose(core_arguments(axes, column), arguments(axes, x), rtol=1e-13, atol=1e-15)


@given(st.lists(often_equal, min_size=2, max_size=8), st.lists(often_equal, min_size=1, max_size=8))
def test_warped_twins_agree_anywhere(knots: list[float], x: list[float]) -> None:
    """Knots of all sizes, some of them equal; at the knots, between and beyond them."""
    knots = sorted(knots)
    assume(knots[0] < knots[-1])
    axes = axis(knots[0], knots[-1], 0, len(knots) - 1, knots)
    column = np.concatenate([x, knots])[:, None]
    ours, cores = arguments(axes, column[:, 0]), core_arguments(axes, column)
    assert_allclose(cores, ours, rtol=1e-13, atol=1e-15)


@given(st.lists(often_equal, min_size=2, max_size=8), st.lists(often_equal, min_size=2, max_size=8))
def test_arguments_are_in_order_and_in_range(knots: list[float], x: list[float]) -> None:
    knots, x = sorted(knots), sorted(x)
    assume(knots[0] < knots[-1])
    for axes in (
        axis(knots[0], knots[-1], -1, 1),
        axis(knots[0], knots[-1], -1, 1, knots),
    ):
        found = arguments(axes, x)
        assert (np.diff(found) >= -1e-15).all()
        assert (np.abs(found) <= 1).all()


def test_knots_become_equally_spaced() -> None:
    axes = axis(0, 20, 0, 4, [0, 1, 10, 10, 20])
    x = [-5, 0, 0.5, 1, 5.5, 10, 15, 20, 25]
    assert_allclose(arguments(axes, x), [0, 0, 0.5, 1, 1.5, 3, 3.5, 4, 4], rtol=1e-15)


@pytest.mark.parametrize("knots", [[0, 0, 0, 1, 2], [0, 1, 2, 2, 2], [0, 1, 1, 1, 2]])
def test_twins_agree_at_repeated_knots(knots: list[float]) -> None:
    """Half the values of a column may be its lowest: at training and at prediction alike."""
    axes = axis(0, 2, 0, 4, knots)
    x = np.array([-1, 0, 1e-12, 0.5, 1, 1.5, 2, 3])
    last_of_equals = np.searchsorted(knots, 0, side="right") - 1
    assert_array_equal(arguments(axes, x)[:2], last_of_equals)
    assert_allclose(core_arguments(axes, x[:, None]), arguments(axes, x), rtol=1e-14)


def test_knots_may_be_further_apart_than_any_number() -> None:
    axes = axis(-LARGEST, LARGEST, 0, 2, [-LARGEST, 0, LARGEST])
    x = LARGEST * np.array([-1, -0.5, 0, 0.25, 1])
    assert_array_equal(arguments(axes, x), [0, 0.5, 1, 1.25, 2])
    assert_array_equal(core_arguments(axes, x[:, None]), [0, 0.5, 1, 1.25, 2])


def test_denormal_knots_keep_their_place() -> None:
    axes = axis(0, 6 * DENORMAL, 0, 2, [0, 2 * DENORMAL, 6 * DENORMAL])
    x = DENORMAL * np.arange(7)
    assert_array_equal(arguments(axes, x), [0, 0.5, 1, 1.25, 1.5, 1.75, 2])
    assert_array_equal(core_arguments(axes, x[:, None]), [0, 0.5, 1, 1.25, 1.5, 1.75, 2])


def test_constant_feature_maps_to_the_first_place() -> None:
    axes = axis(3, 3, -1, 1)
    x = np.array([-LARGEST, 0, 3, 4, LARGEST])
    assert_array_equal(arguments(axes, x), -1)
    assert_array_equal(core_arguments(axes, x[:, None]), -1)
    assert not axes.varies.any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_core_reads_any_layout(dtype: type, order: Any) -> None:
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(dtype)
    lo, hi = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    axes = Axes.spanning(lo, hi, BSplineBasis(1, 5))
    expected = axes.argument(X)
    laid_out = np.asarray(X, order=order)
    laid_out.flags.writeable = False
    for j in range(3):
        assert_allclose(core_arguments(axes, laid_out, j), expected[:, j], rtol=1e-13, atol=1e-15)
        every_other = np.repeat(laid_out, 2, axis=0)[::2]
        assert_allclose(core_arguments(axes, every_other, j), expected[:, j], atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaps_have_a_value_of_their_own(dtype: type) -> None:
    X = np.array([[0.0, 1.0], [np.nan, 2.0], [0.5, np.nan], [np.nan, np.nan]], dtype=dtype)
    axes = Axes.spanning(np.zeros(2), np.array([1.0, 2.0]), HermiteBasis(1))
    assert_allclose(core_arguments(axes, X, 0), [-1, GAP, 0, GAP], atol=1e-6)
    assert_allclose(core_arguments(axes, X, 1), [0, 1, GAP, GAP], atol=1e-6)


def test_core_reads_the_columns_it_is_asked_for() -> None:
    X = np.random.default_rng(2).normal(size=(50, 4))
    columns = np.array([3, 0])
    axes = Axes.spanning(X.min(axis=0)[columns], X.max(axis=0)[columns], BSplineBasis(1, 5))
    tables = np.array([[[1.0, GAP], [100.0, GAP]]])
    curves = _core.Curves(_core.hermite(1), axes.core(), tables, np.array([0.5]))
    found = _core.decision(curves, X, columns, 1)[:, 0]
    expected = 0.5 + axes.argument(X[:, columns]) @ [1.0, 100.0]
    assert_allclose(found, expected, rtol=1e-13)


def test_axes_of_some_features() -> None:
    knots = np.array([[0.0, 1.0, np.nan], [0.0, 2.0, 3.0], [np.nan, np.nan, np.nan]])
    axes = Axes.spanning(np.zeros(3), np.array([1.0, 3.0, 5.0]), BSplineBasis(1, 2), knots)
    some = axes.of_features(np.array([2, 1]))
    x = np.linspace(-1, 6, 15)
    for k, j in enumerate([2, 1]):
        assert_array_equal(some.argument_of(x, k), axes.argument_of(x, j))


@pytest.mark.parametrize("weighted", [False, True])
def test_standardized_axes_measure_in_standard_deviations(weighted: bool) -> None:
    """Over rows that count, by their weights, without gaps; a constant feature stays as it is."""
    random = np.random.default_rng(3)
    X = random.lognormal(size=(500, 4)) * [1.0, 1e200, 1e-200, 0.0]
    X[random.random(500) < 0.2, 0] = np.nan
    kept = random.random(500) < 0.7
    weights = random.integers(1, 5, 500) * 1.0 if weighted else None
    columns = np.array([2, 0, 3, 1])
    seen = np.where(kept[:, None], X, np.nan)
    lo, hi = np.nanmin(seen, axis=0)[columns], np.nanmax(seen, axis=0)[columns]
    axes = Axes.spanning(lo, hi, HermiteBasis(3))
    found = standardized(open_table(X), columns, kept, axes, weights)
    for k, j in enumerate(columns):
        there = kept & ~np.isnan(X[:, j])
        x, w = X[there, j], np.ones(500) if weights is None else weights
        if j == 3:
            assert (found.first[k], found.last[k]) == (-1, 1)
            continue
        unit = x / np.abs(x).max()  # squares of 1e200 would overflow
        mean = np.average(unit, weights=w[there])
        std = np.sqrt(np.average((unit - mean) ** 2, weights=w[there]))
        assert_allclose(found.argument_of(x, k), (unit - mean) / std, rtol=1e-9, atol=1e-9)


def test_width_stays_finite() -> None:
    axes = Axes.spanning(np.array([-LARGEST, 1.0]), np.array([LARGEST, 1.0]), BSplineBasis(1, 2))
    assert_array_equal(axes.width, [LARGEST, 0.0])
    assert_array_equal(axes.varies, [True, False])
    assert axes.n_features == 2


@pytest.mark.parametrize("gaps", [False, True])
def test_codes_are_rounded_arguments(basis: Basis, gaps: bool) -> None:
    X = np.random.default_rng(1).normal(size=(200, 4))
    columns = np.array([1, 3])
    axes = Axes.spanning(X.min(axis=0)[columns], X.max(axis=0)[columns], basis)
    grid = basis.grid(gaps=gaps)
    codes = _core.Codes(200, 2, grid)
    codes.fill(X, columns, np.arange(200), axes.core(), 1)
    found = codes.array.astype(np.float64)
    assert codes.array.dtype == np.uint16
    first, last = basis.domain
    along = (axes.argument(X[:, columns]) - first) / (last - first) * grid.steps
    if isinstance(basis, BSplineBasis) and basis.degree == 0:
        assert_array_equal(found, np.minimum(np.floor(along + 1e-9), basis.n_bins - 1))
    else:
        # A gap has a bin of its own behind the last function, which takes codes from the axis.
        taken = (basis.size + 1) / basis.n_bins if gaps and isinstance(basis, BSplineBasis) else 1
        assert grid.steps >= 32_767 / taken
        assert (np.abs(found - along) <= 0.5 + 1e-6).all()


@pytest.mark.parametrize("n_levels", [3, 65_534, 65_535, 65_536, 70_000])
@pytest.mark.parametrize("gaps", [False, True])
def test_levels_are_coded_by_their_numbers(n_levels: int, gaps: bool) -> None:
    """In 16 bits, or in 32 where these do not suffice; a gap has a code behind all levels."""
    basis = BSplineBasis(0, n_levels)
    levels = np.append(np.arange(n_levels, dtype=float), np.nan if gaps else 0.0)
    axes = axis(0, n_levels, 0, n_levels)
    codes = _core.Codes(len(levels), 1, basis.grid(gaps=gaps))
    codes.fill(levels[:, None], np.array([0]), np.arange(len(levels)), axes.core(), 1)
    assert_array_equal(codes.array[:-1, 0], np.arange(n_levels))
    assert codes.array[-1, 0] == 0 if not gaps else codes.array[-1, 0] >= n_levels
    assert codes.array.dtype == (np.uint16 if n_levels + gaps <= 65_535 else np.uint32)


def test_a_gap_has_a_code_of_its_own(basis: Basis) -> None:
    X = np.append(np.linspace(0.0, 1.0, 500), np.nan)[:, None]
    axes = Axes.spanning(np.zeros(1), np.ones(1), basis)
    codes = _core.Codes(501, 1, basis.grid(gaps=True))
    codes.fill(X, np.array([0]), np.arange(501), axes.core(), 1)
    assert codes.array[-1, 0] not in codes.array[:-1, 0]


def test_rows_without_a_place_are_skipped() -> None:
    X, axes = np.array([[0.0], [1.0], [2.0], [3.0]]), axis(0, 3, 0, 3)
    codes = _core.Codes(2, 1, BSplineBasis(0, 3).grid())
    codes.fill(X, np.array([0]), np.array([1, -1, 0, -1]), axes.core(), 1)
    assert codes.array[:, 0].tolist() == [2, 0]


def test_bytes_are_coded_exactly_in_255_bins() -> None:
    X = np.arange(256.0)[:, None]
    codes = _core.Codes(256, 1, BSplineBasis(1, 255).grid())
    axes = axis(0, 255, 0, 255)
    codes.fill(X, np.array([0]), np.arange(256)[::-1].copy(), axes.core(), 1)
    found = codes.array[:, 0].tolist()
    assert found == [256 * k for k in reversed(range(256))]
    assert_array_equal(arguments(axes, X[:, 0]), X[:, 0])
