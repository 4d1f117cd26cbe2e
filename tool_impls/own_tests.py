"""The tests of a project that use real tools: a task of its own, so that a tool server is started for these alone."""

from __future__ import annotations

from collections.abc import Mapping

from agentgauge.core.index import Index, Row
from agentgauge.run.own_tests.task import OwnTests, OwnTestsData
from tool_impls.real_tools import LocalTools


class OwnTestsWithTools(OwnTests, LocalTools):
    name = "tests.tools"
    data = OwnTestsData(name)
    title = "tests with tools"
    leaderboard_columns: Mapping[str, str] = {"Passed": "Passed with tools"}
    refuses_missing = False

    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        """All tools, because the calls of a test are not known before it runs."""
        from tool_impls.registry import TOOLS

        return tuple(TOOLS)


TASKS = (OwnTestsWithTools(),)
