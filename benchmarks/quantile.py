"""Quantiles beside linear quantile regression on splines and boosted trees.

python benchmarks/quantile.py                  print the table: a minute
python benchmarks/quantile.py --output docs    and write quantile.md there
python benchmarks/quantile.py --quick          few rows
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import command
import numpy as np
import numpy.typing as npt
import pandas as pd
import report
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold
from sklearn.preprocessing import SplineTransformer
from statsmodels.regression.quantile_regression import QuantReg
from threadpoolctl import threadpool_limits

from splinear import AdditiveRegressor
from splinear.losses import Quantile

Array = npt.NDArray[np.float64]

LEVELS = (0.1, 0.5, 0.9)
N_TEST = 20_000
FOLDS = 5
KNOTS = 6  # of the cubic splines of QuantReg
MOST = 2.0  # % above the better of both
SMALL = ("Boston", "CPS1985")
MEASURES = {"pinball loss": ".4f", "error": ".3f", "rows that cross, %": ".2g", "seconds": ".2g"}

INTRODUCTION = f"""\
`AdditiveRegressor(loss=Quantile([0.1, 0.5, 0.9]))` with its defaults, beside statsmodels'
`QuantReg` on cubic splines of {KNOTS} knots per feature, unpenalized, and beside
`HistGradientBoostingRegressor(loss="quantile")` of scikit-learn with its defaults, both of which
are fitted level by level. *Pinball loss* is the mean over the levels on rows that were not trained
on: {N_TEST:,} further rows of simulated tables, and all rows of the others, by {FOLDS} folds.
*Error* is the root mean square of the difference to the true quantiles, where these are known.
*Rows that cross* are those whose predicted quantiles are not in the order of their levels. The
truths are additive: *waves*, whose normal noise grows with one feature; *skewed*, with gamma noise
whose size is a curve; *heavy tails*, with Student's noise of 2 degrees of freedom. Each has some
features without effect. Seconds are processor time on one thread.
`python benchmarks/quantile.py --output docs` writes this page."""


def waves(X: Array) -> tuple[Array, Array, stats.rv_continuous]:
    """Return location and scale at rows, and the distribution of the noise."""
    return np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2, 0.5 + 0.4 * X[:, 2], stats.norm()


def skewed(X: Array) -> tuple[Array, Array, stats.rv_continuous]:
    return np.exp(X[:, 0]) + np.abs(X[:, 1]), 0.2 + X[:, 1] ** 2, stats.gamma(1.5)


def heavy(X: Array) -> tuple[Array, Array, stats.rv_continuous]:
    return np.sin(4.0 * X[:, 0]) - np.tanh(4.0 * X[:, 1]), np.full(len(X), 0.5), stats.t(2)


Truth = Callable[[Array], tuple[Array, Array, stats.rv_continuous]]
SIMULATED: dict[str, tuple[int, int, Truth]] = {
    "waves": (1_000, 5, waves),
    "skewed": (2_000, 4, skewed),
    "heavy tails": (5_000, 6, heavy),
}


def drawn(truth: Truth, n: int, n_columns: int, seed: int) -> tuple[Array, Array, Array]:
    """Return features, targets and the true quantiles."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1.0, 1.0, (n, n_columns))
    place, scale, noise = truth(X)
    y = place + scale * noise.rvs(size=n, random_state=random)
    return X, y, place[:, None] + scale[:, None] * noise.ppf(LEVELS)


def of_splinear(X: Array, y: Array, at: Array) -> Array:
    """Return predicted quantiles."""
    model = AdditiveRegressor(loss=Quantile(LEVELS), random_state=0, n_jobs=1).fit(X, y)
    assert model.certified_
    return model.predict(at)


def of_statsmodels(X: Array, y: Array, at: Array) -> Array:
    splines = SplineTransformer(KNOTS, include_bias=False, extrapolation="constant").fit(X)
    design, there = (np.column_stack([np.ones(len(Z)), splines.transform(Z)]) for Z in (X, at))
    with warnings.catch_warnings():  # some fits end at its limit of iterations
        warnings.simplefilter("ignore")
        fits = [QuantReg(y, design).fit(q=level, max_iter=2_000) for level in LEVELS]
    return np.column_stack([there @ fit.params for fit in fits])


def of_trees(X: Array, y: Array, at: Array) -> Array:
    make = HistGradientBoostingRegressor
    fits = [make(loss="quantile", quantile=q, random_state=0).fit(X, y) for q in LEVELS]
    return np.column_stack([fit.predict(at) for fit in fits])


MODELS = {"splinear": of_splinear, "QuantReg": of_statsmodels, "boosted trees": of_trees}


def measured(
    model: Callable[[Array, Array, Array], Array],
    parts: list[tuple[Array, Array, Array, Array]],
    truths: Array | None,
) -> list[float]:
    """Return the measures of a model on parts of (X, y, X to predict, y there)."""
    losses, errors, crossing, began = [], [], [], time.process_time()
    for X, y, at, there in parts:
        found = model(X, y, at)
        losses.append(
            [mean_pinball_loss(there, f, alpha=q) for q, f in zip(LEVELS, found.T, strict=True)]
        )
        crossing.append(100.0 * np.mean(np.diff(found, axis=1).min(axis=1) < 0.0))
        if truths is not None:
            errors.append(np.sqrt(np.mean((found - truths) ** 2)))
    seconds = (time.process_time() - began) / len(parts)
    error = np.mean(errors) if errors else np.nan
    return [float(np.mean(losses)), float(error), float(np.mean(crossing)), seconds]


def small(name: str) -> tuple[Array, Array]:
    """Return a table of the folder small_tables, its categories as columns of 0 and 1."""
    folder = Path(os.environ["SPLINEAR_DATA"], "small_tables")
    X = pd.get_dummies(pd.read_csv(folder / f"{name}.X.csv"), drop_first=True, dtype=float)
    y = pd.read_csv(folder / f"{name}.y.csv")["y"].to_numpy(np.float64)
    return X.to_numpy(np.float64), y


def main() -> None:
    """Measure and print, and write the page if asked."""
    parser = command.make_parser(__doc__, quick="few rows", output="folder for quantile.md")
    given = parser.parse_args()
    lines, bars = [["table", "rows x columns", "measure", *MODELS]], []
    tables = []
    for name, (n, n_columns, truth) in SIMULATED.items():
        X, y, _ = drawn(truth, 300 if given.quick else n, n_columns, 0)
        at, there, truths = drawn(truth, N_TEST, n_columns, 1)
        tables.append((name, X, [(X, y, at, there)], truths))
    for name in () if given.quick else SMALL:
        X, y = small(name)
        folds = KFold(FOLDS, shuffle=True, random_state=0).split(X)
        tables.append((name, X, [(X[a], y[a], X[b], y[b]) for a, b in folds], None))
    for name, X, parts, truths in tables:
        with threadpool_limits(limits=1):
            found = [measured(model, parts, truths) for model in MODELS.values()]
        print(name, found, flush=True)
        size = f"{len(X):,} x {X.shape[1]}"
        for m, (what, form) in enumerate(MEASURES.items()):
            if not np.isnan(found[0][m]):
                lines.append([name, size, what, *(report.number(of[m], form) for of in found)])
        best = min(of[0] for of in found[1:])
        above = None if given.quick else 100.0 * (found[0][0] / best - 1.0)
        bars.append(report.Bar(f"{name}: pinball loss, % above the better", above, most=MOST))
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Quantiles", introduction, report.machine_block(), report.markdown(lines)]
    sections += ["## Bars", report.items(bars)]
    report.publish(sections, given.output, "quantile.md")


if __name__ == "__main__":
    main()
