"""The softmax log-loss, which couples the scores of several classes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import entr

from splinear._types import AnyArray, Floats
from splinear.losses.classes import ClassLoss
from splinear.losses.curvature import Coupled, Curvature
from splinear.losses.margin import NEARLY_STRAIGHT, ROUNDING
from splinear.tables.device import special_functions

__all__ = ["Softmax", "log_softmax"]

LEAST_CURVATURE = 1e-12  # avoids a division by 0


@dataclass(frozen=True, eq=False)
class Softmax(ClassLoss):
    """log sum_k exp f_k - f_y, where y is the index of the row's class.

    All classes have curves, and none is the reference class, because all are penalized alike.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import Softmax
    >>> F = np.array([[0.0, 3.0], [1.0, 0.0], [2.0, 0.0]])  # scores (n_classes, n)
    >>> Softmax(np.array(["a", "b", "c"])).values(np.array([2, 0]), F).round(3)
    array([0.408, 0.095])
    """

    classes: AnyArray | None = field(default=None, repr=False)

    name = "softmax"
    link = "softmax"
    has_labels = False
    convex = True
    likelihood = True
    tied = True

    @property
    def n_scores(self) -> int:
        """Number of classes, which are trained together."""
        return self.n_classes

    def of_classes(self, classes: AnyArray, *, has_labels: bool) -> ClassLoss:
        """Return the loss of these classes."""
        assert not has_labels
        return Softmax(classes)

    def values(self, y: AnyArray, F: Floats) -> Floats:
        """Return the values (n,) of scores F (n_classes, n)."""
        return -log_softmax(F)[y, np.arange(F.shape[1])]

    def evaluate(self, y: AnyArray, F: Floats, cost: Floats) -> tuple[Floats, Floats, Curvature]:
        """Return values, slopes c (probability - indicator), and curvatures."""
        logs, rows = log_softmax(F), np.arange(F.shape[1])
        p = np.exp(logs)
        slopes = p.copy()
        slopes[y, rows] -= 1.0
        slopes *= cost
        return -cost * logs[y, rows], slopes, Coupled(p, cost)

    def cautious(self, y: AnyArray, F: Floats, cost: Floats) -> Curvature:
        """Return a larger curvature where the loss is nearly straight."""
        logs = log_softmax(F)
        p = np.exp(logs)
        own = np.minimum(logs[y, np.arange(F.shape[1])], -1e-9)
        m = own - np.log1p(-np.exp(own))  # log-odds of the own class
        wrong = np.flatnonzero(m < -NEARLY_STRAIGHT)
        bound = np.tanh(m[wrong] / 2.0) / (2.0 * m[wrong])
        most = (p[:, wrong] * (1.0 - p[:, wrong])).max(axis=0)
        cost = cost.copy()
        cost[wrong] *= np.maximum(1.0, bound / np.maximum(most, LEAST_CURVATURE))
        return Coupled(p, cost)

    def gap(self, y: AnyArray, F: Floats, R: Floats) -> Floats:
        """Return KL(q, p), p the probabilities at F and q = indicator + R.

        q must be probabilities too; otherwise the gap is infinite.
        """
        q = R.copy()
        q[y, np.arange(R.shape[1])] += 1.0
        feasible = np.all(q >= -ROUNDING, axis=0) & (np.abs(q.sum(axis=0) - 1.0) <= ROUNDING)
        q = np.maximum(q, 0.0)
        each = -entr(q).sum(axis=0) - (q * log_softmax(F)).sum(axis=0)
        return np.where(feasible, each, np.inf)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes, (n_rows, n_classes)."""
        found: Floats = special_functions(scores).softmax(scores, axis=1)
        return found

    def score_name(self, target: str) -> str:
        """Return the name of what the score is, given the name of a class.

        It is relative to the geometric mean of all classes.
        """
        return f"relative log-odds of {target}"


def log_softmax(F: Floats) -> Floats:
    """Return log(exp F_ki / sum_k exp F_ki); SciPy's takes far longer for few rows."""
    below: Floats = F - F.max(axis=0)
    below -= np.log(np.exp(below).sum(axis=0))
    return below
