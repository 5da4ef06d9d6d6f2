"""Training and scoring on every instruction set of this machine, for several kinds of curves.

python benchmarks/instructions.py --quick         2,000 rows of waves: some seconds
python benchmarks/instructions.py                 one digit of MNIST against the others
python benchmarks/instructions.py --repeats 1     every fit once, not twice
python benchmarks/instructions.py --output docs   writes docs/instructions.md, too

One thread, and seconds of the processor, the least of some repeats that take turns; the machine
should do nothing else meanwhile.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, field

import command
import numpy as np
import numpy.typing as npt
import report
import sets
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from splinear import AdditiveSVC, _core
from splinear.terms import Spline

DIGIT = 3
N_SCORED = 10_000
N_TIMES = 2
N_CALLS = 5  # of decision_function per fit
VARIABLE = "SPLINEAR_INSTRUCTIONS"
D0, D1 = "D_0, 20 bins", "D_1, 40 bins"
QUADRATIC, CUBIC = "quadratic, D_2, 20 bins", "cubic, D_2, 20 bins"
WARPED = ", default knots"
CURVES = {
    D0: Spline(20, penalty_order=0, knots="uniform"),
    D1: Spline(40, penalty_order=1, knots="uniform"),
    QUADRATIC: Spline(20, degree=2, penalty_order=2, knots="uniform"),
    CUBIC: Spline(20, degree=3, penalty_order=2, knots="uniform"),
    D0 + WARPED: Spline(20, penalty_order=0),
    D1 + WARPED: Spline(40, penalty_order=1),
}

# What must hold.
SLOWER = {"avx2": 1.6, "portable": 2.5}  # than avx512
MOST_D0, MOST_CUBIC, MOST_WARPED = 1.2, 4.0, 1.15

INTRODUCTION = """\
`AdditiveSVC(curve, tol=1e-2)` on {shape}, float32, with every instruction set that this machine
supports; `SPLINEAR_INSTRUCTIONS` forces one. One thread.
`python benchmarks/instructions.py --output docs` writes this page.

*seconds* is the processor time of a whole fit, the least of {n_times} runs. *to the first* is
relative to the first line with the same curves. *to D_1* is relative to {d1} on the same
instruction set. *ms per pass* is the time from the first pass to the last, divided by the number of
passes, whether they visit all rows or only those that are left, and including certificates.
*scoring* is nanoseconds per value of `decision_function`, the least of {n_calls} calls per fit."""


@dataclass
class Measured:
    """Fits of one kind of curve on one instruction set."""

    seconds: list[float] = field(default_factory=list)
    scoring: list[float] = field(default_factory=list)  # nanoseconds per value
    n_iter: int = 0
    gap: float = float("nan")
    pass_seconds: float = float("nan")

    def fit(self, curve: Spline, X: npt.NDArray[np.float32], y: npt.NDArray[np.bool_]) -> None:
        """Fit once more, and score some rows."""
        passes: list[float] = []
        model = AdditiveSVC(
            curve,
            C=1.0,
            tol=1e-2,
            random_state=0,
            n_jobs=1,
            callback=lambda _: passes.append(time.process_time()),
        )
        began = time.process_time()
        model.fit(X, y)
        self.seconds.append(time.process_time() - began)
        for _ in range(N_CALLS):
            began = time.process_time()
            model.decision_function(X[:N_SCORED])
            nanoseconds = 1e9 * (time.process_time() - began)
            self.scoring.append(nanoseconds / X[:N_SCORED].size)
        self.n_iter, self.gap = model.n_iter_, model.dual_gap_
        self.pass_seconds = (passes[-1] - passes[0]) / max(len(passes) - 1, 1)


Found = dict[tuple[str, str], Measured]  # by instruction set and curves


def measure(X: npt.NDArray[np.float32], y: npt.NDArray[np.bool_], n_times: int) -> Found:
    """Fit all curves on all instruction sets but the reference, in turn."""
    names = [name for name in _core.instruction_sets() if name != "reference"]
    found = {(name, title): Measured() for title in CURVES for name in names}
    before = os.environ.get(VARIABLE)
    for _ in range(n_times):
        for (name, title), measured in found.items():
            os.environ[VARIABLE] = name
            measured.fit(CURVES[title], X, y)
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before
    return found


def seconds_of_a_line(X: npt.NDArray[np.float32], y: npt.NDArray[np.bool_]) -> float:
    """Return the seconds of LinearSVC, on features from 0 to 1."""
    lo, hi = X.min(axis=0), X.max(axis=0)
    unit = ((X - lo) / np.where(lo < hi, hi - lo, 1)).astype(np.float64)
    model = LinearSVC(loss="hinge", C=1.0, tol=0.1, random_state=0)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(unit, y)
    return time.process_time() - began


def ratio(found: Found, over: tuple[str, str], under: tuple[str, str]) -> float | None:
    """Divide the seconds of two fits; None if one was not measured."""
    if over not in found or under not in found:
        return None
    return min(found[over].seconds) / min(found[under].seconds)


def lines(found: Found) -> list[list[str]]:
    """Return the table."""
    first = next(iter(found))[0]
    head = ["curves", "instructions", "seconds", "to the first", "to D_1"]
    out = [[*head, "passes", "ms per pass", "gap", "scoring, ns"]]
    for (name, title), measured in found.items():
        out.append(
            [
                title,
                name,
                f"{min(measured.seconds):.3g}",
                report.number(ratio(found, (name, title), (first, title)), ".2f"),
                report.number(ratio(found, (name, title), (name, D1)), ".2f"),
                str(measured.n_iter),
                f"{1e3 * measured.pass_seconds:.3g}",
                f"{measured.gap:.1e}",
                f"{min(measured.scoring):.2f}",
            ]
        )
    return out


def bars(found: Found) -> list[report.Bar]:
    """Compare what was measured with what should hold."""
    out = [
        report.Bar(
            f"{title}: {name} / avx512", ratio(found, (name, title), ("avx512", title)), most=most
        )
        for title in (D0, D1, CUBIC)
        for name, most in SLOWER.items()
    ]
    for name in dict.fromkeys(name for name, _ in found):
        own = {title: measured for (of, title), measured in found.items() if of == name}
        for title, most in ((D0, MOST_D0), (CUBIC, MOST_CUBIC)):
            value = ratio(found, (name, title), (name, D1))
            out.append(report.Bar(f"{name}: {title} / {D1}", value, most=most))
        for title in (D0, D1):
            warped = title + WARPED
            value = ratio(found, (name, warped), (name, title))
            out.append(report.Bar(f"{name}: {warped} / uniform ones", value, most=MOST_WARPED))
            scoring = min(own[warped].scoring) / min(own[title].scoring)
            what = f"{name}: scoring, {warped} / uniform ones"
            out.append(report.Bar(what, scoring, most=MOST_WARPED))
    return out


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="2,000 rows, and no files", output="folder for instructions.md"
    )
    parser.add_argument("--repeats", type=int, default=N_TIMES, help="fits of a kind")
    given = parser.parse_args()
    try:
        X, y, *_ = sets.synthetic(2_000) if given.quick else sets.mnist(None)
    except OSError as error:
        print(f"mnist: left out. {error}")
        return
    n_times = 1 if given.quick else given.repeats
    target = y == (1 if given.quick else DIGIT)
    found = measure(X.astype(np.float32), target, n_times)
    shape = f"{len(X):,} x {X.shape[1]:,}" + ("" if given.quick else f", the digit {DIGIT}")
    line = f"LinearSVC, a straight line per feature: {seconds_of_a_line(X, target):.3g} seconds."
    report.publish(
        [
            "# Instruction sets",
            INTRODUCTION.format(shape=shape, n_calls=N_CALLS, n_times=n_times, d1=D1),
            report.machine_block(),
            report.markdown(lines(found)),
            line,
            "## Bars",
            report.items(bars(found)),
        ],
        given.output,
        "instructions.md",
    )


if __name__ == "__main__":
    main()
