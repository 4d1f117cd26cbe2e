"""Lets replies that are known beforehand act on the bundled workflow tasks, with the real tools."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.agent.loop import shown
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, Message
from agentgauge.core.types import Sample
from bench_gta.workflow import data, rules, tree
from bench_gta.workflow.facts import facts
from bundled_data.gta_workflow.plan import Bench

ROOT = Path(__file__).parents[2]
MINI = ROOT / "bench_gta" / "workflow" / "mini"

Replies = Callable[[Sample, ChatRequest], ChatReply]


@dataclass(frozen=True)
class Done:
    """What came of a task: the last answer, and everything that tools made."""

    sample: Sample
    answer: str
    files: tuple[Path, ...]


class Tools:
    """The real tools, in this process."""

    def __init__(self) -> None:
        self._bench = Bench(MINI)

    def call(self, name: str, arguments: Mapping[str, Any], folder: Path) -> str:
        """What the model reads of the output. A file that the tool makes lies in a new folder below ``folder``."""
        scratch = Path(tempfile.mkdtemp(dir=folder))
        result = self._bench.run(name, arguments, scratch, {})
        (output,) = self._bench.meta(name).outputs
        return shown(output.type, str(result))


def samples() -> dict[str, Sample]:
    index = data.index(MINI)
    return {row.id: data.load(index, row, "gta_workflow") for row in index.rows}


def act(chosen: Mapping[str, Replies], folder: Path) -> dict[str, Done]:
    """Let replies act on the tasks that are chosen by their ids; each task has a folder of its own below ``folder``."""
    tools, known = Tools(), samples()
    return {id_: _one(tools, known[id_], replies, folder / id_) for id_, replies in chosen.items()}


def _one(tools: Tools, sample: Sample, replies: Replies, folder: Path) -> Done:
    folder.mkdir(parents=True)
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
            told = tools.call(call.name, json.loads(call.arguments), folder)
            messages += [{"role": "assistant", "content": call.arguments}, {"role": "tool", "content": told}]
    return Done(sample, said, files_below(folder))


def files_below(folder: Path) -> tuple[Path, ...]:
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
