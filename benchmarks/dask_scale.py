"""A logistic fit on workers of Dask: seconds, bytes over the network, and what follows for many.

python benchmarks/dask_scale.py                        2 million rows x 20: a minute
python benchmarks/dask_scale.py --large 100000000      so many, too, with the most workers only
python benchmarks/dask_scale.py --workers 2 16         this many processes, one after the other
python benchmarks/dask_scale.py --memory 1GB           the limit of each
python benchmarks/dask_scale.py --output docs          and write dask_scale.md there
python benchmarks/dask_scale.py --quick                20,000 rows, threads instead of processes
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import command
import dask.array as da
import dask_wire
import numpy as np
import report
from distributed import Client, LocalCluster
from sklearn.metrics import roc_auc_score

from splinear import AdditiveClassifier
from splinear.dask import DaskAdditiveClassifier, fitting

N_COLUMNS = 20
ROWS_PER_PART = 250_000
N_TEST = SAMPLE = 200_000  # rows to compare on, and of the local fit
WORTH_TELLING = 1_000_000  # rows
MANY_ROWS, MANY_WORKERS, MANY_PER_PART = 10**10, 1_000, 10**6

INTRODUCTION = """\
`{command}`
writes this page. Workers generate the rows, of {n_columns} columns, whenever they are read, in
partitions of up to {n_part:,} rows; only the codes of the rows are stored.
`DaskAdditiveClassifier()` chooses the smoothness of every curve and is certified over all rows.
Every worker is a process with one thread and {memory} of memory, on one machine."""


@dataclass
class Measured:
    """What a fit took."""

    seconds: float
    n_passes: int
    n_parts: int
    one: dask_wire.Pass
    model: DaskAdditiveClassifier


def block(numbers: Any) -> Any:
    """Return the rows that begin with this number."""
    random = np.random.default_rng(int(numbers[0, 0]))
    return random.standard_normal((len(numbers), N_COLUMNS), dtype=np.float32)


def classes(X: Any, numbers: Any) -> Any:
    """Return the classes of these rows."""
    random = np.random.default_rng(int(numbers[0, 0]) + 1)
    f = sum(np.sin((j + 1) * X[:, j]) + 0.8 * (np.abs(X[:, 4 + j]) > 1) for j in range(4))
    p = 1.0 / (1.0 + np.exp(1.0 - f))
    return (random.random(len(X), dtype=np.float32) < p).astype(np.int8)


def rows(n: int) -> tuple[da.Array, da.Array]:
    """Return rows that nobody has computed yet."""
    numbers = da.arange(n, chunks=min(n, ROWS_PER_PART))[:, None]
    X = numbers.map_blocks(block, chunks=(numbers.chunks[0], (N_COLUMNS,)), dtype=np.float32)
    return X, da.map_blocks(classes, X, numbers, drop_axis=1, dtype=np.int8)


def fit(n: int, n_workers: int, memory: str, *, processes: bool) -> Measured:
    """Fit on some workers."""
    made: list[Any] = []
    original = fitting.Cluster

    def noted(*args: Any) -> Any:
        made.append(original(*args))
        made[-1].release = _keep  # parts are measured after the fit
        return made[-1]

    fitting.Cluster = noted  # type: ignore[assignment, misc]
    options: dict[str, Any] = {"dashboard_address": ":0", "memory_limit": memory}
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=processes, **options
        ) as c,
        Client(c) as client,
    ):
        client.run(_ready)  # workers have imported what they need
        began = time.perf_counter()
        told = _Told(began)
        estimator = DaskAdditiveClassifier(
            random_state=0, client=client, verbose=2 * told.is_worth_it(n), callback=told
        )
        model = estimator.fit(*rows(n))
        seconds = time.perf_counter() - began
        n_passes, n_parts = made[0].n_passes, len(made[0].parts)
        one = dask_wire.measure(client, made[0], model)
    fitting.Cluster = original  # type: ignore[misc]
    return Measured(seconds, n_passes, n_parts, one, model)


@dataclass
class _Told:
    """Says how long a fit has taken so far, after every pass: many rows take minutes."""

    began: float

    def is_worth_it(self, n_rows: int) -> bool:
        """Tell whether there are so many rows."""
        return n_rows >= WORTH_TELLING

    def __call__(self, progress: Any) -> None:
        """Print the seconds."""
        if self.is_worth_it(progress.n_rows) and progress.phase is None:
            print(f"  {time.perf_counter() - self.began:.1f} s", file=sys.stderr, flush=True)


def _keep() -> None:
    pass


def _ready() -> None:
    from splinear import dask

    assert dask


def main() -> None:
    """Measure, print the page."""
    parser = command.make_parser(__doc__, quick="20,000 rows", output="folder for dask_scale.md")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--large", type=int, help="rows of another fit, with the most workers")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory", default="1GB", help="limit per worker")
    given = parser.parse_args()
    n = given.rows or (20_000 if given.quick else 2_000_000)
    found = {
        workers: fit(n, workers, given.memory, processes=not given.quick)
        for workers in given.workers
    }
    asked = f"python benchmarks/dask_scale.py --rows {n} --workers {' '.join(map(str, found))}"
    sections = measured(n, found) + compared(n, found) + on_the_wire(found) + counted(n, found)
    if given.large:
        asked += f" --large {given.large}"
        most = max(given.workers)
        large = {most: fit(given.large, most, given.memory, processes=not given.quick)}
        sections += measured(given.large, large) + compared(given.large, large)
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION.format(
        command=f"{asked} --memory {given.memory} --output docs",
        n_columns=N_COLUMNS,
        n_part=ROWS_PER_PART,
        memory=given.memory,
    )
    top = ["# Rows on a cluster, measured", introduction, report.machine_block()]
    report.publish(top + sections, given.output, "dask_scale.md")


def measured(n: int, found: dict[int, Measured]) -> list[str]:
    """Return a line per number of workers."""
    table = [
        [
            "workers",
            "partitions",
            "fit, s",
            "passes",
            "one pass, ms",
            "without Dask, ms",
            "most memory, MB",
            "gap",
            "certified",
        ]
    ]
    for workers, own in found.items():
        model, one = own.model, own.one
        numbers = [str(own.n_parts), f"{own.seconds:.1f}", str(own.n_passes)]
        numbers += [f"{1e3 * one.seconds:.1f}", f"{1e3 * one.alone:.1f}", f"{one.memory / 1e6:.0f}"]
        table.append([str(workers), *numbers, f"{model.dual_gap_:.1e}", str(model.certified_)])
    most, least = found[max(found)], found[min(found)]
    fits, passes = least.seconds / most.seconds, least.one.seconds / most.one.seconds
    several = [
        f"{max(found)} workers against {min(found)}: {fits:.2f} times as fast in all, {passes:.2f} "
        "times in a pass"
    ]
    lines = [
        *(several if len(found) > 1 else []),
        "a pass scores all rows anew and adds up the gradient; without Dask: the same calls of the "
        "core, one partition after the other, in the busiest worker",
    ]
    return [f"## {n:,} rows x {N_COLUMNS}", report.markdown(table), report.items(lines)]


def compared(n: int, found: dict[int, Measured]) -> list[str]:
    """Compare predictions with those of a local fit on a sample, on rows that neither has seen."""
    numbers = np.arange(2**40, 2**40 + N_TEST)[:, None]
    X_test = block(numbers)
    y_test = classes(X_test, numbers)
    X, y = (part[: min(n, SAMPLE)].compute(scheduler="synchronous") for part in rows(n))
    local = AdditiveClassifier(random_state=0).fit(X, y)
    aucs = [roc_auc_score(y_test, local.decision_function(X_test))]
    scores = [own.model.to_local().decision_function(X_test) for own in found.values()]
    aucs.append(roc_auc_score(y_test, scores[0]))
    same = all(np.array_equal(scores[0], other) for other in scores)
    lines = [
        f"AUC on {N_TEST:,} new rows: {aucs[1]:.5f}; of a local fit to {len(X):,} rows: "
        f"{aucs[0]:.5f}"
    ]
    if len(found) > 1:
        lines.append(f"all numbers of workers give the same scores, to the last bit: {same}")
    return [f"## The same model, of {n:,} rows", report.items(lines)]


def on_the_wire(found: dict[int, Measured]) -> list[str]:
    """Compare the bytes of a pass with the size of what it adds up."""
    table = [
        ["workers", "sums of a worker, B", "all sums, B", "workers send, B", "beside sums, B each"]
    ]
    for workers, own in found.items():
        one = own.one
        sums = workers * one.n_sums
        more = (one.from_workers - sums) / workers
        table.append([f"{x:,.0f}" for x in (workers, one.n_sums, sums, one.from_workers, more)])
    most = max(found)
    one = found[most].one
    lines = [
        "counted where distributed writes to its connections, in every worker and in the client's "
        "process, the least of some passes: workers also tell the scheduler of themselves",
        f"scheduler and client write {one.to_workers:,} B in a pass with {most} workers: the "
        f"model's tables, {one.n_recipe:,} B, to the scheduler and to each worker, and the sums to "
        "the client",
    ]
    return ["## Bytes of a pass", report.markdown(table), report.items(lines)]


def counted(n: int, found: dict[int, Measured]) -> list[str]:
    """Count what follows for many workers."""
    least = min(found)
    one = found[least].one
    per_row = one.seconds * least / n
    parts, per_worker = MANY_ROWS // MANY_PER_PART, MANY_ROWS // MANY_WORKERS
    up, down = MANY_WORKERS * one.n_sums / 1e6, MANY_WORKERS * one.n_recipe / 1e6
    lines = [
        f"with {MANY_ROWS:.0e} rows on {MANY_WORKERS:,} workers in {parts:,} partitions, a pass "
        f"reads {per_worker:.0e} rows per worker, {per_row * per_worker:.2f} s at the speed above; "
        f"it is {MANY_WORKERS:,} calls and no task of Dask's scheduler",
        f"the scheduler then sends {down:.0f} MB and receives {up:.0f} MB in a pass, where every "
        "worker has neighboring partitions",
        f"codes take {2e-9 * N_COLUMNS * per_worker:.1f} GB per worker",
    ]
    return ["## Many workers: counted, not measured", report.items(lines)]


if __name__ == "__main__":
    main()
