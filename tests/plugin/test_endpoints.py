"""Endpoints that answer otherwise than asked, and those that look at every message."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.notices import endpoint_doubts, model_title

from tests.model.fault_server import Act, FaultServer, Seen, answer, completion, data, status, tool_call
from tests.plugin.project import GTA, ROOT, Project, Result, pytest_here, python, records, summary

# -- What a run says of endpoints that answer with another model, drop the tools, or count no tokens.


SHOP = '''
from agentgauge import Score, benchmark

def find_orders(customer: str, since: str = "") -> str:
    """DESCRIPTION

    Args:
        customer: the number of the customer whose orders are looked for
        since: the first day on which an order may have been placed
    """
    return "none"

@benchmark("shop", data="shop.jsonl", metrics={"Right": "mean right"})
class Shop:
    tools = [find_orders]

    async def run(self, case):
        return await case.converse("Where is my order?")

    def score(self, sample, talk):
        return Score(True, {"right": 1})
'''


def run(folder: Path, server: FaultServer, *options: str, model: str = "Qwen3-8B") -> Result:
    description = "Look up what has become of the orders of a customer. " * 12
    (folder / "shop.py").write_text(SHOP.replace("DESCRIPTION", description))
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "shop.jsonl").write_text('{"id": "a"}\n{"id": "b"}\n{"id": "c"}\n')
    words = ("shop.py", f"--model={model}", f"--model-url={server.url}", "--run-dir=run", *options)
    result = pytest_here(*words, cwd=folder)
    assert result.status == 0, result.output
    return Result(result.status, " ".join(result.output.split()), folder)


def says(prompt_tokens: int = 300, **changes: Any):
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 5}
    return lambda seen: data({**completion("It is on its way."), "usage": usage, "model": "Qwen3-8B", **changes})


@pytest.mark.uses("page")
def test_another_model_is_named_before_the_figures_and_on_every_row(tmp_path: Path) -> None:
    with FaultServer() as server:
        server.choose = says(model="gemma3-270m")
        result = run(tmp_path, server)
    sentence = "--model Qwen3-8B was answered by gemma3-270m, as the endpoint itself reports, in 3 of 3 replies"
    assert sentence in result.output
    assert result.output.index(sentence) < result.output.index("3 planned")
    folder, title = tmp_path / "run", "gemma3-270m (asked as Qwen3-8B)"
    about = json.loads((folder / "run.json").read_text())
    assert about["reported"] == {"--model": {"gemma3-270m": 3}}
    assert about["settings"]["model"]["name"] == "Qwen3-8B"  # which --resume compares
    found = summary(folder)
    assert found["run"]["answered_by"] == {"models": ["gemma3-270m"], "all": True}
    assert any(sentence in doubt for doubt in found["doubts"])
    board = (folder / "leaderboard.md").read_text()
    assert board.startswith(f"# {title}\n") and f"**{title} (this run)**" in board and sentence in board
    assert title in (folder / "report.html").read_text()
    (tmp_path / "other").mkdir()
    with FaultServer() as server:
        server.choose = says()
        run(tmp_path / "other", server)
    command = ("-c", "from agentgauge.cli.main import main; main()", "--tasks", "shop.py", "compare")
    assert title in python(*command, "run", "other/run", cwd=tmp_path).output


@pytest.mark.parametrize(
    ("run", "title", "asked"),
    [
        ({"model": "Qwen3-8B"}, "gemma3-270m (asked as Qwen3-8B)", "Qwen3-8B"),
        ({"model": "my (odd)"}, "gemma3-270m (asked as my (odd))", "my (odd)"),
        (
            {"model": "agent (Qwen3-8B)", "agent": "digest", "agent_name": "agent", "asked_model": "Qwen3-8B"},
            "agent (gemma3-270m, asked as Qwen3-8B)",
            "Qwen3-8B",
        ),
        (
            {"model": "my agent (beta) (gpt-4)", "agent_name": "my agent (beta)", "asked_model": "gpt-4"},
            "my agent (beta) (gemma3-270m, asked as gpt-4)",
            "gpt-4",
        ),
        ({"model": "agent", "agent": "digest"}, "gemma3-270m (asked as agent)", "agent"),
    ],
)
def test_an_agent_is_not_the_model_that_was_asked_for(run: dict[str, Any], title: str, asked: str) -> None:
    found = {"models": ["gemma3-270m"], "all": True}
    assert model_title({**run, "answered_by": found}) == title
    assert model_title(run) == run["model"]
    part = {"denied": {"gemma3-270m": 1}, "reported": {"gemma3-270m": 1}}
    tasks = {"toy": {"replies": {"--model": {"replies": 1}}}}
    (doubt,) = endpoint_doubts({"run": run, "tasks": tasks, "observed": {"--model": part}})
    assert doubt.startswith(f"--model {asked} was answered by gemma3-270m, ")
    assert "as the endpoint itself reports, in 1 of 1 reply: serve" in doubt


def test_a_name_stays_in_its_cell(tmp_path: Path) -> None:
    with FaultServer() as server:
        server.choose = says(model="gemma3 | 270m")
        run(tmp_path, server)
    assert "**gemma3 \\| 270m (asked as Qwen3-8B)" in (tmp_path / "run" / "leaderboard.md").read_text()


def test_a_model_that_answers_now_and_then_is_named(tmp_path: Path) -> None:
    turns = iter(["Qwen3-8B", "gpt-4o-mini", "Qwen3-8B"])

    def choose(seen: Seen):
        return says(model=next(turns))(seen)

    with FaultServer() as server:
        server.choose = choose
        result = run(tmp_path, server, "--in-flight=1")
    assert (
        "--model Qwen3-8B was answered by gpt-4o-mini, as the endpoint itself reports, in 1 of 3 replies"
        in result.output
    )
    board = (tmp_path / "run" / "leaderboard.md").read_text()
    assert board.startswith("# Qwen3-8B (partly answered by gpt-4o-mini)\n")


@pytest.mark.parametrize("name", ["/models/qwen3-8b-q4_k_m.gguf", "qwen/qwen3-8b:free", "gpt-3.5-turbo", "", None])
def test_another_spelling_is_no_denial(tmp_path: Path, name: str | None) -> None:
    with FaultServer() as server:
        server.choose = says(model=name)
        result = run(tmp_path, server)
    assert "answered by" not in result.output
    assert (tmp_path / "run" / "leaderboard.md").read_text().startswith("# Qwen3-8B\n")
    reported = json.loads((tmp_path / "run" / "run.json").read_text())["reported"]
    assert reported == ({"--model": {name: 3}} if name else {})


def test_models_that_follow_each_other_under_an_alias_are_named(tmp_path: Path) -> None:
    turns = iter(["gemma3-270m", "gemma3-270m", "qwen3-8b"])

    def choose(seen: Seen):
        return says(model=next(turns))(seen)

    with FaultServer() as server:
        server.choose = choose
        result = run(tmp_path, server, "--in-flight=1", model="my-alias")
    words = "the endpoint of --model my-alias reports that different models have answered: gemma3-270m (2 replies) and"
    assert words in result.output
    assert (tmp_path / "run" / "leaderboard.md").read_text().startswith("# my-alias\n")


def test_one_reply_is_a_reply() -> None:
    part = {"reported": {"gemma3-270m": 1, "qwen3-8b": 2}}
    (doubt,) = endpoint_doubts({"run": {"model": "mine"}, "tasks": {}, "observed": {"--model": part}})
    assert "reports that different models have answered: gemma3-270m (1 reply) and qwen3-8b (2 replies); the" in doubt


def test_dropped_tools_are_named_with_figures(tmp_path: Path) -> None:
    with FaultServer() as server:
        server.choose = says(prompt_tokens=12)
        result = run(tmp_path, server)
    assert "the endpoint of --model Qwen3-8B seems to drop the tools: it counted 12 prompt tokens for a request" in (
        result.output
    )
    assert result.output.count("seems to drop the tools") == 1
    assert "seems to drop the tools" in (tmp_path / "run" / "leaderboard.md").read_text()


def test_one_request_whose_count_holds_the_tools_is_enough(tmp_path: Path) -> None:
    """A server that leaves what it has in its cache out of the count."""
    counts = iter([300, 12, 12])

    def choose(seen: Seen):
        return says(prompt_tokens=next(counts))(seen)

    with FaultServer() as server:
        server.choose = choose
        result = run(tmp_path, server, "--in-flight=1")
    assert "drop the tools" not in result.output


def test_tokens_are_estimated_once_and_the_odd_usage_is_named(tmp_path: Path) -> None:
    prices = "prices = { prompt = 1, completion = 2 }\n"
    with FaultServer() as server:
        (tmp_path / "agentgauge.toml").write_text(f'[models.mine]\nmodel = "m"\nurl = "{server.url}"\n{prices}')
        server.choose = says(usage={"tokens_used": 7})
        result = run(tmp_path, server, model="mine")
    assert result.output.count("gave no usable token counts") == 1
    assert 'for 3 of 3 replies (its usage is {"tokens_used": 7}): their tokens' in result.output
    assert "cost: about $" in result.output
    assert "the tokens of 3 of 3 requests are estimated" in result.output
    usage = summary(tmp_path / "run")["usage"]
    assert usage["estimated_requests"] == 3 and usage["prompt_tokens"] > 450 and usage["usd"] > 0


# -- Runs against endpoints that look at every message of the conversation: thinking, ids, arguments, results.


SHOP_REPLAYED_MESSAGES = """
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
    (tmp_path / "shop.py").write_text(SHOP_REPLAYED_MESSAGES)
    (tmp_path / "shop.jsonl").write_text('{"id": "one", "wish": "cancel my order"}\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return Project(tmp_path)


def run_replayed_messages(shop: Project, url: str) -> list[dict[str, Any]]:
    done = pytest_here("shop.py", "--model=m", f"--model-url={url}", "--run-dir=run", cwd=shop.path)
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
        found = run_replayed_messages(shop, server.url)
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
        found = run_replayed_messages(shop, server.url)
        assert len(server.requests) == 2
        again = pytest_here("shop.py", "--resume=run", cwd=shop.path)
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
        done = pytest_here(*GTA, str(ROOT / "bench_wild"), *words, cwd=tmp_path)
    assert done.status == 0, done.output
    assert {one["task"] for one in records(tmp_path / "run")} == {"gta_atomic.step", "gta_atomic.e2e", "wild"}
