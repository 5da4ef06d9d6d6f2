"""Surfaces over pairs of features on a GPU, by the kernels in `pairs.cu`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.objective.gpu.backend import DeviceArray
from splinear.objective.gpu.cuda_counts import NOWHERE, batches, fixed_scales
from splinear.terms.pair_group import N_BANDS, Chain

if TYPE_CHECKING:
    from splinear.objective.gpu.cuda import CudaBackend

__all__ = ["CudaSurfaces", "evidence_on", "surfaces_on"]

MOST_OUTPUTS = 16  # outputs per launch
MOST_COPIES = 32  # copies of a table in shared memory: one per lane of a warp
THREADS = 256  # per block
ROWS_PER_BLOCK = 2048  # at least
TYPES = {"f4": "float", "f8": "double"}


@dataclass(frozen=True, eq=False)
class CudaSurfaces:
    """Surfaces, and the rows' positions on their chains; see `backend.Surfaces`."""

    backend: CudaBackend
    chains: DeviceArray  # (n_chains, 5), see `Chain` in `pairs.cu`
    nodes: DeviceArray  # of all chains
    surfaces: DeviceArray  # (n_surfaces, 4)
    starts: DeviceArray  # index of each surface's first node
    sizes: AnyArray  # number of each surface's nodes
    positions: DeviceArray  # (n_chains, n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.positions.shape[1])

    def over(self, n_rows: int, *, exact: bool) -> CudaSurfaces:
        """Return the same surfaces for n_rows other rows, whose positions are still to be set."""
        dtype = np.float64 if exact else np.float32
        empty = self.backend.cupy.zeros((len(self.chains), n_rows), dtype=dtype)
        return replace(self, positions=empty)

    def first(self, n: int) -> CudaSurfaces:
        """Return the first n rows."""
        return replace(self, positions=self.positions[:, :n])

    def fill(self, X: DeviceArray, places: DeviceArray | None = None) -> None:
        """Store the position of row i of X at index places[i] (i if places is None)."""
        backend, n = self.backend, len(X)
        X = X if X.dtype.char in "fd" else X.astype(np.float64)
        to = NOWHERE if places is None else backend.array(places).astype(np.int64, copy=False)
        given = (
            X,
            *(np.int64(stride // X.dtype.itemsize) for stride in X.strides),
            self.chains,
            self.nodes,
            to,
            self.positions,
            np.int64(n),
            np.int64(self.n_rows),
        )
        kernel = self._kernel("place", VALUE=TYPES[X.dtype.str[1:]])
        kernel((self._n_blocks(n), len(self.chains)), (THREADS,), given)

    def scores(self, tables: DeviceArray) -> DeviceArray:
        """Return the sum of all surfaces with tables (n_outputs, n_nodes): (n_outputs, n_rows)."""
        cp, tables = self.backend.cupy, self.backend.array(tables).astype(np.float64, copy=False)
        out = cp.empty((len(tables), self.n_rows))
        for some in batches(len(tables), MOST_OUTPUTS):
            laid = cp.ascontiguousarray(tables[some].T)
            kernel = self._kernel("score", OUTPUTS=laid.shape[1])
            given = (*self._source(), np.int32(len(self.sizes)), laid, out[some])
            kernel((self._n_blocks(self.n_rows),), (THREADS,), given)
        return out

    def sums(self, R: DeviceArray) -> DeviceArray:
        """Return the sums of R over the nodes of all surfaces, (n_outputs, n_nodes)."""
        return self._added(R, 1)[:, :, 0]

    def blocks(self, H: DeviceArray) -> DeviceArray:
        """Return the diagonal blocks of sum_i h_i B_i B_i' as bands, (n_outputs, n_nodes, 5)."""
        return self._added(H, N_BANDS)

    def _added(self, R: DeviceArray, n_bands: int) -> DeviceArray:
        """Return sums over rows by node and band, (n_outputs, n_nodes, n_bands)."""
        R = R.astype(np.float64, copy=False)
        room = self.backend.shared_bytes // 2 // self._bytes(n_bands)
        most = max(1, min(MOST_OUTPUTS, room))
        parts = [self._add(R[some], n_bands) for some in batches(len(R), most)]
        return np.concatenate(parts)

    def _add(self, R: DeviceArray, n_bands: int) -> DeviceArray:
        backend, cp, (n_outputs, n) = self.backend, self.backend.cupy, R.shape
        of_one = n_outputs * self._bytes(n_bands)
        copies = MOST_COPIES
        while copies and copies * of_one > backend.shared_bytes // (4 if copies > 1 else 1):
            copies //= 2
        n_bytes, scales = copies * of_one, _scales(backend, R)
        out = cp.zeros((int(self.sizes.sum()), n_bands, n_outputs), dtype=np.uint64)
        defined = {"OUTPUTS": n_outputs, "BLOCKS": int(n_bands > 1), "COPIES": copies}
        kernel = self._kernel("add", n_bytes, **defined)
        wanted = ceil(8 * backend.n_processors / len(self.sizes))
        grid = len(self.sizes), max(1, min(wanted, ceil(n / ROWS_PER_BLOCK)))
        there = backend.array(scales)
        given = (*self._source(), cp.ascontiguousarray(R), there, out)
        kernel(grid, (THREADS,), given, shared_mem=n_bytes)
        return (out.view(np.int64) / there).transpose(2, 0, 1)

    def _bytes(self, n_bands: int) -> int:
        """Return the size of the largest surface's sums for one output, in bytes."""
        return 8 * n_bands * int(self.sizes.max())

    def _source(self) -> tuple[Any, ...]:
        """Return the first arguments of `score` and `add`: rows, then surfaces."""
        pitch = self.positions.strides[0] // self.positions.dtype.itemsize
        return self.positions, np.int64(pitch), np.int64(self.n_rows), self.surfaces, self.starts

    def _n_blocks(self, n: int) -> int:
        return max(1, min(ceil(n / THREADS), 32 * self.backend.n_processors))

    def _kernel(self, name: str, n_bytes: int = 0, **defined: object) -> Any:
        """Return a kernel for these positions, with n_bytes of shared memory and more macros."""
        own = {f"ONLY_{name}": 1, "POSITION": TYPES[self.positions.dtype.str[1:]]}
        return self.backend.kernel("pairs.cu", name, n_bytes, own | defined)


def surfaces_on(
    backend: CudaBackend,
    chains: Sequence[Chain],
    table: AnyArray,
    n_rows: int,
    *,
    exact: bool = False,
) -> CudaSurfaces:
    """Return surfaces for n_rows rows; see Backend.surfaces.

    This waits for the copies to the GPU, because other threads may use other streams.
    """
    to, sizes = backend.array, table[:, 2] * table[:, 3]
    numbers, nodes = _packed(chains)
    sent = CudaSurfaces(
        backend,
        to(numbers),
        to(nodes),
        to(np.ascontiguousarray(table, dtype=np.int32)),
        to(np.cumsum(sizes, dtype=np.int64) - sizes),
        sizes,
        None,
    )
    backend.cupy.cuda.get_current_stream().synchronize()
    return sent.over(n_rows, exact=exact)


def evidence_on(
    backend: CudaBackend, cells: DeviceArray, G: Floats, H: Floats, pairs: AnyArray
) -> Floats:
    """Return the evidence for interactions of pairs; see Backend.pair_evidence."""
    to, z = backend.array, backend.zeros((len(G), len(pairs)))
    g, h = (to(np.ascontiguousarray(own, dtype=np.float64)) for own in (G, H))
    given = (
        backend.cupy.ascontiguousarray(cells),
        g,
        h,
        to(_scales(backend, g)),
        to(_scales(backend, h)),
        to(np.ascontiguousarray(pairs, dtype=np.int32)),
        z,
        np.int64(cells.shape[1]),
    )
    kernel = backend.kernel("pairs.cu", "evidence", 0, {"ONLY_evidence": 1})
    kernel((len(pairs), len(G)), (THREADS,), given)
    found: Floats = backend.numpy(z)
    return found


def _scales(backend: CudaBackend, R: DeviceArray) -> Floats:
    """Return the scales of integer sums over each row of R (n_outputs, n_rows), (n_outputs,)."""
    return fixed_scales(backend.numpy(abs(R).max(axis=1)), R.shape[1])


def _packed(chains: Sequence[Chain]) -> tuple[AnyArray, Floats]:
    """Return chains (n_chains, 5) as `pairs.cu` reads them, and the nodes of all chains."""
    numbers, nodes, start = [], [np.zeros(1)], 1
    for chain in chains:
        has_levels = chain.knots is None
        own = chain.node_of_level if has_levels else chain.knots
        assert own is not None
        missing = chain.n_values if chain.has_missing else -1
        numbers.append((chain.feature, start, len(own), int(has_levels), missing))
        nodes.append(np.asarray(own, dtype=np.float64))
        start += len(own)
    return np.array(numbers, dtype=np.int32).reshape(-1, 5), np.concatenate(nodes)
