"""Checkpoints of a run's unfinished cases, in a file of replies in its folder.

A task with several stages (an agent, then a judge) stores the result of the first. So a fault in the second stage does
not cost the first one again when the run is resumed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentgauge.core.case import Checkpoint
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain, remove_tree, whole
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.text import parse_json
from agentgauge.core.types import Event, Usage
from agentgauge.replies.store import Replies, key_of
from agentgauge.store import RunFolder
from agentgauge.store.folder import sample_name
from agentgauge.store.jsonl import CaseId

FILE = "stages.jsonl"
EARLIER = "stages"
"""Of earlier versions: a folder with a file for each case."""


class Stages:
    """The checkpoints in a run's folder, to which all its workers append. ``config``: the fingerprint of everything
    that may change a case's outcome; a checkpoint with another one is not found."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._store = Replies(folder.path / FILE)

    def find(self, case: CaseId, config: str, placeholders: PathPlaceholders) -> Checkpoint | None:
        """The last checkpoint of a case; None if there is none, or none that can be used: the case begins anew then."""
        try:
            data = placeholders.to_paths(self._stored(case, config))
            events = tuple(Event(**event) for event in data["events"])
            return Checkpoint(data["output"], events, Usage(**data["usage"]), data["turn"])
        except (KeyError, TypeError, ValueError, RecursionError):
            return None

    def keep(self, case: CaseId, config: str, placeholders: PathPlaceholders, checkpoint: Checkpoint) -> None:
        """``placeholders``: for folders that lie elsewhere when the run is resumed. Raises OSError if the run folder
        cannot be written."""
        self._keep(case, config, placeholders.to_placeholders(asdict(checkpoint)))

    def drop(self, case: CaseId, config: str) -> None:
        """Drop the checkpoint of a case, which has finished."""
        if self._stored(case, config):
            with contextlib.suppress(OSError):  # it is used no more, unless the case is run again
                self._keep(case, config, {})

    def take(self, other: Stages, case: CaseId, config: str) -> None:
        """Take over the checkpoint that another run's folder has of a case. Raises OSError."""
        if found := other._stored(case, config):
            self._keep(case, config, found)

    def close(self) -> None:
        self._store.close()

    def _keep(self, case: CaseId, config: str, outcome: Mapping[str, Any]) -> None:
        task, sample, attempt = case
        self._store.keep(_key(case, config), outcome, {"task": task, "sample": sample, "attempt": attempt})

    def _stored(self, case: CaseId, config: str) -> Mapping[str, Any]:
        """What is kept of a case; empty for nothing, and for what was dropped."""
        try:
            found = self._store.find(_key(case, config))
        except OSError:
            return {}
        return self._of_earlier_version(case, config) if found is None else found

    def _of_earlier_version(self, case: CaseId, config: str) -> Mapping[str, Any]:
        task, sample, attempt = case
        try:
            with open_plain(self._folder.path / EARLIER / task / f"{sample_name(sample)}-a{attempt}.json") as stream:
                data = parse_json(whole(stream))
            return data if data["config"] == config else {}
        except (OSError, UsageProblem, ValueError, KeyError, TypeError):
            return {}


def remove_stages(folder: Path) -> None:
    """Remove the checkpoints of a run whose cases have all finished. Raises OSError."""
    (folder / FILE).unlink(missing_ok=True)
    remove_tree(folder / EARLIER)


def _key(case: CaseId, config: str) -> str:
    return key_of([*case, config])
