"""How thinned terms hang together, on every backend and by the core."""

from __future__ import annotations

import numpy as np
import pytest

from splinear import AdditiveClassifier
from splinear.objective.gpu.rows import DeviceRows
from splinear.objective.local.training_rows import TrainingRows
from splinear.solvers.reml import information
from splinear.terms import Category, Spline


@pytest.mark.parametrize("classes", [2, 3])
def test_couplings_are_those_of_the_core(on_backend, classes, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = (np.sin(2 * X) @ rng.normal(size=(4, classes)) + rng.gumbel(size=(700, classes))).argmax(1)
    X[::9, 2] = np.nan
    X[:, 3] = np.digitize(X[:, 3], [-1, 0, 1])
    found, plain = [], information._coupling

    def both(at, thinned, n_rows):
        there = plain(at, thinned, n_rows)
        with monkeypatch.context() as patch:
            patch.setattr(DeviceRows, "thinned", TrainingRows.thinned)  # from a copy of the codes
            here = plain(at, thinned, n_rows)
        found.append((there, here))
        return there

    monkeypatch.setattr(information, "_coupling", both)
    terms = {3: Category(), 1: Spline(n_bins=6, degree=3)}
    AdditiveClassifier(terms=terms, C=0.5, device="cuda", random_state=0).fit(X, y)
    [(there, here)] = found
    np.testing.assert_allclose(there, here, atol=1e-5 * np.abs(here).max())
