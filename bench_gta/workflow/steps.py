"""Messages that open a user turn, and an agent's actions as recorded steps (GTA-Workflow spec 2.2 and 2.3, GTA spec
3.2 and 4.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentgauge.agent.dialect import NO_ACTION, Action, Call, CallError, Finish
from agentgauge.agent.loop import Exchange, shown
from agentgauge.core.capabilities import Agent, AgentTask, ToolUse
from agentgauge.core.case import Case
from agentgauge.core.chat import Message
from agentgauge.core.tools import Tool
from agentgauge.core.types import Json


def opening(
    query: str, files: Sequence[str], *, note: str, dialect: str, memory: Sequence[Message] = ()
) -> list[Message]:
    """The messages up to a user turn's question. ``memory``: those of earlier turns, which have announced the files
    already.

    ``files``: absolute paths. The note is the user's under ReAct; elsewhere a system message, which there comes first:
    two user messages in a row are refused by several chat templates.
    """
    before = list(memory) or files_note(files, note, role="user" if dialect == "react" else "system")
    return [*before, {"role": "user", "content": query}]


def files_note(files: Sequence[str], note: str, *, role: str) -> list[Message]:
    """The one message that names the files, or none: the text ``note``, then the paths in back-ticks."""
    named = ", ".join(f"`{path}`" for path in files)
    return [{"role": role, "content": f"{note}{named}"}] if files else []


def with_tool_list(dialogs: Sequence[Mapping[str, Json]], toolmeta: Json) -> list[dict[str, Json]]:
    """The dialogs with a block that lists the tools before the first user turn's words.

    ``toolmeta``: toolmeta.json as it is. Only a list of objects leads to a block. Quirk of spec 2.2: with the released
    shape, an object, nothing is put in, and neither is anything with a list that holds something else.
    """
    turns = [dict(turn) for turn in dialogs]
    if isinstance(toolmeta, list) and all(isinstance(tool, Mapping) for tool in toolmeta):
        first = next((turn for turn in turns if turn.get("role") == "user"), None)
        if first is not None:
            tools = "\n".join(map(_described, toolmeta))
            first["content"] = f"[Available Tool List]\n{tools}\n{first['content']}"
    return turns


def _described(tool: Mapping[str, Json]) -> str:
    arguments = json.dumps(tool.get("parameters", {}), ensure_ascii=False)
    return f"Tool names: {tool.get('name', '')}\nDescription: {tool.get('description', '')}\nArguments: {arguments}\n"


def record(action: Action) -> dict[str, Json]:
    """An action in the form of a prediction file."""
    if isinstance(action, Finish):
        return {"role": "assistant", "content": action.text}
    call = {"type": "function", "function": {"name": action.name, "arguments": action.arguments}}
    step: dict[str, Json] = {"role": "assistant", "tool_calls": [call]}
    if isinstance(action, CallError):
        step["error"] = {"type": action.type, "msg": action.message}
    return step


def records(exchange: Exchange) -> list[dict[str, Json]]:
    """An exchange as steps: the thought unless it is blank, the action, and the result of a call. The result is null
    where the call failed. An answer that comes as several items is joined by newlines."""
    steps = [record(exchange.action)]
    if exchange.thought.strip():
        steps.insert(0, {"role": "assistant", "content": exchange.thought, "meta": {"type": "thought"}})
    outputs = exchange.outputs
    if not isinstance(exchange.action, Finish):
        content = None if outputs is None else [{"type": output.type, "content": output.content} for output in outputs]
        steps.append({"role": "tool", "content": content})
    elif outputs is not None:
        steps[-1]["content"] = "\n".join(shown(output.type, output.content) for output in outputs)
    return steps


async def agent_steps(
    agent: Agent, case: Case, messages: Sequence[Message], files: Sequence[str], tools: Mapping[str, Tool]
) -> list[dict[str, Json]]:
    """The agent's calls of tools and its answer, as those of a model. Raises Fault."""
    answer = await agent(case, AgentTask(messages, files=tuple(map(Path, files)), tools=tools))
    steps = [step for use in answer.uses for step in records(_exchange(use))]
    text = answer.reply.text
    last = Finish(text) if text.strip() else CallError(NO_ACTION, {"text": ""}, "API_ERROR", "no answer")
    return [*steps, record(last)]


def _exchange(use: ToolUse) -> Exchange:
    if use.problem:
        return Exchange("", CallError(use.name, use.arguments, use.problem, use.message))
    return Exchange("", Call(use.name, use.arguments, use.arguments), use.outputs)


def error_step(kind: str, message: str) -> dict[str, Json]:
    """The step of a user turn in which something other than the model failed. ``kind``: the exception's name."""
    return {"role": "assistant", "content": f"[AgentInferencerError] {kind}: {message}", "meta": {"type": "error"}}


def until_error(turns: Sequence[Sequence[Json]]) -> list[Sequence[Json]]:
    """The user turns up to the first that begins with an error step: the sample ended there (GTA-Workflow spec 2.3)."""
    kept: list[Sequence[Json]] = []
    for turn in turns:
        kept.append(turn)
        if turn and _is_error(turn[0]):
            break
    return kept


def _is_error(step: Json) -> bool:
    meta = step.get("meta") if isinstance(step, Mapping) else None
    return isinstance(meta, Mapping) and meta.get("type") == "error"
