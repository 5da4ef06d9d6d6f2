"""Printed tables: the columns of a file, the measures of a model, its importances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from splinear.cli.estimators import LOSSES
from splinear.cli.profile import ColumnProfile
from splinear.cli.target import TargetColumn
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.text import beside, printable
from splinear.report.measures import Measure
from splinear.tables.table import Table as Rows
from splinear.tables.values import Kind

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = [
    "MOST_COLUMNS",
    "columns_table",
    "measures_table",
    "sparse_text",
    "target_text",
    "terms_table",
]

MOST_COLUMNS = 40  # columns listed
MOST_TERMS = 10
LONGEST_NAME = 30  # characters of a name
LEAST = 20  # least characters for values
GAP = 3  # characters between two columns
NAMED = 4  # levels or classes listed
BAR = 20  # characters of the longest bar


def columns_table(columns: list[ColumnProfile], shape: tuple[int, int], width: int) -> Table:
    """Return a table of the first columns with their kinds, missing values and values.

    `shape` is that of the whole table.
    """
    n_rows, n_columns = shape
    headings = ("column", "kind", "missing")
    rows = [
        (
            _shortened(column.name, LONGEST_NAME),
            _kind(column),
            f"{column.n_gaps / n_rows:.1%}" if column.n_gaps else "",
            _values(column),
        )
        for column in columns[:MOST_COLUMNS]
    ]
    beside = zip(headings, *(row[:3] for row in rows), strict=True)
    used = sum(max(map(len, cells)) + GAP for cells in beside)
    table = _table(*headings[:2], right=headings[2:], last="values")
    for *cells, values in rows:
        table.add_row(*map(_text, (*cells, _shortened(values, max(LEAST, width - used)))))
    if n_columns > MOST_COLUMNS:
        table.add_row(_text(f"... and {n_columns - MOST_COLUMNS:,} more"))
    return table


def sparse_text(rows: Rows) -> str:
    """Return a description of a sparse table, whose columns have no names."""
    n_columns = rows.shape[1]
    share = rows.values_per_row / max(1, n_columns)
    return f"{n_columns:,} columns of numbers, sparse: {share:.1%} of the values are not 0"


def target_text(target: TargetColumn, task: str, *, is_chosen: bool) -> str:
    """Return a description of the target and task, and how to change the latter."""
    values = target.values[target.there]
    if task == "regression":
        what = f"numbers from {values.min():.6g} to {values.max():.6g}, mean {values.mean():.4g}"
    else:
        counts = target.counts
        listed = [f"{name} {count / len(values):.1%}" for name, count in counts.items()]
        more = f", ... ({len(listed)} classes)" if len(listed) > NAMED else ""
        what = ", ".join(listed[:NAMED]) + more
    other = next(name for name in LOSSES if name != task)
    hint = f" (--task {other} if it is not)" if is_chosen and target.is_numeric else ""
    return f"{target.name}: {task}{hint}; {what}"


def measures_table(measures: list[Measure]) -> Table:
    """Return a table of measures and their baselines."""
    table = _table("on rows held out", right=("model", "no features"))
    for found in measures:
        table.add_row(_text(found.name), f"[bold]{found.value}[/]", found.baseline)
    return table


def terms_table(model: AdditiveEstimator) -> Table:
    """Return a table of the most important terms, with a bar for each."""
    importances = model.feature_importances_
    names = getattr(model, "feature_names_in_", None)
    first = 0 if model._columns.zero_based else 1  # index of the first column in the file
    order = np.argsort(-importances, kind="stable")
    table = _table("most important", right=("importance",), last="")
    largest = float(importances.max(initial=0.0))
    for j in order[:MOST_TERMS]:
        name = f"column {j + first}" if names is None else str(names[j])
        bar = "█" * round(BAR * float(importances[j]) / max(largest, 1e-300))
        shown = _shortened(name, LONGEST_NAME)
        table.add_row(_text(shown), beside(float(importances[j]), largest), f"[cyan]{bar}[/]")
    if len(order) > MOST_TERMS:
        table.add_row(_text(f"... and {len(order) - MOST_TERMS:,} more"))
    return table


def _table(*left: str, right: tuple[str, ...] = (), last: str | None = None) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for heading in left:
        table.add_column(heading, no_wrap=True)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last, no_wrap=True)
    return table


def _text(text: str) -> RenderableType:
    """Return text that is printed without markup and control characters."""
    from rich.text import Text

    return Text(printable(text))


def _shortened(text: str, most: int) -> str:
    """Return a text, truncated to `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _kind(column: ColumnProfile) -> str:
    if column.kind is Kind.NUMBER:
        return "boolean" if column.is_boolean else "number"
    return "category" if column.is_category else column.kind.value


def _values(column: ColumnProfile) -> str:
    if column.is_constant:
        return f"{'one value' if column.counts else 'no values'}: has no effect"
    if column.is_boolean:
        return " or ".join(sorted(str(bool(value)) for value in column.counts))
    if column.kind is Kind.NUMBER:
        numbers = f"{_number(column.lo, column)} to {_number(column.hi, column)}"
        return f"{numbers}, the number of the row: --drop it?" if column.is_identifier else numbers
    if not column.is_category:
        return ""
    levels = [str(name) for name, _ in column.counts.most_common(NAMED)]
    n = len(column.counts)
    if column.is_identifier:
        return f"{n:,} levels, about one per row: --drop it?"
    return f"{n:,} levels: {', '.join(levels)}{', ...' if n > NAMED else ''}"


def _number(x: float, column: ColumnProfile) -> str:
    return f"{x:,.0f}" if column.is_whole and abs(x) < 1e15 else f"{x:.6g}"
