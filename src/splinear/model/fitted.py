"""The fitted terms of a model: the objects in `terms_`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, overload

import numpy as np

from splinear._caching import cached_property
from splinear._lookup import column_position
from splinear._types import AnyArray, Floats
from splinear.model.additive import Model
from splinear.model.layout import Layout
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import Extrapolation, TermGroup
from splinear.terms.pair_group import Chain, PairGroup, interpolated, surfaces
from splinear.terms.varying_group import VaryingGroup

Fitted: TypeAlias = "FittedTerm | FittedPair"

__all__ = ["Fitted", "FittedPair", "FittedTerm", "FittedTerms", "FittedVarying"]

BLOCK = 8192  # values evaluated per batch, which bounds the memory of the basis


@dataclass(frozen=True, eq=False)
class FittedPair:
    """The interaction of two features: what they add to the score beyond their two curves.

    It is a surface f(x, z), bilinear between nodes. Its mean over the training rows is 0, and so is
    its mean along either feature.

    Attributes
    ----------
    features : tuple of int
        Positions of its two features in X, in ascending order.
    name : str
        The names of both features, with a cross between them.
    coef : ndarray of shape (n_outputs, n_first, n_second)
        The values at the nodes of the first and of the second feature. If a feature had missing
        values, its last node stands for them.
    smoothness : float or ndarray of shape (n_labels,)
        t_p, the variance of the prior of the mixed differences, as that of curves.
    edf : float
        The effective degrees of freedom; NaN where the smoothness was not chosen from the data.
    """

    features: tuple[int, int]
    name: str
    coef: Floats
    smoothness: float | Floats
    edf: float
    chains: tuple[Chain, Chain]
    levels: tuple[tuple[object, ...] | None, tuple[object, ...] | None]
    group: PairGroup  # of this pair alone
    table: Floats  # (n_outputs, size) in the order of the group's chains

    kind = "Pair"

    @cached_property
    def mean(self) -> Floats:
        """The mean over the training rows, 0, shape (n_outputs,)."""
        return np.zeros(len(self.table))

    @property
    def deviation(self) -> float:
        """The standard deviation over the training rows, averaged over outputs."""
        return float("nan") if self.group.deviation is None else float(self.group.deviation[0])

    def evaluate(self, x: AnyArray, z: AnyArray) -> Floats:
        """Return f(x, z) for values (n,) of the two features, (n, n_outputs).

        Levels are given by their positions, -1 for an unseen one; NaN is a missing value.
        """
        of = {self.features[0]: x, self.features[1]: z}
        chains = self.group.chains[0]
        positions = np.stack([chain.positions(of[chain.feature]) for chain in chains])
        core = surfaces(positions, chains, (self.group,))
        return np.asarray(core.score(np.ascontiguousarray(self.table), 1).T)

    def __repr__(self) -> str:
        edf = "" if np.isnan(self.edf) else f", edf={self.edf:.1f}"
        sizes = " x ".join(map(str, self.coef.shape[1:]))
        return f"<{self.kind} of {self.name!r}: {sizes}{edf}>"


@dataclass(frozen=True, eq=False, repr=False)
class FittedVarying(FittedPair):
    """A varying coefficient: a slope, or a curve, that depends on another feature.

    It is a FittedPair whose surface is z f(x), with z centered, or one curve f(x) per level of z.
    Its mean over the training rows is 0. What `coef` holds for a number z are the values at both
    ends of its range.

    Attributes
    ----------
    of, by : int
        The positions in X of x and of z.
    curves : ndarray of shape (n_outputs, n_curves, n_nodes)
        The values of f at the nodes of x: the slope of z, in units of the score per unit of z, less
        its mean over the training rows; or those of each level's curve, less its mean over the rows
        of the level. If x had missing values, the last node stands for them. If z is a category and
        had missing values, the last curve stands for them.
    """

    group: VaryingGroup
    parameters: Floats  # (n_outputs, size)

    kind = "Varying"

    @property
    def of(self) -> int:
        """The position of x."""
        return self.group.of_column

    @property
    def by(self) -> int:
        """The position of z."""
        return self.group.by_column

    @cached_property
    def curves(self) -> Floats:
        """The values of the curves at the nodes of x."""
        F = self.group.values_of_curves(self.parameters[:, None])
        return np.asarray(F / self.group.unit)

    @property
    def levels_of_by(self) -> tuple[object, ...]:
        """The levels of z; empty if it is a number."""
        levels = self.levels[self.features.index(self.by)]
        return () if levels is None else levels

    def curves_at(self, x: AnyArray) -> Floats:
        """Return the curves at values (n,) of x, (n, n_curves, n_outputs); see `curves`.

        Levels are given by their positions; the result is 0 for an unseen one, and NaN is missing.
        """
        return interpolated(self.curves, self.group.chains[0][0].positions(x)).T


@dataclass(frozen=True, eq=False)
class FittedTerm:
    """What one feature adds to the score: f(x) = coef @ B(x).

    Attributes
    ----------
    kind : str
        "Spline", "Fourier", "Hermite", "Linear" or "Category".
    features : tuple of int
        Positions of its features in X.
    name : str
        The feature's name, or x0, x1, ... where X had none.
    at_missing : ndarray of shape (n_outputs,)
        What a missing value adds: the mean of the curve plus a learned deviation.
    mean : ndarray of shape (n_outputs,)
        The mean over the training rows, including those with missing values.
    smoothness : float or ndarray of shape (n_labels,)
        t_k, the variance of the prior under which the curve was learned: chosen from the data (for
        each label, if there are several), or C s^2 under a fixed C (s^2 in AdditiveSVC and
        AdditiveSVR); 0 for a constant feature. Where a curve is a line, steps and bends, it is the
        variance of steps.
    edf : float
        The effective degrees of freedom, as the choice of smoothness counts them: each output as if
        the others were known (:func:`~splinear.inspection.summary` takes all of them jointly). NaN
        where the smoothness was not chosen from the data.
    """

    kind: str
    features: tuple[int, ...]
    name: str
    at_missing: Floats
    mean: Floats
    smoothness: float | Floats
    edf: float
    group: TermGroup  # of this feature alone
    table: Floats  # (n_outputs, group.size): coef, and padding after it

    @property
    def coef(self) -> Floats:
        """The coefficients, (n_outputs, size): of the basis functions, or of the levels."""
        if self.levels is not None:
            return self.table[:, : len(self.levels)]
        return self.table[:, : self.group.embedding.n_reached[0]]

    @property
    def lo(self) -> float:
        """Lower end of the training range."""
        return float(self.group.embedding.axes.lo[0])

    @property
    def hi(self) -> float:
        """Upper end of the training range."""
        return float(self.group.embedding.axes.hi[0])

    @property
    def levels(self) -> tuple[object, ...] | None:
        """The levels of a category, in the order of `coef`."""
        return None if self.group.levels is None else self.group.levels[0]

    @property
    def had_missing(self) -> bool:
        """Whether there were missing values in fit."""
        return self.group.has_gaps

    @property
    def missing_share(self) -> float:
        """The share of missing values in fit, by weight."""
        return 0.0 if self.group.gap_share is None else float(self.group.gap_share[0])

    @property
    def knots(self) -> Floats:
        """The knots between the pieces of a curve, with both ends; empty if it is one piece."""
        axes, basis = self.group.embedding.axes, self.group.embedding.basis
        if self.levels is not None or not axes.varies[0]:
            return np.empty(0)
        in_pieces = isinstance(basis, BSplineBasis) or axes.knots_of(0) is not None
        return np.unique(axes.edges_of(0)) if in_pieces else np.empty(0)

    def evaluate(self, x: AnyArray) -> Floats:
        """Return f(x) for values (n,) of the feature, (n, n_outputs).

        Levels are given by their positions in `levels`, -1 for an unseen one; NaN is missing.
        """
        out = np.empty((len(x), len(self.table)))
        for start in range(0, len(x), BLOCK):
            block = slice(start, start + BLOCK)
            out[block] = self._evaluate(np.asarray(x[block], dtype=np.float64))
        return out

    def _evaluate(self, x: Floats) -> Floats:
        embedding = self.group.embedding
        missing, unseen = np.isnan(x), np.zeros(len(x), dtype=bool)
        if self.levels is not None:
            unseen = x < 0
        inside = np.where(missing | unseen, self.lo, x)
        if self.group.periods is not None:
            inside = inside % self.group.periods[0]
        f = embedding.basis.evaluate(embedding.axes.argument_of(inside, 0)) @ self.table.T
        if self.group.extrapolation is Extrapolation.LINEAR:
            f = f + embedding.continuation(inside, 0, self.table)
        f[missing] = self.at_missing
        f[unseen] = self.table @ self.group.mean[0]
        return np.asarray(f)

    def with_parameters(self, parameters: Floats) -> FittedTerm:
        """Return the term with other curves, given by parameters (n_curves, stride)."""
        group = self.group
        tables = group.with_gap_values(group.extended(parameters[:, None]))[:, 0]
        mean = group.means(parameters[:, None])[:, 0]
        return replace(self, at_missing=tables[:, -1], mean=mean, table=tables[:, :-1])

    def __repr__(self) -> str:
        edf = "" if np.isnan(self.edf) else f", edf={self.edf:.1f}"
        what = f"{len(self.levels)} levels" if self.levels is not None else f"size={self._size}"
        return f"<{self.kind} of {self.name!r}: {what}{edf}>"

    @property
    def _size(self) -> int:
        return int(self.coef.shape[1])

    @classmethod
    def of_curves(cls, term: FittedVarying, output: int) -> FittedTerm:
        """Return the curves of a varying coefficient as the outputs of a term of `of` alone."""
        one, F = term.group.curve.of_features(np.array([0])), term.curves[output]
        none = np.zeros(len(F))
        return cls(
            kind=term.kind,
            features=(term.of,),
            name=term.name,
            at_missing=F[:, -1] if one.has_gaps else none,
            mean=none,
            smoothness=term.smoothness,
            edf=term.edf,
            group=one,
            table=F[:, : one.size],
        )


class FittedTerms(Sequence[Fitted]):
    """The terms of a model: curves in the order of the columns, then surfaces.

    A position or the name of a column selects a term, ``terms_[0]`` or ``terms_["age"]``. Dropped
    features have no term. Items are created on access: a model of a sparse table may have 100,000
    of them.
    """

    def __init__(self, model: Model, names: AnyArray | None, edf: Sequence[Floats] | None) -> None:
        self._model, self._names = model, names
        self.group_edf = edf  # effective degrees of freedom per group of terms, or None
        groups = model.layout.groups
        none = np.zeros(0, dtype=np.intp)
        features = np.concatenate([none, *(group.features for group in groups)])
        self._order = np.argsort(features, kind="stable")
        sizes = [group.n_features for group in groups]
        self._group = np.repeat(np.arange(len(groups)), sizes)
        self._place = np.concatenate([none, *(np.arange(n) for n in sizes)])
        self._features = features
        pairs = enumerate(model.layout.pairs)
        of_pairs = [(*sorted(f), g, k) for g, own in pairs for k, f in enumerate(own.features)]
        self._pairs = sorted((int(a), int(b), g, k) for a, b, g, k in of_pairs)

    def __len__(self) -> int:
        return len(self._order) + len(self._pairs)

    @overload
    def __getitem__(self, index: int | str) -> Fitted: ...

    @overload
    def __getitem__(self, index: slice) -> list[Fitted]: ...

    def __getitem__(self, index: int | str | slice) -> Fitted | list[Fitted]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if isinstance(index, str):
            return self._make(self._curve_of(index))
        at = range(len(self))[index]
        if at < len(self._order):
            return self._make(int(self._order[at]))
        return self._make_pair(at - len(self._order))

    def _curve_of(self, name: str) -> int:
        """Return the index of a column's curve; raise a KeyError that lists the names."""
        try:
            j = column_position(
                name, self._model.layout.n_columns, self._names, f"There is no column {name!r}"
            )
        except ValueError as error:
            raise KeyError(str(error)) from None
        found = np.flatnonzero(self._features == j)
        if not len(found):
            raise KeyError(f"The column {name!r} has no term: it was dropped.")
        return int(found[0])

    @property
    def names(self) -> AnyArray | None:
        """The names of all columns; None if they have none."""
        return self._names

    def named(self, names: AnyArray) -> FittedTerms:
        """Return the terms with other names of columns."""
        return FittedTerms(self._model, names, self.group_edf)

    @property
    def curves(self) -> list[FittedTerm]:
        """All curves."""
        return [self._make(int(at)) for at in self._order]

    @property
    def pairs(self) -> list[FittedPair]:
        """All surfaces."""
        return [self._make_pair(at) for at in range(len(self._pairs))]

    def of_feature(self, feature: int) -> FittedTerm | None:
        """Return the curve of a column of X; None if it was dropped."""
        at = np.flatnonzero(self._features == feature)
        return self._make(int(at[0])) if len(at) else None

    def of_pair(self, first: int, second: int) -> FittedPair | None:
        """Return the surface over two columns of X, in any order; None if there is none."""
        wanted = (min(first, second), max(first, second))
        at = [k for k, (*features, _, _) in enumerate(self._pairs) if tuple(features) == wanted]
        return self._make_pair(at[0]) if at else None

    def _make(self, at: int) -> FittedTerm:
        g, k = int(self._group[at]), int(self._place[at])
        group, part = self._model.parts()[g]
        one = group.of_features(np.array([k]))
        tables = one.with_gap_values(part[:, [k]])[:, 0]
        feature = int(group.features[k])
        return FittedTerm(
            kind=group.kind,
            features=(feature,),
            name=self._name(feature),
            at_missing=_read_only(tables[:, -1]),
            mean=_read_only(one.means(part[:, [k]])[:, 0]),
            smoothness=_of_problems(
                [float(own.groups[g].embedding.variance[k]) for own in self._layouts]
            ),
            edf=float("nan") if self.group_edf is None else float(self.group_edf[g][k]),
            group=one,
            table=_read_only(tables[:, :-1]),
        )

    def _make_pair(self, at: int) -> FittedPair:
        j, other, g, k = self._pairs[at]
        group, part = self._model.pair_parts()[g]
        one = group.of_features(np.array([k]))
        table = one.tables(part[:, [k]])[:, 0]
        chains, coef = one.chains[0], table.reshape(-1, *one.n_nodes)
        if chains[0].feature != j:
            chains, coef = chains[::-1], np.swapaxes(coef, 1, 2)
        of = None if self.group_edf is None else self.group_edf[len(self._model.layout.groups) + g]
        found = {
            "features": (j, other),
            "name": f"{self._name(j)} \N{MULTIPLICATION SIGN} {self._name(other)}",
            "coef": _read_only(coef),
            "smoothness": _of_problems([float(own.pairs[g].variance[k]) for own in self._layouts]),
            "edf": float("nan") if of is None else float(of[k]),
            "chains": chains,
            "levels": (self._levels(j), self._levels(other)),
            "table": _read_only(table),
        }
        if isinstance(one, VaryingGroup):
            return FittedVarying(**found, group=one, parameters=_read_only(part[:, k]))
        return FittedPair(**found, group=one)

    @property
    def _layouts(self) -> tuple[Layout, ...]:
        """The layouts of all problems, or the one of all."""
        return self._model.layouts or (self._model.layout,)

    def _name(self, feature: int) -> str:
        return f"x{feature}" if self._names is None else str(self._names[feature])

    def _levels(self, feature: int) -> tuple[object, ...] | None:
        curve = self.of_feature(feature)
        return None if curve is None else curve.levels

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        return f"[{shown}{f', ... ({len(self)} terms)' if len(self) > 5 else ''}]"


def _of_problems(values: list[float]) -> float | Floats:
    """Return the number of a single problem, or those of several."""
    return values[0] if len(values) == 1 else _read_only(np.array(values))


def _read_only(array: Floats) -> Floats:
    out = np.array(array)
    out.flags.writeable = False
    return out
