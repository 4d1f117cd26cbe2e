"""For the tests of AgentGauge's own plugins: what those of whole runs have."""

from tests.plugin.conftest import endpoint, model, project, tool_server

__all__ = ["endpoint", "model", "project", "tool_server"]
