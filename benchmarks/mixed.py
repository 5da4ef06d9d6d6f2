"""Numbers, categories and gaps in one table: what each costs the others.

python benchmarks/mixed.py                          everything: a minute or two
python benchmarks/mixed.py --output docs            and write mixed.md there
python benchmarks/mixed.py --quick                  small made-up tables, no files needed
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import command
import numpy as np
import numpy.typing as npt
import report
import sets
from measure import PeakMemory
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveSVC, _core
from splinear.datasets import load_adult_raw
from splinear.model.layout import Layout

Array = npt.NDArray[Any]

REPEATS = 3
MODELS: dict[str, Callable[..., Any]] = {
    "AdditiveSVC()": AdditiveSVC,
    "AdditiveClassifier()": AdditiveClassifier,
}

INTRODUCTION = f"""\
A feature is one column of codes and one term, whatever its type, and numeric columns without
missing values stay on the fast path whatever other columns there are.
`python benchmarks/mixed.py --output docs` writes this page. One thread; the best of {REPEATS} fits.
The models have no arguments except `categorical_features` where it is mentioned. Compare ratios:
seconds differ from machine to machine."""


@dataclass(frozen=True)
class Sizes:
    """How large a run is."""

    rows: int
    columns: int
    many_rows: int
    levels: int


FULL = Sizes(rows=50_000, columns=100, many_rows=1_000_000, levels=100_000)
QUICK = Sizes(rows=1500, columns=20, many_rows=8000, levels=800)


class Fitted(NamedTuple):
    """A model, the least seconds of its fits, and what they warned of."""

    model: Any
    seconds: float
    memory: int | None
    said: list[str]


def fitted(make: Callable[[], Any], X: Any, y: Array, repeats: int = REPEATS) -> Fitted:
    """Fit a model some times."""
    seconds = []
    with warnings.catch_warnings(record=True) as caught, PeakMemory() as peak:
        warnings.simplefilter("always")
        for _ in range(repeats):
            model = make()
            start = time.perf_counter()
            model.fit(X, y)
            seconds.append(time.perf_counter() - start)
    said = list(dict.fromkeys(str(warning.message) for warning in caught))
    return Fitted(model, min(seconds), peak.bytes, said)


# -- one category, one gap -------------------------------------------------------------------------


def one_of_each(sizes: Sizes) -> list[str]:
    """Numbers alone, and beside one category or one gap: ratios of seconds."""
    random = np.random.default_rng(0)
    X = random.random((sizes.rows, sizes.columns), dtype=np.float32)
    trade = random.integers(0, 10, sizes.rows)
    signal = np.sin(8 * X[:, :10]).sum(axis=1)
    y = (signal + random.normal(size=sizes.rows) > np.median(signal)).astype(int)
    gap = X.copy()
    gap[sizes.rows // 2, 0] = np.nan
    last = {"categorical_features": [sizes.columns]}
    cases: dict[str, tuple[Array, dict[str, Any]]] = {
        f"{sizes.columns} columns of numbers": (X, {}),
        "with one cell missing": (gap, {}),
        "with a column of 10 categories beside them": (_beside(X, trade), last),
        "with both": (_beside(gap, trade), last),
    }
    rows = [
        [
            "table",
            *(f"{name}, {what}" for name in MODELS for what in ("seconds", "ratio", "passes")),
        ]
    ]
    bars = []
    seconds: dict[str, list[float]] = {name: [] for name in MODELS}
    for title, (table, options) in cases.items():
        line = [title]
        for name, kind in MODELS.items():
            found = fitted(partial(kind, random_state=0, **options), table, y)
            seconds[name].append(found.seconds)
            ratio = found.seconds / seconds[name][0]
            line += [f"{found.seconds:.3g}", f"{ratio:.2f}", f"{found.model.n_iter_}"]
            if len(seconds[name]) > 1:
                bars.append(report.Bar(f"{name}, {title}: ratio of seconds", ratio, most=1.5))
        print(*line, sep="  ", flush=True)
        rows.append(line)
    return [
        "## One category, one gap",
        f"{sizes.rows:,} rows of float32, a wave of ten of the columns, and noise.",
        report.markdown(rows),
        report.items(bars),
    ]


def _beside(X: Array, column: Array) -> Array:
    return np.column_stack([X, column.astype(X.dtype)])


# -- a raw table -----------------------------------------------------------------------------------


def raw(table: Any, name: str) -> list[str]:
    """Fit a data frame of numbers, text and gaps: seconds, codes and coefficients."""
    train, test = ~table.is_test, table.is_test
    rows = [["model", "seconds", "AUC", "bytes of codes per cell", "coefficients"]]
    bars = []
    for title, kind in MODELS.items():
        found = fitted(partial(kind, random_state=0), table.data[train], table.target[train])
        auc = roc_auc_score(table.target[test], found.model.decision_function(table.data[test]))
        layout = found.model._model.layout
        cell = code_bytes(layout) / layout.n_columns
        numbers = [f"{found.seconds:.3g}", f"{auc:.4f}", f"{cell:.3g}"]
        rows.append([title, *numbers, f"{int(layout.used.sum()):,}"])
        print(*rows[-1], sep="  ", flush=True)
        bars.append(report.Bar(f"{title}: bytes of codes per cell", cell, most=2))
    n_text = sum(term.kind == "Category" for term in found.model.terms_)
    n_gaps = int(table.data[train].isna().to_numpy().sum())
    return [
        f"## {name}",
        f"A data frame of {int(train.sum()):,} training rows and {table.data.shape[1]} columns, "
        f"{n_text} of them text, with {n_gaps:,} gaps.",
        report.markdown(rows),
        report.items(bars),
    ]


def code_bytes(layout: Layout) -> int:
    """Count the bytes that the codes of one row take in the core."""
    return sum(_core.Codes(1, group.n_features, group.grid).array.nbytes for group in layout.groups)


# -- very many levels ------------------------------------------------------------------------------


def many_levels(sizes: Sizes) -> list[str]:
    """Fit numbers beside a column of text of very many levels: seconds, memory, warnings."""
    X, y = people(sizes.many_rows, sizes)
    X_test, y_test = people(sizes.many_rows // 5, sizes, seed=1)
    rows = [["model", "columns", "seconds", "memory MB", "AUC", "warnings"]]
    for title, kind in MODELS.items():
        for columns in (["a", "b", "c", "d"], ["a", "b", "c", "d", "person"]):
            found = fitted(partial(kind, random_state=0), X[columns], y, repeats=1)
            auc = roc_auc_score(y_test, found.model.decision_function(X_test[columns]))
            rows.append(
                [
                    title,
                    "with `person`" if "person" in columns else "numbers alone",
                    f"{found.seconds:.3g}",
                    report.number(found.memory and found.memory / 1e6, ",.0f"),
                    f"{auc:.4f}",
                    "; ".join(found.said) or "none",
                ]
            )
            print(*rows[-1], sep="  ", flush=True)
    return [
        "## Very many levels",
        f"{sizes.many_rows:,} rows: four columns of numbers, and `person`, text of "
        f"{X['person'].nunique():,} levels with an effect each. Memory is beyond the data.",
        report.markdown(rows),
    ]


def people(n_rows: int, sizes: Sizes, seed: int = 0) -> tuple[Any, Array]:
    """Draw rows: waves of 4 numbers, and a person with an effect, the same for every seed."""
    import pandas as pd

    effects = np.random.default_rng(2).normal(size=sizes.levels)
    names = np.array([f"person {k}" for k in range(sizes.levels)], dtype=object)
    random = np.random.default_rng(seed)
    numbers = random.random((n_rows, 4))
    who = random.integers(0, sizes.levels, n_rows)
    signal = np.sin(8 * numbers).sum(axis=1) + effects[who]
    X = pd.DataFrame(numbers, columns=["a", "b", "c", "d"]).assign(person=names[who])
    return X, (signal + random.logistic(size=n_rows) > 0.5).astype(int)


def main() -> None:
    """Run everything, print the page, and write it if asked to."""
    parser = command.make_parser(
        __doc__, quick="small made-up tables", output="folder for mixed.md"
    )
    given = parser.parse_args()
    sizes = QUICK if given.quick else FULL
    with threadpool_limits(limits=1):
        sections = [
            "# Numbers, categories and gaps",
            (report.CAUTION if given.quick else "") + INTRODUCTION,
            report.machine_block(),
            *one_of_each(sizes),
        ]
        if given.quick:
            sections += raw(sets.raw_synthetic(3000), "A made-up table")
        else:
            sections += raw(load_adult_raw(), "The raw census table")
        sections += many_levels(sizes)
    report.publish(sections, given.output, "mixed.md")


if __name__ == "__main__":
    main()
