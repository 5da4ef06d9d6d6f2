"""The embeddings as transformers: scikit-learn's contract, and what is particular to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from splinear import FourierEmbedding, HermiteEmbedding, SplineEmbedding

TRANSFORMERS = [
    SplineEmbedding(),
    SplineEmbedding(degree=3, n_bins=4, penalty_order=2, knots="quantile"),
    SplineEmbedding(penalty_order=0, sparse_output=False),
    FourierEmbedding(),
    FourierEmbedding(degree=3, penalty_order=2, scale="native"),
    HermiteEmbedding(),
    HermiteEmbedding(knots="quantile", scale="standard"),
]
each_transformer = pytest.mark.parametrize("embed", TRANSFORMERS, ids=str)


def drawn(n: int = 40, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3)).astype(dtype)


@parametrize_with_checks(
    [SplineEmbedding(), SplineEmbedding(penalty_order=0), FourierEmbedding(), HermiteEmbedding()]
)
def test_sklearn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@each_transformer
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, np.bool_])
def test_dtype_is_kept_where_it_is_a_float(embed: Any, dtype: Any) -> None:
    X = np.round(np.abs(drawn()) * 50).astype(dtype)
    phi = clone(embed).fit_transform(X)
    assert phi.dtype == (np.float32 if dtype == np.float32 else np.float64)
    wide = clone(embed).fit_transform(X.astype(np.float64))
    tolerance = 1e-5 if dtype == np.float32 else 1e-15  # what float32 can hold, or nothing lost
    assert_allclose(phi, wide, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_order_zero_is_sparse(degree: int, dtype: Any) -> None:
    X = drawn(dtype=dtype)
    embed = SplineEmbedding(degree=degree, penalty_order=0)
    phi = embed.fit_transform(X)
    dense = embed.set_params(sparse_output=False).fit_transform(X)
    assert sparse.issparse(phi)
    assert phi.format == "csr"
    assert phi.dtype == dense.dtype == dtype
    assert_array_equal(phi.toarray(), dense)
    assert phi.nnz <= X.size * (degree + 1)


def test_sparse_output_goes_into_liblinear() -> None:
    """Which takes indices of 32 bits only."""
    X = drawn()
    model = make_pipeline(SplineEmbedding(penalty_order=0), LinearSVC()).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) > 0.9


@each_transformer
def test_names_of_columns(embed: Any) -> None:
    X = drawn()
    phi = embed.fit_transform(X)
    names = embed.get_feature_names_out()
    assert len(names) == len(set(names)) == phi.shape[1]
    frame = pd.DataFrame(X, columns=["age", "hours", "gain"])
    named = clone(embed).fit(frame).get_feature_names_out()
    assert [name.split("_")[0] for name in named] == np.repeat(
        list(frame), len(named) // 3
    ).tolist()


def test_names_say_which_function() -> None:
    X = drawn()
    assert SplineEmbedding(n_bins=2).fit(X).get_feature_names_out()[:4].tolist() == [
        "x0_bspline0",
        "x0_bspline1",
        "x0_bspline2",
        "x1_bspline0",
    ]
    assert FourierEmbedding(degree=1).fit(X).get_feature_names_out()[:2].tolist() == [
        "x0_cos1",
        "x0_sin1",
    ]
    assert HermiteEmbedding(degree=1).fit(X).get_feature_names_out()[2] == "x2_hermite1"


@each_transformer
def test_pandas_output(embed: Any) -> None:
    frame = pd.DataFrame(drawn(), columns=["a", "b", "c"], index=np.arange(40) * 2)
    embed = clone(embed).set_output(transform="pandas")
    phi = embed.fit_transform(frame)
    assert list(phi.columns) == list(embed.get_feature_names_out())
    assert list(phi.index) == list(frame.index)
    assert_array_equal(
        phi.to_numpy(), clone(embed).fit(frame).embedding_.transform(frame.to_numpy())
    )


def test_pandas_output_needs_a_dense_embedding() -> None:
    embed = SplineEmbedding(penalty_order=0).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"sparse_output|sparse"):
        embed.fit_transform(drawn())


@each_transformer
def test_constant_columns_become_zero(embed: Any) -> None:
    X = drawn()
    X[:, 1] = 3.5
    embed = clone(embed).fit(X)
    size = len(embed.get_feature_names_out()) // 3
    phi = embed.transform(X + np.eye(3)[1]).reshape(len(X), 3, size)  # other values do not wake it
    assert_array_equal(phi[:, 1], 0)
    assert (phi[:, 0] != 0).any()
    assert_array_equal(phi[:, 2], clone(embed).fit_transform(X[:, 2:]))


@each_transformer
def test_values_outside_count_as_the_nearest_end(embed: Any) -> None:
    X = drawn()
    embed = clone(embed).fit(X)
    lo, hi = X.min(axis=0), X.max(axis=0)
    assert_array_equal(embed.transform([lo - 5, hi + 1e300]), embed.transform([lo, hi]))


@each_transformer
def test_rows_are_embedded_one_by_one(embed: Any) -> None:
    X = drawn()
    embed = clone(embed).fit(X)
    assert_array_equal(embed.transform(X[7:9]), embed.transform(X)[7:9])


@pytest.mark.parametrize("factor", [1e-300, 1e-9, 2.0, 1e9, 1e300])
@each_transformer
def test_units_do_not_matter_unless_native(embed: Any, factor: float) -> None:
    X = drawn()
    scaled = clone(embed).fit_transform(X * factor)
    expected = clone(embed).fit_transform(X)
    if embed.scale == "native":
        expected = expected * np.sqrt(factor)
    assert_allclose(scaled, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_native_scale_is_the_square_root_of_the_width() -> None:
    X = drawn()
    for embed in (SplineEmbedding(), FourierEmbedding(), HermiteEmbedding()):
        unit = embed.fit_transform(X).reshape(40, 3, -1)
        native = embed.set_params(scale="native").fit_transform(X).reshape(40, 3, -1)
        assert_allclose(native, unit * np.sqrt(np.ptp(X, axis=0))[:, None], rtol=1e-13)


def test_standard_scale_is_standard_deviations_from_the_mean() -> None:
    X = drawn() * [1, 100, 1e-3] + [0, 1e4, 5]
    phi = HermiteEmbedding(degree=2, scale="standard").fit_transform(X).reshape(40, 3, 2)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(phi[..., 0], z, rtol=1e-9, atol=1e-9)
    assert_allclose(phi[..., 1], (z**2 - 1) / 2, rtol=1e-9, atol=1e-9)


def test_many_equal_values_share_their_quantiles() -> None:
    X = np.array([[0.0]] * 60 + [[float(k)] for k in range(1, 41)])
    phi = SplineEmbedding(n_bins=10, knots="quantile").fit_transform(X)
    assert np.isfinite(phi).all()
    assert (np.diff(phi.sum(axis=1)[59:]) > 0).all()  # distinct values stay distinct, and in order
    assert len(np.unique(phi[:60], axis=0)) == 1


@pytest.mark.parametrize(
    ("embed", "message"),
    [
        (SplineEmbedding(degree=4), "degree must be 0, 1, 2 or 3"),
        (SplineEmbedding(scale="standard"), "for HermiteEmbedding only"),
        (SplineEmbedding(n_bins=0), "n_bins"),
        (SplineEmbedding(n_bins=32769), "n_bins"),
        (SplineEmbedding(penalty_order=-1), "penalty_order"),
        (SplineEmbedding(knots="random"), "knots"),
        (FourierEmbedding(degree=0), "degree must be at least 1"),
        (FourierEmbedding(penalty_order=3), "penalty_order must be 1 or 2"),
        (HermiteEmbedding(penalty_order=0), "penalty_order must be 1 or 2"),
        (HermiteEmbedding(degree=151), "degree must be at most 150"),
    ],
)
def test_parameters_are_checked_in_fit(embed: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        embed.fit(drawn())


def test_highest_hermite_degree_is_finite() -> None:
    for order in (1, 2):
        phi = HermiteEmbedding(degree=150, penalty_order=order).fit_transform(drawn())
        assert np.isfinite(phi).all()
        assert np.abs(phi).max() <= 1


@each_transformer
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_bad_values_are_named_by_column(embed: Any, value: float) -> None:
    frame = pd.DataFrame(drawn(), columns=["age", "hours", "gain"])
    bad = frame.copy()
    bad.loc[3, "hours"] = value
    with pytest.raises(ValueError, match=r"column 'hours' \(first in row 3\)"):
        clone(embed).fit(bad)
    with pytest.raises(ValueError, match=r"column 'hours' \(first in row 3\)"):
        clone(embed).fit(frame).transform(bad)
