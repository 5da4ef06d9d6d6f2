"""Curves that are held to a form together with their surfaces."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.terms import Pair, Spline

ROUNDING = 1e-13
SIGN = {"increasing": 1, "decreasing": -1, "convex": 1, "concave": -1}


def draw(seed, n=400):
    """Rows in which the effect of column 0 depends on the others, and goes both ways."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    X[:, 1] += 0.6 * X[:, 0]
    signal = np.tanh(X[:, 0]) * (0.5 + X[:, 1]) + np.sin(2 * X[:, 2]) * X[:, 3]
    return X, signal + 0.5 * random.normal(size=n), random


def scores(model, X):
    found = model.predict(X) if hasattr(model, "loss") else model.decision_function(X)
    found = np.log(found) if getattr(model, "loss", "") in ("poisson", "gamma") else found
    return found.reshape(len(X), -1)


def violation(model, X, random, *, monotone=None, curvature=None, j=0):
    """How far scores along feature j go the wrong way, at random values of the others."""
    lo, hi, worst = X[:, j].min(), X[:, j].max(), 0.0
    for row in X[random.integers(len(X), size=20)]:
        others = X[random.integers(len(X), size=len(row)), np.arange(len(row))]
        Z = np.tile(np.where(random.random(len(row)) < 0.5, row, others), (500, 1))
        Z[:, j] = np.linspace(lo, hi, 500)
        f = scores(model, Z)
        steps, unit = np.diff(f, axis=0), np.abs(f).max()
        if monotone:
            worst = max(worst, -(SIGN[monotone] * steps).min() / unit)
        if curvature:
            worst = max(worst, -(SIGN[curvature] * np.diff(steps, axis=0)).min() / unit)
    return worst


FORMS = [
    {"monotone": "increasing"},
    {"monotone": "decreasing"},
    {"curvature": "convex"},
    {"monotone": "increasing", "curvature": "concave"},
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: " ".join(form.values()))
@pytest.mark.parametrize(
    ("kind", "C"),
    [("squared_error", 1.0), ("poisson", None), ("two classes", None), ("three classes", 1.0)],
)
def test_no_violation(kind, C, form):
    X, y, random = draw(0)
    terms = {0: Spline(**form), (0, 1): Pair(), (2, 0): Pair(n_bins=5), (2, 3): Pair()}
    if kind == "squared_error":
        model = AdditiveRegressor(terms=terms, C=C)
    elif kind == "poisson":
        model, y = AdditiveRegressor(terms=terms, C=C, loss="poisson"), random.poisson(np.exp(y))
    else:
        model = AdditiveClassifier(terms=terms, C=C)
        y = np.digitize(y, [0.0] if kind == "two classes" else [-0.5, 0.5])
    model.fit(X, y)
    assert model.certified_
    assert len([term for term in model.terms_ if term.kind == "Pair"]) == 3
    assert violation(model, X, random, **form) <= ROUNDING


def test_surfaces_without_a_form_would_violate():
    X, y, random = draw(0)
    model = AdditiveRegressor(interactions=[(0, 1)]).fit(X, y)
    assert violation(model, X, random, monotone="increasing") > 1e-3


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_objective_is_that_of_scipy(C):
    """The curve and the table of the surface are its variables, and the constraints as they read.

    That is at every node of the surface's second feature the sum of both rises in each piece.
    """
    X, y, _ = draw(1, n=150)
    X = X[:, :2]
    rising = Spline(n_bins=6, knots="uniform", monotone="increasing")
    terms = {0: rising, 1: Spline(n_bins=4, knots="uniform"), (0, 1): Pair(n_bins=3)}
    model = AdditiveRegressor(terms=terms, C=C, tol=1e-7).fit(X, y)
    first, second, pair = model.terms_
    hats = [hat(term.knots, X[:, j]) for j, term in enumerate((first, second))]
    nodes = [chain.knots for chain in pair.chains]
    surface = np.einsum("ik,il->ikl", hat(nodes[0], X[:, 0]), hat(nodes[1], X[:, 1]))
    n, mass = [h.shape[1] for h in hats], surface.sum(axis=0)
    design = np.column_stack([np.ones(len(X)), *hats, surface.reshape(len(X), -1)])
    ends = np.cumsum([1, *n])
    variances = first.smoothness, second.smoothness, pair.smoothness

    def parts(v):
        return v[1 : ends[1]], v[ends[1] : ends[2]], v[ends[2] :].reshape(mass.shape)

    def value(v):
        f, g, T = parts(v)
        penalty = sum(
            np.sum(np.diff(np.append(0.0, c)) ** 2) / t
            for c, t in zip((f, g), variances, strict=False)
        )
        mixed = np.diff(np.diff(T, axis=0), axis=1)
        residual = y - design @ v
        return 0.5 * (residual @ residual + penalty + np.sum(mixed**2) / variances[2])

    def rises(v):
        f, _, T = parts(v)
        along = np.array([np.interp(first.knots, nodes[0], column) for column in T.T])
        return np.diff(f + along, axis=1).ravel()

    def centers(v):
        T = parts(v)[2] * mass
        return np.concatenate([T.sum(axis=0), T.sum(axis=1)[1:]])

    best = minimize(
        value,
        np.zeros(design.shape[1]),
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": rises}, {"type": "eq", "fun": centers}],
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert best.success
    assert min(rises(best.x)) < 1e-9  # or there would be nothing to hold
    np.testing.assert_allclose(model.objective_, best.fun, rtol=1e-6)


def hat(knots, x):
    return np.array([np.interp(x, knots, one) for one in np.eye(len(knots))]).T


def test_categories_and_missing_values():
    X, y, random = draw(2, n=1500)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = pd.Categorical(random.choice(["u", "v", "w"], len(X)))
    y = y + np.where(frame["e"] == "u", -1.0, 1.0) * frame["a"]
    frame.loc[random.random(len(X)) < 0.2, ["b"]] = np.nan
    frame.loc[random.random(len(X)) < 0.1, ["a"]] = np.nan
    model = AdditiveRegressor(
        terms={"a": Spline(monotone="increasing")}, interactions=[("a", "b"), ("e", "a")]
    ).fit(frame, y)
    assert model.certified_
    rows = frame.sample(30, random_state=0)
    rows.loc[rows.index[:10], "b"] = np.nan
    for _, row in rows.iterrows():
        line = pd.DataFrame([row] * 300).astype(frame.dtypes)
        line["a"] = np.linspace(frame["a"].min(), frame["a"].max(), 300)
        f = model.predict(line)
        assert np.diff(f).min() >= -ROUNDING * np.abs(f).max()


def test_pairs_that_are_found():
    """Several features are held; no pair of two of them gets a surface."""
    X, y, random = draw(3, n=3000)
    terms = {0: Spline(monotone="increasing"), 3: Spline(monotone="decreasing", degree=2)}
    terms[2] = Spline(monotone="increasing")
    model = AdditiveClassifier(terms=terms, interactions="auto").fit(X, y > 0)
    pairs = {term.features for term in model.terms_ if term.kind == "Pair"}
    assert (0, 1) in pairs
    assert (0, 2) not in pairs
    assert not any(3 in pair for pair in pairs)
    assert violation(model, X, random, monotone="increasing") <= ROUNDING


def test_what_cannot_be_held_is_refused():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["age", "dose"])
    y = frame["age"] * frame["dose"]
    rising = Spline(monotone="increasing")
    model = AdditiveRegressor(terms={"age": rising, "dose": rising}, interactions=1)
    model.fit(frame, y)  # there is no other pair, and this one is not looked at
    assert not model._model.layout.pairs
    with pytest.raises(ValueError, match=r"forms of two curves.*'age'.*'dose'"):
        model.set_params(interactions=[("age", "dose")]).fit(frame, y)
    curved = Spline(monotone="increasing", degree=2)
    with pytest.raises(ValueError, match=r"'age'.*degree=1"):
        AdditiveRegressor(terms={"age": curved}, interactions=[(0, 1)]).fit(frame, y)
