"""``--gate``: reads the conditions, and holds the run against them when it is summed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft


def pytest_agentgauge_options() -> type:
    from agentgauge_reports.gates.options import GateOptions

    return GateOptions


def pytest_agentgauge_configure(draft: Draft) -> None:
    from agentgauge_reports.gates.options import GateOptions

    draft.about["gates"] = []
    if texts := draft.values["gates"]:
        from agentgauge_reports.gates.gates import parse_gate, refuse_cache

        gates = tuple(parse_gate(text, draft.tasks) for text in texts)
        if draft.values.get("cache"):
            refuse_cache(gates)
        draft.facts[GateOptions] = GateOptions(gates=gates)


@pluggy.HookimplMarker("pytest")(tryfirst=True)  # others find the verdicts
def pytest_agentgauge_summary(run: Run) -> None:
    from agentgauge_reports.gates.options import GateOptions

    if gates := run.settings.of(GateOptions).gates:
        from agentgauge_reports.gates.verdict import judge

        judge(run, gates)
