"""The estimator that the options ask for, and the progress of its fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from splinear.cli.console import OptionError
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.classifier import AdditiveClassifier
from splinear.estimators.ordinal import AdditiveOrdinal
from splinear.estimators.regressor import AdditiveRegressor
from splinear.estimators.svc import AdditiveSVC
from splinear.estimators.svr import AdditiveSVR
from splinear.losses import Quantile
from splinear.objective.watch import Progress

__all__ = ["LOSSES", "FitOptions", "Share", "make_estimator", "task_of"]

# The losses of each task, the default first.
LOSSES: dict[str, dict[str, Callable[..., AdditiveEstimator]]] = {
    "classification": {
        "log": AdditiveClassifier,
        "hinge": AdditiveSVC,
        "squared_hinge": AdditiveSVC,
    },
    "regression": {
        "squared_error": AdditiveRegressor,
        "poisson": AdditiveRegressor,
        "gamma": AdditiveRegressor,
        "tweedie": AdditiveRegressor,
        "negative_binomial": AdditiveRegressor,
        "quantile": AdditiveRegressor,
        "epsilon_insensitive": AdditiveSVR,
    },
    "ordinal": {"ordinal": AdditiveOrdinal},
}
WITHOUT_LOSS = ("log", "epsilon_insensitive", "ordinal")  # the only losses of their estimators
BEFORE = 0.9  # share of a fit that choosing the smoothness takes


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit; None is the estimator's own choice."""

    loss: str | None = None
    C: float | None = None
    interactions: int | str = 0
    max_memory: str | None = None
    seed: int = 0
    level: float | None = None
    order: Sequence[str] = ()


def task_of(loss: str | None, task: str | None, seems: str) -> str:
    """Return the task: as given, as implied by the loss, or as guessed from the target."""
    by_loss = next((name for name, losses in LOSSES.items() if loss in losses), None)
    if loss is not None and by_loss is None:
        known = ", ".join(name for losses in LOSSES.values() for name in losses)
        raise OptionError(f"there is no loss {loss!r}; --loss is one of {known}")
    if task is not None and task not in LOSSES:
        *others, last = LOSSES
        raise OptionError(f"--task is {', '.join(others)} or {last}; got {task!r}")
    if task is not None and by_loss not in (None, task):
        raise OptionError(f"--loss {loss} is for {by_loss}, and --task says {task}")
    return task or by_loss or seems


def make_estimator(task: str, wanted: FitOptions) -> AdditiveEstimator:
    """Return the estimator of a task and a loss."""
    loss = wanted.loss or next(iter(LOSSES[task]))
    make = LOSSES[task][loss]
    more: dict[str, object] = {} if loss in WITHOUT_LOSS else {"loss": loss}
    if wanted.level is not None:
        if loss != Quantile.name:
            raise OptionError(f"--level is for --loss quantile; the loss is {loss}")
        if not 0.0 < wanted.level < 1.0:
            raise OptionError(f"--level is a number between 0 and 1; got {wanted.level:g}")
        more["loss"] = Quantile(wanted.level)
    if wanted.C is not None:
        if not 0.0 < wanted.C < math.inf:
            raise OptionError(f"--C is a number above 0; got {wanted.C:g}")
        more["C"] = wanted.C
    if wanted.order:
        if make is not AdditiveOrdinal:
            raise OptionError("--order is for --task ordinal; leave one of them out")
        more["levels"] = list(wanted.order)
    if wanted.interactions:
        if make in (AdditiveSVC, AdditiveSVR):
            raise OptionError(f"--interactions is not for --loss {loss}; leave one of them out")
        more["interactions"] = wanted.interactions
    return make(random_state=wanted.seed, max_memory=wanted.max_memory, n_jobs=-1, **more)


@dataclass
class Share:
    """Estimates how much of a fit is done, from 0 to 1, from the decrease of the gaps."""

    tol: float
    n_problems: int = 1
    reached: float = 0.0
    first: dict[tuple[object, str | None], float] = field(default_factory=dict)

    def of(self, progress: Progress) -> float:
        """Return the share, which never decreases."""
        what = (progress.label, progress.phase)
        first = self.first.setdefault(what, max(progress.gap, 10.0 * self.tol))
        left = math.log(max(progress.gap, self.tol) / self.tol) / math.log(first / self.tol)
        part = min(max(1.0 - left, 0.0), 1.0)
        if progress.phase is not None:
            part *= BEFORE
        elif any(phase is not None for _, phase in self.first):
            part = BEFORE + (1.0 - BEFORE) * part
        n_begun = len({label for label, phase in self.first if phase == progress.phase})
        share = (min(n_begun, self.n_problems) - 1 + part) / self.n_problems
        self.reached = max(self.reached, share)
        return self.reached
