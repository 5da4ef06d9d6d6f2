"""Tables of very many columns: work grows in proportion to their number."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import splinear
import splinear.cli.profile
from splinear import AdditiveClassifier
from splinear.tables.arrow import ArrowTable

pyarrow = pytest.importorskip("pyarrow")


class Name(str):
    """A name that counts how often it is compared with another."""

    n_compared = 0

    def __eq__(self, other):
        Name.n_compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_are_looked_up_and_not_searched_for(monkeypatch):
    names = [Name(f"x{j}") for j in range(2_000)]
    monkeypatch.setattr("splinear.tables.arrow.names_of", lambda where, schema: names)
    schema = pyarrow.schema([(str(name), pyarrow.float64()) for name in names])
    table = ArrowTable([("a table", schema)], 20)
    Name.n_compared = 0
    table.without("x7").select_names([Name(f"x{j}") for j in range(2_000) if j != 7])
    ArrowTable([("a table", schema)], 20)
    assert Name.n_compared < 20 * len(names)


def test_a_batch_is_wrapped_once_and_not_per_column(tmp_path, monkeypatch):
    from splinear.cli.profile import profile
    from splinear.tables import arrow
    from splinear.tables.csv import CsvFile

    path = tmp_path / "x.csv"
    rows = ["t," + ",".join(f"x{j}" for j in range(300)), *["a" + ",1.5" * 300] * 5]
    path.write_text("\n".join(rows))
    calls, read = [], []
    wrap = arrow.nw.from_native
    monkeypatch.setattr(arrow.nw, "from_native", lambda *a, **k: calls.append(1) or wrap(*a, **k))
    add = splinear.cli.profile.ColumnProfile.add
    monkeypatch.setattr(
        splinear.cli.profile.ColumnProfile, "add", lambda self, v: read.append(1) or add(self, v)
    )
    found = profile(CsvFile(path), 40)
    assert len(found) == 40
    assert len(calls) <= 3
    assert len(read) <= 40 * len(calls)
    assert (found[1].lo, found[1].n_rows, found[0].kind.name) == (1.5, 5, "CATEGORY")


def test_a_small_csv_file_is_read_once(tmp_path, monkeypatch):
    """Reading takes time per column and block, and a fit passes over the rows many times."""
    from splinear.tables import csv

    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 200)).round(3), np.arange(30) % 2
    names = [*(f"x{j}" for j in range(200)), "y"]
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "x.csv", table, "%g", ",", header=",".join(names), comments="")
    readers = []
    read = csv.CsvFile._open

    def counted(self, columns):
        readers.append(columns)
        return read(self, columns)

    monkeypatch.setattr(csv.CsvFile, "_open", counted)
    model = AdditiveClassifier(random_state=0).fit(tmp_path / "x.csv", "y")
    reference = AdditiveClassifier(random_state=0).fit(X, y)
    assert_allclose(model.decision_function(tmp_path / "x.csv"), reference.decision_function(X))
    assert len(readers) == 2  # once to fit, and once to predict
    monkeypatch.setattr(csv, "HELD", 0)
    large = csv.CsvFile(tmp_path / "x.csv")
    assert_allclose(model.decision_function(large), reference.decision_function(X))
    assert len(readers) > 4


@pytest.mark.parametrize("form", ["file", "matrix"])
def test_a_wrong_index_is_an_error_and_not_a_model_of_a_gigabyte(form, tmp_path):
    path = tmp_path / "x.svm"
    path.write_text("1 4000000:1\n0 1:2\n1 2:3\n")
    X, y = str(path), None
    if form == "matrix":
        X, y = sparse.csr_array(([1.0], ([0], [3_999_999])), shape=(3, 4_000_000)), [0, 1, 1]
    with pytest.raises(ValueError, match=r"4,000,000 features.* only [13] values"):
        AdditiveClassifier().fit(X, y)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes of POSIX")
def test_loading_a_pipe_does_not_wait_for_its_writer(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")

    def refuse(*given: object) -> None:
        raise AssertionError("the pipe was opened")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ValueError, match="not a plain file"):
        splinear.load(tmp_path / "pipe")
