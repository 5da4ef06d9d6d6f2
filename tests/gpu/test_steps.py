"""Steps of Newton's method that are made where the rows are."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from splinear import AdditiveClassifier
from splinear.objective.gpu import steps, whole
from splinear.objective.gpu.frame import Frame
from splinear.objective.gpu.rows import DeviceRows
from splinear.solvers import newton
from splinear.terms import Category, Spline


@pytest.fixture
def points(on_backend, monkeypatch):
    """Note the points from which steps are made on the device, with what they were made by."""
    seen, plain = [], steps.DesignSteps.step

    def noted(self, space, curvature, gradient, radius, watch, aim):
        found = plain(self, space, curvature, gradient, radius, watch, aim)
        seen.append((partial(plain, self, space, curvature, gradient), watch, aim, found, self))
        return found

    monkeypatch.setattr(steps.DesignSteps, "step", noted)
    return seen


def table(n=1500, classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 1] = 0.7 * X[:, 0] + 0.3 * X[:, 1]
    y = (np.sin(2 * X) @ rng.normal(size=(5, classes)) + rng.gumbel(size=(n, classes))).argmax(1)
    X[::9, 2] = np.nan
    X[:, 4] = np.digitize(X[:, 4], [-1, 0, 1])
    return X, y


def fitted(C, **more):
    terms = {4: Category(), 3: Spline(n_bins=6, degree=3)}
    made = {"terms": terms, "C": C, "tol": 1e-4, "random_state": 0, **more}
    return AdditiveClassifier(**made)


@pytest.mark.parametrize("C", [0.5, None])
def test_steps_are_made_on_the_device(points, C):
    X, y = table()
    there = fitted(C, device="cuda").fit(X, y)
    here = fitted(C).fit(X, y)
    assert there.certified_
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-4 if C else 5e-3)
    assert len(points) >= 2


def test_a_step_is_where_the_model_is_least(points):
    """As accurate as asked for, by the products and the scores of the rows themselves."""
    X, y = table()
    fitted(0.5, device="cuda").fit(X, y)
    for again, watch, _aim, _found, made in points:
        space, curvature, gradient = again.args[1:]
        aim = newton.Aim(1e-5, 0.0, False)
        step = again(np.inf, watch, aim)
        scores = space.scores(step.vector)
        np.testing.assert_allclose(np.asarray(step.scores), np.asarray(scores), atol=1e-6)
        left = gradient + space.penalty_gradient(step.vector) + space.sums(curvature.times(scores))
        sent = made.frame.sent(left)
        sent[:, -1] = 0.0
        first = made.frame.sent(gradient)
        sizes = [float((r * made.preconditioned(r)).sum()) for r in (sent, first)]
        assert sizes[0] <= 1e-7 * sizes[1]
        decrease = -0.5 * float((gradient * step.vector).sum())
        assert step.decrease == pytest.approx(decrease, rel=1e-3)
        short = again(0.5 * step.length, watch, aim)
        assert short.at_edge
        assert short.length == pytest.approx(0.5 * step.length)
        assert 0.0 < short.decrease < step.decrease


def test_vectors_are_leveled_as_elsewhere(points):
    X, y = table()
    fitted(0.5, device="cuda").fit(X, y)
    space = points[-1][0].args[1]
    frame = Frame.of(space.rows.backend, space)
    drawn = np.random.default_rng(0).normal(size=space.zeros().shape)
    theta = space.join(drawn[:, :-1], drawn[:, -1])
    found = frame.returned(frame.leveled(frame.sent(theta)))
    np.testing.assert_allclose(found, space.leveled(theta), atol=1e-12)
    pulled = frame.returned(frame.sent(theta) @ frame.stiffness)
    np.testing.assert_allclose(pulled, space.penalty_gradient(theta), rtol=1e-9, atol=1e-9)


def test_large_matrices_are_not_made(points, monkeypatch):
    monkeypatch.setattr(whole, "MOST_ENTRIES", 1)
    X, y = table()
    assert fitted(0.5, device="cuda").fit(X, y).certified_
    assert points == []


def test_parts_of_a_matrix(on_backend, monkeypatch):
    """Made of some rows at a time, it is the same."""
    X, y = table(500)
    kept = []
    plain = DeviceRows.inverse
    monkeypatch.setattr(
        DeviceRows,
        "inverse",
        lambda self, *given: kept.append(plain(self, *given)) or kept[-1],
    )
    for at_once in (2**27, 2000):
        monkeypatch.setattr(whole, "AT_ONCE", at_once)
        fitted(0.5, device="cuda", max_iter=1, tol=0.5).fit(X, y)
    first, last = (np.asarray(on_backend.numpy(made.matrix)) for made in (kept[0], kept[-1]))
    assert np.array_equal(first, last)
