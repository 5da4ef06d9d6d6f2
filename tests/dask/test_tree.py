"""Sums over parts: the same bits, whoever has which parts."""

from __future__ import annotations

from operator import add

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask is not installed")

from splinear.dask.tree import IncompleteError, SumTree, runs

pytestmark = pytest.mark.dask


def added(numbers: np.ndarray, owners: list[list[int]]) -> tuple[float, int]:
    """Add numbers up by owners, then all; return the sum and how many sums owners had."""
    whole, n_sent = SumTree(len(numbers), add), 0
    for own in owners:
        tree = SumTree(len(numbers), add)
        for k in own:
            tree.put((k, k + 1), (numbers[k],))
        n_sent += len(tree.nodes())
        whole.join(tree.nodes())
    return float(whole.total()[0]), n_sent


@pytest.mark.parametrize("n", [1, 2, 3, 7, 25, 400])
def test_owners_change_no_bit(n):
    random = np.random.default_rng(n)
    numbers = random.normal(size=n) * 10.0 ** random.integers(-8, 8, n)
    expected, _ = added(numbers, [list(range(n))])
    assert expected == pytest.approx(numbers.sum(), rel=1e-6, abs=1e-6)
    for n_owners in (1, 2, 3, 4, 7, 16):
        spans = runs(n, n_owners)
        assert [k for span in spans for k in range(*span)] == list(range(n))
        assert added(numbers, [list(range(*span)) for span in spans])[0] == expected
        scattered = np.array_split(random.permutation(n), n_owners)
        assert added(numbers, [list(map(int, own)) for own in scattered])[0] == expected


@pytest.mark.parametrize("n_owners", [1, 2, 4, 8, 16])
def test_neighbors_send_one_sum_each(n_owners):
    owners = [list(range(*span)) for span in runs(400, n_owners)]
    assert added(np.ones(400), owners) == (400.0, n_owners)
    assert max(map(len, owners)) - min(map(len, owners)) <= 1


def test_parts_that_are_missing_or_there_twice_are_noticed():
    with pytest.raises(IncompleteError):
        added(np.ones(5), [[0, 1, 2], [4]])
    for twice in ([[0, 1, 2], [2, 3, 4]], [[0, 1, 2, 3, 4], [3]]):
        with pytest.raises(IncompleteError):
            added(np.ones(5), twice)
