"""A picture of a varying coefficient. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from splinear._types import Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.intervals import critical
from splinear.inspection.adding import column_of
from splinear.inspection.bands import LEVEL, posteriors_of_pair
from splinear.inspection.curves import read_numbers
from splinear.inspection.naming import boolean_features, one_output
from splinear.inspection.ranking import importances
from splinear.inspection.resolving import FittedModel, resolve
from splinear.inspection.varying import varying_errors, varying_of
from splinear.model.covariance import is_too_large
from splinear.model.fitted import FittedTerm, FittedVarying
from splinear.plotting.curve import Words
from splinear.plotting.display import CurvesDisplay
from splinear.plotting.drawing import MOST_BANDS
from splinear.plotting.panels import Evaluate, make_panel
from splinear.plotting.request import checked_names, require_matplotlib, shares_of, words_of
from splinear.plotting.style import AS_IT_IS, INK, LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["VaryingDisplay"]


class VaryingDisplay(CurvesDisplay):
    """A varying coefficient: the slope of one feature over another, or a curve per level.

    If `by` is a number, the panel has its slope over the values of `of`: how much a unit of `by`
    adds to the score, less the mean over the training rows, which is part of the curve of `by`. If
    `of` is a category, there is a bar per level. If `by` is a category, the panel has a line for
    each of its levels, or of more than ten for the most frequent: what its curve of `of` adds
    beyond the terms that the features have alone. Bands are pointwise. All else is as in
    :class:`CurvesDisplay`. Make a display with :meth:`of_term`.

    Parameters
    ----------
    curves : sequence of Curve
        A single one.
    words : Words
        For the legend and the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.plotting import VaryingDisplay
    >>> from splinear.terms import Varying
    >>> X = np.random.default_rng(0).uniform(0, 1, (500, 2))
    >>> y = X[:, 1] * X[:, 0] ** 2
    >>> model = AdditiveRegressor(terms={(0, 1): Varying()}).fit(X, y)
    >>> display = VaryingDisplay.of_term(model, X, (0, 1))
    >>> display.figure_.savefig("slopes.png")
    """

    @classmethod
    def of_term(
        cls,
        estimator: FittedModel,
        X: Input,
        features: tuple[int | str, int | str],
        *,
        target: object = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        target_name: str = "the target",
        n_points: int = 200,
        band: bool = True,
        ax: Axes | None = None,
        figure: Figure | None = None,
    ) -> VaryingDisplay:
        """Compute the curves of a varying coefficient and draw them.

        Parameters
        ----------
        estimator : fitted AdditiveClassifier or AdditiveRegressor, a pipeline or a search
        X : array-like of shape (n_samples, n_features)
            For the histogram and importances.
        features : tuple of two int or str
            `of` and `by`, by name or position, as in `terms`.
        target : class label or int, default=None
            Whose curves; needed if there are several outputs.
        feature_names, class_names, target_name
            For titles and axes; by default the model's own.
        n_points : int, default=200
        band : bool, default=True
            Whether to shade 95 % bands, of at most four lines.
        ax, figure
            As in :meth:`plot`.
        """
        require_matplotlib()
        estimator, X = resolve(estimator, X)
        names = checked_names(estimator, feature_names)
        term = varying_of(estimator, features)
        output = one_output(estimator, target, "if a varying coefficient is drawn")
        values = np.asarray(column_of(read_numbers(estimator, X), term.of), dtype=np.float64)
        column = np.asarray(column_of(read_numbers(estimator, X), term.by), dtype=np.float64)
        lines = np.array([0]) if term.group.by_number else _most_frequent(term, column)
        curves = FittedTerm.of_curves(term, output)
        half = _half(estimator, term, output, lines) if band else None
        panel = make_panel(
            curves,
            0 if term.group.by_number else lines.tolist(),
            values,
            names[term.of],
            _share(estimator, X, term, target),
            n_points,
            center=False,
            half=half,
            is_boolean=term.of in boolean_features(estimator, X),
        )
        own = words_of(estimator, target, class_names, target_name)
        words = _words(term, own, names[term.by], lines)
        display = cls([panel], words)
        display.plot(ax, figure=figure)
        if ax is not None:  # other panels of its figure have other units
            ax.set_ylabel(words.axis, color=INK, **AS_IT_IS)
        return display


def _most_frequent(term: FittedVarying, column: Floats) -> npt.NDArray[np.intp]:
    """Return the curves that have a line, ascending; the last may be that of missing values."""
    missing = len(term.levels_of_by)
    level = np.where(np.isnan(column), missing, column).astype(np.intp)
    n = term.curves.shape[1]
    counts = np.bincount(level[(level >= 0) & (level < n)], minlength=n)
    return np.sort(np.argsort(-counts, kind="stable")[: len(LINES)])


def _half(
    estimator: AdditiveEstimator,
    term: FittedVarying,
    output: int,
    lines: npt.NDArray[np.intp],
) -> Evaluate | None:
    """Return a function that computes half the width of the band; None: there is none."""
    too_many = len(lines) > MOST_BANDS or is_too_large(term.group.curve)
    if not estimator._posteriors or too_many:
        return None
    joint, _ = posteriors_of_pair(estimator, term, output)
    reach = critical(LEVEL, joint.n_left)

    def half(x: npt.ArrayLike) -> Floats:
        errors = varying_errors(estimator, term, np.asarray(x, dtype=np.float64))[..., output]
        return np.asarray(reach * (errors[:, 0] if term.group.by_number else errors[:, lines]))

    return half


def _share(estimator: AdditiveEstimator, X: Input, term: FittedVarying, target: object) -> float:
    """Return the term's part of the sum of all importances."""
    known = [pair.features for pair in estimator.terms_.pairs]
    shares = shares_of(importances(estimator, X, target=target, by="term"))
    return float(shares[known.index(term.features) - len(known)])


def _words(term: FittedVarying, own: Words, by: str, lines: npt.NDArray[np.intp]) -> Words:
    """Return what the axis and the legend say."""
    if term.group.by_number:
        axis = f"slope of {by}, less its mean"
        return Words(f"a unit of {by} adds more", f"a unit of {by} adds less", axis=axis)
    known = [*map(str, term.levels_of_by), "missing"]
    axis = own.axis.replace("effect", f"effect by {by}", 1)
    return Words(lines=tuple(known[k] for k in lines), axis=axis, is_factor=own.is_factor)
