"""Files that are not what their names say: an error at once, which names the file and the line."""

import re
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from splinear import AdditiveClassifier, AdditiveSVC, SplineEmbedding
from splinear.tables.libsvm import LibsvmFile
from splinear.tables.npy import NpyFiles
from splinear.tables.opening import open_table
from splinear.tables.table import MOST_COLUMNS


def written(path, content):
    path.write_bytes(content)
    return path


def npy(shape, body=b"\0" * 32, descr="'<f8'"):
    """The bytes of a .npy file with whatever its header is to say."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + body


@pytest.mark.parametrize(
    "shape",
    ["(-2, -2)", "(-1, 4)", "(True, True)", f"({10**24}, 0)", f"(0, {10**24})", "(2.0, 2)"],
)
def test_impossible_shapes(shape, tmp_path):
    path = written(tmp_path / "odd.npy", npy(shape))
    with pytest.raises(ValueError, match=r"odd\.npy is not a whole \.npy file: .*shape"):
        NpyFiles(path)


def test_more_rows_than_bytes(tmp_path):
    path = written(tmp_path / "odd.npy", npy(f"({10**18}, 2)"))
    with pytest.raises(ValueError, match=r"odd\.npy is truncated: it has 160 bytes, and its he"):
        NpyFiles(path)


@pytest.mark.parametrize(
    "content",
    [
        npy("(2,"),
        npy("(" * 500),
        npy("(2, 2)", descr="'<f9'"),
        npy("(2, 2)", descr="'V0'"),
        npy("(2, 2)", descr="'|O'"),
        npy("(2, 2)").replace(b"\x01\x00", b"\x09\x00", 1),
        npy("(2, 2)")[:40],
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b"{" * 100,
        b"",
    ],
    ids=range(9),
)
def test_broken_headers(content, tmp_path):
    path = written(tmp_path / "odd.npy", content)
    with pytest.raises(ValueError, match=r"odd\.npy (is not a whole \.npy file|holds)"):
        NpyFiles(path)


def test_arrays_in_both_orders(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    for order in "CF":
        np.save(tmp_path / "x.npy", np.asarray(X, order=order))
        np.testing.assert_array_equal(NpyFiles(tmp_path / "x.npy").whole(), X)


# -- LIBSVM ----------------------------------------------------------------------------------------

GOOD = b"1 1:1\n0 2:3\n\n# a remark\n1 1:2 3:1\n0 2:1\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1 1:1 4294967296:2", "4294967296:2"),
        (b"1 1:1 99999999999999999999999:2", "9999:2"),
        (b"1 1:1 3000000000:2", "3000000000:2"),
        (b"1 1:1 400000000:2", "index 400,000,000 is above"),
        (b"1 -1:2", "Invalid index -1"),
        (b"1 1:x", "could not convert"),
        (b"1 2:1 1:1", "sorted"),
        (b"one 1:1", "could not convert"),
        (b"1 1:1\r1", "1:1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("chunk", [16, 2**23])
def test_a_wrong_line_is_named(line, reason, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr("splinear.tables.libsvm.CHUNK", chunk)
    path = written(tmp_path / "odd.svm", GOOD + line + b"\n" + GOOD)
    began = time.process_time()
    with pytest.raises(ValueError, match=rf"odd\.svm, line 7 .*{re.escape(reason)}"):
        AdditiveSVC(C=1.0).fit(path)
    assert time.process_time() - began < 5


def test_a_wrong_line_in_a_long_file_is_found_soon(tmp_path):
    path = written(tmp_path / "odd.svm", 20_000 * GOOD + b"1 0:x\n" + 20_000 * GOOD)
    began = time.process_time()
    with pytest.raises(ValueError, match=r"odd\.svm, line 120001 "):
        LibsvmFile(path)
    assert time.process_time() - began < 5


def test_labels_alone(tmp_path):
    path = written(tmp_path / "labels.svm", b"1\n0\n1\n0\n")
    with pytest.raises(ValueError, match=r"0 feature.*no feature in .*labels\.svm"):
        AdditiveSVC(C=1.0).fit(path)
    model = AdditiveSVC(random_state=0, C=1.0).fit(written(tmp_path / "x.svm", GOOD))
    # Where columns are known, these are rows of zeros.
    expected = model.decision_function(csr_array((4, 3)))
    np.testing.assert_array_equal(model.decision_function(path), expected)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n"])
def test_nothing_at_all(content, tmp_path):
    path = written(tmp_path / "empty.svm", content)
    with pytest.raises(ValueError, match=r"There are no rows in .*empty\.svm"):
        AdditiveSVC(C=1.0).fit(path)


# -- any table -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [AdditiveSVC(C=1.0), AdditiveClassifier(), SplineEmbedding()])
def test_too_many_columns(model):
    wide = csr_array((np.ones(4), ([0, 1, 2, 3], [0, 1, 2, 400_000_000 - 1])))
    began = time.process_time()
    with pytest.raises(ValueError, match=f"400,000,000 features.*at most {MOST_COLUMNS:,}"):
        model.fit(wide, [0, 1, 0, 1])
    assert time.process_time() - began < 5


def test_repeated_names_in_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table([pa.array([1.0, 2.0])] * 3, names=["a", "b", "a"])
    pq.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match=r"twice\.parquet has several columns named 'a'"):
        open_table(tmp_path / "twice.parquet")


def test_names_that_are_not_utf8(tmp_path):
    pytest.importorskip("pyarrow")
    path = written(tmp_path / "odd.csv", b"a,b\x84\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"odd\.csv has a column whose name is not UTF-8"):
        open_table(path)


@pytest.mark.parametrize("n_rows", [9, 11, 0])
def test_another_number_of_rows_than_announced(n_rows, tmp_path, monkeypatch):
    """Room is made for the rows that a file announces; a file may be replaced meanwhile."""
    monkeypatch.setattr("splinear.tables.csv.HELD", 0)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(0).normal(size=(10, 2))
    for ending in ("parquet", "csv"):
        path = tmp_path / f"x.{ending}"

        def write(rows, path=path):
            if path.suffix == ".csv":
                path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))
            else:
                pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), path)

        write(X)
        table = open_table(path)
        path.unlink()
        write(np.resize(X, (n_rows, 2)))
        with pytest.raises(ValueError, match=rf"x\.{ending} announces 10 rows, and {n_rows} were"):
            table.whole()
