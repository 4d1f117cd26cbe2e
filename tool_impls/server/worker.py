"""A worker process: takes calls of tools from ``tool_impls.server.worker_pool`` on stdin, and answers on stdout.

Every message has a head of two lengths (bytes of JSON, bytes of body), the JSON and the body. The first message from
the server is a pickled ``WorkerSpec``. The process ends when its stdin does, so it never outlives its server.

Libraries that parse documents, sound and video have defects that a hostile file can use. A process whose tools only
read files gets a small environment; it gives up the network, other programs and processes, and all files but those that
it needs, before it sees a file.
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
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from agentgauge.core.files import expanded_if_known
from agentgauge.core.processes import end_with_parent
from agentgauge.sandbox.inner import linux
from agentgauge.sandbox.paths import HIDDEN, view
from tool_impls import registry
from tool_impls.devices import SIZES, loss
from tool_impls.fonts import FOLDERS
from tool_impls.server.calls import CallAnswer, QueuedCall, ToolRunner, failure
from tool_impls.settings import ToolSettings

_KEPT = """
PATH HOME USER LANG LANGUAGE LC_ALL LC_CTYPE TZ TMPDIR LD_LIBRARY_PATH
PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONUTF8 PYTHONHASHSEED PYTHONWARNINGS VIRTUAL_ENV
XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME NUMBA_CACHE_DIR MPLCONFIGDIR YOLO_CONFIG_DIR
HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE HF_ENDPOINT TRANSFORMERS_OFFLINE TORCH_HOME
OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS NUMBA_NUM_THREADS TOKENIZERS_PARALLELISM
CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_HOME CUDA_PATH CUDA_CACHE_PATH CUDA_MODULE_LOADING
NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES
PYTORCH_CUDA_ALLOC_CONF CUBLAS_WORKSPACE_CONFIG
"""
"""Variables that the interpreter and the libraries read: paths, languages, threads, devices."""

_OF_THE_NETWORK = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE"
"""For processes of tools that may ask a service. A proxy's address may hold a password."""

_DATA = "/etc/fonts /etc/localtime /etc/mime.types /usr/share /usr/local/share /proc/self /sys/devices/system/cpu"
"""What libraries look up: fonts, time zones, kinds of files, the number of processors."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_ROOT = Path(__file__).parents[2]


def environment(settings: ToolSettings, tools: Iterable[str]) -> dict[str, str]:
    """The environment variables for a process of these tools. Only keys of services that the tools are configured to
    use are among them.
    """
    kinds = [registry.TOOLS[name] for name in tools if name in registry.TOOLS]
    wanted = {HIDDEN, *_KEPT.split()}
    if not kinds or not all(kind.confined and not kind.on_device(settings) for kind in kinds):
        wanted |= {*_OF_THE_NETWORK.split(), *_OF_THE_NETWORK.lower().split()}
    for kind in kinds:
        wanted |= set(kind.variables)
        for table in (settings.tables.get(name, {}) for name in kind.tables):
            wanted |= {str(table["key_env"])} if table.get("key_env") else set()
            wanted |= {"HF_TOKEN"} if table.get("allow_download") else set()
    return {name: value for name, value in os.environ.items() if name in wanted}


def confine(read: Iterable[str], write: Iterable[str]) -> str:
    """Give up all rights that tools do not need to read files, for this process and for good. Call it before threads
    start.

    ``read``: files and folders that stay readable beside the interpreter, its packages and fonts; ``write``: folders.
    Returns the layers in force, and the reason for each that is missing.
    """
    if sys.platform != "linux":
        return f"not confined: {sys.platform} has no seccomp and no Landlock"
    os.environ["JOBLIB_MULTIPROCESSING"] = "0"  # else it warns that it has no semaphores
    missing, found = [], ["no_new_privs"]
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if os.geteuid() == 0:
        linux.drop_capabilities()
        found.append("no_capabilities")
    fonts = (str(expanded_if_known(folder)) for folder in FOLDERS)
    seen = view([*read, *_DATA.split(), *fonts, *(str(_ROOT / name) for name in ("agentgauge", "tool_impls"))])
    # The first takes the right to execute anything, which the second would leave.
    if linux.restrict_files((), (), ("/",), ()) and linux.restrict_files(seen.readable, seen.listed, write, _DEVICES):
        found.append("landlock")
    else:
        missing.append("this kernel has no Landlock, so it may read and write the user's files")
    if linux.restrict_calls(alone=True, network=False, counted=False):
        found.append("seccomp")
    else:
        missing.append("seccomp cannot be used here, so it may use the network and start processes")
    return ", ".join(found) + "".join(f"; not fully confined: {reason}" for reason in missing)


def paths_of(settings: ToolSettings, tools: Iterable[str]) -> list[str]:
    """The files and folders that the options of tools name, such as fonts."""
    named = ((name, option) for name in tools for option in registry.TOOLS[name].options if option.kind == "path")
    return [str(path) for name, option in named if (path := settings.value(name, option))]


# -- the process


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


class _AnswerPipe:
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


def _runner(spec: WorkerSpec, channel: _AnswerPipe) -> ToolRunner:
    """What runs the calls, after the process has given up what its tools do not need."""
    for extra in spec.extras:
        registry.add(extra)
    if spec.confined:
        given = [spec.root] if spec.root else []
        read = map(str, (*spec.extras, *given, *paths_of(spec.settings, spec.tools)))
        channel.send({"confinement": confine(read, [str(spec.scratch)])})
    kinds = [registry.TOOLS[name] for name in spec.tools]
    return ToolRunner([kind(spec.settings) for kind in kinds], device=spec.device, root=spec.root)


def _work(runner: ToolRunner, channel: _AnswerPipe, number: int, order: dict[str, Any]) -> None:
    """Load a tool or run a call, and answer; end the process where it has lost its GPU."""
    try:
        if "load" in order:
            runner.load(order["load"])
            answer = CallAnswer(200, b"true")
        else:
            begun, loaded = {"id": number, "begun": True}, {"id": number, "loaded": True}
            answer = runner.run(QueuedCall(**order), lambda: channel.send(begun), lambda: channel.send(loaded))
    except BaseException as error:  # the server waits for an answer even where a library calls sys.exit()
        if lost := loss(error):
            channel.send({"lost": lost})
            os._exit(LOST)
        ended = f"{order['tool']} tried to end its process: {error!r}" if "tool" in order else str(error)
        answer = failure(500, ended)
    sizes = []
    with suppress(IndexError):  # another thread may have been quicker
        while True:
            sizes.append(SIZES.popleft())
    head = {"status": answer.status, "names": answer.names, "raw": answer.raw}
    channel.send({"id": number, "batches": sizes, **head, "note": answer.note}, answer.body)


def main() -> None:
    end_with_parent()
    channel = _AnswerPipe()
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
