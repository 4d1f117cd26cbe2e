"""Requests of whole tasks, family by family, as WildToolBench's first release sent them.

``first_release/FAMILY.json`` has what the model writes, and the messages of each request.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply
from agentgauge.core.types import Sample
from bench_wild.run import run_task
from tests.dialects.first_release.session import SESSION, TOOLS
from tests.wild.test_run import Scripted, log

FOLDER = Path(__file__).parent / "first_release"
FAMILIES = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}
TASKS = [(family, language, task) for family in FAMILIES for language in ("en", "zh") for task in (0, 1)]


def solved(family: str, language: str, task: int, prompts: Path, *replies: str) -> tuple[Any, Scripted]:
    """A task of the session under parity, and the model that wrote ``replies``."""
    prompts.mkdir(exist_ok=True)
    if prompt := FAMILIES.get(family, {}).get("prompt"):
        (prompts / f"dialect_{family}.txt").write_text(prompt, encoding="utf-8")
    sample = Sample("s", "wild", (), {"session": SESSION, "task": task, "language": language}, Path())
    model = Scripted(*map(ChatReply, replies))
    case = Case(sample, 1, 0, CaseSettings(family, "parity", prompts=prompts), model, None, Path())
    return asyncio.run(run_task(case)), model


@pytest.mark.parametrize(("family", "language", "task"), TASKS)
def test_requests_are_those_of_the_first_release(family: str, language: str, task: int, tmp_path: Path) -> None:
    golden = FAMILIES[family]
    expected = golden[language][task]
    result, model = solved(family, language, task, tmp_path / "prompts", *expected["replies"])
    assert [list(request.messages) for request in model.requests] == expected["requests"]
    date = "2024-05-20 09:12:44 " + {"en": "Monday", "zh": "星期一"}[language]
    for request in model.requests:
        assert list(request.tools) == (TOOLS if golden["tools"] == "template" else [])
        assert request.template == ({"date_string": date} if golden.get("template") else {})
    assert (log(result)[-1]["inference_output"].get("error_reason") or "correct") == expected["ends"]
