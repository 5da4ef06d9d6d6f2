"""Tables in files: the same model as from an array, and errors that name the file."""

import re
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from written_out import scores

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, PathSearchCV
from splinear.inspection import base_value, contributions, importances
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.training_rows import TrainingRows
from splinear.tables.libsvm import LibsvmFile
from splinear.tables.opening import open_files, open_table
from splinear.terms import Hermite, Spline

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
arrow_dataset = pytest.importorskip("pyarrow.dataset")

NAMES = ["age", "dose", "height", "weight"]


def make_rows(n=1500, dtype=np.float32):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4)).astype(dtype)
    y = (np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * random.normal(size=n) > 1).astype(np.int64)
    return X, y


X, Y = make_rows()


def parameters(model):
    return model._model.parameters


def as_table(X, y, names=NAMES):
    columns = {name: X[:, j] for j, name in enumerate(names)}
    return pa.table({**columns, "sick": y})


@pytest.fixture
def files(tmp_path):
    """The same rows in every format: X, y as fit takes them."""
    np.save(tmp_path / "a.npy", X[:400])
    np.save(tmp_path / "b.npy", np.asfortranarray(X[400:]))
    np.save(tmp_path / "all.npy", X)
    np.save(tmp_path / "y_a.npy", Y[:1000])
    np.save(tmp_path / "y_b.npy", Y[1000:])
    table = as_table(X, Y)
    pq.write_table(table, tmp_path / "all.parquet", row_group_size=333)
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(table.slice(0, 700), folder / "part-0.parquet")
    other_order = [*NAMES[::-1], "sick"]
    pq.write_table(table.slice(700).select(other_order), folder / "part-1.parquet")
    dump_svmlight_file(X, Y, str(tmp_path / "all.svm"), zero_based=False)
    dump_svmlight_file(X, Y, str(tmp_path / "zero.libsvm"), zero_based=True)
    return {
        "one .npy": (tmp_path / "all.npy", Y),
        "several .npy": ([tmp_path / "a.npy", str(tmp_path / "b.npy")], Y),
        "y in .npy": (
            [tmp_path / "a.npy", tmp_path / "b.npy"],
            [tmp_path / "y_a.npy", tmp_path / "y_b.npy"],
        ),
        "parquet": (str(tmp_path / "all.parquet"), "sick"),
        "parquet files": ([folder / "part-0.parquet", folder / "part-1.parquet"], "sick"),
        "folder": (folder, "sick"),
        "dataset": (arrow_dataset.dataset(folder, format="parquet"), "sick"),
        "libsvm": (tmp_path / "all.svm", None),
        "libsvm from 0": (str(tmp_path / "zero.libsvm"), None),
    }


KINDS = [
    "one .npy",
    "several .npy",
    "y in .npy",
    "parquet",
    "parquet files",
    "folder",
    "dataset",
    "libsvm",
    "libsvm from 0",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_the_model_of_the_array(kind, files, monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 1000)  # 250 rows per chunk
    source, target = files[kind]
    expected = AdditiveSVC(random_state=0, C=1.0).fit(X, Y)
    # LIBSVM files are sparse, and their zeros count for nothing unless one says so.
    curve = Spline(through_zero=False) if "libsvm" in kind else None
    model = AdditiveSVC(curve, random_state=0, C=1.0).fit(source, target)
    np.testing.assert_array_equal(parameters(model), parameters(expected))
    np.testing.assert_array_equal(model.predict(source), expected.predict(X))
    assert model.score(source, target) == expected.score(X, Y)
    # LIBSVM files are read as float64, which is scored in double precision.
    np.testing.assert_allclose(
        model.decision_function(source), expected.decision_function(X), rtol=1e-5, atol=1e-5
    )
    names = getattr(model, "feature_names_in_", None)
    assert (names is None) == ("npy" in kind or "libsvm" in kind)


@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("kind", ["several .npy", "folder", "libsvm"])
def test_probabilities_from_a_file(kind, C, files, monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 1000)
    source, target = files[kind]
    rule = Spline(through_zero=False) if "libsvm" in kind else None
    model = AdditiveClassifier(rule, C=C, random_state=0).fit(source, target)
    expected = AdditiveClassifier(C=C, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(source), expected.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(model.feature_importances_, expected.feature_importances_, rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (AdditiveSVC, {"curve": Spline(10, knots="quantile")}),
        (AdditiveSVC, {"curve": Hermite(2, scale="standard")}),
        (AdditiveSVC, {"C": 1.0, "tol": 1e-5}),
        (AdditiveSVC, {"class_weight": "balanced"}),
        (AdditiveSVC, {"curve": Spline(extrapolation="linear")}),
        (AdditiveSVC, {"terms": {0: Hermite(2), 1: "drop", 2: Spline(5)}}),
        (AdditiveClassifier, {"C": 1.0}),
        (AdditiveClassifier, {}),
    ],
    ids=str,
)
def test_parameters_that_look_at_the_rows(kind, params, files, monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 1000)
    source, target = files["several .npy"]
    weights = np.random.default_rng(1).integers(0, 3, len(Y)).astype(float)
    expected = kind(random_state=0, **params).fit(X, Y, weights)
    model = kind(random_state=0, **params).fit(source, target, weights)
    # Only the mean and deviation that "standard" needs are summed in another order.
    exact = "standard" not in str(params)
    close = {"rtol": 0, "atol": 0 if exact else 1e-3}
    np.testing.assert_allclose(parameters(model), parameters(expected), **close)
    np.testing.assert_allclose(
        model.decision_function(source), expected.decision_function(X), **close
    )


def test_regression_on_parquet(tmp_path):
    target = X[:, 0] ** 2 + X[:, 1]
    pq.write_table(as_table(X, target), tmp_path / "x.parquet")
    expected = AdditiveRegressor(random_state=0).fit(X, target)
    model = AdditiveRegressor(random_state=0).fit(tmp_path / "x.parquet", "sick")
    np.testing.assert_array_equal(parameters(model), parameters(expected))
    assert model.score(tmp_path / "x.parquet", "sick") == pytest.approx(expected.score(X, target))


def test_text_as_classes_and_whole_numbers_as_features(tmp_path):
    whole = np.random.default_rng(0).integers(-5, 6, (300, 4))
    words = np.where(whole[:, 0] > 0, "well", "ill")
    table = as_table(whole, pa.array(words).dictionary_encode())
    pq.write_table(table, tmp_path / "x.parquet")
    model = AdditiveSVC(random_state=0, C=1.0).fit(tmp_path / "x.parquet", "sick")
    expected = AdditiveSVC(random_state=0, C=1.0).fit(whole, words)
    assert list(model.classes_) == ["ill", "well"]
    np.testing.assert_array_equal(parameters(model), parameters(expected))


def test_columns_are_found_by_name(files, tmp_path):
    source, target = files["parquet"]
    model = AdditiveSVC(random_state=0, C=1.0).fit(source, target)
    mixed = as_table(X, Y).select(["sick", "weight", "age", "height", "dose"])
    mixed = mixed.append_column("remark", pa.array(["none"] * len(X)))
    pq.write_table(mixed, tmp_path / "mixed.parquet")
    np.testing.assert_array_equal(model.predict(tmp_path / "mixed.parquet"), model.predict(source))
    pq.write_table(mixed.drop_columns(["dose"]), tmp_path / "less.parquet")
    with pytest.raises(ValueError, match=r"less\.parquet has no column 'dose'; it has 'sick', 'we"):
        model.predict(tmp_path / "less.parquet")


@pytest.fixture
def words(tmp_path):
    """A sparse matrix of counts, labels, and a LIBSVM file of both."""
    random = np.random.default_rng(5)
    y = random.integers(0, 2, 3000)
    rate = random.gamma(0.3, 1.0, 60) * np.exp(np.outer(y, random.normal(0, 0.5, 60)))
    counts = csr_array(random.poisson(rate).astype(float))
    path = tmp_path / "words.svm"
    dump_svmlight_file(counts, y, str(path), zero_based=False)
    return counts, y, path


@pytest.mark.parametrize(
    "params",
    [{}, {"curve": Spline(knots="uniform")}, {"curve": Spline(degree=0)}, {"tol": 1e-5}],
    ids=str,
)
def test_a_libsvm_file_gives_the_model_of_the_sparse_matrix(params, words, monkeypatch):
    counts, y, path = words
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 3000)
    monkeypatch.setattr("splinear.tables.libsvm.CHUNK", 5000)
    expected = AdditiveSVC(random_state=0, **params).fit(counts, y)
    model = AdditiveSVC(random_state=0, **params).fit(path)
    np.testing.assert_array_equal(parameters(model), parameters(expected))
    np.testing.assert_array_equal(model.decision_function(path), expected.decision_function(counts))
    np.testing.assert_allclose(importances(model, path), importances(expected, counts))
    assert model.score(path, y) == expected.score(counts, y)


@pytest.mark.parametrize("kind", [AdditiveSVC, AdditiveClassifier])
def test_sparse_rows_on_disk(kind, words, monkeypatch):
    """Smaller blocks than the rows: the same optimum, and the same bits for every thread count."""
    counts, y, path = words
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 3000)
    blocks = MemoryPlan(rows_per_block=1024)
    monkeypatch.setattr("splinear.estimators.base.plan_memory", lambda *_: blocks)
    options = {"C": 1.0, "tol": 1e-4, "random_state": 0}
    expected = kind(**options).fit(counts, y)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    for source in (counts, path):
        model = kind(max_memory="1GB", **options).fit(source, y)
        again = kind(max_memory="1GB", n_jobs=2, **options).fit(source, y)
        assert model.objective_ == pytest.approx(expected.objective_, rel=2e-4)
        np.testing.assert_array_equal(parameters(model), parameters(again))
        weighted = kind(max_memory="1GB", **options).fit(source, y, weights)
        in_memory = kind(**options).fit(counts, y, weights)
        assert weighted.objective_ == pytest.approx(in_memory.objective_, rel=2e-4)


def test_sparse_entries_on_disk_are_those_in_memory(words):
    """Newton's method reads the rows in their order: the very same numbers. Groups, and gaps."""
    counts, y, _ = words
    counts = counts.copy()
    counts.data[::50] = np.nan
    terms = {3: Hermite(2), 7: Spline(4), 9: "drop"}
    layout = AdditiveSVC(terms=terms, random_state=0, C=1.0).fit(counts, y)._model.layout
    assert len(layout.groups) > 3
    memory, disk = (
        TrainingRows.prepare(
            open_table(counts),
            layout,
            seed=3,
            kept=y > -1,
            plan=MemoryPlan(rows_per_block=block),
        )
        for block in (None, 700)
    )
    flat = np.random.default_rng(0).normal(size=(2, layout.n_parameters)) * layout.used
    np.testing.assert_array_equal(memory.scores(flat), disk.scores(flat))
    np.testing.assert_allclose(
        memory.scores(flat)[0, np.argsort(memory.place(np.arange(len(y))))],
        scores(memory.layout, flat[0], 0.0, counts.toarray()),
        atol=1e-5,
    )


def test_nothing_but_zeros_on_disk():
    blocks = MemoryPlan(rows_per_block=64)
    empty = csr_array((200, 3))
    layout = AdditiveSVC(random_state=0, C=1.0).fit(empty, np.arange(200) % 2)._model.layout
    rows = TrainingRows.prepare(open_table(empty), layout, plan=blocks)
    assert not rows.scores(np.ones((1, layout.n_parameters))).any()


def test_negative_numbers_in_a_libsvm_file(tmp_path):
    (tmp_path / "x.svm").write_text("0 1:1.5\n1 2:-3\n0 1:2\n1 2:4\n")
    message = r"contains -3 in column 1; .*for a file, by Spline\(through_zero=False\)"
    fails(tmp_path / "x.svm", None, message)
    model = AdditiveSVC(Spline(through_zero=False), C=1.0).fit(tmp_path / "x.svm")
    dense = [[1.5, 0], [0, -3], [2, 0], [0, 4]]
    assert model.score(dense, [0, 1, 0, 1]) == model.score(tmp_path / "x.svm")


def test_zeros_at_the_end_of_a_libsvm_file(tmp_path):
    dense = np.abs(X[:300]) + 0.1
    dump_svmlight_file(dense, Y[:300], str(tmp_path / "train.svm"), zero_based=False)
    model = AdditiveSVC(Spline(through_zero=False), random_state=0, C=1.0).fit(
        tmp_path / "train.svm"
    )
    dense[:50, 3] = 0.0
    dump_svmlight_file(dense[:50], Y[:50], str(tmp_path / "test.svm"), zero_based=False)
    np.testing.assert_array_equal(model.predict(tmp_path / "test.svm"), model.predict(dense[:50]))


@pytest.mark.parametrize(
    ("classes", "later"),
    [(["01", "12", "20"], ["12", "20"]), (["1", "2", "3"], ["01", "02", "03"])],
)
def test_classes_of_later_files_have_the_type_of_the_first(classes, later, tmp_path):
    pytest.importorskip("pyarrow")
    paths = tmp_path / "first.csv", tmp_path / "later.csv"
    for path, own in zip(paths, (classes, later), strict=True):
        at = np.arange(120) % len(own) + len(classes) - len(own)
        lines = [f"{x},{own[k % len(own)]}" for k, x in enumerate(at)]
        path.write_text("\n".join(["x,y", *lines]), encoding="utf-8")
    assert AdditiveClassifier().fit(paths[0], "y").score(paths[1], "y") == 1.0
    model = AdditiveSVC(C=0.01).fit(paths[0], "y")
    assert model.partial_fit(paths[1], "y").score(paths[1], "y") == 1.0


@pytest.mark.parametrize("zero_based", [False, True])
def test_later_files_count_indices_as_the_first(zero_based, tmp_path):
    """A zero-based file of rows whose first column is 0 looks like a one-based one."""
    dense = np.round(np.abs(X[:300]).astype(float), 3)
    dump_svmlight_file(dense, Y[:300], str(tmp_path / "train.svm"), zero_based=zero_based)
    less = dense[:100].copy()
    less[:, 0] = 0.0
    dump_svmlight_file(less, Y[:100], str(tmp_path / "test.svm"), zero_based=zero_based)
    model = AdditiveSVC(random_state=0, C=1.0).fit(tmp_path / "train.svm")
    expected = model.decision_function(csr_array(less))
    path = tmp_path / "test.svm"
    np.testing.assert_allclose(model.decision_function(path), expected, atol=1e-12)
    assert model.score(path) == model.score(csr_array(less), Y[:100])
    parts = contributions(model, csr_array(less))
    np.testing.assert_allclose(contributions(model, path), parts, atol=1e-12)
    goes_on = AdditiveSVC(random_state=0, C=1.0)
    goes_on.partial_fit(tmp_path / "train.svm", Y[:300], classes=[0, 1]).partial_fit(path, Y[:100])
    same = AdditiveSVC(random_state=0, C=1.0)
    same.partial_fit(csr_array(dense), Y[:300], classes=[0, 1])
    same.partial_fit(csr_array(less), Y[:100])
    np.testing.assert_allclose(parameters(goes_on), parameters(same), atol=1e-12)
    # The user has the last word.
    if zero_based:
        shifted = LibsvmFile(path, zero_based=False)
        assert not np.allclose(model.decision_function(shifted), expected)


def test_an_index_0_where_the_first_is_1(files, tmp_path):
    model = AdditiveSVC(Hermite(2), random_state=0, C=1.0).fit(files["libsvm"][0])
    with pytest.raises(ValueError, match=r"zero\.libsvm has the index 0, but its indices should b"):
        model.predict(files["libsvm from 0"][0])
    with pytest.raises(ValueError, match=r"zero\.libsvm has the index 0, but"):
        LibsvmFile(files["libsvm from 0"][0], zero_based=False)
    own = LibsvmFile(files["libsvm from 0"][0], zero_based=True)
    np.testing.assert_array_equal(model.predict(own), model.predict(files["libsvm"][0]))


def test_libsvm_in_small_pieces(files, monkeypatch):
    path, _ = files["libsvm"]
    monkeypatch.setattr("splinear.tables.libsvm.CHUNK", 777)  # bytes: ends in the middle of lines
    source = LibsvmFile(path)
    expected, labels = load_svmlight_file(str(path))
    np.testing.assert_array_equal(source.labels, labels)
    found = np.concatenate([piece.toarray() for _, piece in source.chunks()])
    np.testing.assert_array_equal(found, expected.toarray())


def test_contributions_of_a_file(files):
    source, target = files["parquet"]
    model = AdditiveSVC(random_state=0, C=1.0).fit(source, target)
    np.testing.assert_allclose(
        contributions(model, source).sum(axis=1) + base_value(model),
        model.decision_function(source),
        rtol=1e-4,
        atol=1e-5,
    )


# -- what can go wrong ----------------------------------------------------------------------------


def fails(X, y, message, error=ValueError, **params):
    with pytest.raises(error, match=message):
        AdditiveSVC(**params).fit(X, y)


@pytest.mark.parametrize("name", ["x.npy", "x.parquet", "x.svm"])
def test_a_file_that_is_not_there(name, tmp_path):
    fails(tmp_path / name, Y, f"There is no file .*{re.escape(name)}", FileNotFoundError)


def test_an_unknown_ending(tmp_path):
    fails("table.xls", Y, r"'table.xls', which does not name .* endings may be \.npy, \.parquet")
    fails(tmp_path, "sick", "no .parquet files in the folder", FileNotFoundError)


@pytest.mark.parametrize("name", ["x.npy", "x.parquet", "x.svm"])
def test_a_file_of_another_format(name, tmp_path):
    (tmp_path / name).write_bytes(b"this is a letter, and no table\n" * 5)
    with pytest.raises(ValueError, match=rf"{re.escape(name)}(, line 1)? is not") as caught:
        AdditiveSVC(C=1.0).fit(tmp_path / name, Y)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("left", [3, 60, 1000])
def test_a_truncated_npy(left, files, tmp_path):
    whole = (tmp_path / "all.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(whole[:left])
    message = "is truncated: it has 1,000 bytes, and its header announces 24,128"
    fails(tmp_path / "cut.npy", Y, message if left == 1000 else r"cut\.npy is not a whole \.npy")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_a_truncated_parquet(part, files, tmp_path):
    whole = (tmp_path / "all.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: int(part * len(whole))])
    fails(tmp_path / "cut.parquet", "sick", r"cut\.parquet is not a whole Parquet file")


def test_a_parquet_damaged_inside(files, tmp_path):
    whole = bytearray((tmp_path / "all.parquet").read_bytes())
    whole[100:3000] = bytes(2900)
    (tmp_path / "hurt.parquet").write_bytes(whole)
    fails(tmp_path / "hurt.parquet", Y, r"hurt\.parquet is not a whole Parquet file, or is damaged")


@pytest.mark.parametrize(
    ("line", "cause"),
    [("1 1:0.5 2:abc", "2:abc"), ("1 3:1 2:1", "sorted"), ("yes 1:2", "yes"), ("1 1", "1 1")],
)
def test_a_broken_line_is_named(line, cause, tmp_path, monkeypatch):
    monkeypatch.setattr("splinear.tables.libsvm.CHUNK", 20)
    lines = ["1 1:0.5 2:0.25", "0 1:0.125 2:3"] * 20
    lines.insert(30, line)
    (tmp_path / "x.svm").write_text("\n".join(lines))
    fails(tmp_path / "x.svm", None, rf"x\.svm, line 31 is not of the form .*{re.escape(cause)}")


def test_files_that_differ(files, tmp_path):
    np.save(tmp_path / "narrow.npy", X[:, :3])
    np.save(tmp_path / "double.npy", X.astype(np.float64))
    np.save(tmp_path / "flat.npy", X[:, 0])
    np.save(tmp_path / "text.npy", np.array([["a", "b"]]))
    first = tmp_path / "a.npy"
    fails([first, tmp_path / "narrow.npy"], Y, r"narrow\.npy has 3 columns of type float32; .* 4")
    fails([first, tmp_path / "double.npy"], Y, r"double\.npy has 4 columns of type float64")
    fails([tmp_path / "flat.npy"], Y, r"flat\.npy holds an array of shape \(1500,\)")
    fails([tmp_path / "text.npy"], Y, r"text\.npy holds .* type <U1; a table of numbers")
    pq.write_table(as_table(X, Y).drop_columns(["dose"]), tmp_path / "folder" / "part-2.parquet")
    fails(tmp_path / "folder", "sick", r"part-2\.parquet and .*part-0\.parquet do not .*: dose")


def test_python_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    fails(tmp_path / "x.npy", [0], "holds Python objects")


def test_columns_without_numbers_are_named(tmp_path):
    table = as_table(X, Y).append_column("color", pa.array(["red"] * len(X)))
    table = table.append_column("day", pa.array([0] * len(X), pa.date32()))
    table = table.append_column("list", pa.array([[1.0]] * len(X)))
    pq.write_table(table, tmp_path / "x.parquet")
    fails(tmp_path / "x.parquet", "sick", "columns hold dates, times or intervals: day")
    pq.write_table(table.drop_columns(["day"]), tmp_path / "x.parquet")
    fails(tmp_path / "x.parquet", "sick", "columns hold neither numbers nor text: list")
    model = AdditiveSVC(random_state=0, C=1.0).fit(X, Y)
    model.feature_names_in_ = np.array(["age", "dose", "height", "color"], dtype=object)
    pq.write_table(table.drop_columns(["day", "list"]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"numeric, as it was in fit, but .*: color"):
        model.predict(tmp_path / "x.parquet")


def test_missing_values_are_found(tmp_path):
    table = as_table(X, Y)
    height = pa.array([*X[:700, 2], None, *X[701:, 2]], pa.float32())
    pq.write_table(table.set_column(2, "height", height), tmp_path / "x.parquet")
    path = tmp_path / "x.parquet"
    fails(path, "sick", r"NaN in column 'height' \(first in row 700\)", missing="error")
    assert AdditiveSVC(random_state=0, C=1.0).fit(path, "sick").terms_[2].had_missing
    sick = pa.array([*Y[:700], None, *Y[701:]])
    pq.write_table(table.set_column(4, "sick", sick), tmp_path / "y.parquet")
    fails(tmp_path / "y.parquet", "sick", "column 'sick' of .* has missing values")


def test_infinity_in_a_later_file(files, tmp_path):
    bad = X[:400].copy()
    bad[7, 2] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    fails([tmp_path / "all.npy", tmp_path / "bad.npy"], [*Y, *Y[:400]], "column 2 .*row 1507")
    model = AdditiveSVC(random_state=0, C=1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"infinity in column 2 \(first in row 7\)"):
        model.predict([tmp_path / "bad.npy"])


def test_targets_that_do_not_fit(files, tmp_path):
    source, _ = files["parquet"]
    fails(source, "ill", r"all\.parquet has no column 'ill'; it has 'age', 'dose'")
    fails(source, Y[:-1], "y has 1,499 entries, but there are 1,500 rows in .*all.parquet")
    fails(source, None, "requires y to be passed")
    fails(files["several .npy"][0], [tmp_path / "y_a.npy"], "1,000 entries, but there are 1,500")
    np.save(tmp_path / "y_float.npy", Y[1000:].astype(float))
    mixed = [tmp_path / "y_a.npy", tmp_path / "y_float.npy"]
    fails(files["several .npy"][0], mixed, r"y_float\.npy holds .* type float64; .* int64")


def test_no_rows(tmp_path):
    np.save(tmp_path / "x.npy", X[:0])
    (tmp_path / "x.svm").write_text("\n")
    pq.write_table(as_table(X[:0], Y[:0]), tmp_path / "x.parquet")
    fails(tmp_path / "x.npy", Y[:0], "no rows in .*x.npy")
    fails(tmp_path / "x.svm", None, "no rows in .*x.svm")
    fails(tmp_path / "x.parquet", "sick", "no rows in .*x.parquet")


def test_what_needs_memory_says_so(files):
    source, target = files["parquet"]
    with pytest.raises(ValueError, match="PathSearchCV needs X in memory, or as a"):
        PathSearchCV(AdditiveSVC(C=1.0)).fit(source, target)


def test_other_numbers_of_columns_at_predict(files, tmp_path):
    model = AdditiveSVC(random_state=0, C=1.0).fit(X[:, :3], Y)
    for kind in ("one .npy", "libsvm"):
        with pytest.raises(ValueError, match="has 4 features, but AdditiveSVC is expecting 3"):
            model.predict(files[kind][0])


def test_without_pyarrow_the_command_is_named(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    fails(files["parquet"][0], "sick", "needs pyarrow: pip install pyarrow", ImportError)


def test_names_are_read_as_paths_only_where_they_can_be():
    assert open_files(X) is None
    assert open_files([[1.0, 2.0]]) is None
    assert open_files(["a", "b"]) is None
    assert open_table(X, "test").given is X


def test_the_name_of_a_column_where_there_are_none(files):
    fails(files["one .npy"][0], "income", r"y is the text 'income', but there are no names of col")
    fails(files["libsvm"][0], "income", r"y is the text 'income', but there are no names of col")
