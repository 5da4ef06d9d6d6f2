"""Quantiles of several levels that never cross, wherever the features are.

f_1, ..., f_k are the scores of ascending levels. Each has terms, an intercept and a smoothness of
its own, and together they minimize the sum of their objectives P_l subject to

    c_a + sum_t min_i D_ati >= 0,     a = 1, ..., k - 1,

with c_a the difference of the intercepts of levels a + 1 and a, and D_ati that of their terms t at
node i: a knot, a level of a category, or a missing value. A curve lies between its values at the
nodes, and an additive model has its least increment where every term has its own. So the
inequalities say that quantiles cross nowhere, and they say no more.

Models that were fitted level by level are the solution if they satisfy them. Otherwise these are
solved for by an interior point method: with a variable m_at for every minimum, Newton steps for

    sum_l P_l - e sum_a (log(c_a + sum_t m_at) + sum_ti log(D_ati - m_at))

follow the minimum while e, and the widths of the smoothed losses, become smaller.

The gap is that of the problem itself. Multipliers n_ati >= 0 of D_ati >= m_at whose sum over i is
u_a, the multiplier of c_a, give the lower bound

    P - sum_l (losses' gap to R_l + 1/2 q_l'K_l q_l) - sum_a (u_a c_a + sum_ti n_ati D_ati)

where q_l is the gradient of the penalty plus sum_i R_li B_i plus n_(l) - n_(l-1) at the nodes. The
intercepts demand u_a = - sum_{l <= a} sum_i R_li. So slopes R determine u; the multipliers of the
barrier, e / (D_ati - m_at), are scaled to it, and the bound holds at every point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from splinear._types import Floats
from splinear.curves.basis import BSplineBasis
from splinear.model.factoring import factor_with
from splinear.model.group import Extrapolation, TermGroup
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.objective import Objective
from splinear.objective.point import Point
from splinear.objective.problem import Result, Stopping, stack
from splinear.objective.space import Space, dot
from splinear.objective.whole_hessian import WholeHessian
from splinear.solvers.proofs.certificate import solve_and_certify, with_gap

__all__ = ["Nodes", "refuse_terms", "uncrossed"]

MOST_COEFFICIENTS = 5_000  # of all levels: a step factors a matrix of as many rows
FIRST_SHARE = 0.03  # of the objective that the barrier costs at first
FASTEST, SLOWEST = 0.1, 0.5  # by how much the barrier and the widths are reduced at a time
OF_BARRIER, OF_SMOOTHING = 0.3, 0.3  # shares of the tolerance
CENTERED = 1e-6  # decrease that a step promises, relative to the cost of the barrier
MOST_STEPS, MOST_HALVINGS = 60, 40  # per barrier; per step
TO_EDGE = 0.99  # share of the way to an inequality
INSIDE = 0.9  # share of the increments between levels with which the first point varies
LEAST_INCREMENT = 1e-9  # between the means of levels, relative to the unit of scores


def refuse_terms(layout: Layout) -> None:
    """Raise if a term may be outside of its values at the nodes, where quantiles could cross."""
    wrong = next((group for group in layout.groups if not _is_between_nodes(group)), None)
    if wrong is None and not layout.pairs:
        return
    what = "surfaces over pairs" if wrong is None else wrong.kind
    more = ""
    if wrong is not None and wrong.kind == "Spline":
        more = " with linear extrapolation, shape constraints or sparse X"
    raise ValueError(
        "Quantiles of several levels never cross, which is ensured for Spline terms with constant "
        f"extrapolation and for Category terms; the model has {what}{more}. Fit one model per "
        "level, Quantile(level), where they may cross."
    )


def _is_between_nodes(group: TermGroup) -> bool:
    if group.kind == "Category":
        return True
    is_spline = group.kind == "Spline" and isinstance(group.embedding.basis, BSplineBasis)
    if not is_spline or group.form is not None or group.embedding.through_zero:
        return False
    return group.extrapolation is not Extrapolation.LINEAR


@dataclass(frozen=True, eq=False)
class Nodes:
    """The values of all terms at their nodes, as linear functions of a layout's parameters.

    Attributes
    ----------
    matrix : sparse array of shape (n_nodes, n_parameters)
    term : ndarray of shape (n_nodes,)
        The index of each node's term.
    """

    matrix: sparse.csr_array
    term: NDArray[np.intp]

    @classmethod
    def of(cls, layout: Layout) -> Nodes:
        """Return the nodes of a layout's curves and categories."""
        rows, columns, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        terms, start, n = [np.zeros(0, int)], 0, 0
        n_terms = 0
        for group in layout.groups:
            for j, n_reached in enumerate(group.embedding.n_used.tolist()):
                at = np.arange(n_reached)  # also one that is held at 0
                first = start + j * group.stride
                if group.has_gaps and not len(at):  # of a constant feature, whose curve is 0
                    terms.append(np.array([n_terms]))
                    n += 1
                rows.append(n + np.arange(len(at)))
                columns.append(first + at)
                values.append(np.ones(len(at)))
                n_own = len(at)
                if group.has_gaps:  # the value of a gap is the mean of its curve plus a deviation
                    rows.append(np.full(len(at) + 1, n + n_own))
                    columns.append(np.append(first + at, first + group.size))
                    values.append(np.append(group.mean[j, at], 1.0))
                    n_own += 1
                terms.append(np.full(n_own, n_terms))
                n, n_terms = n + n_own, n_terms + (n_own > 0)
            start += group.n_features * group.stride
        place = (np.concatenate(rows), np.concatenate(columns))
        matrix = sparse.csr_array((np.concatenate(values), place), shape=(n, layout.n_parameters))
        return cls(matrix, np.concatenate(terms).astype(np.intp))

    @property
    def n_terms(self) -> int:
        """Number of terms that have nodes."""
        return int(self.term[-1]) + 1 if len(self.term) else 0

    def increments(self, thetas: Floats) -> tuple[Floats, Floats]:
        """Return c (k - 1,) and D (k - 1, n_nodes) of vectors (k, n_parameters + 1)."""
        moved = np.diff(thetas, axis=0)
        return moved[:, -1], np.asarray((self.matrix @ moved[:, :-1].T).T)

    def least(self, D: Floats) -> Floats:
        """Return the least increment of every term, (k - 1, n_terms)."""
        out = np.full((len(D), self.n_terms), np.inf)
        for own, values in zip(out, D, strict=True):
            np.minimum.at(own, self.term, values)
        return out

    def by_term(self, values: Floats) -> Floats:
        """Return the sums over the nodes of every term, (k - 1, n_terms)."""
        return np.stack([np.bincount(self.term, own, self.n_terms) for own in values])

    def margins(self, thetas: Floats) -> Floats:
        """Return the least increment between levels anywhere, (k - 1,)."""
        c, D = self.increments(thetas)
        return np.asarray(c + self.least(D).sum(axis=1))


@dataclass(frozen=True, eq=False)
class _Levels:
    """The problem of all levels, in ascending order, over some rows."""

    spaces: Sequence[Space]
    totals: Sequence[LossSum]
    nodes: Nodes

    @classmethod
    def over(
        cls, rows: TrainingRows, totals: Sequence[LossSum], layouts: Sequence[Layout], n: int
    ) -> _Levels:
        """Return the problem over rows, on n threads."""
        spaces = [Space(rows.with_layout(layout), 1, n) for layout in layouts]
        return cls(spaces, totals, Nodes.of(layouts[0]))

    def at(self, thetas: Floats, F: Sequence[Floats] | None = None) -> list[Point]:
        """Return the points of all levels."""
        F = [space.scores(own[None]) for space, own in zip(self.spaces, thetas, strict=True)] \
            if F is None else F
        parts = zip(self.spaces, self.totals, thetas, F, strict=True)
        return [
            Point(Objective(space, total), own[None], f, free=False) for space, total, own, f in parts
        ]

    def narrowed(self, factor: float) -> _Levels:
        """Return the problem with narrower surrogates, where they can be."""
        losses = [total.loss.narrowed(factor) for total in self.totals]
        pairs = zip(self.totals, losses, strict=True)
        return replace(self, totals=[t if loss is None else t.by(loss) for t, loss in pairs])

    def inside(self, thetas: Floats, share: float) -> Floats:
        """Return a point inside the inequalities, near one that need not be.

        The levels' means are kept in order, and their curves move toward the mean of all levels
        until the least increment is at least 1 - share of that of the means.
        """
        space = self.spaces[0]
        ones = np.ones((1, space.n_rows))
        weights = space.sums(ones)[0] / space.n_rows
        means = thetas @ weights
        unit = max(1.0, float(np.ptp(means)))
        means = means[0] + np.concatenate(
            [[0.0], np.cumsum(np.maximum(np.diff(means), LEAST_INCREMENT * unit))]
        )
        middle, out = thetas.mean(axis=0), thetas.copy()

        def moved(part: float) -> Floats:
            out[:, :-1] = middle[:-1] + part * (thetas[:, :-1] - middle[:-1])
            out[:, -1] = means - out[:, :-1] @ weights[:-1]
            return out

        varies = np.maximum(np.diff(means) - self.nodes.margins(moved(1.0)), 0.0)
        room = share * np.diff(means)
        parts = np.divide(room, varies, out=np.ones_like(room), where=varies > room)
        return moved(float(parts.min(initial=1.0)))

    def proof(
        self, thetas: Floats, F: Floats, R: Floats, sums: Floats, raw: Floats | None
    ) -> tuple[Floats, float, float]:
        """Return the objectives of all levels, the gap of their sum, and its error.

        R (k, n_rows) are slopes, `sums` (k, n_parameters) their gradients; `raw` (k - 1, n_nodes)
        are multipliers, up to a factor per term.
        """
        c, D = self.nodes.increments(thetas)
        slopes = R.sum(axis=1)
        wanted = -np.cumsum(slopes)
        u = np.maximum(wanted[:-1], 0.0)
        multipliers = self._scaled(u, D, raw)
        gap = float(u @ c + np.vdot(multipliers, D))
        pulled = np.asarray((self.nodes.matrix.T @ multipliers.T).T)
        pulled = np.diff(pulled, axis=0, prepend=0.0, append=0.0)  # of level l less that of l - 1
        values = np.empty(len(thetas))
        parts = zip(self.spaces, self.totals, thetas, F, R, strict=True)
        for k, (space, total, theta, f, r) in enumerate(parts):
            pull = space.penalty_gradient(theta[None])
            losses, part = total.exact(f[None], r[None])
            values[k] = 0.5 * dot(theta[None], pull) + losses
            q = pull + space.join((sums[k] + pulled[k])[None], np.zeros(1))
            gap += part + space.gap(q, theta[None])
        wrong = float(np.maximum(-wanted[:-1], 0.0).sum()) + abs(float(wanted[-1]))
        return values, gap, wrong * (float(np.ptp(F)) + self.totals[0].loss.unit)

    def _scaled(self, u: Floats, D: Floats, raw: Floats | None) -> Floats:
        """Return nonnegative multipliers whose sums over the nodes of a term are u."""
        least = np.take(self.nodes.least(D), self.nodes.term, axis=1)
        at_least = (least == D).astype(np.float64)
        raw = at_least if raw is None else np.maximum(raw, 0.0) + 1e-12 * at_least * raw.max()
        in_all = np.take(self.nodes.by_term(raw), self.nodes.term, axis=1)
        return np.asarray(u[:, None] * raw / np.where(in_all > 0.0, in_all, 1.0))


@dataclass
class _State:
    """A point inside the inequalities, with the variables m and the factor e of the barrier."""

    levels: _Levels
    points: list[Point]
    m: Floats
    barrier: float
    n_iter: int = 0

    @property
    def thetas(self) -> Floats:
        """The vectors of all levels."""
        return np.concatenate([point.theta for point in self.points])

    def slacks(self, thetas: Floats, m: Floats) -> tuple[Floats, Floats]:
        """Return c + sum m (k - 1,), and D - m (k - 1, n_nodes)."""
        c, D = self.levels.nodes.increments(thetas)
        return c + m.sum(axis=1), D - np.take(m, self.levels.nodes.term, axis=1)

    def value(self, points: Sequence[Point], m: Floats) -> float:
        """Return the objective with the barrier."""
        thetas = np.concatenate([point.theta for point in points])
        s, slack = self.slacks(thetas, m)
        if s.min() <= 0.0 or slack.min(initial=1.0) <= 0.0:
            return np.inf
        inside = float(np.log(s).sum() + np.log(slack).sum())
        return sum(point.value for point in points) - self.barrier * inside

    @property
    def multipliers(self) -> Floats:
        """e / (D - m)."""
        return self.barrier / self.slacks(self.thetas, self.m)[1]

    def step(self) -> float:
        """Take a step of Newton's method, and return twice the decrease that it promised."""
        levels, nodes, e = self.levels, self.levels.nodes, self.barrier
        k, T = len(self.points), nodes.n_terms
        whole = WholeHessian(levels.spaces[0])
        places, n = whole.places, len(whole.places)
        H, gradient = np.zeros((k * n + (k - 1) * T,) * 2), np.zeros(k * n + (k - 1) * T)
        for a, (point, space) in enumerate(zip(self.points, levels.spaces, strict=True)):
            own = slice(a * n, (a + 1) * n)
            H[own, own] = whole.finished(whole.raw(point.curvature.diagonal[0], space.n_rows))
            whole.add_penalty(H[own, own], space.layout)
            gradient[own] = point.gradient[0, places]
        s, slack = self.slacks(self.thetas, self.m)
        A = nodes.matrix[:, places[:-1]]
        ones = sparse.csr_array(
            (np.ones(len(nodes.term)), (np.arange(len(nodes.term)), nodes.term)),
            shape=(len(nodes.term), T),
        )
        for a in range(k - 1):
            g = 1.0 / slack[a]
            weights = sparse.diags_array(e * g**2)
            low, high = slice(a * n, a * n + n - 1), slice((a + 1) * n, (a + 1) * n + n - 1)
            own = slice(k * n + a * T, k * n + (a + 1) * T)
            Q = (A.T @ weights @ A).toarray()
            tie = (A.T @ weights @ ones).toarray()
            H[low, low] += Q
            H[high, high] += Q
            H[low, high] -= Q
            H[high, low] -= Q
            H[low, own] += tie
            H[own, low] += tie.T
            H[high, own] -= tie
            H[own, high] -= tie.T
            H[own, own] += np.diag(ones.T @ (e * g**2))
            pulled = A.T @ (e * g)
            gradient[low] += pulled
            gradient[high] -= pulled
            gradient[own] += ones.T @ (e * g)
            # The intercepts, and the variables of all terms.
            along = np.zeros(len(gradient))
            along[a * n + n - 1], along[(a + 1) * n + n - 1], along[own] = -1.0, 1.0, 1.0
            at = np.flatnonzero(along)
            H[np.ix_(at, at)] += e / s[a] ** 2 * np.outer(along[at], along[at])
            gradient[at] -= e / s[a] * along[at]
        to = _solved(H, -gradient)
        promised = -float(gradient @ to)
        if promised > 0.0:
            self._move(to, promised, places, n)
        self.n_iter += 1
        return promised

    def _move(self, to: Floats, promised: float, places: NDArray[np.intp], n: int) -> None:
        """Move along a direction as far as the objective falls."""
        k = len(self.points)
        D = np.zeros_like(self.thetas)
        D[:, places] = to[: k * n].reshape(k, n)
        dm = to[k * n :].reshape(self.m.shape)
        s, slack = self.slacks(self.thetas, self.m)
        ds, dslack = self.slacks(D, dm)
        with np.errstate(divide="ignore"):
            edges = [np.where(d < 0.0, -v / d, np.inf).min(initial=np.inf) for v, d in
                     ((s, ds), (slack, dslack))]
        t = min(1.0, TO_EDGE * float(min(edges)))
        F = [space.scores(own[None]) for space, own in zip(self.levels.spaces, D, strict=True)]
        before = self.value(self.points, self.m)
        for _ in range(MOST_HALVINGS):
            moved = [point.F + t * own for point, own in zip(self.points, F, strict=True)]
            points = self.levels.at(self.thetas + t * D, moved)
            if self.value(points, self.m + t * dm) <= before - 1e-4 * t * promised:
                self.points, self.m = points, self.m + t * dm
                return
            t *= 0.5

    def proven(self) -> tuple[Floats, float, float, float]:
        """Return the objectives, the gap, the losses' part of it, and its error."""
        R = np.concatenate([point.total.gradient(point.F) for point in self.points])
        F = np.concatenate([point.F for point in self.points])
        sums = np.concatenate([point.loss_gradient[:, :-1] for point in self.points])
        parts = [point.total.exact(point.F, r[None])[1] for point, r in zip(self.points, R, strict=True)]
        found = self.levels.proof(self.thetas, F, R, sums, self.multipliers)
        return found[0], found[1], sum(parts), found[2]


def _solved(H: Floats, b: Floats) -> Floats:
    """Solve, with H scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(H), np.finfo(float).tiny))
    H *= scale
    H *= scale[:, None]
    try:
        factor = factor_with(
            lambda M: cho_factor(M, check_finite=False), H, np.einsum("kk->k", H)
        )
    except LinAlgError:
        return np.zeros_like(b)
    return np.asarray(scale * cho_solve(factor, scale * b, check_finite=False))


def uncrossed(
    rows: TrainingRows,
    totals: Sequence[LossSum],
    layouts: Sequence[Layout],
    results: Sequence[Result],
    stopping: Stopping,
) -> list[Result]:
    """Return the models of ascending levels that cross nowhere, given those of single levels.

    `totals` are the sums of the surrogates of all levels, whose widths are those to begin with. If
    models do not cross they are returned as they are. If there are too many coefficients, or the
    fit was stopped, the curves of levels become more alike until they do not, which has no proof.
    """
    first = _Levels.over(rows, totals, layouts, stopping.n_threads)
    coef, intercepts = stack(results)
    alone = np.column_stack([coef, intercepts])
    if first.nodes.margins(alone).min() >= 0.0:
        return list(results)
    raw: Floats | None = None
    n_before = max(found.n_iter for found in results)

    def solve(on: TrainingRows, when: Stopping, last: list[Result] | None) -> list[Result]:
        nonlocal raw
        levels = replace(first, spaces=_Levels.over(on, totals, layouts, when.n_threads).spaces)
        begin = alone if last is None else np.column_stack(stack(last))
        n = len(layouts) * (int(levels.spaces[0].used.sum()) + 1)
        if n > MOST_COEFFICIENTS or when.watch.reason is not None:
            thetas = levels.inside(alone, 1.0 - 1e-6)
            pairs = zip(results, thetas, strict=True)
            return [
                replace(one, coef=own[:-1], intercept=float(own[-1]), converged=False)
                for one, own in pairs
            ]
        found, raw = _follow(levels, levels.inside(begin, INSIDE), when, n_before)
        return found

    def certify(found: list[Result]) -> list[Result]:
        coef, intercepts = stack(found)
        R = np.stack([one.slopes for one in found if one.slopes is not None])
        F, sums = rows.on_values(coef, R, stopping.n_threads)
        F += intercepts[:, None]
        values, gap, error = first.proof(np.column_stack([coef, intercepts]), F, R, sums, raw)
        return _shared(found, values, gap, error, stopping.tol)

    return solve_and_certify(rows, stopping, solve, certify, lambda _: None)


def _shared(
    found: Sequence[Result], values: Floats, gap: float, error: float, tol: float
) -> list[Result]:
    """Return results with the objective of each level, and the gap of all of them."""
    in_all = float(values.sum())
    proven = with_gap(found[0], in_all, gap, tol, error)
    return [
        replace(
            one,
            primal=float(own),
            dual=float(own) * (1.0 - proven.gap),
            gap=proven.gap,
            converged=proven.converged,
            certified=proven.certified,
        )
        for one, own in zip(found, values, strict=True)
    ]


def _follow(
    levels: _Levels, begin: Floats, stopping: Stopping, n_before: int
) -> tuple[list[Result], Floats]:
    """Return the models of the least objective inside the inequalities, and multipliers."""
    points = levels.at(begin)
    c, D = levels.nodes.increments(begin)
    least = levels.nodes.least(D)
    room = 0.5 * (c + least.sum(axis=1))
    m = least - room[:, None] / max(1, levels.nodes.n_terms)
    n_slacks = D.size + len(c)
    cost = FIRST_SHARE * sum(point.value for point in points)
    state = _State(levels, points, m, cost / n_slacks, n_before)
    tol = stopping.tol
    try:
        while True:
            for _ in range(MOST_STEPS):
                promised = state.step()
                is_over = stopping.watch.poll() or state.n_iter >= stopping.max_iter
                if is_over or promised <= CENTERED * state.barrier * n_slacks:
                    break
            values, gap, smoothing, error = state.proven()
            aim = tol * float(values.sum())
            told = gap / max(float(values.sum()), np.finfo(float).tiny)
            is_over |= stopping.watch.on_pass(state.n_iter, told, points[0].space.n_rows)
            if (gap <= aim and error <= aim) or is_over:
                break
            before = state.barrier
            if (costs := state.barrier * n_slacks) > OF_BARRIER * aim:
                state.barrier *= float(np.clip(OF_BARRIER * aim / costs, FASTEST, SLOWEST))
            if smoothing > OF_SMOOTHING * aim:
                factor = np.sqrt(OF_SMOOTHING * aim / smoothing)
                state.levels = state.levels.narrowed(float(np.clip(factor, FASTEST, SLOWEST)))
                state.points = state.levels.at(state.thetas, [point.F for point in state.points])
            elif state.barrier == before:
                break  # what is left is rounding
    except KeyboardInterrupt as error_:
        stopping.watch.fail(error_)
    values, gap, _, error = state.proven()
    layout = points[0].layout
    found = [
        Result(
            coef=layout.extended(point.parameters)[0],
            intercept=float(point.theta[0, -1]),
            primal=0.0,
            dual=0.0,
            gap=0.0,
            n_iter=state.n_iter,
            converged=False,
            slopes=point.total.gradient(point.F)[0],
        )
        for point in state.points
    ]
    return _shared(found, values, gap, error, tol), state.multipliers
