"""A benchmark of one file as its author runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.project import Project, Result, python, summary, without_times

SUMS = """
from agentgauge import Score, benchmark


@benchmark("sums", data="sums.jsonl", metrics={"Accuracy": "mean right"}, published="published.json", tags=["level"])
class Sums:
    async def run(self, case):
        return await case.ask(case.sample["question"])

    def score(self, sample, answer):
        right = answer.text.strip() == sample["answer"]
        return Score(right, {"right": right}, explanation=f"expected {sample['answer']}, got {answer.text}")

    def oracle(self, sample):
        return sample["answer"]
"""
SAMPLES = [
    {"id": "one", "question": "What is 1 + 2?", "answer": "3", "level": "easy"},
    {"id": "two", "question": "What is 20 + 22?", "answer": "42", "level": "hard"},
]


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("sums")
    (folder / "sums.py").write_text(SUMS)
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, SAMPLES)))
    (folder / "published.json").write_text('[{"model": "an abacus", "Accuracy": 97.5}]')
    return Project(folder)


def test_it_runs_is_resumed_and_scored_again(sums: Project) -> None:
    # what speaks no dialect is the same in all of them
    words = ("sums.py", "--model=oracle", "--dialect=react", "--run-dir=first", "-n", "2", "-k", "easy")
    first = sums.run(*words, data="mini")
    assert first.status == 0 and "sums: 1 planned · 1 passed" in first.output
    done = sums.run("sums.py", "--model=oracle", "--run-dir=run", data="mini")
    assert done.status == 0 and "sums: 2 cases, all data in" in done.output
    assert sums.run("sums.py", "--resume=run", data="auto").status == 0
    again = sums.run("sums.py", "--rescore=run", "--run-dir=again", "-n", "2", data="auto")
    assert again.status == 0
    tasks = [without_times(summary(sums.path / name)["tasks"]["sums"]) for name in ("run", "again")]
    assert tasks[0] == tasks[1] and tasks[0]["metrics"]["Accuracy"]["value"] == 100
    for words in (("report", "run", "--table", "md"), ("compare", "run", "again")):
        shown = agentgauge("--tasks", "sums.py", *words, cwd=sums.path)
        assert shown.status == 0 and "Accuracy" in shown.output, shown.output
        untold = agentgauge(*words, cwd=sums.path)
        assert untold.status == 4 and "agentgauge --tasks FILE COMMAND knows those of a file" in untold.output
    tables = agentgauge("--tasks", "sums.py", "report", "run", "--format", "csv", "--output", "out", cwd=sums.path)
    assert tables.status == 0 and "sums.Accuracy," in (sums.path / "out" / "metrics.csv").read_text(), tables.output
    board = (sums.path / "run" / "leaderboard.md").read_text()
    assert "| an abacus | 97.50 |" in board and "Not comparable" not in board


def agentgauge(*words: str, cwd: Path) -> Result:
    return python("-m", "agentgauge.cli.main", *words, cwd=cwd)


def test_without_options_it_meets_the_baseline(sums: Project) -> None:
    done = sums.run("sums.py", "--import-mode=importlib", data="mini")
    assert done.status == 0
    assert "sums.py::test_sums[two]" in done.output and "<-" not in done.output
    assert "expected 42, got" in done.output


@pytest.mark.parametrize(
    ("old", "new", "status", "sentence"),
    [
        ("mean right", "right", 4, "ERROR: the metric Accuracy of sums is 'right'; accepted are 'mean VALUE'"),
        ("from agentgauge", "import nowhere\nfrom agentgauge", 2, "No module named 'nowhere'"),
        ("from agentgauge", "import pytest\npytest.importorskip('nowhere')\nfrom agentgauge", 5, "1 skipped"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(sums: Project, tmp_path: Path, old, new, status, sentence) -> None:
    for file in sums.path.glob("*.json*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "sums.py").write_text(SUMS.replace(old, new))
    done = Project(tmp_path).run("sums.py", "--model=oracle", data="mini")
    assert done.status == status and sentence in done.output
