"""Kernels against the time it takes to read what they read, once.

python benchmarks/bounds.py --quick         2,000 rows: some seconds
python benchmarks/bounds.py                 20,000 rows and 1,000 columns: a minute or two
python benchmarks/bounds.py --output docs   writes docs/bounds.md, too

One thread, and seconds of the processor, the least of some repeats that take turns; the machine
should do nothing else meanwhile.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import command
import numpy as np
import numpy.typing as npt
import report

from splinear import AdditiveSVC, _core
from splinear.solvers.rows import TrainingRows
from splinear.tables.opening import open_table
from splinear.terms import Spline

VARIABLE = "SPLINEAR_INSTRUCTIONS"
SHAPE, QUICK_SHAPE = (20_000, 1_000), (2_000, 40)
N_TIMES, N_QUICK = 5, 2
N_FITTED = 2_000  # rows that a model is made from: what it says does not matter
N_BINS = 40
LONG_TAIL = 3  # every third column has one, and so knots of its own by default
CODING, FLOATS, CODES, ADDING = "coding", "scores of floats", "scores of codes", "adding to tables"
BYTES = {CODING: 6, FLOATS: 4, CODES: 2, ADDING: 2}  # per value, those written included
KNOTS = {"uniform": "uniform", "default": "auto"}

# What must hold.
MOST = {"avx512": 2.0, "avx2": 3.0}  # times the bound, uniform knots
MOST_WARPED = 1.15

INTRODUCTION = """\
Every kernel on {shape} values in float32, where every third column has a long tail, with curves of
degree 1 and {n_bins} pieces. One thread. `python benchmarks/bounds.py --output docs` writes this
page.

*bound* is the time to read and write the bytes that the kernel needs, at the bandwidth with which
this machine reads an array, {bandwidth:.1f} GB/s on one core. *ns* is the processor time per value,
the least of {n_times} runs. *to the bound* is their ratio. *to uniform* is the time relative to the
same kernel with uniform knots. Coding with uniform knots runs the same loop on every instruction
set. Scores of floats include everything else that `decision_function` does. Products of rows within
a team are not listed, because they read from the cache."""

Array = npt.NDArray[np.float32]
Found = dict[tuple[str, str, str], float]  # seconds by kernel, instruction set and knots


def draw(n_rows: int, n_columns: int) -> Array:
    """Return values from 0 to 1, and in some columns such that most are near the lowest."""
    random = np.random.default_rng(0)
    X = random.random((n_rows, n_columns), dtype=np.float32)
    tails = X[:, ::LONG_TAIL]
    tails[:] = np.exp(2 * random.standard_normal(tails.shape, dtype=np.float32))
    return X


def seconds(job: Callable[[], object]) -> float:
    """Return the seconds of the processor that a job takes."""
    began = time.process_time()
    job()
    return time.process_time() - began


def bandwidth(X: Array, n_times: int) -> float:
    """Return the bytes per second at which an array is read: NumPy's fastest sum of it."""
    flat = X.reshape(-1)
    jobs = (lambda: flat.sum(), lambda: flat.view(np.int32).sum(dtype=np.int32))
    return X.nbytes / min(seconds(job) for _ in range(n_times) for job in jobs)


@dataclass(frozen=True)
class Kernels:
    """What is measured, on one array and one kind of knots."""

    X: Array
    model: AdditiveSVC
    rows: TrainingRows

    @classmethod
    def of(cls, X: Array, knots: str) -> Kernels:
        """Fit a model and code the rows."""
        model = AdditiveSVC(Spline(N_BINS, knots=knots), max_iter=2, random_state=0, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:N_FITTED], X[:N_FITTED, 1] > 0.5)
        return cls(X, model, TrainingRows.prepare(open_table(X), model._model.layout))

    def jobs(self) -> dict[str, Callable[[], object]]:
        """Return what each kernel has to do."""
        layout, parameters = self.model._model.layout, self.model._model.parameters
        steps = np.linspace(-1.0, 1.0, len(self.X))[None, :]
        return {
            CODING: lambda: TrainingRows.prepare(open_table(self.X), layout),
            FLOATS: lambda: self.model.decision_function(self.X),
            CODES: lambda: self.rows.scores(parameters),
            ADDING: lambda: self.rows.sums(steps),
        }


def measure(X: Array, n_times: int) -> Found:
    """Run all kernels on all instruction sets but the reference, in turn."""
    names = [name for name in _core.instruction_sets() if name != "reference"]
    cases = {title: Kernels.of(X, knots).jobs() for title, knots in KNOTS.items()}
    found: Found = {}
    before = os.environ.get(VARIABLE)
    for _ in range(n_times):
        for name in names:
            os.environ[VARIABLE] = name
            for title, jobs in cases.items():
                for kernel, job in jobs.items():
                    key = kernel, name, title
                    found[key] = min(seconds(job), found.get(key, float("inf")))
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before
    return found


def lines(found: Found, n_values: int, speed: float) -> list[list[str]]:
    """Return the table."""
    out = [["kernel", "instructions", "knots", "bound, ns", "ns", "to the bound", "to uniform"]]
    for kernel in BYTES:
        for (of, name, knots), spent in found.items():
            if of != kernel:
                continue
            bound = BYTES[kernel] / speed
            cells = [1e9 * bound, 1e9 * spent / n_values, spent / n_values / bound]
            ratio = spent / found[kernel, name, "uniform"]
            out.append([kernel, name, knots, *(f"{cell:.3g}" for cell in cells), f"{ratio:.2f}"])
    return out


def bars(found: Found, n_values: int, speed: float) -> list[report.Bar]:
    """Compare what was measured with what should hold."""
    out = []
    for kernel in (FLOATS, CODES):
        for name, most in MOST.items():
            spent = found.get((kernel, name, "uniform"))
            value = None if spent is None else spent / n_values / (BYTES[kernel] / speed)
            out.append(report.Bar(f"{name}: {kernel} / the bound", value, most=most))
    for kernel in (CODING, FLOATS):
        for name in dict.fromkeys(name for _, name, _ in found):
            value = found[kernel, name, "default"] / found[kernel, name, "uniform"]
            what = f"{name}: {kernel}, default knots / uniform ones"
            out.append(report.Bar(what, value, most=MOST_WARPED))
    return out


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="2,000 rows and 40 columns", output="folder for bounds.md"
    )
    given = parser.parse_args()
    n_times = N_QUICK if given.quick else N_TIMES
    X = draw(*(QUICK_SHAPE if given.quick else SHAPE))
    speed = bandwidth(X, 5 * n_times)
    found = measure(X, n_times)
    introduction = INTRODUCTION.format(
        shape=" x ".join(f"{n:,}" for n in X.shape),
        n_bins=N_BINS,
        bandwidth=speed / 1e9,
        n_times=n_times,
    )
    report.publish(
        [
            "# Kernels and their bounds",
            introduction,
            report.machine_block(),
            report.markdown(lines(found, X.size, speed)),
            "## Bars",
            report.items(bars(found, X.size, speed)),
        ],
        given.output,
        "bounds.md",
    )


if __name__ == "__main__":
    main()
