"""A Ray cluster of several nodes on this machine, each of which can be killed as a machine would be."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType


class Nodes:
    """A head that is used as a context manager, and the nodes that join it. They listen on loopback and want a token.

    ``head``: processors that the head offers to Ray. Each other node offers one.
    """

    def __init__(self, head: int = 1) -> None:
        self._head = head
        self._folder = tempfile.mkdtemp(prefix="nodes")  # as short as a socket's address must be
        self._started: list[subprocess.Popen[bytes]] = []
        self.address = f"127.0.0.1:{_free_port()}"
        self.token = secrets.token_hex(32)
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
        }

    def __enter__(self) -> Nodes:
        port = self.address.rpartition(":")[2]
        client = str(_free_port())
        try:
            self._start(
                *(
                    "--head",
                    "--num-cpus",
                    str(self._head),
                    "--port",
                    port,
                    "--ray-client-server-port",
                    client,
                    "--include-dashboard=false",
                ),
                *("--temp-dir", self._folder),
            )
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for process in reversed(self._started):
            self.kill(process)
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self) -> subprocess.Popen[bytes]:
        """One more node, once it has joined."""
        return self._start("--num-cpus", "1", "--address", self.address)

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """Everything that runs on a node is gone, as if its machine had lost its power."""
        for process in [*below(node.pid), node.pid]:
            _send(process, signal.SIGKILL)
        node.wait()
        if node.stdout:
            node.stdout.close()

    def freeze(self, node: subprocess.Popen[bytes]) -> None:
        """Nothing of a node goes on, and its connections stay open."""
        for process in [*below(node.pid), node.pid]:
            _send(process, signal.SIGSTOP)

    def kill_raylet(self, node: subprocess.Popen[bytes]) -> None:
        """Kill only the process that makes it a node."""
        for process in below(node.pid):
            if Path(_command(process).split(" ")[0]).name == "raylet":
                _send(process, signal.SIGKILL)

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        ray = Path(sys.executable).with_name("ray")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        words = ("start", "--block", "--node-ip-address", "127.0.0.1", *words)
        process = subprocess.Popen(
            [ray, *words],
            env=kept | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._started.append(process)
        assert process.stdout is not None
        said = b""
        while b"--block" not in said:  # the last that it says when it is up
            line = process.stdout.readline()
            assert line, said.decode()
            said += line
        return process


def below(process: int) -> Iterator[int]:
    """A process's children, their children and so on."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended
        return
    for child in map(int, children):
        yield from below(child)
        yield child


def having(token: str, word: str = "") -> dict[int, str]:
    """The processes whose environment has a token and whose command line has a word, with that command line."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            has_token = token.encode() in (path / "environ").read_bytes()
        except OSError:  # it has ended, or belongs to another user
            continue
        if has_token and word in (line := _command(int(path.name))):
            found[int(path.name)] = line
    return found


def _send(process: int, number: signal.Signals) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return  # it has ended


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:  # it has ended
        return ""


def _free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])
