"""What each case carries in Allure's results, and what a run adds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agentgauge_reports.allure.results import write_run

from agentgauge.core.registry import Registry
from tests.model import fault_server as faults
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import one_of_each, say, slow
from tests.plugin.project import Project, run_gta, summary
from tests.plugin.toy import TOY

pytestmark = pytest.mark.slow


@pytest.fixture
def endpoint():
    with FaultServer(choose=one_of_each) as server:
        yield server


def results(folder: Path) -> dict[str, dict]:
    found = [json.loads(path.read_text()) for path in folder.glob("*-result.json")]
    return {result["name"].partition(":")[0]: result for result in found}


def labels(result: dict, name: str) -> set[str]:
    return {label["value"] for label in result["labels"] if label["name"] == name}


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> Path:
    """Results of a run in one process, below ``serial``, and of one in two, below ``n2``: s3 wrong, s4 broken."""

    def choose(seen):
        return faults.status(401) if "word4" in seen.body["messages"][-1]["content"] else say(seen)

    project = Project.make(tmp_path_factory.mktemp("told") / "project")
    (project.path / "serial").mkdir()
    (project.path / "serial" / "old-result.json").write_text('{"name": "old", "labels": []}')
    with faults.FaultServer(choose=choose) as server:
        model = ("--model", "m", "--model-url", server.url)
        for name, workers in (("serial", ()), ("n2", ("-n", "2"))):
            project.run(*model, *workers, "--alluredir", name, "--clean-alluredir", "--run-dir", f"run-{name}")
    return project.path


def test_each_case_is_told_with_its_steps_status_and_labels(told):
    found = results(told / "serial")
    assert sorted(found) == [f"s{number}" for number in range(6)]
    assert {name: result["status"] for name, result in found.items()} == {
        "s0": "passed", "s1": "passed", "s2": "passed",
        "s3": "failed", "s4": "broken", "s5": "passed",
    }  # fmt: skip
    right, wrong, broken = (found[f"s{number}"] for number in (0, 3, 4))
    assert labels(right, "epic") == {"Toy"}
    assert labels(right, "feature") == {"say it"}
    assert labels(right, "story") == {"say it"}
    assert right["titlePath"][1:] == ["Toy", "say it"]
    assert "even" in labels(right, "tag")
    assert {"name": "model", "value": "m"} in right["parameters"]
    assert right["historyId"] != wrong["historyId"]
    assert [step["name"] for step in right["steps"]] == ["model: word0"]
    assert right["steps"][0]["stop"] >= right["steps"][0]["start"] > 0
    assert right["stop"] >= right["start"]
    assert [attachment["name"] for attachment in right["attachments"]] == ["transcript"]
    assert wrong["statusDetails"]["message"] == "Other: expected 'word3', got 'something else'"
    assert "401" in broken["statusDetails"]["message"]
    assert "Traceback" not in json.dumps(found)


def test_history_differs_by_model_and_by_nothing_else(told, project, endpoint):
    """The address is another one too."""
    project.run("--model", "n", "--model-url", endpoint.url, "--alluredir", "other", "--run-dir", "run")
    first, again, other = (
        {name: result["historyId"] for name, result in results(folder).items()}
        for folder in (told / "serial", told / "n2", project.path / "other")
    )
    assert first == again
    assert len(set(first.values()) | set(other.values())) == 12


def test_results_of_a_run_are_those_that_are_made_of_its_folder_afterwards(project, endpoint):
    endpoint.choose = slow(0.2)  # so that some are not begun when the wrong one stops the run
    project.run(
        "--model", "m", "--model-url", endpoint.url, "-x", "--in-flight", "1", "--alluredir", "live", "--run-dir", "run"
    )
    write_run(project.path / "run", project.path / "later", tasks=Registry([TOY]))
    live, later = (
        {path.name: path.read_bytes() for path in (project.path / name).iterdir()} for name in ("live", "later")
    )
    assert live == later
    statuses = [result["status"] for result in results(project.path / "live").values()]
    counts = summary(project.path / "run")["tasks"]["toy.say"]
    assert {status: statuses.count(status) for status in ("passed", "failed", "broken", "skipped")} == {
        "passed": counts["passed"], "failed": counts["wrong"], "broken": counts["broken"], "skipped": counts["missing"],
    }  # fmt: skip
    assert counts["wrong"] and counts["missing"]


def test_serial_and_distributed_runs_leave_the_same_results_but_for_times(told):
    def cases(name: str) -> dict[str, str]:
        files = {path.name: json.loads(path.read_text()) for path in (told / name).glob("*-result.json")}
        return {file: json.dumps(_timeless(case)).replace(f"run-{name}", "run") for file, case in files.items()}

    assert cases("serial") == cases("n2")
    assert len(cases("serial")) == 6


def _timeless(value):
    if isinstance(value, dict):
        return {
            key: _timeless(inner) for key, inner in value.items() if key not in ("start", "stop", "descriptionHtml")
        }
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


def test_ordinary_tests_beside_cases_keep_their_own_results(project, model):
    (project.path / "test_other.py").write_text(
        "import pytest\n\n@pytest.fixture\ndef thing():\n    yield 1\n\ndef test_ordinary(thing):\n    assert thing"
        " == 2\n"
    )
    project.run(*model, "--alluredir", "allure", "--run-dir", "run")
    found = results(project.path / "allure")
    assert found["test_ordinary"]["status"] == "failed"
    assert sorted(name for name in found if name != "test_ordinary") == [f"s{number}" for number in range(6)]
    containers = [json.loads(path.read_text()) for path in (project.path / "allure").glob("*-container.json")]
    assert {child for container in containers for child in container["children"]} == {found["test_ordinary"]["uuid"]}


@pytest.mark.parametrize("name", ["serial", "n2"])
def test_what_the_run_adds_is_written_once(told, name):
    folder = told / name
    environment = (folder / "environment.properties").read_text()
    assert "model=m\n" in environment
    assert "data.toy.say=official" in environment
    categories = json.loads((folder / "categories.json").read_text())
    assert {"failed", "broken"} == {status for category in categories for status in category["matchedStatuses"]}
    [file] = folder.glob("*-globals.json")
    said = json.loads(file.read_text())
    assert (folder / said["attachments"][0]["source"]).read_text().startswith("# m")
    assert said["errors"] == []


def test_pictures_are_attached_only_where_a_case_is_not_passed(tmp_path, endpoint):
    which = ("-m", "gta_atomic_e2e", "-k", "Plot and 38")
    run_gta(*which, "--model", "oracle", "--alluredir", "right", "--run-dir", "one", cwd=tmp_path)
    kinds = {
        attachment["type"] for result in results(tmp_path / "right").values() for attachment in result["attachments"]
    }
    assert kinds == {"text/plain"}
    command = f"```python\n# {'another plot ' * 50}\ndef solution():\n    return plt.figure()\n```"
    plot = faults.tool_call("Plot", json.dumps({"command": command}))
    endpoint.choose = lambda request: (
        faults.answer("no idea") if len(request.body["messages"]) > 4 else faults.answer(None, tool_calls=[plot])
    )
    model = ("--model", "m", "--model-url", endpoint.url)
    run_gta(*which, *model, "--alluredir", "wrong", "--run-dir", "two", cwd=tmp_path)
    (wrong,) = results(tmp_path / "wrong").values()
    assert wrong["status"] == "failed"
    assert "plot.png" in [attachment["name"] for attachment in wrong["attachments"]]
