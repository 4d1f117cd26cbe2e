"""Kept replies of judges, so that no leaf is billed twice (docs/gta-workflow.md#judges)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from agentgauge.core.errors import UsageProblem
from agentgauge.core.index import cache_folder
from agentgauge.core.text import parse_json
from agentgauge.core.types import Json
from agentgauge.replies.store import Replies

USER, NONE = "user", "none"  # as a folder's name: one in the user's cache folder; nothing is kept

FILE = "judgements.jsonl"

_KEY = 32  # hex digits of a key that count


class StoredReply(NamedTuple):
    """A judge's reply."""

    reply: str
    model: str  # what the endpoint called its model


class Judgements:
    """A folder with a file of replies, one for each vote. Several processes may share it. ``key``: a digest of
    everything that determines a vote, 64 hex digits."""

    def __init__(self, folder: Path | None) -> None:
        """``folder``: None keeps nothing."""
        self._folder = folder

    def find(self, key: str) -> StoredReply | None:
        """The reply kept last under a key; None where there is none, or where it is damaged: it is asked for again."""
        try:
            found = self._replies.find(key[:_KEY]) if self._replies else None
        except OSError:
            return None
        kept = StoredReply(found.get("reply", None), found.get("model", None)) if found else None
        return kept if kept and isinstance(kept.reply, str) else None

    def keep(self, key: str, kept: StoredReply, about: Mapping[str, Json]) -> None:
        """``about``: the reply, for people. If the folder cannot be written, the run continues, and later runs ask the
        judge again."""
        if self._replies:
            with contextlib.suppress(OSError):
                self._replies.keep(key[:_KEY], {"reply": kept.reply, "model": kept.model}, about)

    @cached_property
    def _replies(self) -> Replies | None:
        if self._folder is None:
            return None
        file = self._folder / FILE
        with contextlib.suppress(OSError):
            if not file.exists():
                _convert(self._folder, file)
        return Replies(file)


def _convert(folder: Path, file: Path) -> None:
    """Earlier versions have kept each vote in a file of its own, ``KE/KEY.json``: take them over, once. Another process
    may do the same; whose file is there first counts. Raises OSError."""
    earlier = sorted(folder.glob("[0-9a-f][0-9a-f]/*.json"))
    if not earlier:
        return
    scratch = folder / f".{FILE}-{os.getpid()}"
    converted = Replies(scratch)
    try:
        for one in earlier:
            with contextlib.suppress(ValueError, KeyError, TypeError):  # a damaged one
                stored = parse_json(one.read_bytes())
                kept = {"reply": stored["reply"], "model": stored["model"]}
                converted.keep(one.stem[:_KEY], kept, stored.get("about") or {})
        try:
            os.link(scratch, file)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not file.exists():
                scratch.rename(file)
    finally:
        converted.close()
        scratch.unlink(missing_ok=True)


def open_judgements(name: str) -> Judgements:
    """``name``: a folder, ``user`` or ``none``. Raises UsageProblem for what cannot be a folder."""
    if name == NONE:
        return Judgements(None)
    if name == USER:
        return Judgements(cache_folder() / "judgements")
    if not name or (Path(name).exists() and not Path(name).is_dir()):
        raise UsageProblem(f"--judge-cache {name!r} is not a folder; give one, {USER} or {NONE}")
    return Judgements(Path(name).absolute())
