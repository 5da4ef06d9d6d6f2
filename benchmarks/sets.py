"""The data sets of the benchmark, prepared once as .npy files that the measurements read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from splinear.datasets import (
    load_adult,
    load_covtype,
    load_credit_default,
    load_daimler,
    load_magic,
    load_mnist,
)
from splinear.features import GradientPyramid

Array = npt.NDArray[Any]
Split: TypeAlias = tuple[Array, Array, Array, Array]  # X_train, y_train, X_test, y_test

_CHUNK = 4096  # rows scaled at a time


def mnist(n_rows: int | None) -> Split:
    """Digits as gradient pyramids."""
    return _pyramids(load_mnist(), GradientPyramid.mnist(), n_rows)


def daimler(n_rows: int | None) -> Split:
    """Pedestrians as gradient pyramids: trained on subsets 1 and 2, tested on T1."""
    bunch = load_daimler()
    used = np.isin(bunch.subset, ("1", "2", "T1"))
    bunch.update({name: bunch[name][used] for name in ("images", "target", "is_test")})
    return _pyramids(bunch, GradientPyramid.daimler(), n_rows)


def covtype(n_rows: int | None) -> Split:
    """Forest cover: all rows for training; a random quarter of the same rows for the accuracy."""
    bunch = load_covtype()
    order = np.random.default_rng(0).permutation(len(bunch.data))
    quarter = order[: len(order) // 4]
    return (
        bunch.data[order][:n_rows],
        bunch.target[order][:n_rows],
        bunch.data[quarter],
        bunch.target[quarter],
    )


def adult(n_rows: int | None) -> Split:
    """Census income, with the official split."""
    bunch = load_adult()
    return _split(bunch.data, bunch.target, bunch.is_test.astype(bool), n_rows)


def magic(n_rows: int | None) -> Split:
    """Showers of particles, a quarter of them for testing."""
    return _drawn(load_magic(), n_rows)


def credit_default(n_rows: int | None) -> Split:
    """Clients of a bank, a quarter of them for testing."""
    return _drawn(load_credit_default(), n_rows)


def synthetic(n_rows: int | None) -> Split:
    """Waves of 30 uniform features and noise."""
    random = np.random.default_rng(0)
    X = random.random((n_rows or 20_000, 30), dtype=np.float32)
    signal = np.sin(8 * X[:, :10]).sum(axis=1) + random.normal(size=len(X))
    return _split(X, (signal > np.median(signal)).astype(int), np.arange(len(X)) % 4 == 0, None)


def waves(n_rows: int, n_columns: int) -> tuple[Array, Array]:
    """Return columns of noise in single precision, and classes that depend on waves over them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_columns)).astype(np.float32)
    f = sum(np.sin((1 + j % 4) * X[:, j]) / (1 + j % 7) for j in range(n_columns))
    return X, (f + random.logistic(size=n_rows) > 0).astype(np.int64)


def raw_synthetic(n_rows: int) -> Bunch:
    """Waves of 4 numbers, effects of 2 text columns, and missing values: a data frame."""
    import pandas as pd

    random = np.random.default_rng(0)
    X = random.random((n_rows, 4))
    groups = random.integers(0, [6, 20], (n_rows, 2))
    effects = random.normal(size=(2, 20))
    signal = 2 * np.sin(8 * X).sum(axis=1) + effects[0, groups[:, 0]] + effects[1, groups[:, 1]]
    X[random.random(X.shape) < 0.02] = np.nan
    data = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for name, levels in zip(("region", "trade"), groups.T, strict=True):
        data[name] = np.char.add(f"{name} ", levels.astype(str)).astype(object)
    data.loc[random.random(n_rows) < 0.05, "trade"] = None
    y = (signal + random.normal(size=n_rows) > np.median(signal)).astype(int)
    return Bunch(data=data, target=y, is_test=np.arange(n_rows) % 3 == 0)


SETS: dict[str, Callable[[int | None], Split]] = {
    "mnist": mnist,
    "daimler": daimler,
    "covtype": covtype,
    "adult": adult,
    "magic": magic,
    "credit_default": credit_default,
    "synthetic": synthetic,
}


def prepare(name: str, folder: Path, n_rows: int | None) -> tuple[int, int]:
    """Write the arrays of a data set into a folder; return the shape of the training features.

    `values` are as the data set has them; `unit` are float64 and scaled so that the training rows
    run from 0 to 1. Columns that are constant in training are left out of both.
    """
    X_train, y_train, X_test, y_test = SETS[name](n_rows)
    lo, hi = X_train.min(axis=0), X_train.max(axis=0)
    varies = lo < hi
    for part, X, y in (("train", X_train, y_train), ("test", X_test, y_test)):
        X = X if varies.all() else np.ascontiguousarray(X[:, varies])
        np.save(folder / f"{part}_values.npy", X)
        np.save(folder / f"{part}_target.npy", y)
        _save_scaled(folder / f"{part}_unit.npy", X, lo[varies], hi[varies])
    return len(X_train), int(varies.sum())


def _save_scaled(path: Path, X: Array, lo: Array, hi: Array) -> None:
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=X.shape)
    first, width = lo.astype(np.float64), hi.astype(np.float64) - lo
    for start in range(0, len(X), _CHUNK):
        rows = slice(start, start + _CHUNK)
        out[rows] = np.clip((X[rows] - first) / width, 0, 1)
    out.flush()


def _pyramids(bunch: Any, pyramid: GradientPyramid, n_rows: int | None) -> Split:
    images, y, test_images, y_test = _split(bunch.images, bunch.target, bunch.is_test, n_rows)
    return pyramid.fit_transform(images), y, pyramid.transform(test_images), y_test


def _drawn(bunch: Bunch, n_rows: int | None) -> Split:
    """Split 75 to 25 at random, with the same share of each class in both parts."""
    _, test = train_test_split(
        np.arange(len(bunch.data)), test_size=0.25, stratify=bunch.target, random_state=0
    )
    is_test = np.isin(np.arange(len(bunch.data)), test)
    return _split(bunch.data, bunch.target, is_test, n_rows)


def _split(X: Array, y: Array, is_test: Array, n_rows: int | None) -> Split:
    train, test = (_thinned(np.flatnonzero(part), n_rows) for part in (~is_test, is_test))
    return X[train], y[train], X[test], y[test]


def _thinned(rows: Array, n_rows: int | None) -> Array:
    """Keep n_rows of the rows, at equal distances."""
    if n_rows is None or n_rows >= len(rows):
        return rows
    return rows[np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)]
