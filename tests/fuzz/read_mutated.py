"""Read files in which bytes were changed, from one seed to another: run by test_readers.py.

Prints what went wrong, a line each: an error of another kind than users should see, one that does
not name the file, a table that is not one, or a file that takes too long.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from seeds import not_too_long, try_seeds

from splinear.tables.opening import open_table
from splinear.tables.table import Table
from splinear.tables.values import Kind

Random = np.random.Generator

FORMATS = ["npy", "parquet", "csv", "svm"]
# What headers and texts go wrong with.
AWKWARD = [b"-1", b"0", b"99999999999999999999", b"4294967296", b"nan", b"inf", b"1e999", b":"]
AWKWARD += [b",", b"\n", b"\r", b"\0", b"\xff\xfe", b'"', b"(", b"'", b" ", b"#", b"qid:1"]


def valid(random: Random, kind: str) -> bytes:
    """Write a small file of this format."""
    X = random.normal(size=(int(random.integers(0, 30)), int(random.integers(1, 5))))
    X = np.round(X, 3)
    if kind == "npy":
        dtype = str(random.choice(["<f8", "<f4", ">f8", "<i4", "<u1", "<f2", "|b1"]))
        out = io.BytesIO()
        np.save(out, np.asarray(X, order=str(random.choice(["C", "F"]))).astype(dtype))
        return out.getvalue()
    if kind == "parquet":
        words = random.choice(["a", "b", ""], len(X)).tolist()
        columns = {f"c{j}": pa.array(X[:, j]) for j in range(X.shape[1])}
        columns["word"] = pa.array(words) if random.random() < 0.5 else pa.array([None] * len(X))
        sink = io.BytesIO()
        codec = str(random.choice(["none", "snappy", "gzip", "zstd"]))
        pq.write_table(pa.table(columns), sink, compression=codec, row_group_size=10)
        return sink.getvalue()
    if kind == "csv":
        lines = [",".join(f"c{j}" for j in range(X.shape[1]))]
        lines += [",".join(map(str, row)) for row in X.tolist()]
        return "\n".join([*lines, ""]).encode()
    rows = [" ".join([str(int(row[0] > 0)), *_entries(row)]) for row in X]
    return "\n".join([*rows, ""]).encode()


def _entries(row: np.ndarray) -> list[str]:
    return [f"{j + 1}:{x}" for j, x in enumerate(row.tolist()) if x > 0]


def mutated(random: Random, content: bytes) -> bytes:
    """Change bytes: flip, cut, put in, take out, double, or overwrite by something awkward."""
    out = bytearray(content)
    for _ in range(int(random.integers(1, 6))):
        at = (
            int(random.integers(len(out) + 1))
            if random.random() < 0.7
            else int(random.integers(min(len(out), 128) + 1))
        )
        length = int(random.integers(1, 16))
        kind = random.integers(6)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << int(random.integers(8))
        elif kind == 1 and random.random() < 0.3:
            del out[at:]
        elif kind == 2:
            out[at:at] = random.bytes(length)
        elif kind == 3:
            del out[at : at + length]
        elif kind == 4:
            out[at:at] = out[at : at + 8 * length]
        else:
            awkward = AWKWARD[random.integers(len(AWKWARD))]
            replaced = len(awkward) if random.random() < 0.7 else 0
            out[at : at + replaced] = awkward
    return bytes(out)


def read(path: Path) -> None:
    """Read a file in all ways; an AssertionError if what comes is no table."""
    table: Table = open_table(path)
    n, p = table.shape
    kinds = table.kinds
    assert len(kinds) == p
    numbers = [j for j, kind in enumerate(kinds) if kind is Kind.NUMBER]
    assert sum(chunk.shape[0] for _, chunk in table.chunks(numbers)) == n
    for rows, chunk in table.chunks(numbers):
        assert chunk.shape == (rows.stop - rows.start, len(numbers))
        assert chunk.dtype.kind == "f"
    for rows, columns in table.columns([j for j in range(p) if kinds[j] is not Kind.OTHER]):
        assert all(len(column) == rows.stop - rows.start for column in columns)
    if n:
        table.sample(np.array([0, n - 1][: min(n, 2)]), numbers)
        table.target("word" if "word" in (table.names or ()) else None)


def attempt(seed: int, folder: Path) -> str | None:
    """Read the file of a seed; return what was wrong with that."""
    random = np.random.default_rng(seed)
    kind = FORMATS[seed % len(FORMATS)]
    path = folder / f"mutated.{kind}"
    path.unlink(missing_ok=True)
    path.write_bytes(mutated(random, valid(random, kind)))
    try:
        with not_too_long():
            read(path)
    except (ValueError, OSError) as error:
        if path.name not in str(error):
            return f"{kind}: {type(error).__name__} does not name the file: {error}"
    except Exception as error:
        return f"{kind}: {type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    try_seeds(attempt, sys.argv[1:])
