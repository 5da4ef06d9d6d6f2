"""The study of the defaults and the raw table, from the command line to the pages they write."""

import os
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(scope="module")
def page(run_benchmark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("defaults")
    process = run_benchmark("defaults", "--quick", "--output", str(folder))
    assert process.returncode == 0, process.stderr
    return (folder / "defaults.md").read_text()


def test_every_rule_has_a_number(page):
    lines = [line for line in page.splitlines() if line.startswith("| synthetic")]
    assert len(lines) == 7  # two losses by two numbers of bins, reml, two yardsticks
    for line in lines[:5]:
        cells = [cell.strip(" *") for cell in line.split("|")[3:6]]
        # Uniform features have no tails: "auto" is the same model.
        assert cells[0] == cells[2]
        assert all(0.8 < float(cell) < 1 for cell in cells)


def test_the_page_says_what_follows(page):
    assert "## What follows" in page
    assert "and worse by 0.0000 at most" in " ".join(page.split())


def test_a_set_that_is_not_there_is_named(run_benchmark):
    process = run_benchmark("defaults", "--data", "nothing")
    assert process.returncode != 0
    assert "no such one: nothing" in process.stderr


@pytest.mark.data
@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA is not set")
def test_the_raw_table_keeps_its_bars(run_benchmark, tmp_path):
    process = run_benchmark(
        "raw_table", "--output", str(tmp_path), SPLINEAR_DATA=os.environ["SPLINEAR_DATA"]
    )
    assert process.returncode == 0, process.stderr
    page = (tmp_path / "raw_table.md").read_text()
    assert "AUC of the whole table: 0.928 (bar: at least 0.923) holds" in page
    lost = next(line for line in page.splitlines() if "AUC lost to the blanks" in line)
    assert lost.endswith("holds")
