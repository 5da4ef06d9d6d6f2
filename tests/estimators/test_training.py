"""How a fit begins and ends: warm starts, chunks of rows, limits, callbacks, Ctrl-C."""

import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone, is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from written_out import explicit

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.inspection import standard_error
from splinear.terms import Category
from tests.reference.losses import LOSSES

DUAL = {
    "hinge": AdditiveSVC(C=1.0, random_state=0, max_iter=20_000),
    "squared hinge": AdditiveSVC(loss="squared_hinge", C=1.0, random_state=0, max_iter=20_000),
}
MODELS = {**DUAL, "logistic": AdditiveClassifier(C=1.0, random_state=0)}
CHOSEN = {
    "classes": AdditiveClassifier(random_state=0),
    "numbers": AdditiveRegressor(random_state=0),
}
REGRESSORS = [AdditiveRegressor(C=1e3, tol=1e-13), AdditiveSVR(C=1e3, tol=1e-13)]
LONG = {"C": 1e3, "tol": 1e-13, "max_iter": 10**6}  # to be stopped on the way

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
every_dual = pytest.mark.parametrize("model", DUAL.values(), ids=DUAL)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :10], y


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def make(model, **params):
    return clone(model).set_params(**params)


# -- warm starts -----------------------------------------------------------------------------------


@every_model
def test_a_second_fit_has_nothing_to_do(model, cancer):
    model = make(model, warm_start=True, tol=1e-5).fit(*cancer)
    first = model.objective_
    assert model.n_iter_ > 0
    assert model.fit(*cancer).n_iter_ == 0
    # From codes and the same dual variables, where the first fit may have gone on with X itself.
    assert model.objective_ == pytest.approx(first, rel=1e-6)


def first_gaps(model, X, y):
    """Fit; return the sum over classes of the gap that the first pass has left."""
    found = {}
    model.callback = lambda progress: found.setdefault(progress.label, progress.gap) and None
    model.fit(X, y)
    return sum(found.values())


@every_model
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_a_warm_start_is_nearer_and_ends_at_the_same_optimum(model, data, request):
    """Not always sooner: the last digits of hinge take as many passes from anywhere."""
    X, y = request.getfixturevalue(data)
    cold = make(model, C=1.2, tol=1e-6)
    warm = make(model, warm_start=True, tol=1e-6).fit(X, y).set_params(C=1.2)
    assert first_gaps(warm, X, y) < 0.5 * first_gaps(cold, X, y)
    assert warm.n_iter_ <= 1.2 * cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-5)


@every_model
def test_a_warm_start_survives_other_rows_weights_and_shapes(model, cancer):
    X, y = cancer
    warm = make(model, warm_start=True, tol=1e-6).fit(X, y)
    weights = np.arange(len(y)) % 3.0  # rows of weight 0 among them
    for rows, columns, weight in [(len(y), 10, weights), (300, 10, None), (300, 4, None)]:
        arguments = (X[:rows, :columns], y[:rows], weight)
        cold = make(model, tol=1e-6).fit(*arguments)
        assert warm.fit(*arguments).objective_ == pytest.approx(cold.objective_, rel=1e-5)


@every_model
def test_a_warm_start_with_other_classes_and_levels(model, cancer):
    """What no longer fits the last model is no start for it."""
    X, y = cancer
    frame = pd.DataFrame({"x": X[:, 0], "site": np.array(list("abc"))[np.arange(len(y)) % 3]})
    other = frame.assign(site=np.array(list("vwxyz"))[np.arange(len(y)) % 5])
    warm = make(model, warm_start=True, tol=1e-6).fit(frame, y)
    for table, labels in [(other, y), (other, np.arange(len(y)) % 4), (frame, y)]:
        cold = make(model, tol=1e-6).fit(table, labels)
        assert warm.fit(table, labels).objective_ == pytest.approx(cold.objective_, rel=1e-5)
        np.testing.assert_array_equal(warm.classes_, cold.classes_)


@pytest.mark.parametrize("model", CHOSEN.values(), ids=CHOSEN)
def test_a_warm_start_with_a_chosen_smoothness(model, cancer):
    X, y = cancer
    warm = make(model, warm_start=True, tol=1e-6).fit(X, y)
    cold = make(model, tol=1e-6).fit(X[:300], y[:300])
    assert warm.fit(X[:300], y[:300]).objective_ == pytest.approx(cold.objective_, rel=1e-4)


def test_without_warm_start_nothing_is_kept(cancer):
    for model in MODELS.values():
        model = make(model).fit(*cancer)
        first = model.n_iter_
        assert model.fit(*cancer).n_iter_ == first
        assert model._duals is None


# -- chunks of rows --------------------------------------------------------------------------------


def test_only_dual_estimators_learn_in_chunks():
    for estimator in (AdditiveClassifier, AdditiveRegressor):
        assert not hasattr(estimator(), "partial_fit")


@every_dual
def test_the_first_chunk_is_a_fit(model, cancer):
    chunk, whole = make(model).partial_fit(*cancer, classes=[0, 1]), make(model).fit(*cancer)
    np.testing.assert_array_equal(
        chunk.decision_function(cancer[0]), whole.decision_function(cancer[0])
    )


def test_a_chunk_stays_close_to_the_last_model(cancer):
    """1/2 |w - w_before|^2 + C sum loss, by L-BFGS on the explicit features."""
    X, y = cancer
    model = make(DUAL["squared hinge"], tol=1e-8)
    model.partial_fit(X[:300], y[:300], classes=[0, 1])
    phi = np.column_stack([explicit(model._model.layout, X[300:]), np.ones(len(X) - 300)])
    first = np.column_stack([explicit(model._model.layout, X[:300]), np.ones(300)])
    # The weights of the least norm that give the scores of the first chunk are its weights.
    center = np.linalg.lstsq(first, model.decision_function(X[:300]), rcond=None)[0]
    model.partial_fit(X[300:], y[300:])
    signs, loss = np.where(y[300:] == 1, 1, -1), LOSSES[model.loss]

    def value_and_gradient(w):
        margins = signs * (phi @ w)
        value = 0.5 * np.sum((w - center) ** 2) + loss.of_margin(margins).sum()
        slopes = -2.0 * np.maximum(0.0, 1.0 - margins)
        return value, w - center + phi.T @ (signs * slopes)

    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-8}
    found = minimize(value_and_gradient, center, jac=True, method="L-BFGS-B", options=options)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-4)


@every_dual
@pytest.mark.parametrize("n_classes", [2, 3])
def test_chunks_approach_the_whole_fit(model, n_classes):
    X, y = make_classification(
        4000, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    whole = make(model).fit(X, y).score(X, y)
    model, scores = make(model), []
    for start in range(0, 4000, 250):
        rows = slice(start, start + 250)
        model.partial_fit(X[rows], y[rows], classes=range(n_classes))
        scores.append(model.score(X, y))
    assert model.terms_[0].hi == X[:250, 0].max()  # the first chunk fixes the ranges
    assert scores[-1] > whole - 0.02


def test_a_chunk_may_lack_classes(iris):
    X, y = iris
    model = make(DUAL["hinge"])
    for rows in (slice(0, 50), slice(50, 100), slice(100, 150)):  # one class each
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert model.terms_[0].coef.shape[0] == 3
    assert set(model.predict(X)) <= {0, 1, 2}


def test_labels_chunk_by_chunk():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    Y = (X > 0).astype(int)
    model = make(DUAL["hinge"]).partial_fit(X[:200], Y[:200], classes=[0, 1, 2])
    model.partial_fit(X[200:], Y[200:])
    assert np.mean(model.predict(X) == Y) > 0.95
    with pytest.raises(ValueError, match="y has 2 labels; expected 3"):
        model.partial_fit(X[:200], Y[:200, :2])


def test_chunks_with_text_and_gaps():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=600), "c": random.choice(list("abc"), 600)})
    y = (X["x"] + (X["c"] == "b") + 0.3 * random.normal(size=600) > 0.5).to_numpy()
    X.loc[::5, "x"] = np.nan
    model = make(DUAL["hinge"])
    for start in range(0, 600, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[False, True])
    assert model.terms_[1].levels == ("a", "b", "c")
    there = X["x"].notna()
    assert model.score(X[there], y[there]) > 0.85


def test_messages_of_partial_fit(iris):
    X, y = iris
    model = DUAL["hinge"]
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        make(model).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"y holds array\(\[2\]\).*not among the classes"):
        make(model).partial_fit(X, y, classes=[0, 1])
    fitted = make(model).partial_fit(X, y, classes=[0, 1, 2])
    before = fitted.decision_function(X)
    with pytest.raises(ValueError, match="classes must stay the same"):
        fitted.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="2 features, but AdditiveSVC is expecting 4"):
        fitted.partial_fit(X[:, :2], y)
    gaps = X.copy()
    gaps[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in column 1, which had no missing values in the fir"):
        fitted.partial_fit(gaps, y)
    np.testing.assert_array_equal(fitted.decision_function(X), before)


@pytest.mark.parametrize("unseen", ["ignore", "error"])
def test_a_later_chunk_has_no_new_levels(unseen):
    X = pd.DataFrame({"c": list("aabb") * 10})
    y = np.arange(40) % 2
    model = AdditiveSVC(terms={"c": Category(unseen=unseen)}, random_state=0, C=1.0)
    model.partial_fit(X, y, classes=[0, 1])
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=r"column 'c'.*did not occur in"):
        model.partial_fit(X.replace("b", "z"), y)
    np.testing.assert_array_equal(model.decision_function(X), before)


# -- limits and callbacks --------------------------------------------------------------------------


def check_usable(model, X, y):
    assert model.n_iter_ >= 1
    assert model.dual_gap_ > 0
    found = model.decision_function(X) if is_classifier(model) else model.predict(X)
    assert np.isfinite(found).all()
    assert all(np.isfinite(term.coef).all() for term in model.terms_)
    assert model.score(X, y) > (0.8 if is_classifier(model) else 0.0)


@every_model
@pytest.mark.parametrize("data", ["cancer", "iris"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_may_end_a_fit(model, data, n_jobs, request):
    X, y = request.getfixturevalue(data)
    model = make(model, **LONG, n_jobs=n_jobs, callback=lambda p: p.n_iter == 3)
    with pytest.warns(ConvergenceWarning, match=r"Stopped by the callback after 3 passes at a rel"):
        model.fit(X, y)
    check_usable(model, X, y)
    assert not model.certified_


@every_model
@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_callback_raises_comes_after_the_model(model, kind, n_jobs, iris):
    def fail(progress):
        if progress.n_iter == 3:
            raise kind("enough")

    model = make(model, **LONG, n_jobs=n_jobs, callback=fail)
    with pytest.raises(kind, match="enough"):
        model.fit(*iris)
    check_usable(model, *iris)


@pytest.mark.parametrize("model", CHOSEN.values(), ids=CHOSEN)
def test_a_callback_may_end_a_fit_with_a_chosen_smoothness(model, iris):
    def fail(progress):
        raise KeyboardInterrupt("enough")

    model = make(model, tol=0.0, callback=fail)
    with pytest.raises(KeyboardInterrupt, match="enough"):
        model.fit(*iris)
    check_usable(model, *iris)
    assert sum(term.edf for term in model.terms_) > 1


def test_after_an_interrupt_a_sample_says_how_well_curves_are_known(monkeypatch):
    random = np.random.default_rng(0)
    X = random.random((20_000, 3))
    y = X[:, 0] + 0.2 * random.normal(size=20_000) > 0.5

    def stopped(ending):
        model = AdditiveClassifier(callback=ending, random_state=0)
        with (
            pytest.raises(KeyboardInterrupt)
            if ending is press
            else pytest.warns(ConvergenceWarning)
        ):
            model.fit(X, y)
        return model

    def press(progress):
        raise KeyboardInterrupt

    whole = stopped(lambda progress: True)
    monkeypatch.setattr("splinear.estimators.newton.MOST_IN_HASTE", 15_000)
    monkeypatch.setattr("splinear.objective.moments.MOST_IN_HASTE", 20_000)
    sampled = stopped(press)
    assert sampled._posteriors[0].information.n_rows == 20_000
    np.testing.assert_array_equal(sampled.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_allclose(sampled.feature_importances_, whole.feature_importances_, rtol=0.03)
    errors = [standard_error(model, X[:50]) for model in (sampled, whole)]
    np.testing.assert_allclose(*errors, rtol=0.1)
    assert not np.array_equal(*errors)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_regressors_too(model, cancer):
    def fail(progress):
        raise KeyboardInterrupt

    X, y = cancer
    model = make(model, callback=fail)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 1
    assert np.isfinite(model.predict(X)).all()


@every_model
def test_the_clock_may_end_a_fit(model, cancer):
    model = make(model, **{**LONG, "tol": 0.0}, time_limit=0.001)
    with pytest.warns(ConvergenceWarning, match=r"Stopped by time_limit=0.001 s after \d+ passes"):
        model.fit(*cancer)
    check_usable(model, *cancer)


@pytest.mark.parametrize("model", CHOSEN.values(), ids=CHOSEN)
def test_the_clock_may_end_the_choice_of_smoothness(model, cancer):
    model = make(model, time_limit=1e-6)
    message = r"Stopped by time_limit=1e-06 s .* before the smoothness of its terms was settled"
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(*cancer)
    check_usable(model, *cancer)


def test_progress(iris):
    seen = []
    model = make(DUAL["hinge"], callback=seen.append).fit(*iris)
    assert {p.label for p in seen} == {0, 1, 2}
    assert {p.fold for p in seen} == {None}
    assert max(p.n_iter for p in seen) == model.n_iter_
    assert all(0 <= p.n_active <= p.n_rows == 150 for p in seen)
    assert all(p.gap >= 0 for p in seen)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX")
@pytest.mark.parametrize("model", CHOSEN.values(), ids=CHOSEN)
def test_an_interrupted_search_for_smoothness_leaves_a_model(model):
    """Wherever Ctrl-C strikes, once there is something to keep."""
    random = np.random.default_rng(0)
    X = random.random((20_000, 30))
    y = np.digitize(X[:, 0] + 0.05 * random.normal(size=20_000), [0.3, 0.6])
    began = time.process_time()
    make(model).fit(X, y)
    took = time.process_time() - began

    def press(*_):
        raise KeyboardInterrupt("pressed")

    before = signal.signal(signal.SIGPROF, press)
    try:
        for share in (0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2):  # of processor time, which varies too
            stopped = make(model)
            signal.setitimer(signal.ITIMER_PROF, share * took)
            try:
                stopped.fit(X, y)
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
                score = stopped.score(X, y) if hasattr(stopped, "terms_") else 0.0
                assert score > -1e-12  # of a model without curves, but for rounding
                if score > 0.0:
                    break
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
        else:
            pytest.fail("no fit was interrupted after it had begun to learn")
    finally:
        signal.signal(signal.SIGPROF, before)
    check_usable(stopped, X, y)
    assert all(term.edf >= 0 for term in stopped.terms_)


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from splinear import AdditiveClassifier, AdditiveSVC

random = np.random.default_rng(0)
X, y = random.random((30_000, 60)), random.integers(0, 3, 30_000)
model = eval(sys.argv[1]).set_params(C=1e6, tol=0.0, max_iter=10**9, n_jobs=int(sys.argv[2]))
first = threading.Event()
model.callback = lambda progress: first.set()

def press():
    first.wait()
    threading.Event().wait(0.3)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print(model.n_iter_ > 0, model.dual_gap_ > 0, model.predict(X[:5]).shape)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="POSIX")
@pytest.mark.parametrize(
    ("model", "n_jobs"), [("AdditiveSVC()", "2"), ("AdditiveClassifier()", "1")]
)
def test_ctrl_c_leaves_a_model(model, n_jobs):
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, model, n_jobs],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "True True (5,)\n", run.stderr


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_rows", "n_features", "C"), [(20, 1, 100.0), (300, 5, 100.0)])
def test_rows_that_are_fitted_already_take_few_passes(n_rows, n_features, C, seed):
    """On separable rows the objective of the second chunk is 0 at the optimum: w_before itself."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    y = X[:, 0] > 0
    model = AdditiveSVC(C=C, random_state=seed).fit(X, y)
    before = model.decision_function(X)
    model.partial_fit(X, y)
    assert model.n_iter_ <= 20
    assert model.certified_
    assert model.dual_gap_ <= model.tol
    np.testing.assert_allclose(model.decision_function(X), before, atol=0.1 * np.abs(before).max())


@pytest.mark.parametrize("model", [AdditiveSVC(), AdditiveSVR()], ids=["classes", "numbers"])
def test_a_first_chunk_of_constants_is_warned_of(model):
    """Ranges are fixed by the first chunk, so such a feature never gets a curve."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), np.arange(60) % 2
    X[:, 2] = 7.0
    first = {"classes": [0, 1]} if isinstance(model, AdditiveSVC) else {}
    model = clone(model).partial_fit(X[:1], y[:1], **first)
    with pytest.warns(UserWarning, match=r"column 0 and 1 other column had a single value"):
        model.partial_fit(X[1:], y[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[:1], y[:1])  # the same constants
        clone(model).partial_fit(X[:20], y[:20], **first).partial_fit(X[20:], y[20:])


# -- the order of rows, and units of columns -------------------------------------------------------


def drawn(n_columns, n=400, seed=0):
    """A table whose first columns matter, and a number and a class that depend on them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_columns))
    X[random.random(X.shape) < 0.05] = np.nan
    signal = 3.0 * np.sin(2.0 * np.nan_to_num(X[:, 0])) + np.nan_to_num(X[:, 1])
    number = signal + random.logistic(size=n)
    return X, number, (number > 0).astype(int)


WIDE, NARROW = drawn(40), drawn(5, 1500)
TABLES = {
    "breast cancer, hardly separated": (AdditiveClassifier, *load_breast_cancer(return_X_y=True)),
    "wine": (AdditiveClassifier, *load_wine(return_X_y=True)),
    "diabetes": (AdditiveRegressor, *load_diabetes(return_X_y=True)),
    "few rows, classes": (AdditiveClassifier, WIDE[0], WIDE[2]),
    "few rows, numbers": (AdditiveRegressor, WIDE[0], WIDE[1]),
    "many rows, classes": (AdditiveClassifier, NARROW[0], NARROW[2]),
    "many rows, numbers": (AdditiveRegressor, NARROW[0], NARROW[1]),
}


@pytest.mark.parametrize("name", TABLES)
def test_neither_the_order_of_rows_nor_units_matter(name):
    """Also where rows held out choose between models: these are the same rows."""
    estimator, X, y = TABLES[name]

    def scores_of(rows, factor, shift):
        there = factor * X + shift
        model = estimator(random_state=0).fit(there[rows], y[rows])
        if estimator is AdditiveRegressor:
            return model.predict(there)
        return np.log(np.maximum(model.predict_proba(there), 1e-12))

    random, n_columns = np.random.default_rng(3), X.shape[1]
    given = np.arange(len(y))
    scores = scores_of(given, 1.0, 0.0)
    factors = random.uniform(0.1, 10.0, n_columns) * random.choice([-1.0, 1.0], n_columns)
    for _ in range(2):
        shuffled = scores_of(random.permutation(given), 1.0, 0.0)
        assert np.abs(shuffled - scores).max() < 1e-3 * np.ptp(scores)
    moved = scores_of(random.permutation(given), factors, random.normal(size=n_columns))
    assert np.abs(moved - scores).max() < 1e-3 * np.ptp(scores)
