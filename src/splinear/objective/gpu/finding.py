"""The choice of a backend by the parameter `device`."""

from __future__ import annotations

from functools import cache
from typing import Any

from splinear.objective.gpu.backend import Backend
from splinear.objective.gpu.cuda import CudaBackend

__all__ = ["DEVICES", "NoDeviceError", "cuda_backend"]

DEVICES = ("cpu", "cuda", "auto")
NO_DEVICE, OLD_DRIVER = 100, 35  # error codes of CUDA


class NoDeviceError(RuntimeError):
    """No GPU can be used; the message says why."""


def cuda_backend(device: str) -> Backend | None:
    """Return the backend of the GPU for the parameter `device`, or None for the CPU.

    "auto" uses a GPU if there is one. "cuda" raises ImportError without CuPy, and NoDeviceError
    without a GPU or if the driver is too old.
    """
    if device == "cpu":
        return None
    try:
        return _found()
    except (ImportError, NoDeviceError):
        if device == "auto":
            return None
        raise


@cache
def _found() -> Backend:
    cupy = _cupy()
    try:
        n_devices = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NoDeviceError(_reason(int(error.status), error)) from error
    if not n_devices:
        raise NoDeviceError(_reason(NO_DEVICE, None))
    return CudaBackend(cupy)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise ImportError(
            "device='cuda' needs CuPy: pip install 'splinear[cuda]'. device='auto' uses the "
            "processor where there is none."
        ) from error
    return cupy


def _reason(status: int, error: Exception | None) -> str:
    if status == NO_DEVICE:
        return "device='cuda' needs an NVIDIA GPU, and CUDA finds none on this machine."
    if status == OLD_DRIVER:
        return (
            "The driver of the GPU is too old for the CUDA that this CuPy was built for: update "
            "it, or install the CuPy of an older CUDA (cupy-cuda12x)."
        )
    return f"CUDA does not work on this machine: {error}"
