"""pytest's options that run no case, and those that pick what failed before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.project import PYTEST, Project, python

OWN = """
import pytest

@pytest.fixture
def asked(model):
    return model.ask("?")

def test_own(asked):
    assert asked

def test_plain():
    assert True
"""
KEYLESS = ("--model=gpt-4o",)
LOOKING = (
    ("--co",),
    ("--collect-only", "-q"),
    ("--setup-plan",),
    ("--setup-only",),
    ("--fixtures",),
    ("--fixtures-per-test",),
    ("--markers",),
    ("--help",),
    ("--version",),
    ("--co", "--model=openai/o3"),
    ("--setup-plan", "--model=openai/o3"),
    ("--co", "-n2"),
    ("--setup-plan", "-n2"),
    ("--fixtures", "-n2"),
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.make(tmp_path / "project", samples=3)
    (made.path / "test_own.py").write_text(OWN)
    return made


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_looking_needs_no_key_and_leaves_nothing(project: Project, words: tuple[str, ...]) -> None:
    result = project.run(*KEYLESS, *words)
    assert result.status == 0, result.output
    assert not (project.path / "runs").exists()
    assert "is missing" not in result.output and "are missing" not in result.output


def test_what_is_set_up_and_looked_at(project: Project) -> None:
    assert "4 tests collected" not in (listed := project.run("--co", "-q", *KEYLESS).output)
    assert "5 tests collected" in listed and "test_toy.py::test_say[s1]" in listed
    assert "SETUP    F outcome" in project.run("--setup-plan", *KEYLESS).output
    assert "4 skipped" in project.run("--setup-only", "-rs", *KEYLESS).output
    shown = project.run("--setup-show", "--model=oracle", "--run-dir=shown", "test_toy.py")  # runs the tests
    assert shown.status == 0 and "SETUP    F outcome" in shown.output, shown.output
    assert json.loads((project.path / "shown/summary.json").read_text())["tasks"]["toy.say"]["passed"] == 3


@pytest.mark.parametrize("data", ["toy", "nowhere"])
def test_the_tasks_are_markers(project: Project, data: str) -> None:
    listed = project.run("--markers", data=data).output
    assert "@pytest.mark.toy_say: Toy: say it (task toy.say)" in listed
    assert "@pytest.mark.wild: WildToolBench: tasks (task wild)" in listed
    assert "@pytest.mark.tests" not in listed


def test_the_keywords_of_a_case_are_listed(project: Project) -> None:
    listed = project.run("--collect-only", "-v", *KEYLESS).output
    assert "test_toy.py::test_say[s1]: toy.say, odd\n" in listed
    assert "toy.say, odd" not in project.run("--collect-only", *KEYLESS).output


@pytest.mark.parametrize("option", ["-k", "-m"])
@pytest.mark.parametrize("word", ["no-gold", "no_gold", "toy-say", "toy_say", "toy.say"])
def test_hyphens_and_underscores_are_alike(project: Project, option: str, word: str) -> None:
    project.add_to_conftest(
        "import tests.plugin.toy as t\nt.describe = lambda entry: (entry.value['id'], ['no-gold'])\n"
    )
    listed = project.run("--collect-only", "-q", *KEYLESS, option, word).output
    assert "3/5 tests collected" in listed, listed


def test_an_unknown_model_is_still_refused(project: Project) -> None:
    result = project.run("--co", "--model=gtp-4o")
    assert result.status == 4 and "did you mean gpt-4o" in result.output


# -- what failed before


def _run(project: Project, *words: str, status: int = 0) -> str:
    """With pytest's cache, which other tests switch off."""
    at = PYTEST.index("no:cacheprovider") - 1
    words = (*PYTEST[:at], *PYTEST[at + 2 :], "--data", "toy", "-rA", *words)
    result = python(*words, cwd=project.path)
    assert result.status == status, result.output
    return result.output


def _script(project: Project, name: str, *right: int) -> str:
    replies = {f"toy.say/s{number}": [f"word{number}" if number in right else "?"] for number in range(3)}
    (project.path / name).write_text(json.dumps({"replies": replies}))
    return f"--model=scripted:{name}"


def _ran(output: str) -> set[str]:
    return {f"s{number}" for number in range(3) if f"test_say[s{number}]" in output}


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
def test_what_failed_with_one_model_has_not_failed_with_another(project: Project, workers: tuple[str, ...]) -> None:
    (project.path / "test_own.py").write_text("def test_broken():\n    assert False\n")
    one, other = _script(project, "one.json", 0), _script(project, "other.json", 1, 2)
    _run(project, one, *workers, status=1)  # s1, s2 are wrong, and test_broken fails
    _run(project, other, *workers, status=1)  # s0 is wrong
    assert _ran(_run(project, one, "--lf", *workers, status=1)) == {"s1", "s2"}
    again = _run(project, other, "--lf", *workers, status=1)
    assert _ran(again) == {"s0"} and "test_broken" in again
    fixed = _script(project, "one.json", 0, 1)
    _run(project, fixed, "--lf", *workers, status=1)
    assert _ran(_run(project, fixed, "--lf", *workers, status=1)) == {"s2"}
    assert _ran(_run(project, other, "--lf", "--co", "-q")) == {"s0"}


def test_first_those_that_failed_with_this_model(project: Project) -> None:
    one, other = _script(project, "one.json", 0), _script(project, "other.json", 0, 1)
    for model in (one, other):
        _run(project, model, "test_toy.py")
    listed = [line for line in _run(project, other, "--ff", "--co", "-q", "test_toy.py").splitlines() if "::" in line]
    assert listed[0].endswith("[s2]")


def test_stepwise_goes_on_where_this_model_failed(project: Project) -> None:
    one, other = _script(project, "one.json", 0), _script(project, "other.json", 0, 1)
    for model in (one, other):
        _run(project, model, "--sw", "test_toy.py")
    assert _ran(_run(project, one, "--sw", "--co", "-q", "test_toy.py")) == {"s1", "s2"}
    assert _ran(_run(project, other, "--sw", "--co", "-q", "test_toy.py")) == {"s2"}


def _lists(project: Project) -> dict[str, Any]:
    """What pytest and we know of failed tests."""
    folder = project.path / ".pytest_cache" / "v"
    return {name: json.loads((folder / name / "lastfailed").read_text()) for name in ("cache", "agentgauge")}


def test_whoever_only_looks_leaves_the_lists_as_they_are(project: Project) -> None:
    _run(project, _script(project, "one.json", 0), "test_toy.py")
    before, other = _lists(project), _script(project, "other.json", 1, 2)
    for words in (("--co", "-q"), ("--cache-show",), ("--markers",), ("--lf", "--co", "-q")):
        _run(project, other, *words)
        assert _lists(project) == before, words


IN_WORKERS = """
import os, pathlib
import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # meanwhile a run of another model has written its list
    pathlib.Path(".pytest_cache/v/cache/lastfailed").write_text("{}")
    pytest.Cache.set = None
"""


def test_workers_get_the_lists_of_the_first_process_and_write_none(project: Project) -> None:
    one = _script(project, "one.json", 0)
    _run(project, one, "test_toy.py")
    with (project.path / "conftest.py").open("a") as conftest:
        conftest.write(IN_WORKERS)
    assert _ran(_run(project, one, "--lf", "-n2", "test_toy.py")) == {"s1", "s2"}


@pytest.mark.parametrize("content", ["[]", '{"MODEL": []}', '{"MODEL": {"failed": 3}, "other": {"failed": [1, []]}}'])
def test_damaged_lists_are_begun_anew(project: Project, content: str) -> None:
    one = _script(project, "one.json", 0)
    path = project.path / ".pytest_cache" / "v" / "agentgauge" / "lastfailed"
    path.parent.mkdir(parents=True)
    name = one.removeprefix("--model=")
    path.write_text(content.replace("MODEL", name))
    _run(project, one, "test_toy.py")
    assert [node[-4:] for node in _lists(project)["agentgauge"][name]["failed"]] == ["[s1]", "[s2]"]


SKIPS = """
import pathlib
import pytest

def test_own(model):
    if pathlib.Path("absent").exists():
        pytest.skip("not now")
    assert False
"""


@pytest.mark.uses("budget", "own_tests")
def test_a_failed_test_that_is_skipped_has_not_failed_any_more(project: Project) -> None:
    """As pytest has it; a case that a budget keeps from being asked stays where it is."""
    (project.path / "test_own.py").write_text(SKIPS)
    right = _script(project, "one.json", 0)
    _run(project, right, status=1)
    (project.path / "absent").touch()
    _run(project, right, "--lf", "--budget=1tok", status=1)
    listed = _run(project, right, "--lf", "--co", "-q")
    assert "test_own" not in listed and _ran(listed) == {"s1", "s2"}


def test_a_run_that_names_no_model_has_a_list_of_its_own(project: Project) -> None:
    """AgentGauge is activated in the middle of the collection."""
    bare = (*(word for word in PYTEST if word not in ("--data", "toy")),)
    at = bare.index("no:cacheprovider") - 1
    words = (*bare[:at], *bare[at + 2 :], "test_toy.py", "-rA")
    (project.path / "pytest.ini").write_text("[pytest]\naddopts = --tb=short\n")
    env = {"AGENTGAUGE_DATA": str(project.path / "toy")}
    one = _script(project, "one.json", 0)
    _run(project, one, "test_toy.py")
    first = python(*words, cwd=project.path, env=env)
    assert first.status == 0 and "3 wrong" in first.output, first.output
    assert _ran(_run(project, one, "--lf", "--co", "-q", "test_toy.py")) == {"s1", "s2"}
    assert _ran(python(*words, "--lf", "--co", "-q", cwd=project.path, env=env).output) == {"s0", "s1", "s2"}
