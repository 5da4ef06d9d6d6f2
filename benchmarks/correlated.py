"""Curves of columns that depend on each other: the whole Hessian against its diagonal blocks.

python benchmarks/correlated.py                    some minutes
python benchmarks/correlated.py --output docs      and write correlated.md there
python benchmarks/correlated.py --quick            two seeds of few tables
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from unittest.mock import patch

import command
import numpy as np
import report
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import gmean
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.solvers.reml import turns

SEEDS, QUICK_SEEDS = 30, 2
N_TEST = 2_000
CORRELATIONS = (0.0, 0.9, 0.97)
SCORE_FACTOR = 2.0  # of the logistic model's scores
MOST_WORSE, MOST_IN_MEAN, MOST_SLOWER = 1.06, 1.005, 3.0

CURVES: tuple[Callable[[NDArray], NDArray], ...] = (
    lambda x: np.sin(2.0 * x),
    lambda x: 0.5 * x,
    lambda x: np.maximum(x, 0.0),
    lambda x: x**2 / 3.0,
)

INTRODUCTION = f"""\
`python benchmarks/correlated.py --output docs` writes this page. Columns are normal, any two with
the same correlation. The first of them have the curves sin 2x, x/2, max(x, 0) and x²/3;
*irrelevant* ones have none. For numbers, the noise has a standard deviation of 1; labels are drawn
from a logistic model whose scores are {SCORE_FACTOR:g} times as large. The error is the root mean
squared error of the model's scores against the truth on {N_TEST:,} further rows, in the mean over
{SEEDS} tables. *Whole* takes the variances that REML needs from the inverse of the whole Hessian,
as models of at most {turns.MOST_TOGETHER} coefficients do by default; *blocks* takes them from its
diagonal blocks, as if all other curves were known, as larger models do
([mathematics](mathematics.md)). Seconds are processor time on one thread, the median of fits."""


@dataclass(frozen=True)
class Design:
    """Tables with so many rows, and columns that matter and that do not."""

    is_class: bool
    n: int
    relevant: int
    irrelevant: int

    def __str__(self) -> str:
        kind = "labels" if self.is_class else "numbers"
        return f"{kind}, {self.n} x {self.relevant + self.irrelevant}"

    def truth(self, X: NDArray) -> NDArray:
        """Return the scores of rows."""
        total = np.sum([f(X[:, j]) for j, f in enumerate(CURVES[: self.relevant])], axis=0)
        return SCORE_FACTOR * (total - 0.5) if self.is_class else total

    def columns(self, n: int, correlation: float, random: np.random.Generator) -> NDArray:
        """Return n rows."""
        shape = n, self.relevant + self.irrelevant
        common = np.sqrt(correlation) * random.normal(size=(n, 1))
        return common + np.sqrt(1.0 - correlation) * random.normal(size=shape)


DESIGNS = [
    Design(is_class, n, *columns)
    for is_class in (False, True)
    for n, columns in ((200, (2, 0)), (300, (4, 0)), (300, (4, 2)), (500, (2, 3)), (200, (1, 1)))
]


@contextmanager
def by_blocks() -> Iterator[None]:
    """Measure all models by the blocks of the Hessian."""
    with patch.object(turns, "MOST_TOGETHER", 0):
        yield


def measure(design: Design, correlation: float, seed: int) -> list[tuple[float, float]]:
    """Return the error and the seconds of both ways for one table."""
    random = np.random.default_rng(seed)
    X, T = (design.columns(n, correlation, random) for n in (design.n, N_TEST))
    scores = design.truth(X)
    kind = AdditiveClassifier if design.is_class else AdditiveRegressor
    if design.is_class:
        y = random.random(design.n) < expit(scores)
    else:
        y = scores + random.normal(size=design.n)
    out = []
    for way in (nullcontext, by_blocks):
        with threadpool_limits(1), way():
            began = time.process_time()
            model = kind(random_state=0, n_jobs=1).fit(X, y)
            seconds = time.process_time() - began
        found = model.decision_function(T) if design.is_class else model.predict(T)
        out.append((float(np.sqrt(np.mean((found - design.truth(T)) ** 2))), seconds))
    return out


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="two seeds of few tables", output="folder for correlated.md"
    )
    given = parser.parse_args()
    seeds = range(QUICK_SEEDS if given.quick else SEEDS)
    rows = [["table", "irrelevant", "correlation", "blocks", "whole", "ratio", "seconds"]]
    ratios, slower = [], []
    for design in DESIGNS[:2] if given.quick else DESIGNS:
        for correlation in CORRELATIONS:
            found = np.array([measure(design, correlation, seed) for seed in seeds])
            whole, blocks = found[:, :, 0].mean(axis=0)
            of_whole, of_blocks = np.median(found[:, :, 1], axis=0)
            ratios.append(whole / blocks)
            slower.append(of_whole / of_blocks)
            numbers = [f"{blocks:.3f}", f"{whole:.3f}", f"{whole / blocks:.3f}"]
            seconds = f"{of_blocks:.3f}, {of_whole:.3f}"
            rows.append(
                [str(design), str(design.irrelevant), f"{correlation:g}", *numbers, seconds]
            )
            print(rows[-1], flush=True)
    bars = [
        report.Bar("the largest ratio of errors", max(ratios), most=MOST_WORSE),
        report.Bar("the geometric mean of the ratios", float(gmean(ratios)), most=MOST_IN_MEAN),
        report.Bar("the largest ratio of seconds", max(slower), most=MOST_SLOWER),
    ]
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Columns that depend on each other", introduction, report.machine_block()]
    sections += [report.markdown(rows), "## Bars", report.items(bars)]
    report.publish(sections, given.output, "correlated.md")


if __name__ == "__main__":
    main()
