"""Joining and starting Ray clusters: what is refused, and how the ones that are started are protected."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.run.ray_cluster import connect
from tests.ray_cluster import Cluster

JOIN = """
import sys
from agentgauge.core.errors import UsageProblem
from agentgauge.run.ray_cluster import connect, disconnect
try:
    connect(sys.argv[1])
except UsageProblem as problem:
    sys.exit(str(problem))
import ray
print("ray.cluster", ray.cluster_resources()["CPU"])
disconnect()
"""


def join(address: str, **environment: str) -> tuple[str, str]:
    """What a process that joins a cluster prints, and what it writes to standard error."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", JOIN, address]
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ray://head:10001", "--ray takes no ray:// address"),
        ("head", "HOST:PORT; got 'head'"),
        ("http://head:6379", "got 'http://head:6379'"),
        ("", "got ''"),
        ("head:port", "got 'head:port'"),
    ],
)
def test_an_address_of_another_form_is_refused(address: str, words: str) -> None:
    with pytest.raises(UsageProblem, match=re.escape(words)):
        connect(address)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageProblem, match=re.escape("pip install 'agentgauge[ray]'")):
        connect("local")


def test_a_cluster_that_does_not_start_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")

    def init(*_: object, **__: object) -> None:
        raise Exception("The current node timed out during startup.\nA second line.")  # as ray does

    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "")  # and put back at the end
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(UsageProblem, match=r"^the Ray cluster local cannot be used: .* during startup; its logs are"):
        connect("local")


@contextmanager
def silent() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def http() -> Iterator[str]:
    """Answers whatever comes as a web server does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def nothing() -> Iterator[str]:
    with socket.socket() as holder:  # bound, so that no other program takes the port
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


@pytest.mark.parametrize("there", [silent, http, nothing])
def test_a_cluster_that_is_not_there_is_told_within_seconds(there, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with there() as address:
        start = time.monotonic()
        with pytest.raises(UsageProblem, match=f"^the Ray cluster {address} cannot be reached: .*--ray local$"):
            connect(address)
        assert time.monotonic() - start < 8


def test_a_head_without_authentication_is_warned_of(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """The head answers the question whether it is there, and nothing else."""
    import grpc

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setattr("agentgauge.run.ray_cluster._initialise", lambda address, cpus: None)
    head = grpc.server(futures.ThreadPoolExecutor(1))
    alive = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    head.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("ray.rpc.NodeInfoGcsService", {"CheckAlive": alive})]
    )
    port = head.add_insecure_port("127.0.0.1:0")
    head.start()
    try:
        connect(f"127.0.0.1:{port}")
    finally:
        head.stop(None).wait()
        os.environ.pop("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", None)
    assert "has no authentication, so anyone who can connect to it can run programs on it" in caplog.text


def test_a_cluster_of_ours_is_joined_with_its_token_only(ray_cluster: Cluster) -> None:
    token = ray_cluster.environment["RAY_AUTH_TOKEN"]
    out, err = join(ray_cluster.address, RAY_AUTH_TOKEN=token)
    assert (out, err) == ("ray.cluster 8.0\n", "")
    for given, words in (("", "requires its token"), ("x" * 64, "does not take the given token")):
        out, err = join(ray_cluster.address, RAY_AUTH_TOKEN=given, HOME="/nonexistent")
        assert (out, err.count("\n")) == ("", 1) and words in err and "x" * 64 not in err


def test_a_cluster_of_ours_listens_on_loopback_only(ray_cluster: Cluster) -> None:
    sockets = {
        str(handle.readlink())
        for process in Path("/proc").glob("[0-9]*")
        if b"RAY_AUTH_TOKEN=" + ray_cluster.environment["RAY_AUTH_TOKEN"].encode() in _environment(process)
        for handle in _handles(process)
    }
    listening = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                listening[fields[1]] = fields[1].partition(":")[0]
    assert len(listening) > 3
    assert set(listening.values()) <= {"0100007F", "0000000000000000FFFF00000100007F"}


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:  # it has ended
        return b""


def _handles(process: Path) -> list[Path]:
    try:
        return [handle for handle in (process / "fd").iterdir() if handle.is_symlink()]
    except OSError:
        return []
