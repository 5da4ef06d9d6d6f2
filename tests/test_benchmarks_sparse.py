"""The quick form of the benchmark of sparse tables, from the command line to the page it writes."""

import re
import sys
from functools import partial

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(scope="module")
def run(run_benchmark):
    return partial(run_benchmark, "sparse_tables")


def test_every_model_has_a_line(run, tmp_path):
    process = run("--quick", "--output", str(tmp_path / "made"))
    assert process.returncode == 0, process.stderr
    page = (tmp_path / "made" / "sparse.md").read_text()
    lines = re.findall(r"^\| (.*) \| ([\d.]+) \| ([\d.]+)% \| ([\d.]+) \|$", page, re.MULTILINE)
    assert [line[0] for line in lines] == ["LinearSVC", "splinear", "splinear, knots='uniform'"]
    assert all(float(accuracy) > 65 for _, _, accuracy, _ in lines)
    assert all(0.05 < float(gigabytes) < 2 for *_, gigabytes in lines)
    assert len(re.findall(r"[+-]\d+ rows right of 250, against LinearSVC\n", page)) == 2


def test_unknown_sets_are_refused(run):
    process = run("--data", "iris")
    assert process.returncode == 2
    assert "no such one: iris" in process.stderr
