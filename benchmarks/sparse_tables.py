"""Sparse tables: curves of counts of words, of tf-idf and of 0/1 columns, against a linear SVM.

python benchmarks/sparse_tables.py                        all of them; some minutes
python benchmarks/sparse_tables.py --data "a9a;w8a"       only these
python benchmarks/sparse_tables.py --output docs          and write sparse.md there
python benchmarks/sparse_tables.py --quick                made-up counts and topics, no files needed
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import command
import numpy as np
import report
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import LinearSVC

from splinear import AdditiveSVC, PathSearchCV
from splinear.datasets import load_a9a, load_newsgroups20, load_w8a
from splinear.terms import Spline

N_JOBS = 2
STRENGTHS = [0.01, 0.1, 1.0, 10.0]
LINEAR = "LinearSVC()"
LINEAR_CV = "LinearSVC, C by 5 folds"
OURS = "AdditiveSVC()"
MOST_TIMES = {"newsgroups20": 1.0, "topics": 2.0}  # as long as the linear model

INTRODUCTION = f"""\
`python benchmarks/sparse_tables.py --output docs` writes this page. Each fit runs in a process of
its own, on {N_JOBS} threads (LinearSVC uses one); its peak of resident memory includes Python, the
libraries and the data. Parameters other than those in the table have their defaults; where C is
chosen by cross-validation, it is one of {", ".join(f"{C:g}" for C in STRENGTHS)}. "tf-idf" is the
result of scikit-learn's `TfidfTransformer()` on the counts. "topics" is synthetic, with tf-idf
weights: each class prefers words of its own, and word frequencies follow Zipf's law. On columns of
0 and 1 there is no curve to learn: the spline is a straight line, and with the squared hinge loss
it is exactly the model of LinearSVC, so that the two differ only by the accuracy of training and by
the C that cross-validation chooses."""


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    X_train: Any
    X_test: Any
    y_train: Any
    y_test: Any


class Measured(NamedTuple):
    """What one fit took, and how good it was."""

    seconds: float
    accuracy: float
    gigabytes: float
    processor_seconds: float  # of all threads


def newsgroups20() -> Split:
    """Counts of 130,108 words, 20 classes, the official split."""
    return _official(load_newsgroups20())


def weighted(split: Split) -> Split:
    """Weigh the counts: a word that many documents have says little, and long ones say no more."""
    weighing = TfidfTransformer().fit(split.X_train)
    X_train, X_test = weighing.transform(split.X_train), weighing.transform(split.X_test)
    return split._replace(X_train=X_train, X_test=X_test)


def a9a() -> Split:
    """Census income as 123 columns of 0 and 1, the official split."""
    return _official(load_a9a())


def w8a() -> Split:
    """Web pages as 300 columns of 0 and 1; a seeded quarter is held out."""
    bunch = load_w8a()
    parts = train_test_split(
        bunch.data, bunch.target, test_size=0.25, random_state=0, stratify=bunch.target
    )
    return Split(*parts)


def counts() -> Split:
    """Made-up counts: presence of a word tells more than how often it occurs."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 1000)
    rate = random.gamma(0.2, 1.0, 200) * np.exp(np.outer(y - 0.5, random.normal(0, 0.8, 200)))
    X = sparse.csr_matrix(random.poisson(random.gamma(0.5, 2.0, (1000, 1)) * rate).astype(float))
    return Split(*train_test_split(X, y, random_state=0))


def topics(n_rows: int = 25_000, n_columns: int = 50_000, n_classes: int = 100) -> Split:
    """Made-up texts of about 100 words, of which a fifth is held out."""
    X, y = topics_of(n_rows, n_columns, n_classes)
    parts = train_test_split(X, y, test_size=0.2, random_state=0)
    return weighted(Split(*parts))


def topics_of(n_rows: int, n_columns: int, n_classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Make up texts of about 100 words: counts, and the classes that prefer some of them."""
    random = np.random.default_rng(seed)
    common = random.permutation(1.0 / np.arange(1, n_columns + 1))
    y = random.integers(0, n_classes, n_rows)
    rows, columns = [], []
    for k in range(n_classes):
        share = common * np.exp(random.normal(0.0, 0.5, n_columns))
        here = np.flatnonzero(y == k)
        length = 1 + random.poisson(100, len(here))
        rows.append(np.repeat(here, length))
        columns.append(random.choice(n_columns, length.sum(), p=share / share.sum()))
    at = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_matrix((np.ones(len(at[0]), np.float32), at), shape=(n_rows, n_columns)), y


SETS = {
    "newsgroups20": newsgroups20,
    "newsgroups20, tf-idf": lambda: weighted(newsgroups20()),
    "topics": topics,
    "a9a": a9a,
    "w8a": w8a,
}
QUICK = {
    "counts": counts,
    "counts, tf-idf": lambda: weighted(counts()),
    "few topics": lambda: topics(1250, 500, 5),
}
KNOWN = {**SETS, **QUICK}

AS_THEY_COME = {
    LINEAR: lambda: LinearSVC(random_state=0),
    OURS: lambda: AdditiveSVC(n_jobs=N_JOBS, random_state=0),
}
WORDS = {
    **AS_THEY_COME,
    'AdditiveSVC(Spline(knots="uniform"))': lambda: AdditiveSVC(
        Spline(knots="uniform"), n_jobs=N_JOBS, random_state=0
    ),
}


def squared_hinge() -> AdditiveSVC:
    """Make the very model that LinearSVC trains, where columns are 0 and 1."""
    return AdditiveSVC(loss="squared_hinge", tol=1e-4, n_jobs=N_JOBS, random_state=0)


BITS = {
    **AS_THEY_COME,
    'AdditiveSVC(loss="squared_hinge", tol=1e-4)': squared_hinge,
    LINEAR_CV: lambda: GridSearchCV(LinearSVC(random_state=0), {"C": STRENGTHS}, cv=5),
    'AdditiveSVC(loss="squared_hinge", tol=1e-4), C by 5 folds': lambda: PathSearchCV(
        squared_hinge(), Cs=STRENGTHS, n_jobs=N_JOBS
    ),
}


def models_of(name: str) -> dict[str, Any]:
    """Return the models that a data set is for."""
    if name in QUICK or name == "topics":
        return AS_THEY_COME
    return WORDS if name.startswith("newsgroups20") else BITS


def measure(name: str, title: str) -> Measured:
    """Train and test one model, in this process."""
    split = KNOWN[name]()
    model = models_of(name)[title]()
    began, used = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # LIBLINEAR's, at its max_iter
        model.fit(split.X_train, split.y_train)
    seconds, used = time.perf_counter() - began, time.process_time() - used
    accuracy = model.score(split.X_test, split.y_test)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return Measured(seconds, accuracy, peak * unit / 1e9, used)


def measure_apart(name: str, title: str) -> Measured:
    """Train and test one model, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, name, title).result()


def section(name: str) -> list[str]:
    """Measure all models of one data set."""
    found = {}
    for title in models_of(name):
        found[title] = measure(name, title) if name in QUICK else measure_apart(name, title)
        print(name, title, found[title], flush=True)
    rows = [["model", "seconds", "of the processor", "test accuracy", "peak, GB"]]
    for title, (seconds, accuracy, gigabytes, used) in found.items():
        cells = [f"{seconds:.1f}", f"{used:.1f}", f"{accuracy:.2%}", f"{gigabytes:.2f}"]
        rows.append([title, *cells])
    X, X_test, _, _ = KNOWN[name]()
    return [
        f"## {name}",
        f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} non-zeros.",
        report.markdown(rows),
        report.items(_findings(name, found, X_test.shape[0])),
    ]


def _findings(name: str, found: dict[str, Measured], n_test: int) -> list[str]:
    """Say how many test rows more, or fewer, are right than the linear model's; and the bars."""
    lines: list[str] = []
    for title, (seconds, accuracy, gigabytes, _) in found.items():
        if title in (LINEAR, LINEAR_CV):
            continue
        rival = LINEAR_CV if "folds" in title else LINEAR
        more = round((accuracy - found[rival].accuracy) * n_test)
        lines.append(f"{title}: {more:+d} rows right of {n_test:,}, against {rival}")
        if title == OURS and name in MOST_TIMES:
            times = seconds / found[rival].seconds
            bar = report.Bar(
                f"{title}: seconds over those of {rival}", times, most=MOST_TIMES[name]
            )
            lines.append(str(bar))
        if name.startswith("newsgroups20"):
            lines.append(str(report.Bar(f"{title}: seconds", seconds, most=60)))
            lines.append(str(report.Bar(f"{title}: peak, GB", gigabytes, most=4)))
    return lines


def _official(bunch: Any) -> Split:
    test = bunch.is_test
    return Split(bunch.data[~test], bunch.data[test], bunch.target[~test], bunch.target[test])


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="made-up counts instead", output="folder for sparse.md"
    )
    parser.add_argument("--data", help=f"data sets, by semicolons, of {'; '.join(KNOWN)}")
    given = parser.parse_args()
    default = QUICK if given.quick else SETS
    names = command.chosen(parser, given.data, KNOWN, default, separator=";")
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    sections = ["# Sparse tables", introduction, report.machine_block()]
    for name in names:
        sections += section(name)
    report.publish(sections, given.output, "sparse.md")


if __name__ == "__main__":
    main()
