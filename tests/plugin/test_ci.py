"""What CI services read of a run, and our examples for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import yaml

from tests.model.fault_server import FaultServer
from tests.plugin.conftest import one_of_each
from tests.plugin.project import ROOT, Project

EXAMPLES = ROOT / "examples" / "ci"


@pytest.fixture
def endpoint():
    with FaultServer(choose=one_of_each) as server:
        yield server


def test_cases_have_properties_in_junits_file(tmp_path, endpoint):
    project = Project.make(tmp_path / "project", samples=3)
    arguments = ("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", "--junitxml", "junit.xml")
    project.run(*arguments)
    cases = ElementTree.parse(project.path / "junit.xml").getroot().iter("testcase")
    found = [{one.get("name"): one.get("value") for one in case.iter("property")} for case in cases]
    assert [one["agentgauge.status"] for one in found] == ["wrong", "broken", "passed"]
    assert all(one["agentgauge.task"] == "toy.say" for one in found)
    assert float(found[2]["agentgauge.seconds"]) > 0 and int(found[2]["agentgauge.tokens"]) > 0


def _scripts(name: str) -> list[str]:
    """The shell scripts of an example that run and keep a run, in their order."""
    job = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    if name == "gitlab.yml":
        return ["\n".join(line for line in job["agents"]["script"] if not line.startswith("pip "))]
    steps = job["jobs"]["benchmarks"]["steps"]
    return [step["run"] for step in steps if step.get("name") in ("Run", "Keep the run")]


@pytest.mark.slow
@pytest.mark.uses("gates")
@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_the_examples_run_twice_and_compare_the_second_with_the_first(tmp_path, name):
    """With a stand-in for the model; what the CI services do by themselves is left out."""
    folder = tmp_path / "bin"
    folder.mkdir()
    wrapper = folder / "pytest"
    wrapper.write_text(
        f"""#!/bin/sh
for word; do shift
case $word in --model=gpt-4o) word=--model=baseline;; --limit=20) word=--limit=1;; --budget=5usd) continue;; esac
set -- "$@" "$word"; done
exec {sys.executable} -m pytest -c /dev/null --rootdir . "$@"
"""
    )
    wrapper.chmod(0o755)
    project = Project(tmp_path)
    environment = project.environment({"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)})
    outputs = []
    for _ in range(2):
        shutil.rmtree(tmp_path / "runs" / "now", ignore_errors=True)  # each job begins with a fresh clone
        for script in _scripts(name):
            done = subprocess.run(
                ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
            outputs.append(done.stdout)
    assert "no significant regression" not in outputs[0] and (tmp_path / "runs" / "before" / "summary.json").exists()
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite") is not None
    gates = (tmp_path / "runs" / "now" / "run.json").read_text()
    assert "no significant regression against runs/before" in gates
