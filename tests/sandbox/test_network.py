"""A program that is given the network reaches it over IP, and nothing else opens with it."""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge import sandbox
from agentgauge.sandbox.inner import seccomp
from agentgauge.sandbox.launch import Job
from agentgauge.sandbox.processes import Setup
from agentgauge.sandbox.result import Limits

from .test_launch import ALLOW, ARM, EPERM, X86, _decide

CLIENT = """
import socket
with socket.create_connection(("127.0.0.1", PORT), timeout=5) as link:
    print(link.recv(20).decode())
"""
LAYERS = {"all": (), "no-landlock": ("landlock",), "no-namespaces": ("namespaces",)}


@pytest.fixture
def port() -> Iterator[int]:
    """A server on this machine that greets whoever comes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            try:
                while True:
                    with listening.accept()[0] as link:
                        link.sendall(b"welcome")
            except OSError:
                return

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize("layers", LAYERS)
def test_a_local_server_is_reached(layers: str, port: int, tmp_path: Path) -> None:
    argv = [sys.executable, "-I", "-S", "-c", CLIENT.replace("PORT", str(port))]
    result = Job(argv, Setup(refuse=LAYERS[layers]), folder=tmp_path, limits=Limits(), network=True).run()
    assert (result.status, result.stdout) == ("ok", "welcome\n"), result.stderr
    assert not {"net_ns", "landlock_tcp"} & set(result.layers)


def test_bubblewrap_shares_the_network_too(port: int, tmp_path: Path) -> None:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        pytest.skip("bubblewrap is not installed")
    argv = [sys.executable, "-I", "-S", "-c", CLIENT.replace("PORT", str(port))]
    result = Job(argv, Setup(bubblewrap=bubblewrap), folder=tmp_path, limits=Limits(), network=True).run()
    assert result.stdout == "welcome\n", result.stderr


def test_it_has_to_be_said(port: int, tmp_path: Path) -> None:
    argv = [sys.executable, "-I", "-S", "-c", CLIENT.replace("PORT", str(port))]
    assert sandbox.run(argv, folder=tmp_path).status == "error"
    assert sandbox.run(argv, folder=tmp_path, network=True).stdout == "welcome\n"


@pytest.mark.parametrize("options", [{"network": True}, {"unix_sockets": True}], ids=["network", "unix-sockets"])
@pytest.mark.parametrize("address", ["path", "abstract"])
def test_services_behind_unix_sockets_stay_closed(address: str, options: dict[str, bool], tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as outside, socket.socket(socket.AF_UNIX) as listening:
        name = f"{outside}/service" if address == "path" else f"\0{tmp_path.name}"
        listening.bind(name)
        listening.listen()
        code = f"import socket\nsocket.socket(socket.AF_UNIX).connect({name!r})\nprint('reached')"
        result = sandbox.run([sys.executable, "-I", "-S", "-c", code], folder=tmp_path, **options)
    assert result.status == "error" and "reached" not in result.stdout
    assert "network" not in options or "PermissionError" in result.stderr


OWN_SOCKET = """
import socket
with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as link:
    listening.bind("/dev/shm/own")
    listening.listen()
    link.connect("/dev/shm/own")
    print("reached")
"""


@pytest.mark.parametrize(("layers", "reached"), [("all", True), ("no-namespaces", False)])
def test_a_program_reaches_its_own_unix_socket_where_it_has_files_of_its_own(
    layers: str, reached: bool, tmp_path: Path
) -> None:
    argv = [sys.executable, "-I", "-S", "-c", OWN_SOCKET]
    result = Job(argv, Setup(refuse=LAYERS[layers]), folder=tmp_path, limits=Limits(), unix_sockets=True).run()
    assert ("reached" in result.stdout) is reached, result.stderr


def test_files_stay_closed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("hidden")
    code = f"print(open({str(tmp_path / 'secret')!r}).read())"
    result = sandbox.run([sys.executable, "-I", "-S", "-c", code], folder=tmp_path / "work", network=True)
    assert result.status == "error" and "hidden" not in result.stdout


@pytest.mark.parametrize(
    ("machine", "audit", "number", "family", "decision"),
    [
        ("x86_64", X86, 41, 2, ALLOW),
        ("x86_64", X86, 41, 10, ALLOW),
        ("x86_64", X86, 41, 1, EPERM),  # UNIX
        ("x86_64", X86, 41, 16, EPERM),  # netlink
        ("x86_64", X86, 41, 17, EPERM),  # packets
        ("x86_64", X86, 41, 40, EPERM),  # of virtual machines
        ("x86_64", X86, 165, 2, EPERM),  # mount
        ("x86_64", X86, 0, 0, ALLOW),  # read
        ("aarch64", ARM, 198, 10, ALLOW),
        ("aarch64", ARM, 198, 1, EPERM),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_the_filter_decides_by_the_family_of_a_socket(
    machine: str, audit: int, number: int, family: int, decision: int, alone: bool
) -> None:
    steps = seccomp.program(machine, alone=alone, pid=77, network=True)
    assert _decide(steps, audit, number, family) == decision


@pytest.mark.parametrize(("family", "decision"), [(1, ALLOW), (2, EPERM), (10, EPERM), (16, EPERM)])
def test_the_filter_lets_unix_sockets_alone_pass(family: int, decision: int) -> None:
    assert _decide(seccomp.program("x86_64", alone=False, pid=77, unix_sockets=True), X86, 41, family) == decision
