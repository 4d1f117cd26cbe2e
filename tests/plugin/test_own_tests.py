"""A project's own tests with the fixtures ``model``, ``tools``, ``model_endpoint`` and ``tool_server``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer, Seen, answer, tool_call
from tests.plugin.project import records, summary
from tests.plugin.test_installed import forked_in

TESTS = '''
import pytest

def double(number: int) -> int:
    """Twice a number."""
    return 2 * number

def test_uses_a_function(model):
    reply = model.ask("double 21", tools=[double])
    assert (reply.text, reply.calls[0].name, reply.calls[0].result) == ("42", "double", "42")

def test_fails(model):
    assert model.complete("hello").text == "never"

def test_calls_tools(tools, tmp_path):
    assert tools.Calculator(expression="6*7") == "42"
    assert "Calculator" in tools.catalog
    lines = ["def solution():", "    import matplotlib.pyplot as plt", "    return plt.figure()"]
    made = tools.Plot(command="\\n".join(lines))
    assert made.suffix == ".png" and made.is_relative_to(tools.files)

def test_the_model_calls_tools(model, tools):
    reply = model.ask("calculate", tools=[tools.Calculator])
    assert (reply.text, [call.result for call in reply.calls]) == ("42", ["42"])

def test_the_model_reads_nothing_else(model, tools):
    reply = model.ask("read " + __file__, tools=[tools.OCR])
    assert "is not one of the files of this task" in reply.calls[0].error

def test_addresses(model_endpoint, tool_server):
    import urllib.request
    assert model_endpoint.url.startswith("http://127.0.0.1:") and model_endpoint.model == "m"
    token = {"Authorization": f"Bearer {tool_server.key}"}
    ask = urllib.request.Request(f"{tool_server.url}/openapi.json", headers=token)
    assert b"Calculator" in urllib.request.urlopen(ask, timeout=20).read()

@pytest.mark.anyio
async def test_awaits(model, tools):
    assert (await model.ask("double 21", tools=[double])).text == "42"
    assert await tools.Calculator(expression="6*7") == "42"

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.skip(reason="not today")
def test_skipped(model):
    pass

def test_skips_itself(model):
    pytest.skip("not now")

def test_of_something_else():
    pass
'''

OWN_FIXTURE = """
import pytest
@pytest.fixture
def model():
    return "a model of their own"
def test_it(model):
    assert model == "a model of their own"
"""


def reply(seen: Seen):
    """Doubles by a call, and says what the call gave."""
    said = seen.body["messages"]
    if said[-1]["role"] == "tool":
        return answer(said[-1]["content"])
    if said[-1]["content"] == "double 21":
        return answer(None, tool_calls=[tool_call("double", '{"number": 21}', "call_1")])
    if said[-1]["content"].startswith("read "):
        arguments = json.dumps({"image": said[-1]["content"].removeprefix("read ")})
        return answer(None, tool_calls=[tool_call("OCR", arguments, "call_1")])
    if said[-1]["content"] == "calculate":
        return answer(None, tool_calls=[tool_call("Calculator", '{"expression": "6*7"}', "call_1")])
    return answer("good morning")


@pytest.fixture
def endpoint():
    with FaultServer(choose=reply) as server:
        yield server


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_own.py").write_text(TESTS)
    return folder


def statuses(run: Path) -> dict[str, str]:
    return {record["sample"].partition("::")[2]: record["status"] for record in records(run)}


PASSED = (
    "test_uses_a_function",
    "test_calls_tools",
    "test_the_model_calls_tools",
    "test_the_model_reads_nothing_else",
    "test_addresses",
    "test_awaits",
)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "xdist"])
def test_each_leaves_a_record_and_passes_or_fails_as_pytest_has_it(tmp_path, endpoint, workers):
    folder = project(tmp_path / "own")
    model = ("--model=m", f"--model-url={endpoint.url}", "--run-dir=run", "--alluredir=allure")
    result = forked_in(folder, *model, *workers)
    assert result.status == 1, result.output
    assert "1 failed, 7 passed, 2 skipped" in result.output
    run = folder / "run"
    assert statuses(run) == {**dict.fromkeys(PASSED, "passed"), "test_fails": "wrong"}
    (fails,) = (record for record in records(run) if record["status"] == "wrong")
    assert "good morning" in fails["score"]["explanation"]
    assert [event["kind"] for event in fails["transcript"]["events"]] == ["model"]
    tasks = summary(run)["tasks"]
    assert {name: (part["planned"], part["passed"]) for name, part in tasks.items()} == {
        "tests": (3, 1),
        "tests.tools": (5, 5),
    }
    assert "test_uses_a_function" in (run / "report.html").read_text()
    assert "| Passed | Passed with tools |" in (run / "leaderboard.md").read_text()
    assert_allure_has_steps(folder / "allure")


def assert_allure_has_steps(folder: Path) -> None:
    """One result a test, of allure-pytest, with what was said as steps."""
    results = [json.loads(path.read_text()) for path in folder.glob("*-result.json")]
    assert sorted(result["name"] for result in results) == sorted(
        [*PASSED, "test_fails", "test_skipped", "test_skips_itself", "test_of_something_else"]
    )
    (doubled,) = (result for result in results if result["name"] == "test_uses_a_function")
    assert [step["name"] for step in doubled["steps"]] == ["model: double", "tool: double", "model: 42"]


def test_a_resumed_run_skips_what_has_passed_and_a_replayed_one_asks_nobody(tmp_path, endpoint):
    folder = project(tmp_path / "own")
    chosen = ("-k", "function or fails")
    model = ("--model=m", f"--model-url={endpoint.url}")
    forked_in(folder, *chosen, *model, "--run-dir=run", "--record=tape.jsonl")
    before = len(endpoint.requests)
    again = forked_in(folder, "--resume=run")
    assert "1 failed, 1 passed, 2 skipped" in again.output, again.output  # those that use no fixture of ours run again
    assert len(endpoint.requests) == before + 1
    assert statuses(folder / "run") == {"test_uses_a_function": "passed", "test_fails": "wrong"}
    replayed = forked_in(folder, *chosen, "--replay=tape.jsonl")
    assert "1 failed, 1 passed" in replayed.output, replayed.output
    assert len(endpoint.requests) == before + 1


def test_a_fault_of_the_endpoint_breaks_the_test(tmp_path):
    with FaultServer(choose=lambda seen: answer("x")) as gone:
        url = gone.url
    folder = project(tmp_path / "own")
    result = forked_in(folder, "-k", "fails", "--model=m", f"--model-url={url}", "--run-dir=run")
    assert result.status == 1
    assert "ModelFault" in result.output, result.output
    (record,) = records(folder / "run")
    assert (record["status"], record["cause"]) == ("broken", "connection")


STRAYS = """
import os
import unittest
import pytest
from agentgauge import ToolError

def test_skips_as_unittest_does(model):
    raise unittest.SkipTest("not now")

def test_names_no_file(model, tools):
    with pytest.raises(FileNotFoundError, match="there is no file .*absent.jpg; paths start at"):
        model.ask("what is this?", tools=[tools.OCR], files=["absent.jpg"])
    for image in ("absent.jpg", 3, None):
        with pytest.raises(ToolError, match="image: "):
            tools.OCR(image=image)

def test_says_a_key(model):
    model.complete(os.environ["MY_API_KEY"])

def test_is_stopped(model):
    raise KeyboardInterrupt

def test_is_not_reached(model):
    pass
"""


def test_what_did_not_come_to_its_end_has_no_record(tmp_path):
    """A test that Ctrl-C ends has not passed: --resume runs it."""
    (tmp_path / "test_own.py").write_text(STRAYS)
    key = "sk-never-to-be-shown-1"
    model = ("--model=baseline", "--run-dir=run", "--alluredir=allure")
    stopped = forked_in(tmp_path, *model, env={"MY_API_KEY": key})
    assert stopped.status == 2, stopped.output
    assert "Traceback" not in stopped.output
    assert statuses(tmp_path / "run") == {"test_names_no_file": "passed", "test_says_a_key": "passed"}
    assert summary(tmp_path / "run")["tasks"]["tests"]["missing"] == 3
    transcripts = [path.read_text() for path in (tmp_path / "allure").glob("*-attachment.txt")]
    assert any("[key]" in text for text in transcripts) and not any(key in text for text in transcripts)


def test_without_any_option_the_default_model_is_asked(tmp_path):
    folder = project(tmp_path / "own")
    result = forked_in(folder, "-k", "fails")
    assert "agentgauge: model baseline" in result.output
    late = forked_in(folder, "-k", "fails", "-n", "1")
    assert late.status == 1
    assert "name the model, such as --model=baseline" in late.output


def test_a_fixture_of_the_projects_own_hides_ours(tmp_path):
    (tmp_path / "test_it.py").write_text(OWN_FIXTURE)
    result = forked_in(tmp_path)
    assert result.status == 0, result.output
    assert "agentgauge:" not in result.output


NAMES = """
from unittest.mock import Mock, call

class Lazy:
    def __getattr__(self, name):
        raise RuntimeError(f"{name} is not loaded")

    def __call__(self):
        pass

lazy, mock, one = Lazy(), Mock(), Mock(pytestmark=3)

def test_calls(model):
    mock("hello")
    assert mock.mock_calls == [call("hello")]
"""


def test_names_of_a_test_module_may_stand_for_anything(tmp_path):
    (tmp_path / "test_names.py").write_text(NAMES)
    result = forked_in(tmp_path, "--model=baseline", "--run-dir=run")
    assert result.status == 0, result.output
    assert statuses(tmp_path / "run") == {"test_calls": "passed"}
