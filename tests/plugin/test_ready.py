"""What the controller loads while its workers collect."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from agentgauge.core.task_registry import find_task
from agentgauge.run.preflight import is_asked_for
from tests.plugin.project import ROOT, Project


@pytest.mark.parametrize(
    ("task", "arguments", "asked"),
    [
        ("gta_atomic.e2e", ["bench_gta"], True),
        ("gta_workflow", ["bench_gta/test_workflow.py::test_workflow[1]"], True),
        ("gta_atomic.e2e", ["bench_wild", str(ROOT / "bench_gta")], True),
        ("gta_atomic.e2e", ["."], True),
        ("gta_atomic.e2e", ["bench_wild/test_wild.py"], False),
        ("gta_atomic.e2e", [str(ROOT / "bench_gta_of_mine")], False),
        ("gta_atomic.e2e", [], False),
    ],
)
def test_only_tasks_in_the_places_that_pytest_was_given_may_be_asked_for(task, arguments, asked):
    config = SimpleNamespace(args=arguments, invocation_params=SimpleNamespace(dir=ROOT))
    assert is_asked_for(find_task(task), config) is asked


def test_a_task_of_no_module_that_is_known_is_not_asked_for():
    made = type("Made", (), {"__module__": "made_by_hand"})()
    assert not is_asked_for(made, SimpleNamespace(args=["."], invocation_params=SimpleNamespace(dir=ROOT)))


PROBE = """
import sys, pytest

class Probe:
    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_node_collection_finished(self):
        print("\\nLOADED", "tool_impls.fingerprint" in sys.modules)

pytest.main(sys.argv[1:], plugins=[Probe()])
"""


@pytest.mark.parametrize(("folder", "loaded"), [("bench_gta", True), ("bench_wild", False)])
def test_the_tools_are_looked_up_before_the_workers_have_collected(tmp_path, folder, loaded):
    command = [
        sys.executable,
        "-c",
        PROBE,
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        "--model",
        "baseline",
        "--limit",
        "1",
        folder,
    ]
    environment = Project(tmp_path).environment()
    options = ["--run-dir", str(tmp_path / "run")]
    done = subprocess.run(
        [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert f"LOADED {loaded}" in done.stdout, done.stdout + done.stderr
