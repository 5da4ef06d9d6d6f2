"""Data sets: the toy one, loaders on small stand-ins, and the real files where they are."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from splinear import datasets
from splinear.datasets._files import HOME_VARIABLE, DataFile
from splinear.datasets._registry import DATA_SETS

PlaceFiles = Callable[..., Path]

PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress}

needs_data = pytest.mark.skipif(
    HOME_VARIABLE not in os.environ, reason=f"{HOME_VARIABLE} names no data folder"
)


def loader(name: str) -> Callable[..., Bunch]:
    load: Callable[..., Bunch] = getattr(datasets, f"load_{name}")
    return load


def packed_npz(**arrays: npt.ArrayLike) -> bytes:
    buffer = BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def idx(values: npt.NDArray[np.uint8]) -> bytes:
    header = bytes([0, 0, 8, values.ndim])
    return header + np.array(values.shape, dtype=">u4").tobytes() + values.tobytes()


@pytest.fixture
def place_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlaceFiles:
    """Write contents as the files of a data set, and expect their checksums from now on."""

    def place(name: str, *contents: bytes) -> Path:
        placed = []
        for file, content in zip(DATA_SETS[name].files, contents, strict=True):
            path = tmp_path / file.path
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(PACKERS.get(path.suffix, bytes)(content))
            placed.append(DataFile(file.path, hashlib.sha256(content).hexdigest()))
        monkeypatch.setitem(DATA_SETS, name, replace(DATA_SETS[name], files=tuple(placed)))
        return tmp_path

    return place


# --- the toy set -----------------------------------------------------------------------------


def test_disk_is_a_grid_with_the_disk_inside() -> None:
    disk = datasets.load_disk(5)
    assert disk.data.shape == (25, 2)
    np.testing.assert_array_equal(np.unique(disk.data), [-1, -0.5, 0, 0.5, 1])
    expected = [x * x + y * y <= 1 for x, y in disk.data]
    np.testing.assert_array_equal(disk.target, expected)
    assert disk.target.sum() == 13  # 3 x 3 inner points and the 4 ends of the axes


def test_disk_can_be_drawn_at_random() -> None:
    disk = datasets.load_disk(60, random_state=3)
    assert disk.data.shape == (3600, 2)
    assert np.abs(disk.data).max() <= 1
    assert disk.target.mean() == pytest.approx(np.pi / 4, abs=0.03)
    np.testing.assert_array_equal(disk.data, datasets.load_disk(60, random_state=3).data)
    assert not np.array_equal(disk.data, datasets.load_disk(60, random_state=4).data)


@pytest.mark.parametrize("n", [1, 2.5, True, "10"])
def test_disk_refuses_a_bad_size(n: Any) -> None:
    with pytest.raises(ValueError, match="n must be an integer of at least 2"):
        datasets.load_disk(n)


# --- loaders on stand-ins --------------------------------------------------------------------


def test_every_data_set_has_a_public_loader() -> None:
    assert {f"load_{name}" for name in DATA_SETS} | {"load_disk"} == set(datasets.__all__)


def test_table_with_everything(place_files: PlaceFiles) -> None:
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    home = place_files(
        "adult",
        packed_npz(
            X=X,
            y=np.array([0, 1, 1], dtype=np.int8),
            feature_names=["age", "sex=Male"],
            is_onehot=[False, True],
            is_test=[False, False, True],
        ),
    )
    adult = datasets.load_adult(data_home=home)
    np.testing.assert_array_equal(adult.data, X)
    np.testing.assert_array_equal(adult.target, [0, 1, 1])
    assert adult.target.dtype == np.int64
    assert adult.feature_names == ["age", "sex=Male"]
    np.testing.assert_array_equal(adult.is_onehot, [False, True])
    np.testing.assert_array_equal(adult.is_test, [False, False, True])
    assert DATA_SETS["adult"].url in adult.DESCR


ADULT_HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,"
    "sex,capital-gain,capital-loss,hours-per-week,native-country,income\n"
)


def test_raw_adult_without_pandas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"load_adult_raw needs pandas.*splinear\[data\]"):
        datasets.load_adult_raw(tmp_path)


def test_raw_adult_reads_only_question_marks_as_missing(place_files: PlaceFiles) -> None:
    pytest.importorskip("pandas")
    row = "50,?,1,NA,13,None,x,y,z,Male,0,0,40,?,"
    home = place_files(
        "adult_raw",
        (ADULT_HEADER + row + ">50K\n").encode(),
        (ADULT_HEADER + row + "<=50K\n").encode(),
    )
    adult = datasets.load_adult_raw(home)
    missing = adult.data.columns[adult.data.isna().any()]
    assert missing.tolist() == ["workclass", "native-country"]
    np.testing.assert_array_equal(adult.target, [1, 0])
    np.testing.assert_array_equal(adult.is_test, [False, True])
    assert adult.feature_names == ADULT_HEADER.strip().split(",")[:-1]


def test_table_with_the_least(place_files: PlaceFiles) -> None:
    home = place_files("california_housing", packed_npz(X=np.eye(2), y=np.array([1.5, 2.5], "f4")))
    housing = datasets.load_california_housing(data_home=str(home))
    assert housing.feature_names is housing.is_onehot is housing.is_test is None
    assert housing.target.dtype == np.float64
    np.testing.assert_array_equal(housing.target, [1.5, 2.5])


def test_mnist(place_files: PlaceFiles) -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(5, 28, 28), dtype=np.uint8)
    labels = np.arange(5, dtype=np.uint8)
    home = place_files("mnist", idx(images[:3]), idx(labels[:3]), idx(images[3:]), idx(labels[3:]))
    mnist = datasets.load_mnist(home)
    np.testing.assert_array_equal(mnist.images, images)
    np.testing.assert_array_equal(mnist.data, images.reshape(5, 784))
    np.testing.assert_array_equal(mnist.target, labels)
    np.testing.assert_array_equal(mnist.is_test, [False, False, False, True, True])


def test_daimler(place_files: PlaceFiles) -> None:
    names = ["1", "2", "3", "T1", "T2"]
    arrays = {}
    for value, name in enumerate(names):
        arrays[f"set{name}_ped"] = np.full((2, 36, 18), value, dtype=np.uint8)
        arrays[f"set{name}_nonped"] = np.full((3, 36, 18), 10 + value, dtype=np.uint8)
    daimler = datasets.load_daimler(place_files("daimler", packed_npz(**arrays)))
    assert daimler.images.shape == (25, 36, 18)
    np.testing.assert_array_equal(daimler.subset, np.repeat(names, 5))
    np.testing.assert_array_equal(daimler.target, np.tile([1, 1, 0, 0, 0], 5))
    np.testing.assert_array_equal(daimler.data[:, 0] < 10, daimler.target == 1)
    np.testing.assert_array_equal(daimler.is_test, np.arange(25) >= 15)
    runs = [
        (set(daimler.subset[train]), set(daimler.subset[test]), len(train), len(test))
        for train, test in daimler.cv
    ]
    pairs = [{"1", "2"}, {"1", "3"}, {"2", "3"}]
    assert runs == [(pair, {test}, 10, 5) for pair in pairs for test in ("T1", "T2")]


def test_libsvm_with_test_part(place_files: PlaceFiles) -> None:
    home = place_files("a9a", b"-1 1:1 3:1\n+1 123:1\n", b"+1 2:1\n")
    a9a = datasets.load_a9a(home)
    assert a9a.data.shape == (3, 123)
    assert a9a.data.dtype == np.float32
    assert list(zip(*a9a.data.nonzero(), strict=True)) == [(0, 0), (0, 2), (1, 122), (2, 1)]
    np.testing.assert_array_equal(a9a.target, [0, 1, 1])
    np.testing.assert_array_equal(a9a.is_test, [False, False, True])


def test_libsvm_without_test_part(place_files: PlaceFiles) -> None:
    w8a = datasets.load_w8a(place_files("w8a", b"-1 300:1\n+1 1:1\n"))
    assert w8a.data.shape == (2, 300)
    assert w8a.is_test is None


def test_newsgroups(place_files: PlaceFiles) -> None:
    counts = np.array([[1, 0, 2], [0, 0, 3], [4, 5, 0]], dtype=np.int16)
    arrays: dict[str, npt.ArrayLike] = {
        "y_train": [0, 1],
        "y_test": [1],
        "target_names": ["a", "b"],
    }
    for part, rows in (("train", counts[:2]), ("test", counts[2:])):
        sparse = csr_matrix(rows)
        for field in ("data", "indices", "indptr", "shape"):
            arrays[f"{part}_{field}"] = getattr(sparse, field)
    # The second word holds a line separator that is not a line feed.
    words = ["one", "t\u2028wo", "three"]
    home = place_files("newsgroups20", packed_npz(**arrays), "\n".join(words).encode())
    news = datasets.load_newsgroups20(home)
    np.testing.assert_array_equal(news.data.toarray(), counts)
    assert news.data.dtype == np.float32
    assert news.feature_names == words
    assert news.target_names == ["a", "b"]
    np.testing.assert_array_equal(news.target, [0, 1, 1])
    np.testing.assert_array_equal(news.is_test, [False, False, True])


# --- finding and checking files --------------------------------------------------------------


@pytest.mark.parametrize("name", DATA_SETS)
def test_a_missing_file_says_what_to_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        loader(name)(tmp_path)
    data_set = DATA_SETS[name]
    message = str(caught.value)
    for part in (str(tmp_path / data_set.files[0].path), HOME_VARIABLE, data_set.url):
        assert part in message


def test_no_data_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match=r"No data folder is set.*skin/skin\.npz"):
        datasets.load_skin()


def test_environment_variable_names_the_folder_and_the_argument_wins(
    place_files: PlaceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = place_files("skin", packed_npz(X=np.eye(2), y=[0, 1]))
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    assert datasets.load_skin().data.shape == (2, 2)
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        datasets.load_skin(tmp_path / "elsewhere")


def test_another_content_is_refused(place_files: PlaceFiles) -> None:
    home = place_files("skin", packed_npz(X=np.eye(2), y=[0, 1]))
    expected = DATA_SETS["skin"].files[0].sha256
    (home / "skin/skin.npz").write_bytes(packed_npz(X=np.eye(3), y=[0, 1, 0]))
    with pytest.raises(OSError, match=rf"skin\.npz is not the expected one.*{expected}"):
        datasets.load_skin(home)


def test_a_file_packed_anew_is_accepted(place_files: PlaceFiles) -> None:
    content = b"-1 300:1\n+1 1:1\n"
    home = place_files("w8a", content)
    (home / "w8a/w8a.bz2").write_bytes(bz2.compress(content, compresslevel=1))
    assert datasets.load_w8a(home).data.shape == (2, 300)


@pytest.mark.parametrize(("name", "cut"), [("w8a", -5), ("w8a", 2), ("mnist", -5), ("mnist", 20)])
def test_a_damaged_file_is_refused(place_files: PlaceFiles, name: str, cut: int) -> None:
    home = place_files(name, *(b"-1 3:1\n" * 50 for _ in DATA_SETS[name].files))
    path = home / DATA_SETS[name].files[0].path
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(OSError, match="cannot be unpacked"):
        loader(name)(home)


# --- the real files --------------------------------------------------------------------------


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape", "classes", "n_test"),
    [
        ("mnist", (70000, 784), range(10), 10000),
        ("daimler", (49000, 648), range(2), 19600),
        ("adult", (48842, 108), range(2), 16281),
        ("cod_rna", (59535, 8), range(2), None),
        ("covtype", (581012, 54), range(1, 8), None),
        ("credit_default", (30000, 33), range(2), None),
        ("magic", (19020, 10), range(2), None),
        ("skin", (245057, 3), range(2), None),
        ("spambase", (4601, 57), range(2), None),
        ("usps", (9298, 256), range(10), 2007),
        ("a9a", (48842, 123), range(2), 16281),
        ("w8a", (49749, 300), range(2), None),
        ("newsgroups20", (18846, 130108), range(20), 7532),
    ],
)
def test_real_classification(
    name: str, shape: tuple[int, int], classes: range, n_test: int | None
) -> None:
    bunch = loader(name)()
    assert bunch.data.shape == shape
    assert bunch.target.shape == (shape[0],)
    np.testing.assert_array_equal(np.unique(bunch.target), classes)
    is_test = bunch.get("is_test")
    assert n_test == (None if is_test is None else is_test.sum())
    names = bunch.get("feature_names")
    assert names is None or len(names) == shape[1]


@needs_data
@pytest.mark.data
def test_real_regression() -> None:
    housing = datasets.load_california_housing()
    assert housing.data.shape == (20640, 8)
    assert len(housing.feature_names) == 8
    assert 0 < housing.target.min() < housing.target.max() < 5.1


@needs_data
@pytest.mark.data
def test_real_daimler_runs() -> None:
    daimler = datasets.load_daimler()
    assert [(len(train), len(test)) for train, test in daimler.cv] == [(19600, 9800)] * 6


@needs_data
@pytest.mark.data
def test_real_raw_adult_has_the_rows_of_the_table() -> None:
    pytest.importorskip("pandas")
    raw, table = datasets.load_adult_raw(), datasets.load_adult()
    np.testing.assert_array_equal(raw.target, table.target)
    np.testing.assert_array_equal(raw.is_test, table.is_test)
    numbers = raw.data.select_dtypes("number")
    assert len(numbers.columns) == 6
    assert raw.data.select_dtypes("category").shape[1] == 8
    for name in numbers:
        np.testing.assert_array_equal(numbers[name], table.data[:, table.feature_names.index(name)])
    text = raw.data.astype(object).where(raw.data.notna(), "?")
    for j in np.flatnonzero(table.is_onehot):
        name, value = table.feature_names[j].split("=")
        np.testing.assert_array_equal(text[name] == value, table.data[:, j] == 1)
    missing = raw.data.isna().sum()
    assert missing[missing > 0].to_dict() == {
        "workclass": 2799,
        "occupation": 2809,
        "native-country": 857,
    }
