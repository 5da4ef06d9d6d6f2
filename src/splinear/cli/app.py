"""The app: its commands, its version, its errors."""

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from splinear.cli.interrupting import listen, was_interrupted

if TYPE_CHECKING:
    import typer

__all__ = ["main", "make_app"]


def main() -> None:
    """Run the command line."""
    try:
        listen()
        _run()
    except (Exception, KeyboardInterrupt) as error:  # commands have their own message
        if not was_interrupted() and not isinstance(error, KeyboardInterrupt):
            raise
        sys.stderr.write("splinear: interrupted; nothing was written.\n")
        sys.exit(130)


def _run() -> None:
    missing = [name for name in ("typer", "rich") if find_spec(name) is None]
    if missing:
        sys.exit(
            f"splinear: the command line needs {' and '.join(missing)}: pip install 'splinear[cli]'"
        )
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an ASCII terminal gets ?, not a traceback
    make_app()()


def _open_closed_streams() -> None:
    """Let closed standard streams lead nowhere, and their numbers not be those of other files."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


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

    _add_commands(app)
    return app


def _add_commands(app: "typer.Typer") -> None:
    # Imported here, so that `main` is there to answer Ctrl-C meanwhile.
    from splinear.cli.convert import add_convert
    from splinear.cli.demo import add_demo
    from splinear.cli.explain import add_explain
    from splinear.cli.fit import add_fit
    from splinear.cli.predict import add_predict
    from splinear.cli.report import add_report
    from splinear.cli.reproduce import add_reproduce

    add_fit(app)
    add_predict(app)
    add_explain(app)
    add_report(app)
    add_convert(app)
    add_demo(app)
    add_reproduce(app)
