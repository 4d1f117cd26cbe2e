"""The loop that lets a model use tools until it has an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgauge.agent.actions import Action, Call, CallError, Finish
from agentgauge.agent.dialect import ActionResult, Dialect, ask
from agentgauge.core.case import Case
from agentgauge.core.chat import Message, Sampling
from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Tool, ToolOutput


@dataclass(frozen=True, slots=True)
class Exchange:
    """One action of the model and what came of it."""

    thought: str  # the text beside it; empty for the second and later of parallel calls
    action: Action  # a call that its tool refused has become a CallError
    outputs: tuple[ToolOutput, ...] | None = None  # None: the call failed, or there was none


async def use_tools(
    case: Case,
    dialect: Dialect,
    tools: Mapping[str, Tool],
    memory: Sequence[Message],
    *,
    max_turns: int,
    last_turn_note: str | None = None,
    usual: Sampling = Sampling(),  # noqa: B008 - frozen
) -> list[Exchange]:
    """Ask the model, run the tools it calls, and send it the results, until it finishes or ``max_turns`` is reached.

    ``memory`` is the conversation so far without the dialect's opening, and is not changed. On the last turn
    ``last_turn_note`` closes the request. Parallel calls of one reply run in order. Model errors are returned to the
    model; ToolFault and ModelFault pass through.
    """
    conversation = list(memory)
    exchanges: list[Exchange] = []
    for turn in range(max_turns):
        closing = [dialect.note(last_turn_note)] if last_turn_note and turn == max_turns - 1 else []
        reply = await ask(case, dialect.request([*conversation, *closing], list(tools.values())), usual)
        reading = dialect.read(reply, tools, turn)
        thought, results = reading.thought, list[ActionResult]()
        for action in reading.actions:
            exchange = await _act(case, thought, action)
            exchanges.append(exchange)
            if isinstance(action, Finish):
                return exchanges
            results.append(ActionResult(exchange.action, _text_of(exchange)))
            thought = ""
        conversation += [*dialect.reply_messages(reply, reading), *dialect.result_messages(results)]
    return exchanges


async def _act(case: Case, thought: str, action: Action) -> Exchange:
    if not isinstance(action, Call):
        return Exchange(thought, action)
    try:
        outputs = await case.use(action.name, action.converted)
    except ToolError as error:
        return Exchange(thought, CallError(action.name, action.arguments, "API_ERROR", str(error), action.id))
    return Exchange(thought, action, outputs)


def _text_of(exchange: Exchange) -> str:
    if isinstance(exchange.action, CallError):
        return exchange.action.message
    return "\n".join(shown(output.type, output.content) for output in exchange.outputs or ())


def shown(type: str, content: str) -> str:
    """A tool's output as a model reads it: text as it is, a file as ``[image](path)``."""
    return content if type == "text" else f"[{type}]({content})"
