"""The network of a program: all of this machine's IP, or single ports in a network of its own, and nothing else opens
with it. (No network: ``test_hostile``.)"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge import sandbox
from agentgauge.core.errors import SandboxFault
from agentgauge.sandbox import forwarder
from agentgauge.sandbox.launch import Job
from agentgauge.sandbox.processes import Setup
from agentgauge.sandbox.result import SandboxLimits
from tests.sandbox.conftest import as_user, environment, interpreter

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
    result = Job(argv, Setup(refuse=LAYERS[layers]), folder=tmp_path, limits=SandboxLimits(), network=True).run()
    assert (result.status, result.stdout) == ("ok", "welcome\n"), result.stderr
    assert not {"net_ns", "landlock_tcp"} & set(result.layers)


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
    setup = Setup(refuse=LAYERS[layers])
    result = Job(argv, setup, folder=tmp_path, limits=SandboxLimits(), unix_sockets=True).run()
    assert ("reached" in result.stdout) is reached, result.stderr


def test_files_stay_closed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("hidden")
    code = f"print(open({str(tmp_path / 'secret')!r}).read())"
    result = sandbox.run([sys.executable, "-I", "-S", "-c", code], folder=tmp_path / "work", network=True)
    assert result.status == "error" and "hidden" not in result.stdout


# -- single ports

HEAD = "import os, socket, sys\n"
SHOUT = (
    HEAD
    + """
with socket.create_connection(("127.0.0.1", PORT), timeout=5) as link:
    link.sendall(b"x" * 3_000_000)
    link.shutdown(socket.SHUT_WR)
    got = b""
    while part := link.recv(1 << 16):
        got += part
print(len(got), set(got) == {ord("X")})
"""
)


@pytest.fixture
def echo() -> Iterator[int]:
    """A server on this machine that sends back what it gets, in capitals."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer(link: socket.socket) -> None:
            with link:
                while part := link.recv(1 << 16):
                    link.sendall(part.upper())

        def serve() -> None:
            try:
                while True:
                    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def run(code: str, folder: Path, ports: list[int], setup: Setup | None = None, seconds: float = 10) -> tuple[str, str]:
    argv = [sys.executable, "-I", "-S", "-c", code]
    limits = SandboxLimits(wall_seconds=seconds)
    result = Job(argv, setup or Setup(), folder=folder, limits=limits, ports=ports).run()
    return result.stdout + result.stderr[-300:], result.status


def test_a_named_port_is_reached_with_much_in_both_directions(echo: int, tmp_path: Path) -> None:
    assert run(SHOUT.replace("PORT", str(echo)), tmp_path, [echo]) == ("3000000 True\n", "ok")


def test_several_ports_and_several_connections(echo: int, tmp_path: Path) -> None:
    code = HEAD + (
        "links = [socket.create_connection(('127.0.0.1', port), timeout=5) for port in PORTS * 20]\n"
        "for link in links: link.sendall(b'a')\n"
        "print(b''.join(link.recv(1) for link in links).decode())\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as closed:
        other = closed.getsockname()[1]
    assert run(code.replace("PORTS", f"[{echo}]"), tmp_path, [other, echo]) == ("A" * 20 + "\n", "ok")


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('127.0.0.1', OTHER), timeout=5)",  # another service of this machine
        "socket.create_connection(('ADDRESS', PORT), timeout=5)",  # the same port by another address
        "socket.socket(socket.AF_UNIX)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('ADDRESS', 53))",
        "os.setns(os.open('/proc/1/ns/net', os.O_RDONLY), 0)",
    ],
)
def test_nothing_else_is_reached(attempt: str, echo: int, tmp_path: Path) -> None:
    address = "10.255.255.1"
    with socket.create_server(("127.0.0.1", 0)) as other:
        code = attempt.replace("PORT", str(echo)).replace("OTHER", str(other.getsockname()[1]))
        guarded = f"try:\n    {code}\nexcept (OSError, AttributeError) as error:\n    print('refused')\n"
        assert run(HEAD + guarded.replace("ADDRESS", address), tmp_path, [echo]) == ("refused\n", "ok")


def test_no_socket_of_ours_is_left_to_it(echo: int, tmp_path: Path) -> None:
    code = HEAD + (
        "import stat\n"
        "for number in range(256):\n"
        "    try: found = os.fstat(number)\n"
        "    except OSError: continue\n"
        "    if stat.S_ISSOCK(found.st_mode): print(number)\n"
    )
    assert run(code, tmp_path, [echo]) == ("", "ok")


def test_an_ordinary_user_has_ports_too(echo: int) -> None:
    found = interpreter("nobody") if os.geteuid() == 0 else None
    if found is None:
        pytest.skip("only root can run a test as another user, who needs a Python 3.11")
    code = (
        "import sys, tempfile\n"
        "from pathlib import Path\n"
        "from agentgauge import sandbox\n"
        "argv = [sys.executable, '-I', '-S', '-c', sys.argv[1]]\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    result = sandbox.run(argv, folder=Path(folder), ports=[int(sys.argv[2])])\n"
        "print(result.stdout, result.stderr, 'user_ns' in result.layers)\n"
    )
    shout = SHOUT.replace("PORT", str(echo))
    command = [found, "-c", code, shout, str(echo)]
    done = subprocess.run(command, env=environment(), cwd="/", capture_output=True, text=True, **as_user("nobody"))
    if "refuses a network of its own" in done.stderr:
        pytest.skip("this machine gives ordinary users no namespaces")
    assert done.stdout == "3000000 True\n  True\n", done.stderr


def test_more_connections_than_allowed_wait(echo: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarder, "MOST_CONNECTIONS", 2)
    code = HEAD + (
        "links = []\n"
        "for _ in range(3):\n"
        "    links.append(socket.create_connection(('127.0.0.1', PORT), timeout=5))\n"
        "    links[-1].sendall(b'a')\n"
        "print(links[0].recv(1), links[1].recv(1))\n"
        "links[2].settimeout(0.3)\n"
        "try: print(links[2].recv(1))\n"
        "except TimeoutError: print('waits')\n"
        "links[0].close()\n"
        "links[2].settimeout(5)\n"
        "print(links[2].recv(1))\n"
    )
    assert run(code.replace("PORT", str(echo)), tmp_path, [echo]) == ("b'A' b'A'\nwaits\nb'A'\n", "ok")


def test_connections_end_with_the_program(echo: int, tmp_path: Path) -> None:
    code = HEAD + "link = socket.create_connection(('127.0.0.1', PORT))\nlink.recv(1)\n"
    before = threading.active_count()
    assert run(code.replace("PORT", str(echo)), tmp_path, [echo], seconds=0.5)[1] == "timeout"
    names = [thread.name for thread in threading.enumerate()]
    assert "agentgauge-forwarder" not in names and threading.active_count() <= before + 1  # the server's own


@pytest.mark.parametrize("refuse", [("namespaces",)])
def test_without_a_network_of_its_own_nothing_is_started(refuse: tuple[str, ...], echo: int, tmp_path: Path) -> None:
    with pytest.raises(SandboxFault, match="the kernel refuses a network of its own"):
        run("print(1)", tmp_path, [echo], Setup(refuse=refuse))


def test_a_program_that_cannot_start_leaves_no_forwarder(echo: int, tmp_path: Path) -> None:
    with pytest.raises(SandboxFault):
        Job(["/no/such/program"], Setup(), folder=tmp_path, ports=[echo]).run()
    assert "agentgauge-forwarder" not in [thread.name for thread in threading.enumerate()]
