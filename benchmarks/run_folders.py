"""Run folders with many cases, made without a run, and what it costs to read them and to make reports of them.

As a script it does one of ``WORK`` with a folder and tells seconds of CPU and MB at the peak: ``python -m
benchmarks.run_folders load A``. Each is a process of its own, so that no peak hides behind another's.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from agentgauge.core.task_registry import announce, find_task
from agentgauge.core.types import Event, Record, Score, Transcript, Usage
from agentgauge.store import RunFolder
from benchmarks.memory import MB, kib
from tests.plugin.toy import Toy

TASKS = ("toy.say", "toy.sing", "toy.spell")
WORKERS = 2
SHARDS = 2


def announce_toys() -> None:
    for name in TASKS:
        announce(type("Many", (Toy,), {"name": name})())


def write_data(folder: Path, cases: int) -> Path:
    """The data set of a run with so many cases, a third of them a task's."""
    folder.mkdir(parents=True)
    samples = (json.dumps({"id": f"s{number}", "say": f"word{number}"}) for number in range(-(-cases // len(TASKS))))
    (folder / "toy.jsonl").write_text("".join(f"{sample}\n" for sample in samples))
    return folder


def write_run(path: Path, data: Path, cases: int, *, shard: int | None = None, seed: int = 0) -> Path:
    """A run whose workers have ended and that is not summed up. ``shard``: only every second case, from 0 or 1.

    A record has 1 to 6 KB, one in a hundred 50 KB; 5 % of the cases are wrong and 1 % broken.
    """
    announce_toys()
    folder = RunFolder(path)
    folder.create()
    chosen = [number for number in range(cases) if shard is None or number % SHARDS == shard]
    where = {number: (TASKS[number % len(TASKS)], f"s{number // len(TASKS)}", 1) for number in chosen}
    plan = sorted(chosen, key=lambda number: (number % len(TASKS), number))
    folder.write_plan({where[number]: f"test_toy.py::test_say[{where[number][1]}]" for number in plan})
    appenders = [folder.appender(f"gw{number}") for number in range(WORKERS)]
    for place, record in enumerate(_records({number: where[number] for number in plan}, seed)):
        appenders[place % WORKERS].append(record)
    for appender in appenders:
        appender.close()
    settings = {"data": str(data), "options": {}, "tools": {}, "attempts": 1, "scoring": "parity", "rescore": None}
    about = {"configs": dict.fromkeys(TASKS, "c"), "settings": settings, "started": 1.0, "finished": 9.0}
    folder.write_json("run.json", about)
    return path


def _records(where: Mapping[int, tuple[str, str, int]], seed: int) -> Iterator[Record]:
    dice = random.Random(seed)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(800)]
    # so that it compresses as transcripts of GTA and WildToolBench do
    often = [1 / number**1.2 for number in range(1, len(words) + 1)]
    text = " ".join(dice.choices(words, often, k=200_000))
    for number, case in where.items():
        fate = (number * 7919 + seed) % 100
        status = "broken" if fate < 1 else "wrong" if fate < 6 else "passed"
        size = 50_000 if (number * 31) % 100 == 7 else dice.randint(600, 5600)
        begin = dice.randrange(len(text) - size)
        said = text[begin : begin + size]
        events = tuple(
            Event("model", "m", 1.0, 0.2, {"messages": [{"role": "user", "content": part}], "reply": part[:80]})
            for part in (said[: size // 2], said[size // 2 :])
        )
        told = Transcript({"answer": said[:20]}, events, Usage(2, size // 4, 20, 0.001), 0.4, number)
        tags = ("even" if number % 2 else "odd",)
        if status == "broken":
            yield Record(*case, "c", status, told, None, "HTTP 500", "http 500", tags, finished=float(number))
            continue
        right = float(status == "passed")
        verdict = Score(
            right == 1, {"right": right, "all": 1.0}, () if right else ("wrong_answer",), f"expected {said[:200]!r}"
        )
        yield Record(*case, "c", status, told, verdict, tags=tags, finished=float(number))  # type: ignore[arg-type]


def sum_up(run: Path) -> dict[str, Any]:
    from agentgauge_reports.run import sum_up as summed

    folder = RunFolder(run)
    plan = list(folder.plan())
    data = find_task(TASKS[0]).data.index(Path(folder.read_json("run.json")["settings"]["data"]))
    about: dict[str, Any] = {
        **{"model": "m", "model_fingerprint": "f", "dialect": "native", "scoring": "parity"},
        **{"attempts": 1, "agentgauge": "0", "prompts": {}, "tools": {}, "tool_set": None, "options": {}},
        "data": {
            name: {"official": True, "fingerprint": data.fingerprint, "samples": len(data.rows), "left_out": []}
            for name in TASKS
        },
    }
    outlines = folder.merge_records(plan)
    return summed(
        folder,
        plan,
        outlines,
        about=about,
        index_of=lambda task: data,
        scoring="parity",
        similarity=dict.fromkeys(TASKS, ""),
    )


def _write_plan(run: Path) -> object:
    folder = RunFolder(run)
    plan = folder.plan()
    return lambda: folder.write_plan(plan)


def _report(module: str, name: str) -> Callable[..., Any]:
    """A function of the reports, imported when it is called."""
    return lambda *arguments: getattr(import_module(f"agentgauge_reports.{module}"), name)(*arguments)


def _merge(run: Path) -> object:
    """``run``: with its shards beside it, ``<run>-0`` and ``<run>-1``."""
    shards = [run.with_name(f"{run.name}-{shard}") for shard in range(SHARDS)]
    return _report("merge", "merge")(shards, run.with_name(f"{run.name}-merged"))


WORK: Mapping[str, Callable[[Path], object]] = {
    "lines": lambda run: RunFolder(run).lines(),
    "plan": lambda run: RunFolder(run).plan(),
    "write_plan": _write_plan,
    "sum_up": sum_up,
    "load": _report("load", "load_run"),
    "page": lambda run: _report("page", "write_page")(run, run / "report.html"),
    "compare": lambda run: _report("comparison", "compare")([run, run], run),
    "table": lambda run: _report("tables", "rows")(run, "md"),
    "items": lambda run: _report("items", "items")([run, run, run]),
    "eval": lambda run: _report("formats.evallog", "write")(run, run / "run.eval", _report("load", "Omitted")()),
    "merge": _merge,
}


def main(name: str, run: Path) -> None:
    announce_toys()
    for each in ("comparison", "formats.evallog", "page", "run"):  # what is imported is not what a case costs
        import_module(f"agentgauge_reports.{each}")
    begin, start, wall = kib("VmHWM"), time.process_time(), time.perf_counter()
    kept = WORK[name](run)
    if callable(kept):
        start, wall = time.process_time(), time.perf_counter()
        kept()
    cost = {
        "cpu": time.process_time() - start,
        "wall": time.perf_counter() - wall,
        "memory": (kib("VmHWM") - begin) * MB,
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
