"""Every module of the measurements can be imported; `make gpu` keeps what its parts note, and says why one failed."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.gpu import __main__ as gpu
from tests.every import every
from tests.plugin.project import ROOT

MODULES = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.glob("benchmarks/**/*.py"))


@every("name", MODULES)
def test_it_can_be_imported(name):
    assert import_module(name).__doc__ or name.endswith("__init__")


@pytest.mark.parametrize(("value", "status"), [(0.5, 0), (2.0, 1)])
def test_make_gpu_fails_only_for_a_wrong_answer(value, status, monkeypatch, tmp_path):
    """Not for a part that fails; what it noted before is kept, without a line that was cut."""

    def part(words, seconds):
        note = {"kind": "checks", "model": "m", "what": "w", "value": value, "least": None, "most": 1.0}
        with Path(words[words.index("--notes") + 1]).open("a") as stream:
            stream.write(json.dumps(note | {"met": value <= 1}) + '\n{"kind": "ra')
        return "failed: OSError"

    monkeypatch.setattr(gpu, "outcome_of", part)
    file = tmp_path / "a" / "figures.json"
    assert gpu.main(["--device", "cpu", "--small", "--parts", "vision", "--figures", str(file)]) == status
    noted = json.loads(file.read_text())
    assert [check["value"] for check in noted["checks"]] == [value]
    assert [part["outcome"] for part in noted["parts"]] == ["failed: OSError"]


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["a warning", "Killed", ""], 1),
        (['  File "<frozen importlib>", line 1', "ModuleNotFoundError: No module named 'x'"], 1),
        (["torch.AcceleratorError: CUDA error: no kernel", "For debugging pass CUDA_LAUNCH_BLOCKING=1"], 0),
        (["ImportError while loading conftest", "E   OSError: no file", "conftest.py:3: in <module>"], 1),
        (["ERROR: file or directory not found: a.py", "", "=== no tests ran ==="], 0),
    ],
)
def test_a_part_that_failed_is_told_by_the_line_that_names_its_error(lines, named):
    assert gpu.reason("\n".join(lines)) == lines[named]


def test_a_reason_is_short():
    assert gpu.reason("") == ""
    assert len(gpu.reason("ValueError: " + "a" * 400)) == 300


def test_a_part_finds_packages_from_any_folder(monkeypatch):
    """Its run of GTA-Atomic, say, works in a folder of its own."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["build/gpu-packages", "", "/opt/site"]))
    assert gpu.python_path().split(os.pathsep) == [str(ROOT), str(Path.cwd() / "build/gpu-packages"), "/opt/site"]
