"""Ordered levels on workers, whose cut points are solved for over all parts: against local fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from splinear import AdditiveOrdinal
from splinear.inspection import band, standard_error
from splinear.terms import Spline

da = pytest.importorskip("dask.array", reason="dask is not installed")

from splinear.dask import DaskAdditiveOrdinal  # noqa: E402

pytestmark = pytest.mark.dask

CURVE = Spline(6, degree=3, penalty_order=2, knots="uniform")


def rows(n=900):
    """Levels of which the last partition has few."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    X[-100:, 0] = 0.9
    latent = 3.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + 2.0 * X[:, 0] * X[:, 1]
    return X, np.digitize(latent + rng.logistic(size=n), [-3.0, -1.0, 0.5, 2.0])


def parts(*arrays, rows=200):
    return [da.from_array(own, chunks=(rows, *own.shape[1:])) for own in arrays]


@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("pairs", [0, [(0, 1)]], ids=["curves", "pair"])
def test_fits_are_those_of_one_process(client, C, pairs):
    X, y = rows()
    given = {"C": C, "interactions": pairs, "random_state": 0, "tol": 1e-4}
    local = AdditiveOrdinal(CURVE, **given).fit(X, y)
    remote = DaskAdditiveOrdinal(CURVE, client=client, **given).fit(*parts(X, y))
    assert remote.certified_
    assert remote.dual_gap_ <= 1e-4
    assert remote.objective_ == pytest.approx(local.objective_, rel=3e-4 if C else 0.01)
    P = remote.predict_proba(parts(X)[0]).compute()
    np.testing.assert_allclose(P, local.predict_proba(X), atol=0.01 if C else 0.03)
    np.testing.assert_allclose(remote.to_local().predict_proba(X), P, atol=1e-12)
    assert remote.score(*parts(X, y)) == pytest.approx(remote.to_local().score(X, y))
    f = remote.predict_latent(parts(X)[0]).compute()
    np.testing.assert_allclose(f, remote.to_local().predict_latent(X))


def test_bands_know_of_the_cut_points(client):
    X, y = rows()
    local = AdditiveOrdinal(CURVE, C=1.0, tol=1e-4, random_state=0).fit(X, y)
    remote = DaskAdditiveOrdinal(CURVE, C=1.0, tol=1e-4, random_state=0, client=client)
    found = remote.fit(*parts(X, y)).to_local()
    errors = standard_error(found, X), standard_error(local, X)
    np.testing.assert_allclose(*errors, rtol=0.05)
    (_, *ends), (_, *expected) = band(found, 0), band(local, 0)
    np.testing.assert_allclose(ends, expected, atol=0.05)


def test_weights_and_offset(client):
    X, y = rows()
    weight, offset = np.random.default_rng(1).uniform(0.5, 2.0, (2, len(y)))
    local = AdditiveOrdinal(CURVE, C=1.0, tol=1e-5, random_state=0)
    local.fit(X, y, weight, offset=offset)
    remote = DaskAdditiveOrdinal(CURVE, C=1.0, tol=1e-5, random_state=0, client=client)
    there = parts(X, y, weight, offset)
    remote.fit(*there[:3], offset=there[3])
    np.testing.assert_allclose(remote.cut_points_, local.cut_points_, atol=0.02)
    P = remote.predict_proba(there[0], offset=there[3]).compute()
    np.testing.assert_allclose(P, local.predict_proba(X, offset=offset), atol=0.01)


def test_many_rows_and_the_number_of_partitions(client):
    """Steps from a sample; the result does not depend on the workers."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (12_000, 2))
    y = np.digitize(3.0 * X[:, 0] + rng.logistic(size=12_000), [-2.0, 0.0, 2.0])
    found = [
        DaskAdditiveOrdinal(Spline(12), C=100.0, random_state=0, client=client).fit(
            *parts(X, y, rows=n)
        )
        for n in (2_000, 5_000)
    ]
    assert all(model.certified_ for model in found)
    P = [model.to_local().predict_proba(X[:500]) for model in found]
    np.testing.assert_allclose(*P, atol=0.01)


def test_levels_of_an_ordered_type(client):
    dd = pytest.importorskip("dask.dataframe")
    X, number = rows()
    names = np.array(["poor", "fair", "good", "great", "best"])
    frame = pd.DataFrame(X, columns=["a", "b"])
    y = pd.Series(pd.Categorical.from_codes(number, names, ordered=True))
    there = dd.from_pandas(frame, npartitions=3), dd.from_pandas(y, npartitions=3)
    model = DaskAdditiveOrdinal(CURVE, C=1.0, random_state=0, client=client).fit(*there)
    assert model.classes_.tolist() == names.tolist()
    share = float((model.to_local().predict(frame) == names[number]).mean())
    assert model.score(*there) == pytest.approx(share)
