"""One call of a tool, in the process that does the work: typed values in, the body of the answer out."""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgauge.core.errors import Fault, ToolError, UsageProblem
from agentgauge.core.tools import FILE_TYPES, Parameter, Tool, named_files
from tool_impls.base import BenchTool, Noted
from tool_impls.bounds import FRAMES, check_pixels, check_result, read_picture
from tool_impls.devices import is_lost
from tool_impls.model_sources import png
from tool_impls.server.protocol import SCALARS


@dataclass(frozen=True, slots=True)
class QueuedCall:
    """A call of a tool as it is sent to a worker process. Paths are absolute texts."""

    tool: str
    folder: str  # the call's own; the server removes it
    values: Mapping[str, Any]  # typed; an upload is the path of its content
    files: Mapping[str, str] = field(default_factory=dict)  # that texts name: the path in the text → where it is
    raw: bool = False  # a single file may be answered as it is, without base64 and JSON


@dataclass(frozen=True, slots=True)
class CallAnswer:
    status: int  # of the HTTP answer
    body: bytes  # its JSON, or a file if ``raw``
    names: tuple[str | None, ...] = ()  # of its files, None for other outputs
    raw: bool = False
    note: str = ""  # a sentence for the model, beside the result


def failure(status: int, detail: Any) -> CallAnswer:
    return CallAnswer(status, encode({"detail": detail}))


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class ToolRunner:
    """Runs the calls of one process's tools. Each is set up before its first call, by the thread of that call."""

    def __init__(self, tools: Iterable[BenchTool], *, device: str = "cpu", root: Path | None = None) -> None:
        self._tools = {tool.meta.name: tool for tool in tools}
        self._device = device
        self._root = root
        self._loading = {name: threading.Lock() for name in self._tools}
        self._turns = {name: threading.Semaphore(tool.together(device)) for name, tool in self._tools.items()}
        self._loaded: set[str] = set()
        self.concurrency = sum(tool.concurrency for tool in self._tools.values())
        """Calls that the server sends at a time."""

    def load(self, name: str) -> None:
        """Set a tool up, if that has not been done. Raises the error of its ``setup``; the next call tries again."""
        with self._loading[name]:
            if name not in self._loaded:
                self._tools[name].setup(self._device)
                self._loaded.add(name)

    def run(
        self, call: QueuedCall, on_begun: Callable[[], None], on_loaded: Callable[[], None] = lambda: None
    ) -> CallAnswer:
        """The answer to a call. ``on_loaded`` is called when the tool is loaded, ``on_begun`` when its work starts.

        Raises only errors of a GPU that this process can no longer use (``devices.is_lost``).
        """
        tool = self._tools[call.tool]
        try:
            self.load(call.tool)
        except Exception as error:  # nothing that the arguments could do
            if is_lost(error):
                raise
            plain = isinstance(error, Fault | UsageProblem)
            return failure(500, str(error) if plain else f"{call.tool} cannot load: {error!r}")
        on_loaded()
        with self._turns[call.tool]:
            on_begun()
            return self._answer(tool, call)

    def _answer(self, tool: BenchTool, call: QueuedCall) -> CallAnswer:
        try:
            files = {path: Path(stored) for path, stored in call.files.items()}
            values = open_inputs(tool.meta, call.values, files, self._root)
            folder = tempfile.mkdtemp(dir=call.folder)  # a call that is done again finds nothing of its first time
            given = tool.apply(Path(folder), **values)
            result, note = given if isinstance(given, Noted) else (given, "")
            note = " ".join(filter(None, (note, left_out(tool.meta, values))))
            names = tuple(file_names(tool.meta, result))
            raw = call.raw and is_file(tool.meta)
            body = content(tool.meta.outputs[0], result) if raw else encode(encode_results(tool.meta, result))
            return CallAnswer(200, body, names, raw, note)
        except Exception as error:
            if is_lost(error):
                raise
            if isinstance(error, Fault | UsageProblem):
                return failure(500, str(error))
            # A timeout of the tool itself; ``worker_pool`` keeps ``seconds``, by killing this process. Any other error
            # is an answer to the model, as in AgentLego.
            return failure(408 if isinstance(error, TimeoutError) else 400, repr(error))


# -- media values: uploads to the inputs of tools, and the results of tools to JSON


def open_inputs(
    tool: Tool, values: Mapping[str, Any], files: Mapping[str, Path], root: Path | None = None
) -> dict[str, Any]:
    """The inputs for a tool: pictures as viewers display them, named files as paths, other values unchanged.

    ``values``: typed, uploads as paths. ``files``: the files that came with the call, by the path that a text names;
    other files are searched below ``root``, if there is one. Raises ToolError for a file that is missing or no picture.
    """
    opened = dict(values)
    named: dict[str, Path] = {}
    several = False
    for parameter in tool.inputs:
        name = parameter.name or ""
        value = values.get(name)
        if parameter.type == "image" and value is not None:
            opened[name] = read_picture(Path(value), name)
        elif parameter.type in FILE_TYPES and value is not None:
            opened[name] = Path(value)
        elif parameter.attach == "file" and value is not None:
            found = files.get(value) or _below(root, value)
            if found is None:
                raise ToolError(f"{name}: there is no file {value!r} among the files of this call")
            opened[name] = found
        elif parameter.attach:
            several = True
            for path in named_files(parameter, value or ""):
                if found := files.get(path) or _below(root, path):
                    named[path] = found
    return {**opened, "files": named} if several else opened


def left_out(tool: Tool, opened: Mapping[str, Any]) -> str:
    """A sentence about each input that is only the first of the pictures in its file."""
    pictures = [parameter.name or "" for parameter in tool.inputs if parameter.type == "image"]
    counts = {name: opened[name].info.get(FRAMES, 1) for name in pictures if opened.get(name) is not None}
    return " ".join(
        f"{name} has {count} pages or frames, of which this tool takes the first only."
        for name, count in counts.items()
        if count > 1
    )


def _below(root: Path | None, path: str) -> Path | None:
    """A file below the folder that the server offers to clients which send no files; None where it is not there."""
    if root is None or "\0" in path:
        return None
    found = (root / path).resolve()
    return found if found.is_relative_to(root.resolve()) and found.is_file() else None


def encode_results(tool: Tool, result: Any) -> Any:
    """The JSON answer: one output bare, several as a list. Files become base64, pictures as PNG."""
    if len(tool.outputs) == 1:
        return _encode(tool.outputs[0], result)
    return [_encode(output, value) for output, value in zip(tool.outputs, result, strict=True)]


def is_file(tool: Tool) -> bool:
    """Whether a tool's result is one file and nothing else."""
    return len(tool.outputs) == 1 and tool.outputs[0].type in FILE_TYPES


def file_names(tool: Tool, result: Any) -> list[str | None]:
    """The base name of each output that is a file with a name."""
    results = [result] if len(tool.outputs) == 1 else result
    pairs = zip(tool.outputs, results, strict=True)
    return [value.name if isinstance(value, Path) and output.type in FILE_TYPES else None for output, value in pairs]


def _encode(output: Parameter, value: Any) -> Any:
    if output.type in SCALARS:
        return value
    if output.type not in FILE_TYPES:
        return str(value)
    return base64.b64encode(content(output, value)).decode()


def content(output: Parameter, value: Any) -> bytes:
    """The bytes of a file result; pictures as PNG. Raises ToolError for a result that is too large."""
    if output.type == "image":
        if isinstance(value, Path):
            return png(read_picture(value, "the picture that was made"))
        check_pixels("the picture that was made", *value.size)
        return png(value)
    check_result(value.stat().st_size)
    return bytes(value.read_bytes())
