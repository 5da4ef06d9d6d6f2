"""Random fits, with faults in between: no crash, no silent NaN, no false claim, no half model.

A seed is a case; a failure names it. `SPLINEAR_FUZZ=10000 pytest -m fuzz` runs as many cases
instead of a few.
"""

import os
import warnings

import numpy as np
import pytest
from model_checks import check_numbers, check_objective, check_predictions, weights_of
from random_models import draw_model
from random_tables import FORMS, FRAMES, as_form, draw_columns, draw_positive, draw_target
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVR
from splinear.losses import NegativeBinomial, Tweedie

pytestmark = pytest.mark.fuzz

N_CASES = int(os.environ.get("SPLINEAR_FUZZ", "160"))
BLOCK = 20
MOST_SECONDS = 30.0  # per fit: some problems would take all passes that max_iter allows

# Seeds that once found something: variances below the smallest normal number, and a gap in a
# sparse table beside values outside the range; X rounded to codes, which
# matters under large costs, and so do positions on surfaces in single precision; scores summed up
# step by step that were no longer those of the curves; a column of a file that is read twice;
# polynomials beyond all numbers in a column of one value; a category without levels;
# variances and derivatives whose inverses are no numbers; models worse than flat ones, to which
# rounding had led.
REGRESSIONS = [1, 7, 13, 68, 252, 300, 3290, 102, 226, 569, 3482, 6568, 6651, 1460, 1659, 2773]
REGRESSIONS += [5295, 7396, 7827, 1322, 4574, 6237]
# Penalties of bends that are no numbers.
REGRESSIONS += [1730]
# Here the mean of y, as NumPy computes it, differs from that of the fit in its last bit.
REGRESSIONS += [837, 865, 1308, 1348, 1810, 1844]


class StopError(Exception):
    """What a callback raises."""


def fitted(act):
    """Act; return whether a ConvergenceWarning came, or None if what was given was refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            act()
        except (ValueError, TypeError) as error:
            if not str(error):
                raise AssertionError("an error without a message") from error
            return None
    kinds = {warning.category for warning in caught}
    assert kinds <= {ConvergenceWarning, UserWarning, DataConversionWarning}, caught[0].message
    return ConvergenceWarning in kinds


class Case:
    """One estimator, its tables, and what happens to them."""

    def __init__(self, seed, folder):
        self.random = np.random.default_rng(seed)
        self.folder = folder
        self.form = str(self.random.choice(FORMS))
        self.columns = self.draw_rows()
        self.n = len(self.columns[0])
        is_numeric = bool(self.random.random() < 0.4)
        kind = "numbers" if is_numeric else str(self.random.choice(["classes"] * 5 + ["labels"]))
        self.y = draw_target(self.random, self.columns, kind)
        self.X = as_form(self.columns, self.form, folder)
        self.weights = None
        if self.random.random() < 0.3:
            self.weights = self.random.integers(0, 3, self.n) * float(
                self.random.choice([1.0, 1.0, 1e-10, 1e10])
            )
        extreme = bool(self.random.random() < 0.2)
        self.model = draw_model(
            self.random, len(self.columns), is_numeric=is_numeric, extreme=extreme
        )
        self.model.set_params(time_limit=MOST_SECONDS)
        if isinstance(self.model, AdditiveRegressor):
            self.draw_loss(np.random.default_rng([seed, 1]))
        self.given = {"sample_weight": self.weights}
        if seed not in REGRESSIONS:
            self.draw_more(np.random.default_rng([seed, 2]))
        if self.form == "libsvm" and self.model.curve is None:
            self.form, self.X = "csr", as_form(self.columns, "csr", folder)

    def draw_loss(self, random):
        """Half of the regressions are of counts or positive numbers, drawn by numbers apart."""
        loss = str(random.choice(["squared_error", "squared_error", "poisson", "gamma"]))
        self.model.set_params(loss=loss)
        if loss != "squared_error":
            self.y = draw_positive(random, self.y, loss)

    def draw_more(self, random):
        """Draw other losses, offsets, groups and counts, by numbers apart."""
        loss = getattr(self.model, "loss", "")
        if loss == "gamma" and random.random() < 0.5:
            self.y = np.where(random.random(self.n) < 0.4, 0.0, self.y)
            if self.y.any():
                self.model.set_params(loss=Tweedie(float(random.choice([1.01, 1.5, 1.99]))))
        if loss == "poisson" and random.random() < 0.5:
            theta = random.choice([None, 1e-2, 1.0, 1e6])
            self.model.set_params(loss=NegativeBinomial(theta))
        if random.random() < 0.15 and self.weights is None:
            self.given["counts"] = random.integers(0, 4, self.n)
        if random.random() < 0.25:
            columns = self.n_scores
            spread = random.choice([1e-3, 1.0, 1.0, 10.0])
            if self.y.dtype.kind == "f" and self.is_in_unit:
                spread *= self.y.std() or 1.0
            self.given["offset"] = spread * random.normal(size=(self.n, columns))
            if columns == 1:
                self.given["offset"] = self.given["offset"][:, 0]
        if random.random() < 0.15 and isinstance(
            self.model, (AdditiveRegressor, AdditiveClassifier)
        ):
            self.given["groups"] = random.integers(0, max(self.n // 3, 2), self.n)

    @property
    def is_in_unit(self):
        """Whether scores are in the unit of y."""
        return getattr(self.model, "loss", None) == "squared_error" or isinstance(
            self.model, AdditiveSVR
        )

    @property
    def n_scores(self):
        if isinstance(self.model, (AdditiveRegressor, AdditiveSVR)):
            return 1
        if self.y.ndim == 2:
            return self.y.shape[1]
        n = len(set(self.y[weights_of(self.given, self.n) > 0].tolist()))
        return n if n > 2 else 1

    def draw_rows(self):
        n = int(self.random.choice([1, 2, 3, 5, 10, 30, 80, 200]))
        return draw_columns(self.random, n, self.form)

    def run(self):
        """Fit, then let other things happen, checking the model after each."""
        if not self.fit():
            return
        for _ in range(self.random.integers(0, 3)):
            acts = [self.refuse, self.interrupt, self.refit, self.learn_more, self.predict_others]
            acts[self.random.integers(len(acts))]()

    def fit(self):
        warned = fitted(lambda: self.model.fit(self.X, self.y, **self.given))
        if warned is None:
            assert not hasattr(self.model, "terms_"), "a refused fit has left a model"
            return False
        self.check(warned=warned)
        return True

    def check(self, *, warned, objective=True):
        check_numbers(self.model, warned=warned)
        check_predictions(self.model, self.X, self.n, self.y)
        if objective:
            check_objective(self.model, self.X, self.y, self.given, warned=warned)

    def scores(self):
        is_number = isinstance(self.model, (AdditiveRegressor, AdditiveSVR))
        return self.model.predict(self.X) if is_number else self.model.decision_function(self.X)

    def refuse(self):
        """Fit to something that cannot be learned from: all stays as it was."""
        before, bad = self.scores(), np.full((self.n, len(self.columns)), np.inf)
        faults = [
            (bad, self.y, None),
            (self.X, self.y[:-1] if self.n > 1 else self.y[:0], None),
            (self.X, self.y, np.full(self.n, -1.0)),
            (np.zeros((self.n, 0)), self.y, None),
        ]
        X, y, weights = faults[self.random.integers(len(faults))]
        with pytest.raises((ValueError, TypeError)):
            self.model.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(self.scores(), before)

    def interrupt(self):
        """Stop a refit on its way: by the clock, or by what a callback raises."""

        def stop(_):
            raise StopError

        before, given = self.scores(), self.model.get_params(deep=False)
        if self.random.random() < 0.5:
            self.model.set_params(time_limit=1e-5)
            warned = fitted(lambda: self.model.fit(self.X, self.y, **self.given))
            assert warned is not None
        else:
            self.model.set_params(callback=stop)
            try:
                warned = fitted(lambda: self.model.fit(self.X, self.y, **self.given))
            except StopError:
                warned = True
        self.model.set_params(time_limit=given["time_limit"], callback=given["callback"])
        assert self.scores().shape == before.shape
        self.check(warned=warned, objective=not warned)

    def refit(self):
        """Fit with another C, from the last model if warm_start says so."""
        if self.model.C is not None:
            self.model.set_params(C=self.model.C * 10.0 ** float(self.random.uniform(-3, 3)))
        warned = fitted(lambda: self.model.fit(self.X, self.y, **self.given))
        assert warned is not None
        self.check(warned=warned)

    def learn_more(self):
        if not hasattr(self.model, "partial_fit"):
            return
        before = self.scores()
        warned = fitted(lambda: self.model.partial_fit(self.X, self.y, **self.given))
        if warned is None:
            np.testing.assert_array_equal(self.scores(), before)
        else:
            self.check(warned=warned, objective=False)

    def predict_others(self):
        """Predict rows with values, gaps and levels that fit has not seen."""
        rows = [column[self.random.permutation(self.n)] for column in self.columns]
        for column in rows:
            if column.dtype == object:
                column[0] = "unseen" if any(map(bool, column)) else None
            elif self.form != "int":
                column[0] = self.random.choice([0.0, 10.0 * np.nanmax([0.0, *column]), np.nan])
        # Of a CSV file it is a guess which columns hold numbers, and may be another one here.
        if self.form in (*FRAMES, "csr", "float64") and self.form != "csv":
            check_predictions(self.model, as_form(rows, self.form, self.folder), self.n, self.y)
            self.X = as_form(self.columns, self.form, self.folder)


def run(seed, folder):
    print(f"This is the case of the seed {seed}.")  # pytest shows it if the case fails
    with threadpool_limits(1, user_api="blas"):
        Case(seed, folder).run()


@pytest.mark.parametrize("block", range(-(-N_CASES // BLOCK)))
def test_random_cases(block, tmp_path):
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        run(seed, tmp_path)


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_cases_that_once_failed(seed, tmp_path):
    run(seed, tmp_path)
