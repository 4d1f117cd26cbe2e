"""The page of external agents says what the code does."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path

from agentgauge.core.config import AgentTable
from tests.docs.pages import ROOT, blocks, rows, text

from .agents import solve

PAGE = text("docs/external-agents.md")


def test_the_first_agent_is_the_example() -> None:
    assert (ROOT / "examples" / "agents" / "minimal_agent.py").read_text() in PAGE


def test_the_table_has_every_setting_with_its_default() -> None:
    (found,) = (tomllib.loads(block) for block in blocks(PAGE, "toml") if block.startswith("[agent]"))
    defaults = {field.name: field.default for field in fields(AgentTable)}
    assert found["agent"].keys() == defaults.keys()
    numbers = {name: value for name, value in defaults.items() if isinstance(value, int | float)}
    assert {name: found["agent"][name] for name in numbers} == numbers


def test_the_program_gets_the_variables_and_keys_of_the_page(tmp_path: Path) -> None:
    variables = " ".join(row[0] for row in rows(PAGE, "environment variable", "what"))
    keys = " ".join(row[0] for row in rows(PAGE, "key", "what"))
    code = (
        "print(json.dumps([[name for name in os.environ if name.startswith(('AGENTGAUGE_', 'OPENAI_'))], list(task)]))"
    )
    given, told = json.loads(solve(code, tmp_path)[0].reply.text)
    optional = {"AGENTGAUGE_MCP_URL", "AGENTGAUGE_MCP_TOKEN"}  # of a task with tools
    assert {*re.findall("`([A-Z_]+)`", variables)} == {*given} | optional
    assert {*re.findall("`([a-z_]+)`", keys)} == {*told}
