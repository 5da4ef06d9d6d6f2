"""Output of `verbose` during a fit or a search: one live line, or one line per pass."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TextIO, TypeAlias, TypeVar

from splinear._types import Floats
from splinear.objective.watch import Progress, Watch

__all__ = ["FitLine", "LiveLine", "SearchLine"]

EVERY = 0.1  # seconds between two updates of a live line
NOTEBOOK_WIDTH = 100
LONG_ROUND = 2.0  # seconds; longer rounds get a line of their own

Self = TypeVar("Self", bound="LiveLine")
Tell: TypeAlias = Callable[[Progress], object]


class LiveLine:
    """Shows the progress of a fit as `verbose` asks.

    0 is silent. 1 keeps one line up to date on a terminal or in a notebook and finally replaces it
    by the result; a pipe or a file gets only that last line. 2 or more prints a line per pass.
    Output goes to stderr, so that a program's own output stays as it is; in a notebook it goes to
    stdout, because notebooks show stderr in red. Threads may report at the same time.

    Parameters
    ----------
    title : str
        The beginning of every line.
    verbose : int
    """

    def __init__(self, title: str, verbose: int) -> None:
        self.title, self.verbose, self.ended = title, int(verbose), ""
        self.stream: TextIO = sys.stdout if _is_notebook(sys.stdout) else sys.stderr
        self.is_live = self.verbose == 1 and _is_live(self.stream)
        self._began, self._shown_at, self._has_line = time.monotonic(), -EVERY, False
        self._lock = threading.Lock()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Replace the live line by the result."""
        if self._has_line:
            self._write("\r" + " " * _width(self.stream) + "\r")
        if self.verbose and self.ended:
            self._write(f"{self.title}: {self.ended}, {self.seconds:.1f} s\n")

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def show(self, text: str, *, at_once: bool = False) -> None:
        """Update the live line, if there is one, at most every 0.1 s unless `at_once`."""
        with self._lock:
            now = time.monotonic()
            if self.is_live and (at_once or now - self._shown_at >= EVERY):
                line = f"{self.title}: {text}, {self.seconds:.1f} s"
                width = _width(self.stream)
                self._write("\r" + line[:width].ljust(width))
                self._shown_at, self._has_line = now, True

    def say(self, text: str) -> None:
        """Print a line if verbose > 1."""
        if self.verbose > 1:
            with self._lock:
                self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (AttributeError, OSError, ValueError):  # no stream, a closed one, a full disk
            pass  # failing output must not stop a fit


class FitLine(LiveLine):
    """Progress of one fit."""

    _state = ""  # description of the last pass

    def telling(self, callback: Tell | None) -> Tell | None:
        """Return the function that solvers call: it updates this line, then calls `callback`."""
        return _both(self._on_pass, callback) if self.verbose else callback

    def _on_pass(self, progress: Progress) -> None:
        self._state = ", ".join([*_about(progress), f"gap {progress.gap:.1e}"])
        self.show(self._state)
        self.say(_line(progress))

    def on_round(self, n_rounds: int, seconds: float) -> None:
        """Show that all Dask workers have answered; this happens several times per pass."""
        text = f"round {n_rounds} of all workers"
        self.show(f"{self._state}, {text}" if self._state else text)
        if seconds >= LONG_ROUND:
            self.say(f"  {text} in {seconds:.1f} s, {self.seconds:.1f} s")


class SearchLine(LiveLine):
    """Progress of a search over settings, folds and values of C.

    `passes` is the estimator's own `verbose`: 1 shows the live line as well, 2 or more prints a
    line per pass instead, also in the folds.
    """

    def __init__(self, title: str, verbose: int, passes: int) -> None:
        super().__init__(title, verbose or min(int(passes), 1))
        self._passes = LiveLine(title, passes)
        self.is_live = self.is_live and self._passes.verbose < 2

    def telling(
        self, callback: Tell | None, setting: tuple[int, int], n_folds: int, Cs: Floats
    ) -> Tell | None:
        """Return the function that solvers call in a fold.

        `setting` is the number of the setting, from 1 on, and the number of settings.
        """
        if not self.verbose:
            return callback
        place = {C: k for k, C in enumerate(Cs.tolist(), start=1)}

        def on_pass(progress: Progress) -> None:
            parts = ["setting {} of {}".format(*setting)] if setting[1] > 1 else []
            if progress.fold is not None:
                parts.append(f"fold {progress.fold + 1} of {n_folds}")
            if progress.label is not None:
                parts.append(f"class {progress.label}")
            if progress.C is not None:
                at = place.get(progress.C)
                parts.append(f"C = {progress.C:.3g}" + (f" ({at} of {len(Cs)})" if at else ""))
            self.show(", ".join(parts))
            self._passes.say(_line(progress))

        return _both(on_pass, callback)

    def chosen(self, params: Mapping[str, object], score: float, watch: Watch) -> None:
        """Show that the best setting is trained on all rows; name it in the last line."""
        named = ", ".join(
            f"{name} = {value:.3g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in params.items()
        )
        stopped = "" if watch.reason is None else "stopped; "
        self.ended = f"{stopped}best {named}, mean score {score:.4f}"
        self.show("the best on all rows", at_once=True)


def _both(show: Callable[[Progress], None], callback: Tell | None) -> Tell:
    def tell(progress: Progress) -> object:
        show(progress)
        return None if callback is None else callback(progress)

    return tell


def _about(progress: Progress) -> list[str]:
    """Return a description of the current pass, for the live line."""
    label = [] if progress.label is None else [f"class {progress.label}"]
    phase = [] if progress.phase is None else [progress.phase]
    return [*label, *phase, f"pass {progress.n_iter}"]


def _line(progress: Progress) -> str:
    """Return the line that describes a pass."""
    fold = "" if progress.fold is None else f"fold {progress.fold}   "
    C = "" if progress.C is None else f"C {progress.C:.3g}   "
    label = "" if progress.label is None else f"class {progress.label}   "
    phase = "" if progress.phase is None else f"{progress.phase}   "
    return (
        f"{fold}{C}{label}{phase}pass {progress.n_iter:4d}   gap {progress.gap:9.2e}   "
        f"active {progress.n_active:,} of {progress.n_rows:,} rows"
    )


def _is_live(stream: TextIO) -> bool:
    """Return whether a carriage return rewrites a line of the stream."""
    if _is_notebook(stream):
        return True
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # no stream, or a closed one
        return False


def _is_notebook(stream: TextIO) -> bool:
    """Return whether the stream is that of a notebook cell."""
    return type(stream).__module__.split(".")[0] == "ipykernel"


def _width(stream: TextIO) -> int:
    """Return the largest width of a line that does not wrap."""
    if _is_notebook(stream):
        return NOTEBOOK_WIDTH
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        columns = shutil.get_terminal_size().columns
    return max(20, (columns or 80) - 1)
