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

from agentgauge.core.errors import AgentGaugeError
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN
from agentgauge.data.find import find_used_data

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

    def __init__(self, run: Path, about: Mapping[str, Any], beside: Path | None) -> None:
        """``about``: the run's run.json."""
        self._folder = Path(about.get("rescore") or run).absolute()
        self._beside = beside
        self._links: dict[tuple[str, str], str | None] = {}
        self.embedded: dict[str, str] = {}  # name by content → data URL
        self.problem = ""
        self._roots: dict[str, Path] = {}
        try:
            self._roots, _ = find_used_data(about, Path.cwd())
        except AgentGaugeError as problem:
            self.problem = f"Files of the data set are not shown: {problem}."

    def base(self, page: Path) -> str:
        """The folder that links of the run start from, relative to the page's folder."""
        return quote(os.fsencode(os.path.relpath(self._folder, page.absolute()))) + "/"

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
        root = self._folder if token == RUN_TOKEN else self._roots.get(task)
        suffix = Path(rest).suffix.lower()
        if root is None or suffix not in SHOWN | LINKED:
            return None
        root = root.resolve()
        try:
            file = (root / rest).resolve()
            if not file.is_relative_to(root) or not file.is_file():  # a model may have written the path
                return None
            size = file.stat().st_size
        except (OSError, ValueError):
            return None
        if self._beside is not None and token == RUN_TOKEN:
            return "run:" + quote(file.relative_to(root).as_posix())
        if size > LARGEST:
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
