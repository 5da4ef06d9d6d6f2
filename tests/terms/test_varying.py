"""Varying coefficients against dense models of explicit columns z B(x)."""

import numpy as np
import pandas as pd
import pytest

import splinear
from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import (
    base_value,
    contributions,
    standard_error,
    summary,
    surface,
    varying_band,
    varying_curve,
)
from splinear.terms import Category, Linear, Pair, Spline, Varying


def table(n=300, seed=0):
    """A number x, a number z far from 0, and a category g; missing values in all of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.uniform(0, 1, n),
            "z": rng.normal(50.0, 5.0, n),
            "g": rng.choice(np.array(list("abcd"), dtype=object), n),
        }
    )
    slope = np.where(X["g"] == "a", 0.5, -0.2) + np.sin(6 * X["x"])
    y = np.cos(4 * X["x"]) + 0.3 * (X["z"] - 50) * slope + rng.normal(0, 0.5, n)
    return X, y.to_numpy()


def with_gaps(X):
    X, rng = X.copy(), np.random.default_rng(1)
    for name in X:
        X.loc[rng.random(len(X)) < 0.1, name] = np.nan
    return X


def hats(x, knots):
    return np.stack([np.interp(x, knots, row) for row in np.eye(len(knots))], axis=1)


PAIRS = {"slope": ("x", "z"), "random slope": ("g", "z"), "curve per level": ("x", "g")}


def columns_of(name, X, n_bins):
    """The explicit columns of a term, one group per curve, and the penalty of each group."""
    knots = np.linspace(X["x"].min(), X["x"].max(), n_bins + 1)
    B = hats(X["x"].to_numpy(), knots)
    G = (X["g"].to_numpy()[:, None] == np.array(list("abcd"), dtype=object)).astype(float)
    z = X["z"].to_numpy()
    v = ((z - z.mean()) / z.std())[:, None]
    D = np.eye(n_bins + 1) - np.eye(n_bins + 1, k=-1)
    of_curve = D.T @ D * n_bins  # s^2 = 1 / n_bins
    if name == "slope":
        return [v * (B - B.mean(axis=0))], [of_curve]
    if name == "random slope":
        return [v * (G - G.mean(axis=0))], [np.eye(4)]
    parts = [g[:, None] * (B - B[g > 0].mean(axis=0)) for g in G.T]
    return parts, [of_curve] * 4


@pytest.mark.parametrize("name", PAIRS)
def test_fit_is_that_of_explicit_columns(name):
    X, y = table()
    n_bins, C = 6, 3.0
    curve = Spline(n_bins, knots="uniform")
    of = Category() if name == "random slope" else curve
    model = AdditiveRegressor(
        curve, C=C, terms={PAIRS[name]: Varying(of)}, tol=1e-13, random_state=0
    ).fit(X, y)
    groups, penalties = columns_of(name, X, n_bins)
    groups = [part - part.mean(axis=0) for part in groups]  # levels belong to the intercept
    D = np.eye(n_bins + 1) - np.eye(n_bins + 1, k=-1)
    for column in ("x", "z"):
        values = X[column].to_numpy()
        groups.append(hats(values, np.linspace(values.min(), values.max(), n_bins + 1)))
        penalties = [*penalties, D.T @ D * n_bins]
    groups.append((X["g"].to_numpy()[:, None] == np.array(list("abcd"))).astype(float))
    penalties = [*penalties, np.eye(4)]
    A = np.column_stack([np.ones(len(y)), *groups])
    S = np.zeros((A.shape[1],) * 2)
    start = 1
    for penalty in penalties:
        stop = start + len(penalty)
        S[start:stop, start:stop] = penalty / C
        start = stop
    # The loss is half the square of the residual.
    coef = np.linalg.solve(A.T @ A + S, A.T @ y)
    assert model.certified_
    np.testing.assert_allclose(model.predict(X), A @ coef, rtol=0, atol=1e-6)
    residual = y - A @ coef
    objective = 0.5 * residual @ residual + 0.5 * coef @ S @ coef
    assert model.objective_ * C == pytest.approx(objective, rel=1e-9) or (
        model.objective_ == pytest.approx(objective, rel=1e-9)
    )
