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
from scipy.linalg import LinAlgError, solve_triangular

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.model.factoring import factor_with
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.objective import Objective
from splinear.objective.point import Point
from splinear.objective.problem import Result, Stopping, stack
from splinear.objective.space import Space, dot
from splinear.objective.whole_hessian import WholeHessian, forms_hessian
from splinear.solvers.proofs.certificate import solve_and_certify, with_gap
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import Extrapolation, TermGroup

__all__ = ["Nodes", "refuse_terms", "uncrossed"]

FIRST_SHARE = 0.03  # of the objective that the barrier costs at first
FASTEST, SLOWEST = 0.1, 0.5  # by how much the barrier and the widths are reduced at a time
OF_BARRIER, OF_SMOOTHING = 0.3, 0.3  # shares of the tolerance
CENTERED, SETTLED = 0.1, 1e-14  # twice the promised decrease, by the barrier's cost; by the value
MOST_HALVINGS = 40  # of a step
SHORT, WHOLE = 0.2, 0.9  # shares of steps from which the next one is cautious, or no longer is
TO_EDGE = 0.99  # share of the way to an inequality
INSIDE = 0.9  # share of the increments between levels with which the first point varies
ROUNDING = 1e-13  # relative to the scores: by how much models cross that do not
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

    @cached_property
    def indicator(self) -> sparse.csr_array:
        """Whether each node is one of each term, (n_nodes, n_terms)."""
        n = len(self.term)
        return sparse.csr_array((np.ones(n), (np.arange(n), self.term)), shape=(n, self.n_terms))

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
        F = (
            [space.scores(own[None]) for space, own in zip(self.spaces, thetas, strict=True)]
            if F is None
            else F
        )
        parts = zip(self.spaces, self.totals, thetas, F, strict=True)
        return [
            Point(Objective(space, total), own[None], f, free=False)
            for space, total, own, f in parts
        ]

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
    is_cautious: bool = False  # whether rows have the curvature of parabolas above their losses

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
        """The barrier's factor e, divided by D - m."""
        return self.barrier / self.slacks(self.thetas, self.m)[1]

    def step(self) -> float:
        """Take a step of Newton's method, and return twice the decrease that it promised."""
        levels, nodes, e = self.levels, self.levels.nodes, self.barrier
        whole = WholeHessian(levels.spaces[0])
        places, n = whole.places, len(whole.places)
        # Level k has the block of its coefficients, its intercept and, from the second on, the
        # variables m of the inequalities with the level before: the matrix is block tridiagonal.
        blocks, gradients = list[Floats](), list[Floats]()
        for k, (point, space) in enumerate(zip(self.points, levels.spaces, strict=True)):
            size = n + (nodes.n_terms if k else 0)
            H, gradient = np.zeros((size, size)), np.zeros(size)
            curvature = point.total.curvature(point.F, cautious=self.is_cautious)
            H[:n, :n] = whole.finished(whole.raw(curvature.diagonal[0], space.n_rows))
            whole.add_penalty(H[:n, :n], space.layout)
            gradient[:n] = point.gradient[0, places]
            blocks.append(H)
            gradients.append(gradient)
        ties = list[Floats]()
        A, by_term = nodes.matrix[:, places[:-1]], nodes.indicator
        for k, (s, slack) in enumerate(zip(*self.slacks(self.thetas, self.m), strict=True)):
            low, high, tie = (
                blocks[k],
                blocks[k + 1],
                np.zeros((len(blocks[k]), len(blocks[k + 1]))),
            )
            g = e / slack
            weights = sparse.diags_array(g / slack)
            Q = (A.T @ weights @ A).toarray()
            of_terms = (A.T @ weights @ by_term).toarray()
            low[: n - 1, : n - 1] += Q
            high[: n - 1, : n - 1] += Q
            tie[: n - 1, : n - 1] -= Q
            tie[: n - 1, n:] += of_terms
            high[: n - 1, n:] -= of_terms
            high[n:, : n - 1] -= of_terms.T
            high[n:, n:] += np.diag(by_term.T @ (g / slack))
            pulled = A.T @ g
            gradients[k][: n - 1] += pulled
            gradients[k + 1][: n - 1] -= pulled
            gradients[k + 1][n:] += by_term.T @ g
            # The sum of the intercepts' difference and of the variables m.
            h = e / s**2
            low[n - 1, n - 1] += h
            high[n - 1 :, n - 1 :] += h
            tie[n - 1, n - 1 :] -= h
            gradients[k][n - 1] += e / s
            gradients[k + 1][n - 1 :] -= e / s
            ties.append(tie)
        self.n_iter += 1
        try:
            to = _solved(blocks, ties, [-own for own in gradients])
        except LinAlgError:  # rounding errors dominate
            return 0.0
        promised = -sum(float(g @ own) for g, own in zip(gradients, to, strict=True))
        if promised > 0.0:
            D, dm = np.zeros_like(self.thetas), np.zeros_like(self.m)
            for k, own in enumerate(to):
                D[k, places] = own[:n]
                if k:
                    dm[k - 1] = own[n:]
            self._move(D, dm, promised)
        return promised

    def _move(self, D: Floats, dm: Floats, promised: float) -> None:
        """Move along a direction as far as the objective falls."""
        s, slack = self.slacks(self.thetas, self.m)
        ds, dslack = self.slacks(D, dm)
        with np.errstate(divide="ignore"):
            edges = [
                np.where(d < 0.0, -v / d, np.inf).min(initial=np.inf)
                for v, d in ((s, ds), (slack, dslack))
            ]
        t = min(1.0, TO_EDGE * float(min(edges)))
        F = [space.scores(own[None]) for space, own in zip(self.levels.spaces, D, strict=True)]
        before = self.value(self.points, self.m)
        for _ in range(MOST_HALVINGS):
            moved = [point.F + t * own for point, own in zip(self.points, F, strict=True)]
            points = self.levels.at(self.thetas + t * D, moved)
            if self.value(points, self.m + t * dm) <= before - 1e-4 * t * promised:
                self.points, self.m = points, self.m + t * dm
                break
            t *= 0.5
        # Where losses are nearly straight, steps go too far, and little of them decreases the sum.
        self.is_cautious = t < (WHOLE if self.is_cautious else SHORT)

    def narrow(self, factor: float) -> None:
        """Go on with narrower surrogates, where they can be."""
        losses = [total.loss.narrowed(factor) for total in self.levels.totals]
        pairs = zip(self.levels.totals, losses, strict=True)
        totals = [total if loss is None else total.by(loss) for total, loss in pairs]
        self.levels = replace(self.levels, totals=totals)
        self.points = self.levels.at(self.thetas, [point.F for point in self.points])

    def proven(self) -> tuple[Floats, float, float, float]:
        """Return the objectives, the gap, the losses' part of it, and its error."""
        R = np.concatenate([point.total.gradient(point.F) for point in self.points])
        F = np.concatenate([point.F for point in self.points])
        sums = np.concatenate([point.loss_gradient[:, :-1] for point in self.points])
        parts = [
            point.total.exact(point.F, r[None])[1] for point, r in zip(self.points, R, strict=True)
        ]
        found = self.levels.proof(self.thetas, F, R, sums, self.multipliers)
        return found[0], found[1], sum(parts), found[2]


def _cholesky(H: Floats) -> Floats:
    return np.asarray(np.linalg.cholesky(H))


def _solved(blocks: list[Floats], ties: list[Floats], b: list[Floats]) -> list[Floats]:
    """Solve with a symmetric block tridiagonal matrix, whose blocks are overwritten.

    `ties` are the blocks above the diagonal. All are scaled to a unit diagonal.
    """
    tiny = np.finfo(float).tiny
    scales = [1.0 / np.sqrt(np.maximum(np.diagonal(own), tiny)) for own in blocks]
    for own, scale in zip(blocks, scales, strict=True):
        own *= scale * scale[:, None]
    factors, coupled, left = list[Floats](), list[Floats](), list[Floats]()
    for k, (own, scale) in enumerate(zip(blocks, scales, strict=True)):
        r = scale * b[k]
        if k:
            tie = scales[k - 1][:, None] * ties[k - 1] * scale
            tie = solve_triangular(factors[-1], tie, lower=True, check_finite=False)
            own -= tie.T @ tie
            r -= tie.T @ left[-1]
            coupled.append(tie)
        factor = factor_with(_cholesky, own, np.einsum("kk->k", own))
        factors.append(factor)
        left.append(solve_triangular(factor, r, lower=True, check_finite=False))
    out = list[Floats]()
    for k in reversed(range(len(blocks))):
        r = left[k] if not out else left[k] - coupled[k] @ out[-1]
        out.append(solve_triangular(factors[k], r, lower=True, trans=1, check_finite=False))
    return [scale * own for scale, own in zip(scales, reversed(out), strict=True)]


def uncrossed(
    rows: TrainingRows,
    totals: Sequence[LossSum],
    layouts: Sequence[Layout],
    results: Sequence[Result],
    stopping: Stopping,
) -> list[Result] | None:
    """Return models of ascending levels that cross nowhere; None if the given ones do not.

    `results` are those of single levels, and `totals` the sums of their surrogates, whose widths
    are those to begin with. If there are too many coefficients, or the
    fit was stopped, the curves of levels become more alike until they do not, which has no proof.
    """
    first = _Levels.over(rows, totals, layouts, stopping.n_threads)
    coef, intercepts = stack(results)
    alone = np.column_stack([coef, intercepts])
    if first.nodes.margins(alone).min() >= -ROUNDING * max(1.0, float(np.abs(alone).max())):
        return None
    raw: Floats | None = None
    n_before = max(found.n_iter for found in results)

    def solve(on: TrainingRows, when: Stopping, last: list[Result] | None) -> list[Result]:
        nonlocal raw
        levels = replace(first, spaces=_Levels.over(on, totals, layouts, when.n_threads).spaces)
        begin = alone if last is None else np.column_stack(stack(last))
        if not forms_hessian(layouts[0]) or when.watch.reason is not None:
            thetas = levels.inside(alone, 1.0 - 1e-6)
            pairs = zip(results, thetas, strict=True)
            return [
                replace(one, coef=own[:-1], intercept=float(own[-1]), converged=False)
                for one, own in pairs
            ]
        n_iter = n_before if last is None else 0
        found, raw = _follow(levels, begin, when, n_iter)
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
    cost = FIRST_SHARE * sum(point.value for point in levels.at(begin))
    begin = levels.inside(begin, INSIDE)
    c, D = levels.nodes.increments(begin)
    least, n_slacks = levels.nodes.least(D), D.size + len(c)
    room = 0.5 * (c + least.sum(axis=1))
    m = least - room[:, None] / max(1, levels.nodes.n_terms)
    state = _State(levels, levels.at(begin), m, cost / n_slacks, n_before)
    try:
        while True:
            promised, costs = state.step(), state.barrier * n_slacks
            is_over = stopping.watch.poll() or state.n_iter >= stopping.max_iter
            if promised > CENTERED * costs and not is_over:
                continue
            values, gap, smoothing, error = state.proven()
            value = float(values.sum())
            aim = stopping.tol * value
            is_over |= stopping.watch.on_pass(state.n_iter, gap / value, levels.spaces[0].n_rows)
            if (gap <= aim and error <= aim) or is_over:
                break
            if costs > OF_BARRIER * aim:
                state.barrier *= float(np.clip(OF_BARRIER * aim / costs, FASTEST, SLOWEST))
            if smoothing > OF_SMOOTHING * aim:
                factor = np.sqrt(OF_SMOOTHING * aim / smoothing)
                state.narrow(float(np.clip(factor, FASTEST, SLOWEST)))
            elif promised <= (SETTLED * value if costs <= OF_BARRIER * aim else 0.0):
                break  # what is left is rounding
    except KeyboardInterrupt as error_:
        stopping.watch.fail(error_)
    values, gap, _, error = state.proven()
    layout = levels.spaces[0].layout
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
    return _shared(found, values, gap, error, stopping.tol), state.multipliers
