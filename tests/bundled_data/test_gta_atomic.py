"""GTA-Atomic's bundled data: its shape, its variety, and that the gold gets full marks."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench_gta.atomic import data
from bench_gta.atomic.fixes import PARITY, STRICT
from bench_gta.atomic.score import score_e2e, score_step
from bench_gta.similarity import similarity
from tests.every import every

MINI = Path(__file__).parents[2] / "bench_gta" / "atomic" / "mini"
SAMPLES: dict[str, Any] = json.loads((MINI / "dataset.json").read_text(encoding="utf-8"))
TOOLMETA: dict[str, Any] = json.loads((MINI / "toolmeta.json").read_text(encoding="utf-8"))
CATEGORY = {
    **dict.fromkeys(("OCR", "ImageDescription", "RegionAttributeDescription", "TextToBbox"), "P"),
    **dict.fromkeys(("DrawBox", "AddText", "GoogleSearch"), "O"),
    **dict.fromkeys(("Calculator", "Solver", "Plot", "MathOCR", "CountGivenObject"), "L"),
    **dict.fromkeys(("TextToImage", "ImageStylization"), "C"),
}
MIXES = ("P", "L", "P+L", "P+O", "P+C", "O+L", "P+O+L", "P+O+C", "P+L+C")

samples = every("sample", SAMPLES.values(), ids=SAMPLES)


def calls(sample: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn["tool_calls"][0]["function"] for turn in sample["dialogs"] if turn.get("tool_calls")]


def names(sample: dict[str, Any]) -> set[str]:
    return {call["name"] for call in calls(sample)}


def categories(sample: dict[str, Any]) -> str:
    used = {CATEGORY[name] for name in names(sample)}
    return "+".join(letter for letter in "POLC" if letter in used)


def pictures(sample: dict[str, Any]) -> set[str]:
    values = [value for call in calls(sample) for value in call["arguments"].values()]
    return {value for value in values if isinstance(value, str) and value.startswith("image/")}


def made(sample: dict[str, Any]) -> set[str]:
    results = [turn["content"] for turn in sample["dialogs"] if turn["role"] == "tool"]
    return {result["content"] for result in results if result["type"] == "image"}


def listed(sample: dict[str, Any], what: Callable[[dict[str, Any]], object]) -> bool:
    """Whether the gold is a white list of which ``what`` holds."""
    return isinstance(sample["gt_answer"], dict) and bool(what(sample["gt_answer"]))


@pytest.mark.parametrize(
    ("what", "condition", "count"),
    [
        ("objective", lambda s: isinstance(s["gt_answer"], dict), 25),
        ("subjective", lambda s: isinstance(s["gt_answer"], list), 4),
        ("image generation", lambda s: s["gt_answer"] is None, 12),
        ("several files", lambda s: len(s["files"]) > 1, 4),
        ("a blacklist", lambda s: listed(s, lambda gold: gold["blacklist"]), 4),
        ("several groups", lambda s: listed(s, lambda gold: len(gold["whitelist"]) > 1), 4),
        ("several aliases", lambda s: listed(s, lambda gold: max(map(len, gold["whitelist"])) > 1), 10),
        ("tools offered that are not needed", lambda s: len(s["tools"]) > len(names(s)), 4),
        ("a query beyond ASCII", lambda s: not s["dialogs"][0]["content"].isascii(), 2),
        ("a produced picture used again", lambda s: made(s) & pictures(s), 2),
        *((name, lambda s, name=name: name in names(s), 2) for name in CATEGORY),
        *((mix, lambda s, mix=mix: categories(s) == mix, 1) for mix in MIXES),
    ],
)
def test_enough_of_each_kind(what: str, condition: Callable[[dict[str, Any]], object], count: int) -> None:
    assert sum(map(bool, map(condition, SAMPLES.values()))) >= count, what


def test_numbers_of_steps_and_tools() -> None:
    steps = Counter(sum(turn["role"] == "assistant" for turn in sample["dialogs"]) for sample in SAMPLES.values())
    assert set(steps) == set(range(2, 9)) and steps.total() >= 41
    assert {len(sample["tools"]) for sample in SAMPLES.values()} == {1, 2, 3, 4}


def test_the_loader_finds_nothing_wrong() -> None:
    assert [row.id for row in data.index(MINI).rows] == list(SAMPLES) == list(map(str, range(len(SAMPLES))))
    assert set(TOOLMETA) == set(CATEGORY)


@samples
def test_the_sample_has_the_official_shape(sample: dict[str, Any]) -> None:
    assert list(sample) == ["tools", "files", "dialogs", "gt_answer"]
    assert all(tool == TOOLMETA[tool["name"]] for tool in sample["tools"])
    assert not any(name in sample["dialogs"][0]["content"] for name in CATEGORY)
    assert {file["path"] for file in sample["files"]} == pictures(sample) - made(sample)
    assert all(set(file) == {"type", "path", "url"} for file in sample["files"])
    assert all(turn["thought"] for turn in sample["dialogs"] if turn.get("tool_calls"))


@samples
def test_calls_fit_the_tools(sample: dict[str, Any]) -> None:
    offered = {tool["name"]: tool["inputs"] for tool in sample["tools"]}
    kinds = {"text": str, "image": str, "int": int, "bool": bool}
    for call in calls(sample):
        inputs = {parameter["name"]: parameter for parameter in offered[call["name"]]}
        needed = {name for name, parameter in inputs.items() if not parameter["optional"]}
        assert needed <= set(call["arguments"]) <= set(inputs)
        assert all(isinstance(value, kinds[inputs[name]["type"]]) for name, value in call["arguments"].items())


@every("key", SAMPLES)
def test_the_gold_gets_full_marks(key: str) -> None:
    """In both modes and under both rules. A run of the oracle with real tools is in tests/packaging."""
    sample, similar = SAMPLES[key], similarity("trigram")
    gold = [turn for turn in sample["dialogs"] if turn["role"] == "assistant"]
    for fixes in (PARITY, STRICT):
        step = score_step({"gold": gold, "prediction": gold}, sample["gt_answer"], similar, fixes)
        end = score_e2e({"gold": [gold], "prediction": [gold]}, sample["gt_answer"], similar, fixes)
        assert step.passed and end.passed, (step.explanation, end.explanation)
        assert (step.values["inst"], step.values["arg"]) == (len(gold), step.values["gold_tool"])


@samples
def test_every_alias_can_be_found(sample: dict[str, Any]) -> None:
    """An alias that begins or ends with a sign can never match after a blank
    (docs/benchmarks/gta_atomic.md#objective-answers)."""
    gold = sample["gt_answer"]
    groups = [*gold["whitelist"], *(gold["blacklist"] or [])] if isinstance(gold, dict) else []
    aliases = [alias for group in groups for alias in group]
    assert [alias for alias in aliases if not re.search(rf"\b{re.escape(alias)}\b", f"It is {alias} .")] == []


def test_every_file_is_there_and_every_file_is_used() -> None:
    used = {path for sample in SAMPLES.values() for path in pictures(sample) | made(sample)}
    assert {f"image/{path.name}" for path in (MINI / "image").iterdir()} == used
    texts = [path.read_text(encoding="utf-8").strip().split("\n") for path in (MINI / "search").iterdir()]
    assert len(texts) >= 12 and all(len(lines) >= 2 and all(lines) for lines in texts)
    assert sum(path.stat().st_size for path in MINI.rglob("*") if path.is_file()) < 3_000_000
