"""Compare a path of 20 values of C with cold fits: CPU seconds with one thread, and agreement.

python benchmarks/path.py                        all cases; MNIST takes minutes to prepare
python benchmarks/path.py --data adult,magic     only these data sets
python benchmarks/path.py --data synthetic       no files needed, a few seconds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import sets
from sklearn.datasets import load_breast_cancer, load_digits

from splinear import AdditiveClassifier, AdditiveClassifierCV
from splinear._base import one_blas_thread
from splinear._columns import read_rows
from splinear.solvers.problem import Result

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """A data set, the class that is set against the rest (None: all classes), and the model."""

    data: str
    positive: int | None
    loss: str
    n_bins: int = 10

    @property
    def title(self) -> str:
        """What the table calls it."""
        return f"{self.data}, {self.loss}, {self.n_bins} bins"


CASES = (
    Case("mnist", 3, "hinge", n_bins=40),
    *(
        Case(data, positive, loss)
        for data, positive in (
            ("adult", 1),
            ("magic", 1),
            ("credit_default", 1),
            ("breast_cancer", 1),
            ("digits", None),
            ("synthetic", 1),
        )
        for loss in ("hinge", "logistic")
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
    dearest: float  # of all cold fits
    all_cold: float
    disagreement: float  # largest relative difference of objectives

    @property
    def line(self) -> str:
        """The row of the table, without its title."""
        return (
            f"{self.shape[0]:,} x {self.shape[1]} | {self.C:.3g} | {self.score:.4f} | "
            f"{self.search:.2f} | {self.path:.3f} | {self.cold:.3f} | {self.dearest:.3f} | "
            f"{self.all_cold:.2f} | {self.path / self.cold:.1f} | "
            f"{self.path / self.dearest:.1f} | {self.disagreement:.2g}"
        )


HEADER = (
    "case | shape | C chosen | score | search | path | cold | dearest | 20 cold | path / cold | "
    "path / dearest | disagreement"
)


def main() -> None:
    """Measure what was asked for and print a table."""
    known = sorted({case.data for case in CASES})
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help=f"data sets, by commas, of {', '.join(known)}")
    asked = parser.parse_args().data
    names = known if asked is None else asked.split(",")
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"no such data set: {', '.join(unknown)}")
    print(HEADER, flush=True)
    for name in names:
        try:
            X, y = load(name)
        except OSError as error:
            print(f"{name}: left out. {error}")
            continue
        for case in (case for case in CASES if case.data == name):
            target = y if case.positive is None else y == case.positive
            print(f"{case.title} | {measure(case, X, target).line}", flush=True)


def load(name: str) -> tuple[Any, Any]:
    """Give the training rows of a data set."""
    if name in TOYS:
        return TOYS[name](return_X_y=True)
    return sets.SETS[name](None)[:2]


def measure(case: Case, X: Any, y: Any) -> Found:
    """Search for C; then follow its path on all rows, and fit each point on its own."""
    params = {"loss": case.loss, "n_bins": case.n_bins, "knots": "uniform", "random_state": 0}
    model, search = timed(lambda: AdditiveClassifierCV(**params).fit(X, y))
    results, path = timed(lambda: follow(AdditiveClassifier(**params), X, y, model.Cs_))
    cold = [timed(lambda C=C: AdditiveClassifier(C=C, **params).fit(X, y)) for C in model.Cs_]
    seconds = [spent for _, spent in cold]
    pairs = zip(cold, results, strict=True)
    return Found(
        shape=X.shape,
        C=model.C_,
        score=model.best_score_,
        search=search,
        path=path,
        cold=seconds[list(model.Cs_).index(model.C_)],
        dearest=max(seconds),
        all_cold=sum(seconds),
        disagreement=max(abs(total(model, r) / fit.objective_ - 1) for (fit, _), r in pairs),
    )


def follow(model: AdditiveClassifier, X: Any, y: Any, Cs: Any) -> list[list[Result]]:
    """Train on all rows along the path, from checking and coding on, as a fit does."""
    model._validate_params()
    X, y, weights, kept = read_rows(model, X, y, None, reset=True)
    labels = model._read_target(y, kept)
    model.embedding_ = model._learn_embedding(X, kept, weights)
    rows = model._prepare(X, kept, model._draw_seed())
    with one_blas_thread():
        return model._train(rows, labels, None, None, model._stopping(rows), factors=list(Cs))


def total(model: AdditiveClassifierCV, results: list[Result]) -> float:
    """Give the objective of all outputs together."""
    return model._objective_of(results)


def timed(job: Callable[[], T]) -> tuple[T, float]:
    """Run a job, and give the CPU seconds it took."""
    start = time.process_time()
    return job(), time.process_time() - start


if __name__ == "__main__":
    main()
