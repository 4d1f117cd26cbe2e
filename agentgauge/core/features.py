"""AgentGauge's own features: the plugins that lie in folders.

Imports nothing of ours, because the pytest side imports it in every project.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

GROUP = "agentgauge"
"""The group of entry points that name plugins: modules that implement hooks."""

PREFIX = "pytest_agentgauge_"
"""Of the name of every hook."""

FEATURES = ("agentgauge.plugins", "agentgauge_reports")
"""Packages of AgentGauge. Each folder of theirs that has a ``plugin.py`` is a plugin: without the folder, AgentGauge
lacks what it does, and nothing else."""


@cache
def features() -> tuple[EntryPoint, ...]:
    """The plugins of these packages, in the order of their names. None is imported."""
    found = []
    for package in FEATURES:
        spec = find_spec(package)  # a part of the project, such as one in a sandbox, may lack it
        for place in (spec and spec.submodule_search_locations) or ():
            for file in sorted(Path(place).glob("*/plugin.py")):
                name = file.parent.name
                found.append(EntryPoint(name, f"{package}.{name}.plugin", GROUP))
    return tuple(found)
