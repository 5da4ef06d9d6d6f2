"""AdditiveRegressor with a log link: counts and positive numbers, against other packages."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import gammaln
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits
from written_out import explicit

from splinear import AdditiveRegressor, PathSearchCV, SplineEmbedding
from splinear.inspection import base_value, contributions, standard_error
from splinear.terms import Category, Fourier, Hermite, Linear, Spline

POWER = {"poisson": 1, "gamma": 2}
THEIRS = {"poisson": PoissonRegressor, "gamma": GammaRegressor}
CURVES = [Spline(8, degree=0), Spline(10), Spline(6, degree=3, penalty_order=2), Fourier(2)]
CURVES += [Spline(10, knots="quantile", scale="native"), Hermite(3), Linear()]

by_loss = pytest.mark.parametrize("loss", POWER)


@pytest.mark.filterwarnings("ignore:.*equal another row in X and y")
@parametrize_with_checks(
    [
        AdditiveRegressor(loss="poisson", tol=1e-15),
        AdditiveRegressor(loss="gamma", C=1.0, tol=1e-15),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    """Three columns, weights, and targets of both kinds."""
    random = np.random.default_rng(0)
    X, weights = random.uniform(-2, 2, size=(400, 3)), random.uniform(0.2, 3.0, 400)
    mu = np.exp(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1])
    y = {"poisson": random.poisson(mu * weights) / weights, "gamma": random.gamma(2.0, mu / 2)}
    return X, y, weights


def make(loss, **params):
    return AdditiveRegressor(**{"random_state": 0, "loss": loss, **params})


def theirs(loss, phi, y, weights, C):
    """The fitted estimator of scikit-learn, and our objective at its optimum."""
    alpha = 1.0 / (C * weights.sum())
    other = THEIRS[loss](alpha=alpha, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    other.fit(phi, y, sample_weight=weights)
    deviance = mean_tweedie_deviance(
        y, other.predict(phi), sample_weight=weights, power=POWER[loss]
    )
    w = other.coef_
    return other, 0.5 * weights.sum() * deviance + 0.5 * w @ w / C


# -- the optimum -----------------------------------------------------------------------------------


@by_loss
@pytest.mark.parametrize("curve", CURVES, ids=repr)
@pytest.mark.parametrize("C", [0.05, 10.0])
@threadpool_limits.wrap(1, user_api="blas")
def test_the_optimum_is_that_of_scikit_learn(loss, curve, C, data):
    X, y, weights = data
    model = make(loss, curve=curve, C=C, tol=1e-8).fit(X, y[loss], weights)
    phi = explicit(model._model.layout.scaled(1 / C), X)
    other, value = theirs(loss, phi, y[loss], weights, C)
    assert model.certified_
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), other.predict(phi), rtol=1e-3)
    score = other.score(phi, y[loss], weights)
    assert model.score(X, y[loss], weights) == pytest.approx(score, abs=1e-5)


@by_loss
@threadpool_limits.wrap(1, user_api="blas")
def test_the_optimum_is_that_of_the_embedding(loss, data):
    X, y, weights = data
    embedding = SplineEmbedding(n_bins=10, knots="uniform")
    phi = embedding.fit_transform(X)
    phi = phi.toarray() if sparse.issparse(phi) else phi
    curve = Spline(10, knots="uniform")
    model = make(loss, curve=curve, C=2.0, tol=1e-9).fit(X, y[loss], weights)
    assert model.objective_ == pytest.approx(theirs(loss, phi, y[loss], weights, 2.0)[1], rel=1e-6)


@by_loss
def test_the_gap_is_a_proof(loss, data):
    X, y, weights = data
    for tol in (1e-1, 1e-3, 1e-6):
        for C in (1e-2, 1.0, 1e2, 1e4):
            model = make(loss, C=C, tol=tol).fit(X, y[loss], weights)
            best = make(loss, C=C, tol=1e-12).fit(X, y[loss], weights).objective_
            assert model.certified_
            # Codes round X where the tolerance allows it.
            assert best >= model.objective_ * (1.0 - model.dual_gap_ - (1e-5 if tol > 1e-4 else 0))


@by_loss
@pytest.mark.parametrize("C", [None, 1e-3, 1.0])
def test_the_intercept_is_free(loss, C, data):
    """The slopes sum to zero: means of counts are met, and so are those of ratios.

    If their sum is s and that of the bends is h, another intercept would gain about s^2 / (2 h), of
    which tol P is left at most.
    """
    X, y, weights = data
    tol = 1e-12
    model = make(loss, C=C, tol=tol).fit(X, y[loss], weights)
    mu = model.predict(X)
    wrong = y[loss] - mu if loss == "poisson" else y[loss] / mu - 1.0
    bends = mu if loss == "poisson" else y[loss] / mu
    assert abs(weights @ wrong) < np.sqrt(2 * tol * model.objective_ * (weights @ bends))


# -- weights and exposure --------------------------------------------------------------------------


@by_loss
@pytest.mark.parametrize("C", [None, 1.0])
def test_counts_are_repeats(loss, C, data):
    X, y, _ = data
    repeats = np.random.default_rng(0).integers(0, 4, len(X))
    params = {"curve": Spline(8), "C": C, "tol": 1e-10}
    weighted = make(loss, **params).fit(X, y[loss], counts=repeats)
    again = np.repeat(X, repeats, axis=0), np.repeat(y[loss], repeats)
    repeated = make(loss, **params).fit(*again, counts=np.ones(repeats.sum()))
    # Smoothness is chosen to the accuracy of its steps, which depends on the order of the rows.
    rel = 1e-3 if C is None else 1e-6
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=rel)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=20 * rel)


@pytest.mark.parametrize("C", [None, 1.0])
def test_exposure_is_a_weight(C):
    """Counts of years are those of their months: one row of 12 months, or 12 rows of one."""
    random = np.random.default_rng(0)
    X = random.integers(0, 40, size=(300, 1)) / 40.0
    months = random.poisson(0.2 * np.exp(2 * X), size=(300, 12))
    model = make("poisson", curve=Spline(8), C=C, tol=1e-10)
    model.fit(X, months.sum(axis=1) / 12.0, sample_weight=np.full(300, 12.0))
    by_month = make("poisson", curve=Spline(8), C=C, tol=1e-10)
    by_month.fit(np.repeat(X, 12, axis=0), months.ravel())
    # There are 300 or 3,600 rows to estimate the dispersion from.
    rel = 0.03 if C is None else 1e-3
    np.testing.assert_allclose(model.predict(X), by_month.predict(X), rtol=rel)
    in_days = make("poisson", curve=Spline(8), C=C, tol=1e-10)
    in_days.fit(X, months.sum(axis=1) / 365.0, sample_weight=np.full(300, 365.0))
    np.testing.assert_allclose(365.0 * in_days.predict(X), 12.0 * model.predict(X), rtol=1e-4)
    assert in_days.objective_ == pytest.approx(model.objective_, rel=1e-8)


@pytest.mark.parametrize("C", [None, 1.0])
def test_the_unit_of_positive_numbers_does_not_matter(C, data):
    X, y, _ = data
    one, two = (make("gamma", C=C, tol=1e-8).fit(X, k * y["gamma"]) for k in (1.0, 1e6))
    np.testing.assert_allclose(two.predict(X), 1e6 * one.predict(X), rtol=1e-5)
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-8)


# -- smoothness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.5, 3.0])
@threadpool_limits.wrap(1, user_api="blas")
def test_positive_numbers_get_the_best_marginal_likelihood(shape):
    """One curve under one variance: over variance and shape, by Laplace's method and SciPy."""
    random = np.random.default_rng(1)
    X = random.uniform(-1, 1, size=(500, 1))
    y = random.gamma(shape, np.exp(np.sin(4 * X[:, 0])) / shape)
    curve = Spline(10, degree=3, penalty_order=3, knots="uniform")
    model = make("gamma", curve=curve, tol=1e-8).fit(X, y)
    plain = make("gamma", curve=curve, C=1.0).fit(X, y)
    unit = plain.terms_[0].smoothness

    def minus_log_likelihood(log_t, log_k):
        fit = make("gamma", curve=curve, C=np.exp(log_t), tol=1e-10).fit(X, y)
        k, phi = np.exp(log_k), explicit(fit._model.layout, X)
        ratio = y / fit.predict(X)
        A = np.column_stack([phi, np.ones(len(X))])
        H = k * (A.T @ (ratio[:, None] * A) + np.diag(np.append(np.ones(phi.shape[1]), 0.0)))
        constant = len(y) * (k * log_k - k - gammaln(k))  # the half deviances come off that
        prior = phi.shape[1] * log_k  # of a precision k / t, on the coefficients of the embedding
        determinant = np.linalg.slogdet(H)[1]
        return k * fit.objective_ - constant - 0.5 * prior + 0.5 * determinant

    ours = np.log(model.terms_[0].smoothness / unit)
    start = [ours, np.log(shape)]
    found = minimize(lambda p: minus_log_likelihood(*p), start, method="Nelder-Mead",
                     options={"maxiter": 60, "xatol": 1e-2, "fatol": 1e-3})  # fmt: skip
    assert minus_log_likelihood(ours, found.x[1]) - found.fun < 0.1
    assert abs(ours - found.x[0]) < 1.0


def dispersed_counts(seed, n=3000):
    """Two columns, of which the first matters, and counts of which the variance is 4 means."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, size=(n, 2))
    f = 1.0 + np.sin(2 * X[:, 0])
    return X, f, random.negative_binomial(np.exp(f) / 3.0, 0.25)


@threadpool_limits.wrap(1, user_api="blas")
def test_counts_that_vary_more_give_smooth_curves():
    """As smooth as those of the quasi-likelihood with the true dispersion, by weights."""
    errors, errors_of_weights, errors_of_ones = [], [], []
    for seed in range(4):
        X, f, y = dispersed_counts(seed)
        calm = np.random.default_rng(seed).poisson(np.exp(f))
        ours = np.log(make("poisson").fit(X, y).predict(X))
        weighted = make("poisson").fit(X, y, sample_weight=np.full(len(X), 0.25))
        errors.append(np.mean((ours - f) ** 2))
        errors_of_weights.append(np.mean((np.log(weighted.predict(X)) - f) ** 2))
        errors_of_ones.append(np.mean((np.log(make("poisson").fit(X, calm).predict(X)) - f) ** 2))
    assert np.mean(errors) == pytest.approx(np.mean(errors_of_weights), rel=0.1)
    assert np.mean(errors) < 8.0 * np.mean(errors_of_ones)  # 4 times the variance


@pytest.mark.parametrize("exposed", [False, True])
def test_the_dispersion_of_counts_is_that_of_their_sum(exposed):
    """The variance of sum_i c_i y_i over its mean; exposures of less than 1 are one row each."""
    X, f, y = dispersed_counts(0)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, len(X)) if exposed else np.ones(len(X))
    model = make("poisson", C=1.0, tol=1e-8).fit(X, y, sample_weight=weights)
    mu = model.predict(X)
    [posterior] = model._posteriors
    expected = np.sum((weights * (y - mu)) ** 2) / np.sum(weights * mu)
    expected *= len(X) / (len(X) - posterior.freedom)
    assert posterior.noise == pytest.approx(expected, rel=1e-6)
    calm = np.random.default_rng(1).poisson(weights * np.exp(f)) / weights
    model.fit(X, calm, sample_weight=weights)
    [posterior] = model._posteriors
    assert posterior.noise == pytest.approx(1.0, abs=0.1)


@threadpool_limits.wrap(1, user_api="blas")
def test_bands_of_counts_that_vary_more_cover_the_mean():
    inside = []
    for seed in range(10):
        X, f, y = dispersed_counts(seed, n=1000)
        model = make("poisson").fit(X, y)
        off = np.abs(np.log(model.predict(X)) - f)
        inside.append(np.mean(off <= 1.96 * standard_error(model, X)))
    assert 0.9 < np.mean(inside) <= 1.0


@threadpool_limits.wrap(1, user_api="blas")
def test_counts_have_the_curves_that_were_planted():
    """Better than any one strength for all terms, and noise gets none."""
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, size=(3000, 6))
    f = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1]
    y = random.poisson(np.exp(f))
    model = make("poisson").fit(X, y)
    errors = [
        np.mean((np.log(make("poisson", curve=Spline(50), C=C).fit(X, y).predict(X)) - f) ** 2)
        for C in np.geomspace(1e-2, 1e2, 5)
    ]
    assert np.mean((np.log(model.predict(X)) - f) ** 2) < min(errors)
    assert model.feature_importances_[2:].max() < 0.1 * model.feature_importances_[:2].min()


@threadpool_limits.wrap(1, user_api="blas")
def test_statsmodels_finds_the_same_curve_for_the_smoothness_chosen():
    """And by Akaike's criterion, which chooses in another way, much the same one."""
    gam = pytest.importorskip("statsmodels.gam.api")
    api = pytest.importorskip("statsmodels.api")
    random = np.random.default_rng(0)
    x = np.sort(random.uniform(0, 1, 1000))
    y = random.poisson(np.exp(1.0 + np.sin(6 * x)))
    curve = Spline(12, degree=3, penalty_order=3, knots="uniform")
    model = make("poisson", curve=curve, tol=1e-10).fit(x[:, None], y)
    phi = explicit(model._model.layout, x[:, None])
    design = np.column_stack([phi, np.ones(len(x))])
    penalty = np.diag(np.append(np.ones(phi.shape[1]), 0.0))
    fitted = api.GLM(y, design, family=api.families.Poisson())
    # Penalized iteratively reweighted least squares with the weights and responses of statsmodels.
    mu = y + 0.5
    for _ in range(50):
        w = fitted.family.weights(mu)
        response = fitted.family.link(mu) + fitted.family.link.deriv(mu) * (y - mu)
        beta = np.linalg.solve(
            design.T @ (w[:, None] * design) + penalty, design.T @ (w * response)
        )
        mu = fitted.family.link.inverse(design @ beta)
    np.testing.assert_allclose(model.predict(x[:, None]), mu, rtol=1e-4)
    smoother = gam.BSplines(x[:, None], df=[12], degree=[3])
    found = [
        gam.GLMGam(
            y, np.ones((len(x), 1)), smoother=smoother, alpha=[a], family=api.families.Poisson()
        ).fit()
        for a in np.geomspace(1e-4, 1e4, 17)
    ]
    theirs = np.log(min(found, key=lambda fit: fit.aic).fittedvalues)
    truth = 1.0 + np.sin(6 * x)
    ours = np.log(model.predict(x[:, None]))
    assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.05
    assert np.mean((ours - truth) ** 2) < 1.5 * np.mean((theirs - truth) ** 2)


# -- what is predicted, and in which unit ----------------------------------------------------------


@by_loss
def test_terms_are_in_units_of_the_logarithm(loss, data):
    X, y, weights = data
    model = make(loss).fit(X, y[loss], weights)
    scores = base_value(model) + contributions(model, X).sum(axis=1)
    np.testing.assert_allclose(np.exp(scores), model.predict(X), rtol=1e-9)
    assert (model.predict(X) > 0).all()


@by_loss
def test_the_picture_says_so(loss, data):
    plotting = pytest.importorskip("splinear.plotting")
    pytest.importorskip("matplotlib").use("Agg")
    X, y, weights = data
    model = make(loss).fit(X, y[loss], weights)
    display = plotting.CurvesDisplay.from_estimator(model, X, target_name="claims")
    assert display.figure_.get_supylabel() == "factor on the mean of claims"


@by_loss
def test_the_score_is_the_share_of_deviance(loss, data):
    X, y, weights = data
    model = make(loss).fit(X, y[loss], weights)
    for w in (None, weights):
        expected = d2_tweedie_score(y[loss], model.predict(X), sample_weight=w, power=POWER[loss])
        assert model.score(X, y[loss], w) == expected
    model.set_params(loss="squared_error")  # what was learned stays what it was
    assert model.score(X, y[loss], weights) == expected


@by_loss
def test_a_target_that_does_not_vary(loss, data):
    X, _, weights = data
    for value in (2.5, 1e-20, 1e30):
        for C in (None, 1.0):
            model = make(loss, C=C).fit(X, np.full(len(X), value), weights)
            np.testing.assert_allclose(model.predict(X), value, rtol=1e-12)
            assert model.dual_gap_ == 0.0
            assert model.certified_
            assert model.score(X, np.full(len(X), value)) == 1.0
            assert model.score(X, np.full(len(X), 2 * value)) == 0.0


def test_predictions_beyond_all_bounds_are_finite():
    x = np.arange(20.0)[:, None]
    model = make("gamma", curve=Spline(extrapolation="linear"), C=1e4).fit(x, np.exp(x[:, 0]))
    far = model.predict([[1e6], [-1e6], [10.0]])
    assert np.isfinite(far).all()
    assert (far > 0).all()
    assert far[2] == pytest.approx(np.exp(10.0), rel=0.1)
    assert np.isfinite(model.score([[1e6], [-1e6], [10.0]], [1.0, 2.0, 3.0]))


# -- what is refused, and what is not --------------------------------------------------------------


@pytest.mark.parametrize("kept", [True, False])
def test_targets_out_of_range_are_named(kept, data):
    X, y, _ = data
    weights = np.ones(len(X))
    for loss, value, need in (
        ("poisson", -0.5, "needs targets of 0 or more; y is -0.5 in row 7"),
        ("gamma", 0.0, "needs targets above 0; y is 0 in row 7"),
        ("gamma", -3.0, "needs targets above 0; y is -3 in row 7"),
    ):
        wrong = y[loss].copy()
        wrong[7] = value
        weights[7] = float(kept)
        model = make(loss)
        if kept:
            with pytest.raises(ValueError, match=need):
                model.fit(X, wrong, weights)
            assert not hasattr(model, "terms_")
        else:  # a row of weight 0 is not there
            others = np.arange(len(X)) != 7
            found = model.fit(X, wrong, weights).predict(X)
            alone = make(loss).fit(X[others], y[loss][others]).predict(X)
            np.testing.assert_allclose(found, alone, rtol=1e-2)


@pytest.mark.parametrize("n_events", [1, 2])
@pytest.mark.parametrize("interactions", ["auto", 2])
def test_pairs_where_all_counts_of_a_part_are_zero(n_events, interactions):
    """Pairs are looked for on folds, of which some have all the events."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 3)), np.zeros(120)
    y[:n_events] = 1.0
    model = make("poisson").set_params(interactions=interactions, random_state=0).fit(X, y)
    assert model.pair_search_["looked_at"] == 3
    assert model.predict(X).mean() == pytest.approx(n_events / 120, rel=1e-2)


def test_counts_that_are_all_tiny_are_refused():
    """Their curvatures are 0 in single precision; Hessians were singular."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.arange(50) % 3 * 1e-300
    with pytest.raises(ValueError, match=r"targets of at most 2e-300; multiply y"):
        make("poisson").fit(X, y)
    assert make("poisson").fit(X, y * 1e285).certified_


def test_counts_that_are_all_zero_are_refused(data):
    X, _, _ = data
    with pytest.raises(ValueError, match=r"needs a target above 0.*minus infinity"):
        make("poisson").fit(X, np.zeros(len(X)))
    one = np.zeros(len(X))
    one[3] = 1.0
    with pytest.raises(ValueError, match="needs a target above 0"):
        make("poisson").fit(X, one, sample_weight=1.0 - one)
    with pytest.raises(ValueError, match="needs a target above 0"):  # in one of the folds
        PathSearchCV(make("poisson"), Cs=3, cv=3).fit(X, one)
    model = make("poisson").fit(X, one)
    assert model.certified_
    assert model.predict(X).mean() == pytest.approx(1 / len(X), rel=1e-2)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_a_region_without_counts_has_a_finite_prediction(tol):
    """However weak the penalty is; others can only reach what the claim says."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(1000, 2))
    y = np.where(X[:, 0] > 0, random.poisson(3.0, 1000), 0)
    # Codes are summed in single precision, which is too coarse for a proof under a C of 1e8.
    for C in (1.0, 1e4, 1e6 if tol == 1e-3 else 1e8):
        model = make("poisson", C=C, tol=tol).fit(X, y)
        assert model.certified_
        assert np.isfinite(np.log(model.predict(X))).all()
        assert model.predict(X)[X[:, 0] < -0.2].max() < 0.2
        assert model.predict(X)[X[:, 0] > 0.2].mean() == pytest.approx(3.0, rel=0.1)


HOSTILE = {
    "1e30 counts": lambda y, random: 1e30 * y,
    "counts of 1e-30": lambda y, random: 1e-30 * y,
    "one of 1e30": lambda y, random: np.where(np.arange(len(y)) == 3, 1e30, y),
    "one of 1e-300": lambda y, random: np.where(np.arange(len(y)) == 3, 1e-300, y),
    "without noise": lambda y, random: 1e24 * (1.0 + np.arange(len(y)) // 40),
    "heavy tails": lambda y, random: np.exp(8.0 * random.normal(size=len(y))),
}


@by_loss
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("C", [None, 1e-8, 1.0, 1e8])
@pytest.mark.parametrize("weight", [1.0, 1e-20])
def test_hostile_targets(loss, name, C, weight, data):
    """Finite models, no warning but that of convergence, and no certificate without a proof."""
    X, y, _ = data
    target = HOSTILE[name](y[loss], np.random.default_rng(0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make(loss, C=C, tol=1e-4, max_iter=30)
        model.fit(X, target, np.full(len(X), weight))
        mu = model.predict(X)
    assert {one.category for one in caught} <= {ConvergenceWarning}
    assert model.certified_ == (not caught)
    assert np.isfinite(mu).all()
    assert (mu > 0).all()
    assert model.certified_ == (model.dual_gap_ <= 1e-4)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.score(X, target))


# -- tables, searches, starts ----------------------------------------------------------------------


@by_loss
def test_every_kind_of_table(loss, data, tmp_path):
    X, y, weights = data
    dense = np.where(X > 0, X, 0.0)
    by_zero = make(loss, curve=Spline(6), C=1.0, tol=1e-6).fit(sparse.csr_array(dense), y[loss])
    phi = explicit(by_zero._model.layout, dense)
    assert by_zero.objective_ == pytest.approx(
        theirs(loss, phi, y[loss], np.ones(len(X)), 1.0)[1], rel=1e-5
    )
    frame = pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1].round(), "c": np.where(X[:, 2] > 1, None, "x")}
    )
    frame.loc[::5, "a"] = np.nan
    model = make(loss, terms={"b": Category()}).fit(frame, y[loss], weights)
    assert model.certified_
    assert model.score(frame, y[loss], weights) > 0.2
    np.save(tmp_path / "x.npy", X)
    on_disk = make(loss, C=1.0, max_memory="20MB").fit(tmp_path / "x.npy", y[loss], weights)
    in_memory = make(loss, C=1.0).fit(X, y[loss], weights)
    assert on_disk.objective_ == pytest.approx(in_memory.objective_, rel=2e-3)
    assert on_disk.score(tmp_path / "x.npy", y[loss]) > 0.2


@by_loss
def test_codes_on_disk(loss):
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 20))
    y = random.gamma(1.0, np.exp(np.sin(X[:, 0])))
    y = np.ceil(y) - 1.0 if loss == "poisson" else y
    small = make(loss, C=1.0, max_memory="6MB").fit(X, y)
    assert small.objective_ == pytest.approx(make(loss, C=1.0).fit(X, y).objective_, rel=1e-3)
    assert small.certified_


@by_loss
def test_warm_start_goes_on(loss, data):
    X, y, weights = data
    exact = {"C": 1.0, "tol": 1e-7}
    warm = make(loss, **exact, warm_start=True).fit(X, y[loss], weights)
    assert warm.fit(X, y[loss], weights).n_iter_ == 0
    cold = make(loss, **{**exact, "C": 1.5}).fit(X, y[loss], weights)
    warm.set_params(C=1.5).fit(X, y[loss], weights)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    assert warm.n_iter_ <= cold.n_iter_
    other = make("squared_error", **exact, warm_start=True).fit(X, 1e6 * y[loss])
    other.set_params(loss=loss).fit(X, y[loss], weights)  # from what is no help
    assert other.objective_ == pytest.approx(
        make(loss, **exact).fit(X, y[loss], weights).objective_, rel=1e-6
    )


@by_loss
def test_a_search_compares_shares_of_deviance(loss, data):
    X, y, weights = data
    folds = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]
    curve = Spline(knots=np.linspace(-2, 2, 7))  # the same for all rows and for those of a fold
    search = PathSearchCV(make(loss, curve=curve, tol=1e-8), Cs=4, cv=folds)
    search.fit(X, y[loss], sample_weight=weights)
    C = search.cv_results_["param_C"][1]
    train, test = folds[0]
    alone = make(loss, curve=curve, C=C, tol=1e-8)
    alone.fit(X[train], y[loss][train], weights[train])
    expected = alone.score(X[test], y[loss][test], weights[test])
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(expected, abs=1e-3)
    assert search.best_score_ > 0.2
    assert search.best_estimator_.loss == loss
