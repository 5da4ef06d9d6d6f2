"""Smooth additive truths beside mgcv's bam: gamSim's examples, and 100,000 rows.

python benchmarks/smooth_truths.py                  ours, beside recorded numbers of mgcv: a minute
python benchmarks/smooth_truths.py --mgcv           run mgcv, too: some minutes
python benchmarks/smooth_truths.py --output docs    and write smooth_truths.md there
python benchmarks/smooth_truths.py --quick          few rows, without mgcv

apt-get install r-base-core r-cran-mgcv
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import command
import gams
import numpy as np
import pandas as pd
import report
from threadpoolctl import threadpool_limits

from splinear import AdditiveRegressor

N_TEST = 50_000
RANKS = (10, 40)  # of mgcv's splines
MOST = 0.1  # % above the better of both
MEASURES = {"test RMSE": ".4f", "error": ".4f", "seconds": ".2g"}

INTRODUCTION = """\
Truths that are sums of smooth curves, where penalized cubic splines are at their best:
`AdditiveRegressor()` beside mgcv's `bam(y ~ s(x0, bs = "cr", k = k) + ...)` with its defaults
(fREML), k = 10 and k = 40, on the same rows. *Test RMSE* is that of 50,000 further rows with their
noise, *error* the same against the true means. The examples are those of mgcv's `gamSim` whose
truth is additive: four curves of Gu and Wahba, one of which is 0, noise of standard deviation 2
(1); a factor and three curves, one of which is 0 (5); the four curves and a factor (6); the four
curves of correlated columns (7). *waves* are 10 or 20 normal columns with curves of decreasing
size: waves, bells and ramps of random width; noise of standard deviation 1. Seconds are processor
time on one thread, for mgcv as R tells it; those of mgcv were measured in another run.
`python benchmarks/smooth_truths.py --output docs` writes this page."""

R_CODE = """
library(mgcv)
given <- commandArgs(TRUE)
rows <- read.csv(file.path(given[1], "rows.csv"))
test <- read.csv(file.path(given[1], "test.csv"))
names <- setdiff(names(rows), c("y", "f"))
if ("fac" %in% names) {
  rows$fac <- factor(rows$fac)
  test$fac <- factor(test$fac)
}
for (k in given[-1]) {
  numbers <- setdiff(names, "fac")
  terms <- c(paste0("s(", numbers, ', bs = "cr", k = ', k, ")"), setdiff(names, numbers))
  began <- proc.time()
  model <- bam(as.formula(paste("y ~", paste(terms, collapse = " + "))), data = rows)
  seconds <- sum((proc.time() - began)[1:2])
  means <- predict(model, test)
  rmse <- function(truth) sqrt(mean((means - truth)^2))
  cat(rmse(test$y), rmse(test$f), seconds, "\\n")
}
"""

# What it printed for RANKS, by name of the table: mgcv 1.8-41, R 4.2.2, reference BLAS.
RECORDED: dict[str, list[tuple[float, float, float]]] = {
    "gamSim(1)": [(2.00722, 0.156481, 0.22), (2.0029, 0.0775279, 1.185)],
    "gamSim(5)": [(1.99907, 0.155785, 0.156), (1.99464, 0.0747419, 0.828)],
    "gamSim(6)": [(1.99954, 0.161249, 0.239), (1.9951, 0.0853236, 1.033)],
    "gamSim(7)": [(2.00748, 0.156637, 0.22), (2.00312, 0.0761929, 1.155)],
    "waves, 10 columns": [(1.00346, 0.0645088, 2.555), (1.00226, 0.0396682, 12.306)],
    "waves, 20 columns": [(1.00554, 0.111788, 5.589), (1.00129, 0.0522473, 47.349)],
}


def example(number: int, n: int, seed: int) -> pd.DataFrame:
    """Draw rows of an example of gamSim, with the true means f."""
    random = np.random.default_rng(seed)
    X = random.random((n, 4))
    if number == 7:
        X[:, 1] = 0.7 * X[:, 0] + 0.3 * X[:, 1]
        X[:, 3] = 0.9 * X[:, 2] + 0.1 * X[:, 3]
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])
    curves = gams.curves(X)
    if number == 5:
        rows, curves = rows.drop(columns="x0"), curves[1:]
    f = sum(curves)
    if number in (5, 6):
        level = random.integers(1, 5, n)
        rows["fac"], f = level, f + (2 if number == 5 else 3) * level
    return rows.assign(y=f + gams.NOISE * random.normal(size=n), f=f)


def waves(n_columns: int, n: int, seed: int) -> pd.DataFrame:
    """Draw normal columns; their curves are waves, bells and ramps in turn, and become smaller."""
    shapes = np.random.default_rng(n_columns)  # the same for training and test rows
    random = np.random.default_rng(seed)
    X, f = random.normal(size=(n, n_columns)), np.zeros(n)
    for j, x in enumerate(X.T):
        at, width, size = shapes.normal(), shapes.uniform(0.4, 1.2), 0.9**j
        u = (x - at) / width
        f += size * (np.sin(u), np.exp(-0.5 * u**2), np.logaddexp(0.0, 3.0 * u) / 3.0)[j % 3]
    columns = [f"x{j}" for j in range(n_columns)]
    return pd.DataFrame(X, columns=columns).assign(y=f + random.normal(size=n), f=f)


Draw = Callable[[int, int], pd.DataFrame]
TABLES: dict[str, tuple[int, Draw]] = {
    **{
        f"gamSim({number})": (20_000, lambda n, seed, number=number: example(number, n, seed))
        for number in (1, 5, 6, 7)
    },
    "waves, 10 columns": (100_000, lambda n, seed: waves(10, n, seed)),
    "waves, 20 columns": (100_000, lambda n, seed: waves(20, n, seed)),
}


def of_splinear(rows: pd.DataFrame, test: pd.DataFrame) -> tuple[float, float, float]:
    """Fit our model; return its test RMSE, its error and the seconds."""
    began = time.process_time()
    model = AdditiveRegressor(random_state=0, n_jobs=1).fit(columns_of(rows), rows["y"])
    seconds = time.process_time() - began
    means = model.predict(columns_of(test))
    rmse, error = (float(np.sqrt(np.mean((means - test[name]) ** 2))) for name in ("y", "f"))
    return rmse, error, seconds


def columns_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that models see, with a factor as such."""
    X = rows.drop(columns=["y", "f"])
    return X.astype({"fac": "category"}) if "fac" in X else X


def of_mgcv(rows: pd.DataFrame, test: pd.DataFrame) -> list[tuple[float, float, float]]:
    """Fit bam with every number of knots; return the same per model."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("rows.csv", rows), ("test.csv", test)):
            table.to_csv(Path(folder, name), index=False, float_format="%.17g")
        Path(folder, "fit.R").write_text(R_CODE)
        run = subprocess.run(
            ["Rscript", f"{folder}/fit.R", folder, *map(str, RANKS)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    lines = [tuple(map(float, line.split())) for line in run.stdout.splitlines()]
    return [(rmse, error, seconds) for rmse, error, seconds in lines]


def main() -> None:
    """Measure and print, and write the page if asked."""
    parser = command.make_parser(
        __doc__, quick="few rows, without mgcv", output="folder for smooth_truths.md"
    )
    parser.add_argument("--mgcv", action="store_true", help="run mgcv instead of its records")
    given = parser.parse_args()
    if given.mgcv and shutil.which("Rscript") is None:
        parser.error("--mgcv: there is no Rscript")
    head = ["table", "rows x columns", "measure", "splinear"]
    lines, bars = [[*head, *(f"bam, k = {k}" for k in RANKS)]], []
    for name, (n, draw) in TABLES.items():
        rows, test = draw(2_000 if given.quick else n, 0), draw(N_TEST, 1)
        with threadpool_limits(limits=1):
            ours = of_splinear(rows, test)
        theirs = [] if given.quick else RECORDED[name]
        if given.mgcv:
            theirs = of_mgcv(rows, test)
        print(name, ours, theirs, flush=True)
        size = f"{len(rows):,} x {columns_of(rows).shape[1]}"
        for m, (what, form) in enumerate(MEASURES.items()):
            cells = [report.number(of[m], form) for of in (ours, *theirs)]
            lines.append([name, size, what, *cells, *["-"] * (1 + len(RANKS) - len(cells))])
        best = min((rmse for rmse, *_ in theirs), default=None)
        above = None if best is None else 100.0 * (ours[0] / best - 1.0)
        bars.append(report.Bar(f"{name}: test RMSE, % above the better of bam's", above, most=MOST))
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Smooth truths", introduction, report.machine_block(), report.markdown(lines)]
    sections += ["```r" + R_CODE + "```", "## Bars", report.items(bars)]
    report.publish(sections, given.output, "smooth_truths.md")


if __name__ == "__main__":
    main()
