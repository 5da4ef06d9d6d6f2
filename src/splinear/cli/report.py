"""``splinear report``: an HTML page on a model, with measures on the rows of a file."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._types import Floats, Input
from splinear.cli.console import failing_well, make_console, say
from splinear.cli.data import Reading, blocks, load_model, open_data, open_for, some_rows
from splinear.cli.output import PAGE, check_outputs
from splinear.cli.progress import tracking
from splinear.cli.target import TargetColumn, read_offset, read_target
from splinear.estimators.base import AdditiveEstimator
from splinear.tables.arrow import import_arrow
from splinear.tables.table import Table

if TYPE_CHECKING:
    import typer

__all__ = ["add_report", "write_page"]

MOST_ROWS = 100_000  # of the sample that a page measures a model on


def add_report(app: "typer.Typer") -> None:
    """Add the command ``splinear report``."""
    from splinear.cli import options as o

    @app.command()
    def report(
        model: o.ModelFile,
        data: o.DataFile,
        output: o.Page,
        target: o.KnownTarget = None,
        offset: o.Offset = None,
        title: o.Title = None,
        delimiter: o.Delimiter = None,
        number: o.Numbers = None,
        dates: o.Dates = None,
        force: o.Force = False,
    ) -> None:
        """Write one HTML page on a model: its curves, how good it is, and a panel to try values.

        Example: splinear report churn.splinear test.csv --target churn -o churn.html
        """
        with failing_well():
            check_outputs({"--output": (output, PAGE)}, {"MODEL": model, "DATA": data}, force=force)
            fitted = load_model(model)
            reading = Reading(delimiter, number or (), dates or ())
            table, column = open_for(fitted, data, reading), None
            if target is not None or table.is_sparse:
                classes = getattr(fitted, "classes_", ())
                _, column = read_target(open_data(data, reading), target, classes)
            known = read_offset(open_data(data, reading), offset)[1] if offset else None
            kept = np.ones(table.shape[0], dtype=bool) if column is None else column.there
            write_page(fitted, output, table, kept, column, known, title)
            say(f"Report  {output}")
            if column is None:
                hint = "--target would add how good the model is on these rows."
                make_console().print(f"[dim]{hint}[/]")


def write_page(
    model: AdditiveEstimator,
    output: Path,
    table: Table,
    kept: NDArray[np.bool_],
    target: TargetColumn | None,
    offset: Floats | None = None,
    title: str | None = None,
) -> None:
    """Write the page of a model, with measures on the rows in the mask `kept`, if any.

    If there are more than 100,000 rows, a sample is used.
    """
    from splinear.report import write

    X = y = own = None
    if kept.any():
        kept = _sampled(kept)
        X = _gathered(table, kept)
        y = None if target is None else target.values[kept]
        own = None if offset is None else offset[kept]
    name = "the target" if target is None else target.name
    write(model, output, X, y, offset=own, title=title, target_name=name)


def _sampled(kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of a sample of the kept rows."""
    rows = np.flatnonzero(kept)
    if len(rows) <= MOST_ROWS:
        return kept
    out = np.zeros_like(kept)
    out[np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False)] = True
    return out


def _gathered(table: Table, kept: NDArray[np.bool_]) -> Input:
    """Return the kept rows of a table, in memory."""
    parts = []
    with tracking("Reading", table.shape[0], "rows") as track:
        for rows, block in blocks(table):
            if kept[rows].any():
                parts.append(some_rows(block, kept[rows]))
            track(rows.stop, "")
    if table.is_sparse:
        return sparse.vstack(parts, format="csr")
    return import_arrow(table).concat_tables(parts)
