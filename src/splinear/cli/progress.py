"""Progress: a bar with the remaining time on a terminal, and plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from splinear.cli.console import make_console, say
from splinear.inspection.text import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Track", "tracking"]

EVERY = 10.0  # seconds between two lines of a log

Track: TypeAlias = Callable[[float, str], None]  # track(amount done, description)


@contextmanager
def tracking(title: str, total: float, unit: str = "") -> Iterator[Track]:
    """Show the progress of a task of size `total` on stderr.

    The end is reported in one line: "title: 21/21, 3.2 s", or, with a unit, "title: 32,561 rows,
    0.4 s". In a log, other lines are printed only if the task takes longer than ten seconds.
    """
    console = make_console(stderr=True)
    began = time.monotonic()
    with (_bar if console.is_terminal else _lines)(console, title, total) as track:
        yield track
    count = f"{total:,.0f} {unit}" if unit else f"{total:.0f}/{total:.0f}"
    done = "" if unit == "%" else f"{count}, "
    say(f"{title}: {done}{time.monotonic() - began:.1f} s", stderr=True)


@contextmanager
def _bar(console: Console, title: str, total: float) -> Iterator[Track]:
    """Show a bar, which is removed at the end."""
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(escape(title)),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)

        def track(done: float, text: str) -> None:
            progress.update(task, completed=done, description=escape(printable(text)))

        yield track


@contextmanager
def _lines(console: Console, title: str, total: float) -> Iterator[Track]:
    """Print a line every 10 seconds."""
    began = last = time.monotonic()

    def track(done: float, text: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            share = f"{done / total:.0%}" if total else "0%"
            line = f"{title}: {share}, {now - began:.0f} s{', ' if text else ''}{text}"
            say(line, stderr=True)

    yield track
