"""Ordered levels: AdditiveOrdinal beside unordered classes, and beside numbers of levels.

python benchmarks/levels.py                      prints the tables; a minute
python benchmarks/levels.py --output docs        writes docs/levels.md, too
python benchmarks/levels.py --quick              the simulated tables alone, fewer and smaller ones
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import command
import numpy as np
import pandas as pd
import report
from scipy.special import expit
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.model_selection import StratifiedKFold, train_test_split

from splinear import AdditiveClassifier, AdditiveOrdinal, AdditiveRegressor
from splinear.datasets import load_california_housing

N_LEVELS, N_FOLDS, N_TABLES = 5, 5, 10
SMALL = ("Boston", "CASchools", "HousePrices", "SLID")  # whose targets are numbers
ORDINAL, CLASSES, NUMBERS = "AdditiveOrdinal", "AdditiveClassifier", "AdditiveRegressor"
CUTS = np.array([-2.0, -1.0, 0.5, 2.0])

INTRODUCTION = f"""\
`python benchmarks/levels.py --output docs` writes this page. All models have their defaults.
`AdditiveClassifier` (softmax) knows nothing of the order of the levels; `AdditiveRegressor` is
fitted to their numbers 0, 1, ...; its predictions get a normal distribution with the variance of
the residuals, cut halfway between the numbers. All measures are of rows that the model has not
seen. *RPS* is the ranked probability score, the mean of
sum_k (P(y <= k) - [y <= k])^2; *levels off* is the mean distance of the median level from the true
one. Lower is better in all but *accuracy*. Seconds are those of one fit, on one thread.

The simulated tables have latent scores 2 sin(6 a) + 3 b of uniform columns a, b and c, logistic
noise and {N_LEVELS} levels; figures are means over {N_TABLES} of them, on 5,000 other rows. The
others are real ones whose target is a number, cut at its quantiles into {N_LEVELS} levels of about
as many rows: california_housing on a quarter of its rows that was held out, the small ones by
{N_FOLDS} folds."""


def simulated(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return a table, its levels, and the true probabilities of the levels."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    f = 2.0 * np.sin(6.0 * X[:, 0]) + 3.0 * X[:, 1] - 1.5
    ends = np.ones((n, 1))
    up_to = np.hstack([0.0 * ends, expit(CUTS - f[:, None]), ends])
    return X, np.digitize(f + rng.logistic(size=n), CUTS), np.diff(up_to, axis=1)


def probabilities(name: str, X: Any, y: Any, X_test: Any) -> tuple[Any, float]:
    """Fit a model; return its probabilities of the levels of test rows, and the seconds."""
    made = {ORDINAL: AdditiveOrdinal, CLASSES: AdditiveClassifier, NUMBERS: AdditiveRegressor}
    began = time.perf_counter()
    model = made[name](random_state=0).fit(X, y)
    seconds = time.perf_counter() - began
    if name != NUMBERS:
        return model.predict_proba(X_test), seconds
    sd = float(np.std(y - model.predict(X)))
    between = np.arange(y.max()) + 0.5
    up_to = norm.cdf((between - model.predict(X_test)[:, None]) / sd)
    ends = np.ones((len(X_test), 1))
    return np.diff(np.hstack([0.0 * ends, up_to, ends]), axis=1), seconds


def measures(P: Any, y: Any) -> list[float]:
    """Return log-loss, ranked probability score, levels off, and accuracy."""
    up_to = np.cumsum(P, axis=1)[:, :-1]
    log_loss = -np.log(np.maximum(P[np.arange(len(y)), y], 1e-15)).mean()
    ranked = ((up_to - (y[:, None] <= np.arange(P.shape[1] - 1))) ** 2).sum(axis=1).mean()
    median = (up_to < 0.5).sum(axis=1)
    return [log_loss, ranked, np.abs(median - y).mean(), (P.argmax(axis=1) == y).mean()]


def levels_of(target: Any) -> Any:
    """Cut numbers at their quantiles."""
    return np.digitize(target, np.quantile(target, np.arange(1, N_LEVELS) / N_LEVELS))


def real_tables() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, tables and levels."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    yield "diabetes", X, levels_of(y.to_numpy())
    where = Path(os.environ["SPLINEAR_DATA"]) / "small_tables"
    for name in SMALL:
        X = pd.read_csv(where / f"{name}.X.csv")
        y = pd.read_csv(where / f"{name}.y.csv").iloc[:, 0].to_numpy(dtype=float)
        yield name, X, levels_of(y)


def on_folds(X: Any, y: Any) -> dict[str, list[float]]:
    """Return the measures of every model over the folds, and the mean seconds of a fit."""
    found: dict[str, list[Any]] = {name: [] for name in (ORDINAL, CLASSES, NUMBERS)}
    for fit, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y):
        rows = [X.iloc[part].reset_index(drop=True) for part in (fit, test)]
        for name, parts in found.items():
            P, seconds = probabilities(name, rows[0], y[fit], rows[1])
            parts.append([*measures(P, y[test]), seconds])
    return {name: np.mean(parts, axis=0).tolist() for name, parts in found.items()}


def line(table: str, name: str, own: list[float]) -> list[str]:
    """Return a line of the table of real tables."""
    log_loss, ranked, off, accuracy, seconds = own
    return [
        table, name, f"{log_loss:.3f}", f"{ranked:.3f}", f"{off:.3f}", f"{accuracy:.1%}",
        f"{seconds:.2f}",
    ]  # fmt: skip


HEAD = ["table", "model", "log-loss", "RPS", "levels off", "accuracy", "seconds"]


def of_simulated(n: int, n_tables: int) -> tuple[list[list[str]], dict[str, list[float]]]:
    """Return lines of a table, and the measures of every model, excess log-loss first."""
    found: dict[str, list[Any]] = {name: [] for name in (ORDINAL, CLASSES, NUMBERS)}
    for seed in range(n_tables):
        X, y, _ = simulated(n, seed)
        X_test, y_test, true = simulated(5_000, 10_000 + seed)
        least = measures(true, y_test)[0]
        for name, parts in found.items():
            P, seconds = probabilities(name, X, y, X_test)
            own = measures(P, y_test)
            parts.append([own[0] - least, *own, seconds])
    means = {name: np.mean(parts, axis=0).tolist() for name, parts in found.items()}
    lines = []
    for name, (excess, *own) in means.items():
        table, model, log_loss, *rest = line(f"{n:,} rows", name, own)
        lines.append([table, model, f"{log_loss} (+{excess:.4f})", *rest])
    return lines, means


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="two small simulated tables alone", output="folder for levels.md"
    )
    given = parser.parse_args()
    caution = report.CAUTION if given.quick else ""
    sections = ["# Ordered levels", caution + INTRODUCTION, report.machine_block()]
    lines, bars = [], []
    for n in (300,) if given.quick else (300, 1_000, 5_000):
        more, means = of_simulated(n, 2 if given.quick else N_TABLES)
        lines += more
        ratio = means[ORDINAL][0] / means[CLASSES][0]
        title = f"{n:,} rows: log-loss above that of the truth, / {CLASSES}"
        bars.append(report.Bar(title, ratio, most=0.5))
    sections += ["## Simulated tables", "In brackets: above the log-loss of the truth.",
                 report.markdown([HEAD, *lines]), report.items(bars)]  # fmt: skip
    if not given.quick:
        lines = []
        bunch = load_california_housing()
        y = levels_of(bunch.target)
        parts = train_test_split(bunch.data, y, test_size=0.25, random_state=0)
        for name in (ORDINAL, CLASSES, NUMBERS):
            P, seconds = probabilities(name, parts[0], parts[2], parts[1])
            lines.append(line("california_housing", name, [*measures(P, parts[3]), seconds]))
        for table, X, levels in real_tables():
            own = on_folds(X, levels)
            lines += [line(table, name, found) for name, found in own.items()]
        sections += ["## Real tables", report.markdown([HEAD, *lines])]
    report.publish(sections, given.output, "levels.md")


if __name__ == "__main__":
    main()
