"""A command line that names no tests: those of the run that it resumes or scores again are run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.project import Project, pytest_here

SUMS = """
from agentgauge import benchmark

@benchmark("sums", data="sums.jsonl")
class Sums:
    async def run(self, case):
        return await case.converse(case.sample["question"])

    def score(self, sample, conversation):
        return True

    def oracle(self, sample):
        return "42"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose tests pytest finds only where a command line names them."""
    project = Project.make(tmp_path / "project")
    (project.path / "test_toy.py").rename(project.path / "named.py")
    (project.path / "sums.py").write_text(SUMS)
    (project.path / "sums.jsonl").write_text('{"id": "one", "question": "20 + 22"}\n')
    return project.path


WILD = ("--pyargs", "bench_wild", "--limit=4", "--model=oracle")
WAYS = {
    "a file": (("named.py", "-k", "s1", "--data=toy"), "--rescore", (), "1 wrong in"),
    "a case": (("named.py::test_say[s3]", "--data=toy"), "--resume", (), "1 wrong in"),
    "a benchmark in one file": (("sums.py", "--model=oracle"), "--rescore", (), "1 passed in"),
    "a package": (WILD, "--rescore", (), "4 passed in"),
    "a package with workers": (WILD, "--resume", ("-n", "2"), "4 passed in"),
}


@pytest.mark.parametrize(("first", "option", "workers", "end"), WAYS.values(), ids=WAYS)
def test_the_tests_of_the_run_are_run(folder: Path, first, option: str, workers, end: str) -> None:
    pytest_here(*first, "--run-dir=run", cwd=folder)
    again = pytest_here(f"{option}=run", *workers, cwd=folder)
    assert end in again.output, again.output
    assert "no test of" not in again.output


@pytest.mark.parametrize("option", ["--rescore", "--resume"])
def test_if_none_is_found_a_sentence_says_what_to_write(folder: Path, tmp_path: Path, option: str) -> None:
    pytest_here("named.py", "--data=toy", "--run-dir=run", cwd=folder)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "conftest.py").write_text((folder / "conftest.py").read_text())
    (tmp_path / "elsewhere" / "pytest.ini").write_text("[pytest]\n")
    again = pytest_here(f"{option}={folder / 'run'}", cwd=tmp_path / "elsewhere")
    how = f"give the command in the project's folder, or name its tests as the run did: {folder / 'named.py'}"
    assert f"no test of {folder / 'run'} was found; {how}" in again.output.replace("\n", " "), again.output


@pytest.mark.parametrize(("words", "says"), [(("--model=baseline",), True), ((), False)])
def test_a_model_without_a_test_is_told_how_to_name_one(tmp_path: Path, words, says: bool) -> None:
    """A project that asks for no model hears nothing of it."""
    empty = pytest_here(*words, cwd=tmp_path)
    assert empty.status == 5 and ("no test was found for --model; name a benchmark" in empty.output) is says


@pytest.mark.parametrize(
    "word",
    [
        *("{run}/planted.py", "planted.py", "run", "-p planted", "@planted", "{outside}/planted.py", 7),
        *("{project}/deploy.py", "importable"),
    ],
)
def test_a_strangers_run_folder_names_no_code(folder: Path, tmp_path: Path, word: object) -> None:
    pytest_here("named.py", "--data=toy", "--run-dir=run", cwd=folder)
    mark = tmp_path / "planted"
    for place in (folder / "run", tmp_path):
        (place / "planted.py").write_text(f"open({str(mark)!r}, 'w').close()")
        (place / "__init__.py").write_text(f"open({str(mark)!r}, 'w').close()")
    for name in ("deploy.py", "importable.py"):  # the user's own code, and no test
        (folder / name).write_text(f"open({str(mark)!r}, 'w').close()")
    about = json.loads((folder / "run" / "run.json").read_text())
    named = word.format(run=folder / "run", outside=tmp_path, project=folder) if isinstance(word, str) else word
    about["selection"]["arguments"] = [named]
    (folder / "run" / "run.json").write_text(json.dumps(about))
    pytest_here("--rescore=run", "--run-dir=again", cwd=folder)
    assert not mark.exists()
