"""A copy of the checkout, with interpreters that have AgentGauge's dependencies: with AgentGauge, or without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.plugin.project import ROOT, Project, Result

FOLDERS = ("agentgauge", "bench_gta", "bench_wild", "bench_mmau", "tool_impls", "reports", "tests")
FILES = ("conftest.py", "pyproject.toml", "agentgauge.toml")


@dataclass(frozen=True)
class Checkout:
    """A folder with the project's files, and an interpreter to run things there."""

    path: Path
    python: Path

    @staticmethod
    def make(folder: Path, *, installed: bool) -> Checkout:
        """``installed``: whether the interpreter finds the package in the folder, as after ``pip install -e``."""
        tree, environment = folder / "tree", folder / "environment"
        leave = shutil.ignore_patterns("__pycache__", "*.egg-info")  # metadata of the package, left by builds
        for name in FOLDERS:
            shutil.copytree(ROOT / name, tree / name, ignore=leave)
        for name in FILES:
            shutil.copy(ROOT / name, tree / name)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        (packages,) = environment.glob("lib/python3*/site-packages")
        _link_dependencies(packages)
        if installed:
            (packages / "agentgauge.pth").write_text(f"{tree}\n{tree / 'reports'}\n")
            (metadata := packages / "agentgauge-1.2.3.dist-info").mkdir()
            (metadata / "METADATA").write_text("Metadata-Version: 2.4\nName: agentgauge\nVersion: 1.2.3\n")
            points = distribution("agentgauge").read_text("entry_points.txt")
            (metadata / "entry_points.txt").write_text(points or "")
        return Checkout(tree, environment / "bin" / "python")

    def run(self, *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Result:
        """``python *words``, once it has ended. No variable says where the packages are."""
        variables = Project(self.path).environment(env)
        del variables["PYTHONPATH"]
        done = subprocess.run(
            [str(self.python), *words],
            cwd=cwd or self.path,
            env=variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Result(done.returncode, done.stdout + done.stderr, self.path)

    def pytest(self, *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Result:
        """``pytest *words``: unlike ``python -m pytest``, the program does not put the folder on ``sys.path``."""
        return self.run("-P", "-m", "pytest", *words, env=env, cwd=cwd)


def _link_dependencies(packages: Path) -> None:
    """What AgentGauge needs without an extra, and what that needs in turn, without AgentGauge itself."""
    wanted = _needed(distribution("agentgauge"))
    done: set[str] = set()
    while wanted:
        if (name := canonicalize_name(wanted.pop())) in done:
            continue
        done.add(name)
        found = distribution(name)
        wanted += _needed(found)
        for file in set(found.files or ()):
            if ".." not in file.parts and "__pycache__" not in file.parts:
                (target := packages / file).parent.mkdir(parents=True, exist_ok=True)
                _link(Path(str(found.locate_file(file))), target)


def _needed(found: Distribution) -> list[str]:
    requirements = map(Requirement, found.requires or ())
    return [one.name for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy(source, target)
