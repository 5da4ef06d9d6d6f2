"""Versions of splinear to compare: folders in which one is installed, or commits, built here."""

from __future__ import annotations

import importlib.util
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "versions"  # one folder per commit, kept
BUILDS_WITH = ("scikit_build_core", "nanobind")


class UnknownVersionError(ValueError):
    """Neither a folder with splinear in it nor a commit of this repository."""


def site_of(name: str, built: Path = BUILT) -> Path:
    """Return the folder of a version; a commit is built into one the first time."""
    folder = Path(name)
    if (folder / "splinear").is_dir():
        return folder.resolve()
    commit = _commit(name)
    site = built / commit
    if not site.is_dir():
        print(f"building {name} ({commit[:8]})", file=sys.stderr, flush=True)
        _build(commit, site)
    return site


def _commit(name: str) -> str:
    command = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise UnknownVersionError(f"there is no splinear in {name}, and no commit of that name")
    return found.stdout.strip()


def _build(commit: str, site: Path) -> None:
    """Install a commit; the folder appears only when all of it is there."""
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    site.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=site.parent) as scratch:
        source, target = Path(scratch) / "source", Path(scratch) / "site"
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(source)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        if all(importlib.util.find_spec(name) for name in BUILDS_WITH):
            command.append("--no-build-isolation")
        subprocess.run([*command, "--target", str(target), str(source)], check=True)
        shutil.move(target, site)
