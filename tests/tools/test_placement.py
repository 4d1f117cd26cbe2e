"""Which tools share replicas on Ray Serve, and what the settings say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from tool_impls.ray_serve.placement import LIGHT_REPLICAS, Deployment, planned, share_of_gpus
from tool_impls.registry import TOOLS, parse

VISION = {"weights": "/on/the/nodes"}


def plan(tools: str, table: dict[str, Any]) -> list[tuple[Any, ...]]:
    found = planned(parse(table, Path()), {name: TOOLS[name] for name in tools.split()})
    return [(one.name, " ".join(one.tools), one.fewest, one.most, one.cpus, one.gpus) for one in found]


@pytest.mark.parametrize(
    ("tools", "table", "expected"),
    [
        ("Plot DrawBox", {}, [("light", "Plot DrawBox", LIGHT_REPLICAS, LIGHT_REPLICAS, 0, 0)]),
        ("Plot DrawBox", {"replicas": [1, 5]}, [("light", "Plot DrawBox", 1, 5, 0, 0)]),
        ("OCR Plot", {"replicas": 2}, [("OCR", "OCR", 1, 1, 0, None), ("light", "Plot", 2, 2, 0, 0)]),
        (
            "ImageDescription VideoDescription",
            {"vision": {**VISION, "replicas": 4, "gpus": 0.5}},
            [("vision", "ImageDescription VideoDescription", 4, 4, 0, 0.5)],
        ),
        (
            "ImageDescription VideoDescription",
            {"vision": VISION, "VideoDescription": {"replicas": [1, 2], "cpus": 2}},
            [("vision", "ImageDescription", 1, 1, 0, None), ("VideoDescription", "VideoDescription", 1, 2, 2, None)],
        ),
        ("OCR", {"OCR": {"device": "cpu"}}, [("OCR", "OCR", 1, 1, 0, 0)]),
        ("VideoOCR", {"OCR": {"device": "cpu"}}, [("VideoOCR", "VideoOCR", 1, 1, 0, 0)]),  # it has OCR's model
        ("OCR", {"OCR": {"device": "auto", "gpus": 0.5}}, [("OCR", "OCR", 1, 1, 0, 0.5)]),
        ("Plot", {"Plot": {"gpus": 0.5}}, [("Plot", "Plot", 1, 1, 0, 0.5)]),
        (
            "Plot DrawBox",
            {"Plot": {"replicas": 3}, "replicas": 1},
            [("Plot", "Plot", 3, 3, 0, 0), ("light", "DrawBox", 1, 1, 0, 0)],
        ),
    ],
)  # fmt: skip
def test_tools_share_replicas_unless_they_have_options_of_their_own(
    tools: str, table: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    assert plan(tools, table) == expected


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"OCR": {"replicas": 0}}, "replicas in [tools.OCR] must be at least 1; got 0"),
        ({"OCR": {"replicas": [3, 2]}}, "an integer, or a list of two: the fewest and the most; got [3, 2]"),
        ({"OCR": {"replicas": [1, 2, 3]}}, "got [1, 2, 3]"),
        ({"OCR": {"replicas": True}}, "got True"),
        ({"OCR": {"replicas": [1, "2"]}}, "got [1, '2']"),
        ({"vision": {"gpus": -1}}, "gpus in [tools.vision] must be at least 0; got -1"),
        ({"vision": {**VISION, "gpus": 1.5}}, "gpus in [tools.vision] must be an integer or less than 1; got 1.5"),
        ({"vision": {**VISION, "cpus": 2.5}}, "cpus in [tools.vision] must be an integer or less than 1; got 2.5"),
        (
            {"vision": {**VISION, "device": "cuda:0"}},
            "device = 'cuda:0' in [tools.vision] names a device of one machine; with --ray it is auto or cpu, and gpus",
        ),
        ({"OCR": {"device": "cpu", "gpus": 1}}, 'gpus = 1 in [tools.OCR] contradicts device = "cpu"; take one of them'),
        ({"OCR": {"gpu": 1}}, "[tools.OCR] in the settings does not know gpu"),
        ({"gpus": 1}, "[tools] in the settings does not know gpus"),
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        plan("OCR ImageDescription", table)
    assert words in str(problem.value)


@pytest.mark.parametrize(
    ("replicas", "gpus", "share"),
    [([1], 1, 1), ([1, 1], 1, 1 / 2), ([1, 1, 1], 2, 1 / 2), ([2, 1], 4, 1), ([1], 0, 0), ([], 8, 0)],
)
def test_every_replica_finds_room_on_the_gpus(replicas: list[int], gpus: float, share: float) -> None:
    asking = [Deployment(str(number), (), 1, number, 0, None) for number in replicas]
    assert share_of_gpus([*asking, Deployment("light", (), 4, 4, 0, 0)], gpus) == share
