"""Keys of pytest's stashes, through which the parts of the plugin share objects. Imports little, because every project
imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentgauge.core.registry import Registry
    from agentgauge.run.hooks import Hooks
    from agentgauge.run.planned import Planned

REGISTRY: pytest.StashKey[Registry] = pytest.StashKey()
"""The tasks that a configuration knows, once they were asked for: see ``options.registry_of``."""

COLLECTION: pytest.StashKey[Any] = pytest.StashKey()
"""A configuration's ``Collection``, in processes that run cases, once AgentGauge is active."""

PROBLEM: pytest.StashKey[pytest.UsageError] = pytest.StashKey()
"""Why AgentGauge could not become active when the first case was collected."""

PLANNED: pytest.StashKey[Planned] = pytest.StashKey()
"""The case of an item; ordinary tests have none."""

OUTCOME: pytest.StashKey[Any] = pytest.StashKey()
"""The outcome of an item's case, once its test has it."""

OWN: pytest.StashKey[Planned] = pytest.StashKey()
"""The record that a test of the project leaves, because a plugin follows it: pytest runs it, and no runner."""

RUNNING: pytest.StashKey[Any] = pytest.StashKey()
"""Of such a test: an object whose ``case`` is its case, from when it has asked for something."""

KEPT = ("agentgauge.kept", True)
"""Property of such a test that does not run again, because it has passed."""

HOOKS: pytest.StashKey[Hooks] = pytest.StashKey()
"""The hooks of a configuration, once AgentGauge is active."""

WORKER: pytest.StashKey[Any] = pytest.StashKey()
"""A configuration's ``Worker``, in processes that run cases."""

DRIVER: pytest.StashKey[Any] = pytest.StashKey()
"""A configuration's ``Driver`` of a launch, whose cases run elsewhere."""

LOST_OUTPUT: pytest.StashKey[str] = pytest.StashKey()
"""Why standard output cannot be written, once that was tried."""

OF_THE_TEST = ("agentgauge.failure", "of the test")
"""Property of a report of a benchmark case: its test fails for a reason of its own, whatever the answer is."""

REFUSED = "agentgauge_refused"
"""Key in a worker's output: the reason why it refuses to collect, such as an invalid expression of ``-m``."""

NOTES = "agentgauge_notes"
"""Key in a worker's output: what the user should know of its collection and of its hooks."""
