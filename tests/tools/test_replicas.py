"""A tool server in front of others: clients see one server, whatever happens to its replicas."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import TOOL_TOKEN
from tests.tools.servers import canned_server, http, in_front, threaded, web_server
from tests.tools.test_faults import Running
from tests.tools.test_server import ask, get, make
from tool_impls.base import REPEATABLE
from tool_impls.server import replicas
from tool_impls.server.replicas import front
from tool_impls.server.requests import WITHOUT_TOKEN, Access

TOKEN = "a-token-of-these-tests"
TOOLS = "Echo,Hang,Crash,Slow,NoWeights,Read,Gather,Leave,Calculator,DrawBox"


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Shortens what a front waits for, by the names of its constants."""

    def shorten(**seconds: float) -> None:
        for name, value in seconds.items():
            monkeypatch.setattr(replicas, f"{name}_SECONDS", value)

    return shorten


@pytest.fixture(scope="module")
def alone() -> Iterator[Running]:
    server = Running("--tools", TOOLS)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def server(alone: Running) -> Iterator[Running]:
    """A front of its own process."""
    running = Running("--replica", alone.url)
    yield running
    assert running.stop() == b"", "a front says nothing while its replicas are there"


def echo(word: str, **_: Any) -> str:
    return word


def telling(who: str, wait: threading.Event | None = None, at_once: int = 4) -> Any:
    """An application whose tool tells ``who`` it is, once it may."""

    def tell(**_: Any) -> str:
        assert wait is None or wait.wait(10)
        return who

    return lambda: threaded([make("Tool", tell, at_once=at_once)]).application()


# -- what clients see


@pytest.mark.parametrize(
    ("tool", "form"),
    [
        ("Echo", {"word": "hi & ü\r\n"}),
        ("Echo", {}),
        ("Calculator", {"expression": "6*7"}),
        ("Calculator", {"expression": "6*"}),
        ("Hang", {"word": "x"}),
        ("Crash", {}),
        ("Leave", {}),
        ("NoWeights", {}),
        ("Nothing", {}),
    ],
)
def test_calls_are_answered_as_by_the_replica(server: Running, alone: Running, tool: str, form: dict[str, str]) -> None:
    assert ask(server.url, form, tool=tool) == ask(alone.url, form, tool=tool)


@pytest.mark.parametrize("path", ["/openapi.json", "/tools", "/health"])
def test_pages_are_those_of_the_replica(server: Running, alone: Running, path: str) -> None:
    there = get(alone.url + path)
    there.pop("confinement", None)  # each replica tells its own
    assert get(server.url + path) == there
    assert get(f"{server.url}/ready") == {"ready": True, "waiting_for": {}}


def test_files_go_to_a_replica_and_come_back(server: Running, alone: Running, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("eins")
    (tmp_path / "two.txt").write_text("zwei")
    paths = [str(tmp_path / name) for name in ("one.txt", "two.txt")]
    Image.new("RGB", (20, 20)).save(tmp_path / "a.png")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"audio": paths[0]}),
        ("Gather", {"content": f"![x]({paths[0]})", "image_paths": paths[1]}),
        ("DrawBox", {"image": str(tmp_path / "a.png"), "bbox": "1 1 9 9"}),
    ]
    read, gathered, drawn = server.calls(tmp_path, *calls)
    assert read == "one.txt: eins"
    assert Path(gathered.content).name == "joined table.csv"
    assert Path(gathered.content).read_text() == f"{paths[0]}=eins|{paths[1]}=zwei"
    (expected,) = alone.calls(tmp_path, calls[2])
    assert Path(drawn.content).read_bytes() == Path(expected.content).read_bytes()


def test_a_client_of_the_original_protocol_gets_a_picture_as_base64(server: Running, alone: Running) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (20, 20)).save(picture, "png")

    def form() -> aiohttp.FormData:
        made = aiohttp.FormData({"bbox": "1 1 9 9"})
        made.add_field("image", picture.getvalue(), filename="image")
        return made

    ((status, drawn),) = ask(server.url, form(), tool="DrawBox")
    assert status == 200 and drawn.startswith("iVBORw0KGgo")
    assert ask(alone.url, form(), tool="DrawBox") == [(200, drawn)]


def test_limits_of_replicas_add_up_and_calls_are_counted() -> None:
    with web_server(telling("a")) as one, web_server(telling("b", at_once=3)) as two, in_front(one, two) as url:
        about = get(f"{url}/about")["tools"]["Tool"]
        assert {name: about[name] for name in ("slots", "queue", "seconds")} == {
            "slots": 7,
            "queue": 512,
            "seconds": 60,
        }
        assert [status for status, _ in ask(url, {"word": "x"}, {})] == [200, 422]
        figures = get_text(f"{url}/metrics")
    for status in (200, 422):
        assert f'agentgauge_tool_calls_total{{status="{status}",tool="Tool"}} 1.0' in figures
    assert figures.count("agentgauge_replica_up{") == 2


def test_a_call_goes_to_the_replica_with_the_fewest_calls() -> None:
    release = threading.Event()
    with (
        web_server(telling("a", release)) as one,
        web_server(telling("b", release)) as two,
        in_front(one, two) as url,
    ):
        threading.Timer(0.5, release.set).start()
        answers = [answer for _, answer in ask(url, *[{"word": "x"}] * 8)]
    assert sorted(answers) == ["a"] * 4 + ["b"] * 4


def test_a_full_queue_refuses_calls_as_the_server_does() -> None:
    release = threading.Event()

    def wait(**_: Any) -> str:
        release.wait(10)
        return "done"

    def application() -> Any:
        return threaded([make("Tool", wait)], queue=2).application()

    with web_server(application) as one, web_server(application) as two, in_front(one, two) as url:
        threading.Timer(0.5, release.set).start()
        answers = ask(url, *[{"word": "x"}] * 5)
    refused = "Tool has 4 calls waiting, which is its limit; try again, or lower --in-flight"
    assert sorted(answers, key=str) == [(200, "done")] * 4 + [(503, {"detail": refused})]


def test_a_replica_that_is_full_of_calls_of_others_is_passed_over() -> None:
    release = threading.Event()

    def full() -> Any:
        return threaded([make("Tool", lambda **_: release.wait(10) and "full")], queue=1).application()

    with web_server(full) as one, web_server(telling("b")) as two, in_front(one, two) as url:
        other = threading.Thread(target=ask, args=(one, {"word": "x"}))
        other.start()
        time.sleep(0.3)
        assert ask(url, {"word": "x"}, {"word": "y"}) == [(200, "b")] * 2
        release.set()
        other.join()


def test_a_client_that_leaves_takes_its_waiting_calls_along() -> None:
    release, begun = threading.Event(), []

    def wait(word: str, **_: Any) -> str:
        begun.append(word)
        release.wait(10)
        return word

    async def leave(url: str) -> None:
        async with aiohttp.ClientSession() as session:
            calls = [asyncio.create_task(session.post(f"{url}/Tool", data={"word": word})) for word in ("a", "b", "c")]
            await asyncio.sleep(0.5)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    with web_server(lambda: threaded([make("Tool", wait)]).application()) as one, in_front(one) as url:
        asyncio.run(leave(url))
        release.set()
        assert ask(url, {"word": "d"}) == [(200, "d")]
    assert len(begun) == 2 and begun[-1] == "d", "the calls that waited were never sent"


# -- replicas that are lost


def test_calls_of_a_killed_replica_are_answered_by_the_other(hurry: Callable[..., None]) -> None:
    hurry(LOOK=0.1, WAIT=1.0)
    one, two = Running("--tools", "Slow"), Running("--tools", "Slow")
    with in_front(one.url, two.url) as url:
        threading.Timer(0.3, one.end, [signal.SIGKILL]).start()
        assert ask(url, *({"word": str(n)} for n in range(6)), tool="Slow") == [(200, str(n)) for n in range(6)]
        up = get_text(f"{url}/metrics")
        assert f'agentgauge_replica_up{{replica="{one.url}"}} 0.0' in up
        assert f'agentgauge_replica_up{{replica="{two.url}"}} 1.0' in up
        two.end(signal.SIGKILL)
        ((status, body),) = ask(url, {"word": "x"}, tool="Slow")
        assert status == 503 and body["detail"].startswith("no replica of Slow is there; start one again: http://")
        assert one.url in body["detail"] and two.url in body["detail"]
        again = Running("--tools", "Slow", "--port", two.url.rpartition(":")[2])
        assert ask_until(url, {"word": "back"}) == "back"
        again.stop()
        other = Running("--tools", "Echo", "--port", one.url.rpartition(":")[2])
        deadline = time.monotonic() + 10
        while "it came back without Slow" not in str(body) and time.monotonic() < deadline:
            ((status, body),) = ask(url, {"word": "x"}, tool="Slow")
        assert status == 503 and f"{one.url} (it came back without Slow)" in body["detail"]
        other.stop()


def ask_until(url: str, form: dict[str, str]) -> Any:
    """The first answer with status 200, within ten seconds."""
    deadline = time.monotonic() + 10
    while True:
        ((status, body),) = ask(url, form, tool="Slow")
        if status == 200 or time.monotonic() > deadline:
            return body


def get_text(url: str) -> str:
    import urllib.request

    with urllib.request.urlopen(url, timeout=10) as reply:
        return str(reply.read().decode())


def test_calls_of_a_replica_that_stops_answering_go_to_the_other(hurry: Callable[..., None]) -> None:
    hurry(LOOK=0.1, SILENT=2.0)
    silent = Running("--tools", "Slow")
    other = Running("--tools", "Slow")
    with in_front(silent.url, other.url) as url:
        assert ask(url, {"word": "x"}, {"word": "y"}, tool="Slow") == [(200, "x"), (200, "y")]
        os.kill(silent.process.pid, signal.SIGSTOP)
        goes_on, start = threading.Timer(30, os.kill, (silent.process.pid, signal.SIGCONT)), time.monotonic()
        goes_on.start()
        assert ask(url, *[{"word": "x"}] * 4, tool="Slow") == [(200, "x")] * 4
        assert time.monotonic() - start < 20, "no answer of the silent one was waited for"
    goes_on.cancel()
    os.kill(silent.process.pid, signal.SIGCONT)
    silent.stop()
    other.stop()


# -- replicas that do not fit


def refusal(*addresses: str, names: list[str] | None = None) -> str:
    with pytest.raises(UsageProblem) as problem:
        asyncio.run(front(addresses, names, WITHOUT_TOKEN))
    return str(problem.value)


def test_a_replica_that_is_not_ready_is_named(hurry: Callable[..., None]) -> None:
    hurry(START=1.0)
    with canned_server({"/about": [b""]}) as nobody, web_server(telling("a")) as fine:
        told = refusal(fine, nobody.url)
    assert told.startswith(f"--replica {nobody.url} is not ready within 1 s: the tool server cannot be reached at")
    assert told.endswith("; start it, or correct the address")
    loading = {"ready": False, "waiting_for": {"Tool": "loading"}}
    about = {"version": replicas.own_version(), "tools": {}}
    answers = {"/about": [http(200, about)], "/tools": [http(200, {})], "/ready": [http(503, loading)]}
    with canned_server(answers) as slow:  # type: ignore[arg-type]
        assert "is not ready within 1 s: HTTP 503 for /ready: {'Tool': 'loading'}; start it" in refusal(slow.url)


def test_a_replica_of_another_version_is_refused() -> None:
    with canned_server({"/about": [http(200, {"version": "0.0.1", "tools": {}})]}) as old:
        told = refusal(old.url)
    assert told == (
        f"--replica {old.url} has AgentGauge 0.0.1, and this machine {replicas.own_version()}; install one version"
    )


@pytest.mark.parametrize("answer", [http(404), http(200, b"hello"), http(200, [1])])
def test_what_is_no_tool_server_is_refused(answer: bytes) -> None:
    with canned_server({"/about": [answer]}) as other:
        told = refusal(other.url)
    assert told.startswith(f"--replica {other.url} ") and told.count("\n") == 0


@pytest.mark.parametrize("tools", [[], {"Tool": 1}, {"Tool": {}}, {"Tool": {"meta": 1}}])
def test_a_server_that_tells_of_its_tools_in_another_form_is_refused(tools: Any) -> None:
    answers = {"/about": [http(200, {"version": replicas.own_version(), "tools": tools})]}
    answers |= {"/tools": [http(200, {})], "/ready": [http(200, {"ready": True})]}
    with canned_server(answers) as other:  # type: ignore[arg-type]
        told = refusal(other.url)
    assert told.startswith(f"--replica {other.url} tells of its tools in another form (") and told.count("\n") == 0


def test_replicas_with_another_tool_of_the_same_name_are_refused() -> None:
    def of(**told: Any) -> Any:
        return web_server(lambda: threaded([make("Tool", echo)], told=told).application())

    with of(weights="abc", device="cpu") as one, of(weights="xyz", device="cuda:0") as two:
        assert refusal(one, two) == (
            f"--replica {one} and {two} have another Tool: weights 'abc' and 'xyz'; set them up alike, or let --tools"
            " of one leave it out"
        )


def test_devices_may_differ_and_results_are_kept_only_where_they_are_the_same() -> None:
    def of(**told: Any) -> Any:
        return web_server(lambda: threaded([make("Tool", echo)], told=told).application())

    with of(device="cuda:0 (A)", **{REPEATABLE: "1"}) as one, of(device="cuda:0 (B)", **{REPEATABLE: "2"}) as two:
        with in_front(one, two) as url:
            assert get(f"{url}/tools") == {"Tool": {"state": "ready", "device": "cuda:0 (A), cuda:0 (B)"}}
        with in_front(one, one) as url:
            assert get(f"{url}/tools") == {"Tool": {"state": "ready", "device": "cuda:0 (A)", REPEATABLE: "1"}}


def test_tools_are_those_that_work_somewhere() -> None:
    def of(*tools: str, **states: str) -> Any:
        return web_server(lambda: threaded([make(name, echo) for name in tools], states).application())

    with of("A", "B", B="unavailable: set KEY") as one, of("B", "C", C="unavailable: no GPU") as two:
        with in_front(one, two) as url:
            states = get(f"{url}/health")["tools"]
            assert ask(url, {"word": "x"}, tool="B") == [(200, "x")]
        assert states == {"A": "ready", "B": "ready", "C": "unavailable: no GPU"}
        with in_front(one, two, names=["B"]) as url:
            assert list(get(f"{url}/openapi.json")["paths"]) == ["/B"]
        assert refusal(one, two, names=["D"]) == "--tools: no replica has 'D'; they have A, B, C"


@pytest.mark.parametrize("given", ["", ":another-token-than-theirs@"])
def test_a_token_is_required_and_never_shown(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOOL_TOKEN, raising=False)
    with web_server(lambda: threaded([make("Tool", echo)], access=Access(TOKEN)).application()) as url:
        told = refusal(url.replace("//", f"//{given}"))
        assert f"--replica {url} answers HTTP 401 for /about" in told and ":TOKEN@" in told
        assert "another-token" not in told
        with in_front(url.replace("//", f"//:{TOKEN}@")) as front_url:
            assert ask(front_url, {"word": "x"}) == [(200, "x")]
            shown = "".join(get_text(front_url + path) for path in ("/tools", "/about", "/metrics", "/health"))
        assert TOKEN not in shown
        monkeypatch.setenv(TOOL_TOKEN, TOKEN)
        with in_front(url) as front_url:
            assert ask(front_url, {"word": "y"}) == [(200, "y")]
