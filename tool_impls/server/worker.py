"""A worker process: runs calls of tools. ``tool_impls.server.worker_pool`` starts it, writes calls to its stdin and
reads answers from its stdout.

Every message has a head of two lengths (bytes of JSON, bytes of body), the JSON and the body. The first message from
the server is not JSON but a pickled ``WorkerSpec``. The process ends when its stdin does, so it never outlives its
server.
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
from tool_impls.server.call import Answer, Call, ToolRunner, failure
from tool_impls.settings import ToolSettings

CALL_FIELDS = tuple(field.name for field in fields(Call))
GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""One of these is there where torch can find a GPU: of NVIDIA, of AMD, and under WSL."""

HEAD = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What a worker process needs to know when it starts."""

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


def _device(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    if not any(Path(name).exists() for name in GPUS):
        return "cpu"  # importing torch to ask takes seconds
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"  # tools that need torch are unavailable without it; speech does not need it
    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _runner(spec: WorkerSpec) -> ToolRunner:
    from tool_impls import registry

    kinds = [registry.TOOLS[name] for name in spec.tools]
    loads = any(kind.on_device(spec.settings) for kind in kinds)
    return ToolRunner(
        [kind(spec.settings) for kind in kinds],
        device=_device(spec.device) if loads else "cpu",
        root=Path(spec.root) if spec.root else None,
    )


def _add_extras(spec: WorkerSpec) -> None:
    from tool_impls import registry

    for extra in spec.extras:
        registry.add(Path(extra))


def _confine(spec: WorkerSpec) -> str:
    from tool_impls.server.confinement import confine, paths_of

    given = [spec.root] if spec.root else []
    return confine([*spec.extras, *given, *paths_of(spec.settings, spec.tools)], [spec.scratch])


def _run(runner: ToolRunner, channel: _Channel, number: int, call: Call) -> None:
    try:
        answer = runner.run(call, lambda: channel.send({"id": number, "begun": True}))
    except BaseException as error:  # sys.exit() of a library: the server waits for an answer
        answer = failure(500, f"{call.tool} tried to end its process: {error!r}")
    _answer(channel, number, answer)


def _load(runner: ToolRunner, channel: _Channel, number: int, name: str) -> None:
    try:
        runner.load(name)
        answer = Answer(200, b"true")
    except BaseException as error:  # the server reports it
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
    first = _read_message(stream)
    if first is None:
        return
    spec: WorkerSpec = pickle.loads(first)  # from the server that started this process
    os.environ["TMPDIR"] = spec.scratch  # of the processes that it starts
    tempfile.tempdir = spec.scratch
    _add_extras(spec)
    if spec.confined:
        channel.send({"confinement": _confine(spec)})
    runner = _runner(spec)
    pool = ThreadPoolExecutor(64, thread_name_prefix="tool")  # the server keeps to each tool's own number
    while (message := _read_message(stream)) is not None:
        data = json.loads(message)
        if "load" in data:
            pool.submit(_load, runner, channel, data["id"], data["load"])
        else:
            pool.submit(_run, runner, channel, data["id"], Call(**{name: data[name] for name in CALL_FIELDS}))
    os._exit(0)  # calls in the middle of their work have no server to answer


if __name__ == "__main__":
    main()
