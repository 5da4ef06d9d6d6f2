"""Compare the speed of two versions: commits, or folders in which a version is installed.

python benchmarks/compare.py main HEAD                           9 pairs of runs: some minutes
python benchmarks/compare.py main HEAD --pairs 3                 fewer, for a first look
python benchmarks/compare.py before-site after-site              folders instead of commits
python benchmarks/compare.py before-site after-site --quick      tiny tables, to try the command

Commits are built once and kept in build/versions; `pip install --no-deps --target before-site .`
makes a folder of what has not been committed. Both versions run in turn, line by line, on one
thread, in fresh processes for every pair. What counts is the median over the pairs of the ratio of
CPU seconds; the command ends with status 1 if that is beyond 1.10 for any line.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measure import ONE_THREAD
from scipy import sparse
from versions import UnknownVersionError, site_of

Timed = Callable[[], object]

FULL, TINY, WARM_UP = (20_000, 50), (400, 4), (400, 4)  # rows and columns
N_TABLES = 6  # that smoothness is chosen for
LEAST_SECONDS = 0.5  # that a measurement takes: what is shorter is repeated


# What happens in the fresh processes.


def dense(n_rows: int, n_columns: int, seed: int = 0) -> tuple[Any, Any]:
    """Return numbers, and a target that is a sum of curves of the first three and noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_columns))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - np.abs(X[:, 2])
    return X, f + random.normal(size=n_rows)


def fit_svc(n_rows: int, n_columns: int) -> Timed:
    """AdditiveSVC with the hinge loss."""
    from splinear import AdditiveSVC

    X, f = dense(n_rows, n_columns)
    return lambda: AdditiveSVC(C=1.0, random_state=0).fit(X, f > 0)


def fit_cubic(n_rows: int, n_columns: int) -> Timed:
    """AdditiveSVC with cubic curves, on a wide table that they separate."""
    from splinear import AdditiveSVC
    from splinear.terms import Spline

    X, f = dense(n_rows // 10, 10 * n_columns)
    curve = Spline(20, degree=3, penalty_order=2)
    return lambda: AdditiveSVC(curve, C=1.0, random_state=0).fit(X, f > 0)


def score_svc(n_rows: int, n_columns: int) -> Timed:
    """Scores of all rows."""
    from splinear import AdditiveSVC

    X, f = dense(n_rows, n_columns)
    model = AdditiveSVC(C=1.0, random_state=0).fit(X, f > 0)
    return lambda: model.decision_function(X)


def fit_sparse(n_rows: int, n_columns: int) -> Timed:
    """AdditiveSVC on a sparse table of ten times the columns, of which a row has about ten."""
    from splinear import AdditiveSVC

    random = np.random.default_rng(0)
    places = np.repeat(np.arange(n_rows), 10), random.integers(0, 10 * n_columns, 10 * n_rows)
    X = sparse.csr_array((random.random(10 * n_rows), places), shape=(n_rows, 10 * n_columns))
    y = X[:, : 5 * n_columns].sum(axis=1) > X[:, 5 * n_columns :].sum(axis=1)
    return lambda: AdditiveSVC(C=1.0, random_state=0).fit(X, y)


def fit_texts(n_rows: int, n_columns: int) -> Timed:
    """AdditiveSVC on texts of five classes, about 20 words each, some of which many texts have."""
    from splinear import AdditiveSVC

    random = np.random.default_rng(0)
    n_words = 100 * n_columns
    y = random.integers(0, 5, n_rows // 4)
    words = np.minimum(random.zipf(1.3, 20 * len(y)) - 1, n_words - 6)
    words += np.repeat(y, 20) * (random.random(20 * len(y)) < 0.3)
    places = np.repeat(np.arange(len(y)), 20), words
    X = sparse.csr_array((np.ones(20 * len(y)), places), shape=(len(y), n_words))
    return lambda: AdditiveSVC(C=1.0, random_state=0).fit(X, y)


def fit_fixed(n_rows: int, n_columns: int) -> Timed:
    """AdditiveClassifier with a fixed C."""
    from splinear import AdditiveClassifier

    X, f = dense(n_rows, n_columns)
    return lambda: AdditiveClassifier(C=1.0, random_state=0).fit(X, f > 0)


def fit_softmax(n_rows: int, n_columns: int) -> Timed:
    """The same, of five classes."""
    from splinear import AdditiveClassifier

    X, f = dense(n_rows, n_columns)
    y = np.digitize(f, np.quantile(f, [0.2, 0.4, 0.6, 0.8]))
    return lambda: AdditiveClassifier(C=1.0, random_state=0).fit(X, y)


def some_tables(n_rows: int, n_columns: int) -> list[tuple[Any, Any]]:
    """Return tables for fits that choose smoothness.

    How many turns that takes differs by half from table to table, and between versions that round
    differently in either direction: one table would tell luck from cost no more.
    """
    return [dense(n_rows, n_columns, seed) for seed in range(N_TABLES)]


def fit_chosen(n_rows: int, n_columns: int) -> Timed:
    """AdditiveClassifier with its defaults: smoothness chosen from the data."""
    from splinear import AdditiveClassifier

    tables = some_tables(n_rows, n_columns)
    return lambda: [AdditiveClassifier(random_state=0).fit(X, f > 0) for X, f in tables]


def fit_regressor(n_rows: int, n_columns: int) -> Timed:
    """AdditiveRegressor with its defaults."""
    from splinear import AdditiveRegressor

    tables = some_tables(n_rows, n_columns)
    return lambda: [AdditiveRegressor(random_state=0).fit(X, f) for X, f in tables]


LINES: dict[str, Callable[[int, int], Timed]] = {
    "AdditiveSVC": fit_svc,
    "AdditiveSVC, cubic": fit_cubic,
    "decision_function": score_svc,
    "AdditiveSVC, sparse": fit_sparse,
    "AdditiveSVC, texts of 5 classes": fit_texts,
    "AdditiveClassifier(C=1)": fit_fixed,
    "softmax, 5 classes": fit_softmax,
    "AdditiveClassifier()": fit_chosen,
    "AdditiveRegressor()": fit_regressor,
}


def answer_lines(site: Path, *, quick: bool) -> None:
    """Measure each line whose name comes on standard input; answer with a line of JSON."""
    warnings.simplefilter("ignore")
    for name in map(str.strip, sys.stdin):
        try:
            answer = {"seconds": _cpu_seconds(site, LINES[name], quick=quick)}
        except Exception as error:  # whatever another version says
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def _cpu_seconds(site: Path, prepare: Callable[[int, int], Timed], *, quick: bool) -> float:
    import splinear

    if site.resolve() not in Path(splinear.__file__).resolve().parents:
        raise ImportError(f"splinear is not in {site}")
    prepare(*WARM_UP)()  # lazy imports and allocators
    run, least = prepare(*(TINY if quick else FULL)), 0.0 if quick else LEAST_SECONDS
    n_runs, began = 0, time.process_time()
    while n_runs == 0 or time.process_time() - began < least:
        run()
        n_runs += 1
    return (time.process_time() - began) / n_runs


# What compares them.


@dataclass
class Comparison:
    """CPU seconds of one line in both versions, pair by pair; or why a version has none."""

    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    errors: dict[int, str] = field(default_factory=dict)  # by the number of the version

    @property
    def ratio(self) -> float:
        """The median over the pairs of seconds after by seconds before; NaN: one has none."""
        if self.errors:
            return float("nan")
        pairs = zip(*self.seconds, strict=True)
        return statistics.median(after / max(before, 1e-9) for before, after in pairs)

    @property
    def is_lost(self) -> bool:
        """Whether the version before has the line, and that after has it not."""
        return 1 in self.errors and 0 not in self.errors

    def summary(self, limit: float) -> str:
        """Describe it in a line."""
        if self.errors:
            names = ("before", "after")
            return "; ".join(f"missing {names[k]}: {self.errors[k]}" for k in sorted(self.errors))
        before, after = map(statistics.median, self.seconds)
        said = "   slower" if self.ratio > limit else ""
        return f"{before:8.3f} s {after:8.3f} s   ratio {self.ratio:.3f}{said}"


class Version:
    """A version in a process of its own, on one thread; started anew if it has died."""

    def __init__(self, site: Path, arguments: list[str]) -> None:
        self.command = [sys.executable, __file__, str(site), str(site), "--answer", *arguments]
        self.env = os.environ | ONE_THREAD | {"PYTHONPATH": str(site)}
        self.process: subprocess.Popen[str] | None = None

    def ask(self, name: str) -> dict[str, Any]:
        """Let it measure a line: seconds, or an error."""
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, text=True, env=self.env
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        if not said:
            return {"error": f"the process ended with status {self.close()}"}
        answer: dict[str, Any] = json.loads(said)
        return answer

    def close(self) -> int:
        """End the process, and return its status."""
        if self.process is None:
            return 0
        self.process.communicate()
        status, self.process = self.process.returncode, None
        return status


def compare(sites: tuple[Path, Path], n_pairs: int, arguments: list[str]) -> dict[str, Comparison]:
    """Measure all lines in both versions, in turn; every other pair begins with the second."""
    found = {name: Comparison() for name in LINES}
    for pair in range(n_pairs):
        versions = [Version(site, arguments) for site in sites]
        for name, line in found.items():
            for k in (0, 1) if pair % 2 == 0 else (1, 0):
                if not line.errors:
                    _note(line, k, versions[k].ask(name))
        for version in versions:
            version.close()
        print(f"pair {pair + 1} of {n_pairs}", file=sys.stderr)
    return found


def _note(line: Comparison, version: int, answer: dict[str, Any]) -> None:
    if "error" in answer:
        line.errors[version] = answer["error"]
    else:
        line.seconds[version].append(answer["seconds"])


def main() -> int:
    """Compare two folders, and return the status of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="the version to compare with: a commit or a folder")
    parser.add_argument("after", help="the version to judge")
    parser.add_argument("--pairs", type=int, default=9, help="how often each is measured")
    parser.add_argument("--limit", type=float, default=1.10, help="the largest ratio that passes")
    parser.add_argument("--quick", action="store_true", help="tiny tables")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer_lines(Path(options.before), quick=options.quick)
        return 0
    try:
        sites = (site_of(options.before), site_of(options.after))
    except UnknownVersionError as error:
        parser.error(str(error))
    found = compare(sites, max(1, options.pairs), ["--quick"] if options.quick else [])
    for name, line in found.items():
        print(f"{name:<{max(map(len, found))}} {line.summary(options.limit)}")
    return int(any(line.ratio > options.limit or line.is_lost for line in found.values()))


if __name__ == "__main__":
    sys.exit(main())
