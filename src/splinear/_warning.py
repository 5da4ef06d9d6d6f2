"""Warnings that point to the line of the user's own code."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

# scikit-learn's pipelines and searches, too, are between a user and a fit.
_PACKAGES = ("splinear", "sklearn", "joblib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that is not of this package or scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        if frame.f_back is None:  # in a thread of joblib, for example
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
