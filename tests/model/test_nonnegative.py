"""The nearest vector that obeys inequalities, against SciPy's non-negative least squares."""

import numpy as np
import pytest
from scipy.optimize import nnls

from splinear.model import nonnegative
from splinear.model.nonnegative import Metric, inverted, nearest


def matrix(random, n, spread):
    """A positive definite matrix of condition 10^spread, with ones on the diagonal."""
    U = np.linalg.qr(random.normal(size=(n, n)))[0]
    S = (U * 10.0 ** random.uniform(-spread, 0.0, size=n)) @ U.T
    unit = np.sqrt(np.diagonal(S))
    return S / unit / unit[:, None]


def by_scipy(S, w):
    L = np.linalg.cholesky(S)
    return nnls(L.T, L.T @ w, maxiter=100_000)[0]


def distance(S, u, w):
    return (u - w) @ S @ (u - w)


@pytest.mark.parametrize("patience", [3, -1], ids=["blocks", "one by one"])
@pytest.mark.parametrize("spread", [0.5, 3.0, 7.0])
@pytest.mark.parametrize("n", [1, 2, 30, 120])
def test_nearest_equals_scipy(n, spread, patience, monkeypatch):
    monkeypatch.setattr(nonnegative, "PATIENCE", patience)
    for seed in range(5):
        random = np.random.default_rng(seed)
        S, w = matrix(random, n, spread), random.normal(size=n)
        u, m = nearest(S, w, random.random(n) > 0.5)
        expected = by_scipy(S, w)
        assert (u >= 0).all()
        assert (m >= 0).all()
        assert not (u * m).any()
        assert distance(S, u, w) <= distance(S, expected, w) * (1 + 1e-9) + 1e-12
        np.testing.assert_allclose(m, S @ (u - w), atol=1e-9)


def test_blocks_and_outputs():
    random = np.random.default_rng(0)
    parts = [np.array([0, 2, 4]), np.array([1, 3])]
    blocks = [[(at, 5.0**k * matrix(random, len(at), 2.0)) for at in parts] for k in range(2)]
    metric, w = Metric(blocks), random.normal(size=(2, 5))
    u, m = metric.nearest(w)
    for k in range(2):
        S = np.zeros((5, 5))
        for at, own in blocks[k]:
            S[np.ix_(at, at)] = own
        np.testing.assert_allclose(u[k], by_scipy(S, w[k]), atol=1e-9)
        np.testing.assert_allclose(m[k], S @ (u[k] - w[k]), atol=1e-9)
    shared = Metric(blocks[:1]).nearest(w)[0]
    np.testing.assert_array_equal(shared[0], u[0])
    assert not np.array_equal(shared[1], u[1])


def test_inverse_of_what_is_hardly_invertible():
    Q = 1e-9 * np.array([[1.0, 1.0], [1.0, 1.0 + 1e-15]])
    assert np.isfinite(inverted(Q)).all()
    S = 1e5 * matrix(np.random.default_rng(0), 6, 2.0)
    np.testing.assert_allclose(inverted(S) @ S, np.eye(6), atol=1e-8)
