"""Run folders: what a run writes, and how it is read back."""

from harness.store.folder import RunFolder, merge

__all__ = ["RunFolder", "merge"]
