"""Platt's calibration: probabilities from scores, by a logistic curve fitted to held-out rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from splinear._types import AnyArray, Floats

__all__ = ["fit_sigmoid", "sigmoid"]


def sigmoid(scores: Floats, parameters: Floats) -> Floats:
    """P = 1 / (1 + exp(a f + b)) for every output.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_outputs)
    parameters : ndarray of shape (n_outputs, 2)
        a and b of every output.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_outputs)
    """
    a, b = parameters.T
    p: Floats = expit(-(a * scores + b))
    return p


def fit_sigmoid(scores: Floats, positive: AnyArray, weights: Floats | None = None) -> Floats:
    """Fit a and b of p = 1 / (1 + exp(a f + b)) to scores that the model was not trained on.

    Maximises the likelihood of targets that are a little away from 0 and 1, as Platt does: with
    N+ and N- rows (sums of weights) they are (N+ + 1) / (N+ + 2) and 1 / (N- + 2). That keeps the
    curve finite where the scores separate the classes.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
    positive : ndarray of shape (n_samples,)
        Whether each row is of the class that high scores speak for.
    weights : ndarray of shape (n_samples,), default=None
        How often each row counts.

    Returns
    -------
    parameters : ndarray of shape (2,)
        a, which is negative where the scores are of any use, and b.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    n_positive, n_negative = weights @ positive, weights @ ~positive
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    share = weights / weights.sum()
    # In units of their spread, the scores make a problem that is solved in a few steps.
    unit = float(np.sqrt(share @ scores**2)) or 1.0
    Z = np.column_stack([scores / unit, np.ones(len(scores))])

    def value(theta: Floats) -> float:
        u = Z @ theta  # p = 1 / (1 + exp(u))
        return float(share @ (np.logaddexp(0.0, u) - (1.0 - target) * u))

    def gradient(theta: Floats) -> Floats:
        slope: Floats = Z.T @ (share * (expit(Z @ theta) - (1.0 - target)))
        return slope

    def hessian(theta: Floats) -> Floats:
        u = Z @ theta
        curvature: Floats = (Z.T * (share * expit(u) * expit(-u))) @ Z
        # A tiny part of the identity keeps it regular where all scores are equal.
        return curvature + 1e-12 * np.eye(2)

    start = np.array([0.0, np.log((n_negative + 1) / (n_positive + 1))])
    found = minimize(
        value,
        start,
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    parameters: Floats = found.x / np.array([unit, 1.0])
    return parameters
