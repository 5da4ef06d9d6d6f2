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
    process = run_benchmark("large", "--quick", "--output", str(made))
    assert process.returncode == 0, process.stderr
    page = (made / "large.md").read_text()
    assert "## 60,000 rows, max_memory='2.2MB'" in page
    assert re.search(r"their codes 0\.00 GB \(on disk, \d+ blocks\)", page)
    assert re.search(r"\| splinear +\| 60,000 +\| [\d.]+ +\| 8\d\.\d\d% +\|", page)
    assert page.count("difference / objective") == page.count("(bar: at most 0.01) holds") == 1
    assert "peak resident memory" in page
    assert list(scratch.iterdir()) == []
