"""What the controller's parts share of a run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentgauge.core.atomic_write import cannot_write
from agentgauge.core.task_registry import find_task
from agentgauge.pytest_plugin.run_folder import selection
from agentgauge.run.progress import Progress
from agentgauge.run.run_metadata import run_json
from agentgauge.run.settings import Settings
from agentgauge.run.stop_file import StopFile
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId


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
    service_problem: str = ""  # why a service did not start, or is gone for good
    interrupted: bool = False
    gates: list[dict[str, str | None]] = field(default_factory=list)
    summary: dict[str, Any] | None = None
    problems: list[str] = field(default_factory=list)  # why the exit status is 1
    notes: list[str] = field(default_factory=list)  # what else a person should know at the end
    started: float = field(default_factory=time.time)

    @property
    def benchmark_cases(self) -> int:
        """How many planned cases are not tests of the project's own, which pytest runs and shows."""
        return sum(not find_task(task).data.in_run_folder for task, _, _ in self.plan)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.settings.run_dir)

    def stop(self, reason: str) -> None:
        """Stop the run gracefully."""
        self.stop_reason = reason
        self.stop_workers(reason)

    def stop_workers(self, reason: str) -> None:
        """No new case is started, in any worker; running cases may end."""
        if self.plan:
            self.folder.free_reserve()
            with suppress(OSError):  # the disk is full: workers find that out
                StopFile(self.folder.path).write(reason)

    def cannot_write(self, error: OSError) -> str:
        return f"{cannot_write(self.folder.path, error)}; continue with --resume={self.folder.path}"

    def write_run_json(self, finished: float | None) -> None:
        about = run_json(
            self.settings,
            selection(self.config),
            self.plan,
            tools=self.tools,
            sandbox=self.sandbox,
            gates=self.gates,
            started=self.started,
            finished=finished,
        )
        self.folder.write_json("run.json", about)
