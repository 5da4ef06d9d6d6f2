"""What the numbers were measured on: processor, and versions of what computes."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from splinear import _core

__all__ = ["describe"]

PACKAGES = ("splinear", "numpy", "scipy", "scikit-learn")
CPU_INFO = Path("/proc/cpuinfo")


def describe() -> dict[str, str]:
    """Name the processor, its cores, the kernels in use, and versions."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "kernels": _core.instruction_sets()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    if CPU_INFO.is_file():
        for line in CPU_INFO.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
