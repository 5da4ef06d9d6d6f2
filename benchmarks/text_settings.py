"""Settings for text: what AdditiveSVC reaches on counts of words and on tf-idf, by default and not.

python benchmarks/text_settings.py                     newsgroups and made-up texts; some minutes
python benchmarks/text_settings.py --data "science, tf-idf"   only this
python benchmarks/text_settings.py --output docs       and write text_settings.md there
python benchmarks/text_settings.py --quick             small made-up texts, no files needed
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import command
import numpy as np
import report
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC
from sparse_tables import topics_of

from splinear import AdditiveSVC
from splinear.datasets import load_newsgroups20
from splinear.terms import Spline

DEFAULT = "AdditiveSVC()"
N_SPLITS, N_QUICK = 4, 2

INTRODUCTION = f"""\
`python benchmarks/text_settings.py --output docs` writes this page: the accuracy of `AdditiveSVC()`
on text, and how it changes with one argument. *computers* and *science* are the training rows of
those 20 newsgroups whose names begin with comp. and sci.; the test rows of [Sparse
tables](sparse.md) are not used. *made up* has random texts of about 100 words, in which each class
prefers some words: there a linear function of the counts is the truth, and curves cannot help.
*tf-idf* is the result of scikit-learn's `TfidfTransformer()` on the counts, *sublinear* the same
with `sublinear_tf=True`. `Spline(1)` has a single piece: on tf-idf it is a linear model with the
hinge loss, while LinearSVC has the squared one.

Numbers are accuracies in percent on 30 % of the rows, which were held out, the mean over {N_SPLITS}
random splits; in parentheses, the difference from the default on the same splits, and its standard
error."""


class Table(NamedTuple):
    """Rows of counts and their classes, by the number of the split; and how counts are weighed."""

    rows: Callable[[int], tuple[Any, Any]]
    weighing: TfidfTransformer | None = None


@cache
def newsgroups() -> tuple[Any, Any, list[str]]:
    """Load the training rows: counts, classes, and the classes' names."""
    bunch = load_newsgroups20()
    return bunch.data[~bunch.is_test], bunch.target[~bunch.is_test], bunch.target_names


def groups(split: int, subject: str) -> tuple[Any, Any]:
    """Return the groups of one subject, the same in every split."""
    del split
    X, y, names = newsgroups()
    there = np.isin(y, [k for k, name in enumerate(names) if name.startswith(subject)])
    return X[there], y[there]


def made_up(split: int, n_rows: int = 4000, n_columns: int = 5000) -> tuple[Any, Any]:
    """Texts of 20 classes."""
    return topics_of(n_rows, n_columns, 20, seed=split)


def forms(name: str, rows: Callable[[int], tuple[Any, Any]]) -> dict[str, Table]:
    """Return the same rows as counts and weighed in two ways."""
    sublinear = TfidfTransformer(sublinear_tf=True)
    return {
        f"{name}, counts": Table(rows),
        f"{name}, tf-idf": Table(rows, TfidfTransformer()),
        f"{name}, sublinear": Table(rows, sublinear),
    }


SETS = {
    **forms("computers", partial(groups, subject="comp.")),
    **forms("science", partial(groups, subject="sci.")),
    **forms("made up", made_up),
}
QUICK = forms("few texts", partial(made_up, n_rows=600, n_columns=300))
KNOWN = {**SETS, **QUICK}

SETTINGS: dict[str, Callable[[], Any]] = {
    DEFAULT: lambda: AdditiveSVC(random_state=0),
    "Spline(1)": lambda: AdditiveSVC(Spline(1), random_state=0),
    "Spline(3)": lambda: AdditiveSVC(Spline(3), random_state=0),
    'Spline(knots="uniform")': lambda: AdditiveSVC(Spline(knots="uniform"), random_state=0),
    "C=0.3": lambda: AdditiveSVC(C=0.3, random_state=0),
    "C=3": lambda: AdditiveSVC(C=3.0, random_state=0),
    'loss="squared_hinge"': lambda: AdditiveSVC(loss="squared_hinge", random_state=0),
    "LinearSVC()": lambda: LinearSVC(random_state=0),
}


def divided(table: Table, split: int) -> list[Any]:
    """Return X and y to train on and to test on; weights of words are those of the former."""
    X, y = table.rows(split)
    train, test, *targets = train_test_split(X, y, test_size=0.3, random_state=split, stratify=y)
    if table.weighing is not None:
        train = table.weighing.fit_transform(train)
        test = table.weighing.transform(test)
    return [train, test, *targets]


def measure(table: Table, n_splits: int) -> dict[str, list[float]]:
    """Return the accuracy of every setting in every split."""
    found: dict[str, list[float]] = {name: [] for name in SETTINGS}
    for split in range(n_splits):
        train, test, y_train, y_test = divided(table, split)
        for name, make in SETTINGS.items():
            found[name].append(100.0 * make().fit(train, y_train).score(test, y_test))
    return found


def cell(scores: list[float], default: list[float], *, is_default: bool) -> str:
    """Write a mean, and how far it is from the default's."""
    mean, apart = np.mean(scores), np.subtract(scores, default)
    if is_default:
        return f"{mean:.2f}"
    error = np.std(apart, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
    return f"{mean:.2f} ({np.mean(apart):+.2f} ± {error:.2f})"


def line(name: str, n_splits: int) -> list[str]:
    """Measure one table; return its line."""
    found = measure(KNOWN[name], n_splits)
    default = found[DEFAULT]
    cells = [cell(own, default, is_default=at == DEFAULT) for at, own in found.items()]
    print(name, dict(zip(found, cells, strict=True)), flush=True)
    return [name, *cells]


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="small made-up texts instead", output="folder for text_settings.md"
    )
    parser.add_argument("--data", help=f"tables, by semicolons, of {'; '.join(KNOWN)}")
    given = parser.parse_args()
    default = QUICK if given.quick else SETS
    names = command.chosen(parser, given.data, KNOWN, default, separator=";")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # LIBLINEAR's, at its max_iter
        found = [line(name, N_QUICK if given.quick else N_SPLITS) for name in names]
    introduction = (report.CAUTION if given.quick else "") + INTRODUCTION
    table = report.markdown([["accuracy", *SETTINGS], *found])
    sections = ["# Settings for text", introduction, report.machine_block(), table]
    report.publish(sections, given.output, "text_settings.md")


if __name__ == "__main__":
    main()
