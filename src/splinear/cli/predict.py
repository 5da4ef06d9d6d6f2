"""``splinear predict``: predictions for the rows of a file."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier

from splinear._types import AnyArray, Floats, Input
from splinear.cli.console import OptionError, failing_well
from splinear.cli.data import Reading, blocks, load_model, no_column, open_data, open_for
from splinear.cli.output import TABLE, Columns, check_outputs, table_writer
from splinear.cli.progress import tracking
from splinear.cli.target import read_offset
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.naming import labels_of
from splinear.tables.arrow import Arrow, ArrowTable
from splinear.tables.table import Table

if TYPE_CHECKING:
    import typer

__all__ = ["add_predict"]


def add_predict(app: "typer.Typer") -> None:
    """Add the command ``splinear predict``."""
    from splinear.cli import options as o

    @app.command()
    def predict(
        model: o.ModelFile,
        data: o.DataFile,
        output: o.Predictions = None,
        keep: o.Keep = None,
        offset: o.Offset = None,
        delimiter: o.Delimiter = None,
        number: o.Numbers = None,
        dates: o.Dates = None,
        force: o.Force = False,
    ) -> None:
        """Predict the rows of a file: classes with probabilities, or numbers.

        Columns are found by their names; others are ignored.

        Example: splinear predict churn.splinear new.csv -o predictions.csv --keep customer
        """
        with failing_well():
            check_outputs(
                {"--output": (output, TABLE)}, {"MODEL": model, "DATA": data}, force=force
            )
            fitted = load_model(model)
            reading = Reading(delimiter, number or (), dates or ())
            table = open_for(fitted, data, reading)
            known = read_offset(open_data(data, reading), offset)[1] if offset else None
            _predict(fitted, table, keep or [], known, output)


def _predict(
    model: AdditiveEstimator,
    table: Table,
    keep: list[str],
    offset: Floats | None,
    output: Path | None,
) -> None:
    """Write the predictions of all rows, block by block."""
    features = list(range(table.shape[1]))
    if keep:
        table, features = _with_columns(table, keep)
    with table_writer(output) as write, tracking("Predicting", table.shape[0], "rows") as track:
        for rows, block in blocks(table):
            kept = {name: block[name] for name in keep}
            X = block.select(features) if keep else block
            found = predictions(model, X, None if offset is None else offset[rows])
            if both := set(kept).intersection(found):
                raise OptionError(
                    f"--keep {min(both)}: the predictions have a column of this name; rename it in "
                    f"{table}, or leave it out"
                )
            write({**kept, **found})
            track(rows.stop, "")


def _with_columns(table: Table, keep: list[str]) -> tuple[Table, list[int]]:
    """Return the table with these columns added, and the positions of the features in it."""
    if not isinstance(table, ArrowTable):
        raise ValueError(f"the columns of {table} have no names: leave out --keep")
    unknown = [name for name in keep if name not in table.all_names]
    if unknown:
        raise no_column(table, unknown, " to keep", table.all_names)
    more = [name for name in dict.fromkeys(keep) if name not in table.features]
    return table.select_names([*table.features, *more]), list(range(len(table.features)))


def predictions(model: AdditiveEstimator, X: Input, offset: Input = None) -> Columns:
    """Return the columns of predictions: classes and their probabilities or scores, or numbers."""
    columns = predicted(model, X, offset)
    if not is_classifier(model):
        return columns
    if hasattr(model, "predict_proba"):
        name, found = "probability", model.predict_proba(X, offset=offset)
    else:
        name, found = "score", model.decision_function(X, offset=offset)
    if found.ndim == 1:
        return columns | {name: found}
    for label, column in zip(model.classes_.tolist(), found.T, strict=True):
        columns[f"{name}_{label}"] = np.ascontiguousarray(column)
    return columns


def predicted(
    model: AdditiveEstimator, X: Input, offset: Input = None
) -> dict[str, AnyArray | Arrow]:
    """Return the column of predictions, or one for each of several quantiles."""
    found = model.predict(X, offset=offset)
    if found.ndim == 1 or is_classifier(model):
        return {"prediction": found}
    pairs = zip(labels_of(model), found.T, strict=True)
    return {f"prediction_{level:g}": np.ascontiguousarray(column) for level, column in pairs}
