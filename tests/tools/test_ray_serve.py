"""The tool server with its tools on Ray Serve: what clients see is as without Ray, whatever happens to a replica."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.processes import TOOL_TOKEN
from tests.ray_cluster import Cluster
from tests.tools.ray_server import on_ray
from tests.tools.test_faults import Running
from tests.tools.test_worker_pool import running
from tool_impls import registry
from tool_impls.availability import fingerprints
from tool_impls.base import REPEATABLE
from tool_impls.settings import ToolSettings

TOKEN = "a-token-of-these-tests"
NASTY = "Echo,Where,Whereabouts,Hang,Crash,Slow,NoWeights,Model,Read,Gather,Leave"
OURS = "Calculator,DrawBox,ImageDescription"
NOWHERE = "/weights/on/no/machine"
SETTINGS = f"""
[tools]
replicas = 2

[tools.vision]
weights = "{NOWHERE}"

[tools.Slow]
queue = 10
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("settings") / "agentgauge.toml"
    path.write_text(SETTINGS)
    return path


@pytest.fixture(scope="module")
def server(ray_cluster: Cluster, settings: Path) -> Iterator[Running]:
    with (
        pytest.MonkeyPatch.context() as patch,
        on_ray(
            ray_cluster, "--tools", f"{NASTY},{OURS}", "--settings", str(settings), "--preload", **{TOOL_TOKEN: TOKEN}
        ) as started,
    ):
        patch.setenv(TOOL_TOKEN, TOKEN)  # for our clients
        yield started


def post(server: Running, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {TOKEN}"}
    try:
        connection.request("POST", path, body, {**kind, **headers})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def get(server: Running, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def test_preloaded_tools_are_ready_and_others_say_why(server: Running) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        status, body = get(server, "/ready")
        waiting = json.loads(body)["waiting_for"]
        if waiting.keys() == {"NoWeights"} and waiting["NoWeights"] != "loading":
            break
    assert (status, waiting) == (503, {"NoWeights": "the weights are missing"})


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/Echo", b"word=hi", 200, "hi"),
        ("/Calculator", b"expression=6*7", 200, "42"),
        ("/Calculator", b"expression=6*", 400, "SyntaxError"),
        ("/Echo", b"", 422, "Field required"),
        ("/Hang", b"word=x", 408, "Hang did not finish within 0.3 s and was ended"),
        ("/Crash", b"", 400, "Crash ended its process with these arguments, twice"),
        ("/Leave", b"", 500, "Leave tried to end its process"),
        ("/NoWeights", b"", 500, "the weights are missing"),
        ("/ImageDescription", b"", 503, "weights in [tools.vision] names nothing that exists"),
    ],
)
def test_calls_are_answered_as_without_ray(server: Running, path: str, body: bytes, status: int, words: str) -> None:
    found, answer = post(server, path, body)
    assert found == status and words in str(answer)


def test_bodies_and_tokens_are_checked_before_any_replica_is_asked(server: Running) -> None:
    assert post(server, "/Echo", b"word=x", **{"Content-Length": str(2**27)})[0] == 413
    assert post(server, "/Echo", b"word=x", Authorization="Bearer wrong")[0] == 401


def test_states_and_fingerprints_are_those_of_the_replicas(server: Running) -> None:
    states = json.loads(get(server, "/health")[1])["tools"]
    assert states["ImageDescription"].startswith("unavailable: weights in [tools.vision]")
    assert {states[name] for name in f"{NASTY},Calculator,DrawBox".split(",")} == {"ready"}
    ours = OURS.split(",")
    shown = json.loads(get(server, "/tools")[1])
    repeatable = {name for name in ours if shown[name].pop(REPEATABLE, None)}
    assert repeatable == {name for name in ours if registry.TOOLS[name].pure}
    assert {name: shown[name] for name in ours} == fingerprints(
        ToolSettings(tables={"vision": {"weights": NOWHERE}}), ours
    )
    assert not set(NASTY.split(",")) & registry.TOOLS.keys(), "only the server and its replicas know the extra ones"


def test_confinement_is_told_for_the_tools_that_are_confined(server: Running, tmp_path: Path) -> None:
    Image.new("RGB", (20, 20)).save(tmp_path / "a.png")
    server.calls(tmp_path, ("DrawBox", {"image": str(tmp_path / "a.png"), "bbox": "1 1 9 9"}), ("Echo", {"word": "x"}))
    told = json.loads(get(server, "/health")[1])["confinement"]
    assert told.keys() == {"DrawBox"} and "no_new_privs" in told["DrawBox"]


def test_files_travel_with_their_names(server: Running, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("eins")
    (tmp_path / "two.txt").write_text("zwei")
    (read,) = server.calls(tmp_path, ("Read", {"audio": str(tmp_path / "one.txt")}))
    assert read == "one.txt: eins"
    names = [str(tmp_path / name) for name in ("one.txt", "two.txt")]
    call = ("Gather", {"content": f"![x]({names[0]})", "image_paths": names[1]})
    (made,) = server.calls(tmp_path, call)
    assert Path(made.content).read_text() == f"{names[0]}=eins|{names[1]}=zwei"


def test_light_tools_share_replicas_and_a_model_is_loaded_once(server: Running, tmp_path: Path) -> None:
    calls = [(name, {}) for name in ("Where", "Whereabouts") for _ in range(8)]
    places = server.calls(tmp_path, *calls)
    assert len(set(places)) <= 2, "as many processes as replicas"
    assert set(places[:8]) & set(places[8:])
    words = server.calls(tmp_path, *(("Model", {"word": f"w{number}"}) for number in range(16)))
    assert [word.split()[0] for word in words] == [f"W{number}" for number in range(16)]
    assert len({word.split()[2] for word in words}) == 1


def test_calls_that_come_together_become_batches_and_are_counted(server: Running, tmp_path: Path) -> None:
    def figure(name: str) -> float:
        lines = get(server, "/metrics")[1].decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    before = {name: figure(name) for name in ("agentgauge_batch_size_count", "agentgauge_batch_size_sum")}
    server.calls(tmp_path, *(("Model", {"word": "w"}) for _ in range(16)))
    batches, calls = (figure(name) - number for name, number in before.items())
    assert calls == 16 and batches < 12
    assert figure('agentgauge_tool_calls_total{status="200",tool="Model"}') >= 16
    ended = figure("agentgauge_process_restarts_total")
    for _ in range(4):  # a replica tells with its next answer which processes have ended; there are several
        server.calls(tmp_path, *(("Hang", {"word": "x"}) for _ in range(4)))
    assert figure("agentgauge_process_restarts_total") > ended


def test_a_full_queue_refuses_calls(server: Running, tmp_path: Path) -> None:
    answers = server.calls(tmp_path, *(("Slow", {"word": "x"}) for _ in range(14)))
    refused = [answer for answer in answers if isinstance(answer, ToolFault)]
    assert answers.count("x") == 10 and len(refused) == 4
    assert "Slow has 10 calls waiting" in str(refused[0])


def replica_of(worker: int) -> int:
    """The parent of a worker process."""
    return int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])


def test_calls_of_a_replica_that_is_killed_are_answered_by_another_one(server: Running, tmp_path: Path) -> None:
    (worker,) = server.calls(tmp_path, ("Where", {}))
    replica = replica_of(int(worker))
    threading.Timer(0.2, os.kill, (replica, signal.SIGKILL)).start()
    answers = server.calls(tmp_path, *(("Slow", {"word": f"w{number}"}) for number in range(8)))
    assert answers == [f"w{number}" for number in range(8)]
    assert not Path(f"/proc/{replica}").exists()
    assert server.calls(tmp_path, ("Where", {})) != [worker]


def test_a_crash_is_told_to_the_model(server: Running, tmp_path: Path) -> None:
    (error,) = server.calls(tmp_path, ("Crash", {}))
    assert isinstance(error, ToolError) and "twice" in str(error)
    assert server.calls(tmp_path, ("Crash", {"once": str(tmp_path / "once")})) == ["survived"]


def gone(*pids: int, within: float) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not running(map(str, pids)):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.long
def test_tools_of_a_server_that_was_killed_are_taken_off_the_cluster(ray_cluster: Cluster, tmp_path: Path) -> None:
    server = Running("--ray", ray_cluster.address, "--tools", "Where", **ray_cluster.environment)
    (worker,) = server.calls(tmp_path, ("Where", {}))
    replica = replica_of(int(worker))
    server.end(signal.SIGKILL)
    assert gone(int(worker), replica, within=30)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_cluster_of_a_server_ends_with_it(number: signal.Signals, tmp_path: Path) -> None:
    server = Running("--ray", "local", "--tools", "Where")
    (worker,) = server.calls(tmp_path, ("Where", {}))
    replica = replica_of(int(worker))
    node = replica_of(replica)
    server.end(number)
    assert gone(int(worker), replica, node, within=20)


@pytest.mark.long
def test_calls_survive_replicas_that_are_killed_again_and_again(server: Running, tmp_path: Path) -> None:
    for _ in range(5):
        (worker,) = server.calls(tmp_path, ("Where", {}))
        threading.Timer(0.2, os.kill, (replica_of(int(worker)), signal.SIGKILL)).start()
        assert server.calls(tmp_path, *(("Slow", {"word": "x"}) for _ in range(8))) == ["x"] * 8
