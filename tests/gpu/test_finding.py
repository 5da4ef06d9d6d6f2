"""Which device is used, and what is said where there is none."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from splinear import AdditiveClassifier
from splinear.objective.gpu import finding
from splinear.objective.gpu.finding import NoDeviceError, cuda_backend
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.objective.gpu.rows import in_memory_of


class CUDARuntimeError(RuntimeError):
    def __init__(self, status):
        super().__init__(f"error {status}")
        self.status = status


def cupy_of(count):
    """Return what CuPy is to us, on a machine that answers so."""

    def count_devices():
        if isinstance(count, int):
            return count
        raise count

    runtime = SimpleNamespace(getDeviceCount=count_devices, CUDARuntimeError=CUDARuntimeError)
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


@pytest.fixture(autouse=True)
def _forget():
    finding._found.cache_clear()
    yield
    finding._found.cache_clear()


def test_no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match=r"needs CuPy: pip install 'splinear\[cuda\]'"):
        cuda_backend("cuda")
    assert cuda_backend("auto") is None
    assert cuda_backend("cpu") is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (0, "finds none on this machine"),
        (CUDARuntimeError(100), "finds none on this machine"),
        (CUDARuntimeError(35), "driver of the GPU is too old"),
        (CUDARuntimeError(999), "CUDA does not work on this machine: error 999"),
    ],
)
def test_no_device(monkeypatch, answer, words):
    monkeypatch.setitem(sys.modules, "cupy", cupy_of(answer))
    with pytest.raises(NoDeviceError, match=words):
        cuda_backend("cuda")
    assert cuda_backend("auto") is None


def test_a_fit_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    with pytest.raises(ImportError, match="needs CuPy"):
        AdditiveClassifier(device="cuda").fit(X, y)
    AdditiveClassifier(device="auto").fit(X, y)
    with pytest.raises(ValueError, match="device"):
        AdditiveClassifier(device="gpu").fit(X, y)


def test_no_room():
    def make(backend):
        raise MemoryError("Out of memory allocating 8 bytes")

    with pytest.raises(MemoryError, match=r"memory of the GPU is too small.*8 bytes"):
        in_memory_of(NumPyBackend(), make)
