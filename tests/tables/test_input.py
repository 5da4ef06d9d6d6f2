"""What users get wrong, and input that is odd but right."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    SplineEmbedding,
)
from splinear.datasets import load_disk
from splinear.tables.checks import check_weights
from splinear.terms import Spline

X_GOOD, Y_GOOD = load_breast_cancer(return_X_y=True)
X_GOOD, Y_GOOD = X_GOOD[:120], Y_GOOD[:120]

CLASSIFIERS = [AdditiveClassifier, AdditiveSVC]
ESTIMATORS = [*CLASSIFIERS, AdditiveRegressor, AdditiveSVR]
FIXED = [AdditiveClassifier(C=1.0, random_state=0), AdditiveSVC(random_state=0, C=1.0)]

by_name = pytest.mark.parametrize("estimator", ESTIMATORS)
every_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS)
both = pytest.mark.parametrize("model", FIXED, ids=lambda model: type(model).__name__)


def coefs(model):
    return np.concatenate([term.coef.ravel() for term in model.terms_])


@by_name
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"curve": 10}, "'curve' parameter of {} must be a term such as .*Spline.* Got 10"),
        ({"terms": [Spline()]}, "'terms' parameter of {} must be a dict .* Got "),
        ({"C": -1.0}, "'C' parameter of {} .* Got -1.0"),
        ({"C": 0}, "'C' parameter of {} .* Got 0"),
        ({"tol": -1e-3}, "'tol' parameter of {} .* Got -0.001"),
        ({"max_iter": 0}, "'max_iter' parameter of {} .* Got 0"),
        ({"time_limit": 0.0}, "'time_limit' parameter of {} .* Got 0.0"),
        ({"callback": 3}, "'callback' parameter of {} must be a callable"),
        ({"missing": "drop"}, "'missing' parameter of {} .* Got 'drop'"),
        ({"categorical_features": "all"}, "'categorical_features' parameter of {} .* Got 'all'"),
        ({"categorical_features": [0, 99]}, "there is no 99 among 30 features"),
        ({"categorical_features": [[0]]}, "list features by position or name, or be a mask"),
        ({"categorical_features": [True]}, "of length 1 for 30 features"),
        ({"warm_start": "yes"}, "'warm_start' parameter of {} .* Got 'yes'"),
        ({"max_memory": 0.5}, "'max_memory' parameter of {} .* Got 0.5"),
        ({"max_memory": "much"}, "max_memory.*much"),
        ({"max_memory": 10}, "max_memory=10 is too small"),
        ({"n_jobs": "two"}, "'n_jobs' parameter of {} .* Got 'two'"),
        ({"random_state": "seed"}, "'random_state' parameter of {} .* Got 'seed'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_parameters_are_named(estimator, params, message):
    with pytest.raises(ValueError, match=message.format(estimator.__name__)):
        estimator(**params).fit(X_GOOD, Y_GOOD)


@by_name
@pytest.mark.parametrize(
    "name", ["n_bins", "basis", "smoothness", "solver", "multi_class", "degree"]
)
def test_parameters_that_belong_to_others(estimator, name):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        estimator(**{name: 1})


@by_name
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_not_finite_names_the_column_and_row(estimator, value, word):
    X = pd.DataFrame(X_GOOD[:, :3].copy(), columns=["age", "dose", "height"])
    model = estimator(missing="error", random_state=0)
    good = clone(model).fit(X, Y_GOOD)
    X.loc[17, "dose"] = value
    with pytest.raises(ValueError, match=rf"{word}.* in column 'dose' \(first in row 17\)"):
        clone(model).fit(X, Y_GOOD)
    with pytest.raises(ValueError, match=rf"{word}.* in column 'dose' \(first in row 17\)"):
        good.predict(X)
    with pytest.raises(ValueError, match=rf"{word}.* in column 1 "):
        clone(model).fit(X.to_numpy(), Y_GOOD)
    with pytest.raises(ValueError, match=rf"{word}.* in column 1 "):
        clone(model).fit(sparse.csr_array(X.to_numpy()), Y_GOOD)


@by_name
def test_infinity_is_no_gap(estimator):
    X = X_GOOD[:, :3].copy()
    model = estimator(random_state=0).fit(X, Y_GOOD)
    X[5, 2], X[9, 1] = np.inf, np.nan
    message = (
        r"infinity in column 2 \(first in row 5\); .* needs finite numbers\. Replace it by NaN, a"
    )
    for wrong in (X, sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(wrong, Y_GOOD)
        with pytest.raises(ValueError, match=message):
            model.predict(wrong)


@by_name
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=repr)
def test_every_kind_of_gap(estimator, gap):
    """In columns of text and of numbers, in a frame and in an array of objects."""
    X = pd.DataFrame({"x": X_GOOD[:, 0], "c": np.array(["a", "b"])[Y_GOOD]})
    plain = X.copy()
    plain.loc[::9, ["x", "c"]] = np.nan
    X = X.astype(object)
    for k in range(0, len(X), 9):
        X.iat[k, 0] = X.iat[k, 1] = gap
    expected = estimator(random_state=0).fit(plain, Y_GOOD)
    for table in (X, X.to_numpy()):
        model = estimator(random_state=0).fit(table, Y_GOOD)
        assert all(term.had_missing for term in model.terms_)
        np.testing.assert_array_equal(coefs(model), coefs(expected))
        np.testing.assert_array_equal(model.predict(table), expected.predict(plain))


def test_text_names_the_columns():
    X = pd.DataFrame({"size": [1.0, 2, 3, 4], "color": pd.Categorical(["r", "g", "r", "b"])})
    with pytest.raises(ValueError, match="color"):
        SplineEmbedding().fit(X)
    numbers = AdditiveSVC(random_state=0, C=1.0).fit(X.assign(color=1.0), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="these columns hold text or categories: color"):
        numbers.predict(X)
    with pytest.raises(ValueError, match="these columns hold text or categories: color"):
        AdditiveSVC(categorical_features=None, C=1.0).fit(X, [0, 1, 0, 1])
    assert AdditiveSVC(C=1.0).fit([["a"], ["b"]], [0, 1]).terms_[0].levels == ("a", "b")


@by_name
def test_values_that_are_neither_numbers_nor_text(estimator):
    X = pd.DataFrame({"x": np.arange(6.0), "tags": [["a"], ["b"]] * 3})
    with pytest.raises(TypeError, match=r"column 'tags'.*must be a string or a real number"):
        estimator().fit(X, np.arange(6) % 2)


@every_classifier
def test_one_class_only(estimator):
    with pytest.raises(ValueError, match="only one class"):
        estimator().fit(X_GOOD, np.ones(len(X_GOOD)))


@every_classifier
def test_numbers_are_no_classes(estimator):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        estimator().fit(X_GOOD, X_GOOD[:, 0])


@pytest.mark.parametrize("estimator", [AdditiveRegressor, AdditiveSVR])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_targets_that_are_not_finite(estimator, value, word):
    y = X_GOOD[:, 0].copy()
    y[7] = value
    with pytest.raises(ValueError, match=f"y contains {word}"):
        estimator().fit(X_GOOD, y)
    with pytest.raises(ValueError, match=r"y must hold numbers|could not convert"):
        estimator().fit(X_GOOD, np.array(["a", "b"])[Y_GOOD])


@by_name
def test_y_of_other_length(estimator):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[120, 119\]"):
        estimator().fit(X_GOOD, Y_GOOD[:-1])


@by_name
def test_other_number_of_columns_at_predict(estimator):
    model = estimator(random_state=0).fit(X_GOOD, Y_GOOD)
    message = f"X has 29 features, but {estimator.__name__} is expecting 30"
    with pytest.raises(ValueError, match=message):
        model.predict(X_GOOD[:, :29])


@by_name
@pytest.mark.parametrize("shape", [(120,), (3, 40, 1)])
def test_wrong_dimensions(estimator, shape):
    with pytest.raises(ValueError, match=r"Expected 2D array|dim"):
        estimator().fit(np.zeros(shape), Y_GOOD[: shape[0]])


@by_name
@pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
def test_empty_tables(estimator, shape):
    with pytest.raises(ValueError, match=r"Found array with 0 (sample|feature)\(s\)"):
        estimator().fit(np.zeros(shape), Y_GOOD[: shape[0]])
    with pytest.raises(ValueError, match=r"Found array with 0 (sample|feature)\(s\)"):
        estimator().fit(pd.DataFrame(np.zeros(shape, dtype=object)), Y_GOOD[: shape[0]])


@by_name
def test_complex_is_refused(estimator):
    with pytest.raises(ValueError, match="Complex"):
        estimator().fit(X_GOOD + 1j, Y_GOOD)


@by_name
def test_bad_weights_are_refused(estimator):
    with pytest.raises(ValueError, match=r"Negative values .* -1 for row 0"):
        estimator().fit(X_GOOD, Y_GOOD, sample_weight=-np.ones(120))
    with pytest.raises(
        ValueError, match=r"at least one non-zero number|All entries of sample_weight"
    ):
        estimator().fit(X_GOOD, Y_GOOD, sample_weight=np.zeros(120))
    with pytest.raises(ValueError, match=r"sample_weight.*NaN|NaN.*sample_weight"):
        estimator().fit(X_GOOD, Y_GOOD, sample_weight=np.full(120, np.nan))


@by_name
@pytest.mark.parametrize("most", [1e100, 1e308, np.inf])
@pytest.mark.parametrize("other", [1.0, 1e308])
@pytest.mark.filterwarnings("error")
def test_very_large_weights_are_refused(estimator, most, other):
    weights = np.append(most, np.full(119, other))
    with pytest.raises(ValueError, match=r"sample_weight (adds up to|contains infinity)"):
        estimator().fit(X_GOOD, Y_GOOD, sample_weight=weights)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200])
@pytest.mark.parametrize(
    "model",
    [
        AdditiveClassifier(interactions=1),
        AdditiveRegressor(loss="gamma"),
        AdditiveSVC(C=1.0),
        AdditiveSVR(C=1.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_sums_of_denormal_weights_are_finite(model, scale):
    """Also those of three classes, whose gap was infinite."""
    y = np.digitize(X_GOOD[:, 0], [12.0, 15.0]) + 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "sample_weight adds up to")
        model = clone(model).fit(X_GOOD, y, sample_weight=np.full(120, scale))
    assert np.all(model.certified_)
    assert np.isfinite(model.feature_importances_).all()
    assert np.isfinite(np.ravel(model.objective_)).all()
    assert np.all(np.ravel(model.dual_gap_) <= model.tol)


@pytest.mark.parametrize("scale", [1e-305, 1e-318])
def test_denormal_weights_keep_their_proportions(scale):
    shares = np.where(Y_GOOD > 0, 1.0, 4.0)
    found = check_weights(scale * shares, 120)
    np.testing.assert_allclose(found / found.min(), shares, rtol=1e-3)
    assert 1e-30 < found.min() < 1e-15


def test_a_row_with_a_denormal_weight_counts_for_nothing_but_is_there():
    weights = np.ones(120)
    weights[:3] = 1e-310, 0.0, 1e-320
    found = check_weights(weights, 120)
    np.testing.assert_array_equal(found[:3], [1e-100, 0.0, 1e-100])
    np.testing.assert_array_equal(found[3:], 1.0)


@by_name
@pytest.mark.parametrize("weight", [1e-323, 1e-100, 1e20])
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_very_small_weights_and_large_ones_are_computed_with(estimator, weight):
    model = estimator().fit(X_GOOD, Y_GOOD, sample_weight=np.full(120, weight))
    assert np.isfinite(model.predict(X_GOOD)).all()


def fit_disk(model, transform=lambda X: X, **params):
    disk = load_disk()
    X = transform(disk.data)
    return clone(model).set_params(C=10.0, **params).fit(X, disk.target), X, disk.target


# In units this large the curves are all but free of penalty, and a fit need not end at its optimum.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "scale"),
    [(FIXED[0], "unit"), (FIXED[1], "unit"), (FIXED[1], "native")],
    ids=["AdditiveClassifier-unit", "AdditiveSVC-unit", "AdditiveSVC-native"],
)
@pytest.mark.parametrize("size", [1e300, 1e-300, 1e-310, 1.7e308])
def test_extreme_values(model, size, scale):
    curve = Spline(10, scale=scale)
    found, X, y = fit_disk(model, lambda X: X * size, curve=curve)
    assert np.all(np.isfinite(coefs(found)))
    assert np.all(np.isfinite(found.decision_function(X)))
    if scale == "unit":
        assert found.dual_gap_ <= 1e-2
        same, X_unit, _ = fit_disk(model, curve=curve)
        np.testing.assert_allclose(
            found.decision_function(X), same.decision_function(X_unit), atol=1e-2
        )
        assert found.score(X, y) > 0.97


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [1e300, 1e-300, 1e-310, 1.7e308])
def test_extreme_values_with_a_chosen_smoothness(size):
    disk = load_disk()
    X, y = disk.data * size, disk.target
    model = AdditiveClassifier(random_state=0).fit(X, y)
    assert np.all(np.isfinite(coefs(model)))
    same = AdditiveClassifier(random_state=0).fit(disk.data, y)
    assert model.score(X, y) == pytest.approx(same.score(disk.data, y), abs=0.01)
    assert model.score(X, y) > 0.97


@both
def test_one_denormal_step(model):
    X = np.array([[0.0], [5e-324], [0.0], [5e-324]])
    model = clone(model).set_params(C=100.0).fit(X, [0, 1, 0, 1])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 0, 1])


@both
def test_a_tiny_width_far_from_zero(model):
    X = 1e300 * (1 + np.finfo(float).eps * np.arange(8.0))[:, None]
    model = clone(model).set_params(C=100.0).fit(X, np.arange(8) > 3)
    assert model.score(X, np.arange(8) > 3) == 1.0


@both
def test_one_row_per_class(model):
    model = clone(model).set_params(C=100.0).fit([[0.0, 5.0], [1.0, 5.0]], ["a", "b"])
    assert list(model.predict([[0.1, 5.0], [0.9, 5.0]])) == ["a", "b"]


@by_name
def test_all_columns_constant(estimator):
    y = [0, 1, 1, 1, 1, 1]
    model = estimator(random_state=0).fit(np.ones((6, 2)), y)
    np.testing.assert_array_equal(coefs(model), 0.0)
    np.testing.assert_array_equal(model.feature_importances_, 0.0)
    if estimator in CLASSIFIERS:
        assert list(model.predict(np.ones((2, 2)))) == [1, 1]
    if estimator is AdditiveClassifier:
        np.testing.assert_allclose(model.predict_proba([[1, 1]]), [[1 / 6, 5 / 6]])
    if estimator is AdditiveRegressor:
        np.testing.assert_allclose(model.predict([[1, 1]]), 5 / 6)
    if estimator is AdditiveSVC:
        plain = AdditiveSVC(fit_intercept=False, C=1.0).fit(np.ones((6, 2)), y)
        np.testing.assert_array_equal(plain.decision_function(np.ones((2, 2))), 0.0)


def test_a_hundred_thousand_columns():
    random = np.random.default_rng(0)
    X = random.random((40, 100_000), dtype=np.float32)
    y = np.arange(40) % 2
    X[:, 7] = y
    model = AdditiveSVC(Spline(10, knots="uniform"), random_state=0, C=1.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert len(model.terms_) == 100_000
    assert np.ptp(model.terms_[7].coef) > 5 * np.ptp(model.terms_[8].coef)
    assert model.feature_importances_.argmax() == 7


def _read_only_map(X, path):
    np.save(path / "X.npy", X)
    return np.load(path / "X.npy", mmap_mode="r")


@both
@pytest.mark.parametrize("tol", [1e-2, 1e-4])  # coded rows, and rows read as they are
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_does_not_matter(model, tol, dtype, tmp_path):
    X = X_GOOD.astype(dtype)
    X[::13, 4] = np.nan
    model = clone(model).set_params(tol=tol)
    expected = clone(model).fit(X, Y_GOOD)
    padded = np.zeros((240, 60), dtype=dtype)
    padded[::2, ::2] = X
    layouts = {
        "fortran": np.asfortranarray(X),
        "view": padded[::2, ::2],
        "reversed": X[::-1][::-1],
        "memory map": _read_only_map(X, tmp_path),
        "byte order": X.astype(X.dtype.newbyteorder()),
        "masked": np.ma.masked_invalid(X) if dtype == np.float64 else X,
        "list": X.tolist() if dtype == np.float64 else X,
        "frame": pd.DataFrame(X),
    }
    for name, same in layouts.items():
        found = clone(model).fit(same, Y_GOOD)
        np.testing.assert_array_equal(coefs(found), coefs(expected), err_msg=name)
        np.testing.assert_array_equal(
            found.decision_function(same), expected.decision_function(X), err_msg=name
        )


@both
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float16, np.longdouble])
def test_other_numbers(model, dtype):
    X = (X_GOOD[:, :4] > X_GOOD[:, :4].mean(axis=0)).astype(dtype)
    expected = clone(model).fit(X.astype(float), Y_GOOD)
    np.testing.assert_array_equal(coefs(clone(model).fit(X, Y_GOOD)), coefs(expected))


@by_name
def test_input_is_left_alone(estimator):
    X, y, weights = X_GOOD.copy(), Y_GOOD.copy(), np.arange(120.0)
    X[3, 3] = np.nan
    before = X.copy()
    estimator().fit(X, y, weights).predict(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(y, Y_GOOD)
    np.testing.assert_array_equal(weights, np.arange(120.0))
    frame = pd.DataFrame({"x": X[:, 0], "c": pd.Categorical(np.array(["a", "b"])[y])})
    copy = frame.copy()
    estimator(terms={"c": "drop"}).fit(frame, y).predict(frame)
    pd.testing.assert_frame_equal(frame, copy)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, SplineEmbedding])
def test_dates_are_named(estimator):
    frame = pd.DataFrame({"age": X_GOOD[:, 0], "born": pd.Timestamp("2020-01-01")})
    with pytest.raises(ValueError, match=r"hold dates.*: born.*days since"):
        estimator().fit(frame, Y_GOOD)


class OfText(list):
    """Labels in an array whose device cannot be asked for, as in some versions of Arrow."""

    def __dlpack_device__(self):
        raise TypeError("DataType is not compatible with DLPack spec: string")


def test_arrays_that_do_not_know_their_device_are_here():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    expected = AdditiveSVC(random_state=0, C=1.0).fit(X, y)
    found = AdditiveSVC(random_state=0, C=1.0).fit(X, OfText(y))
    assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_names_of_frames_that_scikit_learn_does_not_know(monkeypatch):
    """Older versions ask frames for a protocol that newer frames no longer have."""
    polars = pytest.importorskip("polars")
    random = np.random.default_rng(0)
    X = polars.DataFrame({"a": random.normal(size=60), "b": random.normal(size=60)})
    y = random.integers(0, 2, 60)
    expected = AdditiveSVC(random_state=0, C=1.0).fit(X, y)

    def names_of(frame):  # as scikit-learn 1.7 does
        asked = getattr(frame, "__dataframe__", None)
        return None if asked is None else np.array(list(asked().column_names()), dtype=object)

    monkeypatch.delattr(polars.DataFrame, "__dataframe__", raising=False)
    monkeypatch.setattr("splinear.tables.checks.get_feature_names", names_of)
    monkeypatch.setattr("sklearn.utils.validation._get_feature_names", names_of)
    found = AdditiveSVC(random_state=0, C=1.0).fit(X, y)
    assert found.feature_names_in_.tolist() == ["a", "b"]
    assert_array_equal(found.decision_function(X), expected.decision_function(X))
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(X.rename({"b": "c"}))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_one_column_is_no_table(library):
    column = np.arange(20.0)
    if library == "pyarrow":
        column = pytest.importorskip("pyarrow").chunked_array([column])
    else:
        column = pytest.importorskip(library).Series(column)
    with pytest.raises(ValueError, match=r"one column or row, a .*select a table, for example"):
        AdditiveSVC(C=1.0).fit(column, np.arange(20) % 2)
    model = AdditiveSVC(C=1.0).fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(column)


@pytest.mark.parametrize("kind", ["polars", "dask", "duckdb"])
def test_lazy_frames_are_to_be_collected(kind):
    """The message names a method that the frame has."""
    frame = pd.DataFrame(X_GOOD[:, :3], columns=["a", "b", "c"])
    if kind == "polars":
        X, how = pytest.importorskip("polars").from_pandas(frame).lazy(), "collect"
    elif kind == "dask":
        X, how = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=1), "compute"
    else:
        X, how = pytest.importorskip("duckdb").from_df(frame), "arrow"
    assert callable(getattr(X, how))
    with pytest.raises(TypeError, match=rf"no rows yet; use X\.{how}\(\)"):
        AdditiveClassifier().fit(X, Y_GOOD)
