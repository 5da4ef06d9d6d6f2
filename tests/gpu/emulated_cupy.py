"""The part of CuPy that the package uses, on the CPU: NumPy arrays, and kernels compiled as C++.

Tests with it show that kernels compute the right results and get the right arguments, but not that
CuPy accepts the calls, nor anything about speed. With SPLINEAR_NVRTC=1 and CuPy installed, NVRTC
also compiles every kernel for a GPU; that needs no GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from splinear.objective.gpu.cuda import CudaBackend

COMPILER = shutil.which("g++") or shutil.which("c++")
HEADER = Path(__file__).with_name("emulated.hpp")
ARCHITECTURES = ("compute_75", "compute_90")
SHARED = re.compile(r"extern __shared__ double (\w+)\[\];")


class Array(np.ndarray):
    """A NumPy array with the `data` attribute and the `get` method of CuPy's."""

    @property
    def data(self):
        ptr = self.ctypes.data
        copy = lambda at, n_bytes, stream: ctypes.memmove(ptr, at, n_bytes)  # noqa: E731
        return SimpleNamespace(ptr=ptr, copy_from_host_async=copy)

    def get(self):
        return np.array(self)


def there(values, dtype=None, order=None):
    return np.array(values, dtype=dtype, order=order or "K").view(Array)


class RawModule:
    """The kernels of a source; each is compiled on request."""

    def __init__(self, code, options):
        self.code, self.options = code, options

    def get_function(self, name):
        if os.environ.get("SPLINEAR_NVRTC"):
            compile_for_gpus(self.code, self.options)
        defined = [option for option in self.options if option.startswith("-D")]
        return Kernel(compiled(self.code, tuple(defined), name))


class Kernel:
    """A kernel with the call signature of CuPy's."""

    max_dynamic_shared_size_bytes = 0

    def __init__(self, function):
        self.function = function

    def __call__(self, grid, block, args, shared_mem=0):
        (gx, gy, gz), (bx, by) = [*grid, 1, 1][:3], [*block, 1][:2]
        shape = (ctypes.c_int * 6)(gx, gy, gz, bx, by, shared_mem)
        held = [as_argument(value) for value in args]
        pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(value) for value in held))
        self.function(shape, pointers)


def as_argument(value):
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return np.ctypeslib.as_ctypes_type(value.dtype)(value.item())


@cache
def folder():
    """Return the folder where kernels are compiled, with the precompiled header they include."""
    made = tempfile.TemporaryDirectory(prefix="kernels")
    shutil.copy(HEADER, made.name)
    compile_with("-x", "c++-header", str(Path(made.name) / HEADER.name))
    return made


def compile_with(*options):
    subprocess.run([COMPILER, "-std=c++20", "-O0", "-w", "-fPIC", *options], check=True)


@cache
def compile_for_gpus(code, options):
    from cupy.cuda import nvrtc

    for architecture in ARCHITECTURES:
        program = nvrtc.createProgram(code, "kernels.cu", [], [])
        try:
            nvrtc.compileProgram(program, [*options, f"--gpu-architecture={architecture}"])
        except nvrtc.NVRTCError as error:
            raise RuntimeError(nvrtc.getProgramLog(program)) from error
        finally:
            nvrtc.destroyProgram(program)


@cache
def compiled(code, defined, name):
    lines = [f"#define {option[2:].replace('=', ' ', 1)}" for option in defined]
    text = SHARED.sub(r"double* \1 = emulation::memory_of_block();", code)
    call = f"{{ emulation::run({name}, shape, args); }}"
    call = f'extern "C" void call(const int* shape, void** args) {call}'
    text = "\n".join([f'#include "{HEADER.name}"', *lines, text, call, ""])
    stem = Path(folder().name) / hashlib.sha256(text.encode()).hexdigest()
    source, library = stem.with_suffix(".cpp"), stem.with_suffix(".so")
    source.write_text(text)
    compile_with("-shared", str(source), "-o", str(library))
    return ctypes.CDLL(str(library)).call


def gemm_strided_batched_ex(
    handle, ta, tb, m, n, k, alpha, a, ta_, lda, sa, b, tb_, ldb, sb, beta, c, tc_, ldc, sc,
    count, *how
):  # fmt: skip
    """Multiply pairs of half-precision matrices, stored by columns, as cuBLAS does."""

    def matrix(at, number, stride, rows, columns, ld, kind):
        size = np.dtype(kind).itemsize
        held = (ctypes.c_char * (ld * columns * size)).from_address(at + number * stride * size)
        return np.frombuffer(held, dtype=kind).reshape(columns, ld)[:, :rows].T

    scale, keep = (ctypes.c_float.from_address(at).value for at in (alpha, beta))
    for i in range(count):
        A = matrix(a, i, sa, *((m, k) if not ta else (k, m)), lda, np.float16).astype(np.float32)
        B = matrix(b, i, sb, *((k, n) if not tb else (n, k)), ldb, np.float16).astype(np.float32)
        C = matrix(c, i, sc, m, n, ldc, np.float32)
        C.flags.writeable = True
        found = scale * ((A.T if ta else A) @ (B.T if tb else B))
        C[...] = found if keep == 0.0 else found + keep * C


def backend():
    """Return the backend of an emulated GPU with few multiprocessors."""
    stream = SimpleNamespace(ptr=0, synchronize=lambda: None)
    cuda = SimpleNamespace(
        Device=lambda: SimpleNamespace(id=0, mem_info=(2**32, 2**32)),
        runtime=SimpleNamespace(
            getDeviceProperties=lambda number: {
                "multiProcessorCount": 2,
                "sharedMemPerBlockOptin": 227 * 1024,
            }
        ),
        cublas=SimpleNamespace(
            gemmStridedBatchedEx=gemm_strided_batched_ex, setStream=lambda handle, stream: None
        ),
        device=SimpleNamespace(get_cublas_handle=lambda: 0),
        get_current_stream=lambda: stream,
    )
    made = {
        name: getattr(np, name) for name in ("maximum", "multiply", "sqrt", "concatenate", "tile")
    }
    return CudaBackend(
        SimpleNamespace(
            **made,
            cuda=cuda,
            RawModule=RawModule,
            array=there,
            arange=np.arange,
            asarray=there,
            asnumpy=np.array,
            ascontiguousarray=lambda values: there(values, order="C"),
            zeros=lambda *shape, **how: np.zeros(*shape, **how).view(Array),
            empty=lambda shape, dtype=np.float64: np.full(shape, 77, dtype).view(Array),
            empty_like=lambda values: np.full_like(values, 77),
            get_default_memory_pool=lambda: SimpleNamespace(free_bytes=lambda: 0),
        )
    )
