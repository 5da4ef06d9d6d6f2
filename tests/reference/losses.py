"""The losses of margins that dual coordinate descent trains."""

from splinear.losses import EpsilonInsensitive, Hinge, Logistic, SquaredError, SquaredHinge
from splinear.losses.margin import MarginLoss

LOSSES: dict[str, MarginLoss] = {
    loss.name: loss
    for loss in (Hinge(), SquaredHinge(), Logistic(), SquaredError(), EpsilonInsensitive())
}
