"""Many rows per parameter: by passes over all rows, and to what dual coordinate descent finds."""

import numpy as np
import pytest

from splinear import AdditiveSVC, AdditiveSVR
from splinear.training import dual, tall


@pytest.fixture
def made(monkeypatch):
    """Take passes for small tables, and count the fits that end with them."""
    found = []
    plain = dual.proven_by_passes

    def counted(*args):
        found.append(plain(*args))
        return found[-1]

    monkeypatch.setattr(dual, "proven_by_passes", counted)
    monkeypatch.setattr(tall, "LEAST_ROWS", 500)
    return found


def table(n=3000, seed=0):
    random = np.random.default_rng(seed)
    X = random.random((n, 3))
    return X, np.sin(8 * X[:, 0]) + X[:, 1] + 0.5 * random.normal(size=n)


def pair(model, X, y, made, monkeypatch, weights=None):
    """Fit by passes, and by visits of rows."""
    by_passes = model.fit(X, y, weights)
    told = by_passes.objective_, by_passes.dual_gap_, by_passes.certified_
    scores = by_passes.predict(X)
    assert made
    with monkeypatch.context() as patch:
        patch.setattr(tall, "LEAST_ROWS", 10**9)
        by_visits = model.fit(X, y, weights)
    assert told[2]
    assert told[1] <= model.tol
    assert told[0] == pytest.approx(by_visits.objective_, rel=1.01 * model.tol)
    return scores


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(made, monkeypatch, loss, n_classes):
    X, signal = table()
    y = np.digitize(signal, [0.3, 1.2][: n_classes - 1])
    model = AdditiveSVC(loss=loss, tol=1e-3, random_state=0, max_iter=5000)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    pair(model, X, y, made, monkeypatch, weights)
    assert len(made) == (1 if n_classes == 2 else 3)


def test_numbers(made, monkeypatch):
    X, y = table()
    pair(AdditiveSVR(tol=1e-3, random_state=0), X, 1e3 + 50 * y, made, monkeypatch)


def test_threads_change_no_bit(made):
    X, signal = table()
    y = signal > 0.5
    found = [AdditiveSVC(random_state=0, n_jobs=n).fit(X, y).decision_function(X) for n in (1, 2)]
    np.testing.assert_array_equal(*found)


def test_a_tolerance_below_the_rounding_of_codes(made):
    X, signal = table()
    model = AdditiveSVC(random_state=0, tol=1e-6).fit(X, signal > 0.5)
    assert model.certified_


def test_classes_that_do_not_overlap_are_solved_too(made, monkeypatch):
    """If need be by visits of rows, after the steps that were in vain."""
    monkeypatch.setattr(tall, "MOST_STEPS", 1)
    X, _ = table()
    model = AdditiveSVC(random_state=0, C=1000.0, max_iter=100_000)
    model.fit(X, X[:, 0] + X[:, 1] > 1.0)
    assert model.certified_
    assert not made[0].certified
    assert model.n_iter_ > 1


def test_limits_and_starts(made):
    X, signal = table()
    y = signal > 0.5
    seen = []
    model = AdditiveSVC(random_state=0, callback=lambda progress: seen.append(progress))
    model.fit(X, y)
    assert [progress.n_iter for progress in seen] == list(range(1, len(seen) + 1))
    again = AdditiveSVC(random_state=0, warm_start=True).fit(X, y)
    assert again.fit(X, y).certified_
    assert len(made) == 2  # dual variables to start from are for visits of rows


def test_few_rows_per_parameter_are_visited(made):
    X, signal = table(n=700)
    AdditiveSVC(random_state=0, C=0.1).fit(np.tile(X, 5), signal > 0.5)
    assert not made
