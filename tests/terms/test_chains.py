"""Where values stand on a chain of nodes."""

import numpy as np
import pytest

from splinear.terms.pair_group import NOWHERE, Chain

KNOTS = np.array([-1.0, 0.0, 0.5, 4.0])


def test_numbers_are_interpolated_between_knots():
    chain, x = Chain(0, knots=KNOTS), np.linspace(-1.0, 4.0, 101)
    expected = np.interp(x, KNOTS, np.arange(4))
    # Positions are in single precision.
    np.testing.assert_allclose(chain.positions(x), expected, atol=1e-6)
    np.testing.assert_array_equal(chain.positions(KNOTS), np.arange(4))


def test_numbers_beyond_the_ends_stand_at_them():
    found = Chain(0, knots=KNOTS).positions(np.array([-np.inf, -2.0, 4.1, 1e300, np.inf]))
    np.testing.assert_array_equal(found, [0, 0, 3, 3, 3])


@pytest.mark.parametrize("has_missing", [False, True])
def test_missing_values(has_missing):
    """They have a node of their own if there were any in fit; else a surface says nothing."""
    chain = Chain(0, knots=KNOTS, has_missing=has_missing)
    at = chain.positions(np.array([np.nan, 0.0]))
    np.testing.assert_array_equal(at, [4 if has_missing else NOWHERE, 1])
    assert chain.n_nodes == 4 + has_missing
    assert chain.n_values == 4


def test_levels_are_nodes():
    chain = Chain(2, node_of_level=np.array([1, 0, 1]), has_missing=True)
    at = chain.positions(np.array([0.0, 1.0, 2.0, -1.0, np.nan]))
    np.testing.assert_array_equal(at, [1, 0, 1, NOWHERE, 2])
    assert chain.n_nodes == 3


def test_a_constant_has_one_node():
    chain = Chain(0, knots=np.array([2.0]), has_missing=True)
    np.testing.assert_array_equal(chain.positions(np.array([2.0, 7.0, np.nan])), [0, 0, 1])
    assert Chain(0, node_of_level=np.empty(0, dtype=np.intp)).n_nodes == 0
    assert Chain(0, knots=np.empty(0), has_missing=True).n_nodes == 1


def test_the_smallest_numbers_are_not_rounded():
    """Half of a number below the smallest normal one is not exact."""
    knots = np.array([-3.0, 4.0]) * 5e-324
    found = Chain(0, knots).positions(np.array([-2.0, 3.0]) * 5e-324)
    np.testing.assert_allclose(found, [1 / 7, 6 / 7])


def test_the_largest_numbers_do_not_overflow():
    most = np.finfo(float).max
    found = Chain(0, knots=np.array([-most, most])).positions(np.array([-most, 0.0, most]))
    np.testing.assert_array_equal(found, [0, 0.5, 1])


def test_neighbors_among_numbers():
    tiny = 5e-324
    found = Chain(0, knots=np.array([0.0, tiny, 1.0])).positions(np.array([0.0, tiny, 1.0]))
    assert found[0] == 0
    assert found[2] == 2
    assert 0 <= found[1] <= 1
