"""One kind of table: every form of the same rows reads the same."""

import bz2
import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.tables.csv import CsvFile
from splinear.tables.opening import open_table
from splinear.tables.table import WithZeros
from splinear.tables.values import Kind

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")

NAMES = list("abcd")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 4 * 70)
    monkeypatch.setattr("splinear.tables.table.READ_AT_ONCE", 4 * 90)
    monkeypatch.setattr("splinear.tables.table.SHARED_AT_ONCE", 4 * 200)


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return np.where(random.random((300, 4)) < 0.4, random.random((300, 4)).round(3), 0.0)


@pytest.fixture
def forms(rows, tmp_path):
    """The same numbers in every form that is read."""
    frame = pd.DataFrame(rows, columns=NAMES)
    np.save(tmp_path / "x.npy", rows)
    np.save(tmp_path / "first.npy", rows[:123])
    np.save(tmp_path / "second.npy", rows[123:])
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=101)
    frame.to_csv(tmp_path / "x.csv", index=False)
    # The last column of a LIBSVM file is there only if it is not all zeros.
    dump_svmlight_file(rows, np.zeros(len(rows)), str(tmp_path / "x.svm"), zero_based=False)
    return {
        "array": rows,
        "by columns": np.asfortranarray(rows),
        "list": rows.tolist(),
        "objects": rows.astype(object),
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "sparse": sparse.csr_array(rows),
        "sparse by columns": sparse.csc_matrix(rows),
        "mapped": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "npy": tmp_path / "x.npy",
        "npy files": [tmp_path / "first.npy", tmp_path / "second.npy"],
        "parquet": tmp_path / "x.parquet",
        "csv": tmp_path / "x.csv",
        "libsvm": tmp_path / "x.svm",
    }


FORMS = [
    "array",
    "by columns",
    "list",
    "objects",
    "pandas",
    "polars",
    "arrow",
    "sparse",
    "sparse by columns",
    "mapped",
    "npy",
    "npy files",
    "parquet",
    "csv",
    "libsvm",
]


def dense(chunk):
    return chunk.toarray() if sparse.issparse(chunk) else chunk


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_read_the_same(form, forms, rows):
    table = open_table(forms[form])
    assert table.shape == rows.shape
    assert table.dtype == np.float64
    assert table.kinds == [Kind.NUMBER] * 4
    for columns in (None, [2], [3, 0]):
        start, found = 0, []
        for here, chunk in table.chunks(columns):
            assert here.start == start
            start = here.stop
            found.append(dense(chunk))
        assert start == len(rows)
        wanted = rows if columns is None else rows[:, columns]
        assert_array_equal(np.concatenate(found), wanted)
    assert_array_equal(dense(table.whole()), rows)


@pytest.mark.parametrize("form", FORMS)
def test_long_chunks_are_the_same_rows(form, forms, rows):
    """In fewer pieces only where nothing is copied: the others take memory."""
    table = open_table(forms[form])
    long = list(table.long_chunks())
    for here, chunk in long:
        assert_array_equal(dense(chunk), rows[here])
    assert sum(here.stop - here.start for here, _ in long) == len(rows)
    n_pieces = len(list(table.chunks()))
    in_place = form in ("array", "by columns", "list")
    assert (len(long), n_pieces) == (2, 4) if in_place else len(long) == n_pieces


def test_arrays_that_are_copied_are_copied_a_little_at_a_time(rows):
    whole_numbers, apart = rows.astype(int), np.zeros((300, 33), dtype=np.int8)
    not_aligned = np.ndarray(rows.shape, float, apart.data, offset=1, strides=(33, 8))
    not_aligned[:] = rows
    assert not not_aligned.flags.aligned
    for array in (whole_numbers, not_aligned):
        table = open_table(array)
        for read in (table.chunks, table.long_chunks):
            assert max(len(chunk) for _, chunk in read()) == 70


@pytest.mark.parametrize("form", FORMS)
def test_some_rows_of_some_columns(form, forms, rows):
    table = open_table(forms[form])
    some = np.array([0, 3, 119, 120, 299])
    assert_array_equal(dense(table.sample(some)), rows[some])
    assert_array_equal(dense(table.sample(some, [3, 1])), rows[np.ix_(some, [3, 1])])
    part = table.select(np.array([3, 0, 2]))
    assert part.shape == (300, 3)
    assert_array_equal(dense(part.whole()), rows[:, [3, 0, 2]])
    assert_array_equal(dense(part.sample(some, [2, 0])), rows[np.ix_(some, [2, 3])])
    assert table.select(np.arange(4)) is table
    if table.is_sparse:
        assert_array_equal(WithZeros(table).whole(), rows)
        assert not WithZeros(table).is_sparse


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("sparse", "libsvm")])
def test_all_forms_give_the_same_model(form, forms, rows):
    y = rows[:, 0] + (rows[:, 1] > 0.5) > 0.4
    curve_form = "sparse" if "sparse" in form else "array"
    expected = AdditiveSVC(random_state=0, C=1.0).fit(forms[curve_form], y)
    model = AdditiveSVC(random_state=0, C=1.0).fit(forms[form], y)
    assert_array_equal(model._model.parameters, expected._model.parameters)
    assert_array_equal(model.decision_function(forms[form]), expected.decision_function(rows))


def mixed():
    random = np.random.default_rng(1)
    return {
        "size": random.normal(size=400),
        "place": random.choice(["here", "there", None], 400).tolist(),
        "count": random.integers(0, 5, 400),
        "open": random.random(400) < 0.5,
    }


class NoPandas:
    """Finds modules, and refuses pandas, as where it is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)


def test_polars_and_arrow_need_no_pandas(monkeypatch):
    data = mixed()
    y = np.asarray(data["size"]) + np.asarray(data["open"]) > 0
    expected = AdditiveClassifier(random_state=0).fit(pd.DataFrame(data), y)
    frames = pl.DataFrame(data), pa.table(data)  # pyarrow of old looks for pandas here
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(sys, "meta_path", [NoPandas(), *sys.meta_path])
    for frame in frames:
        model = AdditiveClassifier(random_state=0).fit(frame, y)
        assert_array_equal(model._model.parameters, expected._model.parameters)
        assert model.terms_[1].levels == ("here", "there")
        assert model.terms_[1].had_missing


def test_kinds_of_columns():
    data = mixed()
    frame = pl.DataFrame(data).with_columns(
        day=pl.lit("2020-01-01").str.to_date(),
        level=pl.Series(["low", "high"] * 200, dtype=pl.Enum(["low", "high"])),
        empty=pl.Series([None] * 400),
        lists=pl.Series([[1]] * 400),
    )
    expected = [
        Kind.NUMBER,
        Kind.CATEGORY,
        Kind.NUMBER,
        Kind.NUMBER,
        Kind.DATE,
        Kind.CATEGORY,
        Kind.NUMBER,
        Kind.OTHER,
    ]
    assert open_table(frame).kinds == expected
    assert open_table(frame.to_arrow()).kinds == expected
    assert open_table(frame.to_pandas().drop(columns="lists")).kinds == expected[:-1]
    with pytest.raises(ValueError, match="hold neither numbers nor text: lists"):
        AdditiveSVC(C=1.0).fit(frame.drop("day"), data["open"])
    raw = pl.DataFrame({"raw": [b"\xf6"] * 400})
    assert open_table(raw).kinds == [Kind.BYTES]
    with pytest.raises(ValueError, match="hold bytes, not UTF-8 text: raw"):
        AdditiveSVC(C=1.0).fit(raw, data["open"])


def test_an_enum_keeps_its_order():
    level = pl.Series("level", ["low", "mid", "high"] * 100, dtype=pl.Enum(["low", "mid", "high"]))
    model = AdditiveSVC(random_state=0, C=1.0).fit(level.to_frame(), np.arange(300) % 2)
    assert model.terms_[0].levels == ("low", "mid", "high")


def write(path, text):
    path.write_text(text)
    return path


def test_csv_with_text_and_missing_values(tmp_path):
    frame = pd.DataFrame(mixed())
    y = frame["size"] + frame["open"] > 0
    frame.assign(sick=y).to_csv(tmp_path / "x.csv", index=False)
    model = AdditiveClassifier(random_state=0).fit(tmp_path / "x.csv", "sick")
    expected = AdditiveClassifier(random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert_array_equal(model._model.parameters, expected._model.parameters)
    assert_array_equal(model.predict(tmp_path / "x.csv"), expected.predict(frame))
    assert model.score(tmp_path / "x.csv", "sick") == expected.score(frame, y)


def test_csv_whose_later_values_are_of_another_type(tmp_path, monkeypatch):
    """A file of several blocks: whole numbers, then a fraction, then text."""
    n = 200_000
    lines = ["whole,mixed,y"] + [f"{k % 7},{k % 11},{k % 2}" for k in range(n)]
    lines += ["2.5,3,1", "3,many,0"]
    path = write(tmp_path / "x.csv", "\n".join(lines) + "\n")
    table = open_table(path)
    assert table.shape == (n + 2, 3)
    assert table.kinds == [Kind.NUMBER, Kind.CATEGORY, Kind.NUMBER]
    assert table.sample(np.array([n]), [0])[0, 0] == 2.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as CSV"),
        ("a,b\n1,2\n3\n", r"cannot be read as CSV: .*Expected 2 columns"),
        ("a,a,y\n1,2,0\n3,4,1\n", "several columns named 'a'"),
        ("a,y\n", "There are no rows"),
        ("a,y\n1,0\n2,\n", "column 'y' .* has missing values"),
        ("a,b\n1,0\n2,1\n", "has no column 'y'"),
        ("a~b~y\n1~2~0\n3~4~1\n", "has no column 'y'; it has 'a~b~y'"),
    ],
)
def test_broken_csv(text, message, tmp_path):
    path = write(tmp_path / "x.csv", text)
    with pytest.raises(ValueError, match=message):
        AdditiveSVC(C=1.0).fit(path, "y")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a;b\n1;2\n3;4\n", [[1, 2], [3, 4]]),
        ("a\tb\n1\t2\n3\t4\n", [[1, 2], [3, 4]]),
        ("a|b\r\n1|2\r\n3|4\r\n", [[1, 2], [3, 4]]),
        ("a;b\r\n1,5;2\r\n3,25;4\r\n", [[1.5, 2], [3.25, 4]]),
        ("\ufeffa;b\n1.5;2\n3.25;4", [[1.5, 2], [3.25, 4]]),
        ('"a;1","b"\n1,?\n3,4\n', [[1, np.nan], [3, 4]]),
        ('a;b\n"1";2\n"3";NA\n', [[1, 2], [3, np.nan]]),
    ],
    ids=["comma", "semicolon", "tab", "bar", "decimal commas", "points", "quotes", "gap"],
)
@pytest.mark.parametrize("packed", ["", ".gz", ".bz2"])
def test_csv_of_many_dialects(text, values, packed, tmp_path):
    path = tmp_path / f"x.csv{packed}"
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packed]
    path.write_bytes(pack(text.encode()))
    assert_array_equal(dense(open_table(path).whole()), values)


def test_csv_that_is_longer_than_what_is_looked_at(tmp_path):
    """The last of the lines that are looked at may be cut anywhere."""
    n = 30_000
    path = write(tmp_path / "x.csv", "a;b\n" + "".join(f"{k};{k % 5}\n" for k in range(n)))
    assert open_table(path).shape == (n, 2)
    long = write(tmp_path / "long.csv", "a;b\n" + f"1;{'x' * 200_000}\n" * 2)
    assert open_table(long).kinds == [Kind.NUMBER, Kind.CATEGORY]


def test_csv_with_a_delimiter_or_text_by_request(tmp_path):
    path = write(tmp_path / "x.csv", "a~b\n1~2\n3~4\n")
    table = CsvFile(path, delimiter="~")
    assert table.names == ["a", "b"]
    assert table.kinds == [Kind.NUMBER, Kind.NUMBER]
    assert table.expecting([1]).kinds == [Kind.NUMBER, Kind.CATEGORY]
    assert table.kinds == [Kind.NUMBER, Kind.NUMBER]


def test_csv_that_is_not_packed_as_its_name_says(tmp_path):
    path = write(tmp_path / "x.csv.gz", "a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"x\.csv\.gz cannot be read as CSV"):
        open_table(path)


def test_csv_with_semicolons_in_it(tmp_path):
    """A column of text, or a name, may have any of them."""
    y = np.arange(40) % 2
    text = write(tmp_path / "x.csv", "kind\n" + "a;b\nb;c\n" * 20)
    assert AdditiveSVC(random_state=0, C=1.0).fit(text, y).terms_[0].levels == ("a;b", "b;c")
    name = write(tmp_path / "y.csv", "kind; of what\n" + "a\nb\n" * 20)
    assert AdditiveSVC(random_state=0, C=1.0).fit(name, y).feature_names_in_ == ["kind; of what"]


def test_endings_in_capitals(forms, rows, tmp_path):
    for ending in ("npy", "parquet", "csv", "svm"):
        other = tmp_path / "capitals" / f"x.{ending.upper()}"
        other.parent.mkdir(exist_ok=True)
        other.write_bytes((tmp_path / f"x.{ending}").read_bytes())
        assert_array_equal(dense(open_table(other).whole()), rows)
    assert_array_equal(open_table(tmp_path / "capitals").whole(), rows)
    assert_array_equal(open_table([tmp_path / "capitals" / "x.NPY"]).whole(), rows)
    assert_array_equal(open_table([tmp_path / "capitals" / "x.PARQUET"]).whole(), rows)


def test_knots_read_only_the_columns_they_need(tmp_path, monkeypatch):
    """And as many at a time as the memory allows."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": random.normal(size=2_000) for j in range(12)})
    frame["fixed"], frame["y"] = 1.0, frame["x0"] > 0
    frame.to_parquet(tmp_path / "x.parquet")
    table = open_table(tmp_path / "x.parquet").without("y")
    reads = []
    real = type(table).chunks

    def counted(self, columns=None):
        reads.append(columns)
        return real(self, columns)

    monkeypatch.setattr(type(table), "chunks", counted)
    # The order of the rows of small tables takes two reads more.
    monkeypatch.setattr("splinear.objective.local.order.MOST_KEYED", 0)
    AdditiveClassifier(random_state=0).fit(tmp_path / "x.parquet", "y")
    assert [columns for columns in reads if columns is not None] == [list(range(12))]
    reads.clear()
    # An eighth of the bound: 31 kB, two columns of 2,000 rows.
    monkeypatch.setattr("splinear.objective.local.memory.SAMPLE", 32_000)
    AdditiveClassifier(random_state=0).fit(tmp_path / "x.parquet", "y")
    found = [columns for columns in reads if columns is not None]
    assert found == [[j, j + 1] for j in range(0, 12, 2)]


def test_a_piece_of_text_with_nothing_but_gaps():
    """Of an Arrow table, whose types are those of all pieces."""
    whole = pa.table({"kind": pa.array(["a", "b"] * 50), "x": np.arange(100.0)})
    gaps = pa.table({"kind": pa.array([None] * 3, pa.string()), "x": np.arange(3.0)})
    model = AdditiveSVC(random_state=0, C=1.0).fit(whole, np.arange(100) % 2)
    expected = model.decision_function(gaps.to_pandas())
    assert_array_equal(model.decision_function(gaps), expected)
