"""What a process does whose requests are sent in batches."""

from __future__ import annotations

from agentgauge.core.chat import ChatModel
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.batch.counts import FILE, FORM, NONE, Counts
from agentgauge.plugins.batch.journal import FILE as JOURNAL
from agentgauge.plugins.batch.model import BatchModel
from agentgauge.plugins.batch.providers import FORMATS
from agentgauge.run.coordination.numbers import Numbers
from agentgauge.run.part import Part, Process


class BatchPart(Part):
    def __init__(self, process: Process) -> None:
        self._process = process
        self._models: list[BatchModel] = []
        self._numbers = Numbers(process.folder.path / FILE, FORM, process.place.number)

    def model(self, name: str, spec: ModelSpec | None, role: str) -> ChatModel | None:
        """None where the provider has no batches: models of roles may have other providers."""
        if spec is None or spec.provider not in FORMATS:
            return None
        journal, most = self._process.folder.path / JOURNAL, self._process.settings.slots
        requests = self._process.requests
        self._models.append(BatchModel(spec, FORMATS[spec.provider], journal, most=most, requests=requests))
        return self._models[-1]

    def note(self) -> None:
        self._numbers.write(*Counts.sum(model.counts for model in self._models))

    def stop(self) -> None:
        for model in self._models:
            model.stop()

    async def close(self) -> None:
        self._numbers.write(*NONE)
