"""What the controller loads while its workers collect."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.plugin.project import ROOT, Project

PROBE = """
import sys, pytest

class Probe:
    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_node_collection_finished(self):
        print("\\nLOADED", "tool_impls.availability" in sys.modules)

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
    options = [f"--run-dir={tmp_path / 'run'}"]
    done = subprocess.run(
        [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert f"LOADED {loaded}" in done.stdout, done.stdout + done.stderr
