"""One problem, several solvers: Newton's method on codes, and scikit-learn's on the embedding.

python benchmarks/solvers.py                           everything: some ten minutes
python benchmarks/solvers.py --data magic              only these data sets
python benchmarks/solvers.py --quick                   small synthetic data
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import command
import measure
import numpy as np
import numpy.typing as npt
import report
import sets
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import AdditiveClassifier, SplineEmbedding
from splinear.terms import Spline

Array = npt.NDArray[Any]
Row = dict[str, Any]

# The data sets: how many rows, and which class stands against the rest.
REAL = {
    "magic": (None, 1),
    "credit_default": (None, 1),
    "adult": (None, 1),
    "covtype": (50_000, 2),
    "mnist": (6000, 8),
}
KNOWN = {**REAL, "synthetic": (20_000, 1)}
N_BINS = 10
MEASURED = ("seconds", "objective", "n_iter", "memory")
MOST_COEFFICIENTS = 3000  # a larger Hessian takes minutes to factor, every time

INTRODUCTION = """\
What `AdditiveClassifier(Spline(10, knots="uniform"), C=1.0)` minimizes,

    sum_i log(1 + exp(-y_i f(x_i))) + 1/2 |w|^2,

is what scikit-learn's `LogisticRegression(C=1.0)` minimizes on the rows of
`SplineEmbedding(n_bins=10, knots="uniform")`: the same features, the same penalty, the same free
intercept. This page compares the two, each in a fresh process with one thread. Seconds include
computing the codes or the embedding, and are the best of up to three fits. *Excess* is the relative
difference between the objective and the lowest that any solver reached, computed from the
coefficients in double precision. *Memory* is what a fit takes beyond the data. The linear model, on
standardized columns, is another problem; it shows what a linear model costs. A solver without
numbers took longer than {limit:g} s, or would have to factor a Hessian of more than {most:,}
columns.

`python benchmarks/solvers.py --output docs` writes this page. Compare ratios: seconds differ from
machine to machine."""


class Rival(Protocol):
    """What the benchmark asks of a solver."""

    def fit(self, X: Array, y: Array) -> None:
        """Learn from labels 0 and 1; this is what is timed."""

    def objective(self, X: Array, y: Array) -> float | None:
        """Compute what was minimized; None: another problem."""

    @property
    def n_iter(self) -> int:
        """Steps made."""


class Newton:
    """AdditiveClassifier."""

    def __init__(self, tol: float) -> None:
        curve = Spline(N_BINS, knots="uniform")
        self.model = AdditiveClassifier(curve, C=1.0, tol=tol, random_state=0)

    def fit(self, X: Array, y: Array) -> None:
        self.model.fit(X, y)

    def objective(self, X: Array, y: Array) -> float:
        inner = self.model._model
        penalty = inner.layout.penalty_value(inner.parameters[0])
        return penalty + log_losses(self.model.decision_function(X), y)

    @property
    def n_iter(self) -> int:
        return int(self.model.n_iter_)


class OfScikitLearn:
    """LogisticRegression on the rows of a transformer."""

    def __init__(self, transformer: Any, solver: str) -> None:
        self.regression = LogisticRegression(C=1.0, solver=solver, max_iter=10_000)
        self.model = make_pipeline(transformer, self.regression)
        self.is_same = isinstance(transformer, SplineEmbedding)

    def fit(self, X: Array, y: Array) -> None:
        self.model.fit(X, y)

    def objective(self, X: Array, y: Array) -> float | None:
        if not self.is_same:
            return None
        penalty = 0.5 * float(np.sum(self.regression.coef_**2))
        return penalty + log_losses(self.model.decision_function(X), y)

    @property
    def n_iter(self) -> int:
        return int(np.max(self.regression.n_iter_))


def log_losses(scores: Array, y: Array) -> float:
    """Sum the losses of labels 0 and 1."""
    return float(np.sum(np.logaddexp(0, np.where(y > 0, -scores, scores))))


@dataclass(frozen=True)
class Entry:
    """A solver in the table."""

    name: str
    make: Callable[[], Rival]
    needs_hessian: bool = False


def _embedding() -> SplineEmbedding:
    return SplineEmbedding(n_bins=N_BINS, knots="uniform")


OURS, EXACT, LBFGS, LINEAR = "newton", "newton, tol=1e-6", "lbfgs", "linear"
RIVALS: dict[str, Entry] = {
    OURS: Entry("AdditiveClassifier, tol=1e-3", lambda: Newton(1e-3)),
    EXACT: Entry("AdditiveClassifier, tol=1e-6", lambda: Newton(1e-6)),
    LBFGS: Entry("SplineEmbedding + lbfgs", lambda: OfScikitLearn(_embedding(), "lbfgs")),
    "newton-cholesky": Entry(
        "SplineEmbedding + newton-cholesky",
        lambda: OfScikitLearn(_embedding(), "newton-cholesky"),
        needs_hessian=True,
    ),
    LINEAR: Entry("linear model, lbfgs", lambda: OfScikitLearn(StandardScaler(), "lbfgs")),
}


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
    rows = [row for name in settings.data for row in compare(name, settings)]
    if not rows:
        return
    introduction = INTRODUCTION.format(limit=settings.limit, most=MOST_COEFFICIENTS)
    sections = [
        "# Newton's method and other solvers",
        report.caution({"quick": settings.quick}) + introduction,
        report.machine_block(),
        report.markdown(table(rows)),
        report.items(verdict(rows)),
    ]
    report.publish(sections, settings.output, "solvers.md")


def parse() -> Settings:
    """Read the command line."""
    parser = command.make_parser(
        __doc__, quick="2,000 rows; synthetic by default", output="folder for solvers.md"
    )
    parser.add_argument("--data", help=f"data sets, by commas, of {', '.join(KNOWN)}")
    parser.add_argument("--limit", type=float, default=120, help="seconds a solver may take")
    given = parser.parse_args()
    default = ("synthetic",) if given.quick else REAL
    data = command.chosen(parser, given.data, KNOWN, default)
    return Settings(data, given.quick, given.output, given.limit)


def compare(data: str, settings: Settings) -> list[Row]:
    """Measure every solver on one data set."""
    n_rows, positive = KNOWN[data]
    with tempfile.TemporaryDirectory(prefix="splinear-benchmark-") as scratch:
        folder = Path(scratch)
        print(f"{data}: preparing", flush=True)
        try:
            shape = sets.prepare(data, folder, 2000 if settings.quick else n_rows)
        except OSError as error:
            print(f"{data}: left out. {error}")
            return []
        rows = list(measure_all(data, folder, shape, positive, settings))
    best = min((row["objective"] for row in rows if row["objective"] is not None), default=None)
    for row in rows:
        known = row["objective"] is not None
        row["excess"] = row["objective"] / best - 1 if known else None
    return rows


def measure_all(
    data: str, folder: Path, shape: tuple[int, int], positive: int, settings: Settings
) -> Iterator[Row]:
    """Measure one solver after the other, each in a process of its own (but for a quick run)."""
    for key, entry in RIVALS.items():
        print(f"{data}: {entry.name}", flush=True)
        row: Row = {"data": data, "shape": shape, "rival": key, **dict.fromkeys(MEASURED)}
        if entry.needs_hessian and shape[1] * (N_BINS + 1) > MOST_COEFFICIENTS:
            yield row
            continue
        task = {
            "kind": "solver",
            "folder": str(folder),
            "rival": key,
            "positive": positive,
            "repeats": 1 if settings.quick else 3,
        }
        try:
            found = measure.solver(task) if settings.quick else measure.run(task, settings.limit)
        except measure.MeasurementError as error:
            print(f"{data}: {entry.name}: {error}")
            found = {}
        yield row | found


COLUMNS: dict[str, Callable[[Row], str]] = {
    "data": lambda row: row["data"],
    "rows x columns": lambda row: f"{row['shape'][0]:,} x {row['shape'][1]:,}",
    "solver": lambda row: RIVALS[row["rival"]].name,
    "seconds": lambda row: report.number(row["seconds"], ".2g"),
    "excess": lambda row: report.number(row["excess"], ".1e"),
    "steps": lambda row: report.number(row["n_iter"], "d"),
    "memory MB": lambda row: report.number(row["memory"] and row["memory"] / 1e6, ",.0f"),
}


def table(rows: list[Row]) -> list[list[str]]:
    """One line per data set and solver."""
    return [list(COLUMNS), *([cell(row) for cell in COLUMNS.values()] for row in rows)]


def verdict(rows: list[Row]) -> list[str]:
    """Compare the seconds of Newton's method with those of each other solver."""
    seconds = {(row["data"], row["rival"]): row["seconds"] for row in rows}
    lines = []
    for key, entry in RIVALS.items():
        ratios = [
            seconds[data, key] / seconds[data, OURS]
            for data in dict.fromkeys(row["data"] for row in rows)
            if seconds[data, key] and seconds[data, OURS]
        ]
        if key not in (OURS, EXACT) and ratios:
            lines.append(
                f"{entry.name} takes {min(ratios):.2g} to {max(ratios):.2g} times the seconds of "
                f"{RIVALS[OURS].name} (median {np.median(ratios):.2g}, {len(ratios)} data sets)"
            )
    return lines


if __name__ == "__main__":
    main()
