"""What surfaces over pairs of features are worth, beside boosted trees and EBM.

python benchmarks/pairs.py                              all data sets: some minutes
python benchmarks/pairs.py --ebm --output docs          EBM too, which takes half an hour
python benchmarks/pairs.py --data "spambase;magic"      only these data sets
python benchmarks/pairs.py --quick                      small synthetic data
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import command
import defaults
import numpy as np
import report
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor

Row = dict[str, Any]

CURVES, PAIRS, TREES = "curves", "curves and pairs", "HistGradientBoosting of pairs"
LIGHTGBM, EBM = "LightGBM", "EBM"
ORDER = (CURVES, PAIRS, EBM, TREES, LIGHTGBM)
# Lower is better for RMSE. The least AUC, or the most RMSE, that pairs must reach.
BARS = {
    "magic": 0.931,
    "credit_default": 0.776,
    "covtype, class 2": 0.895,
    "skin": 0.998,
    "cod_rna": 0.991,
    "california_housing": 0.48,
}
OTHERS = ("adult, raw", "spambase")
BESIDE_EBM = ("magic", "credit_default", *OTHERS)  # on others it takes hours
N_PLANTED, N_FEATURES, N_ROWS = 10, 100, 100_000

INTRODUCTION = f"""\
*{CURVES}* is `AdditiveClassifier()` or `AdditiveRegressor()`, and *{PAIRS}* is the same with
`interactions="auto"`. *{EBM}* is interpret's ExplainableBoostingClassifier (or Regressor) with its
defaults, which choose pairs, too; because it takes long, it is measured only with `--ebm`, and not
on all tables. *{TREES}* has 400 trees, each of which may use no more than two features
(`interaction_cst="pairwise"`). *{LIGHTGBM}* has its defaults, without such a limit.
`python benchmarks/pairs.py --output docs` writes this page.

The splits are those of [the defaults](defaults.md). Seconds are processor time of one fit on one
thread. A dash means not measured."""


def quick() -> dict[str, defaults.Set]:
    """Small data without files."""

    def friedman() -> defaults.Split:
        X, y = make_friedman1(600, noise=1.0, random_state=0)
        return X[:400], y[:400], X[400:], y[400:]

    return {
        "synthetic": defaults.QUICK["synthetic"],
        "friedman": defaults.Set(defaults.REGRESSION, friedman),
    }


def candidates(kind: str, with_ebm: bool) -> dict[str, Callable[[], Any]]:
    """Make the models for one kind of data."""
    is_regression = kind == defaults.REGRESSION
    ours = AdditiveRegressor if is_regression else AdditiveClassifier
    trees = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
    models: dict[str, Callable[[], Any]] = {
        CURVES: lambda: ours(random_state=0),
        PAIRS: lambda: ours(interactions="auto", random_state=0),
        TREES: lambda: trees(interaction_cst="pairwise", max_iter=400, random_state=0),
    }
    if find_spec("lightgbm"):
        models[LIGHTGBM] = lambda: lightgbm(is_regression)
    if with_ebm and find_spec("interpret"):
        models[EBM] = lambda: ebm(is_regression)
    return models


def lightgbm(is_regression: bool) -> Any:
    """LightGBM as it comes."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    made = LGBMRegressor if is_regression else LGBMClassifier
    return made(n_jobs=1, random_state=0, verbose=-1)


def ebm(is_regression: bool) -> Any:
    """EBM as it comes, with its own pairs."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    made = ExplainableBoostingRegressor if is_regression else ExplainableBoostingClassifier
    return made(n_jobs=1, random_state=0)


def compare(data: str, of: defaults.Set, with_ebm: bool) -> Iterator[Row]:
    """Fit every candidate to one data set."""
    try:
        X, y, X_test, y_test = of.load()
    except OSError as error:
        print(f"{data}: left out. {error}")
        return
    beside_ebm = with_ebm and data in BESIDE_EBM
    for name, make in candidates(of.kind, beside_ebm).items():
        own = name in (CURVES, PAIRS, EBM) or not of.raw
        train, test = (X, X_test) if own else (categories(X), categories(X_test))
        found = measured(make(), (train, y, test, y_test), of.kind)
        print(f"{data}: {name}: {found}", flush=True)
        yield {"data": data, "kind": of.kind, "model": name, "shape": X.shape} | found


def categories(X: Any) -> Any:
    """Return a frame whose columns of text are categories, for models that take no text."""
    text = X.select_dtypes(exclude="number").columns
    return X.astype(dict.fromkeys(text, "category"))


def measured(model: Any, split: defaults.Split, kind: str) -> Row:
    """Fit a model; return its measures on the test rows and the processor's seconds."""
    X, y, X_test, y_test = split
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # EBM's of its own parameters
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
    found: Row = {"seconds": seconds}
    if isinstance(model, AdditiveClassifier | AdditiveRegressor):
        found |= {"pairs": len(model.terms_.pairs), "certified": bool(model.certified_)}
    if kind == defaults.REGRESSION:
        return found | {"RMSE": float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))}
    p = model.predict_proba(X_test)[:, 1]
    return found | {"AUC": float(roc_auc_score(y_test, p)), "log-loss": float(log_loss(y_test, p))}


# -- planted pairs ---------------------------------------------------------------------------------


def planted(n_features: int, n_rows: int, n_planted: int) -> Row:
    """Plant pairs among all possible ones; count those among the first that are found."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    features = rng.permutation(n_features)[: 2 * n_planted].reshape(-1, 2)
    score = 0.5 * X[:, :10].sum(axis=1)
    for j, k in features:
        score = score + 0.5 * np.tanh(X[:, j]) * np.tanh(X[:, k])
    y = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))
    start = time.process_time()
    model = AdditiveClassifier(interactions=n_planted + 2, random_state=0, n_jobs=1).fit(X, y)
    found = {pair.features for pair in model.terms_.pairs}
    truth = {tuple(sorted(map(int, pair))) for pair in features}
    possible = n_features * (n_features - 1) // 2
    return {
        "found": len(truth & found),
        "taken": len(found),
        "planted": n_planted,
        "possible": possible,
        "rows": n_rows,
        "seconds": time.process_time() - start,
    }


# -- the page --------------------------------------------------------------------------------------


def table(rows: list[Row], measure: str) -> list[list[str]]:
    """One line per data set, one column per model."""
    here = [row for row in rows if measure in row]
    names = [name for name in ORDER if any(row["model"] == name for row in rows)]
    lines = [[measure, "rows x columns", *names]]
    for data in dict.fromkeys(row["data"] for row in here):
        found = {row["model"]: row for row in here if row["data"] == data}
        n, d = next(iter(found.values()))["shape"]
        cells = [written(found[k][measure], measure) if k in found else "-" for k in names]
        lines.append([data, f"{n:,} x {d:,}", *cells])
    return lines


def written(value: float, measure: str) -> str:
    """Return a number with as many digits as it is worth."""
    if measure in ("seconds", "pairs"):
        return f"{value:.2g}" if value < 10 else f"{value:.0f}"
    return f"{value:.4f}"


def bars(rows: list[Row]) -> Iterator[report.Bar]:
    """Compare what was measured with what was to be reached."""
    found = {(row["data"], row["model"]): row for row in rows}
    for data, limit in BARS.items():
        row = found.get((data, PAIRS))
        if row is not None and "RMSE" in row:
            yield report.Bar(f"{data}: RMSE with pairs", row["RMSE"], most=limit)
        elif row is not None:
            yield report.Bar(f"{data}: AUC with pairs", row["AUC"], least=limit)
    for data in BESIDE_EBM:
        ours, theirs = found.get((data, PAIRS)), found.get((data, EBM))
        if ours is not None and theirs is not None:
            ratio = theirs["seconds"] / ours["seconds"]
            nearly = theirs["AUC"] - 0.003
            yield report.Bar(f"{data}: AUC beside EBM's", ours["AUC"], least=nearly)
            yield report.Bar(f"{data}: EBM's seconds / ours", ratio, least=50)


def page(results: dict[str, Any]) -> Iterator[str]:
    """Everything, as sections of a page for the documentation."""
    rows, found = results["rows"], results["planted"]
    yield "# Pairs"
    yield report.caution(results) + INTRODUCTION
    yield report.machine_block(results["machine"])
    for measure in ("AUC", "log-loss", "RMSE", "seconds", "pairs"):
        if any(measure in row for row in rows):
            yield report.markdown(table(rows, measure))
    yield "## Planted pairs"
    yield (
        f"{found['planted']} products of two features are planted among {found['possible']:,} "
        f"possible ones, in {found['rows']:,} rows with two classes. Of the first "
        f"{found['taken']} pairs that are found, {found['found']} are planted ones "
        f"({found['seconds']:.1f} s in all)."
    )
    yield "## What was to be reached"
    yield "\n".join(f"- {bar}" for bar in bars(rows)) or "Nothing on these data."


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="small data, no files needed", output="folder for pairs.md"
    )
    parser.add_argument("--data", help="data sets, by semicolons")
    parser.add_argument("--ebm", action="store_true", help="EBM, too")
    given = parser.parse_args()
    small = quick()
    default = small if given.quick else (*BARS, *OTHERS)
    known = defaults.KNOWN | small
    names = command.chosen(parser, given.data, known, default, separator=";")
    rows = [row for name in names for row in compare(name, known[name], given.ebm)]
    size = (20, 4_000, 3) if given.quick else (N_FEATURES, N_ROWS, N_PLANTED)
    results = {
        "quick": given.quick,
        "machine": report.describe_machine(),
        "rows": rows,
        "planted": planted(*size),
    }
    report.publish(page(results), given.output, "pairs.md")


if __name__ == "__main__":
    main()
