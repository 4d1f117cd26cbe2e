"""Lets replies that are known beforehand act on the bundled workflow tasks, with the real tools on a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentgauge.agent.loop import shown
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, Message
from agentgauge.core.types import Sample
from bench_gta.workflow import data, tree
from bench_gta.workflow.facts.collect import facts
from bench_gta.workflow.judging import rules
from tool_impls.server.client import ToolServerBox

ROOT = Path(__file__).parents[2]
MINI = ROOT / "bench_gta" / "workflow" / "mini"

Replies = Callable[[Sample, ChatRequest], ChatReply]


@dataclass(frozen=True)
class Done:
    """What came of a task: the last answer, and everything that tools made."""

    sample: Sample
    answer: str
    files: tuple[Path, ...]
    replies: int


@contextmanager
def tool_server() -> Iterator[str]:
    """A server with the settings of this checkout; gives its address."""
    command = [
        sys.executable,
        "-m",
        "tool_impls.server.command",
        "--port",
        "0",
        "--no-token",
        "--settings",
        str(ROOT / "agentgauge.toml"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()


def samples() -> dict[str, Sample]:
    index = data.index(MINI)
    return {row.id: data.load(index, row, "gta_workflow") for row in index.rows}


def act(chosen: Mapping[str, Replies], folder: Path, url: str) -> dict[str, Done]:
    """Let replies act on the tasks that are chosen by their ids; each task has a folder of its own below ``folder``."""

    async def main() -> list[Done]:
        box = ToolServerBox(url)
        try:
            return await asyncio.gather(
                *(_one(box, known[id_], replies, folder / id_) for id_, replies in chosen.items())
            )
        finally:
            await box.close()

    known = samples()
    return dict(zip(chosen, asyncio.run(main()), strict=True))


async def _one(box: ToolServerBox, sample: Sample, replies: Replies, folder: Path) -> Done:
    turn, said = 0, ""
    for user in (one for one in sample.payload["dialogs"] if one["role"] == "user"):
        messages: list[Message] = [{"role": "user", "content": user["content"]}]  # what came before is not shown
        while True:
            reply = replies(sample, ChatRequest(tuple(messages), case=CaseKey(sample.task, sample.id, turn=turn)))
            turn += 1
            if not reply.tool_calls:
                said = reply.text
                break
            (call,) = reply.tool_calls
            outputs = await box.call(call.name, json.loads(call.arguments), folder=folder, readable=(sample.root,))
            told = "\n".join(shown(output.type, output.content) for output in outputs)
            messages += [{"role": "assistant", "content": call.arguments}, {"role": "tool", "content": told}]
    return Done(sample, said, _files_below(folder), turn)


def _files_below(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def judged(done: Mapping[str, Done], scratch: Path) -> dict[str, dict[str, tuple[float, str]]]:
    """Score and analysis of every leaf by the judge ``rules``, by task and by leaf. The files are looked at all at
    once."""
    paths = [path for one in done.values() for path in one.files]
    known = dict(zip(paths, facts(paths, folder=scratch, read=True), strict=True))
    return {
        id_: {
            leaf.id: rules.judge(leaf.raw["check"], answer=one.answer, files=[known[path] for path in one.files])
            for leaf in tree.leaves(tree.parse(one.sample.payload["sub_tasks"]))
        }
        for id_, one in done.items()
    }
