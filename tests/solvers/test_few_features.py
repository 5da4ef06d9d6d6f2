"""Passes over a few features, which fill no vector, and over what tiles of them leave over."""

import numpy as np
import pytest

from splinear import _core

N_ROWS = 3_001


def group(n_features, degree, n_bins, *, gaps):
    """Coded rows of B-splines under no penalty."""
    random = np.random.default_rng(n_features)
    X = random.random((N_ROWS, n_features))
    X[:7] = 1.0  # the right end
    if gaps:
        X[random.random(X.shape) < 0.2] = np.nan
    ones, zeros = np.ones(n_features), np.zeros(n_features)
    axes = _core.Axes(zeros, ones, zeros, np.full(n_features, float(n_bins)), np.empty((0, 0)))
    codes = _core.Codes(N_ROWS, n_features, _core.CodeGrid.bins(n_bins, degree, gaps))
    codes.fill(X, np.arange(n_features), np.arange(N_ROWS), axes, 1)
    size = n_bins + degree
    penalty = _core.difference_penalty(0, size, degree + 1, 0)
    mean = np.zeros((n_features, size)) if gaps else np.empty((0, 0))
    of_gaps = ones if gaps else np.empty(0)
    basis = _core.bspline(degree, n_bins)
    rows = _core.coded_rows(codes, axes)
    return _core.Group(rows, basis, penalty, ones, mean, of_gaps), n_features * (size + gaps)


@pytest.mark.parametrize("n_features", [1, 4, 5, 8, 10, 11, 33, 42, 43])
@pytest.mark.parametrize(("degree", "n_bins"), [(0, 9), (0, 100), (1, 20), (1, 120), (2, 20)])
@pytest.mark.parametrize("gaps", [False, True])
def test_passes_are_those_of_the_reference(n_features, degree, n_bins, gaps, monkeypatch):
    own, length = group(n_features, degree, n_bins, gaps=gaps)
    random = np.random.default_rng(1)
    tables, r = random.normal(size=(1, length)), random.normal(size=(1, N_ROWS))
    passes = ((_core.score_many, tables), (_core.sum_many, r), (_core.blocks_many, r**2))
    found = [of([own], given, 1) for of, given in passes]
    for (of, given), one in zip(passes, found, strict=True):
        np.testing.assert_array_equal(of([own], given, 5), one)
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", "reference")
    for (of, given), one in zip(passes, found, strict=True):
        expected = of([own], given, 1)
        np.testing.assert_allclose(one, expected, atol=3e-6 * np.abs(expected).max())
