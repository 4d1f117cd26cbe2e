"""Placeholders in the command of ``--agent``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.agents import AgentTask
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.plugins.agents.placeholders import filled, refuse_unknown
from agentgauge.plugins.agents.prompt import prompt_text

from .agents import TASK, program, solve_with

ENDING = "Files that the task asks you for go into the folder files. Your last message is taken as the answer."


def test_they_are_filled_once_and_no_shell_is_there(tmp_path: Path) -> None:
    task = AgentTask([{"role": "user", "content": "say {files}; rm -rf /"}])
    words = ["true", "--p={prompt}", "{files}", "$HOME", '{"a": 1}']
    assert filled(words, task, tmp_path, None)[1:] == [
        "--p=say {files}; rm -rf /",
        str(tmp_path / "files"),
        "$HOME",
        '{"a": 1}',
    ]
    assert list(tmp_path.iterdir()) == []


def test_files_are_written_where_they_are_named(tmp_path: Path) -> None:
    words = filled(["{prompt_file}", "{mcp_config}"], TASK, tmp_path, ("http://127.0.0.1:1/mcp", "token"))
    assert words == [str(tmp_path / "prompt.txt"), str(tmp_path / "mcp.json")]
    assert (tmp_path / "prompt.txt").read_text() == "hello"
    server = json.loads((tmp_path / "mcp.json").read_text())["mcpServers"]["agentgauge"]
    assert server == {
        "type": "http",
        "url": "http://127.0.0.1:1/mcp",
        "headers": {"Authorization": "Bearer token"},
    }
    filled(["{mcp_config}"], TASK, tmp_path, None)
    assert json.loads((tmp_path / "mcp.json").read_text()) == {"mcpServers": {}}


def test_a_prompt_is_the_whole_conversation_and_says_how_to_deliver() -> None:
    said = [
        {"role": "system", "content": "Files: a.csv"},
        {"role": "user", "content": [{"type": "text", "text": "Add\0 up."}]},
        {"role": "assistant", "content": "12"},
        {"role": "user", "content": "And now?"},
    ]
    tools: dict[str, Any] = {"OCR": None}
    told = prompt_text(AgentTask(said, tools=tools), server="", folder="files", answer="answer.json")
    talk = "# System\n\nFiles: a.csv\n\n# User\n\nAdd up.\n\n# Assistant\n\n12\n\n# User\n\nAnd now?"
    assert told == f"{ENDING}\n\n{talk}"
    served = prompt_text(AgentTask(said, tools=tools), server="tools", folder="files", answer="answer.json")
    assert served.startswith("The tools for this task are those of the MCP server tools: OCR. ")


def test_a_request_may_be_too_long_for_a_word(tmp_path: Path) -> None:
    task = AgentTask([{"role": "user", "content": "x" * (128 << 10)}])
    with pytest.raises(Fault, match=r"write {prompt_file} instead of {prompt}"):
        filled(["{prompt}"], task, tmp_path, None)
    assert filled(["{prompt_file}"], task, tmp_path, None) == [str(tmp_path / "prompt.txt")]


def test_one_that_means_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "{odd}.py").write_text("")
    refuse_unknown(["true", "{prompt}", str(tmp_path / "{odd}.py"), "my-agent | awk '{print}'"])
    with pytest.raises(UsageProblem, match=r"\{promt\} is not a placeholder; known are \{prompt\}, \{prompt_file\}"):
        refuse_unknown(["true", "{promt}"])


@pytest.mark.slow
def test_a_program_gets_its_task_as_a_word_and_tells_its_cost(tmp_path: Path) -> None:
    code = "\nPath('usage.json').write_text('{\"usd\": 0.25}')\nprint(sys.argv[1].splitlines()[0], sys.argv[2])"
    tested = program(code, tmp_path)
    command = replace(tested.command, words=(*tested.command.words, "{prompt}", "{files}"))
    answer, case = solve_with(replace(tested, command=command), tmp_path)
    assert answer.reply.text.startswith("hello /") and answer.reply.text.endswith("/files")
    assert (case.usage.usd, answer.reply.usage.usd) == (0.25, 0.25)


@pytest.mark.slow
def test_the_cost_of_an_agent_that_asked_the_run_s_model_is_what_that_counted(tmp_path: Path) -> None:
    code = "\nPath('usage.json').write_text('{\"usd\": 0.25}')\nprint(ask('hello')[0])"
    answer, case = solve_with(program(code, tmp_path), tmp_path)
    assert (answer.reply.text, case.usage.usd, case.usage.requests) == ("200", 0, 1)
