"""AdditiveSVC: the paper's classifier, beside LinearSVC on the explicit embedding."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from written_out import explicit, primal

from splinear import AdditiveSVC
from splinear.terms import Fourier, Hermite, Linear, Spline
from tests.reference.losses import LOSSES

CURVES = [
    Spline(8, degree=0),
    Spline(10),
    Spline(6, degree=3, penalty_order=2),
    Spline(6, knots="quantile", scale="native"),
    Spline(6, degree=2, penalty_order=0),
    Fourier(2),
    Hermite(3),
    Linear(),
]
LOSS = ["hinge", "squared_hinge"]

every_loss = pytest.mark.parametrize("loss", LOSS)


# Weights and repeats are compared to 1e-7 in the scores, which takes a gap of about its square.
@parametrize_with_checks(
    [
        AdditiveSVC(C=1.0, tol=1e-15, max_iter=3000),
        AdditiveSVC(
            Spline(10, penalty_order=0), C=1.0, loss="squared_hinge", tol=1e-18, max_iter=2000
        ),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :8], y


def make(**params):
    return AdditiveSVC(**{"C": 1.0, "random_state": 0, "max_iter": 100_000, **params})


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@every_loss
def test_the_optimum_is_that_of_liblinear(curve, loss, cancer):
    """LinearSVC penalizes its intercept as we do: as one more weight, of a feature B."""
    X, y = cancer
    model = make(curve=curve, loss=loss, C=0.5, intercept_scaling=3.0, tol=1e-6).fit(X, y)
    phi = explicit(model._model.layout, X)
    other = LinearSVC(
        loss=loss, C=0.5, intercept_scaling=3.0, dual=True, tol=1e-5, max_iter=10**6, random_state=0
    ).fit(phi, y)
    w, b = other.coef_[0], other.intercept_[0]
    signs = np.where(y == 1, 1, -1)
    losses = LOSSES[loss].of_margin(signs * (phi @ w + b))
    theirs = 0.5 * w @ w + 0.5 * (b / 3.0) ** 2 + 0.5 * losses.sum()
    assert model.objective_ == pytest.approx(theirs, rel=1e-4)
    assert model.objective_ <= theirs * (1 + 1e-6)
    fitted = model._model
    ours = primal(
        fitted.layout, LOSSES[loss], fitted.parameters[0], fitted.intercept[0], X, signs, 0.5, 3.0
    )
    assert model.objective_ == pytest.approx(ours, rel=1e-9)


@every_loss
def test_fitted_attributes(loss, cancer):
    X, y = cancer
    model = AdditiveSVC(Spline(7, degree=2), loss=loss, C=1.0, random_state=0).fit(X, y)
    assert all(term.coef.shape == (1, 9) for term in model.terms_)
    assert all(np.isnan(term.edf) for term in model.terms_)
    assert model.intercept_.shape == (1,)
    assert 0 <= model.dual_gap_ <= model.tol
    assert model.certified_
    assert 1 <= model.n_iter_ <= model.max_iter
    assert model.n_features_in_ == 8


def test_there_are_no_probabilities_but_by_calibration(cancer):
    X, y = cancer
    assert not hasattr(AdditiveSVC(C=1.0).fit(X, y), "predict_proba")
    calibrated = CalibratedClassifierCV(make(), cv=3).fit(X, y)
    p = calibrated.predict_proba(X)
    assert np.log(p[np.arange(len(y)), y]).mean() > -0.2


def test_the_paper_has_ten_bins(cancer):
    X, y = cancer
    model = make().fit(X, y)
    assert all(term.coef.shape == (1, 11) for term in model.terms_)
    few = np.column_stack([np.arange(len(y)) % 4, X[:, 0]])
    # A feature of few values has a knot at each of them.
    np.testing.assert_array_equal(make().fit(few, y).terms_[0].knots, [0, 1, 2, 3])


@every_loss
def test_without_an_intercept(loss, cancer):
    X, y = cancer
    model = make(loss=loss, fit_intercept=False, tol=1e-6).fit(X, y)
    assert model.intercept_ == 0.0
    phi = explicit(model._model.layout, X)
    other = LinearSVC(
        loss=loss, dual=True, fit_intercept=False, tol=1e-5, max_iter=10**6, random_state=0
    ).fit(phi, y)
    w = other.coef_[0]
    losses = LOSSES[loss].of_margin(np.where(y == 1, 1, -1) * (phi @ w))
    assert model.objective_ == pytest.approx(0.5 * w @ w + losses.sum(), rel=1e-4)


def test_the_scale_of_the_intercept_matters_less_and_less(cancer):
    X, y = cancer
    y = np.where(np.arange(len(y)) % 5 == 0, 1 - y, y)
    values = [make(intercept_scaling=B, C=0.1, tol=1e-5).fit(X, y).objective_ for B in (1, 10, 100)]
    assert values[0] > values[1] > values[2]
    assert values[0] - values[1] > 10 * (values[1] - values[2])


def test_verbose_shows_every_pass(cancer, capsys):
    model = AdditiveSVC(verbose=2, random_state=0, C=1.0).fit(*cancer)
    *lines, _ = capsys.readouterr().err.splitlines()
    assert len(lines) == model.n_iter_
    assert "gap" in lines[0]
    assert "of 569 rows" in lines[0]


def test_warning_states_the_gap(cancer):
    with pytest.warns(ConvergenceWarning, match=r"after 2 passes \(max_iter=2\) at .* gap of \d"):
        model = AdditiveSVC(C=1e4, tol=1e-9, max_iter=2, random_state=0).fit(*cancer)
    assert not model.certified_
    assert model.dual_gap_ > 1e-9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "logistic"}, "'loss' parameter of AdditiveSVC must be"),
        ({"C": 0.0}, "'C' parameter of AdditiveSVC must be"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling' parameter of AdditiveSVC must be"),
        ({"class_weight": "even"}, "'class_weight' parameter of AdditiveSVC must be"),
    ],
)
def test_bad_parameters(params, message, cancer):
    with pytest.raises(ValueError, match=message):
        AdditiveSVC(**params).fit(*cancer)


def test_metadata_requests_survive_a_fit(cancer):
    """scikit-learn keeps what a user asks for in an attribute of its own."""
    asked = {"sample_weight": True, "counts": None, "offset": None}
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        model = make().set_fit_request(sample_weight=True).fit(*cancer)
        assert model.get_metadata_routing().fit.requests == asked
        assert clone(model).get_metadata_routing().fit.requests == asked


@pytest.mark.parametrize(
    "terms", [None, {0: Spline(monotone="increasing")}], ids=["dual", "Newton"]
)
def test_squared_hinge_does_not_stagnate(terms, cancer):
    """Once a gap of 0.39 after 1,000 steps, where dual coordinate descent takes 19 passes."""
    model = AdditiveSVC(loss="squared_hinge", C=100.0, terms=terms, random_state=0).fit(*cancer)
    assert model.certified_
    assert model.n_iter_ < 100
