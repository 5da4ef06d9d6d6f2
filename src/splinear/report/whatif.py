"""The what-if panel: its controls, and the terms of a model for the page's script.

Arrays are written as base64 of little-endian doubles, without rounding, so the page computes the
same as the model up to the order of sums.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from splinear._types import Floats
from splinear.export.pieces import (
    CategoryTerm,
    CurveTerm,
    Feature,
    SurfaceAxis,
    SurfaceTerm,
    TermPieces,
    WaveTerm,
)
from splinear.model.fitted import FittedTerm
from splinear.report.content import Content
from splinear.report.spreads import Spread, spread_of

__all__ = ["Control", "WhatIf", "what_if"]

Value: TypeAlias = "str | int | float | bool | list[Value] | Mapping[str, Value] | None"


@dataclass(frozen=True)
class Control:
    """The control of a feature in the panel.

    Attributes
    ----------
    feature : int
        The column of X.
    name : str
    levels : tuple of str or None
        The levels of a category, or False and True; None for other numbers.
    typical : str
        The initial value: a number, or the index of a level.
    lo, hi : str
        The training range of a number.
    step : str
        The step of the slider.
    missing, unseen : bool
        Whether there were missing values in training, and whether unseen levels are allowed.
    matters : bool
        Whether a term of the feature is drawn; the others add next to nothing.
    """

    feature: int
    name: str
    levels: tuple[str, ...] | None
    typical: str
    lo: str
    hi: str
    step: str
    missing: bool
    unseen: bool
    matters: bool


@dataclass(frozen=True)
class WhatIf:
    """The panel in which values can be changed.

    Attributes
    ----------
    controls : tuple of Control
        By importance.
    surfaces : tuple of (place among the terms of `data`, name)
        Surfaces, which have no controls of their own.
    data : dict
        Data for the page's script.
    n_fixed : int
        Number of terms that are not shown, and stay at their means.
    """

    controls: tuple[Control, ...]
    surfaces: tuple[tuple[int, str], ...]
    data: Mapping[str, Value]
    n_fixed: int


def what_if(content: Content) -> WhatIf:
    """Return the panel."""
    pieces = content.pieces
    curves = {t.feature: t for t in pieces.terms if not isinstance(t, SurfaceTerm)}
    surfaces = [s.pieces for s in content.shown if isinstance(s.pieces, SurfaceTerm)]
    order = dict.fromkeys(j for shown in content.shown for j in shown.term.features)
    used: list[TermPieces] = [curves[j] for j in order]
    used += surfaces
    fixed = pieces.base - sum((term.mean for term in used), np.zeros(pieces.n_outputs))
    data: dict[str, Value] = {
        "task": pieces.task,
        "link": pieces.link,
        "outputs": list(content.outputs),
        "classes": list(content.class_names),
        "units": list(content.units),
        "fixed": fixed.tolist(),
        "terms": [_term(term) for term in used],
    }
    if pieces.grades is not None:
        data["cuts"] = pieces.grades.cut_points.tolist()
    return WhatIf(
        controls=tuple(_control(content, pieces.features[j], curves[j]) for j in order),
        surfaces=tuple((len(order) + k, s.name) for k, s in enumerate(surfaces)),
        data=data,
        n_fixed=len(pieces.terms) - len(used),
    )


# -- controls ----------------------------------------------------------------------------------


def _control(content: Content, feature: Feature, term: TermPieces) -> Control:
    assert not isinstance(term, SurfaceTerm)
    unseen = isinstance(term, CategoryTerm) and term.unseen is not None
    fitted = content.model.terms_.of_feature(term.feature)
    assert isinstance(fitted, FittedTerm)
    missing = fitted.had_missing  # otherwise most features would have a checkbox
    matters = any(term.feature in shown.term.features for shown in content.drawn)
    flags = (missing, unseen, matters)
    if isinstance(term, CategoryTerm):
        pool = content.pools[term.feature]
        names = tuple(map(str, term.levels))
        typical = str(int(np.argmax(pool.counts[pool.named]))) if len(pool.named) else "0"
        return Control(term.feature, feature.name, names, typical, "", "", "", *flags)
    spread = spread_of(fitted, content.table)
    whole = _is_whole(fitted, spread)
    typical = _typical(fitted, spread, whole=whole)
    if content.is_boolean(fitted):
        names = ("False", "True")
        return Control(term.feature, feature.name, names, typical, "", "", "", *flags)
    lo, hi = (repr(float(x)) for x in (fitted.lo, fitted.hi))
    step = "1" if whole else "any"
    return Control(term.feature, feature.name, None, typical, lo, hi, step, *flags)


def _is_whole(term: FittedTerm, spread: Spread) -> bool:
    places = term.knots if len(term.knots) else np.array([term.lo, term.hi])
    return spread.few_values is not None or bool((places == np.round(places)).all())


def _typical(term: FittedTerm, spread: Spread, *, whole: bool) -> str:
    """Return a number near the median, with few digits."""
    middle = spread.quantile(0.5, 0.5 * term.lo + 0.5 * term.hi)
    width = term.hi - term.lo
    if whole:
        value = float(round(middle))
    elif 0.0 < width < np.inf:
        finest = min(width, abs(middle) or width)  # a median far below the range keeps its digits
        value = round(middle, int(np.clip(2 - np.floor(np.log10(finest)), -300, 300)))
    else:
        value = middle
    value = min(max(value, term.lo), term.hi)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


# -- data for the script -----------------------------------------------------------------------


def _term(term: TermPieces) -> Value:
    if isinstance(term, SurfaceTerm):
        return {
            "type": "surface",
            "axes": [_axis(axis) for axis in term.axes],
            "sizes": list(term.values.shape[1:]),
            "values": _packed(term.values),
            "mean": term.mean.tolist(),
        }
    common: dict[str, Value] = {
        "feature": term.feature,
        "missing": None if term.missing is None else term.missing.tolist(),
        "mean": term.mean.tolist(),
    }
    if isinstance(term, CategoryTerm):
        unseen = None if term.unseen is None else term.unseen.tolist()
        return common | {"type": "levels", "values": _packed(term.values), "unseen": unseen}
    return common | (_wave(term) if isinstance(term, WaveTerm) else _curve(term))


def _curve(term: CurveTerm) -> dict[str, Value]:
    knots: dict[str, Value] = {"knots": _packed(term.knots), "outside": term.outside}
    if term.values is not None:
        return knots | {"type": "lines", "values": _packed(term.values)}
    return knots | {
        "type": "pieces",
        "powers": term.coef.shape[2],
        "coef": _packed(term.coef),
        "end": term.at_end.tolist(),
    }


def _wave(term: WaveTerm) -> dict[str, Value]:
    return {
        "type": "waves",
        "period": term.period,
        "range": [term.lo, term.hi, term.first, term.last],
        "cosines": _packed(term.cosines),
        "sines": _packed(term.sines),
    }


def _axis(axis: SurfaceAxis) -> dict[str, Value]:
    knots = None if axis.knots is None else _packed(axis.knots)
    return {
        "feature": axis.feature,
        "knots": knots,
        "missing": axis.missing,
        "period": axis.period,
    }


def _packed(array: Floats) -> str:
    return b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode("ascii")
