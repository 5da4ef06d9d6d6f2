"""Loaders of sparse data sets.

All of them return a Bunch with `data` (n_samples, n_features), a CSR matrix in float32, `target`
(n_samples,), `feature_names` (list of str), `is_test` (n_samples,) and `DESCR`; `feature_names` and
`is_test` are None where they are not known. Targets of two classes are 0 and 1. With
``download=True``, files of a9a and w8a that are not there are fetched from the LIBSVM page.
"""

from __future__ import annotations

from io import BytesIO

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from splinear._types import AnyArray
from splinear.datasets._files import Arrays, PathLike, read_arrays, read_files
from splinear.datasets._registry import DATA_SETS


def load_a9a(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load a9a: (48842, 123), two classes, training rows first.

    Examples
    --------
    >>> from splinear.datasets import load_a9a
    >>> a9a = load_a9a()  # from the folder that SPLINEAR_DATA names
    >>> a9a.data.shape
    (48842, 123)
    """
    return _load_libsvm("a9a", 123, data_home, download)


def load_w8a(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load w8a: (49749, 300), two classes.

    Examples
    --------
    >>> from splinear.datasets import load_w8a
    >>> w8a = load_w8a()  # from the folder that SPLINEAR_DATA names
    >>> w8a.data.shape
    (49749, 300)
    """
    return _load_libsvm("w8a", 300, data_home, download)


def load_newsgroups20(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load 20 Newsgroups as counts of words: (18846, 130108), training rows first.

    The Bunch also holds `target_names`, the names of the 20 groups.

    Examples
    --------
    >>> from splinear.datasets import load_newsgroups20
    >>> newsgroups20 = load_newsgroups20()  # from the folder that SPLINEAR_DATA names
    >>> newsgroups20.data.shape
    (18846, 130108)
    """
    data_set = DATA_SETS["newsgroups20"]
    counts, words = read_files(data_set, data_home, download)
    arrays = read_arrays(counts)
    # Split at line feeds only: some words contain characters that splitlines() takes for an end.
    return _bunch(
        [_read_csr(arrays, "train"), _read_csr(arrays, "test")],
        np.concatenate([arrays["y_train"], arrays["y_test"]]),
        feature_names=words.decode("utf-8").rstrip("\n").split("\n"),
        target_names=arrays["target_names"].tolist(),
        DESCR=data_set.description,
    )


def _load_libsvm(name: str, n_features: int, data_home: PathLike | None, download: bool) -> Bunch:
    data_set = DATA_SETS[name]
    parts = [
        load_svmlight_file(
            BytesIO(content), n_features=n_features, dtype=np.float32, zero_based=False
        )
        for content in read_files(data_set, data_home, download)
    ]
    return _bunch(
        [data for data, _ in parts],
        np.concatenate([labels for _, labels in parts]) > 0,
        feature_names=None,
        DESCR=data_set.description,
    )


def _bunch(parts: list[csr_matrix], target: AnyArray, **others: object) -> Bunch:
    """Stack the training part and, where there is one, the test part."""
    data = csr_matrix(vstack(parts), dtype=np.float32)
    is_test = np.arange(data.shape[0]) >= parts[0].shape[0] if len(parts) > 1 else None
    return Bunch(data=data, target=target.astype(np.int64), is_test=is_test, **others)


def _read_csr(arrays: Arrays, part: str) -> csr_matrix:
    values, indices, starts, shape = (
        arrays[f"{part}_{field}"] for field in ("data", "indices", "indptr", "shape")
    )
    return csr_matrix((values, indices, starts), shape=tuple(shape.tolist()))
