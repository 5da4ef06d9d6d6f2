"""Curves kept on a GPU for predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from splinear._types import Floats
from splinear.objective.gpu.backend import DeviceArray
from splinear.objective.gpu.cuda_axes import CudaAxes
from splinear.objective.gpu.uniform import SentTables, UniformTables
from splinear.terms.group import TermGroup

__all__ = ["CudaCurves"]


@dataclass(frozen=True, eq=False)
class CudaCurves:
    """The curves of a group: its axes and, if knots are uniform, tables for float32 values."""

    backend: Any  # CudaBackend
    group: TermGroup
    tables: Floats
    axes: CudaAxes
    uniform: SentTables | None

    @classmethod
    def sent(cls, backend: Any, group: TermGroup, tables: Floats) -> CudaCurves:
        """Copy curves to the GPU, and wait for it: other threads may use other streams."""
        laid = UniformTables.of(group, tables, backend.shared_bytes)
        uniform = None if laid is None else SentTables.of(laid, backend)
        axes = CudaAxes(backend.cupy, group)
        if uniform is None:
            axes.send()
        backend.cupy.cuda.get_current_stream().synchronize()
        return cls(backend, group, tables, axes, uniform)

    def scores(self, X: DeviceArray) -> DeviceArray:
        """Return the scores (n_outputs, n_rows)."""
        cells = replace(self.backend.valued(self.group, X), axes=self.axes)
        # Step functions need double precision: a value at a knot must be on the right side of it.
        if X.dtype != np.float32 or self.group.embedding.basis.support == 1:
            return cells.scores(self.tables)
        if self.uniform is None:
            return replace(cells, real=np.dtype(np.float32)).scores(self.tables)
        out = self.backend.cupy.empty((len(self.tables), len(X)))
        self.uniform.write_to(out, X, self.backend)
        return out
