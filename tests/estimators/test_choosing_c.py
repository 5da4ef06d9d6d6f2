"""The choice of C by AdditiveSVC and AdditiveSVR."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import splinear
from splinear import AdditiveSVC, AdditiveSVR, PathSearchCV
from splinear.objective.problem import Stopping
from splinear.solvers import choosing_c
from splinear.solvers.choosing_c import FACTOR, FIRST, LEAST, MOST, choose_cost
from splinear.terms import Spline


def table(n=400, noise=0.5, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 6))
    f = np.sin(4 * X[:, 0]) + X[:, 1] ** 2 - 0.3
    return X, f, f + noise * random.normal(size=n)


def coefs(model):
    return np.concatenate([term.coef.ravel() for term in model.terms_])


def kinds():
    X, _f, noisy = table()
    many, classes = load_digits(return_X_y=True)
    words = sparse.random(500, 300, density=0.05, format="csr", random_state=0)
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    yield pytest.param(AdditiveSVC(), X, noisy > 0, id="two classes")
    yield pytest.param(AdditiveSVC(loss="squared_hinge"), X, noisy > 0, id="squared hinge")
    yield pytest.param(AdditiveSVC(class_weight="balanced"), gaps, noisy > 0.8, id="balanced")
    yield pytest.param(AdditiveSVC(), many, classes, id="ten classes")
    labels = np.column_stack([noisy > 0, noisy > 1]).astype(int)
    yield pytest.param(AdditiveSVC(), X, labels, id="labels")
    yield pytest.param(AdditiveSVC(), words, np.asarray(words.sum(axis=1)).ravel() > 7, id="sparse")
    yield pytest.param(AdditiveSVC(fit_intercept=False), X, noisy > 0, id="no intercept")
    monotone = Spline(4, monotone="increasing")
    yield pytest.param(AdditiveSVC(monotone, loss="squared_hinge"), X, noisy > 0, id="monotone")
    yield pytest.param(AdditiveSVR(), X, noisy, id="numbers")


@pytest.mark.parametrize(("model", "X", "y"), kinds())
def test_the_model_is_that_of_the_chosen_cost(model, X, y):
    model = model.set_params(random_state=0)
    chosen = clone(model).fit(X, y)
    given = clone(model).set_params(C=chosen.C_).fit(X, y)
    np.testing.assert_array_equal(coefs(chosen), coefs(given))
    assert (chosen.n_iter_, chosen.objective_) == (given.n_iter_, given.objective_)
    assert chosen.certified_
    assert given.C_ == chosen.C_
    threads = clone(model).set_params(n_jobs=2).fit(X, y)
    assert threads.C_ == chosen.C_


def test_its_loss_on_held_out_rows_is_the_smallest():
    """Held-out losses by hand: the same rows and C, each model trained by itself."""
    X, _, noisy = table(800)
    y = np.where(noisy > 0, 1, -1)
    model = AdditiveSVC(random_state=0).fit(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    Cs = [LEAST * FACTOR**k for k in range(12)]
    losses = []
    for C in Cs:
        loss = 0.0
        for fold in range(4):
            out = order[fold::4]
            kept = np.setdiff1d(order, out)
            part = AdditiveSVC(C=C, random_state=0, tol=0.05, max_iter=50)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                part.fit(X[kept], y[kept])
            loss += np.maximum(0, 1 - y[out] * part.decision_function(X[out])).sum()
        losses.append(loss)
    assert losses[Cs.index(model.C_)] < 1.03 * min(losses)


@pytest.mark.parametrize("n", [500, 1500])
def test_more_noise_takes_a_smaller_cost(n):
    found = []
    for noise in (0.0, 3.0):
        X, _, noisy = table(n, noise)
        found.append(AdditiveSVC(random_state=0).fit(X, noisy > 0).C_)
    assert found[1] < found[0]


@pytest.mark.parametrize("at", [0, 1, 4, 5, 6, 9, 11])
def test_the_path_ends_at_a_minimum(at, monkeypatch):
    """It goes up while the loss falls, otherwise down, and within its bounds."""
    Cs, seen = [LEAST * FACTOR**k for k in range(12)], []

    def loss(splits, stopping, C, last):
        seen.append(C)
        return 1.0 + 0.1 * abs(Cs.index(C) - at), []

    monkeypatch.setattr(choosing_c, "_loss", loss)
    monkeypatch.setattr(choosing_c, "_splits", lambda data, bias: [None])
    assert choose_cost(None, 1.0, Stopping(), 1.0) == Cs[at]
    assert seen[0] == FIRST
    assert max(seen) <= MOST
    assert min(seen) >= LEAST
    assert len(seen) <= abs(at - Cs.index(FIRST)) + 3


def test_the_cost_has_the_unit_of_the_target():
    X, _, noisy = table()
    one = AdditiveSVR(epsilon=0.125, random_state=0).fit(X, noisy)
    other = AdditiveSVR(epsilon=128.0, random_state=0).fit(X, 1024 * noisy)
    assert pytest.approx(1024 * one.C_) == other.C_
    np.testing.assert_allclose(other.predict(X), 1024 * one.predict(X), rtol=1e-3, atol=5.0)


def test_weights_count_and_rows_of_weight_0_do_not():
    X, _, noisy = table(300)
    y = noisy > 0
    weights = np.r_[np.ones(300), np.zeros(40)]
    more, odd = np.vstack([X, X[:40]]), np.r_[y, ~y[:40]]
    with_zeros = AdditiveSVC(random_state=0).fit(more, odd, sample_weight=weights)
    without = AdditiveSVC(random_state=0).fit(X, y)
    np.testing.assert_allclose(np.log(with_zeros.C_ / without.C_), 0.0, atol=np.log(4.1))
    assert (with_zeros.predict(X) == without.predict(X)).mean() > 0.9


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("model", [AdditiveSVC(), AdditiveSVR()], ids=["classes", "numbers"])
def test_a_handful_of_rows(model, n):
    X = np.arange(2.0 * n).reshape(n, 2)
    y = np.arange(n) % 2
    if isinstance(model, AdditiveSVC) and n == 1:
        return
    model = clone(model).fit(X, y)
    assert model.C_ > 0
    assert np.isfinite(model.predict(X)).all()


def test_a_constant_target():
    X, _, _ = table(60)
    model = AdditiveSVR(random_state=0).fit(X, np.full(60, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0)


def test_later_chunks_keep_the_cost_of_the_first():
    X, _, noisy = table(900)
    y = noisy > 0
    model = AdditiveSVC(random_state=0).partial_fit(X[:300], y[:300], classes=[False, True])
    C = model.C_
    model.partial_fit(X[300:600], ~y[300:600])
    assert model.C_ == C
    given = AdditiveSVC(C=C, random_state=0).partial_fit(X[:300], y[:300], classes=[False, True])
    given.partial_fit(X[300:600], ~y[300:600])
    np.testing.assert_array_equal(coefs(model), coefs(given))
    numbers = AdditiveSVR(random_state=0).partial_fit(X[:300], noisy[:300])
    C = numbers.C_
    assert numbers.partial_fit(X[300:], noisy[300:]).C_ == C


def test_a_warm_start_chooses_again():
    X, _, noisy = table()
    model = AdditiveSVC(warm_start=True, random_state=0).fit(X, noisy > 0)
    first = model.C_
    assert first == model.fit(X, noisy > 0).C_
    X, _, clean = table(noise=0.0)
    fresh = AdditiveSVC(random_state=0).fit(X, clean > 0)
    assert model.fit(X, clean > 0).C_ == fresh.C_
    assert model.certified_


def test_codes_on_disk_choose_the_same():
    X, _, noisy = table(3000)
    X = np.tile(X, 20).astype(np.float32)
    here = AdditiveSVC(random_state=0).fit(X, noisy > 0)
    disk = AdditiveSVC(random_state=0, max_memory="1MB").fit(X, noisy > 0)
    assert disk.C_ == here.C_


@pytest.mark.parametrize("ends", ["callback", "time_limit"])
def test_a_choice_that_is_stopped_leaves_a_model(ends):
    X, _, noisy = table()
    how = {"callback": lambda p: p.phase == "C"} if ends == "callback" else {"time_limit": 1e-9}
    model = AdditiveSVC(random_state=0, **how)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, noisy > 0)
    assert model.C_ > 0
    assert np.isfinite(model.decision_function(X)).all()


def test_a_file_keeps_it(tmp_path):
    X, _, noisy = table(100)
    model = AdditiveSVC(random_state=0).fit(X, noisy > 0)
    splinear.save(model, tmp_path / "model.splinear")
    again = splinear.load(tmp_path / "model.splinear")
    assert again.C_ == model.C_
    assert again.C is None


def test_a_search_compares_given_ones():
    X, _, noisy = table(200)
    search = PathSearchCV(AdditiveSVC(random_state=0), Cs=[0.1, 1.0], cv=2).fit(X, noisy > 0)
    assert search.best_params_["C"] == search.best_estimator_.C_


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("model", [AdditiveSVC(random_state=0), AdditiveSVR(random_state=0)])
def test_a_handful_of_rows_is_not_held_out(model, n):
    """Without the only row of a class, the constant model seemed best: two rows were one class."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.arange(n) % 2
    model = clone(model).fit(X, y)
    unit = 1.0 if isinstance(model, AdditiveSVC) else y.std()
    assert pytest.approx(unit) == model.C_
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9


@pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveSVR])
def test_a_choice_that_was_stopped_is_warned_of(estimator):
    """The model of a C that nobody has chosen may be at its optimum."""
    X, f, _ = table(200)
    y = f > 0 if estimator is AdditiveSVC else f
    with pytest.warns(ConvergenceWarning, match=r"by time_limit=1e-09 s .* before C was chosen"):
        estimator(time_limit=1e-9, random_state=0, tol=1.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"by the callback .* before C was chosen"):
        estimator(callback=lambda progress: True, random_state=0, tol=1.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator(C=0.01, time_limit=1e-9, random_state=0, tol=1.0).fit(X, y)
