"""What an Allure result holds of a case: its steps, its transcript as text, and its files, each up to a size.

Results and dashboard of 8,000 cases stay below 150 MB together. Allure holds a text several times: in the result, in
the test's page, in the index for searching, and in the history. The run's folder and its ``report.html`` have the full
texts. A file that is left out is named, with its path in the run's folder.
"""

from __future__ import annotations

import json
import mimetypes
import shutil
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.types import Event, Record
from agentgauge_reports.case_text import content_text
from agentgauge_reports.load import Run, RunFiles
from agentgauge_reports.text import cut, line

FILES = 30_000_000
"""Bytes of all files; each task has the same share of them."""

SPACE = uuid.UUID("6e0c2a56-8f0e-5d0c-9b7e-3a1f2c64d8b1")
"""Namespace from which, with the case, the names of results and attachments are computed."""

TYPES = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".md": "text/markdown",
    ".mp4": "video/mp4",
    ".ogg": "audio/ogg",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Kinds that the tables of some machines lack or name in their own way."""

_MARKUP = {"text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml"}
PLAIN = _MARKUP | {"text/javascript", "application/javascript"}
"""Kinds that a browser would run: they are attached as plain text, for a model may have written them."""

TRANSCRIPTS, STEPS, MESSAGES = 16_000_000, 12_000_000, 4_000_000
"""Bytes of all cases of a run together."""


@dataclass(frozen=True, slots=True)
class CaseLimits:
    """Limits for one case, in bytes."""

    transcript: int
    steps: int
    message: int


def limits(cases: int) -> CaseLimits:
    """The limits of a run. They are the same for all its cases, so that they depend on the number of cases alone."""

    def share(amount: int, least: int, most: int) -> int:
        return max(least, min(most, amount // max(1, cases)))

    return CaseLimits(share(TRANSCRIPTS, 1_000, 200_000), share(STEPS, 1_000, 50_000), share(MESSAGES, 300, 4_000))


class Attachments:
    """Copies a run's attachments into the folder of its results. Cases must be added in the order of the plan."""

    def __init__(self, run: Run, folder: Path, cases: Mapping[str, int]) -> None:
        """``cases``: task → number of its cases."""
        self._run_files = RunFiles(run.path, run.about)
        self.folder = folder
        self.limits = limits(sum(cases.values()))
        self._left = Counter(dict.fromkeys(cases, FILES // max(1, len(cases))))

    def text(self, case: str, name: str, body: str) -> dict[str, str]:
        """Attach a text to the case of that id."""
        source = f"{uuid.uuid5(SPACE, f'{case}/{name}')}-attachment.txt"
        (self.folder / source).write_bytes(body.encode("utf-8", "replace"))
        return {"name": name, "source": source, "type": "text/plain"}

    def files(self, case: str, record: Record, paths: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
        """Attach files that start with RUN_TOKEN. Returns the attachments, and the files that did not fit."""
        attached, left_out = [], []
        for path in dict.fromkeys(paths):
            file = self._run_files.find(path)
            if file is None:
                continue
            size = file.stat().st_size
            if size > self._left[record.task]:
                place = file.relative_to(self._run_files.folder.resolve())
                left_out.append(f"{file.name} ({size:,} bytes) is not attached; it is at {place} in the run's folder")
                continue
            self._left[record.task] -= size
            kind = mime_type(file.name)
            suffix = ".txt" if kind == "text/plain" else file.suffix.lower()
            source = f"{uuid.uuid5(SPACE, f'{case}/{path}')}-attachment{suffix}"
            shutil.copyfile(file, self.folder / source)
            attached.append({"name": line(file.name, 100), "source": source, "type": kind})
        return attached, left_out


def mime_type(name: str) -> str:
    """The media type of a file by its name; ``text/plain`` for what a browser would run."""
    kind = (
        TYPES.get(Path(name).suffix.lower()) or mimetypes.guess_type(name, strict=True)[0] or "application/octet-stream"
    )
    return "text/plain" if kind in PLAIN else kind


# -- steps

ROOMS = (200, 80, 40)
"""Characters of an argument or a reply that a step shows: the first of these with which all steps fit."""


def steps(events: Sequence[Event], limit: int) -> list[dict[str, Any]]:
    """Allure's steps, one for each exchange, in about ``limit`` bytes; those that do not fit are counted."""
    shown: list[dict[str, Any]] = []
    sizes: list[int] = []
    for room in ROOMS:
        shown = [_step(event, room) for event in events]
        sizes = [len(json.dumps(step, ensure_ascii=False).encode("utf-8", "replace")) for step in shown]
        if sum(sizes) <= limit:
            return shown
    while len(sizes) > 1 and sum(sizes) > limit:
        sizes.pop()
    if rest := events[len(sizes) :]:
        more = f"… {len(rest)} more: see the transcript"
        shown[len(sizes) :] = [
            {"name": more, "status": "passed", "start": milliseconds(rest[0].start), "stop": _end(rest[-1])}
        ]
    return shown


def _step(event: Event, room: int) -> dict[str, Any]:
    detail = event.detail
    cached = " (cached)" if "cached" in detail else ""
    if event.kind == "model":
        who = str(detail.get("role", "model")).removeprefix("--")
        title = f"{who}{cached}: {_reply_line(detail)}"
        shown = {"reply": reply} if (reply := detail.get("reply")) else {}
        shown |= {f"call {call['name']}": call["arguments"] for call in detail.get("tool_calls", ())}
    else:
        title = f"tool: {event.name}{cached}"
        shown = dict(detail.get("arguments") or {})
        shown |= {f"result {number}": output["content"] for number, output in enumerate(detail.get("result", ()), 1)}
    step: dict[str, Any] = {"name": line(title, 80), "status": "broken" if event.error else "passed"}
    if event.error:
        step["statusDetails"] = {"message": cut(event.error, 5 * room)}
    if shown:
        step["parameters"] = [
            {"name": line(name, 60), "value": line(content_text(value), room)} for name, value in shown.items()
        ]
    return step | {"start": milliseconds(event.start), "stop": _end(event)}


def _reply_line(detail: Mapping[str, Any]) -> str:
    calls = [call["name"] for call in detail.get("tool_calls", ())]
    return ", ".join(calls) or (detail.get("reply") or "").strip().split("\n", 1)[0] or "(empty)"


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _end(event: Event) -> int:
    return milliseconds(event.start + event.seconds)
