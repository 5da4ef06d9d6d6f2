"""Which terms have a panel, and what their panels show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np

from splinear._types import Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.adding import InMemory, column_of
from splinear.inspection.bands import LEVEL, BandKind, half_widths, has_band
from splinear.inspection.curves import read_numbers
from splinear.inspection.naming import (
    Output,
    boolean_features,
    check_listed,
    feature_index,
    labels_of,
    output_of,
    pair_of,
)
from splinear.inspection.ranking import importances, widest_outputs
from splinear.model.fitted import FittedPair, FittedTerm
from splinear.plotting.curve import Curve
from splinear.plotting.drawing import MOST_BANDS
from splinear.plotting.panels import MOST_LEVELS, Evaluate, make_panel
from splinear.plotting.request import at_least_one, horizontal_of, shares_of
from splinear.plotting.style import LINES
from splinear.plotting.surfaces import Surface, make_surface

__all__ = ["Asked", "Chosen", "PanelOptions", "choose_classes", "choose_terms", "make_panels"]

_MOST_CELLS = 100  # of a heat map, along each number
_PLACES = 200  # at which the range of a curve is measured, besides its knots

Asked: TypeAlias = int | str | tuple[int | str, int | str]  # one feature, or two
# A term, its place among all, and its feature; of a surface, that along the horizontal axis.
_Found: TypeAlias = tuple[int, int, FittedTerm | FittedPair]


@dataclass(frozen=True)
class Chosen:
    """A term that has a panel.

    Attributes
    ----------
    term : FittedTerm or FittedPair
    feature : int
        Of a surface, that along the horizontal axis.
    share : float
        The term's part of the sum of all importances.
    """

    term: FittedTerm | FittedPair
    feature: int
    share: float


@dataclass(frozen=True)
class PanelOptions:
    """The arguments of `CurvesDisplay.from_estimator`.

    `names` are those of all features, `lines` those of the classes where there are several.
    """

    names: list[str]
    lines: Sequence[str]
    target: object
    n_points: int
    center: bool
    band: BandKind | None


def choose_terms(
    estimator: AdditiveEstimator,
    X: Input,
    features: Sequence[Asked] | None,
    top: int,
    names: list[str],
    target: object,
) -> list[Chosen]:
    """Return the terms that have a panel: those that the user named, or those that matter most."""
    deviations = importances(estimator, X, target=target, by="term")
    shares = shares_of(deviations)
    if features is None:
        # a surface of several outputs would be a panel for each
        one = isinstance(output_of(estimator, target), int)
        found = _most_important(estimator, deviations, at_least_one(top), one)
    else:
        found = _named(estimator, features, names)
    return [Chosen(term, j, float(shares[at])) for at, j, term in found]


def choose_classes(
    estimator: AdditiveEstimator, chosen: Sequence[Chosen], target: object
) -> tuple[object, int]:
    """Return the target, or if it is None and classes are too many, those that matter most.

    Return, too, how many classes are left out that way.
    """
    n_outputs = len(estimator.intercept_)
    if target is not None or n_outputs <= len(LINES) or not chosen:
        return target, 0
    heights = [_at_nodes(each.term) for each in chosen]
    classes = labels_of(estimator)
    return [classes[k] for k in widest_outputs(heights, len(LINES))], n_outputs - len(LINES)


def _at_nodes(term: FittedTerm | FittedPair) -> Floats:
    """Return what a term adds where its extremes are, about: (n_places, n_outputs)."""
    if isinstance(term, FittedPair):
        first, second = (
            np.arange(float(len(levels))) if levels is not None else np.asarray(chain.knots)
            for chain, levels in zip(term.chains, term.levels, strict=True)
        )
        x, z = np.meshgrid(first, second)
        return np.asarray(term.evaluate(x.ravel(), z.ravel()))
    if term.levels is not None:
        return np.asarray(term.evaluate(np.arange(len(term.levels), dtype=np.float64)))
    even = np.linspace(term.lo, term.hi, _PLACES)
    return np.asarray(term.evaluate(np.clip(np.append(term.knots, even), term.lo, term.hi)))


def make_panels(
    estimator: AdditiveEstimator, X: Input, chosen: Sequence[Chosen], wanted: PanelOptions
) -> list[Curve | Surface]:
    """Compute what the panels show."""
    table, booleans = read_numbers(estimator, X), boolean_features(estimator, X)
    out: list[Curve | Surface] = []
    for each in chosen:
        term, j = each.term, each.feature
        if isinstance(term, FittedTerm):
            out.append(_curve(estimator, term, table, each.share, wanted, j in booleans))
        else:
            out += _surfaces(estimator, term, table, each.share, wanted, j, booleans)
    return out


def _curve(
    estimator: AdditiveEstimator,
    term: FittedTerm,
    table: InMemory,
    share: float,
    wanted: PanelOptions,
    is_boolean: bool,
) -> Curve:
    j, output = term.features[0], output_of(estimator, wanted.target)
    return make_panel(
        term,
        output,
        column_of(table, j).astype(np.float64),
        wanted.names[j],
        share,
        wanted.n_points,
        wanted.center,
        _half_of(estimator, term, output, wanted),
        is_boolean,
    )


def _surfaces(
    estimator: AdditiveEstimator,
    pair: FittedPair,
    table: InMemory,
    share: float,
    wanted: PanelOptions,
    horizontal: int,
    booleans: frozenset[int],
) -> list[Surface]:
    """Compute the surface of two features, of each class that is asked for."""
    output = output_of(estimator, wanted.target)
    outputs = np.atleast_1d(np.arange(len(estimator.intercept_))[output])
    return [
        make_surface(
            estimator, pair, table, wanted.names, horizontal=horizontal, output=int(k),
            share=share, n_points=min(wanted.n_points, _MOST_CELLS), most_levels=MOST_LEVELS,
            booleans=booleans, of=line,
        )
        for k, line in zip(outputs, wanted.lines or [""], strict=True)
    ]  # fmt: skip


def _half_of(
    estimator: AdditiveEstimator, term: FittedTerm, output: Output, wanted: PanelOptions
) -> Evaluate | None:
    """Return what computes half the width of a term's band; None: there is none."""
    kind = wanted.band
    if kind is None or len(wanted.lines) > MOST_BANDS or not has_band(estimator, term):
        return None
    return lambda x: half_widths(estimator, term, np.asarray(x, dtype=np.float64), LEVEL, kind)[
        :, output
    ]


def _most_important(
    estimator: AdditiveEstimator, deviations: Floats, top: int, surfaces: bool
) -> list[_Found]:
    """Return the terms of highest importance, features that were dropped left out."""
    n, pairs = estimator.n_features_in_, estimator.terms_.pairs

    def found() -> Iterator[_Found]:
        for at in np.argsort(-deviations, kind="stable").tolist():
            if at >= n:
                if surfaces:
                    yield at, horizontal_of(pairs[at - n]), pairs[at - n]
            elif (term := estimator.terms_.of_feature(at)) is not None:
                yield at, at, term

    return list(islice(found(), top))


def _named(
    estimator: AdditiveEstimator,
    features: Sequence[Asked],
    names: list[str],
) -> list[_Found]:
    """Return the terms of the features, and of the pairs of features, that the user named."""
    check_listed(features)
    pairs = [pair.features for pair in estimator.terms_.pairs]
    out: list[_Found] = []
    for name in features:
        if isinstance(name, tuple | list):
            j, _, pair = pair_of(estimator, name, names)
            out.append((estimator.n_features_in_ + pairs.index(pair.features), j, pair))
            continue
        j = feature_index(estimator, name, names)
        term = estimator.terms_.of_feature(j)
        if term is None:
            raise ValueError(f"Feature {names[j]!r} was dropped by `terms`: it has no curve.")
        out.append((j, j, term))
    return out
