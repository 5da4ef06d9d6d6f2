"""Box-constrained problems on a GPU, solved by the kernels of `box.cu`."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from splinear.devices.backend import AT_A_TIME, LEAST, TURNS, DeviceArray
from splinear.devices.cuda_matrices import inverse_factors, twice
from splinear.devices.subspace import GROWTH, MOST_FREE, SHARES, free_step
from splinear.solvers.hinge.box import Box

if TYPE_CHECKING:
    from splinear.devices.cuda import CudaBackend

__all__ = ["CudaBox"]

MOST_OUTPUTS = 16  # outputs whose gradients are updated while K is read once
THREADS = 256  # threads per block, for most kernels
OF_DESCENT, OF_LISTS = 512, 1024  # threads per block of `descend` and of `list_free`
ROOM = 4 * AT_A_TIME**2  # bytes of shared memory per block of `descend`


class CudaBox:
    """:class:`~splinear.devices.plain_box.PlainBox` in single precision, on a GPU.

    A call launches a few kernels; only the numbers that decide what comes next go to the host.
    """

    def __init__(
        self, backend: CudaBackend, K: DeviceArray, box: Box, b: DeviceArray, gradient: DeviceArray
    ) -> None:
        cp, (n_outputs, n) = backend.cupy, b.shape
        self.backend, self.box, self.shrinkage = backend, box, np.float32(box.shrinkage)
        self.K = K.astype(np.float32, copy=False)
        arrays = (box.low, box.high, box.ridge, gradient, b)
        self.low, self.high, self.ridge, self.gradient, self._b = (
            values.astype(np.float32, order="C") for values in arrays
        )
        self.n, self.n_outputs = np.int64(n), np.int32(n_outputs)
        # The largest violation, then the share of each output's last Newton step that was made.
        self._told = cp.zeros(1 + n_outputs, dtype=np.float32)
        self._rows = cp.empty((n_outputs, n), dtype=np.int32)

    @property
    def b(self) -> DeviceArray:
        """The variables clipped to their bounds, (n_outputs, n), in double precision."""
        return np.minimum(np.maximum(self._b.astype(np.float64), self.box.low), self.box.high)

    def descend(self, n_sweeps: int) -> None:
        """Make sweeps of coordinate descent, all in one cooperative launch."""
        cp, n, n_outputs = self.backend.cupy, int(self.n), int(self.n_outputs)
        shrinks = int(self.shrinkage != 0.0)
        many = {"OUTPUTS": min(n_outputs, MOST_OUTPUTS), "SHRINKS": shrinks, "LEAST": LEAST}
        kernel = self._kernel("descend", ROOM, together=True, **many)
        largest, arrived = cp.zeros(n_sweeps, dtype=np.float32), cp.zeros(1, dtype=np.uint32)
        of_rows, n_moving = cp.empty(n, dtype=np.float32), cp.empty(1, dtype=np.int32)
        batch_of = cp.empty(n, dtype=np.int32)
        products = cp.empty(4 * AT_A_TIME**2, dtype=np.float32)
        moves = cp.empty(2 * n_outputs * AT_A_TIME, dtype=np.float32)
        work = (largest, of_rows, self._rows, n_moving, batch_of, products, moves, arrived)
        state = (self.K, self.low, self.high, self.ridge, self.gradient, self._b)
        sizes = (self.n, self.n_outputs, np.int32(n_sweeps), self.shrinkage)
        grid = (self.backend.n_processors,)
        kernel(grid, (OF_DESCENT,), (*state, *work, *sizes), shared_mem=ROOM)

    def step_free(self) -> None:
        """Make a Newton step of the free variables, those at no bound."""
        cp, n_outputs = self.backend.cupy, int(self.n_outputs)
        sizes = cp.empty(n_outputs, dtype=np.int32)
        lists = (self.low, self.high, self._b, self._rows, sizes, self.n, self.shrinkage)
        self._kernel("list_free")((n_outputs,), (OF_LISTS,), lists)
        m = int(sizes.get().max())
        if 0 < m <= MOST_FREE:
            self._go(self._moves(self._factors(sizes, m), sizes, m))

    def violation(self) -> float:
        """Return the largest violation of optimality over all rows and outputs.

        If the last Newton step failed in single precision, it is first repeated in double.
        """
        arrays = (self.low, self.high, self.gradient, self._b, self._told)
        grid = (ceil(self.n / THREADS),)
        given = (*arrays, self.n, self.n_outputs, self.shrinkage)
        self._kernel("violations")(grid, (THREADS,), given)
        largest, *shares = self._told.get()
        self._told.fill(0.0)
        if min(shares) < 0.0:
            return self._stepped_in_double()
        return float(largest)

    def _factors(self, sizes: DeviceArray, m: int) -> DeviceArray:
        """Return L^{-1} of K + diag(d) = L L' over each output's free rows, (n_outputs, m, m)."""
        n_outputs = int(self.n_outputs)
        H = self.backend.cupy.empty((n_outputs, m, m), dtype=np.float32)
        given = (self.K, self.ridge, self._rows, sizes, H, self.n, np.int32(m), np.float32(GROWTH))
        self._kernel("hessians")((m, n_outputs), (THREADS,), given)
        return inverse_factors(self.backend, H, sizes)

    def _moves(self, factors: DeviceArray, sizes: DeviceArray, m: int) -> DeviceArray:
        """Return the moves of several step lengths, (n_shares * n_outputs, n)."""
        cp, n_outputs, last = self.backend.cupy, int(self.n_outputs), (np.int32(m), self.shrinkage)
        right, grid = cp.empty((n_outputs, m), dtype=np.float32), (ceil(m / THREADS), n_outputs)
        slopes = (self.gradient, self._b, self._rows, sizes, right)
        self._kernel("right_sides")(grid, (THREADS,), (*slopes, self.n, *last))
        moves = cp.zeros((len(SHARES) * n_outputs, int(self.n)), dtype=np.float32)
        bounded = (self.low, self.high, self._b, self._rows, sizes, moves)
        directions = twice(self.backend, factors, right)
        self._kernel("path")(grid, (THREADS,), (directions, *bounded, self.n, *last))
        return moves

    def _go(self, moves: DeviceArray) -> None:
        """Make the best of these moves, for each output."""
        follows, n_outputs = moves @ self.K, int(self.n_outputs)
        falls = self.backend.cupy.empty((len(moves), 2))
        along = (self.gradient, self._b, self.ridge, moves, follows, falls)
        sizes = (self.n, self.n_outputs, self.shrinkage)
        self._kernel("falls")((len(moves),), (THREADS,), (*along, *sizes))
        state = (self.low, self.high, self.ridge, self.gradient, self._b)
        grid = (ceil(self.n / THREADS), n_outputs)
        self._kernel("go")(grid, (THREADS,), (*state, moves, follows, falls, self._told, self.n))

    def _stepped_in_double(self) -> float:
        """Make the step that failed in single precision; return the largest violation."""
        b, gradient = self.b, self.gradient.astype(np.float64)
        b, gradient = free_step(self.backend, self.K, self.box, b, gradient)
        self._b, self.gradient = (own.astype(np.float32, order="C") for own in (b, gradient))
        return float(self.box.violation(b, gradient).max())

    def _kernel(
        self, name: str, n_bytes: int = 0, *, together: bool = False, **more: object
    ) -> Callable[..., None]:
        same = {"ROWS": AT_A_TIME, "TURNS": TURNS, "SHARES": len(SHARES), f"ONLY_{name}": 1}
        found: Callable[..., None] = self.backend.kernel(
            "box.cu", name, n_bytes, {**same, **more}, together=together
        )
        return found
