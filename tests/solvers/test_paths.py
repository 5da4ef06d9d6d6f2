"""Every path through the core reaches the reference's optimum."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from splinear import AdditiveClassifier, _core
from splinear.losses import LOSSES
from splinear.objective import primal

FAST = [path for path in _core.paths() if path != "reference"]
SHAPES = [(degree, order) for degree in range(4) for order in range(3)]
# Tables that fit registers and tables that do not, up to the longest and beyond.
SHORT, LONG = [1, 15, 16, 40, 61], [63, 64, 255, 1023, 2046, 2047]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y % 2


def fit(monkeypatch, path, X, y, **params):
    monkeypatch.setenv("SPLINEAR_PATH", path)
    params = {"n_bins": 8, "tol": 1e-3, "max_iter": 3000, "random_state": 0} | params
    return AdditiveClassifier(**params).fit(X, y)


def test_this_machine_has_paths():
    assert _core.paths()[-2:] == ["portable", "reference"]


@pytest.mark.parametrize("path", FAST)
@pytest.mark.parametrize(("degree", "order"), SHAPES)
def test_same_optimum(path, degree, order, digits, monkeypatch):
    X, y = digits[0][:700], digits[1][:700]
    params = {"degree": degree, "penalty_order": order, "C": 0.3}
    fast = fit(monkeypatch, path, X, y, **params)
    reference = fit(monkeypatch, "reference", X, y, **params)
    assert fast.dual_gap_ <= 1e-3
    # Both are within 1e-3 of one optimum.
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-3)


@pytest.mark.parametrize("path", FAST)
@pytest.mark.parametrize("order", range(3))
def test_objective_is_true(path, order, digits, monkeypatch):
    """Thousands of additions to tables in single precision do not carry the certificate away."""
    X, y = digits
    model = fit(monkeypatch, path, X, y, penalty_order=order, C=3.0)
    coef, intercept = model.coef_[0], model.intercept_[0]
    # Pixels are 0 to 16, so 8 bins code them exactly.
    value = primal(model.embedding_, LOSSES["hinge"], coef, intercept, X, 2 * y - 1, 3.0)
    # Codes are only used for tolerances of 1e-3 and above, twenty times this.
    assert model.objective_ == pytest.approx(value, rel=5e-5)


@pytest.mark.parametrize("path", FAST)
@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize(
    ("basis", "scale"), [("fourier", "unit"), ("hermite", "unit"), ("hermite", "standard")]
)
def test_same_optimum_of_smooth_curves(path, basis, scale, degree, digits, monkeypatch):
    X, y = digits[0][:400], digits[1][:400]
    params = {"basis": basis, "degree": degree, "scale": scale, "C": 0.1, "tol": 5e-3}
    fast = fit(monkeypatch, path, X, y, **params)
    reference = fit(monkeypatch, "reference", X, y, **params)
    assert fast.objective_ == pytest.approx(reference.objective_, rel=5.1e-3)


@pytest.mark.parametrize("path", FAST)
@pytest.mark.parametrize("n_bins", SHORT + LONG)
@pytest.mark.parametrize("scale", ["unit", "native"])
def test_every_length_of_table(path, n_bins, scale, digits, monkeypatch):
    X, y = digits[0][:400], digits[1][:400]
    params = {"n_bins": n_bins, "scale": scale, "tol": 1e-2}
    fast = fit(monkeypatch, path, X, y, **params)
    reference = fit(monkeypatch, "reference", X, y, **params)
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-2)


@pytest.mark.parametrize("path", FAST)
@pytest.mark.parametrize(("degree", "order"), SHAPES)
def test_same_optimum_with_long_tables(path, degree, order, digits, monkeypatch):
    X, y = digits[0][:200, 20:40], digits[1][:200]
    X = X + np.random.default_rng(0).random(X.shape, dtype=np.float32)  # values within bins
    n_bins = 300 if order < 2 else 100  # the problem's condition grows as n_bins^(2 order)
    params = {"degree": degree, "penalty_order": order, "n_bins": n_bins, "tol": 1e-2}
    params["C"] = 0.3 * n_bins ** (1 - 2 * order) if order else 0.3
    fast = fit(monkeypatch, path, X, y, **params)
    reference = fit(monkeypatch, "reference", X, y, **params)
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1.1e-2)
    # Codes round values to 1 / 65,536 of the axis.
    coef, intercept = fast.coef_[0], fast.intercept_[0]
    value = primal(fast.embedding_, LOSSES["hinge"], coef, intercept, X, 2 * y - 1, params["C"])
    assert fast.objective_ == pytest.approx(value, rel=5e-4)


@pytest.mark.parametrize("path", FAST)
@pytest.mark.parametrize("degree", range(4))
@pytest.mark.parametrize("n_bins", [20, 500])
@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_of_float32(path, degree, n_bins, order, digits, monkeypatch):
    X = np.asarray(digits[0], order=order)
    model = fit(monkeypatch, path, *digits, degree=degree, n_bins=n_bins, tol=1e-2)
    stretched = X * np.float32(1.3) - np.float32(1.0)  # beyond the training range, too
    fast = model.decision_function(stretched)
    monkeypatch.setenv("SPLINEAR_PATH", "reference")
    expected = model.decision_function(stretched)
    # Sums of 64 terms of single precision.
    np.testing.assert_allclose(fast, expected, atol=2e-5 * np.abs(model.coef_).sum(axis=1).max())
    alone = np.concatenate([model.decision_function(stretched[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(alone, expected[:40])


@pytest.mark.parametrize("path", FAST)
def test_a_row_scores_the_same_in_any_company(path, digits, monkeypatch):
    model = fit(monkeypatch, path, *digits)
    together = model.decision_function(digits[0])
    alone = np.concatenate([model.decision_function(digits[0][i : i + 1]) for i in range(50)])
    np.testing.assert_array_equal(alone, together[:50])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("path", _core.paths())
@pytest.mark.parametrize(
    ("degree", "order", "n_bins"), [(1, 1, 6), (1, 0, 6), (3, 2, 6), (1, 1, 100), (0, 3, 70)]
)
def test_threads_change_no_bit(path, degree, order, n_bins, monkeypatch):
    # Wide enough that every step of the solver is worth dividing among threads.
    random = np.random.default_rng(0)
    X = random.random((600, 3000), dtype=np.float32)
    y = X[:, :20].sum(axis=1) > 10
    params = {"degree": degree, "penalty_order": order, "n_bins": n_bins}
    params |= {"tol": 0.05, "max_iter": 20 if n_bins < 63 else 3}
    models = [fit(monkeypatch, path, X, y, n_jobs=n, **params) for n in (1, 2, 3)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].coef_, other.coef_)


def test_unknown_path_is_named(digits, monkeypatch):
    with pytest.raises(
        ValueError, match=r"SPLINEAR_PATH is 'sse9', but this machine has .*portable"
    ):
        fit(monkeypatch, "sse9", *digits)
    with pytest.raises(ValueError, match="SPLINEAR_PATH is 'sse9'"):
        fit(monkeypatch, "sse9", *digits, basis="fourier", degree=2)
