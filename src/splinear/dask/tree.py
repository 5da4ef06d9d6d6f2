"""Sums over parts in an order that depends only on the number of parts.

The n parts are halved recursively, and the sum of a node of this tree is that of its two halves.
Any worker that has all parts of a node can add it up, with the same bits as a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from splinear._types import Floats

__all__ = ["IncompleteError", "SumTree", "Sums", "runs"]

Sums = tuple[Floats, ...]
Span = tuple[int, int]


class IncompleteError(Exception):
    """Some parts were added up by no worker, or by more than one."""


class SumTree:
    """The sums of some nodes of the tree, merged to as few nodes as possible.

    Parameters
    ----------
    n : int
        Number of parts.
    add : callable
        Combines two arrays, such as np.add.
    """

    def __init__(self, n: int, add: Callable[[Floats, Floats], Floats]) -> None:
        self.n, self._add = n, add
        self._nodes: dict[Span, Sums] = {}

    def put(self, span: Span, sums: Sums) -> None:
        """Add the sums of a node, and merge it with its sibling into their parent."""
        for above in reversed(list(self._above(span))):
            middle = (above[0] + above[1]) // 2
            is_left = span == (above[0], middle)
            other = self._nodes.pop((middle, above[1]) if is_left else (above[0], middle), None)
            if other is None:
                break
            first, second = (sums, other) if is_left else (other, sums)
            pairs = zip(first, second, strict=True)
            sums, span = tuple(self._add(a, b) for a, b in pairs), above
        if span in self._nodes:
            raise IncompleteError
        self._nodes[span] = sums

    def _above(self, span: Span) -> Iterator[Span]:
        """Yield the ancestors of a node, beginning with the root."""
        first, last = 0, self.n
        while (first, last) != span:
            yield first, last
            middle = (first + last) // 2
            first, last = (first, middle) if span[1] <= middle else (middle, last)

    def nodes(self) -> list[tuple[Span, Sums]]:
        """Return the nodes and their sums."""
        return list(self._nodes.items())

    def join(self, nodes: Iterable[tuple[Span, Sums]]) -> None:
        """Add the sums of another worker."""
        for span, sums in nodes:
            self.put(span, sums)

    def total(self) -> Sums:
        """Return the sums over all parts."""
        if list(self._nodes) != [(0, self.n)]:
            raise IncompleteError
        return self._nodes[0, self.n]


def runs(n: int, n_owners: int, first: int = 0) -> list[Span]:
    """Divide n parts among owners into spans of neighbors, whole tree nodes if possible."""
    if n_owners == 1:
        return [(first, first + n)]
    few = n_owners // 2
    end = (2 * first + n) // 2 - first if n_owners % 2 == 0 else n * few // n_owners
    return runs(end, few, first) + runs(n - end, n_owners - few, first + end)
