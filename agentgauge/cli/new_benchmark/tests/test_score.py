"""The checker, on replies as models write them; and whole runs with the built-in models."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark_name.test_benchmark_name import score_reply


@pytest.mark.parametrize(
    ("reply", "labels"),
    [
        ("It takes 35 minutes.\nAnswer: 10:15", ()),
        ("Answer: 9:40? No.\nAnswer: 10:15.", ()),
        ("Answer: 10:05", ("wrong_answer",)),
        ("It arrives at 10:15.", ("no_answer",)),
        ("Answer:", ("no_answer",)),
        ("", ("no_answer",)),
    ],
)
def test_a_reply_is_scored(reply: str, labels: tuple[str, ...]) -> None:
    score = score_reply(reply, "10:15")
    assert (score.passed, score.labels) == (not labels, labels)


@pytest.mark.parametrize(("model", "accuracy"), [("oracle", 100), ("baseline", 0)])
def test_a_run_reaches(model: str, accuracy: float, tmp_path: Path) -> None:
    """Less than 100 with the oracle is a mistake in the data or in the checker."""
    options = [f"--model={model}", "--data=mini", f"--run-dir={tmp_path / 'run'}"]
    command = [sys.executable, "-m", "pytest", "--pyargs", "benchmark_name", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["tasks"]["benchmark_name"]["metrics"]["Accuracy"]["value"] == accuracy
