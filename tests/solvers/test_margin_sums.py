"""Sums of smoothed losses of margins, against the same written out in NumPy."""

import numpy as np
import pytest

from splinear.losses import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from splinear.objective.margin_sums import RowMargins
from splinear.objective.problem import Problem

N = 5_003
LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.2)]
RAMPS = np.array([[0.7, 0.3, 0.6], [0.05, 0.5, 0.5]])

by_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def problems(loss, *, weighted=True):
    random = np.random.default_rng(0)
    is_residual = isinstance(loss, EpsilonInsensitive)
    out = []
    for cost in (0.5, 1.5):
        y = np.ones(N) if is_residual else random.choice([-1, 1], N)
        targets = random.normal(size=N) if is_residual else None
        weights = random.uniform(0.1, 2.0, N) * (random.random(N) < 0.9) if weighted else None
        out.append(Problem(y.astype(np.int8), loss, cost, 1.2, weights=weights, targets=targets))
    return out


def clipped(x):
    return np.clip(x, 0.0, 1.0), (x > 0.0) & (x < 1.0)


def smoothed(problem, m, ramp):
    """Minus the slope of the smoothed loss at m, and the second derivative."""
    loss, (width, low, high) = problem.loss, ramp
    if isinstance(loss, SquaredHinge):
        return 2.0 * np.maximum(1.0 - m, 0.0), np.where(m < 1.0, 2.0, 0.0)
    if isinstance(loss, Hinge):
        slope, bent = clipped((1.0 - m) / width + np.where(problem.y > 0, high, low))
        return slope, bent / width
    below, is_below = clipped((-m - loss.epsilon) / width + low)
    above, is_above = clipped((m - loss.epsilon) / width + high)
    return below - above, (is_below.astype(float) + is_above) / width


def own_gap(loss, alpha, m, cost):
    counts = cost > 0
    return loss.dual_gap(alpha[counts], m[counts], cost[counts]).sum()


@pytest.fixture(name="F")
def scores():
    return 1.5 * np.random.default_rng(1).normal(size=(2, N))


@by_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_and_measures_are_those_written_out(loss, weighted, F):
    all_of_them = problems(loss, weighted=weighted)
    slopes, found = RowMargins(all_of_them).sloped(F, RAMPS)
    bends = RowMargins(all_of_them).bends(F, RAMPS)
    for k, problem in enumerate(all_of_them):
        m, cost = problem.margin(F[k]), problem.cost
        slope, bend = smoothed(problem, m, RAMPS[k])
        np.testing.assert_allclose(slopes[k], -problem.y * cost * slope, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(bends[k], cost * bend, rtol=1e-12)
        assert found.losses[k] == pytest.approx(cost @ loss.of_margin(m), rel=1e-12)
        assert found.parts[k] == pytest.approx(own_gap(loss, cost * slope, m, cost), rel=1e-9)
        second = slope < 0 if isinstance(loss, EpsilonInsensitive) else problem.y > 0
        bent = (bend > 0) & (cost > 0)
        np.testing.assert_array_equal(
            found.bent[k], [(bent & ~second).sum(), (bent & second).sum()]
        )
        sizes = [np.abs(slope[bent & side]).sum() for side in (~second, second)]
        np.testing.assert_allclose(found.centers[k], sizes, rtol=1e-12)


@by_loss
def test_slopes_along_a_direction_are_those_written_out(loss, F):
    D = np.random.default_rng(2).normal(size=(2, N))
    shares = np.array([0.0, 0.3, 1.0, 2.5])
    found = RowMargins(problems(loss)).along(F, D, RAMPS, shares)
    for k, problem in enumerate(problems(loss)):
        for t, slope in zip(shares, found[k], strict=True):
            at = smoothed(problem, problem.margin(F[k] + t * D[k]), RAMPS[k])[0]
            expected = -(problem.cost * problem.y * D[k]) @ at
            assert slope == pytest.approx(expected, rel=1e-9, abs=1e-9)


@by_loss
def test_gaps_are_those_written_out(loss, F):
    total = RowMargins(problems(loss))
    R = total.slopes(F[::-1].copy(), RAMPS)
    losses, parts = total.gaps(F, R)
    for k, problem in enumerate(problems(loss)):
        m, cost = problem.margin(F[k]), problem.cost
        assert losses[k] == pytest.approx(cost @ loss.of_margin(m), rel=1e-12)
        expected = own_gap(loss, -problem.y * R[k], m, cost)
        assert parts[k] == pytest.approx(expected, rel=1e-9)
    R[0, 7] = -2.5 * problems(loss)[0].y[7] * (-1.0 if isinstance(loss, SquaredHinge) else 1.0)
    assert total.gaps(F, R)[1][0] == np.inf
    assert np.isfinite(total.gaps(F, R)[1][1])


@by_loss
def test_threads_change_no_bit(loss, F):
    D = np.random.default_rng(3).normal(size=(2, N))
    one, many = (RowMargins(problems(loss), n_threads=n) for n in (1, 3))
    for total in (one, many):
        slopes, told = total.sloped(F, RAMPS)
        assert np.array_equal(slopes, one.slopes(F, RAMPS))
        assert np.array_equal(told.parts, one.measured(F, RAMPS).parts)
        assert np.array_equal(total.bends(F, RAMPS), one.bends(F, RAMPS))
        shares = np.array([0.5, 1.0])
        assert np.array_equal(total.along(F, D, RAMPS, shares), one.along(F, D, RAMPS, shares))


def test_the_first_rows_weigh_as_much_as_all(F):
    few = RowMargins(problems(Hinge())).first(1_000)
    some = [problem.some(slice(1_000)).scaled(N / 1_000) for problem in problems(Hinge())]
    expected = RowMargins(some).sloped(F[:, :1_000], RAMPS)
    found = few.sloped(F[:, :1_000], RAMPS)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1].losses, expected[1].losses)


def test_a_loss_without_a_ramp_is_refused(F):
    problem = Problem(np.ones(N, dtype=np.int8), Logistic(), 1.0, 1.0)
    with pytest.raises(TypeError, match="no smoothed form"):
        RowMargins([problem]).bends(F[:1], RAMPS[:1])
