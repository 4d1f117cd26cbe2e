"""Every case of eval_pack.json: what the released scorer of external agents did
(docs/benchmarks/gta_workflow.md#scoring-a-pack)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from bench_gta.pack.format import Pack, PackTask, read_pack, select_trace, write_pack
from bench_gta.pack.results import ScoringSettings, summary_block
from bench_gta.pack.score import ScoringLimits, base_url, score_pack
from bench_gta.workflow.judge import Delivery
from tests.parity import golden

FILE = "eval_pack.json"

pytestmark = golden.needs("gta_workflow", FILE)


def of(part: str) -> Any:
    return pytest.mark.parametrize("case", golden.cases("gta_workflow", FILE, part))


def close(value: Any) -> Any:
    return golden.close(value, 1e-9)


def test_every_list_is_known() -> None:
    assert set(golden.load("gta_workflow", FILE)) - {"schema"} == set(golden.VECTORS["gta_workflow"][FILE])


@of("select_trace")
def test_which_trace_is_judged(case: dict[str, Any]) -> None:
    assert select_trace(case["assistant_outputs"]) == case["expected"]


@of("base_url")
def test_service_addresses(case: dict[str, Any]) -> None:
    assert base_url(case["url"]) == case.get("recommended", case["expected"])


@of("summary")
def test_summaries(case: dict[str, Any]) -> None:
    assert summary_block(case["task_ids"], case["task_results"]) == close(case["expected"])


class Scripted:
    """A judge that gives each task the score of the script, and remembers the order."""

    def __init__(self, outcomes: dict[str, Any]) -> None:
        self.outcomes = outcomes
        self.judged: list[int] = []

    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Any]:
        task = int(delivery.origin_prompt[0])
        self.judged.append(task)
        outcome = self.outcomes.get(str(task), 5.0)
        if outcome == "fail":
            raise RuntimeError("judge down")
        return [{"id": "1", "replies": [json.dumps({"score": outcome, "analysis": "."})], "cached": 0}]


@of("resume")
def test_the_scoring_loop(case: dict[str, Any], tmp_path: Path) -> None:
    tasks = tuple(
        PackTask(number, place, [str(number)], [], (), [{"id": "1"}])
        for place, number in enumerate(case["task_ids"], 1)
    )
    write_pack(tmp_path / "pack.json", Pack(tasks, tmp_path.resolve()))
    pack = read_pack(tmp_path / "pack.json")
    judge, settings = Scripted(case.get("outcomes", {})), ScoringSettings("scripted")
    out, summary_out = tmp_path / "scores.json", tmp_path / "summary.json"
    if "existing" in case:
        sha1 = pack.sha1 if case.get("same_pack", True) else "0" * 40
        out.write_text(json.dumps({"pack_sha1": sha1, "settings": asdict(settings), **case["existing"]}))
    limits = ScoringLimits(
        max_tasks=case.get("max_tasks"),
        overwrite=case.get("overwrite", False),
        force_resume=case.get("force_resume", False),
    )
    scoring = score_pack(pack, judge, settings, out=out, summary_out=summary_out, limits=limits)
    expected = case["expected"]
    if expected.get("refused"):
        with pytest.raises(UsageProblem, match="another pack"):
            asyncio.run(scoring)
        assert judge.judged == []
        return
    scored = asyncio.run(scoring)
    assert judge.judged == list(scored.judged) == expected["judged"]
    stored = json.loads(out.read_text())["task_results"]
    assert stored.keys() == expected["task_results"].keys()
    for number, record in expected["task_results"].items():
        assert {name: stored[number].get(name) for name in record} == close(record)
    assert json.loads(summary_out.read_text())["summary"] == scored.summary["summary"] == close(expected["summary"])
