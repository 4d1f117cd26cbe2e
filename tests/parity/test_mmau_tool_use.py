"""Apple MMAU's function-calling metric on its golden vectors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from bench_mmau.metrics import RecordVerdict
from bench_mmau.replies import Client, ReplyCall, ReplyMessage, Unreadable, read
from bench_mmau.tool_use import score as tool_use
from bench_mmau.tool_use.calls import (
    LEVELS,
    bag_of_words,
    compare_calls,
    date_match,
    default_match,
    detailed,
    normalise,
    same_arguments,
    trim,
)
from tests.every import every
from tests.parity.golden import cases, met, needs
from tests.parity.mmau_metrics import tool_use_execution
from tests.parity.mmau_vectors import EXACT, REFUSED, client

pytestmark = needs("mmau")


def verdicts(case: Mapping[str, Any]) -> list[RecordVerdict]:
    return [tool_use.judge_calls(record, messages(record, client(case))) for record in case["input"]["responses"]]


def messages(record: Mapping[str, Any], client: Client) -> list[ReplyMessage] | None:
    with suppress(Unreadable):
        return read(record["response"], client)
    return None


@every("case", cases("mmau", "tool_use_execution.json"))
def test_metric(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "tool_use_execution"
    if met(case, lambda: tool_use_execution(verdicts(case)), *REFUSED, within=EXACT):
        found = verdicts(case)
        assert list(tool_use_execution(found)) == list(case["expected"])
        assert all(bool(one.labels) == bool(one.explanation) == (not one.passed) for one in found)


def calls(given: Sequence[Mapping[str, Any]]) -> list[ReplyCall]:
    return [
        ReplyCall(one["name"], text if isinstance(text := one["arguments"], str) else json.dumps(text)) for one in given
    ]


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


DATES = (OverflowError, ValueError)
"""What the comparison of dates raises, as the reference does; the whole metric names the record (NotScorable)."""


@every("case", cases("mmau", "tool_use_execution_parts.json"))
def test_building_block(case: Mapping[str, Any]) -> None:
    if met(case, lambda: building_block(case["op"], case["args"]), *REFUSED, *DATES, within=EXACT):
        assert type(building_block(case["op"], case["args"])) is type(case["expected"])
