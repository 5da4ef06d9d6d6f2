"""What it costs to hold curves to a form: monotone, convex, against the same fit without.

python benchmarks/shapes.py                        magic and credit_default; a minute
python benchmarks/shapes.py --data "magic"         only this data set
python benchmarks/shapes.py --output docs          and write shapes.md there
python benchmarks/shapes.py --quick                scikit-learn's breast cancer data
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import command
import numpy as np
import report
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from splinear import AdditiveClassifier
from splinear.datasets import load_credit_default, load_magic
from splinear.terms import Spline

REPEATS = 5
MOST = 3.0  # times the free fit
FREE, PIECES = 128, "128 pieces"
KNOWN: dict[str, Callable[[], Any]] = {"magic": load_magic, "credit_default": load_credit_default}

INTRODUCTION = f"""\
`python benchmarks/shapes.py --output docs` writes this page. `AdditiveClassifier` is trained on
three quarters of the rows, a stratified sample with seed 0; AUC is measured on the others. *free*
has no constraints. *Rising or falling* constrains every curve to be monotone, in the direction in
which the free curve ends; *against* uses the opposite direction; *every second* constrains only
half of the curves; *convex* constrains all curves to be convex. Seconds are processor time on one
thread, the least of {REPEATS} fits; the ratio is to the free fit with the same C. With C=None the
smoothness is chosen first, as for a free fit; free curves then have 128 pieces, the others 64. *128
pieces* are rising or falling curves with as many pieces as free ones: slower, and no better
here."""


def forms(free: AdditiveClassifier) -> dict[str, dict[int, Spline]]:
    """Return the terms of every case, by the directions in which free curves end."""
    up, down = Spline(monotone="increasing"), Spline(monotone="decreasing")
    convex = Spline(curvature="convex")
    curves = [term for term in free.terms_ if term.kind == "Spline" and term.coef.shape[1]]
    rises = {term.features[0]: term.coef[0, -1] > term.coef[0, 0] for term in curves}
    along = {j: up if is_up else down for j, is_up in rises.items()}
    return {
        "free": {},
        "rising or falling": along,
        "every second": dict(list(along.items())[::2]),
        "against": {j: down if term is up else up for j, term in along.items()},
        "convex": dict.fromkeys(along, convex),
    }


def fine(along: dict[int, Spline]) -> dict[int, Spline]:
    """Return the same terms with as many pieces as free curves have where smoothness is chosen."""
    made = {id(term): clone(term).set_params(n_bins=FREE) for term in along.values()}
    return {j: made[id(term)] for j, term in along.items()}


def timed(fit: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least seconds of some fits, and the last model."""
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        model = fit()
        seconds.append(time.process_time() - began)
    return min(seconds), model


def section(name: str, X: Any, y: Any) -> list[str]:
    """Fit all cases to a data set."""
    split = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    train, test, y_train, y_test = split
    rows = [["C", "curves", "seconds", "ratio", "gap", "AUC"]]
    worst = 0.0
    for C in (None, 1.0):
        cases = forms(AdditiveClassifier(C=C, random_state=0).fit(train, y_train))
        before = np.nan
        if C is None:
            cases[PIECES] = fine(cases["rising or falling"])
        for title, terms in cases.items():
            model = AdditiveClassifier(terms=terms, C=C, random_state=0)
            seconds, model = timed(lambda model=model: model.fit(train, y_train))
            before = seconds if title == "free" else before
            worst = worst if title == PIECES else max(worst, seconds / before)
            auc = roc_auc_score(y_test, model.decision_function(test))
            numbers = [f"{seconds:.2g}", f"{seconds / before:.1f}", f"{model.dual_gap_:.0e}"]
            rows.append([str(C), title, *numbers, f"{auc:.4f}"])
            print(rows[-1], flush=True)
    bar = report.Bar(f"{name}: the largest ratio", worst, most=MOST)
    return [f"## {name}", f"{len(train):,} x {X.shape[1]}.", report.markdown(rows), f"- {bar}"]


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="scikit-learn's breast cancer data instead", output="folder for shapes.md"
    )
    parser.add_argument("--data", help="names of data sets, with commas between them")
    given = parser.parse_args()
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Curves of a given shape", introduction, report.machine_block()]
    if given.quick:
        sections += section("breast cancer", *load_breast_cancer(return_X_y=True))
    else:
        for name in command.chosen(parser, given.data, KNOWN, KNOWN):
            bunch = KNOWN[name]()
            sections += section(name, bunch.data, bunch.target)
    report.publish(sections, given.output, "shapes.md")


if __name__ == "__main__":
    main()
