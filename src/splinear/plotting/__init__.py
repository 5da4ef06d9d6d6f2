"""Pictures of fitted models, by matplotlib."""

from splinear.plotting.contributions import ContributionsDisplay
from splinear.plotting.curve import Curve, Words
from splinear.plotting.display import CurvesDisplay
from splinear.plotting.pair_display import PairDisplay
from splinear.plotting.style import DOWN, FAINT, INK, MUTED, UP
from splinear.plotting.surfaces import Side, Surface
from splinear.plotting.varying_display import VaryingDisplay

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
    "VaryingDisplay",
    "Words",
]
