"""How waiting requests are cut into batches: each is in one, and none exceeds a bound."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentgauge.model.endpoint import Endpoint
from agentgauge.model.presets import resolve
from agentgauge.model.retry import RetryPolicy
from agentgauge.plugins.batch.formats import BatchFormat, BatchItem, Sought, Status
from agentgauge.plugins.batch.journal import Journal
from agentgauge.plugins.batch.queue import BatchQueue, PollingTimes

LARGEST = 100
SPEC = resolve("m", url="http://127.0.0.1:1/v1", environ={})


@dataclass(frozen=True)
class Echo(BatchFormat):
    """Batches that are complete at once; each result is the body of its request."""

    title: str = "echo"
    most: int = 8
    largest: int = LARGEST
    takes_files: bool = False
    batches: list[list[BatchItem]] = field(default_factory=list)

    async def create(self, endpoint: Endpoint, upload: str, items: Sequence[BatchItem]) -> str:
        self.batches.append(list(items))
        return str(len(self.batches) - 1)

    async def find(self, endpoint: Endpoint, sought: Sought) -> list[str]:
        return []

    async def status(self, endpoint: Endpoint, identity: str) -> Status:
        rows = [{"custom_id": item.custom_id, "said": item.body.decode()} for item in self.batches[int(identity)]]
        return Status("completed", content="\n".join(map(json.dumps, rows)).encode())


async def answer(queue: BatchQueue, number: int, body: bytes) -> Any:
    batch, place = await queue.add(str(number), body)
    return await batch.answer(place)


@given(
    sizes=st.lists(st.integers(min_value=1, max_value=150), min_size=1, max_size=60),
    most=st.integers(min_value=1, max_value=12),
    pauses=st.sets(st.integers(min_value=0, max_value=60)),
)
def test_each_request_is_in_one_batch_within_the_bounds(tmp_path_factory, sizes, most, pauses):
    """``pauses``: the requests before which the loop runs other tasks."""
    form = Echo()
    folder: Path = tmp_path_factory.mktemp("run")

    async def main() -> list[Mapping[str, Any]]:
        queue = BatchQueue(
            form,
            Endpoint(SPEC, None, None),
            Journal(folder / "batches.jsonl"),
            RetryPolicy(),
            most=most,
            pace=PollingTimes(quiet=0.1, longest=1, scale=0),
        )
        tasks = []
        for number, size in enumerate(sizes):
            if number in pauses:
                await asyncio.sleep(0)
            tasks.append(asyncio.create_task(answer(queue, number, b"%03d" % number + b"x" * (size - 3))))
        answers = await asyncio.gather(*tasks)
        await queue.close()
        assert queue.counts == (0, 0, 0, len(form.batches))
        return answers

    answers = asyncio.run(main())
    assert [int(answer["said"][:3]) for answer in answers] == list(range(len(sizes)))
    for batch in form.batches:
        assert len(batch) <= min(most, form.most)
        assert len(batch) == 1 or sum(len(item.body) for item in batch) <= LARGEST
    assert sorted(item.body for batch in form.batches for item in batch) == sorted(
        b"%03d" % number + b"x" * (size - 3) for number, size in enumerate(sizes)
    )
    identities = [item.custom_id for batch in form.batches for item in batch]
    assert len(set(identities)) == len(identities)
