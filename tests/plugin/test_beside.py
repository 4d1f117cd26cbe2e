"""Popular plugins of pytest beside ours, each in a run with benchmark cases and a project's own tests.

They are installed apart (``make test-heavy`` does it): in our own environment they would change every other test.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer, Seen, answer, silence, status
from tests.plugin import test_crashes as crashes
from tests.plugin.project import CASES, ROOT, Project, Result, records
from tests.plugin.test_installed import ANNOUNCE

PYTHON = Path(sys.prefix) / "beside" / "bin" / "python"

pytestmark = [
    pytest.mark.uses("own_tests"),
    pytest.mark.skipif(
        not PYTHON.exists(), reason="the other plugins are not installed; `make test-heavy` puts them into .venv/beside"
    ),
]

OWN = """
def test_it(model):
    assert model.complete("hello").text == "hello"
"""

ASYNCHRONOUS = """
import pytest

@pytest.fixture
def asked(model):
    return model.complete("hello").text

@pytest.fixture
async def awaited(model):
    return (await model.complete("hello")).text

async def test_awaits(model):
    assert (await model.complete("hello")).text == "hello"

async def test_with_a_synchronous_fixture(asked, model):
    assert asked == (await model.complete("hello")).text

async def test_with_an_asynchronous_fixture(awaited):
    assert awaited == "hello"
"""

# pytest-asyncio alone has this
MIXED = """
def test_without_a_loop(awaited):
    assert awaited == "hello"
"""

STRICT = ASYNCHRONOUS.replace("async def test", "@pytest.mark.asyncio\nasync def test").replace(
    "@pytest.fixture\nasync", "@pytest_asyncio.fixture\nasync"
)

ANYIO = """
@pytest.fixture
def anyio_backend():
    return "asyncio"
"""

FLAKY = """
import pytest

@pytest.mark.flaky(reruns=2)
def test_twice(model):
    assert model.complete("tries").text == "3"
"""

ATTEMPTS = """
import pathlib
import pytest

def times(name):
    file = pathlib.Path(name)
    count = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(count))
    return count

@pytest.fixture
def fails_once_in_setup():
    assert times("setup") > 1

@pytest.fixture
def fails_once_in_teardown():
    yield
    assert times("teardown") > 1

@pytest.mark.flaky(reruns=2)
def test_passed_at_last(model):
    model.complete("hello")
    assert times("flaky") > 1

@pytest.mark.flaky(reruns=1)
def test_passed_setup(model, fails_once_in_setup):
    model.complete("hello")

@pytest.mark.flaky(reruns=1)
def test_passed_teardown(model, fails_once_in_teardown):
    model.complete("hello")

@pytest.mark.flaky(reruns=1)
def test_wrong_again(model):
    model.complete("hello")
    assert False

@pytest.mark.timeout(1)
def test_wrong_too_slow(model):
    import time
    time.sleep(5)
"""

SLOW = """
import pytest

@pytest.mark.timeout(0.5, func_only=True)
def test_it(model):
    assert model.complete("silence").text == "later"
"""

BROWSER = """
def test_it(model, playwright, base_url):
    assert base_url == "http://example.test"
    assert playwright.devices["iPhone 13"]
    assert model.complete("hello").text == "hello"
"""

TOOLS = """
async def test_tools(tools):
    assert await tools.Calculator(expression="6*7") == "42"
"""

RECORDED = """
import pytest

@pytest.mark.vcr
def test_it(model):
    assert model.complete("hello").text == "hello"
"""


@pytest.fixture
def endpoint() -> Iterator[FaultServer]:
    """Says its last word again. word3 is answered wrong; word4 fails once; "tries" are counted."""
    asked: Counter[str] = Counter()

    def choose(seen: Seen):
        word = seen.body["messages"][-1]["content"].split()[-1]
        asked[word] += 1
        if word == "silence":
            return silence()
        if word == "word4" and asked[word] == 1:
            return status(400, "not this time")
        return answer({"word3": "something else", "tries": str(asked[word])}.get(word, word))

    with FaultServer(choose=choose) as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    Project.make(folder, samples=5)
    (folder / "conftest.py").write_text(ANNOUNCE)
    (folder / "test_toy.py").write_text(CASES)
    return folder


def run(project: Path, own: str, endpoint: FaultServer, plugins: str, *arguments: str) -> Result:
    """A run with these plugins alone; all that are installed, where none is named."""
    (project / "test_own.py").write_text(own)
    named = [word for name in plugins.split() for word in ("-p", name)]
    ours = [word for name in ("agentgauge.pytest_plugin", "allure_pytest", "xdist") for word in ("-p", name)]
    model = ("--data=toy", "--model=m", f"--model-url={endpoint.url}", "--run-dir=run")
    if not named:
        return start(project, *model, *arguments)
    return start(project, *ours, *named, *model, *arguments, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def start(project: Path, *arguments: str, **env: str) -> Result:
    done = subprocess.run(
        [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        env=Project(project).environment(env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Result(done.returncode, done.stdout + done.stderr, project)


def statuses(project: Path) -> dict[str, str]:
    """Sample or test → how it ended."""
    lines = records(project / "run")
    assert len(lines) == len({(line["task"], line["sample"]) for line in lines})
    return {line["sample"].rpartition("::")[2]: line["status"] for line in lines}


def passed(own: str) -> dict[str, str]:
    return dict.fromkeys(re.findall(r"def (test_\w+)", own), "passed")


ANSWERS = {"s0": "passed", "s1": "passed", "s2": "passed", "s3": "wrong", "s4": "broken"}


@pytest.mark.parametrize(
    ("plugins", "arguments", "own", "said"),
    [
        ("pytest_asyncio.plugin", ("-o", "asyncio_mode=auto"), ASYNCHRONOUS + MIXED, "4 passed"),
        ("pytest_asyncio.plugin", (), "import pytest_asyncio\n" + STRICT + MIXED, "4 passed"),
        ("anyio", ("-o", "anyio_mode=auto"), ASYNCHRONOUS + ANYIO, "3 passed"),
        ("pytest_cov", ("--cov=.",), OWN, "TOTAL"),
        ("pytest_randomly", (), OWN, "Using --randomly-seed"),
        ("pytest_playwright.pytest_playwright", ("--base-url=http://example.test", "--device=iPhone 13"), BROWSER, ""),
    ],
    ids=["asyncio", "asyncio strict", "anyio", "cov", "randomly", "playwright"],
)
def test_beside(project, endpoint, plugins, arguments, own, said):
    result = run(project, own, endpoint, plugins, *arguments)
    assert said in result.output, result.output
    assert statuses(project) == ANSWERS | passed(own), result.output
    assert result.status == 1  # since one is broken


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "xdist"])
@pytest.mark.uses("progress")
def test_reruns_give_a_wrong_answer_no_second_chance_and_a_fault_one(project, endpoint, workers):
    result = run(project, FLAKY, endpoint, "pytest_rerunfailures", "--reruns=1", *workers)
    assert "5/5 · passed 4 · wrong 1 · broken 0" in result.output, result.output
    assert "5 passed, 4 rerun, 1 wrong" in result.output  # s3 and s4 once, the flaky test twice
    assert statuses(project) == ANSWERS | {"s4": "passed", "test_twice": "passed"}
    assert len(endpoint.requests) == 5 + 1 + 3
    assert result.status == 0


def test_of_several_attempts_at_an_own_test_the_last_counts(project, endpoint):
    arguments = ("-k", "test_own", "-n", "2")
    result = run(project, ATTEMPTS, endpoint, "pytest_rerunfailures pytest_timeout", *arguments)
    assert result.status == 1, result.output
    ends = {name: re.search("passed|wrong", name)[0] for name in re.findall(r"def (test_\w+)", ATTEMPTS)}
    assert statuses(project) == ends, result.output
    assert "3 of them outside any test" in result.output  # of the attempts before


def test_a_case_that_kills_its_worker_is_run_again_alone_each_time(tmp_path):
    folder = crashes.project(tmp_path / "project")
    ours = [word for name in ("agentgauge.pytest_plugin", "xdist", "pytest_rerunfailures") for word in ("-p", name)]
    arguments = ("deadly.py", "--run-dir=run", "--model=oracle", "-n", "2", "--reruns=2")
    result = start(folder, *ours, *arguments, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert result.status == 1, result.output
    assert crashes.statuses(folder) == crashes.ONLY_S3, result.output
    assert "1 broken" in result.output.splitlines()[-1], result.output
    first, *later = re.findall("worker gw.* died while (.*?) running", result.output)
    assert first.endswith("tests were")
    assert later == ["this test was"] * 2, result.output


def test_a_time_out_ends_the_wait_for_the_model(project, endpoint):
    (project / "toy" / "toy.jsonl").write_text('{"id": "s0", "say": "silence"}\n')
    result = run(project, SLOW, endpoint, "pytest_timeout", "--timeout=3")
    assert result.output.count("E       Failed: Timeout (>0.5s)") == 1, result.output  # with the line of the test
    assert "test_own.py:6: Failed" in result.output
    assert "threading.py:" not in result.output
    assert statuses(project) == {"test_it": "wrong"}
    assert "1 case is missing" in result.output
    assert result.status == 1


def test_a_test_whose_worker_a_time_out_ends_has_failed(project, endpoint):
    arguments = ("--timeout-method=thread", "-n", "1", "-k", "test_own")
    result = run(project, SLOW, endpoint, "pytest_timeout pytest_rerunfailures", *arguments, "--reruns=1")
    assert "1 failed, 1 rerun" in result.output, result.output
    assert statuses(project) == {"test_it": "broken"}
    assert result.status == 1


def test_html_lists_the_cases(project, endpoint):
    plugins = "pytest_metadata.plugin pytest_html.plugin pytest_html.fixtures"
    run(project, OWN, endpoint, plugins, "--html=report.html")
    (blob,) = re.findall('data-jsonblob="([^"]*)"', (project / "report.html").read_text())
    tests = {
        name.partition("::")[2]: (test["result"], test["log"])
        for name, (test,) in json.loads(unescape(blob))["tests"].items()
    }
    assert {name: how for name, (how, _) in tests.items()} == {
        **dict.fromkeys(("test_say[s0]", "test_say[s1]", "test_say[s2]", "test_it"), "Passed"),
        "test_say[s3]": "Failed",
        "test_say[s4]": "Error",
    }
    assert unescape(tests["test_say[s3]"][1]) == "expected 'word3', got 'something else'\n"


def test_recording_plays_back_what_the_model_has_said(project, endpoint):
    run(project, RECORDED, endpoint, "pytest_recording.plugin", "-k", "test_own", "--record-mode=once")
    assert [path.name for path in (project / "cassettes").rglob("*.yaml")] == ["test_it.yaml"]
    shutil.rmtree(project / "run")
    result = run(project, RECORDED, endpoint, "pytest_recording.plugin", "-k", "test_own", "--block-network")
    assert statuses(project) == {"test_it": "passed"}, result.output
    shutil.rmtree(project / "run")
    result = run(project, RECORDED, endpoint, "pytest_recording.plugin", "-k", "test_say", "--block-network")
    assert statuses(project) == dict.fromkeys(ANSWERS, "broken"), result.output
    assert "Network is disabled" in result.output and len(endpoint.requests) == 1


@pytest.mark.uses("progress")
def test_all_at_once(project, endpoint):
    """But for a browser: pytest-asyncio cannot run a test in a process where Playwright's synchronous side runs."""
    project.joinpath("pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    own = ASYNCHRONOUS + MIXED + FLAKY + TOOLS + RECORDED.replace("test_it", "test_recorded")
    arguments = ("--reruns=1", "--timeout=60", "--cov=.", "--html=report.html", "--base-url=http://example.test")
    result = run(project, own, endpoint, "", *arguments, "--device=iPhone 13", "--record-mode=once", "-n", "2")
    assert statuses(project) == ANSWERS | {"s4": "passed"} | passed(own), result.output
    assert "5/5 · passed 4 · wrong 1 · broken 0" in result.output, result.output
    assert result.status == 0


def test_an_agent_of_another_framework_asks_our_model_and_uses_our_tools(tmp_path):
    example = shutil.copytree(
        ROOT / "examples" / "own_tests", tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__", "runs")
    )
    result = start(example, "-k", "agent", "--run-dir=run")
    assert "1 passed" in result.output, result.output
    (record,) = records(example / "run")
    events = [(event["kind"], event["name"]) for event in record["transcript"]["events"]]
    assert events == [("model", "baseline"), ("tool", "OCR"), ("model", "baseline")]
    assert record["transcript"]["usage"]["requests"] == 2
