"""summary: a table of the terms of a model.

P-values are those of a score test of the curve's variance, instead of Wood's test for smooth terms
(Biometrika 2013): the score test does not depend on the chosen smoothness, so it is equally valid
for terms that were shrunk to nothing. See `p_value`.

>>> from sklearn.datasets import load_diabetes
>>> from splinear import AdditiveRegressor
>>> from splinear.inspection import summary
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> table = summary(AdditiveRegressor(random_state=0).fit(X, y))
>>> table.lines[0].feature
's5'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from splinear._types import Floats
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.intervals import posteriors_of
from splinear.inspection.bands import has_band, posterior_of
from splinear.inspection.curves import places_of
from splinear.inspection.ranking import curve_importances
from splinear.inspection.resolving import FittedModel, resolve_model
from splinear.inspection.text import aligned, beside, data_frame, printable, told_apart
from splinear.model.fitted import Fitted, FittedPair, FittedTerm
from splinear.objective.running import one_blas_thread

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Summary",
    "TermSummary",
    "concurvity",
    "p_value",
    "summary",
    "summary_lines",
    "upper_tail",
]

COLUMNS = ("term", "feature", "edf", "importance", "p-value", "concurvity", "range")
LEAST_P = 1e-16
LEAST = 1e-12  # relative to the largest weight; smaller ones are ignored


@dataclass(frozen=True)
class TermSummary:
    """One line of a summary."""

    term: str
    feature: str
    edf: float
    importance: float
    p_value: float
    concurvity: float
    lowest: float
    highest: float

    @property
    def height(self) -> float:
        """The largest absolute value of the centered curve."""
        return max(abs(self.lowest), abs(self.highest))

    def cells(self, name: str, importance: float, height: float) -> list[str]:
        """Return the cells of the line as text, with this name of the feature.

        `importance` and `height` are the largest of all lines.
        """
        p = "" if np.isnan(self.p_value) else f"{self.p_value:.3g}"
        return [
            self.term,
            name,
            _number(self.edf, ".1f"),
            beside(self.importance, importance),
            f"<{LEAST_P:.0e}" if self.p_value < LEAST_P else p,
            _number(self.concurvity, ".2f"),
            f"{beside(self.lowest, height)} to {beside(self.highest, height)}",
        ]


@dataclass(frozen=True)
class Summary:
    """A table with a line per term, the most important first; see :func:`summary`.

    Prints as text, and as HTML in notebooks.

    Attributes
    ----------
    title : str
    lines : tuple of TermSummary

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import summary
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> table = summary(model)
    >>> table.lines[0].feature
    's5'
    >>> list(table.to_frame().columns)
    ['term', 'feature', 'edf', 'importance', 'p_value', 'concurvity', 'lowest', 'highest']
    """

    title: str
    lines: tuple[TermSummary, ...]

    def _cells(self) -> list[list[str]]:
        names = told_apart([line.feature for line in self.lines])
        most = [
            max((getattr(line, name) for line in self.lines), default=0.0)
            for name in ("importance", "height")
        ]
        return [line.cells(name, *most) for line, name in zip(self.lines, names, strict=True)]

    def __str__(self) -> str:
        rows = [list(COLUMNS), *(list(map(printable, cells)) for cells in self._cells())]
        lines = aligned(rows, [name in ("term", "feature") for name in COLUMNS])
        rule = "-" * max(map(len, lines))
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:]])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
            for cells in self._cells()
        )
        title = escape(self.title)
        return (
            f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame, numbers not rounded.

        Returns
        -------
        frame : DataFrame
        """
        names = [field.name for field in fields(TermSummary)]
        return data_frame({name: [getattr(line, name) for line in self.lines] for name in names})


@one_blas_thread()
def summary(model: FittedModel) -> Summary:
    """Summarize a model in a table with one line per term.

    Columns are: the term's kind and feature; `edf`, its effective degrees of freedom, all outputs
    together; its importance, the standard deviation of what it adds to the training rows; the
    p-value of the hypothesis that the curve is flat; concurvity (see :func:`concurvity`); and the
    lowest and highest value of its centered curve on the training range. With several outputs, the
    p-value is the smallest of theirs, multiplied by their number. It is NaN for terms of more than
    2,000 coefficients.

    The p-value of a surface tests for an effect beyond the curves of its two features; all other
    terms are treated as known. If `interactions` is a number or "auto", the pairs were chosen on
    the same rows because they seemed to matter, so their p-values are too small; to test a pair,
    name it in advance, or fit the chosen pairs to other rows. Surfaces have no concurvity.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
        Or a fitted pipeline, or a search, that ends in one.

    Returns
    -------
    table : Summary

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import summary
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> table = summary(model)
    >>> [line.feature for line in table.lines[:3]]  # the most important terms first
    ['s5', 'bmi', 'bp']
    """
    model = resolve_model(model)
    posteriors = posteriors_of(model)
    lines = summary_lines(model, list(model.terms_))
    lines.sort(key=lambda line: -line.importance)
    freedom = sum(joint.freedom for joint in posteriors)
    how = "" if all(joint.is_joint for joint in posteriors) else ", each as if others were known"
    title = f"{type(model).__name__}: {len(lines)} terms{how}, {freedom:.1f} degrees of freedom"
    if model._loss.parameters() or not model._loss.name:
        title += f", loss: {model._loss.title}"
    return Summary(title, tuple(lines))


@one_blas_thread()
def summary_lines(model: AdditiveEstimator, terms: Sequence[Fitted]) -> list[TermSummary]:
    """Return the line of each term; without a posterior there are no p-values."""
    alone = curve_importances(model)
    return [
        _line_of_pair(model, term)
        if isinstance(term, FittedPair)
        else _line(model, term, float(alone[term.features[0]]))
        for term in terms
    ]


@one_blas_thread()
def concurvity(model: FittedModel) -> Floats:
    """Compute the share of each term that the other terms could reproduce.

    It is the share of the fitted curve's variance over the training rows, weighted by the second
    derivatives of the losses, that curves of all other features together can reproduce (R^2,
    adjusted for what they would reproduce by chance). At 0.75 the curve's standard errors are up to
    twice those that it would have if the others were known; near 1 it is arbitrary which feature
    gets the credit.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
        Or a fitted pipeline, or a search, that ends in one.

    Returns
    -------
    shares : ndarray of shape (n_features,)
        From 0 to 1, the mean over outputs; NaN for features without a curve, and if there are too
        many terms for a joint posterior.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import concurvity
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> concurvity(model).shape
    (10,)
    """
    model = resolve_model(model)
    posteriors_of(model)
    out = np.full(model.n_features_in_, np.nan)
    for term in model.terms_.curves:
        out[term.features[0]] = _measures(model, term)[2]
    return out


def _line(model: AdditiveEstimator, term: FittedTerm, importance: float) -> TermSummary:
    edf, p, shared = _measures(model, term)
    f = term.evaluate(places_of(term)) - term.mean
    lowest, highest = float(f.min()), float(f.max())
    return TermSummary(term.kind, term.name, edf, importance, p, shared, lowest, highest)


def _line_of_pair(model: AdditiveEstimator, pair: FittedPair) -> TermSummary:
    lowest, highest = float(pair.coef.min()), float(pair.coef.max())
    edf, p = 0.0, []
    for joint in posteriors_of(model):
        for output in joint.outputs:
            found = joint.surface(pair.features, output)
            if found is not None:
                edf += joint.share * found.edf
                p.append(p_value(found, joint.n_left))
    of_all = min(1.0, len(p) * min(p)) if p else np.nan
    name, deviation = pair.name, pair.deviation
    return TermSummary(pair.kind, name, edf, deviation, of_all, np.nan, lowest, highest)


def _measures(model: AdditiveEstimator, term: FittedTerm) -> tuple[float, float, float]:
    """Return the degrees of freedom, p-value and concurvity of a term."""
    if not has_band(model, term):
        return term.edf, np.nan, np.nan
    edf, p, shared = 0.0, [], []
    for output in range(len(model.intercept_)):
        joint, curve = posterior_of(model, term, output)
        if curve is not None:
            edf += joint.share * curve.edf
            p.append(p_value(curve, joint.n_left))
            shared.append(joint.concurvity(term.features[0], output) if joint.is_joint else np.nan)
    if not p:
        return 0.0, np.nan, np.nan
    return edf, min(1.0, len(p) * min(p)), float(np.mean(shared))


def _number(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)


class Tested(Protocol):
    """The statistics for a test of a flat curve or surface; see CurvePosterior."""

    @property
    def score(self) -> Floats:
        """The negative gradient of the losses at a flat term, in directions of a fixed prior."""
        ...

    @property
    def score_variances(self) -> Floats:
        """The eigenvalues of the score's covariance over phi."""
        ...

    @property
    def noise(self) -> float:
        """The dispersion phi."""
        ...


def p_value(term: Tested, n_left: float) -> float:
    """Return the p-value of the hypothesis that a curve or surface is flat.

    This is a score test of the term's variance. With U the gradient of the losses with respect to
    the term at a flat term, U'K U is compared with its distribution if the term is flat, sum_k
    lambda_k chi^2_1. K is the covariance of a prior that does not depend on the data, unlike the
    chosen one. If the variance of the noise is estimated, `n_left` are its degrees of freedom.
    """
    weights = term.score_variances
    q = float(term.score @ term.score) / term.noise if term.noise > 0 else 0.0
    if not weights.any():
        return 1.0
    if np.isinf(n_left):
        return upper_tail(q, weights, np.ones(len(weights)))
    # q is a ratio: sum_k lambda_k chi^2_1 > q chi^2_n / n.
    weights, counts = np.append(weights, -q / n_left), np.append(np.ones(len(weights)), n_left)
    return upper_tail(0.0, weights, counts)


def upper_tail(q: float, weights: Floats, counts: Floats) -> float:
    """Return P(sum_k weights_k chi^2_{counts_k} > q), by Kuonen's saddlepoint approximation.

    Kuonen, "Saddlepoint approximations for distributions of quadratic forms in normal variables",
    Biometrika 1999.
    """
    there = np.abs(weights) > LEAST * np.abs(weights).max()
    weights, counts = weights[there], counts[there]
    scale = np.abs(weights).max()
    weights, q = weights / scale, q / scale
    mean = float(weights @ counts)
    if q <= 0.0 and (weights > 0).all():
        return 1.0

    def slope(s: float) -> float:  # derivative of the cumulant generating function, minus q
        return float((counts * weights / (1.0 - 2.0 * s * weights)).sum()) - q

    lowest, highest = _range_of(weights, float(counts.sum()), q)
    spread = np.sqrt(2.0 * float(counts @ weights**2))
    if abs(mean - q) < 1e-4 * spread:  # the formula is 0 / 0 here: take the mean of both sides
        beside = 1e-3 * spread
        sides = [upper_tail(q + by, weights, counts) for by in (-beside, beside)]
        return float(np.mean(sides))
    s = float(brentq(slope, lowest, highest, xtol=1e-14, rtol=1e-12))
    cumulant = -0.5 * float((counts * np.log1p(-2.0 * s * weights)).sum())
    second = 2.0 * float((counts * (weights / (1.0 - 2.0 * s * weights)) ** 2).sum())
    w = np.sign(s) * np.sqrt(max(2.0 * (s * q - cumulant), 0.0))
    v = s * np.sqrt(second)
    return float(np.clip(norm.sf(w + np.log(v / w) / w), 0.0, 1.0))


def _range_of(weights: Floats, n: float, q: float) -> tuple[float, float]:
    """Return an interval that contains the saddlepoint."""
    near = 1.0 - 1e-13
    top = float(weights.max())
    highest = near / (2.0 * top) if top > 0 else 1e6
    low = float(weights.min())
    if low < 0:
        return near / (2.0 * low), highest
    # All weights positive: the slope at s < 0 is at most n / (-2 s).
    return -n / (2.0 * max(q, 1e-300)) - 1.0, highest
