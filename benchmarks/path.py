"""Compare a path of 20 values of C with cold fits: CPU seconds with one thread, and agreement.

python benchmarks/path.py                        all cases; MNIST takes minutes to prepare
python benchmarks/path.py --data adult,magic     only these data sets
python benchmarks/path.py --data synthetic       20,000 made-up rows, no files needed
python benchmarks/path.py --quick                1,500 of these, and 6 values of C
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import sets
from sklearn.datasets import load_breast_cancer, load_digits

from splinear import AdditiveClassifier, AdditiveSVC, PathSearchCV
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.reading import Given
from splinear.estimators.search import Setting
from splinear.estimators.trainer import Trained
from splinear.objective.running import one_blas_thread
from splinear.terms import Spline

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """A data set, the class that is set against the rest (None: all classes), and the model."""

    data: str
    positive: int | None
    model: str
    n_bins: int = 10

    @property
    def title(self) -> str:
        """What the table calls it."""
        return f"{self.data}, {self.model}, {self.n_bins} bins"

    def make(self, C: float = 1.0) -> AdditiveEstimator:
        """Make the model for one C."""
        return MODELS[self.model](Spline(self.n_bins, knots="uniform"), C=C, random_state=0)


MODELS = {"AdditiveSVC": AdditiveSVC, "AdditiveClassifier": AdditiveClassifier}


CASES = (
    Case("mnist", 3, "AdditiveSVC", n_bins=40),
    *(
        Case(data, positive, model)
        for data, positive in (
            ("adult", 1),
            ("magic", 1),
            ("credit_default", 1),
            ("breast_cancer", 1),
            ("digits", None),
            ("synthetic", 1),
        )
        for model in MODELS
    ),
)
TOYS = {"breast_cancer": load_breast_cancer, "digits": load_digits}


@dataclass(frozen=True)
class Found:
    """What was measured on a case."""

    shape: tuple[int, int]
    C: float  # the one that cross-validation chose
    score: float
    search: float  # seconds of the whole search
    path: float
    cold: float  # at the C that was chosen
    slowest: float  # of all cold fits
    all_cold: float
    disagreement: float  # largest relative difference of objectives

    @property
    def line(self) -> str:
        """The row of the table, without its title."""
        return (
            f"{self.shape[0]:,} x {self.shape[1]} | {self.C:.3g} | {self.score:.4f} | "
            f"{self.search:.2f} | {self.path:.3f} | {self.cold:.3f} | {self.slowest:.3f} | "
            f"{self.all_cold:.2f} | {self.path / self.cold:.1f} | "
            f"{self.path / self.slowest:.1f} | {self.disagreement:.2g}"
        )


HEADER = (
    "case | shape | C chosen | score | search | path | cold | slowest | all cold | path / cold | "
    "path / slowest | disagreement"
)


def main() -> None:
    """Measure what was asked for and print a table."""
    known = sorted({case.data for case in CASES})
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help=f"data sets, by commas, of {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="1,500 synthetic rows")
    given = parser.parse_args()
    default = ["synthetic"] if given.quick else known
    names = default if given.data is None else given.data.split(",")
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"--data: no such one: {', '.join(unknown)}")
    Cs = np.geomspace(1e-3, 1, 6) if given.quick else 20
    print(HEADER, flush=True)
    for name in names:
        try:
            X, y = load(name, 2000 if given.quick else None)
        except OSError as error:
            print(f"{name}: left out. {error}")
            continue
        for case in (case for case in CASES if case.data == name):
            target = y if case.positive is None else y == case.positive
            print(f"{case.title} | {measure(case, X, target, Cs).line}", flush=True)


def load(name: str, n_rows: int | None) -> tuple[Any, Any]:
    """Return the training rows of a data set."""
    if name in TOYS:
        return TOYS[name](return_X_y=True)
    return sets.SETS[name](n_rows)[:2]


def measure(case: Case, X: Any, y: Any, Cs: Any) -> Found:
    """Search for C; then follow its path on all rows, and fit each point on its own."""
    found, search = timed(lambda: PathSearchCV(case.make(), Cs=Cs).fit(X, y))
    objectives, path = timed(lambda: follow(case.make(), X, y, found.Cs_))
    cold = [timed(lambda C=C: case.make(C).fit(X, y)) for C in found.Cs_]
    seconds = [spent for _, spent in cold]
    pairs = zip(cold, objectives, strict=True)
    return Found(
        shape=X.shape,
        C=found.best_params_["C"],
        score=found.best_score_,
        search=search,
        path=path,
        cold=seconds[found.best_index_],
        slowest=max(seconds),
        all_cold=sum(seconds),
        disagreement=max(abs(found / model.objective_ - 1) for (model, _), found in pairs),
    )


def follow(model: AdditiveEstimator, X: Any, y: Any, Cs: Any) -> list[float]:
    """Train on all rows along the path, from checking and coding on, as a fit does.

    Returns the objectives.
    """
    setting = Setting.prepare(model, Given(X, y))
    training_set = setting.training_set
    with one_blas_thread():
        stopping = model._stopping(training_set.rows, None)
        path = setting.trainer.follow(training_set, stopping, list(Cs))
    layout = training_set.rows.layout
    return [Trained(training_set, layout, results).objective for results in path]


def timed(job: Callable[[], T]) -> tuple[T, float]:
    """Run a job; return its result and the CPU seconds it took."""
    start = time.process_time()
    return job(), time.process_time() - start


if __name__ == "__main__":
    main()
