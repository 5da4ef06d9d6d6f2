"""The quick form of the benchmark of solvers, from the command line to the page it writes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "solvers.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def run(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "SPLINEAR_DATA"}
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


def test_every_solver_on_every_loss(tmp_path):
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


def test_a_set_that_is_not_there_is_left_out():
    process = run("--quick", "--data", "magic")
    assert process.returncode == 0, process.stderr
    assert "magic: left out" in process.stdout


def test_unknown_sets_are_refused():
    process = run("--data", "iris")
    assert process.returncode == 2
    assert "no such one: iris" in process.stderr
