"""The quick form of the benchmark, from the command line to the files it writes."""

import json
import sys
from functools import partial

import pytest

RIVALS = {
    "synthetic, D_0, 20 bins": ["linear", "splines", "reference", "fast"],
    "synthetic, D_1, 10 bins": ["linear", "fast"],
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(scope="module")
def run(run_benchmark):
    return partial(run_benchmark, "fit")


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return tmp_path_factory.mktemp("benchmark") / "made" / "on the way"


@pytest.fixture(scope="module")
def printed(output, run):
    process = run("--quick", "--output", str(output))
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def results(printed, output):
    return json.loads((output / "benchmarks.json").read_text(), parse_constant=refuse)


def test_every_rival_on_every_case(results):
    found = [(row["case"], row["rival"]) for row in results["rows"]]
    assert found == [(case, rival) for case, rivals in RIVALS.items() for rival in rivals]


def test_rows_are_complete(results):
    for row in results["rows"]:
        assert row["note"] == ""
        assert row["seconds"] > 0
        assert row["ratio"] > 0
        assert row["objective"] > 0
        assert 0 <= row["gap"] <= 0.05
        assert 0 <= row["accuracy"] <= 1
        if sys.platform == "linux":
            assert row["memory"] >= 0


def test_equal_problems_have_equal_objectives(results):
    _, splines, reference, fast, *_ = results["rows"]
    assert fast["objective"] == pytest.approx(reference["objective"], rel=1e-2)
    assert fast["objective"] == pytest.approx(splines["objective"], rel=5e-2)


def test_curves_beat_lines(results):
    accuracy = [row["accuracy"] for row in results["rows"]]
    assert min(accuracy[1:4]) > accuracy[0] + 0.1
    assert accuracy[5] > accuracy[4] + 0.1


def test_sweep_and_scoring(results):
    assert list(results["sweep"]) == ["rows", "columns", "bins"]
    for points in results["sweep"].values():
        assert all(point["seconds"] > 0 for point in points)
    assert all(results["scoring"][name] > 0 for name in ("sum", "one_thread", "two_threads"))


def test_bars_say_what_was_not_measured(results, printed):
    measured = {bar["what"]: bar["value"] is not None for bar in results["bars"]}
    assert any(measured.values())
    for what, is_measured in measured.items():
        line = next(line for line in printed.splitlines() if line.startswith(what + ": "))
        assert line.endswith("not measured") != is_measured


def test_the_table_names_every_rival(results, printed, output):
    page = (output / "benchmarks.md").read_text()
    for row in results["rows"]:
        assert row["name"] in printed
        assert row["name"] in page
    assert results["machine"]["processor"] in page
    assert (output / "benchmarks_sweep.png").stat().st_size > 1000
