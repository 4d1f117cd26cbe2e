"""What agents printed, and what AgentGauge has to say about them, beside the run's other logs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.case import Case
from agentgauge.core.redaction import redact


@dataclass(frozen=True, slots=True)
class AgentLogs:
    """A file for each case, made when there is something to write."""

    folder: Path

    def add(self, case: Case, text: str) -> None:
        """Each call of a case adds to its file."""
        file = self.folder / case.sample.task / f"{case.folder.name}.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8", errors="replace") as log:
            log.write(redact(text))
