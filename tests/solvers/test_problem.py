"""What solvers are given and return."""

import numpy as np

from splinear.losses import Hinge
from splinear.objective.problem import Problem, Start, stack


def test_outputs_are_stacked_in_order():
    models = [Start(coef=np.arange(4.0) + k, intercept=10.0 * k) for k in range(3)]
    coef, intercept = stack(models)
    np.testing.assert_array_equal(coef, np.arange(4.0) + np.arange(3)[:, None])
    np.testing.assert_array_equal(intercept, [0.0, 10.0, 20.0])


def test_rows_of_one_array_are_not_copied():
    whole = np.empty((3, 4))  # and no view of another
    whole[:] = np.arange(12.0).reshape(3, 4)
    assert stack([Start(coef=row) for row in whole])[0] is whole
    for others in (whole[::-1], whole[:2], whole[:, :3], np.asfortranarray(whole)):
        found = stack([Start(coef=row) for row in others])[0]
        assert not np.shares_memory(found, whole)
        np.testing.assert_array_equal(found, others)


def test_all_costs_are_scaled_alike():
    y, weights = np.array([-1, 1, 1], dtype=np.int8), np.array([1.0, 2.0, 0.0])
    problem = Problem(y, Hinge(), cost_negative=0.5, cost_positive=3.0, weights=weights)
    np.testing.assert_array_equal(problem.cost, [0.5, 6.0, 0.0])
    np.testing.assert_array_equal(problem.scaled(4.0).cost, 4.0 * problem.cost)
