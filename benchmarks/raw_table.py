"""The raw census table, straight from its CSV file: AUC and seconds, whole and with holes.

python benchmarks/raw_table.py                          adult: some seconds
python benchmarks/raw_table.py --output docs            writes docs/raw_table.md, too
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import report
from sklearn.metrics import roc_auc_score

from splinear import AdditiveClassifier
from splinear.datasets import load_adult_raw

N_JOBS = 2
BLANKED = 0.2  # share of the cells that are made missing

MODEL = {
    "loss": "logistic",
    "smoothness": "reml",
    "knots": "quantile",
    "n_bins": 128,
    "missing": "level",
}

INTRODUCTION = """\
The census table as published: 14 columns by name, eight of them text, `?` read as missing; 32,561
rows to train on and 16,281 to test. The data frame goes straight into `fit`. Then {blanked:.0%} of
all cells, of training and test rows, are blanked at random (seed 0), and the same code runs again.
`python benchmarks/raw_table.py --output docs` writes this page. Seconds are of the fit, on {n_jobs}
threads. Models with all other defaults are there for comparison."""


def measure(title: str, data: Any, adult: Any, **options: Any) -> list[str]:
    """Fit on the training rows, score the test rows; give a line of the table."""
    train, test = ~adult.is_test, adult.is_test
    model = AdditiveClassifier(n_jobs=N_JOBS, random_state=0, **options)
    start = time.perf_counter()
    model.fit(data[train], adult.target[train])
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    probabilities = model.predict_proba(data[test])[:, 1]
    predicting = time.perf_counter() - start
    auc = roc_auc_score(adult.target[test], probabilities)
    print(f"{title}: AUC {auc:.4f} in {seconds:.2f} s", flush=True)
    return [title, f"{auc:.4f}", f"{seconds:.2f}", f"{predicting:.2f}"]


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, help="folder for raw_table.md")
    output = parser.parse_args().output
    adult = load_adult_raw()
    holes = adult.data.mask(np.random.default_rng(0).random(adult.data.shape) < BLANKED)
    named = ", ".join(f"{name}={value!r}" for name, value in MODEL.items())
    plain = {"loss": "logistic", "missing": "level"}
    lines = [
        ["table, model", "AUC", "seconds to fit", "to predict"],
        measure("whole", adult.data, adult, **MODEL),
        measure(f"{BLANKED:.0%} of the cells blank", holes, adult, **MODEL),
        measure("whole, other defaults", adult.data, adult, **plain),
        measure(f"{BLANKED:.0%} blank, other defaults", holes, adult, **plain),
    ]
    whole, blank, seconds = float(lines[1][1]), float(lines[2][1]), float(lines[1][2])
    bars = [
        report.Bar("AUC of the whole table", whole, least=0.923),
        report.Bar("seconds to fit it", seconds, most=5),
        report.Bar("AUC lost to the blanks", whole - blank, most=0.02),
    ]
    print("\n".join(map(str, bars)))
    if output is not None:
        sections = [
            "# A raw table",
            INTRODUCTION.format(blanked=BLANKED, n_jobs=N_JOBS),
            f"```text\n{report.machine_lines(report.describe_machine())}\n```",
            f"The model is `AdditiveClassifier({named})`.",
            report.markdown(lines),
            "\n".join(f"- {bar}" for bar in bars),
        ]
        output.mkdir(parents=True, exist_ok=True)
        (output / "raw_table.md").write_text("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
