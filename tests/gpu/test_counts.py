"""How sums in whole numbers are scaled, which needs no device."""

from __future__ import annotations

import numpy as np
import pytest

from splinear.objective.gpu.cuda_counts import fixed_scale, fixed_scales


@pytest.mark.parametrize("largest", [0.0, 5e-324, 1e-310, 1e-3, 1.0, 3.0, 1e300])
@pytest.mark.parametrize("n_rows", [1, 7, 10**6])
def test_sums_fit_and_keep_their_digits(largest, n_rows):
    (scale,) = fixed_scales(np.array([largest]), n_rows)
    most = n_rows * (scale * largest)
    assert np.frexp(scale)[0] == 0.5  # a power of two: no digit is lost
    assert most <= 2.0**62
    assert largest < 1e-290 or most > 2.0**59


def test_one_scale_for_all():
    R = np.array([[1.0, -6.0], [2.0, 3.0]])
    assert fixed_scale(R) == fixed_scales(np.array([6.0]), 2)[0]
    assert fixed_scale(np.full((3, 1), 1e-310)) > 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_sums_of_what_is_not_finite_are_not(bad):
    assert np.isnan(fixed_scales(np.array([1.0, bad]), 3)).tolist() == [False, True]
    assert np.isnan(fixed_scale(np.array([[1.0], [bad]])))
