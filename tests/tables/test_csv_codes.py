"""CSV columns of codes such as 01234 are text: postal codes, accounts, diagnoses."""

import bz2
import csv
import gzip
import io
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC
from splinear.tables.codes import BLOCK, may_have_codes
from splinear.tables.csv import CsvFile
from splinear.tables.opening import open_table
from splinear.tables.values import Kind

NUMBERS = ["0", "7", "70", "0.5", ".05", "-0.5", "-05", "+05", "0e5", "100", "1.05", "", "NA"]
CODES = ["00", "007", "01234", "008.45", "00.5", "01e5", " 05", '"05"', '" 05"', "0" * 30]


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("value", NUMBERS + CODES)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"], ids=repr)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=repr)
def test_which_values_are_codes(value, delimiter, end, tmp_path):
    for at in range(3):
        rows = [["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]]
        rows[2][at] = value
        path = write(tmp_path / "x.csv", "".join(delimiter.join(row) + end for row in rows))
        expected = [Kind.NUMBER] * 3
        expected[at] = Kind.CATEGORY if value in CODES else Kind.NUMBER
        assert CsvFile(path, delimiter).kinds == expected


@pytest.mark.parametrize("value", ["0,5", "1,05", "-0,05", "01,5"])
def test_codes_beside_decimal_commas(value, tmp_path):
    path = write(tmp_path / "x.csv", f"a;b\n2,5;1\n{value};0\n")
    assert open_table(path).kinds[0] is (Kind.CATEGORY if value == "01,5" else Kind.NUMBER)


def test_codes_are_kept_as_they_are_written(tmp_path):
    path = write(tmp_path / "x.csv", "a,zip\n1,01234\n2,12345\n3,\n")
    (_, (a, codes)), *_ = open_table(path).columns([0, 1])
    assert a.to_list() == [1, 2, 3]
    assert codes.to_list() == ["01234", "12345", None]


@pytest.mark.parametrize("packed", ["", ".gz", ".bz2"])
def test_one_code_in_the_last_of_many_rows(packed, tmp_path):
    """The types of other columns, which are found from the first rows, are settled as well."""
    n = 150_000
    text = "a,b,c\n" + "".join(f"{k},{k},0.5\n" for k in range(n)) + "1,007,2\n1.5,7,2\n"
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packed]
    path = tmp_path / f"x.csv{packed}"
    path.write_bytes(pack(text.encode()))
    table = open_table(path)
    assert table.shape == (n + 2, 3)
    assert table.kinds == [Kind.NUMBER, Kind.CATEGORY, Kind.NUMBER]
    assert_array_equal(next(table.chunks([0]))[1][:5, 0], np.arange(5.0))


@pytest.mark.parametrize("shift", range(-4, 5))
def test_a_code_at_the_end_of_a_block(shift, tmp_path):
    head = "a,b\n"
    filler = "1,1" + "1" * (BLOCK + shift - len(head) - 4) + "\n"
    for value, expected in (("05", True), ("50", False)):
        path = write(tmp_path / "x.csv", f"{head}{filler}{value},1\n")
        with path.open("rb") as stream:
            assert may_have_codes(stream, ",") is expected


@pytest.mark.parametrize("text", ["2026-05-01 08:30", "-05", "1.05", "x05", "0", "0.5", "10"])
def test_no_code_is_suspected_in_numbers_and_dates(text):
    for line in (f"1,{text},2\n", f"{text}\n", f"1,2,{text}\n"):
        assert not may_have_codes(io.BytesIO(b"a,b\n" + line.encode() * 9), ",")


def test_random_files(tmp_path):
    """The kinds of columns are those that Python's own rules of numbers lead to."""
    rng = np.random.default_rng(0)
    values, seen = [*NUMBERS, *CODES, "08:30:00", "x 01", "2,5"], set()
    for number in range(60):
        rows = [[values[k] for k in rng.integers(len(values), size=3)] for _ in range(3)]
        rows = [[field.strip('"') for field in row] for row in rows] + [["1", "1", "1"]] * 2
        path = tmp_path / f"{number}.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b", "c"], *rows])
        expected = [_kind(column) for column in zip(*rows, strict=True)]
        assert CsvFile(path, ",").kinds == expected
        seen.update(expected)
    assert seen == {Kind.NUMBER, Kind.CATEGORY}


def _kind(column):
    return Kind.NUMBER if all(map(_is_number, column)) else Kind.CATEGORY


def _is_number(field):
    if re.match(" *0[0-9]", field):
        return False
    try:
        float(field)
    except ValueError:
        return field in ("", "NA")
    return True


@pytest.fixture
def shops():
    """Sales by postal code, some of which begin with a zero."""
    rng = np.random.default_rng(0)
    codes = np.array(["01234", "02345", "12345", "23456"])
    places = rng.integers(4, size=400)
    size = rng.integers(1, 90, size=400)
    y = np.array([3.0, -1.0, 2.0, 0.0])[places] + size / 30
    return pd.DataFrame({"size": size, "zip": codes[places], "y": y})


def test_a_file_without_codes_is_read_as_in_fit(shops, tmp_path):
    shops.to_csv(tmp_path / "train.csv", index=False)
    model = AdditiveRegressor().fit(tmp_path / "train.csv", "y", counts=np.ones(len(shops)))
    assert model.terms_["zip"].levels == ("01234", "02345", "12345", "23456")
    X = shops.drop(columns="y")
    for part in (X, X[X["zip"] >= "1"], X[X["zip"] < "1"]):
        part.to_csv(tmp_path / "new.csv", index=False)
        assert_array_equal(model.predict(tmp_path / "new.csv"), model.predict(part))


@pytest.mark.parametrize(
    "estimator", [AdditiveRegressor(), AdditiveSVC(random_state=0, C=1.0)], ids=repr
)
def test_padded_numbers_where_numbers_were(estimator, shops, tmp_path):
    X, y = shops[["size"]], shops["y"] > 1
    X.to_csv(tmp_path / "train.csv", index=False)
    model = estimator.fit(tmp_path / "train.csv", y)
    X.assign(size=X["size"].map("{:05d}".format)).to_csv(tmp_path / "new.csv", index=False)
    assert_array_equal(model.predict(tmp_path / "new.csv"), model.predict(X))


def test_categories_that_were_numbers_in_fit(shops, tmp_path):
    """`categorical_features` lists a column of numbers; later files pad them with zeros."""
    X, y = shops[["size"]] // 30, shops["y"] > 1
    X.to_csv(tmp_path / "train.csv", index=False)
    model = AdditiveClassifier(categorical_features=["size"]).fit(tmp_path / "train.csv", y)
    X.assign(size=X["size"].map("{:05d}".format)).to_csv(tmp_path / "new.csv", index=False)
    assert_array_equal(model.predict_proba(tmp_path / "new.csv"), model.predict_proba(X))


def test_later_chunks_of_partial_fit_are_read_as_the_first(shops, tmp_path):
    first, second = shops[["zip"]], shops[["zip"]][shops["zip"] >= "1"]
    first.to_csv(tmp_path / "1.csv", index=False)
    second.to_csv(tmp_path / "2.csv", index=False)
    y = shops["y"] > 1
    by_file, by_frame = AdditiveSVC(random_state=0, C=1.0), AdditiveSVC(random_state=0, C=1.0)
    for path, X in (("1.csv", first), ("2.csv", second)):
        by_file.partial_fit(tmp_path / path, y[X.index], classes=[False, True])
        by_frame.partial_fit(X, y[X.index], classes=[False, True])
    assert_array_equal(by_file.decision_function(first), by_frame.decision_function(first))
