"""Nothing heavy is loaded before a case runs: collection, ``--help`` and an empty selection stay as quick as pytest."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.plugin.project import ROOT, Project

# fmt: off
HEAVY = frozenset({
    "openai", "aiohttp", "httpx", "httpx2", "httpcore", "httpcore2", "requests",
    "numpy", "PIL", "matplotlib", "sympy", "scipy", "cv2", "torch", "transformers", "sentence_transformers",
    "rapidocr", "onnxruntime", "tool_impls.registry", "agentgauge_reports",
})
# fmt: on
"""Packages that are imported where they are first used. ``asyncio`` and ``pydantic`` are not among them: every run
needs them."""

PROBE = """
import json, sys, pytest
status = pytest.main(sys.argv[1:])
print("\\nMODULES", json.dumps([int(status), sorted(sys.modules)]))
"""


@pytest.mark.parametrize(
    ("arguments", "expected", "status"),
    [
        (("--collect-only", "-q", "bench_gta"), {"bench_gta", "agentgauge"}, 0),
        (("--help",), {"agentgauge"}, 0),
        (("-k", "no_case_is_called_this", "bench_gta"), {"bench_gta", "agentgauge"}, 5),
    ],
    ids=["collect", "help", "nothing selected"],
)
def test_no_heavy_package_is_imported_before_a_case_runs(tmp_path, arguments, expected, status):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=Project(tmp_path).environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    ended, modules = json.loads(done.stdout.rpartition("MODULES")[2])
    assert ended == status, done.stdout
    assert expected <= set(modules)
    assert HEAVY.isdisjoint(modules), sorted(HEAVY & set(modules))


def test_a_project_that_runs_no_benchmark_does_not_load_pydantic(tmp_path):
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "-p", "no:cacheprovider", "-p", "agentgauge.pytest_plugin", "."],
        cwd=tmp_path,
        env=Project(tmp_path).environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    ended, modules = json.loads(done.stdout.rpartition("MODULES")[2])
    assert ended == 0, done.stdout
    assert "agentgauge.pytest_plugin" in modules and not HEAVY.union({"pydantic"}) & {*modules}
