"""Arrays of one number per row, which stay on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from splinear._types import AnyArray

if TYPE_CHECKING:
    from splinear.devices.backend import Backend

__all__ = ["RowArray", "bare"]


class RowArray(NDArrayOperatorsMixin):
    """An array (..., n_rows) on a device, to which NumPy's functions may be applied.

    What a function makes of it stays there if it still has one number per row; what is smaller, a
    sum for example, comes back as an array of NumPy. Arrays of NumPy that are added to it or
    multiplied by it go there.
    """

    def __init__(self, values: Any, backend: Backend) -> None:
        self.values, self.backend = values, backend

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
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
        """Its type."""
        return self.values.dtype

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """Rows first; to be multiplied by."""
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
        if func is np.einsum and args[0] == "ki,ki->i":  # which is slow on a GPU, unlike these two
            return self._wrapped((self._there(args[1]) * self._there(args[2])).sum(axis=0))
        there = {name: self._there(value) for name, value in kwargs.items()}
        return self._wrapped(func(*map(self._there, args), **there))

    def __getitem__(self, key: Any) -> Any:
        return self._wrapped(self.values[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[self._key(key)] = self._there(value)

    def sum(self, axis: int | None = None) -> Any:
        """Add up."""
        return self._wrapped(self.values.sum(axis=axis))

    def max(self, axis: int | None = None, initial: float | None = None) -> Any:
        """Return the largest number."""
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
        """Return it in another type."""
        return RowArray(self.values.astype(dtype, copy=copy), self.backend)

    def _key(self, key: Any) -> Any:
        return tuple(map(self._there, key)) if isinstance(key, tuple) else self._there(key)

    def _there(self, value: Any) -> Any:
        """Return a value as functions on the device take it."""
        if isinstance(value, RowArray):
            return value.values
        if isinstance(value, np.ndarray) and value.ndim:
            return self.backend.array(value)
        if isinstance(value, list | tuple):
            return type(value)(map(self._there, value))
        return value

    def _wrapped(self, found: Any) -> Any:
        """Return what has a number per row as such an array, and the rest as one of NumPy."""
        shape = getattr(found, "shape", None)
        if shape is None:
            return found
        n = self.shape[-1]
        if len(shape) and shape[-1] == n:
            return RowArray(found, self.backend)
        return self.backend.numpy(found)[()]


def bare(values: Any, backend: Backend) -> Any:
    """Return an array, of rows or of NumPy, as one on the device."""
    return values.values if isinstance(values, RowArray) else backend.array(np.asarray(values))
