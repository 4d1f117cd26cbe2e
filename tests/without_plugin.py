"""Deletes plugins of AgentGauge, with their tests, in a copy of the project, and runs the others.

- ``python -m tests.without_plugin NAME ...``: one after the other, with all other light tests each time.
- ``python -m tests.without_plugin``: all plugins at once, with all tests that need none; then each plugin, with the
  tests that need another one. So it shows the same of every plugin, in a fraction of the time.
- ``-- ARGUMENTS`` stand for pytest's own.

The tests of a plugin are those in ``tests/plugins/NAME`` and those that are marked with ``uses("NAME")``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.features import features

GONE = "AGENTGAUGE_TESTS_GONE"
"""Environment variable: the folders of the plugins that were deleted, which pages may name."""

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {plugin.name: Path(*plugin.value.split(".")[:-1]) for plugin in features()}
LIGHT = "not heavy and not long"
USUAL = ("tests", "-q", "-n", "2", "-m", LIGHT)
OF_PLUGINS = ("tests", "-q", "-n", "2", "-m", f"uses and {LIGHT}")


def copied(place: Path) -> None:
    """The files of the working tree that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)  # some tests read what git knows
    subprocess.run(["git", "add", "-A"], cwd=place, check=True)


def without(names: Sequence[str], arguments: Sequence[str]) -> int:
    """pytest's exit status."""
    with tempfile.TemporaryDirectory(prefix="without-") as folder:
        place = Path(folder) / "project"
        place.mkdir()
        copied(place)
        gone = [path if (place / path).exists() else Path("reports") / path for path in map(FOLDERS.__getitem__, names)]
        for name, path in zip(names, gone, strict=True):
            shutil.rmtree(place / path)
            shutil.rmtree(place / "tests" / "plugins" / name, ignore_errors=True)
        paths = os.pathsep.join([str(place), str(place / "reports")])
        env = {**os.environ, "PYTHONPATH": paths, GONE: os.pathsep.join(map(str, gone))}
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=place, env=env, check=False).returncode


def main(words: list[str]) -> int:
    at = words.index("--") if "--" in words else len(words)
    names, arguments = words[:at], words[at + 1 :]
    tried = [([name], arguments or USUAL) for name in names]
    if not names:
        tried = [([*FOLDERS], arguments or USUAL), *(([name], arguments or OF_PLUGINS) for name in FOLDERS)]
    ends = {}
    for gone, options in tried:
        print(f"without {', '.join(gone)}:", flush=True)
        ends[", ".join(gone)] = without(gone, options)
    for name, status in ends.items():
        print(f"without {name}: {'green' if status == 0 else f'pytest ended with {status}'}")
    return max(ends.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
