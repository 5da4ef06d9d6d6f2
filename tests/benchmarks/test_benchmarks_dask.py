"""The quick form of the benchmark on workers of Dask. Long: .ci/long asks for it."""

import os

import pytest

pytestmark = [
    pytest.mark.dask,
    pytest.mark.skipif("SPLINEAR_CLUSTER" not in os.environ, reason="SPLINEAR_CLUSTER is not set"),
]


def test_the_page(run_benchmark, tmp_path):
    process = run_benchmark("dask_scale", "--quick", "--output", str(tmp_path))
    assert process.returncode == 0, process.stderr
    page = (tmp_path / "dask_scale.md").read_text()
    assert "to the last bit: True" in page
