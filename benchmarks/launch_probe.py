"""How fast the driver of a launch takes records that are ready: ``python -m benchmarks.launch_probe direct 20000 10``.

``direct`` hands them over within the process; ``ray`` sends them through a Ray cluster that is started here, from one
shard. The numbers are those of the records (6 KB each) and of the records in a message. Prints one line of JSON:
seconds from the first message to the last result, and the processor time of this process meanwhile.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from agentgauge.core.types import Record, Transcript
from agentgauge.run.launch.remote_cases import Backend, RemoteCases
from agentgauge.run.launch_settings import LaunchOptions
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import encoded_line

CHARACTERS = 5500
"""Of an answer; with the rest of its record 6 KB."""
CPUS = 1.0
OPTIONS = LaunchOptions("local", 1, CPUS, 0, 0)


def messages(samples: list[str], size: int) -> Iterator[dict[str, Any]]:
    """What a shard of these samples sends, ``size`` records at a time."""
    transcript = Transcript(output={"answer": random.Random(0).randbytes(CHARACTERS // 2).hex()})
    line = encoded_line(Record("t", "SAMPLE", 1, "c", "passed", transcript, finished=1.0))
    for start in range(0, len(samples), size):
        lines = [line.replace(b"SAMPLE", sample.encode(), 1) for sample in samples[start : start + size]]
        yield {"kind": "records", "lines": lines, "files": {}}
    yield {"kind": "ended", "status": 0, "last_line": "", "running": []}


class Direct:
    """A backend without Ray."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._ready: Iterator[tuple[int, dict[str, Any]]] = iter(())

    def start(self, number: int, spec: Any, *, with_data: bool) -> None:
        self._ready = ((number, message) for message in messages(spec, self._size))

    def messages(self, seconds: float) -> Iterator[tuple[int, Mapping[str, Any]]]:
        time.sleep(0.001)
        yield from self._ready

    def send_command(self, word: str) -> None:
        """Nobody listens."""

    def drop(self, number: int) -> None:
        """Nothing fails."""

    def close(self) -> None:
        """Nothing runs."""


def through_ray(size: int) -> Backend:
    """The backend of a launch, whose task sends what is ready instead of running pytest."""
    from agentgauge.run.launch.cluster import connect

    connect("local", cpus=CPUS)
    import ray

    from agentgauge.run.launch.ray_shards import RayShards

    class Ready(RayShards):
        def __init__(self) -> None:
            super().__init__(OPTIONS, bytes, "")
            task = ray.remote(num_cpus=CPUS, max_retries=0)
            self._task = task(lambda number, spec, archive, words: (yield from messages(spec, size)))

    return Ready()


def case(sample: str) -> Any:
    task = SimpleNamespace(name="t", expected_requests=1.0, data=SimpleNamespace(group_of=lambda row: row.id))
    return SimpleNamespace(id=("t", sample, 1), task=task, row=SimpleNamespace(id=sample))


def main(way: str, records: int, size: int) -> None:
    backend: Any = Direct(size) if way == "direct" else through_ray(size)
    cases = [case(f"s{number}") for number in range(records)]
    with TemporaryDirectory() as scratch:
        folder = RunFolder(Path(scratch) / "run")
        folder.create()
        remote = RemoteCases(
            OPTIONS,
            folder,
            backend,
            lambda ids, number: [sample for _, sample, _ in ids],  # type: ignore[arg-type, return-value]
            configs={},
            is_stopped=lambda: False,
            started=lambda tools, sandbox: True,
            failed=lambda problem: sys.exit(str(problem)),
            full=sys.exit,
        )
        remote.submit([case("first")])
        remote.result(case("first"))  # Ray has started its worker
        began, used = time.perf_counter(), time.process_time()
        remote.submit(cases)
        for one in cases:
            assert remote.result(one).status == "passed"
        print(json.dumps({"seconds": time.perf_counter() - began, "cpu": time.process_time() - used}))
        remote.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
