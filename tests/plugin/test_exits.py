"""Code of a benchmark that raises what is no ``Exception``: ``sys.exit``, Ctrl-C's, a cancellation, pytest's own. It
breaks its case, and the run goes on.
"""

from __future__ import annotations

import json

import pytest

from tests.plugin.project import PYTEST, python, records

BENCHMARK = '''
import asyncio, sys
import pytest
from agentgauge import benchmark

def leave(code: str) -> str:
    """Leave."""
    sys.exit(code)

def raised(error):
    raise error

async def exits():
    sys.exit(3)

async def in_a_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(exits())

RUN = {
    "exits": exits,
    "raises-ctrl-c": lambda: raised(KeyboardInterrupt()),
    "is-cancelled": lambda: raised(asyncio.CancelledError()),
    "skips": lambda: pytest.skip("why"),
    "exits-in-a-task": lambda: asyncio.gather(exits(), asyncio.sleep(0.1)),
    "exits-in-a-group": in_a_group,
    "exits-in-a-thread": lambda: asyncio.to_thread(sys.exit, 3),
}

@benchmark("exits", data="samples.jsonl")
class Exits:
    tools = [leave]

    async def run(self, case):
        if case.sample["id"] in RUN:
            await RUN[case.sample["id"]]()
        return await case.converse("?")

    def score(self, sample, talk):
        if sample["id"] == "exits-in-score":
            sys.exit(3)
        if sample["id"] == "fails-in-score":
            pytest.fail("no")
        return True

    def oracle(self, sample):
        if sample["id"] == "exits-in-oracle":
            sys.exit(3)
        if sample["id"] == "exits-in-tool":
            return [{"name": "leave", "arguments": {"code": "3"}}, "yes"]
        return "yes"
'''
WHY = {
    "exits": "SystemExit: 3",
    "raises-ctrl-c": "KeyboardInterrupt",
    "is-cancelled": "CancelledError",
    "skips": "Skipped: why",
    "exits-in-a-task": "SystemExit: 3",
    "exits-in-a-group": "SystemExit: 3",
    "exits-in-a-thread": "SystemExit: 3",
    "exits-in-score": "SystemExit: 3",
    "fails-in-score": "Failed: no",
    "exits-in-oracle": "SystemExit: 3",
    "exits-in-tool": "the tool leave raised SystemExit",
}
SOUND = ("before", "after")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_it_breaks_its_case_alone(workers, tmp_path):
    (tmp_path / "exits.py").write_text(BENCHMARK)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    samples = [json.dumps({"id": name}) for name in (SOUND[0], *WHY, SOUND[1])]
    (tmp_path / "samples.jsonl").write_text("\n".join(samples) + "\n")
    result = python(*PYTEST, "exits.py", "--model=oracle", "--run-dir=run", *workers, cwd=tmp_path, seconds=120)
    assert result.status == 1, result.output
    found = {record["sample"]: record for record in records(tmp_path / "run")}
    assert {name: record["status"] for name, record in found.items()} == {
        **dict.fromkeys(WHY, "broken"),
        **dict.fromkeys(SOUND, "passed"),
    }
    assert all(why in found[name]["error"] for name, why in WHY.items())
    assert f"{len(SOUND)} passed, {len(WHY)} broken" in result.output
