"""Varying coefficients beside mgcv's s(x, by = z), s(x, by = g) and s(g, z, bs = "re").

python benchmarks/varying.py                  ours, beside recorded numbers of mgcv: a minute
python benchmarks/varying.py --mgcv           run mgcv, too: some minutes
python benchmarks/varying.py --output docs    and write varying.md there
python benchmarks/varying.py --quick          two small tables of each kind, without mgcv

apt-get install r-base-core r-cran-mgcv
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
import pandas as pd
import report
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.terms import Linear, Pair, Spline, Varying

N_ROWS = (400, 1_000, 2_000)
N_SEEDS = 10
MOST = 5.0  # % above mgcv, over all sizes

INTRODUCTION = """\
Tables whose truth has a varying coefficient: `Varying()` beside a surface (`Pair()`) and mgcv's
`gam` with REML and its defaults, on the same rows. *slope*: y = sin(2 pi x) + z f(x) with a bump f,
normal z of mean 0, and noise of standard deviation 1; *logistic*: the same as log-odds. *curve per
level*: four levels with a wave, a parabola, a bump and a constant. *random slopes*: 40 levels with
normal intercepts and slopes of a normal z. The error is the root mean square error of the score
over the rows, the mean of ten tables; seconds are processor time per table. In slopes, curves are
`Spline(penalty_order=2, knots="uniform")` and z has `Linear()`, which is what mgcv fits.

mgcv's `by = z` takes z as it is, so that its curve of x is the one at z = 0. `Varying` centers z.
Where z has another mean, the two are different models, and the one whose origin suits the truth
is better.
`python benchmarks/varying.py --output docs` writes this page."""

R_CODE = """
suppressMessages(library(mgcv))
folder <- commandArgs(TRUE)[1]
formulas <- list(
  "slope" = y ~ s(x) + s(x, by = z),
  "logistic" = y ~ s(x) + s(x, by = z),
  "curve per level" = y ~ g + s(x, by = g),
  "random slopes" = y ~ z + s(g, bs = "re") + s(g, z, bs = "re")
)
for (file in sort(list.files(folder, "csv$"))) {
  kind <- sub("_.*", "", file)
  rows <- read.csv(file.path(folder, file), stringsAsFactors = TRUE)
  family <- if (kind == "logistic") binomial() else gaussian()
  began <- proc.time()
  model <- gam(formulas[[kind]], data = rows, method = "REML", family = family)
  seconds <- sum((proc.time() - began)[1:2])
  cat(file, sqrt(mean((as.numeric(predict(model)) - rows$f)^2)), seconds, "\\n")
}
"""

# The mean error and seconds of that: mgcv 1.8-41, R 4.2.2, reference BLAS.
RECORDED: dict[tuple[str, int], tuple[float, float]] = {
    ("slope", 400): (0.15611, 0.0477),
    ("slope", 1_000): (0.12388, 0.0815),
    ("slope", 2_000): (0.09056, 0.2379),
    ("logistic", 400): (0.4907, 0.0315),
    ("logistic", 1_000): (0.36621, 0.0799),
    ("logistic", 2_000): (0.22033, 0.245),
    ("curve per level", 400): (0.19609, 0.0926),
    ("curve per level", 1_000): (0.13442, 0.1835),
    ("curve per level", 2_000): (0.10325, 0.4037),
    ("random slopes", 400): (0.4112, 0.2404),
    ("random slopes", 1_000): (0.27325, 0.3984),
    ("random slopes", 2_000): (0.19042, 0.8239),
}


@dataclass(frozen=True)
class Kind:
    """What is fitted to tables of one kind: the features `of` and `by`, and the other terms."""

    of: str
    by: str
    curve: Spline | None = None
    others: tuple[str, ...] = ()  # that have a line


SMOOTH = Spline(penalty_order=2, knots="uniform")
KINDS = {
    "slope": Kind("x", "z", SMOOTH, ("z",)),
    "logistic": Kind("x", "z", SMOOTH, ("z",)),
    "curve per level": Kind("x", "g"),
    "random slopes": Kind("g", "z", None, ("z",)),
}


def draw(kind: str, n: int, seed: int) -> pd.DataFrame:
    """Draw a table with its true score f."""
    random = np.random.default_rng([seed, n])
    x, z = random.uniform(size=n), random.normal(0.0, 1.5, n)
    if kind in ("slope", "logistic"):
        rows = pd.DataFrame({"x": x, "z": z})
        f = np.sin(2 * np.pi * x) + z * (0.5 + np.exp(-20.0 * (x - 0.6) ** 2))
    elif kind == "curve per level":
        g = random.integers(0, 4, n)
        curves = [np.sin(2 * np.pi * x), 2 * x**2, 2 * np.exp(-30 * (x - 0.5) ** 2), np.ones(n)]
        rows = pd.DataFrame({"x": x, "g": np.array(list("abcd"))[g]})
        f = np.stack(curves)[g, np.arange(n)]
    else:
        g = random.integers(0, 40, n)
        intercepts, slopes = random.normal(0.0, 1.0, 40), random.normal(0.5, 0.5, 40)
        rows = pd.DataFrame({"g": [f"level {k}" for k in g], "z": z})
        f = intercepts[g] + slopes[g] * z
    if kind == "logistic":
        y = (random.uniform(size=n) < 1.0 / (1.0 + np.exp(-f))).astype(float)
    else:
        y = f + random.normal(size=n)
    return rows.assign(y=y, f=f)


def fit(kind: str, rows: pd.DataFrame, term: Varying | Pair) -> tuple[float, float]:
    """Fit our model with a varying coefficient or a surface; return its error and the seconds."""
    how, X = KINDS[kind], rows.drop(columns=["y", "f"])
    terms = {(how.of, how.by): term, **{name: Linear() for name in how.others}}
    of_kind = AdditiveClassifier if kind == "logistic" else AdditiveRegressor
    began = time.process_time()
    model = of_kind(how.curve, terms=terms, random_state=0, n_jobs=1).fit(X, rows["y"])
    seconds = time.process_time() - began
    scores = model.decision_function(X) if kind == "logistic" else model.predict(X)
    return float(np.sqrt(np.mean((scores - rows["f"]) ** 2))), seconds


def of_mgcv(seeds: int) -> dict[tuple[str, int], tuple[float, float]]:
    """Fit mgcv to all tables; return its mean error and seconds per kind and size."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for n in N_ROWS:
                for seed in range(seeds):
                    path = Path(folder, f"{kind}_{n}_{seed}.csv")
                    draw(kind, n, seed).to_csv(path, index=False, float_format="%.17g")
        Path(folder, "fit.R").write_text(R_CODE)
        run = subprocess.run(
            ["Rscript", f"{folder}/fit.R", folder], stdout=subprocess.PIPE, text=True, check=True
        )
    for line in run.stdout.splitlines():
        name, error, seconds = line.rsplit(maxsplit=2)
        kind, n, _ = name.split("_")
        found.setdefault((kind, int(n)), []).append((float(error), float(seconds)))
    return {key: tuple(np.mean(each, axis=0).round(5).tolist()) for key, each in found.items()}


def main() -> None:
    """Measure and print, and write the page if asked."""
    parser = command.make_parser(
        __doc__, quick="two small tables of each kind", output="folder for varying.md"
    )
    parser.add_argument("--mgcv", action="store_true", help="run mgcv instead of its records")
    given = parser.parse_args()
    if given.mgcv and shutil.which("Rscript") is None:
        parser.error("--mgcv: there is no Rscript")
    theirs = of_mgcv(N_SEEDS) if given.mgcv else RECORDED
    if given.mgcv:
        print(theirs)
    lines = [["table", "rows", "measure", "Varying", "Pair", "mgcv"]]
    bars, n_seeds = [], 2 if given.quick else N_SEEDS
    for kind in KINDS:
        ratios = []
        for n in N_ROWS[:1] if given.quick else N_ROWS:
            tables = [draw(kind, n, seed) for seed in range(n_seeds)]
            with threadpool_limits(limits=1):
                ours = np.mean([fit(kind, rows, Varying()) for rows in tables], axis=0)
                pairs = np.mean([fit(kind, rows, Pair()) for rows in tables], axis=0)
            known = (float("nan"),) * 2 if given.quick else theirs[kind, n]
            print(kind, n, ours, pairs, known, flush=True)
            ratios.append(ours[0] / known[0])
            for m, (what, form) in enumerate({"error": ".4f", "seconds": ".2g"}.items()):
                cells = [report.number(float(of[m]), form) for of in (ours, pairs, known)]
                lines.append([kind, f"{n:,}", what, *cells])
        above = None if given.quick else 100.0 * (float(np.mean(ratios)) - 1.0)
        bars.append(report.Bar(f"{kind}: error, % above mgcv's", above, most=MOST))
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Varying coefficients", introduction, report.machine_block()]
    sections += [report.markdown(lines), "```r" + R_CODE + "```", "## Bars", report.items(bars)]
    report.publish(sections, given.output, "varying.md")


if __name__ == "__main__":
    main()
