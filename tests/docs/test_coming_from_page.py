"""The evaluation of docs/coming-from.md comes to the same in each framework; the others where they are installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import block, blocks, text
from tests.docs.test_example_benchmark import reckon
from tests.model.fault_server import FaultServer
from tests.plugin.project import PYTEST, python

pytestmark = pytest.mark.slow

PAGE = text("docs/coming-from.md")
OTHERS = {
    "inspect_ai": (
        "sums.py",
        ["-m", "inspect_ai", "eval", "sums.py", "--model", "openai/gpt-4o", "--display", "plain"],
        "mean    0.500",
    ),
    "deepeval": ("test_sums.py", ["-m", "deepeval.cli.main", "test", "run", "test_sums.py"], "Passed: 1 | Failed: 1"),
    "pytest_evals": (
        "test_sums.py",
        ["-m", "pytest", "test_sums.py", "--run-eval", "--run-eval-analysis", "-s"],
        "Accuracy: 50%",
    ),
}
"""The file of a framework, the words behind ``python``, and what is printed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sums.jsonl").write_text(block(text("docs/adding-a-benchmark.md"), '"id": "one"'))
    return tmp_path


def test_ours(folder: Path) -> None:
    (folder / "sums.py").write_text(block(PAGE, "from agentgauge import benchmark"))
    with FaultServer(choose=reckon) as endpoint:
        words = ("sums.py", "--model=m", f"--model-url={endpoint.url}", "--run-dir=run")
        done = python(*PYTEST, *words, cwd=folder)
    assert done.status == 0, done.output
    assert done.summary("run")["tasks"]["sums"]["metrics"]["Accuracy"]["value"] == 50


@pytest.mark.parametrize("name", OTHERS)
def test_the_others(name: str, folder: Path) -> None:
    file, words, expected = OTHERS[name]
    (folder / file).write_text(block(PAGE, f"from {name} import" if name != "pytest_evals" else "eval_bag"))
    if not find_spec(name):
        pytest.skip(f"{name} is not installed")
    with FaultServer(choose=reckon) as endpoint:
        environment = {**os.environ, "OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "none", "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=200
        )
    assert expected in done.stdout, done.stdout + done.stderr


def test_every_program_is_python() -> None:
    for program in blocks(PAGE, "python"):
        compile(program, "docs/coming-from.md", "exec")
