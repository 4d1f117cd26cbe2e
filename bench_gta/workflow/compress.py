"""Compression of tool calls and retries: the trace that is stored beside the raw steps (GTA-Workflow spec 2.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgauge.agent.model_json import read_json
from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from bench_gta.workflow.discovery import texts_in

_FAILURE = re.compile(
    r"\b(error|exception|traceback|failed|failure|invalid|bad request|typeerror|not found|not available"
    r"|forbidden|unauthorized|403|404|500)\b"
)
"""Words that mark an output as failed, searched in its lower case: ``re.IGNORECASE`` would take ``ſ`` for ``s``.

Quirk of spec 2.5: a good output that holds one, or the number 500, counts as failed."""


@dataclass(slots=True)
class _Module:
    """The calls of one tool that belong together, until one of them succeeds."""

    name: Json
    arguments: Json
    attempts: int = 1

    def closed(self, success: bool) -> dict[str, Json]:
        summary = {"name": self.name, "last_arguments": self.arguments, "success": success, "attempts": self.attempts}
        return {"role": "assistant", "tool_calls_summary": [summary]}


def compress(steps: Sequence[Json]) -> list[Json]:
    """The steps of one user turn, with texts in a row joined and calls summed up (GTA-Workflow spec 2.5). Raises
    DataProblem for a step whose ``tool_calls`` do not begin with an object."""
    done: list[Json] = []
    texts: list[str] = []
    module: _Module | None = None
    for step in steps:
        role = step.get("role") if isinstance(step, Mapping) else None
        if role == "assistant" and "tool_calls" in step:
            name, arguments = _first_call(step["tool_calls"])
            if module and module.name == name:
                module.attempts += 1
                module.arguments = arguments or module.arguments
                continue
            _close(done, texts, module)
            module = _Module(name, arguments)
        elif module and role == "tool":
            if not _failed(step.get("content")):
                done.append(module.closed(success=True))
                module = None
        elif role == "assistant":
            if module:
                _close(done, texts, module)
                module = None
            content = step.get("content")
            if isinstance(content, str) and content.strip():
                texts.append(content)
        else:
            _close(done, texts, module)
            module = None
            done.append(step)
    _close(done, texts, module)
    return done


def _close(done: list[Json], texts: list[str], module: _Module | None) -> None:
    """End what is open: the texts in a row, or a module that did not succeed. At most one of the two is."""
    if texts:
        done.append({"role": "assistant", "content": "\n".join(texts).strip()})
        texts.clear()
    if module:
        done.append(module.closed(success=False))


def _first_call(calls: Json) -> tuple[Json, Json]:
    """Name and arguments of the first call; the others are dropped."""
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], Mapping):
        raise DataProblem(f"the tool_calls of a step must be a list that begins with an object, not {repr(calls)[:60]}")
    call = calls[0]
    inner = call.get("function")
    function = inner if isinstance(inner, Mapping) else {}
    name = function.get("name") or call.get("name") or "UnknownTool"
    return name, _arguments(function.get("arguments") or call.get("arguments"))


def _arguments(given: Json) -> Json:
    if not given or isinstance(given, dict):
        return given or {}
    if not isinstance(given, str):
        return {"_raw": str(given)}
    try:
        return read_json(given) or {}
    except ValueError:
        return {"_raw": given}


def _failed(output: Json) -> bool:
    """Quirk of spec 2.5: the step's own ``error`` mark has no say; blank text, 0 and false are good outputs."""
    if output is None or (isinstance(output, str | list | Mapping) and not output):
        return True
    return any(_FAILURE.search(text.lower()) for text in texts_in(output))
