"""What is kept of an exchange with a model or a tool: the digests of what was asked, and what came of it, as JSON."""

from __future__ import annotations

import base64
import contextlib
import errno
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import DataProblem, ModelFault, ToolError, ToolFault
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.text import digest
from agentgauge.core.tools import OutputType, Tool, ToolOutput
from agentgauge.core.types import Json
from agentgauge.model.files.references import by_content

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

Outcome = Mapping[str, Any]
"""A reply, a result, an error of a tool or a fault: ``{"reply": {...}}``, ``{"outputs": [...]}``, ``{"error": ...}``,
``{"fault": ..., "cause": ...}``."""

_MOST = 1e12  # tokens or dollars of a request


def parts_of(request: ChatRequest, placeholders: PathPlaceholders) -> dict[str, Json]:
    """The digests of a request's parts, which tell what differs from another: ``{"messages": [...], "tools": ...,
    "settings": ...}``. Files count by their content."""
    pack = placeholders.to_placeholders
    settings = [
        *(request.temperature, request.max_tokens, asdict(request.usual)),
        *(request.seed, list(request.stop), request.raw, dict(request.template)),
        *([dict(request.extra)] if request.extra else []),  # recordings of earlier versions know none
    ]
    return {
        "messages": [digest(pack(by_content(message))) for message in request.messages],
        "tools": digest(pack([dict(tool) for tool in request.tools])),
        "settings": digest(settings),
    }


def of_reply(reply: ChatReply) -> Outcome:
    return {"reply": asdict(reply)}


def of_fault(fault: ModelFault | ToolFault) -> Outcome:
    return {"fault": str(fault), "cause": fault.cause}


def of_outputs(outputs: Sequence[ToolOutput], folder: Path) -> Outcome:
    """Text as it is; a file below ``folder``, the case's, by its name there and its content; another path as it is."""
    return {"outputs": [_stored(output, folder) for output in outputs]}


def of_catalog(catalog: Mapping[str, Tool]) -> Outcome:
    return {"tools": {name: tool.to_json() for name, tool in catalog.items()}}


def reply_in(outcome: Outcome) -> ChatReply:
    """Raises the ModelFault that was kept, and ValueError for what is neither."""
    with _sound():
        if "fault" not in outcome:
            return _reply(outcome["reply"])
        fault = ModelFault(str(outcome["fault"]), cause=str(outcome["cause"]))
    raise fault


def outputs_in(outcome: Outcome, folder: Path) -> tuple[ToolOutput, ...]:
    """The results of a tool, whose files are made anew below ``folder``. Raises the ToolError or ToolFault that was
    kept, and ValueError for what is none of them."""
    failure: ToolError | ToolFault
    with _sound():
        if "error" in outcome:
            failure = ToolError(str(outcome["error"]))
        elif "fault" in outcome:
            failure = ToolFault(str(outcome["fault"]), cause=str(outcome["cause"]))
        else:
            return tuple(_restored(data, folder) for data in outcome["outputs"])
    raise failure


def catalog_in(outcome: Outcome) -> Mapping[str, Tool]:
    """Raises ValueError for what is no list of tools."""
    with _sound():
        return {str(name): Tool.from_json(data) for name, data in outcome["tools"].items()}


@contextlib.contextmanager
def _sound() -> Iterator[None]:
    """What fails in here is the outcome's fault, which anybody may have changed: a ValueError of one line."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"it lacks {missing}") from None
    except (TypeError, AttributeError, ValueError, DataProblem) as problem:
        raise ValueError(" ".join(str(problem).split())[:200]) from None
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR):
            raise
        raise ValueError(f"it has a file of an unusable name: {error.strerror}") from None


def _reply(data: Mapping[str, Any]) -> ChatReply:
    # earlier versions have a field ``flaw`` for what they made up of a call
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
    from pydantic import TypeAdapter, ValidationError  # takes 0.1 s, and only kept replies need it

    return TypeAdapter(ChatReply), ValidationError


def _stored(output: ToolOutput, folder: Path) -> dict[str, Any]:
    file, root = Path(output.content), folder.resolve()
    if output.type == "text" or not file.is_file() or not file.resolve().is_relative_to(root):
        return {"type": output.type, "content": output.content}
    name = file.resolve().relative_to(root).as_posix()
    return {"type": output.type, "file": name, "data": base64.b64encode(file.read_bytes()).decode("ascii")}


def _restored(data: Mapping[str, Any], folder: Path) -> ToolOutput:
    if data["type"] not in get_args(OutputType):
        raise ValueError(f"a result has the type {str(data['type'])[:40]!r}")
    if "data" not in data:
        return ToolOutput(data["type"], str(data["content"]))
    target = folder / data["file"]
    if not target.resolve().is_relative_to(folder.resolve()):  # no other file may be overwritten
        raise ValueError(f"it names the file {data['file'][:100]!r} outside of its case's folder: do not use it")
    content = base64.b64decode(data["data"], validate=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return ToolOutput(data["type"], str(target))
