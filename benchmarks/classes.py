"""Several classes at once: MNIST's ten digits against one, and all of covtype's seven.

python benchmarks/classes.py                     both; some minutes
python benchmarks/classes.py --data covtype      only this data set
python benchmarks/classes.py --output docs       and write classes.md there
python benchmarks/classes.py --quick             scikit-learn's digits, no files needed
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import command
import numpy as np
import report
import sets
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.terms import Spline

REPEATS = 3
N_JOBS = 2

INTRODUCTION = f"""\
`python benchmarks/classes.py --output docs` writes this page. Classes are trained in parallel on
{N_JOBS} threads and share the coded rows. Fits of all classes are the best of {REPEATS}. Compare
ratios: seconds differ from machine to machine. D_1 is a penalty on differences of neighboring
coefficients ([splines](guide/terms.md#splines))."""


def timed(fit: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Return the least seconds of some fits, and the last model."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        model = fit()
        seconds.append(time.perf_counter() - began)
    return min(seconds), model


def digits_together(X: Any, y: Any, name: str, n_bins: int) -> list[str]:
    """All digits in one fit, against the mean of fits of one digit."""

    def model(n_jobs: int) -> AdditiveSVC:
        return AdditiveSVC(Spline(n_bins, knots="uniform"), C=1.0, n_jobs=n_jobs, random_state=0)

    labels = np.unique(y)
    one, shared = (
        float(np.mean([timed(lambda k=k, n=n: model(n).fit(X, y == k), 1)[0] for k in labels]))
        for n in (1, N_JOBS)
    )
    every, fitted = timed(lambda: model(N_JOBS).fit(X, y))
    bar = report.Bar(f"{name}: all classes on {N_JOBS} cores / one on one", every / one, most=6)
    return [
        f"## {name}",
        f"{len(X):,} x {X.shape[1]:,}, AdditiveSVC, degree 1, D_1, {n_bins} bins of equal width.",
        report.items(
            [
                f"one class against the rest, the mean of {len(labels)}: {one:.2f} s on one core, "
                f"{shared:.2f} s on {N_JOBS}",
                f"all {len(labels)} classes on {N_JOBS} cores: {every:.2f} s, relative duality gap "
                f"{fitted.dual_gap_:.1e}",
                f"{bar}; {every / shared:.1f} times one on {N_JOBS}",
            ]
        ),
    ]


def forest(X: Any, y: Any, name: str, n_bins: int) -> list[str]:
    """All classes on all rows, timed; accuracy on a quarter that was held out."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    curve = Spline(n_bins, knots="uniform")
    models: dict[str, Any] = {
        "linear, LinearSVC on [0, 1], one against the rest": make_pipeline(
            MinMaxScaler(), LinearSVC(random_state=0)
        ),
        "AdditiveSVC, one against the rest": AdditiveSVC(
            curve, C=1.0, n_jobs=N_JOBS, random_state=0
        ),
        "AdditiveClassifier(C=1.0), softmax": AdditiveClassifier(
            curve, C=1.0, n_jobs=N_JOBS, random_state=0
        ),
    }
    rows, found = [["model", "seconds, all rows", "test accuracy"]], {}
    for title, model in models.items():
        seconds, _ = timed(lambda model=model: model.fit(X, y), 1)
        accuracy = model.fit(train, y_train).score(test, y_test)
        found[title] = (seconds, accuracy)
        rows.append([title, f"{seconds:.1f}", f"{accuracy:.2%}"])
        print(rows[-1], flush=True)
    (_, linear), *_ = found.values()
    bars = [
        bar
        for title, (seconds, accuracy) in list(found.items())[1:]
        for bar in (
            report.Bar(f"{title}: seconds", seconds, most=60),
            report.Bar(f"{title}: points above the linear model", 100 * (accuracy - linear), 1),
        )
    ]
    return [
        f"## {name}",
        f"{len(X):,} x {X.shape[1]:,}, {len(np.unique(y))} classes, degree 1, D_1, {n_bins} bins "
        f"of equal width, {N_JOBS} threads. Accuracy is that of a second fit, on a quarter of the "
        "rows that it did not see.",
        report.markdown(rows),
        report.items(bars),
    ]


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="scikit-learn's digits instead", output="folder for classes.md"
    )
    parser.add_argument("--data", default="mnist,covtype", help="mnist, covtype, or both")
    given = parser.parse_args()
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Several classes", introduction, report.machine_block()]
    if given.quick:
        X, y = load_digits(return_X_y=True)
        sections += digits_together(X, y, "digits", 10) + forest(X, y, "digits", 10)
    else:
        names = given.data.split(",")
        if "mnist" in names:
            X, y, _, _ = sets.mnist(None)
            sections += digits_together(X, y, "MNIST", 40)
        if "covtype" in names:
            X, y, _, _ = sets.covtype(None)
            sections += forest(X.astype(np.float32), y, "covtype", 20)
    report.publish(sections, given.output, "classes.md")


if __name__ == "__main__":
    main()
