"""Terms of one shape: the same basis, penalty and number of coefficients, one table per feature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.curves.embedding import Embedding, bounded, reciprocals
from splinear.curves.form import Form

__all__ = ["Extrapolation", "TermGroup"]

MOST_STIFF = 1e300  # in a matrix that is to be factored
# What says which parameters there are, and which are used: other variances leave it as it is.
_LASTING = {"n_features", "size", "stride", "shape", "block_shape"}
_LASTING |= {"used", "has_level", "is_diagonal", "form_widths"}


class Extrapolation(str, Enum):
    """What a value outside the training range counts as."""

    CONSTANT = "constant"  # the nearest end
    LINEAR = "linear"  # a place on a straight line with the curve's slope at that end
    ERROR = "error"  # nothing: it is refused


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class TermGroup:
    """One curve f_j(x) = coef_j' B(x) for each of some features.

    A missing value, a gap, counts as the curve's training mean plus a deviation d_j of its own,
    f_j(gap) = m_j' coef_j + d_j, with m_j the mean of B over the training rows. The penalty is

        1/2 sum_j sum_k w_jk (T^{-1} coef_j)_k^2 / s_j^2 + 1/2 sum_j d_j^2 / g_j,

    T being the penalty's map (D_d^{-1} for B-splines) and w_jk = 1 unless `edges` says otherwise.
    Parameters and tables are (n_features, stride): coefficients, then one number for the gap if the
    group has gaps. In parameters that number is d_j, in tables it is f_j(gap).

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
        w_jk; None: all 1.
    gap_share : ndarray of shape (n_features,) or None
        The share of the training rows that have a gap; None: none has.
    levels : tuple of tuple, or None
        The levels of each feature, for categories.
    periods : ndarray of shape (n_features,) or None
        The periods of the features, where the user gave one.
    form : Form or None
        What all curves are held to; None: nothing.
    """

    kind: str
    features: NDArray[np.intp]
    embedding: Embedding
    has_gaps: bool
    mean: Floats
    missing_variance: Floats
    extrapolation: Extrapolation = Extrapolation.CONSTANT
    edges: Floats | None = None
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
        """Put a group together that has not seen its rows yet: m_j is 0."""
        mean = np.zeros((embedding.n_features, embedding.basis.size))
        at = np.asarray(features, dtype=np.intp)
        return cls(kind, at, embedding, has_gaps, mean, missing_variance, **more)

    def __getstate__(self) -> dict[str, object]:
        """Return what is copied and sent elsewhere: compiled twins are made anew."""
        return {name: value for name, value in vars(self).items() if name != "core_penalty"}

    def of_features(self, at: AnyArray) -> TermGroup:
        """Return the group of some of its features."""
        return replace(
            self,
            features=self.features[at],
            embedding=self.embedding.of_features(at),
            mean=self.mean[at],
            missing_variance=self.missing_variance[at],
            edges=None if self.edges is None else self.edges[at],
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
        """Numbers per feature: coefficients, and one for the gap."""
        return self.size + self.has_gaps

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Shape of the parameters."""
        return self.n_features, self.stride

    @cached_property
    def block_shape(self) -> tuple[int, int, int]:
        """Shape of the curves' blocks of the Hessian, by bands: functions k and k + p."""
        return (*self.shape, self.embedding.basis.support)

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Which parameters are free and can be reached, shape (n_features, stride)."""
        used = self.embedding.used
        if not self.has_gaps:
            return used
        return np.column_stack([used, self.missing_variance > 0])

    @property
    def grid(self) -> _core.CodeGrid:
        """How the core codes values, gaps included if there are any."""
        return self.embedding.basis.grid(gaps=self.has_gaps)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether both the penalty and the functions are such that Hessian blocks are diagonal."""
        return self.embedding.basis.support == 1 and self.embedding.penalty.bandwidth == 0

    def core(self, rows: _core.Rows) -> _core.Group:
        """Return the compiled twin, over rows of this group."""
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
        """The widths of a form's pieces, one per increment of the coefficients of each feature."""
        embedding = self.embedding
        out = [np.ones(max(n - 1, 0)) for n in embedding.n_used.tolist()]
        if self.form is None or not self.form.curvature:
            return out  # where only signs count
        for j in map(int, np.flatnonzero(embedding.n_used)):
            if (knots := embedding.axes.knots_of(j)) is not None:  # degree 1
                _, exponent = np.frexp(0.5 * knots[-1] - 0.5 * knots[0])
                out[j] = (len(knots) - 1) * np.diff(np.ldexp(knots, -exponent))
        return out

    # -- parameters and tables -------------------------------------------------------------------

    def tables(self, parameters: Floats) -> Floats:
        """Return the tables of parameters (..., n_features, stride), same shape."""
        if not self.has_gaps:
            return parameters
        out = parameters.copy()
        out[..., -1] += np.einsum("...jk,jk->...j", parameters[..., :-1], self.mean)
        return out

    def gather(self, sums: Floats) -> Floats:
        """Undo `tables` in a gradient: the derivative by parameters of a function of tables."""
        if not self.has_gaps:
            return sums
        out = sums.copy()
        out[..., :-1] += sums[..., -1:] * self.mean
        return out

    def from_tables(self, tables: Floats) -> Floats:
        """Undo `tables`."""
        if not self.has_gaps:
            return tables
        out = tables.copy()
        out[..., -1] -= np.einsum("...jk,jk->...j", tables[..., :-1], self.mean)
        return out

    def scatter(self, sums: Floats) -> Floats:
        """Undo `gather`."""
        if not self.has_gaps:
            return sums
        out = sums.copy()
        out[..., :-1] -= sums[..., -1:] * self.mean
        return out

    def with_gap_values(self, parameters: Floats) -> Floats:
        """Return coefficients and f_j(gap), (..., n_features, size + 1), gaps or not."""
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
        """w_jk where coefficients are used, 0 elsewhere; shape (n_features, size)."""
        used = self.embedding.used.astype(np.float64)
        return used if self.edges is None else used * self.edges

    def stiffen(self, parameters: Floats) -> Floats:
        """Return the gradient of the penalty at parameters (..., n_features, stride)."""
        rows = self._rows(parameters)
        out = np.zeros(rows.shape)
        self.add_stiffness(rows, out, 1)
        return out.reshape(parameters.shape)

    def add_stiffness(self, parameters: Floats, to: Floats, n_threads: int) -> None:
        """Add that gradient to rows `to`, in place: (n, n_features * stride) both."""
        self.core_penalty.add_pull(parameters, to, n_threads)

    def differences(self, parameters: Floats) -> Floats:
        """Return d_j = T^{-1} coef_j, and the deviations of gaps, (..., n_features, stride)."""
        found = self.embedding.penalty.difference(parameters[..., : self.size])
        if self.has_gaps:
            found = np.concatenate([found, parameters[..., -1:]], axis=-1)
        return np.where(self.used, found, 0.0)

    @property
    def precision(self) -> Floats:
        """w_jk / t_j of curves, then 1 / g_j of gaps, 0 where there is nothing."""
        stiffness, of_gap = self._stiffness
        if not self.has_gaps:
            return stiffness
        return np.where(self.used, np.column_stack([stiffness, of_gap]), 0.0)

    @cached_property
    def _stiffness(self) -> tuple[Floats, Floats]:
        """w_jk / t_j of curves, (n_features, size), and 1 / g_j of gaps, 0 where there is none."""
        stiffness = self.edge_weights * reciprocals(self.embedding.variance)[:, None]
        return stiffness, reciprocals(self.missing_variance)

    @cached_property
    def core_penalty(self) -> _core.GroupPenalty:
        """The compiled twin of the penalty, with variances and edge weights."""
        return _core.GroupPenalty(
            self._core_penalty,
            self.used,
            self.edge_weights,
            np.ascontiguousarray(self.embedding.variance),
            np.ascontiguousarray(self.missing_variance) if self.has_gaps else np.empty(0),
            self.has_level,
        )

    @cached_property
    def penalty_bands(self) -> Floats:
        """The matrix of the penalty by bands, (n_features, stride, bandwidth + 1).

        Entry [j, k, p] stands at (k, k + p) of the matrix of feature j.
        """
        penalty, stiffness = self.embedding.penalty, reciprocals(self.embedding.variance)
        bands = penalty.stiffness_bands(self.edge_weights)
        # Only steps are made with these: what is beyond all numbers may be as stiff as numbers go.
        largest = max(1.0, float(bands.max(initial=0.0)), -float(bands.min(initial=0.0)))
        bands *= np.minimum(stiffness, MOST_STIFF / largest)[:, None, None]
        if not self.has_gaps:
            return bands
        out = np.zeros((*self.shape, penalty.bandwidth + 1))
        out[:, : self.size], out[:, -1, 0] = bands, self._stiffness[1]
        return out

    @property
    def _core_penalty(self) -> _core.Penalty:
        return self.embedding.penalty.core(self.embedding.basis.support)

    def soften(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Undo stiffen()."""
        rows = self._rows(parameters)
        out = np.empty(rows.shape)
        self.core_penalty.soften(rows, out, n_threads)
        return out.reshape(parameters.shape)

    def softness(self, gradient: Floats, n_threads: int = 1) -> float:
        """Return g'soften(g) = sum (T'g)^2 / P, with P as in `distance`."""
        rows = self._rows(gradient)
        return sum(self.core_penalty.softness(one, n_threads) for one in rows)

    def _rows(self, parameters: Floats) -> Floats:
        """Return parameters (..., n_features, stride) as (n, n_features * stride)."""
        n = self.n_features * self.stride
        return np.ascontiguousarray(parameters, dtype=np.float64).reshape(-1, n)

    def distance(self, parameters: Floats, sums: Floats) -> tuple[float, float]:
        """Return c'S c and q'K q, q = S c + sums, S being the penalty's matrix and K its inverse.

        For parameters c and sums of (n_features, stride). With S = T^{-T} P T^{-1} that is the sum
        of P d^2, d = T^{-1} c, and that of (P d + T' sums)^2 / P: no matrix needs to be undone.
        """
        stiffness, of_gap = self._stiffness
        curves = (np.ascontiguousarray(a[:, : self.size]) for a in (parameters, sums, stiffness))
        value, distance = self._core_penalty.distance(*curves)
        if self.has_gaps:
            gaps, g = parameters[:, -1] * of_gap, self.missing_variance
            value += float(gaps @ parameters[:, -1])
            distance += float(g @ (gaps + sums[:, -1]) ** 2)
        return value, distance

    # -- levels ----------------------------------------------------------------------------------

    @cached_property
    def has_level(self) -> bool:
        """Whether a curve can be moved up as a whole, which an intercept does as well."""
        embedding = self.embedding
        return embedding.basis.is_partition and bool(embedding.penalty.free.all())

    @cached_property
    def level_weights(self) -> Floats:
        """The weights p_j by which p_j'coef_j is the level of curve j, shape (n_features, stride).

        p_j = S 1 / 1'S 1, S being the matrix of the penalty, which is least where the level is 0:
        the first coefficient under D_1, the mean of all under a ridge. 0 where curves have none.
        """
        weights: Floats = self.core_penalty.level_weights
        return weights

    def take_level(self, parameters: Floats) -> Floats:
        """Take the levels off parameters (n, n_features, stride), in place; no score changes.

        Returns their sum over features, (n,). The deviations of gaps stay as they are.
        """
        rows = (own.reshape(-1) for own in parameters)  # no copies
        return np.array([self.core_penalty.take_levels(own) for own in rows])

    def without_slope(self, gradient: Floats) -> Floats:
        """Return a gradient (..., n_features, stride) whose derivatives by levels are 0.

        For where they are known to be, and are not by rounding.
        """
        slope = np.einsum("...jk,jk->...j", gradient[..., : self.size], self.used[:, : self.size])
        return np.asarray(gradient - slope[..., None] * self.level_weights)

    def extended(self, parameters: Floats) -> Floats:
        """Go on behind the coefficients that are used, at no penalty."""
        penalty, used = self.embedding.penalty, self.embedding.used
        coef = parameters[..., : self.size]
        beyond = penalty.integrate(penalty.difference(coef) * used)
        out = parameters.copy()
        out[..., : self.size] = np.where(used, coef, beyond)
        return out

    # -- smoothness ------------------------------------------------------------------------------

    def scaled(self, factor: float) -> TermGroup:
        """Return the group with all variances times a factor."""
        variance, missing_variance = self.embedding.variance, self.missing_variance
        return self.with_variance(factor * variance, factor * missing_variance, self.edges)

    def with_variance(
        self, variance: Floats, missing_variance: Floats, edges: Floats | None = None
    ) -> TermGroup:
        """Return the group with other variances s_j^2 and g_j, and other edge weights."""
        embedding, gaps = self.embedding.with_variance(variance), bounded(missing_variance)
        other = replace(self, embedding=embedding, missing_variance=gaps, edges=edges)
        # Turns that choose variances make many groups, in which the same parameters are used.
        as_before = np.array_equal(gaps > 0, self.missing_variance > 0)
        if embedding.used is self.embedding.used and (as_before or not self.has_gaps):
            vars(other).update({name: vars(self)[name] for name in _LASTING & vars(self).keys()})
        return other
