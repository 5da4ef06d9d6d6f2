"""Passes over the parts of workers: what comes back, and where parts are."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask is not installed")

from dask_clusters import clusters_of_fits  # noqa: E402

from splinear.dask import DaskAdditiveClassifier  # noqa: E402
from splinear.dask.expressions import PART, Apply, Member  # noqa: E402
from splinear.dask.holding import Holding  # noqa: E402
from splinear.dask.parts import OnValues  # noqa: E402
from splinear.dask.shelf import Shelf  # noqa: E402
from splinear.dask.storing import Room  # noqa: E402
from splinear.dask.tree import SumTree  # noqa: E402

pytestmark = pytest.mark.dask

N_PARTS = 6


def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(1_200, 2))
    y = X[:, 0] + random.normal(size=len(X)) > 0
    return da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=200)


@pytest.fixture(scope="module")
def cluster(client):
    """That of a fit."""
    with clusters_of_fits() as made:
        DaskAdditiveClassifier(random_state=0).fit(*rows())
    return made[0]


def test_workers_return_one_set_of_sums_per_node_of_the_tree(cluster):
    owners = cluster._known_homes().values()
    assert sorted(k for own in owners for k in own) == list(range(N_PARTS))
    n_nodes = 0
    for own in owners:
        tree = SumTree(N_PARTS, np.add)
        for k in own:
            tree.put((k, k + 1), (np.zeros(1),))
        n_nodes += len(tree.nodes())
    before = cluster.n_returned
    [n_rows, weight] = cluster.add_up(
        Member(PART, "n_rows"), Apply(np.sum, (Member(PART, "row_weights"),))
    )
    assert n_rows == weight == 1_200
    assert cluster.n_returned - before == 2 * 8 * n_nodes
    assert cluster.largest(Member(PART, "n_rows")) == 200


def test_what_a_recipe_is_worth_is_asked_for_once(cluster):
    assert cluster.n_passes <= 20
    node, n_passes = Member(PART, "row_weights"), cluster.n_passes
    summed = Apply(np.sum, (node,))
    found = [cluster.row_sums(node, summed, "by None") for _ in range(2)]
    assert found == [1_200, 1_200]
    assert cluster.n_passes == n_passes + 1


def test_rows_that_workers_have_stay_where_they_are(client):
    X, y = rows()
    expected = DaskAdditiveClassifier(random_state=0).fit(X, y).predict_proba(X)
    X = X.persist()
    found = DaskAdditiveClassifier(random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found.compute(), expected.compute())


def test_parts_are_made_again_where_dask_has_moved_their_receipts(cluster):
    """As it does when workers retire."""
    values = Member(Member(PART, "values"), "F")
    expected = cluster.add_up(Apply(np.sum, (values,)))
    cluster.client.replicate(cluster.parts, n=2)
    cluster._homes = None
    name = cluster._name
    found = cluster.add_up(Apply(np.sum, (values,)))
    np.testing.assert_array_equal(found, expected)
    assert cluster._name != name


def test_nothing_stays_with_workers_after_a_fit(client):
    def on_shelves():
        kept = client.run(lambda dask_worker: set(Shelf.of(dask_worker)._parts))
        return set.union(*kept.values())

    before = on_shelves()
    DaskAdditiveClassifier(random_state=0).fit(*rows())
    gc.collect()
    for _ in range(100):  # the scheduler tells workers in its own time
        if on_shelves() <= before:
            break
        time.sleep(0.05)
    assert on_shelves() <= before


def test_errors_of_a_pass_reach_the_client(cluster):
    with pytest.raises(AttributeError, match="nothing"):
        cluster.add_up(Member(PART, "nothing"))


def test_memory_is_taken_for_as_long_as_a_part_is_there(cluster, monkeypatch):
    """Whoever holds it: parts are given more from pass to pass."""
    room = Room(1e9, None)
    monkeypatch.setattr(Room, "here", staticmethod(lambda: room))
    part = cluster.sample.with_sums(cluster.sample.sums, cluster.sample.weights)
    held = Holding(lambda _, own=part: own)
    n_bytes = part.n_bytes
    assert room.left == 1e9 - n_bytes
    more = held.with_values(OnValues(np.zeros((1, 5)), np.zeros((1, 5))))
    del part, held
    gc.collect()
    assert room.left == 1e9 - n_bytes - 5 * 8
    del more
    gc.collect()
    assert room.left == 1e9
