"""Writes one gold dialog and runs its calls: what the data set holds as a return is what our own tool returned."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Tool
from bundled_data.gta_atomic.canvas import Box, Picture
from tool_impls.base import BASIC, READY, SAVING, SUBSTITUTE, BenchTool
from tool_impls.registry import GTA_ATOMIC, TOOLS
from tool_impls.settings import ToolSettings

NAMES = tuple(kind.meta.name for kind in GTA_ATOMIC)
"""The fourteen tools of GTA-Atomic in the order of the registry."""

Aliases = list[list[str]]


@dataclass(frozen=True, slots=True)
class Objective:
    """Every group must be found in the answer, and no alias of the blacklist."""

    whitelist: Aliases
    blacklist: Aliases | None = None


@dataclass(frozen=True, slots=True)
class Subjective:
    """Two more ways to put the closing text of the dialog."""

    second: str
    third: str


Gold = Objective | Subjective | None
"""None: the query asks for a picture."""


class Bench:
    """The real tools, set up as a default run has them: basic stand-ins allowed, search in the bundled texts."""

    def __init__(self, folder: Path) -> None:
        self._settings = ToolSettings(basic=True, tables={"GoogleSearch": {"folder": str(folder / "search")}})
        self._ready: dict[str, BenchTool] = {}
        self._folder = folder

    def meta(self, name: str) -> Tool:
        """As GTA-Atomic describes it: without the inputs for file names, which are GTA-Workflow's."""
        tool = TOOLS[name].meta
        return replace(tool, inputs=tuple(parameter for parameter in tool.inputs if parameter not in SAVING))

    def can(self, name: str) -> bool:
        return TOOLS[name].state(self._settings).startswith((BASIC, READY, SUBSTITUTE))

    def run(self, name: str, arguments: Mapping[str, Any], scratch: Path) -> Any:
        """The tool's own result: text, a number, a PIL image or the path of one."""
        from PIL import Image

        if name not in self._ready:
            self._ready[name] = TOOLS[name](self._settings)
            self._ready[name].setup()
        types = {parameter.name: parameter.type for parameter in self.meta(name).inputs}
        values: dict[str, Any] = {
            str(p.name): p.default for p in self.meta(name).inputs if p.optional and p.default is not None
        }
        for key, value in arguments.items():
            if types[key] == "image":
                values[key] = Image.open(self._folder / value)
                values[key].load()
            else:
                values[key] = value
        return self._ready[name].apply(scratch, **values)


@dataclass(slots=True)
class Dialog:
    """The turns of one sample, in the shape of dataset.json."""

    bench: Bench
    folder: Path
    truth: Mapping[str, Picture]  # what the renderer knows of each picture, by file name without suffix
    turns: list[dict[str, Any]] = field(default_factory=list)

    def user(self, text: str) -> None:
        self.turns.append({"role": "user", "content": text})

    def answer(self, text: str) -> None:
        self.turns.append({"role": "assistant", "content": text})

    def call(
        self,
        thought: str,
        tool: str,
        /,
        *,
        returns: str | None = None,
        shows: Sequence[str] = (),
        saves: str | None = None,
        **arguments: Any,
    ) -> str:
        """Add a call and its return, which is also handed back.

        ``returns``: what must come; taken on trust only for a tool that cannot run here or refuses. ``shows``: texts
        that the return must hold, so that the gold leads to the answer. ``saves``: where a produced picture is put.
        Raises ValueError where the return is not as demanded.
        """
        function = {"name": tool, "arguments": arguments}
        self.turns.append(
            {"role": "assistant", "thought": thought, "tool_calls": [{"type": "function", "function": function}]}
        )
        if saves is not None:
            self._save(tool, arguments, saves)
            content = {"type": "image", "content": saves}
        else:
            content = {"type": "text", "content": self._text(tool, arguments, returns)}
            missing = [text for text in shows if text not in content["content"]]
            if missing or (returns is not None and content["content"] != returns):
                raise ValueError(
                    f"{tool} {arguments} returned {content['content']!r}, wanted {returns!r} and {missing}; correct one"
                    " of them"
                )
        self.turns.append({"role": "tool", "name": tool, "content": content})
        return content["content"]

    def _text(self, tool: str, arguments: Mapping[str, Any], returns: str | None) -> str:
        if self.bench.can(tool):
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    return str(self.bench.run(tool, arguments, Path(scratch)))
            except ToolError:
                if returns is None:
                    raise
                return returns  # the bundled detector knows shapes, not cars and boats
        if returns is None:
            raise ValueError(f"{tool} cannot run here; give its return by hand")
        return returns

    def _save(self, tool: str, arguments: Mapping[str, Any], path: str) -> None:
        from PIL import Image

        with tempfile.TemporaryDirectory() as scratch:
            result = self.bench.run(tool, arguments, Path(scratch))
            with Image.open(result) if isinstance(result, (str, Path)) else result as image:
                save(image.convert("RGB"), self.folder / path)


def save(image: Any, path: Path) -> None:
    """JPEG of quality 84, or PNG for charts, without any text about when or by what it was made."""
    image.save(path, **({"quality": 84} if path.suffix == ".jpg" else {"optimize": True}))


def box_text(box: Box) -> str:
    return f"({box[0]}, {box[1]}, {box[2]}, {box[3]})"


def row_box(ocr: str, word: str, margin: int = 6) -> Box:
    """The box around all texts of an OCR return that stand in the row of ``word``, with a margin in pixels."""
    lines = [
        (tuple(map(int, numbers)), text) for *numbers, text in re.findall(r"\((\d+), (\d+), (\d+), (\d+)\) (.*)", ocr)
    ]
    anchor = next(box for box, text in lines if word in text)
    middle = (anchor[1] + anchor[3]) / 2
    row = [box for box, _ in lines if box[1] <= middle <= box[3]]
    return (
        min(b[0] for b in row) - margin,
        min(b[1] for b in row) - margin,
        max(b[2] for b in row) + margin,
        max(b[3] for b in row) + margin,
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """A sample before its dialog is written. ``extra``: tools that are offered though the gold does not need them."""

    write: Callable[[Dialog], None]
    files: tuple[str, ...]
    gold: Gold
    extra: tuple[str, ...]


class Book(list[Draft]):
    """Collects the samples of a module, in order."""

    def sample(
        self, *files: str, gold: Gold, extra: tuple[str, ...] = ()
    ) -> Callable[[Callable[[Dialog], None]], Callable[[Dialog], None]]:
        def add(write: Callable[[Dialog], None]) -> Callable[[Dialog], None]:
            self.append(Draft(write, files, gold, extra))
            return write

        return add


def finish(draft: Draft, dialog: Dialog) -> dict[str, Any]:
    """The sample in the shape of dataset.json; its tools stand in the order of ``NAMES``."""
    used = {turn["name"] for turn in dialog.turns if turn["role"] == "tool"}
    offered = [dialog.bench.meta(name).to_json() for name in NAMES if name in used or name in draft.extra]
    gold: Any = None
    if isinstance(draft.gold, Objective):
        gold = {"whitelist": draft.gold.whitelist, "blacklist": draft.gold.blacklist}
    elif isinstance(draft.gold, Subjective):
        gold = [dialog.turns[-1]["content"], draft.gold.second, draft.gold.third]
    files = [{"type": "image", "path": f"image/{name}", "url": None} for name in draft.files]
    return {"tools": offered, "files": files, "dialogs": dialog.turns, "gt_answer": gold}
