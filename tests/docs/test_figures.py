"""Figures on the README and the landing page are those of the measured pages that they link to."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
Table = dict[str, dict[str, str]]


def table_of(page: str, first: str) -> Table:
    """The table of a page whose first column has this name: cells by names of rows and columns."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    block = re.search(rf"^\| {first} \|.*\n(?:\|.*\|\n)+", text, re.MULTILINE)
    assert block, f"{page} has no table of {first}"
    head, _, *lines = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in block[0].splitlines()
    )
    return {line[0]: dict(zip(head, line, strict=True)) for line in lines}


def signed(numbers: list[float]) -> str:
    return f"{min(numbers):+.4f} to {max(numbers):+.4f}"


def boosted() -> list[str]:
    text = (ROOT / "docs" / "boosted.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| \n").split(" | ") for line in text.splitlines() if re.search(r"\d x \d", line)
    ]
    rows = [row for row in rows if len(row) == 9]
    times = [int(row[4]) for row in rows]
    exact = float(re.search(r"times as fast, median: ([\d.]+)", text)[1])
    assert abs(exact - median(times)) < 1
    gains = [float(row[5]) - float(row[6]) for row in rows]
    return [
        f"EBM without interactions, {len(rows)} tables | AUC differs by {signed(gains)} | "
        f"{min(times)} to {max(times)} times faster, median {exact:.0f} |"
    ]


def pairs() -> list[str]:
    auc, seconds = table_of("pairs.md", "AUC"), table_of("pairs.md", "seconds")
    ours = "curves and pairs"
    both = [name for name, row in auc.items() if row["EBM"] != "-"]
    gains = [float(auc[n][ours]) - float(auc[n]["EBM"]) for n in both]
    text = (ROOT / "docs" / "pairs.md").read_text(encoding="utf-8")
    faster = [float(x) for x in re.findall(r"EBM's seconds / ours: ([\d.]+)", text)]
    assert len(faster) == len(both)
    better = sum(float(row[ours]) >= float(row["LightGBM"]) for row in auc.values())
    slower = [float(row[ours]) / float(row["LightGBM"]) for row in seconds.values()]
    alone = [float(row["curves"]) / float(row["LightGBM"]) for row in seconds.values()]
    return [
        f"EBM with pairs, {len(both)} tables | AUC differs by {signed(gains)} | "
        f"{min(faster):.0f} to {max(faster):.0f} times faster |",
        f"LightGBM, {len(auc)} tables | with pairs, AUC at least as high on {better} of {len(auc)} "
        f"| {min(slower):.1f} to {max(slower):.0f} times slower with pairs; {min(alone):.1f} to "
        f"{max(alone):.1f} times its time without |",
    ]


def beside_ebm() -> list[str]:
    (curves,), (with_pairs, _) = boosted(), pairs()
    least, most = re.search(r"(\d+) to (\d+) times faster", curves).groups()
    n_tables, gains = re.search(r"(\d+) tables \| AUC differs by (.+?) \|", with_pairs).groups()
    assert n_tables == "4"
    return [f"1/{least} to 1/{most} of an EBM's time", f"the AUC differed by {gains} "]


def beside_lightgbm() -> list[str]:
    found = re.findall(r"([\d.]+) to ([\d.]+) times", pairs()[1])
    slower, alone = (" to ".join(ends) for ends in found)
    return [f"curves alone took {alone} times as long as LightGBM", f"with pairs {slower} times"]


def linear() -> list[str]:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    section = text.split("## mnist, D_1, 40 bins")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if "60,000" in line]
    other = next(row for row in rows if row[1].strip().startswith("LinearSVC"))
    best = rows[-1]
    assert best[1].strip() == "splinear, avx512"
    errors = [f"{100 * (1 - float(row[8])):.2f} %" for row in (best, other)]
    return [
        f"LinearSVC, one MNIST digit, {best[0].strip()} | {errors[0]} errors instead of "
        f"{errors[1]} | {float(other[2]) / float(best[2]):.1f} times faster |"
    ]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
@pytest.mark.parametrize("measured", [boosted, pairs, linear], ids=lambda own: own.__name__)
def test_figures_are_those_of_the_measured_pages(page, measured) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for line in measured():
        assert line in text, f"{page} should say: | {line}"


@pytest.mark.parametrize("page", ["ebm", "lightgbm"])
def test_figures_for_users_of_other_libraries(page) -> None:
    measured = {"ebm": beside_ebm, "lightgbm": beside_lightgbm}[page]
    text = (ROOT / "docs" / "coming_from" / f"{page}.md").read_text(encoding="utf-8")
    for phrase in measured():
        assert phrase in " ".join(text.split()), f"{page}.md should say: {phrase}"
