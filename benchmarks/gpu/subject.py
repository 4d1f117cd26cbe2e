"""What a measured model is: how its weights are made, how its tool is loaded and called, and how answers compare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.gpu.notes import Check
from tool_impls.base import BenchTool
from tool_impls.settings import ToolSettings

SURE = 0.9999
"""Least cosine of vectors in single precision."""

HALF = 0.99
"""Least cosine of vectors in half precision, which large models have on a GPU."""

INPUTS = 8
"""Different inputs of a model; calls take them in turn."""

BATCH = 16
"""Most calls that go through a model at once, where they do not go one by one."""


class Subject(ABC):
    """One model. ``folder``: for its weights and inputs. ``full``: in the size of a published one."""

    name: ClassVar[str]
    rated: ClassVar[bool] = True  # whether calls a second are measured, together and one by one

    def __init__(self, folder: Path, full: bool) -> None:
        self.folder, self.full = folder, full

    def make(self) -> None:  # noqa: B027 - some weights are there
        """Make the weights. Raises NotThere where something is missing."""

    @abstractmethod
    def loaded(self, device: str, batch: int) -> Any:
        """A context with what takes calls, at most ``batch`` of them at once."""

    @abstractmethod
    def call(self, tool: Any, number: int) -> Any:
        """The result of one call, as a run gets it."""

    @abstractmethod
    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        """The tool on the processor against that on the other device, one call at a time."""

    @abstractmethod
    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        """Results of calls one by one against those of the same calls at the same time."""


class ToolSubject(Subject):
    """A model of one of our tools."""

    @abstractmethod
    def kind(self) -> type[BenchTool]: ...

    @abstractmethod
    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        """The tables of [tools] that name the weights."""

    @contextmanager
    def loaded(self, device: str, batch: int) -> Iterator[Any]:
        tool = self.kind()(ToolSettings(tables=self.tables(batch), released=False))
        tool.setup(device)
        yield tool


def texts_alike(name: str, alone: Sequence[str], together: Sequence[str], least: float | None) -> Check:
    """``least``: share of texts that must be equal. None where the weights are random and precision is half: then
    rounding decides between words that are all but equally probable."""
    equal = sum(ours == theirs for ours, theirs in zip(alone, together, strict=True))
    return Check(name, "calls together and one by one: share of equal texts", equal / len(alone), least=least)
