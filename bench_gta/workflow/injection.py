"""The optional list of tools in front of the first user turn (GTA-Workflow spec 2.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from agentgauge.core.types import Json


def with_tool_list(dialogs: Sequence[Mapping[str, Json]], toolmeta: Json) -> list[dict[str, Json]]:
    """The dialogs with a block that lists the tools before the first user turn's words.

    ``toolmeta``: toolmeta.json as it is. Only a list of objects leads to a block. Quirk of spec 2.2: with the released
    shape, an object, nothing is put in, and neither is anything with a list that holds something else.
    """
    turns = [dict(turn) for turn in dialogs]
    if isinstance(toolmeta, list) and all(isinstance(tool, Mapping) for tool in toolmeta):
        first = next((turn for turn in turns if turn.get("role") == "user"), None)
        if first is not None:
            tools = "\n".join(map(_described, toolmeta))
            first["content"] = f"[Available Tool List]\n{tools}\n{first['content']}"
    return turns


def _described(tool: Mapping[str, Json]) -> str:
    arguments = json.dumps(tool.get("parameters", {}), ensure_ascii=False)
    return f"Tool names: {tool.get('name', '')}\nDescription: {tool.get('description', '')}\nArguments: {arguments}\n"
