"""Vectors of the length of the model, and what rows make of them."""

from __future__ import annotations

import numpy as np

from splinear import _core
from splinear import _per_row as per_row
from splinear._types import Floats
from splinear.objective.rows import Rows, RowValues
from splinear.objective.step import Step

__all__ = ["Space", "added", "dot"]

LEAST_BIAS = 1e-15  # a smaller intercept is 0 to all digits


class Space:
    """Vectors theta (n_outputs, n_parameters + 1): the layout's parameters, followed by b.

    Unused parameters (of constant features, or beyond the bins of a feature with fewer than others)
    are 0, and the penalty is that of the used ones alone. The intercepts are free unless there is a
    `bias` B: then their penalty is 1/2 b^2 / B^2, and they are 0 if B is 0.
    """

    def __init__(
        self, rows: Rows, n_outputs: int, n_threads: int, bias: float | None = None
    ) -> None:
        self.rows, self.n_outputs, self.n_threads, self.bias = rows, n_outputs, n_threads, bias
        self.is_free = bias is None
        self.precision_of_b = 0.0 if bias is None else 1.0 / max(bias, LEAST_BIAS) ** 2
        self.layout, self.n_rows = rows.layout, rows.n_rows
        self.used = self.layout.used
        self.cone = self.layout.cone
        # Several outputs are classes: adding the same to all of them changes no probability.
        # On workers, whose scores are made of parameters, nothing is done about it.
        is_at_hand = rows.is_here or rows.inverts
        self.is_tied = is_at_hand and self.is_free and n_outputs > 1 and self.cone is None
        self.has_level = self.is_free and any(group.has_level for group in self.layout.groups)

    def over(self, rows: Rows) -> Space:
        """Return the same space for other rows."""
        return Space(rows, self.n_outputs, self.n_threads, self.bias)

    def zeros(self) -> Floats:
        """Return the zero vector."""
        return np.zeros((self.n_outputs, len(self.used) + 1))

    def zero_scores(self) -> RowValues:
        """Return the scores of the zero vector."""
        return self.rows.zero_scores(self.n_outputs)

    def join(self, parameters: Floats, b: Floats) -> Floats:
        """Return the vector of parameters and intercepts; unused parameters become 0."""
        out = np.empty((len(parameters), len(self.used) + 1))
        out[:, :-1], out[:, -1] = parameters, b
        if len(self.layout.unused):
            out[:, self.layout.unused] = 0.0
        return out

    def shifted(self, theta: Floats, shift: Floats) -> Floats:
        """Return the vector with `shift` added to the intercepts."""
        out = theta.copy()
        out[:, -1] += shift
        return out

    def leveled(self, theta: Floats) -> Floats:
        """Return theta with the levels of curves and categories moved to the intercept.

        This changes no score and minimizes the penalty; otherwise the Hessian would be almost flat
        in these directions. The same holds for the common part of classes, which is subtracted.
        """
        if not self.has_level and not self.is_tied:
            return theta
        out = theta - theta.mean(axis=0) if self.is_tied else theta.copy()
        pairs = zip(self.layout.groups, self.layout.split(out[:, :-1]), strict=True)
        for group, part in pairs:
            if group.has_level:
                out[:, -1] += group.take_level(part)
        return out

    def scores(self, theta: Floats) -> RowValues:
        """Return the scores F (n_outputs, n_rows)."""
        F = self.rows.scores(theta[:, :-1], self.n_threads)
        return self.lifted(F, np.ascontiguousarray(theta[:, -1]))

    def scores_of(self, step: Step) -> RowValues:
        """Return the changes of scores by a step, which keeps them."""
        if step.scores is None:
            step.scores = self.scores(step.vector)
        return step.scores

    def lifted(self, F: RowValues, levels: Floats) -> RowValues:
        """Return scores F plus levels (n_outputs,), computed in place."""
        return per_row.lifted(F, levels, self.n_threads)

    def totals(self, R: RowValues) -> Floats:
        """Return the sums of R (n_outputs, n_rows) over rows."""
        return per_row.totals(R, self.n_threads)

    def moved(self, F: RowValues, D: RowValues, share: float = 1.0) -> RowValues:
        """Return scores F + share * D."""
        return per_row.moved(F, D, share, self.n_threads)

    def sums(self, R: RowValues) -> Floats:
        """Return the gradient of sum(R * F) with respect to theta."""
        return self.join(self.rows.sums(R, self.n_threads), self.totals(R))

    def penalty_gradient(self, theta: Floats, to: Floats | None = None) -> Floats:
        """Return the gradient of the penalty; added to a vector in place, if one is given."""
        to = self.zeros() if to is None else to
        self.layout.add_stiffness(theta[:, :-1], to[:, :-1], self.n_threads)
        to[:, -1] += self.precision_of_b * theta[:, -1]
        if len(self.layout.unused):
            to[:, self.layout.unused] = 0.0
        return to

    def from_penalty_gradient(self, gradient: Floats) -> Floats:
        """Return the inverse of `penalty_gradient`, for intercepts with a penalty."""
        curves = self.layout.soften(gradient[:, :-1], self.n_threads)
        return self.join(curves, gradient[:, -1] / self.precision_of_b)

    def snapped(self, theta: Floats) -> Floats:
        """Return a vector that is in the cone up to rounding as one exactly inside."""
        if self.cone is None:
            return theta
        return np.column_stack([self.cone.snapped(theta[:, :-1]), theta[:, -1]])

    def gap(self, gradient: Floats, theta: Floats) -> float:
        """Return the penalty's part of the duality gap at theta, and the cone's if there is one.

        It is 1/2 g'K g, where the gradients with respect to b and levels, which are 0 up to
        rounding, are set to 0. In the cone A theta >= 0 it is the minimum of 1/2 h'K h + m'A theta
        with h = g - A'm over m >= 0: compared to equality in the inequalities with a multiplier,
        theta costs m'A theta more.
        """
        g, of_b = self._without_levels(gradient), 0.0
        if not self.is_free:
            of_b = 0.5 * dot(gradient[:, -1], gradient[:, -1]) / self.precision_of_b
        if self.cone is None:
            return 0.5 * self.layout.softness(g, self.n_threads) + of_b
        slacks = self.cone.slack(theta[:, :-1])
        _, m = self.cone.penalty_metric.nearest(slacks - self.cone.slack(self.layout.soften(g)))
        h = g - self.cone.pull(m)
        return max(0.0, 0.5 * dot(h, self.layout.soften(h)) + dot(m, slacks)) + of_b

    def _without_levels(self, gradient: Floats) -> Floats:
        """Return a gradient with respect to the parameters, with 0 along levels."""
        g = np.where(self.used, gradient[:, :-1], 0.0)
        if self.has_level:
            for group, part in zip(self.layout.groups, self.layout.split(g), strict=True):
                if group.has_level:
                    part[:] = group.without_slope(part)
        return g

    def blocks(self, H: RowValues) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i', for each row h of H and each group.

        They are in bands, (n_features, stride, support); the row of a gap holds the sum of h over
        gaps.
        """
        return self.rows.blocks(H, self.n_threads)

    def pair_blocks(self, H: RowValues) -> list[list[Floats]]:
        """Return the blocks of surfaces; see PairRows.blocks."""
        pairs = self.rows.pairs
        none: list[list[Floats]] = [[] for _ in range(self.n_outputs)]
        return none if pairs is None else pairs.blocks(H, self.n_threads)

    def ties(self, H: RowValues, blocks: list[list[Floats]]) -> Floats:
        """Return sum_i h_i B_i of curves for each row h of H, (n_outputs, n_of_curves).

        If the functions sum to one it follows from the blocks; otherwise it takes a pass over the
        rows.
        """
        if not all(group.embedding.basis.is_partition for group in self.layout.groups):
            return self.rows.raw_sums(H, self.n_threads)[:, : self.layout.n_of_curves]
        parts = [np.ascontiguousarray(part) for own in blocks for part in own]
        sums = [_core.band_sums(part, self.n_threads).reshape(-1) for part in parts]
        flat = sums[0] if len(sums) == 1 else np.concatenate([np.zeros(0), *sums])
        return flat.reshape(len(blocks), self.layout.n_of_curves)


def added(to: Floats, share: float, more: Floats) -> Floats:
    """Return to + share * more, computed in place."""
    _core.add_scaled(to, share, more)
    return to


def dot(a: Floats, b: Floats) -> float:
    """Return the sum of the products of all entries."""
    return float(np.vdot(a, b))
