"""Known models that the additive classifier contains: the paper's sections 3 and 4."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.base import TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from written_out import primal

from splinear import AdditiveSVC, FourierEmbedding, HermiteEmbedding, SplineEmbedding
from splinear.kernels import min_kernel
from splinear.terms import Category, Fourier, Hermite, Spline, Term
from tests.reference.losses import LOSSES


def rings(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Two features and a disk, which no straight line cuts out; some labels are wrong."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (n, 2))
    y = np.where((X**2).sum(axis=1) < 0.6, 1, -1)
    return X, np.where(random.random(n) < 0.1, -y, y)


def pixels(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """8-bit data in which every column takes the values 0 and 255."""
    X, y = rings(n)
    X = np.round((X + 1) * 127.5)
    X[0], X[1] = 0, 255
    return X, y


def without_bias(K: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """Scores at the training rows of the kernel SVM without an intercept, by its dual."""
    Q = y[:, None] * K * y
    found = minimize(
        lambda a: (a @ Q @ a / 2 - a.sum(), Q @ a - 1),
        np.zeros(len(y)),
        jac=True,
        bounds=[(0, C)] * len(y),
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-10},
    )
    return K @ (found.x * y)


def test_degree_one_under_d1_is_the_unary_encoding() -> None:
    """Maji and Berg (2009): as many ones as knots up to the value, then the rest of the way."""
    n_bins = 7
    X = np.vstack([0.0, 7.0, np.random.default_rng(1).uniform(0, 7, (20, 1))])
    phi = SplineEmbedding(n_bins=n_bins).fit_transform(X)
    unary = np.clip(X - np.arange(-1, n_bins), 0, 1)
    assert_allclose(phi * np.sqrt(n_bins), unary, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_bytes_in_255_bins_are_the_min_kernel_svm(bias: float) -> None:
    X, y = pixels()
    n_features = X.shape[1]
    K = (min_kernel(X) + n_features) / 255 + bias**2
    model = AdditiveSVC(Spline(255), fit_intercept=bias > 0, tol=1e-9, random_state=0, C=1.0)
    scores = model.fit(X, y).decision_function(X)
    # The scores are unique. A gap of 1e-9 leaves them an error of about its root; one more bin's
    # width in the constant of the kernel would move them by 1e-3.
    assert_allclose(scores, without_bias(K, y, model.C), atol=5e-5)


def test_a_free_intercept_gives_the_usual_min_kernel_svm() -> None:
    """SVC does not penalize its bias, which then swallows the kernel's constant as well."""
    X, y = pixels()
    K = min_kernel(X) / 255
    svc = SVC(kernel="precomputed", tol=1e-9).fit(K, y)
    model = AdditiveSVC(
        Spline(255), intercept_scaling=30, tol=1e-8, max_iter=100_000, random_state=0, C=1.0
    )
    # What is left of the penalty on the bias goes down with the square of intercept_scaling.
    assert_allclose(model.fit(X, y).decision_function(X), svc.decision_function(K), atol=1e-3)


SAME_MODEL: list[tuple[TransformerMixin, Term]] = [
    (SplineEmbedding(degree=r, n_bins=6, penalty_order=d), Spline(6, degree=r, penalty_order=d))
    for r, d in [(0, 0), (1, 0), (1, 1), (2, 1), (3, 2)]
]
SAME_MODEL += [
    (SplineEmbedding(knots="quantile"), Spline(10, knots="quantile")),
    (SplineEmbedding(scale="native"), Spline(10, scale="native")),
    (FourierEmbedding(degree=3, penalty_order=2), Fourier(3, penalty_order=2)),
    (HermiteEmbedding(degree=4), Hermite(4)),
    (HermiteEmbedding(degree=4, scale="standard"), Hermite(4, scale="standard")),
]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("embed", "curve"), SAME_MODEL, ids=str)
def test_a_linear_svm_on_the_embedding_is_the_same_model(
    embed: TransformerMixin, curve: Term, loss: str
) -> None:
    X, y = rings()
    linear = LinearSVC(loss=loss, dual=True, tol=1e-8, max_iter=1_000_000, random_state=0)
    batch = make_pipeline(embed, linear).fit(X, y)
    model = AdditiveSVC(curve, loss=loss, tol=1e-8, random_state=0, C=1.0).fit(X, y)

    layout = model._model.layout
    coef = layout.groups[0].embedding.coefficients(linear.coef_[0]).ravel()
    theirs = primal(layout, LOSSES[loss], coef, linear.intercept_[0], X, y, 1.0)
    assert model.objective_ == pytest.approx(theirs, rel=1e-6)
    # Scores differ by about the root of the gap that both solvers leave.
    assert_allclose(model.decision_function(X), batch.decision_function(X), atol=5e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_category_is_columns_of_zeros_and_ones(loss: str) -> None:
    """The same model as a linear SVM on one column per level."""
    X, y = rings()
    levels = np.digitize(X, [-0.8, -0.3, 0.0, 0.4]).astype(float)
    terms = {0: Category(), 1: Category()}
    model = AdditiveSVC(terms=terms, loss=loss, tol=1e-8, random_state=0, C=1.0).fit(levels, y)
    encoded = np.hstack([np.eye(5)[levels[:, j].astype(int)] for j in range(2)])
    linear = LinearSVC(loss=loss, dual=True, tol=1e-8, max_iter=1_000_000, random_state=0)
    linear.fit(encoded, y)
    w, b = linear.coef_[0], linear.intercept_[0]
    losses = LOSSES[loss].of_margin(y * (encoded @ w + b))
    assert model.objective_ == pytest.approx(0.5 * w @ w + 0.5 * b**2 + losses.sum(), rel=1e-6)
    assert_allclose(model.decision_function(levels), encoded @ w + b, atol=5e-4)
    effects = np.concatenate([term.coef[0] for term in model.terms_])
    assert_allclose(effects, w, atol=5e-4)


def test_ordered_levels_are_a_curve_of_degree_0() -> None:
    X, y = rings()
    levels = np.digitize(X, [-0.8, -0.3, 0.0, 0.4]).astype(float)
    terms = {0: Category(ordered=True), 1: Category(ordered=True)}
    model = AdditiveSVC(terms=terms, tol=1e-8, random_state=0, C=1.0).fit(levels, y)
    # Level k is the sum of steps 0, ..., k, each a feature that is 1 from level k on.
    steps = np.hstack([(levels[:, [j]] >= np.arange(5)).astype(float) for j in range(2)])
    linear = LinearSVC(loss="hinge", tol=1e-8, max_iter=1_000_000, random_state=0).fit(steps, y)
    w, b = linear.coef_[0], linear.intercept_[0]
    losses = LOSSES["hinge"].of_margin(y * (steps @ w + b))
    assert model.objective_ == pytest.approx(0.5 * w @ w + 0.5 * b**2 + losses.sum(), rel=1e-6)
    assert_allclose(model.decision_function(levels), steps @ w + b, atol=5e-4)


def test_gaps_are_two_more_features() -> None:
    """The mean of the embedding in its place, and a column that is sqrt(g) at gaps."""
    X, y = rings()
    X = np.where(np.random.default_rng(5).random(X.shape) < 0.2, np.nan, X)
    model = AdditiveSVC(Spline(6, knots="uniform"), tol=1e-8, random_state=0, C=1.0).fit(X, y)
    columns = []
    for x in X.T:
        gap = np.isnan(x)
        phi = np.zeros((len(x), 7))
        phi[~gap] = SplineEmbedding(n_bins=6, knots="uniform").fit_transform(x[~gap, None])
        phi[gap] = phi[~gap].mean(axis=0)
        columns += [phi, np.sqrt(1 / 6) * gap[:, None]]
    features = np.hstack(columns)
    linear = LinearSVC(loss="hinge", tol=1e-8, max_iter=1_000_000, random_state=0).fit(features, y)
    w, b = linear.coef_[0], linear.intercept_[0]
    losses = LOSSES["hinge"].of_margin(y * (features @ w + b))
    assert model.objective_ == pytest.approx(0.5 * w @ w + 0.5 * b**2 + losses.sum(), rel=1e-6)
    assert_allclose(model.decision_function(X), features @ w + b, atol=5e-4)
