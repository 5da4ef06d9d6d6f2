"""The toy data set of the paper."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch, check_random_state


def load_disk(n: int = 41, *, random_state: int | np.random.RandomState | None = None) -> Bunch:
    """Generate points of the square [-1, 1]^2, positive inside the unit disk.

    The target of (x, y) is 1 if x^2 + y^2 <= 1, else 0. It is additive, so an additive classifier
    can learn it and a linear one cannot.

    Parameters
    ----------
    n : int, default=41
        Points along each axis; the set has n * n of them.
    random_state : int, RandomState or None, default=None
        None puts the points on a regular grid, borders included, ordered by x and then y.
        Otherwise as many points are drawn uniformly from the square.

    Returns
    -------
    bunch : Bunch
        `data` (n * n, 2), `target` (n * n,), `feature_names` and `DESCR`.

    Examples
    --------
    >>> from splinear.datasets import load_disk
    >>> disk = load_disk(n=5)
    >>> disk.data.shape, int(disk.target.sum())
    ((25, 2), 13)
    """
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 2:
        raise ValueError(f"n must be an integer of at least 2; got {n!r}.")
    if random_state is None:
        axis = np.linspace(-1, 1, int(n))
        data = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    else:
        data = check_random_state(random_state).uniform(-1, 1, size=(int(n) ** 2, 2))
    return Bunch(
        data=data,
        target=(np.square(data).sum(axis=1) <= 1).astype(np.int64),
        feature_names=["x", "y"],
        DESCR="Disk\n\nPoints of the square [-1, 1]^2. Target 1: x^2 + y^2 <= 1.",
    )
