"""The parts that experiments are made of, against other ways to compute the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC
from typer.testing import CliRunner

from splinear import AdditiveSVC, cli
from splinear.cli import reproduce
from splinear.experiments import figure2, table4
from splinear.experiments.bench import Bench
from splinear.experiments.catalog import EXPERIMENTS, find
from splinear.experiments.choosing import choose
from splinear.experiments.mnist import to_bytes
from splinear.experiments.models import (
    AS_THEY_ARE,
    TO_UNIT,
    MinKernelSVC,
    additive,
    batch,
    fit,
    linear,
    spline,
)
from splinear.experiments.reproduction import describe
from splinear.terms import Fourier, Hermite, Spline

runner = CliRunner()


@pytest.fixture(scope="module")
def rows():
    return make_classification(300, 5, flip_y=0.1, random_state=0)


def test_choice_is_that_of_a_grid_search(rows):
    X, y = rows
    grid = {TO_UNIT: (0.01, 0.1, 1.0, 10.0)}
    half = np.arange(len(X)) % 2
    folds = list(PredefinedSplit(half).split())
    recipe = additive("spline", spline(5, degree=1, order=1))
    choice = choose(recipe, X, y, folds, grid, n_jobs=2)
    search = GridSearchCV(recipe.make(1.0, TO_UNIT), {"C": grid[TO_UNIT]}, cv=folds).fit(X, y)
    assert search.best_params_["C"] == choice.C
    assert choice.accuracy == pytest.approx(100 * search.best_score_)
    assert choice.at_edge == (choice.C in (0.01, 10.0))


def test_choice_of_the_scaling(rows):
    X, y = rows
    X = X * [1e-3, 1, 1, 1, 1]
    folds = [(np.arange(150), np.arange(150, 300))]
    grid = {AS_THEY_ARE: (1.0,), TO_UNIT: (1.0,)}
    choice = choose(linear(), X, y, folds, grid, n_jobs=1)
    scores = {
        scaling: linear().make(1.0, scaling).fit(X[:150], y[:150]).score(X[150:], y[150:])
        for scaling in grid
    }
    assert choice.accuracy == 100 * max(scores.values())
    assert scores[choice.scaling] == max(scores.values())


def test_fits_at_their_limit_are_known(rows):
    recipe = additive("spline", spline(10, degree=1, order=1))
    with pytest.warns(UserWarning, match="max_iter"):
        hard = fit(recipe.make(1e4, TO_UNIT).set_params(max_iter=1, tol=1e-6), *rows)
    easy = fit(recipe.make(0.1, TO_UNIT), *rows)
    assert (hard.at_limit, easy.at_limit) == (True, False)
    assert hard.seconds > 0


def test_additive_models_are_support_vector_classifiers_on_uniform_knots():
    curve = spline(7, degree=3, order=2)
    model = additive("spline", curve).make(0.5, AS_THEY_ARE)
    assert isinstance(model, AdditiveSVC)
    expected = Spline(n_bins=7, degree=3, penalty_order=2, knots="uniform", scale="native")
    assert model.curve.get_params() == expected.get_params()
    assert (model.C, model.intercept_scaling, model.loss) == (0.5, 1.0, "hinge")
    assert curve.scale == "unit"  # the recipe leaves the curve that it was given alone


@pytest.mark.parametrize("curve", [Fourier(2), Fourier(3, penalty_order=2), Hermite(4)], ids=str)
@pytest.mark.parametrize("scaling", [AS_THEY_ARE, TO_UNIT])
def test_batch_and_online_are_the_same_model(curve, scaling, rows):
    X, y = rows
    stored, online = (make("", curve).make(0.05, scaling) for make in (batch, additive))
    stored[-1].set_params(tol=1e-7, max_iter=100_000)
    online.set_params(tol=1e-7, max_iter=10_000)
    scores = [model.fit(X, y).decision_function(X) for model in (stored, online)]
    np.testing.assert_allclose(*scores, atol=1e-3 * np.abs(scores[0]).max())


def test_min_kernel_svm_is_that_of_scikit_learn(rows):
    X, y = rows

    def kernel(A, B):
        return np.minimum(A[:, None], B).sum(axis=2)

    ours, theirs = MinKernelSVC(C=0.5).fit(X, y), SVC(kernel=kernel, C=0.5).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_bytes_use_the_whole_range_of_the_training_rows():
    train = np.array([[0.0, 3.0, 1.0], [0.5, 4.0, 1.0], [2.0, 5.0, 1.0]])
    first, second = to_bytes(train, np.array([[-1.0, 6.0, 1.0]]))
    np.testing.assert_array_equal(first, [[0, 0, 0], [64, 128, 0], [255, 255, 0]])
    np.testing.assert_array_equal(second, [[0, 255, 0]])


def test_spline_on_255_bins_is_the_min_kernel_svm():
    digits = load_digits()
    X, X_test = to_bytes(digits.data[:400], digits.data[400:600])
    y = digits.target[:400]
    exact = table4.libsvm_scores(X / 255, y, X_test / 255, C=0.1)
    ours = table4.spline_scores(X, y, X_test, C=0.1, n_jobs=1)
    # LIBSVM does not penalize the bias, the spline does a little.
    assert np.abs(exact - ours).max() < 0.05 * np.abs(exact).mean()
    assert (exact.argmax(axis=1) == ours.argmax(axis=1)).all()


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_spline_kernels_are_minima_for_distant_values(degree):
    x = np.array([0.0, 0.05, 0.33, 0.66, 1.0])
    K, difference = figure2.spline_and_difference(x, degree)
    far = np.abs(x[:, None] - x) >= degree / figure2.N_BINS
    np.testing.assert_allclose(K[far], np.minimum.outer(x, x)[far], atol=1e-12)
    np.testing.assert_allclose(K + difference, np.minimum.outer(x, x), atol=1e-12)


def test_names():
    assert list(find([])) == list(EXPERIMENTS)
    assert list(find(["table2", "figure1"])) == ["figure1", "table2"]
    with pytest.raises(ValueError, match=r"no experiment named 'table5'; choose from figure1, "):
        find(["table5"])


def test_machine_has_versions_and_no_paths():
    found = describe()
    assert {"processor", "cores", "kernels", "Python", "numpy", "splinear"} <= set(found)
    assert not any("/tmp" in value or "/home" in value for value in found.values())


@pytest.mark.parametrize("name", ["figure1", "figure2", "figure3"])
def test_figures_hold_what_the_paper_says_and_repeat_to_the_byte(name):
    first, again = (EXPERIMENTS[name].run(Bench(quick=True)) for _ in range(2))
    assert all(claim.holds for claim in first.orderings)
    assert first.pictures[0].png == again.pictures[0].png


def invoke(*arguments):
    return runner.invoke(cli.make_app(), ["reproduce", *map(str, arguments)])


def assert_one_clear_line(result, *parts):
    assert result.exit_code == 1
    line = result.stderr.splitlines()[-1]
    assert line.startswith("splinear: ")
    for part in parts:
        assert str(part) in line


@pytest.mark.parametrize(("name", "missing"), [("table1", "daimler_ped"), ("table4", "mnist")])
def test_missing_data_is_named_before_any_work(tmp_path, name, missing):
    result = invoke("figure3", name, "--data-home", tmp_path, "-o", tmp_path / "page")
    assert_one_clear_line(result, missing, "SPLINEAR_DATA", "http")
    assert not (tmp_path / "page").exists()


def test_unknown_name(tmp_path):
    assert_one_clear_line(invoke("table7", "-o", tmp_path), "table7", "figure1, figure2")


def test_output_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert_one_clear_line(invoke("figure1", "-o", tmp_path / "file"), "not a folder")
    assert_one_clear_line(invoke("figure1", "-o", tmp_path / "file" / "x"), "not a folder")


@pytest.mark.parametrize(("package", "extra"), [("jinja2", "report"), ("matplotlib", "plot")])
def test_without_what_the_page_needs(tmp_path, monkeypatch, package, extra):
    monkeypatch.setattr(reproduce, "find_spec", lambda name: None if name == package else object())
    assert_one_clear_line(invoke("figure1", "-o", tmp_path), f"pip install 'splinear[{extra}]'")


@pytest.mark.data
@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA is not set")
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interruption_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", "from splinear.cli import main; main()"]
    process = subprocess.Popen(
        [*command, "reproduce", "table3", "-o", tmp_path / "page"], stderr=subprocess.PIPE
    )
    try:
        time.sleep(6)  # long enough to be fitting, far too short to be done
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode not in (0, None)
    assert list(tmp_path.iterdir()) == []
