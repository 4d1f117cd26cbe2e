"""``--benchmark-json``: the times of cases in pytest-benchmark's format, which its own program reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.project import Project, python, records

pytestmark = pytest.mark.slow
WITH = ("-p", "pytest_benchmark.plugin")
OWN = """
def test_sorting(benchmark):
    benchmark(sorted, range(9))
"""
NAMES = [f"test_toy.py::test_say[s{number}-model]" for number in range(6)]


def written(project: Project, file: str) -> dict[str, Any]:
    return json.loads((project.path / file).read_text())


def fullnames(output: dict[str, Any]) -> list[str]:
    return [entry["fullname"] for entry in output["benchmarks"]]


def seconds(run: Path, sample: str) -> list[float]:
    """What the model took, by attempt."""
    found = {record["attempt"]: record for record in records(run) if record["sample"] == sample}
    return [found[attempt]["transcript"]["times"]["endpoint"] for attempt in sorted(found)]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_every_case_has_the_model_s_time(project, model, workers):
    result = project.run(*model, *WITH, *workers, "--attempts=2", "--run-dir=run", "--benchmark-json=new/times.json")
    assert result.status == 0 and "Not saving" not in result.output, result.output
    output = written(project, "new/times.json")
    assert fullnames(output) == NAMES and output["machine_info"] and output["commit_info"]
    for entry in output["benchmarks"]:
        sample, stats = entry["params"]["sample"], entry["stats"]
        assert stats["data"] == pytest.approx(seconds(project.path / "run", sample)) and stats["rounds"] == 2
        assert entry["name"] == f"test_say[{sample}-model]" and entry["group"] == "toy.say model"
        assert stats["min"] <= stats["mean"] <= stats["max"] and stats["total"] == pytest.approx(sum(stats["data"]))


def test_the_entries_of_a_project_s_own_tests_stay(project, model):
    (project.path / "test_own.py").write_text(OWN)
    project.add_to_conftest("def pytest_benchmark_update_json(output_json):\n    output_json['branch'] = 'main'\n")
    result = project.run(*model, *WITH, "--run-dir=run", "--benchmark-json=times.json")
    assert result.status == 0, result.output
    output = written(project, "times.json")
    assert fullnames(output) == ["test_own.py::test_sorting", *NAMES] and output["branch"] == "main"


def test_the_programs_of_pytest_benchmark_read_the_files(project, model):
    history = Path(".benchmarks/here")
    for number in (1, 2):
        file = history / f"000{number}_run.json"
        assert project.run(*model, *WITH, f"--run-dir={number}", f"--benchmark-json={file}").status == 0
    program = ("-m", "pytest_benchmark", "--storage=.benchmarks")
    listed = python(*program, "list", cwd=project.path)
    assert listed.output.count("_run.json") == 2, listed.output
    words = ("0001", "0002", *(str(history / f"000{number}_run.json") for number in (1, 2)))
    for files in (words[:2], words[2:]):
        compared = python(*program, "compare", *files, cwd=project.path)
        assert compared.status == 0 and "'toy.say model': 12 tests" in compared.output, compared.output
    more = ("--between=mean", "--group-by=param:time", "--csv=table.csv")
    compared = python(*program, "compare", *words[:2], *more, cwd=project.path)
    assert compared.status == 0 and "6 tests, 2 sources" in compared.output, compared.output
    assert (project.path / "table.csv").read_text().count("test_say") == 12
    (project.path / "test_own.py").write_text(OWN)
    result = python("-m", "pytest", "test_own.py", "--benchmark-compare", cwd=project.path)
    assert result.status == 0, result.output


def test_a_file_that_cannot_be_written_is_named(project, model):
    result = project.run(*model, *WITH, "--run-dir=run", "--benchmark-json=toy")
    assert result.status == 1
    assert "--benchmark-json=toy cannot be written (Is a directory)" in result.output
    assert (project.path / "run" / "leaderboard.md").exists()
