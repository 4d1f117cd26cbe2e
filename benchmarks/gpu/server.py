"""The memory of a tool server, by the number of its callers and of the processes that they belong to."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from benchmarks.gpu.answers import Speech, Vision
from benchmarks.gpu.detectors import Shapes
from benchmarks.gpu.notes import Load, Memory, Notes, NotThere
from benchmarks.gpu.subject import BATCH, ToolSubject
from benchmarks.memory import MB, below, kib
from benchmarks.tool_server import tool_server
from tool_impls.devices import CPU, kind

LOADS = ((1, 1), (1, 32), (8, 32))  # processes, callers of all of them together
SECONDS = 5.0
SMALL_LOADS, SMALL_SECONDS = ((1, 1), (2, 4)), 0.2
EVERY = 0.02  # seconds between two looks at the memory


def measure(folder: Path, device: str, small: bool, notes: Notes) -> None:
    """``folder``: of all parts, whose weights are used again."""
    files = _prepared(folder, not small)
    tables = "".join(_table(*item) for subject, _ in files.values() for item in subject.tables(BATCH).items())
    settings = folder / "server" / "settings.toml"
    settings.write_text(f'[tools]\ndevices = "{device}"\n{tables}')
    used = _gpu_memory(device) if kind(device) != CPU else None
    arguments = ("--settings", str(settings), "--tools", ",".join(files), "--preload")
    start = time.perf_counter()
    with tool_server(settings.parent, *arguments) as server:
        _wait_until_ready(server.url)
        notes.add(Load("tool server, all models", device, BATCH, time.perf_counter() - start))
        looks = used or (lambda: sum(kib("VmRSS", pid) for pid in below(server.pid)) * MB)
        named = [f"{name}={file}" for name, (_, file) in files.items()]
        for processes, callers in SMALL_LOADS if small else LOADS:
            seconds = SMALL_SECONDS if small else SECONDS
            words = [server.url, str(settings.parent), str(callers // processes), str(seconds), *named]
            peak, rate = _under_load(words, processes, looks)
            notes.add(Memory(processes, callers, peak, rate))


def _prepared(folder: Path, full: bool) -> Mapping[str, tuple[ToolSubject, Path]]:
    """By tool its model and a file for its calls; only of models that are there."""
    found: dict[str, tuple[ToolSubject, Path]] = {}
    shapes, vision, speech = (
        kind_(folder / name, full) for kind_, name in ((Shapes, "detection"), (Vision, "vision"), (Speech, "speech"))
    )
    for subject in (shapes, vision, speech):
        try:
            if not (subject.folder / "weights").exists():
                subject.folder.mkdir(exist_ok=True)
                subject.make()
        except NotThere:
            continue
        if subject is speech and find_spec("av") is None:
            continue  # the server reads sound files with it
        name = subject.kind().meta.name
        file = folder / "server" / f"{name}.png"
        if isinstance(subject, Speech):
            file = subject.sound(0)
        else:
            subject.images[0].save(file)
        found[name] = (subject, file)
    return found


def _table(name: str, values: Mapping[str, object]) -> str:
    lines = [
        f"{key} = {value if isinstance(value, int) else chr(34) + str(value) + chr(34)}"
        for key, value in values.items()
    ]
    return "\n".join([f"[tools.{name}]", *lines, ""])


def _wait_until_ready(url: str) -> None:
    """For as long as the part may take. Raises RuntimeError where a model does not load."""
    while True:
        try:
            with urllib.request.urlopen(f"{url}/ready", timeout=5):
                return
        except urllib.error.HTTPError:
            time.sleep(0.05)


def _under_load(words: list[str], processes: int, looks: Callable[[], float]) -> tuple[float, float]:
    """The peak of what ``looks`` gives while clients call, and calls a second."""
    command = [sys.executable, "-m", "benchmarks.gpu.client", *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as ended:
        clients = [ended.enter_context(subprocess.Popen(command, **pipes)) for _ in range(processes)]  # type: ignore[call-overload]
        if not all(client.stdout.readline() for client in clients):
            raise RuntimeError("a client of the tool server ended before its first calls were answered")
        stop, peaks = threading.Event(), [looks()]

        def watch() -> None:
            while not stop.wait(EVERY):
                peaks.append(looks())

        watching = threading.Thread(target=watch)
        watching.start()
        start = time.perf_counter()
        for client in clients:
            client.stdin.write("\n")
            client.stdin.flush()
        done = sum(int(client.stdout.readline() or 0) for client in clients)
        seconds = time.perf_counter() - start
        stop.set()
        watching.join()
    return max(peaks), done / seconds


def _gpu_memory(device: str) -> Callable[[], float]:
    """MB of a GPU that are used now and were not before this call, by whatever process."""
    import torch

    def used() -> float:
        free, total = torch.cuda.mem_get_info(device)
        return (total - free) / 1e6

    before = used()
    return lambda: used() - before
