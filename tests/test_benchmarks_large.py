"""The benchmark of data larger than memory, on few rows: from the command line to its page."""

import re
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_few_rows_and_little_memory(run_benchmark, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    made = tmp_path / "made"
    process = run_benchmark(
        "large", "--rows", "120000", "--max-memory", "4.5MB", "--output", str(made)
    )
    assert process.returncode == 0, process.stderr
    page = (made / "large.md").read_text()
    assert "## 120,000 rows, max_memory='4.5MB'" in page
    assert re.search(r"their codes 0\.00 GB \(on disk, \d+ blocks\)", page)
    assert re.search(r"\| splinear +\| 120,000 +\| [\d.]+ +\| 8\d\.\d\d% +\|", page)
    assert page.count("difference / objective") == page.count("(bar: at most 0.01) holds") == 2
    assert "peak resident memory" in page
    assert list(scratch.iterdir()) == []
