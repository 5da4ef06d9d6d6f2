"""Every instruction set reaches the reference's optimum."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from written_out import primal

from splinear import AdditiveClassifier, AdditiveSVC, _core
from splinear.terms import Category, Fourier, Hermite, Linear, Spline
from tests.reference.losses import LOSSES

FAST = [instructions for instructions in _core.instruction_sets() if instructions != "reference"]
SHAPES = [(degree, order) for degree in range(4) for order in range(3)]
# Tables that fit registers and tables that do not, up to the longest and beyond.
SHORT, LONG = [1, 15, 16, 61], [63, 64, 1023, 2046, 2047]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y % 2


def fit(monkeypatch, instructions, X, y, curve=Spline(8), **params):  # noqa: B008 (terms do not change)
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", instructions)
    params = {"tol": 1e-3, "max_iter": 3000, "random_state": 0} | params
    return AdditiveSVC(curve, **params).fit(X, y)


def value_of(model, X, y, C):
    """The objective of a fitted AdditiveSVC with hinge loss, in NumPy."""
    fitted = model._model
    theta, b = fitted.parameters[0], fitted.intercept[0]
    return primal(fitted.layout, LOSSES["hinge"], theta, b, X, 2 * y - 1, C)


def test_this_machine_has_instruction_sets():
    assert _core.instruction_sets()[-2:] == ["portable", "reference"]


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize(("degree", "order"), SHAPES)
def test_same_optimum(instructions, degree, order, digits, monkeypatch):
    X, y = digits[0][:400], digits[1][:400]
    curve = Spline(8, degree=degree, penalty_order=order)
    fast = fit(monkeypatch, instructions, X, y, curve, C=0.3)
    reference = fit(monkeypatch, "reference", X, y, curve, C=0.3)
    assert fast.dual_gap_ <= 1e-3
    # Both are within 1e-3 of one optimum.
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-3)


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize(("degree", "order"), [(0, 1), (1, 0), (1, 1), (2, 1), (3, 2)])
def test_same_optimum_with_gaps(instructions, degree, order, digits, monkeypatch):
    X, y = digits[0][:500].copy(), digits[1][:500]
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    curve = Spline(8, degree=degree, penalty_order=order)
    fast = fit(monkeypatch, instructions, X, y, curve, C=0.3)
    reference = fit(monkeypatch, "reference", X, y, curve, C=0.3)
    assert all(group.has_gaps for group in fast._model.layout.groups)
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-3)
    assert fast.objective_ == pytest.approx(value_of(fast, X, y, 0.3), rel=1e-4)


@pytest.mark.parametrize("instructions", FAST)
def test_same_optimum_of_terms_of_all_kinds(instructions, digits, monkeypatch):
    X, y = digits[0][:500].copy(), digits[1][:500]
    X[:, :10][np.random.default_rng(0).random((500, 10)) < 0.1] = np.nan
    terms = dict.fromkeys(range(20, 30), Category())
    terms |= dict.fromkeys(range(30, 34), Category(ordered=True))
    terms |= dict.fromkeys(range(34, 38), Fourier(2))
    terms |= dict.fromkeys(range(38, 42), Hermite(3))
    terms |= dict.fromkeys(range(42, 46), Linear())
    terms |= dict.fromkeys(range(46, 50), Spline(100))
    fast = fit(monkeypatch, instructions, X, y, terms=terms, C=0.1)
    reference = fit(monkeypatch, "reference", X, y, terms=terms, C=0.1)
    assert len(fast._model.layout.groups) >= 7
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-3)


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize("order", range(3))
def test_objective_is_true(instructions, order, digits, monkeypatch):
    """Thousands of additions to tables in single precision do not carry the certificate away."""
    X, y = digits
    model = fit(monkeypatch, instructions, X, y, Spline(8, penalty_order=order), C=3.0)
    # Pixels are 0 to 16, so 8 bins code them exactly. Codes are only used for tolerances of 1e-3
    # and above, twenty times this.
    assert model.objective_ == pytest.approx(value_of(model, X, y, 3.0), rel=5e-5)


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize("kind", ["fourier", "hermite", "standard"])
def test_same_optimum_of_smooth_curves(instructions, kind, degree, digits, monkeypatch):
    X, y = digits[0][:400], digits[1][:400]
    curve = {
        "fourier": Fourier(degree),
        "hermite": Hermite(degree),
        "standard": Hermite(degree, scale="standard"),
    }[kind]
    fast = fit(monkeypatch, instructions, X, y, curve, C=0.1, tol=5e-3)
    reference = fit(monkeypatch, "reference", X, y, curve, C=0.1, tol=5e-3)
    assert fast.objective_ == pytest.approx(reference.objective_, rel=5.1e-3)


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize("n_bins", SHORT + LONG)
def test_every_length_of_table(instructions, n_bins, digits, monkeypatch):
    X, y = digits[0][:200], digits[1][:200]
    for scale in ("unit", "native"):
        curve = Spline(n_bins, scale=scale)
        fast = fit(monkeypatch, instructions, X, y, curve, tol=1e-2)
        reference = fit(monkeypatch, "reference", X, y, curve, tol=1e-2)
        assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-2)


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize(("degree", "order"), SHAPES)
def test_same_optimum_with_long_tables(instructions, degree, order, digits, monkeypatch):
    X, y = digits[0][:200, 20:40], digits[1][:200]
    X = X + np.random.default_rng(0).random(X.shape, dtype=np.float32)  # values within bins
    n_bins = 300 if order < 2 else 100  # the problem's condition grows as n_bins^(2 order)
    curve = Spline(n_bins, degree=degree, penalty_order=order)
    C = 0.3 * n_bins ** (1 - 2 * order) if order else 0.3
    fast = fit(monkeypatch, instructions, X, y, curve, tol=1e-2, C=C)
    reference = fit(monkeypatch, "reference", X, y, curve, tol=1e-2, C=C)
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-2)
    # Codes round values to 1 / 65,536 of the axis.
    assert fast.objective_ == pytest.approx(value_of(fast, X, y, C), rel=5e-4)


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize("degree", range(4))
@pytest.mark.parametrize("n_bins", [20, 500])
def test_scores_of_float32(instructions, degree, n_bins, digits, monkeypatch):
    X = digits[0][:500].copy()
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    curve = Spline(n_bins, degree=degree)
    model = fit(monkeypatch, instructions, X, digits[1][:500], curve, tol=1e-2)
    stretched = X * np.float32(1.3) - np.float32(1.0)  # beyond the training range, too
    fast = model.decision_function(stretched)
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", "reference")
    expected = model.decision_function(stretched)
    # Sums of 64 terms of single precision.
    size = sum(np.abs(term.coef).max() for term in model.terms_)
    np.testing.assert_allclose(fast, expected, atol=2e-5 * size)
    by_columns = model.decision_function(np.asfortranarray(stretched))
    np.testing.assert_allclose(by_columns, expected, atol=2e-5 * size)
    alone = np.concatenate([model.decision_function(stretched[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(alone, expected[:40])


@pytest.mark.parametrize("instructions", FAST)
def test_a_row_scores_the_same_in_any_company(instructions, digits, monkeypatch):
    model = fit(monkeypatch, instructions, *digits)
    together = model.decision_function(digits[0])
    alone = np.concatenate([model.decision_function(digits[0][i : i + 1]) for i in range(50)])
    np.testing.assert_array_equal(alone, together[:50])


@pytest.mark.parametrize("instructions", FAST)
@pytest.mark.parametrize("knots", ["uniform", "quantile"])
def test_a_row_scores_the_same_wherever_it_begins(instructions, knots, digits, monkeypatch):
    X, y = digits[0][:100, 2:40], digits[1][:100]
    model = fit(monkeypatch, instructions, X, y, Spline(20, knots=knots), tol=0.1)
    expected = model.decision_function(X)
    for stride in (38, 41, 48):
        room = np.empty(16 + 100 * stride, dtype=np.float32)
        for first in range(16):
            there = room[first : first + 100 * stride].reshape(100, stride)[:, :38]
            there[:] = X
            np.testing.assert_array_equal(model.decision_function(there), expected)


@pytest.mark.parametrize("instructions", FAST)
def test_scores_of_many_features_with_knots(instructions, monkeypatch):
    """More of them than are scored at a time, some with knots of their own and some without."""
    random = np.random.default_rng(0)
    X = random.random((200, 600), dtype=np.float32)
    X[:, ::3] = np.exp(3 * random.standard_normal((200, 200), dtype=np.float32))
    y = X[:, 1] + X[:, 2] > 1.0
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", instructions)
    model = AdditiveSVC(Spline(20), tol=1e-2, random_state=0, C=1.0).fit(X, y)
    [group] = model._model.layout.groups
    warped = [group.embedding.axes.knots_of(j) is not None for j in range(600)]
    assert 100 < sum(warped) < 300
    fast = model.decision_function(X)
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", "reference")
    size = sum(np.abs(term.coef).max() for term in model.terms_)
    np.testing.assert_allclose(fast, model.decision_function(X), atol=2e-6 * size)


@pytest.mark.parametrize("instructions", FAST)
def test_newton_finds_the_same_model(instructions, digits, monkeypatch):
    """Whose passes over codes are in single precision with fast instruction sets."""
    X, y = digits[0][:600].copy(), digits[1][:600]
    X[:, 30:34][np.random.default_rng(2).random((600, 4)) < 0.2] = np.nan
    terms = {20: Category(), 21: Fourier(2)}
    found = []
    for name in (instructions, "reference"):
        monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", name)
        model = AdditiveClassifier(Spline(8), terms=terms, C=0.1, random_state=0)
        found.append(model.fit(X, y))
    assert found[0].certified_
    assert found[0].objective_ == pytest.approx(found[1].objective_, rel=1.1e-3)
    scores = [model.decision_function(X) for model in found]
    np.testing.assert_allclose(*scores, atol=0.05 * np.abs(scores[1]).max())


@pytest.mark.parametrize(
    ("degree", "order", "n_bins"), [(1, 1, 10), (1, 0, 6), (0, 1, 6), (2, 1, 4), (3, 2, 20)]
)
def test_sparse_rows_reach_the_same_optimum(degree, order, n_bins, monkeypatch):
    """Of columns with few values, and of others, whose tables are longer."""
    random = np.random.default_rng(0)
    counts = random.poisson(random.gamma(0.3, 1.0, 120) * np.ones((400, 1)))
    X = sparse.csr_array(np.hstack([counts, counts[:, :40] * random.random((400, 40))]))
    y = (counts[:, :60].sum(axis=1) // 3) % 3
    curve = Spline(n_bins, degree, order)
    found = {}
    for name in (*FAST, "reference"):
        monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", name)
        model = AdditiveSVC(curve, tol=1e-4, random_state=0, C=1.0).fit(X, y)
        again = AdditiveSVC(curve, tol=1e-4, random_state=0, n_jobs=2, C=1.0).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
        assert model.certified_
        found[name] = model
    for model in found.values():
        expected = found["reference"]
        assert model.objective_ == pytest.approx(expected.objective_, rel=2e-4)
        scores = expected.decision_function(X)
        np.testing.assert_allclose(model.decision_function(X), scores, atol=0.05)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("instructions", _core.instruction_sets())
@pytest.mark.parametrize(
    ("degree", "order", "n_bins"), [(1, 1, 6), (1, 0, 6), (3, 2, 6), (1, 1, 100), (0, 3, 70)]
)
def test_threads_change_no_bit(instructions, degree, order, n_bins, monkeypatch):
    # Wide enough that every step of the solver is worth dividing among threads.
    random = np.random.default_rng(0)
    X = random.random((200, 3000), dtype=np.float32)
    y = X[:, :20].sum(axis=1) > 10
    curve = Spline(n_bins, degree=degree, penalty_order=order)
    params = {"tol": 0.01, "max_iter": 4 if n_bins < 63 else 2}
    one, three = (fit(monkeypatch, instructions, X, y, curve, n_jobs=n, **params) for n in (1, 3))
    np.testing.assert_array_equal(one._model.parameters, three._model.parameters)


def test_unknown_name_is_named(digits, monkeypatch):
    with pytest.raises(
        ValueError, match=r"SPLINEAR_INSTRUCTIONS is 'sse9', but this machine has .*portable"
    ):
        fit(monkeypatch, "sse9", *digits)
    with pytest.raises(ValueError, match="SPLINEAR_INSTRUCTIONS is 'sse9'"):
        fit(monkeypatch, "sse9", *digits, Fourier(2))
