"""What to take for defaults: knots, bins and losses on many data sets, out of the box.

python benchmarks/defaults.py                           everything: some minutes
python benchmarks/defaults.py --data "spambase;magic"   only these data sets
python benchmarks/defaults.py --quick                   small synthetic data
"""

from __future__ import annotations

import argparse
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import report
import sets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from splinear import AdditiveClassifier, AdditiveRegressor, datasets
from splinear._base import one_blas_thread

Array = npt.NDArray[Any]
Row = dict[str, Any]
Split: TypeAlias = tuple[Any, Array, Any, Array]  # X_train, y_train, X_test, y_test

RULES = ("uniform", "quantile", "auto")
BINS = (10, 20)
LIMIT = 60.0  # seconds that training may take

INTRODUCTION = """\
What `AdditiveClassifier` and `AdditiveRegressor` reach with every default but those named: the
evidence behind `knots="auto"`. `python benchmarks/defaults.py --output docs` writes this page. One
thread. Test rows are the official ones, or a quarter of all, drawn with seed 0. The measure is AUC
for two classes, accuracy for more, R² for regression; the best of each line's three rules is
**bold**, and so is what comes within 0.0005 of it. Seconds are of one fit; compare ratios, and not
closely."""

CHOICE = """\
- `knots="auto"` is the default: uniform knots, and quantile knots for features with long tails,
  those whose 5 % and 95 % quantiles are closer together than a fifth of the range. With 10 bins it
  is better than uniform knots by up to {gain:.4f} ({gain_set}) and worse by {loss:.4f} at most
  ({loss_set}), and stays within {behind:.4f} of the better of the two other rules ({behind_set}).
- `"quantile"` gives 0/1 columns one piece instead of `n_bins`. That makes Newton's method faster
  and dual coordinate descent slower, because features of different numbers of pieces are not alike
  to its kernels. `"auto"` leaves them uniform, and fills up the pieces of the others.
- `n_bins=10` stays: 20 bins change the measure by {bins_low:+.4f} to {bins_high:+.4f}
  (median {bins_median:+.4f}).
- The hinge loss stays the default: of the losses it is the paper's, and the fastest on wide data.
  Where AUC or probabilities matter, take `loss="logistic"`; it is better on {logistic} of {both}
  data sets here."""


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


def adult_raw() -> Split:
    """Census income as published: eight columns of text, and missing values."""
    return official(datasets.load_adult_raw())


def digit() -> Split:
    """One digit against the rest, as gradient pyramids; 6,000 rows."""
    X, y, X_test, y_test = sets.mnist(6000)
    return X, (y == 8).astype(int), X_test, (y_test == 8).astype(int)


SETS: dict[str, Callable[[], Split]] = {
    "spambase": lambda: drawn(datasets.load_spambase()),
    "adult, raw": adult_raw,
    "adult, one-hot": lambda: official(datasets.load_adult()),
    "credit_default": lambda: drawn(datasets.load_credit_default()),
    "magic": lambda: drawn(datasets.load_magic()),
    "cod_rna": lambda: drawn(datasets.load_cod_rna()),
    "skin": lambda: drawn(datasets.load_skin(), 20_000),
    "covtype, class 2": lambda: drawn(datasets.load_covtype(), 50_000, positive=2),
    "usps": lambda: official(datasets.load_usps()),
    "a9a": lambda: dense(official(datasets.load_a9a())),
    "w8a": lambda: dense(drawn(datasets.load_w8a())),
    "MNIST, digit 8": digit,
    "california_housing": lambda: drawn(datasets.load_california_housing()),
}
KNOWN = {**SETS, "synthetic": lambda: sets.synthetic(2000)}
REGRESSION = ("california_housing",)
HINGE_ONLY = ("usps", "MNIST, digit 8")  # where Newton's method takes long


# -- fits ------------------------------------------------------------------------------------------


def compare(data: str) -> Iterator[Row]:
    """Fit every candidate to one data set, and the yardsticks."""
    try:
        split = KNOWN[data]()
    except OSError as error:
        print(f"{data}: left out. {error}")
        return
    missing = "level" if hasattr(split[0], "columns") else "error"
    for name, models in candidates(data, missing).items():
        for rule, model in models.items():
            print(f"{data}: {name}, {rule}", flush=True)
            yield {"data": data, "name": name, "rule": rule} | measured(model, split)


def candidates(data: str, missing: str) -> dict[str, dict[str, Any]]:
    """Name the lines of the table, and the models in each."""

    def by_rule(**options: Any) -> dict[str, Any]:
        kind = AdditiveRegressor if data in REGRESSION else AdditiveClassifier
        options |= {"missing": missing, "time_limit": LIMIT, "random_state": 0}
        return {rule: kind(knots=rule, **options) for rule in RULES}

    if data in REGRESSION:
        lines = {f"{n_bins} bins": by_rule(n_bins=n_bins) for n_bins in BINS}
        lines["reml, 64 bins"] = by_rule(smoothness="reml", n_bins=64)
        linear, trees = make_pipeline(MinMaxScaler(), Ridge()), HistGradientBoostingRegressor
    else:
        losses = ("hinge",) if data in HINGE_ONLY else ("hinge", "logistic")
        lines = {
            f"{loss}, {n_bins} bins": by_rule(loss=loss, n_bins=n_bins)
            for loss in losses
            for n_bins in BINS
        }
        if "logistic" in losses:
            lines["reml, 64 bins"] = by_rule(loss="logistic", smoothness="reml", n_bins=64)
        linear, trees = (
            make_pipeline(MinMaxScaler(), LinearSVC(random_state=0)),
            HistGradientBoostingClassifier,
        )
    if missing == "error":
        lines["linear model"] = {"": linear}
        if data not in HINGE_ONLY:
            lines["HistGradientBoosting"] = {"": trees(random_state=0)}
    return lines


def measured(model: Any, split: Split) -> Row:
    """Fit a model; give its measure on the test rows and the seconds of the fit."""
    X, y, X_test, y_test = split
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of LinearSVC, that it has not converged
        model.fit(X, y)
    seconds = time.perf_counter() - start
    if not hasattr(model, "classes_") or len(model.classes_) != 2:
        return {"measure": float(model.score(X_test, y_test)), "seconds": seconds}
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X_test)
    else:
        scores = model.predict_proba(X_test)[:, 1]
    return {"measure": float(roc_auc_score(y_test, scores)), "seconds": seconds}


# -- page ------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> list[list[str]]:
    """One line per data set and candidate: a cell a rule, and their seconds."""
    lines = [["data", "what", *RULES, "seconds of each"]]
    for data, name in dict.fromkeys((row["data"], row["name"]) for row in rows):
        found = {row["rule"]: row for row in rows if (row["data"], row["name"]) == (data, name)}
        best = max(row["measure"] for row in found.values())
        seconds = ", ".join(f"{row['seconds']:.2g}" for row in found.values())
        if "" in found:
            lines.append([data, name, f"{best:.4f}", "", "", seconds])
            continue
        cells = [f"{found[rule]['measure']:.4f}" for rule in RULES]
        near = [found[rule]["measure"] >= best - 0.0005 for rule in RULES]
        cells = [f"**{cell}**" if bold else cell for cell, bold in zip(cells, near, strict=True)]
        lines.append([data, name, *cells, seconds])
    return lines


def choice(rows: list[Row]) -> str:
    """Say what follows, with the numbers of the default settings."""
    found = {(row["data"], row["name"], row["rule"]): row["measure"] for row in rows}
    tens = [(data, name) for data, name, rule in found if rule == "auto" and "10 bins" in name]
    gains = {key: found[(*key, "auto")] - found[(*key, "uniform")] for key in tens}
    behind = {
        key: max(found[(*key, rule)] for rule in RULES) - found[(*key, "auto")] for key in tens
    }
    twenty = [
        found[data, name.replace("10", "20"), "auto"] - found[data, name, "auto"]
        for data, name in tens
    ]
    sets_with_both = {data for data, name in tens if name.startswith("logistic")}
    better = [
        data
        for data in sets_with_both
        if found[data, "logistic, 10 bins", "auto"] > found[data, "hinge, 10 bins", "auto"]
    ]
    most, least, worst = (
        max(gains, key=gains.get),
        min(gains, key=gains.get),
        max(behind, key=behind.get),
    )
    text = CHOICE.format(
        gain=gains[most],
        gain_set=", ".join(most),
        loss=max(0.0, -gains[least]),
        loss_set=", ".join(least),
        behind=behind[worst],
        behind_set=", ".join(worst),
        bins_low=min(twenty),
        bins_high=max(twenty),
        bins_median=float(np.median(twenty)),
        logistic=len(better),
        both=len(sets_with_both),
    )
    items = text.replace("\n  ", " ").splitlines()
    return "\n".join(textwrap.fill(item, 100, subsequent_indent="  ") for item in items)


def page(results: dict[str, Any]) -> str:
    """Everything, as a page for the documentation."""
    sections = [
        "# The defaults",
        report.caution(results) + INTRODUCTION,
        f"```text\n{report.machine_lines(results['machine'])}\n```",
        report.markdown(table(results["rows"])),
        "## What follows",
        choice(results["rows"]),
    ]
    return "\n\n".join(sections) + "\n"


def parse() -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="data sets, by semicolons, of " + "; ".join(KNOWN))
    parser.add_argument("--quick", action="store_true", help="2,000 synthetic rows")
    parser.add_argument("--output", type=Path, help="folder for defaults.md")
    given = parser.parse_args()
    default = ("synthetic",) if given.quick else tuple(SETS)
    data = tuple(given.data.split(";")) if given.data else default
    unknown = sorted(set(data) - set(KNOWN))
    if unknown:
        parser.error(f"--data: no such one: {', '.join(unknown)}")
    return Settings(data, given.quick, given.output)


def main() -> None:
    """Run what was asked for and print it."""
    settings = parse()
    machine = report.describe_machine()
    print(report.machine_lines(machine), flush=True)
    with one_blas_thread():
        rows = [row for name in settings.data for row in compare(name)]
    if not rows:
        return
    print("\n" + report.aligned(table(rows)) + "\n\n" + choice(rows))
    if settings.output is not None:
        settings.output.mkdir(parents=True, exist_ok=True)
        results = {"quick": settings.quick, "machine": machine, "rows": rows}
        (settings.output / "defaults.md").write_text(page(results))


if __name__ == "__main__":
    main()
