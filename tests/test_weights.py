"""What counts as information: weights, counts, groups and copies of rows."""

from __future__ import annotations

import warnings
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn import config_context
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
)
from splinear.inspection import summary
from splinear.model.scatter import Scatter, together
from splinear.objective.units import Units, scatter_sums, typical_weight
from splinear.tables.copies import copies_of
from splinear.tables.opening import open_table
from splinear.terms import Spline

COPIES = "equal another row in X and y"
SMALL = {"curve": Spline(12), "tol": 1e-8, "random_state": 0}


def target_of(kind: str, score: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if kind == "squared_error":
        return score + random.normal(size=len(score))
    if kind == "poisson":
        return random.poisson(np.exp(0.5 * score)).astype(float)
    if kind == "gamma":
        return np.exp(0.5 * score) * random.gamma(2.0, 0.5, len(score))
    if kind == "logistic":
        return (random.random(len(score)) < expit(score)).astype(int)
    if kind == "softmax":
        return np.digitize(score + random.logistic(size=len(score)), [-1.0, 1.0])
    assert kind == "labels"
    noise = random.logistic(size=(2, len(score)))
    return np.column_stack([score > noise[0], score < noise[1]]).astype(int)


def model_of(kind: str, **params):
    if kind in ("squared_error", "poisson", "gamma"):
        return AdditiveRegressor(loss=kind, **SMALL | params)
    return AdditiveClassifier(**SMALL | params)


KINDS = ["squared_error", "poisson", "gamma", "logistic", "softmax", "labels"]


def drawn(kind: str, n: int = 300, seed: int = 0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, target_of(kind, 1.5 * np.sin(2 * X[:, 0]) + X[:, 1], random)


def scores(model, X):
    return model.predict(X) if hasattr(model, "loss") else model.decision_function(X)


def p_values(model) -> np.ndarray:
    return np.array([line.p_value for line in summary(model).lines])


# -- a constant factor -----------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [5.5, 0.01, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_factor_of_the_weights_changes_nothing(kind, factor):
    """Nor if the weights differ; bands, p-values and degrees of freedom included."""
    X, y = drawn(kind)
    for weights in (np.ones(len(X)), np.random.default_rng(1).lognormal(size=len(X))):
        one = model_of(kind).fit(X, y, sample_weight=weights)
        other = model_of(kind).fit(X, y, sample_weight=factor * weights)
        np.testing.assert_allclose(scores(other, X), scores(one, X), rtol=2e-4, atol=2e-4)
        np.testing.assert_allclose(
            other.predict_interval(X), one.predict_interval(X), rtol=1e-3, atol=1e-3
        )
        for a, b in zip(one.terms_, other.terms_, strict=True):
            assert a.edf == pytest.approx(b.edf, rel=2e-3, abs=1e-3)
            np.testing.assert_array_equal(a.knots, b.knots)
        # Turns end within a hundredth of a degree of freedom, by which p-values differ.
        np.testing.assert_allclose(p_values(other), p_values(one), rtol=0.05, atol=1e-4)


def test_intervals_of_observations_do_not_depend_on_a_constant_factor():
    X, y = drawn("squared_error")
    one, other = (
        model_of("squared_error").fit(X, y, sample_weight=np.full(len(X), factor))
        for factor in (1.0, 40.0)
    )
    ends = [model.predict_interval(X, kind="observation") for model in (one, other)]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-3)
    widths = np.diff(ends[0], axis=1) / 3.92
    assert 0.9 < widths.mean() < 1.15  # the noise has variance 1


@pytest.mark.parametrize("interactions", [2, "auto"])
def test_pairs_that_are_found_do_not_depend_on_a_constant_factor(interactions):
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=1500)
    models = [
        model_of("squared_error", tol=1e-4, interactions=interactions).fit(
            X, y, sample_weight=np.full(1500, factor)
        )
        for factor in (1.0, 25.0)
    ]
    pairs = [[tuple(pair.features) for pair in model.terms_.pairs] for model in models]
    assert pairs[0] == pairs[1]
    assert (0, 1) in pairs[0]
    np.testing.assert_allclose(models[1].predict(X), models[0].predict(X), atol=5e-3)


@pytest.mark.parametrize("interactions", [3, "auto", [(0, 1), (1, 2)]])
@pytest.mark.parametrize("kind", ["squared_error", "log_loss"])
def test_surfaces_do_not_depend_on_a_constant_factor(kind, interactions):
    """By a power of two, which rounds nothing: all turns begin and end alike."""
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 3))
    y = 2.0 * X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=800)
    y = y > 0 if kind == "log_loss" else y
    one, other = (
        model_of(kind, interactions=interactions).fit(X, y, sample_weight=np.full(800, factor))
        for factor in (1.0, 2.0**10)
    )
    assert one.terms_.pairs
    np.testing.assert_allclose(scores(other, X), scores(one, X), rtol=1e-4, atol=1e-4)


def test_the_unit_of_exposures_does_not_matter():
    random = np.random.default_rng(2)
    X, days = random.normal(size=(400, 2)), random.uniform(10, 300, 400)
    counts = random.poisson(0.01 * days * np.exp(np.sin(2 * X[:, 0])))
    rates = []
    for unit in (1.0, 365.0, 0.01):
        time = days / unit
        model = model_of("poisson").fit(X, counts / time, sample_weight=time)
        rates.append(model.predict(X) / unit)
        assert model._posteriors[0].noise >= 1.0
    np.testing.assert_allclose(rates[1:], [rates[0]] * 2, rtol=1e-4)


def test_the_dispersion_of_counts_is_at_least_one_event():
    """Counts that vary less than a Poisson distribution; weights say 3 for every event."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.where(np.arange(300) % 2, 4.0, 5.0)
    assert model_of("poisson").fit(X, y)._posteriors[0].noise == 4.0
    y[0] = 1.0
    for weight in (1.0, 3.0):
        model = model_of("poisson").fit(X, y, sample_weight=np.full(300, weight))
        assert model._posteriors[0].noise == weight


# -- the formula -----------------------------------------------------------------------------------


def test_the_dispersion_by_hand():
    random = np.random.default_rng(0)
    G, H, c = random.normal(size=(2, 30)), random.random((2, 30)), random.random(30)
    groups, counts = random.integers(0, 7, 30), random.integers(1, 4, 30) * 1.0
    plain = Scatter.of(scatter_sums(Units(), c, G, H), 3.0, 0.0, is_likelihood=False)
    assert plain.dispersion(5.0) == pytest.approx((G**2).sum() / H.sum() * 60 / 55)
    grouped = Scatter.of(scatter_sums(Units(None, groups), c, G, H), 3.0, 0.0, is_likelihood=False)
    by_group = np.array([[g[groups == k].sum() for k in range(7)] for g in G])
    assert grouped.dispersion(5.0) == pytest.approx((by_group**2).sum() / H.sum() * 14 / 9)
    counted = Scatter.of(scatter_sums(Units(counts), c, G, H), 3.0, 0.0, is_likelihood=False)
    n, many = counts.astype(int), Units()
    again = [np.repeat(own / counts, n, axis=-1) for own in (c, G, H)]
    repeated = Scatter.of(scatter_sums(many, *again), 3.0, 0.0, is_likelihood=False)
    assert counted.dispersion(5.0) == pytest.approx(repeated.dispersion(5.0))
    assert typical_weight(Units(counts), c) == pytest.approx(typical_weight(many, again[0]))
    likely = Scatter.of(scatter_sums(Units(), c, G, H), 3.0, 0.0, is_likelihood=True)
    assert likely.dispersion(5.0) == pytest.approx((c * H).sum() / H.sum())
    steep = c**2 * G  # weights are the largest where slopes are
    likely = Scatter.of(scatter_sums(Units(), c, steep, H), 3.0, 0.0, is_likelihood=True)
    assert likely.dispersion(5.0) == pytest.approx((steep**2).sum() / (steep**2 / c).sum())
    again = [np.repeat(own / counts, n, axis=-1) for own in (c, steep, H)]
    counted = Scatter.of(scatter_sums(Units(counts), c, steep, H), 3.0, 0.0, is_likelihood=True)
    repeated = Scatter.of(scatter_sums(many, *again), 3.0, 0.0, is_likelihood=True)
    assert counted.dispersion(5.0) == pytest.approx(repeated.dispersion(5.0))
    both = together([plain, counted])
    assert both.squares == plain.squares + counted.squares
    assert both.plain == plain.plain + counted.plain


def test_groups_of_one_row_each_change_nothing():
    for kind in ("squared_error", "logistic"):
        X, y = drawn(kind)
        one = model_of(kind).fit(X, y)
        other = model_of(kind).fit(X, y, groups=np.random.default_rng(0).permutation(len(X)))
        assert one._posteriors[0].noise == pytest.approx(other._posteriors[0].noise, rel=1e-4)
        np.testing.assert_allclose(scores(other, X), scores(one, X), rtol=1e-3, atol=1e-3)


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_repeats(kind):
    """In everything: degrees of freedom, dispersion, bands and p-values."""
    X, y = drawn(kind, 200)
    counts = np.random.default_rng(3).integers(0, 4, 200)
    model = model_of(kind).fit(X, y, counts=counts)
    again = np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0)
    other = model_of(kind).fit(*again, counts=np.ones(counts.sum()))
    np.testing.assert_allclose(scores(other, X), scores(model, X), rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(
        other.predict_interval(X), model.predict_interval(X), rtol=1e-2, atol=1e-2
    )
    assert model._posteriors[0].noise == pytest.approx(other._posteriors[0].noise, rel=1e-3)
    assert model._columns.n_rows == other._columns.n_rows == counts.sum()
    for a, b in zip(model.terms_, other.terms_, strict=True):
        np.testing.assert_array_equal(a.knots, b.knots)
        assert a.edf == pytest.approx(b.edf, rel=5e-3, abs=5e-3)


@pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveSVR])
def test_counts_multiply_the_weights_of_the_papers_estimators(estimator):
    X, y = drawn("logistic" if estimator is AdditiveSVC else "squared_error")
    random = np.random.default_rng(0)
    counts, weights = random.integers(0, 3, len(X)), random.random(len(X))
    one = estimator(random_state=0).fit(X, y, weights, counts=counts)
    other = estimator(random_state=0).fit(X, y, weights * counts)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    first = {"classes": [0, 1]} if estimator is AdditiveSVC else {}
    one = estimator(random_state=0).partial_fit(X, y, counts=counts, **first)
    other = estimator(random_state=0).partial_fit(X, y, sample_weight=counts, **first)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_counts_of_categories_are_repeats():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"site": random.choice(list("abcdef"), 150), "x": random.normal(size=150)})
    y, counts = (X["site"] == "a") + random.normal(size=150), random.integers(0, 4, 150)
    model = AdditiveRegressor(**SMALL).fit(X, y, counts=counts)
    at = np.repeat(np.arange(150), counts)
    other = AdditiveRegressor(**SMALL).fit(X.iloc[at], y[at], counts=np.ones(len(at)))
    assert model._columns.counts == other._columns.counts
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=2e-3)


def test_balanced_classes_count_repeats():
    X, y = drawn("logistic", 200)
    counts = np.where(y == 1, 5, 1)
    model = model_of("logistic", class_weight="balanced", C=1.0)
    one = model.fit(X, y, counts=counts).decision_function(X)
    again = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    np.testing.assert_allclose(one, model.fit(*again).decision_function(X), atol=1e-3)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1.5, *[1] * 9], r"whole numbers of at least 0.*got 1.5 in row 0.*sample_weight"),
        ([1, -2, *[1] * 8], r"whole numbers of at least 0.*got -2 in row 1"),
        ([1, np.nan, *[1] * 8], r"got nan in row 1"),
        ([1] * 9, r"counts must have one value per row, 10; got \(9,\)"),
        ([0] * 10, r"All counts are 0"),
        (["a"] * 10, r"counts must hold numbers; got .*'a'"),
        (["2"] * 10, r"counts must hold numbers; got .*'2'"),
        (np.array(["2020-01-01"] * 10, dtype="M8[D]"), r"counts must hold numbers; got .*2020-01"),
        (np.full(10, 1j), r"counts must hold numbers; got .*1j"),
        ([1, None, *[1] * 8], r"got nan in row 1"),
        (pd.Series([1, pd.NA, *[1] * 8], dtype="Int64"), r"got nan in row 1"),
        ([1e300] * 10, r"counts add up to 1e\+301 observations.*2\*\*53"),
    ],
)
@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor, AdditiveSVC])
def test_wrong_counts_are_refused(estimator, counts, message):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y, counts=counts)


@pytest.mark.parametrize(
    "weights",
    ["w", ["a"] * 10, ["2"] * 10, np.array(["2020-01-01"] * 10, dtype="M8[D]"), np.full(10, 1j)],
    ids=["a name", "text", "digits", "dates", "complex"],
)
@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor, AdditiveSVC])
def test_weights_that_are_no_numbers_are_refused(estimator, weights):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    with pytest.raises(ValueError, match="sample_weight must hold numbers; got "):
        estimator().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("dtype", [object, "decimal", bool])
def test_numbers_of_other_types_are_weights_and_counts(dtype):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    given = np.arange(10) % 3 > 0
    same = [Decimal(int(one)) for one in given] if dtype == "decimal" else given.astype(dtype)
    for name in ("sample_weight", "counts"):
        models = [AdditiveSVC(C=1.0).fit(X, y, **{name: w}) for w in (given.astype(float), same)]
        np.testing.assert_array_equal(*[model.decision_function(X) for model in models])


@pytest.mark.parametrize("weight", [1e-300, 1e-60, 1e-30, 1e25])
@pytest.mark.parametrize(
    "estimator",
    [AdditiveClassifier, AdditiveRegressor, partial(AdditiveRegressor, loss="poisson")],
    ids=["classifier", "regressor", "poisson"],
)
def test_a_constant_factor_changes_nothing_however_small(estimator, weight):
    """Also where weights are below what single precision holds; Hessians were singular there."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = 1.0 * (X[:, 0] + random.normal(size=120) > 0)
    one, other = (estimator().fit(X, y, sample_weight=np.full(120, w)) for w in (1.0, weight))
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "weight"),
    [("sample_weight", 2.0**-30), ("sample_weight", 2.0**30), ("counts", 2.0**30)],
)
@pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveSVR])
def test_the_cost_that_is_chosen_is_in_the_unit_of_the_weights(estimator, kind, weight):
    """It was looked for between fixed ends, so a fit with heavy rows took 1,000 passes in vain."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = X[:, 0] + random.normal(size=120) > 0
    y = y if estimator is AdditiveSVC else y + 0.5 * X[:, 1]
    one, other = (
        estimator(random_state=0).fit(X, y, **{kind: np.full(120, w)}) for w in (1.0, weight)
    )
    assert other.C_ * weight == one.C_
    assert other.n_iter_ == one.n_iter_
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


def test_counts_and_weights_that_leave_no_row_are_refused():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    with pytest.raises(ValueError, match="All rows with a count above 0 have weight 0"):
        AdditiveRegressor().fit(X, y, np.arange(10) % 2, counts=1 - np.arange(10) % 2)


@config_context(enable_metadata_routing=True)
def test_counts_and_groups_are_routed():
    X, y = drawn("logistic", 240)
    counts = np.random.default_rng(0).integers(1, 3, 240)
    model = AdditiveClassifier(**SMALL).set_fit_request(counts=True, groups=True)
    pipeline = make_pipeline(StandardScaler(), model)
    params = {"counts": counts, "groups": np.arange(240) // 2}
    found = cross_validate(pipeline, X, y, params=params, cv=3, return_estimator=True)
    assert found["test_score"].mean() > 0.6
    rows = found["estimator"][0][-1]._columns.n_rows
    assert 160 < rows < counts.sum()
    svc = make_pipeline(StandardScaler(), AdditiveSVC().set_fit_request(counts=True))
    svc.fit(X, y, counts=counts)


# -- groups ----------------------------------------------------------------------------------------


def panel(n: int, seed: int):
    """Customers whose months are rows, with a label per customer."""
    random = np.random.default_rng(seed)
    Z = random.normal(size=(n, 6))
    label = random.random(n) < expit(Z[:, 0] + 0.7 * Z[:, 1])
    X = np.repeat(Z, 12, axis=0) + 0.3 * random.normal(size=(12 * n, 6))
    return X, np.repeat(label, 12), np.repeat(np.arange(n), 12)


def test_a_panel_is_as_good_as_one_row_per_customer():
    tests = panel(2000, 100)
    areas = []
    for seed in range(3):
        X, y, groups = panel(300, seed)
        fits = [
            AdditiveClassifier(random_state=0).fit(X, y, groups=groups),
            AdditiveClassifier(random_state=0).fit(X[::12], y[::12]),
        ]
        areas.append([roc_auc_score(tests[1], m.decision_function(tests[0])) for m in fits])
        assert 10.0 < fits[0]._posteriors[0].noise < 14.0  # nearly all of 12 months are one
    grouped, alone = np.mean(areas, axis=0)
    assert grouped > alone - 0.01


def test_groups_may_have_any_names():
    X, y, groups = panel(60, 0)
    one = AdditiveClassifier(**SMALL).fit(X, y, groups=groups)
    names = np.array([f"customer {k:03d}" for k in groups], dtype=object)
    other = AdditiveClassifier(**SMALL).fit(X, y, groups=names)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    names[3] = None
    with pytest.raises(ValueError, match="it is missing in row 3"):
        AdditiveClassifier().fit(X, y, groups=names)
    with pytest.raises(ValueError, match=r"groups must have one value per row, 720; got \(719,\)"):
        AdditiveClassifier().fit(X, y, groups=groups[1:])


def test_rows_of_a_group_are_held_out_together():
    """A wide table, of which some rows choose the smoothness for the others."""
    random = np.random.default_rng(0)
    Z = random.normal(size=(60, 220))
    y = np.repeat(random.random(60) < expit(Z[:, 0]), 10)
    X, groups = (
        np.repeat(Z, 10, axis=0) + 0.1 * random.normal(size=(600, 220)),
        np.arange(600) // 10,
    )
    fine = AdditiveClassifier(Spline(4), random_state=0).fit(X, y, groups=groups)
    rough = AdditiveClassifier(Spline(4), random_state=0).fit(X, y)
    assert (
        np.abs(fine.decision_function(X)).mean() < 0.5 * np.abs(rough.decision_function(X)).mean()
    )


# -- copies ----------------------------------------------------------------------------------------


def found_copies(X, y) -> int:
    table = open_table(X)
    first = copies_of(table, np.asarray(y), None)
    return 0 if first is None else int((first != np.arange(len(first))).sum())


@pytest.mark.parametrize("times", [2, 3])
def test_copies_of_all_rows_change_nothing(times):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 5))
    y = X[:, 0] + random.normal(size=500)
    one = AdditiveRegressor(random_state=0).fit(X, y)
    with pytest.warns(
        UserWarning, match=rf"{500 * (times - 1):,} of {500 * times:,} rows {COPIES}"
    ):
        other = AdditiveRegressor(random_state=0).fit(np.repeat(X, times, 0), np.repeat(y, times))
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=0.05)
    edf = [sum(term.edf for term in model.terms_) for model in (one, other)]
    assert edf[1] == pytest.approx(edf[0], rel=0.05)


@pytest.mark.parametrize("how", ["rows", "weights"])
@pytest.mark.filterwarnings(f"ignore:.*{COPIES}")
def test_a_resample_is_as_good_as_its_distinct_rows(how):
    shares = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        X, T = random.normal(size=(500, 5)), random.normal(size=(2000, 5))
        y, at = X[:, 0] + random.normal(size=500), random.integers(0, 500, 500)
        model = AdditiveRegressor(random_state=0)
        if how == "rows":
            model.fit(X[at], y[at])
        else:
            model.fit(X, y, sample_weight=np.bincount(at, minlength=500))
        shares.append(1.0 - np.mean((model.predict(T) - T[:, 0]) ** 2))
    assert np.mean(shares) > 0.93


def test_counts_say_that_equal_rows_are_observations():
    X, y = drawn("squared_error", 200)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdditiveRegressor(**SMALL).fit(X, y, counts=np.ones(400))
        AdditiveRegressor(**SMALL | {"C": 1.0}).fit(X, y)
        AdditiveSVR(random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=COPIES) as caught:
        merged = AdditiveRegressor(**SMALL).fit(X, y)
    assert caught[0].filename == __file__
    assert sum(t.edf for t in model.terms_) > 1.2 * sum(t.edf for t in merged.terms_)


def test_weights_of_copies_add_up():
    X, y = drawn("squared_error", 200)
    weights = np.random.default_rng(0).random(400)
    with pytest.warns(UserWarning, match=COPIES):
        one = AdditiveRegressor(**SMALL).fit(np.tile(X, (2, 1)), np.tile(y, 2), weights)
    other = AdditiveRegressor(**SMALL).fit(X, y, weights[:200] + weights[200:])
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-3)


ORDINARY = {
    "one column of two values": lambda r: (r.integers(0, 2, (500, 1)), r.random(500) < 0.3),
    "few values": lambda r: (r.integers(0, 3, (500, 4)), r.random(500) < 0.3),
    "one value": lambda r: (np.ones((50, 3)), np.arange(50) % 2),
    "digits of y alone": lambda r: (r.integers(0, 3, (500, 2)), r.integers(0, 40, 500)),
    "categories as columns of 0 and 1": lambda r: (
        np.hstack([np.eye(5)[r.integers(0, 5, 1000)], np.eye(4)[r.integers(0, 4, 1000)]]),
        r.random(1000) < 0.3,
    ),
    "y determined by X": lambda r: (X := r.integers(0, 4, (500, 5)), X[:, 0] > 1),
    "answers that depend on each other": lambda r: (
        (r.random((2000, 20)) < 0.3 * (z := r.random(2000) ** 2)[:, None]) * 1.0,
        r.random(2000) < z,
    ),
    "a single pair of rounded rows": lambda r: (
        np.round(r.normal(size=(150, 3)), 1),
        r.integers(0, 3, 150),
    ),
    "continuous": lambda r: (r.normal(size=(300, 3)), r.random(300) < 0.3),
    "one column that determines y": lambda r: (X := r.integers(0, 200, (2000, 1)), X[:, 0] % 2),
    "one column that nearly does": lambda r: (
        X := r.integers(18, 80, (1000, 1)) / 4.0,
        (X[:, 0] > 10) != (r.random(1000) < 0.02),
    ),
    "a function of few values": lambda r: (X := r.integers(0, 40, (500, 1)), np.sin(X[:, 0])),
    "rows without a value": lambda r: (
        np.where(np.arange(300) < 40, np.nan, r.normal(size=(2, 300))).T,
        (np.arange(300) < 40) | (r.random(300) < 0.5),
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("seed", range(3))
def test_equal_rows_of_few_values_are_ordinary(name, seed):
    X, y = ORDINARY[name](np.random.default_rng(seed))
    assert found_copies(np.asarray(X, dtype=float), y) == 0


def continuous_and_few(r):
    return np.column_stack([r.normal(size=300), r.integers(0, 3, (300, 3))]), r.random(300) < 0.5


COPIED = {
    "continuous": lambda r: (r.normal(size=(300, 3)), r.random(300) < 0.3),
    "one continuous column": continuous_and_few,
    "few values, continuous y": lambda r: (r.integers(0, 3, (300, 3)), r.normal(size=300)),
    "rounded": lambda r: (np.round(r.normal(size=(300, 6)), 2), r.random(300) < 0.5),
    "with gaps": lambda r: (
        np.where(r.random((300, 4)) < 0.1, np.nan, r.normal(size=(300, 4))),
        r.random(300) < 0.5,
    ),
    "one column": lambda r: (r.normal(size=(300, 1)), r.random(300) < 0.5),
    "one column of few values, continuous y": lambda r: (
        r.integers(0, 30, (300, 1)),
        r.normal(size=300),
    ),
}


@pytest.mark.parametrize("name", COPIED)
@pytest.mark.parametrize("form", ["all", "some", "resample"])
def test_copies_of_rows_that_are_rarely_equal_are_found(name, form):
    random = np.random.default_rng(0)
    X, y = COPIED[name](random)
    at = {
        "all": np.repeat(np.arange(300), 2),
        "some": np.r_[np.arange(300), np.flatnonzero(np.asarray(y) > 0)[:40]],
        "resample": random.integers(0, 300, 300),
    }[form]
    expected = len(at) - len(np.unique(at))
    assert found_copies(np.asarray(X, dtype=float)[at], np.asarray(y)[at]) == expected


def test_copies_in_sparse_tables_are_found():
    random = np.random.default_rng(0)
    X = sparse.random(300, 1000, 0.02, format="csr", random_state=0)
    y, at = random.random(300) < 0.5, random.integers(0, 300, 300)
    assert found_copies(X[at], y[at]) == 300 - len(np.unique(at))
    assert found_copies(X, y) == 0


def test_an_oversampled_class_is_not_taken_for_more_rows():
    random = np.random.default_rng(0)
    X, T = random.normal(size=(1500, 6)), random.normal(size=(5000, 6))
    y, of_test = (random.random(len(A)) < expit(A[:, 0] - 3) for A in (X, T))
    at = np.r_[np.arange(1500), random.choice(np.flatnonzero(y), np.sum(~y) - np.sum(y))]
    plain = AdditiveClassifier(random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=COPIES):
        more = AdditiveClassifier(random_state=0).fit(X[at], y[at])
    areas = [roc_auc_score(of_test, model.decision_function(T)) for model in (plain, more)]
    assert areas[1] > areas[0] - 0.01


@pytest.mark.parametrize(
    "groups",
    [
        pd.Series(["a", "b", pd.NA, "b"] * 20, dtype="string"),
        pd.Series([1, 2, pd.NA, 2] * 20, dtype="Int64"),
        pd.Series(pd.Categorical(["a", "b", None, "b"] * 20)),
        pd.to_datetime(["2020", "2021", None, "2021"] * 20),
        ["a", "b", None, "b"] * 20,
    ],
    ids=["text", "Int64", "categories", "dates", "list"],
)
def test_a_missing_group_of_any_type_is_named(groups):
    X, y = np.arange(160.0).reshape(80, 2), np.arange(80.0)
    with pytest.raises(
        ValueError, match="groups must name the group of every row; it is missing in row 2"
    ):
        AdditiveRegressor().fit(X, y, groups=groups)


@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveSVC, AdditiveSVR])
def test_paths_are_in_the_unit_of_the_weights(estimator):
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = X[:, 0] + random.normal(size=120)
    y = y if estimator is AdditiveSVR else y > 0
    one, other = (
        PathSearchCV(estimator(random_state=0), Cs=4, cv=2).fit(X, y, sample_weight=np.full(120, w))
        for w in (1.0, 2.0**40)
    )
    assert other.best_params_["C"] * 2.0**40 == pytest.approx(one.best_params_["C"])
    assert other.best_score_ == pytest.approx(one.best_score_)
