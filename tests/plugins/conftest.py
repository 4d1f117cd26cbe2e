"""For the tests of AgentGauge's own plugins: what those of whole runs and of reports have."""

from tests.plugin.conftest import endpoint, model, project, tool_server
from tests.reports.conftest import axe, browser, installed, watched

__all__ = ["axe", "browser", "endpoint", "installed", "model", "project", "tool_server", "watched"]
