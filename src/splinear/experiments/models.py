"""The models that the tables compare, as scikit-learn estimators, and their timed training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC

from splinear import AdditiveSVC, FourierEmbedding, HermiteEmbedding
from splinear._types import AnyArray
from splinear.kernels import min_kernel
from splinear.terms import Fourier, Hermite, Spline, Term

__all__ = [
    "AS_THEY_ARE",
    "TO_UNIT",
    "Fit",
    "MinKernelSVC",
    "Recipe",
    "additive",
    "batch",
    "fit",
    "liblinear",
    "linear",
    "min_kernel_svm",
    "spline",
]

AS_THEY_ARE = "as they are"
TO_UNIT = "to [0, 1]"
SCALES: Mapping[str, Literal["native", "unit"]] = {AS_THEY_ARE: "native", TO_UNIT: "unit"}

LIBLINEAR_TOL = 0.1  # LIBLINEAR's own default for the dual; scikit-learn's is smaller
SEED = 0


@dataclass(frozen=True)
class Recipe:
    """A model without the parameters that the paper leaves open.

    Attributes
    ----------
    name : str
    make : callable
        From C and the scaling of the features to an estimator that is not yet fitted.
    """

    name: str
    make: Callable[[float, str], BaseEstimator]


@dataclass(frozen=True)
class Fit:
    """A fitted model, how long it took, and whether it stopped at its limit of passes."""

    model: BaseEstimator
    seconds: float
    at_limit: bool


def fit(model: BaseEstimator, X: AnyArray, y: AnyArray) -> Fit:
    """Train a clone of a model on one thread and take the time."""
    fitted = clone(model)
    start = perf_counter()
    fitted.fit(X, y)
    return Fit(fitted, perf_counter() - start, _at_limit(fitted))


def _at_limit(model: BaseEstimator) -> bool:
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(last, AdditiveSVC):
        return bool(last.dual_gap_ > last.tol)
    return isinstance(last, LinearSVC) and bool(last.n_iter_ >= last.max_iter)


def liblinear(C: float) -> LinearSVC:
    """Make the linear SVM of LIBLINEAR: hinge loss, by its dual, with bias B = 1."""
    return LinearSVC(loss="hinge", dual=True, C=C, tol=LIBLINEAR_TOL, random_state=SEED)


def linear() -> Recipe:
    """Describe the linear SVM on the features."""
    return Recipe("linear", lambda C, scaling: _scaled(scaling, liblinear(C)))


def spline(n_bins: int, degree: int, order: int) -> Spline:
    """Return the paper's spline: pieces of equal width under D_order."""
    return Spline(n_bins=n_bins, degree=degree, penalty_order=order, knots="uniform")


def additive(name: str, curve: Term) -> Recipe:
    """Describe an additive model, trained "online": the embedding is computed on the fly."""

    def make(C: float, scaling: str) -> AdditiveSVC:
        scaled = clone(curve).set_params(scale=SCALES[scaling])
        return AdditiveSVC(scaled, C=C, random_state=SEED)

    return Recipe(name, make)


def batch(name: str, curve: Fourier | Hermite) -> Recipe:
    """Describe the same model trained in a "batch": the embedding is stored, LIBLINEAR trains."""
    embedding: type[FourierEmbedding | HermiteEmbedding]
    if isinstance(curve, Fourier):
        assert curve.n_frequencies is not None
        embedding, degree = FourierEmbedding, curve.n_frequencies
    else:
        embedding, degree = HermiteEmbedding, curve.degree

    def make(C: float, scaling: str) -> Pipeline:
        first = embedding(
            degree=degree,
            penalty_order=curve.penalty_order,
            knots="uniform",
            scale=SCALES[scaling],
        )
        return make_pipeline(first, liblinear(C))

    return Recipe(name, make)


def min_kernel_svm(n_jobs: int = 1) -> Recipe:
    """Describe the exact SVM with the min kernel, by LIBSVM."""
    return Recipe(
        "min kernel", lambda C, scaling: _scaled(scaling, MinKernelSVC(C=C, n_jobs=n_jobs))
    )


def _scaled(scaling: str, model: BaseEstimator) -> Pipeline:
    steps = [] if scaling == AS_THEY_ARE else [MinMaxScaler(clip=True)]
    return make_pipeline(*steps, model)


class MinKernelSVC(ClassifierMixin, BaseEstimator):
    """SVM with K(x, y) = sum_j min(x_j, y_j): the matrix of all pairs, then LIBSVM.

    Parameters
    ----------
    C : float, default=1.0
    n_jobs : int, default=1
        Threads for the matrix; LIBSVM itself uses one.
    """

    def __init__(self, C: float = 1.0, n_jobs: int = 1) -> None:
        self.C = C
        self.n_jobs = n_jobs

    def fit(self, X: AnyArray, y: AnyArray) -> MinKernelSVC:
        """Compute the kernel of all pairs of rows, and train."""
        self.svm_ = SVC(kernel="precomputed", C=self.C, cache_size=1000)
        self.svm_.fit(min_kernel(X, n_jobs=self.n_jobs), y)
        self.classes_ = self.svm_.classes_
        # Only support vectors have a part in the scores.
        self.vectors_ = X[self.svm_.support_]
        return self

    def decision_function(self, X: AnyArray) -> AnyArray:
        """Return the score of every row."""
        K = min_kernel(X, self.vectors_, n_jobs=self.n_jobs)
        scores: AnyArray = K @ self.svm_.dual_coef_[0] + self.svm_.intercept_[0]
        return scores

    def predict(self, X: AnyArray) -> AnyArray:
        """Return the class of every row."""
        labels: AnyArray = self.classes_[(self.decision_function(X) > 0).astype(int)]
        return labels
