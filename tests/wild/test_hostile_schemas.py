"""Whatever stands where a tool's schema is expected, a session is checked and its tasks get scores."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bench_wild
from agentgauge.core.types import Json
from bench_wild import data
from bench_wild.oracle import answers, play
from bench_wild.prompts import RELEASES
from bench_wild.score import score_task
from bench_wild.task import WildData

SESSION = (Path(bench_wild.__file__).parent / "mini" / "Wild-Tool-Bench.jsonl").read_bytes().partition(b"\n")[0]
ODD = [
    *(True, False, None, 3, "text", [], {}, [1, "a"], {"anyOf": []}, {"anyOf": [True]}, {"anyOf": {}}),
    *({"$ref": "#"}, {"$ref": "#/properties"}, {"$ref": 3}, {"enum": 3}, {"enum": "abc"}, {"type": {}}),
    *(
        {"type": ["string", "null"]},
        {"type": "array", "items": [{"type": "integer"}]},
        {"type": "array", "items": False},
    ),
    *({"type": "object", "required": [[1]]}, {"type": "object", "required": True, "properties": None}),
    *({"type": "object", "properties": [1]}, {"type": "object", "additionalProperties": {"type": "string"}}),
]


def places(value: Json, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*above, key))  # type: ignore[call-overload, index]


def damaged(seed: int) -> bytes:
    chance, record = random.Random(seed), json.loads(SESSION)
    for twin in ("", "english_"):
        for tool in record.get(f"{twin}tools", ()):
            inside = [place for place in places(tool["function"], ("function",)) if "parameters" in place]
            *above, last = chance.choice(inside)
            inner = tool
            for key in above:
                inner = inner[key]
            inner[last] = json.loads(json.dumps(chance.choice(ODD)))
    return json.dumps(record).encode()


@pytest.mark.parametrize("seed", range(25))
def test_odd_schemas_are_checked_and_scored(seed: int, tmp_path: Path) -> None:
    file = tmp_path / "Wild-Tool-Bench.jsonl"
    file.write_bytes(damaged(seed))
    for language in data.LANGUAGES:
        problems, strange = WildData(language).check(tmp_path)
        assert problems or strange
        for session in data.read_sessions(file, language):
            for task in session.tasks if isinstance(session, data.Session) else ():
                result = play(session, task, answers(task))
                for evaluator in RELEASES if not isinstance(result, str) else ():
                    for scoring in ("parity", "strict"):
                        score_task(session, task, json.loads(json.dumps(result)), scoring, evaluator)
