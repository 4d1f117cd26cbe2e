"""What well-known agent programs print, read as an answer, a trajectory and usage.

Each reader knows the records of one program, which are the lines of JSON that it prints. Other lines, and records of
kinds that are not known, are passed over. The program itself prints them, so every field may hold anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgauge.core.types import Event, Usage
from agentgauge.model.wire import clean_all
from agentgauge.plugins.agents.trajectory import step_events

Record = Mapping[str, Any]
_LARGEST = 1 << 53  # a larger count is none


@dataclass(slots=True)
class Printed:
    """The output of one call of a program."""

    steps: list[dict[str, Any]] = field(default_factory=list)  # as the format ATIF has those of an agent
    model: str = ""  # its name, as the program gives it
    text: str = ""  # the final answer
    problem: str = ""  # why there is no answer, in the program's words
    ended: bool = False  # whether the program said that it had ended
    usage: Usage = field(default_factory=Usage)
    prefix: str = ""  # of the names of the benchmark's tools

    def say(self, text: object, *, part: bool = False) -> None:
        """The model has said a text, or the next part of one."""
        if not isinstance(text, str):
            return
        step = self._step()
        step["message"] += text if part or not step["message"] else f"\n{text}"

    def call(self, identity: object, name: object, arguments: object) -> None:
        """The model has called a tool."""
        given = {"tool_call_id": str(identity), "function_name": str(name).removeprefix(self.prefix)}
        self._step()["tool_calls"].append({**given, "arguments": arguments})

    def result(self, identity: object, content: object) -> None:
        """A tool has answered, which ends a step."""
        if self.steps:
            result = {"source_call_id": str(identity), "content": shown(content)}
            self.steps[-1]["observation"]["results"].append(result)

    def last(self) -> str:
        """What the model has said after its last call of a tool."""
        return self.steps[-1]["message"] if self.steps and not self.steps[-1]["tool_calls"] else ""

    def _step(self) -> dict[str, Any]:
        if not self.steps or self.steps[-1]["observation"]["results"]:
            new = {"source": "agent", "message": "", "tool_calls": [], "observation": {"results": []}}
            self.steps.append(new)
        return self.steps[-1]


Reader = Callable[[Record, Printed], None]
"""Adds a record to what is known."""


def read_printed(output: str, reader: Reader, prefix: str) -> Printed:
    """``prefix``: what the program puts before the names of the benchmark's tools."""
    printed = Printed(prefix=prefix)
    for record in _records(output):
        reader(record, printed)
    printed.text = "" if printed.problem or not printed.ended else printed.text or printed.last()
    if printed.steps and not printed.usage.requests:
        printed.usage += Usage(requests=len(printed.steps))
    return printed


def printed_events(printed: Printed, name: str) -> tuple[list[Event], str]:
    """The events of what was printed, and what is wrong with it, or an empty text. ``name``: of the program, for steps
    that name no model."""
    if not printed.steps:
        return [], ""
    try:
        return step_events(printed.steps, printed.model, name), ""
    except ValueError as error:
        return [], f"the transcript that it printed is not used: {error}"


def read_claude(record: Record, printed: Printed) -> None:
    """``claude --print --output-format stream-json --verbose``. What its subagents do is not the conversation's."""
    kind, message = record.get("type"), _object(record.get("message"))
    if kind in ("assistant", "user") and record.get("parent_tool_use_id") is None:
        for part in _objects(message.get("content")):
            match part.get("type"):
                case "text" if kind == "assistant":
                    printed.say(part.get("text"))
                case "tool_use":
                    printed.call(part.get("id"), part.get("name"), part.get("input"))
                case "tool_result":
                    printed.result(part.get("tool_use_id"), part.get("content"))
        if isinstance(name := message.get("model"), str) and kind == "assistant":
            printed.model = name
    elif kind == "result":
        printed.ended = True
        said, usage = shown(record.get("result")), _object(record.get("usage"))
        if record.get("is_error"):
            printed.problem = said or shown(record.get("subtype")) or "an error"
        printed.text = said
        read, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
        printed.usage = Usage(
            len(printed.steps),
            _count(usage, "input_tokens") + read + written,
            _count(usage, "output_tokens"),
            _amount(record.get("total_cost_usd")),
            cached_tokens=read,
            cache_write_tokens=written,
        )


def read_codex(record: Record, printed: Printed) -> None:
    """``codex exec --json``. Its commands and changes of files are steps, too."""
    item = _object(record.get("item"))
    match record.get("type"), item.get("type"):
        case "item.completed", "agent_message":
            printed.say(item.get("text"))
            printed.text = shown(item.get("text"))
        case "item.completed", "mcp_tool_call":
            printed.call(item.get("id"), f"{item.get('server')}.{item.get('tool')}", item.get("arguments"))
            outcome = _object(item.get("result")).get("content") or _object(item.get("error")).get("message")
            printed.result(item.get("id"), outcome)
        case "item.completed", "command_execution":
            printed.call(item.get("id"), "command", {"command": item.get("command")})
            printed.result(item.get("id"), item.get("aggregated_output"))
        case "item.completed", "file_change":
            printed.call(item.get("id"), "file_change", {"changes": item.get("changes")})
            printed.result(item.get("id"), item.get("status"))
        case "turn.completed", _:
            printed.ended = True
            usage = _object(record.get("usage"))
            printed.usage += Usage(
                len(printed.steps),
                _count(usage, "input_tokens"),
                _count(usage, "output_tokens"),
                cached_tokens=_count(usage, "cached_input_tokens"),
                cache_write_tokens=_count(usage, "cache_write_input_tokens"),
                reasoning_tokens=_count(usage, "reasoning_output_tokens"),
            )
        case "turn.failed", _:
            printed.problem = shown(_object(record.get("error")).get("message")) or "its turn has failed"


def read_gemini(record: Record, printed: Printed) -> None:
    """``gemini --output-format stream-json``."""
    match record.get("type"):
        case "init":
            printed.model = shown(record.get("model"))
        case "message" if record.get("role") == "assistant":
            printed.say(record.get("content"), part=bool(record.get("delta")))
        case "tool_use":
            printed.call(record.get("tool_id"), record.get("tool_name"), record.get("parameters"))
        case "tool_result":
            error = _object(record.get("error")).get("message")
            printed.result(record.get("tool_id"), error or record.get("output"))
        case "result":
            printed.ended = True
            if record.get("status") != "success":
                printed.problem = shown(_object(record.get("error")).get("message")) or "it has failed"
            usage = _object(record.get("stats"))
            printed.usage = Usage(
                len(printed.steps),
                _count(usage, "input_tokens"),
                _count(usage, "output_tokens"),
                cached_tokens=_count(usage, "cached"),
            )


def read_opencode(record: Record, printed: Printed) -> None:
    """``opencode run --format json``. It prints no last record: a step that ends without calls of tools is the last."""
    part = _object(record.get("part"))
    match record.get("type"):
        case "text":
            printed.say(part.get("text"))
        case "tool_use":
            state = _object(part.get("state"))
            printed.call(part.get("callID"), part.get("tool"), state.get("input"))
            printed.result(part.get("callID"), state.get("output") or state.get("error"))
        case "step_finish":
            printed.ended = part.get("reason") != "tool-calls"
            tokens = _object(part.get("tokens"))
            cache = _object(tokens.get("cache"))
            read, written = _count(cache, "read"), _count(cache, "write")
            thought = _count(tokens, "reasoning")
            printed.usage += Usage(
                1,
                _count(tokens, "input") + read + written,
                _count(tokens, "output") + thought,
                _amount(part.get("cost")),
                cached_tokens=read,
                cache_write_tokens=written,
                reasoning_tokens=thought,
            )
        case "error":
            error = _object(record.get("error"))
            message = _object(error.get("data")).get("message") or error.get("name")
            printed.problem = shown(message) or "an error"


def read_goose(record: Record, printed: Printed) -> None:
    """``goose run --output-format stream-json``. A text comes in parts, each as a message."""
    message = _object(record.get("message"))
    match record.get("type"):
        case "message":
            for part in _objects(message.get("content")):
                match part.get("type"):
                    case "text" if message.get("role") == "assistant":
                        printed.say(part.get("text"), part=True)
                    case "toolRequest":
                        call = _object(_object(part.get("toolCall")).get("value"))
                        printed.call(part.get("id"), call.get("name"), call.get("arguments"))
                    case "toolResponse":
                        outcome = _object(part.get("toolResult"))
                        content = _object(outcome.get("value")).get("content", outcome.get("value"))
                        printed.result(part.get("id"), content or outcome.get("error"))
        case "error":
            printed.problem = shown(record.get("error")) or "an error"
        case "complete":
            printed.ended = True
            total, read = _count(record, "total_tokens"), _count(record, "input_tokens")
            written = _count(record, "output_tokens")
            printed.usage = Usage(len(printed.steps), read or total - written, written)


def shown(content: object) -> str:
    """A text, or the texts of a list of parts; anything else as JSON."""
    if content is None:
        return ""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _records(output: str) -> Iterator[Record]:
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                yield clean_all(json.loads(line))
            except (ValueError, RecursionError):
                continue


def _object(value: object) -> Record:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Record]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _count(record: Record, name: str) -> int:
    """A count of tokens; 0 for what is none."""
    value = record.get(name)
    return value if type(value) is int and 0 <= value <= _LARGEST else 0


def _amount(value: Any) -> float:
    """US dollars; 0 for what is none."""
    return float(value) if type(value) in (int, float) and 0 <= value <= _LARGEST else 0.0
