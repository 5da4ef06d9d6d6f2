"""The candidates of a search, and the table cv_results_ made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from splinear._types import AnyArray, Floats
from splinear.training.estimator import AdditiveEstimator
from splinear.training.folds import FoldPath

__all__ = ["Candidate", "Comparison", "check_searched"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """The scores of one parameter setting along the path of C, in each fold.

    A path of None is a fold that was not reached before the search was stopped.
    """

    params: dict[str, Any]
    paths: list[FoldPath | None]
    n_points: int

    @property
    def scores(self) -> Floats:
        """Scores on the held-out rows, (n_folds, n_Cs); NaN where the search was stopped."""
        nothing = np.full(self.n_points, np.nan)
        return np.stack([nothing if path is None else path.scores for path in self.paths])

    @property
    def seconds(self) -> float:
        """Mean training time per fold."""
        return float(np.mean([np.nan if path is None else path.seconds for path in self.paths]))

    @property
    def summary(self) -> str:
        """One line of text for verbose output."""
        mean = self.scores.mean(axis=0)
        shown = "stopped" if np.isnan(mean).all() else f"best mean score {np.nanmax(mean):.4f}"
        return f"{self.params or 'path of C'}: {shown}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """All candidates of a search, with scores for all values of C in all folds."""

    candidates: list[Candidate]
    Cs: Floats
    n_splits: int

    @property
    def n_unconverged(self) -> int:
        """Number of fits that did not converge."""
        return sum(path.n_unconverged for c in self.candidates for path in c.paths if path)

    def results(self) -> dict[str, Any]:
        """Return cv_results_: one entry per candidate and C."""
        params = [{**c.params, "C": float(C)} for c in self.candidates for C in self.Cs]
        scores = np.concatenate([c.scores for c in self.candidates], axis=1)  # (n_folds, n_params)
        compared = _compared(scores)
        mean = compared.mean(axis=0)
        results: dict[str, Any] = {"params": params}
        for name in sorted({name for setting in params for name in setting}):
            results[f"param_{name}"] = np.ma.MaskedArray(
                _objects([setting.get(name) for setting in params]),
                mask=[name not in setting for setting in params],
            )
        for k, of_fold in enumerate(scores):
            results[f"split{k}_test_score"] = of_fold
        results["mean_test_score"], results["std_test_score"] = mean, compared.std(axis=0)
        filled = np.where(np.isnan(mean), -np.inf, mean)
        results["rank_test_score"] = rankdata(-filled, method="min").astype(np.int32)
        seconds = [c.seconds / len(self.Cs) for c in self.candidates]
        results["mean_fit_time"] = np.repeat(seconds, len(self.Cs))
        return results


def _compared(scores: Floats) -> Floats:
    """Return the rows of `scores` (n_folds, n_params) that settings are compared by.

    These are all folds; or, if a stopped search completed no setting in all folds, the folds that
    got farthest.
    """
    reached = ~np.isnan(scores)
    if reached.all(axis=0).any():
        return scores
    n_reached = reached.sum(axis=1)
    return np.asarray(scores[n_reached == n_reached.max()])


def _objects(values: list[Any]) -> AnyArray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def check_searched(estimator: object, scoring: object) -> None:
    """Raise if the estimator or the scoring is not supported, although GridSearchCV accepts it."""
    if not isinstance(estimator, AdditiveEstimator):
        raise ValueError(
            "The 'estimator' parameter of PathSearchCV must be an AdditiveClassifier, AdditiveSVC, "
            f"AdditiveRegressor or AdditiveSVR; got a {type(estimator).__name__}. With other steps "
            "before it, put PathSearchCV at the end of the pipeline."
        )
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(
            "The 'scoring' parameter of PathSearchCV must be one scorer, a name or a callable; got "
            f"{scoring!r}. For several, use cross_validate with the best estimator."
        )
