"""The loss of ordered levels: its derivatives, cut points that follow the scores, and its gap."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from splinear.losses import Logistic, Ordinal
from splinear.objective.loss_sums import Separable, Summed, missing_curvature
from splinear.objective.problem import Problem

CUTS = np.array([-1.5, -0.2, 0.1, 2.0])


def of_levels(n_levels, cuts=None):
    loss = Ordinal().of_classes(np.arange(n_levels))
    return loss if cuts is None else loss.with_shared(np.asarray(cuts))


def rows(n=400, n_levels=5, seed=0):
    """Scores, levels that follow them, and weights."""
    rng = np.random.default_rng(seed)
    f = rng.normal(size=n) * 1.5
    cuts = np.linspace(-2.0, 2.0, n_levels - 1) if n_levels > 2 else np.zeros(1)
    y = np.digitize(f + rng.logistic(size=n), cuts)
    y[:n_levels] = np.arange(n_levels)
    return f, y, rng.uniform(0.5, 2.0, n)


def brute(cuts, y, f):
    """-log P(y) as the definition says, which cancels in the tails."""
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    return -np.log(expit(ends[y + 1] - f) - expit(ends[y] - f))


def least(y, f, cost, n_levels):
    """The least sum over cut points, by SciPy, in terms of the first one and log-widths."""

    def cuts_of(z):
        return z[0] + np.concatenate([[0.0], np.cumsum(np.exp(z[1:]))])

    start = np.concatenate([[-1.0], np.zeros(n_levels - 2)])
    found = minimize(
        lambda z: cost @ brute(cuts_of(z), y, f), start, method="BFGS", options={"gtol": 1e-9}
    )
    return found.fun, cuts_of(found.x)


def test_value_is_minus_the_logarithm_of_the_probability():
    f, y, _ = rows()
    loss = of_levels(5, CUTS)
    assert_allclose(loss.value(y, f), brute(CUTS, y, f), rtol=1e-12)
    P = loss.probabilities(f[:, None])
    assert_allclose(-np.log(P[np.arange(len(y)), y]), loss.value(y, f), rtol=1e-12)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    assert np.isfinite(loss.value(y, 700.0 * np.sign(f))).all()  # where the definition has 0


def test_slope_and_curvature_are_derivatives():
    f, y, _ = rows()
    loss, h = of_levels(5, CUTS), 1e-5
    for away in (-4.0, 0.0, 3.0):
        g = f + away
        rise = (loss.value(y, g + h) - loss.value(y, g - h)) / (2 * h)
        assert_allclose(loss.slope(y, g), rise, atol=1e-9)
        bend = (loss.slope(y, g + h) - loss.slope(y, g - h)) / (2 * h)
        assert_allclose(loss.curvature(y, g), bend, atol=1e-9)


@pytest.mark.parametrize("n_levels", [2, 3, 5, 30])
def test_cut_points_are_the_best_ones(n_levels):
    f, y, cost = rows(600, n_levels)
    loss = of_levels(n_levels).profiled(y, f[None], cost)
    value = cost @ loss.value(y, f)
    if n_levels < 30:
        expected, cuts = least(y, f, cost, n_levels)
        assert value == pytest.approx(expected, rel=1e-10)
        assert_allclose(loss.cut_points, cuts, atol=1e-4)
    h = 1e-4  # slopes along all cut points are 0, up to third derivatives
    for k in range(n_levels - 1):
        away = h * (np.arange(n_levels - 1) == k)
        rise = [cost @ loss.with_shared(loss.shared + s * away).value(y, f) for s in (1, -1)]
        assert abs(rise[0] - rise[1]) / (2 * h) < 1e-5 * cost.sum()
    again = of_levels(n_levels, loss.shared + 0.1).profiled(y, f[None], cost)
    assert_allclose(again.shared, loss.shared, atol=1e-10)  # wherever the steps begin


def test_constant_scores_have_the_shares_of_the_levels():
    _, y, cost = rows()
    loss = of_levels(5).profiled(y, np.full((1, len(y)), 0.7), cost)
    share = np.bincount(y, cost) / cost.sum()
    assert_allclose(loss.probabilities(np.array([[0.7]]))[0], share, rtol=1e-9)


@pytest.mark.parametrize("weight", [1e-12, 1e12])
def test_a_level_of_any_weight_keeps_its_digits(weight):
    """Cut points nearly meet where a level has hardly any weight."""
    f, y, cost = rows()
    cost[y == 2] *= weight
    loss = of_levels(5).profiled(y, f[None], cost)
    width = loss.cut_points[2] - loss.cut_points[1]
    total = Summed(loss, y, cost)
    assert abs(total.gradient(f[None]).sum()) <= 1e-9 * cost.sum()
    assert width > 0.0 if weight > 1.0 else 0.0 <= width < 1e-10


def test_levels_without_rows():
    f, y, cost = rows(n_levels=7)
    full = of_levels(7)
    cost[np.isin(y, [0, 3, 6])] = 0.0
    loss = full.profiled(y, f[None], cost)
    kept = cost > 0
    few = of_levels(4).profiled(np.searchsorted([1, 2, 4, 5], y[kept]), f[None, kept], cost[kept])
    assert_allclose(loss.cut_points[[1, 2, 4]], few.cut_points, rtol=1e-9)
    assert loss.cut_points[3] == loss.cut_points[2]
    P = loss.probabilities(f[:, None])
    assert P[:, 3].max() == 0.0
    assert P[:, [0, 6]].max() < 1e-12
    value, slope, curvature = loss.evaluate(y, f[None], cost)
    for found in (value, slope, curvature.times(f[None]), loss.value(y, f)):
        assert np.isfinite(found).all()
    one = full.profiled(y, f[None], np.where(y == 4, 1.0, 0.0))  # a single level
    assert one.probabilities(f[:, None])[:, 4].min() > 1.0 - 1e-12


def test_gradient_is_that_of_the_sum_whose_cut_points_follow():
    f, y, cost = rows(60, 4)
    F, loss, h = f[None], of_levels(4), 1e-4
    gradient = Summed(loss, y, cost).gradient(F)[0]
    for i in range(0, 60, 7):
        away = h * (np.arange(60) == i)
        rise = [least(y, f + s * away, cost, 4)[0] for s in (1, -1)]
        assert (rise[0] - rise[1]) / (2 * h) == pytest.approx(gradient[i], abs=1e-5)
    assert abs(gradient.sum()) < 1e-10 * cost.sum()


@pytest.mark.parametrize("n_levels", [2, 3, 6])
def test_curvature_is_the_derivative_of_the_gradient(n_levels):
    f, y, cost = rows(80, n_levels)
    total, h = Summed(of_levels(n_levels), y, cost), 1e-5
    V = np.random.default_rng(1).normal(size=(1, 80))
    found = total.curvature(f[None]).times(V)
    rise = total.gradient(f[None] + h * V) - total.gradient(f[None] - h * V)
    assert_allclose(found, rise / (2 * h), atol=1e-6)
    curvature = total.curvature(f[None])
    assert_allclose(curvature.times(np.ones((1, 80))), 0.0, atol=1e-12)
    H = np.stack([curvature.times(row[None])[0] for row in np.eye(80)])
    assert_allclose(H, H.T, atol=1e-13)
    assert np.linalg.eigvalsh(H).min() > -1e-12


def test_curvature_of_a_sample_and_with_more():
    f, y, cost = rows(200, 5)
    curvature = Summed(of_levels(5), y, cost).curvature(f[None])
    extra = np.random.default_rng(2).uniform(size=200)
    V = np.random.default_rng(3).normal(size=(1, 200))
    raised = curvature.raised(extra)
    assert_allclose(raised.times(V), curvature.times(V) + extra * V)
    shift = raised.level(V)[0]
    assert abs(raised.times(V + shift).sum()) < 1e-10
    some = raised.some(np.arange(0, 200, 2), np.full(100, 2.0))
    H = np.stack([some.times(row[None])[0] for row in np.eye(100)])
    assert np.linalg.eigvalsh(H).min() > -1e-12
    of_row = [curvature.springs(k) for k in range(4)]
    assert_allclose(np.sum(of_row, axis=0), curvature.diagonal[0])
    E = np.stack(of_row, axis=1)
    H = np.diag(curvature.diagonal[0]) - E @ np.linalg.solve(curvature.of_cuts, E.T)
    assert_allclose(curvature.times(V)[0], H @ V[0], atol=1e-12)


@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_gap_is_value_plus_conjugate_less_their_product(n_levels):
    """The conjugate is found by SciPy, as a maximum over scores and cut points together."""
    f, y, cost = rows(12, n_levels, seed=3)
    total = Summed(of_levels(n_levels), y, cost)
    R = total.gradient((0.7 * f + 0.3)[None])

    def lacks(z):
        cuts = np.concatenate([[0.0], np.cumsum(np.exp(z[12:]))])
        return cost @ brute(cuts, y, z[:12]) - R[0] @ z[:12]

    start = np.concatenate([f, np.full(n_levels - 2, -0.5)])
    conjugate = -minimize(lacks, start, method="BFGS", options={"gtol": 1e-8}).fun
    expected = total.value(f[None]) + conjugate - float(R[0] @ f)
    # A bound from above, which is off by the third order where the cut points differ.
    found = total.gap(f[None], R)
    assert expected - 1e-7 <= found <= 1.5 * expected
    near = total.gradient((f + 1e-3 * np.sin(np.arange(12)))[None])
    assert 0.0 <= total.gap(f[None], near) < 1e-5
    assert total.gap(f[None], total.gradient(f[None])) < 1e-13


def test_slopes_that_no_score_has():
    f, y, cost = rows(50, 4)
    total = Summed(of_levels(4), y, cost)
    R = total.gradient(f[None])
    wrong = R.copy()
    wrong[0, np.flatnonzero(y == 0)[0]] = -0.1  # the slope of the lowest level is positive
    assert total.gap(f[None], wrong) == np.inf
    wrong = R.copy()
    wrong[0, np.flatnonzero(y == 2)[0]] = 1.1 * cost.max()
    assert total.gap(f[None], wrong) == np.inf


def test_two_levels_are_the_logistic_loss():
    f, y, cost = rows(300, 2)
    ordinal = Summed(of_levels(2), y, cost)
    signs = np.where(y > 0, 1, -1).astype(np.int8)
    logistic = Separable(Problem(signs, Logistic(np.arange(2)), 1.0, 1.0, cost))
    F = f[None]
    shift = logistic.best_shift(F)
    assert_allclose(ordinal.best_shift(F), shift, atol=1e-9)
    assert ordinal.value(F) == pytest.approx(logistic.value(F + shift), rel=1e-12)
    assert_allclose(ordinal.gradient(F), logistic.gradient(F + shift), atol=1e-9)
    for cautious in (False, True):
        own = ordinal.curvature(F, cautious=cautious).diagonal
        other = logistic.curvature(F + shift, cautious=cautious).diagonal
        assert_allclose(own, other, atol=1e-9)
    R = logistic.gradient(0.8 * F + shift)
    R -= R.mean()
    assert ordinal.gap(F, R) == pytest.approx(logistic.gap(F + shift, R), rel=1e-6)


def test_shifted_in_place():
    """Points shift the scores by `best_shift` in place, and go on asking."""
    f, y, cost = rows()
    total, F = Summed(of_levels(5), y, cost), f[None].copy()
    before = total.value(F), total.gradient(F)
    F += total.best_shift(F)[:, None]
    assert total.value(F) == pytest.approx(before[0], rel=1e-12)
    assert_allclose(total.gradient(F), before[1], atol=1e-10)
    assert abs(total.loss_at(F).shared.mean()) < 1e-10
    assert_allclose(total.best_shift(F), 0.0, atol=1e-10)


def test_curvature_that_a_failed_step_lacked():
    f, y, cost = rows()
    total = Summed(of_levels(5), y, cost)
    F, D = f[None], np.where(np.arange(len(f)) % 9 == 0, 8.0, 0.01)[None]
    more = missing_curvature(total, F, D, total.curvature(F))
    assert more.min() >= 0.0
    assert more[::9].max() > 0.0


def test_modes_are_the_most_probable_levels():
    for cuts in ([-1.0, 1.0], [-1.0, -0.95, 1.0], [0.0], [0.0, 3.0, 3.001, 3.002, 9.0]):
        loss = of_levels(len(cuts) + 1, cuts)
        modes, starts = loss.modes
        f = np.linspace(-15.0, 20.0, 4001) + 1e-4
        expected = loss.probabilities(f[:, None]).argmax(axis=1)
        assert np.array_equal(np.array(modes)[np.searchsorted(starts, f)], expected)


def test_levels_are_read_in_their_order():
    pd = pytest.importorskip("pandas")
    values = np.array(["low", "mid", "high", "mid"], dtype=object)
    ordered = pd.Series(pd.Categorical(values, ["low", "none", "mid", "high"], ordered=True))
    for y in (ordered, pd.Categorical(ordered), pd.Index(ordered)):
        loss, index = Ordinal().knowing(y).read(np.asarray(y))
        assert loss.classes.tolist() == ["low", "mid", "high"]
        assert index.tolist() == [0, 1, 2, 1]
    with pytest.warns(UserWarning, match="alphabetical order: high, low, mid"):
        loss, index = Ordinal().knowing(pd.Series(values)).read(values)
    assert loss.classes.tolist() == ["high", "low", "mid"]
    loss, index = Ordinal(("low", "mid", "high")).knowing(ordered).read(values)
    assert index.tolist() == [0, 1, 2, 1]
    numbers = np.array([10, 9, 2, 9])
    loss, index = Ordinal().knowing(numbers).read(numbers)
    assert loss.classes.tolist() == [2, 9, 10]
    assert index.tolist() == [2, 1, 0, 1]
    loss, index = Ordinal().read(np.array([True, False]))
    assert index.tolist() == [1, 0]
    with pytest.raises(ValueError, match="'none', which is not among the levels"):
        Ordinal(("low", "mid", "high")).read(np.array(["low", "none"], dtype=object))
    with pytest.raises(ValueError, match="only one was found"):
        Ordinal((1, 2, 3)).read(np.array([1, 1]))
    with pytest.raises(ValueError, match="one level per row"):
        Ordinal().read(np.eye(3, dtype=int))


def test_enumerations_of_polars_have_an_order():
    pl = pytest.importorskip("polars")
    values = ["mid", "low", "high"]
    y = pl.Series(values, dtype=pl.Enum(["low", "mid", "high"]))
    assert Ordinal().knowing(y).levels == ("low", "mid", "high")
    assert Ordinal().knowing(pl.Series(values)).levels is None
    assert Ordinal().knowing(SimpleNamespace()).levels is None
