"""The example of an adapter, as its page runs it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.plugin.project import ROOT, records, run_gta

pytestmark = [pytest.mark.slow, pytest.mark.uses("agents")]

EXAMPLE = ROOT / "examples" / "app_adapter"


def test_the_command_of_the_page_works(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "app_adapter").symlink_to(EXAMPLE)
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```sh\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    assert block
    program, *options, tests = shlex.split(block[1])
    assert (program, tests) == ("pytest", "bench_gta/test_workflow.py")
    run_gta(*options, "-k", "test_workflow", "--run-dir=run", cwd=tmp_path)
    found = records(tmp_path / "run")
    assert len(found) == 3
    for record in found:
        output = record["transcript"]["output"]
        files = [Path(name).name for name in output["delivered"]]
        assert "report.md" in files
        said = f"I looked at {len(files) - 1} files and wrote report.md."
        assert output["assistant_outputs"] == [[{"role": "assistant", "content": said}]]
        assert record["transcript"]["usage"]["usd"] == pytest.approx(0.01 + 0.005 * (len(files) - 1))
