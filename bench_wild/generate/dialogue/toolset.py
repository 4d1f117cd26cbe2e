"""The tool lists that dialogues are about, and the two pseudo tools that go with each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from bench_wild.data import FILES, load_sessions
from bench_wild.generate.dialogue.dialogue import Language
from bench_wild.labels import ASK, PREPARE, PSEUDO
from bench_wild.tool_lists import read_tool_lists

Tools = list[dict[str, Any]]

BUNDLED = Path(__file__).parents[2] / "mini" / FILES[0]


def tool_lists(file: Path | None, language: Language) -> list[Tools]:
    """The lists of a file, or those of the bundled sessions. Raises DataProblem for a file without a usable list."""
    lists = (
        list(read_tool_lists(file)) if file else [_plain(session.tools) for session in load_sessions(BUNDLED, language)]
    )
    if not lists:
        raise DataProblem(f"--tools: {file} holds no tool list; each line is a JSON list of tools")
    for number, tools in enumerate(lists, 1):
        names = {tool["function"]["name"] for tool in tools}
        if not names or names & PSEUDO:
            why = f"has a tool named {min(names & PSEUDO)}, a name that the generator needs" if names else "is empty"
            raise DataProblem(f"--tools: {file}, line {number} {why}; take the line out")
    return lists


def _plain(tools: Sequence[Any]) -> Tools:
    copy: Tools = json.loads(json.dumps(list(tools)))
    return copy


def digest_of(lists: Sequence[Tools]) -> str:
    """Short digest of tool lists, independent of their file's location."""
    return hashlib.sha256(json.dumps(list(lists), sort_keys=True).encode()).hexdigest()[:12]


def as_text(tools: Sequence[dict[str, Any]]) -> str:
    """Tools as a prompt shows them: one JSON object a line."""
    return "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)


def pseudo_tools(language: Language) -> Tools:
    """The two actions of a planner that are no tools, described as tools."""
    words = _WORDS[language]
    ask = {
        "tool_name": {"type": "string", "description": words["tool_name"]},
        "missing_required_parameters": {"type": "array", "items": {"type": "string"}, "description": words["missing"]},
    }
    answer = {"answer_type": {"type": "string", "enum": ["tool", "chat"], "description": words["answer_type"]}}
    return [_function(ASK, words["ask"], ask), _function(PREPARE, words["prepare"], answer)]


def _function(name: str, description: str, properties: Json) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


_WORDS = {
    "en": {
        "ask": "Ask the user for values of required parameters that the dialogue does not give.",
        "tool_name": "The tool whose required parameters lack values.",
        "missing": "The names of the required parameters without a value.",
        "prepare": "Nothing is left to call: the user gets an answer now.",
        "answer_type": "'tool' where the answer rests on tool results, 'chat' where no tool fits.",
    },
    "zh": {
        "ask": "对话里没有给出必填参数的值时，向用户询问。",
        "tool_name": "缺少必填参数值的工具的名称。",
        "missing": "没有值的必填参数的名称。",
        "prepare": "不再需要调用工具，现在可以回答用户。",
        "answer_type": "答案依据工具结果时为“tool”，没有合适的工具时为“chat”。",
    },
}
