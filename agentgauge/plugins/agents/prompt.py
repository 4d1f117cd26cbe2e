"""A task as one text, for programs that take a prompt instead of ``task.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentgauge.core.agents import AgentTask

SERVER = "agentgauge"
"""The name under which a program knows the server of the benchmark's tools."""

_TOOLS = "The tools for this task are those of the MCP server {server}: {names}. Use them where the task needs one. "
_ENDING = "Files that the task asks you for go into the folder {folder}. Your last message is taken as the answer."

_FUNCTIONS = """Decide what the assistant does next in this conversation: answer the user, or call functions. The \
functions below cannot be called here, so do not look for them among your own tools, and solve nothing in another way.
To call functions, write the file {answer} with this JSON, one entry for each call, and end:
{{"content": null, "tool_calls": [{{"name": "NAME", "arguments": {{}}}}]}}
To answer the user instead, write no file: your last message is taken as the answer.

# Functions

{functions}"""


def prompt_text(task: AgentTask, *, server: str, folder: str, answer: str) -> str:
    """``server``: the name of the server of the task's tools; empty where the program is not told of it. ``folder``:
    for files that the agent delivers. ``answer``: the file that states calls of functions."""
    parts = []
    if task.tools:
        tools = _TOOLS.format(server=server, names=", ".join(task.tools)) if server else ""
        parts.append(tools + _ENDING.format(folder=folder))
    if task.functions:
        functions = json.dumps([dict(function) for function in task.functions], ensure_ascii=False)
        parts.append(_FUNCTIONS.format(answer=answer, functions=functions))
    if not parts and len(task.messages) == 1:
        return _content(task.messages[0]).replace("\0", "")
    said = (f"# {str(one['role']).capitalize()}\n\n{_content(one)}" for one in task.messages)
    return "\n\n".join((*parts, *said)).replace("\0", "")  # no word of a command holds one


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message, and the calls that it makes."""
    content = message.get("content")
    if not isinstance(content, str):
        content = "\n".join(str(part.get("text", "")) for part in content or () if part.get("type") == "text")
    calls = message.get("tool_calls")
    return "\n".join(filter(None, (content, calls and json.dumps(calls, ensure_ascii=False))))
