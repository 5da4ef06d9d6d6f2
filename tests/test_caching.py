"""Properties that an object computes once."""

from dataclasses import dataclass
from threading import Barrier, Thread

from splinear._caching import cached_property, sharing


@dataclass(frozen=True)
class Square:
    side: float

    @cached_property
    def area(self) -> float:
        """The area."""
        calls.append(self.side)
        return self.side**2


calls: list[float] = []


def test_a_value_is_computed_once_per_object():
    calls.clear()
    one, two = Square(3.0), Square(4.0)
    assert [one.area, two.area, one.area, two.area] == [9.0, 16.0, 9.0, 16.0]
    assert calls == [3.0, 4.0]
    assert Square.area.__doc__ == "The area."


def test_a_copy_keeps_what_was_computed():
    calls.clear()
    one, two = Square(3.0), Square(4.0)
    assert "area" not in vars(sharing(one, {"area"}, two))
    assert one.area == 9.0
    assert sharing(one, {"area", "perimeter"}, two).area == 9.0
    assert calls == [3.0]


def test_threads_compute_it_at_the_same_time():
    """A lock for all objects would also stay locked for good in a process forked meanwhile."""
    meeting, met = Barrier(2), []

    class Meeting:
        @cached_property
        def point(self) -> int:
            met.append(meeting.wait(timeout=30))
            return len(met)

    threads = [Thread(target=lambda: Meeting().point) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(met) == [0, 1]
