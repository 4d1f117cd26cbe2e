"""The tests of a project that use real tools: a task of its own, so that a tool server is started for these alone."""

from __future__ import annotations

from agentgauge.core.index import Index, Row
from agentgauge.run.task_of_tests import task_of_tests
from tool_impls.real_tools import LocalTools


def _all_tools(index: Index, row: Row) -> tuple[str, ...]:
    """All tools, because the calls of a test are not known before it runs."""
    from tool_impls.registry import TOOLS

    return tuple(TOOLS)


TESTS = task_of_tests(
    "tests.tools",
    title="tests with tools",
    column="Passed with tools",
    tools=LocalTools(_all_tools, refuses_missing=False),
)
