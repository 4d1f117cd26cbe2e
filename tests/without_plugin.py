"""Deletes each plugin of AgentGauge in turn, with its tests, and runs the others: ``python -m tests.without_plugin
[NAME ...] [-- ARGUMENTS OF PYTEST]``. The tests of a plugin are those in ``tests/plugins/NAME`` and those that are
marked with ``uses("NAME")``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agentgauge.core.features import features

GONE = "AGENTGAUGE_TESTS_GONE"
"""Environment variable: the folder of the plugin that was deleted, which pages may name."""

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {plugin.name: Path(*plugin.value.split(".")[:-1]) for plugin in features()}
USUAL = ("tests", "-q", "-n", "2", "-m", "not heavy and not long")


def copied(place: Path) -> None:
    """The files of the working tree that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)  # some tests read what git knows
    subprocess.run(["git", "add", "-A"], cwd=place, check=True)


def without(name: str, arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="without-") as folder:
        place = Path(folder) / "project"
        place.mkdir()
        copied(place)
        mine = FOLDERS[name] if (place / FOLDERS[name]).exists() else Path("reports") / FOLDERS[name]
        shutil.rmtree(place / mine)
        shutil.rmtree(place / "tests" / "plugins" / name, ignore_errors=True)
        paths = os.pathsep.join([str(place), str(place / "reports")])
        command = [sys.executable, "-m", "pytest", *(arguments or USUAL)]
        env = {**os.environ, "PYTHONPATH": paths, GONE: str(mine)}
        return subprocess.run(command, cwd=place, env=env, check=False).returncode


def main(words: list[str]) -> int:
    at = words.index("--") if "--" in words else len(words)
    names, arguments = words[:at], words[at + 1 :]
    ends = {}
    for name in names or FOLDERS:
        print(f"without {name}:", flush=True)
        ends[name] = without(name, arguments)
    for name, status in ends.items():
        print(f"without {name}: {'green' if status == 0 else f'pytest ended with {status}'}")
    return max(ends.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
