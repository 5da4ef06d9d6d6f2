"""The lowest and highest value of every column, on any number of threads."""

import numpy as np
import pytest

from splinear.tables.chunks import ranges


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_ranges_are_those_of_numpy(dtype, order, n_threads):
    random = np.random.default_rng(0)
    X = np.asarray(random.normal(size=(5_001, 7)), dtype=dtype, order=order)
    X[random.random(X.shape) < 0.1] = np.nan
    X[:, 2] = np.nan
    X[:, 3] = 1.0
    X[4, 4], X[5, 4] = np.inf, -np.inf
    for chunk in (X, X[::2, 1:], X[:1]):
        lo, hi, has_nan = ranges(chunk, n_threads)
        np.testing.assert_array_equal(lo, np.fmin.reduce(chunk, axis=0))
        np.testing.assert_array_equal(hi, np.fmax.reduce(chunk, axis=0))
        np.testing.assert_array_equal(has_nan, np.isnan(chunk).any(axis=0))
        assert lo.dtype == hi.dtype == np.float64
