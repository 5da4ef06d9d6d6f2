"""CONTRIBUTING's recipes, followed: its own files, imported from elsewhere, and fits with them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC
from splinear.inspection import shape_function
from splinear.tables.opening import FORMATS
from splinear.terms import Spline
from splinear.terms.basis import BSplineBasis

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = {
    section.split("\n", 1)[0]: section
    for section in re.split(r"^## How to add an? ", PAGE, flags=re.MULTILINE)[1:]
}
RECIPES = {name: re.split(r"^## ", text, flags=re.MULTILINE)[0] for name, text in RECIPES.items()}


def follow(recipe: str, folder: Path) -> ModuleType:
    """Write the file that a recipe prints, and import it."""
    [code] = re.findall(r"^```python\n(.*?)^```$", RECIPES[recipe], re.MULTILINE | re.DOTALL)
    name = re.match(r'"""(\w+)\.py: ', code)
    assert name is not None
    path = folder / f"{name[1]}.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name[1], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (300, 2))
    X[0], X[1] = -1, 1  # so that the range is [-1, 1], and arguments are values
    y = np.where(X[:, 0] > 0.25, 1.0, -1.0) + X[:, 1] ** 2 + 0.1 * random.normal(size=300)
    return X, y


def least_squares(phi: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """Predict with the w and b that minimize C/2 |y - phi w - b|^2 + 1/2 |w|^2."""
    centered = phi - phi.mean(axis=0)
    A = C * centered.T @ centered + np.eye(phi.shape[1])
    return y.mean() + centered @ np.linalg.solve(A, C * centered.T @ y)


def least_hinge(phi: np.ndarray, label: np.ndarray) -> float:
    """1/2 |w|^2 + 1/2 b^2 + sum_i max(0, 1 - y_i (w'phi_i + b)) at LIBLINEAR's optimum."""
    svc = LinearSVC(loss="hinge", C=1.0, tol=1e-6, max_iter=10**6, random_state=0)
    margin = np.where(label, 1, -1) * svc.fit(phi, label).decision_function(phi)
    penalty = 0.5 * np.sum(svc.coef_**2) + 0.5 * svc.intercept_[0] ** 2
    return float(penalty + np.maximum(0, 1 - margin).sum())


@pytest.mark.parametrize("name", ["term", "basis", "penalty", "loss"])
def test_a_recipe_has_at_most_ten_steps(name: str) -> None:
    steps = [int(k) for k in re.findall(r"^(\d+)\. ", RECIPES[name], re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) <= 10


def test_a_term(table: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    X, y = table
    Threshold = follow("term", tmp_path).Threshold
    model = AdditiveRegressor(terms={0: Threshold(at=0.25), 1: "drop"}, C=1e6).fit(X, y)
    above = X[:, 0] > 0.25
    means = np.where(above, y[above].mean(), y[~above].mean())
    assert_allclose(model.predict(X), means, atol=1e-4)  # C is large, not infinite
    with pytest.raises(ValueError, match="'at' parameter of Threshold"):
        AdditiveRegressor(Threshold(at="here")).fit(X, y)


def test_a_basis(table: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    X, y = table
    Legendre = follow("basis", tmp_path).Legendre
    n = np.arange(1, 6)
    phi = np.hstack([np.polynomial.legendre.legvander(x, 5)[:, 1:] / n**2 for x in X.T])
    model = AdditiveRegressor(Legendre(5), C=3.0, tol=1e-8).fit(X, y)
    # Between two of 4,097 places a Legendre polynomial of degree 5 is off by 1e-5 at most.
    assert_allclose(model.predict(X), least_squares(phi, y, 3.0), atol=1e-4)

    label = y > 0
    svc = AdditiveSVC(Legendre(5), C=1.0, tol=1e-4, max_iter=10_000, random_state=0).fit(X, label)
    assert svc.objective_ == pytest.approx(least_hinge(phi, label), rel=1e-3)


def test_a_basis_goes_everywhere(table: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    X, y = table
    Legendre = follow("basis", tmp_path).Legendre
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    model = AdditiveClassifier(Legendre(4)).fit(X, y > 0)  # smoothness chosen, missing values
    assert model.score(X, y > 0) > 0.85
    _, f = shape_function(model, 0)
    assert np.ptp(f) > 1


def test_a_penalty(table: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    X, y = table
    Ring = follow("penalty", tmp_path).Ring
    basis = BSplineBasis(1, 12)
    D = 1.1 * np.eye(13)
    D[np.arange(13), np.arange(13) - 1] -= 1  # the first one's neighbor is the last one
    B = [basis.evaluate((x + 1) / 2 * 12) for x in X.T]
    phi = np.hstack([b @ np.linalg.inv(D) for b in B]) / np.sqrt(12)
    model = AdditiveRegressor(Ring(12), C=5.0, tol=1e-8).fit(X, y)
    assert_allclose(model.predict(X), least_squares(phi, y, 5.0), atol=1e-5)

    label = y > 0
    svc = AdditiveSVC(Ring(12), C=1.0, tol=1e-4, max_iter=10_000, random_state=0).fit(X, label)
    assert svc.objective_ == pytest.approx(least_hinge(phi, label), rel=1e-3)
    assert AdditiveRegressor(Ring(12)).fit(X, y).score(X, y) > 0.9  # by REML


def test_a_loss(table: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    X, clean = table
    loss = follow("loss", tmp_path).PseudoHuber()
    y = clean + np.where(np.arange(len(clean)) % 20 == 0, 50.0, 0.0)  # outliers
    curve = Spline(6, degree=1, penalty_order=1, knots="uniform")
    model = AdditiveRegressor(curve, loss=loss, C=1.0, tol=1e-9, random_state=0).fit(X, y)

    T = np.tril(np.ones((7, 7)))  # of first differences
    phi = np.hstack([BSplineBasis(1, 6).evaluate((x + 1) / 2 * 6) @ T for x in X.T]) / np.sqrt(6)

    def objective(w: np.ndarray) -> float:
        residual = phi @ w[:-1] + w[-1] - y
        return float(np.sum(np.sqrt(1 + residual**2) - 1) + 0.5 * w[:-1] @ w[:-1])

    best = minimize(objective, np.zeros(15), method="BFGS", options={"gtol": 1e-4})
    assert model.objective_ == pytest.approx(best.fun, rel=1e-6)
    assert model.certified_
    chosen = AdditiveRegressor(loss=loss, random_state=0).fit(X, y)  # by REML
    assert chosen.certified_
    squared = AdditiveRegressor(random_state=0).fit(X, y)
    ours, theirs = (np.abs(one.predict(X) - clean).mean() for one in (chosen, squared))
    assert ours < 0.2 * theirs


def test_a_table_format(
    tmp_path: Path, table: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw_doubles = follow("table format", tmp_path).RawDoubles
    X, y = table
    wide = np.hstack([X, X**2])
    wide.tofile(tmp_path / "rows.raw")
    expected = AdditiveRegressor(random_state=0).fit(wide, y)
    monkeypatch.setitem(FORMATS, ".raw", raw_doubles)
    for given in (tmp_path / "rows.raw", raw_doubles(tmp_path / "rows.raw")):
        model = AdditiveRegressor(random_state=0).fit(given, y)
        assert_array_equal(model._model.parameters, expected._model.parameters)
        assert_array_equal(model.predict(given), expected.predict(wide))
