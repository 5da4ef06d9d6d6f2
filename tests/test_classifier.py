"""AdditiveClassifier as scikit-learn and its users see it."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from splinear import AdditiveClassifier
from splinear.objective import scores

BASES = [
    {"basis": "bspline", "degree": 0, "n_bins": 30},
    {"basis": "bspline", "degree": 1},
    {"basis": "bspline", "degree": 3, "penalty_order": 2},
    {"basis": "bspline", "knots": "quantile"},
    {"basis": "fourier", "degree": 2},
    {"basis": "hermite", "degree": 3},
    {"basis": "hermite", "degree": 3, "scale": "standard"},
]


# Weights and repeats are compared to 1e-7 in the scores, which takes a gap of about its square.
@parametrize_with_checks(
    [
        AdditiveClassifier(tol=1e-15, max_iter=20_000),
        AdditiveClassifier(basis="fourier", degree=2, tol=1e-15, max_iter=20_000),
        AdditiveClassifier(loss="squared_hinge", penalty_order=0, tol=1e-15, max_iter=20_000),
        AdditiveClassifier(loss="squared_hinge", solver="newton", tol=1e-15),
        AdditiveClassifier(loss="logistic", tol=1e-15),
        AdditiveClassifier(loss="logistic", multi_class="ovr", tol=1e-15),
        AdditiveClassifier(loss="logistic", solver="dual_cd", tol=1e-18, max_iter=2000),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def moons(n=400, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


@pytest.mark.parametrize("params", BASES, ids=str)
def test_learns_what_a_line_cannot(params):
    # y depends on the first feature only through its distance from zero.
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = np.abs(X[:, 0]) > 0.7
    model = AdditiveClassifier(**params, C=10.0, random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.88
    assert roc_auc_score(y[1000:], model.decision_function(X[1000:])) > 0.95


@pytest.mark.parametrize("params", BASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_curves_sum(params, dtype, cancer):
    X, y = cancer[0].astype(dtype), cancer[1]
    model = AdditiveClassifier(**params, random_state=0, tol=0.1).fit(X, y)
    beyond = X[:50] * np.linspace(0, 3, 50, dtype=dtype)[:, None]
    expected = scores(model.embedding_, model.coef_[0], model.intercept_[0], beyond)
    # float32 values are scored in single precision.
    atol = 1e-5 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(model.decision_function(beyond), expected, rtol=1e-9, atol=atol)


def test_fitted_attributes(cancer):
    X, y = cancer
    model = AdditiveClassifier(n_bins=7, degree=2, random_state=0).fit(X, y)
    assert model.coef_.shape == (1, 30, 9)
    assert model.intercept_.shape == (1,)
    assert 0 <= model.dual_gap_ <= model.tol
    assert 1 <= model.n_iter_ <= model.max_iter
    assert model.n_features_in_ == 30
    assert not hasattr(model, "feature_names_in_")


def test_outside_the_range_is_constant(cancer):
    X, y = cancer
    model = AdditiveClassifier(random_state=0).fit(X, y)
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    far = np.stack([X.min(axis=0) - 1e6, X.max(axis=0) + 1e308])
    np.testing.assert_array_equal(model.decision_function(ends), model.decision_function(far))


def test_probabilities_are_a_logistic_of_the_scores(cancer):
    model = AdditiveClassifier(random_state=0).fit(*cancer)
    p = model.predict_proba(cancer[0])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), model.decision_function(cancer[0]))


@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [False, True], [3.0, 7.0]])
def test_any_two_labels(labels, cancer):
    X, y = cancer
    named = np.asarray(labels)[y]
    model = AdditiveClassifier(random_state=0).fit(X, named)
    expected = AdditiveClassifier(random_state=0).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X), np.asarray(labels)[expected])


def test_column_names(cancer):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = AdditiveClassifier(random_state=0).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    plain = AdditiveClassifier(random_state=0).fit(*cancer)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(cancer[0]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"mean radius": "radius"}))


def test_in_pipelines_and_searches(cancer):
    X, y = cancer
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), AdditiveClassifier(random_state=0)),
        {"additiveclassifier__C": [0.1, 1.0], "additiveclassifier__n_bins": [5, 10]},
        cv=3,
    ).fit(X, y)
    assert grid.best_score_ > 0.95
    assert cross_val_score(AdditiveClassifier(random_state=0), X, y, cv=3).min() > 0.94


def test_clone_and_pickle(cancer):
    X, y = cancer
    model = AdditiveClassifier(knots="quantile", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


def test_same_seed_same_bits(cancer):
    X, y = cancer
    one, two = (AdditiveClassifier(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    other = AdditiveClassifier(random_state=4).fit(X, y)
    assert np.any(one.coef_ != other.coef_)


def test_fits_in_threads_equal_serial_ones():
    def fit(seed):
        X, y = moons(300, seed)
        model = AdditiveClassifier(random_state=seed, n_jobs=1 + seed % 2).fit(X, y)
        return model.coef_, model.intercept_, model.decision_function(X)

    serial = [fit(seed) for seed in range(64)]
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(fit, range(64)))
    for one, other in zip(serial, threaded, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_verbose_shows_every_pass(cancer, capsys):
    model = AdditiveClassifier(verbose=1, random_state=0).fit(*cancer)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert "gap" in lines[0]
    assert "of 569 rows" in lines[0]


def test_warning_states_the_gap(cancer):
    with pytest.warns(ConvergenceWarning, match=r"after max_iter=2 passes at .* gap of \d"):
        AdditiveClassifier(C=1e4, tol=1e-9, max_iter=2, random_state=0).fit(*cancer)


def test_class_weights_move_the_boundary(cancer):
    X, y = cancer
    shares = [
        AdditiveClassifier(class_weight={0: 1, 1: w}, C=0.01, random_state=0).fit(X, y).predict(X)
        for w in (0.1, 1, 10)
    ]
    assert shares[0].mean() < shares[1].mean() < shares[2].mean()
    # Weights of rows would move knots at quantiles; weights of classes do not.
    exact = AdditiveClassifier(knots="uniform", tol=1e-8, random_state=0)
    balanced = clone(exact).set_params(class_weight="balanced").fit(X, y)
    weights = len(y) / (2 * np.bincount(y))
    by_hand = clone(exact).fit(X, y, sample_weight=weights[y])
    assert balanced.objective_ == pytest.approx(by_hand.objective_, rel=1e-7)


def test_rows_without_weight_do_not_exist(cancer):
    X, y = cancer
    weight = np.ones(len(y))
    weight[::3] = 0
    X_odd = X.copy()
    X_odd[::3] *= 100  # would stretch every range
    model = AdditiveClassifier(tol=1e-9, random_state=0).fit(X_odd, y, sample_weight=weight)
    expected = AdditiveClassifier(tol=1e-9, random_state=0).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(model.embedding_.axes.hi, expected.embedding_.axes.hi)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-8)


def test_a_constant_column_changes_nothing(cancer):
    X, y = cancer
    wider = np.insert(X, 4, 7.5, axis=1)
    # In double precision a zero more in a sum changes no bit.
    model = AdditiveClassifier(tol=1e-4, random_state=0).fit(wider, y)
    plain = AdditiveClassifier(tol=1e-4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_[0, 4], 0.0)
    np.testing.assert_array_equal(model.decision_function(wider), plain.decision_function(X))


def test_permuted_columns_permute_the_curves(cancer):
    X, y = cancer
    order = np.random.default_rng(0).permutation(30)
    model = AdditiveClassifier(tol=1e-8, random_state=0).fit(X, y)
    permuted = AdditiveClassifier(tol=1e-8, random_state=0).fit(X[:, order], y)
    np.testing.assert_allclose(permuted.coef_, model.coef_[:, order], atol=1e-3)


def test_pandas_nullable_and_integer_columns():
    X, y = moons()
    frame = pd.DataFrame({"a": (X[:, 0] * 50).astype(int), "b": pd.array(X[:, 1], dtype="Float64")})
    model = AdditiveClassifier(random_state=0).fit(frame, y)
    same = AdditiveClassifier(random_state=0).fit(frame.to_numpy(dtype=float), y)
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        AdditiveClassifier().predict([[1.0]])
