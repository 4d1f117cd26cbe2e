"""Stores judges' replies under a key of the judged content, so that no leaf is billed twice."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.index import cache_folder
from agentgauge.core.text import parse_json
from agentgauge.core.types import Json

USER, NONE = "user", "none"  # as a folder's name: one in the user's cache folder; nothing is kept


class Kept(NamedTuple):
    """A judge's reply."""

    reply: str
    model: str  # what the endpoint called its model


class Judgements:
    """A folder with one small file for each vote. Several processes may share it."""

    def __init__(self, folder: Path | None) -> None:
        """``folder``: None keeps nothing."""
        self._folder = folder

    def find(self, key: str) -> Kept | None:
        """The reply kept under a key; None where there is none, or where the file is damaged."""
        if self._folder is None:
            return None
        try:
            stored = parse_json(_file(self._folder, key).read_bytes())
            kept = Kept(stored["reply"], stored["model"])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # it is asked for again
        return kept if isinstance(kept.reply, str) else None

    def keep(self, key: str, kept: Kept, metadata: Json) -> None:
        """``metadata``: of the reply, for people. If the folder cannot be written, the run continues, and later runs
        ask the judge again."""
        if self._folder is None:
            return
        file = _file(self._folder, key)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, encoded({"reply": kept.reply, "model": kept.model, "about": metadata}))


def _file(folder: Path, key: str) -> Path:
    return folder / key[:2] / f"{key}.json"


def open_judgements(name: str) -> Judgements:
    """``name``: a folder, ``user`` or ``none``. Raises UsageProblem for what cannot be a folder."""
    if name == NONE:
        return Judgements(None)
    if name == USER:
        return Judgements(cache_folder() / "judgements")
    if not name or (Path(name).exists() and not Path(name).is_dir()):
        raise UsageProblem(f"--judge-cache {name!r} is not a folder; give one, {USER} or {NONE}")
    return Judgements(Path(name).absolute())


def key_of(content: Json) -> str:
    """A key for everything that determines a vote: any JSON value."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
