"""Standard errors of scores, and intervals for scores and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from scipy.special import expit
from scipy.stats import norm, t
from sklearn.utils.validation import check_is_fitted

from splinear._types import Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.losses import Ordinal
from splinear.model.covariance import MOST_PARAMETERS, JointPosterior, is_too_large
from splinear.model.score_variance import ScoreVariances
from splinear.objective.running import one_blas_thread
from splinear.tables.checks import feature_label
from splinear.tables.device import on_host

__all__ = [
    "class_intervals",
    "critical",
    "level_intervals",
    "posteriors_of",
    "score_errors",
    "score_intervals",
]


def posteriors_of(estimator: AdditiveEstimator) -> Sequence[JointPosterior]:
    """Return the posteriors of a fitted estimator's problems; raise if there are none."""
    check_is_fitted(estimator, "terms_")
    if not estimator._posteriors:
        raise TypeError(
            f"{type(estimator).__name__} has no likelihood, and so no bands, standard errors and "
            "p-values. AdditiveClassifier, AdditiveOrdinal and AdditiveRegressor have them."
        )
    return estimator._posteriors


def critical(level: float, n_left: float) -> float:
    """Return the two-sided critical value of Student's t with `n_left` degrees of freedom.

    It is that of the normal distribution if `n_left` is infinite.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")
    share = 0.5 + level / 2.0
    return float(norm.ppf(share) if np.isinf(n_left) else t.ppf(share, n_left))


@one_blas_thread()
def score_errors(
    estimator: AdditiveEstimator, X: Input, offset: Input = None
) -> tuple[Floats, Floats]:
    """Return the scores and their standard errors, (n_rows, n_outputs) each.

    For several classes, the errors are those of the scores minus their mean over classes, which is
    arbitrary.
    """
    scores = on_host(estimator._scores(X, offset))
    table, errors = estimator._read_table(X), np.empty_like(scores)
    for posterior in posteriors_of(estimator):
        of, n = _variances(estimator, posterior), len(posterior.outputs)
        for k, output in enumerate(posterior.outputs):
            weights = np.eye(n)[k] - (1.0 / n if n > 1 else 0.0)
            errors[:, output] = np.sqrt(of.of(table, np.tile(weights, (len(scores), 1))))
    return scores, errors


def _variances(estimator: AdditiveEstimator, posterior: JointPosterior) -> ScoreVariances:
    for group in estimator._model.layout.groups:
        if is_too_large(group):
            raise ValueError(
                f"{feature_label(estimator, int(group.features[0]))} has more than "
                f"{MOST_PARAMETERS:,} levels or pieces: standard errors are not computed for "
                "models with such terms."
            )
    return ScoreVariances(posterior)


def score_intervals(
    estimator: AdditiveEstimator, X: Input, level: float, offset: Input, *, observations: bool
) -> tuple[Floats, Floats]:
    """Return lower and upper ends of intervals for one output's scores, (n_rows, 1) each.

    With `observations`, the intervals are for new observations, and include their noise.
    """
    [posterior] = posteriors_of(estimator)
    scores, errors = score_errors(estimator, X, offset)
    if observations:
        errors = np.sqrt(errors**2 + posterior.residual_variance)
    reach = critical(level, posterior.n_left) * errors
    return scores - reach, scores + reach


@one_blas_thread()
def class_intervals(estimator: AdditiveEstimator, X: Input, level: float, offset: Input) -> Floats:
    """Return intervals for the probabilities of outputs, (n_rows, n_outputs, 2).

    They are normal intervals for the log-odds, to first order in the scores.
    """
    posteriors, scores = posteriors_of(estimator), on_host(estimator._scores(X, offset))
    table, z = estimator._read_table(X), critical(level, np.inf)
    out = np.empty((*scores.shape, 2))
    for posterior in posteriors:
        of = _variances(estimator, posterior)
        own = scores[:, posterior.outputs]
        for k, output in enumerate(posterior.outputs):
            log_odds, weights = _log_odds(own, k)
            reach = z * np.sqrt(of.of(table, weights))
            out[:, output, 0], out[:, output, 1] = expit(log_odds - reach), expit(log_odds + reach)
    return out


@one_blas_thread()
def level_intervals(estimator: AdditiveEstimator, X: Input, level: float, offset: Input) -> Floats:
    """Return intervals for the probabilities of ordered levels, (n_rows, n_levels, 2).

    They are normal intervals for the log-odds of every level, to first order in the score and the
    cut points.
    """
    [posterior] = posteriors_of(estimator)
    loss, z = cast(Ordinal, estimator._loss), critical(level, np.inf)
    scores, table = estimator._scores(X, offset), estimator._read_table(X)
    shared = posterior.information.shared
    if shared is None or len(shared) != loss.n_shared:
        raise ValueError("There are no intervals, because a level had a weight of 0 in fit.")
    of, probabilities = _variances(estimator, posterior), loss.probabilities(scores)
    out = np.empty((*probabilities.shape, 2))
    for k, (p, slopes) in enumerate(
        zip(probabilities.T, loss.log_odds_slopes(scores), strict=True)
    ):
        log_odds = np.log(p) - np.log1p(-p)
        reach = z * np.sqrt(of.of(table, slopes.sum(axis=1, keepdims=True), slopes))
        out[:, k, 0], out[:, k, 1] = expit(log_odds - reach), expit(log_odds + reach)
    return out


def _log_odds(scores: Floats, k: int) -> tuple[Floats, Floats]:
    """Return the log-odds of output k, (n_rows,), and their derivatives with respect to scores."""
    if scores.shape[1] == 1:
        return scores[:, 0], np.ones_like(scores)
    others = np.delete(scores, k, axis=1)
    highest = others.max(axis=1, keepdims=True)
    shares = np.exp(others - highest)
    total = shares.sum(axis=1, keepdims=True)
    weights = np.insert(-shares / total, k, 1.0, axis=1)
    return scores[:, k] - (highest + np.log(total))[:, 0], weights
