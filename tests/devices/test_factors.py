"""Factors of matrices by halves."""

from __future__ import annotations

import numpy as np
import pytest

from splinear.devices.factors import LEAF, inverse_by_halves
from splinear.devices.numpy_backend import NumPyBackend


def matrices(m, n=3):
    rng = np.random.default_rng(m)
    A = rng.normal(size=(n, m + 5, m))
    return np.swapaxes(A, 1, 2) @ A


def leaf(H):
    assert H.shape[1] <= LEAF
    return NumPyBackend().inverse_factors(H)


@pytest.mark.parametrize("m", [1, LEAF, LEAF + 1, 3 * LEAF, 331])
def test_halves_are_put_together(m):
    H = matrices(m)
    found, expected = inverse_by_halves(H, leaf), NumPyBackend().inverse_factors(H)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    assert np.array_equal(found, np.tril(found))


def test_a_matrix_without_a_factor_leaves_others_as_they_are():
    H = matrices(150)
    H[1, 120, 120] = -1.0
    found = inverse_by_halves(H, leaf)
    assert np.isfinite(found).all(axis=(1, 2)).tolist() == [True, False, True]
