"""Makes parts from partitions in steps, which a worker can repeat at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from splinear._types import Input
from splinear.dask.holding import Holding
from splinear.dask.shelf import Receipt, Shelf

__all__ = ["Step", "made", "named"]


class Step(Protocol):
    """A step that extends a part, given its partition."""

    def __call__(
        self, part: Holding | None, X: Input, y: Input, weights: Input, offset: Input
    ) -> Holding:
        """Return the extended part; the first step gets None."""
        ...


def made(
    X: Input,
    y: Input,
    weights: Input,
    offset: Input,
    told: tuple[str, str, int],
    steps: Sequence[Step],
) -> Receipt:
    """Make the part of a partition, and return its receipt.

    `told` holds the receipt's key, the key of an earlier part, and the number of steps applied to
    that, which are skipped if this worker has it.
    """
    key, before, n_done = told
    shelf = Shelf.here()
    part = shelf.get(before)
    for step in steps if part is None else steps[n_done:]:
        part = step(part, X, y, weights, offset)
    assert part is not None
    return shelf.put(key, part)


def named(task: Callable[..., object], k: int, *args: object) -> object:
    """Run a task; its errors name the partition k."""
    try:
        return task(*args)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} (in partition {k})") from error
