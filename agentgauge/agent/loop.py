"""The loop that lets a model use tools until it has an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgauge.agent.actions import Action, Call, CallError, Finish
from agentgauge.agent.dialect import ActionResult, Dialect, ask
from agentgauge.core.case import Case
from agentgauge.core.chat import Message, Sampling
from agentgauge.core.errors import ToolError
from agentgauge.core.tools import SchemaTool, Tool, ToolBox, ToolOutput


@dataclass(frozen=True, slots=True)
class Exchange:
    """One action of the model, with its result."""

    thought: str  # the text beside it; empty for the second and later of parallel calls
    action: Action  # a call that its tool refused has become a CallError
    outputs: tuple[ToolOutput, ...] | None = None  # None: the call failed or was left, or there was none

    @property
    def is_left(self) -> bool:
        """Whether this is a valid call of a tool that AgentGauge does not run."""
        return isinstance(self.action, Call) and self.outputs is None


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of a loop of model and tools."""

    exchanges: tuple[Exchange, ...]
    conversation: tuple[Message, ...]  # what was given, and what was said since
    turns: int  # replies of the model, those before included


async def use_tools(
    case: Case,
    dialect: Dialect,
    tools: Mapping[str, Tool],
    memory: Sequence[Message],
    *,
    max_turns: int,
    last_turn_note: str | None = None,
    usual: Sampling = Sampling(),  # noqa: B008 - frozen
    box: ToolBox | None = None,
    taken: int = 0,
) -> LoopResult:
    """Send requests to the model, run the tools that it calls, and return their results to it, until the model finishes
    or has used ``max_turns``. ``taken`` of these turns are used already.

    ``memory`` is the conversation so far without the dialect's opening, and is not changed. On the last turn
    ``last_turn_note`` closes the request. Parallel calls of one reply run in order. ``box`` runs the tools instead of
    the case's tool server. A call of a tool that AgentGauge does not run ends the loop. Model errors are returned to
    the model; ToolFault and ModelFault pass through.
    """
    conversation = list(memory)
    exchanges: list[Exchange] = []
    turn = taken - 1
    for turn in range(taken, max_turns):
        closing = [dialect.note(last_turn_note)] if last_turn_note and turn == max_turns - 1 else []
        reply = await ask(case, dialect.request([*conversation, *closing], list(tools.values())), usual)
        reading = dialect.read(reply, tools, turn)
        thought, results = reading.thought, list[ActionResult]()
        conversation += dialect.reply_messages(reply, reading)
        is_over = False
        for action in reading.actions:
            exchange = await _act(case, thought, action, tools, box)
            exchanges.append(exchange)
            if isinstance(action, Finish):
                return LoopResult(tuple(exchanges), tuple(conversation), turn + 1)
            is_over = is_over or exchange.is_left
            results.append(ActionResult(exchange.action, text_of(exchange)))
            thought = ""
        if is_over:
            break
        conversation += dialect.result_messages(results)
    return LoopResult(tuple(exchanges), tuple(conversation), turn + 1)


async def _act(case: Case, thought: str, action: Action, tools: Mapping[str, Tool], box: ToolBox | None) -> Exchange:
    tool = tools.get(action.name) if isinstance(action, Call) else None
    if not isinstance(action, Call) or (isinstance(tool, SchemaTool) and not tool.is_run):
        return Exchange(thought, action)
    try:
        outputs = await case.use(action.name, action.converted, box=box)
    except ToolError as error:
        return Exchange(thought, CallError(action.name, action.arguments, "API_ERROR", str(error), action.id))
    return Exchange(thought, action, outputs)


def text_of(exchange: Exchange) -> str:
    if isinstance(exchange.action, CallError):
        return exchange.action.message
    return "\n".join(shown(output.type, output.content) for output in exchange.outputs or ())


def shown(type: str, content: str) -> str:
    """A tool's output as a model reads it: text as it is, a file as ``[image](path)``."""
    return content if type == "text" else f"[{type}]({content})"
