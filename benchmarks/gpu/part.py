"""One part of the measurement in a process of its own: ``python -m benchmarks.gpu.part NAME ...``.

It notes what it has measured line by line, so that a part that is stopped keeps that. Its exit status is 0 if all was
measured, NOT_THERE if something is missing, which its last line names.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.gpu import models
from benchmarks.gpu.__main__ import NOT_THERE, ROOT, reason
from benchmarks.measure import MB, below, kib, tool_server
from tool_impls.devices import CPU, kind
from tool_impls.server.client import ToolServerBox


@dataclass
class Notes:
    """Writes notes to a file, one JSON object a line, and shows them. ``full``: sizes and numbers as published, not
    those of a dry run."""

    path: Path
    device: str
    full: bool

    def add(self, kind: str, **values: Any) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"kind": kind, **values}) + "\n")
        told = (
            f"{name} {value:.5g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()
        )
        print(f"  {kind}: {', '.join(told)}", flush=True)

    def load(self, model: str, device: str, batch: int, seconds: float) -> None:
        self.add("loads", model=model, device=device, batch=batch, seconds=seconds)

    def rate(self, model: str, device: str, callers: int, batch: int, rate: float) -> None:
        self.add("rates", model=model, device=device, callers=callers, batch=batch, rate=rate)


def model(subject: models.Model, notes: Notes) -> None:
    """Load it on the processor and on the device, compare the answers, count calls."""
    with all_threads():
        subject.make()
    few, many, seconds = (8, 2 * models.BATCH, 1.5) if notes.full else (2, 3, 0.05)
    with ExitStack() as open_tools, ThreadPoolExecutor() as pool:

        def load(place: tuple[str, int]) -> Any:
            device, batch = place
            start = time.perf_counter()
            tool = open_tools.enter_context(subject.loaded(device, batch))
            if batch == 1:  # once for each device
                notes.load(subject.name, device, batch, time.perf_counter() - start)
            return tool

        places = ((CPU, 1), (notes.device, 1), (notes.device, models.BATCH))
        ours, alone, batched = (pool.map if subject.apart else map)(load, places)
        for check in subject.compare(ours, alone):
            notes.add("checks", **vars(check), met=check.met)
        notes.rate(subject.name, CPU, 1, 1, rate(lambda number: subject.call(ours, number), 1, seconds))
        # the first call goes alone, the others wait for it and are a full batch
        numbers = range(1 + models.BATCH if notes.full else models.INPUTS)
        singly = [subject.call(alone, number) for number in numbers]
        check = subject.alike(singly, together(lambda number: subject.call(batched, number), numbers))
        notes.add("checks", **vars(check), met=check.met)
        for callers in (1, few):
            found = rate(lambda number: subject.call(alone, number), callers, seconds)
            notes.rate(subject.name, notes.device, callers, 1, found)
        for _ in range(2):  # a GPU chooses and loads its programs by the size of a batch: only the second time counts
            found = rate(lambda number: subject.call(batched, number), many, seconds)
        notes.rate(subject.name, notes.device, many, models.BATCH, found)


@contextmanager
def all_threads() -> Iterator[None]:
    """Afterwards torch works with as many threads as before: models are made with one, as those of the tests are."""
    import torch

    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def together(call: Callable[[int], Any], numbers: Sequence[int]) -> list[Any]:
    """The results of calls that begin at the same time, in their order."""
    gate = threading.Barrier(len(numbers))

    def one(number: int) -> Any:
        gate.wait()
        return call(number)

    with ThreadPoolExecutor(len(numbers)) as pool:
        return list(pool.map(one, numbers))


def rate(call: Callable[[int], Any], callers: int, seconds: float) -> float:
    """Calls a second. Each caller begins its next call when it has the result of the last, until the time is over."""
    numbers = count()
    start = time.perf_counter()

    def calls(_: int) -> int:
        done = 0
        while not done or time.perf_counter() - start < seconds:
            call(next(numbers))
            done += 1
        return done

    done = sum(together(calls, range(callers)))
    return done / (time.perf_counter() - start)


# -- the memory of a tool server, by the number of its callers


def server(folder: Path, notes: Notes) -> None:
    """``folder``: of all parts, whose weights are used again."""
    files = _prepared(folder, notes.full)
    lines = [f'[tools]\ndevices = "{notes.device}"']
    for subject, _ in files.values():
        for name, values in subject.tables(models.BATCH).items():
            lines += [f"[tools.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    settings = folder / "server" / "settings.toml"
    settings.write_text("\n".join(lines))
    used = _gpu_memory(notes.device) if kind(notes.device) != CPU else None
    arguments = ("--settings", str(settings), "--tools", ",".join(files), "--preload")
    start = time.perf_counter()
    with tool_server(settings.parent, *arguments) as (url, pid):
        _wait_until_ready(url)
        notes.load("tool server, all models", notes.device, models.BATCH, time.perf_counter() - start)
        looks = used or (lambda: sum(kib("VmRSS", each) for each in below(pid)) * MB)
        inputs = {name: file for name, (_, file) in files.items()}
        for callers, seconds in ((1, 5.0), (32, 5.0)) if notes.full else ((1, 0.2), (4, 0.2)):
            peak, found = asyncio.run(_under_load(url, settings.parent, inputs, callers, seconds, looks))
            notes.add("memory", callers=callers, mb=peak, rate=found)


def _prepared(folder: Path, full: bool) -> Mapping[str, tuple[models.ToolModel, Path]]:
    """By tool its model and a file for its calls; only of models that are there."""
    found: dict[str, tuple[models.ToolModel, Path]] = {}
    for name, make in (("detection", models.Shapes), ("vision", models.Vision), ("speech", models.Speech)):
        subject: models.ToolModel = make(folder / name, full)
        try:
            subject.made()
        except models.NotThere:
            continue
        if isinstance(subject, models.Speech) and find_spec("av") is None:
            continue  # the server reads sound files with it
        found[subject.tool] = (subject, subject.file(folder / "server" / subject.tool))
    return found


def _wait_until_ready(url: str) -> None:
    """For as long as the part may take. Raises HTTPError if a model does not load."""
    while True:
        try:
            with urllib.request.urlopen(f"{url}/ready", timeout=5):
                return
        except urllib.error.HTTPError:
            time.sleep(0.05)


async def _under_load(
    url: str, folder: Path, files: Mapping[str, Path], callers: int, seconds: float, looks: Callable[[], float]
) -> tuple[float, float]:
    """The peak of what ``looks`` gives while callers call the tools in turn, and calls a second."""
    box, names, peaks = ToolServerBox(url), list(files), [looks()]
    more = {"TextToBbox": {"text": "circle"}}

    async def one(name: str) -> None:
        key = "audio" if name == "SpeechToText" else "image"
        arguments = {key: str(files[name]), **more.get(name, {})}
        await box.call(name, arguments, folder=folder, readable=[files[name].parent])

    async def caller(first: int) -> int:
        done = 0
        while not done or time.perf_counter() - start < seconds:
            await one(names[(first + done) % len(names)])
            done += 1
        return done

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.02)
            peaks.append(looks())

    try:
        for name in names:
            await one(name)
        watching = asyncio.create_task(watch())
        start = time.perf_counter()
        done = sum(await asyncio.gather(*(caller(number) for number in range(callers))))
        watching.cancel()
        return max(peaks), done / (time.perf_counter() - start)
    finally:
        await box.close()


def _gpu_memory(device: str) -> Callable[[], float]:
    """MB of a GPU that are used now and were not before this call, by whatever process."""
    import torch

    def used() -> float:
        free, total = torch.cuda.mem_get_info(device)
        return float(total - free) / 1e6

    before = used()
    return lambda: used() - before


# -- a run of GTA-Atomic from end to end, with the model that knows the right calls


def run(folder: Path, notes: Notes) -> None:
    """``folder``: of all parts, whose weights are used again. Raises RuntimeError if the run does not begin."""
    vision = models.Vision(folder / "vision", notes.full)
    vision.made()
    own, search = folder / "run", ROOT / "bench_gta" / "atomic" / "mini" / "search"
    weights = vision.folder / "weights"
    (own / "agentgauge.toml").write_text(
        f'[tools]\nbasic = true\nmissing = "disable"\ndevices = "{notes.device}"\n'
        f'[tools.detection]\nweights = "shapes"\n[tools.GoogleSearch]\nfolder = "{search}"\n'
        f'[tools.vision]\nweights = "{weights}"\nbatch = {models.BATCH}\nmax_tokens = {models.TOKENS}\n'
    )
    command = [sys.executable, "-m", "pytest", str(ROOT / "bench_gta" / "test_e2e.py"), "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(own), "--model=oracle"]
    command += ["--limit=12", "-n", "8"] if notes.full else ["--limit=2", "-n", "0"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=own, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    summary = next(own.glob("runs/*/summary.json"), None)
    if summary is None:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise RuntimeError(f"the run did not begin: {reason(done.stdout + done.stderr)}")
    counts = json.loads(summary.read_text())["tasks"]["gta_atomic.e2e"]
    print(done.stdout)
    named = f"tools on {notes.device}" in done.stdout
    about = {"cases": counts["planned"], "passed": counts["passed"], "status": done.returncode}
    notes.add("runs", **about, header_names_device=named, seconds=seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.part")
    parser.add_argument("part", choices=[*models.MODELS, "server", "run"])
    parser.add_argument("--device", required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    (options.folder / options.part).mkdir(parents=True, exist_ok=True)
    notes = Notes(options.notes, options.device, not options.small)
    try:
        if options.part in models.MODELS:
            model(models.MODELS[options.part](options.folder / options.part, notes.full), notes)
        else:
            {"server": server, "run": run}[options.part](options.folder, notes)
    except models.NotThere as missing:
        print(missing)
        return NOT_THERE
    return 0


if __name__ == "__main__":
    sys.exit(main())
