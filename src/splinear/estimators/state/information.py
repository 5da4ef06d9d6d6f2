"""The Fisher information of a model as plain data, from which bands are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

import numpy as np

from splinear.estimators.state.checking import Fields, Plain, plain_array
from splinear.model.information import Information, Thinned
from splinear.model.layout import Layout
from splinear.model.scatter import Scatter

__all__ = ["information_from", "information_plain"]

MOST_NUMBERS = 2**28  # entries of a group's thinning matrix, which is made when bands are computed

ARRAYS = ("ties", "totals", "coupling", "slopes", "pair_slopes")


def information_plain(kept: Information) -> Plain:
    """Return the information of one problem as plain data."""
    return {
        "blocks": [[plain_array(block) for block in of_output] for of_output in kept.blocks],
        "pair_blocks": [[plain_array(block) for block in own] for own in kept.pair_blocks],
        **{name: plain_array(getattr(kept, name)) for name in ARRAYS},
        "factors": None if kept.factors is None else [int(factor) for factor in kept.factors],
        "n_rows": int(kept.n_rows),
        "n_coupled": int(kept.n_coupled),
        "scatter": asdict(kept.scatter),
        **({} if kept.shared is None else {"shared": plain_array(kept.shared)}),
    }


def information_from(data: object, where: str, layout: Layout) -> Information:
    """Return the information of a problem with this layout from plain data."""
    has_shared = isinstance(data, dict) and "shared" in data
    f = Fields(
        data,
        where,
        "blocks ties totals coupling slopes factors n_rows n_coupled scatter pair_blocks "
        "pair_slopes" + " shared" * has_shared,
    )
    shapes = [group.block_shape for group in layout.groups]
    blocks = [
        _blocks(own, f"{f.at('blocks')}[{k}]", shapes) for k, own in enumerate(f.items("blocks"))
    ]
    n, n_parameters = len(blocks), layout.n_of_curves
    if n == 0:
        raise ValueError(f"{f.at('blocks')}: there is no output.")
    factors = _factors(f, layout) if f.has("factors") else None
    shared = f.array("shared", (None, None)) if has_shared else None
    if shared is not None and (n > 1 or len(shared) != shared.shape[1] or not len(shared)):
        raise ValueError(f"{f.at('shared')}: a square matrix is needed, for one output.")
    of_pairs = [group.block_shape for group in layout.pairs]
    return Information(
        blocks=blocks,
        ties=f.array("ties", (n, n_parameters)),
        totals=f.positive("totals", (n,)),
        factors=factors,
        coupling=f.array(
            "coupling", (_n_coupled(layout, factors, n, 1 if shared is None else len(shared)),)
        ),
        n_rows=f.integer("n_rows", 1),
        n_coupled=f.integer("n_coupled", 1),
        slopes=f.array("slopes", (n, n_parameters)),
        scatter=_scatter(f),
        pair_blocks=[
            _blocks(own, f"{f.at('pair_blocks')}[{k}]", of_pairs)
            for k, own in enumerate(f.items("pair_blocks", n))
        ],
        pair_slopes=f.array("pair_slopes", (n, layout.n_parameters - n_parameters)),
        shared=shared,
    )


def _scatter(f: Fields) -> Scatter:
    """Return the sums that the dispersion is estimated from; none of them is negative."""
    names = [one.name for one in fields(Scatter)]
    own = f.fields("scatter", " ".join(names))
    numbers = {name: own.number(name) for name in names if name != "is_likelihood"}
    for name, number in numbers.items():
        if number < 0.0:
            raise ValueError(f"{own.at(name)}: {number} is below 0.")
    return Scatter(**numbers, is_likelihood=own.flag("is_likelihood"))


def _blocks(data: object, where: str, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    names = " ".join(f"group{g}" for g in range(len(shapes)))
    named = {f"group{g}": own for g, own in enumerate(data)} if isinstance(data, list) else data
    f = Fields(named, where, names)
    return [f.array(f"group{g}", shape) for g, shape in enumerate(shapes)]


def _factors(f: Fields, layout: Layout) -> tuple[int, ...]:
    """Return the thinning factor of each group; raise if its matrix would be too large."""
    found = f.items("factors", len(layout.groups))
    for factor, group in zip(found, layout.groups, strict=True):
        if type(factor) is not int or not 1 <= factor <= group.size:
            raise ValueError(f"{f.at('factors')}: {factor!r} is not from 1 to {group.size}.")
        if group.size * ((group.size - 1) // factor + 2) > MOST_NUMBERS:
            raise ValueError(f"{f.at('factors')}: too large a matrix for {group.size} functions.")
    return tuple(found)  # type: ignore[arg-type]


def _n_coupled(layout: Layout, factors: tuple[int, ...] | None, n_outputs: int, n_ends: int) -> int:
    """Return the number of entries in the upper triangle of the thinned terms' matrix."""
    if factors is None:
        return 0
    n = n_outputs * (Thinned(layout, factors).n_reached + n_ends)
    return n * (n + 1) // 2
