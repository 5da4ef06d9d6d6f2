"""Losses, conversion of columns, and dual variables as plain data."""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray
from splinear.estimators.state.checking import (
    MOST,
    Fields,
    Plain,
    no_plain_form,
    plain_array,
    refuse,
)
from splinear.estimators.state.values import levels_from, value_from, value_plain
from splinear.estimators.trainer import Duals
from splinear.losses import LOSSES, Ordinal
from splinear.losses.base import Loss
from splinear.losses.classes import ClassLoss
from splinear.tables.columns import Columns

__all__ = [
    "columns_from",
    "columns_plain",
    "duals_from",
    "duals_plain",
    "loss_from",
    "loss_plain",
]


def loss_plain(loss: Loss) -> Plain:
    """Return what a file keeps of a loss; raise if it is a user's own."""
    if type(loss) is not LOSSES.get(loss.name):
        raise no_plain_form(loss)
    if isinstance(loss, ClassLoss):
        classes = value_plain(loss.known_classes, "classes_")
        found = {"name": loss.name, "classes": classes, "has_labels": bool(loss.has_labels)}
        return found if loss.shared is None else {**found, "shared": plain_array(loss.shared)}
    numbers: dict[str, Plain] = {
        name: [float(one) for one in value] if isinstance(value, tuple) else float(value)
        for name, value in loss.parameters().items()
    }
    return {"name": loss.name, **numbers}


def loss_from(data: object, where: str, n_outputs: int) -> Loss:
    """Return a loss with `n_outputs` outputs from plain data."""
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in LOSSES:
        raise refuse(where, f"one of the losses {list(LOSSES)}", name)
    empty = LOSSES[name]()
    if isinstance(empty, ClassLoss):
        f = Fields(data, where, "name classes has_labels" + " shared" * isinstance(empty, Ordinal))
        classes, has_labels = _classes(f), f.flag("has_labels")
        found: Loss = empty.of_classes(classes, has_labels=has_labels)
        if type(found) is not type(empty) or (has_labels and len(classes) != n_outputs):
            raise refuse(where, f"classes of the loss {name}", len(classes))
        if isinstance(empty, Ordinal):
            cuts = f.array("shared", (len(classes) - 1,))
            if np.any(np.diff(cuts) < 0.0):
                raise refuse(f.at("shared"), "cut points in ascending order", cuts)
            found = found.with_shared(cuts)
    else:
        names = list(empty.parameters())
        f = Fields(data, where, " ".join(["name", *names]))
        try:
            found = LOSSES[name](**{own: _numbers(f, own) for own in names})
        except ValueError:
            raise refuse(where, f"parameters of the loss {name}", data) from None
    if found.n_outputs != n_outputs:
        raise refuse(where, f"{n_outputs} outputs", found.n_outputs)
    return found


def _numbers(f: Fields, name: str) -> float | list[float]:
    """Return a number, or a list of numbers."""
    found = f.get(name)
    if not isinstance(found, list):
        return f.number(name)
    if not all(type(one) is float for one in found):
        raise refuse(f.at(name), "a list of numbers", found)
    return found


def _classes(f: Fields) -> AnyArray:
    found = value_from(f.get("classes"), f.at("classes"))
    least = 1 if f.flag("has_labels") else 2
    if not isinstance(found, np.ndarray) or found.ndim != 1 or len(found) < least:
        raise refuse(f.at("classes"), "an array of classes", found)
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
