"""Kept replies of judges, so that no leaf is billed twice (docs/benchmarks/gta_workflow.md#judges)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import cache_folder
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
        found = None
        with contextlib.suppress(OSError):
            found = self._replies.find(key[:_KEY]) if self._replies else None
        found = self._of_earlier_version(key) if found is None else found
        reply, model = found.get("reply"), found.get("model")
        return StoredReply(reply, model) if isinstance(reply, str) and isinstance(model, str) else None

    def keep(self, key: str, kept: StoredReply, about: Mapping[str, Json]) -> None:
        """``about``: the reply, for people. If the folder cannot be written, the run continues, and later runs ask the
        judge again."""
        if self._replies:
            with contextlib.suppress(OSError):
                self._replies.keep(key[:_KEY], {"reply": kept.reply, "model": kept.model}, about)

    @cached_property
    def _replies(self) -> Replies | None:
        return None if self._folder is None else Replies(self._folder / FILE)

    def _of_earlier_version(self, key: str) -> Mapping[str, Any]:
        """What an earlier version has kept: it had a file for each vote, ``KE/KEY.json``. Empty for nothing."""
        if self._folder is None:
            return {}
        try:
            found = parse_json((self._folder / key[:2] / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def open_judgements(name: str) -> Judgements:
    """``name``: a folder, ``user`` or ``none``. Raises UsageProblem for what cannot be a folder."""
    if name == NONE:
        return Judgements(None)
    if name == USER:
        return Judgements(cache_folder() / "index" / "judgements")
    if not name or (Path(name).exists() and not Path(name).is_dir()):
        raise UsageProblem(f"--judge-cache {name!r} is not a folder; give one, {USER} or {NONE}")
    return Judgements(Path(name).absolute())
