"""What all tests of solvers share."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_thread_for_blas() -> Iterator[None]:
    """Threads for matrices of this size cost more than they bring, by far on a busy machine."""
    with threadpool_limits(1, user_api="blas"):
        yield
