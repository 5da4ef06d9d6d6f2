"""The search for C: every point of a path is a fit of its own, and the best one is chosen."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import hinge_loss, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
)
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Problem, Stopping
from splinear.solvers.hinge import dual_cd
from splinear.tables.opening import open_table
from splinear.terms import Linear, Spline
from tests.reference.losses import LOSSES

CS = [0.01, 0.1, 1.0, 10.0]
CLASSIFIERS = {
    "hinge": AdditiveSVC(random_state=0, C=1.0),
    "squared hinge": AdditiveSVC(loss="squared_hinge", random_state=0, C=1.0),
    "balanced": AdditiveSVC(class_weight="balanced", random_state=0, C=1.0),
    "logistic": AdditiveClassifier(C=1.0, random_state=0),
}
REGRESSORS = [AdditiveRegressor(C=1.0, random_state=0), AdditiveSVR(random_state=0, C=1.0)]


# Weights and repeats are compared to 1e-7 in the scores, which takes a gap of about its square.
@parametrize_with_checks(
    [
        PathSearchCV(
            AdditiveSVC(loss="squared_hinge", tol=1e-18, max_iter=1000, random_state=0, C=1.0),
            Cs=[0.1, 1.0],
            cv=2,
        ),
        PathSearchCV(AdditiveRegressor(C=1.0, tol=1e-15, random_state=0), Cs=[0.1, 1.0], cv=2),
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


def split_scores(search):
    """Scores, (n_folds, n_settings)."""
    return np.stack([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


def parameters(search):
    return search.best_estimator_._model.parameters


def mean_margin(model, X, y):
    """A smooth score that decision functions can be held to."""
    return -hinge_loss(y, model.decision_function(X), labels=model.classes_)


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [("hinge", 2), ("squared hinge", 2), ("balanced", 3), ("logistic", 2), ("logistic", 3)],
)
def test_scores_are_those_of_cold_fits(name, n_classes):
    X, y = table(n_classes=n_classes)
    model = CLASSIFIERS[name]
    exact = clone(model).set_params(tol=1e-6, max_iter=20_000)
    scoring = "neg_log_loss" if hasattr(model, "predict_proba") else mean_margin
    search = PathSearchCV(exact, Cs=CS, scoring=scoring).fit(X, y)
    for k, C in enumerate(CS):
        cold = clone(exact).set_params(C=C)
        expected = cross_val_score(cold, X, y, cv=StratifiedKFold(5), scoring=scoring)
        # A gap of 1e-6 leaves about its root to the scores, and less to their mean.
        np.testing.assert_allclose(split_scores(search)[:, k], expected, rtol=2e-3)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_scores_of_regression_are_those_of_cold_fits(model):
    X, _ = table()
    y = np.sin(X[:, 0]) + np.random.default_rng(0).normal(size=len(X)) + 5.0
    exact = clone(model).set_params(tol=1e-6, max_iter=20_000)
    search = PathSearchCV(exact, Cs=CS).fit(X, y)
    for k, C in enumerate(CS):
        cold = clone(exact).set_params(C=C)
        expected = cross_val_score(cold, X, y, cv=KFold(5))
        np.testing.assert_allclose(split_scores(search)[:, k], expected, atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_every_point_is_within_tol_of_a_cold_fit(loss, tol, cancer):
    X, y = cancer
    layout = AdditiveSVC(loss=loss, tol=tol, random_state=0, C=1.0).fit(X, y)._model.layout
    rows = TrainingRows.prepare(open_table(X), layout, exact=tol < 1e-3)
    problem = Problem(
        y=rows.place(np.where(y > 0, 1, -1).astype(np.int8)),
        loss=LOSSES[loss],
        cost_negative=1.0,
        cost_positive=1.0,
    )
    stopping = Stopping(tol=tol, max_iter=20_000)
    # Up to where the classes are separated and the model no longer grows with C.
    Cs = np.geomspace(1e-3, 1e3, 13)
    path = dual_cd.follow_path(rows, problem, stopping, Cs)
    for C, found in zip(Cs, path, strict=True):
        cold = dual_cd.solve(rows, problem.scaled(C), stopping)
        assert found.converged
        assert 0 <= found.gap <= tol
        np.testing.assert_allclose(found.primal, cold.primal, rtol=1.1 * tol)


def test_results_are_those_of_a_grid_search():
    X, y = table()
    exact = AdditiveClassifier(C=1.0, tol=1e-7, random_state=0)
    grid = {"curve": [Spline(10), Linear()], "class_weight": [None, "balanced"]}
    path = PathSearchCV(exact, Cs=CS, param_grid=grid, cv=3, scoring="neg_log_loss").fit(X, y)
    other = GridSearchCV(exact, grid | {"C": CS}, cv=3, scoring="neg_log_loss").fit(X, y)
    assert path.best_params_ == other.best_params_
    assert path.best_score_ == pytest.approx(other.best_score_, rel=1e-4)
    assert path.n_splits_ == other.n_splits_
    shared = set(other.cv_results_) - {"std_fit_time", "mean_score_time", "std_score_time"}
    assert shared <= set(path.cv_results_)

    def by_setting(results):
        return {repr(sorted(p.items())): k for k, p in enumerate(results["params"])}

    ours, theirs = by_setting(path.cv_results_), by_setting(other.cv_results_)
    assert set(ours) == set(theirs)
    for name, k in ours.items():
        for key in ("mean_test_score", "std_test_score", "split0_test_score"):
            assert path.cv_results_[key][k] == pytest.approx(
                other.cv_results_[key][theirs[name]], rel=1e-3, abs=1e-4
            )
    assert path.cv_results_["rank_test_score"][path.best_index_] == 1
    assert sorted(path.cv_results_["rank_test_score"]) == sorted(
        other.cv_results_["rank_test_score"]
    )
    assert pd.DataFrame(path.cv_results_).shape[0] == 16
    assert np.all(path.cv_results_["mean_fit_time"] > 0)


def test_chooses_the_smallest_of_the_best():
    X, y = table()
    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0)).fit(X, y)
    mean = search.cv_results_["mean_test_score"]
    assert split_scores(search).shape == (5, 20)
    np.testing.assert_allclose(mean, split_scores(search).mean(axis=0))
    assert search.best_score_ == mean.max()
    assert search.best_index_ == np.flatnonzero(mean == mean.max())[0]
    assert search.best_params_ == {"C": search.Cs_[search.best_index_]}
    assert search.best_params_["C"] == search.best_estimator_.C
    assert np.all(np.diff(search.Cs_) > 0)
    np.testing.assert_allclose(search.Cs_, np.geomspace(1e-3, 1e2, 20))


@pytest.mark.parametrize("model", [CLASSIFIERS["hinge"], CLASSIFIERS["logistic"]], ids=repr)
def test_final_fit_is_the_plain_estimators(model, cancer):
    X, y = cancer
    search = PathSearchCV(clone(model).set_params(random_state=3), Cs=CS).fit(X, y)
    plain = clone(model).set_params(**search.best_params_, random_state=3).fit(X, y)
    np.testing.assert_array_equal(parameters(search), plain._model.parameters)
    np.testing.assert_array_equal(search.predict(X), plain.predict(X))
    np.testing.assert_array_equal(search.decision_function(X), plain.decision_function(X))
    assert search.score(X, y) == plain.score(X, y)
    assert search.best_estimator_.objective_ == plain.objective_
    np.testing.assert_array_equal(search.classes_, plain.classes_)
    assert search.n_features_in_ == 30
    assert search.refit_time_ > 0
    assert hasattr(search, "predict_proba") == hasattr(plain, "predict_proba")
    assert repr(clone(search)) == repr(search)
    assert not hasattr(search.estimator, "terms_")


def test_an_estimator_that_would_choose_its_smoothness():
    """C = None means many knots; along a path there are those of the model that is refitted."""
    X, y = table(1000)
    X = X + np.random.default_rng(0).random(X.shape)
    one, other = (
        PathSearchCV(AdditiveClassifier(C=C, random_state=0), Cs=CS, scoring="neg_log_loss")
        for C in (None, 1.0)
    )
    np.testing.assert_array_equal(split_scores(one.fit(X, y)), split_scores(other.fit(X, y)))
    np.testing.assert_array_equal(parameters(one), parameters(other))


@pytest.mark.parametrize("model", [CLASSIFIERS["hinge"], CLASSIFIERS["logistic"]], ids=repr)
def test_threads_change_nothing(model, cancer):
    one, two = (PathSearchCV(model, Cs=CS, n_jobs=n).fit(*cancer) for n in (None, 2))
    np.testing.assert_array_equal(split_scores(one), split_scores(two))
    np.testing.assert_array_equal(parameters(one), parameters(two))


def test_several_curves():
    X, y = table(600)
    model = AdditiveSVC(tol=1e-3, max_iter=20_000, random_state=0, C=1.0)
    grid = {"curve": [Spline(n, penalty_order=d) for n in (1, 10) for d in (0, 1)]}
    search = PathSearchCV(model, Cs=CS, param_grid=grid).fit(X, y)
    assert len(search.cv_results_["params"]) == 16
    assert search.best_params_["curve"].n_bins == 10  # a line cannot follow the sine
    assert search.best_estimator_.curve.n_bins == 10
    assert search.best_estimator_.terms_[0].coef.shape == (1, 11)
    alone = PathSearchCV(clone(model).set_params(curve=grid["curve"][3]), Cs=CS).fit(X, y)
    np.testing.assert_array_equal(split_scores(search)[:, -4:], split_scores(alone))
    nested = PathSearchCV(
        clone(model).set_params(curve=Spline()), Cs=CS, param_grid={"curve__n_bins": [1, 10]}
    ).fit(X, y)
    assert nested.best_params_["curve__n_bins"] == 10


def test_lists_of_grids():
    X, y = table()
    grid = [{"loss": ["hinge"]}, {"class_weight": ["balanced"], "curve": [Linear()]}]
    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=CS, param_grid=grid, cv=2).fit(
        X, y
    )
    assert len(search.cv_results_["params"]) == 8
    assert search.cv_results_["param_loss"].mask.tolist() == [False] * 4 + [True] * 4
    assert search.cv_results_["param_C"].tolist() == CS * 2


def test_scorers():
    X, y = table()
    model = AdditiveClassifier(C=1.0, random_state=0)

    def likelihood(estimator, X, y):
        return -log_loss(y, estimator.predict_proba(X))

    by_name = PathSearchCV(model, Cs=CS, scoring="neg_log_loss").fit(X, y)
    by_hand = PathSearchCV(model, Cs=CS, scoring=likelihood).fit(X, y)
    np.testing.assert_allclose(split_scores(by_name), split_scores(by_hand))
    assert by_name.score(X, y) == pytest.approx(likelihood(by_name, X, y))
    with pytest.raises(ValueError, match=r"scoring=.* gave NaN"):
        PathSearchCV(model, Cs=CS, scoring=lambda *_: np.nan).fit(X, y)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        PathSearchCV(model, scoring="goodness").fit(X, y)


def test_scorers_see_the_table_that_was_given():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 5, "high", "low"))
    seen = []

    def score(estimator, X, y):
        seen.append((type(X), list(getattr(X, "columns", []))))
        return estimator.score(X, y)

    model = AdditiveSVC(random_state=0, C=1.0)
    PathSearchCV(model, Cs=[1.0], cv=2, scoring=score).fit(frame, y)
    assert seen == [(pd.DataFrame, list("abcde"))] * 2
    # Lists, arrays of objects and sparse matrices of any kind serve too.
    expected = PathSearchCV(model, Cs=CS, cv=2).fit(frame, y)
    for rows in (frame.to_numpy(dtype=object), frame.to_numpy(dtype=object).tolist()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            search = PathSearchCV(model, Cs=CS, cv=2).fit(rows, y)
        np.testing.assert_array_equal(split_scores(search), split_scores(expected))
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.bsr_array):
        assert PathSearchCV(model, Cs=CS, cv=2).fit(kind(X), y).best_score_ > 0.6


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("scoring", ["neg_log_loss", None])
def test_weights_count_in_scores(scoring, counts):
    X, y = table()
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    folds = [(np.arange(200), np.arange(200, 300)), (np.arange(100, 300), np.arange(100))]
    repeats = np.repeat(np.arange(300), weights)
    many = [
        (np.flatnonzero(np.isin(repeats, train)), np.flatnonzero(np.isin(repeats, test)))
        for train, test in folds
    ]
    model = AdditiveClassifier(C=1.0, tol=1e-8, random_state=0)
    common = {"Cs": CS, "scoring": scoring}
    given = {"counts" if counts else "sample_weight": weights}
    weighted = PathSearchCV(model, cv=folds, **common).fit(X, y, **given)
    repeated = PathSearchCV(model, cv=many, **common).fit(X[repeats], y[repeats])
    np.testing.assert_allclose(split_scores(weighted), split_scores(repeated), rtol=1e-4)
    refit = clone(model).set_params(C=weighted.best_params_["C"]).fit(X, y, **given)
    np.testing.assert_array_equal(weighted.predict_proba(X), refit.predict_proba(X))


def test_rows_of_no_weight_do_not_count():
    X, y = table()
    splits = list(StratifiedKFold(3).split(X, y))
    far = np.vstack([X, 100 + X[:30]])
    flipped = np.concatenate([y, 1 - y[:30]])
    with_far = [(np.append(a, [300, 301]), np.append(b, range(302, 330))) for a, b in splits]
    model = AdditiveSVC(tol=1e-6, max_iter=20_000, random_state=0, C=1.0)
    plain = PathSearchCV(model, Cs=CS, cv=splits).fit(X, y)
    weighted = PathSearchCV(model, Cs=CS, cv=with_far).fit(
        far, flipped, sample_weight=np.repeat([1.0, 0.0], [300, 30])
    )
    # One row in a hundred.
    np.testing.assert_allclose(split_scores(weighted), split_scores(plain), atol=0.011)
    np.testing.assert_allclose(parameters(weighted), parameters(plain), atol=1e-2)


def test_several_labels_per_row():
    X, Y = make_multilabel_classification(300, 5, n_classes=3, random_state=0)
    for model in (CLASSIFIERS["hinge"], CLASSIFIERS["logistic"]):
        search = PathSearchCV(model, Cs=CS).fit(X, Y)
        assert search.predict(X).shape == Y.shape
        # All three labels right; the most frequent triple has 0.24.
        assert search.best_score_ > 0.4


def test_data_frames_keep_their_names():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = AdditiveSVC(random_state=0, C=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = PathSearchCV(model, Cs=CS).fit(X, y)
    assert list(search.feature_names_in_) == list(X.columns)
    bare = PathSearchCV(model, Cs=CS).fit(X.to_numpy(), y.to_numpy())
    np.testing.assert_array_equal(split_scores(search), split_scores(bare))


@pytest.mark.parametrize(
    "models",
    [
        [AdditiveRegressor(C=1.0)] * 2,
        [AdditiveSVR(epsilon=e, tol=3e-4, max_iter=50_000, C=1.0) for e in (0.01, 10.0)],
    ],
    ids=["AdditiveRegressor", "AdditiveSVR"],
)
def test_strength_of_regression_does_not_depend_on_units(models):
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :5]
    one = PathSearchCV(models[0], Cs=5, cv=3).fit(X, y)
    thousand = PathSearchCV(models[1], Cs=5, cv=3).fit(X, 1000 * y)
    np.testing.assert_allclose(split_scores(one), split_scores(thousand), atol=0.03)
    assert one.best_score_ > 0.3


@pytest.mark.parametrize("Cs", [0, [], [[1.0]], [0.0, 1.0], [-1.0], [np.inf], "many"])
def test_bad_strengths(Cs):
    with pytest.raises(ValueError, match="Cs"):
        PathSearchCV(AdditiveSVC(C=1.0), Cs=Cs).fit(*table())


def test_bad_settings():
    X, y = table()
    with pytest.raises(ValueError, match="must not name 'C'; the values of C are Cs"):
        PathSearchCV(AdditiveSVC(C=1.0), param_grid={"C": [1.0]}).fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter 'n_bins' for estimator AdditiveSVC"):
        PathSearchCV(AdditiveSVC(C=1.0), param_grid={"n_bins": [5]}).fit(X, y)
    with pytest.raises(ValueError, match=r"curve__n_bins .* curve is None"):
        PathSearchCV(AdditiveSVC(C=1.0), param_grid={"curve__n_bins": [5]}).fit(X, y)
    with pytest.raises(ValueError, match="'estimator' parameter of PathSearchCV"):
        PathSearchCV(GridSearchCV(AdditiveSVC(C=1.0), {})).fit(X, y)
    with pytest.raises(ValueError, match=r"AdditiveSVR; got a Pipeline. .* at the end of the pipe"):
        PathSearchCV(make_pipeline(StandardScaler(), AdditiveSVC(C=1.0))).fit(X, y)
    for several in (["roc_auc", "accuracy"], {"a": "accuracy"}):
        with pytest.raises(ValueError, match=r"'scoring' parameter of PathS.* one scorer"):
            PathSearchCV(AdditiveSVC(C=1.0), scoring=several).fit(X, y)
    with pytest.raises(ValueError, match="'tol' parameter of AdditiveSVC"):
        PathSearchCV(AdditiveSVC(tol=-1, C=1.0)).fit(X, y)


def test_groups_stay_together():
    random = np.random.default_rng(0)
    X, groups = random.normal(size=(200, 2)), random.integers(0, 10, 200)
    y = X[:, 0] + random.normal(size=200) > 0
    model, cv = AdditiveSVC(random_state=0, C=1.0), GroupKFold(3)
    found = PathSearchCV(model, Cs=[0.1, 1.0], cv=cv).fit(X, y, groups=groups)
    splits = list(cv.split(X, y, groups))
    by_hand = PathSearchCV(model, Cs=[0.1, 1.0], cv=splits).fit(X, y)
    np.testing.assert_array_equal(split_scores(found), split_scores(by_hand))


def test_bad_folds():
    X, y = table()
    with pytest.raises(ValueError, match=r"cv=.* fold 1 without held-out rows"):
        PathSearchCV(AdditiveSVC(C=1.0), cv=[([0, 1], [2, 3]), ([0, 1], [])]).fit(X, y)
    with pytest.raises(ValueError, match="gave no folds"):
        PathSearchCV(AdditiveSVC(C=1.0), cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="groups"):
        PathSearchCV(AdditiveSVC(C=1.0), cv=GroupKFold(3)).fit(X, y)


def test_it_is_what_its_estimator_is():
    assert is_classifier(PathSearchCV(AdditiveSVC(C=1.0)))
    assert is_regressor(PathSearchCV(AdditiveSVR(C=1.0)))
    for estimator in (AdditiveSVC(C=1.0), AdditiveSVR(C=1.0)):
        assert not hasattr(PathSearchCV(estimator), "partial_fit")
        assert not hasattr(PathSearchCV(estimator), "predict_proba")
    assert not hasattr(PathSearchCV(AdditiveSVR(C=1.0)), "decision_function")
    with pytest.raises(NotFittedError):
        PathSearchCV(AdditiveSVC(C=1.0)).predict([[1.0]])


def test_without_the_final_fit():
    X, y = table()
    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=CS).fit(X, y)
    search.set_params(refit=False).fit(X, y)
    assert search.best_params_["C"] in CS
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match=r"PathSearchCV\(refit=False\) has no trained model"):
        search.predict(X)


def test_lines_per_setting(capsys):
    X, y = table()
    grid = {"curve": [Linear(), Spline(5)]}
    search = PathSearchCV(AdditiveSVC(C=1.0), Cs=CS, param_grid=grid, cv=2, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3  # the last: what was chosen
    assert "Linear()" in lines[0]
    assert f"best mean score {search.cv_results_['mean_test_score'][:4].max():.4f}" in lines[0]


# How a search may end early.


def test_time_limit_before_anything_was_scored():
    X, y = table(20_000)
    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), time_limit=1e-9)
    with pytest.raises(RuntimeError, match=r"time_limit=1e-09 s ended the search before"):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


class Clock:
    """Time that passes when a callback says so, however busy the machine is."""

    now = 0.0

    def __init__(self, monkeypatch):
        for module in ("estimators.base", "estimators.search", "objective.watch"):
            monkeypatch.setattr(f"splinear.{module}.time", self)

    def monotonic(self):
        return self.now

    def tick(self):
        self.now += 0.02


@pytest.mark.parametrize(("name", "n_jobs"), [("hinge", 1), ("hinge", 2), ("logistic", 2)])
def test_time_limit_leaves_the_best_so_far(name, n_jobs, monkeypatch):
    X, y = table()
    clock = Clock(monkeypatch)
    slow = clone(CLASSIFIERS[name]).set_params(tol=1e-8, callback=lambda _: clock.tick())
    Cs = np.geomspace(1e-3, 1e3, 200)
    search = PathSearchCV(slow, Cs=Cs, cv=2, time_limit=1.0, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match=r"time_limit=1.0 s ended the search after"):
        search.fit(X, y)
    assert clock.now < 1.5
    reached = ~np.isnan(search.cv_results_["mean_test_score"])
    assert 0 < reached.sum() < 200
    assert search.best_params_["C"] in search.Cs_[reached]
    assert search.predict(X).shape == y.shape
    assert search.best_estimator_.time_limit is None


def test_callback_may_end_the_search():
    X, y = table()
    seen = []

    def stop_in_the_last_fold(progress):
        seen.append(progress.fold)
        return progress.fold == 4 and seen.count(4) == 12

    search = PathSearchCV(AdditiveSVC(callback=stop_in_the_last_fold, random_state=0, C=1.0))
    with pytest.warns(ConvergenceWarning, match="The callback ended the search after"):
        search.fit(X, y)
    assert set(seen) == {0, 1, 2, 3, 4, None}
    in_all_folds = ~np.isnan(split_scores(search)).any(axis=0)
    assert 0 < in_all_folds.sum() < 20
    np.testing.assert_array_equal(~np.isnan(search.cv_results_["mean_test_score"]), in_all_folds)
    assert search.best_params_["C"] in search.Cs_[in_all_folds]
    assert search.score(X, y) > 0.6


def test_a_search_that_ends_before_its_last_fold():
    """The folds that got farthest decide."""
    X, y = table()

    def stop_in_the_middle(progress):
        return progress.fold == 2

    model = AdditiveSVC(
        callback=stop_in_the_middle, tol=1e-5, max_iter=10_000, random_state=0, C=1.0
    )
    search = PathSearchCV(model, Cs=[1.0, 2.0, 4.0, 8.0])
    with pytest.warns(ConvergenceWarning, match="The callback ended the search after 4 of 4"):
        search.fit(X, y)
    found = split_scores(search)
    np.testing.assert_array_equal(np.isnan(found), [[False] * 4] * 2 + [[True] * 4] * 3)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], found[:2].mean(axis=0))
    assert search.best_index_ == found[:2].mean(axis=0).argmax()


def test_a_stopped_search_over_several_settings():
    X, y = table()
    seen = []

    def stop_in_the_second(progress):
        seen.append(progress.n_iter)
        return len(seen) > 200 and progress.fold is not None

    model = AdditiveSVC(
        callback=stop_in_the_second, random_state=0, tol=1e-4, max_iter=10_000, C=1.0
    )
    grid = {"curve": [Linear(), Spline(5), Spline(10)]}
    search = PathSearchCV(model, Cs=CS, cv=2, param_grid=grid)
    with pytest.warns(ConvergenceWarning, match=r"ended the search after \d of 12 settings"):
        search.fit(X, y)
    mean = search.cv_results_["mean_test_score"]
    assert len(search.cv_results_["params"]) == len(mean) == 12
    assert np.isnan(mean[-4:]).all()
    assert search.best_score_ == np.nanmax(mean)
    assert (search.cv_results_["rank_test_score"][np.isnan(mean)] > 1).all()


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("model", [CLASSIFIERS["hinge"], CLASSIFIERS["logistic"]], ids=repr)
def test_interrupts_go_on(model, n_jobs):
    def interrupt(progress):
        raise KeyboardInterrupt

    model = clone(model).set_params(callback=interrupt, tol=1e-12)
    search = PathSearchCV(model, Cs=[1.0, 10.0], n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*table())
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize(("name", "n_jobs"), [("hinge", None), ("hinge", 2), ("logistic", 2)])
def test_an_interrupted_search_leaves_the_best_so_far(name, n_jobs):
    X, y = table()
    seen = []

    def interrupt(progress):
        seen.append(progress.fold)
        if progress.fold == 4 and seen.count(4) == 12:
            raise KeyboardInterrupt("enough")

    # A second Ctrl-C, in the final fit, would leave that as far as it got.
    model = clone(CLASSIFIERS[name]).set_params(callback=interrupt, tol=1e-4)
    search = PathSearchCV(model, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt, match="enough"):
        search.fit(X, y)
    reached = ~np.isnan(search.cv_results_["mean_test_score"])
    assert 0 < reached.sum() < 20
    assert search.best_params_["C"] in search.Cs_[reached]
    assert search.score(X, y) > 0.6


def test_an_interrupt_while_scoring_leaves_the_best_so_far():
    X, y = table()
    seen = []

    def score(estimator, X, y):
        seen.append(estimator)
        if len(seen) == 7:  # in the second fold
            raise KeyboardInterrupt("enough")
        return estimator.score(X, y)

    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=CS, cv=3, scoring=score)
    with pytest.raises(KeyboardInterrupt, match="enough"):
        search.fit(X, y)
    found = split_scores(search)
    assert np.isnan(found).sum() == 6
    assert search.best_index_ == found[0].argmax()
    assert search.predict(X).shape == y.shape


def test_an_interrupted_final_fit_leaves_what_it_has():
    X, y = table()

    def interrupt(progress):
        if progress.fold is None and progress.n_iter == 2:
            raise KeyboardInterrupt("enough")

    model = AdditiveSVC(callback=interrupt, tol=1e-10, max_iter=10_000, random_state=0, C=1.0)
    search = PathSearchCV(model, Cs=[0.1, 1.0], cv=2)
    with pytest.raises(KeyboardInterrupt, match="enough"):
        search.fit(X, y)
    assert search.best_estimator_.n_iter_ == 2
    assert search.score(X, y) > 0.6


def test_a_search_that_fails_leaves_the_last_one():
    X, y = table()
    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=CS).fit(X, y)
    before, results = search.decision_function(X), search.cv_results_
    with pytest.raises(ValueError, match="infinity"):
        search.fit(np.where(X == 3, np.inf, X), y)
    search.set_params(scoring=lambda *_: np.nan)
    with pytest.raises(ValueError, match="gave NaN"):
        search.fit(X[:, :2], y)
    search.set_params(scoring=None, time_limit=1e-9)
    with pytest.raises(RuntimeError, match="ended the search before"):
        search.fit(X[:, :2], y)
    np.testing.assert_array_equal(search.decision_function(X), before)
    assert search.cv_results_ is results
