"""``splinear convert``: a model for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING

from splinear.cli.console import OptionError, failing_well, say
from splinear.cli.data import load_model
from splinear.cli.output import CONVERTED, SQL_MARK, check_outputs, write_text
from splinear.estimators.base import AdditiveEstimator

if TYPE_CHECKING:
    import typer

__all__ = ["add_convert"]

FORMATS = ("onnx", "sql", "json")


def add_convert(app: "typer.Typer") -> None:
    """Add the command ``splinear convert``."""
    from splinear.cli import options as o

    @app.command()
    def convert(
        model: o.ModelFile,
        output: o.Converted,
        to: o.To = None,
        table: o.SqlTable = "data",
        dialect: o.Dialect = "duckdb",
        force: o.Force = False,
    ) -> None:
        """Write a model as an ONNX graph, an SQL query or JSON.

        Example: splinear convert churn.splinear --to sql --table customers -o churn.sql
        """
        with failing_well():
            check_outputs({"--output": (output, CONVERTED)}, {"MODEL": model}, force=force)
            form = _form(to, output)
            _convert(load_model(model), form, output, table, dialect)
            say(f"Wrote {output}")


def _form(to: str | None, output: Path) -> str:
    form = output.suffix.lower().removeprefix(".") if to is None else to.lower()
    if form not in FORMATS:
        raise OptionError(
            f"--to is one of {', '.join(FORMATS)}; got {form!r}"
            if to is not None
            else f"{output} has no known ending. Add --to, one of {', '.join(FORMATS)}"
        )
    return form


def _convert(model: AdditiveEstimator, form: str, output: Path, table: str, dialect: str) -> None:
    from splinear import export

    if form == "onnx":
        export.to_onnx(model, output)
    elif form == "sql":
        write_text(output, f"{SQL_MARK}\n{export.to_sql(model, table, dialect)}\n")
    else:
        export.to_json(model, output)
