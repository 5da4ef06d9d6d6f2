"""From measurements to a table, a list of bars, a Markdown page and a plot."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import rivals

from splinear.experiments.reproduction import describe

Row = dict[str, Any]
Points = list[dict[str, float]]


@dataclass(frozen=True)
class Bar:
    """A value that was measured, or None, and the range it should lie in."""

    what: str
    value: float | None
    least: float = -math.inf
    most: float = math.inf

    @property
    def holds(self) -> bool | None:
        """Whether it lies there; None if it was not measured."""
        return None if self.value is None else self.least <= self.value <= self.most

    def __str__(self) -> str:
        limits = {
            (True, False): f"at least {self.least:g}",
            (False, True): f"at most {self.most:g}",
            (True, True): f"{self.least:g} to {self.most:g}",
        }[self.least > 0, self.most < math.inf]
        verdict = {None: "not measured", True: "holds", False: "DOES NOT HOLD"}[self.holds]
        value = "" if self.value is None else f"{self.value:.3g} "
        return f"{self.what}: {value}(bar: {limits}) {verdict}"


def bars(rows: list[Row], sweep: dict[str, Points], scoring: dict[str, Any]) -> list[Bar]:
    """Compare what was measured with what the library promises."""
    found: list[Bar] = []
    for case in ("mnist, D_0, 20 bins", "mnist, D_1, 40 bins"):
        found += [
            Bar(f"{case}: our relative duality gap", _field(rows, case, "gap"), most=1e-2),
            Bar(f"{case}: our seconds / LinearSVC's", _field(rows, case, "ratio"), most=0.5),
            Bar(f"{case}: SplineTransformer's seconds / ours", _splines(rows, case, "seconds"), 15),
            Bar(f"{case}: SplineTransformer's memory / ours", _splines(rows, case, "memory"), 10),
        ]
    case = "covtype, D_1, 20 bins"
    bins = sweep["bins"]
    return [
        *found,
        Bar(f"{case}: our seconds / LinearSVC's", _field(rows, case, "ratio"), most=1),
        Bar(f"{case}: SplineTransformer's seconds / ours", _splines(rows, case, "seconds"), 20),
        Bar(
            f"{case}: the same with C=1, as it comes",
            _splines(rows, case, "seconds", rivals.PLAIN),
            20,
        ),
        Bar("a pass on twice the rows", worst_doubling(sweep["rows"]), 2 * 0.85, 2 * 1.15),
        Bar("a pass on twice the columns", worst_doubling(sweep["columns"]), 2 * 0.85, 2 * 1.15),
        *(
            Bar("the same, from 500 columns on", worst_doubling(wide), 2 * 0.85, 2 * 1.15)
            for wide in [[point for point in sweep["columns"] if point["value"] >= 500]]
            if len(wide) > 1
        ),
        Bar("a pass with 40 bins / 10 bins", bins[-1]["seconds"] / bins[0]["seconds"], most=1.5),
        Bar(
            f"decision_function / numpy.sum, {' x '.join(map(str, scoring['shape']))} float32",
            scoring["one_thread"] / scoring["sum"],
            most=3,
        ),
        Bar("two threads on scoring", scoring["one_thread"] / scoring["two_threads"], 1.7),
    ]


def _field(rows: list[Row], case: str, field: str) -> float | None:
    """Look up our fastest instruction set on all rows."""
    ours = [row for row in rows if row["case"] == case and row["rival"] == rivals.FAST]
    return ours[0][field] if ours else None


def _splines(rows: list[Row], case: str, field: str, rival: str = rivals.SPLINES) -> float | None:
    """Divide SplineTransformer's value by ours on the same rows."""
    theirs = [row for row in rows if row["case"] == case and row["rival"] == rival]
    ours = [
        row
        for row in rows
        if row["case"] == case and row["rival"] == rivals.FAST and theirs
        if row["n_rows"] == theirs[0]["n_rows"]
    ]
    if not ours or not theirs[0][field] or not ours[0][field]:
        return None
    return float(theirs[0][field] / ours[0][field])


def worst_doubling(points: Points) -> float:
    """Return the factor, of all steps along an axis, that is farthest from 2 per doubling."""
    steps = [
        (after["seconds"] / before["seconds"]) ** (1 / math.log2(after["value"] / before["value"]))
        for before, after in pairwise(points)
    ]
    return float(max(steps, key=lambda step: abs(math.log2(step) - 1)))


def exponent(points: Points) -> float:
    """Fit p in seconds = c * value^p."""
    logs = np.log([[point["value"], point["seconds"]] for point in points])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


# The tables, as lists of cells.


def number(value: float | None, form: str) -> str:
    """Write a number, or a dash for none."""
    return "-" if value is None else format(value, form)


COLUMNS: dict[str, Callable[[Row], str]] = {
    "case": lambda row: row["case"],
    "rows x columns": lambda row: f"{row['n_rows']:,} x {row['n_columns']:,}",
    "rival": lambda row: row["name"],
    "seconds": lambda row: number(row["seconds"], ".3g"),
    "to LinearSVC": lambda row: number(row["ratio"], ".2f"),
    "memory MB": lambda row: number(row["memory"] and row["memory"] / 1e6, ",.1f"),
    "passes": lambda row: number(row["n_iter"], ".0f"),
    "objective": lambda row: number(row["objective"], ",.1f"),
    "gap": lambda row: number(row["gap"], ".1e"),
    "accuracy": lambda row: number(row["accuracy"], ".4f"),
    "note": lambda row: row["note"],
}


def fit_table(rows: list[Row]) -> list[list[str]]:
    """One line per rival and case."""
    return [list(COLUMNS), *([cell(row) for cell in COLUMNS.values()] for row in rows)]


def sweep_table(sweep: dict[str, Points]) -> list[list[str]]:
    """One line per shape, with the factor to the line before."""
    table = [["axis", "value", "ms per pass", "factor", "exponent"]]
    for axis, points in sweep.items():
        before: float | None = None
        for point in points:
            factor = None if before is None else point["seconds"] / before
            last = point is points[-1]
            table.append(
                [
                    axis,
                    f"{point['value']:,}",
                    number(1e3 * point["seconds"], ".3g"),
                    number(factor, ".2f"),
                    number(exponent(points), ".2f") if last else "",
                ]
            )
            before = point["seconds"]
    return table


def scoring_table(scoring: dict[str, Any]) -> list[list[str]]:
    """Milliseconds over the same array, and the ratio to NumPy's sum."""
    names = {
        "sum": "numpy.sum",
        "one_thread": "decision_function, 1 thread",
        "two_threads": "decision_function, 2 threads",
    }
    return [["what", "ms", "to numpy.sum"]] + [
        [name, f"{1e3 * scoring[key]:.3g}", f"{scoring[key] / scoring['sum']:.2f}"]
        for key, name in names.items()
    ]


def aligned(table: list[list[str]]) -> str:
    """Write a table for a terminal."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]
    return "\n".join([lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]])


def markdown(table: list[list[str]]) -> str:
    """Write a table for a page."""
    lines = [table[0], ["---"] * len(table[0]), *table[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def items(lines: Iterable[object]) -> str:
    """Write a list for a page."""
    return "\n".join(f"- {line}" for line in lines)


def publish(sections: Iterable[str], folder: Path | None, name: str) -> None:
    """Print a page of sections, and write it into the folder if there is one."""
    content = "\n\n".join(sections) + "\n"
    print("\n" + content)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def text(results: dict[str, Any], all_bars: Iterable[Bar]) -> str:
    """Everything, for a terminal."""
    parts = [
        aligned(fit_table(results["rows"])),
        aligned(sweep_table(results["sweep"])),
        aligned(scoring_table(results["scoring"])),
        caution(results) + "\n".join(map(str, all_bars)),
    ]
    return "\n\n".join(parts)


def page(results: dict[str, Any], all_bars: Iterable[Bar], with_plot: bool) -> str:
    """Everything, as a page for the documentation."""
    rows = results["rows"]
    sections = [INTRODUCTION, machine_block(results["machine"])]
    for case in dict.fromkeys(row["case"] for row in rows):
        table = fit_table([row for row in rows if row["case"] == case])
        sections += [f"## {case}", markdown([line[1:] for line in table])]
    sections += ["## How the cost of a pass grows", markdown(sweep_table(results["sweep"]))]
    if with_plot:
        sections.append(f"![Seconds of a pass]({PLOT})")
    sections += [
        "## Scoring",
        markdown(scoring_table(results["scoring"])),
        "## Bars",
        caution(results) + items(all_bars),
    ]
    return "\n\n".join(["# Speed of training", *sections]) + "\n"


def caution(results: dict[str, Any]) -> str:
    """Say, if it is so, that the numbers are not for judging."""
    return CAUTION if results["quick"] else ""


CAUTION = "A quick run: too small to judge speed by.\n\n"
PLOT = "benchmarks_sweep.png"
INTRODUCTION = """\
This page is written by one command, `python benchmarks/fit.py --output docs`, in one run on the
machine below, which did nothing else. [benchmarks/README.md](../benchmarks/README.md) says what is
compared and what the columns mean. Fits use one thread unless a line says otherwise. Compare
ratios: seconds differ from machine to machine. D_0 and D_1 are penalties on coefficients and on
differences of neighboring coefficients ([splines](guide/terms.md#splines)).

LinearSVC uses another stopping rule (tol=0.1), so its gaps are larger than ours on some tables and
smaller on others; see the column *gap*. A pass reads the rows, which takes time in proportion to
the columns, and updates the dual variables, which does not. The table of passes below is made of
random labels, for which every dual variable is updated: there the second part is visible."""


def write(folder: Path, results: dict[str, Any], all_bars: list[Bar]) -> None:
    """Write benchmarks.json, benchmarks.md and, where matplotlib is installed, the plot."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "benchmarks.json", results)
    with_plot = _plot(results["sweep"], folder / PLOT)
    (folder / "benchmarks.md").write_text(page(results, all_bars, with_plot))


def write_json(path: Path, results: dict[str, Any]) -> None:
    """Write results as JSON that every reader takes."""
    path.write_text(json.dumps(_finite(results), indent=1, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    """Replace infinities, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plot(sweep: dict[str, Points], path: Path) -> bool:
    """Draw seconds of a pass on logarithmic axes, with a line of proportional growth."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator, StrMethodFormatter
    except ImportError:
        print("No plot: matplotlib is not installed.")
        return False
    figure = Figure(figsize=(9, 3), layout="constrained")
    panels = figure.subplots(1, len(sweep), sharey=True)
    for panel, (axis, points) in zip(panels, sweep.items(), strict=True):
        values = np.array([point["value"] for point in points])
        times = 1e3 * np.array([point["seconds"] for point in points])
        panel.loglog(values, times, "o-", label=f"exponent {exponent(points):.2f}")
        panel.loglog(
            values, times[0] * values / values[0], ":", color="gray", label="in proportion"
        )
        panel.set_xticks(values, [f"{value:,}" for value in values])
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.minorticks_off()
        panel.set_xlabel(axis)
        panel.legend(frameon=False)
    panels[0].set_ylabel("milliseconds per pass")
    figure.savefig(path, dpi=150)
    return True


# The machine.


def describe_machine() -> dict[str, str]:
    """Say what the numbers were measured on and with, and when."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": date.today().isoformat(),
        "memory": f"{memory / 2**30:.1f} GiB",
        **describe(),
    }


def machine_lines(machine: dict[str, Any]) -> str:
    """Write the description as one line per entry."""
    width = 1 + max(map(len, machine))
    return "\n".join(f"{name:{width}} {value}" for name, value in machine.items())


def machine_block(machine: dict[str, Any] | None = None) -> str:
    """Write the description for a page; None: that of this machine."""
    return f"```text\n{machine_lines(machine or describe_machine())}\n```"
