"""The benchmark of docs/adding-a-benchmark.md runs."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, block, text
from tests.model.fault_server import FaultServer, Seen, answer
from tests.plugin.project import PYTEST, python, records

pytestmark = pytest.mark.slow

PAGE = text("docs/adding-a-benchmark.md")
FILES = {
    "sums.jsonl": '"id": "one"',
    "sums.py": '@benchmark("sums"',
    "sums_task.py": 'name="sums.add"',
    "test_add.py": "def test_add(sample, model, solve)",
    "conftest.py": "from sums_task import ADD",
    "shop.py": '@benchmark("shop"',
}
CANCELLED = {
    "id": "late",
    "wish": "Cancel what is late.",
    "calls": [{"name": "find_orders", "arguments": {}}, {"name": "cancel", "arguments": {"order": "7"}}],
    "orders": {"7": "cancelled"},
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
        (tmp_path / name).write_text(block(PAGE, containing), encoding="utf-8")
    (tmp_path / "shop.jsonl").write_text(json.dumps(CANCELLED))
    return tmp_path


def run(project: Path, *arguments: str, status: int = 0, path: str = str(ROOT)) -> tuple[str, dict[str, Any]]:
    """The output of a run, and its summary of each task if there is one."""
    words = [*PYTEST, "--data=mini", "--run-dir=run", *arguments]
    done = python(*words, cwd=project, env={"PYTHONPATH": path})
    assert done.status == status, done.output
    return done.output, {} if status else done.summary("run")["tasks"]


def change(project: Path, name: str, *changes: tuple[str, str]) -> None:
    text = (project / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (project / name).write_text(text)


def test_it_runs_in_a_folder_of_its_own(project: Path) -> None:
    with FaultServer(choose=reckon) as endpoint:
        output, tasks = run(project, "sums.py", "test_add.py", "--model=m", f"--model-url={endpoint.url}")
    assert "got:      many" in output
    for name, metric in (("sums", "Accuracy"), ("sums.add", "Acc")):
        assert (tasks[name]["passed"], tasks[name]["wrong"]) == (1, 1)
        assert tasks[name]["metrics"][metric]["value"] == 50
        assert name in (project / "run" / "leaderboard.md").read_text()


def test_the_oracle_passes_each(project: Path) -> None:
    tasks = run(project, "sums.py", "test_add.py", "shop.py", "--model=oracle")[1]
    assert {name: task["passed"] for name, task in tasks.items()} == {"sums": 2, "sums.add": 2, "shop": 1}


def test_with_a_user_and_an_option_it_passes_as_well(project: Path) -> None:
    """The page shows the methods that are to be changed."""
    pattern = r"    async def run\(.*?\n\n"
    user, option = (block(PAGE, text).partition("\n")[2] for text in ('roles = ["user"]', "TaskOption("))
    shop, sums = ((project / name).read_text() for name in ("shop.py", "sums.py"))
    shop = re.sub(pattern, lambda _: f"{user}\n", shop, flags=re.DOTALL)
    sums = re.sub(pattern, lambda _: f"{option}\n", sums, flags=re.DOTALL)
    (project / "shop.py").write_text(f"from agentgauge import SimulatedUser\nRULES = 'Be kind.'\n{shop}")
    (project / "sums.py").write_text(f"from agentgauge import TaskOption\n{sums}")
    change(project, "shop.py", ('[*sample["calls"], "It is done."]', '["Hi", *sample["calls"], "Done.", "###STOP###"]'))
    tasks = run(project, "sums.py", "shop.py", "--model=oracle", "--user-model=oracle", "--sums-style=polite")[1]
    assert {name: task["passed"] for name, task in tasks.items()} == {"sums": 2, "shop": 1}
    asked = json.dumps(records(project / "run"))
    assert "What is 1 + 2? Please." in asked and "Cancel what is late." in asked


def test_installed_as_packages_they_are_known_to_the_oracle(project: Path) -> None:
    """An entry point announces each in every process."""
    metadata = project / "sums-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sums\nVersion: 1\n")
    points = block(PAGE, "entry-points").replace("project.entry-points.", "").replace('"', "")
    (metadata / "entry_points.txt").write_text(f"{points}long = sums_task\n")
    hook = block(PAGE, "def pytest_agentgauge_tasks")
    for name, task in (("sums.py", "Sums"), ("sums_task.py", "ADD")):
        with (project / name).open("a") as file:
            file.write(f"\n\n{hook.replace('Sums', task)}")
    (project / "conftest.py").unlink()
    path = f"{ROOT}{os.pathsep}{project}"
    tasks = run(project, "--pyargs", "sums", "test_add.py", "--model=oracle", path=path)[1]
    assert {name: task["passed"] for name, task in tasks.items()} == {"sums": 2, "sums.add": 2}


def test_without_gold_the_oracle_is_refused_before_the_first_request(project: Path) -> None:
    change(project, "sums.py", ("def oracle", "def gold"))
    assert "--model oracle knows no right answers of sums" in run(project, "sums.py", "--model=oracle", status=4)[0]


def test_a_file_that_the_run_did_not_know_of_is_told(project: Path) -> None:
    (project / "sums.py").rename(project / "test_sums.py")
    output = run(project, ".", "--model=oracle", status=2)[0]
    assert "the benchmark sums was announced when pytest imported its file" in output
    assert "name the file on the command line (pytest test_sums.py)" in output
    shutil.rmtree(project / "run")
    change(project, "conftest.py", ("import ADD", "import ADD\nfrom test_sums import Sums"))
    assert set(run(project, ".", "--model=oracle")[1]) == {"sums", "sums.add"}
