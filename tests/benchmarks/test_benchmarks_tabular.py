"""The quick form of the benchmark on tables, from the command line to the files it writes."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

FOLDER = Path(__file__).parents[2] / "benchmarks"
OPTIONAL = {"ebm": "interpret", "pygam": "pygam"}
FAST = ["splinear", "svc", "splines", "linear", "pygam"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(scope="module")
def run(run_benchmark):
    return partial(run_benchmark, "tabular")


def rows_of(folder):
    rows = json.loads((folder / "tabular.json").read_text())["rows"]
    return {row["rival"]: row for row in rows}


@pytest.fixture(scope="module")
def measure(run):
    def measured(folder, *arguments, **environment):
        process = run("--quick", "--output", str(folder), *arguments, **environment)
        assert process.returncode == 0, process.stderr
        return process.stdout

    return measured


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return tmp_path_factory.mktemp("tabular") / "made" / "on the way"


@pytest.fixture(scope="module")
def printed(measure, output, tmp_path_factory):
    """The quick run, as if pyGAM were not installed."""
    hiding = tmp_path_factory.mktemp("hiding")
    (hiding / "sitecustomize.py").write_text("import sys\nsys.modules['pygam'] = None\n")
    return measure(output, "--rivals", ",".join(FAST), PYTHONPATH=str(hiding))


@pytest.fixture(scope="module")
def rows(printed, output):
    return rows_of(output)


def check_complete(row):
    assert row["note"] == ""
    assert row["seconds"] > 0
    assert 0 < row["log_loss"] < 1
    if sys.platform == "linux":
        assert row["memory"] >= 0


def test_every_rival_has_its_row(rows):
    assert list(rows) == FAST
    for key in FAST[:-1]:
        check_complete(rows[key])


def test_a_missing_package_leaves_a_note(rows):
    assert rows["pygam"]["note"] == "not installed"
    assert rows["pygam"]["seconds"] is rows["pygam"]["auc"] is None


def test_curves_beat_lines(rows):
    for key in ("splinear", "svc", "splines"):
        assert rows[key]["auc"] > rows["linear"]["auc"] + 0.2
        assert rows[key]["log_loss"] < rows["linear"]["log_loss"] - 0.2


def test_numbers_are_those_of_another_computation(rows, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import sets

    X, y, X_test, y_test = sets.synthetic(2000)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    model = LogisticRegression(tol=1e-8).fit((X - mean) / spread, y)
    p = model.predict_proba((X_test - mean) / spread)[:, 1]
    positive, negative = p[y_test == 1], p[y_test == 0]
    pairs = np.mean(positive[:, None] > negative)
    loss = -np.mean(np.log(np.where(y_test == 1, p, 1 - p)))
    assert rows["linear"]["n_rows"] == len(X)
    # Two solvers, each at its optimum, in float32 and float64.
    assert rows["linear"]["auc"] == pytest.approx(pairs, abs=1e-3)
    assert rows["linear"]["log_loss"] == pytest.approx(loss, rel=1e-3)


def test_the_page_has_a_line_per_rival(rows, printed, output):
    page = (output / "tabular.md").read_text()
    for row in rows.values():
        assert row["name"] in printed
        assert f"| {row['name']} |" in page
    assert "## synthetic" in page


def test_a_rival_over_the_limit_is_ended(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(FOLDER)
    import tabular

    settings = tabular.Settings(("synthetic",), ("linear",), quick=False, output=None, limit=0.05)
    row = tabular.measured("linear", tmp_path, settings)
    assert row["note"] == "over 0.05 s"
    assert row["auc"] is None


def test_a_rival_that_fails_says_why(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(FOLDER)
    import tabular

    settings = tabular.Settings(("synthetic",), ("linear",), quick=False, output=None, limit=60)
    row = tabular.measured("linear", tmp_path / "nowhere", settings)
    assert "No such file" in row["note"]
    assert row["seconds"] is None


@pytest.mark.parametrize("key", OPTIONAL)
def test_optional_rivals(key, measure, tmp_path):
    pytest.importorskip(OPTIONAL[key])
    measure(tmp_path, "--rivals", key)
    row = rows_of(tmp_path)[key]
    check_complete(row)
    assert row["auc"] > 0.8
