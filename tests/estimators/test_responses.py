"""What losses make of y: numbers and problems for solvers, and of scores: predictions."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_sample_weight

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR, PathSearchCV
from splinear.estimators.reading import Given
from splinear.estimators.search import Setting
from splinear.losses import EpsilonInsensitive, Hinge, Logistic, Softmax, SquaredError
from splinear.losses.survey import Survey
from splinear.objective.problem import Result, Start
from splinear.objective.training_set import Response, TrainingSet

N = 60
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
TWO = np.array(["no", "yes"])[(X[:, 0] > 0.4).astype(int)]
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.8, 0.9])]
LABELS = (RANDOM.random((N, 3)) < [0.2, 0.5, 0.7]).astype(int)
NUMBERS = 40.0 + 3.0 * X[:, 1]
WEIGHTS = RANDOM.integers(0, 3, N).astype(float)  # rows of weight 0 among them

TARGETS = {"two classes": TWO, "three classes": THREE, "labels": LABELS, "numbers": NUMBERS}
DUAL = {
    "classes": AdditiveSVC(random_state=0, C=1.0),
    "numbers": AdditiveSVR(random_state=0, C=1.0),
}
NEWTON = {"classes": AdditiveClassifier(C=1.0), "numbers": AdditiveRegressor(C=1.0)}


def training_set(y, weights=None, *, dual=False, **params):
    kinds = DUAL if dual else NEWTON
    model = clone(kinds["numbers" if y is NUMBERS else "classes"]).set_params(**params)
    return Setting.prepare(model, Given(X, y, weights)).training_set


def per_row(data, values):
    """Bring values in the order of training back into that of X."""
    return data.rows.restore(np.asarray(values))


# -- what kind they are ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "loss", "kind", "task", "n_outputs", "n_scores", "names"),
    [
        (TWO, Logistic(), Logistic, "binary", 1, 1, [None]),
        (TWO, Hinge(), Hinge, "binary", 1, 1, [None]),
        (THREE, Logistic(), Softmax, "multiclass", 3, 3, ["a", "b", "c"]),
        (THREE, Hinge(), Hinge, "multiclass", 3, 1, ["a", "b", "c"]),
        (LABELS, Logistic(), Logistic, "multilabel", 3, 1, [0, 1, 2]),
        (LABELS, Hinge(), Hinge, "multilabel", 3, 1, [0, 1, 2]),
        (sparse.csr_array(LABELS), Hinge(), Hinge, "multilabel", 3, 1, [0, 1, 2]),
    ],
    ids=str,
)
def test_y_decides_the_kind(y, loss, kind, task, n_outputs, n_scores, names):
    read, _ = loss.read(y)
    assert type(read) is kind
    assert (read.task, read.n_outputs, read.n_scores) == (task, n_outputs, n_scores)
    assert read.n_problems == n_outputs // n_scores
    assert [read.label(k) for k in range(n_outputs)] == names


def test_numbers_have_one_output():
    loss, y = SquaredError().read(NUMBERS)
    np.testing.assert_array_equal(y, NUMBERS)
    assert (loss.task, loss.n_outputs, loss.n_scores) == ("regression", 1, 1)
    assert loss.label(0) is None


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("classes", [[1, 2, 7], [0, 3, 4, 99], [-5, 0, 2], [5, 70_000, 70_001]])
def test_rows_are_numbered_by_their_class(dtype, classes, monkeypatch):
    if not np.array_equal(np.array(classes).astype(dtype), classes):
        pytest.skip("not of this type")
    monkeypatch.setattr("splinear.losses.classes.STEP", 100)
    own = np.array(classes, dtype=dtype)
    index = np.random.default_rng(0).integers(len(own), size=2_345)  # scikit-learn sees fewer
    kept = np.ones(len(index), dtype=bool)
    y = own[index]
    for counts in (None, kept):
        loss, numbers = Logistic().read(y, counts)
        assert np.array_equal(loss.classes, own)
        assert np.array_equal(numbers, index)
    y[:2], kept[:2] = (classes[0] + 1, 100), False  # classes of rows that do not count
    loss, numbers = Logistic().read(y, kept)
    assert np.array_equal(loss.classes, own)
    assert np.array_equal(numbers[2:], index[2:])
    assert np.all((numbers >= 0) & (numbers < len(own)))


@pytest.mark.parametrize("n_classes", [3, 127, 128, 300])
def test_numbers_of_classes_fit_into_their_type(n_classes):
    y = np.arange(2 * n_classes) % n_classes
    loss, numbers = Hinge().read(y)
    np.testing.assert_array_equal(numbers, y)
    assert Response(loss, numbers).need.shared == (1 if n_classes < 128 else 4)


def test_classes_that_are_known_need_not_occur():
    known = np.array(["a", "b", "c"])
    loss, numbers = Hinge(known).read(np.array(["c", "a"]))
    assert loss.classes.tolist() == ["a", "b", "c"]
    assert numbers.tolist() == [2, 0]


# -- from scores to predictions --------------------------------------------------------------------


def linear_model(classes):
    """A model of scikit-learn whose decision function is its input."""
    model = LogisticRegression()
    n = 1 if len(classes) == 2 else len(classes)
    model.classes_, model.coef_, model.intercept_ = classes, np.eye(n), np.zeros(n)
    return model


@pytest.mark.parametrize(
    "loss", [Logistic(np.array(["no", "yes"])), Softmax(np.array(["a", "b", "c"]))], ids=repr
)
def test_predictions_of_classes_are_those_of_scikit_learn(loss):
    scores = 5.0 * np.random.default_rng(1).normal(size=(40, loss.n_outputs))
    other = linear_model(loss.classes)
    np.testing.assert_array_equal(loss.decision(scores), other.decision_function(scores))
    np.testing.assert_array_equal(loss.predict(scores), other.predict(scores))
    np.testing.assert_allclose(loss.probabilities(scores), other.predict_proba(scores))
    np.testing.assert_allclose(loss.probabilities(scores).sum(axis=1), 1.0)


def test_one_vs_rest_predicts_the_highest_score():
    loss = Hinge(np.array([10, 20, 30]))
    scores = np.array([[0.0, -1.0, 2.0], [-3.0, -1.0, -2.0]])
    assert loss.decision(scores) is scores
    assert loss.predict(scores).tolist() == [30, 20]
    assert not hasattr(loss, "probabilities")


def test_labels_are_questions_of_yes_or_no():
    loss, scores = labels(3), np.random.default_rng(2).normal(size=(40, 3))
    binary = linear_model(np.array([0, 1]))
    assert loss.decision(scores) is scores
    for k in range(3):
        column = scores[:, [k]]
        np.testing.assert_array_equal(loss.predict(scores)[:, k], binary.predict(column))
        expected = binary.predict_proba(column)[:, 1]
        np.testing.assert_allclose(loss.probabilities(scores)[:, k], expected)


def test_extreme_scores_have_probabilities():
    for loss in (Logistic(np.array([0, 1])), labels(1), Softmax(np.arange(3))):
        scores = np.array([[1e3], [-1e3], [0.0]]) * np.arange(1, loss.n_outputs + 1)
        p = loss.probabilities(scores)
        assert np.isfinite(p).all()
        assert ((p >= 0) & (p <= 1)).all()


def labels(n):
    return Logistic(np.arange(n), has_labels=True)


# -- from y to problems ----------------------------------------------------------------------------


def sides(y):
    """One column of -1 and 1 per output."""
    if y is LABELS:
        return 2 * LABELS - 1
    classes = np.unique(y)
    return np.where(y[:, None] == (classes[1:] if len(classes) == 2 else classes), 1, -1)


def by_class(class_weight, y, kept):
    """Weights by class per row and output, from scikit-learn; those of rows that count."""
    out = np.zeros((len(y), sides(y).shape[1]))
    for k in range(out.shape[1]):
        column = y[:, k] if y is LABELS else y
        out[kept, k] = compute_sample_weight(class_weight, column[kept])
    return out


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("balance", [None, "balanced", "dict"])
@pytest.mark.parametrize("name", ["two classes", "three classes", "labels"])
def test_signs_and_costs_of_problems(name, balance, weights):
    y = TARGETS[name]
    first = 0 if y is LABELS else np.unique(y)[0]
    class_weight = {first: 2.5} if balance == "dict" else balance
    data = training_set(y, weights, dual=True, class_weight=class_weight)
    weights = np.ones(N) if weights is None else weights
    kept = weights > 0
    problem_of = data.problems(bias=0.5)
    expected = weights[:, None] * by_class(class_weight, y, kept)
    for k in range(data.loss.n_outputs):
        problem = problem_of(k)
        np.testing.assert_array_equal(per_row(data, problem.y), np.where(kept, sides(y)[:, k], 0))
        np.testing.assert_allclose(per_row(data, problem.cost), expected[:, k])
        assert problem.bias == 0.5
        assert problem.targets is None
    assert data.loss.center == 0.0


@pytest.mark.parametrize("name", ["two classes", "three classes", "labels"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_sums_are_the_log_loss_of_scikit_learn(name, class_weight):
    y = TARGETS[name]
    data = training_set(y, WEIGHTS, class_weight=class_weight)
    kept, loss = WEIGHTS > 0, data.loss
    scores = np.random.default_rng(3).normal(size=(N, loss.n_outputs))
    F = np.stack([data.rows.place(column) for column in scores.T])
    found, start = 0.0, 0
    for total in data.sums():
        found += total.value(F[start : start + total.n_outputs])
        start += total.n_outputs
    assert start == loss.n_outputs
    p, cost = loss.probabilities(scores), WEIGHTS[:, None] * by_class(class_weight, y, kept)
    parts = [(y, p, cost[:, 0])]
    if y is LABELS:
        parts = [(y[:, k], p[:, k], cost[:, k]) for k in range(3)]
    expected = sum(
        log_loss(side[kept], of[kept], sample_weight=c[kept], normalize=False)
        for side, of, c in parts
    )
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dual", [True, False])
def test_numbers_are_trained_less_their_mean(dual):
    data = training_set(NUMBERS, WEIGHTS, dual=dual)
    mean = np.average(NUMBERS, weights=WEIGHTS)
    problem = data.problems(bias=1.0)(0)
    unit = data.loss.unit
    largest = np.abs(NUMBERS - mean)[WEIGHTS > 0].max()
    assert unit == (1.0 if dual else 2.0 ** np.ceil(np.log2(largest)))
    left = (NUMBERS - mean) / unit * (WEIGHTS > 0)
    np.testing.assert_allclose(per_row(data, problem.targets), left)
    np.testing.assert_allclose(per_row(data, problem.cost), WEIGHTS)
    if not dual:
        [total] = data.sums()
        expected = 0.5 * np.sum(WEIGHTS * left**2)
        assert total.value(np.zeros((1, data.rows.n_rows))) == pytest.approx(expected)
    found = Result(np.ones(3), 5.0, primal=3.0, dual=2.0, gap=1 / 3, n_iter=1, converged=True)
    [restored] = data.restored([found])
    np.testing.assert_allclose(restored.coef, unit)
    assert restored.intercept == pytest.approx(5.0 * unit + mean)
    assert (restored.primal, restored.dual) == (3.0 * unit**2, 2.0 * unit**2)
    [start] = data.centered([Start(restored.coef, restored.intercept)])
    np.testing.assert_allclose(start.coef, found.coef)
    assert start.intercept == pytest.approx(5.0)


def test_another_center_may_be_given():
    data = training_set(NUMBERS, dual=True)
    loss = EpsilonInsensitive(fixed_center=7.0).fitted(Survey.of(NUMBERS))
    problem = replace(data, response=Response(loss, NUMBERS)).problems(bias=1.0)(0)
    np.testing.assert_allclose(per_row(data, problem.targets), NUMBERS - 7.0)
    without = training_set(NUMBERS, dual=True, fit_intercept=False)
    assert without.loss.center == 0.0


def test_the_unit_of_a_path():
    for kinds, expected in ((DUAL, np.std(NUMBERS)), (NEWTON, 1.0)):
        assert Setting.prepare(clone(kinds["numbers"]), Given(X, NUMBERS)).path_unit == expected
        assert Setting.prepare(clone(kinds["classes"]), Given(X, THREE)).path_unit == 1.0
    assert EpsilonInsensitive().spread(np.full(5, 3.0)) == 1.0


# -- which rows count ------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", TARGETS)
def test_within_a_fold_only_its_rows_count(name, weights):
    """Costs, weights of classes and the mean are those of a set of these rows alone."""
    y, fold = TARGETS[name], np.arange(N) % 3 > 0
    params = {} if y is NUMBERS else {"class_weight": "balanced"}
    inside = training_set(y, weights, dual=True, **params).within(fold)
    own = fold.astype(float) * (1.0 if weights is None else weights)
    alone = training_set(y, own, dual=True, **params)
    np.testing.assert_array_equal(inside.weighted.weights, own)
    np.testing.assert_array_equal(inside.weighted.kept, own > 0)
    for k in range(inside.loss.n_outputs):
        one, other = (data.problems(1.0)(k) for data in (inside, alone))
        np.testing.assert_array_equal(per_row(inside, one.cost), per_row(alone, other.cost))
        if y is NUMBERS:
            found = per_row(inside, one.targets)
            np.testing.assert_array_equal(found * (own > 0), per_row(alone, other.targets))


def test_a_fold_of_a_fold():
    data = training_set(TWO, WEIGHTS, dual=True)
    first, second = np.arange(N) % 2 > 0, np.arange(N) < 40
    both = data.within(first).within(second)
    np.testing.assert_array_equal(both.weighted.weights, WEIGHTS * first * second)
    np.testing.assert_array_equal(both.weighted.kept, (WEIGHTS > 0) & first & second)


# -- the same objects everywhere -------------------------------------------------------------------


class Noting:
    """A trainer that notes the sets that it is given, and leaves the work to another."""

    def __init__(self, trainer, seen):
        self._trainer, self._seen = trainer, seen

    def __getattr__(self, name):
        return getattr(self._trainer, name)

    def fit(self, data, stopping, starts):
        self._seen.append(("fit", data, starts))
        return self._trainer.fit(data, stopping, starts)

    def follow(self, data, stopping, Cs, starts=None):
        self._seen.append(("follow", data, list(Cs)))
        return self._trainer.follow(data, stopping, Cs, starts)


@pytest.fixture
def noted(monkeypatch):
    """What trainers are given from here on."""
    seen = []
    for kind in (AdditiveClassifier, AdditiveSVC, AdditiveRegressor, AdditiveSVR):
        own = kind._recipe

        def recipe(self, own=own):
            found = own(self)
            return replace(found, trainer=Noting(found.trainer, seen))

        monkeypatch.setattr(kind, "_recipe", recipe)
    return seen


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("dual", [True, False])
def test_fit_and_search_train_by_the_same_objects(name, dual, noted):
    y = TARGETS[name]
    model = clone((DUAL if dual else NEWTON)["numbers" if y is NUMBERS else "classes"])
    model.fit(X, y)
    search = PathSearchCV(model, Cs=[0.1, 1.0], cv=3).fit(X, y)
    assert [(what, type(data)) for what, data, _ in noted] == [
        ("fit", TrainingSet),
        *[("follow", TrainingSet)] * 3,
        ("fit", TrainingSet),
    ]
    kinds = {type(data.loss) for _, data, _ in noted}
    assert kinds == {type(model._loss)} == {type(search.best_estimator_._loss)}
    folds = [data.weighted.kept for what, data, _ in noted if what == "follow"]
    assert all(data.rows is noted[1][1].rows for what, data, _ in noted if what == "follow")
    np.testing.assert_array_equal(np.sum(folds, axis=0), 2)  # each is held out once
    assert [Cs for what, _, Cs in noted if what == "follow"] == [[0.1, 1.0]] * 3


@pytest.mark.parametrize("name", TARGETS)
def test_chunks_are_trained_by_the_same_objects(name, noted):
    y = TARGETS[name]
    model = clone(DUAL["numbers" if y is NUMBERS else "classes"])
    known = {} if y is NUMBERS else {"classes": range(3) if y is LABELS else np.unique(y)}
    model.partial_fit(X[:40], y[:40], **known)
    first = model._model
    model.partial_fit(X[40:], y[40:])
    (_, one, cold), (_, two, starts) = noted
    assert type(one.loss) is type(two.loss) is type(model._loss)
    assert cold is None
    assert all(start.proximal for start in starts)
    np.testing.assert_array_equal([start.coef for start in starts], first.parameters)
    center = first.intercept[0] if y is NUMBERS else 0.0
    assert two.loss.center == center


def test_there_are_no_classes_before_a_fit():
    for model in (AdditiveSVC(C=1.0), AdditiveClassifier()):
        assert not hasattr(model, "classes_")
        with pytest.raises(NotFittedError, match="not fitted yet"):
            model.classes_  # noqa: B018
        with pytest.raises(NotFittedError, match="not fitted yet"):
            model.predict(X)


def test_a_chunk_of_another_kind_is_refused():
    model = AdditiveSVC(random_state=0, C=1.0).partial_fit(X, TWO == "yes", classes=[False, True])
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"another kind \(multilabel\).*\(binary\)"):
        model.partial_fit(X, LABELS[:, :2])
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("name", TARGETS)
def test_a_fitted_model_keeps_nothing_of_y(name):
    """It is no larger after more rows."""
    y, sizes = TARGETS[name], []
    for n in (1, 50):
        model = clone(DUAL["numbers" if y is NUMBERS else "classes"]).set_params(max_iter=10_000)
        model.fit(np.tile(X, (n, 1)), np.repeat(y[None], n, axis=0).reshape(-1, *y.shape[1:]))
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < sizes[0] + 200


@pytest.mark.parametrize(
    "model",
    [
        AdditiveSVC(max_iter=1, tol=1e-9, C=1.0),
        AdditiveSVR(max_iter=1, tol=1e-9, C=1.0),
        AdditiveClassifier(C=1e3, max_iter=1, tol=1e-9),
        AdditiveRegressor(C=1e9, max_iter=1, tol=1e-15),
    ],
    ids=repr,
)
def test_warnings_point_to_the_call(model):
    y = NUMBERS if isinstance(model, (AdditiveSVR, AdditiveRegressor)) else TWO
    with pytest.warns(ConvergenceWarning) as caught:
        clone(model).fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}
    if not hasattr(model, "partial_fit"):
        return
    known = {} if y is NUMBERS else {"classes": ["no", "yes"]}
    model = clone(model)
    with pytest.warns(ConvergenceWarning) as caught:
        model.partial_fit(X, y, **known).partial_fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_recipe_is_what_the_parameters_say(loss):
    recipe = AdditiveSVC(loss=loss, C=3.0, intercept_scaling=2.0)._recipe()
    assert (recipe.loss.name, recipe.trainer.C, recipe.trainer.bias) == (loss, 3.0, 2.0)
    assert AdditiveSVR(fit_intercept=False, C=1.0)._recipe().trainer.bias == 0.0
