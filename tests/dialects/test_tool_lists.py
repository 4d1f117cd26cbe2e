"""Tool lists at full size, in every dialect: those of the bundled sessions, and the published ones where they are at
hand.

The published lists (``tools_en.jsonl``, ``tools_zh.jsonl``) are not part of the project: AGENTGAUGE_WILD_TOOLS names
their folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialects.registry import OURS, format_of
from bench_wild.check import TOOL_LISTS, read_tool_lists
from bench_wild.prompts import convert_tools

ROOT = Path(__file__).parents[2]
PUBLISHED = Path(os.environ.get("AGENTGAUGE_WILD_TOOLS") or ROOT.parent / "shared" / "data" / "wild_tools")


def conversation(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A day, a question, a call of each of two tools with its result, a question."""
    names = [tool["function"]["name"] for tool in (*tools[:2], tools[0])][:2]
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": '{"a": "é"}'}}
        for n, name in enumerate(names)
    ]
    return [
        {"role": "system", "content": "Current Date: 2024-05-01 09:12:44 Wednesday"},
        {"role": "user", "content": "First?"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        *({"role": "tool", "content": '{"ok": true}', "tool_call_id": call["id"]} for call in calls),
        {"role": "assistant", "content": "So it is."},
        {"role": "user", "content": "And then?"},
    ]


def lists(name: str) -> list[list[dict[str, Any]]]:
    if name == "bundled":
        lines = (ROOT / "bench_wild" / "mini" / "Wild-Tool-Bench.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["english_tools"] for line in lines]
    if not (PUBLISHED / name).exists():
        pytest.skip(f"{PUBLISHED} holds no {name}")
    return list(read_tool_lists(PUBLISHED / name))


@pytest.mark.parametrize("dialect", ["react", *OURS])
@pytest.mark.parametrize("name", ["bundled", *TOOL_LISTS])
def test_every_list_converts_and_renders(name: str, dialect: str) -> None:
    found = lists(name)
    assert len(found) == (16 if name == "bundled" else 256)
    format = format_of(dialect)
    for tools in found:
        converted = convert_tools(tools)
        assert '"type": "float"' not in json.dumps(converted)
        sent = format.request(conversation(converted), converted)
        content = json.dumps([sent.messages, sent.tools], ensure_ascii=False)
        for tool in tools:
            assert tool["function"]["name"] in content
        assert "And then?" in content
        assert "2024-05-01 09:12:44 Wednesday" in content + json.dumps(sent.template)
