"""Answers of endpoints with any JSON anywhere: each gives a scored case, or a broken one with one true sentence."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentgauge.core.case import CaseSettings
from agentgauge.core.config import Prices
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.tools import Tool, ToolOutput
from agentgauge.core.types import Record, Scoring
from agentgauge.model import endpoint
from agentgauge.model.client import OpenAIModel
from agentgauge.model.exchange import Answer, Outgoing
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.presets import resolve
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import Api
from agentgauge.replies.stages import Stages
from agentgauge.run.planned import Planned
from agentgauge.run.solve import Solver
from agentgauge.store import RunFolder
from tests.model.mutating import mutated, written

pytestmark = pytest.mark.slow

installed = cache(Registry.installed)

SEED = 41
SCORINGS: tuple[Scoring, ...] = ("parity", "strict")
TASKS = (
    *("gta_atomic.step", "gta_atomic.e2e", "wild", "mmau.tool_single", "mmau.dag_planning", "mmau.math_standard"),
    *("mmau.contest_parsing", "mmau.ds_oracle"),
)
DIALECTS = ("native", "native", "native", "react", "qwen", "llama")

TEXTS = (
    "ok",
    "#ANSWER#: 42",
    "Thought: x\nFinal Answer: 42",
    "Action: OCR\nAction Input: {}",
    '<tool_call>\n{"name": "OCR", "arguments": {}}\n</tool_call>',
    "Chosen Plan: 1",
    "```json\n[]\n```",
    "",
)


def reply(chance: random.Random, name: str) -> dict[str, Any]:
    """The message of a model that is well."""
    message: dict[str, Any] = {"role": "assistant", "content": chance.choice(TEXTS)}
    if chance.random() < 0.5:
        function = {"name": name, "arguments": chance.choice(('{"a": 1}', "{}", "{", ""))}
        message["tool_calls"] = [{"id": f"call_{n}", "type": "function", "function": function} for n in (1, 2)]
    if chance.random() < 0.3:
        message |= chance.choice(({"reasoning_content": "hm"}, {"refusal": "no"}, {"extra_content": {"google": {}}}))
    return message


def completion(chance: random.Random, name: str) -> dict[str, Any]:
    choice = {"index": 0, "message": reply(chance, name), "finish_reason": "stop", "logprobs": None}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": dict(USAGE)}


RESPONSE_USAGE = {"input_tokens": 7, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "prompt_tokens_details": {"cached_tokens": 2}}


def response(chance: random.Random, name: str) -> dict[str, Any]:
    """As the Responses API answers."""
    message = reply(chance, name)
    output = [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": message["content"]}]},
        *({"type": "function_call", "call_id": c["id"], **c["function"]} for c in message.get("tool_calls", ())),
    ]
    about = {"id": "r", "object": "response", "status": "completed", "model": "m"}
    return {**about, "output": output, "usage": dict(RESPONSE_USAGE)}


def pieces(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of a stream that a body could have come in."""
    (choice,) = body["choices"]
    message, events = choice["message"], []
    for key, value in message.items():
        parts = [value[:2], value[2:]] if isinstance(value, str) else [value]
        events += [{"choices": [{"index": 0, "delta": {key: part}}]} for part in parts]
    return [*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": body["usage"]}]


def answer(chance: random.Random, name: str, api: str) -> Answer:
    kind, code = "application/json", chance.choice((200,) * 19 + (400,))
    if api == "responses":
        text = written(mutated(chance, response(chance, name)))
    elif chance.random() < 0.4:
        kind = "text/event-stream"
        events = mutated(chance, pieces(completion(chance, name)))
        events = events if isinstance(events, list) else [events]
        text = "".join(f"data: {written(event)}\n\n" for event in events) + chance.choice(("data: [DONE]\n\n", ""))
    else:
        text = written(mutated(chance, completion(chance, name)))
    return Answer(code, "", {"content-type": kind}, text.encode("utf-8", "surrogatepass"))


Choose = Callable[[str], Answer]
"""The answer for the name of a tool on offer."""


@dataclass
class Fuzz:
    """A connection whose endpoint is not well."""

    chance: random.Random
    choose: Choose
    sent: list[Answer] = field(default_factory=list)

    async def send(self, request: Outgoing, seconds: float) -> Answer:
        asked = json.loads(request.content)  # what is sent is always JSON
        json.dumps(asked, allow_nan=False)
        tools = [tool.get("function", tool)["name"] for tool in asked.get("tools", ())]
        self.sent.append(self.choose(self.chance.choice([*tools, "OCR"])))
        return self.sent[-1]

    async def close(self) -> None: ...


class Box:
    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools

    async def catalog(self) -> Mapping[str, Tool]:
        return self._tools

    async def call(self, name: str, arguments: Mapping[str, Any], **where: Any) -> tuple[ToolOutput, ...]:
        return (ToolOutput("text", "7"),)

    async def close(self) -> None: ...


def planned(task: Task, chance: random.Random) -> Planned:
    index = task.data.index(task.data.bundled)
    return Planned(task, index, chance.choice(list(index.rows)), 1)


@dataclass
class Setting:
    """How a case is solved."""

    case: Planned
    dialect: str
    scoring: Scoring
    api: Api = "chat"


def solved(setting: Setting, fuzz: Fuzz, folder: Path, patch: pytest.MonkeyPatch) -> Record:
    case = setting.case
    patch.setattr(endpoint, "open_connection", lambda *_: fuzz)
    spec = resolve("m", url="http://127.0.0.1:9/v1", environ={})
    spec = replace(spec, api=setting.api, prices=Prices(1.0, 1.0), max_retries=1)

    async def main() -> Record:
        async def sleep(seconds: float) -> None: ...

        policy = RetryPolicy(max_retries=1, sleep=sleep, chance=lambda: 0.0)
        model = OpenAIModel(spec, AdaptiveLimiter(4), policy=policy, environ={})
        solver = Solver(
            settings=CaseSettings(dialect=setting.dialect, scoring=setting.scoring),
            folder=RunFolder(folder),
            stages=Stages(RunFolder(folder)),
            worker="main",
            similarity={case.task.name: "trigram"},
            configs={case.task.name: "c"},
            clients=SimpleNamespace(
                model=lambda *role: model,
                tested=lambda given: model,
                tools=lambda given, task: Box(tools_of(case)),
            ),
            hooks_of=lambda _: None,
            parts=(),
            stored={},
            asks=True,
            earlier=False,
        )
        return await asyncio.wait_for(solver.solve(case), 60)

    return asyncio.run(main())


def tools_of(case: Planned) -> Mapping[str, Tool]:
    from bench_gta.atomic.data import read_tools

    return read_tools(case.index.root) if case.task.name.startswith("gta_atomic") else {}


def check(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(f"{SEED} {seed}")
    case, dialect = planned(installed()[chance.choice(TASKS)], chance), chance.choice(DIALECTS)
    dialect = dialect if dialect in case.task.dialects else "native"
    setting = Setting(case, dialect, chance.choice(SCORINGS), chance.choice(("chat", "chat", "chat", "responses")))
    fuzz = Fuzz(chance, lambda name: answer(chance, name, setting.api))
    record = solved(setting, fuzz, folder, monkeypatch)
    told = f"seed {seed}, {case.task.name}, {record.error!r}, {[one.content[:2000] for one in fuzz.sent]}"
    assert record.status in ("passed", "wrong", "broken"), told
    if record.status == "broken":
        assert record.error and record.cause not in (None, "internal error"), told
        assert "\n" not in record.error and len(record.error) < 2000, told
        assert not any(word in record.error for word in ("Recursion", "Exceeds", "Traceback", "object has no")), told
    counted = sum(map(tokens, fuzz.sent))
    assert record.transcript is not None and record.transcript.usage.prompt_tokens >= counted, told
    appender = RunFolder(folder).appender(f"w{seed}")
    stored = appender.append(record).read()
    appender.close()
    assert stored.transcript is not None and stored.transcript.usage == record.transcript.usage, told
    if record.status != "broken":
        sample = case.task.data.load(case.index, case.row, case.task.name)
        again = case.task.score(sample, stored.transcript.output, setting.scoring, "trigram")
        assert record.score is not None and again.values == record.score.values, told


def tokens(sent: Answer) -> int:
    """The prompt's tokens that an answer in one piece names."""
    try:
        body = json.loads(sent.content)
    except (ValueError, RecursionError):
        return 0
    usage = body.get("usage") if isinstance(body, dict) and sent.status == 200 else None
    return 7 if usage in (USAGE, RESPONSE_USAGE) else 0


@pytest.mark.parametrize("part", range(4))
def test_no_answer_is_an_internal_error(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(part * 40, part * 40 + 20):
        check(seed, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("part", range(1, 41))
def test_no_answer_of_many_is_an_internal_error(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(part * 1000, part * 1000 + 200):
        check(seed, tmp_path / str(seed), monkeypatch)
