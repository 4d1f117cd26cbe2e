"""Cases that wait for a tool server that is starting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.tools import Tool, ToolBox, ToolOutput


class PendingToolBox:
    """A tool box whose server may still be starting. Counts the cases that wait for it: they use no slot."""

    def __init__(self, box: ToolBox, on_change: Callable[[], object]) -> None:
        self._box = box
        self._on_change = on_change
        self._is_there = False
        self._was_waited_for = False
        self.waiting = 0

    @property
    def takes_more(self) -> bool:
        """Whether one more case may begin. The first case, or a few that begin together, waits for the server; after
        that every case may begin. If the server never starts, each case reports it."""
        return self._was_waited_for or not self.waiting

    async def catalog(self) -> Mapping[str, Tool]:
        if self._is_there:
            return await self._box.catalog()
        self.waiting += 1
        self._on_change()
        try:
            found = await self._box.catalog()
            self._is_there = True
        finally:
            self.waiting -= 1
            self._was_waited_for = True
            self._on_change()
        return found

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        return await self._box.call(name, arguments, folder=folder, readable=readable)

    async def close(self) -> None:
        await self._box.close()
