"""An eval pack as outputs of an agent: one JSON file that lists a final answer and delivered files for each sample
(docs/external-agents.md#packing-outputs).

A pack may come from anybody. It names files, and a judge gets them, so only those below its own folder count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agentgauge.core import checking
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import parse_json, shown
from agentgauge.core.types import Json
from agentgauge.plugins.agents.answer import text_reply
from agentgauge.plugins.agents.deliveries import FOLDER, Files, plain_file
from agentgauge.plugins.agents.outputs import Output, digest_of, name_of
from agentgauge.plugins.agents.usage_file import figures_of

_MOST = 256 << 20  # bytes of a pack
_USUAL = "pack"  # a file of this name has its folder's name


class _InFile(BaseModel):
    """Further fields, which other tools write, are left out."""

    model_config = checking.STRICT | ConfigDict(extra="ignore")


class _Task(_InFile):
    task_id: int
    origin_prompt: list[str] | str | None = None
    assistant_outputs: Any
    attached_files: list[str] | str | None = None
    meta: dict[str, Any] = {}

    @property
    def request(self) -> str | None:
        """The first one, which the agent got."""
        given = self.origin_prompt
        if isinstance(given, list):
            return given[0] if given else None
        return given or None

    @property
    def names(self) -> list[str]:
        given = self.attached_files or []
        return [given] if isinstance(given, str) else given


class _Pack(_InFile):
    schema_version: int = Field(ge=1, le=1)
    tasks: list[_Task]
    base_dir: str = "."


@dataclass(frozen=True, slots=True)
class OutputPack:
    """The outputs in a pack. Its samples' ids are numbers."""

    path: Path
    base: Path  # without links
    tasks: Mapping[str, _Task] = field(repr=False)

    @property
    def name(self) -> str:
        return name_of(self.path.parent if self.path.stem == _USUAL else self.path.with_suffix(""))

    def find(self, task: str, sample: str, turn: int) -> Output | None:
        """The first turn alone is judged, as by the released scorer."""
        if turn > 1 or (packed := self.tasks.get(sample)) is None:
            return None
        figures, note = figures_of(packed.meta)
        problem = next((f"its file {shown(name)} {why}" for name in packed.names if (why := self._unfit(name))), "")
        reply = text_reply(_answer(packed.assistant_outputs))
        return Output(reply, self._files(packed), figures, problem, note, request=packed.request)

    def has(self, task: str, sample: str) -> bool:
        return sample in self.tasks

    def places(self, task: str, sample: str) -> str:
        return f"{self.path}, with the task_id {sample}"

    def digest(self) -> str:
        return digest_of(self._groups())

    def _groups(self) -> Iterable[Files]:
        yield [(self.path.name, self.path)]
        yield from map(self._files, self.tasks.values())

    def _files(self, packed: _Task) -> Files:
        """Without the folder of the sample, as the agent delivered them."""
        for name in packed.names:
            if not self._unfit(name):
                place = (self.base / name).relative_to(self.base)
                yield str(_within(_within(place, str(packed.task_id)), FOLDER)), self.base / name

    def _unfit(self, name: str) -> str:
        """Why a file must not be used, or an empty text."""
        place = self.base / name
        if "\0" in name or ".." in place.parts or not place.is_relative_to(self.base):
            return f"lies outside {self.base}"
        if place.resolve() != place:
            return "is reached by a link"
        return "" if place.is_file() else "is missing"


def read_pack(path: Path) -> OutputPack:
    """Raises UsageProblem for a file that is no pack, and for one whose files lie elsewhere."""
    if (content := plain_file(path, _MOST)) is None:
        raise UsageProblem(f"--agent-outputs: {path} is no plain file of at most {_MOST >> 20} MiB; give an eval pack")
    what = f"--agent-outputs: {path}"
    try:
        data = parse_json(content)
    except ValueError as error:
        raise UsageProblem(f"{what} is not JSON: {error}; give a folder of outputs or an eval pack") from None
    read = checking.read(_Pack, data, what)
    own = path.parent.resolve()
    base = (own / read.base_dir).resolve()
    if not base.is_relative_to(own):
        move = "put the pack beside its files, and correct base_dir"
        raise UsageProblem(f"{what}: base_dir is {read.base_dir!r}, which is not in the pack's own folder; {move}")
    return OutputPack(path, base, {str(task.task_id): task for task in read.tasks})


def _within(place: Path, folder: str) -> Path:
    """A place without the folder, if it lies in there."""
    return place.relative_to(folder) if place != Path(folder) and place.is_relative_to(folder) else place


def _answer(outputs: Json) -> str:
    """The last text of the agent in its first turn. A list whose first item is a list holds turns."""
    trace = outputs[0] if isinstance(outputs, list) and outputs and isinstance(outputs[0], list) else outputs
    for step in reversed(trace if isinstance(trace, list) else [trace]):
        text = step.get("content") if isinstance(step, Mapping) and step.get("role") == "assistant" else step
        if isinstance(text, str) and text.strip():
            return text
    return ""
