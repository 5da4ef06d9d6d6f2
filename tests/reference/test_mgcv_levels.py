"""Ordered levels against mgcv's ocat on the same basis; mgcv_levels.R records its figures.

Table and figures are made anew by::

    python tests/reference/test_mgcv_levels.py
    Rscript tests/reference/mgcv_levels.R tests/reference/mgcv_levels.{csv,json}
"""

import json
from pathlib import Path

import numpy as np

from splinear import AdditiveOrdinal
from splinear.terms import Spline

TABLE = Path(__file__).parent / "mgcv_levels.csv"
OF_MGCV = json.loads(TABLE.with_suffix(".json").read_text()) if __name__ != "__main__" else {}
AT = np.column_stack([np.linspace(0.0, 1.0, 11), np.linspace(1.0, 0.0, 11)])


def table(n=300, n_draws=300):
    """Two features, a level, and how many of 300 draws at these features have it.

    The latent scale has logistic noise and 4 cut points. There are many draws because our slopes
    have a variance of their own, and so are shrunk a little where there are few.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2)).round(6)
    X[:2] = [[0.0, 1.0], [1.0, 0.0]]
    f = 1.5 * np.sin(6.0 * X[:, 0]) + 1.5 * np.cos(7.0 * X[:, 1])
    levels = np.digitize(f[:, None] + rng.logistic(size=(n, n_draws)), [-2.0, -0.5, 0.0, 1.5])
    counts = np.stack([(levels == k).sum(axis=1) for k in range(5)], axis=1)
    row, level = np.nonzero(counts)
    return np.column_stack([X[row], level + 1, counts[row, level]])


def test_probabilities_are_those_of_mgcv():
    of_file = np.loadtxt(TABLE, delimiter=",", skiprows=1)
    X, y, counts = of_file[:, :2], of_file[:, 2].astype(int), of_file[:, 3]
    curve = Spline(12, degree=3, penalty_order=2, knots="uniform")
    model = AdditiveOrdinal(curve, tol=1e-8, random_state=0).fit(X, y, counts=counts)
    expected = np.array(OF_MGCV["probabilities"]).reshape(5, -1).T
    assert model.certified_
    assert np.abs(model.predict_proba(AT) - expected).max() < 1e-3
    widths = np.diff(OF_MGCV["cut_points"])
    np.testing.assert_allclose(np.diff(model.cut_points_), widths, rtol=2e-3)


if __name__ == "__main__":
    form = ["%.6f", "%.6f", "%d", "%d"]
    np.savetxt(TABLE, table(), form, ",", header="a,b,level,count", comments="")
