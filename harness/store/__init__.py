"""Run folders: what a run writes, and how it is read back."""

from harness.store.folder import RunFolder
from harness.store.lines import Line, plain

__all__ = ["Line", "RunFolder", "plain"]
