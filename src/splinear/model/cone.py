"""What curves are held to, all together: linear inequalities of the parameters of a layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import SuperLU, splu

from splinear._types import Floats
from splinear.model.group import TermGroup
from splinear.model.nonnegative import Metric, inverted

__all__ = ["Cone", "cone_of"]


@dataclass(frozen=True)
class _Term:
    """Curve j of a group, whose parameters begin at `start`."""

    start: int
    group: TermGroup
    j: int


@dataclass(frozen=True, eq=False)
class Cone:
    """The parameters theta of which some of z = B theta are >= 0, of every output alike.

    A theta >= 0 for short: A has the rows of B that are `bounded`.

    Attributes
    ----------
    B : sparse array of shape (n_parameters, n_parameters)
        Can be inverted. Where a parameter is not used, z is the parameter itself.
    bounded : ndarray of shape (n_bounded,)
        Which of z are >= 0.
    blocks : ndarray of shape (n_bounded,)
        The curve that an inequality is of, 0, 1, ..., among those that are held to a form.
    terms : tuple of _Term
        These curves.
    """

    B: sparse.csr_array
    bounded: NDArray[np.intp]
    blocks: NDArray[np.intp]
    terms: tuple[_Term, ...]

    @cached_property
    def inequalities(self) -> sparse.csr_array:
        """A, (n_bounded, n_parameters)."""
        return self.B[self.bounded]

    def slack(self, parameters: Floats) -> Floats:
        """Return A theta of parameters (n_outputs, n_parameters)."""
        return np.asarray((self.inequalities @ parameters.T).T)

    def with_slack(self, parameters: Floats, slacks: Floats) -> Floats:
        """Return parameters (n_outputs, n_parameters) of these slacks, other coordinates kept."""
        z = self.B @ parameters.T
        z[self.bounded] = slacks.T
        return np.asarray(self._factored.solve(z).T)

    @cached_property
    def _factored(self) -> SuperLU:
        return splu(self.B.tocsc())

    def pull(self, multipliers: Floats) -> Floats:
        """Return A'm of multipliers (n_outputs, n_bounded)."""
        return np.asarray((self.inequalities.T @ multipliers.T).T)

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """The inequalities of each block."""
        order = np.argsort(self.blocks, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.blocks[order])) + 1)

    def metric(self, inverses: Sequence[Callable[[Floats], Floats]]) -> Metric:
        """Return (A M^{-1} A')^{-1} for each output's M^{-1}, which multiplies (n, n_parameters).

        M has to be block-diagonal: terms of different blocks are not tied by it. Then the first
        columns of all blocks are found together, and so on.
        """
        sizes = [len(at) for at in self.places]
        column = np.empty(len(self.blocks), dtype=np.intp)  # of an inequality in its block
        column[np.concatenate(self.places)] = np.concatenate([np.arange(n) for n in sizes])
        at = (column, np.arange(len(column)))
        ones = sparse.csr_array((np.ones(len(column)), at), shape=(max(sizes), len(column)))
        columns, outputs = (ones @ self.inequalities).toarray(), []
        for inverse in inverses:
            products = self.slack(inverse(columns))
            outputs.append([(at, inverted(products[: len(at), at])) for at in self.places])
        return Metric(outputs)

    def joint_metric(self, matrices: Sequence[Floats], used: NDArray[np.intp]) -> Metric:
        """Return (A M^{-1} A')^{-1} for M of each output, by the parameters that are used.

        M may have more rows behind those of the parameters, of numbers that are free.
        """
        rows, at = np.arange(len(self.bounded)), np.searchsorted(used, self.bounded)
        outputs = []
        for M in matrices:
            half = np.ascontiguousarray(self._pulled(M, used, self.terms).T)
            outputs.append([(rows, _reduced(self._pulled(half, used, self.terms), at))])
        return Metric(outputs)

    @cached_property
    def penalty_metric(self) -> Metric:
        """(A S^{-1} A')^{-1}, S being the matrix of the penalty: the same for all outputs.

        By S and not by its inverse, which has far fewer digits.
        """
        blocks = []
        for term, places in zip(self.terms, self.places, strict=True):
            used = term.start + np.flatnonzero(term.group.used[term.j])
            one = term.group.of_features(np.array([term.j]))
            S = one.stiffen(np.eye(one.stride)[:, None, :])[:, 0]
            S = S[np.ix_(used - term.start, used - term.start)]
            H = self._pulled(self._pulled(S, used, [term]).T, used, [term])
            blocks.append((places, _reduced(H, np.searchsorted(used, self.bounded[places]))))
        return Metric([blocks])

    def _pulled(self, gradient: Floats, used: NDArray[np.intp], terms: Sequence[_Term]) -> Floats:
        """Return B^{-T} g of gradients (n_used, m) by the parameters that are used, and more."""
        out = gradient.copy()
        for term in terms:
            widths, form = term.group.form_widths[term.j], term.group.form
            assert form is not None
            first, last = np.searchsorted(used, [term.start, term.start + len(widths) + 1])
            whole = np.zeros((len(widths) + 1, gradient.shape[1]))
            places = used[first:last] - term.start
            whole[places] = gradient[first:last]
            out[first:last] = form.pulled(whole, widths)[places]
        return out

    def snapped(self, parameters: Floats) -> Floats:
        """Return parameters (n_outputs, n_parameters), in the cone but for rounding, inside it."""
        out = parameters.copy()
        for term in self.terms:
            widths, form = term.group.form_widths[term.j], term.group.form
            assert form is not None
            own = out[:, term.start : term.start + len(widths) + 1]
            own[:] = form.snapped(own, widths)
        return out


def _held(groups: Sequence[TermGroup]) -> Iterator[_Term]:
    """Yield the curves that are held to a form."""
    start = 0
    for group in groups:
        for j in range(group.n_features):
            if group.form is not None and len(group.form_widths[j]):
                yield _Term(start, group, j)
            start += group.stride


def _reduced(M: Floats, at: NDArray[np.intp]) -> Floats:
    """Return M in some places, less what the others take off when they follow."""
    others = np.setdiff1d(np.arange(len(M)), at)
    tied = M[np.ix_(others, at)]
    if not len(others):
        return M
    follow = cho_solve(cho_factor(M[np.ix_(others, others)]), tied)
    return np.asarray(M[np.ix_(at, at)] - tied.T @ follow)


def cone_of(groups: tuple[TermGroup, ...]) -> Cone | None:
    """Return the inequalities of all curves that are held to a form; None if there are none."""
    n = sum(group.n_features * group.stride for group in groups)
    is_plain, entries, bounded, blocks = np.ones(n, dtype=bool), [], [], []
    terms: list[_Term] = []
    for term in _held(groups):
        own, at = _coordinates(term.group, term.j)
        if len(at):
            rows, columns = np.nonzero(own)
            is_plain[term.start : term.start + len(own)] = False
            entries.append((own[rows, columns], term.start + rows, term.start + columns))
            bounded.append(term.start + at)
            blocks.append(np.full(len(at), len(terms)))
            terms.append(term)
    if not terms:
        return None
    plain = np.flatnonzero(is_plain)
    values, rows, columns = map(np.concatenate, zip(*entries, strict=True))
    B = sparse.csr_array(
        (
            np.append(values, np.ones(len(plain))),
            (np.append(rows, plain), np.append(columns, plain)),
        ),
        shape=(n, n),
    )
    return Cone(B, np.concatenate(bounded), np.concatenate(blocks), tuple(terms))


def _coordinates(group: TermGroup, j: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return B for the coefficients of a curve, and which of z are >= 0."""
    assert group.form is not None
    B, bounded = group.form.coordinates(group.form_widths[j])
    used = group.used[j, : len(B)]
    B[~used] = np.eye(len(B))[~used]
    return B, np.flatnonzero(bounded & used)
