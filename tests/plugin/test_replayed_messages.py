"""Runs against endpoints that look at every message of the conversation: thinking, ids, arguments, results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.model.fault_server import Act, FaultServer, Seen, answer, completion, data, status, tool_call
from tests.plugin.project import GTA, PYTEST, ROOT, Project, python, records

SHOP = """
from agentgauge import Score, benchmark

def find_orders() -> list[str]:
    "All orders."
    return ["7"]

def cancel(order: str) -> str:
    "Cancel an order."
    return "done"

@benchmark("shop", data="shop.jsonl")
class Shop:
    tools = [find_orders, cancel]

    async def run(self, case):
        return await case.converse(case.sample["wish"], max_turns=10)

    def score(self, sample, talk):
        return Score(talk.text == "done", explanation=talk.text)

@benchmark("asking", data="shop.jsonl")
class Asking:
    async def run(self, case):
        messages = [{"role": "user", "content": case.sample["wish"]}]
        tools = [{"type": "function", "function": {"name": name}} for name in ("find_orders", "cancel")]
        while (reply := await case.ask(messages, tools=tools)).tool_calls:
            messages.append({"role": "assistant", **reply.message})
            messages += [{"role": "tool", "tool_call_id": call.id, "content": "x"} for call in reply.tool_calls]
        return reply.text or reply.refusal

    def score(self, sample, text):
        return Score(text == "done", explanation=text)
"""

VALUES: dict[str, Any] = {
    "reasoning_content": "hm",
    "reasoning": "",
    "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
    "extra_content": {"google": {"thought": True}},
    "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}],
}


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "shop.jsonl").write_text('{"id": "one", "wish": "cancel my order"}\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return Project(tmp_path)


def run(shop: Project, url: str) -> list[dict[str, Any]]:
    done = python(*PYTEST, "shop.py", "--model=m", f"--model-url={url}", "--run-dir=run", cwd=shop.path)
    assert done.status == 0, done.output
    return records(shop.path / "run")


@pytest.mark.parametrize(("field", "value"), VALUES.items(), ids=VALUES)
def test_thinking_goes_back_with_its_calls(shop: Project, field: str, value: Any) -> None:
    def choose(seen: Seen) -> Act:
        own = [message for message in seen.body["messages"] if message["role"] == "assistant"]
        if any(message.get(field) != value for message in own):
            return status(400, "the thinking is not what was sent")
        called = [("find_orders", {}), ("cancel", {"order": "7"})][len(own) : len(own) + 1]
        calls = [tool_call(name, json.dumps(given)) for name, given in called]  # the same id in each turn
        return data(completion(None if calls else "done", **({field: value} if calls else {}), tool_calls=calls))

    with FaultServer(choose=choose) as server:
        found = run(shop, server.url)
        assert len(server.requests) == 6
        ids = [[message["tool_call_id"] for message in seen.body["messages"] if message["role"] == "tool"]
               for seen in server.requests]  # fmt: skip
        assert all(len(set(one)) == len(one) for one in ids)
    assert [one["status"] for one in found] == ["passed", "passed"]


FILTERS = {
    "ended": lambda: _ended(),
    "azure": lambda: status(400, "filtered", error_code="content_filter"),
    "xai": lambda: data({"code": "permission-denied", "error": "Content violates usage guidelines."}, code=403),
}


def _ended() -> Act:
    made = completion(None)
    made["choices"][0]["finish_reason"] = "content_filter"
    return data(made)


@pytest.mark.parametrize("act", FILTERS.values(), ids=FILTERS)
def test_a_content_filter_is_asked_once_and_its_case_is_wrong(shop: Project, act: Any) -> None:
    with FaultServer([act()]) as server:
        found = run(shop, server.url)
        assert len(server.requests) == 2
        again = python(*PYTEST, "shop.py", "--resume=run", cwd=shop.path)
        assert again.status == 0, again.output
        assert len(server.requests) == 2, "a resume asks nothing"
    assert [(one["status"], one["score"]["labels"]) for one in found] == [("wrong", ["refused"])] * 2


NINE = re.compile("[a-zA-Z0-9]{9}")


def _flaw(messages: list[Mapping[str, Any]]) -> str:
    """What the strictest of all endpoints has against a conversation; empty if nothing."""
    waiting: list[str] = []
    ids: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"message {place} answers no call"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"{waiting} have no result before message {place}"
        if message["role"] != "assistant":
            continue
        if not message.get("content") and not message.get("tool_calls"):
            return f"message {place} is empty"
        for call in message.get("tool_calls") or ():
            if not NINE.fullmatch(call["id"]) or call["id"] in ids:
                return f"message {place}: the id {call['id']}"
            if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
                return f"message {place}: the name {call['function']['name']}"
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                return f"message {place}: the arguments {call['function']['arguments']}"
            ids.append(call["id"])
            waiting.append(call["id"])
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            return f"message {place}: reasoning_content is missing"
    return ""


@pytest.mark.slow
def test_the_benchmarks_satisfy_the_strictest_endpoint(tmp_path: Path) -> None:
    """Two calls of one id, arguments that are no object, and a name that no endpoint takes back."""

    def choose(seen: Seen) -> Act:
        if flaw := _flaw(seen.body["messages"]):
            return status(400, flaw)
        called = [tool["function"]["name"] for tool in seen.body.get("tools", ())][:1]
        own = sum(message["role"] == "assistant" for message in seen.body["messages"])
        if not called or own > 4:
            return answer("done", reasoning_content="")
        calls = [
            tool_call(f"{called[0]}{end}", arguments, "abc123XYZ") for end, arguments in [("", "[]"), ("<|x|>", '{"a')]
        ]
        return data(completion(None, reasoning_content="hm", tool_calls=calls))

    with FaultServer(choose=choose) as server:
        words = ("--limit=3", "--model=m", f"--model-url={server.url}", "--run-dir=run", "-k", "not workflow")
        done = python(*PYTEST, *GTA, str(ROOT / "bench_wild"), *words, cwd=tmp_path)
    assert done.status == 0, done.output
    assert {one["task"] for one in records(tmp_path / "run")} == {"gta_atomic.step", "gta_atomic.e2e", "wild"}
