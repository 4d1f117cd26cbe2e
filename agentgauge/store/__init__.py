"""Run folders: what a run writes, and how it is read back."""

from agentgauge.store.folder import RunFolder
from agentgauge.store.jsonl import Line, plain

__all__ = ["Line", "RunFolder", "plain"]
