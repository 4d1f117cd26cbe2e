"""What an sdist and a wheel hold, and which version they have. Built offline, with the installed build backend."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agentgauge", "bench_gta", "bench_wild", "bench_mmau", "agentgauge_reports", "tool_impls")
FOLDERS = (*PACKAGES[:4], "reports", "tool_impls")
LEFT_OUT = ("benchmarks", "bundled_data", "examples", "tests")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def call(*words: str, cwd: Path) -> None:
    done = subprocess.run(words, cwd=cwd, env=clean_environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def build(hook: str, tree: Path, into: Path) -> Path:
    """Call a hook of the build backend, as pip does; the one thing that it made."""
    into.mkdir()
    call(sys.executable, "-c", f"from setuptools.build_meta import {hook}; {hook}({str(into)!r})", cwd=tree)
    (made,) = into.glob("*agentgauge-*")
    return made


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """The checkout without git, as an archive of the hosting site has it."""
    tree = tmp_path_factory.mktemp("archive") / "tree"
    tree.mkdir()
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in (*FOLDERS, *LEFT_OUT[:3]):
        shutil.copytree(ROOT / name, tree / name, ignore=leave)
    (tree / "tests" / "plugin").mkdir(parents=True)
    (tree / "tests" / "plugin" / "test_run.py").touch()
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tree / name)
    return tree


@pytest.fixture(scope="module")
def sdist(tree, tmp_path_factory) -> Path:
    return build("build_sdist", tree, tmp_path_factory.mktemp("sdist") / "made")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> zipfile.ZipFile:
    """Built from the sdist, as for a package index."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return zipfile.ZipFile(build("build_wheel", unpacked, folder / "made"))


def files_below(folder: Path, root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in folder.rglob("*") if path.is_file()}


def test_an_sdist_holds_the_packages_and_none_of_the_rest(sdist, tree):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"} <= names
    assert {name for name in names if name.startswith(LEFT_OUT)} == set()
    assert {name for folder in FOLDERS for name in files_below(tree / folder, tree)} <= names


def test_a_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel, tree):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {name.removeprefix("reports/") for folder in FOLDERS for name in files_below(tree / folder, tree)}


def test_every_package_is_typed(wheel):
    typed = Counter(
        name.partition("/")[0] for name in wheel.namelist() if name.count("/") == 1 and name.endswith("/py.typed")
    )
    assert typed == dict.fromkeys(PACKAGES, 1)


def test_every_entry_point_names_a_file_of_the_wheel(wheel):
    (listed,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    lines = [line for line in wheel.read(listed).decode().splitlines() if "=" in line]
    modules = [line.partition("=")[2].strip().partition(":")[0].replace(".", "/") for line in lines]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(modules) == sum(map(len, (project["scripts"], *project["entry-points"].values())))
    files = set(wheel.namelist())
    assert [name for name in modules if not {f"{name}.py", f"{name}/__init__.py"} & files] == []


def test_sdist_and_wheel_have_the_version_of_the_project(sdist, wheel):
    assert sdist.name == f"agentgauge-{VERSION}.tar.gz"
    assert Path(str(wheel.filename)).name == f"agentgauge-{VERSION}-py3-none-any.whl"


@pytest.mark.skipif(".dev" in VERSION, reason="between two releases")
def test_the_citation_and_the_changelog_have_it_too():
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{VERSION}], " in (ROOT / "CHANGELOG.md").read_text()
