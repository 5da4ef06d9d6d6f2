"""``splinear explain``: the contributions of columns to the scores of rows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier

from splinear._lookup import shown
from splinear._types import Input
from splinear.cli.console import failing_well, refuse_closed_stdout, say
from splinear.cli.data import Reading, blocks, load_model, open_for, some_rows
from splinear.cli.output import TABLE, Columns, check_outputs, table_writer
from splinear.cli.predict import predicted
from splinear.cli.progress import tracking
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection import base_value, contributions, term_names
from splinear.inspection import explain as explanation_of
from splinear.inspection.naming import labels_of
from splinear.tables.table import Table

if TYPE_CHECKING:
    import typer

__all__ = ["add_explain"]


def add_explain(app: "typer.Typer") -> None:
    """Add the command ``splinear explain``."""
    from splinear.cli import options as o

    @app.command()
    def explain(
        model: o.ModelFile,
        data: o.DataFile,
        row: o.Row = None,
        output: o.Contributions = None,
        label: o.Class = None,
        top: o.Top = 8,
        delimiter: o.Delimiter = None,
        number: o.Numbers = None,
        dates: o.Dates = None,
        force: o.Force = False,
    ) -> None:
        """Show what each column adds to the score of a row, or write it for all rows.

        Example: splinear explain churn.splinear new.csv --row 17
        """
        with failing_well():
            check_outputs(
                {"--output": (output, TABLE)}, {"MODEL": model, "DATA": data}, force=force
            )
            fitted = load_model(model)
            reading = Reading(delimiter, number or (), dates or ())
            target = None if label is None else _class(fitted, label)
            table = open_for(fitted, data, reading)
            if output is not None:
                _write(fitted, table, target, output)
            else:
                _print(fitted, table, sorted(set(row or [1])), target, top)


def _class(model: AdditiveEstimator, label: str) -> object:
    """Return the class whose text is `label`."""
    if model._loss.task == "ordinal":
        raise ValueError("the score of ordered levels is that of all of them; leave out --class")
    classes = labels_of(model)
    found = [name for name in classes if str(name) == label]
    if not found:
        known = shown(map(str, classes)) if classes else "none: it predicts numbers"
        raise ValueError(f"the model has no class {label!r}; its classes are {known}")
    # Two classes share one score, that of the second.
    return found[0] if len(model.intercept_) > 1 else _second(classes, found[0])


def _second(classes: list[object], label: object) -> object:
    if label != classes[1]:
        raise ValueError(
            f"with two classes the score is that of {classes[1]!r}; what raises it lowers {label!r}"
        )
    return label


def _print(
    model: AdditiveEstimator, table: Table, wanted: list[int], target: object, top: int
) -> None:
    """Print the explanations of some rows, numbered from 1 on."""
    refuse_closed_stdout()
    if wanted[-1] > table.shape[0]:
        raise ValueError(f"there is no row {wanted[-1]:,} in {table}; it has {table.shape[0]:,}")
    for number, X in _found(table, wanted):
        reasons = explanation_of(model, X, target=target).reasons(0, top=top)
        say(f"{replace(reasons, row=number)}\n")


def _found(table: Table, wanted: list[int]) -> Iterator[tuple[int, Input]]:
    """Yield rows and their numbers, in order, reading the file only as far as needed."""
    for rows, block in blocks(table):
        for number in wanted:
            if rows.start < number <= rows.stop:
                yield number, some_rows(block, np.arange(rows.start, rows.stop) == number - 1)
        if wanted[-1] <= rows.stop:
            return


def _write(model: AdditiveEstimator, table: Table, target: object, output: Path) -> None:
    """Write the contributions of all terms to the scores of all rows."""
    with table_writer(output) as write, tracking("Explaining", table.shape[0], "rows") as track:
        for rows, block in blocks(table):
            write(_columns(model, block, target))
            track(rows.stop, "")


def _columns(model: AdditiveEstimator, X: Input, target: object) -> Columns:
    """Return prediction, score, base value and contributions, as columns.

    Without a target they are those of each row's predicted class. Standard errors are left out,
    because they would take longer than everything else.
    """
    parts = np.asarray(contributions(model, X, target=target))
    base = np.broadcast_to(base_value(model, target=target), (len(parts), *parts.shape[2:]))
    score = base + parts.sum(axis=1)
    columns = predicted(model, X)
    if score.ndim > 1 and not is_classifier(model):
        levels = ", ".join(map(str, labels_of(model)))
        raise ValueError(f"the model has several quantiles: name one by --class, of {levels}")
    if score.ndim > 1:
        rows, at = np.arange(len(score)), np.argmax(score, axis=1)
        parts, base, score = parts[rows, :, at], base[rows, at], score[rows, at]
        columns["class"] = model.classes_[at]
    columns |= {"score": score, "base_value": np.ascontiguousarray(base)}
    for name, column in zip(term_names(model), parts.T, strict=True):
        columns[f"contribution_{name}"] = np.ascontiguousarray(column)
    return columns
