"""Compare probabilities on tables with rivals: seconds, AUC, log-loss and memory, in one table.

python benchmarks/tabular.py                              everything; with EBM many minutes
python benchmarks/tabular.py --data magic                 only these data sets
python benchmarks/tabular.py --rivals splines,pygam       only these rivals
python benchmarks/tabular.py --quick                      small synthetic data
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import command
import measure
import report
import sets
from tabular_rivals import RIVALS

Row = dict[str, Any]

REAL = ("adult", "magic", "credit_default")
KNOWN = (*REAL, "synthetic")
MEASURED = ("seconds", "repeats", "memory", "auc", "log_loss")
PACKAGES = ("interpret-core", "pygam")

INTRODUCTION = """\
This page is written by one command, `python benchmarks/tabular.py --output docs`, in one run on the
machine below. [benchmarks/README.md](../benchmarks/README.md) says what is compared and what the
columns mean. Every fit uses one thread, and the best of up to three fits counts. Compare ratios
rather than seconds, which differ from machine to machine."""


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    data: tuple[str, ...]
    rivals: tuple[str, ...]
    quick: bool
    output: Path | None
    limit: float


def main() -> None:
    """Run what was asked for and print it."""
    settings = parse()
    machine = report.describe_machine() | {name: _version(name) for name in PACKAGES}
    print(report.machine_lines(machine), flush=True)
    rows = [row for name in settings.data for row in compare(name, settings)]
    results = {
        "quick": settings.quick,
        "limit": settings.limit,
        "machine": machine,
        "rows": rows,
    }
    print("\n" + report.caution(results) + report.aligned(table(rows)))
    if settings.output is not None:
        write(settings.output, results)


def parse() -> Settings:
    """Read the command line."""
    parser = command.make_parser(
        __doc__,
        quick="2,000 rows; synthetic by default",
        output="folder for tabular.json and tabular.md",
    )
    parser.add_argument("--data", help=f"data sets, by commas, of {', '.join(KNOWN)}")
    parser.add_argument("--rivals", help=f"rivals, by commas, of {', '.join(RIVALS)}")
    parser.add_argument("--limit", type=float, default=600, help="seconds a rival may take")
    given = parser.parse_args()
    default = ("synthetic",) if given.quick else REAL
    data = command.chosen(parser, given.data, KNOWN, default)
    rivals = command.chosen(parser, given.rivals, RIVALS, RIVALS, option="--rivals")
    return Settings(data, rivals, given.quick, given.output, given.limit)


def compare(data: str, settings: Settings) -> list[Row]:
    """Measure every rival on one data set."""
    with tempfile.TemporaryDirectory(prefix="splinear-benchmark-") as scratch:
        folder = Path(scratch)
        print(f"{data}: preparing", flush=True)
        try:
            shape = sets.prepare(data, folder, 2000 if settings.quick else None)
        except OSError as error:
            print(f"{data}: left out. {error}")
            return []
        return list(measure_all(data, folder, shape, settings))


def measure_all(
    data: str, folder: Path, shape: tuple[int, int], settings: Settings
) -> Iterator[Row]:
    """Measure one rival after the other, each in a process of its own (but for a quick run)."""
    for key in settings.rivals:
        row: Row = {
            "data": data,
            "n_rows": shape[0],
            "n_columns": shape[1],
            "rival": key,
            "name": RIVALS[key].name,
            "note": "",
        }
        print(f"{data}: {row['name']}", flush=True)
        yield row | measured(key, folder, settings)


def measured(key: str, folder: Path, settings: Settings) -> Row:
    """Return the numbers of a rival, or a note that says why there are none."""
    nothing: Row = dict.fromkeys(MEASURED)
    if not RIVALS[key].is_installed:
        return nothing | {"note": "not installed"}
    task = {
        "kind": "probabilities",
        "folder": str(folder),
        "rival": key,
        "repeats": 1 if settings.quick else 3,
    }
    if settings.quick:
        return measure.probabilities(task)
    try:
        return measure.run(task, settings.limit)
    except measure.MeasurementError as error:
        return nothing | {"note": str(error)}


COLUMNS: dict[str, Callable[[Row], str]] = {
    "data": lambda row: row["data"],
    "rows x columns": lambda row: f"{row['n_rows']:,} x {row['n_columns']:,}",
    "rival": lambda row: row["name"],
    "seconds": lambda row: report.number(row["seconds"], ".3g"),
    "AUC": lambda row: report.number(row["auc"], ".4f"),
    "log-loss": lambda row: report.number(row["log_loss"], ".4f"),
    "memory MB": lambda row: report.number(row["memory"] and row["memory"] / 1e6, ",.1f"),
    "note": lambda row: row["note"],
}


def table(rows: list[Row]) -> list[list[str]]:
    """One line per data set and rival."""
    return [list(COLUMNS), *([cell(row) for cell in COLUMNS.values()] for row in rows)]


def write(folder: Path, results: dict[str, Any]) -> None:
    """Write tabular.json and tabular.md."""
    folder.mkdir(parents=True, exist_ok=True)
    report.write_json(folder / "tabular.json", results)
    (folder / "tabular.md").write_text(page(results))


def page(results: dict[str, Any]) -> str:
    """Everything, as a page for the documentation."""
    rows = results["rows"]
    machine = report.machine_block(results["machine"])
    sections = ["# Probabilities on tables", report.caution(results) + INTRODUCTION, machine]
    for data in dict.fromkeys(row["data"] for row in rows):
        lines = table([row for row in rows if row["data"] == data])
        sections += [
            f"## {data}",
            f"{lines[1][1]} for training.",
            report.markdown([line[2:] for line in lines]),
        ]
    return "\n\n".join(sections) + "\n"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
