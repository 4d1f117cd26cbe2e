"""The state of a run that the parts of the controller share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import cannot_write
from agentgauge.core.task_registry import find_task
from agentgauge.pytest_plugin.options import given
from agentgauge.pytest_plugin.run_folder import is_asked_for, selection
from agentgauge.run.coordination.stopping import StopFile
from agentgauge.run.progress import Progress
from agentgauge.run.run_metadata import run_json
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId
from agentgauge.store.revisions import Revisions


@dataclass
class RunState:
    config: pytest.Config
    settings: Settings
    plan: list[CaseId] = field(default_factory=list)  # empty in an ordinary pytest run
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what identifies each tool
    sandbox: tuple[str, ...] = ()  # the layers that confine programs
    progress: Progress | None = None  # from when cases may run
    failures: int = 0  # reports of benchmark cases and ordinary tests
    ordinary_failures: int = 0
    stop_reason: str | None = None
    missing_reason: str = ""  # why a case was not attempted, as its worker says
    service_problem: str = ""  # why a service did not start, or is gone for good
    interrupted: bool = False
    gates: list[dict[str, str | None]] = field(default_factory=list)
    held: list[str] = field(default_factory=list)  # no problems: gates that hold, and what each would have found
    summary: dict[str, Any] | None = None
    problems: list[str] = field(default_factory=list)  # why the exit status is 1
    notes: list[str] = field(default_factory=list)  # what else a person should know at the end
    revisions: Revisions | None = None  # from when the run is first described
    started: float = field(default_factory=time.time)

    @property
    def benchmark_cases(self) -> Counter[str]:
        """Task → planned cases; without tests of the project's own, which pytest runs and shows."""
        return Counter(task for task, _, _ in self.plan if not find_task(task).data.in_run_folder)

    @property
    def is_kept(self) -> bool:
        """Whether the run folder stays when the run has ended."""
        asked = is_asked_for(given(self.config.option), self.settings)
        return bool(asked or self.benchmark_cases or self.service_problem)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.settings.run_dir)

    @property
    def why_missing(self) -> str:
        """Why cases that were planned have not been attempted, at the end of the run."""
        if reason := self.service_problem or self.stop_reason:
            return reason
        if self.interrupted:
            return "interrupted (Ctrl-C or SIGTERM)"
        with suppress(OSError):  # no file: nothing has stopped the workers
            return StopFile(self.folder.path).reason()
        if self.settings.rescore:  # the same cases are missing as there
            with suppress(UsageProblem):  # a run that was killed has no summary
                return str(RunFolder(self.settings.rescore).read_json("summary.json").get("why_missing", ""))
            return ""
        plugins = [self.config.pluginmanager.get_plugin(name) for name in ("session", "dsession")]  # the latter xdist's
        known = [getattr(plugin, name, "") for plugin in plugins for name in ("shouldstop", "shouldfail")]
        reasons = [reason for reason in known if reason and isinstance(reason, str)]
        return self.missing_reason or (reasons[0] if reasons else "pytest ended before them")

    def stop(self, reason: str, *, awaits: bool = False) -> None:
        """Stop the run gracefully. ``awaits``: see ``StopFile``."""
        self.stop_reason = reason
        self.stop_workers(reason, awaits=awaits)

    def stop_workers(self, reason: str, *, awaits: bool = False) -> None:
        """No new case is started, in any worker."""
        if self.plan:
            self.folder.free_reserve()
            with suppress(OSError):  # the disk is full: workers find that out
                StopFile(self.folder.path).write(reason, awaits=awaits)

    def cannot_write(self, error: OSError) -> str:
        return f"{cannot_write(self.folder.path, error)}; continue with --resume={self.folder.path}"

    @property
    def _reported(self) -> dict[str, Any]:
        """Option of a model's role → names that its endpoint reported, other than the one asked for, with the number of
        replies."""
        assert self.summary is not None
        parts = self.summary.get("observed", {}).items()
        return {role: part["reported"] for role, part in parts if "reported" in part}

    def write_run_json(self, finished: float | None) -> None:
        """``finished``: when the run ended, seconds since the epoch; None while it goes on."""
        self.revisions = self.revisions or Revisions(self.config.rootpath)
        about = run_json(
            self.settings,
            selection(self.config),
            self.plan,
            tools=self.tools,
            sandbox=self.sandbox,
            gates=self.gates,
            started=self.started,
            finished=finished,
            revisions=self.revisions.known(wait=finished is not None),
            **({"reported": self._reported} if self.summary else {}),
        )
        self.folder.write_json("run.json", about)
