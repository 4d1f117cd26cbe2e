"""The fixtures for a project's own tests last for a run: to which test, or to the run, each request belongs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgauge.store import plain
from tests.model.fault_server import FaultServer, Seen, answer, status
from tests.plugin.project import records, summary
from tests.plugin.test_installed import forked_in

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
def endpoint():
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


def project(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_own.py").write_text(text)
    return folder


def model_of(endpoint: FaultServer) -> tuple[str, ...]:
    return ("--model=m", f"--model-url={endpoint.url}", "--run-dir=run")


@pytest.mark.parametrize("workers", [0, 2], ids=["serial", "xdist"])
def test_requests_belong_to_the_running_test_and_others_to_the_run(tmp_path, endpoint, workers):
    folder = project(tmp_path / "own", AGENTS)
    result = forked_in(folder, *model_of(endpoint), *(["-n", str(workers)] if workers else []))
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
    assert sorted(everything) == sorted(seen.body["messages"][-1]["content"] for seen in endpoint.requests)
    usage = summary(folder / "run")["usage"]
    assert usage["requests"] == len(endpoint.requests)
    assert usage["prompt_tokens"] == 10 * len(endpoint.requests)
    assert usage["outside_tests"]["requests"] == len(asked)
    assert f"{len(asked)} of them outside any test" in result.output
    assert [seen.body["top_k"] for seen in endpoint.requests if "top_k" in seen.body] == [5]


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
    folder = project(tmp_path / "own", FILES)
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
        folder = project(tmp_path / "own", LATE)
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


def test_what_tests_without_a_record_have_used_counts_in_the_run(tmp_path, endpoint):
    folder = project(tmp_path / "own", NO_RECORD)
    result = forked_in(folder, *model_of(endpoint))
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


def test_a_project_may_build_on_a_fixture_under_the_same_name(tmp_path, endpoint):
    folder = project(tmp_path / "own", "def test_it(model):\n    assert model.ask('hello').text == 'ok'\n")
    (folder / "conftest.py").write_text(OVERRIDDEN)
    result = forked_in(folder, *model_of(endpoint))
    assert result.status == 0, result.output
    assert [message["role"] for message in endpoint.requests[0].body["messages"]] == ["system", "user"]
    assert [*by_test(folder / "run")] == ["test_it"]


def test_scopes_are_those_that_the_docs_say(tmp_path):
    folder = project(tmp_path / "own", "def test_it(model, tools, model_endpoint, tool_server): pass\n")
    shown = forked_in(folder, "--model=baseline", "--setup-plan")
    for name in ("model", "tools", "model_endpoint", "tool_server"):
        assert f"SETUP    S {name}" in shown.output, shown.output
    page = (Path(__file__).parents[2] / "docs" / "own-projects.md").read_text()
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
"""


@pytest.mark.parametrize("more", [(), ("-n", "1"), ("--tb=short",), ("--tb=long",)], ids=str)
def test_a_fault_shows_the_authors_line_and_one_sentence(tmp_path, more):
    def choose(seen: Seen):
        return status(500, "the server is on fire") if "fault" in str(seen.body["messages"]) else answer("ok")

    with FaultServer(choose=choose) as server:
        folder = project(tmp_path / "own", FAULTS)
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
    assert [line for line in shown.splitlines() if ".py:" in line and not line.startswith("test_own.py:")] == []
    assert "asyncio" not in shown and "aiohttp" not in shown


def test_an_answer_has_the_shape_that_clients_of_openai_read(tmp_path, endpoint):
    text = """
from openai import AsyncOpenAI, OpenAI
import pytest

def test_client(model_endpoint):
    client = OpenAI(base_url=model_endpoint.url, api_key=model_endpoint.key)
    reply = client.chat.completions.create(model=model_endpoint.model, messages=[{"role": "user", "content": "hi"}])
    assert reply.choices[0].message.content == "ok" and reply.usage.total_tokens == 15
    assert [model.id for model in client.models.list()] == [model_endpoint.model]
"""
    folder = project(tmp_path / "own", text)
    result = forked_in(folder, *model_of(endpoint))
    assert result.status == 0, result.output
    assert by_test(folder / "run") == {"test_client": ["hi"]}
