"""The benchmark of docs/adding-a-benchmark.md runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agentgauge
from tests.docs.pages import ROOT, block, text
from tests.model.fault_server import FaultServer, Seen, answer

pytestmark = pytest.mark.slow

PAGE = text("docs/adding-a-benchmark.md")
FILES = {
    "sums/sums.jsonl": '"id": "one"',
    "sums.py": "class Sums(Task, Oracle)",
    "test_sums.py": "def test_add(outcome)",
    "conftest.py": "announce(*TASKS)",
}


def reckon(seen: Seen):
    """Adds, and is wrong from 20 on."""
    numbers = [
        int(word.strip("?")) for word in seen.body["messages"][-1]["content"].split() if word.strip("?").isdigit()
    ]
    return answer(str(sum(numbers)) if max(numbers) < 20 else "many")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, containing in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(block(PAGE, containing), encoding="utf-8")
    return tmp_path


def run(project: Path, *arguments: str, status: int = 0) -> tuple[str, dict[str, Any]]:
    """The output of a run, and its summary of the task if there is one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "AGENTGAUGE_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--data=mini", "--run-dir=run", *arguments],
        cwd=project,
        env={**environment, "PYTHONPATH": f"{ROOT}{os.pathsep}{project}", "XDG_CACHE_HOME": str(project / ".cache")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    if status:
        return done.stdout + done.stderr, {}
    task: dict[str, Any] = json.loads((project / "run" / "summary.json").read_text())["tasks"]["sums.add"]
    return done.stdout, task


def test_it_runs_in_a_folder_of_its_own(project: Path) -> None:
    with FaultServer(choose=reckon) as endpoint:
        output, task = run(project, "--model=m", f"--model-url={endpoint.url}")
    assert "expected '42', got 'many'" in output
    assert (task["passed"], task["wrong"]) == (1, 1)
    assert task["metrics"]["Acc"]["value"] == 50
    assert "sums.add" in (project / "run" / "leaderboard.md").read_text()


def test_installed_as_a_package_it_is_known_to_the_oracle(project: Path) -> None:
    """An entry point announces it in every process, that of the embedded model included."""
    metadata = project / "sums-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sums\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        block(PAGE, "entry-points").replace("project.entry-points.", "").replace('"', "")
    )
    (project / "conftest.py").unlink()
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p agentgauge.pytest_plugin\n")
    assert run(project, "--model=oracle")[1]["passed"] == 2


def test_without_gold_the_oracle_is_refused_before_the_first_request(project: Path) -> None:
    (project / "sums.py").write_text(
        (project / "sums.py").read_text().replace("class Sums(Task, Oracle)", "class Sums(Task)")
    )
    assert "--model oracle: sums.add has no gold replies" in run(project, "--model=oracle", status=4)[0]


@pytest.mark.parametrize("name", re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
def test_each_capability_of_the_page_is_there_and_its_example_too(name: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    assert isinstance(getattr(agentgauge, name), type)
    assert (ROOT / row.rstrip(" |`").rpartition("`")[2]).is_file()


def test_every_capability_is_on_the_page() -> None:
    modules = (ROOT / "agentgauge" / "core" / "capabilities").glob("*.py")
    classes = re.findall(r"^class ([A-Z]\w+)\(ABC\)", "\n".join(map(Path.read_text, modules)), re.MULTILINE)
    assert sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == sorted(classes)
