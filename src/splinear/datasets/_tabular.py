"""Loaders of tables.

All of them return a Bunch with the same fields: `data` (n_samples, n_features) in the type of the
file, `target` (n_samples,), `feature_names` (list of str), `is_onehot` (n_features,), `is_test`
(n_samples,) and `DESCR`; `feature_names`, `is_onehot` and `is_test` are None where they are not
known. Targets of two classes are 0 and 1.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from splinear.datasets._files import PathLike, read_arrays, read_files
from splinear.datasets._registry import DATA_SETS


def load_adult(data_home: PathLike | None = None) -> Bunch:
    """Load Adult census income: (48842, 108), two classes, with an official split."""
    return _load("adult", data_home)


def load_california_housing(data_home: PathLike | None = None) -> Bunch:
    """Load California housing: (20640, 8), regression."""
    return _load("california_housing", data_home)


def load_cod_rna(data_home: PathLike | None = None) -> Bunch:
    """Load cod-rna: (59535, 8), two classes."""
    return _load("cod_rna", data_home)


def load_covtype(data_home: PathLike | None = None) -> Bunch:
    """Load forest cover types: (581012, 54), classes 1 to 7."""
    return _load("covtype", data_home)


def load_credit_default(data_home: PathLike | None = None) -> Bunch:
    """Load defaults of credit card clients: (30000, 33), two classes."""
    return _load("credit_default", data_home)


def load_magic(data_home: PathLike | None = None) -> Bunch:
    """Load the MAGIC gamma telescope: (19020, 10), two classes."""
    return _load("magic", data_home)


def load_skin(data_home: PathLike | None = None) -> Bunch:
    """Load skin segmentation: (245057, 3), two classes."""
    return _load("skin", data_home)


def load_spambase(data_home: PathLike | None = None) -> Bunch:
    """Load Spambase: (4601, 57), two classes."""
    return _load("spambase", data_home)


def load_usps(data_home: PathLike | None = None) -> Bunch:
    """Load the USPS digits: (9298, 256), classes 0 to 9, with an official split."""
    return _load("usps", data_home)


def _load(name: str, data_home: PathLike | None) -> Bunch:
    data_set = DATA_SETS[name]
    (content,) = read_files(data_set, data_home)
    arrays = read_arrays(content)
    target = arrays["y"]
    feature_names = arrays.get("feature_names")
    return Bunch(
        data=arrays["X"],
        target=target.astype(np.float64 if target.dtype.kind == "f" else np.int64),
        feature_names=None if feature_names is None else feature_names.tolist(),
        is_onehot=arrays.get("is_onehot"),
        is_test=arrays.get("is_test"),
        DESCR=data_set.description,
    )
