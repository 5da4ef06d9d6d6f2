"""Groups of curves and surfaces, their layout, and the model as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from splinear._types import Floats
from splinear.estimators.state.checking import Fields, Plain, plain_array
from splinear.estimators.state.curves import (
    embedding_from,
    embedding_plain,
    penalty_from,
    penalty_plain,
)
from splinear.model.additive import Model
from splinear.model.layout import Layout
from splinear.objective.running import one_blas_thread
from splinear.terms.basis import BSplineBasis
from splinear.terms.form import Form
from splinear.terms.group import Extrapolation, TermGroup
from splinear.terms.pair_group import Chain, PairGroup, chains_of
from splinear.terms.parts import Parts
from splinear.terms.varying_group import VaryingGroup

__all__ = ["model_from", "model_plain"]

Levels = Mapping[int, tuple[object, ...]]  # the levels of each categorical feature

PARTS = "bends bend_variance line line_variance"
MOST_NODES = 66  # upper bound per feature of a pair, which has at most 63 bins


def model_plain(model: Model) -> Plain:
    """Return a model as plain data, without levels, which are stored with the columns."""
    chains = chains_of(model.layout.pairs)
    place = {id(chain): k for k, chain in enumerate(chains)}
    return {
        "groups": [_group_plain(group) for group in model.layout.groups],
        "chains": [_chain_plain(chain) for chain in chains],
        "pairs": [_pairs_plain(group, place) for group in model.layout.pairs],
        "parameters": plain_array(model.parameters),
        "intercept": plain_array(model.intercept),
        "priors": [_prior_plain(layout) for layout in model.layouts] or None,
    }


def model_from(data: object, where: str, n_columns: int, levels: Levels) -> Model:
    """Return the model of `n_columns` columns from plain data."""
    f = Fields(data, where, "groups chains pairs parameters intercept priors")
    groups = tuple(
        _group_from(own, f"{f.at('groups')}[{k}]", n_columns, levels)
        for k, own in enumerate(f.items("groups"))
    )
    _check_features(groups, levels, f.at("groups"))
    chains = [
        _chain_from(own, f"{f.at('chains')}[{k}]", n_columns, levels)
        for k, own in enumerate(f.items("chains"))
    ]
    pairs = tuple(
        _varying_from(own, f"{f.at('pairs')}[{k}]", chains, n_columns, levels)
        if isinstance(own, dict) and "curve" in own
        else _pairs_from(own, f"{f.at('pairs')}[{k}]", chains)
        for k, own in enumerate(f.items("pairs"))
    )
    layout = Layout(groups, n_columns, pairs)
    intercept = f.array("intercept", (None,))
    if not len(intercept):
        raise ValueError(f"{f.at('intercept')}: there is no output.")
    parameters = f.array("parameters", (len(intercept), layout.n_parameters))
    layouts: tuple[Layout, ...] = ()
    if f.has("priors"):
        layouts = tuple(
            _with_prior(layout, own, f"{f.at('priors')}[{k}]")
            for k, own in enumerate(f.items("priors", len(intercept)))
        )
    return Model(layout, parameters, intercept, layouts)


def _prior_plain(layout: Layout) -> Plain:
    """Return what the layout of one problem does not share with those of others."""
    return {
        "groups": [_prior_of_group(group) for group in layout.groups],
        "pairs": [
            _prior_of_group(pair.curve)
            if isinstance(pair, VaryingGroup)
            else {"variance": plain_array(pair.variance), "edges": _maybe(pair.edges)}
            for pair in layout.pairs
        ],
    }


def _prior_of_group(group: TermGroup) -> Plain:
    return {
        "penalty": penalty_plain(group.embedding.penalty),
        "variance": plain_array(group.embedding.variance),
        "missing_variance": plain_array(group.missing_variance),
        "edges": _maybe(group.edges),
        "parts": None if group.parts is None else _parts_plain(group.parts),
    }


def _with_prior(layout: Layout, data: object, where: str) -> Layout:
    """Return a layout with the prior of one problem, from plain data."""
    f, groups, pairs = Fields(data, where, "groups pairs"), [], list[PairGroup]()
    items = f.items("groups", len(layout.groups))
    for k, (group, item) in enumerate(zip(layout.groups, items, strict=True)):
        groups.append(_group_with_prior(group, item, f"{f.at('groups')}[{k}]"))
    items = f.items("pairs", len(layout.pairs))
    for k, (pair, item) in enumerate(zip(layout.pairs, items, strict=True)):
        if isinstance(pair, VaryingGroup):
            curve = _group_with_prior(pair.curve, item, f"{f.at('pairs')}[{k}]")
            pairs.append(pair.with_curve(curve))
            continue
        own = Fields(item, f"{f.at('pairs')}[{k}]", "variance edges")
        edges = own.positive("edges", pair.shape) if own.has("edges") else None
        pairs.append(pair.with_variance(own.positive("variance", (pair.n_pairs,)), edges))
    return layout.with_groups(groups).with_pairs(pairs)


def _group_with_prior(group: TermGroup, data: object, where: str) -> TermGroup:
    own = Fields(data, where, "penalty variance missing_variance edges parts")
    n, size = group.n_features, group.size
    embedding = replace(
        group.embedding,
        penalty=penalty_from(own.get("penalty"), own.at("penalty"), size),
        variance=own.positive("variance", (n,)),
    )
    return replace(
        group,
        embedding=embedding,
        missing_variance=own.positive("missing_variance", (n,)),
        edges=own.positive("edges", (n, size)) if own.has("edges") else None,
        parts=_parts_from(own.fields("parts", PARTS), n, size) if own.has("parts") else None,
    )


def _check_features(groups: tuple[TermGroup, ...], levels: Levels, where: str) -> None:
    """Raise if a feature has two curves, or a categorical feature has a numeric curve."""
    none = np.zeros(0, dtype=np.intp)
    features = np.concatenate([none, *(group.features for group in groups)])
    if len(np.unique(features)) < len(features):
        raise ValueError(f"{where}: there is a feature with two curves.")
    of_numbers = [group.features for group in groups if group.levels is None]
    if set(np.concatenate([none, *of_numbers]).tolist()) & set(levels):
        raise ValueError(f"{where}: there is a category with a curve of numbers.")


# -- curves ----------------------------------------------------------------------------------------


def _group_plain(group: TermGroup) -> Plain:
    form = group.form
    return {
        "kind": group.kind,
        "features": plain_array(group.features, np.int64),
        "embedding": embedding_plain(group.embedding),
        "has_gaps": group.has_gaps,
        "mean": plain_array(group.mean),
        "missing_variance": plain_array(group.missing_variance),
        "extrapolation": group.extrapolation.value,
        "edges": _maybe(group.edges),
        "parts": None if group.parts is None else _parts_plain(group.parts),
        "gap_share": _maybe(group.gap_share),
        "has_levels": group.levels is not None,
        "periods": _maybe(group.periods),
        "form": None if form is None else {"monotone": form.monotone, "curvature": form.curvature},
    }


def _parts_plain(parts: Parts) -> Plain:
    return {
        "bends": plain_array(parts.bends),
        "bend_variance": plain_array(parts.bend_variance),
        "line": plain_array(parts.line),
        "line_variance": plain_array(parts.line_variance),
    }


def _parts_from(f: Fields, n: int, size: int) -> Parts:
    return Parts(
        bends=f.array("bends", (n, size, 2)),
        bend_variance=f.positive("bend_variance", (n,)),
        line=f.positive("line", (n, size)),
        line_variance=f.positive("line_variance", (n,)),
    )


def _maybe(array: Floats | None) -> Plain:
    return None if array is None else plain_array(array)


def _group_from(data: object, where: str, n_columns: int, levels: Levels) -> TermGroup:
    f = Fields(
        data,
        where,
        "kind features embedding has_gaps mean missing_variance extrapolation edges parts "
        "gap_share has_levels periods form",
    )
    features = f.indices("features", (None,), n_columns)
    n = len(features)
    if not n:
        raise ValueError(f"{f.at('features')}: there is none.")
    embedding = embedding_from(f.get("embedding"), f.at("embedding"), n)
    size = embedding.basis.size
    return TermGroup(
        kind=f.text("kind"),
        features=features,
        embedding=embedding,
        has_gaps=f.flag("has_gaps"),
        mean=f.array("mean", (n, size)),
        missing_variance=f.positive("missing_variance", (n,)),
        extrapolation=Extrapolation(f.text("extrapolation", [how.value for how in Extrapolation])),
        edges=f.positive("edges", (n, size)) if f.has("edges") else None,
        parts=_parts_from(f.fields("parts", PARTS), n, size) if f.has("parts") else None,
        gap_share=_shares(f, n),
        levels=_levels(features.tolist(), levels, size, where) if f.flag("has_levels") else None,
        periods=_periods(f, n),
        form=_form(f.fields("form", "monotone curvature")) if f.has("form") else None,
    )


def _shares(f: Fields, n: int) -> Floats | None:
    if not f.has("gap_share"):
        return None
    if not f.flag("has_gaps"):
        raise ValueError(f"{f.at('gap_share')}: the group has no gaps.")
    return f.positive("gap_share", (n,))


def _periods(f: Fields, n: int) -> Floats | None:
    if not f.has("periods"):
        return None
    found = f.positive("periods", (n,))
    if not found.all():
        raise ValueError(f"{f.at('periods')}: there is a period of 0.")
    return found


def _form(f: Fields) -> Form:
    return Form(f.integer("monotone", -1, 1), f.integer("curvature", -1, 1))


def _levels(
    features: list[int], levels: Levels, size: int, where: str
) -> tuple[tuple[object, ...], ...]:
    found = []
    for j in features:
        if j not in levels or len(levels[j]) > size:
            raise ValueError(f"{where}: column {j} has no levels, or more than coefficients.")
        found.append(levels[j])
    return tuple(found)


# -- surfaces --------------------------------------------------------------------------------------


def _chain_plain(chain: Chain) -> Plain:
    nodes = chain.node_of_level
    return {
        "feature": int(chain.feature),
        "knots": _maybe(chain.knots),
        "node_of_level": None if nodes is None else plain_array(nodes, np.int64),
        "has_missing": bool(chain.has_missing),
    }


def _chain_from(data: object, where: str, n_columns: int, levels: Levels) -> Chain:
    f = Fields(data, where, "feature knots node_of_level has_missing")
    feature = f.integer("feature", 0, n_columns - 1)
    knots = nodes = None
    if feature in levels:
        n_levels = len(levels[feature])
        nodes = f.indices("node_of_level", (n_levels,), max(n_levels, 1))
    else:
        knots = f.array("knots", (None,))
        if (np.diff(knots) < 0).any():
            raise ValueError(f"{f.at('knots')}: knots do not ascend.")
    if f.has("knots") == f.has("node_of_level"):
        raise ValueError(f"{where}: a chain has either knots or levels.")
    found = Chain(feature, knots, nodes, f.flag("has_missing"))
    if not found.n_nodes:
        raise ValueError(f"{where}: there is no node.")
    return found


def _pairs_plain(group: PairGroup, place: dict[int, int]) -> Plain:
    chains = [[place[id(a)], place[id(b)]] for a, b in group.chains]
    if isinstance(group, VaryingGroup):
        return {
            "chains": plain_array(np.array(chains), np.int64),
            "mass": plain_array(group.mass),
            "deviation": _maybe(group.deviation),
            "curve": _group_plain(group.curve),
            "values": plain_array(group.values),
        }
    return {
        "chains": plain_array(np.array(chains).reshape(-1, 2), np.int64),
        "variance": plain_array(group.variance),
        "mass": plain_array(group.mass),
        "edges": _maybe(group.edges),
        "deviation": _maybe(group.deviation),
        "held": None if group.held is None else plain_array(group.held, np.int64),
    }


def _pairs_from(data: object, where: str, chains: list[Chain]) -> PairGroup:
    f = Fields(data, where, "chains variance mass edges deviation held")
    places = f.indices("chains", (None, 2), len(chains))
    pairs = tuple((chains[a], chains[b]) for a, b in places.tolist())
    n = len(pairs)
    if not n:
        raise ValueError(f"{f.at('chains')}: there is no pair.")
    shape = pairs[0][0].n_nodes, pairs[0][1].n_nodes
    if max(shape) > MOST_NODES:
        raise ValueError(f"{f.at('chains')}: {max(shape)} nodes, and not 1 to {MOST_NODES}.")
    for first, second in pairs:
        if (first.n_nodes, second.n_nodes) != shape or first.feature == second.feature:
            raise ValueError(f"{f.at('chains')}: pairs of different sizes, or of one feature.")
    group = PairGroup(
        chains=pairs,
        variance=f.positive("variance", (n,)),
        mass=f.positive("mass", (n, *shape)),
        edges=f.positive("edges", (n, shape[0] * shape[1])) if f.has("edges") else None,
        deviation=f.positive("deviation", (n,)) if f.has("deviation") else None,
        held=f.indices("held", (n,), 2).astype(bool) if f.has("held") else None,
    )
    # On one thread, as in fit: several threads may add in another order.
    with one_blas_thread(), suppress(np.linalg.LinAlgError):
        group.prepare_centering()
    return group


def _varying_from(
    data: object, where: str, chains: list[Chain], n_columns: int, levels: Levels
) -> VaryingGroup:
    f = Fields(data, where, "chains mass deviation curve values")
    [[a, b]] = f.indices("chains", (1, 2), len(chains)).tolist()
    first, second = chains[a], chains[b]
    curve = _group_from(f.get("curve"), f.at("curve"), n_columns, levels)
    basis, here = curve.embedding.basis, set(curve.features.tolist())
    is_known = isinstance(basis, BSplineBasis) and basis.degree <= 1
    if not is_known or here != {first.feature} or curve.stride != first.n_nodes:
        raise ValueError(f"{f.at('curve')}: these are not curves over the nodes of its chain.")
    if first.feature == second.feature or min(first.n_nodes, second.n_nodes) < 2:
        raise ValueError(f"{f.at('chains')}: a pair of one feature, or with a single node.")
    values = f.array("values", (second.n_nodes, curve.n_features))
    if second.knots is not None and (len(second.knots) != 2 or not np.ptp(values[:2, 0]) > 0):
        raise ValueError(f"{f.at('values')}: these are not the ends of a line.")
    group = VaryingGroup.between((first, second), curve, values)
    return replace(
        group,
        mass=f.positive("mass", group.mass.shape),
        deviation=f.positive("deviation", (1,)) if f.has("deviation") else None,
    )
