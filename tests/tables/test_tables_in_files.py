"""Files with categories and missing values: the model of the same table as a data frame."""

import os
import sys
from importlib.abc import MetaPathFinder

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import dump_svmlight_file

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
)
from splinear.inspection import contributions, importances, knots, shape_function
from splinear.objective.local.memory import MemoryPlan
from splinear.tables.columns import NumberTable
from splinear.tables.parquet import ParquetFiles
from splinear.terms import Category, Pair, Spline
from splinear.terms import knots as knots_module

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
arrow_dataset = pytest.importorskip("pyarrow.dataset")

SEED = {"random_state": 0}


@pytest.fixture
def hide_pandas(monkeypatch):
    """A function after which pandas is neither imported nor found, as where it is not installed."""

    class Refusing(MetaPathFinder):
        def find_spec(self, fullname, path, target=None):
            if fullname.partition(".")[0] == "pandas":
                raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
            return None

    def hide():
        monkeypatch.delitem(sys.modules, "pandas")
        monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])

    return hide


def make_table(n=1200, holes=0.1):
    """One column of each kind, in Arrow, and a target that most of them matter for."""
    random = np.random.default_rng(0)
    age, dose = random.normal(40, 10, n), random.integers(0, 30, n)
    color = random.choice(["red", "green", "blue"], n)
    town = random.choice(["Ulm", "Ems", "Au"], n)
    tall = random.random(n) < 0.5
    sick = np.sin(age / 8) + (color == "red") + 0.5 * tall - dose / 20 + 0.7 * (town == "Au")
    sick = sick + random.logistic(0, 0.5, n) > np.median(sick)

    def holed(values):
        return pa.array(values, mask=random.random(n) < holes)

    return pa.table(
        {
            "age": pa.array(np.where(random.random(n) < holes, np.nan, age)),  # NaN, not null
            "color": holed(color),
            "tall": holed(tall),
            "dose": holed(dose),
            "town": holed(town).dictionary_encode(),
            "size": pa.array(random.normal(size=n), pa.float32()),
            "open": random.random(n) < 0.3,
            "plan": holed(random.integers(0, 5, n)),
            "word": holed(random.choice(["ja", "nein"], n)).cast(pa.large_string()),
            "void": pa.nulls(n),
            "sick": sick,
        }
    )


def parameters(model):
    return model._model.parameters


def levels(model):
    return {term.name: term.levels for term in model.terms_ if term.levels is not None}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 4000)  # about 400 rows


@pytest.fixture
def files(tmp_path):
    """The table as a data frame, its target, and files of it."""
    table = make_table()
    pq.write_table(table, tmp_path / "all.parquet", row_group_size=333)
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(table.slice(0, 500), folder / "part-0.parquet")
    other_order = table.slice(500).select(table.column_names[::-1])
    pq.write_table(other_order, folder / "part-1.parquet")
    frame = pq.read_table(tmp_path / "all.parquet").to_pandas()
    return {
        "frame": frame.drop(columns="sick"),
        "y": frame["sick"].to_numpy(),
        "parquet": str(tmp_path / "all.parquet"),
        "folder": folder,
        "dataset": arrow_dataset.dataset(folder, format="parquet"),
    }


@pytest.mark.parametrize("kind", ["parquet", "folder", "dataset"])
@pytest.mark.parametrize(
    ("model", "params"),
    [
        (AdditiveSVC, {}),
        (AdditiveSVC, {"categorical_features": ["color", "town", "word", "plan", "open"]}),
        (AdditiveSVC, {"tol": 1e-5}),
        (AdditiveSVC, {"terms": {"color": "drop", "dose": Spline(3), "plan": Category()}}),
        (AdditiveClassifier, {"curve": Spline(10, knots="quantile"), "C": 1.0}),
        (AdditiveClassifier, {"terms": {("dose", "age"): Pair(4), ("dose", "plan"): Pair(6)}}),
        (AdditiveClassifier, {}),
    ],
    ids=str,
)
def test_a_file_gives_the_model_of_the_data_frame(kind, model, params, files):
    X, y, source = files["frame"], files["y"], files[kind]
    expected = model(**SEED, **params).fit(X, y)
    model = model(**SEED, **params).fit(source, "sick")
    assert model._columns == expected._columns
    assert_array_equal(parameters(model), parameters(expected))
    assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
    assert levels(model) == levels(expected)
    for fitted in (model, expected):  # on either, with either
        assert_array_equal(fitted.decision_function(source), expected.decision_function(X))
        assert_array_equal(fitted.decision_function(X), expected.decision_function(X))
        assert fitted.score(source, "sick") == expected.score(X, y)
        assert_array_equal(contributions(fitted, source), contributions(expected, X))
    assert_array_equal(importances(model, source), importances(expected, X))
    assert_array_equal(
        shape_function(model, "word", center=True, X=source)[1],
        shape_function(expected, "word", center=True, X=X)[1],
    )


def test_dictionaries_of_numbers():
    """Parquet files do not keep them, but other data sets do."""
    table = make_table()
    plan = table["plan"].dictionary_encode()
    table = table.set_column(7, "plan", plan).combine_chunks()
    X = table.to_pandas()
    y = X.pop("sick")
    expected = AdditiveSVC(**SEED).fit(X, y)
    model = AdditiveSVC(**SEED).fit(arrow_dataset.dataset(table), "sick")
    assert model._columns == expected._columns
    assert 3 in levels(model)["plan"]
    assert_array_equal(parameters(model), parameters(expected))


@pytest.mark.parametrize("row", [0, 1199])
def test_names_of_whole_numbers_with_missing_values(row, tmp_path):
    """They stay whole, whichever chunk the missing value is in; pandas makes them floats."""
    table = make_table(holes=0).select(["plan", "sick"])
    plan = pa.array(table["plan"].to_numpy(), mask=np.arange(len(table)) == row)
    path = written(table.set_column(0, "plan", plan), tmp_path)
    model = AdditiveSVC(**SEED, categorical_features=["plan"]).fit(path, "sick")
    assert [type(level) for level in levels(model)["plan"]] == [int] * 5
    X = pq.read_table(path).to_pandas()
    expected = AdditiveSVC(**SEED, categorical_features=["plan"]).fit(X[["plan"]], X["sick"])
    assert levels(expected) == levels(model)
    assert expected.terms_[0].had_missing
    assert model.terms_[0].had_missing
    assert_array_equal(parameters(model), parameters(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_without_categories(dtype, tmp_path, hide_pandas):
    """float32 stays float32, as in a data frame; and pandas is not needed."""
    X, y = numbers_with_holes(dtype)
    frame = pd.DataFrame(X, columns=list("abcd"))
    pq.write_table(pa.Table.from_pandas(frame.assign(y=y)), tmp_path / "x.parquet")
    expected = AdditiveSVC(**SEED).fit(frame, y)
    scores = expected.decision_function(frame)
    hide_pandas()
    model = AdditiveSVC(**SEED).fit(tmp_path / "x.parquet", "y")
    assert model._columns == expected._columns
    assert_array_equal(parameters(model), parameters(expected))
    assert_array_equal(model.decision_function(tmp_path / "x.parquet"), scores)
    assert model._read_table(tmp_path / "x.parquet").dtype == dtype


@pytest.mark.parametrize("name", [None, "person"])
def test_the_index_of_a_data_frame_is_no_feature(name, files, tmp_path):
    X = files["frame"].assign(sick=files["y"])[200:].rename_axis(name)
    X = X.sample(frac=1.0, random_state=0)  # an index that pandas writes as a column
    X.to_parquet(tmp_path / "x.parquet")
    assert len(pq.read_schema(tmp_path / "x.parquet").names) == 12
    expected = AdditiveSVC(**SEED).fit(X.drop(columns="sick"), X["sick"])
    for source in (tmp_path / "x.parquet", arrow_dataset.dataset(tmp_path / "x.parquet")):
        model = AdditiveSVC(**SEED).fit(source, "sick")
        assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
        assert_array_equal(parameters(model), parameters(expected))
        assert_array_equal(model.predict(source), expected.predict(X.drop(columns="sick")))


def test_rows_without_weight_do_not_count(files, tmp_path):
    table = make_table()
    n = len(table)
    weights = np.random.default_rng(1).integers(0, 3, n).astype(float)
    color = table["color"].to_pandas().where(weights > 0, "only where nothing counts")
    table = table.set_column(1, "color", pa.array(color))
    size = pa.array(np.where(weights > 0, table["size"].to_numpy(), np.nan))
    table = table.set_column(5, "size", size)
    is_open = pa.array(table["open"].to_numpy(), mask=weights == 0)
    table = table.set_column(6, "open", is_open)
    pq.write_table(table, tmp_path / "x.parquet")
    frame = pq.read_table(tmp_path / "x.parquet").to_pandas().drop(columns="sick")
    expected = AdditiveSVC(**SEED).fit(frame, files["y"], weights)
    model = AdditiveSVC(**SEED).fit(tmp_path / "x.parquet", "sick", weights)
    assert model._columns == expected._columns
    assert not model.terms_[5].had_missing
    assert levels(model)["color"] == ("blue", "green", "red")
    assert_array_equal(parameters(model), parameters(expected))


def test_blocks_on_disk(files, monkeypatch):
    options = {**SEED, "tol": 1e-3}
    # Models that are not solved well tell little about C, and blocks are in another order.
    expected = AdditiveSVC(C=1.0, **options).fit(files["frame"], files["y"])
    smooth = AdditiveClassifier(**options).fit(files["frame"], files["y"])
    blocks = MemoryPlan(rows_per_block=512)
    monkeypatch.setattr("splinear.estimators.base.plan_memory", lambda *_: blocks)
    model = AdditiveSVC(C=1.0, max_memory="1GB", **options).fit(files["parquet"], "sick")
    assert not np.array_equal(parameters(model), parameters(expected))  # there were blocks
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-3)
    same = AdditiveClassifier(max_memory="1GB", **options).fit(files["parquet"], "sick")
    assert_array_equal(parameters(same), parameters(smooth))  # Newton's method takes all rows


def test_regression_and_partial_fit(files):
    X, source = files["frame"].assign(sick=files["y"]), files["parquet"]
    target = np.nan_to_num(X["age"]) + X["sick"]
    for kind in (AdditiveRegressor, AdditiveSVR):
        expected = kind(**SEED).fit(X, target)
        model = kind(**SEED).fit(source, target)
        assert_array_equal(parameters(model), parameters(expected))
    expected.partial_fit(X, target)
    model.partial_fit(source, target)
    assert_array_equal(parameters(model), parameters(expected))


def test_more_rows_than_are_looked_at(monkeypatch, files):
    """Knots are found from a sample, the same in memory; but a range is that of all rows."""
    look = type(knots_module.FOR_QUANTILES)(least=50, most=50, values=50)
    monkeypatch.setattr("splinear.terms.spline.FOR_QUANTILES", look)
    X = files["frame"].assign(late=np.nan)
    X.loc[1199, "late"] = 7.0  # not in the sample
    table = pa.Table.from_pandas(X.assign(sick=files["y"]))
    model = AdditiveClassifier(**SEED).fit(arrow_dataset.dataset(table), "sick")
    expected = AdditiveClassifier(**SEED).fit(X, files["y"])
    assert model._columns == expected._columns
    assert model.terms_[10].lo == model.terms_[10].hi == 7.0
    assert (model.terms_[0].lo, model.terms_[0].hi) == (X["age"].min(), X["age"].max())
    assert len(knots(model, "age")) <= 52
    assert_array_equal(parameters(model), parameters(expected))


# -- arrays in files -------------------------------------------------------------------------------


def numbers_with_holes(dtype):
    X = np.random.default_rng(0).normal(size=(1500, 4)).astype(dtype)
    X[:, 3] = X[:, 3].round()
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 > 1
    X[np.random.default_rng(1).random(X.shape) < [0.1, 0, 0, 0.2]] = np.nan
    return X, y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_in_npy_files_and_memmaps(dtype, tmp_path):
    X, y = numbers_with_holes(dtype)
    np.save(tmp_path / "all.npy", X)
    np.save(tmp_path / "a.npy", X[:700])
    np.save(tmp_path / "b.npy", X[700:])
    options = {**SEED, "categorical_features": [3], "curve": Spline(10, knots="quantile")}
    expected = AdditiveSVC(**options).fit(X, y)
    several = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for source in (tmp_path / "all.npy", several, np.load(tmp_path / "all.npy", mmap_mode="r")):
        model = AdditiveSVC(max_memory="1GB", **options).fit(source, y)
        assert model._columns == expected._columns
        assert_array_equal(parameters(model), parameters(expected))
        assert_array_equal(expected.decision_function(source), expected.decision_function(X))
        assert isinstance(model._read_table(source), NumberTable)  # in chunks, not as a whole


def test_a_search_takes_a_memmap_with_missing_values(tmp_path):
    X, y = numbers_with_holes(np.float64)
    np.save(tmp_path / "x.npy", X)
    options = {"Cs": [0.1, 1.0], "cv": 3}
    expected = PathSearchCV(AdditiveSVC(**SEED), **options).fit(X, y)
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = PathSearchCV(AdditiveSVC(**SEED), **options).fit(rows, y)
    assert_array_equal(parameters(model.best_estimator_), parameters(expected.best_estimator_))
    assert_array_equal(model.predict(tmp_path / "x.npy"), expected.predict(X))


def test_sparse_files(tmp_path):
    X, y = np.abs(numbers_with_holes(np.float64)[0]), numbers_with_holes(np.float64)[1]
    dump_svmlight_file(np.nan_to_num(X), y, str(tmp_path / "x.svm"))
    path = tmp_path / "x.svm"
    with pytest.raises(ValueError, match="Categories are for dense tables"):
        AdditiveSVC(categorical_features=[3], C=1.0).fit(path)
    with pytest.raises(ValueError, match=r"was fitted with categories or periods, and X is sparse"):
        AdditiveSVC(**SEED, categorical_features=[3]).fit(X, y).predict(path)
    model = AdditiveSVC(**SEED).fit(X, y)
    full = np.nan_to_num(X)
    assert_allclose(model.decision_function(path), model.decision_function(full), atol=1e-9)
    (tmp_path / "gap.svm").write_text("0 1:nan 2:1\n1 3:0.5 4:nan\n")
    rows = np.array([[np.nan, 1, 0, 0], [0, 0, 0.5, np.nan]])
    scores = model.decision_function(rows)
    assert_allclose(model.decision_function(tmp_path / "gap.svm"), scores, atol=1e-9)


# -- what can go wrong -----------------------------------------------------------------------------


def written(table, tmp_path):
    pq.write_table(table, tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("us"), pa.time64("us"), pa.list_(pa.int64())]
)
def test_dates_are_refused_by_name(kind, tmp_path):
    table = make_table().append_column("day", pa.nulls(1200, kind))
    with pytest.raises(ValueError, match=r"(dates, .* or intervals|numbers nor text): day"):
        AdditiveSVC(**SEED).fit(written(table, tmp_path), "sick")
    kept = AdditiveSVC(**SEED, terms={"day": "drop"}).fit(written(table, tmp_path), "sick")
    assert kept.score(tmp_path / "x.parquet", "sick") > 0.7


def test_missing_values_are_an_error_on_request(files, tmp_path):
    whole = make_table(holes=0).drop_columns(["void"])
    model = AdditiveSVC(**SEED, missing="error").fit(written(whole, tmp_path), "sick")
    lenient = AdditiveSVC(**SEED).fit(written(whole, tmp_path), "sick")
    for name in ("age", "color", "town", "tall", "dose"):
        j = whole.column_names.index(name)
        values = whole[name].to_pylist()
        values[777] = None
        kind = whole.schema.field(name).type
        path = written(whole.set_column(j, name, pa.array(values, kind)), tmp_path)
        message = rf"NaN in column '{name}' \(first in row 777\).*Use missing='level'"
        with pytest.raises(ValueError, match=message):
            AdditiveSVC(missing="error", C=1.0).fit(path, "sick")
        with pytest.raises(ValueError, match=message):
            model.predict(path)
        frame = pq.read_table(path).to_pandas().drop(columns="sick")
        scores = lenient.decision_function(path)
        assert_array_equal(scores, lenient.decision_function(frame))
        assert_allclose(contributions(lenient, path)[777, j], 0, atol=1e-12)


def test_unseen_levels(files, tmp_path):
    table = make_table()
    colors = table["color"].to_pylist()
    colors[777] = "violet"
    new = written(table.set_column(1, "color", pa.array(colors)), tmp_path)
    X, y = pq.read_table(new).to_pandas(), files["y"]
    model = AdditiveSVC(**SEED).fit(files["parquet"], "sick")
    assert_array_equal(model.predict(new), model.predict(X.drop(columns="sick")))
    terms = {"color": Category(unseen="error")}
    strict = AdditiveSVC(terms=terms, **SEED).fit(files["parquet"], "sick")
    assert strict.score(files["parquet"], y) > 0.7
    for read in (strict.predict, lambda path: contributions(strict, path)):
        with pytest.raises(ValueError, match=r"'violet' in column 'color' \(first in row 777\)"):
            read(new)


def test_text_where_numbers_were(files, tmp_path):
    table = make_table()
    much = table.set_column(3, "dose", pa.array(["much"] * len(table)))
    model = AdditiveSVC(**SEED).fit(files["frame"], files["y"])
    with pytest.raises(ValueError, match=r"numeric, as it was in fit, but .*: dose"):
        model.predict(written(much, tmp_path))


def test_a_level_per_row_is_warned_of(tmp_path):
    names = pa.array([f"person {k}" for k in range(12_000)])
    path = written(pa.table({"name": names, "sick": np.arange(12_000) % 2}), tmp_path)
    with pytest.warns(UserWarning, match=r"column 'name' has 12,000 levels in 12,000 rows"):
        model = AdditiveSVC(**SEED).fit(path, "sick")
    assert len(levels(model)["name"]) == 12_000


def test_text_in_files_needs_no_pandas(files, hide_pandas):
    expected = AdditiveSVC(**SEED).fit(files["frame"], files["y"])
    hide_pandas()
    model = AdditiveSVC(**SEED).fit(files["parquet"], "sick")
    assert_array_equal(parameters(model), parameters(expected))


@pytest.mark.data
@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA is not set")
def test_the_raw_table_in_a_file(tmp_path, monkeypatch):
    from splinear.datasets import load_adult_raw

    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 2**18)
    adult = load_adult_raw()
    train, test = adult.data[~adult.is_test], adult.data[adult.is_test]
    income = adult.target[~adult.is_test]
    table = train.reset_index(drop=True).assign(income=income)
    table.to_parquet(tmp_path / "train.parquet")
    test.reset_index(drop=True).to_parquet(tmp_path / "test.parquet")
    expected = AdditiveSVC(C=1.0, **SEED).fit(train, income)
    model = AdditiveSVC(C=1.0, max_memory="1GB", **SEED)
    model.fit(tmp_path / "train.parquet", "income")
    assert model.terms_[list(train.columns).index("workclass")].had_missing
    assert_array_equal(parameters(model), parameters(expected))
    assert_array_equal(
        model.decision_function(tmp_path / "test.parquet"), expected.decision_function(test)
    )
    small = AdditiveSVC(C=1.0, max_memory="1.1MB", **SEED)
    small.fit(tmp_path / "train.parquet", "income")
    assert not np.array_equal(parameters(small), parameters(expected))
    assert small.objective_ == pytest.approx(expected.objective_, rel=0.02)
    assert_allclose(
        small.score(tmp_path / "test.parquet", adult.target[adult.is_test]),
        expected.score(test, adult.target[adult.is_test]),
        atol=0.003,
    )


@pytest.mark.parametrize(
    ("text", "knots", "expected"),
    [(False, "auto", 4), (False, "uniform", 3), (True, "auto", 5)],
)
def test_how_often_a_file_is_read(text, knots, expected, tmp_path, monkeypatch):
    """For ranges, knots unless they are uniform, codes, the certificate; for levels of text."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=500), "b": random.normal(size=500)})
    if text:
        frame["place"] = random.choice(["here", "there"], 500)
    frame["sick"] = frame["a"] > 0
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    reads = []
    for name in ("chunks", "columns"):
        real = getattr(ParquetFiles, name)

        def counted(self, *columns, real=real, name=name):
            reads.append(name)
            return real(self, *columns)

        monkeypatch.setattr(ParquetFiles, name, counted)
    model = AdditiveSVC(Spline(knots=knots), **SEED).fit(path, "sick")
    assert len(reads) == expected
    reads.clear()
    model.predict(path)
    assert len(reads) == 1
