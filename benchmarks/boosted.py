"""AdditiveClassifier() against EBM without interactions: seconds on one thread, AUC, log-loss.

python benchmarks/boosted.py                     seven tables, one after the other: half an hour
python benchmarks/boosted.py --at-once 8         as many tables at a time, one thread each
python benchmarks/boosted.py --data "magic;skin" only these data sets, named as in defaults.py
python benchmarks/boosted.py --output docs       writes docs/boosted.md, too
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median

import command
import report
from defaults import KNOWN, REPEATS, WITHIN, Row, measured
from tabular_rivals import RIVALS
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier

TABLES = (
    "spambase",
    "adult, raw",
    "credit_default",
    "magic",
    "cod_rna",
    "skin",
    "covtype, class 2",
)
MEDIAN_BAR, LEAST_BAR = 100.0, 50.0  # times as fast

INTRODUCTION = f"""\
`AdditiveClassifier()` compared with EBM (`interpret-core`) with `interactions=0`, its additive
form, both with no other arguments, on one thread; the best of up to {REPEATS} fits that take
{WITHIN:.0f} s in all. Tables and splits are those of [the defaults](defaults.md).
`python benchmarks/boosted.py --output docs` writes this page. Several tables may be measured at
once, each on a core of its own."""


def compare(data: str, quick: bool) -> Row:
    """Fit both to one table."""
    split = KNOWN[data].load()
    repeats = 1 if quick else REPEATS
    with threadpool_limits(limits=1):
        ours = measured(AdditiveClassifier(n_jobs=1, random_state=0), split, repeats)
        theirs = measured(RIVALS["ebm"].make().model, split, 1)  # type: ignore[attr-defined]
    row = {"data": data, "ours": ours, "theirs": theirs}
    print(row, flush=True)
    return row


def page(rows: list[Row], introduction: str) -> list[str]:
    """Return the page's parts."""
    lines = [["table", "rows x columns", "seconds", "EBM", "times as fast", "AUC", "EBM"]]
    lines[0] += ["log-loss", "EBM"]
    ratios = []
    for row in rows:
        ours, theirs = row["ours"], row["theirs"]
        ratios.append(theirs["seconds"] / ours["seconds"])
        lines.append(
            [
                row["data"],
                f"{ours['n_rows']:,} x {ours['n_columns']:,}",
                f"{ours['seconds']:.2g}",
                f"{theirs['seconds']:.3g}",
                f"{ratios[-1]:.0f}",
                *(f"{one[m]:.4f}" for m in ("AUC", "log-loss") for one in (ours, theirs)),
            ]
        )
    bars = [
        report.Bar("times as fast, median", median(ratios), least=MEDIAN_BAR),
        report.Bar("times as fast, least", min(ratios), least=LEAST_BAR),
    ]
    parts = ["# Against boosted curves", introduction, report.machine_block()]
    return [*parts, report.markdown(lines), report.items(bars)]


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="small synthetic data", output="folder for boosted.md"
    )
    parser.add_argument("--data", help="data sets, by semicolons", default=";".join(TABLES))
    parser.add_argument("--at-once", type=int, default=1, help="tables at a time")
    given = parser.parse_args()
    names = ["synthetic"] if given.quick else given.data.split(";")
    compared = partial(compare, quick=given.quick)
    if given.at_once == 1:
        rows = [compared(name) for name in names]
    else:
        with ProcessPoolExecutor(max_workers=given.at_once) as pool:
            rows = list(pool.map(compared, names))
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    report.publish(page(rows, introduction), given.output, "boosted.md")


if __name__ == "__main__":
    main()
