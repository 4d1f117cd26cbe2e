"""A process that works on calls of tools. Started by ``tool_impls.server.worker_pool``; reads orders from stdin, writes
answers to stdout.

Every message has a head of two lengths (bytes of JSON, bytes of body), the JSON and the body. The first message from
the server is not JSON but a pickled ``Start``. The process ends when its stdin does, so it never outlives its server.
"""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import struct
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

from agentgauge.core.service_process import end_with_parent
from tool_impls import batching
from tool_impls.server.call import Answer, Order, Workbench, failure
from tool_impls.settings import ToolSettings

ORDER = tuple(field.name for field in fields(Order))
GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""One of these is there where torch can find a GPU: of NVIDIA, of AMD, and under WSL."""

HEAD = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class Start:
    """What a worker process is for."""

    settings: ToolSettings
    tools: tuple[str, ...]
    extras: tuple[str, ...]  # files with further tool classes
    device: str  # auto: cuda:0 where torch finds one
    root: str | None
    scratch: str  # where temporary files go: a process that is ended removes none, its server does
    confined: bool = False  # see BenchTool


def pack(head: Any, body: int = 0) -> bytes:
    """What comes before ``body`` bytes."""
    text = json.dumps(head).encode()
    return HEAD.pack(len(text), body) + text


def _read(stream: IO[bytes]) -> bytes | None:
    """The JSON of the next message; None at the end."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    length, _ = HEAD.unpack(head)
    return stream.read(length)


class _Channel:
    """The way back to the server, shared by threads."""

    def __init__(self) -> None:
        # Whatever a library prints must not get between the messages.
        self._file = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        with suppress(OSError):  # as much as the system allows: a picture goes through in one piece
            fcntl.fcntl(self._file, fcntl.F_SETPIPE_SZ, 2**20)
        self._lock = threading.Lock()

    def send(self, head: Any, body: bytes = b"") -> None:
        with self._lock:
            self._file.write(pack(head, len(body)))
            self._file.write(body)  # a picture is not copied
            self._file.flush()


def _device(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    if not any(Path(name).exists() for name in GPUS):
        return "cpu"  # importing torch to ask takes seconds
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"  # tools that need it say so; speech does without
    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _bench(start: Start) -> Workbench:
    from tool_impls import registry

    kinds = [registry.TOOLS[name] for name in start.tools]
    loads = any(kind.on_device(start.settings) for kind in kinds)
    return Workbench(
        [kind(start.settings) for kind in kinds],
        device=_device(start.device) if loads else "cpu",
        root=Path(start.root) if start.root else None,
    )


def _add_extras(start: Start) -> None:
    from tool_impls import registry

    for extra in start.extras:
        registry.add(Path(extra))


def _confine(start: Start) -> str:
    from tool_impls.server.confinement import confine, paths_of

    given = [start.root] if start.root else []
    return confine([*start.extras, *given, *paths_of(start.settings, start.tools)], [start.scratch])


def _work(bench: Workbench, channel: _Channel, number: int, order: Order) -> None:
    try:
        answer = bench.perform(order, lambda: channel.send({"id": number, "begun": True}))
    except BaseException as error:  # sys.exit() of a library: somebody waits for an answer
        answer = failure(500, f"{order.tool} tried to end its process: {error!r}")
    _answer(channel, number, answer)


def _load(bench: Workbench, channel: _Channel, number: int, name: str) -> None:
    try:
        bench.load(name)
        answer = Answer(200, b"true")
    except BaseException as error:  # told by whoever asked for it
        answer = failure(500, str(error))
    _answer(channel, number, answer)


def _answer(channel: _Channel, number: int, answer: Answer) -> None:
    sizes = []
    with suppress(IndexError):  # another thread may have been quicker
        while True:
            sizes.append(batching.SIZES.popleft())
    channel.send(
        {"id": number, "status": answer.status, "names": answer.names, "raw": answer.raw, "batches": sizes}, answer.body
    )


def main() -> None:
    end_with_parent()
    channel = _Channel()
    stream = sys.stdin.buffer
    first = _read(stream)
    if first is None:
        return
    start: Start = pickle.loads(first)  # from the server that started this process, nobody else
    os.environ["TMPDIR"] = start.scratch  # of the processes that it starts
    tempfile.tempdir = start.scratch
    _add_extras(start)
    if start.confined:
        channel.send({"confinement": _confine(start)})
    bench = _bench(start)
    pool = ThreadPoolExecutor(64, thread_name_prefix="tool")  # the server keeps to each tool's own number
    while (message := _read(stream)) is not None:
        data = json.loads(message)
        if "load" in data:
            pool.submit(_load, bench, channel, data["id"], data["load"])
        else:
            pool.submit(_work, bench, channel, data["id"], Order(**{name: data[name] for name in ORDER}))
    os._exit(0)  # calls in the middle of their work have nobody to answer


if __name__ == "__main__":
    main()
