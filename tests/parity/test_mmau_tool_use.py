"""Apple MMAU's function-calling metric on its golden vectors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench_mmau import tool_use
from bench_mmau.errors import NotScorable
from bench_mmau.replies import Call
from bench_mmau.tool_calls import compare_calls, detailed
from bench_mmau.tool_values import LEVELS, bag_of_words, date_match, default_match, normalise, same_arguments, trim
from tests.parity.golden import golden_folder, load

pytestmark = pytest.mark.skipif(golden_folder("mmau") is None, reason="no golden data for mmau")


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in (load("mmau", name) or {}).get("cases", [])]


def test_every_vector_is_here() -> None:
    assert [len(cases(name)) for name in ("tool_use_execution.json", "tool_use_execution_parts.json")] == [71, 90]


def verdicts(case: Mapping[str, Any]) -> list[tool_use.Verdict]:
    client = case["input"].get("response_generator", {}).get("client", "openai")
    return [tool_use.judge_stored(record, client) for record in case["input"]["responses"]]


@pytest.mark.parametrize("case", cases("tool_use_execution.json"))
def test_metric(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "tool_use_execution"
    if "expected_error" in case:
        with pytest.raises(NotScorable):
            verdicts(case)
        return
    found = verdicts(case)
    assert tool_use.metric(found) == pytest.approx(case["expected"], abs=1e-9, rel=0)
    assert list(tool_use.metric(found)) == list(case["expected"])
    assert all(bool(one.labels) == bool(one.explanation) == (not one.passed) for one in found)


def calls(given: Sequence[Mapping[str, Any]]) -> list[Call]:
    return [Call(one["name"], text if isinstance(text := one["arguments"], str) else json.dumps(text)) for one in given]


def building_block(op: str, args: Mapping[str, Any]) -> Any:
    match op:
        case "tool.normalise_value":
            return normalise(args["value"])
        case "tool.default_value_match":
            return default_match(args["pred"], args["target"])
        case "tool.date_match":
            return date_match(args["pred"], args["target"])
        case "tool.trim_transform":
            return trim(args["value"])
        case "tool.bag_of_words":
            return bag_of_words(args["pred"], args["target"])
        case "tool.compare_arguments":
            return {level: same_arguments(args["pred"], args["target"], level) for level in LEVELS}
        case "tool.compare_calls":
            return compare_calls(calls(args["pred"]), calls(args["target"]), args["rules"])
        case "tool.detailed":
            return [dataclasses.asdict(flags) for flags in detailed(calls(args["pred"]), calls(args["target"]))]
    raise AssertionError(f"no test knows the operation {op}")


@pytest.mark.parametrize("case", cases("tool_use_execution_parts.json"))
def test_building_block(case: Mapping[str, Any]) -> None:
    found = building_block(case["op"], case["args"])
    assert found == case["expected"]
    assert type(found) is type(case["expected"])
