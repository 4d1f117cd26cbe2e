"""One call of a tool, in the process that does the work: typed values in, the body of the answer out."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgauge.core.errors import Fault, UsageProblem
from tool_impls.base import BenchTool, Noted
from tool_impls.devices import is_lost
from tool_impls.server import media


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool as it is sent to a worker process. Paths are absolute texts."""

    tool: str
    folder: str  # the call's own; the server removes it
    values: Mapping[str, Any]  # typed; an upload is the path of its content
    files: Mapping[str, str] = field(default_factory=dict)  # that texts name: the path in the text → where it is
    raw: bool = False  # a single file may be answered as it is, without base64 and JSON


@dataclass(frozen=True, slots=True)
class Answer:
    status: int  # of the HTTP answer
    body: bytes  # its JSON, or a file if ``raw``
    names: tuple[str | None, ...] = ()  # of its files, None for other outputs
    raw: bool = False
    note: str = ""  # a sentence for the model, beside the result


def failure(status: int, detail: Any) -> Answer:
    return Answer(status, encode({"detail": detail}))


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

    def run(self, call: Call, on_begun: Callable[[], None], on_loaded: Callable[[], None] = lambda: None) -> Answer:
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

    def _answer(self, tool: BenchTool, call: Call) -> Answer:
        try:
            files = {path: Path(stored) for path, stored in call.files.items()}
            values = media.open_inputs(tool.meta, call.values, files, self._root)
            folder = tempfile.mkdtemp(dir=call.folder)  # a call that is done again finds nothing of its first time
            given = tool.apply(Path(folder), **values)
            result, note = given if isinstance(given, Noted) else (given, "")
            note = " ".join(filter(None, (note, media.left_out(tool.meta, values))))
            names = tuple(media.file_names(tool.meta, result))
            raw = call.raw and media.is_file(tool.meta)
            body = (
                media.content(tool.meta.outputs[0], result) if raw else encode(media.encode_results(tool.meta, result))
            )
            return Answer(200, body, names, raw, note)
        except Exception as error:
            if is_lost(error):
                raise
            if isinstance(error, Fault | UsageProblem):
                return failure(500, str(error))
            # A timeout of the tool itself; ``worker_pool`` keeps ``seconds``, by killing this process. Any other error
            # is an answer to the model, as in AgentLego.
            return failure(408 if isinstance(error, TimeoutError) else 400, repr(error))
