"""Seconds of both solvers to two tolerances: the measurements behind solver="auto".

python benchmarks/solvers.py                           everything: some ten minutes
python benchmarks/solvers.py --data magic              only these data sets
python benchmarks/solvers.py --quick                   small synthetic data
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import report
import sets
from sklearn.datasets import load_breast_cancer

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear._base import one_blas_thread
from splinear.axes import Axes
from splinear.basis import BSplineBasis
from splinear.embedding import Embedding
from splinear.losses import LOSSES
from splinear.solvers import dual_cd, newton
from splinear.solvers.problem import Problem, Result, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Separable
from splinear.solvers.watch import Watch

Array = npt.NDArray[Any]
Row = dict[str, Any]

# The data sets: how many rows, and which class stands against the rest.
REAL = {
    "breast_cancer": (None, 1),
    "magic": (None, 1),
    "credit_default": (None, 1),
    "adult": (None, 1),
    "covtype": (50_000, 2),
    "mnist": (6000, 8),
}
KNOWN = {**REAL, "synthetic": (20_000, 1)}
SMOOTH = ("logistic", "squared_hinge", "squared_error")
TOLERANCES = (1e-2, 1e-4)
METHODS = {
    "dual_cd": "dual_cd",
    "newton": "newton",
    "dense": "newton, dense",
    "banded": "newton, banded",
}
BASIS = BSplineBasis(1, 10)  # the default of the estimators
MOST_COEFFICIENTS = 3000  # a larger Hessian is not formed: 200 MB, and minutes to factor

INTRODUCTION = """\
Seconds until the relative duality gap is at most tol, by both solvers, on one thread: what the
rule of `solver="auto"` rests on. `python benchmarks/solvers.py --output docs` writes this page.
Degree 1, D_1, 10 bins, C = 1; one class against the rest, as numbers -1 and 1 for the squared
error. Coding the rows is included. A fit over the limit of {limit:g} s is shown as > {limit:g}.
**Bold** is what `solver="auto"` does. Newton's method chooses its preconditioner step by step; the
last two columns force the dense or the banded one. "–" means that a dense one would be too large.
Compare ratios: seconds differ from machine to machine."""

RULE = """\
With fewer than {coefficients:,} coefficients, so that the Hessian can be formed
(`splinear.solvers.newton`), `"auto"` is Newton's method for every smooth loss. With more it is dual
coordinate descent for the logistic loss and the squared hinge, and Newton's method for the squared
error and for softmax. Losses with a corner have dual coordinate descent only."""


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    data: tuple[str, ...]
    quick: bool
    output: Path | None
    limit: float


def main() -> None:
    """Run what was asked for and print it."""
    settings = parse()
    machine = report.describe_machine()
    print(report.machine_lines(machine), flush=True)
    with one_blas_thread():
        rows = [row for name in settings.data for row in compare(name, settings)]
    results = {
        "quick": settings.quick,
        "limit": settings.limit,
        "machine": machine,
        "rows": rows,
    }
    if not rows:
        return
    print("\n" + report.aligned(table(rows, settings.limit)) + "\n\n" + verdict(rows))
    if settings.output is not None:
        settings.output.mkdir(parents=True, exist_ok=True)
        (settings.output / "solvers.md").write_text(page(results))


def parse() -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help=f"data sets, by commas, of {', '.join(KNOWN)}")
    parser.add_argument("--quick", action="store_true", help="2,000 rows; synthetic by default")
    parser.add_argument("--output", type=Path, help="folder for solvers.md")
    parser.add_argument("--limit", type=float, default=20, help="seconds a fit may take")
    given = parser.parse_args()
    default = ("synthetic",) if given.quick else tuple(REAL)
    data = tuple(given.data.split(",")) if given.data else default
    unknown = sorted(set(data) - set(KNOWN))
    if unknown:
        parser.error(f"--data: no such one: {', '.join(unknown)}")
    return Settings(data, given.quick, given.output, given.limit)


def compare(name: str, settings: Settings) -> Iterator[Row]:
    """Measure every method on every loss and tolerance of one data set."""
    try:
        X, y = load(name, settings.quick)
    except OSError as error:
        print(f"{name}: left out. {error}")
        return
    lo, hi = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    axes = Axes.spanning(lo, hi, BASIS)
    embedding = Embedding.of(axes, BASIS, 1, native=False)
    for loss in SMOOTH:
        for tol in TOLERANCES:
            print(f"{name}: {loss} to {tol:g}", flush=True)
            row: Row = {"data": name, "n_rows": len(X), "n_columns": X.shape[1]}
            row |= {"loss": loss, "tol": tol, "auto": chosen(loss, embedding)}
            yield row | {
                method: measure(method, X, embedding, y, loss, tol, settings.limit)
                for method in METHODS
            }


def load(name: str, quick: bool) -> tuple[Array, Array]:
    """Give the training rows, and 1 for the class that is set against the rest, else -1."""
    n_rows, positive = KNOWN[name]
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        X, y, _, _ = sets.SETS[name](2000 if quick else n_rows)
    return X, np.where(y == positive, 1, -1).astype(np.int8)


def chosen(loss: str, embedding: Embedding) -> str:
    """Name the method that "auto" takes."""
    model = AdditiveRegressor() if loss == "squared_error" else AdditiveClassifier()
    model.embedding_ = embedding
    if model._solver_for(LOSSES[loss]) == "dual_cd":
        return "dual_cd"
    return "newton"


def measure(
    method: str, X: Array, embedding: Embedding, y: Array, loss: str, tol: float, limit: float
) -> float | None:
    """Give the seconds of a fit, the best of up to three; inf: over the limit, None: too large."""
    if method == "dense" and X.shape[1] * BASIS.size > MOST_COEFFICIENTS:
        return None
    best, spent = np.inf, 0.0
    for _ in range(3):
        start = time.perf_counter()
        watch = Watch(deadline=time.monotonic() + limit)
        found = solve(method, X, embedding, y, loss, Stopping(tol=tol, max_iter=10**6, watch=watch))
        seconds = time.perf_counter() - start
        if not found.converged:
            return np.inf
        best, spent = min(best, seconds), spent + seconds
        if spent > 2.0:
            break
    return best


def solve(
    method: str, X: Array, embedding: Embedding, y: Array, loss: str, stopping: Stopping
) -> Result:
    """Prepare the rows and solve the problem by the method."""
    rows = TrainingRows.prepare(X, embedding, tol=stopping.tol)
    regression = loss == "squared_error"
    problem = Problem(
        y=rows.place(np.ones_like(y) if regression else y),
        targets=rows.place(y.astype(np.float64)) if regression else None,
        loss=LOSSES[loss],
        cost_negative=1.0,
        cost_positive=1.0,
    )
    if method == "dual_cd":
        return dual_cd.solve(rows, problem, stopping)
    total = Separable(problem, problem.loss)
    return newton.solve(
        rows, total, stopping, problem.bias, preconditioner="auto" if method == "newton" else method
    )[0]


def table(rows: list[Row], limit: float) -> list[list[str]]:
    """One line per data set, loss and tolerance; what "auto" does in bold."""

    def cell(row: Row, method: str) -> str:
        seconds = row[method]
        if seconds is None:
            return "–"
        text = f"{seconds:.2g}" if np.isfinite(seconds) else f"> {limit:g}"
        return f"**{text}**" if method == row["auto"] else text

    head = ["data", "rows x columns", "loss", "tol", *METHODS.values()]
    lines = [
        [
            row["data"],
            f"{row['n_rows']:,} x {row['n_columns']:,}",
            row["loss"],
            f"{row['tol']:g}",
            *(cell(row, method) for method in METHODS),
        ]
        for row in rows
    ]
    return [head, *lines]


def verdict(rows: list[Row]) -> str:
    """Compare what "auto" does with the best of each line."""
    ratios = []
    for row in rows:
        found = [row[method] for method in METHODS if row[method] is not None]
        ratios.append(row[row["auto"]] / min(found) if np.isfinite(min(found)) else 1.0)
    close = sum(ratio <= 1.5 for ratio in ratios)
    missed = sum(map(np.isinf, ratios))
    finished = [ratio if np.isfinite(ratio) else 0.0 for ratio in ratios]
    worst = rows[int(np.argmax(finished))]
    return (
        f'"auto" takes at most 1.5 times the seconds of the best in {close} of {len(rows)} lines, '
        f"and misses the limit in {missed} where another keeps it. Among the others it is slowest "
        f"on {worst['data']} with {worst['loss']} to {worst['tol']:g}: {max(finished):.2g} times "
        "the best."
    )


def page(results: dict[str, Any]) -> str:
    """Everything, as a page for the documentation."""
    rows, limit = results["rows"], results["limit"]
    rule = RULE.format(coefficients=newton.MAX_DENSE)
    sections = [
        "# Which solver",
        report.caution(results) + INTRODUCTION.format(limit=limit),
        f"```text\n{report.machine_lines(results['machine'])}\n```",
        report.markdown(table(rows, limit)),
        "## The rule",
        rule,
        verdict(rows),
    ]
    return "\n\n".join(sections) + "\n"


if __name__ == "__main__":
    main()
