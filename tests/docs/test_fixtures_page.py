"""The code of docs/fixtures.md runs, and its table has every fixture with its scope."""

from __future__ import annotations

import asyncio
import re
import textwrap
from pathlib import Path

import pytest

from tests.docs.pages import block, rows, text
from tests.model.fault_server import FaultServer, Seen, answer, tool_call
from tests.plugin.project import PYTEST, python, records, summary

pytestmark = pytest.mark.slow

PAGE = text("docs/fixtures.md")


def says_42(seen: Seen):
    """Calls the first tool of a request that has some; else answers with its result, or 42."""
    said = seen.body["messages"][-1]
    if seen.body.get("tools") and said["role"] == "user":
        name = seen.body["tools"][0]["function"]["name"]
        arguments = {"expression": "6 * 7"} if name == "Calculator" else {"number": 21}
        return answer(None, tool_calls=[tool_call(name, arguments)])
    return answer(f"It is {said['content'] if said['role'] == 'tool' else 42}.")


def test_the_tests_of_agents_pass(tmp_path: Path) -> None:
    for name, containing in (("double", "def double("), ("client", "def client(model_endpoint)"), ("loop", ".schema")):
        (tmp_path / f"test_{name}.py").write_text(block(PAGE, containing))
    (tmp_path / "agentgauge.toml").write_text(block(PAGE, "run_folder"))
    with FaultServer(choose=says_42) as endpoint:
        done = python(*PYTEST, "--model=m", f"--model-url={endpoint.url}", cwd=tmp_path)
    assert done.status == 0 and "3 passed" in done.output, done.output
    [run] = (tmp_path / "runs").iterdir()  # as the setting says
    assert sorted((record["task"], record["status"]) for record in records(run)) == [
        ("tests", "passed"),
        ("tests", "passed"),
        ("tests.tools", "passed"),
    ]


def test_a_fixture_of_the_project_gives_another_model(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(block(PAGE, "with_system("))
    (tmp_path / "test_wild.py").write_text(block(PAGE, '@benchmark_task("wild")'))
    words = ("--model=oracle", "--limit=4", "--data=mini", "--run-dir=run")
    done = python(*PYTEST, *words, cwd=tmp_path)
    assert done.status == 0, done.output
    assert {record["given"]["system"] for record in records(tmp_path / "run")} == {"Answer briefly."}
    assert "the tests of 4 of 4 cases gave another model" in " ".join(done.output.split())


def test_the_run_without_pytest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    program = block(PAGE, "from agentgauge import Run").replace('"gpt-4o", limit=64', '"oracle", limit=8, data="mini"')
    names: dict[str, object] = {}
    exec(f"async def main():\n{textwrap.indent(program, '    ')}", names)
    asyncio.run(names["main"]())  # type: ignore[operator]
    *cases, headline = capsys.readouterr().out.splitlines()
    assert len(cases) == 8 and all(case.endswith(" passed") for case in cases)
    assert re.fullmatch(r"100\.0 \([\d.]+ to 100\.0\), n 8", headline)
    [run] = (tmp_path / "runs").iterdir()
    assert summary(run)["tasks"]["wild"]["passed"] == 8


def test_every_fixture_is_listed_with_its_scope(tmp_path: Path) -> None:
    shown = python(*PYTEST, "--fixtures", cwd=tmp_path).output
    found = re.findall(r"^(\w+)(?: \[(\w+) scope\])? -- \S*(?:own_tests|pytest_plugin)/\w*fixtures\.py", shown, re.M)
    expected = {name: scope or "function" for name, scope in found if not name.startswith("agentgauge_")}
    assert {row[0].strip("`"): row[1] for row in rows(PAGE, "fixture", "scope")} == expected
    assert len(expected) == 7
