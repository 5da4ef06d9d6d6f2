"""Model files that were changed: no crash, no hang, an error that names the file, or a model.

`SPLINEAR_FUZZ=10000 pytest -m fuzz` runs as many cases instead of a few. Files are loaded by
another process, as a crash would end this one.
"""

import os
import sys
from pathlib import Path

import pytest
from seeds import run_seeds

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX"),
]

N_CASES = max(1000, int(os.environ.get("SPLINEAR_FUZZ", "0")))
BLOCK = 1000
SCRIPT = Path(__file__).parent / "load_mutated.py"

# Seeds that once found something: more threads than there can be, and none.
REGRESSIONS = [2046, 21765]


@pytest.mark.parametrize("block", range(-(-N_CASES // BLOCK)))
def test_changed_files(block, tmp_path):
    run_seeds(SCRIPT, block * BLOCK, (block + 1) * BLOCK, tmp_path)


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_files_that_once_failed(seed, tmp_path):
    run_seeds(SCRIPT, seed, seed + 1, tmp_path)
