"""Forms: their coordinates, and what follows from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splinear.terms.form import Form

FORMS = [Form(m, c) for m in (-1, 0, 1) for c in (-1, 0, 1) if m or c]
by_form = pytest.mark.parametrize("form", FORMS, ids=repr)
widths = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=9).map(np.array)


def obeys(form, coef, widths, rounding=0.0):
    """Whether a piecewise linear curve is of a form, by its values alone."""
    slopes = np.diff(coef) / widths
    goes = form.monotone * slopes >= -rounding
    bends = form.curvature * np.diff(slopes) >= -rounding
    return goes.all() and bends.all()


@by_form
@given(widths=widths, seed=st.integers(0, 2**16))
def test_coordinates_describe_all_curves_of_a_form_and_no_others(form, widths, seed):
    B, bounded = form.coordinates(widths)
    random, n = np.random.default_rng(seed), len(widths) + 1
    assert B.shape == (n, n)
    z = random.normal(size=n)
    inside = np.linalg.solve(B, np.where(bounded, np.abs(z), z))
    assert obeys(form, inside, widths, rounding=1e-9)
    k = random.choice(np.flatnonzero(bounded)) if bounded.any() else None
    if k is not None:
        z = np.where(bounded, np.abs(z), z)
        z[k] = -1.0
        assert not obeys(form, np.linalg.solve(B, z), widths, rounding=1e-9)


@by_form
@given(widths=widths, seed=st.integers(0, 2**16))
def test_gradients_by_coordinates(form, widths, seed):
    B, _ = form.coordinates(widths)
    gradients = np.random.default_rng(seed).normal(size=(len(widths) + 1, 3))
    expected = np.linalg.solve(B.T, gradients)
    np.testing.assert_allclose(form.pulled(gradients, widths), expected, rtol=1e-9, atol=1e-9)


@by_form
@given(widths=widths, seed=st.integers(0, 2**16))
def test_snapping_takes_rounding_away(form, widths, seed):
    B, bounded = form.coordinates(widths)
    random = np.random.default_rng(seed)
    z = random.normal(size=(2, len(widths) + 1))
    z = np.where(bounded, np.maximum(z, 0.0), z)
    coef = np.linalg.solve(B, z.T).T
    noisy = coef + 1e-13 * random.normal(size=coef.shape)
    snapped = form.snapped(noisy, widths)
    np.testing.assert_allclose(snapped, coef, atol=1e-10)
    for own in snapped:  # monotone curves are so in every bit; differences of slopes are rounded
        assert (form.monotone * np.diff(own) >= 0.0).all()
        assert obeys(form, own, widths, rounding=1e-12)
