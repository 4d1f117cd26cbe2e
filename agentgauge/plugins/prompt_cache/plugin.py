"""Lets the first of the cases that begin with the same request fill the cache of the model's provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.run.part import Part, Process


def pytest_agentgauge_process(process: Process) -> Part | None:
    spec = process.settings.spec
    if spec is None or spec.embedded or process.settings.patient:  # all may be sent at once
        return None
    from agentgauge.plugins.prompt_cache.first_replies import FirstReplies

    return FirstReplies(process)
