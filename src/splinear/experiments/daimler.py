"""The Daimler pedestrians as the paper's experiments use them: features, runs and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from splinear._types import AnyArray
from splinear.datasets import load_daimler
from splinear.experiments.models import Fit, fit
from splinear.features import GradientPyramid

__all__ = ["Daimler", "load", "six_runs"]

QUICK_STEP = 32  # the quick form takes every 32nd image
QUICK_PAIRS = 1


@dataclass(frozen=True)
class Daimler:
    """Features of all images, and which of them train and test.

    Attributes
    ----------
    images : ndarray of shape (n, 36, 18)
    X : ndarray of shape (n, n_features)
        Features of the preset ``GradientPyramid.daimler()``.
    y : ndarray of shape (n,)
        1 for pedestrians.
    subset : ndarray of shape (n,)
        "1", "2", "3", "T1" or "T2".
    pairs : sequence of (training rows, (test rows of T1, test rows of T2))
        Every two training sets; with two test sets each, these are the six runs.
    """

    images: AnyArray
    X: AnyArray
    y: AnyArray
    subset: AnyArray
    pairs: Sequence[tuple[AnyArray, Sequence[AnyArray]]]

    @property
    def first_run(self) -> tuple[AnyArray, AnyArray]:
        """Training rows (sets 1 and 2) and test rows (T1) of the first run."""
        rows, tests = self.pairs[0]
        return rows, tests[0]

    @property
    def folds(self) -> list[tuple[AnyArray, AnyArray]]:
        """Train on set 1 and validate on set 2, and the other way round: no test set is seen.

        Whole sets, because pedestrians come with mirrored copies inside their set.
        """
        first, second = (np.flatnonzero(self.subset == name) for name in ("1", "2"))
        return [(first, second), (second, first)]

    def features(self, **changes: object) -> AnyArray:
        """Compute the preset's features with some of its parameters changed."""
        X: AnyArray = GradientPyramid.daimler(**changes).fit_transform(self.images)
        return X


def load(data_home: str | None, quick: bool) -> Daimler:
    """Read the images and compute their features."""
    bunch = load_daimler(data_home)
    keep = slice(None, None, QUICK_STEP if quick else 1)
    images, target, subset = bunch.images[keep], bunch.target[keep], bunch.subset[keep]
    return Daimler(
        images=images,
        X=GradientPyramid.daimler().fit_transform(images),
        y=target,
        subset=subset,
        pairs=_pairs(bunch, subset)[: QUICK_PAIRS if quick else None],
    )


def _pairs(bunch: Bunch, subset: AnyArray) -> list[tuple[AnyArray, list[AnyArray]]]:
    """Group the loader's runs by their training rows, for the rows that are kept."""
    grouped: dict[tuple[str, ...], list[AnyArray]] = {}
    for train, test in bunch.cv:
        names = tuple(np.unique(bunch.subset[train]).tolist())
        rows = np.flatnonzero(np.isin(subset, np.unique(bunch.subset[test])))
        grouped.setdefault(names, []).append(rows)
    return [(np.flatnonzero(np.isin(subset, names)), tests) for names, tests in grouped.items()]


def six_runs(data: Daimler, X: AnyArray, model: BaseEstimator) -> tuple[list[float], list[Fit]]:
    """Train on every two training sets, test on both test sets: accuracies in percent, fits."""
    accuracies, fits = [], []
    for rows, tests in data.pairs:
        fits.append(fit(model, X[rows], data.y[rows]))
        accuracies += [100 * fits[-1].model.score(X[test], data.y[test]) for test in tests]
    return accuracies, fits
