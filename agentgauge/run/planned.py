"""A planned case; and another model, or other tools, that it gets in the place of the run's own, where fixtures of a
project give them."""

from __future__ import annotations

from dataclasses import dataclass

from agentgauge.core.chat import ChatModel
from agentgauge.core.index import Index, Row
from agentgauge.core.task import Task
from agentgauge.core.tools import ToolBox
from agentgauge.model.spec import ModelSpec
from agentgauge.store.jsonl import CaseId


@dataclass(frozen=True, slots=True)
class Planned:
    task: Task
    index: Index
    row: Row
    attempt: int  # from 1

    @property
    def id(self) -> CaseId:
        return (self.task.name, self.row.id, self.attempt)

    @property
    def name(self) -> str:
        """The case's pytest id: the sample's id, followed by the attempt from the second attempt on."""
        return self.row.id if self.attempt == 1 else f"{self.row.id}#{self.attempt}"


@dataclass(frozen=True, slots=True)
class Given:
    """Two are equal where their cases may be solved alike."""

    spec: ModelSpec | None = None  # another model in the tested one's place
    model: ChatModel | None = None  # an object of the project's own in its place
    system: str = ""  # put in front of every conversation with the tested model
    tools: ToolBox | None = None  # of the project's own; None: the run's

    @property
    def noted(self) -> dict[str, str]:
        """What differs from the run's own, for records."""
        noted = {
            "model": self.spec.name if self.spec else self.model and self.model.name,
            "fingerprint": self.spec and self.spec.fingerprint,
            "system": self.system,
            "tools": self.tools and repr(self.tools),
        }
        return {name: value for name, value in noted.items() if value}


OWN = Given()
"""The run's own model and tools."""
