"""Which rows choose the smoothness, and what is done where terms are many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from splinear.losses import Logistic, Softmax, SquaredError
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable, Summed
from splinear.objective.problem import Problem, Stopping
from splinear.solvers import newton
from splinear.solvers.reml import choosing
from splinear.solvers.reml.smoothness import Smoothness, choose_smoothness
from splinear.tables.opening import open_table
from splinear.terms.basis import BSplineBasis

STOPPING = Stopping(tol=1e-3)


@pytest.fixture(scope="module")
def narrow(curves: Callable) -> tuple[TrainingRows, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(3000, 3))
    y = 1.5 * np.sin(9 * X[:, 0]) + X[:, 1] + random.normal(size=3000)
    return TrainingRows.prepare(open_table(X), curves(X, BSplineBasis(1, 15)), exact=True), y


def regression(y: np.ndarray) -> Callable[[TrainingRows], list[Separable]]:
    def totals_of(rows: TrainingRows) -> list[Separable]:
        ones = np.ones(rows.n_rows, dtype=np.int8)
        problem = Problem(ones, SquaredError(), 1.0, 1.0, targets=rows.place(y))
        return [Separable(problem)]

    return totals_of


def units_of(rows: TrainingRows) -> float:
    return float(rows.n_rows)


def scales(found: Smoothness) -> np.ndarray:
    return np.concatenate([group.embedding.variance for group in found.layout.groups])


def test_narrow_tables_are_left_to_reml(narrow: tuple[TrainingRows, np.ndarray]) -> None:
    rows, y = narrow
    found = choosing.choose(rows, regression(y), STOPPING, units_of)
    expected = choose_smoothness(rows, regression(y)(rows), STOPPING)
    assert_allclose(scales(found), scales(expected), rtol=1e-12)
    assert found.n_turns == expected.n_turns


def test_of_many_rows_a_sample_decides(
    narrow: tuple[TrainingRows, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, y = narrow
    whole = choosing.choose(rows, regression(y), STOPPING, units_of)
    monkeypatch.setattr(choosing, "MOST_ROWS", 1000)
    found = choosing.choose(rows, regression(y), STOPPING, units_of)
    some = rows.first(1000)
    expected = choose_smoothness(
        some, regression(y)(some), STOPPING, least_gain=choosing.LEAST_GAIN
    )
    assert_allclose(scales(found), scales(expected), rtol=1e-12)
    # Variances do not depend on the number of rows, but for chance, if they are not about 0.
    assert np.abs(np.log(scales(found)[0] / scales(whole)[0])) < np.log(3)


def wide_rows(curves: Callable, n_columns: int = 220) -> tuple[TrainingRows, np.ndarray]:
    """Columns that say much the same, two classes."""
    random = np.random.default_rng(1)
    hidden = random.normal(size=(600, 5))
    X = hidden @ random.normal(size=(5, n_columns)) + 0.3 * random.normal(size=(600, n_columns))
    y = np.where(hidden[:, 0] + 0.5 * random.normal(size=600) > 0, 1, -1).astype(np.int8)
    return TrainingRows.prepare(open_table(X), curves(X, BSplineBasis(1, 4))), y


def classification(y: np.ndarray) -> Callable[[TrainingRows], list[Separable]]:
    return lambda rows: [Separable(Problem(rows.place(y), Logistic(), 1.0, 1.0))]


def held_out_loss(layout: Layout, rows: TrainingRows, y: np.ndarray, n_fit: int) -> float:
    """The loss on the rows behind the first n_fit, of a model trained on these."""
    fit = rows.first(n_fit).with_layout(layout)
    (found,) = newton.solve(fit, classification(y)(fit)[0], Stopping(tol=1e-3))
    F = rows.with_layout(layout).scores(found.coef[None])[0] + found.intercept
    return float(Logistic().of_margin(rows.place(y) * F)[n_fit:].sum())


def test_wide_tables_are_judged_on_rows_held_out(curves: Callable) -> None:
    """The best of REML and of one variance for all, each as it is or larger."""
    rows, y = wide_rows(curves)
    found = choosing.choose(rows, classification(y), STOPPING, units_of)
    n_fit = 600 - 150
    ours = held_out_loss(found.layout, rows, y, n_fit)
    fit = rows.first(n_fit)
    for pooled in (True, False):
        other = choose_smoothness(
            fit,
            classification(y)(fit),
            STOPPING,
            pooled=pooled,
            settled=choosing.SETTLED_WIDE,
        )
        assert ours <= held_out_loss(other.layout, rows, y, n_fit) * 1.02
    assert ours < 0.9 * 150 * np.log(2)  # better than chance
    assert np.concatenate(found.edf).sum() > 1


def of_classes(labels: np.ndarray, n_classes: int) -> Callable[[TrainingRows], list[Summed]]:
    ones = np.ones(len(labels))
    return lambda rows: [
        Summed(Softmax(np.arange(n_classes)), rows.place(labels), rows.place(ones))
    ]


def crowded_rows(curves: Callable, noise: float) -> tuple[TrainingRows, np.ndarray]:
    """Enough rows for each of 12 terms, but not for the curves of 6 classes that each has."""
    random = np.random.default_rng(2)
    centers = 1.5 * random.normal(size=(6, 12))
    labels = random.integers(0, 6, 600)
    X = centers[labels] + noise * random.normal(size=(600, 12))
    rows = TrainingRows.prepare(open_table(X), curves(X, BSplineBasis(1, 8)), exact=True)
    return rows, labels.astype(np.int64)


def softmax_loss(found: Smoothness, rows: TrainingRows, labels: np.ndarray, n_fit: int) -> float:
    """The loss on the rows behind the first n_fit, of a model trained on these."""
    fit = rows.first(n_fit).with_layout(found.layout)
    models = newton.solve(fit, of_classes(labels, 6)(fit)[0], Stopping(tol=1e-3))
    F = rows.with_layout(found.layout).scores(np.stack([m.coef for m in models]))
    F += np.array([m.intercept for m in models])[:, None]
    right = F[rows.place(labels), np.arange(rows.n_rows)]
    return float((np.log(np.exp(F - F.max(0)).sum(0)) + F.max(0) - right)[n_fit:].sum())


def test_many_classes_that_hardly_overlap_get_larger_variances(curves: Callable) -> None:
    rows, labels = crowded_rows(curves, 1.0)
    totals_of = of_classes(labels, 6)
    found = choosing.choose(rows, totals_of, STOPPING, units_of)
    fit = rows.first(450)
    reml = choose_smoothness(fit, totals_of(fit), STOPPING)
    ours, theirs = (softmax_loss(s, rows, labels, 450) for s in (found, reml))
    assert ours < (1.0 - 1.0 / np.sqrt(150)) * theirs
    assert found.n_rows == 450


def test_reml_stands_where_rows_held_out_do_not_object(curves: Callable) -> None:
    rows, labels = crowded_rows(curves, 6.0)
    totals_of = of_classes(labels, 6)
    found = choosing.choose(rows, totals_of, STOPPING, units_of)
    reml = choose_smoothness(rows, totals_of(rows), STOPPING)
    assert_allclose(scales(found), scales(reml), rtol=1e-12)
    assert found.n_rows == 600
    assert found.n_turns > reml.n_turns
