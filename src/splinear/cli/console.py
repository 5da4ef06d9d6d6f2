"""What commands print, and how they fail."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from splinear.cli.interrupting import was_interrupted
from splinear.inspection.text import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "WRONG_USAGE",
    "OptionError",
    "failing_well",
    "make_console",
    "refuse_closed_stdout",
    "say",
    "say_error",
]

FAILED, WRONG_USAGE = 1, 2
INTERRUPTED = 130  # exit code as in a shell: 128 + SIGINT


class OptionError(ValueError):
    """An invalid option, whatever the files contain."""


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on stdout or stderr; text of users or their data goes to `say` instead."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def say(text: str, *, stderr: bool = False) -> None:
    """Print lines as they are, but for control characters, which would reach the terminal."""
    lines = "\n".join(map(printable, text.split("\n")))
    make_console(stderr=stderr).print(lines, markup=False, soft_wrap=True)


def say_error(text: str) -> None:
    """Print one line on stderr."""
    import typer

    typer.echo(f"splinear: {printable(' '.join(text.split()))}", err=True)


def refuse_closed_stdout() -> None:
    """Raise if stdout was closed when the command was started, as by `>&-` in a shell."""
    if sys.stdout.name == os.devnull:  # which `main` has put in its place
        raise OSError("cannot write stdout: it is closed")


@contextmanager
def failing_well() -> Iterator[list[Path]]:
    """Print expected errors in one line, and exit with a nonzero code.

    The code is 1 for a failure, 2 for wrong usage, and 130 after Ctrl-C. Warnings are printed in
    one line as well. Yield a list, to which a command adds what it has written when there is more
    to do.
    """
    import typer

    written: list[Path] = []

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        try:
            yield written
        except BrokenPipeError:
            raise  # typer ends quietly
        except (Exception, KeyboardInterrupt) as error:
            if not was_interrupted() and not isinstance(error, KeyboardInterrupt):
                _fail_by(error)
            done = f"{', '.join(map(str, written))} was" if written else "nothing was"
            say_error(f"interrupted; {done} written.")
            raise typer.Exit(INTERRUPTED) from None


def _fail_by(error: Exception) -> NoReturn:
    """Print an expected error, and raise an exit; raise others again."""
    if isinstance(error, MemoryError):
        _fail("there is not enough memory; fit takes less with, for example, --max-memory 1GB")
    if isinstance(error, (OSError, ImportError, ValueError, TypeError, RuntimeError)):
        _fail(_message(error), WRONG_USAGE if isinstance(error, OptionError) else FAILED)
    raise error


def _fail(message: str, code: int = FAILED) -> NoReturn:
    import typer

    say_error(message)
    raise typer.Exit(code) from None


def _message(error: BaseException) -> str:
    """Return the message of an exception; system errors name their file."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return str(error).strip() or type(error).__name__


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    say_error(f"warning: {message}")
