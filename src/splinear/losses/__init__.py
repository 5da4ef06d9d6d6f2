"""Losses: one file per response, with everything that is known about it."""

from __future__ import annotations

from splinear.losses.base import Loss
from splinear.losses.epsilon_insensitive import EpsilonInsensitive
from splinear.losses.gamma import Gamma
from splinear.losses.hinge import Hinge
from splinear.losses.logistic import Logistic
from splinear.losses.negative_binomial import NegativeBinomial
from splinear.losses.ordinal import Ordinal
from splinear.losses.poisson import Poisson
from splinear.losses.quantile import Quantile
from splinear.losses.softmax import Softmax
from splinear.losses.squared_error import SquaredError
from splinear.losses.squared_hinge import SquaredHinge
from splinear.losses.tweedie import Tweedie

__all__ = [
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Logistic",
    "Loss",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "Quantile",
    "Softmax",
    "SquaredError",
    "SquaredHinge",
    "Tweedie",
]

# By the names in constructors and files.
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        EpsilonInsensitive,
        Gamma,
        Hinge,
        Logistic,
        NegativeBinomial,
        Ordinal,
        Poisson,
        Quantile,
        Softmax,
        SquaredError,
        SquaredHinge,
        Tweedie,
    )
}
