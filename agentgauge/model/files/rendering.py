"""Renders untrusted pictures and PDF pages in the sandbox, because their decoders can be attacked. Needs Pillow and
pypdfium2."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

from agentgauge import sandbox
from agentgauge.core import pictures
from agentgauge.core.errors import UsageProblem
from agentgauge.model.files.references import digest
from agentgauge.sandbox.paths import package_folders

MAX_PAGES = 20

T = TypeVar("T")

_CHILD = Path(__file__).with_name("rendering_child.py")
_PICTURES = Path(pictures.__file__)
_LIMITS = sandbox.SandboxLimits(wall_seconds=60, memory_bytes=2 << 30, output_bytes=64 << 20)
_PACKAGES = ("PIL", "pypdfium2")
_KEPT = 64  # files whose rendering is cached


@dataclass(frozen=True, slots=True)
class RenderedPicture:
    content: bytes
    media: str  # image/png, image/jpeg, image/gif or image/webp


@dataclass(frozen=True, slots=True)
class Pages:
    """A PDF: its number of pages, and the pages that could be drawn, in order."""

    total: int
    drawn: tuple[RenderedPicture, ...]


class SharedTasks(Generic[T]):
    """Runs one task for each key, whose result all callers get. A task that failed is started again by the next.

    ``most``: results that are kept; None: all.
    """

    def __init__(self, most: int | None = None) -> None:
        self._tasks: OrderedDict[object, asyncio.Task[T]] = OrderedDict()
        self._most = most

    async def result(self, key: object, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(start())
            if self._most is not None and len(self._tasks) > self._most:
                self._tasks.popitem(last=False)
        self._tasks.move_to_end(key)
        try:
            # A cancelled caller must not cancel the task for the others.
            return await asyncio.shield(task)
        except Exception:
            if self._tasks.get(key) is task:
                del self._tasks[key]
            raise

    async def cancel(self) -> list[T]:
        """Cancel all tasks. Returns the results of the finished ones."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


class FileRenderer:
    """Caches by content. Belongs to one event loop; concurrent requests for one file render it once."""

    def __init__(self) -> None:
        self._rendered: SharedTasks[list[Mapping[str, Any]]] = SharedTasks(_KEPT)
        self._slots = asyncio.Semaphore(2)  # each may take the memory that the limits give

    async def picture(self, content: bytes) -> RenderedPicture | None:
        """The picture itself if it is complete and endpoints accept it. A picture that is too large, animated or of
        another format is drawn again as JPEG of at most 2048 pixels a side. None if it is no picture, or declares too
        many pixels. Raises Fault, UsageProblem."""
        for line in await self._lines("picture", content):
            if line.get("fits") in ("image/png", "image/jpeg", "image/gif", "image/webp"):
                return RenderedPicture(content, line["fits"])
            return _jpeg(line)
        return None

    async def pages(self, content: bytes, *, limit: int = MAX_PAGES) -> Pages | None:
        """The first ``limit`` pages, 1000 pixels wide (less for very tall ones); None if it is no PDF that opens.
        ``limit`` 0 draws none. Raises Fault, UsageProblem."""
        if b"%PDF" not in content[:1024]:
            return None
        lines = await self._lines("pages", content, limit)
        total = lines[0].get("pages") if lines else None
        if not isinstance(total, int) or total < 1:
            return None
        return Pages(total, tuple(picture for line in lines[1 : limit + 1] if (picture := _jpeg(line))))

    async def _lines(self, kind: str, content: bytes, limit: int = 0) -> list[Mapping[str, Any]]:
        key = (kind, limit, digest(content))
        return await self._rendered.result(key, lambda: self._run(kind, content, limit))

    async def _run(self, kind: str, content: bytes, limit: int) -> list[Mapping[str, Any]]:
        order = {"kind": kind, "path": package_folders(), "pages": limit, "pictures": str(_PICTURES)}
        _check_packages()
        async with self._slots:
            with sandbox.scratch_folder() as folder:
                result = await sandbox.run_async(
                    [sys.executable, "-I", "-S", "-c", _CHILD.read_text("utf-8"), json.dumps(order)],
                    folder=folder,
                    limits=_LIMITS,
                    stdin=content,
                    readable=(_PICTURES,),
                )
        # However the program ended, the lines that it has printed are good.
        return [line for text in result.stdout.split("\n") if (line := _parsed(text)) is not None]


def _check_packages() -> None:
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        names = {"PIL": "pillow"}
        raise UsageProblem(
            f"showing files to a model needs {' and '.join(names.get(name, name) for name in missing)}; pip install"
            " 'agentgauge[tools]'"
        )


def _parsed(text: str) -> Mapping[str, Any] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _jpeg(line: Mapping[str, Any]) -> RenderedPicture | None:
    try:
        content = base64.b64decode(line.get("jpeg") or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        return None
    return RenderedPicture(content, "image/jpeg") if content.startswith(b"\xff\xd8\xff") else None
