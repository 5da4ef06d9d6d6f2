"""Loaders of image data sets."""

from __future__ import annotations

from itertools import combinations, product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from splinear._types import AnyArray
from splinear.datasets._files import PathLike, read_arrays, read_files
from splinear.datasets._registry import DATA_SETS

Indices: TypeAlias = npt.NDArray[np.intp]

_DAIMLER_TRAIN = ("1", "2", "3")
_DAIMLER_TEST = ("T1", "T2")


def load_mnist(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load the MNIST digits, training images first.

    Parameters
    ----------
    data_home : path-like or None, default=None
        The data folder; None for the one that ``SPLINEAR_DATA`` names.
    download : bool, default=False
        Whether files that are not in the folder are fetched from a public mirror.

    Returns
    -------
    bunch : Bunch
        `images` (70000, 28, 28) and `data` (70000, 784), the same uint8 values; `target` (70000,)
        from 0 to 9; `is_test` (70000,), true for the last 10,000; `DESCR`.

    Examples
    --------
    >>> from splinear.datasets import load_mnist
    >>> mnist = load_mnist()  # from the folder that SPLINEAR_DATA names
    >>> mnist.data.shape
    (70000, 784)
    """
    data_set = DATA_SETS["mnist"]
    train_images, train_target, test_images, test_target = map(
        _read_idx, read_files(data_set, data_home, download)
    )
    return _image_bunch(
        images=np.concatenate([train_images, test_images]),
        target=np.concatenate([train_target, test_target]),
        is_test=np.arange(len(train_images) + len(test_images)) >= len(train_images),
        DESCR=data_set.description,
    )


def load_daimler(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load the Daimler pedestrians, all five subsets.

    Parameters
    ----------
    data_home : path-like or None, default=None
        The data folder; None for the one that ``SPLINEAR_DATA`` names.
    download : bool, default=False
        These images cannot be downloaded: if the file is missing, True only changes the error
        message.

    Returns
    -------
    bunch : Bunch
        `images` (49000, 36, 18) and `data` (49000, 648), the same uint8 values; `target` (49000,),
        1 for pedestrians; `subset` (49000,), "1", "2", "3", "T1" or "T2"; `is_test` (49000,), true
        for T1 and T2; `cv`, the six usual runs as pairs (training rows, test rows), which
        scikit-learn takes as its `cv=`; `DESCR`.

    Examples
    --------
    >>> from splinear.datasets import load_daimler
    >>> daimler = load_daimler()  # from the folder that SPLINEAR_DATA names
    >>> daimler.data.shape
    (49000, 648)
    """
    data_set = DATA_SETS["daimler"]
    (content,) = read_files(data_set, data_home, download)
    arrays = read_arrays(content)
    parts = [
        (arrays[f"set{subset}_{kind}"], subset, label)
        for subset in (*_DAIMLER_TRAIN, *_DAIMLER_TEST)
        for kind, label in (("ped", 1), ("nonped", 0))
    ]
    sizes = [len(images) for images, _, _ in parts]
    subset = np.repeat([name for _, name, _ in parts], sizes)
    return _image_bunch(
        images=np.concatenate([images for images, _, _ in parts]),
        target=np.repeat([label for _, _, label in parts], sizes),
        subset=subset,
        is_test=np.isin(subset, _DAIMLER_TEST),
        cv=_daimler_runs(subset),
        DESCR=data_set.description,
    )


def _daimler_runs(subset: npt.NDArray[np.str_]) -> list[tuple[Indices, Indices]]:
    """Pair every two training subsets with every test subset."""
    return [
        (np.flatnonzero(np.isin(subset, train)), np.flatnonzero(subset == test))
        for train, test in product(combinations(_DAIMLER_TRAIN, 2), _DAIMLER_TEST)
    ]


def _image_bunch(images: AnyArray, target: AnyArray, **others: object) -> Bunch:
    data = images.reshape(len(images), -1)
    return Bunch(images=images, data=data, target=target.astype(np.int64), **others)


def _read_idx(content: bytes) -> npt.NDArray[np.uint8]:
    """Read the IDX format: two zeros, type 8 (bytes), number of axes, big-endian axes, values."""
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_axes, offset=4)
    values: npt.NDArray[np.uint8] = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
    return values.reshape(tuple(shape.tolist()))
