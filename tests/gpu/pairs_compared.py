"""What tests of surfaces compare on every backend, and with the kernels compiled as C++."""

from __future__ import annotations

import numpy as np

from splinear import AdditiveClassifier
from splinear.estimators.gpu import scores_on
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.tables.opening import open_table
from splinear.terms import Spline
from splinear.terms.pair_group import Chain

N = 900


def numbered(chains, pairs):
    return np.array([(c, d, chains[c].n_nodes, chains[d].n_nodes) for c, d in pairs])


CHAINS = (
    Chain(2, knots=np.array([-1.0, -0.2, 0.0, 0.7, 1.0]), has_missing=True),
    Chain(0, knots=np.array([0.0, 1.0])),
    Chain(1, node_of_level=np.array([2, 0, 1, 1, 3]), has_missing=True),
    Chain(3, knots=np.array([-1e308, 1e-3, 1e308])),
    Chain(0, knots=np.linspace(-0.5, 1.5, 40)),
    Chain(4, knots=np.zeros(0), node_of_level=None, has_missing=True),
)
SURFACES = numbered(CHAINS, [(0, 1), (2, 0), (3, 2), (4, 0)])


def columns(dtype=np.float64, n=N):
    """Return numbers on and beyond knots, gaps where there were some and where not, and levels."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.3, 1.3, size=(n, 5)).astype(dtype)
    X[:, 0] = rng.integers(0, 2, n)
    X[:, 1] = rng.integers(-1, 5, n)  # -1 is not known
    X[::7, 2] = np.array([-1.0, -0.2, 0.0, 0.7, 1.0])[rng.integers(0, 5, len(X[::7]))]
    if dtype == np.float64:
        X[:, 3] *= 1e308
    for column in range(1, 5):
        X[rng.random(n) < 0.1, column] = np.nan
    X[:, 4] = np.nan
    return X


def same_positions(backend, dtype, exact):
    """Compare positions of some rows of X, which come in pieces and are shuffled."""
    X, n_placed = columns(dtype), N - 50
    places = np.random.default_rng(1).permutation(N)
    places[:20] = -1
    mine = backend.surfaces(CHAINS, SURFACES, n_placed, exact=exact)
    for part in np.array_split(np.arange(N), 3):
        mine.fill(backend.array(X[part]), places[part])
    expected = np.zeros((len(CHAINS), n_placed), dtype=np.float64 if exact else np.float32)
    there = (places >= 0) & (places < n_placed)
    for own, chain in zip(expected, CHAINS, strict=True):
        own[places[there]] = chain.positions(X[there, chain.feature])
    assert np.array_equal(backend.numpy(mine.positions), expected)


def placed(backend, exact=False, n=N, chains=CHAINS, surfaces=SURFACES):
    X, surfaces = columns(n=n), backend.surfaces(chains, surfaces, n, exact=exact)
    surfaces.fill(backend.array(X))
    return surfaces


def same_passes(backend, mine, slow, n_outputs):
    rng = np.random.default_rng(2)
    tables = rng.normal(size=(n_outputs, int((slow.table[:, 2] * slow.table[:, 3]).sum())))
    close(backend.numpy(mine.scores(tables)), slow.scores(tables))
    # Outputs of very different size each have their own digits.
    R = rng.normal(size=(n_outputs, mine.n_rows)) * 10.0 ** np.arange(n_outputs)[::-1, None]
    for found, expected in (
        (backend.numpy(mine.sums(backend.array(R))), slow.sums(R)),
        (backend.numpy(mine.blocks(backend.array(R))), slow.blocks(R)),
    ):
        assert found.shape == expected.shape
        for own, other in zip(found, expected, strict=True):
            close(own, other)


def close(found, expected):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


def same_passes_of_the_largest(backend):
    """Compare the finest surface there can be, which takes most of the shared memory of a GPU."""
    chains = (
        Chain(2, knots=np.linspace(-1.2, 1.2, 64), has_missing=True),
        Chain(3, knots=np.linspace(-0.8e308, 0.8e308, 64), has_missing=True),
        Chain(0, knots=np.arange(2.0)),
    )
    made = {"chains": chains, "surfaces": numbered(chains, [(0, 1), (0, 2)])}
    same_passes(backend, placed(backend, **made), placed(NumPyBackend(), **made), 1)


def same_evidence(backend, n_outputs, n=1300):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 16, size=(7, n)).astype(np.uint8)
    cells[2], cells[3] = rng.integers(0, 2, n), 0
    pairs = np.array([(a, b) for a in range(7) for b in range(a + 1, 7)])
    G, H = rng.normal(size=(n_outputs, n)), rng.random((n_outputs, n))
    found = backend.pair_evidence(backend.array(cells), G, H, pairs)
    expected = NumPyBackend().pair_evidence(cells, G, H, pairs)
    assert found.shape == (n_outputs, len(pairs))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    again = backend.pair_evidence(backend.array(cells), G, H, pairs)
    assert np.array_equal(found, again)


def both(model, X, y, **fit):
    there = type(model)(**model.get_params(deep=False)).set_params(device="cuda").fit(X, y, **fit)
    return model.fit(X, y, **fit), there


def pairs_of(model):
    return [term.features for term in model.terms_.pairs]


def same_predictions(backend, classes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 4))
    X[:, 3] = rng.integers(0, 3, 500)
    X[::9, 0] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) * X[:, 1] + 0.3 * X[:, 2], [-0.2, 0.2])
    model = AdditiveClassifier(
        Spline(8, knots="quantile"),
        interactions=[(0, 1), (3, 2)],
        categorical_features=[3],
        C=1.0,
        random_state=0,
    ).fit(X, np.minimum(y, classes - 1))
    X[5, 1], X[7, 3] = np.nan, -1  # a gap where there was none; a level that is not known
    expected = model._model.scores(open_table(X))
    found = backend.numpy(scores_on(backend, model._model, backend.array(X)))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    rounded = X.astype(np.float32)
    found = backend.numpy(scores_on(backend, model._model, backend.array(rounded)))
    np.testing.assert_allclose(found, model._model.scores(open_table(rounded)), atol=1e-4)
