"""A logistic fit on workers of Dask: seconds, bytes over the network, and what follows for many.

python benchmarks/dask_scale.py                        2 million rows x 20: some minutes
python benchmarks/dask_scale.py --rows 100000000       an hour or so on two cores
python benchmarks/dask_scale.py --output docs          and write dask_scale.md there
python benchmarks/dask_scale.py --quick                20,000 rows, threads instead of processes
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import command
import dask.array as da
import numpy as np
import report
from distributed import Client, LocalCluster
from sklearn.metrics import roc_auc_score

from splinear import AdditiveClassifier
from splinear.dask import DaskAdditiveClassifier, fitting

N_COLUMNS = 20
ROWS_PER_PART = 250_000
N_TEST = SAMPLE = 200_000  # rows to compare on, and of the local fit
MEMORY = "1GB"  # per worker
MANY_ROWS, MANY_WORKERS, MANY_PER_PART = 10**10, 1_000, 10**6
SCHEDULER = 1e-3  # seconds per task, as Dask's own documentation says at most

INTRODUCTION = f"""\
`python benchmarks/dask_scale.py --output docs` writes this page. Rows of {N_COLUMNS} columns are
made by the workers whenever they are read, in partitions of up to {ROWS_PER_PART:,}, and never lie
anywhere; what stays are their codes. `DaskAdditiveClassifier()` chooses the smoothness of every
curve and is certified over all rows. Every worker is a process of one thread with {MEMORY} of
memory, on one machine."""


@dataclass
class Measured:
    """What a fit took."""

    seconds: float
    n_passes: int
    n_bytes: int  # of sums that came back
    sent: int  # by all workers to others and to the client
    n_parts: int
    pass_seconds: float  # of one that scores all rows anew
    model: DaskAdditiveClassifier


def block(numbers: Any, target: bool = False) -> Any:
    """Return the rows that begin with this number, or their classes."""
    n, random = len(numbers), np.random.default_rng(int(numbers[0, 0]))
    X = random.standard_normal((n, N_COLUMNS), dtype=np.float32)
    if not target:
        return X
    f = sum(np.sin((j + 1) * X[:, j]) + 0.8 * (np.abs(X[:, 4 + j]) > 1) for j in range(4))
    return (f - 1.0 + random.logistic(size=n) > 0).astype(np.int8)


def rows(n: int) -> tuple[da.Array, da.Array]:
    """Return rows that nobody has computed yet."""
    numbers = da.arange(n, chunks=min(n, ROWS_PER_PART))[:, None]
    X = numbers.map_blocks(block, chunks=(numbers.chunks[0], (N_COLUMNS,)), dtype=np.float32)
    return X, numbers.map_blocks(block, target=True, drop_axis=1, dtype=np.int8)


def fit(n: int, n_workers: int, *, processes: bool) -> Measured:
    """Fit on some workers."""
    made: list[Any] = []
    original = fitting.Cluster

    def noted(*args: Any) -> Any:
        made.append(original(*args))
        return made[-1]

    fitting.Cluster = noted  # type: ignore[assignment, misc]
    options: dict[str, Any] = {"dashboard_address": ":0", "memory_limit": MEMORY}
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=processes, **options
        ) as c,
        Client(c) as client,
    ):
        began = time.perf_counter()
        model = DaskAdditiveClassifier(random_state=0, client=client).fit(*rows(n))
        seconds = time.perf_counter() - began
        sent = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        cluster, total = made[0], sum(sent.values())
        n_passes, n_bytes = cluster.n_passes, cluster.n_bytes
        pass_seconds = one_pass(cluster, model)
        parts = len(cluster.parts)
    fitting.Cluster = original  # type: ignore[misc]
    return Measured(seconds, n_passes, n_bytes, total, parts, pass_seconds, model)


def one_pass(cluster: Any, model: DaskAdditiveClassifier) -> float:
    """Return the seconds of a pass that scores all rows and adds up a gradient."""
    from splinear.dask.losses import RemoteSum
    from splinear.dask.passes import RemoteRows

    like, layout = cluster.sample.sums[0], model._model.layout
    rows, total = RemoteRows(cluster, layout, 1, 1.0, None), RemoteSum(cluster, 0, like)
    times = []
    for k in range(3):
        F = rows.scores((1.0 + 1e-6 * k) * model._model.parameters)
        began = time.perf_counter()
        rows.sums(total.gradient(F))
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def main() -> None:
    """Measure, print the page."""
    parser = command.make_parser(__doc__, quick="20,000 rows", output="folder for dask_scale.md")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--workers", default="1,2", help="how many there are, one after the other")
    given = parser.parse_args()
    n = given.rows or (20_000 if given.quick else 2_000_000)
    found = {
        workers: fit(n, workers, processes=not given.quick)
        for workers in map(int, given.workers.split(","))
    }
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Rows on a cluster, measured", introduction, report.machine_block()]
    sections += measured(n, found) + compared(n, found) + counted(n, found)
    report.publish(sections, given.output, "dask_scale.md")


def measured(n: int, found: dict[int, Measured]) -> list[str]:
    """Return a line per number of workers."""
    table = [["workers", "partitions", "fit, s", "passes", "one pass, s", "gap", "certified"]]
    for workers, own in found.items():
        model = own.model
        numbers = [f"{own.seconds:.1f}", str(own.n_passes), f"{own.pass_seconds:.2f}"]
        proven = [f"{model.dual_gap_:.1e}", str(model.certified_)]
        table.append([str(workers), str(own.n_parts), *numbers, *proven])
    most, least = found[max(found)], found[min(found)]
    fits, passes = least.seconds / most.seconds, least.pass_seconds / most.pass_seconds
    lines = [
        f"the most workers against the fewest: {fits:.2f} times as fast in all, {passes:.2f} times "
        "in a pass",
    ]
    return [f"## {n:,} rows x {N_COLUMNS}", report.markdown(table), report.items(lines)]


def compared(n: int, found: dict[int, Measured]) -> list[str]:
    """Compare predictions with those of a local fit on a sample, on rows that neither has seen."""
    numbers = np.arange(2**40, 2**40 + N_TEST)[:, None]
    X_test, y_test = block(numbers), block(numbers, target=True)
    X, y = (part[: min(n, SAMPLE)].compute(scheduler="synchronous") for part in rows(n))
    local = AdditiveClassifier(random_state=0).fit(X, y)
    aucs = [roc_auc_score(y_test, local.decision_function(X_test))]
    scores = [own.model.to_local().decision_function(X_test) for own in found.values()]
    aucs.append(roc_auc_score(y_test, scores[0]))
    same = all(np.array_equal(scores[0], other) for other in scores)
    return [
        "## The same model",
        report.items(
            [
                f"AUC on {N_TEST:,} new rows: {aucs[1]:.5f}; of a local fit to {len(X):,} rows: "
                f"{aucs[0]:.5f}",
                f"all numbers of workers give the same scores, to the last bit: {same}",
            ]
        ),
    ]


def counted(n: int, found: dict[int, Measured]) -> list[str]:
    """Count bytes, and what follows for many workers."""
    most = max(found)
    own = found[most]
    table = len(own.model._model.parameters[0]) * 8
    per_row = found[min(found)].pass_seconds * min(found) / n
    parts, per_worker = MANY_ROWS // MANY_PER_PART, MANY_ROWS // MANY_WORKERS
    tasks = parts * (1 + 1 / 15)
    lines = [
        f"the model has {table / 8:.0f} coefficients, {table / 1e3:.1f} kB; the sums of a pass, "
        f"{own.n_bytes / own.n_passes / 1e3:.1f} kB on average, are what comes back",
        f"all that {most} workers sent, with the sample and the partitions of X that Dask moved: "
        f"{own.sent / 1e6:.1f} MB",
        f"counted, not measured: with {MANY_ROWS:.0e} rows on {MANY_WORKERS:,} workers in "
        f"{parts:,} partitions, a pass reads {per_worker:.0e} rows per worker, "
        f"{per_row * per_worker:.1f} s at the speed above; is {tasks:,.0f} tasks, "
        f"{SCHEDULER * tasks:.0f} s of Dask's scheduler at a millisecond each; and moves at most "
        f"{parts * table / 1e6:.0f} MB between workers, {table / 1e3:.1f} kB to the client",
        f"codes then take {2e-9 * N_COLUMNS * per_worker:.1f} GB per worker",
    ]
    return ["## Bytes, and many workers", report.items(lines)]


if __name__ == "__main__":
    main()
