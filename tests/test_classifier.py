"""AdditiveClassifier as scikit-learn and its users see it, and what AdditiveSVC shares with it."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from written_out import explicit, primal, scores

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.losses import Logistic
from splinear.terms import Fourier, Hermite, Spline

CURVES = [
    Spline(30, degree=0),
    Spline(10),
    Spline(10, degree=3, penalty_order=2),
    Spline(10, knots="quantile"),
    Fourier(2),
    Hermite(3),
    Hermite(3, scale="standard"),
]
BOTH = [AdditiveClassifier(C=1.0, random_state=0), AdditiveSVC(random_state=0, C=1.0)]

every_curve = pytest.mark.parametrize("curve", CURVES, ids=repr)
both = pytest.mark.parametrize("model", BOTH, ids=lambda model: type(model).__name__)
chosen_or_fixed = pytest.mark.parametrize("C", [None, 10.0])


# What scikit-learn 1.6 asks of estimators that take no sparse tables, too.
FOR_SPARSE = {"check_sample_weight_equivalence_on_sparse_data": "surfaces are for dense tables"}


# Weights and repeats are compared to 1e-7 in the scores, which takes a gap of about its square.
@pytest.mark.filterwarnings("ignore:.*equal another row in X and y")
@parametrize_with_checks(
    [
        AdditiveClassifier(tol=1e-15),
        AdditiveClassifier(C=1.0, tol=1e-15),
        AdditiveClassifier(Fourier(2), C=1.0, tol=1e-15),
        AdditiveClassifier(interactions="auto", tol=1e-15),
    ],
    expected_failed_checks=lambda own: {} if get_tags(own).input_tags.sparse else FOR_SPARSE,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def moons(n=400, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


def coefs(model):
    return [term.coef for term in model.terms_]


def assert_same_bits(one, other):
    for a, b in zip(coefs(one), coefs(other), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


@every_curve
@pytest.mark.parametrize(
    "model",
    [AdditiveClassifier(), AdditiveClassifier(C=100.0), AdditiveSVC(C=10.0)],
    ids=["chosen", "fixed", "SVC"],
)
def test_learns_what_a_line_cannot(curve, model):
    # y depends on the first feature only through its distance from zero.
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = np.abs(X[:, 0]) > 0.7
    model = clone(model).set_params(curve=curve, random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.88
    assert roc_auc_score(y[1000:], model.decision_function(X[1000:])) > 0.95


@every_curve
@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_curves_sum(curve, model, dtype, cancer):
    X, y = cancer[0].astype(dtype), cancer[1]
    model = clone(model).set_params(curve=curve, tol=0.1).fit(X, y)
    beyond = X[:50] * np.linspace(0, 3, 50, dtype=dtype)[:, None]
    beyond[::7, 3] = np.nan
    fitted = model._model
    expected = scores(fitted.layout, fitted.parameters[0], fitted.intercept[0], beyond)
    # float32 values are scored in single precision.
    rtol, atol = (1e-6, 1e-5) if dtype == np.float32 else (1e-9, 1e-9)
    np.testing.assert_allclose(model.decision_function(beyond), expected, rtol=rtol, atol=atol)


@chosen_or_fixed
def test_fitted_attributes(C, cancer):
    X, y = cancer
    model = AdditiveClassifier(Spline(7, degree=2), C=C, random_state=0).fit(X, y)
    assert len(model.terms_) == 30
    assert all(term.coef.shape == (1, 9) for term in model.terms_)
    assert model.intercept_.shape == (1,)
    assert model.dual_gap_ >= 0
    assert model.certified_ == (model.dual_gap_ <= model.tol)
    assert 1 <= model.n_iter_ <= model.max_iter
    assert model.n_features_in_ == 30
    assert model.feature_importances_.shape == (30,)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "coef_")


@every_curve
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_is_that_of_logistic_regression(curve, C, cancer):
    """LogisticRegression leaves its intercept free too, and scales its objective by C."""
    X, y = cancer[0][:300, :6], cancer[1][:300]
    model = AdditiveClassifier(curve, C=C, tol=1e-9, random_state=0).fit(X, y)
    phi = explicit(model._model.layout.scaled(1 / C), X)
    other = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-9).fit(phi, y)
    w, f = other.coef_[0], other.decision_function(phi)
    theirs = 0.5 * w @ w / C + np.logaddexp(0, np.where(y == 1, -f, f)).sum()
    assert model.objective_ == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-2)
    fitted = model._model
    value = primal(
        fitted.layout, Logistic(), fitted.parameters[0], fitted.intercept[0], X,
        np.where(y == 1, 1, -1), 1.0, None,
    )  # fmt: skip
    assert model.objective_ == pytest.approx(value, rel=1e-9)


@chosen_or_fixed
def test_the_intercept_is_free(C, cancer):
    """So the probabilities have the mean of the labels, however strong the penalty is."""
    X, y = cancer
    for weights in (None, np.random.default_rng(0).random(len(y))):
        # Other intercepts would gain the square of what means differ by, which tol bounds: the
        # sum of 569 rows is right to sqrt(2 tol P n / 4), with P below 400.
        model = AdditiveClassifier(C=C and 1e-4, tol=1e-13, random_state=0).fit(X, y, weights)
        p = np.average(model.predict_proba(X)[:, 1], weights=weights)
        assert p == pytest.approx(np.average(y, weights=weights), abs=1e-6)


def test_smoothness_comes_from_the_data():
    """A wave, a line and noise: each gets what it needs, and no C for all is as good."""
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, size=(6000, 8))
    p = expit(2 * np.sin(2 * X[:, 0]) + X[:, 1])
    y = random.random(6000) < p
    model = AdditiveClassifier(random_state=0).fit(X[:3000], y[:3000])
    edf = [term.edf for term in model.terms_]
    assert edf[0] > 3 * max(edf[1:])
    assert edf[1] == pytest.approx(1.0, abs=0.1)
    assert model.feature_importances_[2:].max() < 0.3 * model.feature_importances_[:2].min()
    assert all(term.smoothness > 0 for term in model.terms_)
    loss = log_loss(y[3000:], model.predict_proba(X[3000:]))
    fixed = [AdditiveClassifier(Spline(30), C=C).fit(X[:3000], y[:3000]) for C in (0.1, 1.0, 10.0)]
    assert loss < min(log_loss(y[3000:], other.predict_proba(X[3000:])) for other in fixed)


@both
def test_outside_the_range_is_constant(model, cancer):
    X, y = cancer
    model = clone(model).fit(X, y)
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    far = np.stack([X.min(axis=0) - 1e6, X.max(axis=0) + 1e308])
    np.testing.assert_array_equal(model.decision_function(ends), model.decision_function(far))


@chosen_or_fixed
def test_probabilities_are_a_logistic_of_the_scores(C, cancer):
    model = AdditiveClassifier(C=C, random_state=0).fit(*cancer)
    p, f = model.predict_proba(cancer[0]), model.decision_function(cancer[0])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[:, 1], expit(f), rtol=1e-12)
    np.testing.assert_allclose(p[:, 0], expit(-f), rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(cancer[0]), np.log(p))
    np.testing.assert_array_equal(model.predict(cancer[0]), p.argmax(axis=1))


@both
@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [False, True], [3.0, 7.0]])
def test_any_two_labels(model, labels, cancer):
    X, y = cancer
    named = clone(model).fit(X, np.asarray(labels)[y])
    np.testing.assert_array_equal(named.classes_, labels)
    expected = clone(model).fit(X, y).predict(X)
    np.testing.assert_array_equal(named.predict(X), np.asarray(labels)[expected])


@both
def test_column_names(model, cancer):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = clone(model).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert [term.name for term in model.terms_] == list(X.columns)
    plain = clone(model).fit(*cancer)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(cancer[0]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"mean radius": "radius"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])


@both
def test_in_pipelines_and_searches(model, cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), clone(model).set_params(curve=Spline()))
    name = type(model).__name__.lower()
    grid = {f"{name}__C": [0.1, 1.0], f"{name}__curve__n_bins": [5, 10]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    assert set(search.best_params_) == set(grid)
    assert cross_val_score(model, X, y, cv=3).min() > 0.94


@both
def test_clone_and_pickle(model, cancer):
    X, y = cancer
    model = clone(model).set_params(curve=Spline(knots="quantile"), terms={3: Hermite(2)})
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_same_bits(again, model)
    assert repr(clone(model).get_params()) == repr(model.get_params())


@pytest.mark.parametrize("model", [*BOTH, AdditiveClassifier()], ids=["fixed", "SVC", "chosen"])
def test_same_seed_same_bits(model, cancer):
    one, two, other = (clone(model).set_params(random_state=k).fit(*cancer) for k in (3, 3, 4))
    assert_same_bits(one, two)
    assert any(np.any(a != b) for a, b in zip(coefs(one), coefs(other), strict=True))


@both
def test_fits_in_threads_equal_serial_ones(model):
    def fit(seed):
        X, y = moons(300, seed)
        found = clone(model).set_params(random_state=seed, n_jobs=1 + seed % 2).fit(X, y)
        return *coefs(found), found.intercept_, found.decision_function(X)

    serial = [fit(seed) for seed in range(24)]
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(fit, range(24)))
    for one, other in zip(serial, threaded, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@chosen_or_fixed
def test_verbose_shows_every_step_and_every_turn(C, cancer, capsys):
    X, y = cancer
    model = AdditiveClassifier(C=C, verbose=2, random_state=0).fit(X[:, :5], y)
    *lines, _ = capsys.readouterr().err.splitlines()
    passes = [line.split("pass")[1].split()[0] for line in lines]
    assert list(map(int, passes)) == list(range(1, model.n_iter_ + 1))
    assert lines[0].split()[0] == ("smoothness" if C is None else "pass")
    assert all("gap" in line and "nan" not in line for line in lines)
    assert "of 569 rows" in lines[0]


def test_the_callback_may_stop_it_while_smoothness_is_chosen(cancer):
    X, y = cancer
    seen = []
    model = AdditiveClassifier(random_state=0, callback=lambda p: seen.append(p) or p.n_iter == 2)
    with pytest.warns(ConvergenceWarning, match="before the smoothness of its terms was settled"):
        model.fit(X[:, :5], y)
    assert [progress.n_iter for progress in seen] == [1, 2]
    assert model.predict(X[:, :5]).shape == y.shape


def test_warning_states_the_gap(cancer):
    model = AdditiveClassifier(C=1e4, tol=1e-9, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"after 2 .* \(max_iter=2\) at .* gap of \d"):
        model.fit(*cancer)
    assert not model.certified_


@both
def test_class_weights_move_the_boundary(model, cancer):
    X, y = cancer
    shares = [
        clone(model).set_params(class_weight={0: 1, 1: w}, C=0.01).fit(X, y).predict(X)
        for w in (0.1, 1, 10)
    ]
    assert shares[0].mean() < shares[1].mean() < shares[2].mean()
    # Weights of rows would move knots at quantiles; weights of classes do not.
    exact = clone(model).set_params(curve=Spline(10, knots="uniform"), tol=1e-8, max_iter=10_000)
    balanced = clone(exact).set_params(class_weight="balanced").fit(X, y)
    weights = len(y) / (2 * np.bincount(y))
    by_hand = clone(exact).fit(X, y, sample_weight=weights[y])
    assert balanced.objective_ == pytest.approx(by_hand.objective_, rel=1e-7)


@both
def test_rows_without_weight_do_not_exist(model, cancer):
    X, y = cancer
    weight = np.ones(len(y))
    weight[::3] = 0
    X_odd = X.copy()
    X_odd[::3] *= 100  # would stretch every range
    X_odd[::6] = np.nan
    exact = clone(model).set_params(tol=1e-9, max_iter=10_000)
    found = clone(exact).fit(X_odd, y, sample_weight=weight)
    expected = clone(exact).fit(X[weight > 0], y[weight > 0])
    assert [term.hi for term in found.terms_] == [term.hi for term in expected.terms_]
    assert not any(term.had_missing for term in found.terms_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-8)


@both
@pytest.mark.parametrize(("instructions", "atol"), [("reference", 1e-9), (None, 2e-5)])
def test_a_constant_column_changes_nothing(model, instructions, atol, cancer, monkeypatch):
    X, y = cancer
    wider = np.insert(X, 4, 7.5, axis=1)
    # A zero more in a sum changes no bit in double precision, and some of single precision where
    # the kernels add up several columns side by side.
    if instructions is not None:
        monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", instructions)
    exact = clone(model).set_params(curve=Spline(10), tol=1e-4)
    found, plain = clone(exact).fit(wider, y), clone(exact).fit(X, y)
    np.testing.assert_array_equal(found.terms_[4].coef, 0.0)
    assert found.feature_importances_[4] == 0.0
    np.testing.assert_allclose(
        found.decision_function(wider), plain.decision_function(X), atol=atol
    )


@both
def test_permuted_columns_permute_the_curves(model, cancer):
    X, y = cancer
    order = np.random.default_rng(0).permutation(30)
    exact = clone(model).set_params(tol=1e-8, max_iter=10_000)
    found, permuted = clone(exact).fit(X, y), clone(exact).fit(X[:, order], y)
    for k, j in enumerate(order):
        np.testing.assert_allclose(permuted.terms_[k].coef, found.terms_[j].coef, atol=1e-3)
    np.testing.assert_allclose(
        permuted.feature_importances_, found.feature_importances_[order], atol=1e-4
    )


@both
def test_pandas_nullable_and_integer_columns(model):
    X, y = moons()
    frame = pd.DataFrame({"a": (X[:, 0] * 50).astype(int), "b": pd.array(X[:, 1], dtype="Float64")})
    found = clone(model).fit(frame, y)
    assert_same_bits(found, clone(model).fit(frame.to_numpy(dtype=float), y))
    frame.loc[3, "b"] = pd.NA
    gaps = clone(model).fit(frame, y)
    assert [term.had_missing for term in gaps.terms_] == [False, True]


@pytest.mark.parametrize("model", [*BOTH, AdditiveClassifier()], ids=["fixed", "SVC", "chosen"])
def test_a_fit_that_fails_leaves_the_last_model(model, cancer):
    X, y = cancer
    model = clone(model).fit(X, y)
    before, attributes = model.decision_function(X), set(vars(model))
    wrong = X.copy()
    wrong[5, 3] = np.inf
    for arguments in [
        (wrong, y),
        (X[:, :2], np.ones(len(y))),
        (X[:10], y[:9]),
        (X, y, -np.ones(len(y))),
        (pd.DataFrame({"when": pd.Timestamp("2020-01-01"), "x": X[:, 0]}), y),
    ]:
        with pytest.raises(ValueError, match=r"."):
            model.fit(*arguments)
        np.testing.assert_array_equal(model.decision_function(X), before)
        assert model.n_features_in_ == 30
        assert set(vars(model)) == attributes
    model.fit(X[:, :2], y)
    assert len(model.terms_) == model.n_features_in_ == 2


@both
def test_not_fitted(model):
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(clone(model), method)([[1.0]])
    with pytest.raises(NotFittedError):
        AdditiveClassifier().predict_proba([[1.0]])
