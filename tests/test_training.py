"""How a fit begins and ends: warm starts, chunks of rows, limits, callbacks, Ctrl-C."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.losses import LOSSES
from splinear.solvers import smoothness

MODELS = {
    "hinge": {},
    "squared hinge": {"loss": "squared_hinge"},
    "squared hinge by newton": {"loss": "squared_hinge", "solver": "newton"},
    "logistic": {"loss": "logistic"},
    "logistic by dual_cd": {"loss": "logistic", "solver": "dual_cd"},
}
LONG = {"C": 1e3, "tol": 1e-13, "max_iter": 10**6}  # to be stopped on the way

every_model = pytest.mark.parametrize("params", MODELS.values(), ids=MODELS)


def make(**params):
    return AdditiveClassifier(**{"random_state": 0, "max_iter": 20_000, **params})


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :10], y


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# -- warm starts -----------------------------------------------------------------------------------


@every_model
def test_a_second_fit_has_nothing_to_do(params, cancer):
    model = make(**params, warm_start=True, tol=1e-5).fit(*cancer)
    first = model.objective_
    assert model.n_iter_ > 0
    assert model.fit(*cancer).n_iter_ == 0
    assert model.objective_ == pytest.approx(first, rel=1e-9)


@every_model
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_a_warm_start_is_shorter_and_ends_at_the_same_optimum(params, data, request):
    X, y = request.getfixturevalue(data)
    cold = make(**params, C=1.2, tol=1e-6).fit(X, y)
    warm = make(**params, warm_start=True, tol=1e-6).fit(X, y).set_params(C=1.2).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-5)
    assert warm.dual_gap_ <= 1e-6


@every_model
def test_a_warm_start_survives_other_rows_weights_and_shapes(params, cancer):
    X, y = cancer
    model = make(**params, warm_start=True, tol=1e-6).fit(X, y)
    weights = np.arange(len(y)) % 3.0  # rows of weight 0 among them
    for rows, columns, weight in [(len(y), 10, weights), (300, 10, None), (300, 4, None)]:
        arguments = (X[:rows, :columns], y[:rows], weight)
        cold = make(**params, tol=1e-6).fit(*arguments)
        assert model.fit(*arguments).objective_ == pytest.approx(cold.objective_, rel=1e-5)


def test_without_warm_start_nothing_is_kept(cancer):
    model = make().fit(*cancer)
    first = model.n_iter_
    assert model.fit(*cancer).n_iter_ == first
    assert not hasattr(model, "_alpha")


# -- chunks of rows --------------------------------------------------------------------------------


@every_model
def test_the_first_chunk_is_a_fit(params, cancer):
    chunk = make(**params).partial_fit(*cancer, classes=[0, 1])
    np.testing.assert_array_equal(chunk.coef_, make(**params).fit(*cancer).coef_)


@pytest.mark.parametrize("name", ["squared hinge", "squared hinge by newton", "logistic"])
def test_a_chunk_stays_close_to_the_last_model(name, cancer):
    """1/2 |w - w_before|^2 + C sum loss, by L-BFGS on the explicit features."""
    X, y = cancer
    model = make(**MODELS[name], tol=1e-8).partial_fit(X[:300], y[:300], classes=[0, 1])
    embedding, before = model.embedding_, model.coef_[0]
    centre = np.append(embedding.weights(before).ravel(), model.intercept_)
    model.partial_fit(X[300:], y[300:])
    phi = np.column_stack([embedding.transform(X[300:]), np.ones(len(X) - 300)])
    signs, loss = np.where(y[300:] == 1, 1, -1), LOSSES[model.loss]

    def value_and_gradient(w):
        margins = signs * (phi @ w)
        value = 0.5 * np.sum((w - centre) ** 2) + loss.value(margins).sum()
        return value, w - centre + phi.T @ (signs * loss.slope(margins))

    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-8}
    found = minimize(value_and_gradient, centre, jac=True, method="L-BFGS-B", options=options)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_chunks_approach_the_whole_fit(params, n_classes):
    X, y = make_classification(
        4000, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    whole = make(**params).fit(X, y).score(X, y)
    model, scores = make(**params), []
    for start in range(0, 4000, 250):
        rows = slice(start, start + 250)
        model.partial_fit(X[rows], y[rows], classes=range(n_classes))
        scores.append(model.score(X, y))
    assert model.embedding_.axes.hi[0] == X[:250, 0].max()  # the first chunk fixes the ranges
    assert scores[-1] > whole - 0.02


def test_a_chunk_may_lack_classes(iris):
    X, y = iris
    model = make()
    for rows in (slice(0, 50), slice(50, 100), slice(100, 150)):  # one class each
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert model.coef_.shape[0] == 3
    assert set(model.predict(X)) <= {0, 1, 2}


def test_labels_chunk_by_chunk():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    Y = (X > 0).astype(int)
    model = make().partial_fit(X[:200], Y[:200], classes=[0, 1, 2]).partial_fit(X[200:], Y[200:])
    assert np.mean(model.predict(X) == Y) > 0.95
    with pytest.raises(ValueError, match="y has 2 labels; expected 3"):
        model.partial_fit(X[:200], Y[:200, :2])


def test_messages_of_partial_fit(iris):
    X, y = iris
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        make().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"y holds array\(\[2\]\).*not among the classes"):
        make().partial_fit(X, y, classes=[0, 1])
    model = make().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes must stay the same"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="2 features, but AdditiveClassifier is expecting 4"):
        model.partial_fit(X[:, :2], y)


# -- limits and callbacks --------------------------------------------------------------------------


def check_usable(model, X, y):
    assert model.n_iter_ >= 1
    assert model.dual_gap_ > 0
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, y) > 0.8


@every_model
@pytest.mark.parametrize("data", ["cancer", "iris"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_may_end_a_fit(params, data, n_jobs, request):
    X, y = request.getfixturevalue(data)
    model = make(**{**params, **LONG}, n_jobs=n_jobs, callback=lambda p: p.n_iter == 3)
    with pytest.warns(ConvergenceWarning, match=r"Stopped by the callback after 3 passes at a rel"):
        model.fit(X, y)
    check_usable(model, X, y)


@every_model
@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_callback_raises_comes_after_the_model(params, kind, n_jobs, iris):
    def fail(progress):
        if progress.n_iter == 3:
            raise kind("enough")

    model = make(**{**params, **LONG}, n_jobs=n_jobs, callback=fail)
    with pytest.raises(kind, match="enough"):
        model.fit(*iris)
    check_usable(model, *iris)


def test_regressors_too(cancer):
    def fail(progress):
        raise KeyboardInterrupt

    X, y = cancer
    for solver in ("newton", "dual_cd"):
        model = AdditiveRegressor(C=1e3, tol=1e-13, solver=solver, callback=fail)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert model.n_iter_ == 1
        assert np.isfinite(model.predict(X)).all()


@every_model
def test_the_clock_may_end_a_fit(params, cancer):
    model = make(**{**params, **LONG, "tol": 0.0}, time_limit=0.05)
    with pytest.warns(ConvergenceWarning, match=r"Stopped by time_limit=0.05 s after \d+ passes"):
        model.fit(*cancer)
    check_usable(model, *cancer)


def test_progress(iris):
    seen = []
    model = make(callback=seen.append).fit(*iris)
    assert {p.label for p in seen} == {0, 1, 2}
    assert max(p.n_iter for p in seen) == model.n_iter_
    assert all(0 <= p.n_active <= p.n_rows == 150 for p in seen)
    assert all(p.gap >= 0 for p in seen)


@pytest.mark.parametrize("multi_class", ["ovr", "softmax"])
def test_an_interrupted_search_for_smoothness_leaves_a_model(multi_class, iris, monkeypatch):
    """Wherever Ctrl-C strikes: here between two Newton steps."""
    calls = []

    def press(*arguments):
        calls.append(1)
        if len(calls) == 7:  # three classes a turn: in the third turn
            raise KeyboardInterrupt
        return squares_and_freedom(*arguments)

    squares_and_freedom = smoothness._squares_and_freedom
    monkeypatch.setattr(smoothness, "_squares_and_freedom", press)
    options = {"loss": "logistic", "smoothness": "reml", "multi_class": multi_class}
    model = make(**options, tol=1e-13)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*iris)
    check_usable(model, *iris)
    assert model.degrees_of_freedom_.sum() > 0


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from splinear import AdditiveClassifier

random = np.random.default_rng(0)
X, y = random.random((30_000, 60)), random.integers(0, 3, 30_000)
model = AdditiveClassifier(C=1e6, tol=0.0, max_iter=10**9, n_jobs=int(sys.argv[2]),
                           **eval(sys.argv[1]))
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
    ("params", "n_jobs"),
    [
        ({}, "2"),
        ({"loss": "logistic"}, "1"),
        ({"loss": "logistic", "multi_class": "ovr", "solver": "newton"}, "2"),
    ],
    ids=str,
)
def test_ctrl_c_leaves_a_model(params, n_jobs):
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, repr(params), n_jobs],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "True True (5,)\n", run.stderr
