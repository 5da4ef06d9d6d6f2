"""Pictures of fitted models, by matplotlib."""

from splinear.plotting.contributions import ContributionsDisplay
from splinear.plotting.display import CurvesDisplay
from splinear.plotting.drawing import DOWN, FAINT, INK, MUTED, UP, Curve, Words
from splinear.plotting.pair_display import PairDisplay
from splinear.plotting.surfaces import Side, Surface

__all__ = [
    "DOWN",
    "FAINT",
    "INK",
    "MUTED",
    "UP",
    "ContributionsDisplay",
    "Curve",
    "CurvesDisplay",
    "PairDisplay",
    "Side",
    "Surface",
    "Words",
]
