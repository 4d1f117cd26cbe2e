"""Run folders: what a run writes, and how it is read back."""

from harness.store.folder import Line, RunFolder

__all__ = ["Line", "RunFolder"]
