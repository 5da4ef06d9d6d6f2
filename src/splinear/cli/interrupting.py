"""Ctrl-C, which imports of compiled modules may turn into other errors."""

import signal
from types import FrameType

__all__ = ["listen", "was_interrupted"]

_signals: list[int] = []


def listen() -> None:
    """Raise KeyboardInterrupt on Ctrl-C, as Python does, and remember it.

    Where Ctrl-C is ignored, as in background jobs of a shell, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def was_interrupted() -> bool:
    """Return whether Ctrl-C was pressed; if so, more of them no longer disturb the end."""
    if _signals:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return bool(_signals)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    _signals.append(number)
    raise KeyboardInterrupt
