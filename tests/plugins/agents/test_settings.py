"""Settings of an agent program, as files and as the page on agents names them."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentgauge.core.config import AgentTable, Config, load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.options import OPTIONS
from agentgauge.plugins.agents.settings import AgentFacts, AgentProgram, check, read_agent
from agentgauge.run.option_values import refuse_together
from tests.docs.pages import ROOT, blocks, rows, text

from .agents import solve, solve_with


def option(text: str | None, *, unsafe: bool = False, rescore: str | None = None) -> Namespace:
    return Namespace(agent=text, allow_unsafe_code=unsafe, rescore=rescore)


def command(folder: Path, code: str = "print(1)") -> str:
    (folder / "mine.py").write_text(code)
    return f"{sys.executable} {folder / 'mine.py'} --fast"


def test_the_facts_follow_the_program_and_its_limits(tmp_path: Path) -> None:
    text = command(tmp_path)
    facts, program = read_agent(option(text), {}, Config())
    assert facts is not None and (facts.name, facts.text) == ("mine", text)
    assert program is not None and program.command.words[2:] == ("--fast",)
    same, _ = read_agent(option(text), {}, Config())
    slow, _ = read_agent(option(text), {}, Config(agent=AgentTable(seconds=9)))
    command(tmp_path, "print(2)")
    changed, _ = read_agent(option(text), {}, Config())
    assert same == facts and len({facts.digest, slow and slow.digest, changed and changed.digest}) == 3


def test_a_run_that_goes_on_has_the_agent_of_before(tmp_path: Path) -> None:
    before = {"agent": {"text": command(tmp_path), "name": "mine", "digest": "d", "confined": True}}
    facts, program = read_agent(option(None), before, Config())
    assert facts is not None and facts.digest != "d" and program is not None
    assert read_agent(option(None, rescore="run"), before, Config()) == (AgentFacts(**before["agent"]), None)
    assert read_agent(option(None), {}, Config()) == (None, None)


def run_hiding(folder: Path, facts: AgentFacts | None, program: AgentProgram) -> Any:
    found = {AgentFacts: facts, AgentProgram: program}
    settings = SimpleNamespace(
        tasks={}, hidden={folder: "a data set"}, rescore=None, facts=found, of=found.get, asks=True
    )
    return SimpleNamespace(plan=[], settings=settings)


@pytest.mark.parametrize("readable", ["gold", "gold/inside", "."])
def test_gold_is_not_shown(readable: str, tmp_path: Path) -> None:
    (tmp_path / "gold" / "inside").mkdir(parents=True)
    table = AgentTable(readable=(str(tmp_path / readable),))
    facts, program = read_agent(option(command(tmp_path)), {}, Config(agent=table))
    assert program is not None
    with pytest.raises(UsageProblem, match=r"\[agent\] readable .* would let the agent read a data set"):
        check(run_hiding(tmp_path / "gold", facts, program))


def test_the_environment_of_the_program_is_readable_without_our_packages(tmp_path: Path) -> None:
    """An agent has packages of its own; AgentGauge beside them would bring the bundled gold along."""
    environment = tmp_path / "other"
    packages = environment / "lib" / "python3.11" / "site-packages"
    for name in ("theirs", "bench_gta", "agentgauge"):
        (packages / name).mkdir(parents=True)
        (packages / name / "data.py").write_text("X = 1")
    (environment / "bin").mkdir()
    (environment / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix, 'bin')}\n")
    (environment / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    code = "import os, theirs.data\n"
    code += f"print([os.path.exists({str(packages)!r} + name) for name in ('/theirs/data.py', '/bench_gta/data.py')])"
    (tmp_path / "mine.py").write_text(code)
    text = f"{environment / 'bin' / 'python'} {tmp_path / 'mine.py'}"
    _, program = read_agent(option(text), {}, Config())
    assert program is not None and solve_with(program, tmp_path)[0].reply.text == "[True, False]"


def test_so_is_the_python_that_it_was_made_with(tmp_path: Path) -> None:
    """It is often of another version than AgentGauge's."""
    environment, base = tmp_path / "other", tmp_path / "base"
    packages = base / "lib" / "python3.9" / "site-packages"
    for place in (packages / "theirs", packages / "bench_gta", environment / "bin", base / "bin", base / "share"):
        place.mkdir(parents=True)
        (place / "data.py").write_text("X = 1")
    (environment / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\nversion = 3.9\n")
    (environment / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    places = [str(place / "data.py") for place in (packages / "theirs", packages / "bench_gta", base / "share")]
    (tmp_path / "mine.py").write_text(f"import os\nprint([os.path.exists(place) for place in {places}])")
    _, program = read_agent(option(f"{environment / 'bin' / 'python'} {tmp_path / 'mine.py'}"), {}, Config())
    assert program is not None and solve_with(program, tmp_path)[0].reply.text == "[True, False, False]"


def test_an_installed_program_may_be_a_link_into_its_environment(tmp_path: Path) -> None:
    environment = tmp_path / "venvs" / "agent"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix, 'bin')}\n")
    script = environment / "bin" / "agent"
    script.write_text(f"#!{Path(sys.executable).resolve()}\nprint('installed')\n")
    script.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(script)
    _, program = read_agent(option(str(tmp_path / "bin" / "agent")), {}, Config())
    assert program is not None and solve_with(program, tmp_path)[0].reply.text == "installed"


def test_python_is_the_one_behind_the_script_of_a_version_manager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "mine.py").touch()
    _, program = read_agent(option(f"python {tmp_path / 'mine.py'}"), {}, Config())
    assert program is not None and program.command.words[0] == sys.executable


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"--agent: there is no file 'no_agent\.py'; correct the path"):
        read_agent(option(f"{sys.executable} no_agent.py"), {}, Config())


@pytest.mark.parametrize(
    ("other", "launched", "says"),
    [
        pytest.param(
            {"batch": True},
            False,
            "--agent and --batch cannot be used together: an agent would wait",
            marks=pytest.mark.uses("batch"),
        ),
        ({"rescore": "a"}, False, "--agent and --rescore cannot be used together: a rescored run starts no agent"),
        ({}, True, "agentgauge launch and --agent cannot be used together: agents run on this machine"),
    ],
)
def test_what_an_agent_excludes(other: dict[str, Any], launched: bool, says: str) -> None:
    values = dict.fromkeys(each.key for each in OPTIONS.values()) | {"agent": "a"} | other
    with pytest.raises(UsageProblem, match=says):
        refuse_together(Namespace(**values), launched=launched)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (AgentTable(readable=("/no/such/place",)), "readable names /no/such/place, which does not exist"),
        (AgentTable(env=("NO_SUCH_VARIABLE_AT_ALL",)), "env names NO_SUCH_VARIABLE_AT_ALL, which is not set"),
    ],
)
def test_a_table_that_names_what_is_missing(table: AgentTable, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as problem:
        read_agent(option(command(tmp_path)), {}, Config(agent=table))
    assert says in str(problem.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seconds = 0", "agent.seconds is 0 and must be 1 or more"),
        ("memory_mb = 1", "agent.memory_mb is 1"),
        ("requests = 0", "agent.requests is 0"),
        ("speed = 1", "agent has no 'speed'"),
        ('readable = "src"', 'agent.readable is "src" and must be a list'),
        ("readable = [1]", "agent.readable.0 is 1 and must be a string"),
        ('env = ["sk-123456789"]', "agent.env.0 must be the name of an environment variable"),
        ("network = 1", "agent.network is 1 and must be true or false"),
    ],
)
def test_a_table_that_is_wrong(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "agentgauge.toml").write_text(f"[agent]\n{text}\n")
    with pytest.raises(UsageProblem) as problem:
        load_config(root=tmp_path)
    assert says in str(problem.value) and "sk-123456789" not in str(problem.value)


def test_a_table(tmp_path: Path) -> None:
    (tmp_path / "agentgauge.toml").write_text(
        '[agent]\nreadable = ["src"]\nenv = ["HOME"]\nseconds = 5\nnetwork = true\n'
    )
    found = load_config(root=tmp_path).agent
    assert found == AgentTable((str(tmp_path / "src"),), ("HOME",), seconds=5, network=True)


@pytest.mark.parametrize("layers", [("process", "rlimits"), ("process", "rlimits", "landlock", "landlock_tcp")])
def test_a_machine_that_cannot_confine_an_agent(
    layers: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgauge.run.programs.process.sandbox.layers", lambda: layers)
    with pytest.raises(UsageProblem, match="--allow-unsafe-code"):
        read_agent(option(command(tmp_path)), {}, Config())
    _, program = read_agent(option(command(tmp_path), unsafe=True), {}, Config())
    assert program is not None and not program.process.confined
    assert solve_with(program, tmp_path)[0].reply.text == "1"


def test_with_the_network_the_endpoint_is_reached_too(tmp_path: Path) -> None:
    code = "import os, urllib.request as u\nprint(u.urlopen(u.Request(os.environ['AGENTGAUGE_MODEL_URL'] + '/models',"
    code += " headers={'Authorization': 'Bearer ' + os.environ['AGENTGAUGE_MODEL_KEY']})).status)"
    _, program = read_agent(option(command(tmp_path, code)), {}, Config(agent=AgentTable(network=True)))
    assert program is not None and solve_with(program, tmp_path)[0].reply.text == "200"


# -- the page

PAGE = text("docs/external-agents.md")


def test_the_first_agent_is_the_example() -> None:
    assert (ROOT / "examples" / "agents" / "minimal_agent.py").read_text() in PAGE


def test_the_table_has_every_setting_with_its_default() -> None:
    found = tomllib.loads(next(block for block in blocks(PAGE, "toml") if block.startswith("[agent]\nreadable")))
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
