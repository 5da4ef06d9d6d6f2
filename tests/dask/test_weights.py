"""Weights of rows on workers: the dispersion is a sum over all of them."""

from __future__ import annotations

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask is not installed")

from splinear import AdditiveClassifier, AdditiveRegressor  # noqa: E402
from splinear.dask import DaskAdditiveClassifier, DaskAdditiveRegressor  # noqa: E402
from splinear.terms import Spline  # noqa: E402

pytestmark = pytest.mark.dask


def rows(loss):
    random = np.random.default_rng(0)
    X = random.normal(size=(1_200, 2))
    f = np.sin(2 * X[:, 0])
    y = {
        "squared_error": f + random.normal(size=1_200),
        "poisson": 1.0 * random.poisson(np.exp(f)),
        "softmax": np.digitize(f + random.logistic(size=1_200), [-1.0, 1.0]),
    }[loss]
    return X, y, random.lognormal(size=1_200)


def models(loss):
    options = {"curve": Spline(10), "random_state": 0, "tol": 1e-6}
    if loss == "softmax":
        return AdditiveClassifier(**options), DaskAdditiveClassifier(**options)
    return AdditiveRegressor(loss=loss, **options), DaskAdditiveRegressor(loss=loss, **options)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "softmax"])
def test_the_dispersion_is_that_of_a_local_fit_in_any_unit_of_weights(client, loss):
    X, y, weights = rows(loss)
    here, there = models(loss)
    here.fit(X, y, sample_weight=weights)
    chunked = (da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=200))
    for factor in (1.0, 7.0):
        there.fit(*chunked, da.from_array(factor * weights, chunks=200))
        found, expected = (model._posteriors[0] for model in (there, here))
        assert found.noise == pytest.approx(factor * expected.noise, rel=1e-3)
        assert found.freedom == pytest.approx(expected.freedom, rel=0.02)
        np.testing.assert_allclose(
            there.to_local().predict_interval(X), here.predict_interval(X), rtol=0.02, atol=0.01
        )
