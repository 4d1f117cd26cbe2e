"""An agent program and its endpoint: what it asks goes through the case, and comes back in OpenAI's forms."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from agentgauge.core.agents import AgentTask, ToolUse
from agentgauge.core.chat import ChatReply, ChatRequest, Sampling
from agentgauge.core.config import Config
from agentgauge.core.errors import Fault, ModelFault
from agentgauge.core.tools import ToolOutput
from agentgauge.core.types import Usage
from agentgauge.plugins.agents.settings import read_agent

from .agents import ADD, NAME, Model, solve, solve_with

WITH_TOOL = AgentTask([{"role": "user", "content": "1+2"}], tools={"Add": ADD})


def test_requests_are_those_of_the_case(tmp_path: Path) -> None:
    model = Model()
    code = "print(json.loads(ask('abc', model='m1', temperature=0.2, tool_choice='none')[1])['choices'][0]['message'])"
    answer, case = solve(code, tmp_path, model)
    assert "ABC" in answer.reply.text
    assert case.usage == Usage(1, 5, 2) == answer.reply.usage
    assert [event.kind for event in case.events] == ["model"]
    (request,) = model.asked
    assert request.usual == Sampling(0.2) and request.extra == {"tool_choice": "none"}
    assert request.case is not None and request.case.task == NAME


def test_a_reply_that_was_cut_is_told_to_the_agent_and_to_the_record(tmp_path: Path) -> None:
    model = Model(
        answers=lambda request: ChatReply("half", finish_reason="length", max_tokens=request.usual.max_tokens)
    )
    code = """
whole = json.loads(ask('abc', max_tokens=9)[1])['choices'][0]['finish_reason']
parts = ask('abc', max_completion_tokens=8, stream=True)[1]
print(whole, '"finish_reason": "length"' in parts or '"finish_reason":"length"' in parts)
"""
    answer, case = solve(code, tmp_path, model)
    assert answer.reply.text == "length True"
    ends = [(event.detail["finish_reason"], event.detail["max_tokens"]) for event in case.events]
    assert ends == [("length", 9), ("length", 8)]


def test_the_openai_package_works_without_settings(tmp_path: Path) -> None:
    code = """
from openai import OpenAI
client = OpenAI()
said = [{"role": "user", "content": "hello"}]
whole = client.chat.completions.create(model="m1", messages=said).choices[0].message.content
parts = client.chat.completions.create(model="m1", messages=said, stream=True, stream_options={"include_usage": True})
parts = list(parts)
text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
print(whole, text, parts[-1].usage.total_tokens, [model.id for model in client.models.list()])
"""
    assert solve(code, tmp_path)[0].reply.text == "HELLO HELLO 7 ['m1']"


CALLS = """
url = os.environ["AGENTGAUGE_TOOLS_URL"]
print(send(url)[1])
for name, arguments in [("Add", {"a": 1, "b": 2}), ("Add", {"a": 1}), ("Rm", {})]:
    print(send(f"{url}/{name}", arguments))
"""


def test_tools_are_called_over_http(tmp_path: Path) -> None:
    answer, case = solve(CALLS, tmp_path, task=WITH_TOOL)
    assert answer.uses == (
        ToolUse("Add", {"a": 1, "b": 2}, (ToolOutput("text", "3"),)),
        ToolUse("Add", '{"a": 1}', None, "ARGS_ERROR", "missing required arguments: {'b'}"),
        ToolUse("InvalidAction", {"text": "{}"}, None, "API_ERROR", "there is no tool 'Rm' here; there are: Add"),
    )
    assert [event.name for event in case.events] == ["Add"]
    said = answer.reply.text
    assert "'description': 'Adds.'" in said.replace('"', "'") and "(200," in said and said.count("(422,") == 2


def test_files_are_delivered_and_nothing_else_is_kept(tmp_path: Path) -> None:
    code = "Path(os.environ['AGENTGAUGE_FILES'], 'report.txt').write_text('x'); Path('other.txt').write_text('y')"
    _, case = solve(code, tmp_path)
    assert [path.name for path in case.folder.rglob("*") if path.is_file()] == ["report.txt"]
    assert not list(tmp_path.glob("*.agent"))


def refuse(request: ChatRequest) -> ChatReply:
    raise ModelFault("the endpoint answered 500", cause="http 500")


FAILS = "status, body = ask('x')\nif status != 200: sys.exit(body)\n"


def test_a_fault_of_the_model_breaks_the_case_where_the_agent_fails(tmp_path: Path) -> None:
    with pytest.raises(ModelFault, match="the endpoint answered 500"):
        solve(FAILS, tmp_path, Model(answers=refuse))
    log = (tmp_path / "logs" / NAME / "0-a1.log").read_text()
    assert json.loads(log.splitlines()[-1])["error"]["code"] == "http 500"  # as the agent got it


def test_an_agent_that_does_without_the_model_has_answered(tmp_path: Path) -> None:
    assert solve("print(ask('x')[0])", tmp_path, Model(answers=refuse))[0].reply.text == "502"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise ValueError('of mine')", "it ended with exit status 1: .*ValueError: of mine$"),
        ("import of_mine", r"No module named 'of_mine' \(what an agent reads .* is listed in \[agent\] readable\)"),
        ("Path(os.environ['AGENTGAUGE_ANSWER']).write_text('{')", "its answer.json is not an answer"),
    ],
)
def test_a_program_that_fails_by_itself_breaks_the_case(code: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(Fault, match=says) as fault:
        solve(code, tmp_path)
    assert fault.value.cause == "agent failed"


def test_requests_have_a_limit(tmp_path: Path) -> None:
    answer, case = solve("print([ask('x')[0] for _ in range(4)])", tmp_path, requests=2)
    assert (answer.reply.text, case.usage.requests) == ("[200, 200, 429, 429]", 2)


def test_calls_of_tools_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP and by the gateway alike, and calls that are refused count: each is kept in memory, and recorded."""
    monkeypatch.setattr("agentgauge.plugins.agents.session.MOST_CALLS", 3)
    code = MCP.replace('{"a": 1, "b": 2}, {"a": 1}', '{"a": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}')
    code += "\nprint([send(os.environ['AGENTGAUGE_TOOLS_URL'] + '/Add', {'a': n, 'b': 3})[0] for n in range(2)])"
    answer, _ = solve(code, tmp_path, task=WITH_TOOL)
    assert [use.problem for use in answer.uses] == ["ARGS_ERROR", "", ""]
    assert answer.reply.text.endswith("[429, 429]")


def test_a_request_in_flight_ends_with_the_agent(tmp_path: Path) -> None:
    """Nothing is spent for a program that has gone, and its transcript does not grow."""
    code = """
import threading
for _ in range(3): threading.Thread(target=ask, args=('x',), daemon=True).start()
import time; time.sleep(0.5); print("gone"); sys.stdout.flush(); os._exit(0)
"""

    class Slow(Model):
        async def complete(self, request: ChatRequest) -> ChatReply:
            await asyncio.sleep(60)
            return ChatReply("late")

    answer, case = solve(code, tmp_path, Slow())
    assert answer.reply.text == "gone" and case.usage.requests == 0


MCP = """
import asyncio, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
async def main():
    headers = {"Authorization": "Bearer " + os.environ["AGENTGAUGE_MCP_TOKEN"]}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with Client(streamable_http_client(os.environ["AGENTGAUGE_MCP_URL"], http_client=http)) as client:
            for arguments in ({"a": 1, "b": 2}, {"a": 1}):
                result = await client.call_tool("Add", arguments)
                print(result.is_error, result.content[0].text)
asyncio.run(main())
"""


def test_tools_are_called_by_the_model_context_protocol(tmp_path: Path) -> None:
    answer, case = solve(MCP, tmp_path, task=WITH_TOOL)
    first, second = answer.uses
    assert first == ToolUse("Add", {"a": 1, "b": 2}, (ToolOutput("text", "3"),))
    assert (second.name, second.outputs, second.problem) == ("Add", None, "ARGS_ERROR")
    assert answer.reply.text.startswith("False 3\nTrue ") and len(case.events) == 1


@pytest.mark.parametrize(
    ("kind", "module", "file"),
    [
        ("async def", "my_agents", "__init__.py"),
        ("def", "my_agents", "__init__.py"),
        ("def", "my_agents.outer", "outer.py"),  # without __init__.py
    ],
)
def test_a_function_is_called_in_a_process_of_its_own(
    kind: str, module: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its package may be installed from a folder of its own, as that of an agent in development is."""
    own = tmp_path / "own"
    (own / "mine-1.dist-info").mkdir(parents=True)
    (own / "my_agents").mkdir()
    (own / "mine-1.dist-info" / "METADATA").write_text("Name: mine\nVersion: 1\n")
    (own / "mine-1.dist-info" / "entry_points.txt").write_text("[agentgauge]\nmine = my_agents.plugin\n")
    hook = f"def pytest_agentgauge_agents():\n    return {{'reverse': '{module}:reverse'}}\n"
    (own / "my_agents" / "plugin.py").write_text(hook)
    (own / "my_agents" / "inner.py").write_text("def last(task):\n    return task['messages'][-1]['content']\n")
    code = f"from my_agents.inner import last\n{kind} reverse(task):\n    return last(task)[::-1]\n"
    (own / "my_agents" / file).write_text(code)
    monkeypatch.syspath_prepend(own)
    for name in ("my_agents", "my_agents.plugin"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    option = Namespace(agent="reverse", rescore=None, allow_unsafe_code=False)
    facts, tested = read_agent(option, {}, Config())
    assert facts is not None and facts.name == "reverse" and tested is not None
    assert solve_with(tested, tmp_path)[0].reply.text == "olleh"
