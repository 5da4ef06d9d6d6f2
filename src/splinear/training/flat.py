"""Flat surfaces that `interactions="auto"` found are left out of the model.

"auto" takes pairs with little evidence as well, because REML flattens those without an effect (see
`splinear.training.interactions`). A surface with hardly any degrees of freedom is zero, but would
still be stored, listed and drawn.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from splinear.model.layout import Layout
from splinear.model.pairs import PairGroup
from splinear.model.varying import VaryingGroup
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Start
from splinear.solvers.reml.smoothness import LEAST_FREEDOM, SETTLED, Smoothness
from splinear.tables.table import Table
from splinear.terms.plan import FeaturePair
from splinear.training.set import TrainingSet

__all__ = ["without_flat"]

FLAT = SETTLED * LEAST_FREEDOM  # degrees of freedom, which REML settles no more accurately

Kept: TypeAlias = Sequence[NDArray[np.bool_]]  # of each group: whether its surfaces stay


def without_flat(
    data: TrainingSet, chosen: list[Smoothness]
) -> tuple[TrainingSet, list[Smoothness]]:
    """Return the training set and its smoothness without flat surfaces, if "auto" found them.

    The smoothness is that of each problem; a surface stays if it is not flat in all of them.
    """
    asked = data.interactions
    if asked is None or asked.n_more is not None:
        return data, chosen
    # If REML looked at a sample, all rows have more degrees of freedom, at most in proportion.
    n, pairs = len(data.rows.layout.groups), data.rows.layout.pairs
    kept = [_named(group, asked.given) for group in pairs]
    for one in chosen:
        growth = data.rows.n_rows / one.n_rows
        kept = [own | (growth * edf > FLAT) for own, edf in zip(kept, one.edf[n:], strict=True)]
    if all(own.all() for own in kept):
        return data, chosen
    rows = _restricted(data.rows, kept, asked.data.table)
    return data.with_rows(rows), [_with_surfaces(one, kept) for one in chosen]


def _named(group: PairGroup, given: Container[FeaturePair]) -> NDArray[np.bool_]:
    """Return whether the user named each surface, (n_pairs,)."""
    if isinstance(group, VaryingGroup):
        return np.ones(1, dtype=bool)
    pairs = np.sort(group.features, axis=1).tolist()
    return np.array([(j, k) in given for j, k in pairs])


def _restricted(rows: TrainingRows, kept: Kept, table: Table) -> TrainingRows:
    """Return the rows with some of their surfaces."""
    groups = _some(rows.layout.pairs, kept)
    if not groups:
        return rows.without_pairs()
    return rows.with_pairs(rows.layout.with_pairs(groups), rows.placed(groups, table))


def _with_surfaces(chosen: Smoothness, kept: Kept) -> Smoothness:
    """Return the smoothness of a model with some of its surfaces."""
    n, places = len(chosen.layout.groups), _places(chosen.layout, kept)
    edf = [own[there] for own, there in zip(chosen.edf[n:], kept, strict=True) if there.any()]
    return replace(
        chosen,
        layout=chosen.layout.with_pairs(_some(chosen.layout.pairs, kept)),
        edf=(*chosen.edf[:n], *edf),
        starts=[
            Start(None if start.coef is None else start.coef[..., places], start.intercept)
            for start in chosen.starts
        ],
    )


def _some(groups: Sequence[PairGroup], kept: Kept) -> tuple[PairGroup, ...]:
    """Return groups with the surfaces that stay; those without any are left out."""
    both = zip(groups, kept, strict=True)
    return tuple(group.of_features(np.flatnonzero(own)) for group, own in both if own.any())


def _places(layout: Layout, kept: Kept) -> NDArray[np.intp]:
    """Return the indices of the parameters that stay."""
    of_curves = np.ones(layout.n_of_curves, dtype=bool)
    both = zip(layout.pairs, kept, strict=True)
    return np.flatnonzero(
        np.concatenate([of_curves, *(np.repeat(own, group.size) for group, own in both)])
    )
