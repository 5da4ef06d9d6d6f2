"""The group of commands, with usage errors in one line. Imported only if typer is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from typer.core import TyperGroup

from splinear.cli.console import say_error

__all__ = ["OneLineErrors"]


class OneLineErrors(TyperGroup):
    """A group of commands that prints usage errors in one line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: object,
    ) -> object:
        """Run a command, and exit with its code if `standalone_mode`."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except Exception as error:
            # The base class of such errors is click's or typer's own, depending on the version of
            # typer.
            if not standalone_mode or not hasattr(error, "format_message"):
                raise
            context = getattr(error, "ctx", None)
            command = "splinear" if context is None else context.command_path
            message = error.format_message().rstrip(".")
            say_error(f"{message}. Try {command} --help.")
            sys.exit(getattr(error, "exit_code", 2))
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code
