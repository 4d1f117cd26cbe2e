"""A worker process: takes calls of tools from ``tool_impls.server.worker_pool`` on stdin, and answers on stdout.

Every message has a head of two lengths (bytes of JSON, bytes of body), the JSON and the body. The first message from
the server is a pickled ``WorkerSpec``. The process ends when its stdin does, so it never outlives its server.
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
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from agentgauge.core.service_process import end_with_parent
from tool_impls import batching
from tool_impls.devices import loss
from tool_impls.server.call import Answer, Call, ToolRunner, failure
from tool_impls.settings import ToolSettings

HEAD = struct.Struct(">II")

LOST = 86
"""Exit status of a process that can no longer use its GPU. Its last message says why."""


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """The settings that a worker process needs when it starts."""

    settings: ToolSettings
    tools: tuple[str, ...]
    extras: tuple[Path, ...]  # files with further tool classes
    device: str  # cpu, cpu:1, cuda:0
    root: Path | None
    scratch: Path  # where temporary files go: a process that is ended removes none, its server does
    confined: bool = False  # see BenchTool
    threads: int | None = None  # that a numerical library takes, unless the user says otherwise; None: as it chooses


def pack(head: Any, body: int = 0) -> bytes:
    """The head and the JSON of a message, which come before ``body`` bytes."""
    text = json.dumps(head).encode()
    return HEAD.pack(len(text), body) + text


def _read_message(stream: IO[bytes]) -> bytes | None:
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


def _runner(spec: WorkerSpec, channel: _Channel) -> ToolRunner:
    """What runs the calls, after the process has given up what its tools do not need."""
    from tool_impls import registry
    from tool_impls.server.confinement import confine, paths_of

    for extra in spec.extras:
        registry.add(extra)
    if spec.confined:
        given = [spec.root] if spec.root else []
        read = map(str, (*spec.extras, *given, *paths_of(spec.settings, spec.tools)))
        channel.send({"confinement": confine(read, [str(spec.scratch)])})
    kinds = [registry.TOOLS[name] for name in spec.tools]
    return ToolRunner([kind(spec.settings) for kind in kinds], device=spec.device, root=spec.root)


def _work(runner: ToolRunner, channel: _Channel, number: int, order: dict[str, Any]) -> None:
    """Load a tool or run a call, and answer; end the process where it has lost its GPU."""
    try:
        if "load" in order:
            runner.load(order["load"])
            answer = Answer(200, b"true")
        else:
            begun, loaded = {"id": number, "begun": True}, {"id": number, "loaded": True}
            answer = runner.run(Call(**order), lambda: channel.send(begun), lambda: channel.send(loaded))
    except BaseException as error:  # the server waits for an answer even where a library calls sys.exit()
        if lost := loss(error):
            channel.send({"lost": lost})
            os._exit(LOST)
        ended = f"{order['tool']} tried to end its process: {error!r}" if "tool" in order else str(error)
        answer = failure(500, ended)
    sizes = []
    with suppress(IndexError):  # another thread may have been quicker
        while True:
            sizes.append(batching.SIZES.popleft())
    head = {"status": answer.status, "names": answer.names, "raw": answer.raw}
    channel.send({"id": number, "batches": sizes, **head, "note": answer.note}, answer.body)


def main() -> None:
    end_with_parent()
    channel = _Channel()
    stream = sys.stdin.buffer
    first = _read_message(stream)
    if first is None:
        return
    spec: WorkerSpec = pickle.loads(first)  # from the server that started this process
    tempfile.tempdir = os.environ["TMPDIR"] = str(spec.scratch)  # here, and in the processes that it starts
    runner = _runner(spec, channel)
    # for all calls that the server sends, and the loads: none that waits for its turn keeps another one waiting
    pool = ThreadPoolExecutor(2 * runner.concurrency, thread_name_prefix="tool")
    while (message := _read_message(stream)) is not None:
        order = json.loads(message)
        pool.submit(_work, runner, channel, order.pop("id"), order)
    os._exit(0)  # calls in the middle of their work have no server to answer


if __name__ == "__main__":
    main()
