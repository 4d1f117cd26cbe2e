"""Solving one sample: step by step along the gold, or end to end with real tools
(docs/benchmarks/gta_atomic.md#step-by-step and docs/benchmarks/gta_atomic.md#end-to-end).

Both return an entry of the original's prediction file, with absolute paths, which the run folder replaces when it
stores the entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agentgauge.agent.dialect import Dialect, Past, PastCall, PastResult, PastText, ask
from agentgauge.agent.loop import shown, use_tools
from agentgauge.agent.native import chosen_dialect
from agentgauge.agent.react import React, read_step
from agentgauge.core.agents import Agent
from agentgauge.core.case import Case
from agentgauge.core.chat import Message, Sampling
from agentgauge.core.tools import Tool
from agentgauge.core.types import Json
from bench_gta.atomic.data import Loaded, read_tools, require_files, resolve, user_turns
from bench_gta.atomic.prompts import Prompts, load_prompts
from bench_gta.workflow.trace import agent_steps, files_note, opening, record, records

# replies that a user turn may take with real tools: the originals' limit (docs/benchmarks/gta_workflow.md#protocol,
# too)
MAX_TURNS = 10


async def run_step(case: Case) -> Json:
    """Predict every assistant turn from the gold turns before it. No tool runs. Raises Fault."""
    require_files(case.sample)
    prompts = load_prompts(case.settings.prompts)
    loaded = resolve(case.sample)
    tools = _offered(loaded, read_tools(case.sample.root))
    dialect = dialect_of(case, prompts)
    note = files_note(loaded.files, prompts.files_note, role="system")
    turns = [place for place, turn in enumerate(loaded.dialogs) if turn["role"] == "assistant"]
    prediction = []
    for number, place in enumerate(turns):
        messages = [*note, *dialect.history(_history(loaded.dialogs[:place]))]
        if place == turns[-1]:
            # sent whatever the gold turn is, a tool call included: as upstream
            messages.append({"role": "user", "content": prompts.summarise})
        reply = await ask(case, dialect.request(messages, list(tools.values())))
        # of parallel calls the first counts: the gold has one call a turn
        prediction.append(record(dialect.read(reply, tools, number).actions[0]))
    return {
        "gold": [loaded.dialogs[place] for place in turns],
        "prediction": prediction,
        "origin_prompt": [loaded.dialogs[:place] for place in turns],
        "steps": [],
    }


async def run_e2e(case: Case, agent: Agent | None = None, *, max_turns: int = MAX_TURNS) -> Json:
    """Let the model, or an agent program, answer every user turn with the sample's tools. Raises Fault."""
    require_files(case.sample)
    prompts = load_prompts(case.settings.prompts)
    loaded = resolve(case.sample)
    # the model is shown what the tool server says of a tool, optional inputs included
    # (docs/benchmarks/gta_atomic.md#agent-loop); a server without a tool leaves the data set's own
    tools = _offered(loaded, {**read_tools(case.sample.root), **await case.catalog()})
    turns = user_turns(loaded.dialogs)
    asked = [question for question, _ in turns]
    prediction = await answered(case, prompts, asked, loaded.files, tools, max_turns=max_turns, agent=agent)
    return {"gold": [answers for _, answers in turns], "prediction": prediction, "origin_prompt": asked, "steps": []}


async def answered(
    case: Case,
    prompts: Prompts,
    questions: Iterable[str],
    files: Sequence[str],
    tools: Mapping[str, Tool],
    *,
    max_turns: int = MAX_TURNS,
    usual: Sampling = Sampling(),  # noqa: B008 - frozen
    agent: Agent | None = None,
) -> list[list[dict[str, Json]]]:
    """The steps with which the model, or an agent program, answers each user turn. Raises Fault. As upstream, a user
    turn does not show the replies and tool results of earlier ones."""
    dialect, memory, found = dialect_of(case, prompts), list[Message](), []
    for question in questions:
        memory = opening(question, files, note=prompts.files_note, dialect=case.settings.dialect, memory=memory)
        if agent:
            found.append(await agent_steps(agent, case, memory, files, tools))
        else:
            last = prompts.force_stop
            uses = await use_tools(case, dialect, tools, memory, max_turns=max_turns, last_turn_note=last, usual=usual)
            found.append([step for exchange in uses.exchanges for step in records(exchange)])
    return found


def dialect_of(case: Case, prompts: Prompts) -> Dialect:
    """The run's dialect, with the texts of these benchmarks. ReAct is the original's own, its reader in parity only."""
    if case.settings.dialect == "react":
        reader = read_step if case.settings.scoring == "strict" else None
        texts = prompts.call_protocol, prompts.parameter_description, prompts.no_action, prompts.invalid_action
        return React(*texts, reader)
    return chosen_dialect(case.settings, prompts.no_action, prompts.invalid_action)


def _offered(loaded: Loaded, known: Mapping[str, Tool]) -> dict[str, Tool]:
    return {name: known[name] for name in loaded.tool_names}


def _history(turns: Sequence[Mapping[str, Json]]) -> list[Past]:
    """Gold turns as a conversation; the thoughts of the gold are never shown
    (docs/benchmarks/gta_atomic.md#step-by-step)."""
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
