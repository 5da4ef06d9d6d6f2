"""Threads change no bit: of models, of scores, of what is kept of the rows."""

import numpy as np
import pytest

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.inspection import base_value, contributions
from splinear.terms import Category, Spline

THREADS = (2, 3, 16)


@pytest.fixture(scope="module")
def rows():
    """Enough of them that steps go through a sample, whose sums are divided by features, too."""
    random = np.random.default_rng(0)
    X = random.normal(size=(12_000, 37)).astype(np.float32)
    X[:, 3] = random.integers(0, 40, size=len(X))
    X[random.random(len(X)) < 0.05, 5] = np.nan
    f = np.sin(2 * X[:, :3]).sum(axis=1) + X[:, 3] % 3 + random.logistic(size=len(X))
    return X, (f > np.median(f)).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        AdditiveClassifier(terms={3: Category()}, random_state=0),
        AdditiveClassifier(Spline(40), C=1.0, random_state=0),
        AdditiveClassifier(Spline(12, degree=3, penalty_order=2), C=1.0, random_state=0),
        AdditiveSVC(Spline(40), random_state=0, C=1.0),
        AdditiveSVC(Spline(40), loss="squared_hinge", random_state=0, C=1.0),
    ],
    ids=["REML", "Newton", "cubic", "hinge", "squared hinge"],
)
def test_threads_change_no_bit(model, rows):
    X, y = rows
    one = model.set_params(n_jobs=1).fit(X, y)
    expected = [one.decision_function(X), one.feature_importances_, one.objective_, one.dual_gap_]
    for n_jobs in THREADS:
        many = model.set_params(n_jobs=n_jobs).fit(X, y)
        found = [many.decision_function(X), many.feature_importances_]
        for known, now in zip(expected, [*found, many.objective_, many.dual_gap_], strict=True):
            np.testing.assert_array_equal(now, known)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_do_not_depend_on_threads(dtype, rows):
    """Groups of curves, one beyond whose ends it is a straight line, and levels."""
    X, y = rows[0].astype(dtype), rows[1]
    terms = {3: Category(), 7: Spline(extrapolation="linear"), 8: Spline(5, degree=3)}
    model = AdditiveClassifier(Spline(40), terms=terms, C=1.0, random_state=0).fit(X, y)
    far = 3 * X
    expected = model.set_params(n_jobs=1).decision_function(far)
    by_term = base_value(model) + contributions(model, far).sum(axis=1)
    np.testing.assert_allclose(expected, by_term, rtol=0, atol=1e-4)
    for n_jobs in THREADS:
        found = model.set_params(n_jobs=n_jobs).decision_function(far)
        np.testing.assert_array_equal(found, expected)


def test_infinite_rows_are_named_on_any_number_of_threads(rows):
    X, y = rows[0].copy(), rows[1]
    model = AdditiveClassifier(Spline(8), C=1.0, random_state=0).fit(X, y)
    X[11_000, 2] = np.inf
    for n_jobs in (1, *THREADS):
        with pytest.raises(ValueError, match="infinity in column 2"):
            model.set_params(n_jobs=n_jobs).decision_function(X)
