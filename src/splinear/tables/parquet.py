"""Parquet files, and other data sets of Arrow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from splinear._types import AnyArray
from splinear.tables.files import checked_paths, is_path, listed

__all__ = ["ArrowDataset", "ParquetFiles"]


class _ArrowTable:
    """Columns by name, read as arrays of numbers, or as data frames where there is text too.

    `schemas` are those of all parts, each with what to call it in a message; `chosen` the columns
    that are features, in order (None: all but the index of a data frame that was written to the
    file). What is not read need not be of numbers.
    """

    def __init__(self, schemas: list[tuple[str, Any]], n_rows: int, chosen: Any = None) -> None:
        where, first = schemas[0]
        self.all_names = list(first.names)
        for other, schema in schemas[1:]:
            unlike = sorted(set(schema.names) ^ set(self.all_names))
            if unlike:
                raise ValueError(
                    f"{other} and {where} do not have the same columns; these are in one of them "
                    f"only: {_some(unlike)}."
                )
        self.schemas, self.n_rows = schemas, n_rows
        index = (first.pandas_metadata or {}).get("index_columns", [])
        features = [name for name in self.all_names if name not in index]
        self.names: list[str] | None = features if chosen is None else list(chosen)
        self.blank: frozenset[str] = frozenset()  # features that are not read, but count as 0

    def __len__(self) -> int:
        return self.n_rows

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        assert self.names is not None
        return self.names

    @property
    def _read_names(self) -> list[str]:
        return [name for name in self.features if name not in self.blank]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and features."""
        return self.n_rows, len(self.features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if that holds all features exactly, else float64."""
        return np.result_type(np.float32, *self._types().values())

    def _types(self) -> dict[str, np.dtype[Any]]:
        """Give the types of the features; refuse what is no number."""
        types: dict[str, np.dtype[Any]] = {}
        wrong: dict[str, Any] = {}
        for name, found in self._fields():
            dtype = _numpy_type(found)
            if dtype is None:
                wrong[name] = found
            else:
                types[name] = np.result_type(types.get(name, dtype), dtype)
        self._refuse(wrong, "do not hold numbers")
        return types

    def _fields(self) -> Iterator[tuple[str, Any]]:
        """Give the features' names and Arrow types, of every part."""
        names = self._read_names
        return ((name, schema.field(name).type) for _, schema in self.schemas for name in names)

    def _refuse(self, wrong: dict[str, Any], why: str) -> None:
        if wrong:
            shown = _some([f"{name!r} ({found})" for name, found in wrong.items()])
            raise ValueError(
                f"{self} has columns that {why}: {shown}. Turn them into numbers, or leave them "
                "out, for example by pyarrow.dataset and a projection."
            )

    def text_columns(self) -> list[int]:
        """Find the features that are text or categories; refuse what is no number either."""
        text = {name: found for name, found in self._fields() if _is_text(found)}
        other = {name: found for name, found in self._fields() if not _is_text(found)}
        wrong = {name: found for name, found in other.items() if _numpy_type(found) is None}
        self._refuse(wrong, "hold neither numbers nor text")
        return [j for j, name in enumerate(self.features) if name in text]

    def select(self, names: Sequence[str]) -> _ArrowTable:
        """Give the table with these features alone, in this order."""
        missing = [name for name in names if name not in self.all_names]
        if missing:
            raise ValueError(
                f"{self} has no column {_some(list(map(repr, missing)))}; it has "
                f"{_some(list(map(repr, self.all_names)))}."
            )
        return self._with(list(names))

    def blanked(self, columns: Collection[int]) -> _ArrowTable:
        """Return the table with 0 in these features, whatever they hold."""
        other = copy(self)
        other.blank = frozenset(self.features[j] for j in columns)
        return other

    def without(self, name: str) -> _ArrowTable:
        """Give the table without the column of the target."""
        return self._with([other for other in self.features if other != name])

    def _with(self, names: list[str]) -> _ArrowTable:
        raise NotImplementedError

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Give record batches of these columns, of at most n_rows rows."""
        raise NotImplementedError

    def chunks(self, n_rows: int) -> Iterator[AnyArray]:
        """Give all rows in order, at most n_rows at a time."""
        features, dtype = self.features, self.dtype
        for batch in self._batches(self._read_names, n_rows):
            out = np.zeros((batch.num_rows, len(features)), dtype=dtype)
            for j, name in enumerate(features):
                if name not in self.blank:
                    out[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
            del batch  # or it would stay until the next one is there
            yield out
        import_module("pyarrow").default_memory_pool().release_unused()

    def frames(self, n_rows: int) -> Iterator[Any]:
        """Give all rows in order, at most n_rows at a time, as pandas data frames."""
        try:
            import_module("pandas")
        except ImportError as error:
            raise ImportError(
                f"Categories in {self} need pandas: pip install pandas, or pip install "
                "'splinear[data]'."
            ) from error
        for batch in self._batches(self._read_names, n_rows):
            frame = batch.to_pandas(strings_to_categorical=True, ignore_metadata=True)
            del batch  # as above
            for j, name in enumerate(self.features):
                if name in self.blank:
                    frame.insert(j, name, 0.0)
            yield frame
        import_module("pyarrow").default_memory_pool().release_unused()

    def target(self, y: Any) -> Any:
        """Give the target: y itself, or the column that it names."""
        if not isinstance(y, str):
            return y
        self.select([y])  # or an error
        column = [batch.column(y) for batch in self._batches([y], 2**20)]
        if any(part.null_count for part in column):
            raise ValueError(f"The column {y!r} of {self} has missing values; y must have none.")
        return np.concatenate([_target_values(part) for part in column])


class ParquetFiles(_ArrowTable):
    """The rows of one or several Parquet files, one after the other; or of all in a folder.

    Parameters
    ----------
    paths : path or sequence of paths
        Files with the same columns, in any order; or a folder of such files, read in the order of
        their names.
    names : sequence of str, default=None
        The columns that are features. None: all but the index of a data frame.
    """

    def __init__(self, paths: Any, names: Sequence[str] | None = None) -> None:
        self.paths = _files_in(paths)
        schemas, n_rows = [], 0
        for path in self.paths:
            file = _open(path)
            schemas.append((str(path), file.schema_arrow))
            n_rows += file.metadata.num_rows
        super().__init__(schemas, n_rows, names)

    def __str__(self) -> str:
        return listed(self.paths)

    def _with(self, names: list[str]) -> _ArrowTable:
        return ParquetFiles(self.paths, names)

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        for path in self.paths:
            with _named(path):
                yield from _open(path).iter_batches(n_rows, columns=columns, use_threads=False)


class ArrowDataset(_ArrowTable):
    """The rows of a `pyarrow.dataset.Dataset`.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    names : sequence of str, default=None
        The columns that are features. None: all but the index of a data frame.
    """

    def __init__(self, dataset: Any, names: Sequence[str] | None = None) -> None:
        self.dataset = dataset
        super().__init__([(str(self), dataset.schema)], dataset.count_rows(), names)

    def __str__(self) -> str:
        return "the data set"

    def _with(self, names: list[str]) -> _ArrowTable:
        return ArrowDataset(self.dataset, names)

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        with _named("the data set"):
            yield from self.dataset.to_batches(
                columns=columns,
                batch_size=n_rows,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
            )


def _files_in(paths: Any) -> list[Path]:
    """Give the files, or those of a folder in the order of their names."""
    if not is_path(paths) or not Path(paths).is_dir():
        return checked_paths(paths)
    found = sorted(Path(paths).glob("*.parquet")) + sorted(Path(paths).glob("*.pq"))
    if not found:
        raise FileNotFoundError(f"There are no .parquet files in the folder {paths}.")
    return found


def _open(path: Path) -> Any:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError(
            f"Reading {path} needs pyarrow: pip install pyarrow, or pip install 'splinear[data]'."
        ) from error
    with _named(path):
        # A column of a group of rows is read bit by bit, not as a whole.
        return parquet.ParquetFile(path, buffer_size=2**16, pre_buffer=False)


@contextmanager
def _named(where: Any) -> Iterator[None]:
    """Name the file in what Arrow raises."""
    arrow = import_module("pyarrow")
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{where} is not a whole Parquet file, or is damaged: {error}") from error


def _numpy_type(found: Any) -> Any:
    types = import_module("pyarrow.types")
    if types.is_boolean(found) or types.is_integer(found) or types.is_floating(found):
        return np.dtype(found.to_pandas_dtype())
    return np.dtype(np.float32) if types.is_null(found) else None  # nothing but missing values


def _is_text(found: Any) -> bool:
    types = import_module("pyarrow.types")
    return bool(
        types.is_string(found) or types.is_large_string(found) or types.is_dictionary(found)
    )


def _target_values(part: Any) -> AnyArray:
    """Give a piece of the target; whole numbers and text as they are."""
    types = import_module("pyarrow.types")
    if types.is_dictionary(part.type):
        part = part.dictionary_decode()
    values: AnyArray = part.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype == object else values


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
