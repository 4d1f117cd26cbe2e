"""The benchmark of docs/adding-a-benchmark.md runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, block, text
from tests.model.fault_server import FaultServer, Seen, answer

PAGE = text("docs/adding-a-benchmark.md")
FILES = {
    "sums/sums.jsonl": '"id": "one"',
    "sums.py": "class Sums(Task)",
    "test_sums.py": "def test_add(outcome)",
    "conftest.py": "announce(Sums())",
}


def reckon(seen: Seen):
    """Adds, and is wrong from 20 on."""
    numbers = [
        int(word.strip("?")) for word in seen.body["messages"][-1]["content"].split() if word.strip("?").isdigit()
    ]
    return answer(str(sum(numbers)) if max(numbers) < 20 else "many")


def test_it_runs_in_a_folder_of_its_own(tmp_path: Path) -> None:
    for name, containing in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(block(PAGE, containing), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "AGENTGAUGE_"))}
    with FaultServer(choose=reckon) as endpoint:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "--data=mini",
                "--model=m",
                f"--model-url={endpoint.url}",
                "--run-dir=run",
            ],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / ".cache")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "expected '42', got 'many'" in done.stdout
    task = json.loads((tmp_path / "run" / "summary.json").read_text())["tasks"]["sums.add"]
    assert (task["passed"], task["wrong"]) == (1, 1)
    assert task["metrics"]["Acc"]["value"] == 50
