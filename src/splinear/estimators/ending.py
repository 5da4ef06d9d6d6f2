"""What a fit says that did not converge: the cause, how far it got, and what to do."""

from __future__ import annotations

import math

from sklearn.base import BaseEstimator

from splinear.estimators.trainer import Trained

__all__ = ["how_it_ended"]

# A model is called usable if its relative gap is below either NEAR or NEAR_TOL times tol.
NEAR = 0.1
NEAR_TOL = 10.0


def how_it_ended(estimator: BaseEstimator, trained: Trained, reason: str | None) -> str:
    """Return a message: what stopped the fit, how far it got, and what to do.

    `reason` is that of the fit's watch. The estimator already holds the fitted attributes.
    """
    early = ""
    if not trained.settled:
        is_path = hasattr(estimator, "C_")  # of AdditiveSVC or AdditiveSVR
        what = "C was chosen" if is_path else "the smoothness of its terms was settled"
        early = f" before {what},"
    if not trained.is_whole:
        early = " before pairs of features had been looked at,"
    gap, tol = float(estimator.dual_gap_), float(estimator.tol)
    found = "an unknown gap" if math.isnan(gap) else f"a relative duality gap of {gap:.2g}"
    return (
        f"Stopped {_cause(estimator, trained, reason)}{early} at {found}; "
        f"tol={tol:g} was asked for. {_advice(estimator, trained, gap, reason)}"
    )


def _cause(estimator: BaseEstimator, trained: Trained, reason: str | None) -> str:
    passes = f"after {estimator.n_iter_} passes"
    if reason == "time_limit":
        return f"by time_limit={estimator.time_limit} s {passes}"
    if reason == "callback":
        return f"by the callback {passes}"
    if trained.rounded:
        return f"{passes}, where X is too far from the codes that it was rounded to,"
    most = max((found.n_iter for found in trained.results if not found.converged), default=0)
    if most >= estimator.max_iter:
        return f"{passes} (max_iter={estimator.max_iter})"
    return f"{passes}, where rounding errors left no step that improves it,"


def _advice(estimator: BaseEstimator, trained: Trained, gap: float, reason: str | None) -> str:
    if reason is None and trained.rounded:
        memory = "" if estimator.max_memory is None else "; or leave out max_memory"
        return f"Raise tol, or lower C{memory}."
    if reason is None:
        return "Raise max_iter or tol, or lower C."
    if gap <= max(NEAR, NEAR_TOL * float(estimator.tol)):
        return "The model is usable."
    return "The model may be far from the optimum: let it run longer."
