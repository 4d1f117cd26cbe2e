"""Agents of two frameworks in the model's place: their own loops, the benchmark's tools by MCP, the run's model.

``make test-heavy`` makes an environment for each, and runs this.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.plugin.project import ROOT, records, run_gta

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("framework", ["openai", "smolagents"])
def test_a_framework_solves_what_its_model_solves(framework: str, tmp_path: Path) -> None:
    program = Path(sys.prefix) / f"agents-{framework}" / "bin" / "python"
    if not program.is_file():
        pytest.skip("make test-heavy makes the environments of the frameworks")
    (file,) = (ROOT / "examples" / "agents").glob(f"{framework}*_agent.py")
    few = ("-k", "test_end_to_end", "--limit=2", "--run-dir=run")
    result = run_gta(f"--agent={program} {file}", "--model=oracle", *few, cwd=tmp_path)
    assert "2 planned · 2 passed" in result.output
    for record in records(tmp_path / "run"):
        kinds = [event["kind"] for event in record["transcript"]["events"]]
        assert kinds.count("tool") and kinds.count("model") == record["transcript"]["usage"]["requests"]
