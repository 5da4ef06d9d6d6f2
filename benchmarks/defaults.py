"""What the estimators reach with no arguments, beside other settings and other models.

python benchmarks/defaults.py                           tables: some ten minutes
python benchmarks/defaults.py --classes                 several classes, too: as long again
python benchmarks/defaults.py --data "spambase;magic"   only these data sets
python benchmarks/defaults.py --quick                   small synthetic data
"""

from __future__ import annotations

import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import command
import numpy as np
import numpy.typing as npt
import pandas as pd
import report
import sets
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tabular_rivals import spline_features, splines
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR, datasets
from splinear.terms import Spline

Array = npt.NDArray[Any]
Row = dict[str, Any]
Split: TypeAlias = tuple[Any, Array, Any, Array]  # X_train, y_train, X_test, y_test

TWO, SEVERAL, REGRESSION = "two classes", "several classes", "regression"
DEFAULT, MARGIN, LINEAR = "default", "margin", "linear model"
SPLINES, TREES = "SplineTransformer", "HistGradientBoosting"
REPEATS, WITHIN = 3, 10.0  # a fit is repeated while all of them took less than this many seconds
LEAST_SEEN = 0.01  # share of the test rows that equal a training row; fewer are not named
NEAR = 0.0005  # what is as good as the best

# Other settings of AdditiveClassifier and AdditiveRegressor.
SETTINGS: dict[str, dict[str, Any]] = {
    "n_bins=64": {"curve": Spline(n_bins=64)},
    "n_bins=32": {"curve": Spline(n_bins=32)},
    'knots="uniform"': {"curve": Spline(knots="uniform")},
    "penalty_order=2": {"curve": Spline(penalty_order=2)},
    "C=1.0": {"C": 1.0},
}

INTRODUCTION = f"""\
Accuracy and time of `AdditiveClassifier()`, `AdditiveSVC()` and `AdditiveRegressor()` with no
arguments, and how they change with one: the evidence behind the defaults. *n_bins=64*, *n_bins=32*,
*knots="uniform"* and *penalty_order=2* are `AdditiveClassifier` (or `AdditiveRegressor`) with
`curve=Spline(...)` and that argument; *C=1.0* is an argument of the estimator itself.
*SplineTransformer* is cubic splines with 10 knots at quantiles, then LogisticRegression (or Ridge).
The *linear model* is one of these two on standardized columns; *HistGradientBoosting* has its
defaults. `python benchmarks/defaults.py --classes --output docs` writes this page.

Test rows are the official ones, or a quarter of all rows, drawn with seed 0. Seconds are the time
of a fit, the best of up to three, on one thread (several classes: two). The best of our own columns
is **bold**, and so is every value within {NEAR} of it. A dash: the model does not take such a
table, has no probabilities, or would take very long. A star: stopped by the time limit."""


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    data: tuple[str, ...]
    quick: bool
    output: Path | None


# -- data ------------------------------------------------------------------------------------------


def drawn(bunch: Any, n_rows: int | None = None, *, positive: Any = None) -> Split:
    """Split 75 to 25 at random; of the first at most n_rows; one class against the rest."""
    y = bunch.target if positive is None else (bunch.target == positive).astype(int)
    stratify = y if len(np.unique(y)) < 100 else None
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.25, stratify=stratify, random_state=0
    )
    train = train[:n_rows]
    return bunch.data[train], y[train], bunch.data[test], y[test]


def official(bunch: Any) -> Split:
    """Split as the data set says."""
    test = np.asarray(bunch.is_test, dtype=bool)
    return bunch.data[~test], bunch.target[~test], bunch.data[test], bunch.target[test]


def dense(split: Split) -> Split:
    """Write out the zeros."""
    X, y, X_test, y_test = split
    return X.toarray(), y, X_test.toarray(), y_test


def digit() -> Split:
    """One digit against the rest, as gradient pyramids; 6,000 rows."""
    X, y, X_test, y_test = sets.mnist(6000)
    return X, (y == 8).astype(int), X_test, (y_test == 8).astype(int)


@dataclass(frozen=True)
class Set:
    """A data set: what is to be learned, how to load it, and which of the models it is for."""

    kind: str
    load: Callable[[], Split]
    wide: bool = False  # so many columns that other models take very long
    raw: bool = False  # text and gaps, which other models do not take


SETS = {
    "spambase": Set(TWO, lambda: drawn(datasets.load_spambase())),
    "adult, raw": Set(TWO, lambda: official(datasets.load_adult_raw()), raw=True),
    "adult, one-hot": Set(TWO, lambda: official(datasets.load_adult())),
    "credit_default": Set(TWO, lambda: drawn(datasets.load_credit_default())),
    "magic": Set(TWO, lambda: drawn(datasets.load_magic())),
    "cod_rna": Set(TWO, lambda: drawn(datasets.load_cod_rna())),
    "skin": Set(TWO, lambda: drawn(datasets.load_skin(), 20_000)),
    "covtype, class 2": Set(TWO, lambda: drawn(datasets.load_covtype(), 50_000, positive=2)),
    "a9a": Set(TWO, lambda: dense(official(datasets.load_a9a()))),
    "w8a": Set(TWO, lambda: dense(drawn(datasets.load_w8a()))),
    "MNIST, digit 8": Set(TWO, digit, wide=True),
    "california_housing": Set(REGRESSION, lambda: drawn(datasets.load_california_housing())),
}
CLASSES = {
    "usps": Set(SEVERAL, lambda: official(datasets.load_usps()), wide=True),
    "covtype": Set(SEVERAL, lambda: drawn(datasets.load_covtype())),
    "MNIST": Set(SEVERAL, lambda: sets.mnist(None), wide=True),
}
QUICK = {
    "synthetic": Set(TWO, lambda: sets.synthetic(2000)),
    "diabetes": Set(REGRESSION, lambda: drawn(load_diabetes())),
    "digits": Set(SEVERAL, lambda: drawn(load_digits(), 600), wide=True),
}
KNOWN = {**SETS, **CLASSES, **QUICK}

THREADS = {TWO: 1, REGRESSION: 1, SEVERAL: 2}
LIMITS = {TWO: 60.0, REGRESSION: 60.0, SEVERAL: 600.0}  # seconds that training may take


# -- models ----------------------------------------------------------------------------------------


def candidates(data: str) -> dict[str, Any]:
    """Make the models of a data set; the keys are those of NAMES."""
    of = KNOWN[data]
    ours = AdditiveRegressor if of.kind == REGRESSION else AdditiveClassifier
    margin = AdditiveSVR if of.kind == REGRESSION else AdditiveSVC
    options = {"time_limit": LIMITS[of.kind], "n_jobs": THREADS[of.kind], "random_state": 0}
    few = of.wide or of.kind == SEVERAL
    models: dict[str, Any] = {DEFAULT: ours(**options)}
    models |= {
        name: ours(**options, **given)
        for name, given in SETTINGS.items()
        if name == "C=1.0" or not few
    }
    models[MARGIN] = margin(**options)
    if of.raw:
        return models
    models[LINEAR] = make_pipeline(StandardScaler(), linear(of.kind))
    if not few:
        models[SPLINES] = (
            make_pipeline(spline_features(), Ridge()) if of.kind == REGRESSION else splines()
        )
    if not of.wide:
        trees = (
            HistGradientBoostingRegressor
            if of.kind == REGRESSION
            else HistGradientBoostingClassifier
        )
        models[TREES] = trees(random_state=0)
    return models


def linear(kind: str) -> Any:
    """Make the linear model."""
    return Ridge() if kind == REGRESSION else LogisticRegression(max_iter=1000)


NAMES = {
    TWO: {DEFAULT: "AdditiveClassifier()", MARGIN: "AdditiveSVC()"},
    SEVERAL: {DEFAULT: "AdditiveClassifier()", MARGIN: "AdditiveSVC()"},
    REGRESSION: {DEFAULT: "AdditiveRegressor()", MARGIN: "AdditiveSVR()"},
}
ORDER = (DEFAULT, *SETTINGS, MARGIN, LINEAR, SPLINES, TREES)
OURS = (DEFAULT, *SETTINGS, MARGIN)


def compare(data: str, repeats: int) -> Iterator[Row]:
    """Fit every candidate to one data set."""
    of = KNOWN[data]
    try:
        split = of.load()
    except OSError as error:
        print(f"{data}: left out. {error}")
        return
    seen = share_seen(split)
    for name, model in candidates(data).items():
        with threadpool_limits(limits=THREADS[of.kind]):
            found = measured(model, split, repeats)
        print(f"{data}: {NAMES[of.kind].get(name, name)}: {found}", flush=True)
        yield {"data": data, "kind": of.kind, "model": name, "seen": seen} | found


def share_seen(split: Split) -> float:
    """Return the share of the test rows that equal a training row, in the target as well."""
    X, y, X_test, y_test = split
    train, test = (
        pd.util.hash_pandas_object(pd.DataFrame(X).assign(**{"the target": y}), index=False)
        for X, y in ((X, y), (X_test, y_test))
    )
    return float(np.isin(test, train).mean())


def measured(model: Any, split: Split, repeats: int) -> Row:
    """Fit a model; return its measures on the test rows and the seconds of the fit."""
    X, y, X_test, y_test = split
    seconds: list[float] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while len(seconds) < repeats and sum(seconds) < WITHIN:
            start = time.perf_counter()
            model.fit(X, y)
            seconds.append(time.perf_counter() - start)
    stopped = any("by time_limit" in str(warning.message) for warning in caught)
    found: Row = {"seconds": min(seconds), "stopped": stopped, "n_rows": len(y)}
    found["n_columns"] = X.shape[1]
    if not hasattr(model, "classes_"):
        return found | {"R²": float(model.score(X_test, y_test))}
    if len(model.classes_) > 2:
        return found | {"accuracy": float(model.score(X_test, y_test))}
    if not hasattr(model, "predict_proba"):
        return found | {"AUC": float(roc_auc_score(y_test, model.decision_function(X_test)))}
    p = model.predict_proba(X_test)[:, 1]
    return found | {"AUC": float(roc_auc_score(y_test, p)), "log-loss": float(log_loss(y_test, p))}


# -- tables ----------------------------------------------------------------------------------------

MEASURES = {TWO: ("AUC", "log-loss"), SEVERAL: ("accuracy",), REGRESSION: ("R²",)}
TITLES = {TWO: "Two classes", SEVERAL: "Several classes", REGRESSION: "Regression"}


def table(rows: list[Row], kind: str, measure: str) -> list[list[str]]:
    """One line per data set, one column per model."""
    here = [row for row in rows if row["kind"] == kind]
    names = [name for name in ORDER if any(row["model"] == name for row in here)]
    lines = [[measure, "rows x columns", *(NAMES[kind].get(name, name) for name in names)]]
    for data in dict.fromkeys(row["data"] for row in here):
        found = {row["model"]: row for row in here if row["data"] == data}
        one = next(iter(found.values()))
        cells = [cell(found, name, measure) for name in names]
        lines.append([data, f"{one['n_rows']:,} x {one['n_columns']:,}", *cells])
    return lines


def cell(found: dict[str, Row], name: str, measure: str) -> str:
    """Write one number; bold if it is as good as the best of ours."""
    value = found.get(name, {}).get(measure)
    if value is None:
        return "-"
    if measure == "seconds":
        return f"{value:.2g}" + ("*" if found[name]["stopped"] else "")
    ours = [found[key].get(measure) for key in OURS if key in found]
    is_near = better(value, max_or_min(measure, [v for v in ours if v is not None]), measure)
    return f"**{value:.4f}**" if name in OURS and is_near > -NEAR else f"{value:.4f}"


def better(a: float, b: float, measure: str) -> float:
    """Return by how much a is better than b; negative if it is worse."""
    return b - a if measure == "log-loss" else a - b


def max_or_min(measure: str, values: list[float]) -> float:
    """Return the best of some values."""
    return min(values) if measure == "log-loss" else max(values)


# -- what follows ----------------------------------------------------------------------------------

CHANGES = """\
By how much each column is better (+) or worse (-) than the default, on the data sets that both were
measured on; "better" and "worse" count differences of more than {near}, and seconds are those of
the default times the number, in the median."""


def conclusions(rows: list[Row], kind: str) -> Iterator[str]:
    """Say what follows for one kind of data: how near the default is to the best, and the rest."""
    here = [row for row in rows if row["kind"] == kind]
    measure = MEASURES[kind][-1]
    yield textwrap.fill(best_of_ours(here, kind, measure), 100, break_on_hyphens=False)
    lines = [["", "by", "better", "worse", "of", "least", "median", "most", "seconds"]]
    for name in ORDER[1:]:
        has_it = any(measure in row for row in here if row["model"] == name)
        lines += against(here, kind, name, measure if has_it else MEASURES[kind][0])
    yield report.markdown(lines)


def best_of_ours(rows: list[Row], kind: str, measure: str) -> str:
    """Say how far the default stays from the best of our columns, and which column is nearest."""
    behind: dict[str, dict[str, float]] = {}  # by data set and column
    for data in dict.fromkeys(row["data"] for row in rows):
        ours = [row for row in rows if row["data"] == data and row["model"] in OURS]
        found = {row["model"]: row[measure] for row in ours if measure in row}
        best = max_or_min(measure, list(found.values()))
        behind[data] = {name: better(best, value, measure) for name, value in found.items()}
    most = max(map(len, behind.values()))
    complete = [of for of in behind.values() if len(of) == most]  # wide tables have fewer columns
    means = {name: float(np.mean([of[name] for of in complete])) for name in complete[0]}
    nearest = min(means, key=means.__getitem__)
    worst = max(behind, key=lambda data: behind[data][DEFAULT])
    return (
        f"By {measure}, `{NAMES[kind][DEFAULT]}` is {means[DEFAULT]:.4f} behind the best of our "
        f"columns, on average over the data sets that have all of them ({len(complete)} of "
        f"{len(behind)}); the column nearest to the best is "
        f"`{NAMES[kind].get(nearest, nearest)}`, {means[nearest]:.4f} behind. On no data set is "
        f"the default more than {behind[worst][DEFAULT]:.4f} behind ({worst})."
    )


def against(rows: list[Row], kind: str, name: str, measure: str) -> list[list[str]]:
    """Compare one column with the default: a line, or none where it was not measured."""
    found = {(row["data"], row["model"]): row for row in rows if measure in row}
    both = [data for data, model in found if model == name and (data, DEFAULT) in found]
    if not both:
        return []
    change = {
        data: better(found[data, name][measure], found[data, DEFAULT][measure], measure)
        for data in both
    }
    ratios = [found[data, name]["seconds"] / found[data, DEFAULT]["seconds"] for data in both]
    least, most = min(change, key=change.__getitem__), max(change, key=change.__getitem__)
    return [
        [
            NAMES[kind].get(name, name),
            measure,
            str(sum(value > NEAR for value in change.values())),
            str(sum(value < -NEAR for value in change.values())),
            str(len(both)),
            f"{change[least]:+.4f} ({least})",
            f"{np.median(list(change.values())):+.4f}",
            f"{change[most]:+.4f} ({most})",
            f"{np.median(ratios):.2g}",
        ]
    ]


def copies(rows: list[Row]) -> str:
    """Say which test rows a model has seen."""
    seen = {row["data"]: row["seen"] for row in rows if row["seen"] >= LEAST_SEEN}
    if not seen:
        return ""
    named = ", ".join(f"{share:.0%} of {name}" for name, share in seen.items())
    return (
        f"Of the test rows, some equal a training row, in the target as well: {named}. Models that "
        "follow copies are rewarded there; the default takes copies of continuous rows for one "
        "observation where it chooses smoothness, and warns."
    )


def page(results: dict[str, Any]) -> Iterator[str]:
    """Everything, as sections of a page for the documentation."""
    rows = results["rows"]
    yield "# The defaults"
    yield report.caution(results) + INTRODUCTION
    yield report.machine_block(results["machine"])
    yield from filter(None, [copies(rows)])
    for kind, measures in MEASURES.items():
        if any(row["kind"] == kind for row in rows):
            yield f"## {TITLES[kind]}"
            for measure in (*measures, "seconds"):
                yield report.markdown(table(rows, kind, measure))
    yield "## What follows"
    yield CHANGES.format(near=NEAR)
    for kind in MEASURES:
        if any(row["kind"] == kind for row in rows):
            yield f"### {TITLES[kind]}"
            yield from conclusions(rows, kind)


# -- command line ----------------------------------------------------------------------------------


def parse() -> Settings:
    """Read the command line."""
    parser = command.make_parser(
        __doc__, quick="small data, no files needed", output="folder for defaults.md"
    )
    parser.add_argument("--data", help="data sets, by semicolons, of " + "; ".join(KNOWN))
    parser.add_argument("--classes", action="store_true", help="several classes, too")
    given = parser.parse_args()
    default = QUICK if given.quick else SETS
    data = command.chosen(parser, given.data, KNOWN, default, separator=";")
    if given.classes:
        data = tuple(dict.fromkeys((*data, *CLASSES)))
    return Settings(data, given.quick, given.output)


def main() -> None:
    """Run what was asked for and print it."""
    settings = parse()
    machine = report.describe_machine()
    repeats = 1 if settings.quick else REPEATS
    rows = [row for name in settings.data for row in compare(name, repeats)]
    if rows:
        results = {"quick": settings.quick, "machine": machine, "rows": rows}
        report.publish(page(results), settings.output, "defaults.md")


if __name__ == "__main__":
    main()
