"""The folders in which the benchmarks run pytest: ours, and the yardsticks'."""

from __future__ import annotations

import json
import shutil
from itertools import cycle
from pathlib import Path

from tests.plugin.project import ROOT, Project

OURS = """
from {module} import {name}
pytest_plugins = ["agentgauge.pytest_plugin"]
"""

BARE = """
import pytest

@pytest.mark.parametrize("sample", [f"s{{n}}" for n in range({cases})])
def test_bare(sample):
    pass
"""

SYNCHRONOUS = """
import openai
import pytest

@pytest.fixture(scope="session")
def client():
    return openai.OpenAI(base_url="{url}", api_key="none")

@pytest.mark.parametrize("sample", [f"s{{n}}" for n in range({cases})])
def test_say(client, sample):
    messages = [{{"role": "user", "content": f"say {{sample}}"}}]
    assert client.chat.completions.create(model="m", messages=messages).choices[0].message.content == sample
"""


def toy_project(path: Path, cases: int, name: str = "TOY") -> Project:
    """The toy benchmark, or one of benchmarks.toys."""
    project = Project.make(path, cases)
    (path / "conftest.py").write_text(
        OURS.format(module="tests.plugin.toy" if name == "TOY" else "benchmarks.toys", name=name)
    )
    return project


def bare_project(path: Path, cases: int) -> Project:
    """The yardstick: one no-op test with so many parameters, in a folder that knows nothing of us."""
    return _foreign(path, BARE.format(cases=cases))


def synchronous_project(path: Path, cases: int, url: str) -> Project:
    """What one would write without us: a synchronous client, one request a test."""
    return _foreign(path, SYNCHRONOUS.format(cases=cases, url=url))


def _foreign(path: Path, text: str) -> Project:
    path.mkdir()
    (path / "pytest.ini").write_text("[pytest]\n")
    (path / "test_foreign.py").write_text(text)
    return Project(path)


def gta_project(path: Path, cases: int) -> Project:
    """GTA-Atomic step by step on so many samples: the bundled ones over and over, under new keys."""
    path.mkdir()
    (path / "pytest.ini").write_text("[pytest]\n")
    (path / "conftest.py").write_text('pytest_plugins = ["agentgauge.pytest_plugin"]\n')
    (path / "test_step.py").write_text((ROOT / "bench_gta" / "test_step.py").read_text())
    data = path / "gta_atomic"
    data.mkdir()
    mini = ROOT / "bench_gta" / "atomic" / "mini"
    shutil.copy(mini / "toolmeta.json", data)
    (data / "image").symlink_to(mini / "image")
    samples = cycle(json.loads((mini / "dataset.json").read_text()).values())
    (data / "dataset.json").write_text(json.dumps({str(number): next(samples) for number in range(cases)}))
    return Project(path)
