"""What can stop a fit, and how its progress is reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

__all__ = ["Progress", "Watch"]


@dataclass(frozen=True)
class Progress:
    """How far a fit has got.

    Attributes
    ----------
    n_iter : int
        Passes made (dual coordinate descent), or steps (Newton's method), turns of REML included.
    gap : float
        The relative duality gap, for dual coordinate descent as estimated during the pass.
    n_active : int
        Rows that are still visited.
    n_rows : int
        Rows in all.
    label : object
        The class whose curves are being learned; None where there is only one problem.
    fold : int or None
        The fold whose rows are held out; None: all rows are trained on.
    phase : str or None
        What comes before the fit: "smoothness" for turns of REML, "trial 1", ... for models that
        are compared on rows held out, whose steps are numbered from 1 on, "curves" for the model
        that pairs of features are looked for with. None: the fit itself.
    C : float or None
        The value of C along a path; None: there is no path.
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
    """What stopped a fit, and what was raised on the way."""

    reason: str | None = None
    error: BaseException | None = None


@dataclass
class Watch:
    """Asked a few times a second, and told after every pass; either may stop the fit.

    `deadline` is on the clock of time.monotonic(); `tell` is the user's callback, which stops the
    fit by returning True; `flag` is shared by all problems of one fit, so that what stops one stops
    all.
    """

    deadline: float | None = None
    tell: Callable[[Progress], object] | None = None
    n_rows: int = 0
    label: object = None
    fold: int | None = None
    phase: str | None = None
    C: float | None = None
    n_before: int = 0  # passes or steps that count along
    hurries: bool = False  # whether a pass costs much even once the fit was stopped
    flag: _Flag = field(default_factory=_Flag)

    def of(self, label: object) -> Watch:
        """Return the watch of one problem of several."""
        return replace(self, label=label)

    def during(self, phase: str) -> Watch:
        """Return the watch of something that comes before the fit."""
        return replace(self, phase=phase)

    def at(self, C: float) -> Watch:
        """Return the watch of one point of a path of C."""
        return replace(self, C=C)

    def after(self, n_iter: int) -> Watch:
        """Return the watch of what comes after this many passes or steps."""
        return replace(self, n_before=self.n_before + n_iter)

    def poll(self) -> bool:
        """Tell whether to stop now."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.flag.reason = self.flag.reason or "time_limit"
        return self.flag.reason is not None

    def on_pass(self, n_iter: int, gap: float, n_active: int) -> bool:
        """Pass progress on, and tell whether to stop. What the callback raises is kept.

        A callback that has stopped the fit, or failed, is not called again.
        """
        if self.flag.reason in ("callback", "error"):
            return True
        try:
            n_iter += self.n_before
            about = (self.label, self.fold, self.phase, self.C)
            progress = Progress(n_iter, gap, n_active, self.n_rows, *about)
            if self.tell is not None and self.tell(progress):
                self.flag.reason = "callback"
        except BaseException as error:  # Ctrl-C too: raised again once the model has been stored
            self.fail(error)
        return self.poll()

    def fail(self, error: BaseException) -> None:
        """Stop all problems, and keep what was raised."""
        self.flag.reason, self.flag.error = "error", error

    @property
    def reason(self) -> str | None:
        """Why the fit was stopped: "time_limit", "callback", "error", or None."""
        return self.flag.reason

    @property
    def in_haste(self) -> bool:
        """Whether to end with what is known: after Ctrl-C, or where more passes take long."""
        return self.error is not None or (self.hurries and self.reason is not None)

    @property
    def error(self) -> BaseException | None:
        """What was raised on the way."""
        return self.flag.error
