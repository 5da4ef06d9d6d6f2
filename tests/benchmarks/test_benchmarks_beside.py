"""Benchmarks beside other libraries, which need not be installed here."""

import re
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear.objective.gpu.finding import NoDeviceError, cuda_backend

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load_benchmark(monkeypatch):
    """Import a benchmark as a module; whatever it imported beside it is forgotten afterward."""
    own = {path.stem for path in FOLDER.glob("*.py")}
    monkeypatch.syspath_prepend(FOLDER)
    for name in own:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield import_module
    for name in own:
        sys.modules.pop(name, None)


class StandIn:
    """In the place of a rival that takes long, or is not installed."""

    def __init__(self) -> None:
        self.model = make_pipeline(StandardScaler(), LogisticRegression())


class Maker:
    make = staticmethod(StandIn)


def test_boosted_curves(tmp_path, load_benchmark, monkeypatch):
    boosted = load_benchmark("boosted")
    monkeypatch.setitem(boosted.RIVALS, "ebm", Maker)
    monkeypatch.setattr(sys, "argv", ["boosted", "--quick", "--output", str(tmp_path)])
    boosted.main()
    page = (tmp_path / "boosted.md").read_text()
    assert "python benchmarks/boosted.py --output docs" in page
    cells = re.search(r"^\| synthetic \| (.*) \|$", page, re.MULTILINE)[1].split(" | ")
    assert len(cells) == 8
    auc, of_line = float(cells[4]), float(cells[5])
    assert auc > 0.85 > 0.6 > of_line


def test_one_row(tmp_path, load_benchmark, monkeypatch):
    one_row = load_benchmark("one_row")
    rivals = {"AdditiveClassifier": one_row.ours, "LogisticRegression": one_row.linear}
    monkeypatch.setattr(one_row, "RIVALS", rivals)
    monkeypatch.setattr(sys, "argv", ["one_row", "--quick", "--output", str(tmp_path)])
    one_row.main()
    page = (tmp_path / "one_row.md").read_text()
    assert "python benchmarks/one_row.py --output docs" in page
    for name in rivals:
        cells = re.search(rf"^\| {name} \| (.*) \|$", page, re.MULTILINE)[1].split(" | ")
        assert len(cells) == 6
        assert all(float(cell) > 1 for cell in cells)


def test_gpus():
    """`gpu.py` measures where there is a GPU, and says what it lacks where there is none."""
    has_gpu = False
    with suppress(ImportError, NoDeviceError):
        has_gpu = cuda_backend("cuda") is not None
    command = [sys.executable, str(FOLDER / "gpu.py"), "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if has_gpu:
        assert run.returncode == 0, run.stderr
        assert "# On a GPU" in run.stdout
    else:
        assert run.returncode == 1
        assert "Traceback" not in run.stderr
        assert re.search("CuPy|GPU|driver", run.stderr)
