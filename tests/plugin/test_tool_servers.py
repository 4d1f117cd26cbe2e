"""Tasks bring the command of their tool server along: each gets the tools of its own."""

from __future__ import annotations

import json

from tests.plugin.project import Project, records

CONFTEST = """
import sys
import urllib.request
from pathlib import Path
from agentgauge import RealTools, ToolOutput, announce
from tests.plugin.toy import Toy

class Box:
    def __init__(self, url):
        self.url = url
    async def catalog(self):
        return {}
    async def call(self, name, arguments, *, folder, readable):
        return (ToolOutput("text", urllib.request.urlopen(self.url, timeout=20).read().decode()),)
    async def close(self):
        pass

class Served(Toy, RealTools):
    def __init__(self, name, word):
        self.name, self.word = name, word
    async def run(self, case):
        (said,) = await case.use("Say", {})
        return {"answer": said.content}
    def tools_of(self, index, row):
        return ("Say",)
    def check_tools(self, names, config, *, scoring, allow_unsafe, server):
        return {}
    def tool_server(self, config, *, scoring, allow_unsafe):
        return [sys.executable, str(Path(__file__).with_name("server.py")), self.word]
    def toolbox(self, url):
        return Box(url)

announce(Served("toy.one", "good"), Served("bad.two", "bad"), Served("toy.three", "good"))
"""

SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from agentgauge.core.processes import end_with_parent, given_listener

class Say(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[1].encode())

end_with_parent()
server = HTTPServer(("127.0.0.1", 0), Say, bind_and_activate=False)
server.socket = given_listener()
print(json.dumps({"url": "http://%s:%d" % server.socket.getsockname()}), flush=True)
server.serve_forever()
"""

CASES = """
import json
from pathlib import Path
from agentgauge import benchmark_task

@benchmark_task("toy.one")
def test_one(outcome):
    outcome.check()

@benchmark_task("bad.two")
def test_two(outcome):
    outcome.check()

@benchmark_task("toy.three")
def test_three(outcome):
    outcome.check()

def test_of_the_project(tool_server):
    assert tool_server.url == json.loads(Path("run/services.json").read_text())["tools of tests.tools"]
"""


def test_each_task_has_the_tools_of_its_own_server(project: Project) -> None:
    (project.path / "conftest.py").write_text(CONFTEST)
    (project.path / "server.py").write_text(SERVER)
    (project.path / "test_toy.py").write_text(CASES)
    project.run("--model=baseline", "--limit=2", "--run-dir=run")
    run = project.path / "run"
    found = {(one["task"], one["transcript"]["output"].get("answer", one["status"])) for one in records(run)}
    assert found == {("toy.one", "good"), ("bad.two", "bad"), ("toy.three", "good"), ("tests.tools", "passed")}
    addresses = json.loads((run / "services.json").read_text())
    assert addresses["tools of toy.one"] == addresses["tools of toy.three"]
    assert len({addresses[f"tools of {task}"] for task in ("toy.one", "bad.two", "tests.tools")}) == 3
