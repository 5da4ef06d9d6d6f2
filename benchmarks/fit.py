"""Compare training with its rivals: seconds, memory, objective, gap and accuracy, in one table.

python benchmarks/fit.py                        everything; some of it takes many minutes
python benchmarks/fit.py --data adult,daimler   only these data sets
python benchmarks/fit.py --quick                small synthetic data, under a minute
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import command
import measure
import report
import rivals
import sets

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A problem: a data set, the classes that are in turn set against the rest, and the curves."""

    data: str
    positives: tuple[int, ...]
    n_bins: int
    order: int
    rivals: tuple[str, ...] = rivals.KEYS

    @property
    def title(self) -> str:
        """What the table calls it."""
        return f"{self.data}, D_{self.order}, {self.n_bins} bins"


CASES = (
    Case("mnist", (0, 3, 8), n_bins=20, order=0),
    Case("mnist", (0, 3, 8), n_bins=40, order=1),
    Case("daimler", (1,), n_bins=10, order=1),
    Case("covtype", (2,), n_bins=20, order=1, rivals=(*rivals.KEYS, rivals.PLAIN)),
    Case("adult", (1,), n_bins=10, order=1),
    Case("synthetic", (1,), n_bins=20, order=0),
    Case("synthetic", (1,), n_bins=10, order=1, rivals=(rivals.LINEAR, rivals.FAST)),
)
REAL = ("mnist", "daimler", "covtype", "adult")
KNOWN = (*REAL, "synthetic")


@dataclass(frozen=True)
class Sizes:
    """How large a run is."""

    n_rows: int | None  # of each part of a data set; None is all
    repeats: int
    sweep: dict[str, tuple[int, ...]]
    scoring: tuple[int, int]


FULL = Sizes(
    n_rows=None,
    repeats=3,
    sweep={
        "rows": (10_000, 20_000, 40_000, 80_000),
        "columns": (125, 250, 500, 1000, 2000),
        "bins": (10, 20, 40),
    },
    scoring=(10_000, 1500),
)
QUICK = Sizes(
    n_rows=2000,
    repeats=1,
    sweep={"rows": (1000, 2000), "columns": (20, 40), "bins": (10, 40)},
    scoring=(1000, 150),
)


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    data: tuple[str, ...]
    quick: bool
    output: Path | None
    limit: float

    @property
    def sizes(self) -> Sizes:
        """Full or quick."""
        return QUICK if self.quick else FULL


def main() -> None:
    """Run what was asked for and print it."""
    settings = parse()
    machine = report.describe_machine()
    print(report.machine_lines(machine), flush=True)
    rows = [row for name in settings.data for row in compare(name, settings)]
    sweep = measure_sweep(settings)
    scoring = measure_scoring(settings)
    bars = report.bars(rows, sweep, scoring)
    results = {
        "quick": settings.quick,
        "machine": machine,
        "rows": rows,
        "sweep": sweep,
        "scoring": scoring,
        "bars": [asdict(bar) | {"holds": bar.holds} for bar in bars],
    }
    print("\n" + report.text(results, bars))
    if settings.output is not None:
        report.write(settings.output, results, bars)


def parse() -> Settings:
    """Read the command line."""
    parser = command.make_parser(
        __doc__,
        quick="2,000 rows; synthetic by default",
        output="folder for benchmarks.json, table and plot",
    )
    parser.add_argument("--data", help=f"data sets, by commas, of {', '.join(KNOWN)}")
    parser.add_argument("--limit", type=float, default=1800, help="seconds a measurement may take")
    given = parser.parse_args()
    default = ("synthetic",) if given.quick else REAL
    data = command.chosen(parser, given.data, KNOWN, default)
    return Settings(data, given.quick, given.output, given.limit)


def compare(data: str, settings: Settings) -> list[Row]:
    """Measure every rival on every case of one data set."""
    with tempfile.TemporaryDirectory(prefix="splinear-benchmark-") as scratch:
        folder = Path(scratch)
        print(f"{data}: preparing", flush=True)
        try:
            shape = sets.prepare(data, folder, settings.sizes.n_rows)
        except OSError as error:
            print(f"{data}: left out. {error}")
            return []
        cases = [case for case in CASES if case.data == data]
        return [row for case in cases for row in measure_case(case, folder, shape, settings)]


def measure_case(
    case: Case, folder: Path, shape: tuple[int, int], settings: Settings
) -> Iterator[Row]:
    """Measure every rival on one case, class by class, and yield the means over classes."""
    jobs = plan(case, shape)
    found: dict[tuple[str, int], list[measure.Answer]] = {job: [] for job in jobs}
    failed: dict[tuple[str, int], str] = {}
    for positive in case.positives:
        for job in jobs:
            if job in failed:
                continue
            print(f"{case.title}: class {positive}, {job[0]}, {job[1]:,} rows", flush=True)
            try:
                found[job].append(measure_fit(case, folder, positive, job, settings))
            except measure.MeasurementError as error:
                failed[job] = str(error)
    linear = mean_row(case, shape, jobs[0], found[jobs[0]], failed.get(jobs[0]))
    for job in jobs:
        row = mean_row(case, shape, job, found[job], failed.get(job))
        comparable = row["seconds"] and linear["seconds"] and row["n_rows"] == linear["n_rows"]
        yield row | {"ratio": row["seconds"] / linear["seconds"] if comparable else None}


def plan(case: Case, shape: tuple[int, int]) -> list[tuple[str, int]]:
    """List the rivals with the rows they get.

    SplineTransformer gets as many rows as three quarters of the free memory hold. If that is not
    all, we are measured on these rows too.
    """
    n_rows, n_columns = shape
    fitting = int(0.75 * free_memory() / rivals.spline_transformer_bytes(1, n_columns))
    jobs = [(key, n_rows) for key in case.rivals]
    if fitting >= n_rows or rivals.SPLINES not in case.rivals:
        return jobs
    jobs[jobs.index((rivals.SPLINES, n_rows))] = (rivals.SPLINES, fitting)
    return [*jobs, (rivals.FAST, fitting)]


def free_memory() -> int:
    """Bytes that new programs may take: available where Linux tells, else half of all."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def measure_fit(
    case: Case, folder: Path, positive: int, job: tuple[str, int], settings: Settings
) -> measure.Answer:
    """Measure one fit of one rival."""
    task = {
        "kind": "fit",
        "folder": str(folder),
        "positive": positive,
        "rival": job[0],
        "n_rows": job[1],
        "n_bins": case.n_bins,
        "order": case.order,
        "repeats": settings.sizes.repeats,
    }
    return measure.run(task, settings.limit)


def mean_row(
    case: Case,
    shape: tuple[int, int],
    job: tuple[str, int],
    answers: list[measure.Answer],
    failure: str | None,
) -> Row:
    """Summarize the answers for all classes of a case."""
    key, n_rows = job
    name = rivals.make(key, rivals.Curves(case.n_bins, case.order)).name
    note = failure or (f"on {n_rows:,} of {shape[0]:,} rows" if n_rows < shape[0] else "")
    row: Row = {
        "case": case.title,
        "rival": key,
        "name": name,
        "n_rows": n_rows,
        "n_columns": shape[1],
        "note": note,
    }
    complete = answers if failure is None else []
    for field in ("seconds", "memory", "objective", "gap", "accuracy", "n_iter"):
        values = [answer[field] for answer in complete]
        row[field] = statistics.fmean(values) if values and None not in values else None
    return row | {"runs": answers}


def measure_sweep(settings: Settings) -> dict[str, list[dict[str, float]]]:
    """Measure the seconds of a pass as rows, columns and bins grow, one at a time."""
    print("sweep: rows, columns, bins", flush=True)
    sweep = settings.sizes.sweep
    base = {"rows": sweep["rows"][1], "columns": sweep["columns"][-2], "bins": sweep["bins"][0]}
    points = [base | {axis: value} for axis, values in sweep.items() for value in values]
    task = {
        "kind": "passes",
        "shapes": [list(point.values()) for point in points],
        "repeats": settings.sizes.repeats,
    }
    seconds = iter(measure.run(task, settings.limit)["seconds"])
    return {
        axis: [{"value": value, "seconds": next(seconds)} for value in values]
        for axis, values in sweep.items()
    }


def measure_scoring(settings: Settings) -> dict[str, Any]:
    """Measure decision_function against NumPy's sum, and two threads against one."""
    print("scoring", flush=True)
    shape = settings.sizes.scoring
    task = {"kind": "scoring", "shape": shape, "repeats": 5 * settings.sizes.repeats}
    return {"shape": shape} | measure.run(task, settings.limit)


if __name__ == "__main__":
    main()
