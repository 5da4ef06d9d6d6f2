"""The values of sparse columns in order, and knots at their quantiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from splinear.terms.knots import Sample, quantile_knots
from splinear.terms.through_zero import Nonzeros


def drawn(seed: int, n_rows: int = 120, n_columns: int = 12) -> sparse.csr_array:
    """Columns of counts, of numbers, and of few values; some are empty."""
    random = np.random.default_rng(seed)
    X = random.gamma(0.5, 4.0, (n_rows, n_columns))
    X[:, ::3] = np.floor(X[:, ::3])
    X *= random.random(X.shape) < random.random(n_columns)
    return sparse.csr_array(X)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_values_are_in_order(seed: int, weighted: bool) -> None:
    X = drawn(seed)
    weights = np.random.default_rng(seed).integers(1, 4, X.shape[0]).astype(float)
    seen = Nonzeros.of(X, weights if weighted else None)
    assert seen.is_weighted == weighted
    before = 0.0
    for j, column in enumerate(X.toarray().T):
        there = np.flatnonzero(column)
        values, total = seen.column(j)
        assert_array_equal(values, np.sort(column[there]))
        whole = (weights if weighted else np.ones(X.shape[0]))[there].sum()
        assert total[-1] == whole if len(there) else len(total) == 0
        before += whole
    assert before == (seen.total[-1] if len(seen.total) else 0.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 11), st.booleans())
def test_knots_of_many_columns_are_those_of_each(seed: int, n_bins: int, beyond: bool) -> None:
    """Also where the highest value is in a row that was not looked at."""
    X = drawn(seed)
    seen = Nonzeros.of(X, None)
    hi = X.max(axis=0).toarray().ravel() * (1.5 if beyond else 1.0)
    columns = np.flatnonzero(seen.n_distinct + beyond > n_bins)
    found = seen.knots(columns, hi, n_bins)
    assert found.shape == (len(columns), n_bins + 1)
    for j, knots in zip(columns, found, strict=True):
        expected = quantile_knots(Sample(*seen.column(int(j))), 0.0, float(hi[j]), n_bins)
        assert_array_equal(knots, expected)


@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray])
def test_missing_values_are_left_out(form) -> None:
    X = np.array([[1.0, 0.0], [np.nan, np.nan], [3.0, 0.0], [1.0, np.nan]])
    given_, before = form(X), X.copy()
    seen = Nonzeros.of(given_, None)
    assert_array_equal(seen.column(0)[0], [1.0, 1.0, 3.0])
    assert_array_equal(seen.n_distinct, [2, 0])
    after = given_.toarray() if sparse.issparse(given_) else given_
    assert_array_equal(after, before)
