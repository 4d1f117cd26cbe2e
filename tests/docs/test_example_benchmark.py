"""The benchmark of docs/adding-a-benchmark.md runs."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import agentgauge
from tests.docs.pages import ROOT, block, rows, text
from tests.model.fault_server import FaultServer, Seen, answer
from tests.plugin.project import PYTEST, python

pytestmark = pytest.mark.slow

PAGE = text("docs/adding-a-benchmark.md")
FILES = {
    "sums.jsonl": '"id": "one"',
    "sums.py": '@benchmark("sums"',
    "sums_task.py": "class SumsTask",
    "test_add.py": "def test_add(outcome)",
    "conftest.py": "announce(*TASKS)",
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
    assert "expected '42', got 'many'" in output
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
    asked = (project / "run" / "records.jsonl").read_text()
    assert "What is 1 + 2? Please." in asked and "Cancel what is late." in asked


def test_installed_as_packages_they_are_known_to_the_oracle(project: Path) -> None:
    """An entry point announces each in every process, that of the embedded model included."""
    metadata = project / "sums-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sums\nVersion: 1\n")
    points = block(PAGE, "entry-points").replace("project.entry-points.", "").replace('"', "")
    assert 'An entry point `sums = "sums_task:TASKS"` announces the task' in PAGE
    (metadata / "entry_points.txt").write_text(f"{points}long = sums_task:TASKS\n")
    (project / "conftest.py").unlink()
    path = f"{ROOT}{os.pathsep}{project}"
    tasks = run(project, "--pyargs", "sums", "test_add.py", "--model=oracle", path=path)[1]
    assert {name: task["passed"] for name, task in tasks.items()} == {"sums": 2, "sums.add": 2}


def test_without_gold_the_oracle_is_refused_before_the_first_request(project: Path) -> None:
    change(project, "sums.py", ("def oracle", "def gold"))
    assert "--model oracle: sums has no gold replies" in run(project, "sums.py", "--model=oracle", status=4)[0]


def test_a_file_that_the_run_did_not_know_of_is_told(project: Path) -> None:
    (project / "sums.py").rename(project / "test_sums.py")
    output = run(project, ".", "--model=oracle", status=2)[0]
    assert "the benchmark sums was announced when pytest imported its file" in output
    assert "name the file on the command line (pytest test_sums.py)" in output
    shutil.rmtree(project / "run")
    change(project, "conftest.py", ("announce(*TASKS)", "announce(*TASKS)\nimport test_sums"))
    assert set(run(project, ".", "--model=oracle")[1]) == {"sums", "sums.add"}


def test_lines_and_concepts_of_the_examples_are_counted() -> None:
    """Lines that are not blank, and names that are imported from the framework."""
    ours, theirs = ROOT / "examples", ROOT / "examples" / "inspect_ai"
    for name, *figures in rows(PAGE, "example", "lines", "concepts"):
        name = name.strip("`")
        package = ours / name / name
        own = [package / f"test_{name}.py", *package.glob("desk.py")]
        counted = [*count(own, "agentgauge"), *count([theirs / f"{name}.py"], "inspect_ai")]
        assert figures == [str(figure) for figure in counted]


def count(files: list[Path], framework: str) -> tuple[int, int]:
    texts = [file.read_text() for file in files]
    lines = sum(bool(line.strip()) for text in texts for line in text.splitlines())
    nodes = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return lines, len(
        {name.name for node in nodes if f"{node.module}.".startswith(f"{framework}.") for name in node.names}
    )


CAPABILITIES = [row[0].strip("`") for row in rows(PAGE, "base class")]


@pytest.mark.parametrize("name", CAPABILITIES)
def test_each_capability_of_the_page_is_there_and_its_example_too(name: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    assert isinstance(getattr(agentgauge, name), type)
    assert (ROOT / row.rstrip(" |`").rpartition("`")[2]).is_file()


def test_every_capability_is_on_the_page() -> None:
    modules = (ROOT / "agentgauge" / "core" / "capabilities").glob("*.py")
    classes = re.findall(r"^class ([A-Z]\w+)\(ABC\)", "\n".join(map(Path.read_text, modules)), re.MULTILINE)
    assert sorted(CAPABILITIES) == sorted(classes)


def test_every_argument_of_the_decorator_is_on_the_page() -> None:
    arguments = list(inspect.signature(agentgauge.benchmark).parameters.values())[1:]
    told = {row[0].strip("`"): row[-1].strip("`") for row in rows(PAGE, "argument")}
    assert sorted(told) == sorted(each.name for each in arguments)
    assert told["id"] == agentgauge.benchmark.__kwdefaults__["id"]
