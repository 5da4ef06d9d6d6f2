"""splinear.save and splinear.load.

A file is a zip archive without compression. Without it no small file becomes large in memory, and
the same parts always give the same bytes.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, TypeAlias

from sklearn.utils.validation import check_is_fitted

from splinear._writing import written_whole
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.classifier import AdditiveClassifier
from splinear.estimators.ordinal import AdditiveOrdinal
from splinear.estimators.regressor import LOSSES as REGRESSION
from splinear.estimators.regressor import AdditiveRegressor
from splinear.estimators.search import PathSearchCV
from splinear.estimators.state.checking import Fields, Plain, refuse
from splinear.estimators.svc import AdditiveSVC
from splinear.estimators.svr import AdditiveSVR
from splinear.estimators.transformers import FourierEmbedding, HermiteEmbedding, SplineEmbedding
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

__all__ = ["VERSION", "load", "read_parts", "save", "write_parts"]

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
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time in zip archives
READABLE = 0o100644 << 16  # mode of a regular file, for other programs that unpack it
UNIX = 3

# Exceptions of damaged archives, besides ValueError.
DAMAGE = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    struct.error,
    EOFError,
    LookupError,
    OverflowError,
)

Part = bytes | memoryview


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


def write_parts(path: Path, parts: Mapping[str, Part]) -> None:
    """Write a file; an existing file is replaced at once, when the new one is complete."""
    with written_whole(path) as file:
        _write(file, parts)


def _write(file: BinaryIO, parts: Mapping[str, Part]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.create_system, entry.external_attr = UNIX, READABLE
            archive.writestr(entry, content)


def read_parts(path: Path) -> dict[str, bytearray]:
    """Return all parts of a file; raise a ValueError if it is not a valid archive."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for its writer
        raise ValueError("it is not a plain file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            with zipfile.ZipFile(file) as archive:
                return _read(archive, size)
        except DAMAGE as error:
            raise ValueError(f"it is not an archive, or a damaged one ({error})") from error
        except OSError as error:  # an offset before the beginning of the file
            raise ValueError(f"it is a damaged archive ({error})") from error


def _read(archive: zipfile.ZipFile, size: int) -> dict[str, bytearray]:
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("it has two parts of the same name")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ValueError(f"its part {entry.filename!r} is compressed, which none may be")
    # Several entries may refer to the same bytes.
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("its parts are together larger than the file")
    parts = {}
    for entry in entries:
        parts[entry.filename] = bytearray(archive.read(entry))
        if len(parts[entry.filename]) != entry.file_size:
            raise ValueError(f"its part {entry.filename!r} is cut off")
    return parts
