"""Pairs that are there, and none that are not: several classes; additive tables with categories.

python benchmarks/pairs_held_out.py                     both tables: half an hour
python benchmarks/pairs_held_out.py --at-once 16        16 fits at a time, one thread each
python benchmarks/pairs_held_out.py --quick             few and small
python benchmarks/pairs_held_out.py --output docs       also writes pairs_held_out.md
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import command
import numpy as np
import pandas as pd
import report
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier
from splinear.datasets import load_covtype, load_usps

Split = tuple[Any, np.ndarray, Any, np.ndarray]
Map = Callable[..., Iterator[Any]]

N_SEEDS, LEVELS = 20, (20, 100, 300, 1_000)
MOST_IN_THE_MEAN, MOST_AT_WORST = 0.001, 0.002  # log-loss that surfaces may add
NUMBERS, QUICK_NUMBERS = (0, 20, 60, 120), (0, 20)  # of pairs that are asked for
MOST_BEHIND, MOST_SHARE = 0.01, 0.5  # log-loss behind the best number; its seconds


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


def letters(n: int = 15_000, n_test: int = 5_000) -> Split:
    """26 letters as 16 counts of what their strokes, slanted and of several widths, look like."""
    rng = np.random.default_rng(0)
    n_all = n + n_test
    y, style = rng.integers(0, 26, n_all), rng.integers(0, 3, n_all)
    shape = rng.normal(size=(26, 3, 8))[y, style] + 0.35 * rng.normal(size=(n_all, 8))
    slant, width = rng.normal(size=(2, n_all, 1))
    sums = shape @ rng.normal(size=(8, 16)) + 0.5 * slant * rng.normal(size=16)
    products = (shape @ rng.normal(size=(8, 16))) * (shape @ rng.normal(size=(8, 16)))
    X = np.rint(np.clip(7.5 + 1.2 * sums + 0.3 * products + 0.5 * width, 0, 15))
    return X[:n], y[:n], X[n:], y[n:]


def usps() -> Split:
    """The digits of envelopes, with their official split."""
    bunch = load_usps()
    train = ~bunch.is_test.astype(bool)
    return bunch.data[train], bunch.target[train], bunch.data[~train], bunch.target[~train]


def covtype(n: int = 20_000, n_test: int = 20_000) -> Split:
    """Seven kinds of forest, a sample of the rows."""
    bunch = load_covtype()
    at = np.random.default_rng(0).permutation(len(bunch.data))[: n + n_test]
    X, y = np.asarray(bunch.data[at], dtype=np.float64), bunch.target[at]
    return X[:n], y[:n], X[n:], y[n:]


TABLES: dict[str, Callable[[], Split]] = {
    "digits": digits,
    "strokes": strokes,
    "letters": letters,
    "usps": usps,
    "covtype": covtype,
}


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


def one_table(name: str, asked: int | str) -> tuple[float, float, int]:
    """Measure one table of several classes."""
    return measured(TABLES[name](), asked)


def of_classes(quick: bool, each: Map) -> tuple[list[list[str]], list[report.Bar]]:
    """Return one line per table and number of pairs, and what the choice has to reach."""
    lines = [["table", "interactions", "log-loss", "seconds", "pairs"]]
    numbers = QUICK_NUMBERS if quick else NUMBERS
    tables, asked = ("digits",) if quick else tuple(TABLES), (*numbers, "auto")
    cases = [(name, of) for name in tables for of in asked]
    found = dict(zip(cases, each(one_table, *zip(*cases, strict=True)), strict=True))
    for (name, of), (loss, seconds, n_pairs) in found.items():
        lines.append([name, str(of), f"{loss:.4f}", f"{seconds:.1f}", str(n_pairs)])
    bars = []
    for name in tables:
        best = min(numbers, key=lambda of, name=name: found[name, of][0])
        auto, by_number = found[name, "auto"], found[name, best]
        behind = auto[0] - by_number[0]
        bars.append(report.Bar(f"{name}: behind {best} pairs", behind, most=MOST_BEHIND))
        if best > 0:
            share = auto[1] / by_number[1]
            bars.append(report.Bar(f"{name}: share of their time", share, most=MOST_SHARE))
    return lines, bars


def one_category(n_levels: int, seed: int, n: int, n_test: int) -> tuple[float, bool]:
    """Return what surfaces add to the loss of an additive table, and whether there are any."""
    split = additive(n_levels, seed, n, n_test)
    loss, _, n_pairs = measured(split, "auto", seed)
    return loss - measured(split, 0, seed)[0], n_pairs > 0


def of_categories(quick: bool, each: Map) -> tuple[list[list[str]], list[float]]:
    """Return one line per number of levels, and what surfaces added to every loss."""
    lines = [["levels", "mean", "worst", "tables with pairs"]]
    n, n_test = (1_000, 2_000) if quick else (8_000, 20_000)
    levels, seeds = LEVELS[:1] if quick else LEVELS, range(2 if quick else N_SEEDS)
    cases = [(of, seed, n, n_test) for of in levels for seed in seeds]
    found = list(each(one_category, *zip(*cases, strict=True)))
    for of in levels:
        own = [one for one, case in zip(found, cases, strict=True) if case[0] == of]
        added = [one[0] for one in own]
        numbers = [f"{np.mean(added):+.5f}", f"{max(added):+.5f}"]
        lines.append([f"{of:,}", *numbers, str(sum(one[1] for one in own))])
    return lines, [one[0] for one in found]


def page(quick: bool, each: Map) -> Iterator[str]:
    """Everything, as a page for the documentation."""
    machine = report.describe_machine()
    yield "# Pairs that are there, and none that are not"
    yield report.caution({"quick": quick}) + (
        "`python benchmarks/pairs_held_out.py --output docs` writes this page. Seconds are "
        "processor time of one fit on one thread."
    )
    yield report.machine_block(machine)
    yield "## Several classes"
    lines, bars = of_classes(quick, each)
    yield report.markdown(lines)
    yield report.items(bars)
    yield "## Additive tables with a category"
    lines, added = of_categories(quick, each)
    yield (
        'There is no interaction. What `interactions="auto"` adds to the log-loss of the curves '
        f"alone, on tables of {1_000 if quick else 8_000:,} rows:"
    )
    yield report.markdown(lines)
    mean = report.Bar("added in the mean", float(np.mean(added)), most=MOST_IN_THE_MEAN)
    worst = report.Bar("added at worst", max(added), most=MOST_AT_WORST)
    yield report.items([mean, worst])


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="few and small tables", output="folder for pairs_held_out.md"
    )
    parser.add_argument("--at-once", type=int, default=1, help="fits at a time")
    given = parser.parse_args()
    if given.at_once == 1:
        sections = list(page(given.quick, map))
    else:
        with ProcessPoolExecutor(max_workers=given.at_once) as pool:
            sections = list(page(given.quick, pool.map))
    report.publish(sections, given.output, "pairs_held_out.md")


if __name__ == "__main__":
    main()
