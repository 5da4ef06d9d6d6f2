"""Outputs, conversion of columns, and dual variables as plain data."""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray
from splinear.training.columns import Columns
from splinear.training.outputs.base import Outputs
from splinear.training.outputs.classes import Binary, OneVsRest, Softmax
from splinear.training.outputs.labels import MultiLabel
from splinear.training.outputs.numbers import Regression
from splinear.training.outputs.positive import LogMean
from splinear.training.state.checking import (
    MOST,
    Fields,
    Plain,
    no_plain_form,
    plain_array,
    refuse,
)
from splinear.training.state.values import levels_from, value_from, value_plain
from splinear.training.trainer import Duals

__all__ = [
    "columns_from",
    "columns_plain",
    "duals_from",
    "duals_plain",
    "outputs_from",
    "outputs_plain",
]

CLASSES: dict[str, type[Binary | OneVsRest]] = {
    "binary": Binary,
    "one_vs_rest": OneVsRest,
    "softmax": Softmax,
}


def outputs_plain(outputs: Outputs) -> Plain:
    """Return outputs as plain data."""
    for kind, of in CLASSES.items():
        if type(outputs) is of:
            return {"kind": kind, "classes": value_plain(outputs.classes, "classes_")}
    if isinstance(outputs, MultiLabel):
        return {"kind": "labels", "n": int(outputs.n_outputs)}
    if isinstance(outputs, Regression):
        return {"kind": "number"}
    if isinstance(outputs, LogMean):
        return {"kind": "log_mean", "power": int(outputs.power)}
    raise no_plain_form(outputs)


def outputs_from(data: object, where: str, n_outputs: int) -> Outputs:
    """Return `n_outputs` outputs from plain data."""
    kind = data.get("kind") if isinstance(data, dict) else None
    found: Outputs
    if isinstance(kind, str) and kind in CLASSES:
        f = Fields(data, where, "kind classes")
        found = CLASSES[kind](_classes(f))
    elif kind == "labels":
        found = MultiLabel(Fields(data, where, "kind n").integer("n", 1))
    elif kind == "number":
        Fields(data, where, "kind")
        found = Regression()
    elif kind == "log_mean":
        found = LogMean(Fields(data, where, "kind power").integer("power", 1, 2))
    else:
        kinds = [*CLASSES, "labels", "number", "log_mean"]
        raise refuse(where, f"outputs of one of the kinds {kinds}", kind)
    if found.n_outputs != n_outputs:
        raise refuse(where, f"{n_outputs} outputs", found.n_outputs)
    return found


def _classes(f: Fields) -> AnyArray:
    found = value_from(f.get("classes"), f.at("classes"))
    two = f.get("kind") == "binary"
    if not isinstance(found, np.ndarray) or found.ndim != 1 or (len(found) == 2) != two:
        raise refuse(
            f.at("classes"), "an array of two classes" if two else "an array of classes", found
        )
    return found


def columns_plain(columns: Columns) -> Plain:
    """Return the conversion of columns as plain data."""
    levels: list[Plain] = []
    for j in columns.categorical:
        where = f"a level of column {j}"
        levels.append([j, [value_plain(level, where) for level in columns.levels[j]]])
    periods: list[Plain] = [[int(j), float(columns.periods[j])] for j in sorted(columns.periods)]
    return {
        "n_features": int(columns.n_features),
        "levels": levels,
        "strict": [int(j) for j in sorted(columns.strict)],
        "periods": periods,
        "dropped": [int(j) for j in sorted(columns.dropped)],
        "zero_based": columns.zero_based,
        "takes_gaps": columns.takes_gaps,
        "n_rows": int(columns.n_rows),
        "counts": [[int(j), [int(n) for n in columns.counts[j]]] for j in columns.categorical],
        "booleans": [int(j) for j in sorted(columns.booleans)],
    }


def columns_from(data: object, where: str) -> Columns:
    """Return the conversion of columns from plain data."""
    names = "n_features levels strict periods dropped zero_based takes_gaps n_rows counts booleans"
    f = Fields(data, where, names)
    n = f.integer("n_features", 1)
    levels = {}
    for j, own in _by_feature(f, "levels", n):
        if not isinstance(own, list):
            raise refuse(f.at("levels"), "a list of levels", own)
        levels[j] = levels_from(own, f"{f.at('levels')}[{j}]")
    periods = {}
    for j, period in _by_feature(f, "periods", n):
        if not isinstance(period, float) or not 0 < period < np.inf:
            raise refuse(f.at("periods"), "a number above 0", period)
        periods[j] = period
    return Columns(
        n,
        levels,
        frozenset(_features(f, "strict", n)),
        periods,
        frozenset(_features(f, "dropped", n)),
        f.flag("zero_based") if f.has("zero_based") else None,
        f.flag("takes_gaps"),
        f.integer("n_rows"),
        _counts(f, n, levels),
        frozenset(_features(f, "booleans", n)),
    )


def _counts(f: Fields, n: int, levels: dict[int, tuple[object, ...]]) -> dict[int, tuple[int, ...]]:
    """Return the number of rows of each level of each categorical feature."""
    found = dict(_by_feature(f, "counts", n))
    if set(found) != set(levels):
        raise refuse(f.at("counts"), "numbers of rows for the levels of all categories", found)
    out = {}
    for j, own in found.items():
        if not isinstance(own, list) or len(own) != len(levels[j]):
            raise refuse(f.at("counts"), f"{len(levels[j])} numbers of rows", own)
        out[j] = tuple(count for count in own if type(count) is int and 0 <= count <= MOST)
        if len(out[j]) < len(own):
            raise refuse(f.at("counts"), "whole numbers from 0 on", own)
    return out


def _by_feature(f: Fields, name: str, n: int) -> list[tuple[int, object]]:
    """Return the entries of a list of [feature index, entry], with the indices checked."""
    found = f.items(name)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
        raise refuse(f.at(name), "a list of features and what they have", found)
    features = _checked([pair[0] for pair in found], f.at(name), n)  # type: ignore[index]
    return list(zip(features, [pair[1] for pair in found], strict=True))  # type: ignore[index]


def _features(f: Fields, name: str, n: int) -> list[int]:
    return _checked(f.items(name), f.at(name), n)


def _checked(found: list[object], where: str, n: int) -> list[int]:
    features = [j for j in found if type(j) is int and 0 <= j < n]
    if len(set(features)) < len(found):
        raise refuse(where, f"different features from 0 to {n - 1}", found)
    return features


def duals_plain(duals: Duals | None) -> Plain:
    """Return dual variables as plain data."""
    return None if duals is None else {"alpha": plain_array(duals.alpha), "C": float(duals.C)}


def duals_from(data: object, where: str, n_outputs: int) -> Duals | None:
    """Return dual variables from plain data."""
    if data is None:
        return None
    f = Fields(data, where, "alpha C")
    return Duals(f.array("alpha", (n_outputs, None)), f.number("C"))
