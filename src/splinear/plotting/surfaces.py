"""From a model and data to the surface of one panel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.adding import InMemory, column_of
from splinear.inspection.curves import check_n_points
from splinear.model.fitted import FittedPair
from splinear.plotting.panels import MOST_CELLS, cells
from splinear.plotting.scales import LINEAR, Scale, choose_scale, value_names
from splinear.plotting.style import room
from splinear.terms.axes import steps
from splinear.terms.pair_group import Chain

__all__ = ["Side", "Surface", "make_surface"]

_FEW_VALUES = 6  # of a numeric feature that is drawn as if they were levels
_FEW_APART = 12  # of one whose values are no consecutive whole numbers
_MOST_WHOLE = 100  # whole numbers that have a cell each
_DISCRETE = 24  # whole numbers, or fewer, between which there is nothing to be seen
_LEAST_REACH, _MOST_REACH = 0.04, 0.15  # the share of an axis within which rows count as near
_TAIL = 0.005  # the share of rows beyond either end of the view, if the tail is long
_LONG = 0.25  # of a tail, in widths of the view without it
_SEEN = 0.5  # the least support of what counts as supported
_COLORED = 0.995  # the share of rows whose effects are within the scale of colors

Places: TypeAlias = NDArray[np.intp]  # the cells in which rows lie, -1 for none


@dataclass(frozen=True)
class Side:
    """One of the two features of a surface, divided into cells.

    Attributes
    ----------
    name : str
    edges : ndarray of shape (n_cells + 1,)
        Between cells, but for that of missing values, along the axis: as `scale` places values;
        k - 0.5 and k + 0.5 for level k.
    values : ndarray of shape (n_cells,) or (n_cells + 1,)
        Where the surface is evaluated: numbers, or numbers of levels. NaN is a missing value, in
        the last place, if there were some in training.
    bins : ndarray of shape (n_bins + 1,)
        Along the axis, too.
    counts : ndarray of shape (n_bins,)
        Histogram of the data.
    levels : tuple of str
        Names of the cells of a category, or of a number of few values; empty for other numbers.
    n_hidden : int
        Levels that there was no room for, the rarest ones.
    n_missing : int
        Rows of the data in which the feature is missing.
    beyond : float
        The share of rows in long tails, which are not shown.
    scale : Scale
        How values are placed along the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.plotting import PairDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = AdditiveRegressor(interactions=[(0, 1)]).fit(X, X[:, 0] * X[:, 1])
    >>> display = PairDisplay.from_estimator(model, X, (0, 1))
    >>> display.surface.x.name
    'x0'
    """

    name: str
    edges: Floats
    values: Floats
    bins: Floats
    counts: Floats
    levels: tuple[str, ...] = ()
    n_hidden: int = 0
    n_missing: int = 0
    beyond: float = 0.0
    scale: Scale = LINEAR

    @property
    def has_missing(self) -> bool:
        """Whether the last cell is that of missing values."""
        return len(self.values) == len(self.edges)

    @property
    def is_discrete(self) -> bool:
        """Whether each cell is one of few values, so that there is nothing between two cells."""
        is_whole = self.scale.is_linear and _all_whole(self.middles)
        return bool(self.levels) or (is_whole and len(self.middles) <= _DISCRETE)

    @property
    def middles(self) -> Floats:
        """The middles of cells, but for that of missing values."""
        return np.asarray(0.5 * self.edges[1:] + 0.5 * self.edges[:-1])

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest number that is shown."""
        lo, hi = self.scale.inverse(self.edges[[0, -1]])
        return float(lo), float(hi)

    def places(self, column: Floats) -> Places:
        """Return the cells in which values (n,) lie, -1 for those that are not shown."""
        if self.levels:
            same = column[:, None] == self.values[: len(self.levels)]
            out = np.where(same.any(axis=1), same.argmax(axis=1), -1)
        else:
            at = self.scale.forward(column)
            out = np.searchsorted(self.edges, at, side="right") - 1
            out[at == self.edges[-1]] -= 1
            out[(at < self.edges[0]) | (at > self.edges[-1])] = -1
        out[np.isnan(column)] = len(self.edges) - 1 if self.has_missing else -1
        return out

    def nearness(self, reach: float) -> Floats:
        """Return how near cells are to each other, from 0 to 1; levels are far from all others.

        Cells of numbers that are `reach` apart, as a share of the axis, are at 0.
        """
        n = len(self.edges) - 1
        out = np.eye(len(self.values))
        if not self.levels:
            apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / n
            out[:n, :n] = np.maximum(0.0, 1.0 - (apart / reach) ** 2) ** 2
        return out


@dataclass(frozen=True)
class Surface:
    """One heat map: what two features add together beyond what each adds alone.

    Attributes
    ----------
    x, z : Side
        The features along the horizontal and the vertical axis.
    f : ndarray of shape (n_x, n_z)
        The surface at `x.values` and `z.values`.
    support : ndarray of shape (n_x, n_z)
        1 - exp(-n), n being the number of rows near: 0 where there are none.
    height : float
        ``|f|`` of the deepest colors: that of 99.5 % of the rows is lower.
    share : float
        The surface's part of the sum of all importances, from 0 to 1.
    of : str
        The class whose surface it is, if there are several in a figure.
    unclear : ndarray of shape (n_x, n_z) or None
        Where the 95 % band of the surface contains 0; None: it is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.plotting import PairDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = AdditiveRegressor(interactions=[(0, 1)]).fit(X, X[:, 0] * X[:, 1])
    >>> display = PairDisplay.from_estimator(model, X, (0, 1))
    >>> display.surface.x.name, display.surface.z.name
    ('x0', 'x1')
    """

    x: Side
    z: Side
    f: Floats
    support: Floats
    height: float
    share: float
    of: str = ""
    unclear: NDArray[np.bool_] | None = None

    @property
    def name(self) -> str:
        """The names of both features, with a cross between; of several classes, whose it is."""
        both = f"{self.x.name} \N{MULTIPLICATION SIGN} {self.z.name}"
        return f"{both}: {self.of}" if self.of else both

    @property
    def hatched(self) -> NDArray[np.bool_]:
        """Where rows lie near, and it is unclear whether there is an effect; nowhere of levels."""
        if self.unclear is None or self.x.levels or self.z.levels:
            return np.zeros(self.f.shape, dtype=bool)
        return np.asarray(self.unclear & self.supported)

    @property
    def supported(self) -> NDArray[np.bool_]:
        """Where rows lie near enough for the surface to be believed."""
        return self.support >= _SEEN


def make_surface(
    estimator: AdditiveEstimator,
    pair: FittedPair,
    table: InMemory,
    names: Sequence[str],
    *,
    horizontal: int,
    output: int,
    share: float,
    n_points: int,
    most_levels: int,
    booleans: Collection[int],
    of: str = "",
) -> Surface:
    """Compute what the panel of a pair shows, given X as numbers and the names of all features.

    `horizontal` is the feature along that axis, and `booleans` are those that hold True and False.
    """
    columns, sides = [], []
    for j, chain, levels in zip(pair.features, pair.chains, pair.levels, strict=True):
        column = column_of(table, j).astype(np.float64)
        if levels is None:
            column, side = _numbers(chain, column, names[j], check_n_points(n_points))
            side = _of_booleans(side) if j in booleans else side
        else:
            curve = estimator.terms_.of_feature(j)
            is_ordered = curve is not None and not curve.group.is_diagonal
            side = _levels(chain, levels, column, names[j], most_levels, is_ordered)
        columns.append(column)
        sides.append(side)
    first, second = sides
    shape = len(first.values), len(second.values)
    at = np.repeat(first.values, shape[1]), np.tile(second.values, shape[0])
    f = pair.evaluate(*at)[:, output].reshape(shape)
    counts = _counts(first, second, columns)
    height = _height(f, counts)
    support = _support(first, second, counts)
    if horizontal != pair.features[0]:
        return Surface(second, first, f.T, support.T, height, share, of)
    return Surface(first, second, f, support, height, share, of)


def _counts(first: Side, second: Side, columns: list[Floats]) -> Floats:
    """Return the number of rows in every cell."""
    j, k = first.places(columns[0]), second.places(columns[1])
    shown = (j >= 0) & (k >= 0)
    shape = len(first.values), len(second.values)
    counts = np.bincount(j[shown] * shape[1] + k[shown], minlength=shape[0] * shape[1])
    return counts.reshape(shape).astype(np.float64)


def _support(first: Side, second: Side, counts: Floats) -> Floats:
    """Return 1 - exp(-n), n being the number of rows near each cell.

    Of rows spread evenly about three would be near each place, unless there are very many.
    """
    reach = float(np.clip(1.6 / np.sqrt(max(counts.sum(), 1.0)), _LEAST_REACH, _MOST_REACH))
    near = first.nearness(reach) @ counts @ second.nearness(reach).T
    return np.asarray(-np.expm1(-near))


def _height(f: Floats, counts: Floats) -> float:
    """Return what |f| of nearly all rows is lower than, or all |f| if there are no rows."""
    heights = np.abs(f).ravel()
    order = np.argsort(heights)
    below = np.cumsum(counts.ravel()[order])
    return float(heights[order[np.searchsorted(below, _COLORED * below[-1])]])


def _numbers(chain: Chain, column: Floats, name: str, n_points: int) -> tuple[Floats, Side]:
    """Divide the range of a numeric feature into equal cells, or one for each whole number.

    Values of X beyond the range of training count as its ends, and are returned so.
    """
    knots = chain.knots
    assert knots is not None
    column = np.clip(column, knots[0], knots[-1])
    there = column[~np.isnan(column)]
    missing = np.full(int(chain.has_missing), np.nan)
    n_missing = len(column) - len(there)
    are_apart = bool((np.diff(knots) != 1.0).any())
    few = _FEW_APART if are_apart or not _all_whole(knots) else _FEW_VALUES
    if len(knots) <= few and np.isin(there, knots).all():
        edges, labels = np.arange(len(knots) + 1.0) - 0.5, tuple(value_names(knots.tolist()))
        counts = (there[:, None] == knots).sum(axis=0).astype(float)
        values = np.append(knots, missing)
        return column, Side(name, edges, values, edges, counts, labels, n_missing=n_missing)
    scale, lo, hi = _view(knots, there)
    edges, bins = _divided(scale, there, lo, hi, n_points)
    return column, Side(
        name,
        edges,
        np.append(np.clip(scale.inverse(0.5 * edges[1:] + 0.5 * edges[:-1]), lo, hi), missing),
        bins,
        np.histogram(scale.forward(there), bins)[0].astype(float),
        n_missing=n_missing,
        beyond=float(np.mean((there < lo) | (there > hi))) if len(there) else 0.0,
        scale=scale,
    )


def _all_whole(values: Floats) -> bool:
    return bool((values == np.round(values)).all())


def _of_booleans(side: Side) -> Side:
    """Return the side of a feature that holds True and False with these as names of its cells."""
    return replace(side, levels=("False", "True")) if side.levels == ("0", "1") else side


def _divided(
    scale: Scale, values: Floats, lo: float, hi: float, n_points: int
) -> tuple[Floats, Floats]:
    """Return the edges of the cells from lo to hi and of the bins of a histogram, on the axis."""
    if not scale.is_linear:
        ends = scale.forward(np.array([lo, hi]))
        left, right = map(float, ends)
        return np.linspace(left, right, n_points + 1), np.linspace(left, right, MOST_CELLS + 1)
    bins = cells(values[(values >= lo) & (values <= hi)], np.array([lo, hi]))
    if len(values) and _all_whole(values) and hi - lo < _MOST_WHOLE:
        return np.arange(np.ceil(lo) - 0.5, np.floor(hi) + 1.0), bins
    return steps(lo, hi, n_points + 1), bins


def _view(knots: Floats, values: Floats) -> tuple[Scale, float, float]:
    """Return the axis and the range that is shown.

    Long tails of few rows are cut off; if that does not help, the axis shows them.
    """
    lo, hi = _without_tails(knots, values)
    if choose_scale(values[(values >= lo) & (values <= hi)], lo, hi).is_linear:
        return LINEAR, lo, hi
    lo, hi = float(knots[0]), float(knots[-1])
    return choose_scale(values, lo, hi), lo, hi


def _without_tails(knots: Floats, values: Floats) -> tuple[float, float]:
    """Return the range of training, long tails of few rows cut off."""
    lo, hi = float(knots[0]), float(knots[-1])
    if not lo < hi:
        return lo - room(lo) / 2, lo + room(lo) / 2
    if not len(values):
        return lo, hi
    left, right = (float(q) for q in np.quantile(values, [_TAIL, 1.0 - _TAIL]))
    long = _LONG * (right - left)
    if not long > 0.0:
        return lo, hi
    return (left if left - lo > long else lo), (right if hi - right > long else hi)


def _levels(
    chain: Chain,
    levels: tuple[object, ...],
    codes: Floats,
    name: str,
    most: int,
    own_order: bool,
) -> Side:
    """Make a cell for each of the most frequent levels, in the order of their effects."""
    assert chain.node_of_level is not None
    known = codes[codes >= 0].astype(np.intp)
    counts = np.bincount(known, minlength=len(levels))[: len(levels)].astype(float)
    shown = np.sort(np.argsort(-counts, kind="stable")[:most])
    if not own_order:
        shown = shown[np.argsort(chain.node_of_level[shown], kind="stable")]
    edges = np.arange(len(shown) + 1.0) - 0.5
    missing = np.full(int(chain.has_missing), np.nan)
    return Side(
        name,
        edges,
        np.append(shown.astype(float), missing),
        edges,
        counts[shown],
        levels=tuple(str(levels[k]) for k in shown),
        n_hidden=len(levels) - len(shown),
        n_missing=int(np.count_nonzero(np.isnan(codes))),
    )
