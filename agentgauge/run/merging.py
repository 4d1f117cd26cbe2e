"""Runs that are to be merged into one, about which plugins are asked (``pytest_agentgauge_merge``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Merging:
    runs: Mapping[Path, Mapping[str, Any]]  # run folder → its run.json
    about: dict[str, Any] = field(default_factory=dict)  # what run.json of the merged run says in place of the first's
    whole: Sequence[str] = ()  # the tasks of the merged run, in order, where a plugin knows that the runs are all of it
