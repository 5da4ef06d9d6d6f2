"""What every loss of numbers must hold, by itself and in fits: one list, one body."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom
from sklearn.base import clone
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance

import splinear
from splinear import AdditiveRegressor, PathSearchCV, report
from splinear.export import to_json, to_onnx, to_sql
from splinear.inspection import explain, summary
from splinear.losses import (
    Gamma,
    Hinge,
    Logistic,
    Loss,
    NegativeBinomial,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
)
from splinear.losses.survey import Survey
from splinear.terms import Spline


@dataclass(frozen=True)
class PseudoHuber(Loss):
    """A user's own loss: a parabola near y, and straight away from it."""

    width: float = 1.0
    convex = True

    def value(self, y, f):
        return self.width * (np.hypot(self.width, f - y) - self.width)

    def slope(self, y, f):
        return self.width * (f - y) / np.hypot(self.width, f - y)

    def curvature(self, y, f):
        return self.width**3 / np.hypot(self.width, f - y) ** 3


@dataclass(frozen=True)
class OwnPoisson(Loss):
    """A user's own loss with a logarithmic link."""

    convex = True
    link = "log"
    needs = "counts are 0 or more"

    def allows(self, y):
        return y >= 0

    def value(self, y, f):
        return np.exp(f) - y * f + y * np.log(np.where(y > 0, y, 1.0)) - y

    def slope(self, y, f):
        return np.exp(f) - y

    def curvature(self, y, f):
        return np.exp(f)


LOSSES = [
    SquaredError(),
    Poisson(),
    Gamma(),
    Tweedie(),
    Tweedie(1.1),
    Tweedie(1.95),
    NegativeBinomial(0.3),
    NegativeBinomial(20.0),
    PseudoHuber(0.5),
    OwnPoisson(),
]
FITTED = [
    SquaredError(),
    Poisson(),
    Gamma(),
    Tweedie(1.6),
    NegativeBinomial(),
    NegativeBinomial(2.0),
    Quantile(),
    Quantile(0.3),
    PseudoHuber(),
]
each = pytest.mark.parametrize("loss", LOSSES, ids=repr)
fitted = pytest.mark.parametrize("loss", FITTED, ids=repr)

CUBIC = Spline(6, degree=3, penalty_order=2, knots="uniform")


def targets(loss, n=300, seed=0):
    """Targets that the loss takes, with zeros among them if it does, and their log-means."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    if isinstance(loss, SquaredError | PseudoHuber | Quantile):
        return X, f, f + 0.3 * rng.standard_t(3, n)
    if isinstance(loss, Gamma):
        return X, f, rng.gamma(2.0, np.exp(f) / 2.0) + 1e-6
    counts = rng.poisson(np.exp(f) * rng.gamma(2.0, 0.5, n)).astype(float)
    if isinstance(loss, Tweedie):
        return X, f, np.where(counts > 0, rng.gamma(np.maximum(counts, 1.0)), 0.0)
    return X, f, counts


def scores(loss, y):
    """Scores near and far from where the losses are least."""
    middle = np.mean(loss.scores_of(y[y > 0] if loss.link == "log" else y))
    return [middle + away + 0.1 * np.sin(np.arange(len(y))) for away in (-4.0, -0.5, 0.2, 3.0)]


# -- by itself -------------------------------------------------------------------------------------


@each
def test_slope_and_curvature_are_derivatives(loss):
    _, _, y = targets(loss)
    h = 1e-5
    for f in scores(loss, y):
        rise = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
        assert_allclose(loss.slope(y, f), rise, rtol=1e-6, atol=1e-7 * (1 + np.abs(rise).max()))
        bend = (loss.slope(y, f + h) - loss.slope(y, f - h)) / (2 * h)
        curvature = loss.curvature(y, f)
        assert_allclose(curvature, bend, rtol=1e-6, atol=1e-7 * (1 + np.abs(bend).max()))
        assert curvature.min() >= 0.0


@each
def test_values_are_at_least_0_and_0_at_their_least(loss):
    _, _, y = targets(loss)
    for f in scores(loss, y):
        assert loss.value(y, f).min() >= 0.0
    positive = y[y > 0] if loss.link == "log" else y
    at = loss.scores_of(positive)
    assert_allclose(loss.value(positive, at), 0.0, atol=1e-12 * positive.max())
    near = loss.value(positive, at + 1e-6)  # digits are not lost near the least value
    assert_allclose(near, 0.5e-12 * loss.curvature(positive, at), rtol=1e-3, atol=1e-15)


@each
def test_loss_is_convex(loss):
    _, _, y = targets(loss)
    for f in scores(loss, y):
        for g in scores(loss, y):
            tangent = loss.value(y, f) + loss.slope(y, f) * (g - f)
            assert np.all(loss.value(y, g) >= tangent - 1e-9 * (1 + np.abs(tangent)))


@each
def test_gap_is_value_plus_conjugate_less_their_product(loss):
    """The conjugate is found by a search, row by row."""
    _, _, y = targets(loss, 12)
    first, second = scores(loss, y)[1:3]
    R = loss.slope(y, first)
    gap = loss.gap(y, second[None], R[None])
    for i in range(len(y)):
        one, r = y[i : i + 1], R[i]

        def lacks(g, one=one, r=r):
            return float(loss.value(one, np.array([g]))[0] - r * g)

        found = minimize_scalar(lacks, bracket=(first[i] - 0.5, first[i] + 0.5), tol=1e-12)
        expected = float(loss.value(one, second[i : i + 1])[0]) - r * second[i] - found.fun
        assert gap[i] == pytest.approx(expected, rel=1e-5, abs=1e-9)
    assert gap.min() >= 0.0


@each
def test_gap_is_0_where_slopes_are_the_losses_own(loss):
    _, _, y = targets(loss)
    for f in scores(loss, y):
        gap = loss.gap(y, f[None], loss.slope(y, f)[None])
        assert_allclose(gap, 0.0, atol=1e-11 * (1.0 + loss.value(y, f).max()))


@pytest.mark.parametrize("loss", [NegativeBinomial(2.0), Poisson(), Tweedie(1.5)], ids=repr)
def test_what_is_no_slope_has_no_bound(loss):
    y, f = np.array([0.0, 3.0]), np.zeros((1, 2))
    below = -y[None] - 1.0  # slopes tend to -y, or to minus infinity
    gap = loss.gap(y, f, below)
    assert gap[0] == np.inf
    assert (gap[1] == np.inf) == (not isinstance(loss, Tweedie))


@each
def test_a_constant_shift_is_the_best_one(loss):
    _, _, y = targets(loss)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    at = loss.constant_score(y, weights)
    total = weights @ loss.value(y, np.full(len(y), at))
    for step in (-0.01, 0.01):
        assert weights @ loss.value(y, np.full(len(y), at + step)) > total


@each
def test_center_and_unit(loss):
    _, _, y = targets(loss)
    known = loss.fitted(Survey.of(y))
    expected = np.log(y.max()) if loss.link == "log" else y.mean()
    assert known.center == pytest.approx(expected)
    assert np.log2(known.unit) == np.round(np.log2(known.unit))
    assert loss.seen is None


def test_tweedie_is_half_the_deviance_of_scikit_learn():
    _, f, y = targets(Tweedie())
    for power in (1.05, 1.5, 1.9):
        value = Tweedie(power).value(y, f)
        expected = 0.5 * mean_tweedie_deviance(y, np.exp(f), power=power)
        assert value.mean() == pytest.approx(expected, rel=1e-12)


def test_negative_binomial_and_its_constant_are_the_probability_of_scipy():
    _, f, y = targets(NegativeBinomial())
    for theta in (1e-2, 0.7, 30.0, 1e5):
        loss, mu = NegativeBinomial(theta), np.exp(f)
        expected = -nbinom.logpmf(y, theta, theta / (theta + mu))
        assert_allclose(loss.value(y, f) + loss.constant(y), expected, rtol=1e-7, atol=1e-9)


def test_negative_binomial_with_a_large_theta_is_poisson():
    _, f, y = targets(NegativeBinomial())
    almost, poisson = NegativeBinomial(1e9), Poisson()
    for of in ("value", "slope", "curvature"):
        expected = getattr(poisson, of)(y, f)
        assert_allclose(getattr(almost, of)(y, f), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("power", [1.0, 2.0, 0.0, np.nan])
def test_other_powers_are_refused(power):
    with pytest.raises(ValueError, match="needs a power between 1 and 2"):
        Tweedie(power)


@pytest.mark.parametrize("theta", [0.0, -1.0, np.inf, np.nan])
def test_a_theta_that_is_not_positive_is_refused(theta):
    with pytest.raises(ValueError, match="needs a theta above 0, or None"):
        NegativeBinomial(theta)


# -- in fits ---------------------------------------------------------------------------------------


def model_of(loss, **given):
    return AdditiveRegressor(CUBIC, loss=loss, random_state=0, **given)


@fitted
@pytest.mark.parametrize("C", [None, 1.0])
def test_fits_are_certified_and_near_the_truth(loss, C):
    X, f, y = targets(loss, 800)
    model = model_of(loss, C=C).fit(X, y)
    assert model.certified_
    assert model.dual_gap_ <= model.tol
    found = model.loss_.scores_of(model.predict(X))
    assert np.sqrt(np.mean((found - f) ** 2)) < 0.3
    assert 0.1 < model.score(X, y) < 1.0
    far = model.predict(1e3 * X)
    assert np.all(np.isfinite(far))
    assert loss.link != "log" or far.min() > 0.0
    assert model.score(X, y) > model_of(loss, C=1e-6).fit(X, y).score(X, y)


@fitted
@pytest.mark.parametrize("C", [None, 1.0])
def test_targets_that_are_all_equal_are_fitted_exactly(loss, C):
    X, _, y = targets(loss)
    model = model_of(loss, C=C).fit(X, np.full(len(y), 7.0))
    assert model.certified_
    assert_allclose(model.predict(X), 7.0, rtol=1e-12)


@fitted
def test_a_factor_of_the_weights_changes_nothing(loss):
    X, _, y = targets(loss)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    one, other = (model_of(loss).fit(X, y, factor * weights) for factor in (1.0, 250.0))
    assert_allclose(other.predict(X), one.predict(X), rtol=2e-3, atol=2e-3)
    assert sum(t.edf for t in other.terms_) == pytest.approx(
        sum(t.edf for t in one.terms_), rel=5e-3
    )


@fitted
def test_counts_are_repeated_rows(loss):
    X, _, y = targets(loss)
    counts = np.random.default_rng(2).integers(1, 4, len(y))
    merged, repeated = (model_of(loss, C=1.0, tol=1e-5) for _ in range(2))
    merged.fit(X, y, counts=counts)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(merged.predict(X), repeated.predict(X), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("loss", [Tweedie(1.6), Gamma(), Poisson()], ids=repr)
def test_the_unit_of_y_does_not_matter(loss):
    """For Poisson counts it is that of the exposure, which is the weight."""
    X, _, y = targets(loss)
    for unit in (1e-3, 1e3):
        weights = np.full(len(y), 1.0 / unit if isinstance(loss, Poisson) else 1.0)
        scaled = model_of(loss).fit(X, unit * y, weights)
        assert_allclose(scaled.predict(X), unit * model_of(loss).fit(X, y).predict(X), rtol=5e-3)


@pytest.mark.parametrize("loss", [Tweedie(1.5), NegativeBinomial(), PseudoHuber()], ids=repr)
def test_intervals_cover_the_truth(loss):
    """About 95 of 100 times; the standard error of this mean of 30 shares is about 0.015.

    Amounts that are made up of a mixed Poisson number of parts vary more where they are large than
    Tweedie's power of 1.5 says, so that there it is a little less.
    """
    covered = []
    for seed in range(30):
        X, f, y = targets(loss, 500, seed)
        model = AdditiveRegressor(loss=loss, random_state=0).fit(X, y)
        truth = f if loss.link == "identity" else np.exp(f)
        low, high = model.predict_interval(X).T
        covered.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.87 < np.mean(covered) < 0.99


@fitted
def test_models_are_explained_pickled_and_cloned(loss):
    X, _, y = targets(loss)
    model = model_of(loss, interactions=[(0, 1)]).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert_allclose(other.predict(X), model.predict(X), rtol=1e-12)
    low, high = model.predict_interval(X[:20]).T
    assert np.all(low < model.predict(X[:20]))
    assert np.all(high > model.predict(X[:20]))
    assert explain(model, X[:2]).prediction == pytest.approx(model.predict(X[:2]))
    text = str(summary(model))
    assert ("loss: " in text) == (not isinstance(loss, SquaredError | Poisson | Gamma))
    assert f'"link": "{loss.link}"' in to_json(model)
    assert ("EXP" in to_sql(model, "rows").upper()) == (loss.link == "log")


@fitted
def test_reports_name_the_loss(loss, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    X, _, y = targets(loss)
    model = model_of(loss).fit(X, y)
    report.write(model, tmp_path / "model.html", X_test=X, y_test=y)
    page = (tmp_path / "model.html").read_text(encoding="utf-8")
    assert f"loss: {model.loss_.title}".lower() in page.lower()
    if not isinstance(loss, SquaredError):
        assert f"{model.loss_.title} deviance" in page
        assert f"{model.score(X, y):.3f}" in page


@fitted
def test_graphs_of_onnx_predict_the_same(loss):
    onnx = pytest.importorskip("onnx.reference", reason="onnx is not installed")
    X, _, y = targets(loss)
    model = model_of(loss).fit(X, y)
    graph = to_onnx(model)
    given = {graph.graph.input[0].name: X.astype(np.float32)}
    [predicted, *_] = onnx.ReferenceEvaluator(graph).run(None, given)
    assert_allclose(np.ravel(predicted), model.predict(X), rtol=1e-4, atol=1e-4)


def test_scores_refuse_wrong_targets():
    X, _, y = targets(NegativeBinomial())
    model = model_of(NegativeBinomial(2.0)).fit(X, y)
    with pytest.raises(ValueError, match="needs targets of 0 or more; y is -1 in row 3"):
        model.score(X, np.where(np.arange(len(y)) == 3, -1.0, y))


@pytest.mark.parametrize("loss", FITTED[:-1], ids=repr)
def test_models_are_saved(loss, tmp_path):
    X, _, y = targets(loss)
    model = model_of(loss).fit(X, y)
    splinear.save(model, tmp_path / "model.splinear")
    loaded = splinear.load(tmp_path / "model.splinear")
    assert loaded.loss == loss
    assert loaded.loss_.parameters() == model.loss_.parameters()
    assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-12)
    assert loaded.score(X, y) == pytest.approx(model.score(X, y), rel=1e-12)


def test_a_loss_of_ones_own_is_not_saved(tmp_path):
    X, _, y = targets(PseudoHuber())
    model = model_of(PseudoHuber()).fit(X, y)
    with pytest.raises(TypeError, match="a loss of your own, PseudoHuber"):
        splinear.save(model, tmp_path / "model.splinear")


@fitted
def test_files_give_the_same_model(loss, tmp_path):
    X, _, y = targets(loss)
    np.save(tmp_path / "X.npy", X)
    rows = np.column_stack([X, y])
    np.savetxt(tmp_path / "X.csv", rows, "%.17g", ",", header="a,b,y", comments="")
    model = model_of(loss).fit(X, y)
    from_npy = model_of(loss).fit(str(tmp_path / "X.npy"), y)
    from_csv = model_of(loss).fit(str(tmp_path / "X.csv"), "y")
    assert_allclose(from_npy.predict(X), model.predict(X), rtol=1e-9)
    assert_allclose(from_csv.predict(str(tmp_path / "X.csv")), model.predict(X), rtol=1e-9)


@pytest.mark.parametrize("name", ["squared_error", "poisson", "gamma", "tweedie", "quantile"])
def test_a_name_is_the_loss_with_its_defaults(name):
    loss = {"squared_error": SquaredError(), "poisson": Poisson(), "gamma": Gamma()}
    loss["quantile"] = Quantile(0.5)
    X, _, y = targets(loss.get(name, Tweedie()))
    one, other = (model_of(own).fit(X, y) for own in (name, loss.get(name, Tweedie())))
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), "hinge", Tweedie, None], ids=repr)
def test_what_is_no_loss_of_numbers_is_refused(loss):
    X, _, y = targets(SquaredError())
    with pytest.raises(ValueError, match="loss"):
        AdditiveRegressor(loss=loss).fit(X, y)


@pytest.mark.parametrize("loss", [Tweedie(), NegativeBinomial(), OwnPoisson()], ids=repr)
def test_targets_below_0_are_refused(loss):
    X, _, y = targets(loss)
    y[7] = -1.0
    with pytest.raises(ValueError, match="0 or more; y is -1 in row 7"):
        AdditiveRegressor(loss=loss).fit(X, y)


def test_a_score_is_the_share_of_the_deviance():
    X, _, y = targets(Tweedie())
    model = model_of(Tweedie(1.6)).fit(X, y)
    expected = d2_tweedie_score(y, model.predict(X), power=1.6)
    assert model.score(X, y) == pytest.approx(expected, rel=1e-12)


# -- a parameter of its own ------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [0.5, 3.0])
@pytest.mark.parametrize("C", [None, 3.0])
@pytest.mark.parametrize("more", [{}, {"interactions": [(0, 1)]}], ids=["curves", "pair"])
def test_theta_is_estimated(theta, C, more):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (4000, 2))
    mu = np.exp(1.0 + np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1])
    y = rng.negative_binomial(theta, theta / (theta + mu)).astype(float)
    model = model_of(NegativeBinomial(), C=C, **more).fit(X, y)
    assert model.certified_
    assert model.loss == NegativeBinomial()
    # The standard error of log theta is about 0.04 for these rows.
    assert model.loss_.theta == pytest.approx(theta, rel=0.15)
    assert "theta" in str(summary(model))
    # With this theta given, the model is the same one.
    given = model_of(NegativeBinomial(model.loss_.theta), C=C, **more).fit(X, y)
    assert_allclose(given.predict(X), model.predict(X), rtol=0.02)


def test_theta_is_estimated_for_the_degrees_of_freedom_of_the_model():
    """Few rows and many curves: without the second term theta would be far too large."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (150, 3))
        mu = np.exp(1.5 + np.sin(4.0 * X).sum(axis=1))
        y = rng.negative_binomial(2.0, 2.0 / (2.0 + mu)).astype(float)
        model = AdditiveRegressor(loss=NegativeBinomial(), random_state=0).fit(X, y)
        plain = model.loss_.renewed(y, np.log(model.predict(X))[None], np.ones(len(y)), 0.0)
        found.append((model.loss_.theta, plain.theta))
    ours, plain = np.median(found, axis=0)
    assert abs(np.log(ours / 2.0)) < 0.25
    assert plain > 1.1 * ours


def test_counts_that_do_not_vary_more_than_poisson_counts_are_fitted_like_these():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (1000, 2))
    y = rng.poisson(np.exp(np.sin(2.0 * X[:, 0]))).astype(float)
    model, poisson = (model_of(loss).fit(X, y) for loss in (NegativeBinomial(), Poisson()))
    assert model.loss_.theta > 5.0
    assert_allclose(model.predict(X), poisson.predict(X), rtol=0.1)


def test_a_path_needs_a_theta():
    X, _, y = targets(NegativeBinomial())
    search = PathSearchCV(model_of(NegativeBinomial()), Cs=[0.1, 1.0], cv=2)
    with pytest.raises(ValueError, match="NegativeBinomial estimates theta with each model"):
        search.fit(X, y)
    search.set_params(estimator__loss=NegativeBinomial(2.0)).fit(X, y)
    assert search.best_score_ > 0.1


@pytest.mark.parametrize("n_features", [4, 30])
def test_theta_is_estimated_where_held_out_rows_decide(n_features):
    """With many features for the rows, choices are compared by their likelihood."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (400, n_features))
    y = rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(2.0 + X[:, 0]))).astype(float)
    model = AdditiveRegressor(loss=NegativeBinomial(), random_state=0).fit(X, y)
    assert model.certified_
    assert 1.3 < model.loss_.theta < 3.5
    assert model.score(X, y) > 0.15


# -- a user's own loss -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Cauchy(Loss):
    """A loss that is not convex; the curvature is that of a parabola above it."""

    def value(self, y, f):
        return 0.5 * np.log1p((f - y) ** 2)

    def slope(self, y, f):
        return (f - y) / (1.0 + (f - y) ** 2)

    def curvature(self, y, f):
        return 1.0 / (1.0 + (f - y) ** 2)


@pytest.mark.parametrize("C", [None, 1.0])
def test_a_loss_that_is_not_convex_is_fitted_but_not_certified(C):
    X, f, y = targets(PseudoHuber(), 800)
    y[::20] += 50.0  # gross errors, which a loss that is not convex ignores
    with pytest.warns(UserWarning, match="certified_ is False: Cauchy does not say"):
        model = model_of(Cauchy(), C=C).fit(X, y)
    assert not model.certified_
    assert model.dual_gap_ == np.inf
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.15
    loss, score = Cauchy(), model.predict(X)
    if C is not None:  # its objective is stationary: no slope of the losses is left over
        assert abs(loss.slope(y, score).sum()) < 1e-3 * len(y)


def test_own_poisson_is_poisson():
    X, _, y = targets(Poisson())
    for C in (None, 1.0):
        own, ours = (model_of(loss, C=C, tol=1e-6).fit(X, y) for loss in (OwnPoisson(), Poisson()))
        # Ours knows what an event is, and does not let the dispersion fall below it.
        assert_allclose(own.predict(X), ours.predict(X), rtol=1e-4 if C else 0.05)
        assert own.score(X, y) == pytest.approx(ours.score(X, y), abs=1e-5 if C else 0.01)


class WrongSlope(PseudoHuber):
    def slope(self, y, f):
        return -super().slope(y, f)


class NotConvex(Cauchy):
    convex = True


class Negative(Cauchy):
    def curvature(self, y, f):
        return (1.0 - (f - y) ** 2) / (1.0 + (f - y) ** 2) ** 2


class OneNumber(PseudoHuber):
    def value(self, y, f):
        return super().value(y, f).sum()


class WithoutCurvature(Loss):
    convex = True

    def value(self, y, f):
        return 0.5 * (f - y) ** 2

    def slope(self, y, f):
        return f - y


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (WrongSlope(), "WrongSlope.slope is not the derivative of its value"),
        (NotConvex(), "NotConvex says that it is convex, but for y"),
        (Negative(), "Negative.curvature must be at least 0"),
        (OneNumber(), r"OneNumber.value\(y, f\) must return a finite number per row"),
    ],
)
def test_a_loss_that_contradicts_itself_is_refused(loss, words):
    X, _, y = targets(PseudoHuber())
    with pytest.raises(ValueError, match=words):
        AdditiveRegressor(loss=loss).fit(X, y)


def test_what_a_loss_lacks_is_named():
    X, _, y = targets(PseudoHuber())
    with pytest.raises(NotImplementedError, match="WithoutCurvature must define curvature"):
        AdditiveRegressor(loss=WithoutCurvature()).fit(X, y)


def test_groups_and_missing_values():
    X, _, y = targets(PseudoHuber(), 600)
    X[::9, 0] = np.nan
    groups = np.arange(len(y)) // 6
    model = AdditiveRegressor(loss=PseudoHuber(), random_state=0).fit(X, y, groups=groups)
    assert model.certified_
    assert model.score(X, y) > 0.2
