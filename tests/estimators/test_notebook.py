"""`verbose=1` in the kernel of a notebook: one line that changes, and what came out at its end."""

import json
import re
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

CODE = """
import numpy as np
from splinear import AdditiveSVC
X = np.random.default_rng(0).normal(size=(3000, 20))
y = np.sin(2 * X).sum(axis=1) > 0
model = AdditiveSVC(verbose=1, C=1.0, tol=1e-4, random_state=0).fit(X, y)
model
"""
KERNEL = {
    "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
    "display_name": "this Python",
    "language": "python",
}


@pytest.mark.filterwarnings("ignore")  # those of the tools
def test_a_live_line(tmp_path, monkeypatch):
    folder = tmp_path / "kernels" / "this"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(KERNEL))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="this").execute()
    outputs = notebook.cells[0].outputs
    text = "".join(out.text for out in outputs if out.output_type == "stream")
    assert {out.name for out in outputs if out.output_type == "stream"} == {"stdout"}  # not red
    *states, last = text.split("\r")
    assert re.fullmatch(r"AdditiveSVC: \d+ passes, gap \S+, \d+\.\d s\n", last)
    shown = [state for state in states if state.strip()]
    assert shown
    assert all(state.startswith("AdditiveSVC: pass ") and "\n" not in state for state in shown)
    [page] = [out.data["text/html"] for out in outputs if out.output_type == "execute_result"]
    assert "AdditiveSVC" in page
