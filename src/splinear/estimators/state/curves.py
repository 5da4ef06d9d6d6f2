"""Axes, bases, penalties and embeddings as plain data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.estimators.state.checking import (
    Fields,
    Plain,
    no_plain_form,
    plain_array,
    refuse,
)
from splinear.penalties import (
    MAX_ORDER,
    DiagonalPenalty,
    DifferencePenalty,
    MatrixPenalty,
    Penalty,
)
from splinear.terms.axes import Axes
from splinear.terms.basis import (
    MAX_FREQUENCIES,
    MAX_HERMITE,
    Basis,
    BSplineBasis,
    FourierBasis,
    HermiteBasis,
    SampledBasis,
)
from splinear.terms.embedding import Embedding

__all__ = ["embedding_from", "embedding_plain"]

MOST_LEVELS = 2**31 - 2  # levels of a category, whose codes have 32 bits


class StoredBasis(SampledBasis):
    """A user's own basis, read back from a file: it is known by its sampled values only."""

    def __init__(self, values: Floats, names: list[str]) -> None:
        self._values, self.n_cells = values, len(values) - 1
        self._names = names

    @property
    def size(self) -> int:
        """Number of functions."""
        return int(self._values.shape[1])

    def names(self) -> list[str]:
        """Return suffixes for the names of the embedded features."""
        return self._names


def embedding_plain(embedding: Embedding) -> Plain:
    """Return an embedding as plain data."""
    return {
        "basis": _basis_plain(embedding.basis),
        "axes": _axes_plain(embedding.axes),
        "penalty": penalty_plain(embedding.penalty),
        "variance": plain_array(embedding.variance),
        "through_zero": embedding.through_zero,
    }


def embedding_from(data: object, where: str, n_features: int) -> Embedding:
    """Return the embedding of `n_features` features from plain data."""
    f = Fields(data, where, "basis axes penalty variance through_zero")
    basis = _basis_from(f.get("basis"), f.at("basis"))
    return Embedding(
        axes=_axes_from(f.get("axes"), f.at("axes"), n_features, basis),
        basis=basis,
        penalty=penalty_from(f.get("penalty"), f.at("penalty"), basis.size),
        variance=f.positive("variance", (n_features,)),
        through_zero=f.flag("through_zero"),
    )


# -- axes ------------------------------------------------------------------------------------------


def _axes_plain(axes: Axes) -> Plain:
    ends = {name: plain_array(getattr(axes, name)) for name in ("lo", "hi", "first", "last")}
    return {**ends, "knots": None if axes.knots is None else plain_array(axes.knots)}


def _axes_from(data: object, where: str, n: int, basis: Basis) -> Axes:
    f = Fields(data, where, "lo hi first last knots")
    lo, hi, first, last = (f.array(name, (n,)) for name in ("lo", "hi", "first", "last"))
    if (lo > hi).any() or (first > last).any():
        raise ValueError(f"{where}: there is a range that ends before it begins.")
    if isinstance(basis, BSplineBasis) and ((first != 0) | (last > basis.n_bins)).any():
        raise ValueError(f"{where}: there is an axis that is longer than its basis.")
    knots = None
    if f.has("knots"):
        knots = f.array("knots", (n, None), finite=False)
        _check_knots(knots, lo, hi, f.at("knots"))
    return Axes(lo, hi, first, last, knots)


def _check_knots(knots: Floats, lo: Floats, hi: Floats, where: str) -> None:
    """Raise unless knots ascend from lo to hi, followed by nothing but NaN."""
    there = ~np.isnan(knots)
    if np.isinf(knots).any() or (there[:, 1:] & ~there[:, :-1]).any():
        raise ValueError(f"{where}: there is a knot behind a missing one, or an infinite one.")
    with np.errstate(invalid="ignore"):
        falls = (knots[:, 1:] < knots[:, :-1]).any()
    n_knots = there.sum(axis=1)
    some = np.flatnonzero((n_knots > 0) & (lo < hi))
    ends = knots[some, 0] != lo[some], knots[some, n_knots[some] - 1] != hi[some]
    if falls or (n_knots[some] < 2).any() or ends[0].any() or ends[1].any():
        raise ValueError(f"{where}: there are knots that do not ascend from one end to the other.")


# -- bases -----------------------------------------------------------------------------------------


def _basis_plain(basis: Basis) -> Plain:
    if type(basis) is BSplineBasis:
        return {"kind": "bspline", "degree": basis.degree, "n_bins": basis.n_bins}
    if type(basis) is FourierBasis:
        return {"kind": "fourier", "degree": basis.degree}
    if type(basis) is HermiteBasis:
        return {"kind": "hermite", "degree": basis.degree}
    if isinstance(basis, SampledBasis):
        names: list[Plain] = list(basis.names())
        return {"kind": "sampled", "values": plain_array(basis._values), "names": names}
    raise no_plain_form(basis)


def _basis_from(data: object, where: str) -> Basis:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _BASES:
        raise refuse(where, f"a basis of one of the kinds {list(_BASES)}", kind)
    return _BASES[kind](data, where)


def _bspline(data: object, where: str) -> Basis:
    f = Fields(data, where, "kind degree n_bins")
    return BSplineBasis(f.integer("degree", 0, 3), f.integer("n_bins", 1, MOST_LEVELS))


def _sampled(data: object, where: str) -> Basis:
    f = Fields(data, where, "kind values names")
    values = f.array("values", (None, None))
    if len(values) < 2 or not values.shape[1]:
        raise ValueError(f"{where}: there are no values.")
    names = [str(name) for name in f.items("names", values.shape[1])]
    return StoredBasis(values, names)


def _series(family: Callable[[int], Basis], most: int) -> Callable[[object, str], Basis]:
    def read(data: object, where: str) -> Basis:
        return family(Fields(data, where, "kind degree").integer("degree", 1, most))

    return read


_BASES: dict[str, Callable[[object, str], Basis]] = {
    "bspline": _bspline,
    "fourier": _series(FourierBasis, MAX_FREQUENCIES),
    "hermite": _series(HermiteBasis, MAX_HERMITE),
    "sampled": _sampled,
}


# -- penalties -------------------------------------------------------------------------------------


def penalty_plain(penalty: Penalty) -> Plain:
    if type(penalty) is DifferencePenalty:
        return {"kind": "differences", "order": penalty.order, "held": penalty.held}
    if type(penalty) is DiagonalPenalty:
        return {"kind": "diagonal", "weights": plain_array(penalty.weights)}
    if type(penalty) is MatrixPenalty:
        return {"kind": "matrix", "matrix": plain_array(penalty.matrix)}
    raise no_plain_form(penalty)


def penalty_from(data: object, where: str, size: int) -> Penalty:
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "differences":
        f = Fields(data, where, "kind order held")
        return DifferencePenalty(f.integer("order", 0, MAX_ORDER), size, f.integer("held", 0, size))
    if kind == "diagonal":
        return DiagonalPenalty(Fields(data, where, "kind weights").positive("weights", (size,)))
    if kind == "matrix":
        matrix: AnyArray = Fields(data, where, "kind matrix").array("matrix", (size, size))
        return MatrixPenalty(matrix)
    raise refuse(where, "a penalty of differences, diagonal or matrix", kind)
