"""How long one row takes: a model behind a web service, or a person who asks for one case.

python benchmarks/one_row.py --quick             tables of noise: some seconds
python benchmarks/one_row.py                     30 numbers, and the census table with its texts
python benchmarks/one_row.py --output docs       writes docs/one_row.md, too

The machine should do nothing else meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import command
import numpy as np
import pandas as pd
import report
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from splinear import AdditiveClassifier
from splinear.datasets import load_adult_raw

N_ROWS = 5_000  # to learn from: the time of one row does not depend on it
N_TIMES, N_QUICK = 2_000, 50
N_FIRST, MOST_NANOSECONDS = 10, 2 * 10**9
MOST_ARRAY, MOST_FRAME = 60.0, 500.0  # microseconds
METHODS = ("predict_proba", "predict", "decision_function")

INTRODUCTION = """\
Microseconds for the prediction of one row, the median of {n_times:,} calls (or of as many as fit
into two seconds). *Array* is a NumPy array with one row, *frame* a pandas data frame with one row,
as returned by `frame.iloc[:1]`. All models have their defaults (EBM without interactions) and one
thread. LogisticRegression is preceded by a StandardScaler and, for the census table, by imputation
and a OneHotEncoder; LightGBM reads the categories of pandas.
`python benchmarks/one_row.py --output docs` writes this page."""


@dataclass(frozen=True)
class Case:
    """Rows, their classes, and what the page calls them."""

    name: str
    X: pd.DataFrame
    y: np.ndarray

    @property
    def texts(self) -> list[str]:
        """Columns that hold no numbers."""
        return [name for name in self.X if not pd.api.types.is_numeric_dtype(self.X[name])]


def cases(quick: bool) -> list[Case]:
    """Return the tables; a quick run needs no files."""
    cancer = load_breast_cancer(as_frame=True)
    out = [Case("30 numbers", cancer.data, cancer.target.to_numpy())]
    if quick:
        return out
    adult = load_adult_raw()
    X = pd.DataFrame(adult.data[:N_ROWS])
    return [*out, Case("census, 6 numbers and 8 texts", X, np.asarray(adult.target)[:N_ROWS])]


def ours(case: Case) -> Any:
    """Return our model, unfitted."""
    return AdditiveClassifier(random_state=0)


def linear(case: Case) -> Any:
    """Return LogisticRegression with what it needs before it."""
    if not case.texts:
        return make_pipeline(StandardScaler(), LogisticRegression())
    numbers = [name for name in case.X if name not in case.texts]
    of_numbers = make_pipeline(SimpleImputer(), StandardScaler())
    of_texts = OneHotEncoder(handle_unknown="ignore")
    before = make_column_transformer((of_numbers, numbers), (of_texts, case.texts))
    return make_pipeline(before, LogisticRegression(max_iter=1000))


def boosted_curves(case: Case) -> Any:
    """Return EBM; an ImportError where it is not installed."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(interactions=0, n_jobs=1, outer_bags=2, random_state=0)


def boosted_trees(case: Case) -> Any:
    """Return LightGBM; an ImportError where it is not installed."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)


RIVALS: dict[str, Callable[[Case], Any]] = {
    "AdditiveClassifier": ours,
    "EBM": boosted_curves,
    "LightGBM": boosted_trees,
    "LogisticRegression": linear,
}


def microseconds(call: Callable[[], object], n_times: int) -> float:
    """Return the median of this many calls, or of those of two seconds; the first do not count."""
    times: list[int] = []
    while len(times) < n_times + N_FIRST and sum(times) < MOST_NANOSECONDS:
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    return float(np.median(times[min(N_FIRST, len(times) // 2) :])) / 1e3


def measure(name: str, case: Case, n_times: int) -> dict[str, float]:
    """Return the microseconds of a model, by method and form of the row; {}: it is not there."""
    try:
        model, other = RIVALS[name](case), RIVALS[name](case)
    except ImportError:
        return {}
    X = case.X.astype(dict.fromkeys(case.texts, "category")) if name == "LightGBM" else case.X
    model.fit(X, case.y)
    row, out = X.iloc[:1], {}
    if not case.texts:
        other.fit(X.to_numpy(), case.y)
    for method in METHODS:
        if not hasattr(model, method):
            continue
        if not case.texts:
            array = row.to_numpy().copy()
            out[f"{method}, array"] = microseconds(partial(getattr(other, method), array), n_times)
        out[f"{method}, frame"] = microseconds(partial(getattr(model, method), row), n_times)
    return out


def lines(case: Case, found: dict[str, dict[str, float]]) -> list[list[str]]:
    """Return the table of a case."""
    forms = ("frame",) if case.texts else ("array", "frame")
    columns = [f"{method}, {form}" for form in forms for method in METHODS]
    out = [["model", *columns]]
    for name, times in found.items():
        out.append([name, *(report.number(times.get(column), ".0f") for column in columns)])
    return out


def bars(case: Case, times: dict[str, float]) -> list[report.Bar]:
    """Say what must hold for our model."""
    limits = {"array": MOST_ARRAY, "frame": MOST_FRAME}
    return [
        report.Bar(f"{case.name}: {what}, microseconds", value, most=limits[what.split(", ")[1]])
        for what, value in times.items()
    ]


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="fewer calls, and no files", output="folder for one_row.md"
    )
    given = parser.parse_args()
    n_times = N_QUICK if given.quick else N_TIMES
    parts = ["# One row", INTRODUCTION.format(n_times=n_times), report.machine_block()]
    checks: list[report.Bar] = []
    for case in cases(given.quick):
        found = {name: measure(name, case, n_times) for name in RIVALS}
        parts += [f"## {case.name}", report.markdown(lines(case, found))]
        checks += bars(case, found["AdditiveClassifier"])
    report.publish([*parts, "## Bars", report.items(checks)], given.output, "one_row.md")


if __name__ == "__main__":
    main()
