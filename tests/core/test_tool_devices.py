"""Where the models of tools ran, as the records of a run tell it."""

from __future__ import annotations

from typing import Any

import pytest

from agentgauge.core.tools import (
    by_device,
    cards_of,
    devices_of,
    table_without_devices,
    united,
    without_devices,
)

L4, L4_TOO = "cuda:0 (NVIDIA L4)", "cuda:1 (NVIDIA L4)"


def tool(device: str = "", **more: Any) -> dict[str, Any]:
    return {"state": "ready", **({"device": device} if device else {}), **more}


@pytest.mark.parametrize(
    ("tools", "lines"),
    [
        ({"Plot": tool()}, []),
        (
            {"OCR": tool("cpu"), "B": tool(f"{L4}, {L4_TOO}"), "A": tool(f"{L4}, {L4_TOO}"), "Plot": tool()},
            ["tools on cpu: OCR", f"tools on {L4}, {L4_TOO}: A, B"],
        ),
        (
            {"OCR": tool(f"cpu, {L4}")},
            [f"tools on cpu, {L4}: OCR - results of a processor and of a GPU may differ in their last digits"],
        ),
    ],
)  # fmt: skip
def test_the_header_names_each_place(tools: dict[str, Any], lines: list[str]) -> None:
    assert by_device(devices_of(tools)) == lines


def test_sessions_of_one_run_name_all_devices() -> None:
    first = {"OCR": tool("cpu"), "A": tool(L4), "Plot": tool(), "Old": tool()}
    then = {"OCR": tool("cpu:1, cpu"), "A": tool(L4_TOO), "Old": tool("cpu"), "New": tool(L4)}
    assert united([first, then]) == {
        "OCR": tool("cpu, cpu:1"),
        "A": tool(f"{L4}, {L4_TOO}"),
        "Plot": tool(),
        "Old": tool("cpu"),
        "New": tool(L4),
    }
    assert united([]) == {}


@pytest.mark.parametrize(
    ("device", "cards"),
    [
        ("", ""),
        ("cpu:0, cpu:1", "cpu"),
        (f"{L4_TOO}, {L4}, cpu", "cpu, cuda (NVIDIA L4)"),
        ("cuda:3 (Card, of a kind:1)", "cuda (Card, of a kind:1)"),
    ],
)
def test_numbers_of_devices_do_not_tell_cards_apart(device: str, cards: str) -> None:
    assert cards_of(tool(device)) == cards


def test_a_tool_is_the_same_on_another_device() -> None:
    assert (
        without_devices({"OCR": tool(L4, version=2)})
        == {"OCR": tool(version=2)}
        == without_devices({"OCR": tool(version=2)})
    )


@pytest.mark.parametrize(
    ("table", "left"),
    [
        ({}, {}),
        ({"devices": "cuda:0", "basic": True}, {"basic": True}),
        ({"OCR": {"device": "cpu"}, "vision": {"device": "auto", "batch": 2}}, {"vision": {"batch": 2}}),
        ({"OCR": {}, "disable": []}, {"OCR": {}, "disable": []}),
    ],
)
def test_settings_are_the_same_but_for_devices(table: dict[str, Any], left: dict[str, Any]) -> None:
    assert table_without_devices(table) == left
