"""Clusters of Dask on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

distributed = pytest.importorskip("distributed", reason="dask is not installed")


LONG = pytest.mark.skipif(
    "SPLINEAR_CLUSTER" not in os.environ, reason="SPLINEAR_CLUSTER is not set"
)


@contextmanager
def a_cluster(n_workers: int, *, processes: bool, **options) -> Iterator[distributed.Client]:
    """Start workers, quietly, and a client of theirs."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", **options}
    with (
        distributed.LocalCluster(n_workers=n_workers, processes=processes, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def clusters_of_fits() -> Iterator[list[object]]:
    """Yield a list, to which what fits know of their workers is added; workers keep their parts."""
    from splinear.dask import fitting

    made, original = [], fitting.Cluster

    def noted(*args: object) -> object:
        made.append(original(*args))
        return made[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fitting, "Cluster", noted)
        patched.setattr(original, "release", lambda self: None)
        yield made
