"""The scores and predictions of a model, from its JSON and NumPy alone."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


class JsonModel:
    """Reads the text of `to_json`; rows are lists of numbers, text and None."""

    def __init__(self, text: str) -> None:
        self.content = json.loads(text)
        assert self.content["format"] == "splinear-model"
        assert self.content["version"] == 1

    def parts(self, row: list[object]) -> list[np.ndarray]:
        return [value_of(term, row) for term in self.content["terms"]]

    def scores(self, rows: list[list[object]]) -> np.ndarray:
        base = np.array(self.content["intercept"])
        return np.array([base + sum(self.parts(row), np.zeros(len(base))) for row in rows])

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        if self.content["link"] == "softmax":
            e = np.exp(scores - scores.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)
        if self.content["link"] == "ordinal":
            up_to = 1.0 / (1.0 + np.exp(scores - self.content["cut_points"]))
            ends = np.ones((len(scores), 1))
            return np.diff(np.hstack([0.0 * ends, up_to, ends]), axis=1)
        assert self.content["link"] == "logistic"
        p = 1.0 / (1.0 + np.exp(-scores))
        return np.column_stack([1.0 / (1.0 + np.exp(scores)), p]) if self.is_binary else p

    def predictions(self, scores: np.ndarray) -> np.ndarray:
        task = self.content["task"]
        if task == "regression":
            return np.exp(scores[:, 0]) if self.content["link"] == "log" else scores[:, 0]
        if task == "multilabel":
            return (scores > 0).astype(int)
        classes = np.array(self.content["classes"])
        if self.is_binary:
            return classes[(scores[:, 0] > 0).astype(int)]
        if task == "ordinal":
            return classes[self.probabilities(scores).argmax(axis=1)]
        return classes[scores.argmax(axis=1)]

    @property
    def is_binary(self) -> bool:
        return bool(self.content["task"] == "binary")


def value_of(term: dict[str, Any], row: list[object]) -> np.ndarray:
    if term["type"] == "surface":
        return on_surface(term, row)
    x = row[term["feature"]]
    if is_missing(x):
        return np.array(term["missing"])
    if term["type"] == "levels":
        if x in term["levels"]:
            return np.array(term["values"])[:, term["levels"].index(x)]
        return np.array(term["unseen"])
    assert isinstance(x, int | float)
    return on_waves(term, float(x)) if term["type"] == "waves" else on_pieces(term, float(x))


def on_pieces(term: dict[str, Any], x: float) -> np.ndarray:
    knots = term["knots"]
    if x < knots[0] or x > knots[-1]:
        assert term["outside"] != "error"
        end = knots[0] if x < knots[0] else knots[-1]
        at_end = on_pieces(term, end)
        if term["outside"] == "constant" or len(knots) == 1:
            return at_end
        return at_end + (x - end) * slope(term, -1 if x > end else 0)
    k = max(i for i, knot in enumerate(knots) if knot <= x)
    if term["type"] == "steps":
        return np.array(term["values"])[:, k]
    if term["type"] == "lines":
        values = np.array(term["values"])
        if k == len(knots) - 1:
            return values[:, -1]
        u = (x - knots[k]) / (knots[k + 1] - knots[k])
        return (1.0 - u) * values[:, k] + u * values[:, k + 1]
    assert term["type"] == "polynomials"
    if k == len(knots) - 1:
        return np.array(term["at_end"])
    u = (x - knots[k]) / (knots[k + 1] - knots[k])
    coef = np.array(term["coefficients"])[:, k]
    return sum(c * u**p for p, c in enumerate(coef.T))


def slope(term: dict[str, Any], piece: int) -> np.ndarray:
    widths = np.diff(term["knots"])
    if term["type"] == "steps":
        return np.zeros(len(term["values"]))
    if term["type"] == "lines":
        return np.diff(term["values"], axis=1)[:, piece] / widths[piece]
    coef = np.array(term["coefficients"])[:, piece]
    powers = np.arange(coef.shape[1])
    by_u = coef[:, 1] if piece == 0 else coef @ powers
    return by_u / widths[piece]


def on_waves(term: dict[str, Any], x: float) -> np.ndarray:
    if term["period"] is not None:
        x %= term["period"]
    share = (min(max(x, term["lo"]), term["hi"]) - term["lo"]) / (term["hi"] - term["lo"])
    u = term["first"] + share * (term["last"] - term["first"])
    total = np.zeros(len(term["cosines"]))
    for n in range(len(term["cosines"][0])):
        angle = (n + 1) * math.pi * u
        total += np.array(term["cosines"])[:, n] * math.cos(angle)
        total += np.array(term["sines"])[:, n] * math.sin(angle)
    return total


def on_surface(term: dict[str, Any], row: list[object]) -> np.ndarray:
    values = np.array(term["values"])
    places = [place_of(axis, row[axis["feature"]]) for axis in term["axes"]]
    if places[0] is None or places[1] is None:
        return np.zeros(len(values))
    weights = []
    for place, n in zip(places, values.shape[1:], strict=True):
        w = np.zeros(n)
        k = min(int(place), n - 2)
        w[k], w[k + 1] = 1.0 - (place - k), place - k
        weights.append(w)
    return weights[0] @ values @ weights[1]


def place_of(axis: dict[str, Any], x: Any) -> float | None:
    if is_missing(x):
        return axis["missing"]
    if "levels" in axis:
        return axis["nodes"][axis["levels"].index(x)] if x in axis["levels"] else None
    knots = axis["knots"]
    if axis["period"] is not None:
        x %= axis["period"]
    if x <= knots[0] or len(knots) == 1:
        return 0.0
    if x >= knots[-1]:
        return len(knots) - 1.0
    k = max(i for i, knot in enumerate(knots) if knot <= x)
    return k + (x - knots[k]) / (knots[k + 1] - knots[k])
