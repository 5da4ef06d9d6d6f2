"""The quick form of the benchmark of solvers, from the command line to the page it writes."""

import re
import sys
from functools import partial

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(scope="module")
def run(run_benchmark):
    return partial(run_benchmark, "solvers")


def test_every_solver_on_every_loss(run, tmp_path):
    process = run("--quick", "--output", str(tmp_path / "made"))
    assert process.returncode == 0, process.stderr
    page = (tmp_path / "made" / "solvers.md").read_text()
    lines = [line.split(" | ") for line in page.splitlines() if line.startswith("| synthetic")]
    losses = ["logistic", "squared_hinge", "squared_error"]
    wanted = [[loss, tol] for loss in losses for tol in ("0.01", "0.0001")]
    assert [line[2:4] for line in lines] == wanted
    for line in lines:
        cells = [cell.strip(" |") for cell in line[4:]]
        assert len(cells) == 4
        assert sum(cell.startswith("**") for cell in cells) == 1  # what "auto" does
        assert all(re.fullmatch(r"(\*\*)?(> 20|[\d.e-]+)(\*\*)?", cell) for cell in cells)
    assert "A quick run" in page
    assert re.search(r"in \d of 6 lines", page)


def test_a_set_that_is_not_there_is_left_out(run):
    process = run("--quick", "--data", "magic")
    assert process.returncode == 0, process.stderr
    assert "magic: left out" in process.stdout


def test_unknown_sets_are_refused(run):
    process = run("--data", "iris")
    assert process.returncode == 2
    assert "no such one: iris" in process.stderr
