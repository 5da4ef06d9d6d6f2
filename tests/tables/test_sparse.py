"""Sparse tables: curves that are zero at zero, and a price that goes by the non-zeros."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from written_out import primal

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    FourierEmbedding,
    HermiteEmbedding,
    PathSearchCV,
    SplineEmbedding,
    _core,
)
from splinear.inspection import base_value, contributions, importances, knots, shape_function
from splinear.kernels import min_kernel
from splinear.objective.local.training_rows import TrainingRows
from splinear.penalties import difference_matrix
from splinear.solvers.reml import choosing
from splinear.terms import Fourier, Hermite, Spline
from tests.reference.losses import LOSSES

SPLINES = [
    Spline(6, degree, order, ("uniform", "quantile")[(degree + order) % 2])
    for degree in range(4)
    for order in (0, 1, 2)
]
CURVES = SPLINES + [kind(3, order) for kind in (Fourier, Hermite) for order in (1, 2)]


def _name(curve):
    if not isinstance(curve, Spline):
        return f"{type(curve).__name__}-D{curve.penalty_order}"
    return f"degree{curve.degree}-D{curve.penalty_order}-{curve.knots}"


@pytest.fixture(scope="module")
def counts():
    """Counts of 40 words in 250 texts, most of them zero; a word is nowhere, one has one count."""
    random = np.random.default_rng(0)
    rate = random.gamma(0.3, 1.5, 40)
    y = random.integers(0, 2, 250)
    tilt = np.exp(random.normal(0, 0.6, 40))
    X = random.poisson(rate * np.where(y[:, None] == 1, tilt, 1.0)).astype(float)
    X[:, 7] = 0.0
    X[:, 8] = 3.0 * (random.uniform(size=250) < 0.2)
    return X, y


def parameters(model):
    return model._model.parameters


def through_zero(curve):
    """Return the same splines for a dense table."""
    return Spline(**curve.get_params() | {"through_zero": True})


def embedded(X, curve):
    """Write out phi(x): the transformer's, no column's longer than the column itself."""
    phi = _transformer(curve).fit_transform(sparse.csr_array(X)).toarray()
    phi = phi.reshape(len(X), X.shape[1], -1)
    if isinstance(curve, Spline):
        own, embedded = (X**2).sum(axis=0), (phi**2).sum(axis=(0, 2))
        share = np.divide(own, embedded, out=np.ones_like(own), where=embedded > 0)
        phi *= np.sqrt(np.minimum(1.0, share))[:, None]
    return phi.reshape(len(X), -1)


# -- the embedding -------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", CURVES, ids=_name)
def test_embedding_of_zero_is_zero(counts, curve):
    X, _ = counts
    embed = _transformer(curve).fit(sparse.csr_array(X))
    assert embed.transform(sparse.csr_array((1, X.shape[1]))).nnz == 0
    dense = embed.transform(np.zeros((1, X.shape[1])))
    assert not (dense.toarray() if sparse.issparse(dense) else dense).any()


@pytest.mark.parametrize("curve", CURVES, ids=_name)
def test_embedding_is_that_of_the_dense_table(counts, curve):
    X, _ = counts
    phi = _transformer(curve).fit_transform(sparse.csc_array(X))
    assert sparse.issparse(phi)
    dense = _transformer(curve, through_zero=True).fit_transform(X)
    dense = dense.toarray() if sparse.issparse(dense) else dense
    assert_allclose(phi.toarray(), dense, atol=1e-12)
    assert phi.dtype == np.float64
    single = _transformer(curve).fit_transform(sparse.csr_array(X.astype(np.float32)))
    assert single.dtype == np.float32


def test_embedding_has_the_functions_behind_the_first(counts):
    """Degree 1 under D_1: the sums from the right of all hats but the first."""
    X, _ = counts
    phi = SplineEmbedding(n_bins=6).fit_transform(sparse.csr_array(X)).toarray()
    hats = SplineEmbedding(n_bins=6, penalty_order=0, sparse_output=False).fit(
        np.vstack([X, np.zeros(X.shape[1])])
    )
    plain = hats.transform(X).reshape(len(X), X.shape[1], 7)[:, 9, 1:]
    expected = plain @ np.linalg.inv(difference_matrix(6, 1))
    assert_allclose(phi.reshape(len(X), X.shape[1], 7)[:, 9, 1:], expected, atol=1e-12)


def test_kernel_is_the_min_kernel(counts):
    """With a knot at every count and native units, K(x, y) = sum_j min(x_j, y_j)."""
    X, _ = counts
    top = int(X.max())
    rules = [np.arange(top + 1.0)] * X.shape[1]
    phi = SplineEmbedding(knots=rules, scale="native").fit_transform(sparse.csr_array(X))
    assert_allclose((phi @ phi.T).toarray(), min_kernel(X, X), atol=1e-9)


def _transformer(curve, **more):
    options = curve.get_params() | more
    if isinstance(curve, Spline):
        for name in ("extrapolation", "monotone", "curvature"):
            del options[name]
        return SplineEmbedding(**options)
    if isinstance(curve, Fourier):
        del options["period"]
        options["degree"] = options.pop("n_frequencies")
        return FourierEmbedding(**options)
    return HermiteEmbedding(**options)


# -- training ------------------------------------------------------------------------------------


def test_binary_columns_are_a_linear_model():
    random = np.random.default_rng(1)
    ones = sparse.random_array(
        (200, 30), density=0.2, random_state=random, data_sampler=lambda size: np.ones(size)
    )
    X = sparse.csr_array(ones.toarray())  # indices of 32 bits, as LinearSVC of old wants them
    y = np.where(X[:, [0]].toarray().ravel() + random.normal(0, 0.4, 200) > 0.5, 1, -1)
    spline = AdditiveSVC(tol=1e-8, random_state=0, C=1.0).fit(X, y)
    line = LinearSVC(loss="hinge", tol=1e-8, max_iter=100_000, random_state=0).fit(X, y)
    assert_allclose(spline.decision_function(X), line.decision_function(X), atol=2e-3)
    assert all(len(term.knots) == 2 for term in spline.terms_)
    smooth = AdditiveClassifier(C=2.0, tol=1e-14).fit(X, y)
    line = LogisticRegression(C=2.0, tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(smooth.decision_function(X), line.decision_function(X), atol=1e-4)


def test_small_values_stay_small():
    """A word that is always 1/50 weighs no more than in a linear model."""
    random = np.random.default_rng(1)
    X = sparse.random_array((200, 30), density=0.2, random_state=random, format="csr")
    X.data[:] = 0.02
    y = X[:, [0]].toarray().ravel() > 0
    spline = AdditiveClassifier(C=5.0, tol=1e-14).fit(X, y)
    line = LogisticRegression(C=5.0, tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(spline.decision_function(X), line.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("curve", CURVES, ids=_name)
def test_fit_is_that_of_the_embedding(counts, curve):
    X, y = counts
    few = AdditiveClassifier(curve, C=1.0, tol=1e-12, random_state=0).fit(sparse.csr_matrix(X), y)
    phi = embedded(X, curve)
    line = LogisticRegression(tol=1e-8, max_iter=10_000).fit(phi, y)
    scores = few.decision_function(sparse.csr_matrix(X))
    assert_allclose(scores, line.decision_function(phi), atol=5e-3)
    assert_allclose(scores, few.decision_function(X), atol=1e-9)
    assert all(group.embedding.through_zero for group in few._model.layout.groups)
    model = few._model
    cost = primal(
        model.layout, LOSSES["logistic"], parameters(few)[0], few.intercept_[0], X, 2 * y - 1, 1.0,
        bias=None,
    )  # fmt: skip
    assert_allclose(few.objective_, cost, rtol=1e-5)
    value = np.log1p(np.exp(-(2 * y - 1) * line.decision_function(phi))).sum()
    assert_allclose(few.objective_, value + 0.5 * np.sum(line.coef_**2), rtol=1e-5)


@pytest.mark.parametrize("curve", SPLINES[::2], ids=_name)
def test_fit_is_that_of_the_dense_table(counts, curve):
    X, y = counts
    for kind in (AdditiveSVC, AdditiveClassifier):
        options = {"C": 1.0, "tol": 1e-7, "max_iter": 20_000, "random_state": 0}
        few = kind(curve, **options).fit(sparse.csr_matrix(X), y)
        all_ = kind(through_zero(curve), **options).fit(X, y)
        assert_allclose(few.objective_, all_.objective_, rtol=1e-4)
        assert few.dual_gap_ <= 1e-7
        close = 0.1 if kind is AdditiveSVC else 0.05
        scores = few.decision_function(sparse.csr_matrix(X))
        assert_allclose(scores, all_.decision_function(X), atol=close)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_optimum_is_that_of_liblinear(counts, loss):
    X, y = counts
    model = AdditiveSVC(loss=loss, tol=1e-7, random_state=0, C=1.0).fit(sparse.csr_array(X), y)
    phi = embedded(X, Spline(10))
    line = LinearSVC(loss=loss, dual=True, tol=1e-9, max_iter=10**6, random_state=0).fit(phi, y)
    margin = (2 * y - 1) * line.decision_function(phi)
    value = 0.5 * (np.sum(line.coef_**2) + line.intercept_[0] ** 2)
    value += LOSSES[loss].of_margin(margin).sum()
    assert_allclose(model.objective_, value, rtol=1e-5)


def test_every_form_of_the_matrix_is_the_same(counts):
    X, y = counts
    expected = AdditiveSVC(random_state=0, C=1.0).fit(sparse.csr_array(X), y)
    shuffled = sparse.csr_matrix(X)
    for i in range(len(X)):  # columns descending
        here = slice(shuffled.indptr[i], shuffled.indptr[i + 1])
        shuffled.indices[here] = shuffled.indices[here][::-1].copy()
        shuffled.data[here] = shuffled.data[here][::-1].copy()
    shuffled.has_sorted_indices = False
    rows, columns = np.nonzero(X)
    halves = sparse.csr_matrix(
        (np.tile(X[rows, columns] / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape
    )
    zeros = sparse.csr_array(X + 1)
    zeros.data -= 1
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    before = shuffled.indices.copy()
    for other in (
        sparse.csc_matrix(X),
        sparse.coo_array(X),
        sparse.lil_array(X),
        shuffled,
        halves,
        zeros,
        wide,
        sparse.csr_array(X.astype(np.int16)),
        sparse.csr_array(X.astype(np.float32)),
    ):
        model = AdditiveSVC(random_state=0, C=1.0).fit(other, y)
        assert_array_equal(parameters(model), parameters(expected))
        assert_array_equal(
            model.decision_function(other), expected.decision_function(sparse.csr_array(X))
        )
    assert_array_equal(shuffled.indices, before)  # the user's matrix stays as it was


def test_threads_change_no_bit(counts):
    X, y = sparse.csr_array(counts[0]), counts[1]
    for kind in (AdditiveSVC, AdditiveClassifier):
        one = kind(random_state=0).fit(X, y)
        two = kind(random_state=0, n_jobs=3).fit(X, y)
        assert_array_equal(parameters(one), parameters(two))
        assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_norms_that_classes_share_change_no_bit(counts, monkeypatch):
    X, y = sparse.csr_array(counts[0]), np.minimum(counts[0][:, 0], 3)
    norms, calls = _core.squared_norms, []

    def counted(*given_):
        calls.append(given_)
        return norms(*given_)

    monkeypatch.setattr(_core, "squared_norms", counted)
    shared = AdditiveSVC(random_state=0, C=1.0).fit(X, y)
    assert len(calls) == 1
    in_unit = TrainingRows.in_unit
    monkeypatch.setattr(TrainingRows, "in_unit", lambda *given_: (in_unit(*given_)[0], None))
    own = AdditiveSVC(random_state=0, C=1.0).fit(X, y)
    assert_array_equal(parameters(shared), parameters(own))
    assert shared.n_iter_ == own.n_iter_


def test_several_classes_weights_folds_and_calibration():
    X, y = load_digits(return_X_y=True)
    X = sparse.csr_array(X[:600])
    y = y[:600]
    weights = np.random.default_rng(0).integers(0, 3, 600).astype(float)
    smooth = AdditiveClassifier(C=1.0, random_state=0).fit(X, y, weights)
    calibrated = CalibratedClassifierCV(AdditiveSVC(random_state=0, C=1.0), cv=2).fit(X, y)
    for model in (smooth, calibrated):
        assert model.score(X, y) > 0.95
        assert model.predict_proba(X).shape == (600, 10)
    repeated = np.repeat(np.arange(600), weights.astype(int))
    again = AdditiveSVC(tol=1e-5, random_state=0, C=1.0).fit(X[repeated], y[repeated])
    model = AdditiveSVC(tol=1e-5, random_state=0, C=1.0).fit(X, y, weights)
    assert model.score(X, y) > 0.95
    assert_allclose(again.objective_, model.objective_, rtol=1e-4)
    search = PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=[0.1, 1.0], cv=3).fit(X, y)
    assert search.score(X, y) > 0.95


def test_smoothness_by_the_data(counts, monkeypatch):
    X, y = counts
    monkeypatch.setattr(choosing, "SETTLED", 1e-5)  # both to the same end
    monkeypatch.setattr(choosing, "MAX_TURNS", 200)
    options = {"tol": 1e-6, "random_state": 0}
    few = AdditiveClassifier(Spline(10), **options).fit(sparse.csr_array(X), y)
    all_ = AdditiveClassifier(Spline(10, through_zero=True), **options).fit(X, y)
    edf = [[term.edf for term in model.terms_] for model in (few, all_)]
    assert_allclose(*edf, atol=0.02)
    assert np.sum(edf[0]) > 2
    default = AdditiveClassifier(**options).fit(sparse.csr_array(X), y)
    assert_array_equal(parameters(default), parameters(few))


def test_regression(counts):
    X, _ = counts
    target = np.sqrt(X[:, 3]) - np.minimum(X[:, 5], 2) + 5
    curve = Spline(10, knots="quantile")
    few = AdditiveRegressor(curve, tol=1e-6, C=100).fit(sparse.csr_array(X), target)
    all_ = AdditiveRegressor(through_zero(curve), tol=1e-6, C=100).fit(X, target)
    assert few.score(sparse.csr_array(X), target) > 0.95
    assert_allclose(few.predict(X), all_.predict(X), atol=1e-2)


def test_training_goes_on(counts):
    X, y = sparse.csr_array(counts[0]), counts[1]
    model = AdditiveSVC(random_state=0, C=1.0).partial_fit(X[:150], y[:150], classes=[0, 1])
    model.partial_fit(X[150:], y[150:])
    assert model.score(X, y) > 0.7
    dense = AdditiveSVC(random_state=0, C=1.0).partial_fit(counts[0], y, classes=[0, 1])
    with pytest.raises(ValueError, match="begun with dense rows"):
        dense.partial_fit(X, y)
    warm = AdditiveSVC(warm_start=True, tol=1e-4, random_state=0, C=1.0).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 1


def test_a_million_columns_cost_nothing():
    """Coefficients are there for all columns, but work is done for the non-zeros only."""
    random = np.random.default_rng(0)
    X = sparse.random_array((500, 1_000_000), density=2e-5, random_state=random, format="csr")
    y = random.integers(0, 2, 500)
    X = X + sparse.csr_array((y.astype(float), (range(500), [5] * 500)), shape=X.shape)
    began = time.process_time()
    model = AdditiveSVC(Spline(2), random_state=0, C=1.0).fit(X, y)
    assert time.process_time() - began < 60  # about three
    assert model.score(X, y) > 0.9
    assert len(model.terms_) == 1_000_000
    assert model.terms_[5].features == (5,)


# -- missing values --------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize(
    "model", [AdditiveSVC(C=1.0), AdditiveClassifier(), AdditiveClassifier(C=1.0)]
)
def test_columns_of_zeros_change_nothing_and_have_few_coefficients(model, degree, counts):
    """Hashed text is mostly such columns, and a Newton step costs as much as its coefficients."""
    X, y = sparse.csr_array(counts[0]), counts[1]
    model = clone(model).set_params(curve=Spline(degree=degree), random_state=0)
    places = 3 + 25 * X.indices
    hashed = sparse.csr_array((X.data, places, X.indptr), shape=(X.shape[0], 25 * X.shape[1] + 10))
    found, plain = clone(model).fit(hashed, y), clone(model).fit(X, y)
    expected = plain.decision_function(X)
    # The choice of smoothness ends as soon as nothing of importance changes.
    near = {"atol": 1e-9} if model.C is not None else {"rtol": 1e-2, "atol": 1e-2}
    assert_allclose(found.decision_function(hashed), expected, **near)
    assert found.terms_[0].coef.shape[-1] <= degree + 2
    assert found.terms_[3].coef.shape == plain.terms_[0].coef.shape
    hashed = hashed.tolil()
    hashed[0, 0] = 5.0  # which training had not
    assert_allclose(found.decision_function(hashed), expected, **near)


@pytest.fixture(scope="module")
def gaps(counts):
    X, y = counts
    X = X.copy()
    X[np.random.default_rng(3).random(X.shape) < 0.05] = np.nan
    X[:, 0] = counts[0][:, 0]
    return X, y


@pytest.mark.parametrize("kind", [AdditiveSVC, AdditiveClassifier])
def test_nan_that_is_stored_is_a_gap(gaps, kind):
    """The mean of a curve counts its zeros, of rows in which they are not stored."""
    X, y = gaps
    few = sparse.csr_array(X)
    assert np.isnan(few.data).any()
    curve = Spline(6, knots="uniform")
    options = {"C": 1.0, "tol": 1e-6, "random_state": 0}
    model = kind(curve, **options).fit(few, y)
    all_ = kind(through_zero(curve), **options).fit(X, y)
    assert not model.terms_[0].had_missing
    assert model.terms_[1].had_missing
    assert_allclose(model.objective_, all_.objective_, rtol=1e-5)
    scores = model.decision_function(few)
    assert_allclose(scores, model.decision_function(X), atol=1e-9)
    assert_allclose(scores, all_.decision_function(X), atol=0.02)
    parts = contributions(model, few)
    assert_allclose(base_value(model) + parts.sum(axis=1), scores, atol=1e-9)
    assert_allclose(parts, contributions(model, X), atol=1e-9)
    assert_allclose(importances(model, few), importances(model, X), atol=1e-9)
    assert_allclose(model.feature_importances_, importances(model, X), rtol=1e-5, atol=1e-9)


def test_gaps_that_fit_has_not_seen(counts, gaps):
    X, y = counts
    model = AdditiveSVC(random_state=0, C=1.0).fit(sparse.csr_array(X), y)
    new = gaps[0]
    rows = sparse.csr_array(new)
    assert np.isnan(rows.data).any()
    means = np.array([term.mean[0] for term in model.terms_])
    full = contributions(model, np.nan_to_num(new), center=False)
    expected = model.intercept_ + np.where(np.isnan(new), means, full).sum(axis=1)
    assert_allclose(model.decision_function(rows), expected, atol=1e-9)
    assert_allclose(model.decision_function(new), expected, atol=1e-9)


# -- a model of dense rows and sparse ones ---------------------------------------------------------


@pytest.mark.parametrize("extrapolation", ["constant", "linear"])
@pytest.mark.parametrize("through_zero", [True, False])
def test_scores_of_sparse_rows_are_those_of_dense_ones(counts, extrapolation, through_zero):
    X, y = counts
    curve = Spline(10, extrapolation=extrapolation, through_zero=through_zero)
    model = AdditiveSVC(curve, random_state=0, C=1.0).fit(X[:150], y[:150] + X[:150, 1].clip(0, 1))
    rows = np.vstack([X, 2 * X + 1])
    assert_allclose(
        model.decision_function(sparse.csr_array(rows)), model.decision_function(rows), atol=1e-9
    )


def test_values_beyond_the_range_are_refused_on_request(counts):
    X, y = counts
    model = AdditiveSVC(Spline(extrapolation="error"), random_state=0, C=1.0).fit(
        sparse.csr_array(X), y
    )
    model.decision_function(sparse.csr_array(X))
    X = X.copy()
    X[4, 3] = 1e6
    with pytest.raises(ValueError, match=r"holds 1000000.0 in column 3, row 4, outside its range"):
        model.decision_function(sparse.csr_array(X))


# -- looking at it -------------------------------------------------------------------------------


def test_contributions_and_importances(counts):
    X, y = counts
    few = sparse.csr_array(X)
    model = AdditiveSVC(random_state=0, C=1.0).fit(few, y)
    parts = contributions(model, few, center=False)
    assert sparse.issparse(parts)
    assert parts.nnz <= few.nnz
    assert_allclose(parts.toarray(), contributions(model, X, center=False), atol=1e-12)
    total = np.asarray(parts.sum(axis=1)) + model.intercept_
    assert_allclose(total, model.decision_function(few), atol=1e-9)
    centered = contributions(model, few)
    assert_allclose(centered, parts.toarray() - parts.toarray().mean(axis=0), atol=1e-6)
    assert_allclose(importances(model, few), importances(model, X), atol=1e-12)
    assert_allclose(model.feature_importances_, importances(model, X), atol=1e-6)
    x, f = shape_function(model, 3)
    assert (x[0], f[0]) == (0.0, 0.0)
    assert knots(model, 3)[0] == 0.0
    centered = shape_function(model, 3, center=True, X=few)[1]
    assert_allclose(centered, shape_function(model, 3, center=True, X=X)[1])


def test_contributions_of_several_classes_want_a_target(counts):
    X, _ = counts
    y = np.minimum(X[:, 0], 2).astype(int)
    few = sparse.csr_array(X)
    model = AdditiveSVC(random_state=0, C=1.0).fit(few, y)
    with pytest.raises(ValueError, match="target must be given"):
        contributions(model, few, center=False)
    assert_allclose(
        contributions(model, few, target=1, center=False).toarray(),
        contributions(model, X, target=1, center=False),
        atol=1e-12,
    )
    assert_allclose(contributions(model, few), contributions(model, X), atol=1e-12)
    assert_allclose(importances(model, few), importances(model, X), atol=1e-12)


# -- what is refused -----------------------------------------------------------------------------


def test_negative_values(counts):
    X, y = counts
    X = X.copy()
    X[4, 3] = -2.5
    few = sparse.csr_array(X)
    with pytest.raises(ValueError, match=r"contains -2.5 in column 3; .*Use Hermite or Fourier"):
        AdditiveSVC(C=1.0).fit(few, y)
    with pytest.raises(ValueError, match=r"contains -2.5 in column 3"):
        SplineEmbedding().fit(few)
    for curve in (Fourier(3), Hermite(3)):
        model = AdditiveSVC(curve, random_state=0, C=1.0).fit(few, y)
        x, _ = shape_function(model, 3)
        assert_array_equal(x[[0, -1]], [-2.5, X[:, 3].max()])
        at = shape_function(model, 3, [-1.0, 0.0, 1.0])[1]
        assert_allclose(at, [-at[2], 0.0, at[2]], atol=1e-12)  # odd


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"curve": Spline(through_zero=False)}, r"Spline\(through_zero=False\) needs a dense X"),
        ({"categorical_features": [0]}, "Categories are for dense tables"),
        ({"curve": Hermite(scale="standard")}, r"Hermite\(scale='standard'\) moves zero"),
        ({"terms": {2: Fourier(period=7)}}, r"is for dense tables: .* Drop column 2, or use X\.to"),
        ({"terms": {2: Spline(knots=[1.0, 2.0])}}, "knots of column 2: the first is 1; .* at 0"),
        ({"curve": Spline(through_zero="yes")}, "through_zero"),
    ],
)
def test_parameters_that_do_not_fit(counts, options, message):
    X, y = counts
    with pytest.raises(ValueError, match=message):
        AdditiveSVC(**options).fit(sparse.csr_array(X), y)


def test_terms_of_single_columns(counts):
    """Groups of columns are taken from the matrix one by one; dropped ones may hold anything."""
    X, y = counts
    terms = {3: Spline(3), 5: Fourier(2), 9: Hermite(2), 11: "drop"}
    bad = X.copy()
    bad[5, 11], bad[6, 11] = np.inf, -7.0
    few = AdditiveClassifier(terms=terms, C=1.0, tol=1e-12).fit(sparse.csr_array(bad), y)
    assert [term.kind for term in few.terms_[3:11]] == [
        *("Spline", "Spline", "Fourier", "Spline", "Spline", "Spline", "Hermite", "Spline")
    ]
    columns = []
    for j in range(40):
        curve = terms.get(j, Spline(10))
        if curve != "drop":
            columns.append(embedded(X[:, [j]], curve))
    phi = np.hstack(columns)
    line = LogisticRegression(tol=1e-8, max_iter=10_000).fit(phi, y)
    assert_allclose(few.decision_function(bad), line.decision_function(phi), atol=2e-3)
    assert_allclose(few.decision_function(sparse.csr_array(bad)), few.decision_function(bad))
    assert few.feature_importances_[11] == 0


def test_nan_and_infinity_are_named(counts):
    y = counts[1]
    for value, found in ((np.nan, "NaN"), (np.inf, "infinity")):
        X = counts[0].copy()
        X[11, 5] = value
        message = rf"contains {found} in column 5 \(first in row 11\)"
        model = AdditiveSVC(missing="error", C=1.0)
        with pytest.raises(ValueError, match=message):
            model.fit(sparse.csr_array(X), y)
        model.fit(sparse.csr_array(counts[0]), y)
        with pytest.raises(ValueError, match=message):
            model.predict(sparse.csr_array(X))
    with pytest.raises(ValueError, match="infinity in column 5"):
        AdditiveSVC(C=1.0).fit(sparse.csr_array(X), y)


def test_transformer_of_dense_rows_refuses_sparse_ones(counts):
    X, _ = counts
    with pytest.raises(ValueError, match="fit was given dense rows"):
        SplineEmbedding().fit(X).transform(sparse.csr_array(X))


# -- properties ----------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2, 3]), st.sampled_from([0, 1, 2]))
@example(1000, 3, 0)  # values whose squares are beyond the largest number
def test_sparse_equals_dense(seed, degree, order):
    """Any table of non-negative numbers, with empty rows and columns, huge and tiny values."""
    random = np.random.default_rng(seed)
    n, d = random.integers(4, 40), random.integers(1, 6)
    X = random.gamma(0.5, 1.0, (n, d)) * (random.uniform(size=(n, d)) < random.uniform())
    X *= 10.0 ** random.integers(-200, 200, d)
    y = np.arange(n) % 2
    rule = str(random.choice(["uniform", "quantile"]))
    curve = Spline(int(random.integers(1, 8)), degree, order, rule)
    options = {"tol": 1e-4, "random_state": 0}
    few = AdditiveSVC(curve, **options).fit(sparse.csr_array(X), y)
    all_ = AdditiveSVC(through_zero(curve), **options).fit(X, y)
    assert_allclose(few.objective_, all_.objective_, rtol=1e-3)
    assert_allclose(few.decision_function(sparse.csr_array(X)), few.decision_function(X), atol=1e-8)
    assert_array_equal([term.lo for term in few.terms_], [term.lo for term in all_.terms_])
    assert_array_equal([term.hi for term in few.terms_], [term.hi for term in all_.terms_])


def test_a_constant_column_changes_nothing(counts):
    X, y = counts
    more = np.column_stack([X, np.full(len(X), 4.0)])
    plain = AdditiveSVC(random_state=0, C=1.0).fit(sparse.csr_array(X), y)
    wider = AdditiveSVC(random_state=0, C=1.0).fit(sparse.csr_array(more), y)
    for one, other in zip(plain.terms_, wider.terms_[:-1], strict=True):
        assert_array_equal(one.coef, other.coef)
    assert not wider.terms_[-1].coef.any()


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_columns_that_are_not_there_are_refused(counts, form):
    """A matrix put together by hand may be wrong inside; the core would read beyond its tables."""
    X, y = counts
    broken = form(X)
    broken.indices[3] = 10_000
    with pytest.raises(ValueError, match="indices must be <"):
        AdditiveSVC(C=1.0).fit(broken, y)
