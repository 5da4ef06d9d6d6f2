"""Losses of splinear.losses, and a user's own, on workers: against local fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from splinear import AdditiveRegressor
from splinear.losses import Loss, NegativeBinomial, Quantile, Tweedie
from splinear.terms import Spline

da = pytest.importorskip("dask.array", reason="dask is not installed")

from splinear.dask import DaskAdditiveRegressor  # noqa: E402

pytestmark = pytest.mark.dask


@dataclass(frozen=True)
class PseudoHuber(Loss):
    """A user's own loss."""

    width: float = 1.0
    convex = True

    def value(self, y, f):
        return self.width * (np.hypot(self.width, f - y) - self.width)

    def slope(self, y, f):
        return self.width * (f - y) / np.hypot(self.width, f - y)

    def curvature(self, y, f):
        return self.width**3 / np.hypot(self.width, f - y) ** 3


LOSSES = [Tweedie(1.6), NegativeBinomial(), NegativeBinomial(2.0), Quantile(0.7), PseudoHuber()]


@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("pairs", [0, [(0, 1)]], ids=["curves", "pair"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_fits_are_those_of_one_process(client, loss, C, pairs):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (900, 2))
    mu = np.exp(1.0 + np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1])
    y = rng.negative_binomial(2.0, 2.0 / (2.0 + mu)).astype(float)
    curve = Spline(6, degree=3, penalty_order=2, knots="uniform")
    given = {"loss": loss, "C": C, "interactions": pairs, "random_state": 0, "tol": 1e-4}
    local = AdditiveRegressor(curve, **given).fit(X, y)
    there = da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=200)
    remote = DaskAdditiveRegressor(curve, client=client, **given).fit(*there)
    assert remote.certified_
    assert remote.dual_gap_ <= 1e-4
    own, ours = remote.loss_.parameters(), local.loss_.parameters()
    assert own == pytest.approx(ours, rel=0.02)
    assert remote.objective_ == pytest.approx(local.objective_, rel=3e-4 if C else 0.01)
    found, expected = remote.to_local().predict(X), local.predict(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.03 * expected.std())
    assert remote.score(*there) == pytest.approx(remote.to_local().score(X, y), rel=1e-9)
