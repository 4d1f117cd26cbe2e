"""``agentgauge view`` as a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.model.fault_server import Act, Seen, answer
from tests.plugin.project import Project

TASKS = "from tests.plugin.toy import TOY\n"


def held_up(goes_on: threading.Event, wrong: str) -> Callable[[Seen], Act]:
    """An endpoint's answers to the toy benchmark: ``wrong`` to the first of its cases, right ones to the others, to the
    seventh and the eighth only once ``goes_on`` is set."""

    def choose(seen: Seen) -> Act:
        word = str(seen.body["messages"][-1]["content"]).split()[-1]
        if word in ("word6", "word7"):
            goes_on.wait(60)
        return answer(wrong if word == "word0" else word)

    return choose


@dataclass
class Served:
    url: str  # with the token
    port: int
    cookie: str = ""

    def get(self, path: str, *, method: str = "GET", **headers: str) -> Answer:
        """A request with exactly these headers, besides a Host of ours and the cookie."""
        given = {"Host": f"localhost:{self.port}", "Cookie": self.cookie}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())

    def events(self, path: str) -> Iterator[dict[str, Any]]:
        """What the server sends, event by event, until the caller has enough."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Cookie": self.cookie})
            for line in connection.getresponse():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@contextlib.contextmanager
def served(folder: Path, scratch: Path, *, killed: bool = False) -> Iterator[Served]:
    """The viewer over ``folder``, with the cookie that a first visit brings. ``killed``: how it ends."""
    tasks = scratch / "viewed_tasks.py"
    tasks.write_text(TASKS)
    command = [sys.executable, "-m", "agentgauge.cli.main", "--tasks", str(tasks), "view", str(folder)]
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = Project(scratch).environment({"TMPDIR": str(temporary)})
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert re.fullmatch(r"http://localhost:\d+/\?token=\S+", line), line + process.stdout.read()
        viewer = Served(line, urlsplit(line).port or 0)
        first = viewer.get(f"/?{urlsplit(line).query}")
        assert first.status == 200 and "HttpOnly" in first.headers["Set-Cookie"], first
        viewer.cookie = first.headers["Set-Cookie"].partition(";")[0]
        yield viewer
    finally:
        process.send_signal(signal.SIGKILL if killed else signal.SIGINT)
        try:
            ended = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            ended = process.wait()
        process.stdout.close()
    assert ended == (-signal.SIGKILL if killed else 0)
