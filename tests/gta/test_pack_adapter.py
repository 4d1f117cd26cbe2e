"""The example adapter does what its page says."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.gta.pack_data import stored
from tests.plugin.project import python

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "pack_adapter"


def commands() -> list[list[str]]:
    """The commands of the page."""
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```sh\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    assert block
    return [shlex.split(line) for line in block[1].replace("\\\n", " ").splitlines()]


def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "pack_adapter").symlink_to(EXAMPLE)
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    words = commands()
    assert [line[:3] for line in words] == [["agentgauge", "pack", verb] for verb in ("run", "check", "score", "table")]
    for line in words:
        few = ["--max-tasks", "3"] if line[2] == "run" else []
        done = python("-m", "agentgauge.cli.main", *line[1:], *few, cwd=tmp_path, env=environment)
        assert done.status == 0, done.output
    assert "| scripted |" in done.output
    pack = stored(tmp_path / "runs/scripted/pack.json")
    assert len(pack["tasks"]) == 3
    for task in pack["tasks"]:
        files = [Path(name).name for name in task["attached_files"]]
        assert "report.md" in files
        assert task["assistant_outputs"][0][0]["content"] == f"I looked at {len(files) - 1} files and wrote report.md."
        assert task["meta"]["usd"] == 0.01 + 0.005 * (len(files) - 1)
