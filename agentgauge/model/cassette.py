"""Recording and replaying the exchanges with a model and its tools.

A replayed run makes no live call: an exchange that the cassette lacks is a ReplayMiss. Faults are recorded too, so that
a replay ends in the same statuses.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from agentgauge.core.case import NOT_SENT
from agentgauge.core.chat import ChatModel, ChatReply, ChatRequest
from agentgauge.core.errors import AgentGaugeError, ModelFault, ReplayMiss, ToolError, ToolFault
from agentgauge.core.tools import OutputType, Tool, ToolBox, ToolOutput
from agentgauge.model.cassette_file import CassetteReader, CassetteWriter, Key, Parts, digest
from agentgauge.model.files.references import by_content

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_CATALOG: Key = ("catalog", "")
_MOST = 1e12  # tokens or dollars of a request


class RecordingModel:
    """Forwards requests and records the replies."""

    reported: str | None = None  # a cassette takes the place of kept replies

    def __init__(self, model: ChatModel, cassette: CassetteWriter) -> None:
        self.name = model.name
        self.fingerprint = model.fingerprint
        self._model = model
        self._cassette = cassette

    async def complete(self, request: ChatRequest) -> ChatReply:
        key, parts = _exchange(request, self._cassette)
        try:
            reply = await self._model.complete(request)
        except ModelFault as fault:
            if fault.cause != NOT_SENT:
                self._cassette.append(key, parts, {"fault": str(fault), "cause": fault.cause})
            raise
        self._cassette.append(key, parts, {"reply": asdict(reply)})
        return reply

    async def close(self) -> None:
        await self._model.close()


class ReplayModel:
    """Answers from a cassette."""

    fingerprint = ""  # the recorded model is not known here
    reported: str | None = None

    def __init__(self, cassette: CassetteReader, name: str) -> None:
        self.name = name
        self._cassette = cassette

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Raises ReplayMiss, or the ModelFault that was recorded."""
        case = request.case
        words = f"{case.task} {case.sample}, attempt {case.attempt}, turn {case.turn + 1}" if case else ""
        outcome = self._cassette.outcome(
            *_exchange(request, self._cassette), f"a reply for {words or 'a request without a case'}"
        )
        with self._cassette.reading():
            if "fault" in outcome:
                fault = ModelFault(str(outcome["fault"]), cause=str(outcome["cause"]))
            else:
                return _reply(outcome["reply"])
        raise fault

    async def close(self) -> None:
        """Nothing to do: the caller has opened the cassette and closes it."""


def _reply(data: Mapping[str, Any]) -> ChatReply:
    """Raises ValueError and TypeError for what is no reply."""
    # cassettes of earlier versions have a field ``flaw`` for what they made up of a call
    calls = [call for call in data["tool_calls"] if call.get("flaw") != "function"]
    form, problems = _form()
    try:
        reply: ChatReply = form.validate_python({**data, "tool_calls": calls})
    except problems as problem:
        first = problem.errors(include_url=False)[0]
        raise ValueError(f"its {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if not all(0 <= count <= _MOST for count in astuple(reply.usage)):
        raise ValueError(f"its usage has a number that is not from 0 to {_MOST:g}")
    json.dumps(reply.message)  # it can be sent back
    return reply


@cache
def _form() -> tuple[TypeAdapter[ChatReply], type[ValidationError]]:
    from pydantic import TypeAdapter, ValidationError  # takes 0.1 s, and only a replay needs it

    return TypeAdapter(ChatReply), ValidationError


def _exchange(request: ChatRequest, cassette: CassetteWriter | CassetteReader) -> tuple[Key, Parts]:
    pack, case = cassette.placeholders.to_placeholders, request.case
    settings = [
        *(request.temperature, request.max_tokens, asdict(request.usual)),
        *(request.seed, list(request.stop), request.raw, dict(request.template)),
        *([dict(request.extra)] if request.extra else []),  # cassettes of earlier versions know none
    ]
    return ("model", f"{case.task}/{case.sample}/{case.attempt}/{case.turn}" if case else ""), {
        "messages": [digest(pack(by_content(message))) for message in request.messages],
        "tools": digest(pack([dict(tool) for tool in request.tools])),
        "settings": digest(settings),
    }


class _CallCounter:
    """Tells which call of its case a tool call is. Cases have folders of their own, and a case calls one tool after the
    other."""

    def __init__(self, cassette: CassetteWriter | CassetteReader) -> None:
        self._pack = cassette.placeholders.to_placeholders
        self._calls: Counter[str] = Counter()

    def exchange(self, name: str, arguments: Mapping[str, Any], folder: Path) -> tuple[Key, Parts]:
        place = self._pack(str(folder.absolute()))
        number = self._calls[place]
        self._calls[place] += 1
        return ("tool", f"{place}/{number}"), {"name": name, "arguments": digest(self._pack(dict(arguments)))}


class RecordingToolBox:
    """Forwards calls and records results, the content of produced files included."""

    def __init__(self, box: ToolBox, cassette: CassetteWriter) -> None:
        self._box = box
        self._cassette = cassette
        self._counter = _CallCounter(cassette)
        self._catalog: Mapping[str, Tool] | None = None

    async def catalog(self) -> Mapping[str, Tool]:
        if self._catalog is None:
            catalog = await self._box.catalog()
            self._cassette.append(_CATALOG, {}, {"tools": {name: tool.to_json() for name, tool in catalog.items()}})
            self._catalog = catalog
        return self._catalog

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        key, parts = self._counter.exchange(name, arguments, folder)
        try:
            outputs = await self._box.call(name, arguments, folder=folder, readable=readable)
        except ToolError as error:
            self._cassette.append(key, parts, {"error": str(error)})
            raise
        except ToolFault as fault:
            self._cassette.append(key, parts, {"fault": str(fault), "cause": fault.cause})
            raise
        self._cassette.append(key, parts, {"outputs": [_stored(output, folder) for output in outputs]})
        return outputs

    async def close(self) -> None:
        await self._box.close()


class ReplayToolBox:
    """Answers tool calls from a cassette and recreates the files that they produced."""

    def __init__(self, cassette: CassetteReader) -> None:
        self._cassette = cassette
        self._counter = _CallCounter(cassette)

    async def catalog(self) -> Mapping[str, Tool]:
        outcome = self._cassette.find(_CATALOG, {})
        if outcome is None:
            raise ReplayMiss(
                f"the cassette {self._cassette.path} holds no list of tools; record it with a task that uses tools"
            )
        with self._cassette.reading():
            return {str(name): Tool.from_json(data) for name, data in outcome["tools"].items()}

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        """Raises ReplayMiss, or the ToolError or ToolFault that was recorded."""
        key, parts = self._counter.exchange(name, arguments, folder)
        place, _, number = key[1].rpartition("/")
        outcome = self._cassette.outcome(key, parts, f"tool call {int(number) + 1} ({name}) of {place}")
        with self._cassette.reading():
            if "error" in outcome:
                failure: AgentGaugeError = ToolError(str(outcome["error"]))
            elif "fault" in outcome:
                failure = ToolFault(str(outcome["fault"]), cause=str(outcome["cause"]))
            else:
                return tuple(self._restored(data, folder) for data in outcome["outputs"])
        raise failure

    async def close(self) -> None:
        """Nothing to do: the caller has opened the cassette and closes it."""

    def _restored(self, data: Mapping[str, Any], folder: Path) -> ToolOutput:
        if data["type"] not in get_args(OutputType):
            raise ValueError(f"a result has the type {str(data['type'])[:40]!r}")
        if "data" not in data:
            return ToolOutput(data["type"], str(data["content"]))
        target = folder / data["file"]
        # A cassette is untrusted: its file names must not lead out of the case's folder.
        if not target.resolve().is_relative_to(folder.resolve()):
            raise ReplayMiss(
                f"the cassette {self._cassette.path} names the file {data['file']!r} outside of its case's folder; do"
                " not use it"
            )
        content = base64.b64decode(data["data"], validate=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return ToolOutput(data["type"], str(target))


def _stored(output: ToolOutput, folder: Path) -> dict[str, Any]:
    """Text as it is; a produced file by its name below ``folder`` and its content; another path as it is."""
    file, root = Path(output.content), folder.resolve()
    if output.type == "text" or not file.is_file() or not file.resolve().is_relative_to(root):
        return {"type": output.type, "content": output.content}
    name = file.resolve().relative_to(root).as_posix()
    return {"type": output.type, "file": name, "data": base64.b64encode(file.read_bytes()).decode("ascii")}
