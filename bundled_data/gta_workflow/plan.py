"""Writes the reference steps of one task and runs their calls: the data set holds what our own tools returned."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.tools import FILE_TYPES, Tool
from tool_impls.arguments import named_files
from tool_impls.base import BenchTool
from tool_impls.registry import GTA_ATOMIC, GTA_WORKFLOW, TOOLS
from tool_impls.server import calls
from tool_impls.settings import ToolSettings

NAMES = tuple(kind.meta.name for kind in (*GTA_ATOMIC, *GTA_WORKFLOW) if kind.meta.name != "TextToBbox")
"""The 37 tools of GTA-Workflow (GTA tools spec 1)."""

MADE = "output"
"""Where the reference steps have the files that tools made; a run has them elsewhere."""

MOST_CALLS = 9  # of a user turn: the tenth reply is the answer (GTA-Workflow spec 2.1)


class Bench:
    """The real tools, as a default run has them: released options, plain stand-ins allowed, search in the bundled
    texts."""

    def __init__(self, folder: Path) -> None:
        """``folder``: of the data set, which relative paths start from."""
        search = Path(__file__).parents[2] / "bench_gta" / "atomic" / "mini" / "search"
        self.folder = folder
        self._settings = ToolSettings(basic=True, tables={"GoogleSearch": {"folder": str(search)}})
        self._ready: dict[str, BenchTool] = {}

    def meta(self, name: str) -> Tool:
        return TOOLS[name].offered(self._settings)

    def run(self, name: str, arguments: Mapping[str, Any], scratch: Path, files: Mapping[str, Path]) -> Any:
        """The tool's own result. ``files``: made ones, by the path that the arguments have for them. Raises
        ToolError."""
        if name not in self._ready:
            self._ready[name] = TOOLS[name](self._settings)
            self._ready[name].setup()
        meta = self.meta(name)
        values = {str(p.name): p.default for p in meta.inputs if p.optional and p.default is not None} | dict(arguments)
        named: dict[str, Path] = {}
        for parameter in meta.inputs:
            value = values.get(str(parameter.name))
            if parameter.type in FILE_TYPES and value is not None:
                values[str(parameter.name)] = files.get(value, self.folder / value)
            elif value is not None:
                named |= {path: files.get(path, self.folder / path) for path in named_files(parameter, str(value))}
        return self._ready[name].apply(scratch, **calls.open_inputs(meta, values, named))


class Plan:
    """The turns of one task, in the shape of end.json."""

    def __init__(self, bench: Bench, scratch: Path) -> None:
        """``scratch``: an existing folder for what the tools make."""
        self.turns: list[dict[str, Any]] = []
        self.folder = bench.folder
        self._bench = bench
        self._made: dict[str, Path] = {}
        self._scratch = scratch
        self._calls = 0  # of this user turn

    def user(self, text: str) -> None:
        self.turns.append({"role": "user", "content": text})
        self._calls = 0

    def answer(self, text: str) -> None:
        self.turns.append({"role": "assistant", "content": text})

    def call(self, thought: str, tool: str, /, *, shows: Sequence[str] = (), **arguments: Any) -> str:
        """Add a call and what it returned, which is also handed back: the text, or the path of the file below MADE.

        ``shows``: texts that a text must hold, so that the steps lead to the answer. Raises ValueError where it does
        not.
        """
        self._calls += 1
        function = {"name": tool, "arguments": arguments}
        self.turns.append(
            {"role": "assistant", "thought": thought, "tool_calls": [{"type": "function", "function": function}]}
        )
        scratch = Path(tempfile.mkdtemp(dir=self._scratch))
        result = self._bench.run(tool, arguments, scratch, self._made)
        (output,) = self._bench.meta(tool).outputs
        content = self._file(result) if output.type in FILE_TYPES else str(result)
        if self._calls > MOST_CALLS or any(text not in content for text in shows):
            raise ValueError(
                f"call {self._calls} of a turn, {tool} {arguments}, returned {content!r}; wanted {list(shows)} and a"
                " call fewer"
            )
        self.turns.append({"role": "tool", "name": tool, "content": {"type": output.type, "content": content}})
        return content

    def _file(self, result: Any) -> str:
        if not isinstance(result, Path):
            raise ValueError(f"a tool made a file without a name ({result!r}); give it a filename")
        path = f"{MADE}/{result.name}"
        if path in self._made:
            raise ValueError(f"two calls of one task make {path}; name the files differently")
        self._made[path] = result
        return path
