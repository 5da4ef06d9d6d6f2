"""Pictures of fitted models, by matplotlib."""

from splinear.plotting.display import CurvesDisplay
from splinear.plotting.drawing import DOWN, FAINT, INK, MUTED, UP, Curve, Words

__all__ = ["DOWN", "FAINT", "INK", "MUTED", "UP", "Curve", "CurvesDisplay", "Words"]
