"""The viewer in a browser: figures that move, two browsers at once, and what a hostile page and file achieve."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentgauge.core.types import Event
from tests.model.fault_server import FaultServer
from tests.plugin.project import Project
from tests.plugins.view.viewer import held_up, served
from tests.reports.browsers import faults
from tests.reports.runs import record, write_run

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror='window.hurt = 1'><script>window.hurt = 1</script>"
"""What an agent might write anywhere."""

DELIVERED = "<script>window.hurt = 1; fetch('/events').then(() => document.title = 'read')</script>"


def test_figures_move_in_two_browsers_and_a_finished_run_stays(browser, tmp_path):
    project, goes_on = Project.make(tmp_path / "project", samples=8), threading.Event()
    runs = project.path / "runs"
    runs.mkdir()
    with FaultServer(choose=held_up(goes_on, HOSTILE)) as endpoint, served(runs, tmp_path) as viewer:
        pages = [browser.new_context().new_page() for _ in range(2)]
        asked: list[str] = []
        for page in pages:
            page.on("request", lambda request: asked.append(request.url))
            page.goto(viewer.url)
            page.get_by_text("No run is here yet").wait_for()
            assert "token" not in page.url
        process = project.start("--model", HOSTILE, "--model-url", endpoint.url, "--run-dir", "runs/live")
        try:
            for page in pages:
                page.get_by_text("running, 6 of 8").wait_for()
            pages[0].get_by_role("link", name="live").click()
            pages[0].get_by_text("6 of 8").first.wait_for()
            assert "s0" in pages[0].locator(".failures").inner_text()
            assert pages[0].locator("h1").inner_text() == HOSTILE
            goes_on.set()
            pages[0].get_by_role("link", name="Open the report").wait_for()
            assert "7 passed · 1 wrong" in pages[0].locator("main").inner_text()
            pages[0].get_by_role("link", name="Open the report").click()
            pages[0].locator("#case-table tbody tr").first.wait_for()
            pages[1].locator(".state.finished").wait_for()
            assert [page.evaluate("window.hurt") for page in pages] == [None, None]
            assert all(url.startswith((f"http://localhost:{viewer.port}/", "data:")) for url in asked)
        finally:
            goes_on.set()
            output, _ = process.communicate(timeout=60)
            assert process.returncode == 0, output


@pytest.fixture
def view(tmp_path):
    events = [Event("model", "m", 0, 0, {"messages": [{"role": "user", "content": HOSTILE}], "reply": HOSTILE})]
    for name in ("one", "two"):
        run = write_run(tmp_path / "runs" / name, [record(0, events=events), record(1, passed=False)])
        about = json.loads((run / "run.json").read_text()) | {"started": 900.0, "finished": 960.0, "planned": 2}
        (run / "run.json").write_text(
            json.dumps(about | {"settings": about["settings"] | {"model": {"name": HOSTILE}}})
        )
    place = tmp_path / "runs" / "one" / "files"
    place.mkdir()
    (place / "page.html").write_text(DELIVERED)
    (place / "picture.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{DELIVERED}</svg>")
    with served(tmp_path / "runs", tmp_path) as viewer:
        yield viewer


def test_runs_are_compared_by_choosing_them(browser, view):
    page = browser.new_context().new_page()
    page.goto(view.url)
    page.locator(".runs").wait_for()
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    page.get_by_role("heading", name="Comparison").first.wait_for()
    page.go_back()
    page.get_by_role("link", name="one").click()
    page.locator("#case-table tbody tr").first.wait_for()
    assert page.evaluate("window.hurt") is None


def test_the_list_is_searched_and_sorted_and_a_case_is_read_in_two_runs_at_once(browser, tmp_path):
    for name, passed in (("big", 2), ("small", 1), ("small-again", 0)):
        cases = [record(number, passed=number < passed) for number in range(3)]
        write_run(tmp_path / "runs" / name, cases, model=name)
    with served(tmp_path / "runs", tmp_path) as viewer:
        page = browser.new_context().new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(f"{message.text} {message.location['url']}"))
        page.goto(viewer.url)
        names = page.locator(".runs tbody .name")
        names.first.wait_for()
        page.get_by_role("button", name="headline figures").click()
        assert names.all_inner_texts() == ["big", "small", "small-again"]
        page.get_by_role("button", name="headline figures").click()
        assert names.all_inner_texts() == ["small-again", "small", "big"]
        page.get_by_label("Find").fill("small finished")
        assert names.all_inner_texts() == ["small-again", "small"]
        page.get_by_label("Find").fill("")
        for name in ("big", "small"):
            page.get_by_label(f"Compare {name}", exact=True).check()
        page.get_by_role("button", name="Compare the chosen runs").click()
        shown = page.locator("#cases tbody tr:visible")
        shown.first.wait_for()
        assert [one.split() for one in shown.all_inner_texts()] == [["s1", "wrong", "passed"]]
        page.get_by_label("Show").select_option("all cases")
        assert shown.count() == 3
        page.get_by_role("link", name="s1").click()
        for frame in page.locator("#sides iframe").all():
            frame.content_frame.get_by_role("heading", name="toy.say · s1").wait_for()
        assert page.locator("#sides iframe").count() == 2
        page.get_by_role("button", name="Close").first.click()
        with page.expect_download() as saved:
            page.get_by_role("button", name="as PNG").click()
        assert saved.value.path().read_bytes().startswith(b"\x89PNG")
        assert said == []


def test_a_delivered_file_runs_nothing(browser, view):
    context = browser.new_context()
    page = context.new_page()
    page.goto(view.url)
    page.locator(".runs").wait_for()
    page.goto(view.url.partition("?")[0] + "run/one/files/picture.svg")
    assert page.evaluate("window.hurt") is None and page.title() != "read"
    page.goto(view.url)
    page.locator(".runs").wait_for()
    with page.expect_download(timeout=5000):
        page.evaluate("location.assign('/run/one/files/page.html')")


def test_a_hostile_page_reads_nothing(browser, view):
    """It is open in the same browser, which has the cookie, and knows the port."""
    target = f"http://localhost:{view.port}"
    attack = f"""<!doctype html><body><script>
    window.found = [];
    const note = (how) => (answer) => window.found.push(how);
    const tried = [
      fetch("{target}/events", {{credentials: "include"}}).then((answer) => answer.text()).then(note("fetch")),
      fetch("{target}/run/one/report.html", {{mode: "no-cors"}}).then((answer) => answer.status && note("opaque")()),
      new Promise((end) => {{
        const source = new EventSource("{target}/events", {{withCredentials: true}});
        source.onmessage = () => {{ note("events")(); end(); }};
        source.onerror = end;
      }}),
      new Promise((end) => {{
        const script = document.createElement("script");
        script.src = "{target}/run/one/report-data/0.js";
        window.agentgaugeChunk = note("chunk");
        script.onload = script.onerror = end;
        document.body.append(script);
      }}),
      new Promise((end) => {{
        const frame = document.createElement("iframe");
        frame.src = "{target}/run/one/report.html";
        frame.onload = () => {{
          try {{ if (frame.contentDocument.body.innerText) note("frame")(); }} catch {{ /* refused */ }}
          end();
        }};
        document.body.append(frame);
      }}),
    ];
    Promise.allSettled(tried).then(() => {{ document.title = "done"; }});
    </script>"""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(attack.encode())

        def log_message(self, *arguments):
            pass

    foreign = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=foreign.serve_forever, daemon=True)
    thread.start()
    try:
        context = browser.new_context()
        own = context.new_page()
        own.goto(view.url)
        own.locator(".runs").wait_for()
        page = context.new_page()
        for host in ("localhost", "127.0.0.1"):  # the same site on another port, and another site
            page.goto(f"http://{host}:{foreign.server_port}/")
            page.wait_for_function("document.title === 'done'")
            assert page.evaluate("window.found") == []
    finally:
        foreign.shutdown()
        foreign.server_close()
        thread.join(10)


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_axe_finds_nothing(browser, view, axe, tmp_path, scheme, width):
    stopped = tmp_path / "runs" / "stopped"
    stopped.mkdir()
    (stopped / "planned.json").write_text(json.dumps([["toy.say", "s0", 1, "x"], ["toy.say", "s1", 1, "x"]]))
    about = {"started": 500.0, "finished": None, "planned": 2, "settings": {"model": {"name": "m"}}}
    (stopped / "run.json").write_text(json.dumps(about))
    (stopped / "records").mkdir()
    line = json.dumps(record(0, passed=False).to_json() | {"finished": 600.0}) + "\n"
    (stopped / "records" / "main.jsonl").write_text(line)
    page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    page.goto(view.url)
    page.locator(".runs").wait_for()
    assert faults(page, axe) == []
    page.get_by_role("link", name="stopped").click()
    page.locator(".failures").wait_for()
    assert faults(page, axe) == []
