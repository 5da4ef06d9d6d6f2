"""The app: its commands, its version, its errors."""

import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from splinear.cli.convert import add_convert
from splinear.cli.demo import add_demo
from splinear.cli.explain import add_explain
from splinear.cli.fit import add_fit
from splinear.cli.predict import add_predict
from splinear.cli.report import add_report
from splinear.cli.reproduce import add_reproduce

if TYPE_CHECKING:
    import typer

__all__ = ["main", "make_app"]

COMMANDS: Sequence[Callable[["typer.Typer"], None]] = (
    add_fit,
    add_predict,
    add_explain,
    add_report,
    add_convert,
    add_demo,
    add_reproduce,
)


def main() -> None:
    """Run the command line."""
    missing = [name for name in ("typer", "rich") if find_spec(name) is None]
    if missing:
        sys.exit(
            f"splinear: the command line needs {' and '.join(missing)}: pip install 'splinear[cli]'"
        )
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an ASCII terminal gets ?, not a traceback
    make_app()()


def make_app() -> "typer.Typer":
    """Make the typer app with all its commands."""
    import typer

    from splinear.cli.group import OneLineErrors

    app = typer.Typer(
        cls=OneLineErrors,
        invoke_without_command=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            from splinear import __version__

            typer.echo(f"splinear {__version__}")
            raise typer.Exit

    @app.callback()
    def splinear(
        context: typer.Context,
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=show_version, is_eager=True, help="Show the version and exit."
            ),
        ] = False,
    ) -> None:
        """Additive models at the price of linear ones."""
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    for add in COMMANDS:
        add(app)
    return app
