"""Factors of matrices that rounding has made singular."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgError, cho_factor

from splinear.model.factoring import factor_with


def factored(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix that was factored in the end."""
    grown = matrix.copy()
    factor = np.triu(factor_with(cho_factor, grown, np.einsum("kk->k", grown))[0])
    assert_allclose(factor.T @ factor, grown, rtol=1e-12, atol=1e-15 * np.max(matrix))
    return grown


def test_a_matrix_that_can_be_factored_stays_as_it_is() -> None:
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    assert_allclose(factored(matrix), matrix, rtol=0)


@pytest.mark.parametrize("scale", [1.0, 1e300])
@pytest.mark.parametrize("small", [1e-10, 1e-20, 1e-26])
def test_a_small_entry_of_which_nothing_is_left(small: float, scale: float) -> None:
    """What is missing is little against the largest entry, and much against its own."""
    beside = 10.0 * np.sqrt(small)
    matrix = scale * np.array([[1.0, beside], [beside, small]])
    with pytest.raises(LinAlgError):
        cho_factor(matrix)
    assert np.max(np.abs(factored(matrix) - matrix)) <= 2.1e-6 * scale
