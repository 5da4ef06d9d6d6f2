"""Models as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear._writing import write
from splinear.estimators.base import AdditiveEstimator
from splinear.export.pieces import (
    CategoryTerm,
    CurveTerm,
    Feature,
    ModelPieces,
    SurfaceAxis,
    SurfaceTerm,
    TermPieces,
    WaveTerm,
)
from splinear.export.reading import read_model

__all__ = ["FORMAT", "VERSION", "as_dict", "to_json"]

FORMAT, VERSION = "splinear-model", 1

Value: TypeAlias = "str | int | float | bool | list[Value] | Mapping[str, Value] | None"
Object: TypeAlias = dict[str, Value]


def to_json(
    model: AdditiveEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    indent: int | None = None,
) -> str:
    """Write the curves of a model as JSON, for programs in any language.

    All numbers are those of the model to the last bit, so that scores can be computed anywhere. The
    page docs/guide/export.md describes the format. JSON cannot be loaded back; for that, use
    `splinear.save`.

    Parameters
    ----------
    model : fitted additive estimator
    path : path-like, default=None
        A file to write as well. An existing file is replaced when the new one is complete.
    indent : int, default=None
        Spaces per level of indentation; None writes everything on one line.

    Returns
    -------
    text : str

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_iris
    >>> from splinear import AdditiveClassifier
    >>> from splinear.export import to_json
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> content = json.loads(to_json(model))
    >>> content["task"], content["classes"], len(content["terms"])
    ('multiclass', [0, 1, 2], 4)
    """
    content = as_dict(read_model(model))
    text = json.dumps(content, indent=indent, allow_nan=False, ensure_ascii=False)
    write(path, text.encode("utf-8"))
    return text


def as_dict(pieces: ModelPieces) -> Object:
    """Return a model as nested lists and dicts of text and numbers."""
    classes = pieces.classes
    levels = {} if pieces.levels is None else {"levels": list(pieces.levels)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "estimator": pieces.estimator,
        "task": pieces.task,
        "link": pieces.link,
        "classes": None if classes is None else [_plain(label, "class") for label in classes],
        "cut_points": None if pieces.grades is None else pieces.grades.cut_points.tolist(),
        **levels,
        "features": [_feature(feature) for feature in pieces.features],
        "intercept": pieces.intercept.tolist(),
        "base": pieces.base.tolist(),
        "terms": [_term(term) for term in pieces.terms],
    }


def _feature(feature: Feature) -> Object:
    out: Object = {"name": feature.name, "kind": feature.kind}
    if feature.levels is not None:
        out["levels"] = [_plain(level, "level") for level in feature.levels]
    return out


def _term(term: TermPieces) -> Object:
    if isinstance(term, CurveTerm):
        return _curve(term)
    if isinstance(term, WaveTerm):
        return _wave(term)
    return _category(term) if isinstance(term, CategoryTerm) else _surface(term)


def _head(term: CurveTerm | WaveTerm | CategoryTerm, form: str) -> Object:
    return {"type": form, "feature": term.feature, "name": term.name, "kind": term.kind}


def _tail(term: CurveTerm | WaveTerm | CategoryTerm) -> Object:
    return {"missing": _list(term.missing), "mean": _list(term.mean)}


def _curve(term: CurveTerm) -> Object:
    knots: Object = {"knots": _list(term.knots)}
    outside: Object = {"outside": term.outside} | _tail(term)
    if term.values is not None:
        return _head(term, "lines") | knots | {"values": _list(term.values)} | outside
    if term.degree == 0:
        values = np.column_stack([term.coef[:, :, 0], term.at_end])
        return _head(term, "steps") | knots | {"values": _list(values)} | outside
    numbers: Object = {"coefficients": _list(term.coef), "at_end": _list(term.at_end)}
    return _head(term, "polynomials") | knots | numbers | outside


def _wave(term: WaveTerm) -> Object:
    numbers: Object = {
        "period": term.period,
        "lo": term.lo,
        "hi": term.hi,
        "first": term.first,
        "last": term.last,
        "cosines": _list(term.cosines),
        "sines": _list(term.sines),
    }
    return _head(term, "waves") | numbers | _tail(term)


def _category(term: CategoryTerm) -> Object:
    numbers: Object = {
        "levels": [_plain(level, "level") for level in term.levels],
        "values": _list(term.values),
        "unseen": _list(term.unseen),
    }
    return _head(term, "levels") | numbers | _tail(term)


def _surface(term: SurfaceTerm) -> Object:
    return {
        "type": "surface",
        "features": list(term.features),
        "name": term.name,
        "kind": term.kind,
        "axes": [_axis(axis) for axis in term.axes],
        "values": _list(term.values),
        "mean": _list(term.mean),
    }


def _axis(axis: SurfaceAxis) -> Object:
    out: Object = {"feature": axis.feature, "name": axis.name}
    if axis.levels is None:
        out |= {"knots": _list(axis.knots), "period": axis.period}
    else:
        out["levels"] = [_plain(level, "level") for level in axis.levels]
        out["nodes"] = _list(axis.nodes)
    return out | {"missing": axis.missing}


def _list(array: Floats | NDArray[np.intp] | None) -> Value:
    out: Value = None if array is None else array.tolist()
    return out


def _plain(value: object, what: str) -> Value:
    """Return a class or level as a JSON value; raise if that is not possible."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"The {what} {value!r} is of type {type(value).__name__}, which JSON cannot represent; fit "
        "the model with text or numbers instead."
    )
