"""Tall tables: Newton's method on smoothed losses in place of dual coordinate descent."""

from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from splinear import AdditiveSVC, AdditiveSVR, PathSearchCV
from splinear.solvers.hinge import one_problem, ways
from splinear.terms import Spline


@pytest.fixture(scope="module")
def rows():
    """Rows of classes that overlap, and a number for each."""
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 4)).astype(np.float32)
    signal = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, signal + 0.7 * random.normal(size=len(X))


@pytest.fixture
def counts_as_tall():
    """Few rows count as many."""
    with patch.multiple(ways, LEAST_ROWS=1000, LEAST_PARAMETERS=1, LEAST_COLUMNS=1):
        yield


def models(**options):
    options = {"curve": Spline(8), "tol": 5e-3, "random_state": 0} | options
    return [
        AdditiveSVC(**options),
        AdditiveSVC(loss="squared_hinge", **options),
        AdditiveSVC(C=30.0, class_weight={0: 5.0}, **options),
        AdditiveSVC(intercept_scaling=0.1, **options),
        AdditiveSVC(fit_intercept=False, **options),
        AdditiveSVR(**options),
    ]


def fitted(model, rows, **how):
    X, signal = rows
    return model.fit(
        X, signal if isinstance(model, AdditiveSVR) else (signal > 0).astype(int), **how
    )


@pytest.mark.parametrize("k", range(6))
def test_finds_what_dual_coordinate_descent_finds(k, rows):
    X, _ = rows
    weights = np.random.default_rng(1).integers(0, 3, len(X)) if k == 0 else None
    with patch.object(ways, "suits_newton", return_value=False):
        slow = fitted(models()[k], rows, sample_weight=weights)
    with patch.multiple(ways, LEAST_ROWS=1000, LEAST_PARAMETERS=1, LEAST_COLUMNS=1):
        fast = fitted(models()[k], rows, sample_weight=weights)
    assert fast.n_iter_ != slow.n_iter_ or not np.array_equal(fast.intercept_, slow.intercept_)
    assert fast.certified_
    assert fast.dual_gap_ <= 5e-3
    # P <= P* / (1 - tol) of both, and P is as convex as |w|^2: models are close to each other.
    scores = slow.decision_function(X) if k < 5 else slow.predict(X)
    others = fast.decision_function(X) if k < 5 else fast.predict(X)
    assert np.corrcoef(scores, others)[0, 1] > 0.995


@pytest.mark.usefixtures("counts_as_tall")
def test_threads_change_nothing(rows):
    X, _ = rows
    one, many = (
        fitted(AdditiveSVC(Spline(8), random_state=0, n_jobs=n, C=1.0), rows) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.decision_function(X), many.decision_function(X))


@pytest.mark.usefixtures("counts_as_tall")
def test_steps_are_what_max_iter_counts(rows):
    with pytest.warns(UserWarning, match="max_iter"):
        model = fitted(AdditiveSVC(Spline(8), C=10.0, tol=1e-3, max_iter=1), rows)
    assert model.n_iter_ == 1
    assert not model.certified_


@pytest.mark.usefixtures("counts_as_tall")
def test_dual_variables_are_kept_for_another_fit(rows):
    model = fitted(AdditiveSVC(Spline(8), tol=1e-2, warm_start=True, C=1.0), rows)
    first = model.n_iter_
    assert fitted(model, rows).n_iter_ <= first
    assert model.certified_


@pytest.mark.usefixtures("counts_as_tall")
@pytest.mark.parametrize("how", [{"max_memory": "500MB"}, {"curve": Spline(300)}])
def test_little_memory_or_many_parameters_are_left_to_dual_coordinate_descent(how, rows):
    options = {"curve": Spline(8)} | how
    with patch.object(one_problem.smoothing, "solve", side_effect=AssertionError):
        assert fitted(AdditiveSVC(**options), rows).certified_


@pytest.mark.parametrize("X_of", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_loss_with_a_derivative_is_minimized_itself(rows, X_of):
    """By Newton's method, to any gap; more rows than parameters suffice."""
    X, signal = np.abs(rows[0][:200]), rows[1][:200]
    X[X < 0.5] = 0.0
    model = AdditiveSVC(Spline(8), loss="squared_hinge", tol=1e-8, random_state=0, C=1.0)
    fast = clone(model).fit(X_of(X), signal > 0)
    with patch.object(ways, "suits_newton", return_value=False):
        slow = clone(model).set_params(max_iter=100_000).fit(X_of(X), signal > 0)
    assert fast.certified_
    assert fast.n_iter_ < slow.n_iter_ / 4
    assert fast.objective_ == pytest.approx(slow.objective_, rel=3e-8)


def test_newton_takes_memory_and_no_proximal_penalty(rows):
    """So where memory is bounded, and in partial_fit, dual coordinate descent is used."""
    X, signal = rows
    model = AdditiveSVC(Spline(8), loss="squared_hinge", random_state=0, C=1.0)
    with patch("splinear.solvers.hinge.ways.proven_primal") as newton:
        clone(model).set_params(max_memory="200MB").fit(X, signal > 0)
    newton.assert_not_called()
    first = clone(model).fit(X, signal > 0)
    with patch("splinear.solvers.hinge.ways.proven_primal") as newton:
        first.partial_fit(X[:1000], signal[:1000] > 0)
    newton.assert_not_called()


def test_newton_starts_from_dual_variables_and_leaves_some(rows):
    X, signal = rows
    model = AdditiveSVC(Spline(8), loss="squared_hinge", tol=1e-6, warm_start=True, C=1.0)
    cold = model.fit(X, signal > 0).n_iter_
    assert 1 < cold < 20
    assert model.fit(X, signal > 0).n_iter_ <= 1
    assert model.set_params(C=1.1).fit(X, signal > 0).n_iter_ < cold
    with patch.object(ways, "suits_newton", return_value=False):  # as good a start for the dual
        assert model.set_params(tol=1e-4).fit(X, signal > 0).n_iter_ <= 2


def test_a_path_of_a_loss_with_a_derivative(rows):
    X, signal = rows
    model = AdditiveSVC(Spline(8), loss="squared_hinge", tol=1e-4, random_state=0, C=1.0)
    Cs = [0.01, 1.0, 100.0]
    fast = PathSearchCV(model, Cs=Cs, cv=3).fit(X, signal > 0)
    with patch.object(ways, "suits_newton", return_value=False):
        slow = PathSearchCV(model, Cs=Cs, cv=3).fit(X, signal > 0)
    assert fast.best_params_ == slow.best_params_
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(fast.cv_results_[name], slow.cv_results_[name], atol=2e-3)
