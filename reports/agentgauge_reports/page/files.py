"""Pictures, sound and documents of a case: where the page finds them."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN
from agentgauge_reports.case_files import RunFiles, plain_file, shown_data

SHOWN = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".mp3", ".wav", ".ogg", ".flac", ".mp4", ".webm"}
LINKED = {".pdf", ".docx", ".xlsx", ".pptx", ".csv", ".txt", ".md", ".json"}
"""Kinds that a browser only shows or saves; pages (HTML) are left out, for a model may have written them."""

LARGEST = 4_000_000
"""Bytes of a file that is copied or embedded."""

_PATHS = re.compile(r"\{(?:RUN|ROOT)\}/[^\s\"'`<>|*?\\()\[\]{}]{1,4096}\.\w{2,5}")
"""A path ends before the next one, so that the time grows with the text's length alone."""


class Files:
    """Finds the files that texts name, and returns the page's link to each.

    Files of the run are linked where they are, files of the data set are copied beside the page (there they have names
    by content). With ``beside`` None everything is embedded.
    """

    def __init__(
        self, run: Path, about: Mapping[str, Any], beside: Path | None, roots: Mapping[str, Path] | None = None
    ) -> None:
        """``about``: the run's run.json. ``roots``: task → the data that the user named; None: see ``shown_data``."""
        self._run_files = RunFiles(run, about)
        self._beside = beside
        self._links: dict[tuple[str, str], str | None] = {}
        self.embedded: dict[str, str] = {}  # name by content → data URL
        self._roots, self._lacking = shown_data(about) if roots is None else (roots, "")
        self.problem = ""  # why files of the data set that texts name are not shown

    def base(self, page: Path) -> str:
        """The folder that links of the run start from, relative to the page's folder."""
        return quote(os.fsencode(os.path.relpath(self._run_files.folder, page.absolute()))) + "/"

    def links(self, task: str, texts: Iterable[str]) -> dict[str, str]:
        """Path as in ``texts`` → link: ``run:`` below ``base``, or ``page:`` beside the page or in ``embedded``."""
        paths = (path for text in texts for path in ([text] if _whole(text) else _PATHS.findall(text)))
        return {path: link for path in dict.fromkeys(paths) if (link := self._link(task, path))}

    def _link(self, task: str, path: str) -> str | None:
        key = (task if path.startswith(ROOT_TOKEN) else "", path)
        if key not in self._links:
            self._links[key] = self._made(task, path)
        return self._links[key]

    def _made(self, task: str, path: str) -> str | None:
        token, _, rest = path.partition("/")
        suffix = Path(rest).suffix.lower()
        if suffix not in SHOWN | LINKED:
            return None
        if token == RUN_TOKEN:
            file = self._run_files.find(path)
        elif task in self._roots:
            file = plain_file(self._roots[task], rest)
        else:
            file, self.problem = None, self._lacking
        if file is None:
            return None
        if self._beside is not None and token == RUN_TOKEN:
            return "run:" + quote(file.relative_to(self._run_files.folder.resolve()).as_posix())
        if file.stat().st_size > LARGEST:
            return None
        content = file.read_bytes()
        name = f"file-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
        if self._beside is None:
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            self.embedded[name] = f"data:{kind};base64,{base64.b64encode(content).decode()}"
        else:
            self._beside.mkdir(parents=True, exist_ok=True)
            (self._beside / name).write_bytes(content)
        return f"page:{name}"


def _whole(text: str) -> bool:
    """Whether a text is nothing but a path, as a tool's result is."""
    return len(text) < 500 and "\n" not in text and text.startswith((f"{RUN_TOKEN}/", f"{ROOT_TOKEN}/"))
