"""A stranger's web page in a real browser, beside a running tool server: its requests run no tool and read nothing."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.tools.test_access import Served, serve

api = pytest.importorskip("playwright.sync_api", reason="pip install playwright to test pages in a browser")
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
if BROWSER is None:
    pytest.skip("no system browser (chromium) to test pages in", allow_module_level=True)

FLAGS = [
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
    ),
    *("--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP evil.example 127.0.0.1"),
]

PAGE = """<!doctype html><title>prizes</title>
<form id=plain method=post target=one action="TARGET/Echo"><input name=word value=hurt></form>
<form id=parts method=post target=two action="TARGET/Echo" enctype="multipart/form-data">
<input name=word value=hurt></form>
<form id=text method=post target=three action="TARGET/Echo" enctype="text/plain"><input name=word value=hurt></form>
<iframe name=one></iframe><iframe name=two></iframe><iframe name=three></iframe>
<iframe src="TARGET/openapi.json"></iframe>
<img src="TARGET/tools"><script src="TARGET/openapi.json"></script>
<script>
const target = "TARGET", read = [];
const form = () => new URLSearchParams({word: "hurt"});
const parts = () => { const made = new FormData(); made.append("word", "hurt"); return made; };
async function attempt(path, options) {
  try {
    const reply = await fetch(target + path, options);
    if (reply.ok) read.push(path + ": " + await reply.text());
    else if (reply.type !== "opaque") read.push(path + " refused: " + reply.status);
  } catch (error) { /* the browser keeps the answer from us */ }
}
async function attack() {
  for (const id of ["plain", "parts", "text"]) document.getElementById(id).submit();
  navigator.sendBeacon(target + "/Echo", form());
  for (const mode of ["no-cors", "cors"]) {
    await attempt("/Echo", {method: "POST", mode, body: form()});
    await attempt("/Echo", {method: "POST", mode, body: parts()});
    await attempt("/Echo", {method: "POST", mode, body: form(), credentials: "include", referrerPolicy: "no-referrer"});
    for (const path of ["/openapi.json", "/tools", "/metrics", "/health"]) await attempt(path, {mode});
  }
  await attempt("/Echo", {method: "POST", body: form(), headers: {Authorization: "Bearer guess"}});
  const old = new XMLHttpRequest();
  old.open("POST", target + "/Echo", false);
  try { old.send(form()); if (old.status === 200) read.push(old.responseText); } catch (error) { }
  return read;
}
</script>"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/prizes.html"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.content if found else b"")  # type: ignore[attr-defined]

    def log_message(self, *_: Any) -> None:
        """Not written."""


@contextmanager
def site(target: str | None = None) -> Iterator[int]:
    """A stranger's site, whose page attacks an address, by default its own: gives its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    content = PAGE.replace("TARGET", target or f"http://evil.example:{server.server_port}")
    server.content = content.encode()  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module", params=[(), ("--no-token",)], ids=["token", "no token"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    with serve(*request.param) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """With a profile of its own, which is removed at its end."""
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


class Watched:
    """The answers of the tool server to a browser."""

    def __init__(self, page: Any, netloc: str) -> None:
        self.statuses: list[tuple[str, str, int]] = []
        page.context.on("response", lambda answer: self._keep(answer, netloc))

    def _keep(self, answer: Any, netloc: str) -> None:
        if answer.url.split("/")[2] == netloc and not answer.url.endswith("prizes.html"):
            self.statuses.append((answer.request.method, "/" + answer.url.split("/", 3)[3], answer.status))


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "evil.example"])
def test_a_page_of_another_origin_runs_no_tool_and_reads_nothing(served: Served, page: Any, name: str) -> None:
    watched = Watched(page, served.netloc)
    with site(served.url) as port:
        page.goto(f"http://{name}:{port}/prizes.html")
        assert page.evaluate("attack()") == []
        page.wait_for_timeout(300)  # forms and beacons are sent beside
    assert served.calls() == 0
    assert {status for _, _, status in watched.statuses} == {403}
    assert len([path for method, path, _ in watched.statuses if (method, path) == ("POST", "/Echo")]) >= 7
    assert {path for _, path, _ in watched.statuses} >= {"/Echo", "/openapi.json", "/tools", "/metrics", "/health"}


@pytest.mark.parametrize("options", [(), ("--no-token",)], ids=["token", "no token"])
def test_a_page_whose_name_was_rebound_runs_no_tool_and_reads_nothing(page: Any, options: tuple[str, ...]) -> None:
    """For the browser the page and the server are one origin then: it keeps no answer from the page."""
    with site() as port:
        page.goto(f"http://evil.example:{port}/prizes.html")
    watched = Watched(page, f"evil.example:{port}")
    with serve("--port", str(port), *options) as served:
        told = page.evaluate("attack()")
        assert served.calls() == 0
    assert len(told) > 7 and all(line.endswith("refused: 403") for line in told), told
    assert {status for _, _, status in watched.statuses} == {403}


def test_the_user_may_look_at_the_server_himself(page: Any) -> None:
    with serve("--no-token") as served:
        answer = page.goto(f"{served.url}/health")
        assert answer.status == 200 and json.loads(answer.text())["status"] == "ok"
