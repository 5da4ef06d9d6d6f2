"""Certificates that read some rows of X are those that read all."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from splinear import AdditiveSVC, AdditiveSVR
from splinear.losses.margin import MarginLoss
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.solvers.hinge import one_problem, ways
from splinear.solvers.proofs import certificate
from splinear.solvers.proofs.certificate import certify_problem
from splinear.solvers.proofs.rounding import error_of_codes, rows_in_doubt
from splinear.tables.opening import open_table
from splinear.terms import Spline
from splinear.terms.basis import BSplineBasis
from tests.reference.losses import LOSSES

CURVES = {
    "D_0": Spline(10, penalty_order=0, knots="uniform"),
    "D_1, knots": Spline(20),
    "quadratic": Spline(8, degree=2, penalty_order=2, knots="uniform"),
    "cubic": Spline(200, degree=3, penalty_order=2, knots="uniform"),
}
MODELS = {
    "hinge": AdditiveSVC(C=10.0, random_state=0),
    "squared hinge": AdditiveSVC(loss="squared_hinge", C=10.0, random_state=0),
    "epsilon": AdditiveSVR(C=10.0, epsilon=0.5, random_state=0),
}
N = 600


@pytest.fixture(scope="module")
def numbers() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 5))
    return X, np.sin(2 * X).sum(axis=1) + 0.2 * random.normal(size=N)


def of_curves(layout: Layout) -> Layout:
    """Return the groups whose error is known: splines and categories."""
    splines = [g for g in layout.groups if isinstance(g.embedding.basis, BSplineBasis)]
    return layout.with_groups([g for g in splines if g.levels or g.embedding.basis.degree > 0])


def test_no_score_is_farther_from_its_codes(mixed: Callable) -> None:
    """Terms of all kinds that have a bound, gaps included; coefficients with steep places."""
    worst = 0.0
    for seed in range(5):
        X, layout = mixed(seed)
        rows = TrainingRows.prepare(open_table(X), layout)
        assert error_of_codes(rows, np.zeros(layout.n_parameters)) is None  # it has a Fourier curve
        layout = of_curves(layout)
        rows = TrainingRows.prepare(open_table(X), layout)
        coef = np.random.default_rng(seed).standard_cauchy(layout.n_parameters)
        bound = error_of_codes(rows, coef)
        apart = np.abs(rows.scores(coef[None]) - rows.exactly().scores(coef[None])).max()
        assert bound is not None
        assert apart <= bound
        worst = max(worst, apart / bound)
    assert worst > 1e-2  # it says something


def test_codes_half_a_step_from_their_values() -> None:
    """The bound is reached: one feature, values in the middle between two codes."""
    X = np.concatenate([[0.0, 1.0], np.random.default_rng(0).uniform(size=1000)])[:, None]
    model = AdditiveSVC(Spline(4, knots="uniform"), random_state=0, C=1.0)
    model.fit(X, X[:, 0] > 0.5)
    layout = model._model.layout
    step = 1.0 / layout.groups[0].grid.steps
    X = np.clip((np.floor(X / step) + 0.499) * step, 0.0, 1.0)
    rows = TrainingRows.prepare(open_table(X), layout)
    coef = np.arange(layout.n_parameters, dtype=float)
    apart = np.abs(rows.scores(coef[None]) - rows.exactly().scores(coef[None])).max()
    bound = error_of_codes(rows, coef)
    assert bound is not None
    assert 0.5 * bound <= apart <= bound


@pytest.mark.parametrize("form", ["dense", "frame"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("curve", CURVES)
def test_the_certificate_is_that_of_all_rows(
    kind: str,
    curve: str,
    form: str,
    numbers: tuple[np.ndarray, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values, signal = numbers
    X, y = values, signal if kind == "epsilon" else (signal > 0).astype(int)
    if form == "frame":
        X = pd.DataFrame(values, columns=list("abcde"))
        X.loc[::7, "b"] = np.nan
        X["level"] = np.digitize(values[:, 4], [-1.0, 0.3]).astype(str)
    calls = []

    def note(*given):
        calls.append((given, certify_problem(*given)))
        return calls[-1][1]

    monkeypatch.setattr(one_problem, "certify_problem", note)
    monkeypatch.setattr(ways, "suits_newton", lambda *_: False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        MODELS[kind].set_params(curve=CURVES[curve]).fit(X, y)
    (rows, problem, start, found, stopping), quick = calls[0]
    doubt = rows_in_doubt(rows, problem, found, 1)
    assert doubt is not None
    assert 0 < np.count_nonzero(doubt) < N
    assert sum(len(piece.places) for piece in rows.values(doubt)) == np.count_nonzero(doubt)
    monkeypatch.setattr(certificate, "rows_in_doubt", lambda *_: None)
    whole = certify_problem(rows, problem, start, found, stopping)
    assert quick.primal == pytest.approx(whole.primal, rel=1e-13)
    assert quick.gap == pytest.approx(whole.gap, rel=1e-11)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_where_a_loss_costs_nothing(loss: MarginLoss) -> None:
    """Between the ends that it names loss and gap are exactly 0, and beyond them they are not."""
    m, nothing = np.linspace(-3.0, 3.0, 601), np.zeros(601)
    value = loss.of_margin(m)
    if loss.at_no_cost is None:
        assert np.count_nonzero(value == 0.0) <= 1
        return
    inside = (m > loss.at_no_cost[0] + 1e-9) & (m < loss.at_no_cost[1] - 1e-9)
    outside = (m < loss.at_no_cost[0] - 1e-9) | (m > loss.at_no_cost[1] + 1e-9)
    assert not value[inside].any()
    assert not loss.dual_gap(nothing, m, np.full(601, 2.0))[inside].any()
    assert np.all(value[outside] > 0.0)
