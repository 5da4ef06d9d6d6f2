"""What curves are held to, all together: linear inequalities of the parameters of a layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from splinear._types import Floats
from splinear.curves.form import Form
from splinear.model.group import TermGroup
from splinear.model.nonnegative import Metric, inverted

__all__ = ["Cone", "cone_of"]


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
        Inequalities of different blocks, 0, 1, ..., have no term in common.
    groups : tuple of TermGroup
        Those of the layout.
    """

    B: sparse.csr_array
    bounded: NDArray[np.intp]
    blocks: NDArray[np.intp]
    groups: tuple[TermGroup, ...]

    @cached_property
    def inequalities(self) -> sparse.csr_array:
        """A, (n_bounded, n_parameters)."""
        return self.B[self.bounded]

    def slack(self, parameters: Floats) -> Floats:
        """Return A theta of parameters (n_outputs, n_parameters)."""
        return np.asarray((self.inequalities @ parameters.T).T)

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

        In the coordinates z it is M less what the others, that are free, take off when they follow.
        M may have more rows behind those of the parameters, of numbers that are free.
        """
        at, outputs = np.searchsorted(used, self.bounded), []
        for M in matrices:
            H = self._pulled(np.ascontiguousarray(self._pulled(M, used).T), used)
            free = np.setdiff1d(np.arange(len(H)), at)
            tied = H[np.ix_(free, at)]
            follow = cho_solve(cho_factor(H[np.ix_(free, free)]), tied)
            outputs.append([(np.arange(len(at)), H[np.ix_(at, at)] - tied.T @ follow)])
        return Metric(outputs)

    def _pulled(self, gradient: Floats, used: NDArray[np.intp]) -> Floats:
        """Return B^{-T} g of gradients (n_used, m) by the parameters that are used, and more."""
        out = gradient.copy()
        for start, form, widths in self._terms():
            first, last = np.searchsorted(used, [start, start + len(widths) + 1])
            whole = np.zeros((len(widths) + 1, gradient.shape[1]))
            places = used[first:last] - start
            whole[places] = gradient[first:last]
            out[first:last] = form.pulled(whole, widths)[places]
        return out

    def _terms(self) -> Iterator[tuple[int, Form, Floats]]:
        """Yield where the curves that are held to a form begin, their forms, and the widths."""
        start = 0
        for group in self.groups:
            for j in range(group.n_features):
                if group.form is not None and len(group.form_widths[j]):
                    yield start, group.form, group.form_widths[j]
                start += group.stride

    def snapped(self, parameters: Floats) -> Floats:
        """Return parameters (n_outputs, n_parameters), in the cone but for rounding, inside it."""
        out = parameters.copy()
        for start, form, widths in self._terms():
            own = out[:, start : start + len(widths) + 1]
            own[:] = form.snapped(own, widths)
        return out


def cone_of(groups: tuple[TermGroup, ...]) -> Cone | None:
    """Return the inequalities of all curves that are held to a form; None if there are none."""
    matrices, bounded, blocks, start, n_terms = [], [], [], 0, 0
    for group in groups:
        for j in range(group.n_features):
            B: sparse.sparray = sparse.eye_array(group.stride)
            if group.form is not None and len(group.form_widths[j]):
                B, at = _coordinates(group.form, group.form_widths[j], group.used[j])
                bounded.append(start + at)
                blocks.append(np.full(len(at), n_terms))
            matrices.append(B)
            start, n_terms = start + group.stride, n_terms + 1
    if not bounded:
        return None
    B = sparse.csr_array(sparse.block_diag(matrices, format="csr"))
    return Cone(B, np.concatenate(bounded), np.concatenate(blocks), groups)


def _coordinates(
    form: Form, widths: Floats, used: NDArray[np.bool_]
) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """Return B for all parameters of a curve, and which of z are >= 0."""
    B, bounded = form.coordinates(widths)
    n = len(bounded)
    own = sparse.diags_array(used[:n].astype(float)) @ B + sparse.diags_array(
        (~used[:n]).astype(float)
    )
    rest = sparse.eye_array(len(used) - n)
    return (
        sparse.csr_array(sparse.block_diag([own, rest], format="csr")),
        np.flatnonzero(bounded & used[:n]),
    )
