"""Random tables in every form that an estimator takes, drawn from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

try:
    import polars as pl
except ImportError:  # a table of Arrow takes its place
    pl = None

Random = np.random.Generator

SIZES = [1, 2, 3, 5, 10, 30, 80, 200]
WORDS = np.array(["a", "b", "", "ü", "a b", "1", "NaN?"], dtype=object)

NUMBERS = ["float64", "float32", "int", "fortran", "list", "memmap", "npy", "object"]
FRAMES = ["pandas", "polars", "arrow", "parquet", "csv"]
SPARSE = ["csr", "csc", "libsvm"]
FORMS = [*NUMBERS, *FRAMES, *SPARSE]


def draw_numbers(random: Random, n: int, *, non_negative: bool = False) -> np.ndarray:
    """Draw a column of numbers: ordinary, of any unit, constant, of few values, or mostly zero."""
    x = random.normal(size=n)
    kind = random.choice(["plain", "unit", "constant", "few", "long", "offset", "zeros", "tiny"])
    if kind == "unit":
        x = x * 10.0 ** random.uniform(-30, 30)
    elif kind == "constant":
        x = np.full(n, random.choice([0.0, 1.0, -2.5, 1e30]))
    elif kind == "few":
        x = random.integers(-2, 3, n).astype(float)
    elif kind == "long":
        x = np.exp(3.0 * x)
    elif kind == "offset":
        x = x + 10.0 ** random.uniform(0, 12)
    elif kind == "zeros":
        x = np.where(random.random(n) < 0.8, 0.0, x)
    elif kind == "tiny":
        x = x * 5e-324 * 10.0 ** random.uniform(0, 20)
    return np.abs(x) if non_negative else x


def draw_columns(random: Random, n: int, form: str) -> list[np.ndarray]:
    """Draw the columns of a table of this form: numbers, gaps, and text where it may hold some."""
    columns: list[np.ndarray] = []
    for _ in range(random.integers(1, 7)):
        if columns and random.random() < 0.15:
            columns.append(columns[random.integers(len(columns))].copy())
        elif form in FRAMES and random.random() < 0.3:
            words = random.choice(WORDS, n)
            if random.random() < 0.5:
                words[random.random(n) < 0.2] = None
            columns.append(words)
        else:
            x = draw_numbers(random, n, non_negative=form in SPARSE)
            if form == "int":
                x = np.clip(np.nan_to_num(np.round(x)), -1e9, 1e9)
            elif random.random() < 0.2:
                x[random.random(n) < random.choice([0.1, 0.9, 1.0])] = np.nan
            columns.append(x)
    return columns


def as_form(columns: list[np.ndarray], form: str, folder: Path) -> Any:
    """Put the columns into a form; those of files are written to the folder."""
    if form in FRAMES:
        return _frame(columns, form, folder)
    X = np.column_stack(columns)
    if form in SPARSE:
        return _sparse(X, form, folder)
    if form == "float32":
        with np.errstate(over="ignore"):
            return np.clip(X, -1e38, 1e38).astype(np.float32)
    if form == "int":
        return X.astype(np.int64)
    if form == "object":
        return X.astype(object)
    if form == "list":
        return X.tolist()
    if form in ("memmap", "npy"):
        path = folder / "x.npy"
        path.unlink(missing_ok=True)  # another table may be mapped from there
        np.save(path, X)
        return path if form == "npy" else np.load(path, mmap_mode="r")
    return np.asfortranarray(X) if form == "fortran" else X


def _frame(columns: list[np.ndarray], form: str, folder: Path) -> Any:
    data = {f"c{j}": column for j, column in enumerate(columns)}
    if form == "pandas":
        return pd.DataFrame(data)
    table = pa.table({name: pa.array(column.tolist()) for name, column in data.items()})
    if form == "arrow":
        return table
    if form == "polars":
        return table if pl is None else pl.from_arrow(table)
    path = folder / f"x.{form}"
    path.unlink(missing_ok=True)
    if form == "parquet":
        pq.write_table(table, path)
    else:
        pd.DataFrame(data).to_csv(path, index=False)
    return path


def _sparse(X: np.ndarray, form: str, folder: Path) -> Any:
    if form != "libsvm":
        return sparse.csr_array(X) if form == "csr" else sparse.csc_matrix(X)
    path = folder / "x.svm"
    dump_svmlight_file(np.nan_to_num(X), np.zeros(len(X)), str(path), zero_based=True)
    return path


def draw_target(random: Random, columns: list[np.ndarray], kind: str) -> np.ndarray:
    """Draw a target that has something to do with the first column: numbers, classes or labels."""
    n, first = len(columns[0]), columns[0]
    x = np.array([len(str(v)) for v in first], float) if first.dtype == object else first
    ranks = np.argsort(np.argsort(np.nan_to_num(x))) / n + 0.2 * random.normal(size=n)
    if kind == "numbers":
        return (ranks + random.choice([0, 0, 100])) * 10.0 ** random.choice(
            [0, 0, 0, random.uniform(-30, 30)]
        )
    if kind == "labels":
        return (ranks[:, None] + random.normal(size=(n, 3)) > 0.5).astype(int)
    n_classes = int(random.choice([2, 2, 2, 3, 4, 12]))
    index = np.clip((ranks * n_classes).astype(int), 0, n_classes - 1)
    names = [np.arange(n_classes), np.arange(n_classes) - 1.0, np.array(list("abcdefghijkl"))]
    return names[random.integers(3)][index]
