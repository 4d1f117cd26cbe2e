"""The viewer over real sockets: whom it answers, what it serves, what it says of a run that goes on."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from agentgauge_reports.view.runs import Runs, open_beneath
from agentgauge_reports.view.server import Viewer

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Event, Usage
from agentgauge.run.live import LiveRun
from agentgauge.store import RunFolder
from tests.model.fault_server import FaultServer
from tests.plugin.project import Project, python
from tests.plugins.view.viewer import held_up, served
from tests.reports.runs import PNG, TASKS, record, write_run


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Runs, and around them what nobody may read."""
    root = tmp_path_factory.mktemp("view") / "runs"
    drawn = [{"type": "image", "content": "{RUN}/files/toy.say/s0-a1/0001.png"}]
    events = [Event("tool", "Draw", 0, 1.5, {"arguments": {}, "result": drawn})]
    for name in ("one", "deep/two"):
        write_run(root / name, [record(0, events=events), record(1, passed=False)])
        about = json.loads((root / name / "run.json").read_text())
        about |= {"started": 900.0, "finished": 960.0, "planned": 2}
        about.setdefault("settings", {})["model"] = {"name": "m"}
        (root / name / "run.json").write_text(json.dumps(about))
    place = root / "one" / "files" / "toy.say" / "s0-a1"
    place.mkdir(parents=True)
    (place / "0001.png").write_bytes(PNG)
    (place / "page.html").write_text("<script>alert(1)</script>")
    (place / "picture.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    secret = root.parent / "secret.txt"
    secret.write_text("secret")
    (place / "link.txt").symlink_to(secret)
    (place / "folder").symlink_to(root.parent)
    os.mkfifo(place / "pipe")
    (root / "linked").symlink_to(root / "one")
    (root / "one" / "report.html").write_text("<script>window.hurt = 1</script>")
    (root / "one" / "report-data").mkdir(exist_ok=True)
    (root / "one" / "report-data" / "0.js").write_text("window.hurt = 1")
    return root


@pytest.fixture(scope="module")
def viewer(root, tmp_path_factory):
    with served(root, tmp_path_factory.mktemp("scratch")) as viewer:
        yield viewer


@pytest.mark.parametrize(
    ("headers", "method", "status"),
    [
        ({}, "GET", 200),
        ({"Host": "127.0.0.1:1"}, "GET", 200),  # a forwarded port
        ({"Host": "[::1]:9"}, "GET", 200),
        ({"Host": "LOCALHOST"}, "GET", 200),
        ({"Host": "evil.example"}, "GET", 403),
        ({"Host": "localhost.evil.example"}, "GET", 403),
        ({"Host": "evil.example@localhost"}, "GET", 403),
        ({"Host": "localhost/evil.example"}, "GET", 403),
        ({"Cookie": ""}, "GET", 403),
        ({"Cookie": "agentgauge-view-1=x"}, "GET", 403),
        ({"Origin": "http://evil.example"}, "GET", 403),
        ({"Origin": "null"}, "GET", 403),
        ({"Sec_Fetch_Site": "same-origin"}, "GET", 200),
        ({"Sec_Fetch_Site": "same-site"}, "GET", 403),  # another port of localhost
        ({"Sec_Fetch_Site": "cross-site"}, "GET", 403),
        ({}, "POST", 403),
        ({}, "PUT", 403),
    ],
)
def test_whom_it_answers(viewer, headers, method, status):
    for path in ("/", "/run/one/report.html", "/static/view.js"):
        found = viewer.get(path, method=method, **headers)
        assert found.status == status, path
        assert (
            found.headers["X-Content-Type-Options"] == "nosniff" and found.headers["Referrer-Policy"] == "no-referrer"
        )
    assert viewer.get("/?token=wrong", method=method, **({"Cookie": ""} | headers)).status == 403


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("files/toy.say/s0-a1/0001.png", 200),
        ("files/toy.say/s0-a1/page.html", 200),
        ("files/toy.say/s0-a1/link.txt", 404),
        ("files/toy.say/s0-a1/folder/secret.txt", 404),
        ("files/toy.say/s0-a1/pipe", 404),
        ("files/toy.say/s0-a1", 404),
        ("files/../run.json", 404),
        ("files/%2e%2e/run.json", 404),
        ("files/..%2f..%2f..%2fsecret.txt", 404),
        ("files//etc/passwd", 404),
        ("run.json", 404),
        ("records.jsonl", 404),
        ("../../secret.txt", 404),
        pytest.param("report-data/0.js", 200, marks=pytest.mark.uses("page")),
        ("report-data/..%2freport.html", 404),
    ],
)
def test_what_it_serves_of_a_run(viewer, path, status):
    found = viewer.get(f"/run/one/{path}")
    assert found.status == status, found
    assert b"secret" not in found.body and b"hurt" not in found.body
    assert "sandbox" in found.headers["Content-Security-Policy"]


@pytest.mark.uses("page")
def test_only_runs_below_the_folder_are_served(viewer):
    for path in ("/run/linked/report.html", "/run/nothing/report.html", "/run/../secret.txt", "/events?run=../x"):
        assert viewer.get(path).status == 404, path
    assert viewer.get("/run/deep/two/report.html").status == 200


def test_a_page_that_an_agent_made_is_saved_and_not_shown(viewer):
    for name, kind in (
        ("page.html", "application/octet-stream"),
        ("picture.svg", "image/svg+xml"),
        ("0001.png", "image/png"),
    ):
        found = viewer.get(f"/run/one/files/toy.say/s0-a1/{name}")
        assert found.headers["Content-Type"].partition(";")[0] == kind
        assert ("attachment" in found.headers.get("Content-Disposition", "")) is (name == "page.html")
        assert found.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


@pytest.mark.uses("page")
def test_the_report_page_is_written_anew_from_the_records(viewer):
    page = viewer.get("/run/one/report.html")
    assert b"hurt" not in page.body and b"AgentGauge" in page.body
    assert "script-src 'sha256-" in page.headers["Content-Security-Policy"]
    assert viewer.get("/run/one/report-data/0.js").body.startswith(b"agentgaugeChunk(0,")


def test_without_a_plugin_that_writes_pages_it_says_so(root, monkeypatch):
    monkeypatch.setattr("agentgauge_reports.view.server.announced", lambda kind: [])
    viewer = Viewer(root, TASKS)
    with pytest.raises(UsageProblem, match=r"^no plugin that is installed writes the page of a run$"):
        asyncio.run(viewer._written("one"))
    viewer.close()


def test_a_comparison_links_to_the_pages_of_its_runs(viewer):
    found = viewer.get("/run/-/compare?run=one&run=deep/two")
    assert found.status == 200 and b"Comparison" in found.body
    assert viewer.get("/run/-/compare?run=one").status == 400
    assert viewer.get("/run/-/compare?run=one&run=%2e%2e").status == 404


def test_the_list_names_every_run_with_its_figures(viewer):
    told = next(viewer.events("/events"))
    assert {run["name"]: (run["state"], run["model"]) for run in told["runs"]} == {
        "one": ("finished", "m"),
        "deep/two": ("finished", "m"),
    }
    [figure] = told["runs"][0]["figures"]
    assert (figure["name"], figure["value"], figure["n"]) == ("Acc", 50.0, 2)


def test_a_run_is_shown_while_it_goes_on_and_after_its_end(tmp_path):
    project, goes_on = Project.make(tmp_path / "project", samples=8), threading.Event()
    runs = project.path / "runs"
    runs.mkdir()
    with FaultServer(choose=held_up(goes_on, "no")) as endpoint, served(runs, tmp_path) as viewer:
        assert next(viewer.events("/events"))["runs"] == []
        process = project.start("--model", "m", "--model-url", endpoint.url, "--run-dir", "runs/live", "-n", "2")
        try:
            seen = next(
                live
                for told in viewer.events("/events")
                for live in told["runs"]
                if live["state"] == "running" and sum(live["counts"].values()) == 6
            )
            assert seen["planned"] == 8 and seen["counts"] == {"passed": 5, "wrong": 1, "broken": 0}
            told = next(viewer.events("/events?run=live"))
            assert told["live"]["tasks"] == [{"name": "toy.say", "planned": 8, "passed": 5, "wrong": 1, "broken": 0}]
            [failure] = told["live"]["failures"]
            assert failure["case"] == ["toy.say", "s0", 1] and "expected 'word0'" in failure["why"]
            goes_on.set()
            last = next(told for told in viewer.events("/events?run=live") if told["state"] == "finished")
            assert last["counts"] == {"passed": 7, "wrong": 1, "broken": 0, "missing": 0}
            assert viewer.get("/run/live/report.html").status == 200
        finally:
            goes_on.set()
            output, _ = process.communicate(timeout=60)
            assert process.returncode == 0, output


def test_a_run_that_was_killed_is_told_from_one_that_goes_on(tmp_path):
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)
    about = {"started": 5.0, "finished": None, "planned": 1, "settings": {"model": {"name": "m"}}}
    (folder / "run.json").write_text(json.dumps(about))
    (folder / "lock").write_text(json.dumps({"pid": 2**22 + 1, "host": os.uname().nodename}))
    assert Runs(tmp_path / "runs", TASKS).entry("one")["state"] == "stopped"
    (folder / "lock").write_text(json.dumps({"pid": os.getpid(), "host": os.uname().nodename}))
    assert Runs(tmp_path / "runs", TASKS).entry("one")["state"] == "running"


ABOUT = {"started": 5.0, "finished": 9.0, "planned": 1, "settings": {"model": {"name": "m"}}}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"started": 1}',
        "null",
        "[" * 100_000,
        json.dumps(ABOUT | {"planned": "many"}),
        json.dumps(ABOUT | {"started": 10**400}),
    ],
    ids=["torn", "list", "keys", "null", "deep", "text", "huge"],
)
def test_a_run_that_cannot_be_read_is_listed_with_the_reason(tmp_path, text):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text(text)
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "run.json").write_text(json.dumps(ABOUT | {"started": float("nan"), "planned": 3}))
    good, bad = sorted(Runs(tmp_path, TASKS).list(), key=lambda entry: -len(entry["name"]))
    assert bad["name"] == "bad" and (bad["problem"] or bad["planned"] == 0)
    assert good["started"] is None and good["planned"] == 3
    json.dumps([good, bad], allow_nan=False)


def test_pipes_links_and_folders_that_are_not_ours_hold_up_nothing(tmp_path):
    for name in ("run.json", "summary.json", "planned.json", "lock"):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(ABOUT))
        (folder / "summary.json").write_text("{}")
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    (tmp_path / "runs" / "linked").mkdir()
    (tmp_path / "runs" / "linked" / "run.json").write_text(json.dumps(ABOUT))
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "runs" / "linked" / "summary.json").symlink_to(tmp_path / "secret.json")
    with served(tmp_path / "runs", tmp_path) as viewer:
        told = {run["name"]: run for run in next(viewer.events("/events"))["runs"]}
        assert told.keys() == {"summary.json", "planned.json", "lock", "linked"}  # a pipe makes no run
        assert all(run["problem"] for run in told.values())
        assert viewer.get("/run/lock/report.html").status == 400
        assert next(viewer.events("/events?run=lock"))["problem"] == "lock is not a plain file"


def test_runs_stand_in_the_order_in_which_they_began(tmp_path):
    for name, started in (("late", 100.0), ("early", 1.0), ("between", 50.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(ABOUT | {"started": started}))
    assert [entry["name"] for entry in Runs(tmp_path, TASKS).list()] == ["late", "between", "early"]


def test_a_runs_own_folder_shows_that_run_alone(root):
    runs = Runs(root / "one", TASKS)
    assert runs.names() == ["one"] and runs.find("one/report.html") == ("one", "report.html")
    assert runs.find("deep/two/report.html") is None


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageProblem, match="is not a folder; name a folder of runs"):
        Runs(tmp_path / "none", TASKS)
    for arguments in (("none",), (".", "--port", "70000")):
        told = python("-m", "agentgauge.cli.main", "view", *arguments, cwd=tmp_path)
        assert told.status == 4 and len(told.output.splitlines()) == 1


def appended(folder, worker, records):
    appender = folder.appender(worker)
    for one in records:
        appender.append(one)
    appender.close()


def test_a_resumed_run_counts_what_is_kept_and_what_runs_again(tmp_path):
    folder = RunFolder(tmp_path)
    folder.create()
    folder.write_plan({("toy.say", f"s{number}", 1): "x" for number in range(20)})
    broken = [replace(record(number), status="broken", score=None, error="HTTP 500") for number in range(2, 12)]
    appended(folder, "main", [record(0), record(1, passed=False), *broken])
    live = LiveRun(tmp_path)
    live.read(started=100.0)
    state = live.state(100.0)
    assert state["counts"] == {"passed": 1, "wrong": 1, "broken": 0} and not state["failures"]
    appended(folder, "gw0", [replace(record(number), finished=100.0 + number) for number in range(2, 8)])
    with (tmp_path / "records" / "gw0.jsonl").open("ab") as stream:
        stream.write(b'{"torn')
    live.read(started=100.0)
    state = live.state(107.0)
    assert state["counts"] == {"passed": 7, "wrong": 1, "broken": 0} and state["per_minute"] == pytest.approx(
        6 * 60 / 7
    )  # after 7 seconds
    assert live.state(165.0)["per_minute"] == 2.0  # two of them ended within the last minute
    assert state["left"] == pytest.approx(12.0)  # one a second


def test_what_an_unfinished_case_had_used_counts_once(tmp_path):
    """The record of a later session has it, too."""
    folder = RunFolder(tmp_path)
    folder.create()
    folder.write_plan({("toy.say", f"s{number}", 1): "x" for number in range(2)})

    def unfinished(number, at, requests):
        used = replace(record(0).transcript, usage=Usage(requests, 100 * requests, 0))
        return replace(record(number), status="missing", score=None, transcript=used, finished=at)

    appended(folder, "main", [unfinished(0, 1.0, 1), unfinished(1, 2.0, 1), unfinished(1, 50.0, 2)])
    live = LiveRun(tmp_path)
    live.read(started=100.0)
    state = live.state(100.0)
    assert (state["tokens"], state["counts"]) == (300, {"passed": 0, "wrong": 0, "broken": 0})
    ended = replace(record(0).transcript, usage=Usage(3, 300, 0))
    appended(folder, "gw0", [replace(record(0), transcript=ended, finished=101.0)])
    live.read(started=100.0)
    state = live.state(102.0)
    assert (state["tokens"], state["counts"]) == (500, {"passed": 1, "wrong": 0, "broken": 0})


def test_a_case_that_ran_again_counts_once_with_its_latest_record(tmp_path):
    folder = RunFolder(tmp_path)
    folder.create()
    folder.write_plan({("toy.say", "s0", 1): "x"})
    live = LiveRun(tmp_path)
    appended(folder, "main", [replace(record(0), status="broken", score=None, error="HTTP 500", finished=10.0)])
    live.read(started=0.0)
    tokens = live.state(11.0)["tokens"]
    appended(folder, "gw0", [replace(record(0), finished=12.0)])
    live.read(started=0.0)
    state = live.state(13.0)
    assert (state["counts"], state["tokens"]) == ({"passed": 1, "wrong": 0, "broken": 0}, tokens)
    assert state["per_minute"] == pytest.approx(60 / 13)  # of the seconds since the start


@pytest.mark.parametrize(
    "change",
    [
        {"score": [1]},
        {"task": ["t"]},
        {"transcript": {"seconds": "x", "usage": {}}},
        {"finished": float("nan")},
        {"finished": 10**400},
    ],
    ids=["score", "task", "seconds", "finished", "huge"],
)
def test_a_record_that_is_none_is_passed_over_and_the_others_count(tmp_path, change):
    folder = RunFolder(tmp_path)
    folder.create()
    folder.write_plan({("toy.say", f"s{number}", 1): "x" for number in range(3)})
    appended(folder, "main", [record(0)])
    with (tmp_path / "records" / "main.jsonl").open("a") as stream:
        stream.write(json.dumps(record(1).to_json() | change) + "\n")
    appended(folder, "other", [record(2)])
    live = LiveRun(tmp_path)
    live.read(started=0.0)
    assert live.state(1.0)["counts"]["passed"] == 2


def test_no_link_and_no_dots_lead_out_of_a_folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_text("x")
    (tmp_path / "out").write_text("y")
    (tmp_path / "in" / "link").symlink_to("../out")
    with open_beneath(tmp_path, ["in", "file"]) as stream:
        assert stream.read() == b"x"
    for parts in ([], ["in"], ["in", "link"], ["in", "..", "out"], ["in/file"], ["in", ""], ["in", "file\0"]):
        with pytest.raises(OSError):  # noqa: PT011
            open_beneath(tmp_path, parts)


@pytest.mark.uses("page")
def test_pages_end_with_the_viewer_or_with_the_next_one(root, tmp_path):
    def pages() -> list[Path]:
        return list((tmp_path / "tmp").rglob("report.html"))

    with served(root, tmp_path, killed=True) as viewer:
        assert viewer.get("/run/one/report.html").status == 200
        assert len(pages()) == 1
    assert len(pages()) == 1
    with served(root, tmp_path) as viewer:
        assert pages() == []
        assert viewer.get("/run/one/report.html").status == 200
    assert not list((tmp_path / "tmp").iterdir())
