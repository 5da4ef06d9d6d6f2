"""What counts as information: weights, counts, groups and copies of rows.

python benchmarks/weights.py                        everything: a minute or two
python benchmarks/weights.py --output docs          and write weights.md there
python benchmarks/weights.py --quick                two seeds instead of ten
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import command
import numpy as np
import numpy.typing as npt
import report
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.terms import Spline

Array = npt.NDArray[Any]

SEEDS, QUICK_SEEDS = 10, 2

INTRODUCTION = """\
Where smoothness is chosen, and in bands, the losses are divided by a
[dispersion](mathematics.md#weights-counts-and-groups) that is estimated from independent units, so
that neither copies of rows nor large weights are taken for information.
`python benchmarks/weights.py --output docs` writes this page. Every number is a mean over seeds
0 to {last}; models have no arguments except those that are named."""

# rmse of gam(y ~ s(x, k = 40), weights = w, method = "REML") of mgcv 1.8-41 on the rows below.
MGCV = {2: 0.035997, 10: 0.036675}  # by number of seeds

R_CODE = """
library(mgcv)
rows <- read.csv(commandArgs(TRUE)[1])
error <- sapply(split(rows, rows$seed), function(d) {
  m <- gam(y ~ s(x, k = 40), weights = w, method = "REML", data = d)
  sqrt(mean((fitted(m) - d$f)^2))
})
cat(mean(error))
"""


def fitted(make: Callable[..., Any], *rows: Array, **fit: Any) -> Any:
    """Fit a model; warnings of copies are expected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*equal another row in X and y")
        return make(random_state=0).fit(*rows, **fit)


def edf_of(model: Any) -> float:
    """Return the degrees of freedom of all terms."""
    return float(sum(term.edf for term in model.terms_))


# -- copies and the size of weights ----------------------------------------------------------------


def same_rows(seed: int) -> Iterator[tuple[str, Array, Array, dict[str, Array]]]:
    """Yield the same 500 rows of five columns as tables that say no more, or less."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(500, 5))
    y = X[:, 0] + random.normal(size=500)
    yield "as they are", X, y, {}
    for times in (2, 3):
        yield f"every row {times} times", np.repeat(X, times, axis=0), np.repeat(y, times), {}
    for weight in (5.5, 0.01):
        yield f"sample_weight {weight} everywhere", X, y, {"sample_weight": np.full(500, weight)}
    at = random.integers(0, 500, 500)
    yield "a bootstrap resample", X[at], y[at], {}
    weights = {"sample_weight": np.bincount(at, minlength=500).astype(float)}
    yield "the same resample by sample_weight", X, y, weights
    survey = {"sample_weight": random.lognormal(-0.5, 1.0, 500)}
    yield "lognormal survey weights, mean 1", X, y, survey


LEAST = {"a bootstrap resample": 0.93, "the same resample by sample_weight": 0.93}
WITHOUT_BAR = "lognormal survey weights, mean 1"


def copies(n_seeds: int) -> list[str]:
    """Fit these tables: R^2 against the truth, beside ridge regression."""
    found: dict[str, list[list[float]]] = {}
    for seed in range(n_seeds):
        T = np.random.default_rng(1000 + seed).normal(size=(5000, 5))
        for name, X, y, fit in same_rows(seed):
            ours, ridge = fitted(AdditiveRegressor, X, y, **fit), Ridge().fit(X, y, **fit)
            shares = [1.0 - np.mean((m.predict(T) - T[:, 0]) ** 2) for m in (ours, ridge)]
            found.setdefault(name, []).append([*shares, edf_of(ours)])
    rows, bars = [["rows", "R² of the truth", "degrees of freedom", "Ridge's R²"]], []
    for name, values in found.items():
        share, ridge_share, edf = np.mean(values, axis=0)
        rows.append([name, f"{share:.3f}", f"{edf:.1f}", f"{ridge_share:.3f}"])
        print(*rows[-1], sep="  ", flush=True)
        if name != WITHOUT_BAR:
            bars.append(report.Bar(f"{name}: R²", float(share), least=LEAST.get(name, 0.95)))
    return [
        "## Copies, and the size of weights",
        "500 rows of five normal columns, y = x₀ + noise of variance 1.",
        report.markdown(rows),
        report.items(bars),
    ]


PRECISE: dict[str, Callable[..., Any]] = {
    "AdditiveRegressor()": AdditiveRegressor,
    "Spline(40, 3, 2)": lambda **params: AdditiveRegressor(Spline(40, 3, 2), **params),
}

# -- precision weights -----------------------------------------------------------------------------


def precise(seed: int, *, equal: bool = False) -> tuple[Array, Array, Array, Array]:
    """Draw a wave whose rows are means of 1, 4 or 20 measurements: x, y, weights, truth.

    If `equal`, all weights are their mean.
    """
    random = np.random.default_rng(seed)
    x, w = random.uniform(size=500), random.choice([1.0, 4.0, 20.0], 500)
    f, w = np.sin(6.0 * x), np.full(500, 25.0 / 3.0) if equal else w
    return x, f + random.normal(size=500) / np.sqrt(w), w, f


def precision(n_seeds: int) -> list[str]:
    """Fit a wave with precision weights, beside mgcv."""
    theirs, rows = by_mgcv(n_seeds), [["model", "weights", "rmse", "degrees of freedom"]]
    errors = {}
    for name, make in PRECISE.items():
        for equal in (False, True):
            found = []
            for seed in range(n_seeds):
                x, y, w, f = precise(seed, equal=equal)
                model = fitted(make, x[:, None], y, sample_weight=w)
                error = np.sqrt(np.mean((model.predict(x[:, None]) - f) ** 2))
                found.append([error, edf_of(model)])
            error, edf = np.mean(found, axis=0)
            errors[name, equal] = float(error)
            rows.append([name, "equal" if equal else "1, 4, 20", f"{error:.4f}", f"{edf:.1f}"])
    rows.append(["mgcv, s(x, k = 40)", "1, 4, 20", report.number(theirs, ".4f"), ""])
    ours = errors[next(iter(PRECISE)), False]
    bars = [
        report.Bar("rmse / mgcv's", None if theirs is None else ours / theirs, most=1.3),
        report.Bar(
            "rmse / that of equal weights", ours / errors[next(iter(PRECISE)), True], 0, 1.3
        ),
    ]
    return [
        "## Precision weights",
        "500 rows, y = sin(6x) + noise of variance 1 / w, with weights w of 1, 4 or 20. Beside "
        "them are rows whose weights all have their mean: this tells what is lost because weights "
        "differ, and what because of the kind of curve.",
        report.markdown(rows),
        report.items(bars),
    ]


def by_mgcv(n_seeds: int) -> float | None:
    """Return mgcv's mean error: that of R if it is there, or else the recorded one."""
    if shutil.which("Rscript") is None:
        return MGCV.get(n_seeds)
    with tempfile.TemporaryDirectory() as folder:
        path, code = Path(folder, "rows.csv"), Path(folder, "fit.R")
        lines = ["seed,x,y,w,f"]
        for seed in range(n_seeds):
            columns = zip(*precise(seed), strict=True)
            lines += [f"{seed}," + ",".join(f"{value:.17g}" for value in row) for row in columns]
        path.write_text("\n".join(lines))
        code.write_text(R_CODE)
        run = subprocess.run(
            ["Rscript", str(code), str(path)], capture_output=True, text=True, check=False
        )
    return float(run.stdout) if run.returncode == 0 else MGCV.get(n_seeds)


# -- a panel, and a rare class ---------------------------------------------------------------------


def panel(n: int, seed: int) -> tuple[Array, Array, Array]:
    """Draw customers with twelve months each, and a label per customer."""
    random = np.random.default_rng(seed)
    Z = random.normal(size=(n, 6))
    label = random.random(n) < expit(Z[:, 0] + 0.7 * Z[:, 1])
    X = np.repeat(Z, 12, axis=0) + 0.3 * random.normal(size=(12 * n, 6))
    return X, np.repeat(label, 12), np.repeat(np.arange(n), 12)


def customers(n_seeds: int) -> list[str]:
    """Fit panels with and without groups, beside one row per customer: AUC on others."""
    X_test, y_test, _ = panel(3000, 1000)
    found: dict[str, list[float]] = {}
    for seed in range(n_seeds):
        X, y, groups = panel(300, seed)
        models = {
            "all months, `groups=customer`": fitted(AdditiveClassifier, X, y, groups=groups),
            "one row per customer": fitted(AdditiveClassifier, X[::12], y[::12]),
            "all months, taken as independent": fitted(AdditiveClassifier, X, y),
            "LogisticRegression, all months": LogisticRegression().fit(X, y),
        }
        for name, model in models.items():
            auc = roc_auc_score(y_test, model.decision_function(X_test))
            found.setdefault(name, []).append(auc)
    means = {name: float(np.mean(values)) for name, values in found.items()}
    grouped, alone, *_ = means.values()
    return [
        "## A panel",
        "300 customers with 12 months each, six columns that differ a little from month to month, "
        "and one label per customer. AUC on the months of other customers.",
        report.markdown([["model", "AUC"], *([name, f"{x:.4f}"] for name, x in means.items())]),
        report.items(
            [report.Bar("AUC lost to one row per customer", max(0.0, alone - grouped), most=0.01)]
        ),
    ]


def balanced(**params: Any) -> AdditiveClassifier:
    """Return a classifier that weighs both classes alike."""
    return AdditiveClassifier(class_weight="balanced", **params)


def oversampled(n_seeds: int) -> list[str]:
    """Fit a rare class as it is, and drawn as often as the other one: AUC."""
    found: dict[str, list[float]] = {}
    for seed in range(n_seeds):
        random = np.random.default_rng(seed)
        X, T = random.normal(size=(2000, 6)), random.normal(size=(10_000, 6))
        y, y_test = (random.random(len(A)) < expit(A[:, 0] + A[:, 1] ** 2 - 4.5) for A in (X, T))
        more = random.choice(np.flatnonzero(y), np.count_nonzero(~y) - np.count_nonzero(y))
        at = np.concatenate([np.arange(2000), more])
        models = {
            "as they are": fitted(AdditiveClassifier, X, y),
            "rare class oversampled": fitted(AdditiveClassifier, X[at], y[at]),
            '`class_weight="balanced"`': fitted(balanced, X, y),
        }
        for name, model in models.items():
            found.setdefault(name, []).append(roc_auc_score(y_test, model.decision_function(T)))
    means = {name: float(np.mean(values)) for name, values in found.items()}
    plain, again, _ = means.values()
    return [
        "## A rare class, oversampled",
        "2,000 rows, about 3 % of them of the rare class, whose rows are drawn again until both "
        "classes have as many.",
        report.markdown([["rows", "AUC"], *([name, f"{x:.4f}"] for name, x in means.items())]),
        report.items([report.Bar("AUC lost by oversampling", max(0.0, plain - again), most=0.01)]),
    ]


def main() -> None:
    """Run everything, print the page, and write it if asked to."""
    parser = command.make_parser(__doc__, quick="two seeds", output="folder for weights.md")
    given = parser.parse_args()
    n_seeds = QUICK_SEEDS if given.quick else SEEDS
    with threadpool_limits(limits=1):
        sections = [
            "# Weights, copies and groups",
            (report.CAUTION if given.quick else "") + INTRODUCTION.format(last=n_seeds - 1),
            report.machine_block(),
            *copies(n_seeds),
            *precision(n_seeds),
            *customers(n_seeds),
            *oversampled(n_seeds),
        ]
    report.publish(sections, given.output, "weights.md")


if __name__ == "__main__":
    main()
