"""How well threads share the work: one thread against many, in one run.

python benchmarks/threads.py --quick              small tables: some seconds
python benchmarks/threads.py                      200,000 x 100 and the digits of MNIST
python benchmarks/threads.py --most 8             as many threads at most
python benchmarks/threads.py --output docs        writes docs/threads.md, too

Seconds of the clock: the machine should do nothing else meanwhile.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import command
import numpy as np
import report
import sets
from sklearn.exceptions import ConvergenceWarning

from splinear import AdditiveClassifier, AdditiveSVC, _core
from splinear.terms import Spline

DIGIT = 3
LOOP, READING = "a loop without shared data", "reading"
REPEATS, MOST_REPEATS = 2, 10
ENOUGH = 1.0  # seconds of one thread after which no more runs are needed

INTRODUCTION = """\
Wall-clock seconds on one thread and on many, the least of {least} to {most} alternating runs,
more the shorter they are, and the speed-up. *hinge*: `AdditiveSVC(Spline(40), tol=1e-2).fit`.
*Newton*: `AdditiveClassifier(Spline(40), C=1.0).fit`. *REML*: `AdditiveClassifier().fit`. *coding*:
turning the values of X into codes, the first step of every fit. *scoring*: `decision_function`.
Each pair of models was compared: the scores are the same to the last bit. The first lines show what
the machine can reach: *a loop without shared data* adds up a few numbers repeatedly in every
thread; *reading* adds up an array that fits into no cache, a part of it per thread.
`python benchmarks/threads.py --output docs` writes this page."""


@dataclass(frozen=True)
class Case:
    """Work that takes a number of threads, and returns its seconds and what must not change."""

    name: str
    size: str
    work: Callable[[int], tuple[float, Any]]
    wanted: int  # threads, if the machine has as many
    least: float | None  # times as fast on this many


def seconds_of(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a job, and what it returns."""
    start = time.perf_counter()
    out = job()
    return time.perf_counter() - start, out


def fit(model: Any, X: Any, y: Any, n_jobs: int) -> tuple[float, Any]:
    """Fit, and score some rows."""
    seconds, fitted = seconds_of(lambda: model.set_params(n_jobs=n_jobs).fit(X, y))
    return seconds, fitted.decision_function(X[:1000])


def score(model: Any, X: Any, n_jobs: int) -> tuple[float, Any]:
    """Score all rows."""
    return seconds_of(lambda: model.set_params(n_jobs=n_jobs).decision_function(X))


def code(X: Any, y: Any, n_jobs: int) -> tuple[float, Any]:
    """Begin a fit, and count only what coding takes."""
    seconds, fill_codes = 0.0, _core.Codes.fill

    class Codes(_core.Codes):
        def fill(self, *args: Any, **kwargs: Any) -> Any:
            nonlocal seconds
            took, out = seconds_of(lambda: fill_codes(self, *args, **kwargs))
            seconds += took
            return out

    model = AdditiveSVC(Spline(40), C=1.0, max_iter=1, random_state=0, n_jobs=n_jobs)
    with patch.object(_core, "Codes", Codes), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return seconds, model.decision_function(X[:1000])


def on_threads(part: Callable[[int], Any], n_threads: int) -> tuple[float, Any]:
    """Call part(0), ..., part(n_threads - 1) on as many threads of Python: NumPy lets them run."""
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(time.sleep, [0.01] * n_threads))  # all are there before the clock runs
        seconds, _ = seconds_of(lambda: list(pool.map(part, range(n_threads))))
    return seconds, None


def compute(n_calls: int, n_threads: int) -> tuple[float, Any]:
    """Add up a few numbers, which stay in the nearest cache, over and over."""

    def part(_: int) -> None:
        again = np.broadcast_to(np.linspace(-1.0, 1.0, 2048), (4096, 2048))
        for _ in range(n_calls // n_threads):
            again.sum(axis=1)

    return on_threads(part, n_threads)


def read(x: Any, n_threads: int) -> tuple[float, Any]:
    """Add up all numbers of an array."""
    return on_threads(lambda k: np.array_split(x, n_threads)[k].sum(), n_threads)


def cases(quick: bool) -> Iterator[Case]:
    """Yield what is measured; tables are made as they are needed."""
    n_calls, x = 16 if quick else 480, np.ones(10**5 if quick else 10**8)
    for wanted in (8, 16):
        yield Case(LOOP, "", partial(compute, n_calls), wanted, None)
        yield Case(READING, f"{x.nbytes / 2**20:,.0f} MiB", partial(read, x), wanted, None)
    del x
    X, y = sets.waves(2_000 if quick else 200_000, 100)
    size = f"{len(X):,} x {X.shape[1]}"
    svc = AdditiveSVC(Spline(40), C=1.0, tol=1e-2, random_state=0)
    yield Case("hinge", size, partial(fit, svc, X, y), 8, 3.5)
    newton = AdditiveClassifier(Spline(40), C=1.0, random_state=0)
    yield Case("Newton", size, partial(fit, newton, X, y), 16, 9.0)
    reml = AdditiveClassifier(random_state=0)
    yield Case("REML", size, partial(fit, reml, X, y), 16, 9.0)
    yield Case("coding", size, partial(code, X, y), 16, 12.0)
    yield Case("scoring", size, partial(score, svc, X), 16, 12.0)
    try:
        X, y, *_ = sets.synthetic(1_000) if quick else sets.mnist(None)
    except OSError as error:
        print(f"mnist: left out. {error}")
        return
    X, size = X.astype(np.float32), f"{len(X):,} x {X.shape[1]:,}"
    digit = y == (1 if quick else DIGIT)
    yield Case("hinge, one digit", size, partial(fit, svc, X, digit), 8, 3.5)
    yield Case("coding", size, partial(code, X, digit), 16, 12.0)
    yield Case("scoring", size, partial(score, svc, X), 16, 12.0)
    yield Case("hinge, all classes", size, partial(fit, svc, X, y), 8, None)


def measure(case: Case, most: int, most_repeats: int) -> tuple[float, float]:
    """Return the seconds on one thread and on many."""
    one: list[float] = []
    many: list[float] = []
    while len(one) < REPEATS or (len(one) < most_repeats and sum(one) < ENOUGH):
        for threads, seconds in ((1, one), (most, many)):
            took, found = case.work(threads)
            seconds.append(took)
            if threads == 1:
                expected = found
            elif not np.array_equal(found, expected):
                raise AssertionError(f"{case.name}, {case.size}: threads change the result")
    return min(one), min(many)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(__doc__, quick="small tables", output="folder for threads.md")
    most = os.cpu_count() or 1
    parser.add_argument("--most", type=int, default=most, help="threads (default: cores)")
    given = parser.parse_args(arguments)
    head = ["what", "size", "one thread, s", "threads", "many, s", "times as fast"]
    table, bars, reached = [head], [], []
    for case in cases(given.quick):
        threads = min(case.wanted, given.most)
        one, many = measure(case, threads, REPEATS if given.quick else MOST_REPEATS)
        numbers = [f"{one:.3g}", str(threads), f"{many:.3g}", f"{one / many:.2f}"]
        table.append([case.name, case.size, *numbers])
        print(" | ".join(table[-1]), flush=True)
        if case.name in (LOOP, READING):
            reached.append(f"{case.name} {one / many:.1f} times on {threads}")
        if case.least is not None:
            what = f"{case.name}, {case.size}: {case.wanted} threads"
            speed_up = one / many if threads == case.wanted else None
            bars.append(report.Bar(what, speed_up, least=case.least))
    introduction = INTRODUCTION.format(least=REPEATS, most=MOST_REPEATS)
    parts = ["# Threads", introduction, report.machine_block(), report.markdown(table), "## Bars"]
    parts += [f"What the machine itself reached: {', '.join(reached)}.", report.items(bars)]
    report.publish(parts, given.output, "threads.md")


if __name__ == "__main__":
    main()
