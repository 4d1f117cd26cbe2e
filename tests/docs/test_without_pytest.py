"""The examples that use ``agentgauge.Run`` without pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "without_pytest"


@pytest.mark.slow
def test_the_script_compares_two_models(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(EXAMPLES / "compare_two_models.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "oracle: 100.0 (" in done.stdout
    assert "difference " in done.stdout
    assert len(list((tmp_path / "runs").glob("*/summary.json"))) == 2


CELLS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        shell.run_cell("".join(cell["source"])).raise_error()
"""
"""Runs the cells as a notebook does: the event loop is the notebook's, and cells await."""


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path / "ipython")}
    command = [sys.executable, "-c", CELLS, str(EXAMPLES / "a_run.ipynb")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" passed") >= 12
    assert "100.0 (" in done.stdout


def test_the_notebook_holds_no_output() -> None:
    cells = json.loads((EXAMPLES / "a_run.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
