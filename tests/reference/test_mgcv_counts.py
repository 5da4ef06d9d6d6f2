"""Counts and amounts against mgcv on the same basis; mgcv_counts.R records its figures.

Table and figures are made anew by::

    python tests/reference/test_mgcv_counts.py
    Rscript tests/reference/mgcv_counts.R tests/reference/mgcv_counts.{csv,json}
"""

import json
from pathlib import Path

import numpy as np
import pytest

from splinear import AdditiveRegressor
from splinear.losses import NegativeBinomial, Tweedie
from splinear.terms import Spline

TABLE = Path(__file__).parent / "mgcv_counts.csv"
OF_MGCV = json.loads(TABLE.with_suffix(".json").read_text()) if __name__ != "__main__" else {}
AT = np.column_stack([np.linspace(0.0, 1.0, 11), np.linspace(1.0, 0.0, 11)])


def table(n=1500):
    """Two features, counts with theta = 50, and amounts with power 1.5 of which some are 0.

    The signal is strong: our slopes have a variance of their own, and so are shrunk a little.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2)).round(6)
    X[:2] = [[0.0, 1.0], [1.0, 0.0]]
    mu = np.exp(1.5 * np.sin(6.0 * X[:, 0]) + 1.5 * np.cos(7.0 * X[:, 1]))
    count = rng.negative_binomial(50.0, 50.0 / (50.0 + np.exp(3.0) * mu))
    size = 0.1 * np.sqrt(mu)  # of exponential parts: a variance of 0.2 mu^1.5
    n_parts = rng.poisson(mu / size)
    amount = np.where(n_parts > 0, rng.gamma(np.maximum(n_parts, 1)) * size, 0.0)
    return np.column_stack([X, count, amount.round(6)])


LOSSES = {
    "nb": NegativeBinomial(),
    "nb(50)": NegativeBinomial(50.0),
    "tw(1.5)": Tweedie(1.5),
}


@pytest.mark.parametrize("name", LOSSES)
def test_means_are_those_of_mgcv(name):
    of_file = np.loadtxt(TABLE, delimiter=",", skiprows=1)
    X, y = of_file[:, :2], of_file[:, 2 if name.startswith("nb") else 3]
    curve = Spline(12, degree=3, penalty_order=2, knots="uniform")
    model = AdditiveRegressor(curve, loss=LOSSES[name], tol=1e-8, random_state=0).fit(X, y)
    expected = OF_MGCV[name]
    mean = np.exp(expected["log_mean"])
    assert np.abs(model.predict(AT) - mean).max() < 1e-3 * np.ptp(mean)
    if name == "nb":
        assert model.loss_.theta == pytest.approx(expected["parameter"], rel=0.02)


if __name__ == "__main__":
    np.savetxt(TABLE, table(), "%.6f", ",", header="a,b,count,amount", comments="")
