"""Arrays with one number per row, which stay on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from splinear._types import AnyArray

if TYPE_CHECKING:
    from splinear.objective.gpu.backend import Backend

__all__ = ["RowArray", "bare"]


class RowArray(NDArrayOperatorsMixin):
    """An array (..., n_rows) on a device, to which NumPy's functions can be applied.

    A result with one number per row stays on the device; a smaller one, such as a sum, is returned
    as a NumPy array. NumPy arrays among the arguments are copied to the device.
    """

    def __init__(self, values: Any, backend: Backend) -> None:
        self.values, self.backend = values, backend

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        shape: tuple[int, ...] = tuple(self.values.shape)
        return shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.values.size)

    @property
    def dtype(self) -> Any:
        """The data type."""
        return self.values.dtype

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The transpose, with rows first, for matrix products."""
        return RowArray(self.values.T, self.backend)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        found = self.backend.numpy(self.values)
        return found if dtype is None else found.astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", (None,))[0]
        if isinstance(out, RowArray):
            kwargs["out"] = out.values
        found = getattr(ufunc, method)(*map(self._there, inputs), **kwargs)
        if out is None:
            return self._wrapped(found)
        if not isinstance(out, RowArray):
            out[...] = self.backend.numpy(found)
        return out

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        del types
        if func is np.einsum and args[0] == "ki,ki->i":  # slower on a GPU than product and sum
            return self._wrapped((self._there(args[1]) * self._there(args[2])).sum(axis=0))
        there = {name: self._there(value) for name, value in kwargs.items()}
        return self._wrapped(func(*map(self._there, args), **there))

    def __getitem__(self, key: Any) -> Any:
        return self._wrapped(self.values[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[self._key(key)] = self._there(value)

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum."""
        return self._wrapped(self.values.sum(axis=axis))

    def max(self, axis: int | None = None, initial: float | None = None) -> Any:
        """Return the maximum."""
        if initial is not None and not self.size:
            return initial
        found = self._wrapped(self.values.max(axis=axis))
        return found if initial is None else np.maximum(found, initial)

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean."""
        return self._wrapped(self.values.mean(axis=axis))

    def copy(self) -> RowArray:
        """Return a copy."""
        return RowArray(self.values.copy(), self.backend)

    def astype(self, dtype: Any, copy: bool = True) -> RowArray:
        """Return the array in another data type."""
        return RowArray(self.values.astype(dtype, copy=copy), self.backend)

    def _key(self, key: Any) -> Any:
        return tuple(map(self._there, key)) if isinstance(key, tuple) else self._there(key)

    def _there(self, value: Any) -> Any:
        """Return a value as an argument of functions on the device."""
        if isinstance(value, RowArray):
            return value.values
        if isinstance(value, np.ndarray) and value.ndim:
            return self.backend.array(value)
        if isinstance(value, list | tuple):
            return type(value)(map(self._there, value))
        return value

    def _wrapped(self, found: Any) -> Any:
        """Return a result with one number per row as a row array, any other as a NumPy array."""
        shape = getattr(found, "shape", None)
        if shape is None:
            return found
        n = self.shape[-1]
        if len(shape) and shape[-1] == n:
            return RowArray(found, self.backend)
        return self.backend.numpy(found)[()]


def bare(values: Any, backend: Backend) -> Any:
    """Return a row array or a NumPy array as an array of the backend."""
    return values.values if isinstance(values, RowArray) else backend.array(np.asarray(values))
