"""docs/guide/cli.md: its commands run as they are printed, and its options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "cli.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_run(invoke, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    n_commands = 0
    for language, block in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, str(PAGE), "exec"), namespace)
        for line in block.splitlines() if language == "bash" else ():
            program, *arguments = shlex.split(line)
            assert program == "splinear"
            done = invoke(*arguments)
            assert done.exit_code == 0, done.output
            n_commands += 1
    assert n_commands >= 8
    found = pd.read_csv("predictions.csv")
    new = pd.read_csv("new.csv")
    assert found["alcohol"].tolist() == new["alcohol"].tolist()
    assert (found["prediction"] == new["cultivar"]).mean() > 0.9
    assert {path.suffix for path in tmp_path.iterdir()} >= {".onnx", ".sql", ".json", ".parquet"}


def test_the_options_of_the_page_exist(invoke):
    commands = ("fit", "predict", "explain", "convert", "reproduce")
    text = " ".join(invoke(command, "--help").output for command in commands)
    for option in set(re.findall(r"`(--[A-Za-z-]+)", PAGE.read_text(encoding="utf-8"))):
        assert option in text, option
