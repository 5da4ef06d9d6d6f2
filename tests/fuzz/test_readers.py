"""Broken files of every format: no crash, no hang, and an error that names the file, or a table.

`SPLINEAR_FUZZ=10000 pytest -m fuzz` runs as many cases instead of a few. Files are read by another
process, as a crash of a reader would end this one.
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

N_CASES = max(2000, int(os.environ.get("SPLINEAR_FUZZ", "0")))
BLOCK = 1000
SCRIPT = Path(__file__).parent / "read_mutated.py"

# Seeds that once found something: names that are not UTF-8, a line that ends in "\r", and fewer
# rows than announced.
REGRESSIONS = [94, 583, 5261, 5577, 13073]


@pytest.mark.parametrize("block", range(-(-N_CASES // BLOCK)))
def test_broken_files(block, tmp_path):
    run_seeds(SCRIPT, block * BLOCK, (block + 1) * BLOCK, tmp_path)


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_files_that_once_failed(seed, tmp_path):
    run_seeds(SCRIPT, seed, seed + 1, tmp_path)
