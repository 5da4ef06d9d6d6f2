"""The fitted attributes of an estimator as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.estimators.state.checking import Fields, Plain, plain_array, refuse
from splinear.estimators.state.information import information_from, information_plain
from splinear.estimators.state.outputs import (
    columns_from,
    columns_plain,
    duals_from,
    duals_plain,
    loss_from,
    loss_plain,
)
from splinear.estimators.state.stateful import Codec
from splinear.estimators.state.terms import model_from, model_plain
from splinear.estimators.trainer import Duals
from splinear.losses.base import Loss
from splinear.model.additive import Model
from splinear.model.covariance import JointPosterior, joint_posteriors
from splinear.model.fitted import FittedTerms
from splinear.tables.columns import Columns

__all__ = ["FITTED", "fitted_plain", "names_from", "restore"]

# All fitted attributes; `feature_names_in_` is set only if X had names.
LEARNED = frozenset(
    {
        *("n_features_in_", "feature_names_in_", "_columns"),
        *("terms_", "intercept_", "feature_importances_", "_model", "_loss"),
        *("n_iter_", "dual_gap_", "certified_", "objective_", "C_", "_duals", "_posteriors"),
    }
)


class Fitted(Protocol):
    """An estimator that has been fitted."""

    n_features_in_: int
    terms_: FittedTerms
    intercept_: Floats
    feature_importances_: Floats
    n_iter_: int
    dual_gap_: float
    certified_: bool
    objective_: float
    _model: Model
    _columns: Columns
    _loss: Loss
    _duals: Duals | None
    _posteriors: list[JointPosterior]


def fitted_plain(of: Fitted) -> dict[str, Plain]:
    """Return the fitted attributes as plain data."""
    names: AnyArray | None = getattr(of, "feature_names_in_", None)
    edf = of.terms_.group_edf
    return {
        "columns": columns_plain(of._columns),
        "names": None if names is None else [str(name) for name in names],
        "loss": loss_plain(of._loss),
        "model": model_plain(of._model),
        "edf": None if edf is None else [plain_array(own) for own in edf],
        "information": [information_plain(own.information) for own in of._posteriors],
        "duals": duals_plain(of._duals),
        "importances": plain_array(of.feature_importances_),
        "n_iter": int(of.n_iter_),
        "dual_gap": float(of.dual_gap_),
        "certified": bool(of.certified_),
        "objective": float(of.objective_),
        "C": None if (C := getattr(of, "C_", None)) is None else float(C),
    }


def restore(estimator: Fitted, data: object) -> None:
    """Set the fitted attributes of an estimator from plain data."""
    f = Fields(
        data,
        "fitted",
        "columns names loss model edf information duals importances n_iter dual_gap certified "
        "objective C",
    )
    columns = columns_from(f.get("columns"), f.at("columns"))
    n = columns.n_features
    importances = f.array("importances", (n,), finite=False)
    model = model_from(f.get("model"), f.at("model"), n, columns.levels)
    names = names_from(f, n)
    learned = {
        "n_features_in_": n,
        "_columns": columns,
        "_model": model,
        "_loss": loss_from(f.get("loss"), f.at("loss"), model.n_outputs),
        "intercept_": model.intercept,
        "terms_": FittedTerms(model, names, _edf(f, model)),
        "_duals": duals_from(f.get("duals"), f.at("duals"), model.n_outputs),
        "_posteriors": _posteriors(f, model),
        "feature_importances_": importances,
        "n_iter_": f.integer("n_iter"),
        "dual_gap_": f.number("dual_gap", finite=False),
        "certified_": f.flag("certified"),
        "objective_": f.number("objective", finite=False),
    }
    if f.has("C"):
        learned["C_"] = f.number("C")
    if names is not None:
        learned["feature_names_in_"] = names
    vars(estimator).update(learned)


def names_from(f: Fields, n: int) -> AnyArray | None:
    """Return the names of `n` features; None if they have none."""
    if not f.has("names"):
        return None
    found = f.items("names", n)
    if not all(isinstance(name, str) for name in found) or len(set(found)) < n:
        raise refuse(f.at("names"), "different texts", found)
    return np.array(found, dtype=object)


def _edf(f: Fields, model: Model) -> Sequence[Floats] | None:
    if not f.has("edf"):
        return None
    layout = model.layout
    sizes = [group.n_features for group in layout.groups]
    sizes += [group.n_pairs for group in layout.pairs]
    found = dict(zip(map(str, range(len(sizes))), f.items("edf", len(sizes)), strict=True))
    own = Fields(found, f.at("edf"), " ".join(found))
    return [own.array(str(k), (size,), finite=False) for k, size in enumerate(sizes)]


def _posteriors(f: Fields, model: Model) -> list[JointPosterior]:
    kept = [
        information_from(own, f"{f.at('information')}[{k}]", model.layout)
        for k, own in enumerate(f.items("information"))
    ]
    if kept and sum(own.n_outputs for own in kept) != model.n_outputs:
        raise refuse(f.at("information"), f"that of {model.n_outputs} outputs", len(kept))
    return joint_posteriors(model, kept)


FITTED = Codec(LEARNED, "terms_", fitted_plain, restore)
