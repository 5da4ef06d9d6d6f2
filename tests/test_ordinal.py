"""AdditiveOrdinal as scikit-learn and its users see it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from written_out import explicit, parameters_of

import splinear
from splinear import AdditiveClassifier, AdditiveOrdinal, PathSearchCV
from splinear.inspection import band, explain, importances, standard_error, summary
from splinear.terms import Category, Linear, Spline

CUTS = np.array([-2.0, -0.5, 0.5, 2.0])


# Weights and repeats are compared to 1e-7 in the scores, which takes a gap of about its square.
@pytest.mark.filterwarnings("ignore:.*equal another row in X and y")
@pytest.mark.filterwarnings("ignore:y holds text without an order")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([AdditiveOrdinal(tol=1e-15), AdditiveOrdinal(C=1.0, tol=1e-15)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def latent(X):
    return 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1]


def made(n=1000, seed=0, cuts=CUTS):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    return X, np.digitize(latent(X) + rng.logistic(size=n), cuts)


def truth(X, cuts=CUTS):
    up_to = expit(cuts - latent(X)[:, None])
    ends = np.ones((len(X), 1))
    return np.diff(np.hstack([0.0 * ends, up_to, ends]), axis=1)


@pytest.fixture(scope="module")
def fitted():
    return AdditiveOrdinal(random_state=0).fit(*made())


# -- against other methods -------------------------------------------------------------------------


def objective(z, phi, y, cost, n_levels):
    """-log P(y) plus the penalty, of weights, the first cut point and log-widths; its gradient."""
    m = phi.shape[1]
    w, widths = z[:m], np.exp(z[m + 1 :])
    cuts = z[m] + np.concatenate([[0.0], np.cumsum(widths)])
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    f = phi @ w
    high, low = expit(ends[y + 1] - f), expit(ends[y] - f)
    P = high - low
    value = 0.5 * w @ w - cost @ np.log(P)
    of_high, of_low = cost * high * (1 - high) / P, cost * low * (1 - low) / P
    of_cuts = -np.bincount(y, of_high, n_levels)[:-1] + np.bincount(y, of_low, n_levels)[1:]
    later = np.cumsum(of_cuts[::-1])[::-1]
    return value, np.concatenate([w + phi.T @ (of_high - of_low), later[:1], later[1:] * widths])


@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_objective_is_that_of_a_slow_solver(n_levels):
    X, y = made(300, cuts=np.quantile(CUTS, np.linspace(0.1, 0.9, n_levels - 1)))
    X[::7, 1] = np.nan
    cost = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    terms = {2: Spline(5, degree=3, penalty_order=2, knots="uniform")}
    model = AdditiveOrdinal(Spline(8), terms=terms, C=3.0, tol=1e-9, random_state=0)
    model.fit(X, y, sample_weight=cost)
    layout = model._model.layout
    phi = explicit(layout, X)
    found = minimize(
        objective,
        np.zeros(phi.shape[1] + n_levels - 1),
        args=(phi, y, cost, n_levels),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-8},
    )
    assert model.certified_
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)
    w, first = found.x[: phi.shape[1]], found.x[phi.shape[1]]
    widths = np.exp(found.x[phi.shape[1] + 1 :])
    cuts = first + np.concatenate([[0.0], np.cumsum(widths)])
    f = phi @ w
    both = model.predict_latent(X)[:, None] - model.cut_points_, f[:, None] - cuts
    assert_allclose(*both, atol=2e-3)
    assert np.all(parameters_of(layout, w).shape == model._model.parameters[0].shape)


def test_the_gap_bounds_what_is_left_to_gain():
    X, y = made(500)
    best = AdditiveOrdinal(C=30.0, tol=1e-9, random_state=0).fit(X, y).objective_
    for n in range(1, 6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = AdditiveOrdinal(C=30.0, tol=1e-9, max_iter=n, random_state=0).fit(X, y)
        assert model.objective_ * (1.0 - model.dual_gap_) <= best * (1.0 + 1e-9)
        assert model.objective_ >= best * (1.0 - 1e-9)


def test_slopes_are_those_of_statsmodels():
    """Under a large C, the penalty of slopes does not matter."""
    ordered = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, y = made(600)
    model = AdditiveOrdinal(Linear(), C=1e9, tol=1e-10, random_state=0).fit(X, y)
    unfitted = ordered.OrderedModel(y, X, distr="logit")
    other = unfitted.fit(method="bfgs", disp=False, gtol=1e-7, maxiter=1000)
    assert_allclose(model.predict_proba(X), other.predict(), atol=1e-6)
    unit = np.eye(3)
    slopes = model.predict_latent(unit) - model.predict_latent(np.zeros((1, 3)))
    assert_allclose(slopes, np.asarray(other.params)[:3], atol=1e-5)
    cuts = other.model.transform_threshold_params(other.params)[1:-1]
    at_0 = model.predict_latent(np.zeros((1, 3)))
    assert_allclose(model.cut_points_ - at_0, cuts, atol=1e-5)
    assert model.objective_ == pytest.approx(-other.llf, rel=1e-6)


@pytest.mark.parametrize("C", [None, 1.0])
def test_two_levels_are_two_classes(C):
    X, y = made(600)
    ordinal = AdditiveOrdinal(C=C, tol=1e-8, random_state=0).fit(X, y > 1)
    classes = AdditiveClassifier(C=C, tol=1e-8, random_state=0).fit(X, y > 1)
    # REML ends where little changes, on the way of other steps.
    near = 1e-6 if C else 2e-3
    assert_allclose(ordinal.predict_proba(X), classes.predict_proba(X), atol=near)
    assert_allclose(ordinal.predict_interval(X), classes.predict_interval(X), atol=10 * near)
    assert ordinal.objective_ == pytest.approx(classes.objective_, rel=1e-6 if C else 1e-3)
    assert_array_equal(ordinal.predict(X), ordinal.predict_proba(X)[:, 1] > 0.5)


def test_is_nearer_to_the_truth_than_unordered_classes():
    X, y = made(800)
    new = made(2000, seed=1)[0]
    P = truth(new)
    errors = []
    for model in (AdditiveOrdinal(random_state=0), AdditiveClassifier(random_state=0)):
        Q = model.fit(X, y).predict_proba(new)
        errors.append(float((P * np.log(P / Q)).sum(axis=1).mean()))
    assert errors[0] < 0.6 * errors[1]  # 0.0077 and 0.0186 when this was written


# -- weights, counts, groups, offset ---------------------------------------------------------------


def test_weights_counts_and_copies():
    X, y = made(300)
    counts = np.random.default_rng(1).integers(0, 4, 300)
    curve = Spline(8, knots="uniform")
    given = AdditiveOrdinal(curve, C=1.0, tol=1e-9, random_state=0)
    copies = clone(given).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for how in ({"counts": counts}, {"sample_weight": counts}):
        model = clone(given).fit(X, y, **how)
        assert_allclose(model.predict_proba(X), copies.predict_proba(X), atol=1e-6)
        assert model.objective_ == pytest.approx(copies.objective_, rel=1e-7)
    chosen = AdditiveOrdinal(curve, tol=1e-8, random_state=0)
    one = clone(chosen).fit(X, y).predict_proba(X)
    many = clone(chosen).fit(X, y, sample_weight=np.full(300, 5.5)).predict_proba(X)
    assert_allclose(many, one, atol=1e-5)


def test_rows_without_weight_change_nothing():
    X, y = made(400)
    y = y.astype(object)
    weight = np.ones(400)
    X[:50], y[:50], weight[:50] = 100.0, 7, 0.0  # a level of its own, far away
    model = AdditiveOrdinal(tol=1e-8, random_state=0).fit(X, y.astype(int), weight)
    without = AdditiveOrdinal(tol=1e-8, random_state=0).fit(X[50:], y[50:].astype(int))
    assert_array_equal(model.classes_, np.arange(5))
    assert_allclose(model.predict_proba(X[50:]), without.predict_proba(X[50:]), atol=1e-5)


def test_groups_make_curves_smoother():
    """Copies that are named as such tell no more than one row."""
    X, y = made(300)
    alone = AdditiveOrdinal(tol=1e-6, random_state=0).fit(X, y)
    many = [np.repeat(part, 4, axis=0) for part in (X, y, np.arange(300))]
    grouped = clone(alone).fit(*many[:2], groups=many[2])
    edf = [sum(term.edf for term in model.terms_) for model in (alone, grouped)]
    assert edf[1] == pytest.approx(edf[0], rel=0.25)


@pytest.mark.parametrize("C", [None, 1.0])
def test_offset_is_a_part_of_the_score(C):
    X, y = made(800)
    known = X[:, 1] + 3.0
    model = AdditiveOrdinal(terms={1: "drop"}, C=C, tol=1e-8, random_state=0)
    model.fit(X, y, offset=known)
    assert model.certified_
    f = model.predict_latent(X, offset=known)
    assert_allclose(f, model.predict_latent(X) + known, atol=1e-12)
    moved = clone(model).fit(X, y, offset=known + 10.0)
    assert_allclose(moved.cut_points_, model.cut_points_ + 10.0, atol=1e-5)
    assert_allclose(
        moved.predict_proba(X, offset=known + 10.0), model.predict_proba(X, offset=known), atol=1e-5
    )
    assert np.corrcoef(f, latent(X))[0, 1] > 0.97


def test_class_weight_multiplies_weights():
    X, y = made(400)
    given = AdditiveOrdinal(C=1.0, tol=1e-9, random_state=0)
    by_level = clone(given).set_params(class_weight={0: 2.0, 4: 3.0}).fit(X, y)
    weight = np.where(y == 0, 2.0, np.where(y == 4, 3.0, 1.0))
    expected = clone(given).fit(X, y, sample_weight=weight)
    assert_allclose(by_level.predict_proba(X), expected.predict_proba(X), atol=1e-7)
    balanced = clone(given).set_params(class_weight="balanced").fit(X, y)
    assert_allclose(balanced.predict_proba(X).mean(axis=0), 0.2, atol=0.05)


# -- hard tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [None, 1e6])
def test_levels_that_can_be_told_apart(C):
    X = np.linspace(0.0, 1.0, 300)[:, None]
    y = np.digitize(X[:, 0], [0.2, 0.5, 0.9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AdditiveOrdinal(C=C, random_state=0).fit(X, y)
    assert np.isfinite(model.cut_points_).all()
    assert np.isfinite(model.predict_latent(X)).all()
    assert model.certified_ == (model.dual_gap_ <= model.tol)
    assert model.score(X, y) > 0.98


def test_many_levels():
    X, _ = made(3000)
    f = latent(X) + np.random.default_rng(1).logistic(size=3000)
    y = np.digitize(f, np.quantile(f, np.arange(1, 30) / 30))
    model = AdditiveOrdinal(random_state=0).fit(X, y)
    assert model.certified_
    assert model.cut_points_.shape == (29,)
    assert np.all(np.diff(model.cut_points_) > 0)
    assert np.corrcoef(model.predict_latent(X), latent(X))[0, 1] > 0.98
    assert len(band(model, 0)[0]) == 200


def test_rare_levels():
    X, y = made(500)
    y[3], y[7] = 9, -1
    model = AdditiveOrdinal(random_state=0).fit(X, y)
    assert model.certified_
    assert_array_equal(model.classes_, [-1, 0, 1, 2, 3, 4, 9])
    P = model.predict_proba(X)
    assert_allclose(P.mean(axis=0)[[0, -1]], 1 / 500, rtol=0.2)


def test_missing_values_text_and_pairs():
    rng = np.random.default_rng(0)
    X, _ = made(1500)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["text"] = rng.choice(["u", "v", "w"], 1500)
    f = latent(X) + (frame["text"] == "w") + 2.0 * X[:, 0] * X[:, 2]
    y = np.digitize(f + rng.logistic(size=1500), CUTS)
    frame.loc[rng.random(1500) < 0.1, "b"] = np.nan
    model = AdditiveOrdinal(interactions="auto", random_state=0).fit(frame, y)
    assert model.certified_
    assert (0, 2) in [pair.features for pair in model.terms_.pairs]
    alone = AdditiveOrdinal(random_state=0).fit(frame, y)
    scores = [m.ranked_probability_score(frame, y) for m in (model, alone)]
    assert scores[0] < 0.9 * scores[1]
    asked = AdditiveOrdinal(interactions=1, C=1.0, random_state=0).fit(frame, y)
    assert [pair.features for pair in asked.terms_.pairs] == [(0, 2)]


def test_shapes_and_sparse_rows():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = made(500)
    terms = {1: Spline(10, monotone="increasing")}
    model = AdditiveOrdinal(terms=terms, random_state=0).fit(X, y)
    assert model.certified_
    grid = np.column_stack([np.zeros(50), np.linspace(-2, 2, 50), np.zeros(50)])
    assert np.diff(model.predict_latent(grid)).min() >= -1e-12
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.5, np.abs(X), 0.0)
    dense = AdditiveOrdinal(C=1.0, random_state=0).fit(X, y)
    rows = AdditiveOrdinal(C=1.0, random_state=0).fit(sparse.csr_matrix(X), y)
    assert rows.certified_
    assert np.abs(rows.predict_proba(X) - dense.predict_proba(X)).mean() < 0.05


def test_from_files_and_within_memory(tmp_path):
    X, y = made(3000)
    table = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    table.to_parquet(tmp_path / "t.parquet")
    curve = Spline(10, knots="uniform")
    here = AdditiveOrdinal(curve, C=1.0, tol=1e-5, random_state=0).fit(X, y)
    from_file = clone(here).fit(tmp_path / "t.parquet", "y")
    P = here.predict_proba(X)
    assert_allclose(from_file.predict_proba(table.drop(columns="y")), P, atol=1e-3)
    small = clone(here).set_params(max_memory="1MB").fit(X, y)
    assert_allclose(small.predict_proba(X), P, atol=1e-3)
    assert from_file.certified_
    assert small.certified_


# -- the interface ---------------------------------------------------------------------------------


def test_predictions_follow_from_scores_and_cut_points(fitted):
    X, y = made(seed=2)
    f, cuts, P = fitted.predict_latent(X), fitted.cut_points_, fitted.predict_proba(X)
    assert_allclose(np.cumsum(P, axis=1)[:, :-1], expit(cuts - f[:, None]), atol=1e-12)
    assert_array_equal(fitted.predict(X), fitted.classes_[P.argmax(axis=1)])
    assert_allclose(fitted.predict_log_proba(X), np.log(P))
    assert_array_equal(fitted.intercept_, [0.0])
    assert fitted.score(X, y) == accuracy_score(y, fitted.predict(X))
    for q in (0.1, 0.5, 0.9):
        level = np.argmax(np.cumsum(P, axis=1) >= q, axis=1)
        assert_array_equal(fitted.predict_quantile(X, q), fitted.classes_[level])
    with pytest.raises(ValueError, match="q must be between 0 and 1"):
        fitted.predict_quantile(X, 1.0)


def test_ranked_probability_score(fitted):
    X, y = made(200, seed=2)
    up_to = np.cumsum(fitted.predict_proba(X), axis=1)
    each = [sum((up_to[i, k] - (y[i] <= k)) ** 2 for k in range(4)) for i in range(200)]
    assert fitted.ranked_probability_score(X, y) == pytest.approx(np.mean(each))
    weight = np.arange(200.0)
    expected = np.average(each, weights=weight)
    assert fitted.ranked_probability_score(X, y, weight) == pytest.approx(expected)
    with pytest.raises(ValueError, match="17, which is not in classes_"):
        fitted.ranked_probability_score(X, np.where(y == 0, 17, y))


def test_levels_in_their_order():
    X, number = made(400)
    names = np.array(["poor", "fair", "good", "great", "best"])
    given = AdditiveOrdinal(C=1.0, random_state=0)
    expected = clone(given).fit(X, number)
    by_type = pd.Series(pd.Categorical(names[number], [*names, "unheard of"], ordered=True))
    for model, y in (
        (clone(given), by_type),
        (clone(given).set_params(levels=names), names[number]),
        (clone(given).set_params(levels=[*names, "unheard of"]), names[number].tolist()),
    ):
        model.fit(X, y)
        assert model.classes_.tolist() == names.tolist()
        assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
        assert_array_equal(model.predict(X), names[expected.predict(X)])
        assert model.score(X, y) == expected.score(X, number)
        found = model.ranked_probability_score(X, y)
        assert found == expected.ranked_probability_score(X, number)
    back = clone(given).set_params(levels=[4, 3, 2, 1, 0]).fit(X, number)
    assert_allclose(back.predict_proba(X), expected.predict_proba(X)[:, ::-1], atol=1e-3)
    with pytest.warns(UserWarning, match="alphabetical order: best, fair"):
        clone(given).fit(X, names[number])


@pytest.mark.parametrize(
    ("levels", "y", "match"),
    [
        ([0], [0, 1, 0], "at least two different levels"),
        ([0, 0, 1], [0, 1, 0], "at least two different levels"),
        ("low", [0, 1, 0], "levels"),
        ([0, 1], [0, 1, 2], "2, which is not among the levels"),
        (None, [1, 1, 1], "only one class"),
        (None, [0.5, 1.7, 2.2], "continuous"),
    ],
)
def test_refuses(levels, y, match):
    with pytest.raises(ValueError, match=match):
        AdditiveOrdinal(levels=levels).fit(np.arange(3.0)[:, None], y)


def test_has_no_decision_function(fitted):
    assert not hasattr(fitted, "decision_function")
    with pytest.raises(AttributeError, match="predict_latent"):
        fitted.decision_function  # noqa: B018
    for name in ("cut_points_", "loss_", "classes_"):
        with pytest.raises(NotFittedError):
            getattr(AdditiveOrdinal(), name)


def test_warm_start_and_time_limit():
    X, y = made(500)
    model = AdditiveOrdinal(C=1.0, warm_start=True, random_state=0).fit(X, y)
    before, n_iter = model.predict_proba(X), model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ <= n_iter
    assert_allclose(model.predict_proba(X), before, atol=1e-2)
    stopped = AdditiveOrdinal(callback=lambda progress: True, random_state=0)
    with pytest.warns(ConvergenceWarning):
        stopped.fit(X, y)
    assert stopped.predict_proba(X).shape == (500, 5)


def test_same_seed_same_bits(fitted):
    again = AdditiveOrdinal(random_state=0).fit(*made())
    assert_array_equal(again.predict_latent(made()[0]), fitted.predict_latent(made()[0]))
    assert_array_equal(again.cut_points_, fitted.cut_points_)
    copied = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copied.predict_proba(made()[0]), fitted.predict_proba(made()[0]))
    assert_array_equal(
        copied.predict_interval(made()[0][:5]), fitted.predict_interval(made()[0][:5])
    )


# -- bands and explanations ------------------------------------------------------------------------


def test_intervals_contain_the_truth():
    hits, of_scores, of_curves = [], [], []
    grid = np.linspace(-1.9, 1.9, 39)
    for seed in range(12):
        X, y = made(1000, seed)
        model = AdditiveOrdinal(random_state=0).fit(X, y)
        new = made(200, seed + 100)[0]
        ends = model.predict_interval(new)
        hits.append((ends[..., 0] <= truth(new)) & (truth(new) <= ends[..., 1]))
        f = latent(new) - CUTS.mean()
        off = model.predict_latent(new) - model.cut_points_.mean() - f
        of_scores.append(np.abs(off) <= 1.96 * standard_error(model, new))
        x, low, high = band(model, 0, grid)
        curve = 2.0 * np.sin(2.0 * x) - 2.0 * np.sin(2.0 * X[:, 0]).mean()
        of_curves.append((low <= curve) & (curve <= high))
    for found in (hits, of_scores, of_curves):
        assert 0.9 < np.mean(found) < 0.99


def test_explanations_and_importances(fitted):
    X, _ = made()
    explanation = explain(fitted, X[:3], target_name="grade")
    total = explanation.base_value + explanation.contribution.sum(axis=1)
    assert_allclose(total, fitted.predict_latent(X[:3]), atol=1e-9)
    assert "latent scale of grade" in str(explanation)
    assert "cut points" in str(summary(fitted))
    assert np.argmax(importances(fitted, X)) == 0
    with pytest.raises(ValueError, match="one score is that of all levels"):
        band(fitted, 0, target=3)


def test_pictures_say_what_raises_the_level(fitted):
    plotting = pytest.importorskip("splinear.plotting")
    display = plotting.CurvesDisplay.from_estimator(fitted, made()[0], target_name="grade")
    [legend] = display.figure_.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words[:2] == ["raises grade", "lowers grade"]
    assert "latent scale of grade" in display.figure_.get_supylabel()
    explain(fitted, made()[0][:1], target_name="grade").plot(0)


# -- searches and files ----------------------------------------------------------------------------


def test_search_along_a_path():
    X, y = made(400)
    y[:3] = 7  # a level that is missing from some training folds
    Cs = [0.01, 1.0, 100.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a level with fewer rows than folds
        search = PathSearchCV(AdditiveOrdinal(random_state=0), Cs=Cs, cv=4)
        search.fit(X, y)
        grid = GridSearchCV(AdditiveOrdinal(random_state=0), {"C": Cs}, cv=4)
        grid.fit(X, y)
    own, other = (s.cv_results_["mean_test_score"] for s in (search, grid))
    assert_allclose(own, other, atol=0.03)
    assert search.best_estimator_.cut_points_.shape == (5,)


def test_in_a_pipeline_and_a_file(tmp_path, fitted):
    X, y = made()
    pipe = make_pipeline(StandardScaler(), AdditiveOrdinal(random_state=0)).fit(X, y)
    assert np.abs(pipe.predict_proba(X) - fitted.predict_proba(X)).max() < 0.05
    splinear.save(fitted, tmp_path / "m.splinear")
    again = splinear.load(tmp_path / "m.splinear")
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(again.predict_interval(X[:9]), fitted.predict_interval(X[:9]))
    assert_array_equal(again.cut_points_, fitted.cut_points_)


def test_category_effects_are_on_the_latent_scale():
    rng = np.random.default_rng(0)
    level = rng.choice(["a", "b", "c"], 3000)
    f = np.array([-1.0, 0.0, 2.0])[np.searchsorted(["a", "b", "c"], level)]
    y = np.digitize(f + rng.logistic(size=3000), [-1.0, 1.0])
    model = AdditiveOrdinal(terms={0: Category()}, random_state=0).fit(level[:, None], y)
    found = model.predict_latent(np.array([["a"], ["b"], ["c"]]))
    assert_allclose(found - found[1], [-1.0, 0.0, 2.0], atol=0.2)
