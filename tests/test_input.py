"""What users get wrong, and input that is odd but right."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from splinear import AdditiveClassifier, AdditiveRegressor, SplineEmbedding
from splinear.datasets import load_disk

X_GOOD, Y_GOOD = load_breast_cancer(return_X_y=True)
X_GOOD, Y_GOOD = X_GOOD[:120], Y_GOOD[:120]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_bins": 0}, "'n_bins' parameter .* Got 0"),
        ({"n_bins": 2.5}, "'n_bins' parameter"),
        ({"n_bins": 40_000}, r"'n_bins' parameter .* \[1, 32768\]"),
        ({"C": -1.0}, "'C' parameter .* Got -1.0"),
        ({"C": 0}, "'C' parameter"),
        ({"tol": -1e-3}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"basis": "wavelet"}, "'basis' parameter .* Got 'wavelet'"),
        ({"loss": "l1"}, "'loss' parameter"),
        ({"knots": "random"}, "'knots' parameter"),
        ({"scale": "log"}, "'scale' parameter"),
        ({"solver": "sgd"}, "'solver' parameter"),
        ({"degree": 4}, "degree must be 0, 1, 2 or 3 for basis='bspline'; got 4"),
        ({"degree": -1}, "'degree' parameter"),
        ({"basis": "fourier", "degree": 0}, "degree must be at least 1"),
        ({"basis": "fourier", "penalty_order": 0}, "penalty_order must be 1 or 2 .* got 0"),
        ({"basis": "hermite", "penalty_order": 3}, "penalty_order must be 1 or 2 .* got 3"),
        ({"penalty_order": -1}, "'penalty_order' parameter"),
        ({"scale": "standard"}, "scale='standard' is for basis='hermite' only"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling' parameter"),
        ({"class_weight": "even"}, "'class_weight' parameter"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        AdditiveClassifier(**params).fit(X_GOOD, Y_GOOD)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_not_finite_names_the_column_and_row(value, word):
    X = pd.DataFrame(X_GOOD[:, :3].copy(), columns=["age", "dose", "height"])
    good = AdditiveClassifier(random_state=0).fit(X, Y_GOOD)
    X.loc[17, "dose"] = value
    with pytest.raises(ValueError, match=rf"{word}.* in column 'dose' \(first in row 17\)"):
        AdditiveClassifier().fit(X, Y_GOOD)
    with pytest.raises(ValueError, match=rf"{word}.* in column 'dose'"):
        good.predict(X)
    with pytest.raises(ValueError, match=rf"{word}.* in column 1 "):
        AdditiveClassifier().fit(X.to_numpy(), Y_GOOD)


def test_text_names_the_columns():
    X = pd.DataFrame({"size": [1.0, 2, 3, 4], "colour": pd.Categorical(["r", "g", "r", "b"])})
    with pytest.raises(ValueError, match="colour"):
        SplineEmbedding().fit(X)
    numbers = AdditiveClassifier(random_state=0).fit(X.assign(colour=1.0), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="these columns hold text or categories: colour"):
        numbers.predict(X)
    with pytest.raises(ValueError, match=r"could not convert|strings"):
        AdditiveClassifier().fit([["a"], ["b"]], [0, 1])


def test_one_class_only():
    with pytest.raises(ValueError, match="only one class"):
        AdditiveClassifier().fit(X_GOOD, np.ones(len(X_GOOD)))


def test_numbers_are_no_classes():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        AdditiveClassifier().fit(X_GOOD, X_GOOD[:, 0])


def test_y_of_other_length():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[120, 119\]"):
        AdditiveClassifier().fit(X_GOOD, Y_GOOD[:-1])


def test_other_number_of_columns_at_predict():
    model = AdditiveClassifier(random_state=0).fit(X_GOOD, Y_GOOD)
    with pytest.raises(
        ValueError, match=r"X has 29 features, but AdditiveClassifier is expecting 30"
    ):
        model.predict(X_GOOD[:, :29])


@pytest.mark.parametrize("shape", [(120,), (3, 40, 1)])
def test_wrong_dimensions(shape):
    with pytest.raises(ValueError, match=r"Expected 2D array|dim"):
        AdditiveClassifier().fit(np.zeros(shape), Y_GOOD[: shape[0]])


def test_complex_is_refused():
    with pytest.raises(ValueError, match="Complex"):
        AdditiveClassifier().fit(X_GOOD + 1j, Y_GOOD)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        AdditiveClassifier().fit(X_GOOD, Y_GOOD, sample_weight=-np.ones(120))


def fit_disk(transform=lambda X: X, **params):
    disk = load_disk()
    X = transform(disk.data)
    return AdditiveClassifier(random_state=0, C=10.0, **params).fit(X, disk.target), X, disk.target


# In units this large the curves are all but free of penalty, and a fit need not end at its optimum.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", ["unit", "native"])
@pytest.mark.parametrize("size", [1e300, 1e-300, 1e-310, 1.7e308])
def test_extreme_values(size, scale):
    model, X, y = fit_disk(lambda X: X * size, scale=scale)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.decision_function(X)))
    if scale == "unit":
        assert model.dual_gap_ <= 1e-2
        same, X_unit, _ = fit_disk()
        np.testing.assert_allclose(
            model.decision_function(X), same.decision_function(X_unit), atol=1e-2
        )
        assert model.score(X, y) > 0.97


def test_one_denormal_step():
    X = np.array([[0.0], [5e-324], [0.0], [5e-324]])
    model = AdditiveClassifier(C=100.0, random_state=0).fit(X, [0, 1, 0, 1])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 0, 1])


def test_a_tiny_width_far_from_zero():
    X = 1e300 * (1 + np.finfo(float).eps * np.arange(8.0))[:, None]
    model = AdditiveClassifier(C=100.0, random_state=0).fit(X, np.arange(8) > 3)
    assert model.score(X, np.arange(8) > 3) == 1.0


def test_one_row_per_class():
    model = AdditiveClassifier(C=100.0, random_state=0).fit([[0.0, 5.0], [1.0, 5.0]], ["a", "b"])
    assert list(model.predict([[0.1, 5.0], [0.9, 5.0]])) == ["a", "b"]


def test_all_columns_constant():
    model = AdditiveClassifier(random_state=0).fit(np.ones((6, 2)), [0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert list(model.predict(np.ones((2, 2)))) == [1, 1]
    plain = AdditiveClassifier(fit_intercept=False).fit(np.ones((6, 2)), [0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(plain.decision_function(np.ones((2, 2))), 0.0)


def test_a_hundred_thousand_columns():
    random = np.random.default_rng(0)
    X = random.random((40, 100_000), dtype=np.float32)
    y = np.arange(40) % 2
    X[:, 7] = y
    model = AdditiveClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.ptp(model.coef_[0, 7]) > 5 * np.ptp(model.coef_[0, 8])


def _read_only_map(X, path):
    np.save(path / "X.npy", X)
    return np.load(path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("tol", [1e-2, 1e-4])  # coded rows, and rows read as they are
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_does_not_matter(tol, dtype, tmp_path):
    X = X_GOOD.astype(dtype)
    expected = AdditiveClassifier(tol=tol, random_state=0).fit(X, Y_GOOD)
    padded = np.zeros((240, 60), dtype=dtype)
    padded[::2, ::2] = X
    layouts = {
        "fortran": np.asfortranarray(X),
        "view": padded[::2, ::2],
        "reversed": X[::-1][::-1],
        "memory map": _read_only_map(X, tmp_path),
        "byte order": X.astype(X.dtype.newbyteorder()),
        "list": X.tolist() if dtype == np.float64 else X,
    }
    for name, same in layouts.items():
        model = AdditiveClassifier(tol=tol, random_state=0).fit(same, Y_GOOD)
        np.testing.assert_array_equal(model.coef_, expected.coef_, err_msg=name)
        np.testing.assert_array_equal(
            model.decision_function(same), expected.decision_function(X), err_msg=name
        )


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float16, np.longdouble])
def test_other_numbers(dtype):
    X = (X_GOOD[:, :4] > X_GOOD[:, :4].mean(axis=0)).astype(dtype)
    expected = AdditiveClassifier(random_state=0).fit(X.astype(float), Y_GOOD)
    model = AdditiveClassifier(random_state=0).fit(X, Y_GOOD)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_input_is_left_alone():
    X, y = X_GOOD.copy(), Y_GOOD.copy()
    AdditiveClassifier().fit(X, y).predict(X)
    np.testing.assert_array_equal(X, X_GOOD)
    np.testing.assert_array_equal(y, Y_GOOD)


@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor, SplineEmbedding])
def test_dates_are_named(estimator):
    frame = pd.DataFrame({"age": X_GOOD[:, 0], "born": pd.Timestamp("2020-01-01")})
    with pytest.raises(ValueError, match=r"dates or times: born.*days since"):
        estimator().fit(frame, Y_GOOD)
