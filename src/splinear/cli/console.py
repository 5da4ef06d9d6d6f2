"""Consoles and error handling of all commands."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FAILED", "INTERRUPTED", "WRONG_USAGE", "OptionError", "failing_well", "make_console"]

FAILED, WRONG_USAGE = 1, 2
INTERRUPTED = 130  # exit code as in a shell: 128 + SIGINT


class OptionError(ValueError):
    """An invalid option, whatever the files contain."""


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on stdout or stderr that prints text without markup."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


@contextmanager
def failing_well() -> Iterator[None]:
    """Print expected errors in one line, and exit with a nonzero code.

    The code is 1 for a failure, 2 for wrong usage, and 130 after Ctrl-C. Warnings are printed in
    one line as well.
    """
    import typer

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        try:
            yield
        except KeyboardInterrupt:
            typer.echo("splinear: interrupted; nothing was written.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # typer ends quietly
        except MemoryError:
            _fail("there is not enough memory; fit takes less with, for example, --max-memory 1GB")
        except (OSError, ImportError, ValueError, TypeError, RuntimeError) as error:
            _fail(_one_line(error), WRONG_USAGE if isinstance(error, OptionError) else FAILED)


def _fail(message: str, code: int = FAILED) -> None:
    import typer

    typer.echo(f"splinear: {message}", err=True)
    raise typer.Exit(code) from None


def _one_line(error: BaseException) -> str:
    """Return the message of an exception in one line; system errors name their file."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    import typer

    typer.echo(f"splinear: warning: {' '.join(str(message).split())}", err=True)
