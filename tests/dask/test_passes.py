"""What Newton's method asks of rows is there, wherever the rows are."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask is not installed")

import dask.array as da
from dask_clusters import clusters_of_fits

from splinear.dask import DaskAdditiveClassifier
from splinear.dask.expressions import PART, Apply, Call, RowValues, Scores
from splinear.dask.losses import RemoteSum
from splinear.dask.passes import RemoteRows
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.rows import Rows

pytestmark = pytest.mark.dask


def members(kind: type) -> set[str]:
    """Return the names that objects of a class have."""
    return set(dir(kind)) | set(inspect.get_annotations(kind))


@pytest.mark.parametrize("rows", [TrainingRows, RemoteRows])
def test_both_kinds_of_rows_have_all_passes(rows):
    asked = {name for name in vars(Rows) if not name.startswith("_")}
    assert asked <= members(rows)


def test_sums_and_multiples_of_scores_are_scores():
    """However many steps lead there: no recipe grows."""
    random = np.random.default_rng(0)
    tables, intercepts = random.normal(size=(3, 2, 5)), random.normal(size=(3, 2))
    a, b, c = (RowValues(None, Scores(*own)) for own in zip(tables, intercepts, strict=True))
    shift = random.normal(size=(2, 1))
    made = (a + 0.5 * b - np.float64(2.0) * c + shift) - 3.0
    assert isinstance(made.node, Scores)
    np.testing.assert_allclose(made.node.tables, tables[0] + 0.5 * tables[1] - 2.0 * tables[2])
    expected = intercepts[0] + 0.5 * intercepts[1] - 2.0 * intercepts[2] + shift[:, 0] - 3.0
    np.testing.assert_allclose(made.node.intercepts, expected)
    made += shift
    assert isinstance(made.node, Scores)


def test_other_functions_are_recipes():
    one = RowValues(None, Scores(np.ones((1, 2)), np.zeros(1)))
    for made in (np.abs(one), one * one, np.where(one > 0.0, one, 0.0), np.clip(one, -1.0, 1.0)):
        assert isinstance(made, RowValues)
        assert not isinstance(made.node, Scores)
    with pytest.raises(TypeError, match="on workers"):
        list(one)


def test_products_with_the_hessian_take_one_pass(client):
    """Those of what makes their sums zero follow, and are what they would be by themselves."""
    X = np.random.default_rng(0).normal(size=(900, 2))
    y = X[:, 0] + np.random.default_rng(1).normal(size=len(X)) > 0
    with clusters_of_fits() as made:
        model = DaskAdditiveClassifier(C=1.0, random_state=0)
        model.fit(da.from_array(X, chunks=(300, 2)), da.from_array(y, chunks=300))
    [cluster] = made
    [like] = cluster.sample.sums
    n = like.n_outputs, len(model._model.layout.used)
    own = np.random.default_rng(2).normal(size=(2, *n))
    F, V = (RowValues(cluster, Scores(one, np.zeros(1))) for one in own)
    curvature = RemoteSum(like, cluster, 0).curvature(F)
    for _ in range(3):
        V = V * 0.5
        before = cluster.n_passes
        leveled = V + curvature.level(V)[:, None]
        product = curvature.times(leveled)
        known = cluster.cached(product.node.key)
        assert cluster.n_passes == before + 1
        sums, in_all = cluster.add_up(
            Call(PART, "raw_sums", (product.node,)), Apply(np.sum, (product.node,), {"axis": 1})
        )
        size = np.abs(sums).max()
        np.testing.assert_allclose(known["sums"], sums, atol=1e-5 * size)
        np.testing.assert_allclose([known["in_all"], in_all], 0.0, atol=1e-5 * size)
