"""What would take for ever, or all memory, is refused at once, and the error says which it is."""

import time

import numpy as np
import pytest

from splinear import (
    AdditiveClassifier,
    AdditiveSVC,
    AdditiveSVR,
    FourierEmbedding,
    HermiteEmbedding,
    SplineEmbedding,
)
from splinear.kernels import min_kernel, spline_kernel
from splinear.terms import Fourier, Hermite, Spline

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 2))
Y = X[:, 0] > 0

REFUSED = [
    (AdditiveSVC(Spline(penalty_order=10**9), C=1.0), "'penalty_order' parameter of Spline"),
    (AdditiveClassifier(Spline(penalty_order=11)), "'penalty_order' parameter of Spline"),
    (AdditiveClassifier(Fourier(2**31)), "'n_frequencies' parameter of Fourier"),
    (AdditiveClassifier(Hermite(2**31)), "'degree' parameter of Hermite"),
    (SplineEmbedding(penalty_order=10**9), "'penalty_order' parameter of SplineEmbedding"),
    (SplineEmbedding(degree=2**31), "'degree' parameter of SplineEmbedding"),
    (FourierEmbedding(degree=2**31), "'degree' parameter of FourierEmbedding"),
    (HermiteEmbedding(degree=2**31), "'degree' parameter of HermiteEmbedding"),
    (HermiteEmbedding(degree=151), "degree must be at most 150"),
    (AdditiveSVC(intercept_scaling=1e160, C=1.0), "'intercept_scaling' parameter of AdditiveSVC"),
    (AdditiveSVR(intercept_scaling=1e160, C=1.0), "'intercept_scaling' parameter of AdditiveSVR"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused_at_once(model, message):
    for _ in range(2):  # the first may import something
        began = time.process_time()
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)
    assert time.process_time() - began < 1.0


def test_order_of_a_kernel():
    with pytest.raises(ValueError, match="order of differences is 0 to 10; got 1000000000"):
        spline_kernel(X, order=10**9)


@pytest.mark.parametrize("make", [AdditiveSVC, AdditiveClassifier])
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_class_weights_are_refused_by_name(make, weight):
    names = np.array(["good", "bad", "ugly"])
    model = make(class_weight={"good": 1.0, "bad": weight, "ugly": 1.0})
    with pytest.raises(ValueError, match=f"that of class bad is {weight:g}"):
        model.fit(X, names[np.arange(60) % 3])
    two = make(class_weight={False: 1.0, True: weight})
    with pytest.raises(ValueError, match=f"that of class True is {weight:g}"):
        two.fit(X, Y)


@pytest.mark.parametrize("make", [AdditiveSVC, AdditiveClassifier])
def test_any_number_of_jobs(make):
    """There are never more than 256 threads, and their number changes no bit."""
    one, many = (make(Spline(5), n_jobs=n, random_state=0).fit(X, Y) for n in (1, 2**40))
    np.testing.assert_array_equal(one.decision_function(X), many.decision_function(X))
    np.testing.assert_array_equal(min_kernel(X, n_jobs=2**40), min_kernel(X))
