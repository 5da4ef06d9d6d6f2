"""splinear.save and splinear.load."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from sklearn.utils.validation import check_is_fitted

from splinear.classifier import AdditiveClassifier
from splinear.files.archive import read_parts, write_parts
from splinear.files.parameters import made, parameters_plain
from splinear.files.tree import parts_of, tree_of
from splinear.losses import (
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    Ordinal,
    Softmax,
    SquaredHinge,
)
from splinear.ordinal import AdditiveOrdinal
from splinear.regressor import LOSSES as REGRESSION
from splinear.regressor import AdditiveRegressor
from splinear.search import PathSearchCV
from splinear.svc import AdditiveSVC
from splinear.svr import AdditiveSVR
from splinear.training.estimator import AdditiveEstimator
from splinear.training.state.checking import Fields, Plain, refuse
from splinear.transformers import FourierEmbedding, HermiteEmbedding, SplineEmbedding

__all__ = ["VERSION", "load", "save"]

VERSION = 1  # of the format, see docs/guide/files.md

Saved: TypeAlias = (
    AdditiveClassifier
    | AdditiveOrdinal
    | AdditiveRegressor
    | AdditiveSVC
    | AdditiveSVR
    | SplineEmbedding
    | FourierEmbedding
    | HermiteEmbedding
)

TRANSFORMERS: tuple[type[Saved], ...] = (SplineEmbedding, FourierEmbedding, HermiteEmbedding)

# The losses that each estimator may have.
OF_ESTIMATORS: dict[type[Saved], tuple[type[Loss], ...]] = {
    AdditiveClassifier: (Logistic, Softmax),
    AdditiveOrdinal: (Ordinal,),
    AdditiveRegressor: tuple(REGRESSION.values()),
    AdditiveSVC: (Hinge, SquaredHinge),
    AdditiveSVR: (EpsilonInsensitive,),
}

KINDS: dict[str, type[Saved]] = {kind.__name__: kind for kind in (*OF_ESTIMATORS, *TRANSFORMERS)}

# Exceptions of invalid data, besides ValueError.
NONSENSE = (TypeError, LookupError, ArithmeticError, RecursionError)


def save(model: Saved, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, without pickle; the same model is the same bytes.

    Parameters
    ----------
    model : additive estimator or embedding
        The fitted model. For a PathSearchCV, save its `best_estimator_`. A `callback`, and a
        `random_state` that is not a number, are left out, with a warning.
    path : str or path
        By convention it ends in .splinear. An existing file is replaced when the new one is
        complete.

    Raises
    ------
    TypeError
        If `model` is something else, or contains what cannot be stored, such as a term of your own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import splinear
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = splinear.AdditiveClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     splinear.save(model, Path(folder) / "cancer.splinear")
    ...     again = splinear.load(Path(folder) / "cancer.splinear")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    _refuse_others(model)
    check_is_fitted(model)
    tree = _plain(model)
    try:
        _estimator(tree)  # checks that the file can be read
        parts = parts_of(tree)
    except ValueError as error:
        raise ValueError(f"The model cannot be saved: {error}") from error
    write_parts(Path(path), parts)


def _refuse_others(model: object) -> None:
    """Raise unless the model is an estimator of this library, and not of a subclass."""
    if isinstance(model, PathSearchCV):
        raise TypeError("A search cannot be saved; save its best_estimator_ instead.")
    if KINDS.get(type(model).__name__) is not type(model):
        raise TypeError(
            f"splinear.save writes {', '.join(KINDS)}; got {type(model).__name__}. For pipelines "
            "use skops or pickle."
        )


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model from a file that `save` has written.

    Nothing in the file is executed, and everything in it is checked, so files from any source can
    be loaded safely.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : estimator
        Its predictions are those of the model that was saved, to the last bit.

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged, or has a newer version of the format. The
        message names the file and what was found.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import splinear
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = splinear.AdditiveSVC(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     splinear.save(model, Path(folder) / "iris.splinear")
    ...     again = splinear.load(Path(folder) / "iris.splinear")
    >>> again
    AdditiveSVC(random_state=0)
    """
    try:
        return _estimator(tree_of(read_parts(Path(path))))
    except (ValueError, *NONSENSE) as error:
        raise ValueError(f"{os.fspath(path)} is not a model that can be read: {error}") from error


def _plain(model: Saved) -> dict[str, Plain]:
    return {
        "format": "splinear",
        "version": VERSION,
        "written_by": version("splinear"),
        "estimator": type(model).__name__,
        "parameters": parameters_plain(model),
        "fitted": model._CODEC.plain(model),
    }


def _estimator(tree: dict[str, Plain]) -> Saved:
    """Return an estimator from plain data."""
    found = tree.get("version")
    if tree.get("format") != "splinear" or type(found) is not int or found < 1:
        raise ValueError("it does not say that it is of the format splinear, and of which version")
    if found > VERSION:
        raise ValueError(
            f"it is of version {found} of the format, written by splinear "
            f"{tree.get('written_by')!s:.20}, and this splinear reads up to {VERSION}; update "
            "splinear"
        )
    f = Fields(tree, "file", "format version written_by estimator parameters fitted")
    f.text("written_by")
    kind = KINDS[f.text("estimator", list(KINDS))]
    model: Saved = made(kind, f.get("parameters"), "parameters")
    check = model._check_params if isinstance(model, AdditiveEstimator) else model._validate_params
    check()
    model._CODEC.restore(model, f.get("fitted"))
    if isinstance(model, AdditiveEstimator) and type(model._loss) not in OF_ESTIMATORS[kind]:
        raise refuse("loss", f"a loss of {kind.__name__}", type(model._loss).__name__)
    return model
