"""Kernels against the time it takes to read what they read, once.

python benchmarks/bounds.py --quick         2,000 rows: some seconds
python benchmarks/bounds.py                 20,000 rows and 1,000 columns: a minute or two
python benchmarks/bounds.py --output docs   writes docs/bounds.md, too

One thread, by the clock of the processor, and all threads, by the clock on the wall; the least of
some repeats that take turns. The machine should do nothing else meanwhile.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import command
import numpy as np
import numpy.typing as npt
import report

from splinear import AdditiveSVC, _core
from splinear.objective.local.training_rows import TrainingRows
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
degree 1 and {n_bins} pieces. `python benchmarks/bounds.py --output docs` writes this page.

*bound* is the time to read and write the bytes that the kernel needs, at the bandwidth with which
the same number of threads reads an array: {bandwidths}. *ns* is the time per value, the least of
{n_times} runs: processor time on one thread, wall-clock time on several. *to the bound* is their
ratio. *to uniform* is the time relative to the same kernel with uniform knots. Coding with uniform
knots runs the same loop on every instruction set. Scores of floats include everything else that
`decision_function` does. Products of rows within a team are not listed, because they read from the
cache."""

Array = npt.NDArray[np.float32]
Found = dict[tuple[str, str, str], float]  # seconds by kernel, instruction set and knots


def draw(n_rows: int, n_columns: int) -> Array:
    """Return values from 0 to 1, and in some columns such that most are near the lowest."""
    random = np.random.default_rng(0)
    X = random.random((n_rows, n_columns), dtype=np.float32)
    tails = X[:, ::LONG_TAIL]
    tails[:] = np.exp(2 * random.standard_normal(tails.shape, dtype=np.float32))
    return X


def seconds(job: Callable[[], object], n_threads: int) -> float:
    """Return the seconds that a job takes: those of the processor, if it has one thread."""
    clock = time.process_time if n_threads == 1 else time.perf_counter
    began = clock()
    job()
    return clock() - began


def bandwidth(X: Array, n_times: int, n_threads: int) -> float:
    """Return the bytes per second at which an array is read: NumPy's fastest sum of it."""
    parts = np.array_split(X.reshape(-1), n_threads)
    sums = (np.sum, lambda part: part.view(np.int32).sum(dtype=np.int32))
    with ThreadPoolExecutor(n_threads) as pool:
        read = pool.map if n_threads > 1 else map  # a thread of its own would be counted as well
        jobs = [lambda sum=sum: list(read(sum, parts)) for sum in sums]
        return X.nbytes / min(seconds(job, n_threads) for _ in range(n_times) for job in jobs)


@dataclass(frozen=True)
class Kernels:
    """What is measured, on one array and one kind of knots."""

    X: Array
    model: AdditiveSVC
    rows: TrainingRows

    @classmethod
    def of(cls, X: Array, knots: str) -> Kernels:
        """Fit a model and code the rows."""
        model = AdditiveSVC(
            Spline(N_BINS, knots=knots), C=1.0, max_iter=2, random_state=0, n_jobs=1
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:N_FITTED], X[:N_FITTED, 1] > 0.5)
        return cls(X, model, TrainingRows.prepare(open_table(X), model._model.layout))

    def jobs(self, n_threads: int) -> dict[str, Callable[[], object]]:
        """Return what each kernel has to do."""
        layout, parameters = self.model._model.layout, self.model._model.parameters
        self.model.set_params(n_jobs=n_threads)
        steps = np.linspace(-1.0, 1.0, len(self.X))[None, :]
        return {
            CODING: lambda: TrainingRows.prepare(open_table(self.X), layout, n_threads=n_threads),
            FLOATS: lambda: self.model.decision_function(self.X),
            CODES: lambda: self.rows.scores(parameters, n_threads),
            ADDING: lambda: self.rows.sums(steps, n_threads),
        }


@dataclass(frozen=True)
class Measured:
    """Seconds of all kernels, and the bytes per second that as many threads read."""

    n_threads: int
    n_values: int
    speed: float
    found: Found

    def bound(self, kernel: str) -> float:
        """Return the seconds per value that reading and writing take."""
        return BYTES[kernel] / self.speed

    def to_the_bound(self, kernel: str, name: str, knots: str) -> float | None:
        """Return how many times as long a kernel takes; None if it was not measured."""
        spent = self.found.get((kernel, name, knots))
        return None if spent is None else spent / self.n_values / self.bound(kernel)


def measure(cases: dict[str, Kernels], n_times: int, n_threads: int) -> Measured:
    """Run all kernels on all instruction sets but the reference, in turn."""
    names = [name for name in _core.instruction_sets() if name != "reference"]
    jobs_of = {title: kernels.jobs(n_threads) for title, kernels in cases.items()}
    X = cases["uniform"].X
    speed = bandwidth(X, 5 * n_times, n_threads)
    found: Found = {}
    before = os.environ.get(VARIABLE)
    for _ in range(n_times):
        for name in names:
            os.environ[VARIABLE] = name
            for title, jobs in jobs_of.items():
                for kernel, job in jobs.items():
                    key = kernel, name, title
                    found[key] = min(seconds(job, n_threads), found.get(key, float("inf")))
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before
    return Measured(n_threads, X.size, speed, found)


def lines(all_measured: list[Measured]) -> list[list[str]]:
    """Return the table."""
    head = ["threads", "kernel", "instructions", "knots", "bound, ns", "ns", "to the bound"]
    out = [[*head, "to uniform"]]
    for measured in all_measured:
        for (kernel, name, knots), spent in sorted(
            measured.found.items(), key=lambda entry: list(BYTES).index(entry[0][0])
        ):
            ratio = spent / measured.found[kernel, name, "uniform"]
            cells = [
                1e9 * measured.bound(kernel),
                1e9 * spent / measured.n_values,
                measured.to_the_bound(kernel, name, knots),
            ]
            numbers = [*(f"{cell:.3g}" for cell in cells), f"{ratio:.2f}"]
            out.append([str(measured.n_threads), kernel, name, knots, *numbers])
    return out


def bars(all_measured: list[Measured]) -> list[report.Bar]:
    """Compare what was measured with what should hold."""
    out = []
    for measured in all_measured:
        for kernel in (FLOATS, CODES):
            for name, most in MOST.items():
                value = measured.to_the_bound(kernel, name, "uniform")
                what = f"{name}, threads: {measured.n_threads}: {kernel} / the bound"
                out.append(report.Bar(what, value, most=most))
    found = all_measured[0].found
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
    cases = {title: Kernels.of(X, knots) for title, knots in KNOTS.items()}
    counts = sorted({1, os.cpu_count() or 1})
    measured = [measure(cases, n_times, n_threads) for n_threads in counts]
    introduction = INTRODUCTION.format(
        shape=" x ".join(f"{n:,}" for n in X.shape),
        n_bins=N_BINS,
        bandwidths=", ".join(f"{m.speed / 1e9:.1f} GB/s with {m.n_threads}" for m in measured),
        n_times=n_times,
    )
    report.publish(
        [
            "# Kernels and their bounds",
            introduction,
            report.machine_block(),
            report.markdown(lines(measured)),
            "## Bars",
            report.items(bars(measured)),
        ],
        given.output,
        "bounds.md",
    )


if __name__ == "__main__":
    main()
