"""More than two classes, and several labels a row."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.datasets import load_digits, load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier
from splinear.losses import LOSSES
from splinear.objective import primal

MODELS = {
    "hinge": {},
    "squared hinge": {"loss": "squared_hinge", "tol": 1e-4},
    "squared hinge by newton": {"loss": "squared_hinge", "solver": "newton"},
    "logistic": {"loss": "logistic", "multi_class": "ovr", "tol": 1e-4},
    "logistic by dual_cd": {"loss": "logistic", "solver": "dual_cd"},
}
SOFTMAX = {"loss": "logistic", "multi_class": "softmax"}

every_model = pytest.mark.parametrize("params", MODELS.values(), ids=MODELS)


def make(**params):
    return AdditiveClassifier(random_state=0, **params)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600, ::2], y[:600]


@pytest.fixture(scope="module")
def tags():
    return make_multilabel_classification(200, 6, n_classes=4, allow_unlabeled=True, random_state=0)


@every_model
def test_one_vs_rest_is_a_binary_fit_a_class(params, digits):
    X, y = digits
    model = make(**params).fit(X, y)
    assert model.coef_.shape == (10, 32, 11)
    scores = model.decision_function(X)
    binaries = [make(**params).fit(X, y == label) for label in model.classes_]
    for k, binary in enumerate(binaries):
        np.testing.assert_array_equal(model.coef_[k], binary.coef_[0])
        assert model.intercept_[k] == binary.intercept_[0]
        np.testing.assert_array_equal(scores[:, k], binary.decision_function(X))
    assert model.n_iter_ == max(binary.n_iter_ for binary in binaries)
    assert model.dual_gap_ == max(binary.dual_gap_ for binary in binaries)
    assert model.objective_ == pytest.approx(sum(binary.objective_ for binary in binaries))


@every_model
def test_threads_change_no_bit(params, digits):
    one, three = (make(**params, n_jobs=n).fit(*digits) for n in (1, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(
        one.decision_function(digits[0]), three.decision_function(digits[0])
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_threads_change_no_bit_of_one_output(loss, iris):
    X, y = iris[0], iris[1] == 1
    one, two = (make(loss=loss, n_jobs=n, tol=1e-5).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("n_classes", [2, 3, 17, 105])
@pytest.mark.parametrize("params", [{}, {"loss": "logistic"}], ids=str)
def test_numbers_of_classes(n_classes, params):
    random = np.random.default_rng(0)
    y = np.arange(n_classes * 4) % n_classes
    X = np.column_stack([y // 11, y % 11]) + random.normal(scale=0.05, size=(len(y), 2))
    model = make(C=100.0, degree=0, penalty_order=0, n_bins=20, n_jobs=2, **params).fit(X, y)
    n_outputs = 1 if n_classes == 2 else n_classes
    assert model.coef_.shape == (n_outputs, 2, 20)
    assert model.score(X, y) > 0.95
    assert model.predict_proba(X).shape == (len(y), n_classes)


@every_model
def test_labels_of_text(params, iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    named, numbered = make(**params).fit(X, names[y]), make(**params).fit(X, y)
    assert list(named.classes_) == list(names)
    np.testing.assert_array_equal(named.predict(X), names[numbered.predict(X)])


@pytest.mark.parametrize("params", [*MODELS.values(), SOFTMAX], ids=[*MODELS, "softmax"])
def test_probabilities_sum_to_one(params, digits):
    X, y = digits
    model = make(**params).fit(X, y)
    p = model.predict_proba(X)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    scores = model.decision_function(X)
    if params is SOFTMAX:
        expected = softmax(scores, axis=1)
    else:
        expected = expit(scores) / expit(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, expected)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(expected))


def test_scores_so_low_that_every_probability_vanishes(iris):
    X, y = iris
    model = make().fit(X, y)
    model.intercept_ = np.full(3, -1e4)
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3)


@pytest.mark.parametrize("params", [*MODELS.values(), SOFTMAX], ids=[*MODELS, "softmax"])
def test_weights_are_repeats(params, iris):
    X, y = iris
    repeats = np.random.default_rng(0).integers(0, 4, len(y))
    tight = {**params, "tol": 1e-10, "max_iter": 100_000, "n_bins": 4}
    weighted = make(**tight).fit(X, y, sample_weight=repeats)
    repeated = make(**tight).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)


@pytest.mark.parametrize("params", [*MODELS.values(), SOFTMAX], ids=[*MODELS, "softmax"])
@pytest.mark.parametrize("class_weight", [{0: 2, 1: 1, 2: 3}, "balanced"], ids=str)
def test_class_weights_are_row_weights(params, class_weight, iris):
    X, y = iris[0][20:], iris[1][20:]  # 30, 50 and 50 rows
    tight = {**params, "tol": 1e-10, "max_iter": 100_000, "n_bins": 4}
    found = make(**tight, class_weight=class_weight).fit(X, y)
    by_class = len(y) / (3 * np.bincount(y)) if class_weight == "balanced" else np.array([2, 1, 3])
    by_hand = make(**tight).fit(X, y, sample_weight=by_class[y])
    assert found.objective_ == pytest.approx(by_hand.objective_, rel=1e-8)


def test_class_weights_of_two_classes_are_row_weights(iris):
    X, y = iris[0][20:], iris[1][20:] > 0
    tight = {"tol": 1e-10, "max_iter": 100_000, "loss": "logistic"}
    found = make(**tight, class_weight={False: 3, True: 2}).fit(X, y)
    by_hand = make(**tight).fit(X, y, sample_weight=np.where(y, 2, 3))
    assert found.objective_ == pytest.approx(by_hand.objective_, rel=1e-8)


@pytest.mark.parametrize("penalty_order", [0, 1])
def test_softmax_is_the_multinomial_model_of_scikit_learn(penalty_order, digits):
    X, y = digits[0][:300, :20], digits[1][:300]
    model = make(**SOFTMAX, penalty_order=penalty_order, tol=1e-8, C=0.1).fit(X, y)
    phi = np.column_stack([model.embedding_.transform(X), np.ones(len(X))])
    with threadpool_limits(1, user_api="blas"):  # so small that threads would only wait
        other = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-7, max_iter=10_000)
        other.fit(phi, y)
    log_p = other.predict_log_proba(phi)[np.arange(len(y)), y]
    value = 0.5 * np.sum(other.coef_**2) - 0.1 * log_p.sum()
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(phi), atol=1e-3)


def test_softmax_has_the_better_likelihood(digits):
    """It minimises just that, while one-vs-rest fits every class by itself."""
    X, y = digits
    rows = np.arange(len(y))
    together = make(**SOFTMAX, C=100.0).fit(X, y)
    apart = make(loss="logistic", multi_class="ovr", C=100.0).fit(X, y)
    likelihoods = [np.log(m.predict_proba(X)[rows, y]).sum() for m in (together, apart)]
    assert likelihoods[0] > likelihoods[1]
    assert together.predict(X).tolist() == y.tolist()


def test_auto_is_softmax_for_logistic_by_newton(iris):
    X, y = iris
    auto = make(loss="logistic").fit(X, y)
    np.testing.assert_array_equal(auto.coef_, make(**SOFTMAX).fit(X, y).coef_)
    by_dual_cd = {"loss": "logistic", "solver": "dual_cd"}
    np.testing.assert_array_equal(
        make(**by_dual_cd).fit(X, y).coef_, make(**by_dual_cd, multi_class="ovr").fit(X, y).coef_
    )


def test_softmax_of_two_classes_is_the_logistic_model(iris):
    X, y = iris[0][:100], iris[1][:100]
    one, two = make(**SOFTMAX).fit(X, y), make(loss="logistic").fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize(
    "params", [{"loss": "hinge"}, {"loss": "logistic", "solver": "dual_cd"}], ids=str
)
def test_softmax_needs_newton_and_the_logistic_loss(params, iris):
    with pytest.raises(ValueError, match=r"multi_class='softmax' needs loss='logistic' and solver"):
        make(multi_class="softmax", **params).fit(*iris)


def test_newton_needs_a_smooth_loss(iris):
    with pytest.raises(ValueError, match=r"solver='newton' needs a smooth loss; loss='hinge'"):
        make(solver="newton").fit(*iris)


@every_model
def test_multilabel_is_a_binary_fit_a_column(params, tags):
    X, Y = tags
    model = make(**params).fit(X, Y)
    assert list(model.classes_) == [0, 1, 2, 3]
    scores, p = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == p.shape == Y.shape
    for k in range(4):
        binary = make(**params).fit(X, Y[:, k])
        np.testing.assert_array_equal(model.coef_[k], binary.coef_[0])
        np.testing.assert_array_equal(model.predict(X)[:, k], binary.predict(X))
        np.testing.assert_allclose(p[:, k], binary.predict_proba(X)[:, 1])


@pytest.mark.parametrize("class_weight", [{0: 1, 1: 3}, "balanced"], ids=str)
def test_class_weights_of_multilabel(class_weight, tags):
    X, Y = tags
    model = make(class_weight=class_weight).fit(X, Y)
    for k in range(4):
        binary = make(class_weight=class_weight).fit(X, Y[:, k])
        np.testing.assert_array_equal(model.coef_[k], binary.coef_[0])


def test_multilabel_from_lists_and_sparse_matrices(tags):
    X, Y = tags
    model = make().fit(X, Y)
    for other in (Y.tolist(), Y.astype(bool), sparse.csr_array(Y)):
        np.testing.assert_array_equal(make().fit(X, other).coef_, model.coef_)


def test_a_label_that_no_row_has(tags):
    X, Y = tags
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int)])
    model = make().fit(X, Y)
    assert not model.predict(X)[:, 4].any()


def test_softmax_is_not_for_several_labels(tags):
    with pytest.raises(ValueError, match="softmax' is for one class a row; y holds several"):
        make(**SOFTMAX).fit(*tags)


def test_other_targets_are_refused(iris):
    X, y = iris
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        make().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"multiclass-multioutput"):
        make().fit(X, np.column_stack([y, y[::-1]]))


def test_a_class_that_only_rows_without_weight_have(iris):
    X, y = iris
    model = make().fit(X, y, sample_weight=(y != 1).astype(float))
    assert list(model.classes_) == [0, 2]
    expected = make().fit(X[y != 1], y[y != 1])
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@every_model
def test_the_objective_is_the_sum_over_classes(params, iris):
    X, y = iris
    model = make(**{**params, "tol": 1e-5, "max_iter": 50_000}).fit(X, y)
    loss = LOSSES[model.loss]
    total = sum(
        primal(model.embedding_, loss, coef, b, X, np.where(y == label, 1, -1), 1.0)
        for label, coef, b in zip(model.classes_, model.coef_, model.intercept_, strict=True)
    )
    assert model.objective_ == pytest.approx(total, rel=1e-9)


def test_verbose_names_the_class(iris, capsys):
    X, y = iris
    make(verbose=1).fit(X, np.array(["a", "b", "c"])[y])
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[1] for line in lines} == {"a", "b", "c"}
