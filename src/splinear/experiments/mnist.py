"""MNIST as the paper's experiments use it: features, of single precision or rounded to 8 bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray
from splinear.datasets import load_mnist
from splinear.features import GradientPyramid

__all__ = ["Digits", "load", "to_bytes"]

QUICK_TRAIN, QUICK_TEST = 100, 200


@dataclass(frozen=True)
class Digits:
    """Features (n, 2172) and digits (n,) of the training and the test images."""

    X_train: AnyArray
    y_train: AnyArray
    X_test: AnyArray
    y_test: AnyArray


def load(data_home: str | None, quick: bool) -> Digits:
    """Read the images and compute their features."""
    bunch = load_mnist(data_home)
    train, test = np.flatnonzero(~bunch.is_test), np.flatnonzero(bunch.is_test)
    if quick:
        train, test = train[:QUICK_TRAIN], test[:QUICK_TEST]
    pyramid = GradientPyramid.mnist()
    parts = (pyramid.fit_transform(bunch.images[rows]) for rows in (train, test))
    X_train, X_test = parts
    return Digits(X_train, bunch.target[train], X_test, bunch.target[test])


def to_bytes(train: AnyArray, *others: AnyArray) -> list[AnyArray]:
    """Map each column's range in `train` to 0..255 and round; others are clipped to it."""
    low, high = train.min(axis=0), train.max(axis=0)
    step = np.where(high > low, high - low, 1) / 255
    return [np.rint(np.clip((X - low) / step, 0, 255)).astype(np.float32) for X in (train, *others)]
