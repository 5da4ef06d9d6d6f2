"""Pairs that are there, and none that are not: several classes; additive tables with categories.

python benchmarks/pairs_held_out.py                     both tables: some minutes
python benchmarks/pairs_held_out.py --quick             few and small
python benchmarks/pairs_held_out.py --output docs       also writes pairs_held_out.md
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import command
import numpy as np
import pandas as pd
import report
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier

Split = tuple[Any, np.ndarray, Any, np.ndarray]

N_SEEDS, LEVELS = 20, (20, 100, 300, 1_000)
MOST_IN_THE_MEAN, MOST_AT_WORST = 0.001, 0.002  # log-loss that surfaces may add


def strokes(n: int = 7_500, n_test: int = 3_500) -> Split:
    """Ten digits written as eight points, turned and scaled at random."""
    rng = np.random.default_rng(0)
    n_all = n + n_test
    y, style = rng.integers(0, 10, n_all), rng.integers(0, 2, n_all)
    points = rng.uniform(0, 1, (10, 2, 8, 2))[y, style] + 0.13 * rng.normal(size=(n_all, 8, 2))
    angle = 0.45 * rng.normal(size=n_all)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
    points = np.einsum("nij,nkj->nki", turn, points - 0.5)
    points -= points.min(axis=1, keepdims=True)
    points /= points.max(axis=(1, 2), keepdims=True)
    X = np.rint(100 * points.reshape(n_all, 16))
    return X[:n], y[:n], X[n:], y[n:]


def digits() -> Split:
    """Scikit-learn's digits, in which pairs add next to nothing."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    return X[:1_347], y[:1_347], X[1_347:], y[1_347:]


def additive(n_levels: int, seed: int, n: int = 8_000, n_test: int = 20_000) -> Split:
    """Two classes by three curves and the random effects of a category's levels."""
    rng = np.random.default_rng(seed)
    n_all = n + n_test
    X = pd.DataFrame(rng.uniform(-1, 1, (n_all, 4)), columns=list("abcd"))
    shop = rng.choice(n_levels, n_all, p=rng.dirichlet(np.full(n_levels, 2.0)))
    X["shop"] = pd.Categorical(shop)
    f = 1.5 * np.sin(3 * X["a"]) + X["b"] ** 2 - X["c"] + 0.7 * rng.normal(size=n_levels)[shop]
    y = rng.random(n_all) < 1 / (1 + np.exp(-f))
    return X[:n], y[:n], X[n:], y[n:]


def measured(split: Split, interactions: int | str, seed: int = 0) -> tuple[float, float, int]:
    """Fit; return the log-loss on the test rows, the processor's seconds, and the pairs."""
    X, y, X_test, y_test = split
    with threadpool_limits(limits=1):
        start = time.process_time()
        model = AdditiveClassifier(interactions=interactions, random_state=seed).fit(X, y)
        seconds = time.process_time() - start
    return log_loss(y_test, model.predict_proba(X_test)), seconds, len(model.terms_.pairs)


def of_classes(quick: bool) -> Iterator[list[str]]:
    """Yield one line per table and number of pairs."""
    yield ["table", "interactions", "log-loss", "seconds", "pairs"]
    tables = {"digits": digits()} if quick else {"digits": digits(), "strokes": strokes()}
    for name, split in tables.items():
        for asked in (0, 20) if quick else (0, 20, 60, 120):
            loss, seconds, n_pairs = measured(split, asked)
            yield [name, str(asked), f"{loss:.4f}", f"{seconds:.1f}", str(n_pairs)]
        loss, seconds, n_pairs = measured(split, "auto")
        yield [name, "auto", f"{loss:.4f}", f"{seconds:.1f}", str(n_pairs)]


def of_categories(quick: bool) -> tuple[list[list[str]], list[float]]:
    """Return one line per number of levels, and what surfaces added to every loss."""
    lines, out = [["levels", "mean", "worst", "tables with pairs"]], []
    n, n_test = (1_000, 2_000) if quick else (8_000, 20_000)
    for n_levels in LEVELS[:1] if quick else LEVELS:
        added, n_with = [], 0
        for seed in range(2 if quick else N_SEEDS):
            split = additive(n_levels, seed, n, n_test)
            loss, _, n_pairs = measured(split, "auto", seed)
            added.append(loss - measured(split, 0, seed)[0])
            n_with += n_pairs > 0
        mean, worst = float(np.mean(added)), max(added)
        lines.append([f"{n_levels:,}", f"{mean:+.5f}", f"{worst:+.5f}", str(n_with)])
        print(lines[-1], flush=True)
        out += added
    return lines, out


def page(quick: bool) -> Iterator[str]:
    """Everything, as a page for the documentation."""
    machine = report.describe_machine()
    yield "# Pairs that are there, and none that are not"
    yield report.caution({"quick": quick}) + (
        "`python benchmarks/pairs_held_out.py --output docs` writes this page. Seconds are "
        "processor time of one fit on one thread."
    )
    yield report.machine_block(machine)
    yield "## Several classes"
    yield report.markdown(list(of_classes(quick)))
    yield "## Additive tables with a category"
    lines, added = of_categories(quick)
    yield (
        'There is no interaction. What `interactions="auto"` adds to the log-loss of the curves '
        f"alone, on tables of {1_000 if quick else 8_000:,} rows:"
    )
    yield report.markdown(lines)
    mean = report.Bar("added in the mean", float(np.mean(added)), most=MOST_IN_THE_MEAN)
    worst = report.Bar("added at worst", max(added), most=MOST_AT_WORST)
    yield f"- {mean}\n- {worst}"


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="few and small tables", output="folder for pairs_held_out.md"
    )
    given = parser.parse_args()
    report.publish(page(given.quick), given.output, "pairs_held_out.md")


if __name__ == "__main__":
    main()
