"""The model card: data, terms, smoothness, certificate, parameters and versions."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version

import numpy as np
import scipy
import sklearn

from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.text import number, shortened
from splinear.report.content import Content

__all__ = ["Fact", "facts", "headline", "parameters", "versions"]

SHARED = 0.75  # concurvity from which on standard errors are up to twice as large


@dataclass(frozen=True)
class Fact:
    """A line of the model card."""

    name: str
    value: str
    hint: str = ""


def headline(content: Content) -> str:
    """Return a sentence that describes the model."""
    model, pieces = content.model, content.pieces
    n_pairs = len(model.terms_.pairs)
    n_curves = len(pieces.terms) - n_pairs
    parts = f"{n_curves:,} {_plural('curve', n_curves)}"
    if n_pairs:
        parts += f" and {n_pairs:,} {_plural('surface', n_pairs)}"
    what = {
        "regression": f"predicts {content.target_name}",
        "binary": f"tells {content.class_names[1:2] and content.class_names[1]} from "
        f"{content.class_names[:1] and content.class_names[0]}",
        "multiclass": f"tells {len(content.class_names)} classes apart",
        "multilabel": f"predicts {len(content.class_names)} labels",
        "ordinal": f"predicts which of {len(content.class_names)} ordered levels "
        f"{content.target_name} has",
    }[pieces.task]
    return (
        f"An additive model that {what}. Its score is a sum of {parts}; all of them are on this "
        "page, and what they add can be read off."
        if not content.n_hidden
        else f"An additive model that {what}. Its score is a sum of {parts}; the "
        f"{len(content.shown)} that matter most are on this page."
    )


def facts(content: Content) -> list[Fact]:
    """Return the lines of the model card."""
    model = content.model
    out = [
        Fact("Estimator", type(model).__name__),
        _target(content),
        Fact("Training rows", f"{model._columns.n_rows:,}"),
        _features(content),
        Fact("Terms", _terms(content)),
        _smoothness(model),
    ]
    if model._posteriors:
        freedom = sum(joint.freedom for joint in model._posteriors)
        out.append(
            Fact("Degrees of freedom", f"{freedom:,.1f}", "effective, all terms and intercepts")
        )
    out += [_certificate(model), Fact("Objective", number(float(model.objective_), 6))]
    return out


def _target(content: Content) -> Fact:
    if content.pieces.task == "regression":
        loss = content.model._loss
        title = loss.title.lower() if loss.name else loss.title
        return Fact("Target", content.target_name, f"a number; loss: {title}")
    names = [shortened(name, 24) for name in content.class_names]
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    if content.pieces.grades is not None:
        cuts = ", ".join(number(float(cut), 3) for cut in content.pieces.grades.cut_points[:12])
        more = ", ..." if len(names) > 13 else ""
        return Fact("Target", listed, f"{len(names)} ordered levels; cut points: {cuts}{more}")
    what = "labels" if content.pieces.task == "multilabel" else "classes"
    return Fact("Target", listed, f"{len(names)} {what}")


def _features(content: Content) -> Fact:
    kinds = [feature.kind for feature in content.pieces.features]
    named = {"number": "numeric", "category": "categorical", "dropped": "dropped"}
    parts = [f"{kinds.count(kind):,} {words}" for kind, words in named.items() if kind in kinds]
    return Fact("Features", f"{len(kinds):,}", ", ".join(parts))


def _terms(content: Content) -> str:
    kinds = [term.kind for term in content.pieces.terms]
    order = sorted(set(kinds), key=lambda kind: -kinds.count(kind))
    return ", ".join(f"{kinds.count(kind):,} {kind}" for kind in order)


def _smoothness(model: AdditiveEstimator) -> Fact:
    C = getattr(model, "C", None)
    if C is None:
        return Fact("Smoothness", "chosen from the data", "for each term, by Laplace REML")
    return Fact("Smoothness", f"C = {C:g}", "one weight of the losses for all terms")


def _certificate(model: AdditiveEstimator) -> Fact:
    gap = f"within {model.dual_gap_:.1e} of the optimum"
    passes = f"{model.n_iter_:,} {_plural('pass', model.n_iter_, 'es')}"
    if model.certified_:
        return Fact("Certificate", gap, f"relative duality gap, proved; {passes}")
    if not model._loss.convex:
        return Fact("Certificate", "none", f"the loss is not known to be convex; {passes}")
    hint = f"stopped before there was a proof; gap {model.dual_gap_:.1e}, {passes}"
    return Fact("Certificate", "none", hint)


def parameters(model: AdditiveEstimator) -> list[tuple[str, str]]:
    """Return the parameters that differ from their defaults."""
    defaults = type(model)().get_params(deep=False)
    return [
        (name, shortened(_shown(value), 200))
        for name, value in model.get_params(deep=False).items()
        if name != "callback" and repr(value) != repr(defaults[name])
    ]


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return repr(value)


def versions() -> list[tuple[str, str]]:
    """Return the versions of the libraries in use."""
    return [
        ("splinear", version("splinear")),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("SciPy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
        ("written", datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
    ]


def _plural(word: str, n: int, ending: str = "s") -> str:
    return word if n == 1 else word + ending
