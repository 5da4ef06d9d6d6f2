"""Against other additive models of Python: gamfit, glum and statsmodels, on simulated tables.

python benchmarks/gams.py                    what is installed of them: a quarter of an hour
python benchmarks/gams.py --output docs      and write gams.md there
python benchmarks/gams.py --quick            few rows, and no peers

pip install gamfit glum statsmodels
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from multiprocessing.connection import Connection
from statistics import mean, median
from typing import Any

import command
import numpy as np
import pandas as pd
import report
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor

Array = np.ndarray
N_TEST, LIMIT = 5_000, 300.0  # rows; seconds of a fit
SIZES = {400: 3, 2_000: 3, 20_000: 1}  # rows, and tables of so many
COLUMNS = list("abcd")
CENTER, SCALE, NOISE = 5.0, 2.5, 2.0  # of the logistic model's scores; of numbers

INTRODUCTION = """\
`python benchmarks/gams.py --output docs` writes this page. Rows have four columns, uniform on
[0, 1], and the four curves of Gu and Wahba that mgcv's `gamSim(1)` has, one of which is 0. Numbers
have noise of standard deviation 2; labels are drawn from a logistic model. The error is the root
mean squared error of the predicted means (or probabilities) against the true ones on 5,000 further
rows, the mean over the tables; seconds are wall-clock time of the fit on one thread, their median.

- *splinear*: `AdditiveRegressor()` and `AdditiveClassifier()`.
- *gamfit*: `fit(table, "y ~ s(a) + s(b) + s(c) + s(d)")`, which chooses smoothness by REML.
- *glum*: `GeneralizedLinearRegressorCV(l1_ratio=0, cv=5)` on cubic splines with 12 knots from
  scikit-learn's `SplineTransformer`, standardized. It is a library for linear models: one strength
  for all columns, and a ridge in place of a penalty on differences.
- *statsmodels*: `GLMGam` with ten cubic B-splines per column, and `select_penweight`.

A dash: an error, stopped after 300 seconds, or not installed."""


def curves(X: Array) -> list[Array]:
    """Return the curves of Gu and Wahba over three columns; that of a fourth one is 0."""
    x = X[:, 2]
    peaks = 0.2 * x**11 * (10 * (1 - x)) ** 6 + 10 * (10 * x) ** 3 * (1 - x) ** 10
    return [2.0 * np.sin(np.pi * X[:, 0]), np.exp(2.0 * X[:, 1]), peaks]


def table(n: int, seed: int, is_class: bool) -> tuple[Array, Array, Array]:
    """Return rows, their targets and the true means."""
    random = np.random.default_rng(seed)
    X = random.random((n, 4))
    f = sum(curves(X))
    if is_class:
        p = expit((f - CENTER) / SCALE)
        return X, (random.random(n) < p).astype(float), p
    return X, f + NOISE * random.normal(size=n), f


def of_splinear(X: Array, y: Array, T: Array, is_class: bool) -> Array:
    """Fit our own model; return its predictions for T."""
    if is_class:
        return AdditiveClassifier(random_state=0, n_jobs=1).fit(X, y).predict_proba(T)[:, 1]
    return AdditiveRegressor(random_state=0, n_jobs=1).fit(X, y).predict(T)


def of_gamfit(X: Array, y: Array, T: Array, is_class: bool) -> Array:
    """Fit gamfit's model; return its predictions for T."""
    import gamfit

    rows = pd.DataFrame(X, columns=COLUMNS).assign(y=y)
    family = "binomial" if is_class else "gaussian"
    model = gamfit.fit(rows, "y ~ " + " + ".join(f"s({name})" for name in COLUMNS), family=family)
    return np.asarray(model.predict(pd.DataFrame(T, columns=COLUMNS)))


def of_glum(X: Array, y: Array, T: Array, is_class: bool) -> Array:
    """Fit glum's model; return its predictions for T."""
    from glum import GeneralizedLinearRegressorCV

    family = "binomial" if is_class else "normal"
    model = GeneralizedLinearRegressorCV(l1_ratio=0, cv=5, family=family, n_jobs=1)
    splines = SplineTransformer(12, extrapolation="linear")
    return make_pipeline(splines, StandardScaler(), model).fit(X, y).predict(T)


def of_statsmodels(X: Array, y: Array, T: Array, is_class: bool) -> Array:
    """Fit the model of statsmodels; return its predictions for T."""
    import statsmodels.api as sm
    from statsmodels.gam.api import BSplines, GLMGam

    splines = BSplines(X, df=[10] * 4, degree=[3] * 4)
    family = sm.families.Binomial() if is_class else sm.families.Gaussian()
    given = {"exog": np.ones((len(y), 1)), "smoother": splines, "family": family}
    model = GLMGam(y, alpha=np.ones(4), **given)
    model.fit()  # select_penweight needs its scale
    alpha = model.select_penweight(method="minimize")[0]
    inside = np.clip(T, X.min(axis=0), X.max(axis=0))  # its splines end there
    chosen = GLMGam(y, alpha=alpha, **given).fit()
    return chosen.predict(np.ones((len(T), 1)), exog_smooth=inside)


MODELS: dict[str, Callable[[Array, Array, Array, bool], Array]] = {
    "splinear": of_splinear,
    "gamfit": of_gamfit,
    "glum": of_glum,
    "statsmodels": of_statsmodels,
}


def measure(to: Connection, name: str, n: int, seed: int, is_class: bool) -> None:
    """Fit one model to one table; send its error and seconds."""
    os.environ["RAYON_NUM_THREADS"] = "1"  # read when gamfit is imported
    warnings.simplefilter("ignore")
    X, y, _ = table(n, 2 * seed, is_class)
    T, _, truth = table(N_TEST, 2 * seed + 1, is_class)
    with threadpool_limits(1):
        with suppress(Exception):  # imports, and first calls
            MODELS[name](X[:400], y[:400], T[:1], is_class)
        began = time.perf_counter()
        found = MODELS[name](X, y, T, is_class)
        seconds = time.perf_counter() - began
    to.send((float(np.sqrt(np.mean((found - truth) ** 2))), seconds))


def measured(name: str, n: int, seed: int, is_class: bool) -> tuple[float, float] | None:
    """Do so in a process of its own; None if it takes too long."""
    context = multiprocessing.get_context("spawn")  # some of them start threads
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(theirs, name, n, seed, is_class))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(LIMIT) else None
    except EOFError:  # it raised
        return None
    finally:
        process.terminate()
        process.join()


def line(name: str, n: int, is_class: bool, n_tables: int) -> tuple[str, str]:
    """Return the error and the seconds of a model, or dashes."""
    found: list[Any] = [measured(name, n, seed, is_class) for seed in range(n_tables)]
    if not found or None in found:
        return "-", "-"
    return f"{mean(one[0] for one in found):.4f}", f"{median(one[1] for one in found):.2g}"


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="few rows, and no peers", output="folder for gams.md"
    )
    given = parser.parse_args()
    names = [name for name in MODELS if importlib.util.find_spec(name) is not None]
    sizes, names = ({400: 1}, names[:1]) if given.quick else (SIZES, names)
    errors, seconds = ([["target", "rows", *MODELS]] for _ in range(2))
    for n, n_tables in sizes.items():
        for is_class in (False, True):
            head = ["labels" if is_class else "numbers", f"{n:,}"]
            pairs = [line(name, n, is_class, n_tables * (name in names)) for name in MODELS]
            errors.append([*head, *(pair[0] for pair in pairs)])
            seconds.append([*head, *(pair[1] for pair in pairs)])
            print(errors[-1], seconds[-1], flush=True)
    machine = report.describe_machine() | {name: version(name) for name in names}
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Against other additive models", introduction, report.machine_block(machine)]
    sections += ["## Error", report.markdown(errors), "## Seconds", report.markdown(seconds)]
    report.publish(sections, given.output, "gams.md")


if __name__ == "__main__":
    main()
