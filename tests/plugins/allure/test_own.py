"""What a project's own code says to Allure about benchmark cases, and test plans."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from agentgauge_reports.allure.results import write_run
from agentgauge_reports.merge import merge

from agentgauge.core.registry import Registry
from agentgauge.store import RunFolder
from tests.plugin.project import Project, summary
from tests.plugin.toy import TOY, toy

pytestmark = pytest.mark.slow

TASKS = Registry([TOY, toy(name="toy.other")])

CASES = """
import allure
from agentgauge.pytest_plugin import benchmark_task

@allure.epic("their epic")
@allure.feature("their feature")
@allure.story("their story")
@allure.severity(allure.severity_level.BLOCKER)
@allure.label("owner", "ann")
@allure.tag("marked")
@allure.link("https://example.org/a", name="a page")
@allure.issue("7", name="an issue")
@allure.title("title of {sample}")
@allure.description("a <description>")
@benchmark_task("toy.say")
def test_say(outcome, sample):
    '''A docstring that is no description.'''
    outcome.check()

@benchmark_task("toy.other")
def test_dynamic(outcome, from_fixture, sample):
    allure.dynamic.label("layer", "dynamic")
    allure.dynamic.link("https://example.org/b", name="b page")
    allure.dynamic.parameter("colour", "red")
    allure.dynamic.description_html("<b>bold</b>")
    allure.dynamic.title("dynamic title")
    with allure.step("an outer step"), allure.step("an inner step"):
        allure.attach("in a step", "in the step", allure.attachment_type.TEXT)
    allure.attach("<svg/>", "drawing", allure.attachment_type.SVG)
    allure.attach.file(__file__, "source", allure.attachment_type.TEXT)
    outcome.check()

def test_ordinary(shared):
    allure.attach("ordinary", "of the ordinary test", allure.attachment_type.TEXT)
"""

CONFTEST = """
import allure, pytest

OTHER = toy(name="toy.other")

@pytest.fixture(scope="session", autouse=True)
def shared():
    with allure.step("a step of the session"):
        allure.attach("shared", "of the session", allure.attachment_type.TEXT)
    yield
    with allure.step("a last step"):
        pass

@pytest.fixture
def from_fixture():
    allure.dynamic.severity("trivial")
    allure.dynamic.story("of a fixture")
    yield

@pytest.fixture(autouse=True)
def titled(request):
    if "[s2]" in request.node.name:
        allure.dynamic.title("of a fixture")
        allure.dynamic.description("also of a fixture")

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(allure.label("from_hook", "yes"))
        item.add_marker(pytest.mark.smoke)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> Path:
    """Results of a run in one process, below ``serial``, and of one in two, below ``n2``."""
    project = Project.make(tmp_path_factory.mktemp("own") / "project", samples=3)
    (project.path / "test_toy.py").write_text(CASES)
    project.add_to_conftest(CONFTEST)
    (project.path / "pytest.ini").write_text("[pytest]\nmarkers = smoke\n")
    for name, workers in (("serial", ()), ("n2", ("-n", "2"))):
        done = project.run("--model=oracle", *workers, "--alluredir", name, "--run-dir", f"run-{name}")
        assert done.status == 0, done.output
    return project.path


def read(folder: Path, kind: str = "result") -> list[dict]:
    return [json.loads(path.read_text()) for path in folder.glob(f"*-{kind}.json")]


def cases(folder: Path, task: str) -> dict[str, dict]:
    """Node id → result, of a task."""
    return {one["fullName"]: one for one in read(folder) if {"name": "task", "value": task} in one["labels"]}


def labels(result: dict, name: str) -> set[str]:
    return {label["value"] for label in result["labels"] if label["name"] == name}


def link(kind: str, url: str, name: str) -> dict[str, str]:
    return {"type": kind, "url": url, "name": name}


def steps(result: dict) -> list[str]:
    return [name for step in result.get("steps", ()) for name in (step["name"], *steps(step))]


def attachments(folder: Path, item: dict) -> dict[str, tuple[str, str]]:
    """Name → kind and text, also of inner steps."""
    found = {one["name"]: (one["type"], (folder / one["source"]).read_text()) for one in item.get("attachments", ())}
    for step in item.get("steps", ()):
        found |= attachments(folder, step)
    return found


SAID = [
    ("say", "epic", lambda one: labels(one, "epic") == {"their epic"}),
    ("say", "feature", lambda one: labels(one, "feature") == {"their feature"}),
    ("say", "story", lambda one: labels(one, "story") == {"their story"}),
    ("say", "severity", lambda one: labels(one, "severity") == {"blocker"}),
    ("say", "label", lambda one: labels(one, "owner") == {"ann"}),
    ("say", "tag", lambda one: labels(one, "tag") == {"odd", "marked", "smoke"}),
    ("say", "label of a hook", lambda one: labels(one, "from_hook") == {"yes"}),
    ("say", "link", lambda one: link("link", "https://example.org/a", "a page") in one["links"]),
    ("say", "issue", lambda one: link("issue", "7", "an issue") in one["links"]),
    ("say", "title", lambda one: one["name"] == "title of s1"),
    ("say", "description", lambda one: ">a &lt;description&gt;<" in one["descriptionHtml"]),
    ("say", "no docstring", lambda one: "docstring" not in one["descriptionHtml"]),
    ("say", "our own id", lambda one: len(labels(one, "ALLURE_ID")) == 1 and not labels(one, "as_id")),
    ("other", "dynamic label", lambda one: labels(one, "layer") == {"dynamic"}),
    ("other", "dynamic link", lambda one: link("link", "https://example.org/b", "b page") in one["links"]),
    ("other", "dynamic parameter", lambda one: {"name": "colour", "value": "'red'"} in one["parameters"]),
    ("other", "dynamic description", lambda one: one["descriptionHtml"].startswith("<b>bold</b><p")),
    ("other", "dynamic title", lambda one: one["name"] == "dynamic title"),
    ("other", "severity of a fixture", lambda one: labels(one, "severity") == {"trivial"}),
    ("other", "story of a fixture", lambda one: labels(one, "story") == {"of a fixture"}),
    ("other", "our epic", lambda one: labels(one, "epic") == {"Toy"}),
    ("other", "steps", lambda one: steps(one) == ["model: word1", "an outer step", "an inner step"]),
]


@pytest.mark.parametrize("folder", ["serial", "n2"])
@pytest.mark.parametrize(("task", "what", "holds"), SAID, ids=[f"{task}-{what}" for task, what, _ in SAID])
def test_what_the_project_says_of_a_case_is_in_its_result(told, folder, task, what, holds):
    [result] = [one for node, one in cases(told / folder, f"toy.{task}").items() if node.endswith("[s1]")]
    assert holds(result), result


def test_title_and_description_may_come_from_a_fixture(told):
    found = cases(told / "serial", "toy.say")["test_toy.py::test_say[s2]"]
    assert found["name"] == "of a fixture"
    assert found["descriptionHtml"].startswith('<p style="white-space: pre-wrap">also of a fixture</p>')


@pytest.mark.parametrize("folder", ["serial", "n2"])
def test_attachments_are_beside_the_results(told, folder):
    for result in cases(told / folder, "toy.other").values():
        found = attachments(told / folder, result)
        assert {name: found[name] for name in ("in the step", "drawing", "source")} == {
            "in the step": ("text/plain", "in a step"),
            "drawing": ("image/svg+xml", "<svg/>"),
            "source": ("text/plain", CASES),
        }


@pytest.mark.parametrize("folder", ["serial", "n2"])
def test_what_a_fixture_does_stands_with_each_test_that_uses_it(told, folder):
    shared = [one for one in read(told / folder, "container") if "a step of the session" in str(one)]
    children = [child for container in shared for child in container["children"]]
    assert sorted(children) == sorted(result["uuid"] for result in read(told / folder))
    for container in shared:
        assert [name for after in container.get("afters", ()) for name in steps(after)] == ["a last step"]
        [before] = [one for one in container["befores"] if one["name"] == "shared"]
        assert attachments(told / folder, before) == {"of the session": ("text/plain", "shared")}


def test_a_report_of_the_folder_has_the_same_but_lets_no_browser_run_anything(told):
    write_run(told / "run-serial", told / "later", tasks=TASKS)
    live, later = (cases(told / name, "toy.other") for name in ("serial", "later"))
    assert live.keys() == later.keys()
    for node, result in later.items():
        assert result["labels"] == live[node]["labels"]
        assert attachments(told / "later", result)["drawing"] == ("text/plain", "<svg/>")


@pytest.mark.parametrize(
    "changed",
    [
        lambda own: {**own, "attachments": [{"name": "x", "source": "../run.json", "type": "text/plain"}]},
        lambda own: {**own, "attachments": [{"name": "x", "source": "../x-attachment.txt", "type": "text/plain"}]},
        lambda own: {**own, "labels": 7},
        lambda own: [own],
    ],
)
def test_a_folder_that_was_changed_by_hand_shows_no_other_file(told, tmp_path, changed):
    run = shutil.copytree(told / "run-serial", tmp_path / "run")
    (run / "x-attachment.txt").write_text("secret")
    for file in RunFolder(run).own_allure.glob("*-result.json"):
        file.write_text(json.dumps(changed(json.loads(file.read_text()))))
    write_run(run, tmp_path / "out", tasks=TASKS)
    assert len(read(tmp_path / "out")) == 6
    assert not [path for path in (tmp_path / "out").glob("*attachment*") if path.read_text() == "secret"]


@pytest.mark.uses("shards")
def test_merged_shards_have_what_the_project_said_in_each(tmp_path):
    project = Project.make(tmp_path / "project", samples=4)
    project.add_to_conftest(
        """
import allure, pytest

@pytest.fixture(autouse=True)
def said(request):
    allure.attach(request.node.name, "said", allure.attachment_type.TEXT)
    allure.dynamic.label("said", request.node.name)
"""
    )
    for number in (1, 2):
        words = (f"--shard={number}/2", f"--run-dir=run{number}", f"--alluredir=allure{number}")
        assert project.run("--model=oracle", *words).status == 0
    (project.path / "run1" / "own-allure" / "x-attachment.txt").symlink_to(project.path / "pytest.ini")
    merge([project.path / "run1", project.path / "run2"], project.path / "whole", tasks=Registry([TOY]))
    write_run(project.path / "whole", tmp_path / "out", tasks=Registry([TOY]))
    assert {value for one in read(tmp_path / "out") for value in labels(one, "said")} == {
        f"test_say[s{number}]" for number in range(4)
    }
    assert len(read(tmp_path / "out", "container")) == 4
    assert not (project.path / "whole" / "own-allure" / "x-attachment.txt").exists()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_test_plan_selects_exactly_its_cases(tmp_path, workers, monkeypatch):
    project = Project.make(tmp_path / "project", samples=8)
    assert project.run("--model=baseline", "--run-dir=run", "--alluredir=allure").status == 0
    failed = [one for one in read(project.path / "allure") if one["status"] == "failed"]
    assert len(failed) == 8
    chosen = sorted(failed, key=lambda one: one["fullName"])[2:5]
    ids = [next(label["value"] for label in one["labels"] if label["name"] == "ALLURE_ID") for one in chosen]
    plan = [{"id": id, "selector": one["fullName"]} for id, one in zip(ids, chosen, strict=True)]
    (project.path / "plan.json").write_text(json.dumps({"version": "1.0", "tests": plan}))
    monkeypatch.setenv("ALLURE_TESTPLAN_PATH", str(project.path / "plan.json"))
    assert project.run("--model=oracle", "--run-dir=again", *workers).status == 0
    planned = json.loads((project.path / "again" / "planned.json").read_text())
    assert [node for *_, node in planned] == [one["fullName"] for one in chosen]
    assert summary(project.path / "again")["tasks"]["toy.say"]["passed"] == 3
    monkeypatch.delenv("ALLURE_TESTPLAN_PATH")
    assert project.run("--model=oracle", "--run-dir=third", f"--allure-ids={ids[0]}", *workers).status == 0
    assert len(json.loads((project.path / "third" / "planned.json").read_text())) == 1


LOST = """
import allure
from pathlib import Path
from agentgauge.pytest_plugin import benchmark_task

@allure.tag("marked")
@benchmark_task("toy.say")
def test_say(outcome):
    Path("run/own-allure").touch()  # where the folder should be
    outcome.check()
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["serial", "n1"])
def test_what_cannot_be_kept_is_said_at_the_end(tmp_path, workers):
    project = Project.make(tmp_path / "project", samples=2)
    (project.path / "test_toy.py").write_text(LOST)
    result = project.run("--model=oracle", "--run-dir=run", "--alluredir=allure", *workers)
    where = project.path / "run" / "own-allure"
    lost = f"Allure's results lack some of what your code says about cases: {where} cannot be written (File exists)"
    assert result.output.count(lost) == 1, result.output
    assert result.status == 0
