"""A group of terms with the same basis, penalty and number of coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._caching import cached_property, sharing
from splinear._types import AnyArray, Floats
from splinear.penalties import DifferencePenalty
from splinear.terms.embedding import Embedding, bounded, reciprocals
from splinear.terms.form import Form
from splinear.terms.parts import Parts

__all__ = ["Extrapolation", "TermGroup", "size_class", "split_by"]

# Upper ends of the size classes. The core pads tables to a multiple of 16 entries, so terms of one
# class cost the same.
CLASSES = np.array([15, 31, 47, 63, *(2**k - 1 for k in range(7, 32))])
MOST_STIFF = 1e300  # largest entry of a matrix that is factored
_LASTING = {"n_features", "size", "stride", "shape", "block_shape"}
_LASTING |= {"used", "has_level", "is_diagonal", "form_widths"}  # whatever the variances are


def split_by(keys: AnyArray) -> list[NDArray[np.intp]]:
    """Return the indices of each set of equal rows of keys (n, n_keys), by first occurrence."""
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return [np.flatnonzero(inverse.ravel() == k) for k in np.argsort(first)]


def size_class(sizes: AnyArray) -> NDArray[np.intp]:
    """Return the class of each number of coefficients; terms of one class form a group."""
    return np.searchsorted(CLASSES, sizes)


class Extrapolation(str, Enum):
    """How a curve continues outside the training range."""

    CONSTANT = "constant"  # with its value at the nearest end
    LINEAR = "linear"  # as a straight line, with the slope at that end
    ERROR = "error"  # not at all: such values raise an error


@dataclass(frozen=True, eq=False)
class TermGroup:
    """One curve f_j(x) = coef_j' B(x) for each of several features.

    A missing value, called a gap, has the value f_j(gap) = m_j' coef_j + d_j: the curve's training
    mean plus a deviation of its own, with m_j the mean of B over the training rows. The penalty is

        1/2 sum_j sum_k w_jk (T^{-1} coef_j)_k^2 / s_j^2 + 1/2 sum_j d_j^2 / g_j,

    with T = D_d^{-1} for B-splines (in general, the inverse of the penalty's D) and w_jk = 1 unless
    `edges` says otherwise; with `parts` it is that of `model.parts`. Parameters and tables are
    (n_features, stride): the coefficients, followed by one number for gaps if the group has any. In
    parameters this number is d_j, in tables f_j(gap).

    Attributes
    ----------
    kind : str
        The name of the term's class.
    features : ndarray of shape (n_features,)
        Columns of X.
    embedding : Embedding
        Axes, basis, penalty and s_j^2 of the curves.
    has_gaps : bool
    mean : ndarray of shape (n_features, size)
        m_j.
    missing_variance : ndarray of shape (n_features,)
        g_j; unused if the group has no gaps.
    edges : ndarray of shape (n_features, size) or None
        w_jk; None if all are 1.
    parts : Parts or None
        The lines and bends of B-splines under D_1 whose smoothness is chosen; None if there are
        none.
    gap_share : ndarray of shape (n_features,) or None
        The share of the training rows that have a gap; None without gaps.
    levels : tuple of tuple, or None
        The levels of each feature, for categories.
    periods : ndarray of shape (n_features,) or None
        The periods of the features, if the user gave one.
    form : Form or None
        The shape constraint of all curves; None if there is none.
    """

    kind: str
    features: NDArray[np.intp]
    embedding: Embedding
    has_gaps: bool
    mean: Floats
    missing_variance: Floats
    extrapolation: Extrapolation = Extrapolation.CONSTANT
    edges: Floats | None = None
    parts: Parts | None = None
    gap_share: Floats | None = None
    levels: tuple[tuple[object, ...], ...] | None = None
    periods: Floats | None = None
    form: Form | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        features: AnyArray,
        embedding: Embedding,
        has_gaps: bool,
        missing_variance: Floats,
        **more: Any,
    ) -> TermGroup:
        """Create a group whose m_j are not known yet, and are set to 0."""
        mean = np.zeros((embedding.n_features, embedding.basis.size))
        at = np.asarray(features, dtype=np.intp)
        return cls(kind, at, embedding, has_gaps, mean, missing_variance, **more)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without its compiled twin, which is created again when needed."""
        return {name: value for name, value in vars(self).items() if name != "core_penalty"}

    def of_features(self, at: AnyArray) -> TermGroup:
        """Return the group restricted to the features at these positions."""
        return replace(
            self,
            features=self.features[at],
            embedding=self.embedding.of_features(at),
            mean=self.mean[at],
            missing_variance=self.missing_variance[at],
            edges=None if self.edges is None else self.edges[at],
            parts=None if self.parts is None else self.parts.of_features(at),
            gap_share=None if self.gap_share is None else self.gap_share[at],
            levels=None if self.levels is None else tuple(self.levels[int(k)] for k in at),
            periods=None if self.periods is None else self.periods[at],
        )

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def size(self) -> int:
        """Number of coefficients per feature."""
        return self.embedding.basis.size

    @cached_property
    def stride(self) -> int:
        """Parameters per feature: the coefficients, and one for gaps if there are any."""
        return self.size + self.has_gaps

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Shape of parameters and tables."""
        return self.n_features, self.stride

    @cached_property
    def block_shape(self) -> tuple[int, int, int]:
        """Shape of the Hessian's blocks: entry [j, k, p] is that of functions k and k + p."""
        return (*self.shape, self.embedding.basis.support)

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Whether each parameter is free and some value can depend on it, (n_features, stride)."""
        used = self.embedding.used
        if not self.has_gaps:
            return used
        return np.column_stack([used, self.missing_variance > 0])

    @property
    def grid(self) -> _core.CodeGrid:
        """The grid by which the core codes values, with a code for gaps if there are any."""
        return self.embedding.basis.grid(gaps=self.has_gaps)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether the Hessian blocks, with the penalty, are diagonal."""
        return self.embedding.basis.support == 1 and self.embedding.penalty.bandwidth == 0

    def core(self, rows: _core.Rows) -> _core.Group:
        """Return the compiled twin, on rows coded for this group."""
        basis, penalty = self.embedding.basis, self.embedding.penalty
        mean = np.ascontiguousarray(self.mean) if self.has_gaps else np.empty((0, 0))
        return _core.Group(
            rows,
            basis.core(),
            penalty.core(basis.support),
            np.ascontiguousarray(self.embedding.variance),
            mean,
            np.ascontiguousarray(self.missing_variance) if self.has_gaps else np.empty(0),
        )

    @cached_property
    def form_widths(self) -> list[Floats]:
        """The widths of each curve's pieces, as its shape constraint needs them."""
        embedding = self.embedding
        out = [np.ones(max(n - 1, 0)) for n in embedding.n_used.tolist()]
        if self.form is None or not self.form.curvature:
            return out  # only the signs of increments matter
        for j in map(int, np.flatnonzero(embedding.n_used)):
            if (knots := embedding.axes.knots_of(j)) is not None:  # degree 1
                _, exponent = np.frexp(0.5 * knots[-1] - 0.5 * knots[0])
                out[j] = (len(knots) - 1) * np.diff(np.ldexp(knots, -exponent))
        return out

    # -- parameters and tables -------------------------------------------------------------------

    def tables(self, parameters: Floats) -> Floats:
        """Return the tables of parameters (..., n_features, stride), in the same shape."""
        if not self.has_gaps:
            return parameters
        out = parameters.copy()
        out[..., -1] += np.einsum("...jk,jk->...j", parameters[..., :-1], self.mean)
        return out

    def gather(self, sums: Floats) -> Floats:
        """Return the gradient in parameters, given that in tables: the transpose of `tables`."""
        if not self.has_gaps:
            return sums
        out = sums.copy()
        out[..., :-1] += sums[..., -1:] * self.mean
        return out

    def from_tables(self, tables: Floats) -> Floats:
        """Return the parameters of tables: the inverse of `tables`."""
        if not self.has_gaps:
            return tables
        out = tables.copy()
        out[..., -1] -= np.einsum("...jk,jk->...j", tables[..., :-1], self.mean)
        return out

    def scatter(self, sums: Floats) -> Floats:
        """Return the gradient with respect to tables: the inverse of `gather`."""
        if not self.has_gaps:
            return sums
        out = sums.copy()
        out[..., :-1] -= sums[..., -1:] * self.mean
        return out

    def with_gap_values(self, parameters: Floats) -> Floats:
        """Return coefficients and f_j(gap), (..., n_features, size + 1), also without gaps."""
        if self.has_gaps:
            return self.tables(parameters)
        at_gap = np.einsum("...jk,jk->...j", parameters, self.mean)
        return np.concatenate([parameters, at_gap[..., None]], axis=-1)

    def means(self, parameters: Floats) -> Floats:
        """Return the mean of every term over the training rows, (..., n_features)."""
        mean = np.einsum("...jk,jk->...j", parameters[..., : self.size], self.mean)
        if self.gap_share is not None:
            mean = mean + parameters[..., -1] * self.gap_share
        return np.asarray(mean)

    # -- the penalty -----------------------------------------------------------------------------

    @cached_property
    def edge_weights(self) -> Floats:
        """w_jk where coefficients are used and 0 elsewhere, (n_features, size)."""
        used = self.embedding.used.astype(np.float64)
        return used if self.edges is None else used * self.edges

    def stiffen(self, parameters: Floats) -> Floats:
        """Return the gradient of the penalty at parameters (..., n_features, stride)."""
        rows = self._rows(parameters)
        out = np.zeros(rows.shape)
        self.add_stiffness(rows, out, 1)
        return out.reshape(parameters.shape)

    def add_stiffness(self, parameters: Floats, to: Floats, n_threads: int) -> None:
        """Add the gradient of the penalty to `to` in place; both are (n, n_features * stride)."""
        self.core_penalty.add_pull(parameters, to, n_threads)

    def differences(self, parameters: Floats) -> Floats:
        """Return T^{-1} coef_j followed by the deviations of gaps, (n_features, stride)."""
        found = self.embedding.penalty.difference(parameters[..., : self.size])
        if self.has_gaps:
            found = np.concatenate([found, parameters[..., -1:]], axis=-1)
        return np.where(self.used, found, 0.0)

    @cached_property
    def precision(self) -> Floats:
        """w_jk / s_j^2 of curves, then 1 / g_j of gaps; 0 for unused parameters."""
        stiffness, of_gap = self._stiffness
        both = np.column_stack([stiffness, of_gap]) if self.has_gaps else stiffness
        return np.where(self.used, both, 0.0)

    @cached_property
    def _stiffness(self) -> tuple[Floats, Floats]:
        """w_jk / s_j^2 of curves, (n_features, size), and 1 / g_j of gaps, (n_features,)."""
        stiffness = self.edge_weights * reciprocals(self.embedding.variance)[:, None]
        return stiffness, reciprocals(self.missing_variance)

    @cached_property
    def core_penalty(self) -> _core.GroupPenalty:
        """The compiled twin of the penalty, with variances and edge weights."""
        parts, none = self.parts, np.empty(0)
        return _core.GroupPenalty(
            self.embedding.penalty.core(self.embedding.basis.support),
            self.used,
            self.edge_weights,
            np.ascontiguousarray(self.embedding.variance),
            np.ascontiguousarray(self.missing_variance) if self.has_gaps else np.empty(0),
            np.empty((0, 0, 2)) if parts is None else np.ascontiguousarray(parts.bends),
            none if parts is None else np.ascontiguousarray(parts.bend_variance),
            np.empty((0, 0)) if parts is None else np.ascontiguousarray(parts.line),
            none if parts is None else np.ascontiguousarray(parts.line_variance),
            self.has_level,
        )

    @cached_property
    def penalty_bands(self) -> Floats:
        """The bands of the penalty's matrix, without lines, (n_features, stride, bandwidth + 1).

        Entry [j, k, p] is entry (k, k + p) of the matrix of feature j.
        """
        penalty, stiffness = self.embedding.penalty, reciprocals(self.embedding.variance)
        bands = penalty.stiffness_bands(self.edge_weights)
        # These matrices only determine steps, so entries that would overflow may be clipped.
        largest = max(1.0, float(bands.max(initial=0.0)), -float(bands.min(initial=0.0)))
        bands *= np.minimum(stiffness, MOST_STIFF / largest)[:, None, None]
        if self.parts is not None:
            assert isinstance(penalty, DifferencePenalty)
            bent = self.parts.bend_bands(penalty.held, MOST_STIFF)
            bent[..., : bands.shape[2]] += bands
            bands = bent
        if not self.has_gaps:
            return bands
        out = np.zeros((*self.shape, bands.shape[2]))
        out[:, : self.size], out[:, -1, 0] = bands, self._stiffness[1]
        return out

    @cached_property
    def lines(self) -> tuple[Floats, Floats, Floats]:
        """The lines of all curves, what they lower the penalty by, and their precisions.

        The lines l_j are (n_features, stride); the penalty's matrix is that of `penalty_bands` less
        c_j v_j v_j', and given as sqrt(c_j) v_j, (n_features, stride); the precisions of lines are
        infinite where there is none, (n_features,).
        """
        assert self.parts is not None
        line, lowered = np.zeros(self.shape), np.zeros(self.shape)
        penalty, size = self.embedding.penalty, self.size
        line[:, :size] = np.where(self.used[:, :size], penalty.integrate(self.parts.line), 0.0)
        pull, c = self.parts.line_pull(self._stiffness[0])
        lowered[:, :size] = np.sqrt(c)[:, None] * penalty.difference_transpose(pull)
        variance = self.parts.line_variance
        precision = np.divide(1.0, variance, out=np.full_like(variance, np.inf), where=variance > 0)
        return line, np.where(self.used, lowered, 0.0), precision

    def soften(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return K g for gradients g (..., n_features, stride): the inverse of `stiffen`."""
        rows = self._rows(parameters)
        out = np.empty(rows.shape)
        self.core_penalty.soften(rows, out, n_threads)
        return out.reshape(parameters.shape)

    def softness(self, gradient: Floats, n_threads: int = 1) -> float:
        """Return g'K g = sum (T'g)^2 / P, with P as in `distance`."""
        rows = self._rows(gradient)
        return sum(self.core_penalty.softness(one, n_threads) for one in rows)

    def _rows(self, parameters: Floats) -> Floats:
        """Return parameters (..., n_features, stride) as (n, n_features * stride)."""
        n = self.n_features * self.stride
        return np.ascontiguousarray(parameters, dtype=np.float64).reshape(-1, n)

    def distance(self, parameters: Floats, sums: Floats) -> tuple[float, float]:
        """Return c'S c and q'K q for q = S c + sums, with S the penalty's matrix and K its inverse.

        Parameters c and sums are (n_features, stride). With S = T^{-T} P T^{-1} and d = T^{-1} c,
        these are the sums of P d^2 and of (P d + T' sums)^2 / P, so no matrix is inverted.
        """
        stiffness, of_gap = self._stiffness
        curves = (np.ascontiguousarray(a[:, : self.size]) for a in (parameters, sums, stiffness))
        penalty = self.embedding.penalty.core(self.embedding.basis.support)
        value, distance = penalty.distance(*curves)
        if self.has_gaps:
            gaps, g = parameters[:, -1] * of_gap, self.missing_variance
            value += float(gaps @ parameters[:, -1])
            distance += float(g @ (gaps + sums[:, -1]) ** 2)
        return value, distance

    # -- levels ----------------------------------------------------------------------------------

    @cached_property
    def has_level(self) -> bool:
        """Whether a constant can be added to a curve, which the intercept can do as well."""
        embedding = self.embedding
        return embedding.basis.is_partition and bool(embedding.penalty.free.all())

    @cached_property
    def level_weights(self) -> Floats:
        """The weights p_j that define the level p_j'coef_j of curve j, (n_features, stride).

        p_j = S 1 / 1'S 1, with S the penalty's matrix. Of all curves that differ by a constant, the
        one of level 0 has the smallest penalty. The level is the first coefficient under D_1, and
        the mean of all under a ridge. p_j is 0 for curves to which no constant can be added.
        """
        weights: Floats = self.core_penalty.level_weights
        return weights

    def take_level(self, parameters: Floats) -> Floats:
        """Subtract the levels from parameters (n, n_features, stride) in place, and return them.

        The result (n,) is their sum over features, which the intercept takes. No score changes.
        """
        rows = (own.reshape(-1) for own in parameters)  # no copies
        return np.array([self.core_penalty.take_levels(own) for own in rows])

    def without_slope(self, gradient: Floats) -> Floats:
        """Return a gradient (..., n_features, stride) whose derivatives along levels are set to 0.

        Use it where they are known to be 0, and differ from it by rounding only.
        """
        slope = np.einsum("...jk,jk->...j", gradient[..., : self.size], self.used[:, : self.size])
        return np.asarray(gradient - slope[..., None] * self.level_weights)

    def extended(self, parameters: Floats) -> Floats:
        """Return parameters whose unused coefficients continue the curve without adding penalty."""
        penalty, used = self.embedding.penalty, self.embedding.used
        coef = parameters[..., : self.size]
        beyond = penalty.integrate(penalty.difference(coef) * used)
        out = parameters.copy()
        out[..., : self.size] = np.where(used, coef, beyond)
        return out

    # -- smoothness ------------------------------------------------------------------------------

    def scaled(self, factor: float) -> TermGroup:
        """Return the group with all variances multiplied by a factor."""
        variance, missing_variance = self.embedding.variance, self.missing_variance
        parts = None if self.parts is None else self.parts.scaled(factor)
        return self.with_variance(factor * variance, factor * missing_variance, self.edges, parts)

    def with_variance(
        self,
        variance: Floats,
        missing_variance: Floats,
        edges: Floats | None = None,
        parts: Parts | None = None,
    ) -> TermGroup:
        """Return the group with other variances s_j^2 and g_j, edge weights and parts."""
        embedding, gaps = self.embedding.with_variance(variance), bounded(missing_variance)
        other = replace(self, embedding=embedding, missing_variance=gaps, edges=edges, parts=parts)
        as_before = np.array_equal(gaps > 0, self.missing_variance > 0)
        if embedding.used is self.embedding.used and (as_before or not self.has_gaps):
            return sharing(self, _LASTING, other)
        return other
