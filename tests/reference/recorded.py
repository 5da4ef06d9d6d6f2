"""About 60 small fits, and what they gave: a net under changes of how models are fitted.

The fits cross estimators, losses, forms of tables, surfaces, shapes, weights, missing values and
early stops. `recorded_fits.json` has their objectives, predictions, steps, passes over the rows
and certificates; `test_recorded_fits.py` fits them again and compares. Record with::

    python tests/reference/recorded.py            # all fits, anew
    python tests/reference/recorded.py new_name   # only fits with these names

A file recorded anew by code that is worse hides what it should show: say in the commit why.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import splinear
from splinear import _core
from splinear.terms import Category, Fourier, Hermite, Linear, Pair, Spline

FILE = Path(__file__).parent / "recorded_fits.json"

N_SHOWN = 12  # predictions per output

CUBIC = Spline(8, degree=3, penalty_order=2, knots="uniform")


@dataclass(frozen=True)
class Fit:
    """A fit: its estimator, and what `fit` is given.

    `in_files` says how X, or X and y, are to be stored in files, which are then given.
    """

    estimator: Any
    X: Any
    y: Any
    with_: dict[str, Any] = field(default_factory=dict)
    in_files: str | None = None


# -- tables ----------------------------------------------------------------------------------------


def table(n: int = 400, p: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return X (n, p), and a function f of its first columns with a mean near 0."""
    X = np.random.default_rng(seed).uniform(-2.0, 2.0, (n, p)).round(6)
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 - 0.7 + 0.4 * X[:, 2]
    return X, f.round(6)


def numbers(f: np.ndarray, seed: int = 1) -> np.ndarray:
    """Return f with noise."""
    return (f + np.random.default_rng(seed).normal(scale=0.5, size=len(f))).round(6)


def classes(f: np.ndarray, n_classes: int = 2, seed: int = 2) -> np.ndarray:
    """Return classes that depend on f and on chance."""
    noisy = f + np.random.default_rng(seed).logistic(scale=0.5, size=len(f))
    return np.searchsorted(np.quantile(f, np.arange(1, n_classes) / n_classes), noisy)


def counts_of(f: np.ndarray, seed: int = 3) -> np.ndarray:
    """Return Poisson counts."""
    return np.random.default_rng(seed).poisson(np.exp(0.8 * f)).astype(float)


def amounts(f: np.ndarray, seed: int = 4) -> np.ndarray:
    """Return positive numbers with a gamma distribution."""
    return (np.random.default_rng(seed).gamma(2.0, np.exp(0.5 * f)) + 1e-3).round(6)


def with_gaps(X: np.ndarray, share: float = 0.1, seed: int = 5) -> np.ndarray:
    """Return X with missing values in two columns."""
    X = X.copy()
    X[:, :2][np.random.default_rng(seed).random((len(X), 2)) < share] = np.nan
    return X


def weights_of(n: int, seed: int = 6) -> np.ndarray:
    """Return weights, of which some are 0."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.5, 3.0, n)).round(3)


def frame(X: np.ndarray, seed: int = 7) -> pd.DataFrame:
    """Return a frame of numbers, a column of text and a column of truth values."""
    rng = np.random.default_rng(seed)
    of = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    of["town"] = np.array(["Ulm", "Bern", "Basel", "Graz", "Trento"])[rng.integers(0, 5, len(X))]
    of["old"] = rng.random(len(X)) < 0.3
    return of


def effects(of: pd.DataFrame) -> np.ndarray:
    """Return effects of the towns."""
    return of["town"].map({"Ulm": 0.5, "Bern": -0.5, "Basel": 0.0, "Graz": 0.2, "Trento": 1.0})


def scattered(n: int = 300, p: int = 40, seed: int = 8) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return a sparse X with nonnegative values, and a function of some columns."""
    X = sparse.random(n, p, 0.1, format="csr", random_state=np.random.default_rng(seed))
    X.data = X.data.round(6)
    f = np.asarray(X[:, :10].sum(axis=1)).ravel() - np.asarray(X[:, 10:20].sum(axis=1)).ravel()
    return X, (2.0 * f).round(6)


# -- fits ------------------------------------------------------------------------------------------


class StopAfter:
    """A callback that ends a fit after so many calls."""

    def __init__(self, n_calls: int) -> None:
        self.n_left = n_calls

    def __call__(self, progress: object) -> bool:
        self.n_left -= 1
        return self.n_left <= 0


def regressor(**given: Any) -> splinear.AdditiveRegressor:
    """Return an AdditiveRegressor; C = 1 and a small tolerance unless given otherwise."""
    given = {"C": 1.0, "tol": 1e-6, "random_state": 0} | given
    return splinear.AdditiveRegressor(given.pop("curve", CUBIC), **given)


def classifier(**given: Any) -> splinear.AdditiveClassifier:
    """Return an AdditiveClassifier; C = 1 and a small tolerance unless given otherwise."""
    given = {"C": 1.0, "tol": 1e-6, "random_state": 0} | given
    return splinear.AdditiveClassifier(given.pop("curve", CUBIC), **given)


def svc(**given: Any) -> splinear.AdditiveSVC:
    """Return an AdditiveSVC; C = 1 and a small tolerance unless given otherwise."""
    given = {"C": 1.0, "tol": 1e-3, "random_state": 0, "max_iter": 100_000} | given
    return splinear.AdditiveSVC(given.pop("curve", CUBIC), **given)


def svr(**given: Any) -> splinear.AdditiveSVR:
    """Return an AdditiveSVR; C = 1 and a small tolerance unless given otherwise."""
    given = {"C": 1.0, "tol": 1e-3, "random_state": 0, "max_iter": 100_000} | given
    return splinear.AdditiveSVR(given.pop("curve", CUBIC), **given)


AS_USUAL = {"C": None, "tol": 1e-3}  # smoothness from the data, and the default tolerance


def fits() -> dict[str, Fit]:
    """Return all fits, by their names."""
    X, f = table()
    y, side, count, amount = numbers(f), classes(f), counts_of(f), amounts(f)
    three, weight, gaps = classes(f, 3), weights_of(len(X)), with_gaps(X)
    labels = np.stack([classes(f, seed=10), classes(-f, seed=11), classes(f, seed=12)], axis=1)
    of = frame(X)
    in_town = numbers(f + effects(of))
    wide, g = scattered()
    product = numbers(f + X[:, 0] * X[:, 3])
    copies = np.random.default_rng(13).integers(1, 4, len(X))
    units = np.arange(len(X)) // 8
    per_unit = numbers(f + np.random.default_rng(14).normal(size=len(X))[units].round(6))
    tall, tall_f = table(3000, 3, seed=15)
    rising = Spline(8, degree=3, penalty_order=2, knots="uniform", monotone="increasing")
    convex = Spline(8, degree=3, penalty_order=2, knots="uniform", curvature="convex")
    return {
        # Losses, with C given and with smoothness from the data.
        "squared_error": Fit(regressor(), X, y),
        "squared_error_reml": Fit(regressor(**AS_USUAL), X, y),
        "poisson": Fit(regressor(loss="poisson"), X, count),
        "poisson_reml": Fit(regressor(loss="poisson", **AS_USUAL), X, count),
        "gamma": Fit(regressor(loss="gamma"), X, amount),
        "gamma_reml": Fit(regressor(loss="gamma", **AS_USUAL), X, amount),
        "logistic": Fit(classifier(), X, side),
        "logistic_reml": Fit(classifier(**AS_USUAL), X, side),
        "softmax": Fit(classifier(), X, three),
        "softmax_reml": Fit(classifier(**AS_USUAL), X, three),
        "labels": Fit(classifier(), X, labels),
        "labels_reml": Fit(classifier(**AS_USUAL), X, labels),
        "hinge": Fit(svc(), X, side),
        "hinge_default": Fit(svc(tol=1e-2, max_iter=1000, C=None), X, side),
        "hinge_three": Fit(svc(), X, three),
        "hinge_labels": Fit(svc(), X, labels),
        "squared_hinge": Fit(svc(loss="squared_hinge"), X, side),
        "epsilon_insensitive": Fit(svr(), X, y),
        "epsilon_default": Fit(svr(tol=1e-2, max_iter=1000, C=None), X, y),
        # Terms.
        "default_curves": Fit(regressor(curve=None, **AS_USUAL), X, y),
        "default_curves_classes": Fit(classifier(curve=None, **AS_USUAL), X, side),
        "default_curves_svc": Fit(svc(curve=None), X, side),
        "linear_spline": Fit(regressor(curve=Spline(10)), X, y),
        "no_pieces": Fit(classifier(curve=Spline(6, degree=0, penalty_order=1)), X, side),
        "fourier": Fit(regressor(curve=Fourier(4), **AS_USUAL), X, y),
        "fourier_svc": Fit(svc(curve=Fourier(3)), X, side),
        "hermite": Fit(classifier(curve=Hermite(4)), X, side),
        "straight": Fit(regressor(curve=Linear(), **AS_USUAL), X, y),
        "mixed_terms": Fit(
            regressor(terms={0: Fourier(3), 1: Linear(), 2: Hermite(3)}, **AS_USUAL), X, y
        ),
        "ordered_levels": Fit(
            regressor(terms={0: Category(ordered=True)}, **AS_USUAL),
            np.column_stack([np.round(2.0 * X[:, 0]), X[:, 1:]]),
            y,
        ),
        "quantile_knots": Fit(regressor(curve=Spline(8, degree=2, knots="quantile")), X**3, y),
        # Shapes.
        "increasing": Fit(regressor(terms={0: rising}), X, y),
        "increasing_reml": Fit(regressor(terms={0: rising}, **AS_USUAL), X, y),
        "convex_classes": Fit(classifier(terms={0: convex}), X, side),
        "increasing_poisson": Fit(regressor(loss="poisson", terms={0: rising}), X, count),
        # Surfaces.
        "pair": Fit(regressor(interactions=[(0, 3)]), X, product),
        "pair_reml": Fit(regressor(interactions=[(0, 3)], **AS_USUAL), X, product),
        "pair_classes": Fit(classifier(interactions=[(0, 3)]), X, classes(product)),
        "pair_softmax": Fit(classifier(interactions=[(0, 3)], tol=1e-4), X, classes(product, 3)),
        "pair_term": Fit(regressor(terms={(0, 3): Pair(5)}, **AS_USUAL), X, product),
        "one_pair_found": Fit(regressor(interactions=1, **AS_USUAL), X, product),
        "pairs_found": Fit(regressor(interactions="auto", **AS_USUAL), X, product),
        # Weights, counts, units.
        "weights": Fit(regressor(), X, y, {"sample_weight": weight}),
        "weights_reml": Fit(classifier(**AS_USUAL), X, side, {"sample_weight": weight}),
        "weights_svc": Fit(svc(), X, side, {"sample_weight": weight}),
        "counts": Fit(
            regressor(loss="poisson", **AS_USUAL), X, count, {"counts": copies.astype(float)}
        ),
        "groups": Fit(regressor(**AS_USUAL), X, per_unit, {"groups": units}),
        "class_weight": Fit(classifier(class_weight="balanced"), X, classes(f - 1.0)),
        "class_weight_svc": Fit(svc(class_weight={0: 1.0, 1: 3.0}), X, side),
        # Missing values.
        "missing": Fit(regressor(), gaps, y),
        "missing_reml": Fit(classifier(**AS_USUAL), gaps, side),
        "missing_svc": Fit(svc(), gaps, side),
        "missing_pair": Fit(regressor(interactions=[(0, 1)], **AS_USUAL), gaps, product),
        # Forms of tables.
        "float32": Fit(regressor(**AS_USUAL), np.asfortranarray(X, dtype=np.float32), y),
        "frame": Fit(regressor(**AS_USUAL), of, in_town),
        "frame_classes": Fit(classifier(), of, classes(in_town)),
        "polars": Fit(regressor(), pl.from_pandas(of), in_town),
        "sparse_svc": Fit(svc(curve=None), wide, classes(g)),
        "sparse": Fit(classifier(curve=None, C=0.1), wide, classes(g)),
        "npy": Fit(regressor(**AS_USUAL), X, y, in_files="npy"),
        "csv": Fit(regressor(**AS_USUAL), of, in_town, in_files="csv"),
        "parquet": Fit(classifier(), of, classes(in_town), in_files="parquet"),
        # Many rows, and fits that were stopped.
        "tall": Fit(classifier(curve=None, **AS_USUAL), tall, classes(tall_f)),
        "tall_svc": Fit(svc(), tall, classes(tall_f)),
        "stopped_newton": Fit(classifier(max_iter=2), X, side),
        "stopped_reml": Fit(regressor(loss="gamma", callback=StopAfter(3), **AS_USUAL), X, amount),
        "stopped_svc": Fit(svc(max_iter=3), X, side),
        "stopped_by_callback": Fit(classifier(callback=StopAfter(3), **AS_USUAL), X, three),
    }


# -- passes ----------------------------------------------------------------------------------------


class Passes:
    """Counts values of X that the compiled core reads while it trains, in passes over X.

    A pass that computes several things, or several outputs, at once is one; a pass over a sample of
    the rows, or over some of the groups of features, is a part of one.
    """

    def __init__(self) -> None:
        self.n_values = 0.0

    def add(self, groups: Any, n_rows: float, times: float = 1.0) -> None:
        """Count passes over rows of these groups of features."""
        self.n_values += times * n_rows * sum(group.n_features for group in groups)


@contextmanager
def counted_passes() -> Iterator[Passes]:
    """Count passes of the core's functions that read rows."""
    passes, kept, n_of = Passes(), {}, {}

    def count(name: str, counted: Callable[..., None]) -> None:
        called = kept[name] = getattr(_core, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = called(*args, **kwargs)
            counted(args, kwargs, result)
            return result

        setattr(_core, name, wrapper)

    def remember_problem(args: Any, _: Any, problem: Any) -> None:
        n_of[id(problem)] = len(args[0])
        alive.append(problem)  # so that its id is not used again

    def of_descent(args: Any, _: Any, results: Any) -> None:
        passes.add(args[0], n_of[id(args[2])], sum(result.n_iter for result in results[0]))

    alive: list[Any] = []
    count("DualProblem", remember_problem)
    count("train", of_descent)
    count("squared_norms", lambda args, _, norms: passes.add(args[0], len(norms)))
    count("score_many", lambda args, _, scores: passes.add(args[0], len(scores) / len(args[1])))
    for name in ("sum_many", "sum_all", "blocks_many", "blocks_all"):
        count(name, lambda args, *_: passes.add(args[0], args[1].shape[-1]))
    count("score_all", lambda args, _, scores: passes.add(args[0], len(scores)))
    count("curved_sums", lambda args, *_: passes.add(args[0], args[2].shape[-1]))
    count("hessian_some", lambda args, *_: passes.add(args[0], args[2]))
    count("hessian_thinned", lambda args, *_: passes.add(args[0], args[3]))
    # One pass per product, and one for the scores of the step.
    count(
        "least_step",
        lambda args, _, step: passes.add(args[0], len(args[1]), step[0].n_products + 1),
    )
    try:
        yield passes
    finally:
        for name, function in kept.items():
            setattr(_core, name, function)


# -- fitting ---------------------------------------------------------------------------------------


def written(fit: Fit, folder: Path) -> tuple[Any, Any]:
    """Return X and y as `fit` is given them, in files if it asks for that."""
    if fit.in_files is None:
        return fit.X, fit.y
    path = folder / f"X.{fit.in_files}"
    if fit.in_files == "npy":
        np.save(path, fit.X)
        return str(path), fit.y
    whole = fit.X.assign(y=fit.y)
    whole.to_csv(path, index=False) if fit.in_files == "csv" else whole.to_parquet(path)
    return str(path), "y"


def run(fit: Fit) -> dict[str, Any]:
    """Fit, and return what is to be recorded or compared."""
    with tempfile.TemporaryDirectory() as folder:
        X, y = written(fit, Path(folder))
        with warnings.catch_warnings(record=True) as warned, counted_passes() as passes:
            warnings.simplefilter("always")
            model = fit.estimator.fit(X, y, **fit.with_)
    shown = _scores(model, fit.X)
    values = fit.X.shape[0] * fit.X.shape[1]
    return {
        "objective": float(model.objective_),
        "gap": float(model.dual_gap_),
        "certified": bool(model.certified_),
        "stopped": any(issubclass(w.category, ConvergenceWarning) for w in warned),
        "n_iter": int(model.n_iter_),
        "passes": round(passes.n_values / values, 2),
        "intercept": np.ravel(model.intercept_).tolist(),
        "importances": np.asarray(model.feature_importances_).tolist(),
        "edf": edf if np.isfinite(edf := float(sum(term.edf for term in model.terms_))) else None,
        "pairs": [[int(j) for j in pair.features] for pair in model.terms_.pairs],
        "mean": shown.mean(axis=0).tolist(),
        "spread": shown.std(axis=0).tolist(),
        "predictions": shown[:: len(shown) // N_SHOWN][:N_SHOWN].tolist(),
    }


def _scores(model: Any, X: Any) -> np.ndarray:
    """Return scores (n_rows, n_outputs), or predictions where there is no link."""
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    else:
        scores = model.predict(X)
        scores = np.log(scores) if getattr(model, "loss", "") in ("poisson", "gamma") else scores
    return np.asarray(scores).reshape(len(scores), -1)


def _rounded(value: Any) -> Any:
    """Return what a file keeps of a number: nine digits."""
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def main(names: list[str]) -> None:
    """Record all fits, or those of these names."""
    recorded = json.loads(FILE.read_text()) if names and FILE.exists() else {}
    for name, fit in fits().items():
        if not names or name in names:
            recorded[name] = {key: _rounded(value) for key, value in run(fit).items()}
    lines = [f"{json.dumps(name)}: {json.dumps(of)}" for name, of in recorded.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
