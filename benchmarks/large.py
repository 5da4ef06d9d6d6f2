"""Data larger than memory: 30 million rows within 1 GB.

python benchmarks/large.py                      some minutes, and 2.5 GB of disk (see TMPDIR)
python benchmarks/large.py --rows 1000000       fewer rows; 100,000 for a first look
python benchmarks/large.py --output docs        and write large.md there
python benchmarks/large.py --quick              60,000 rows within 2.2 MB
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import command
import numpy as np
import report
from large_fit import N_JOBS
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

N_COLUMNS = 20
N_TEST = 200_000
SAMPLE = 200_000  # rows that rivals see
STEP = 250_000
FEWER = 2_000_000  # rows that are also trained on in memory
SHARES = (0.3, 0.05)  # of their codes that a bound leaves room for
MOST_MEMORY = 1.3e9
TOL = 1e-2

INTRODUCTION = f"""\
`python benchmarks/large.py --output docs` writes this page. A table of float32 with twenty columns
is in a file; the classes follow a sum of waves, bumps and steps in twelve of the columns, with
noise. A separate process trains `AdditiveSVC(Spline(20))` on the `numpy.memmap` of that file: hinge
loss, tol {TOL}, {N_JOBS} threads. Peak memory is everything that the process holds at once,
including pages of the mapped files, Python and its libraries. The files had just been written and
were still in the system's cache."""


def rows(random: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Draw rows and their classes."""
    X = random.standard_normal((n, N_COLUMNS), dtype=np.float32)
    f = np.zeros(n, dtype=np.float32)
    for j in range(4):
        f += np.sin((j + 1) * X[:, j]) + 1.5 * np.exp(-4 * (X[:, 4 + j] - 0.3 * j) ** 2)
        f += 0.8 * (np.abs(X[:, 8 + j]) > 1)
    noise = random.standard_normal(n, dtype=np.float32)
    return X, (f - 3.3 + noise > 0).astype(np.int8)


def build(folder: Path, n: int) -> None:
    """Write the table and its test rows, a piece at a time."""
    random = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, N_COLUMNS))
    y = np.empty(n, dtype=np.int8)
    for start in range(0, n, STEP):
        end = min(n, start + STEP)
        X[start:end], y[start:end] = rows(random, end - start)
    X.flush()
    np.save(folder / "y.npy", y)
    X_test, y_test = rows(random, min(n, N_TEST))
    np.save(folder / "X_test.npy", X_test)
    np.save(folder / "y_test.npy", y_test)


def fit(folder: Path, n: int, bound: str) -> dict[str, Any]:
    """Train in another process, and return what it measured."""
    script = Path(__file__).with_name("large_fit.py")
    run = subprocess.run(
        [sys.executable, str(script), str(folder), str(n), bound],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    print(n, bound, found, flush=True)
    return found


def linear(folder: Path, n: int) -> list[list[str]]:
    """Train linear models on a sample; a line each."""
    X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy")
    sample, labels = np.array(X[: min(n, SAMPLE)]), y[: min(n, SAMPLE)]
    X_test, y_test = np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")
    lines = []
    for name, model in (
        ("LinearSVC", LinearSVC(random_state=0)),
        ("SGDClassifier", SGDClassifier(random_state=0)),
    ):
        began = time.perf_counter()
        made = make_pipeline(StandardScaler(), model).fit(sample, labels)
        seconds = time.perf_counter() - began
        score = made.score(X_test, y_test)
        lines.append([f"{name}, a sample", f"{len(sample):,}", f"{seconds:.1f}", f"{score:.2%}"])
    return lines


def whole(folder: Path, n: int, bound: str) -> list[str]:
    """All rows, within the bound."""
    found = fit(folder, n, bound)
    blocks = "in memory"
    if found["rows_per_block"] is not None:
        blocks = f"on disk, {-(-n // found['rows_per_block'])} blocks"
    table = [["model", "rows", "seconds", "test accuracy"]]
    seconds = found["coding"] + found["training"]
    table.append(["splinear", f"{n:,}", f"{seconds:.1f}", f"{found['accuracy']:.2%}"])
    table += linear(folder, n)
    return [
        f"## {n:,} rows, max_memory={bound!r}",
        f"The values take {4e-9 * n * N_COLUMNS:.2f} GB, their codes {2e-9 * n * N_COLUMNS:.2f} GB "
        f"({blocks}).",
        report.items(
            [
                f"ranges and coding: {found['coding']:.1f} s; training: {found['training']:.1f} s, "
                f"{found['passes']} passes, relative duality gap {found['gap']:.1e}",
                "private memory, the largest of ten looks per second: "
                f"{found['private'] / 1e9:.2f} GB; before the fit the process held "
                f"{found['before'] / 1e9:.2f} GB of all kinds",
                report.Bar("peak resident memory, GB", found["peak"] / 1e9, most=MOST_MEMORY / 1e9),
            ]
        ),
        report.markdown(table),
    ]


def compared(folder: Path, n: int, shares: tuple[float, ...]) -> list[str]:
    """Fewer rows, in memory and on disk."""
    memory = fit(folder, n, "None")
    table = [
        ["codes", "block, rows", "peak, GB", "coding, s", "training, s", "passes", "objective"]
    ]
    bars = []
    for share in (None, *shares):
        # What rows need, and that share of the codes twice: see splinear.objective.local.memory.
        need = 22.0 * n
        bound = "None" if share is None else str(int((need + 4 * share * n * N_COLUMNS) / 0.875))
        found = memory if share is None else fit(folder, n, bound)
        block = found["rows_per_block"]
        table.append(
            [
                "in memory" if block is None else "on disk",
                "all" if block is None else f"{block:,}",
                f"{found['peak'] / 1e9:.2f}",
                f"{found['coding']:.1f}",
                f"{found['training']:.1f}",
                str(found["passes"]),
                f"{found['objective']:.6g}",
            ]
        )
        if share is not None:
            ratio = found["objective"] / memory["objective"]
            seconds = [r["coding"] + r["training"] for r in (found, memory)]
            bars += [
                report.Bar(
                    f"blocks of {block:,}: objective, difference / objective",
                    abs(ratio - 1),
                    most=TOL,
                ),
                report.Bar(
                    f"blocks of {block:,}: seconds / in memory", seconds[0] / seconds[1], most=3
                ),
            ]
    return [
        f"## {n:,} rows, in memory and on disk",
        report.markdown(table),
        report.items(bars),
    ]


def main() -> None:
    """Build the data, run, print the page, and leave no data behind."""
    parser = command.make_parser(__doc__, quick="60,000 rows, 2.2 MB", output="folder for large.md")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--max-memory")
    given = parser.parse_args()
    n_rows = given.rows or (60_000 if given.quick else 30_000_000)
    bound = given.max_memory or ("2.2MB" if given.quick else "1GB")
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Data larger than memory", introduction, report.machine_block()]
    with tempfile.TemporaryDirectory(prefix="splinear-") as name:
        build(Path(name), n_rows)
        sections += whole(Path(name), n_rows, bound)
        sections += compared(Path(name), min(n_rows, FEWER), SHARES[: 1 if given.quick else None])
    report.publish(sections, given.output, "large.md")


if __name__ == "__main__":
    main()
