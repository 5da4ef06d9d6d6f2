"""Every backend that is there: NumPy and the core always, CUDA where there is a GPU."""

from __future__ import annotations

import pytest

from splinear.objective.gpu.core_backend import CoreBackend
from splinear.objective.gpu.finding import NoDeviceError, cuda_backend
from splinear.objective.gpu.numpy_backend import NumPyBackend


@pytest.fixture(params=["numpy", "core", "cuda"])
def backend(request):
    if request.param == "numpy":
        return NumPyBackend()
    if request.param == "core":
        return CoreBackend()
    try:
        return cuda_backend("cuda")
    except (ImportError, NoDeviceError) as error:
        pytest.skip(f"no GPU: {error}")


@pytest.fixture
def on_backend(backend, monkeypatch):
    """Let estimators with device="cuda" use the backend."""
    monkeypatch.setattr(
        "splinear.estimators.gpu.cuda_backend",
        lambda device: None if device == "cpu" else backend,
    )
    return backend
