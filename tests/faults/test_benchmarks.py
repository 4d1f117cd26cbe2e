"""Endpoint faults in every benchmark: those that pass leave no trace, those that last break cases, which a resume
completes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.model import fault_server as faults
from tests.plugin.project import run_bundled, summary, without_times

BENCHMARKS = {
    "GTA-Atomic": ("-m", "gta_atomic_step or gta_atomic_e2e", "--limit=4"),
    "GTA-Workflow": ("-m", "gta_workflow", "--limit=12"),
    "WildToolBench": ("-m", "wild", "--limit=16"),
    "Apple MMAU": ("-k", "mmau", "--limit=1"),
}

PASSING = (
    faults.status(429, headers={"Retry-After": "0"}),
    faults.status(500),
    faults.status(529),
    faults.body(b"<h1>Bad gateway</h1>", code=502, kind="text/html"),
    faults.half_a_body(),
    faults.html(),
    faults.invalid_json(),
    faults.data({"choices": []}),
    faults.data({"error": {"message": "upstream down", "code": 503}}),
    faults.reset(),
    faults.raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
)
LASTING = (
    faults.status(400, "too long"),
    faults.status(401),
    faults.status(404),
    faults.status(429, "pay first", error_code="insufficient_quota"),
    *PASSING,
)


def healthy(_: faults.Seen) -> faults.Act:
    return faults.answer("42")


def digest(request: faults.Seen) -> int:
    return zlib.crc32(json.dumps(request.body, sort_keys=True).encode())


def run(name: str, endpoint: faults.FaultServer, folder: Path, *options: str, status: int = 0) -> dict[str, Any]:
    arguments = (*BENCHMARKS[name], "--model=m", f"--model-url={endpoint.url}", *options)
    run_bundled(*arguments, cwd=folder, status=status)
    return without_times(summary(folder / options[0].partition("=")[2]))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_faults_in_a_benchmark(name: str, tmp_path: Path) -> None:
    seen: set[int] = set()

    def fails_at_first(request: faults.Seen) -> faults.Act:
        if (number := digest(request)) in seen:
            return healthy(request)
        seen.add(number)
        return PASSING[len(seen) % len(PASSING)]

    def fails(request: faults.Seen) -> faults.Act:
        return LASTING[digest(request) % len(LASTING)]

    def serve(choose: Callable[[faults.Seen], faults.Act], *options: str, status: int = 0) -> dict[str, Any]:
        endpoint.choose = choose
        return run(name, endpoint, tmp_path, *options, status=status)

    with faults.FaultServer(choose=healthy) as endpoint:
        undisturbed = serve(healthy, "--run-dir=undisturbed")
        assert serve(fails_at_first, "--run-dir=passing") == undisturbed
        assert len(seen) >= len(PASSING)
        broken = serve(fails, "--run-dir=lasting", status=1)["tasks"]
        assert all(task["passed"] == task["wrong"] == 0 < task["broken"] for task in broken.values())
        assert serve(healthy, "--resume=lasting") == undisturbed
