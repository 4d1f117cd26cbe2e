"""A checkout works where AgentGauge is installed, and where only its dependencies are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer, answer
from tests.plugin.checkout import Checkout
from tests.plugin.project import records

ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
ORACLE = ("bench_wild", "--model=oracle", "--limit=2")


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Checkout:
    """Only the dependencies are installed."""
    return Checkout.make(tmp_path_factory.mktemp("bare"), installed=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Checkout:
    return Checkout.make(tmp_path_factory.mktemp("installed"), installed=True)


@pytest.fixture(params=["installed", "bare"])
def checkout(request) -> Checkout:
    found: Checkout = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=[{}, ALONE], ids=["plugins autoloaded", "no plugin autoloaded"])
def env(request) -> dict[str, str]:
    return dict(request.param)


def the_run(checkout: Checkout, folder: str = "") -> Path:
    """The run folder that was made last by pytest in that folder."""
    return max((checkout.path / folder / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)


def test_nothing_is_installed_but_the_dependencies(bare):
    ask = "import importlib.metadata as m\nm.version('pytest')\ntry: m.version('agentgauge')\n"
    ask += "except m.PackageNotFoundError: print('not installed')"
    assert bare.run("-P", "-c", ask).output == "not installed\n"
    assert "No module named 'agentgauge'" in bare.run("-P", "-c", "import agentgauge").output


def test_the_main_job_in_the_user_s_words(checkout):
    with FaultServer([answer("42")]) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-a-key-of-no-worth", **ALONE}
        result = checkout.pytest("-n", "32", "--model=gpt-4o", env=env)
        assert len(server.requests) > 600
    assert result.status == 0, result.output
    run = json.loads((the_run(checkout) / "run.json").read_text())
    counts = json.loads((the_run(checkout) / "summary.json").read_text())["tasks"]
    assert run["planned"] == sum(task["passed"] + task["wrong"] for task in counts.values()) > 600
    assert {name.partition(".")[0] for name in counts} == {"gta_atomic", "gta_workflow", "wild", "mmau"}


@pytest.mark.uses("allure")
def test_a_subset_and_a_dashboard_in_the_user_s_words(checkout, env, tmp_path):
    result = checkout.pytest("-k", "perception", f"--alluredir={tmp_path / 'dashboard'}", env=env)
    assert result.status == 0, result.output
    found = records(the_run(checkout))
    assert found and all("perception" in record["tags"] for record in found)
    results = [json.loads(file.read_text()) for file in (tmp_path / "dashboard").glob("*-result.json")]
    assert len(results) == len(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limt=1",), "--limt (did you mean --limit?)"),
        (("--judge-modl=oracle",), "--judge-modl (did you mean --judge-model?)"),
        (("--run-dir", "/tmp"), "write --run-dir=/tmp"),
    ],
)
def test_a_command_line_is_refused_as_where_it_is_installed(checkout, words, said):
    result = checkout.pytest(*ORACLE, *words)
    assert result.status == 4, result.output
    assert said in result.output


def test_options_of_tasks_are_known(bare, env):
    assert bare.pytest(*ORACLE, "--judge-model=oracle", env=env).status == 0
    assert "--judge-model" in bare.pytest("--help", env=env).output


def test_a_run_names_the_version_of_the_checkout_that_is_not_installed(bare):
    """Releases change the version: here it is one that no environment has."""
    project = bare.path / "pyproject.toml"
    text = project.read_text()
    project.write_text(re.sub(r'(?m)^version = "[^"]+"', 'version = "7.8.9"', text, count=1))
    try:
        assert bare.pytest(*ORACLE).status == 0
    finally:
        project.write_text(text)
    assert json.loads((the_run(bare) / "run.json").read_text())["agentgauge"] == "7.8.9"


def test_commands_and_data_sets_are_found(bare):
    path = {"PYTHONPATH": ":".join(str(bare.path / folder) for folder in ("", "reports"))}
    listed = bare.run("-m", "agentgauge.cli.main", "--help", env=path).output
    assert "\n  pack " in listed and "\n  generate " in listed
