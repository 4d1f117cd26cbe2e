"""Solving one sample: step by step along the gold, or end to end with real tools (GTA spec 3 and 4).

Both return an entry of the original's prediction file, with absolute paths; whoever stores it replaces those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench_gta.data import Loaded, read_tools, resolve
from bench_gta.prompts import Prompts, load_prompts
from harness.agent.actions import Action, CallError, Finish
from harness.agent.dialect import Dialect, Past, PastCall, PastResult, PastText, ask
from harness.agent.dialects.registry import format_of
from harness.agent.loop import Exchange, shown, use_tools
from harness.agent.native import Native
from harness.agent.react import React
from harness.agent.spoken import Spoken
from harness.case import Case
from harness.model.types import Message
from harness.tools import Tool
from harness.types import Json

MAX_TURNS = 10
"""Replies that a user turn may take end to end: the original's limit."""


async def run_step(case: Case) -> Json:
    """Predict every assistant turn from the gold turns before it. No tool runs. Lets ModelFault through."""
    prompts = load_prompts(case.settings.prompts)
    loaded = resolve(case.sample)
    tools = _offered(loaded, read_tools(case.sample.root))
    dialect = _dialect(case, prompts)
    opening = _files_note(case, prompts, loaded, role="system")
    turns = [place for place, turn in enumerate(loaded.dialogs) if turn["role"] == "assistant"]
    prediction = []
    for number, place in enumerate(turns):
        messages = [*opening, *dialect.history(_history(loaded.dialogs[:place]))]
        if place == turns[-1]:
            # sent whatever the gold turn is, a tool call included: as upstream
            messages.append({"role": "user", "content": prompts.summarise})
        reply = await ask(case, dialect.request(messages, list(tools.values())))
        # of parallel calls the first counts: the gold has one call a turn
        prediction.append(_record(dialect.read(reply, tools, number).actions[0]))
    return {
        "gold": [loaded.dialogs[place] for place in turns],
        "prediction": prediction,
        "origin_prompt": [loaded.dialogs[:place] for place in turns],
        "steps": [],
    }


async def run_e2e(case: Case, *, max_turns: int = MAX_TURNS) -> Json:
    """Let the model answer every user turn with the sample's tools. Lets Fault through.

    Replies and tool results of one user turn are not shown in the next: as upstream.
    """
    prompts = load_prompts(case.settings.prompts)
    loaded = resolve(case.sample)
    # descriptions come from the tool server; a server without a tool leaves the data set's own
    tools = _offered(loaded, _described(read_tools(case.sample.root), await case.catalog()))
    dialect = _dialect(case, prompts)
    memory: list[Message] = _files_note(case, prompts, loaded, role="user")
    prediction, gold, asked = [], [], []
    for question, answers in user_turns(loaded.dialogs):
        memory.append({"role": "user", "content": question})
        exchanges = await use_tools(case, dialect, tools, memory, max_turns=max_turns, last_turn_note=prompts.force_stop)
        prediction.append([record for exchange in exchanges for record in _records(exchange)])
        gold.append(answers)
        asked.append(question)
    return {"gold": gold, "prediction": prediction, "origin_prompt": asked, "steps": []}


def _dialect(case: Case, prompts: Prompts) -> Dialect:
    match case.settings.dialect:
        case "react":
            return React(prompts.call_protocol, prompts.parameter_description, prompts.no_action, prompts.invalid_action)
        case name:
            native = Native(prompts.no_action, prompts.invalid_action)
            if name == "native":
                return native
            return Spoken(format_of(name, case.settings.prompts, judged=True), native, tolerant=case.settings.scoring == "strict")


def _described(known: Mapping[str, Tool], served: Mapping[str, Tool]) -> dict[str, Tool]:
    """The data set's tools, as the server describes them. Inputs that only the server knows are GTA-Workflow's."""
    described = dict(known)
    for name, tool in served.items():
        names = {parameter.name for parameter in known[name].inputs} if name in known else None
        inputs = tuple(parameter for parameter in tool.inputs if names is None or parameter.name in names)
        described[name] = replace(tool, inputs=inputs)
    return described


def _offered(loaded: Loaded, known: Mapping[str, Tool]) -> dict[str, Tool]:
    return {name: known[name] for name in loaded.tool_names}


def _files_note(case: Case, prompts: Prompts, loaded: Loaded, *, role: str) -> list[Message]:
    """The note naming the sample's files. Outside ReAct it is always a system message, which there comes first: two user
    messages in a row are refused by several chat templates."""
    if not loaded.files:
        return []
    files = ", ".join(f"`{path}`" for path in loaded.files)
    return [{"role": role if case.settings.dialect == "react" else "system", "content": f"{prompts.files_note}{files}"}]


def _history(turns: Sequence[Mapping[str, Json]]) -> list[Past]:
    """Gold turns as a conversation; the thoughts of the gold are never shown (GTA spec 3.1)."""
    past: list[Past] = []
    for turn in turns:
        content = turn.get("content")
        if turn["role"] == "user":
            past.append(PastText("user", turn["content"]))
        elif turn["role"] == "assistant" and turn.get("tool_calls"):
            function = turn["tool_calls"][0]["function"]
            past.append(PastCall(function["name"], function["arguments"]))
        elif turn["role"] == "tool" and content:
            past.append(PastResult(shown(content["type"], content["content"])))
        elif turn["role"] == "assistant" and content:
            past.append(PastText("assistant", content))
    return past


def user_turns(turns: Sequence[Mapping[str, Json]]) -> list[tuple[str, list[Json]]]:
    """Every user turn's text, and the turns that answer it. What comes before the first is left out."""
    parts: list[tuple[str, list[Json]]] = []
    for turn in turns:
        if turn["role"] == "user":
            parts.append((turn["content"], []))
        elif parts:
            parts[-1][1].append(turn)
    return parts


def _record(action: Action) -> dict[str, Json]:
    """An action as a prediction file has it (GTA spec 3.2)."""
    if isinstance(action, Finish):
        return {"role": "assistant", "content": action.text}
    call = {"type": "function", "function": {"name": action.name, "arguments": action.arguments}}
    record: dict[str, Json] = {"role": "assistant", "tool_calls": [call]}
    if isinstance(action, CallError):
        record["error"] = {"type": action.type, "msg": action.message}
    return record


def _records(exchange: Exchange) -> list[dict[str, Json]]:
    """An exchange as the 2026 edition's step list has it (GTA spec 4.3)."""
    records = [_record(exchange.action)]
    if exchange.thought.strip():
        records.insert(0, {"role": "assistant", "content": exchange.thought, "meta": {"type": "thought"}})
    if not isinstance(exchange.action, Finish):
        outputs = exchange.outputs
        content = None if outputs is None else [{"type": output.type, "content": output.content} for output in outputs]
        records.append({"role": "tool", "content": content})
    return records
