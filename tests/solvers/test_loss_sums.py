"""Sums of losses over rows: their second derivatives, levels, samples and caution."""

import numpy as np
import pytest

from splinear.losses import Gamma, Logistic, Poisson, Softmax, SquaredError
from splinear.losses.margin import NEARLY_STRAIGHT
from splinear.objective.local.training_rows import sample_rows
from splinear.objective.loss_sums import Separable, Summed, missing_curvature
from splinear.objective.problem import Problem

N = 400
RANDOM = np.random.default_rng(0)
COST = RANDOM.uniform(0.1, 2.0, N)
SIGNS = RANDOM.choice([-1.0, 1.0], N)
LABELS = RANDOM.integers(0, 4, N)


def separable(y, loss, targets=None):
    return Separable(Problem(y, loss, 1.0, 1.0, weights=COST, targets=targets))


SUMS = {
    "logistic": separable(SIGNS, Logistic()),
    "squared error": separable(np.ones(N), SquaredError(), SIGNS),
    "poisson": separable(np.ones(N), Poisson(), SIGNS),
    "gamma": separable(-np.ones(N), Gamma(), SIGNS),
    "softmax": Summed(Softmax(np.arange(4)), LABELS, COST),
}


@pytest.fixture(params=SUMS)
def total(request):
    return SUMS[request.param]


def scores(total, spread=2.0):
    return spread * np.random.default_rng(1).normal(size=(total.n_outputs, N))


def test_derivatives_are_those_of_the_value(total):
    F, V = scores(total), scores(total, 1.0)
    h = 1e-4
    slope = (total.value(F + h * V) - total.value(F - h * V)) / (2 * h)
    assert np.vdot(total.gradient(F), V) == pytest.approx(slope, rel=1e-6)
    bend = (total.gradient(F + h * V) - total.gradient(F - h * V)) / (2 * h)
    np.testing.assert_allclose(total.curvature(F).times(V), bend, atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "squared error"])
@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
def test_the_core_computes_what_numpy_does(name, spread):
    """Value, derivatives and the best shift, of more rows than one thread takes at a time."""
    random, n = np.random.default_rng(4), 10_001
    loss = SUMS[name].loss
    y = random.choice([-1, 1], n).astype(np.int8) if name == "logistic" else np.ones(n, np.int8)
    targets = None if name == "logistic" else random.normal(size=n)
    problem = Problem(y, loss, 0.7, 1.9, weights=random.random(n), targets=targets)
    F = spread * random.normal(size=(1, n)) - 0.3 * min(spread, 3.0)
    total = Separable(problem)
    assert total.twin is not None
    m, cost = problem.margin(F[0]), problem.cost
    assert total.value(F) == pytest.approx(cost @ loss.of_margin(m), rel=1e-13)
    slopes, bends = total.gradient(F)[0], total.curvature(F).diagonal[0]
    np.testing.assert_allclose(slopes, cost * y * loss.derivatives(m)[0], rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(bends, cost * loss.derivatives(m)[1], rtol=1e-13, atol=1e-300)
    shifted = F + total.best_shift(F)[:, None]
    left = cost * y * loss.derivatives(problem.margin(shifted[0]))[0]
    assert abs(left.sum()) <= 1e-9 * np.abs(left).sum()
    on_two = total.on_threads(2)
    cautious = on_two.curvature(F, cautious=True).diagonal[0]
    wrong = m < -NEARLY_STRAIGHT
    np.testing.assert_allclose(cautious[wrong], (cost * loss.caution(m))[wrong], rtol=1e-12)
    np.testing.assert_array_equal(cautious[~wrong], bends[~wrong])
    assert on_two.value(F) == total.value(F)
    assert on_two.best_shift(F) == total.best_shift(F)
    np.testing.assert_array_equal(on_two.gradient(F), total.gradient(F))


@pytest.mark.parametrize("name", ["logistic", "squared error"])
def test_the_core_finds_the_curvature_that_rows_lack(name):
    """As NumPy does, which is asked by a sum that has no twin."""
    total, random = SUMS[name], np.random.default_rng(5)
    F, D = scores(total, 4.0), 5.0 * random.normal(size=(1, N))
    curvature = total.curvature(F)

    class Plain:
        """The same sum, of which the core knows nothing."""

        farthest, each, gradient, loss = total.farthest, total.each, total.gradient, total.loss

    found = missing_curvature(total, F, D, curvature)
    expected = missing_curvature(Plain(), F, D, curvature)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert found.any() == (name == "logistic")
    many = missing_curvature(total.on_threads(3), F, D, curvature)
    np.testing.assert_array_equal(many, found)


def test_a_loss_of_what_is_not_finite_is_not_finite():
    for value in (np.nan, np.inf):
        F = np.zeros((1, N))
        F[0, 7] = -value * SIGNS[7]
        assert not np.isfinite(SUMS["logistic"].value(F))


def test_levels_take_the_intercepts_out(total):
    curvature, V = total.curvature(scores(total)), scores(total, 1.0)
    shifted = V + curvature.level(V)[:, None]
    np.testing.assert_allclose(curvature.times(shifted).sum(axis=1), 0.0, atol=1e-9)


def test_some_rows_with_their_weights(total):
    curvature, V = total.curvature(scores(total)), scores(total, 1.0)
    numbers, weights = np.array([7, 3, 399]), np.array([1.0, 2.5, 4.0])
    found = curvature.some(numbers, weights)
    np.testing.assert_allclose(found.times(V[:, numbers]), weights * curvature.times(V)[:, numbers])
    np.testing.assert_allclose(found.diagonal, weights * curvature.diagonal[:, numbers])


def test_caution_adds_curvature_where_rows_are_far_on_the_wrong_side(total):
    F = scores(total, 10.0)
    plain, cautious = total.curvature(F).diagonal, total.curvature(F, cautious=True).diagonal
    assert np.isfinite(cautious).all()
    far = total.curvature(300.0 * F, cautious=True)
    assert np.isfinite(far.times(F)).all()
    assert (cautious >= plain * (1.0 - 1e-12)).all()
    most = np.maximum(1.0001 * COST, plain)  # no more than that of the squared error
    assert (cautious <= most).all()
    if total in (SUMS["logistic"], SUMS["softmax"]):
        assert cautious.max() <= 0.25 * COST.max()
    if total is not SUMS["squared error"]:
        changed = cautious > plain
        assert changed.any()
        assert cautious[changed].sum() > 1.5 * plain[changed].sum()


def test_raised_by_a_number_per_row(total):
    curvature, V = total.curvature(scores(total)), scores(total, 1.0)
    extra = np.random.default_rng(3).random(N)
    raised = curvature.raised(extra).raised(extra)
    np.testing.assert_allclose(raised.times(V), curvature.times(V) + 2.0 * extra * V)
    np.testing.assert_allclose(raised.diagonal, curvature.diagonal + 2.0 * extra)
    shifted = V + raised.level(V)[:, None]
    np.testing.assert_allclose(raised.times(shifted).sum(axis=1), 0.0, atol=1e-9)
    some = raised.some(np.array([5, 2]), np.array([2.0, 3.0]))
    expected = np.array([2.0, 3.0]) * raised.times(V)[:, [5, 2]]
    np.testing.assert_allclose(some.times(V[:, [5, 2]]), expected)


def test_terms_add_up_to_the_sum(total):
    F = scores(total)
    assert total.each(F).shape == (N,)
    assert total.each(F).sum() == pytest.approx(total.value(F))


def test_terms_are_those_of_the_specification(total):
    """On any number of threads."""
    if not hasattr(total, "problem"):
        pytest.skip("softmax is in NumPy")
    F = scores(total)
    loss, margin = total.loss, total.problem.margin(F[0])
    expected = total.problem.cost * loss.of_margin(margin)
    np.testing.assert_allclose(total.each(F), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(total.on_threads(3).each(F), total.each(F))


def test_caution_is_a_parabola_above_the_loss():
    """At least between m and -m, where it touches the loss again."""
    total = SUMS["logistic"]
    F = np.where(SIGNS > 0, -8.0, 8.0)[None]  # all margins are -8
    slope, bend = total.gradient(F), total.curvature(F, cautious=True).diagonal
    for step in np.linspace(0.0, 16.0, 33):
        move = step * SIGNS[None]
        above = total.value(F) + np.vdot(slope, move) + 0.5 * np.vdot(bend, move**2)
        assert above >= total.value(F + move) - 1e-9 * above


@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_caution_leads_a_count_no_farther_than_to_its_own_logarithm(name):
    """A Newton step of a row alone would be exp(8) long."""
    total = SUMS[name]
    F = (SIGNS - 8.0 * total.problem.y)[None] if name == "poisson" else (8.0 - SIGNS)[None]
    step = -total.gradient(F) / total.curvature(F, cautious=True).diagonal
    np.testing.assert_allclose(total.problem.margin(F + step), 0.0, atol=1e-12)
    assert np.abs(total.gradient(F) / total.curvature(F).diagonal).min() > 2000.0


@pytest.mark.parametrize("power", [0.0, 1.0, 8.0])
def test_a_sample_stands_for_all_rows(power):
    """Its weighted sums have the right expectation, and rows that add most are all there."""
    random = np.random.default_rng(2)
    h = random.random(100_000) ** power
    numbers, weights = sample_rows(h, 5_000, in_order=False)
    assert len(numbers) == pytest.approx(5_000, abs=2)
    assert len(np.unique(numbers)) == len(numbers)
    assert (weights >= 1.0 - 1e-12).all()
    for v in (np.ones(len(h)), random.random(len(h))):
        assert weights @ (h * v)[numbers] == pytest.approx(h @ v, rel=0.03)
    surely = numbers[weights <= 1.0 + 1e-12]
    rest = np.setdiff1d(np.arange(len(h)), surely)
    assert len(surely) == 0 or h[surely].min() >= h[rest].max()


def sampled_by_numpy(h, n):
    """What `sample_rows` does, step by step."""
    h = h + 0.05 * h.mean()
    surely, n_sure = np.zeros(len(h), dtype=bool), -1
    while int(surely.sum()) > n_sure:
        n_sure = int(surely.sum())
        t = h[~surely].sum() / max(n - n_sure, 1)
        surely |= h >= t
    p = np.where(surely, 1.0, h / t)
    passed = np.floor(np.cumsum(p) + 0.5)
    return np.flatnonzero(np.diff(passed, prepend=0.0) > 0.0), p


@pytest.mark.parametrize("power", [1.0, 8.0, 64.0])
def test_a_sample_is_the_same_on_any_number_of_threads(power):
    h = np.random.default_rng(2).random(30_000) ** power
    numbers, weights = sample_rows(h, 2_000, in_order=False)
    expected, p = sampled_by_numpy(h, 2_000)
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_allclose(weights, 1.0 / p[numbers], rtol=1e-9)
    for found, same in zip(sample_rows(h, 2_000, False, 5), (numbers, weights), strict=True):
        np.testing.assert_array_equal(found, same)
    both = sample_rows(np.stack([0.25 * h, 0.75 * h]), 2_000, in_order=False)
    assert len(both[0]) == len(numbers)


def test_a_sample_where_nothing_counts_or_in_order():
    for numbers, weights in (
        sample_rows(np.zeros(100), 20, False),
        sample_rows(np.ones(100), 20, True),
    ):
        np.testing.assert_array_equal(numbers, np.arange(20))
        np.testing.assert_array_equal(weights, 5.0)


@pytest.mark.parametrize("far", [0.5, 3.0, 800.0])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_gap_in_the_core_is_that_in_numpy(far, n_threads):
    random = np.random.default_rng(4)
    for name in ("logistic", "squared error"):
        total = SUMS[name].on_threads(n_threads)
        F, other = scores(total, far), scores(total, far) + 0.01 * random.normal(size=N)
        R = total.gradient(other).copy()
        loss, problem = total.loss, total.problem
        alpha, m, cost = -problem.y * R[0], problem.margin(F[0]), problem.cost
        low, high = loss.range(cost)
        expected = loss.dual_gap(np.clip(alpha, low, high), m, cost).sum()
        assert total.gap(F, R) == pytest.approx(expected, rel=1e-9)
        assert total.gap(other, R) == pytest.approx(0.0, abs=1e-12)
    total = SUMS["logistic"]
    assert total.gap(scores(total), 1.5 * np.abs(COST) * SIGNS[None]) == np.inf
