"""The raw census table, straight from its CSV file: AUC and seconds, whole and with gaps.

python benchmarks/raw_table.py                          adult: some seconds
python benchmarks/raw_table.py --output docs            writes docs/raw_table.md, too
python benchmarks/raw_table.py --quick                  a made-up table, no files needed
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import command
import numpy as np
import report
import sets
from sklearn.metrics import log_loss, roc_auc_score

from splinear import AdditiveClassifier
from splinear.datasets import load_adult_raw

N_JOBS = 2
BLANKED = 0.2  # share of the cells that are made missing

INTRODUCTION = f"""\
The census table as published: 14 columns by name, eight of them text, `?` read as missing; 32,561
training rows and 16,281 test rows. The data frame is passed to `fit` as it is. Then {BLANKED:.0%}
of all cells, in training and test rows, are blanked at random (seed 0), and the same code runs
again. `python benchmarks/raw_table.py --output docs` writes this page. Seconds are the time of a
fit, on {N_JOBS} threads. `C=1.0` is there for comparison: one strength for all terms, where
`AdditiveClassifier()` chooses one for each."""


class Measured(NamedTuple):
    """What one fit took, and how good it was."""

    auc: float
    log_loss: float
    seconds: float
    predicting: float


def measure(data: Any, table: Any, C: float | None) -> Measured:
    """Fit on the training rows, score the test rows."""
    train, test = ~table.is_test, table.is_test
    model = AdditiveClassifier(C=C, n_jobs=N_JOBS, random_state=0)
    start = time.perf_counter()
    model.fit(data[train], table.target[train])
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    probabilities = model.predict_proba(data[test])[:, 1]
    predicting = time.perf_counter() - start
    y = table.target[test]
    return Measured(
        float(roc_auc_score(y, probabilities)),
        float(log_loss(y, probabilities)),
        seconds,
        predicting,
    )


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = command.make_parser(
        __doc__, quick="a made-up table instead", output="folder for raw_table.md"
    )
    given = parser.parse_args()
    table = sets.raw_synthetic(3000) if given.quick else load_adult_raw()
    blanked = table.data.mask(np.random.default_rng(0).random(table.data.shape) < BLANKED)
    tables = {"whole": table.data, f"{BLANKED:.0%} of the cells blank": blanked}
    models = {"AdditiveClassifier()": None, "AdditiveClassifier(C=1.0)": 1.0}
    found: dict[tuple[str, str], Measured] = {}
    lines = [["table", "model", "AUC", "log-loss", "seconds to fit", "to predict"]]
    for model, C in models.items():
        for title, data in tables.items():
            one = found[title, model] = measure(data, table, C)
            numbers = [f"{one.auc:.4f}", f"{one.log_loss:.4f}"]
            lines.append([title, model, *numbers, f"{one.seconds:.2f}", f"{one.predicting:.2f}"])
            print(*lines[-1], sep="  ", flush=True)
    whole, blank = (found[title, "AdditiveClassifier()"] for title in tables)
    bars = [
        report.Bar("AUC of the whole table", whole.auc, least=0.927),
        report.Bar("seconds to fit it", whole.seconds, most=5),
        report.Bar("AUC lost to the blanks", whole.auc - blank.auc, most=0.02),
    ]
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# A raw table", introduction, report.machine_block(), report.markdown(lines)]
    if not given.quick:
        sections.append(report.items(bars))
    report.publish(sections, given.output, "raw_table.md")


if __name__ == "__main__":
    main()
