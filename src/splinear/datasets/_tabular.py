"""Loaders of tables.

All of them return a Bunch with the same fields: `data` (n_samples, n_features) in the type of the
file, `target` (n_samples,), `feature_names` (list of str), `is_onehot` (n_features,), `is_test`
(n_samples,) and `DESCR`; `feature_names`, `is_onehot` and `is_test` are None where they are not
known. Targets of two classes are 0 and 1. Only `load_adult_raw` returns a DataFrame, and only its
files can be downloaded; for the others, ``download=True`` says where the original is published.
"""

from __future__ import annotations

from io import BytesIO

import numpy as np
from sklearn.utils import Bunch

from splinear.datasets._files import PathLike, read_arrays, read_files
from splinear.datasets._registry import DATA_SETS


def load_adult(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load Adult census income: (48842, 108), two classes, with an official split.

    Examples
    --------
    >>> from splinear.datasets import load_adult
    >>> adult = load_adult()  # from the folder that SPLINEAR_DATA names
    >>> adult.data.shape
    (48842, 108)
    """
    return _load("adult", data_home, download)


def load_adult_raw(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load Adult census income as it was published, with categories and missing values.

    Needs pandas: ``pip install 'splinear[data]'``.

    Parameters
    ----------
    data_home : path-like or None, default=None
        The data folder; None for the one that ``SPLINEAR_DATA`` names.
    download : bool, default=False
        Whether files that are not in the folder are fetched from the UCI repository.

    Returns
    -------
    bunch : Bunch
        `data`, a DataFrame (48842, 14) with 6 columns of numbers and 8 of dtype `category`, NaN
        where the original has ``?``; `target` (48842,), 1 for an income above 50,000 dollars;
        `feature_names`; `is_test` (48842,), true for the last 16,281; `DESCR`.

    Examples
    --------
    >>> from splinear.datasets import load_adult_raw
    >>> adult = load_adult_raw()  # from the folder that SPLINEAR_DATA names
    >>> adult.data.shape
    (48842, 14)
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "load_adult_raw needs pandas, which is not installed: pip install 'splinear[data]'"
        ) from error
    data_set = DATA_SETS["adult_raw"]
    train, test = (
        pandas.read_csv(BytesIO(content), na_values="?", keep_default_na=False)
        for content in read_files(data_set, data_home, download)
    )
    data = pandas.concat([train, test], ignore_index=True)
    income = data.pop("income")
    categories = data.select_dtypes(exclude="number").columns
    return Bunch(
        data=data.astype(dict.fromkeys(categories, "category")),
        target=(income == ">50K").to_numpy(dtype=np.int64),
        feature_names=data.columns.tolist(),
        is_test=np.arange(len(data)) >= len(train),
        DESCR=data_set.description,
    )


def load_california_housing(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load California housing: (20640, 8), regression.

    Examples
    --------
    >>> from splinear.datasets import load_california_housing
    >>> california = load_california_housing()  # from the folder that SPLINEAR_DATA names
    >>> california.data.shape
    (20640, 8)
    """
    return _load("california_housing", data_home, download)


def load_cod_rna(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load cod-rna: (59535, 8), two classes.

    Examples
    --------
    >>> from splinear.datasets import load_cod_rna
    >>> cod = load_cod_rna()  # from the folder that SPLINEAR_DATA names
    >>> cod.data.shape
    (59535, 8)
    """
    return _load("cod_rna", data_home, download)


def load_covtype(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load forest cover types: (581012, 54), classes 1 to 7.

    Examples
    --------
    >>> from splinear.datasets import load_covtype
    >>> covtype = load_covtype()  # from the folder that SPLINEAR_DATA names
    >>> covtype.data.shape
    (581012, 54)
    """
    return _load("covtype", data_home, download)


def load_credit_default(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load defaults of credit card clients: (30000, 33), two classes.

    Examples
    --------
    >>> from splinear.datasets import load_credit_default
    >>> credit = load_credit_default()  # from the folder that SPLINEAR_DATA names
    >>> credit.data.shape
    (30000, 33)
    """
    return _load("credit_default", data_home, download)


def load_magic(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load the MAGIC gamma telescope: (19020, 10), two classes.

    Examples
    --------
    >>> from splinear.datasets import load_magic
    >>> magic = load_magic()  # from the folder that SPLINEAR_DATA names
    >>> magic.data.shape
    (19020, 10)
    """
    return _load("magic", data_home, download)


def load_skin(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load skin segmentation: (245057, 3), two classes.

    Examples
    --------
    >>> from splinear.datasets import load_skin
    >>> skin = load_skin()  # from the folder that SPLINEAR_DATA names
    >>> skin.data.shape
    (245057, 3)
    """
    return _load("skin", data_home, download)


def load_spambase(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load Spambase: (4601, 57), two classes.

    Examples
    --------
    >>> from splinear.datasets import load_spambase
    >>> spambase = load_spambase()  # from the folder that SPLINEAR_DATA names
    >>> spambase.data.shape
    (4601, 57)
    """
    return _load("spambase", data_home, download)


def load_usps(data_home: PathLike | None = None, *, download: bool = False) -> Bunch:
    """Load the USPS digits: (9298, 256), classes 0 to 9, with an official split.

    Examples
    --------
    >>> from splinear.datasets import load_usps
    >>> usps = load_usps()  # from the folder that SPLINEAR_DATA names
    >>> usps.data.shape
    (9298, 256)
    """
    return _load("usps", data_home, download)


def _load(name: str, data_home: PathLike | None, download: bool) -> Bunch:
    data_set = DATA_SETS[name]
    (content,) = read_files(data_set, data_home, download)
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
