"""How long it takes to choose the smoothness of every term, and how well threads share the work.

python benchmarks/reml.py --quick                small tables of noise: some seconds
python benchmarks/reml.py                        the census table, a million rows, 100 columns
python benchmarks/reml.py --threads 1,2,16       threads for the 100 columns
python benchmarks/reml.py --output docs          writes docs/reml.md, too

The machine should do nothing else meanwhile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import command
import numpy as np
import report
import sets

from splinear import AdditiveClassifier, _core
from splinear.datasets import load_adult_raw
from splinear.solvers.reml import choosing
from splinear.terms import Spline

# What the core does on threads: functions that go over the rows, and how often, and others.
PASSES = {"score_many": 1, "sum_many": 1, "blocks_many": 1, "hessian_some": 1, "curved_sums": 2}
PASSES["least_step"] = 2  # for every product
OTHERS = ("hessian_thinned", "sum_all", "loss_sums", "loss_shift", "loss_value", "loss_each")
OTHERS += ("loss_gap", "some_rows", "sample_rows", "column_ranges", "sorted_columns")
OTHERS += ("spread_knots", "tail_knots", "arrow_group", "solve_arrow", "step_variances")
OTHERS += ("cautious_bends", "moved_scores", "missing_bends", "add_levels", "row_sums")
OTHERS += ("penalized_bands", "band_sums", "upper_half", "put_rows", "take_rows")
MOST_ADULT, MOST_MILLION = 0.25, 15.0  # seconds
MOST_SERIAL, LEAST_SPEED_UP, MANY = 0.05, 9.0, 16  # of one thread's time; on this many threads
REPEATS = 5

INTRODUCTION = """\
The time of `AdditiveClassifier().fit`, which chooses the smoothness of every term. On one thread it
is processor time, so that other programs matter little. *Turns* are the iterations in which
variances are chosen. A *pass* reads all rows that are used, or a sample of them. *Serial* is the
share of the time on one thread that is spent outside of multithreaded functions of the core, on
this machine: with p threads, a fit takes at least that share plus 1/p of the rest.
`python benchmarks/reml.py --output docs` writes this page."""


@dataclass(frozen=True)
class Case:
    """A table, its classes, the curves, the threads to be tried, and how often."""

    name: str
    X: Any
    y: Any
    curve: Spline | None
    threads: tuple[int, ...]
    repeats: int = 1


@dataclass
class Found:
    """What fits took: the least seconds by threads, and of a last one on one thread the rest."""

    seconds: dict[int, float] = field(default_factory=dict)
    turns: int = 0
    passes: int = 0
    serial: float = 0.0


@dataclass
class Watch:
    """Calls of some functions of the core, and the seconds inside them."""

    calls: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    turns: int = 0

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that notes its time."""

        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            out = function(*args, **kwargs)
            self.seconds += time.process_time() - start
            n = out[0].n_products if name == "least_step" else 1
            self.calls[name] = self.calls.get(name, 0) + n
            return out

        return call

    def counted(self, choose: Callable[..., Any]) -> Callable[..., Any]:
        """Return a way to choose smoothness that notes its turns."""

        def call(*args: Any, **kwargs: Any) -> Any:
            found = choose(*args, **kwargs)
            self.turns += found.n_turns
            return found

        return call


@contextmanager
def watching() -> Iterator[Watch]:
    """Watch the core, and the choice of smoothness."""
    watch = Watch()

    class Codes(_core.Codes):
        fill = watch.timed("fill", _core.Codes.fill)

    new = {name: watch.timed(name, getattr(_core, name)) for name in (*PASSES, *OTHERS)}
    choose = watch.counted(choosing.choose_smoothness)
    with (
        patch.multiple(_core, Codes=Codes, **new),
        patch.object(choosing, "choose_smoothness", choose),
    ):
        yield watch


def cases(quick: bool, threads: tuple[int, ...]) -> Iterator[Case]:
    """Yield the tables, one after the other: they are large."""
    raw = sets.raw_synthetic(500) if quick else load_adult_raw()
    train = ~np.asarray(raw.is_test, dtype=bool)
    yield Case("census, raw", raw.data[train], np.asarray(raw.target)[train], None, (1,), REPEATS)
    two = (min(2, os.cpu_count() or 1),)
    yield Case("a million rows", *sets.waves(2_000 if quick else 10**6, 30), Spline(128), two)
    yield Case("100 columns", *sets.waves(2_000 if quick else 200_000, 100), None, threads)


def measure(case: Case) -> Found:
    """Fit a case as often as it asks for, then once more on one thread and watched."""
    found = Found()
    AdditiveClassifier(random_state=0).fit(*sets.waves(300, 3))  # what is imported late, is
    for n_jobs in case.threads:
        model = AdditiveClassifier(case.curve, n_jobs=n_jobs, random_state=0)
        found.seconds[n_jobs] = min(seconds_of(model, case) for _ in range(case.repeats))
    with watching() as watch:
        start = time.process_time()
        AdditiveClassifier(case.curve, n_jobs=1, random_state=0).fit(case.X, case.y)
        spent = time.process_time() - start
    found.turns, found.serial = watch.turns, 1.0 - watch.seconds / spent
    found.passes = sum(n * watch.calls.get(name, 0) for name, n in PASSES.items())
    return found


def seconds_of(model: AdditiveClassifier, case: Case) -> float:
    """Return the seconds of a fit: on one thread those of the processor, else of the clock."""
    clock = time.process_time if model.n_jobs == 1 else time.perf_counter
    start = clock()
    model.fit(case.X, case.y)
    return clock() - start


def line(case: Case, found: Found) -> list[str]:
    """Return a case's line of the table."""
    n_rows, n_columns = case.X.shape
    seconds = ", ".join(f"{s:.3g} ({p})" for p, s in found.seconds.items())
    shape = f"{n_rows:,} x {n_columns}"
    return [
        case.name,
        shape,
        seconds,
        str(found.turns),
        str(found.passes),
        f"{100 * found.serial:.0f} %",
    ]


def bars(found: dict[str, Found]) -> list[report.Bar]:
    """Say what must hold."""
    census, million, wide = found.values()
    two = million.seconds.get(2)
    speed_up = None
    if MANY in wide.seconds and 1 in wide.seconds:
        speed_up = wide.seconds[1] / wide.seconds[MANY]
    return [
        report.Bar("census, raw: seconds", census.seconds[1], most=MOST_ADULT),
        report.Bar("a million rows: seconds on two threads", two, most=MOST_MILLION),
        report.Bar("100 columns: serial share", wide.serial, most=MOST_SERIAL),
        report.Bar(f"100 columns: speed-up on {MANY} threads", speed_up, least=LEAST_SPEED_UP),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(__doc__, quick="small tables", output="folder for reml.md")
    parser.add_argument("--threads", default="1,2", help="for the 100 columns")
    given = parser.parse_args(arguments)
    threads = tuple(int(n) for n in given.threads.split(","))
    table, found = [["table", "size", "seconds (threads)", "turns", "passes", "serial"]], {}
    for case in cases(given.quick, threads):
        found[case.name] = measure(case)
        table.append(line(case, found[case.name]))
    parts = ["# Choosing smoothness", INTRODUCTION, report.machine_block(), report.markdown(table)]
    parts += ["## Bars", report.items(bars(found))]
    report.publish(parts, given.output, "reml.md")


if __name__ == "__main__":
    main()
