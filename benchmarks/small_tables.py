"""Test losses on 32 small tables, beside those of mgcv's gam(method="REML").

python benchmarks/small_tables.py                      prints the table
python benchmarks/small_tables.py --output docs        writes docs/small_tables.md, too
python benchmarks/small_tables.py rock swiss           some tables alone

The tables and their folds are in $SPLINEAR_DATA/small_tables, with the losses of mgcv.
"""

from __future__ import annotations

import csv
import os
import time
import warnings
from pathlib import Path
from typing import Any

import command
import numpy as np
import pandas as pd
import report
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import AdditiveClassifier, AdditiveRegressor

WORSE, WORST = 1.02, 1.1
MEDIAN, MOST_WORSE = 0.99, 3  # what must hold

INTRODUCTION = """\
Tables of 42 to 1,628 rows, from R's packages and mgcv's `gamSim`. Test losses (mean squared error,
log-loss, mean deviance of counts) of the estimators with their defaults, over the folds of up to
two five-fold cross-validations, as shares of those of mgcv 1.8-41, `gam(method = "REML")` with
`s(x, k = 10)` for numbers and factors for categories: below 1 is better than mgcv. *linear* is
scikit-learn's Ridge, LogisticRegression or PoissonRegressor on standardized columns, categories
one-hot. Seconds are those of our fit, on one thread.
`python benchmarks/small_tables.py --output docs` writes this page."""


def estimator(kind: str) -> Any:
    """Return our estimator for a kind of target."""
    if kind == "binomial":
        return AdditiveClassifier(random_state=0)
    return AdditiveRegressor(
        loss="poisson" if kind == "poisson" else "squared_error", random_state=0
    )


def linear(kind: str) -> Any:
    """Return scikit-learn's linear model for a kind of target."""
    models = {"binomial": LogisticRegression(), "poisson": PoissonRegressor(alpha=0.0)}
    return make_pipeline(StandardScaler(), models.get(kind, Ridge()))


def test_loss(kind: str, model: Any, X: Any, y: Any) -> float:
    """Return the mean loss of a model's predictions."""
    if kind == "binomial":
        return float(log_loss(y, model.predict_proba(X)[:, 1], labels=[0, 1]))
    measure = mean_poisson_deviance if kind == "poisson" else mean_squared_error
    return float(measure(y, model.predict(X)))


def read(folder: Path, name: str, is_category: str) -> tuple[Any, Any]:
    """Return a table, its categories as such, and its targets with the folds."""
    X = pd.read_csv(folder / f"{name}.X.csv")
    for column, is_one in zip(X.columns, is_category, strict=True):
        X[column] = X[column].astype("category" if is_one == "1" else float)
    return X, pd.read_csv(folder / f"{name}.y.csv")


def measure(folder: Path, row: dict[str, str], of_mgcv: dict[tuple[str, ...], float]) -> list[Any]:
    """Return a line of the table: the name, sizes, shares and seconds."""
    kind, name = row["kind"], row["name"]
    X, targets = read(folder, name, row["is_category"])
    plain, losses, seconds = pd.get_dummies(X, dtype=float), [], []
    for (table, repeat, fold), reference in of_mgcv.items():
        if table != name:
            continue
        is_test = (targets[f"fold_{repeat}"] == int(fold)).to_numpy()
        y = targets["y"].to_numpy(int if kind == "binomial" else float)
        begin = time.process_time()
        ours = estimator(kind).fit(X[~is_test], y[~is_test])
        seconds.append(time.process_time() - begin)
        line = linear(kind).fit(plain[~is_test], y[~is_test])
        losses.append(
            [
                test_loss(kind, ours, X[is_test], y[is_test]),
                test_loss(kind, line, plain[is_test], y[is_test]),
                reference,
            ]
        )
    mean = np.mean(losses, axis=0)
    return [name, kind, *X.shape, mean[0] / mean[2], mean[1] / mean[2], float(np.median(seconds))]


def main() -> None:
    """Measure and print, and write the page if asked."""
    parser = command.make_parser(__doc__, "some tables alone", "the folder to write the page to")
    parser.add_argument("names", nargs="*", help="tables; all by default")
    options = parser.parse_args()
    folder = Path(os.environ["SPLINEAR_DATA"]) / "small_tables"
    with (folder / "mgcv.csv").open() as file:
        of_mgcv = {
            (row["name"], row["repeat"], row["fold"]): float(row["loss"])
            for row in csv.DictReader(file)
        }
    with (folder / "index.csv").open() as file:
        tables = list(csv.DictReader(file))
    wanted = options.names or ([one["name"] for one in tables][: 3 if options.quick else None])
    warnings.simplefilter("ignore")
    lines = [measure(folder, one, of_mgcv) for one in tables if one["name"] in wanted]
    for line in lines:
        print("{:22} {:9} {:5d} x {:<3d} {:.3f}  {:.3f}  {:.3f} s".format(*line))
    ours = np.array([line[4] for line in lines])
    bars = [
        report.Bar("median share", float(np.median(ours)), most=MEDIAN),
        report.Bar(f"tables above {WORSE}", int((ours > WORSE).sum()), most=MOST_WORSE),
        report.Bar("largest share", float(ours.max()), most=WORST),
    ]
    print(*bars, sep="\n")
    if options.output is not None:
        write(options.output, lines, bars)


def write(folder: Path, lines: list[list[Any]], bars: list[report.Bar]) -> None:
    """Write the page."""
    table = [
        [name, kind, f"{n:,} x {p}", f"{ours:.3f}", f"{line:.3f}", f"{seconds:.3f}"]
        for name, kind, n, p, ours, line, seconds in lines
    ]
    head = ["table", "target", "rows x columns", "splinear", "linear", "seconds"]
    rows = [head, ["---"] * len(head), *table]
    page = "\n".join(
        [
            "# Small tables\n",
            INTRODUCTION,
            "",
            report.machine_block(),
            "",
            *("| " + " | ".join(row) + " |" for row in rows),
            "",
            *(f"- {bar}" for bar in bars),
        ]
    )
    (folder / "small_tables.md").write_text(page + "\n")


if __name__ == "__main__":
    main()
