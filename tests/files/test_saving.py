"""Model files: exact round trips, the same bytes, all or nothing, and what is refused."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from saved_models import MADE, answers, binary, case, expected, numbers
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

import splinear
from splinear import AdditiveClassifier, AdditiveSVC, AdditiveSVR, PathSearchCV
from splinear.files import saving
from splinear.terms import Category, Spline


def same(a: object, b: object) -> None:
    """Equal to the last bit, and of the same type."""
    assert type(a) is type(b)
    if sparse.issparse(a):
        a, b = a.toarray(), b.toarray()
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b or (a != a and b != b)


def round_trip(model, folder):
    splinear.save(model, folder / "model.splinear")
    return splinear.load(folder / "model.splinear")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", list(MADE))
def test_a_model_is_the_same_after_a_round_trip(name, tmp_path):
    model, X = case(name)
    again = round_trip(model, tmp_path)
    # Whatever a fit leaves is in the file, but for the report on a search; a new attribute needs a
    # place there.
    assert set(vars(again)) == set(vars(model)) - {"pair_search_"}
    assert repr(again) == repr(model)
    same(expected(name), answers(again, X))
    # It can be saved again, and is then the same bytes.
    splinear.save(again, tmp_path / "again.splinear")
    first, second = (tmp_path / name for name in ("model.splinear", "again.splinear"))
    assert first.read_bytes() == second.read_bytes()


def test_another_process_computes_the_same(tmp_path):
    model, X = case("two classes")
    splinear.save(model, tmp_path / "m.splinear")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import numpy, splinear; "
        "print(splinear.load('m.splinear').predict_proba(numpy.load('X.npy')).tobytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == model.predict_proba(X).tobytes().hex()


def test_two_fits_of_the_same_are_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        splinear.save(binary()[0], tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_levels_have_their_types(tmp_path):
    model, _ = case("frame")
    again = round_trip(model, tmp_path)
    for before, after in zip(model.terms_, again.terms_, strict=True):
        same(before.levels, after.levels)


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AdditiveSVC, AdditiveSVR])
def test_partial_fit_goes_on_as_if_nothing_had_happened(kind, tmp_path):
    X, score = numbers()
    y = score > 0 if kind is AdditiveSVC else score
    more = {"classes": [False, True]} if kind is AdditiveSVC else {}
    model = kind(random_state=0).partial_fit(X[:60], y[:60], **more)
    again = round_trip(model, tmp_path)
    same(
        answers(model.partial_fit(X[60:], y[60:]), X), answers(again.partial_fit(X[60:], y[60:]), X)
    )


@pytest.mark.parametrize("kind", [AdditiveSVC, AdditiveClassifier])
def test_warm_start_goes_on_as_if_nothing_had_happened(kind, tmp_path):
    X, score = numbers()
    model = kind(random_state=0, warm_start=True).fit(X, score > 0)
    again = round_trip(model, tmp_path)
    for m in (model, again):
        m.set_params(C=3.0).fit(X, score > 0)
    same(answers(model, X), answers(again, X))


def test_a_loaded_model_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    from splinear.plotting import CurvesDisplay

    model, X = case("pairs")
    CurvesDisplay.from_estimator(round_trip(model, tmp_path), X)
    pyplot.close("all")


def test_surfaces_are_centered_on_one_thread(tmp_path, monkeypatch):
    """As they were in the fit, or the last bits might differ."""
    n_threads, pinv = set(), np.linalg.pinv

    def noted(*args, **options):
        n_threads.update(own["num_threads"] for own in threadpool_info() if _is_blas(own))
        return pinv(*args, **options)

    model, X = case("pairs")
    monkeypatch.setattr(np.linalg, "pinv", noted)
    round_trip(model, tmp_path).predict(X)
    assert n_threads == {1}


def _is_blas(library):
    return library["user_api"] == "blas"


# -- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"curve": Spline(n_bins=7, knots=np.array([-1.0, 0.0, 1.0]), through_zero=False)},
        {"terms": {0: Spline(degree=np.int64(2)), np.int64(1): "drop", 2: Category()}},
        {"terms": {0: "drop"}, "class_weight": {np.int64(0): 1.0, True: np.float32(2)}},
        {"categorical_features": np.array([False, False, True, False])},
        {"categorical_features": (2,), "max_memory": "1GB", "n_jobs": -1, "time_limit": 1e9},
        {"interactions": [(0, 1)], "tol": np.float64(1e-3), "random_state": np.int32(5)},
    ],
    ids=str,
)
def test_parameters_are_kept(given, tmp_path):
    model, _ = binary(AdditiveClassifier(**given))
    again = round_trip(model, tmp_path)
    for name, value in again.get_params(deep=False).items():
        before = model.get_params(deep=False)[name]
        assert repr(value) == repr(before), name
        if not isinstance(before, Spline | dict):
            same(value, before)


def test_a_callback_and_a_random_state_are_left_out_with_a_warning(tmp_path):
    given = {"callback": lambda progress: None, "random_state": np.random.RandomState(0)}
    model, X = binary(AdditiveClassifier(**given))
    with pytest.warns(UserWarning, match="callback and random_state of AdditiveClassifier"):
        again = round_trip(model, tmp_path)
    assert again.callback is None
    assert again.random_state is None
    same(again.predict_proba(X), model.predict_proba(X))


class OwnSpline(Spline):
    pass


class Level(str):
    __slots__ = ()


def test_what_files_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "model.splinear"
    X, score = numbers()
    y = score > 0
    with pytest.raises(TypeError, match="curve is a term of your own, OwnSpline"):
        splinear.save(AdditiveClassifier(OwnSpline()).fit(X, y), path)
    levels = np.array([[Level("ab"[int(x > 0)])] for x in score], dtype=object)
    with pytest.raises(TypeError, match="a level of column 0 is of the type Level"):
        splinear.save(AdditiveClassifier().fit(levels, y), path)
    with pytest.raises(NotFittedError):
        splinear.save(AdditiveClassifier(), path)
    search = PathSearchCV(AdditiveSVC(C=1.0), Cs=2, cv=2).fit(X, y)
    with pytest.raises(TypeError, match="best_estimator_"):
        splinear.save(search, path)
    with pytest.raises(TypeError, match=r"writes AdditiveClassifier, .*; got Pipeline"):
        splinear.save(make_pipeline(StandardScaler(), AdditiveSVC(C=1.0)).fit(X, y), path)
    model = AdditiveClassifier().fit(X, y).set_params(tol=-1.0)
    with pytest.raises(ValueError, match="cannot be saved: The 'tol' parameter"):
        splinear.save(model, path)
    assert not list(tmp_path.iterdir())


# -- all or nothing --------------------------------------------------------------------------------


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model.splinear"
    model, _ = case("two classes")
    splinear.save(model, path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for place, name in ((os, "fsync"), (os, "replace"), (saving, "_write")):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, full)
            with pytest.raises(OSError, match="No space left"):
                splinear.save(model, path)
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(FileNotFoundError):
        splinear.save(model, tmp_path / "nowhere" / "model.splinear")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_permissions_are_those_of_other_files(tmp_path):
    path = tmp_path / "model.splinear"
    (tmp_path / "other").touch()
    model, _ = case("two classes")
    splinear.save(model, path)
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    path.chmod(0o600)
    splinear.save(model, path)
    assert path.stat().st_mode & 0o777 == 0o600


# -- what load refuses -----------------------------------------------------------------------------


def rewritten(path: Path, change) -> None:
    """Write a file again after a change of its parts, checksums included."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)


def replaced(old: bytes, new: bytes):
    def change(parts):
        assert old in parts["structure.json"]
        parts["structure.json"] = parts["structure.json"].replace(old, new, 1)

    return change


REFUSED = {
    "newer": (replaced(b'"version":1', b'"version":2'), "version 2 of the format.*update splinear"),
    "no version": (replaced(b'"version":1', b'"version":"1"'), "does not say"),
    "other format": (replaced(b'"format":"splinear"', b'"format":"onnx"'), "does not say"),
    "class": (replaced(b"AdditiveClassifier", b"os.system"), "file.estimator: expected one of"),
    "other class": (replaced(b"AdditiveClassifier", b"AdditiveSVR"), "expected the parameters"),
    "parameter": (replaced(b'"tol":0.001', b'"tol":"all"'), "'tol' parameter"),
    "parameter name": (replaced(b'"tol":', b'"tell":'), "expected the parameters"),
    "NaN": (replaced(b'"tol":0.001', b'"tol":NaN'), "NaN is not JSON"),
    "digits": (replaced(b'"n_iter":', b'"n_iter":' + b"9" * 2000), "2001 digits|digits"),
    "depth": (replaced(b'"n_iter":', b'"deep":' + b"[" * 10**5 + b"]" * 10**5 + b',"n_iter":'),
              "nested too deeply|expected a group"),
    "degree": (replaced(b'spline","degree":1', b'spline","degree":9'), "degree: expected a whole"),
    "bins": (replaced(b'1,"n_bins":', b'1,"n_bins":1'), "expected an array|longer than its basis"),
    "no such array": (replaced(b'{"$array":0}', b'{"$array":999}'), "the number of an array"),
    "object array": (replaced(b'"<f8"', b'"|O"'), "dtype of numbers, text or times"),
    "record array": (replaced(b'"<f8"', b'"f8,f8"'), "dtype of numbers, text or times"),
    "shape": (replaced(b'"shape":[', b'"shape":[4611686018427387904,'), "bytes are not"),
    "unknown field": (replaced(b'"n_iter":', b'"more":0,"n_iter":'), "fitted: expected a group"),
    "extra part": (lambda parts: parts.update(evil=b"x"), "parts of arrays"),
    "no structure": (lambda parts: parts.pop("structure.json"), "no part 'structure.json'"),
    "no JSON": (lambda parts: parts.update({"structure.json": b"{"}), "Expecting"),
    "no object": (lambda parts: parts.update({"structure.json": b"[]"}), "group of fields"),
    "short": (lambda parts: parts.update({"arrays/0": parts["arrays/0"][:-1]}), "bytes are not"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_files_that_were_changed_are_refused(name, tmp_path):
    path = tmp_path / "model.splinear"
    splinear.save(case("two classes")[0], path)
    change, message = REFUSED[name]
    rewritten(path, change)
    with pytest.raises(ValueError, match=message) as refused:
        splinear.load(path)
    assert str(path) in str(refused.value)


def test_a_file_older_than_a_parameter_has_its_default(tmp_path):
    path = tmp_path / "model.splinear"
    splinear.save(case("two classes")[0], path)
    rewritten(path, replaced(b'"max_iter":1000,', b""))
    assert splinear.load(path).max_iter == 1000


def arrays(path: Path) -> dict[str, tuple[str, list[int]]]:
    import json

    with zipfile.ZipFile(path) as file:
        found = json.loads(file.read("structure.json"))["arrays"]
    return {f"arrays/{k}": (own["dtype"], own["shape"]) for k, own in enumerate(found)}


def test_numbers_and_indices_are_checked(tmp_path):
    path = tmp_path / "model.splinear"
    model, _ = case("texts")
    splinear.save(model, path)
    parts = arrays(path)
    [integers] = [name for name, (dtype, _) in parts.items() if dtype == "<i8"][:1]
    for name, wrong in ((integers, np.int64(10**6).tobytes()), (integers, np.int64(-1).tobytes())):
        splinear.save(model, path)
        rewritten(path, lambda p, n=name, w=wrong: p.update({n: w + p[n][len(w) :]}))
        with pytest.raises(ValueError, match="index outside"):
            splinear.load(path)
    floats = [name for name, (dtype, shape) in parts.items() if dtype == "<f8" and 0 not in shape]
    refused = 0
    for name in floats:
        splinear.save(model, path)
        rewritten(path, lambda p, n=name: p.update({n: np.float64(np.inf).tobytes() + p[n][8:]}))
        try:
            splinear.load(path)
        except ValueError:
            refused += 1
    assert refused >= len(floats) - 3  # importances, edf and the like may be anything


def test_small_files_stay_small(tmp_path):
    path = tmp_path / "bomb.splinear"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("structure.json", b" " * 2**26)
    with pytest.raises(ValueError, match="is compressed"):
        splinear.load(path)
    # Many entries of the directory that speak of the same bytes.
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("structure.json", b" " * 10**6)
        for k in range(100):
            own = copy.copy(file.infolist()[0])
            own.filename = own.orig_filename = f"arrays/{k}"
            file.filelist.append(own)
    path.write_bytes(content.getvalue())
    with pytest.raises(ValueError, match="larger than the file"):
        splinear.load(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("structure.json", b"[" + b"[]," * 2**23 + b"[]]")
    with pytest.raises(ValueError, match="at most"):
        splinear.load(path)


def test_files_of_other_kinds_are_refused(tmp_path):
    path = tmp_path / "model.splinear"
    with pytest.raises(FileNotFoundError):
        splinear.load(path)
    for content in (b"", b"PK\x05\x06", b"x" * 1000, pickle.dumps(AdditiveSVC(C=1.0))):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not an archive, or a damaged one"):
            splinear.load(path)
    splinear.save(case("two classes")[0], path)
    whole = path.read_bytes()
    for length in (len(whole) // 3, len(whole) - 10):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"model\.splinear"):
            splinear.load(path)


# -- other ways ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["frame", "pairs", "svr", "sparse", "spline embedding", "gamma"])
def test_pickle_copy_clone_and_joblib(name, tmp_path):
    model, X = case(name)
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
    ):
        assert set(vars(again)) == set(vars(model))
        same(expected(name), answers(again, X))
    assert repr(clone(model)) == repr(model)


def test_classes_of_ones_own_are_pickled_as_they_are():
    X, score = numbers()
    levels = np.array([[Level("ab"[int(x > 0)])] for x in score], dtype=object)
    model = AdditiveClassifier(random_state=0).fit(levels, X[:, 0] > 0)
    again = pickle.loads(pickle.dumps(model))
    same(again.predict_proba(levels), model.predict_proba(levels))
    assert type(again.terms_[0].levels[0]) is Level


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", list(MADE))
def test_skops_needs_the_names_of_public_classes_only(name):
    skops = pytest.importorskip("skops.io")
    model, X = case(name)
    content = skops.dumps(model)
    untrusted = skops.get_untrusted_types(data=content)
    for private in untrusted:
        assert private.startswith("splinear.")
        kind = private.rpartition(".")[2]
        assert any(hasattr(room, kind) for room in (splinear, splinear.terms, splinear.losses))
    again = skops.loads(content, trusted=untrusted)
    same(expected(name), answers(again, X))


def test_skops_of_a_plain_model_needs_one_name():
    skops = pytest.importorskip("skops.io")
    model, _ = case("frame")
    model = copy.copy(model).set_params(curve=None)
    untrusted = skops.get_untrusted_types(data=skops.dumps(model))
    assert untrusted == ["splinear.estimators.classifier.AdditiveClassifier"]
