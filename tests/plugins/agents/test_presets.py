"""Presets of well-known agent programs, each against a stand-in that does what its program's documentation says."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.agents import AgentTask
from agentgauge.core.chat import ChatReply
from agentgauge.core.config import AgentTable, Config
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.types import Usage
from agentgauge.model.wire import clean_all
from agentgauge.plugins.agents.preset_call import LONGEST, PROMPT
from agentgauge.plugins.agents.presets import PRESETS, filled
from agentgauge.plugins.agents.printed import read_printed
from agentgauge.plugins.agents.prompt import prompt_text
from agentgauge.plugins.agents.settings import AgentFacts, AgentProgram, read_agent
from agentgauge.plugins.agents.trajectory import step_events
from tests.docs.pages import rows, text
from tests.plugin.project import records, run_gta, summary

from .agents import ADD, Model, solve_with

STAND_IN = Path(__file__).with_name("stand_in.py")
OWN = ("claude", "codex", "gemini")
"""Those that ask their own providers."""

SAYS = "The boards for both bedrooms cost 1071 euros."
"""The answer of the bundled query that is asked first."""

ADDS = AgentTask([{"role": "user", "content": "What is 1+2?"}], tools={"Add": ADD})


def install(name: str, folder: Path, code: str = STAND_IN.read_text()) -> Path:
    """Put a program on the PATH of ``folder``."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / name
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)
    return folder / "bin"


def table(**settings: Any) -> AgentTable:
    """What each preset accepts."""
    return AgentTable(**{"network": True, "env": ("STAND_IN_SAYS", "STAND_IN_CALLS"), "memory_mb": 8192, **settings})


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_SAYS", "3")
    monkeypatch.setenv("STAND_IN_CALLS", 'Add {"a": 1, "b": 2}')
    return tmp_path


def read(text: str, **settings: Any) -> tuple[AgentFacts, AgentProgram]:
    option = Namespace(agent=text, rescore=None, allow_unsafe_code=False)
    facts, program = read_agent(option, {}, Config(agent=table(**settings)))
    assert facts and program
    return facts, program


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_each_solves_a_query_and_a_workflow(name: str, tmp_path: Path) -> None:
    env = {
        "PATH": f"{install(name, tmp_path)}:{os.environ['PATH']}",
        "STAND_IN_SAYS": SAYS,
        "STAND_IN_CALLS": 'Calculator {"expression": "51 * 21"}',
    }
    (tmp_path / "agentgauge.toml").write_text(
        '[agent]\nnetwork = true\nenv = ["STAND_IN_SAYS", "STAND_IN_CALLS"]\nmemory_mb = 8192\n'
    )
    model = () if name in OWN else ("--model=scripted:script.json",)
    (tmp_path / "script.json").write_text(json.dumps({"replies": {"*": [SAYS]}}))
    few = ("--rootdir=.", "-k", "test_end_to_end or test_workflow", "--limit=1", "--run-dir=run")
    result = run_gta(f"--agent={name}", *model, *few, cwd=tmp_path, env=env)
    assert f"agent {name} in the model's place" in result.output
    about = summary(tmp_path / "run")["run"]
    assert about["model"] == (name if name in OWN else f"{name} ({about['asked_model']})")
    scored = run_gta("--rescore=run", *few[:-1], "--run-dir=again", cwd=tmp_path, env=env)
    assert summary(tmp_path / "again")["run"]["model"] == about["model"], scored.output
    found = {record["task"]: record for record in records(tmp_path / "run")}
    assert found["gta_atomic.e2e"]["status"] == "passed", found["gta_atomic.e2e"]
    for record in found.values():
        transcript = record["transcript"]
        steps = transcript["output"]["prediction"][0]
        assert steps[-1] == {"role": "assistant", "content": SAYS}
        assert [call["function"]["name"] for step in steps for call in step.get("tool_calls", ())] == ["Calculator"]
        names = [(event["kind"], event["name"]) for event in transcript["events"]]
        assert names.count(("tool", "Calculator")) == 1 and names[-1][0] == "model"


USAGES = {
    "claude": Usage(2, 26, 8, 0.25, cached_tokens=4, cache_write_tokens=2),
    "codex": Usage(2, 26, 8, cached_tokens=4, reasoning_tokens=3),
    "gemini": Usage(2, 26, 8, cached_tokens=4),
    "opencode": Usage(1, 5, 2),  # of the model that answers it
    "goose": Usage(1, 5, 2),
}


@pytest.mark.parametrize("name", PRESETS)
def test_the_answer_the_transcript_and_the_usage_are_read(name: str, path: Path) -> None:
    install(name, path)
    _, program = read(name)
    model = Model(answers=lambda request: ChatReply("3", usage=Usage(1, 5, 2)))
    answer, case = solve_with(program, path, model, ADDS)
    assert answer.reply.text == "3"
    assert [use.outputs and use.outputs[0].content for use in answer.uses] == ["3"]
    assert [event.name for event in case.events if event.kind == "tool"] == ["Add"]
    assert answer.reply.usage == case.usage == USAGES[name]


def test_the_events_stand_in_the_order_of_the_program(path: Path) -> None:
    install("claude", path)
    _, case = solve_with(read("claude")[1], path, task=ADDS)
    first, call, last = case.events
    assert (first.kind, first.name, first.detail["reply"]) == ("model", "claude-x", "I look.")
    assert call.kind == "tool" and call.seconds > 0  # as AgentGauge has seen it
    assert (last.kind, last.detail["reply"]) == ("model", "3")


def test_words_behind_the_name_are_added(path: Path) -> None:
    install("claude", path, "import sys; print(sys.argv)")
    facts, program = read("claude --model sonnet")
    assert facts.name == "claude" and facts.text == "claude --model sonnet"
    assert program.command.words[1:] == (*PRESETS["claude"].words, "--model", "sonnet")
    assert facts.digest != read("claude")[0].digest


def test_a_changed_preset_is_another_agent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("codex", path)
    before = read("codex")[0].digest
    changed = replace(PRESETS["codex"], env={"A": "b"})
    monkeypatch.setitem(PRESETS, "codex", changed)
    assert read("codex")[0].digest != before


@pytest.mark.parametrize("name", PRESETS)
def test_a_program_that_is_not_installed(name: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(path))
    with pytest.raises(UsageProblem) as problem:
        read(name)
    said = str(problem.value)
    assert said.startswith(f"--agent={name}: the program {name!r} is not on PATH; install it ({PRESETS[name].install})")


def test_a_path_is_no_preset(path: Path) -> None:
    place = install("claude", path, "print(1)") / "claude"
    _, program = read(str(place))
    assert program.preset is None and program.command.words == (str(place),)


def test_a_function_of_a_package_is_no_preset(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgauge.plugins.agents.settings._function", lambda name: (None, "json:loads"))
    _, program = read("claude")
    assert program.preset is None and program.command.words[-3:-1] == ("json", "loads")


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("claude", {"network": False}, "write network = true and the names of the variables with its key, such as env"),
        ("codex", {"env": ()}, 'such as env = ["CODEX_API_KEY"], into the table [agent]'),
        ("gemini", {"memory_mb": 4096}, "does not start with memory_mb = 4096; write memory_mb = 8192 or more"),
    ],
)
def test_a_table_with_which_a_program_cannot_work(name: str, settings: Any, says: str, path: Path) -> None:
    install(name, path)
    with pytest.raises(UsageProblem) as problem:
        read(name, **settings)
    assert says in str(problem.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--model=oracle", "--model and --agent=claude cannot be used together: it asks its own provider"),
        ("--judge-model=same", "--judge-model same: this agent asks its own provider, so no model is tested"),
    ],
)
def test_a_model_that_would_not_be_asked_is_refused(option: str, says: str, tmp_path: Path) -> None:
    env = {"PATH": f"{install('claude', tmp_path)}:{os.environ['PATH']}", "KEY": "k"}
    (tmp_path / "agentgauge.toml").write_text('[agent]\nnetwork = true\nenv = ["KEY"]\n')
    result = run_gta(
        "--agent=claude", option, "--rootdir=.", "--limit=1", "-k", "e2e or workflow", cwd=tmp_path, env=env, status=4
    )
    assert says in result.output


RESULT = {"type": "result", "is_error": False, "result": "3"}


@pytest.mark.parametrize(
    ("name", "output", "code", "says"),
    [
        ("claude", "no JSON", 0, "it did not print what its preset expects; is it another version?"),
        ("claude", json.dumps({**RESULT, "is_error": True, "result": "Invalid API key"}), 0, "Invalid API key"),
        ("claude", "", 7, "it ended with exit status 7"),
        ("claude", json.dumps(RESULT), 7, "it ended with exit status 7"),
        ("codex", '{"type": "turn.failed", "error": {"message": "no quota"}}', 1, "no quota"),
        ("gemini", '{"type": "result", "status": "error", "error": {"message": "429"}}', 1, "429"),
        ("opencode", '{"type": "error", "error": {"name": "E", "data": {"message": "no model"}}}', 0, "no model"),
        ("goose", '{"type": "error", "error": "out of credits"}', 0, "out of credits"),
    ],
)
def test_output_without_an_answer_breaks_the_case(name: str, output: str, code: int, says: str, path: Path) -> None:
    install(name, path, f"import sys\nprint({output!r})\nsys.exit({code})")
    with pytest.raises(Fault, match=re.escape(f"the agent gave no answer: {says}")) as fault:
        solve_with(read(name)[1], path)
    assert fault.value.cause == "agent failed"


def test_a_program_that_is_ended_by_a_limit_has_answered_wrong(path: Path) -> None:
    install("claude", path, "import time; print('{', flush=True); time.sleep(60)")
    assert solve_with(read("claude", seconds=1)[1], path)[0].reply.text == ""


def test_an_answer_file_counts_before_the_output(path: Path) -> None:
    code = "import json, os\njson.dump({'tool_calls': [{'name': 'f', 'arguments': {}}]}, open(os.environ[%r], 'w'))"
    install("claude", path, code % "AGENTGAUGE_ANSWER")
    answer, _ = solve_with(read("claude")[1], path)
    assert [call.name for call in answer.reply.tool_calls] == ["f"]


HOSTILE: list[object] = [
    *(None, True, -1, 1e400, "\ud800", [], {}, [[[]]], {"content": [1, {"type": "text", "text": {}}]}),
    {"value": {"content": 7}, "type": "mcp_tool_call", "data": [], "input_tokens": -5, "models": "x"},
]
KEYS = [
    *("message", "content", "item", "part", "result", "usage", "stats", "error", "tool_id", "id", "callID", "state"),
    *("input", "output", "cost", "total_cost_usd", "is_error", "arguments", "parameters", "toolCall", "toolResult"),
    *("type", "role", "text", "tokens", "input_tokens", "total_tokens", "tool_name", "model", "delta"),
]
KINDS = [
    *("assistant", "user", "result", "item.completed", "turn.completed", "turn.failed", "init", "message"),
    *("tool_use", "tool_result", "text", "step_finish", "error", "complete"),
]


@pytest.mark.parametrize("name", PRESETS)
def test_fields_may_hold_anything(name: str) -> None:
    """The program prints them, so they are as hostile as all that it leaves."""
    parts = [{**dict.fromkeys(KEYS, odd), "type": kind} for kind in KINDS for odd in HOSTILE]
    parts += [{"type": kind, key: dict.fromkeys(KEYS, odd)} for kind in KINDS for key in KEYS for odd in HOSTILE]
    deep = '{"type": "result", "result": ' + "[" * 100_000 + "]" * 100_000 + "}"
    printed = read_printed("\n".join([*map(json.dumps, parts), deep, "{", "[]"]), PRESETS[name].reader, "")
    assert isinstance(printed.text, str) and isinstance(printed.problem, str)
    assert (printed.usage.prompt_tokens, printed.usage.usd) == (0, 0)
    if printed.steps:
        step_events(clean_all(printed.steps), printed.model, name)


def test_a_program_of_npm_is_started_by_node_and_reads_its_packages(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = path / "lib" / "node_modules" / "@openai" / "codex" / "bin"
    package.mkdir(parents=True)
    (package / "codex.js").write_text("#!/usr/bin/env node\n")
    (package / "codex.js").chmod(0o755)
    node = install("node", path) / "node"
    (path / "bin" / "codex").symlink_to(package / "codex.js")
    _, program = read("codex")
    assert program.command.words[:3] == (str(node), str(package / "codex.js"), "exec")
    assert {path / "lib" / "node_modules", node} <= {*program.process.readable}


def test_a_long_prompt_is_a_file(path: Path) -> None:
    install(
        "claude",
        path,
        f"import json, sys; print(json.dumps({{**{RESULT}, 'result': sys.argv[-1] + open({PROMPT!r}).read()[-3:]}}))",
    )
    task = AgentTask([{"role": "user", "content": "x" * LONGEST + "end"}])
    said = solve_with(read("claude")[1], path, task=task)[0].reply.text
    assert said == f"Your task is in the file {PROMPT} of this folder. Read the whole file, and do what it says.end"


CALLS = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (AgentTask([{"role": "user", "content": "- go"}]), ["- go"]),
        (AgentTask([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}]), ["a"]),
        (ADDS, ["those of the MCP server agentgauge: Add.", "into the folder /f", "# User\n\nWhat is 1+2?"]),
        (
            AgentTask([{"role": "system", "content": "be kind"}, {"role": "assistant", "tool_calls": CALLS}]),
            ["# System\n\nbe kind\n\n# Assistant\n\n[{"],
        ),
        (
            AgentTask([{"role": "user", "content": "go"}], functions=[{"type": "function", "function": {"name": "f"}}]),
            ["write the file /a", '{"content": null, "tool_calls": [', '"name": "f"'],
        ),
    ],
)
def test_a_task_as_a_prompt(task: AgentTask, says: list[str]) -> None:
    said = prompt_text(task, server="agentgauge", folder="/f", answer="/a")
    assert all(part in said for part in says), said


def test_places_are_filled_once() -> None:
    known = {"prompt": "say {MODEL}", "MODEL": "m"}
    assert filled({"{MODEL}": ["{MODEL}"], "a": "{prompt} {other}"}, known) == {
        "m": ["{MODEL}"],
        "a": "say {MODEL} {other}",
    }


def test_the_page_names_each_preset() -> None:
    found = rows(text("docs/external-agents.md"), "preset", "program")
    assert {row[0].strip("`") for row in found} == {*PRESETS}
