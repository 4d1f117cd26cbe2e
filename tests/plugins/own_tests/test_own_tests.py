"""A project's own tests of agents: their records, scopes and screen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentgauge.store import plain
from tests.conftest import PLUGINS
from tests.model.fault_server import FaultServer, Seen, answer, status, tool_call
from tests.plugin.project import records, summary
from tests.plugin.test_installed import forked_in

pytestmark = pytest.mark.slow  # each runs pytest

# -- A project's own tests with the fixtures ``model``, ``tools``, ``model_endpoint`` and ``tool_server``.


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
    assert re.match(r"test_own\.py:\d+: Assert.*good morning", fails["score"]["explanation"])
    assert [event["kind"] for event in fails["transcript"]["events"]] == ["model"]
    tasks = summary(run)["tasks"]
    assert {name: (part["planned"], part["passed"]) for name, part in tasks.items()} == {
        "tests": (3, 1),
        "tests.tools": (5, 5),
    }
    assert "page" not in PLUGINS or "test_uses_a_function" in (run / "report.html").read_text()
    assert not (run / "leaderboard.md").exists() and "leaderboard.md" not in result.output
    assert not any(data["official"] for data in summary(run)["run"]["data"].values())
    if "allure" in PLUGINS:
        assert_allure_has_steps(folder / "allure")


def assert_allure_has_steps(folder: Path) -> None:
    """One result a test, of allure-pytest, with what was said as steps."""
    results = [json.loads(path.read_text()) for path in folder.glob("*-result.json")]
    assert sorted(result["name"] for result in results) == sorted(
        [*PASSED, "test_fails", "test_skipped", "test_skips_itself", "test_of_something_else"]
    )
    (doubled,) = (result for result in results if result["name"] == "test_uses_a_function")
    assert [step["name"] for step in doubled["steps"]] == ["model: double", "tool: double", "model: 42"]
    assert {"name": "model", "value": "m"} in doubled["parameters"]  # tells models in one folder apart


@pytest.mark.uses("recording")
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


@pytest.mark.uses("allure")
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


# -- The fixtures for a project's own tests last for a run: to which test, or to the run, each request belongs.


AGENTS = '''
import asyncio, json, threading, urllib.request
import pytest

class Agent:
    """As a framework builds it: once, from an address, for all tests."""

    def __init__(self, endpoint):
        self.endpoint = endpoint

    def ask(self, text, **more):
        body = {"model": self.endpoint.model, "messages": [{"role": "user", "content": text}], **more}
        head = {"Authorization": f"Bearer {self.endpoint.key}"}
        request = urllib.request.Request(f"{self.endpoint.url}/chat/completions", json.dumps(body).encode(), head)
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.load(reply)["choices"][0]["message"]["content"]

@pytest.fixture(scope="session")
def agent(model_endpoint, model):
    model.complete("session set-up")
    agent = Agent(model_endpoint)
    agent.ask("session set-up of the agent")
    yield agent
    model.complete("session teardown")

@pytest.fixture(scope="module")
def greeted(model):
    model.complete("module set-up")
    yield
    model.complete("module teardown")

@pytest.fixture
def prepared(model):
    model.complete("set-up of this test")
    yield
    model.complete("teardown of this test")

def test_agent(agent):
    assert agent.ask("by the agent") == "ok"

def test_agent_again(agent, model):
    assert agent.ask("by the agent again", top_k=5) == "ok"
    assert model.complete("by the model").text == "ok"

def test_fixtures(greeted, prepared, model):
    model.complete("in the test")

def test_stream(agent):
    agent_reply = agent.endpoint
    body = {"model": agent_reply.model, "messages": [{"role": "user", "content": "a stream"}], "stream": True}
    head = {"Authorization": f"Bearer {agent_reply.key}"}
    request = urllib.request.Request(f"{agent_reply.url}/chat/completions", json.dumps(body).encode(), head)
    assert b"[DONE]" in urllib.request.urlopen(request, timeout=20).read()

def test_threads(model):
    threads = [threading.Thread(target=model.complete, args=(f"thread {n}",)) for n in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

@pytest.mark.anyio
async def test_async(model):
    replies = await asyncio.gather(*(model.complete(f"task {n}") for n in range(4)))
    assert [reply.text for reply in replies] == ["ok"] * 4

@pytest.fixture
def anyio_backend():
    return "asyncio"

def test_of_something_else():
    pass
'''

SAID = {
    "test_agent": ["by the agent"],
    "test_agent_again": ["by the agent again", "by the model"],
    "test_fixtures": ["set-up of this test", "in the test", "teardown of this test"],
    "test_stream": ["a stream"],
    "test_threads": [f"thread {number}" for number in range(4)],
    "test_async": [f"task {number}" for number in range(4)],
}


@pytest.fixture
def endpoint_scopes():
    with FaultServer(choose=lambda seen: answer("ok")) as server:
        yield server


def said(record: dict) -> list[str]:
    return [event["detail"]["messages"][-1]["content"] for event in record["transcript"]["events"]]


def by_test(run: Path) -> dict[str, list[str]]:
    """Test → what it said; in no order, since threads have none."""
    return {record["sample"].rpartition("::")[2]: said(record) for record in records(run)}


def outside(run: Path) -> list[str]:
    """What was asked outside any test."""
    lines = [line for file in sorted((run / "outside").glob("*.jsonl")) for line in file.read_text().splitlines()]
    return [text for line in lines for text in said(plain(json.loads(line)))]


def project_scopes(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_own.py").write_text(text)
    return folder


def model_of(endpoint_scopes: FaultServer) -> tuple[str, ...]:
    return ("--model=m", f"--model-url={endpoint_scopes.url}", "--run-dir=run")


@pytest.mark.parametrize("workers", [0, 2], ids=["serial", "xdist"])
def test_requests_belong_to_the_running_test_and_others_to_the_run(tmp_path, endpoint_scopes, workers):
    folder = project_scopes(tmp_path / "own", AGENTS)
    result = forked_in(folder, *model_of(endpoint_scopes), *(["-n", str(workers)] if workers else []))
    assert result.status == 0, result.output
    found = by_test(folder / "run")
    assert {name: sorted(texts) for name, texts in found.items()} == {name: sorted(SAID[name]) for name in SAID}
    asked = outside(folder / "run")
    assert {*asked} == {
        "session set-up",
        "session set-up of the agent",
        "session teardown",
        "module set-up",
        "module teardown",
    }
    everything = [*asked, *(text for texts in found.values() for text in texts)]
    assert sorted(everything) == sorted(seen.body["messages"][-1]["content"] for seen in endpoint_scopes.requests)
    usage = summary(folder / "run")["usage"]
    assert usage["requests"] == len(endpoint_scopes.requests)
    assert usage["prompt_tokens"] == 10 * len(endpoint_scopes.requests)
    assert usage["outside_tests"]["requests"] == len(asked)
    assert f"{len(asked)} of them outside any test" in result.output
    assert [seen.body["top_k"] for seen in endpoint_scopes.requests if "top_k" in seen.body] == [5]


FILES = """
import pytest

@pytest.fixture(scope="session")
def drawing(tools):
    lines = ["def solution():", "    import matplotlib.pyplot as plt", "    return plt.figure()"]
    return lambda: tools.Plot(command="\\n".join(lines))

@pytest.mark.parametrize("number", [1, 2])
def test_draws(drawing, tools, number):
    made = [drawing(), drawing()]
    assert all(file.is_file() and file.is_relative_to(tools.files) for file in made)
    assert len({*made}) == 2 and f"%5B{number}%5D" in tools.files.name
"""


def test_files_of_tools_lie_in_a_folder_for_each_test(tmp_path):
    folder = project_scopes(tmp_path / "own", FILES)
    result = forked_in(folder, "--model=baseline", "--run-dir=run")
    assert result.status == 0, result.output
    folders = sorted((folder / "run" / "files" / "tests.tools").iterdir())
    assert [len([*files.rglob("*.png")]) for files in folders] == [2, 2]


LATE = """
import threading, time
threads = []

def test_leaves_a_thread_behind(model):
    threads.append(threading.Thread(target=model.complete, args=("slow",)))
    threads[0].start()
    time.sleep(0.3)

def test_is_next(model):
    model.complete("quick")

def test_waits():
    threads[0].join()
"""


def test_a_reply_that_comes_after_its_test_counts_in_the_run(tmp_path):
    def choose(seen: Seen):
        slow = seen.body["messages"][-1]["content"] == "slow"
        return wait_then_answer if slow else answer("ok")

    def wait_then_answer(connection, seen, stopped):
        stopped.wait(1.5)
        return answer("ok")(connection, seen, stopped)

    with FaultServer(choose=choose) as server:
        folder = project_scopes(tmp_path / "own", LATE)
        result = forked_in(folder, *model_of(server))
    assert result.status == 0, result.output
    assert by_test(folder / "run") == {"test_leaves_a_thread_behind": [], "test_is_next": ["quick"]}
    assert outside(folder / "run") == ["slow"]
    assert summary(folder / "run")["usage"]["requests"] == 2


NO_RECORD = """
import pytest

def test_skips(model):
    model.complete("then skipped")
    pytest.skip("now")

def test_passes(model):
    model.complete("hello")

def test_exits(model):
    model.complete("then stopped")
    pytest.exit("enough", returncode=3)
"""


def test_what_tests_without_a_record_have_used_counts_in_the_run(tmp_path, endpoint_scopes):
    folder = project_scopes(tmp_path / "own", NO_RECORD)
    result = forked_in(folder, *model_of(endpoint_scopes))
    assert result.status != 0, result.output
    assert by_test(folder / "run") == {"test_passes": ["hello"]}
    assert outside(folder / "run") == ["then skipped", "then stopped"]
    assert summary(folder / "run")["usage"]["requests"] == 3


OVERRIDDEN = """
import pytest

@pytest.fixture(scope="session")
def model(model):
    class Brief:
        def ask(self, text):
            return model.ask(text, system="Answer briefly.")
    return Brief()
"""


def test_a_project_may_build_on_a_fixture_under_the_same_name(tmp_path, endpoint_scopes):
    folder = project_scopes(tmp_path / "own", "def test_it(model):\n    assert model.ask('hello').text == 'ok'\n")
    (folder / "conftest.py").write_text(OVERRIDDEN)
    result = forked_in(folder, *model_of(endpoint_scopes))
    assert result.status == 0, result.output
    assert [message["role"] for message in endpoint_scopes.requests[0].body["messages"]] == ["system", "user"]
    assert [*by_test(folder / "run")] == ["test_it"]


def test_scopes_are_those_that_the_docs_say(tmp_path):
    folder = project_scopes(tmp_path / "own", "def test_it(model, tools, model_endpoint, tool_server): pass\n")
    shown = forked_in(folder, "--model=baseline", "--setup-plan")
    for name in ("model", "tools", "model_endpoint", "tool_server"):
        assert f"SETUP    S {name}" in shown.output, shown.output
    page = (Path(__file__).parents[3] / "docs" / "fixtures.md").read_text()
    for name in ("model", "tools", "model_endpoint", "tool_server"):
        assert f"| `{name}` | session |" in page


FAULTS = """
import json, urllib.error, urllib.request
import pytest

def test_model(model):
    model.complete("fault")

def test_converses(model):
    model.ask("fault")

@pytest.mark.anyio
async def test_awaits(model):
    await model.complete("fault")

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
def asked(model):
    return model.complete("fault")

def test_set_up(asked):
    pass

def helper(model):
    return model.complete("fault")

def test_helper(model):
    helper(model)

def test_expects_it(model):
    from agentgauge.core.errors import ModelFault
    with pytest.raises(ModelFault, match="on fire"):
        model.complete("fault")

def test_agent(model_endpoint):
    body = {"model": model_endpoint.model, "messages": [{"role": "user", "content": "fault"}]}
    head = {"Authorization": f"Bearer {model_endpoint.key}"}
    url = f"{model_endpoint.url}/chat/completions"
    try:
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head), timeout=20)
    except urllib.error.HTTPError as error:
        pytest.fail(f"the agent got HTTP {error.code}", pytrace=False)

def test_client(model_endpoint):
    from openai import OpenAI
    client = OpenAI(base_url=model_endpoint.url, api_key=model_endpoint.key, max_retries=0)
    client.chat.completions.create(model=model_endpoint.model, messages=[{"role": "user", "content": "fault"}])
"""


@pytest.mark.parametrize("more", [(), ("-n", "1"), ("--tb=short",), ("--tb=long",)], ids=str)
def test_a_fault_shows_the_authors_line_and_one_sentence(tmp_path, more):
    def choose(seen: Seen):
        return status(500, "the server is on fire") if "fault" in str(seen.body["messages"]) else answer("ok")

    with FaultServer(choose=choose) as server:
        folder = project_scopes(tmp_path / "own", FAULTS)
        result = forked_in(folder, *model_of(server), *more)
    assert result.status == 1, result.output
    sentence = "model m: the endpoint answered HTTP 500: the server is on fire, after"
    found = {record["sample"].rpartition("::")[2]: record for record in records(folder / "run")}
    assert found.pop("test_expects_it")["status"] == "passed"
    assert {record["status"] for record in found.values()} == {"broken"}
    assert {record["cause"] for record in found.values()} == {"http 500"}
    assert all(record["error"].startswith(sentence) for record in found.values())
    assert result.output.count(f"{sentence}") >= len(found)
    shown = result.output.partition(" short test summary info ")[0]
    assert shown.count("- model_endpoint -") == 1  # the client's own error says it, and the other agent's does not
    shown = shown.partition("_ test_client _")[0]
    assert [line for line in shown.splitlines() if ".py:" in line and not line.startswith("test_own.py:")] == []
    assert "asyncio" not in shown and "aiohttp" not in shown


def test_an_answer_has_the_shape_that_clients_of_openai_read(tmp_path, endpoint_scopes):
    text = """
from openai import AsyncOpenAI, OpenAI
import pytest

def test_client(model_endpoint):
    client = OpenAI(base_url=model_endpoint.url, api_key=model_endpoint.key)
    reply = client.chat.completions.create(model=model_endpoint.model, messages=[{"role": "user", "content": "hi"}])
    assert reply.choices[0].message.content == "ok" and reply.usage.total_tokens == 15
    assert [model.id for model in client.models.list()] == [model_endpoint.model]
"""
    folder = project_scopes(tmp_path / "own", text)
    result = forked_in(folder, *model_of(endpoint_scopes))
    assert result.status == 0, result.output
    assert by_test(folder / "run") == {"test_client": ["hi"]}


# -- What a person sees of a project's own tests, and what is left of them: what was asked for, and nothing more.


TESTS_SCREEN = """
import pytest

@pytest.mark.receipts
def test_greets(model):
    assert "morning" in model.complete("hello").text

def test_is_polite(model):
    assert "please" in model.complete("hello").text

def test_ends_in_a_fault(model):
    model.complete("fault")

def test_skips(model):
    pytest.skip("now")
"""

NOISE = (
    "95 %",
    "missing",
    "planned",
    "value",
    "Passed",
    "not ready",
    "disabled",
    "cost",
    "scoring",
    "dialect",
    "clean",
)
"""Words of our lines about benchmarks, none of which belongs to a project's own tests."""


@pytest.fixture
def endpoint_screen():
    def choose(seen: Seen):
        return status(500, "on fire") if "fault" in str(seen.body["messages"]) else answer("good morning")

    with FaultServer(choose=choose) as server:
        yield server


@pytest.fixture
def project_screen(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = receipts\n")
    (folder / "test_own.py").write_text(TESTS_SCREEN)
    return folder


def model_of_screen(endpoint_screen: FaultServer) -> tuple[str, ...]:
    return ("--model=m", f"--model-url={endpoint_screen.url}")


def left(folder: Path) -> set[str]:
    there = {"pytest.ini", "test_own.py", "agentgauge.toml", "__pycache__", ".cache", ".benchmarks"}
    return {path.name for path in folder.iterdir()} - there


def noise(output: str) -> list[str]:
    """Our words in the output, without the tests' own tracebacks."""
    shown = re.sub(r"=+ FAILURES =+.*?(?==+ (?:agentgauge|short test summary info) =+)", "", output, flags=re.DOTALL)
    lines = [line for line in shown.splitlines() if not line.startswith(("benchmark:", "plugins:", "FAILED"))]
    return [line for line in lines for word in NOISE if word in line]


@pytest.mark.parametrize("more", [(), ("-q",), ("-x",), ("-n", "2"), ("-v",)], ids=" ".join)
def test_nothing_is_left_and_nothing_is_said_beyond_the_model(project_screen, endpoint_screen, more):
    result = forked_in(project_screen, *model_of_screen(endpoint_screen), *more)
    assert result.status == 1, result.output
    assert result.output.count("agentgauge: ") == 2, result.output
    assert f"agentgauge: model m at {endpoint_screen.url}\n" in result.output
    assert "agentgauge: no run folder; --run-dir=DIR keeps records and transcripts\n" in result.output
    assert noise(result.output) == []
    assert "= agentgauge =" not in result.output and "results:" not in result.output
    assert left(project_screen) == set()


def test_without_any_option_nothing_is_left_either(project_screen):
    result = forked_in(project_screen, "-k", "skips or greets")
    assert "agentgauge: model baseline\n" in result.output, result.output
    assert left(project_screen) == set()


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["serial", "xdist"])
@pytest.mark.uses("page")
def test_a_named_folder_holds_records_page_and_usage(project_screen, endpoint_screen, more):
    result = forked_in(project_screen, *model_of_screen(endpoint_screen), "--run-dir=run", *more)
    assert result.status == 1, result.output
    assert "own tests: 1 passed, 1 wrong, 1 broken; 2 requests to the model; 30 tokens\n" in result.output
    assert noise(result.output) == []
    assert left(project_screen) == {"run"}
    assert len(records(project_screen / "run")) == 3
    metric = summary(project_screen / "run")["tasks"]["tests"]["metrics"]["Passed"]
    assert metric["low"] is None and metric["high"] is None
    page = (project_screen / "run" / "report.html").read_text()
    data = json.loads(re.search(r'<script[^>]* id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert data["boards"] == [] and data["meaning"] == "" and data["alarm"] == ""
    assert [(task["planned"], task["missing"]) for task in data["tasks"]] == [(3, 0)]
    assert len(data["cases"]["sample"]) == 3


@pytest.mark.parametrize(
    ("more", "toml", "stays"),
    [
        ((), "[tests]\nrun_folder = true\n", True),
        ((), "[tests]\nrun_folder = false\n", False),
        pytest.param(("--gate=tests.Passed>=10",), "", True, marks=pytest.mark.uses("gates")),
        pytest.param(("--budget=1Mtok",), "", True, marks=pytest.mark.uses("budget")),
        pytest.param(("--shard=1/1",), "", True, marks=pytest.mark.uses("shards")),
        pytest.param(("--record=tape.jsonl",), "", False, marks=pytest.mark.uses("recording")),
        (("--alluredir=allure",), "", False),
    ],
    ids=str,
)
def test_what_asks_for_a_folder(project_screen, endpoint_screen, more, toml, stays):
    if toml:
        (project_screen / "agentgauge.toml").write_text(toml)
    forked_in(project_screen, *model_of_screen(endpoint_screen), *more)
    folders = [*(project_screen / "runs").iterdir()] if (project_screen / "runs").exists() else []
    assert [folder.is_dir() for folder in folders] == [True] * stays
    others = {word.partition("=")[2] for word in more if word.startswith(("--record", "--alluredir"))}
    assert left(project_screen) - {"runs"} == others


def test_a_setting_that_is_no_truth_value_is_refused(project_screen):
    (project_screen / "agentgauge.toml").write_text('[tests]\nrun_folder = "yes"\n')
    result = forked_in(project_screen, "--model=baseline")
    assert result.status == 4
    assert 'tests.run_folder is "yes" and must be true or false' in result.output


@pytest.mark.uses("allure")
def test_allure_has_the_transcript_without_a_folder(project_screen, endpoint_screen):
    forked_in(project_screen, *model_of_screen(endpoint_screen), "--alluredir=allure")
    results = [json.loads(path.read_text()) for path in (project_screen / "allure").glob("*-result.json")]
    steps = {result["name"]: [step["name"] for step in result.get("steps", ())] for result in results}
    assert steps["test_greets"] == ["model: good morning"]


def test_tools_that_no_test_calls_are_not_mentioned(project_screen):
    (project_screen / "test_own.py").write_text(
        "def test_it(tools): assert tools.Calculator(expression='1+1') == '2'\n"
    )
    result = forked_in(project_screen, "--model=baseline")
    assert result.status == 0, result.output
    ours = [line for line in result.output.splitlines() if line.startswith("agentgauge")]
    assert ours == [
        "agentgauge: model baseline",
        "agentgauge: no run folder; --run-dir=DIR keeps records and transcripts",
    ]
    assert left(project_screen) == set()
