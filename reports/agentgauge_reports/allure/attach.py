"""The attachments of results: transcripts and delivered or drawn files, each up to a size.

Results and dashboard of 8,000 cases stay below 150 MB together. Allure holds a text several times: in the result, in
the test's page, in the index for searching, and in the history. The run's folder and its ``report.html`` have the full
texts. A file that is left out is named, with its path in the run's folder.
"""

from __future__ import annotations

import mimetypes
import shutil
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.types import Record
from agentgauge_reports.case_files import RunFiles
from agentgauge_reports.load import Run
from agentgauge_reports.safe_text import line

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
class Limits:
    """Limits for one case, in bytes."""

    transcript: int
    steps: int
    message: int


def limits(cases: int) -> Limits:
    """The limits of a run. They are the same for all its cases, so that they depend on the number of cases alone."""

    def share(amount: int, least: int, most: int) -> int:
        return max(least, min(most, amount // max(1, cases)))

    return Limits(share(TRANSCRIPTS, 1_000, 200_000), share(STEPS, 1_000, 50_000), share(MESSAGES, 300, 4_000))


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
