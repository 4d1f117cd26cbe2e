"""What an agent did, as the released benchmark records it: messages that open a user turn and actions as steps
(docs/benchmarks/gta_workflow.md#runs, docs/benchmarks/gta_atomic.md#step-by-step and
docs/benchmarks/gta_atomic.md#recorded-steps), the compressed trace (docs/benchmarks/gta_workflow.md#compression), and
the files that the steps point to (docs/benchmarks/gta_workflow.md#produced-files).
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgauge.agent.dialect import NO_ACTION, Action, Call, CallError, Finish
from agentgauge.agent.loop import Exchange, shown
from agentgauge.agent.model_json import read_json
from agentgauge.core.agents import Agent, AgentTask, ToolUse
from agentgauge.core.case import Case
from agentgauge.core.chat import Message
from agentgauge.core.errors import DataProblem
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

    ``toolmeta``: toolmeta.json as it is. Only a list of objects leads to a block. Quirk
    (docs/benchmarks/gta_workflow.md#messages): with the released shape, an object, nothing is put in, and neither is
    anything with a list that holds something else.
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
    """The agent's calls of tools and its answer, as those of a model; nothing for a user turn that it never got. Raises
    Fault."""
    answer = await agent(case, AgentTask(messages, files=tuple(map(Path, files)), tools=tools))
    if not answer.was_asked:
        return []
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
    """The user turns up to the first that begins with an error step: the sample ended there
    (docs/benchmarks/gta_workflow.md#recorded-steps)."""
    kept: list[Sequence[Json]] = []
    for turn in turns:
        kept.append(turn)
        if turn and _is_error(turn[0]):
            break
    return kept


def _is_error(step: Json) -> bool:
    meta = step.get("meta") if isinstance(step, Mapping) else None
    return isinstance(meta, Mapping) and meta.get("type") == "error"


_FAILURE = re.compile(
    r"\b(error|exception|traceback|failed|failure|invalid|bad request|typeerror|not found|not available"
    r"|forbidden|unauthorized|403|404|500)\b"
)
"""Words that mark an output as failed, searched in its lower case: ``re.IGNORECASE`` would take ``ſ`` for ``s``.

Quirk (docs/benchmarks/gta_workflow.md#compression): a good output that holds one, or the number 500, counts as
failed."""


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
    """The steps of one user turn, with texts in a row joined and calls summed up
    (docs/benchmarks/gta_workflow.md#compression). Raises DataProblem for a step whose ``tool_calls`` do not begin with
    an object."""
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
    """Quirk (docs/benchmarks/gta_workflow.md#compression): the step's own ``error`` mark has no say; blank text, 0 and
    false are good outputs."""
    if output is None or (isinstance(output, str | list | Mapping) and not output):
        return True
    return any(_FAILURE.search(text.lower()) for text in texts_in(output))


_SANDBOX = "sandbox:"

_SUFFIX = re.compile(r"\.(png|jpg|jpeg|gif|bmp|webp|pdf|docx|pptx|ppt|xlsx|xls|csv|txt|md|json|html|zip|mp4|mp3)\Z")
"""What upstream collects. Quirk (docs/benchmarks/gta_workflow.md#produced-files): ``.wav``, ``.m4a``, ``.mov`` and
``.webm`` are not among them."""

_NO_DELIVERY = frozenset({"__pycache__", "__MACOSX"})  # folders that programs leave behind


def attached_files(turns: Sequence[Sequence[Json]], *, extended: bool = False, folder: Path | None = None) -> list[str]:
    """The files that the steps of a run's user turns point to, without repeats. Raises nothing for any JSON value.

    By default upstream's list (docs/benchmarks/gta_workflow.md#produced-files): texts of tool outputs that end in a
    known suffix and hold a slash, as written, whether or not such a file exists.

    ``extended`` returns the files that were really delivered: absolute paths of all files below ``folder`` with any
    suffix, without links, hidden files and by-products of programs. Files that the run mentions come first, in the
    order of the mentions, in a tool's output, in a sentence of the final answer or as ``sandbox:/name``; the others
    follow, sorted. A file outside ``folder`` is never delivered, so that no model can show a file of this machine to a
    judge; without ``folder`` the list is empty.
    """
    if extended:
        return [] if folder is None else _delivered(turns, folder)
    found = (_upstream_form(text) for turn in turns for step in turn for text in _outputs(step))
    return list(dict.fromkeys(form for form in found if form is not None))


def texts_in(value: Json) -> Iterator[str]:
    """The texts in lists and in values of objects, in order, however deep. Keys of objects are left out."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, Mapping):
            waiting += reversed(list(part.values()))


def _outputs(step: Json) -> Iterator[str]:
    """Quirk (docs/benchmarks/gta_workflow.md#produced-files): neither the assistant's words nor the arguments of calls
    are searched."""
    if not isinstance(step, Mapping):
        return
    yield from texts_in(step.get("observation"))
    if step.get("role") == "tool":
        yield from texts_in(step.get("content"))


def _upstream_form(text: str) -> str | None:
    """The form of a text that upstream takes for a path. Quirk (docs/benchmarks/gta_workflow.md#produced-files): a
    sentence that ends in one is taken whole."""
    text = text.strip()
    forms = [text.removeprefix(_SANDBOX).removeprefix("/"), text] if text.startswith(_SANDBOX) else [text]
    return next((form for form in forms if _SUFFIX.search(form.lower()) and ("/" in form or "\\" in form)), None)


def _delivered(turns: Sequence[Sequence[Json]], folder: Path) -> list[str]:
    base = str(folder.absolute())
    speech = "\n".join(text for turn in turns for text in texts_in(list(turn)))
    files = sorted(_files_below(base))
    # stable: unnamed ones stay sorted
    return sorted(files, key=lambda path: _first_named(path.removeprefix(f"{base}/"), speech))


def _files_below(base: str) -> Iterator[str]:
    """Real files only; a folder that cannot be read is passed over."""
    for place, folders, names in os.walk(base):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NO_DELIVERY]
        for name in names:
            path = f"{place}/{name}"
            # islink and isfile never raise
            if not name.startswith(".") and not os.path.islink(path) and os.path.isfile(path) and _storable(path):  # noqa: PTH113, PTH114
                yield path


def _storable(path: str) -> bool:
    """Whether a record can hold the path: on Linux a name may be any bytes, UTF-8 or not."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _first_named(relative: str, speech: str) -> float:
    """Where a file is first spoken of: by its path below the folder, else by its name alone."""
    for name in (relative, relative.rpartition("/")[2]):
        place = speech.find(name)
        while place >= 0:  # an expression would do, but takes seconds for a long run with many files
            before, behind = speech[place - 1 : place], speech[place + len(name) : place + len(name) + 1]
            if not (_in_name(before) or before in (".", "-") or _in_name(behind)):
                return place
            place = speech.find(name, place + 1)
    return math.inf


def _in_name(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
