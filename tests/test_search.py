"""The search for C: every point of a path is a fit of its own, and the best one is chosen."""

import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from splinear import (
    AdditiveClassifier,
    AdditiveClassifierCV,
    AdditiveRegressor,
    AdditiveRegressorCV,
)
from splinear.losses import LOSSES
from splinear.solvers import dual_cd
from splinear.solvers.problem import Problem, Stopping
from splinear.solvers.rows import TrainingRows

CS = [0.01, 0.1, 1.0, 10.0]


# Weights and repeats are compared to 1e-7 in the scores, which takes a gap of about its square.
@parametrize_with_checks(
    [
        AdditiveClassifierCV(Cs=[0.1, 1.0], cv=3, tol=1e-15, max_iter=20_000),
        AdditiveRegressorCV(Cs=[0.1, 1.0], cv=3, tol=1e-15),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def table(n=300, n_classes=2, seed=0):
    """Whole numbers from 0 to 10: every fold has both ends, so all folds have the same axes."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 11, (n, 4)).astype(float)
    signal = np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.7 * random.normal(size=n)
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(signal, edges)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "params",
    [
        {"loss": "hinge"},
        {"loss": "squared_hinge"},
        {"loss": "logistic"},
        {"loss": "logistic", "multi_class": "ovr"},
        {"loss": "logistic", "solver": "dual_cd"},
        {"loss": "hinge", "class_weight": "balanced"},
    ],
    ids=str,
)
def test_scores_are_those_of_cold_fits(params, n_classes):
    X, y = table(n_classes=n_classes)
    common = params | {"tol": 1e-7, "random_state": 0}
    model = AdditiveClassifierCV(Cs=CS, scoring="neg_log_loss", **common).fit(X, y)
    for k, C in enumerate(CS):
        cold = AdditiveClassifier(C=C, **common)
        expected = cross_val_score(cold, X, y, cv=StratifiedKFold(5), scoring="neg_log_loss")
        # A gap of 1e-7 leaves about its root to the scores, and less to their mean.
        np.testing.assert_allclose(model.scores_[:, k], expected, rtol=1e-3)


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_scores_of_regression_are_those_of_cold_fits(loss):
    X, _ = table()
    y = np.sin(X[:, 0]) + np.random.default_rng(0).normal(size=len(X)) + 5.0
    model = AdditiveRegressorCV(Cs=CS, loss=loss, tol=1e-7, random_state=0).fit(X, y)
    for k, C in enumerate(CS):
        cold = AdditiveRegressor(C=C, loss=loss, tol=1e-7, random_state=0)
        expected = cross_val_score(cold, X, y, cv=KFold(5))
        np.testing.assert_allclose(model.scores_[:, k], expected, atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_every_point_is_within_tol_of_a_cold_fit(loss, tol, cancer):
    X, y = cancer
    model = AdditiveClassifier(loss=loss, solver="dual_cd", tol=tol, random_state=0).fit(X, y)
    rows = TrainingRows.prepare(X, model.embedding_, tol=tol)
    problem = Problem(
        y=rows.place(np.where(y > 0, 1, -1).astype(np.int8)),
        loss=LOSSES[loss],
        cost_negative=1.0,
        cost_positive=1.0,
    )
    stopping = Stopping(tol=tol, max_iter=20_000)
    # Up to where the classes are separated and the model no longer grows with C.
    factors = np.geomspace(1e-3, 1e3, 13)
    path = dual_cd.follow_path(rows, problem, stopping, factors)
    for factor, found in zip(factors, path, strict=True):
        cold = dual_cd.solve(rows, problem.scaled(factor), stopping)
        assert found.converged
        assert 0 <= found.gap <= tol
        np.testing.assert_allclose(found.primal, cold.primal, rtol=1.1 * tol)


def test_chooses_the_smallest_of_the_best():
    X, y = table()
    model = AdditiveClassifierCV(random_state=0).fit(X, y)
    mean = model.scores_.mean(axis=0)
    assert model.scores_.shape == (5, 20)
    assert model.best_score_ == mean.max()
    assert model.Cs_[np.flatnonzero(mean == mean.max())[0]] == model.C_
    assert model.best_params_ == {"C": model.C_}
    assert np.all(np.diff(model.Cs_) > 0)


@pytest.mark.parametrize("params", [{}, {"loss": "logistic"}, {"calibration": "sigmoid"}], ids=str)
def test_final_fit_is_the_plain_estimators(params, cancer):
    X, y = cancer
    model = AdditiveClassifierCV(Cs=CS, **params, random_state=3).fit(X, y)
    plain = AdditiveClassifier(**model.best_params_, **params, random_state=3).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.objective_ == plain.objective_
    assert clone(model).get_params() == model.get_params()


def test_threads_change_nothing(cancer):
    one, two = (
        AdditiveClassifierCV(Cs=CS, random_state=0, n_jobs=n).fit(*cancer) for n in (None, 2)
    )
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.coef_path_, two.coef_path_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_several_bins_and_orders():
    X, y = table(1000)
    tight = {"tol": 1e-4, "max_iter": 20_000, "random_state": 0}
    lists = {"n_bins": [1, 10], "penalty_order": [0, 1, 2]}
    model = AdditiveClassifierCV(Cs=CS, **lists, **tight).fit(X, y)
    assert model.scores_.shape == (2, 3, 5, 4)
    i, j, k = np.argwhere(model.scores_.mean(axis=2) == model.best_score_)[0]
    chosen = {"n_bins": [1, 10][i], "penalty_order": [0, 1, 2][j], "C": CS[k]}
    assert model.best_params_ == chosen
    assert chosen["n_bins"] == 10  # a line cannot follow the sine
    assert model.coef_.shape == (1, 4, 11)
    assert model.coef_path_.shape == (4, 1, 4, 11)
    alone = AdditiveClassifierCV(Cs=CS, penalty_order=2, **tight).fit(X, y)
    np.testing.assert_array_equal(model.scores_[1, 2], alone.scores_)


def test_curves_of_the_path():
    X, y = table()
    splits = [(np.arange(200), np.arange(200, 300))]
    model = AdditiveClassifierCV(Cs=CS, cv=splits, tol=1e-8, random_state=0).fit(X, y)
    for k, C in enumerate(CS):
        cold = AdditiveClassifier(C=C, tol=1e-8, random_state=0).fit(X[:200], y[:200])
        np.testing.assert_allclose(model.coef_path_[k], cold.coef_, atol=1e-3)
        np.testing.assert_allclose(model.intercept_path_[k], cold.intercept_, atol=1e-3)


def test_scorers():
    X, y = table()

    def likelihood(estimator, X, y):
        return -log_loss(y, estimator.predict_proba(X))

    by_name = AdditiveClassifierCV(Cs=CS, scoring="neg_log_loss", random_state=0).fit(X, y)
    by_hand = AdditiveClassifierCV(Cs=CS, scoring=likelihood, random_state=0).fit(X, y)
    np.testing.assert_allclose(by_name.scores_, by_hand.scores_)
    with pytest.raises(ValueError, match=r"scoring=.* gave NaN"):
        AdditiveClassifierCV(Cs=CS, scoring=lambda *_: np.nan).fit(X, y)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        AdditiveClassifierCV(scoring="goodness").fit(X, y)


def test_rows_of_no_weight_do_not_count():
    X, y = table()
    splits = list(StratifiedKFold(3).split(X, y))
    far = np.vstack([X, 100 + X[:30]])
    flipped = np.concatenate([y, 1 - y[:30]])
    with_far = [(np.append(a, [300, 301]), np.append(b, range(302, 330))) for a, b in splits]
    plain = AdditiveClassifierCV(Cs=CS, cv=splits, tol=1e-6, random_state=0).fit(X, y)
    weighted = AdditiveClassifierCV(Cs=CS, cv=with_far, tol=1e-6, random_state=0).fit(
        far, flipped, sample_weight=np.repeat([1.0, 0.0], [300, 30])
    )
    np.testing.assert_allclose(weighted.scores_, plain.scores_, atol=0.011)  # one row in a hundred
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=1e-2)


def test_several_labels_a_row():
    X, Y = make_multilabel_classification(300, 5, n_classes=3, random_state=0)
    model = AdditiveClassifierCV(Cs=CS, random_state=0).fit(X, Y)
    assert model.coef_path_.shape[:2] == (4, 3)
    assert model.predict(X).shape == Y.shape
    assert model.best_score_ > 0.4  # all three labels right; the most frequent triple has 0.24


def test_data_frames_keep_their_names():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdditiveClassifierCV(Cs=CS, random_state=0).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    bare = AdditiveClassifierCV(Cs=CS, random_state=0).fit(X.to_numpy(), y.to_numpy())
    np.testing.assert_array_equal(model.scores_, bare.scores_)


def test_strength_of_regression_does_not_depend_on_units():
    X, y = load_diabetes(return_X_y=True)
    for loss in ("squared_error", "epsilon_insensitive"):
        common = {"Cs": 8, "loss": loss, "tol": 1e-4, "max_iter": 50_000}
        one = AdditiveRegressorCV(epsilon=0.01, **common).fit(X, y)
        thousand = AdditiveRegressorCV(epsilon=10.0, **common).fit(X, 1000 * y)
        np.testing.assert_allclose(one.scores_, thousand.scores_, atol=0.02)
        assert one.best_score_ > 0.4


@pytest.mark.parametrize("Cs", [0, [], [[1.0]], [0.0, 1.0], [-1.0], [np.inf], "many"])
def test_bad_strengths(Cs):
    with pytest.raises(ValueError, match="Cs"):
        AdditiveClassifierCV(Cs=Cs).fit(*table())


def test_bad_folds():
    X, y = table()
    with pytest.raises(ValueError, match=r"cv=.* fold 1 without held-out rows"):
        AdditiveClassifierCV(cv=[([0, 1], [2, 3]), ([0, 1], [])]).fit(X, y)


def test_there_is_no_partial_fit():
    assert not hasattr(AdditiveClassifierCV(), "partial_fit")
    assert not hasattr(AdditiveRegressorCV(), "partial_fit")


# How a search may end early.


def test_time_limit_before_anything_was_scored():
    X, y = table(20_000)
    with pytest.raises(RuntimeError, match=r"time_limit=1e-09 s ended the search before"):
        AdditiveClassifierCV(time_limit=1e-9, random_state=0).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_time_limit_leaves_the_best_so_far(loss):
    X, y = table()
    slow = AdditiveClassifierCV(
        Cs=np.geomspace(1e-3, 1e3, 200),
        cv=2,
        loss=loss,
        tol=1e-8,
        time_limit=1.0,
        callback=lambda _: time.sleep(0.02),
        n_jobs=2,
        random_state=0,
    )
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match=r"time_limit=1.0 s ended the search after"):
        slow.fit(X, y)
    assert time.monotonic() - began < 5.0  # a busy machine
    reached = ~np.isnan(slow.scores_).any(axis=0)
    assert 0 < reached.sum() < 200
    assert slow.C_ in slow.Cs_[reached]
    assert slow.predict(X).shape == y.shape


def test_callback_may_end_the_search():
    X, y = table()
    seen = []

    def stop_in_the_last_fold(progress):
        seen.append(progress.fold)
        return progress.fold == 4 and seen.count(4) == 12

    model = AdditiveClassifierCV(callback=stop_in_the_last_fold, random_state=0)
    with pytest.warns(ConvergenceWarning, match="The callback ended the search after"):
        model.fit(X, y)
    assert set(seen) == {0, 1, 2, 3, 4, None}
    assert model.C_ in model.Cs_[~np.isnan(model.scores_).any(axis=0)]
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_interrupts_go_on(loss, n_jobs):
    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        AdditiveClassifierCV(callback=interrupt, loss=loss, n_jobs=n_jobs).fit(*table())
