"""The watch of a fit, which reports its progress and may stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

__all__ = ["Progress", "Watch"]


@dataclass(frozen=True)
class Progress:
    """The progress of a fit.

    Attributes
    ----------
    n_iter : int
        Passes made (dual coordinate descent), or steps (Newton's method), turns of REML included.
    gap : float
        The relative duality gap, for dual coordinate descent as estimated during the pass.
    n_active : int
        Number of rows that are still visited.
    n_rows : int
        Number of all rows.
    label : object
        The class that is being trained; None if there is only one problem.
    fold : int or None
        The fold whose rows are held out; None if all rows are trained on.
    phase : str or None
        What precedes the fit: "smoothness" for turns of REML; "trial 1", ... for models that are
        compared on held-out rows, whose steps are numbered from 1 on; "curves" for the model of
        curves from which pairs of features are found; "loss" for models from which a parameter of
        the loss is estimated; "C" for the models from which AdditiveSVC or
        AdditiveSVR chooses C. None during the fit itself.
    C : float or None
        The value of C on a path; None if there is no path.
    """

    n_iter: int
    gap: float
    n_active: int
    n_rows: int
    label: object = None
    fold: int | None = None
    phase: str | None = None
    C: float | None = None


@dataclass
class _Flag:
    """Why a fit was stopped, and the exception that was raised, if any."""

    reason: str | None = None
    error: BaseException | None = None


@dataclass
class Watch:
    """Decides whether to stop a fit.

    Solvers call `poll` a few times per second and `on_pass` after every pass; both return True to
    stop. `deadline` is a time of time.monotonic(). `tell` is the user's callback, which stops the
    fit by returning True. `flag` is shared by all problems of a fit, so that all of them stop
    together.
    """

    deadline: float | None = None
    tell: Callable[[Progress], object] | None = None
    n_rows: int = 0
    label: object = None
    fold: int | None = None
    phase: str | None = None
    C: float | None = None
    n_before: int = 0  # passes or steps already made, which are added in reports
    hurries: bool = False  # whether even one more pass after a stop would take long
    flag: _Flag = field(default_factory=_Flag)

    def of(self, label: object) -> Watch:
        """Return the watch of one of several problems."""
        return replace(self, label=label)

    def during(self, phase: str) -> Watch:
        """Return the watch of a phase that precedes the fit."""
        return replace(self, phase=phase)

    def at(self, C: float) -> Watch:
        """Return the watch of one value of C on a path."""
        return replace(self, C=C)

    def after(self, n_iter: int) -> Watch:
        """Return the watch of what follows after this many passes or steps."""
        return replace(self, n_before=self.n_before + n_iter)

    def poll(self) -> bool:
        """Return whether to stop now."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.flag.reason = self.flag.reason or "time_limit"
        return self.flag.reason is not None

    def on_pass(self, n_iter: int, gap: float, n_active: int) -> bool:
        """Report progress to the callback, and return whether to stop.

        An exception of the callback is kept. A callback that stopped the fit or failed is not
        called again.
        """
        if self.flag.reason in ("callback", "error"):
            return True
        try:
            n_iter += self.n_before
            about = (self.label, self.fold, self.phase, self.C)
            progress = Progress(n_iter, gap, n_active, self.n_rows, *about)
            if self.tell is not None and self.tell(progress):
                self.flag.reason = "callback"
        except BaseException as error:  # also Ctrl-C; raised again once the model is stored
            self.fail(error)
        return self.poll()

    def fail(self, error: BaseException) -> None:
        """Stop all problems, and keep the exception."""
        self.flag.reason, self.flag.error = "error", error

    @property
    def reason(self) -> str | None:
        """Why the fit was stopped: "time_limit", "callback", "error", or None."""
        return self.flag.reason

    @property
    def in_haste(self) -> bool:
        """Whether to end without further passes: after Ctrl-C, or if passes take long."""
        return self.error is not None or (self.hurries and self.reason is not None)

    @property
    def error(self) -> BaseException | None:
        """The exception that stopped the fit, if any."""
        return self.flag.error
