"""More than two classes, and several labels per row."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits
from written_out import explicit, primal, scores

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.terms import Spline
from tests.reference.losses import LOSSES

RIVALS = {  # one class against the rest
    "hinge": AdditiveSVC(C=1.0, random_state=0),
    "squared hinge": AdditiveSVC(loss="squared_hinge", tol=1e-4, C=1.0, random_state=0),
}
SOFTMAX = AdditiveClassifier(C=1.0, random_state=0)
CHOSEN = AdditiveClassifier(random_state=0)

one_vs_rest = pytest.mark.parametrize("model", RIVALS.values(), ids=RIVALS)
every_model = pytest.mark.parametrize(
    "model", [*RIVALS.values(), SOFTMAX, CHOSEN], ids=[*RIVALS, "softmax", "softmax chosen"]
)
with_fixed_strength = pytest.mark.parametrize(
    "model", [*RIVALS.values(), SOFTMAX], ids=[*RIVALS, "softmax"]
)


def test_classes_share_one_array(digits):
    """The parameters of a hundred classes of many columns should not be in memory twice."""
    X, y = digits
    model = AdditiveSVC(C=1.0, random_state=0, n_jobs=2).fit(X[:300], y[:300])
    parameters = model._model.parameters
    assert parameters.shape[0] == 10
    assert parameters.base is None
    alone = AdditiveSVC(C=1.0, random_state=0).fit(X[:300], y[:300] == 4)
    np.testing.assert_array_equal(parameters[4], alone._model.parameters[0])


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


def parameters(model):
    return model._model.parameters


def assert_same_bits(one, other):
    for a, b in zip(one.terms_, other.terms_, strict=True):
        np.testing.assert_array_equal(a.coef, b.coef)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


@one_vs_rest
def test_one_vs_rest_is_a_binary_fit_per_class(model, digits):
    X, y = digits
    model = clone(model).fit(X, y)
    assert all(term.coef.shape[0] == 10 for term in model.terms_)
    found = model.decision_function(X)
    binaries = [clone(model).fit(X, y == label) for label in model.classes_]
    for k, binary in enumerate(binaries):
        np.testing.assert_array_equal(parameters(model)[k], parameters(binary)[0])
        assert model.intercept_[k] == binary.intercept_[0]
        np.testing.assert_array_equal(found[:, k], binary.decision_function(X))
    assert model.n_iter_ == max(binary.n_iter_ for binary in binaries)
    assert model.dual_gap_ == max(binary.dual_gap_ for binary in binaries)
    assert model.objective_ == pytest.approx(sum(binary.objective_ for binary in binaries))
    np.testing.assert_allclose(
        model.feature_importances_,
        np.mean([binary.feature_importances_ for binary in binaries], axis=0),
    )


@every_model
def test_threads_change_no_bit(model, digits):
    X, y = digits[0][:, ::3], digits[1]
    one, three = (clone(model).set_params(n_jobs=n).fit(X, y) for n in (1, 3))
    assert_same_bits(one, three)
    np.testing.assert_array_equal(one.decision_function(X), three.decision_function(X))


@every_model
def test_threads_change_no_bit_of_one_output(model, iris):
    X, y = iris[0], iris[1] == 1
    assert_same_bits(*(clone(model).set_params(n_jobs=n, tol=1e-5).fit(X, y) for n in (1, 2)))


@pytest.mark.parametrize("n_classes", [2, 3, 17, 105])
@pytest.mark.parametrize("model", [AdditiveSVC(C=100.0), AdditiveClassifier(C=100.0)], ids=repr)
def test_numbers_of_classes(n_classes, model):
    random = np.random.default_rng(0)
    y = np.arange(n_classes * 4) % n_classes
    X = np.column_stack([y // 11, y % 11]) + random.normal(scale=0.05, size=(len(y), 2))
    curve = Spline(20, degree=0, penalty_order=0, knots="uniform")
    model = clone(model).set_params(curve=curve, n_jobs=2, random_state=0).fit(X, y)
    n_outputs = 1 if n_classes == 2 else n_classes
    assert [term.coef.shape for term in model.terms_] == [(n_outputs, 20)] * 2
    assert model.score(X, y) > 0.95
    assert model.decision_function(X).shape == ((len(y), n_classes) if n_outputs > 1 else (len(y),))
    if isinstance(model, AdditiveClassifier):
        assert model.predict_proba(X).shape == (len(y), n_classes)


@every_model
def test_labels_of_text(model, iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    named, numbered = clone(model).fit(X, names[y]), clone(model).fit(X, y)
    assert list(named.classes_) == list(names)
    np.testing.assert_array_equal(named.predict(X), names[numbered.predict(X)])


@pytest.mark.parametrize("model", [SOFTMAX, CHOSEN], ids=["fixed", "chosen"])
def test_probabilities_sum_to_one(model, digits):
    X, y = digits[0][:, ::3], digits[1]
    model = clone(model).fit(X, y)
    p = model.predict_proba(X)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    expected = softmax(model.decision_function(X), axis=1)
    np.testing.assert_allclose(p, expected)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(expected))


def test_free_intercepts_give_the_shares_of_the_classes(iris):
    """The derivative by each class's intercept is zero: probabilities have the labels' means."""
    X, y = iris[0][20:], iris[1][20:]
    for model in (SOFTMAX, CHOSEN):
        # Other intercepts would gain the square of what shares differ by, which tol bounds: the
        # sums of 130 rows are right to sqrt(2 tol P n / 4), with P near 60.
        model = clone(model).set_params(tol=1e-13).fit(X, y)
        shares = np.bincount(y) / len(y)
        np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), shares, atol=1e-6)


@with_fixed_strength
def test_weights_are_repeats(model, iris):
    X, y = iris
    repeats = np.random.default_rng(0).integers(0, 4, len(y))
    tight = clone(model).set_params(curve=Spline(4), tol=1e-10, max_iter=100_000)
    weighted = clone(tight).fit(X, y, sample_weight=repeats)
    repeated = clone(tight).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)


@every_model
@pytest.mark.parametrize("class_weight", [{0: 2, 1: 1, 2: 3}, "balanced"], ids=str)
def test_class_weights_are_row_weights(model, class_weight, iris):
    X, y = iris[0][20:], iris[1][20:]  # 30, 50 and 50 rows
    # Weights of rows count for quantiles, weights of classes do not.
    curve = Spline(4, knots="uniform")
    tight = clone(model).set_params(curve=curve, tol=1e-10, max_iter=100_000)
    found = clone(tight).set_params(class_weight=class_weight).fit(X, y)
    by_class = len(y) / (3 * np.bincount(y)) if class_weight == "balanced" else np.array([2, 1, 3])
    by_hand = clone(tight).fit(X, y, sample_weight=by_class[y])
    assert found.objective_ == pytest.approx(by_hand.objective_, rel=1e-7)


@every_model
def test_class_weights_of_two_classes_are_row_weights(model, iris):
    X, y = iris[0][20:], iris[1][20:] == 1
    curve = Spline(4, knots="uniform")
    tight = clone(model).set_params(curve=curve, tol=1e-8, max_iter=100_000)
    found = clone(tight).set_params(class_weight={False: 3, True: 2}).fit(X, y)
    by_hand = clone(tight).fit(X, y, sample_weight=np.where(y, 2, 3))
    assert found.objective_ == pytest.approx(by_hand.objective_, rel=1e-7)


@pytest.mark.parametrize(
    "class_weight", [{False: 1, True: 5}, {False: 1, True: 20}, "balanced"], ids=str
)
def test_a_rare_class_that_weighs_much_is_not_taken_for_many_rows(class_weight):
    """Its few rows would have curves that follow each of them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40_000, 4))
    y = random.random(40_000) < expit(-4 + 1.2 * X[:, 0] - np.abs(X[:, 1]))
    train, test = slice(0, 20_000), slice(20_000, None)
    plain = clone(CHOSEN).fit(X[train], y[train])
    weighted = clone(CHOSEN).set_params(class_weight=class_weight).fit(X[train], y[train])
    areas = [roc_auc_score(y[test], m.decision_function(X[test])) for m in (plain, weighted)]
    assert areas[1] > areas[0] - 0.005
    assert sum(term.edf for term in weighted.terms_) < 2.5 * sum(term.edf for term in plain.terms_)
    unit = clone(CHOSEN).set_params(class_weight={False: 7, True: 7}).fit(X[train], y[train])
    np.testing.assert_allclose(unit.decision_function(X), plain.decision_function(X), atol=1e-4)


def test_more_rows_of_many_classes_are_no_worse():
    """There are 22 rows per term, but two per curve; see solvers.reml.choosing."""
    X, y = load_digits(return_X_y=True)
    few, many, test = slice(0, 1000), slice(0, 1400), slice(1400, None)
    losses = [
        log_loss(y[test], clone(CHOSEN).fit(X[rows], y[rows]).predict_proba(X[test]))
        for rows in (few, many)
    ]
    linear = LogisticRegression(max_iter=1000).fit(X[many] / 16, y[many])
    assert losses[1] < losses[0]
    assert losses[1] < log_loss(y[test], linear.predict_proba(X[test] / 16))


def test_counts_of_rows_are_repeats_whatever_their_classes_weigh(iris):
    X, y = iris
    repeats = np.random.default_rng(0).integers(0, 2, len(y)) + 3 * (y == 1)
    curve = Spline(4, knots="uniform")
    model = clone(CHOSEN).set_params(curve=curve, tol=1e-10, class_weight={0: 1, 1: 5, 2: 2})
    weighted = clone(model).fit(X, y, counts=repeats)
    again = np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    repeated = clone(model).fit(*again, counts=np.ones(repeats.sum()))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-3)


@pytest.mark.parametrize("penalty_order", [0, 1])
def test_softmax_is_the_multinomial_model_of_scikit_learn(penalty_order, digits):
    X, y = digits[0][:300, :20], digits[1][:300]
    curve = Spline(5, penalty_order=penalty_order)
    model = clone(SOFTMAX).set_params(curve=curve, tol=1e-8, C=0.1).fit(X, y)
    phi = explicit(model._model.layout.scaled(10.0), X)
    with threadpool_limits(1, user_api="blas"):  # so small that threads would only wait
        other = LogisticRegression(C=0.1, tol=1e-7, max_iter=10_000).fit(phi, y)
    log_p = other.predict_log_proba(phi)[np.arange(len(y)), y]
    value = 0.5 * np.sum(other.coef_**2) / 0.1 - log_p.sum()
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(phi), atol=1e-3)


def test_softmax_has_the_better_likelihood(digits):
    """It minimizes just that, while one-vs-rest fits every class by itself."""
    X, y = digits
    rows = np.arange(len(y))
    together = clone(SOFTMAX).set_params(C=100.0).fit(X, y)
    apart = np.column_stack(
        [clone(together).fit(X, y == label).predict_proba(X)[:, 1] for label in range(10)]
    )
    apart /= apart.sum(axis=1, keepdims=True)
    assert np.log(together.predict_proba(X)[rows, y]).sum() > np.log(apart[rows, y]).sum()
    assert together.predict(X).tolist() == y.tolist()


def test_classes_share_their_smoothness(iris):
    X, y = iris
    model = clone(CHOSEN).fit(X, y)
    for term in model.terms_:
        assert term.coef.shape[0] == 3
        assert isinstance(term.smoothness, float)
        assert 0 < term.edf < term.coef.size


@with_fixed_strength
def test_multilabel_is_a_binary_fit_per_column(model, tags):
    X, Y = tags
    model = clone(model).fit(X, Y)
    assert list(model.classes_) == [0, 1, 2, 3]
    found = model.decision_function(X)
    assert found.shape == Y.shape
    for k in range(4):
        binary = clone(model).fit(X, Y[:, k])
        np.testing.assert_array_equal(parameters(model)[k], parameters(binary)[0])
        np.testing.assert_array_equal(found[:, k], binary.decision_function(X))
        np.testing.assert_array_equal(model.predict(X)[:, k], binary.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X), expit(found))


def test_multilabel_with_a_chosen_smoothness(tags):
    X, Y = tags
    model = clone(CHOSEN).set_params(tol=1e-8).fit(X, Y)
    assert model.predict_proba(X).shape == Y.shape
    assert np.mean(model.predict(X) == Y) > 0.75
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), Y.mean(axis=0), atol=1e-3)


@with_fixed_strength
@pytest.mark.parametrize("class_weight", [{0: 1, 1: 3}, "balanced"], ids=str)
def test_class_weights_of_multilabel(model, class_weight, tags):
    X, Y = tags
    model = clone(model).set_params(class_weight=class_weight).fit(X, Y)
    for k in range(4):
        binary = clone(model).fit(X, Y[:, k])
        np.testing.assert_array_equal(parameters(model)[k], parameters(binary)[0])


@pytest.mark.parametrize("values", [(1, 2), (-1, 1), (0, 2)])
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, sparse.csr_array])
@every_model
def test_indicators_hold_0_and_1(model, values, form, tags):
    X, Y = tags
    Y = np.where(Y, values[1], values[0])
    with pytest.raises(ValueError, match=r"(?i)an indicator matrix of"):
        clone(model).fit(X, form(Y))


@with_fixed_strength
def test_multilabel_from_lists_and_sparse_matrices(model, tags):
    X, Y = tags
    expected = clone(model).fit(X, Y)
    for other in (Y.tolist(), Y.astype(bool), sparse.csr_array(Y)):
        assert_same_bits(clone(model).fit(X, other), expected)


@with_fixed_strength
def test_a_label_that_no_row_has(model, tags):
    X, Y = tags
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int)])
    model = clone(model).fit(X, Y)
    assert not model.predict(X)[:, 4].any()
    assert np.isfinite(model.decision_function(X)).all()


@every_model
def test_other_targets_are_refused(model, iris):
    X, y = iris
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        clone(model).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"y has 2 columns"):
        clone(model).fit(X, np.column_stack([y, y[::-1]]))


@every_model
def test_a_class_that_only_rows_without_weight_have(model, iris):
    X, y = iris
    found = clone(model).fit(X, y, sample_weight=(y != 1).astype(float))
    assert list(found.classes_) == [0, 2]
    expected = clone(model).fit(X[y != 1], y[y != 1])
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@one_vs_rest
def test_the_objective_is_the_sum_over_classes(model, iris):
    X, y = iris
    model = clone(model).set_params(tol=1e-5, max_iter=50_000).fit(X, y)
    loss, layout = LOSSES[model.loss], model._model.layout
    total = sum(
        primal(layout, loss, theta, b, X, np.where(y == label, 1, -1), 1.0)
        for label, theta, b in zip(model.classes_, parameters(model), model.intercept_, strict=True)
    )
    assert model.objective_ == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("model", [SOFTMAX, CHOSEN], ids=["fixed", "chosen"])
def test_the_objective_of_softmax(model, iris):
    X, y = iris
    model = clone(model).set_params(tol=1e-5).fit(X, y)
    layout = model._model.layout
    F = np.stack(
        [
            scores(layout, theta, b, X)
            for theta, b in zip(parameters(model), model.intercept_, strict=True)
        ]
    )
    losses = np.logaddexp.reduce(F, axis=0) - F[y, np.arange(len(y))]
    penalty = sum(layout.penalty_value(theta) for theta in parameters(model))
    assert model.objective_ == pytest.approx(losses.sum() + penalty, rel=1e-9)


@one_vs_rest
def test_verbose_names_the_class(model, iris, capsys):
    X, y = iris
    clone(model).set_params(verbose=2).fit(X, np.array(["a", "b", "c"])[y])
    *lines, _ = capsys.readouterr().err.splitlines()
    assert {line.split()[1] for line in lines} == {"a", "b", "c"}
