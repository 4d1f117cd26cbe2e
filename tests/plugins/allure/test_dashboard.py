"""A real dashboard by ``allure``, looked at in a browser. Skipped where one of the two is not installed."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from agentgauge_reports.allure.dashboard import find_command
from agentgauge_reports.allure.identity import allure_id
from agentgauge_reports.allure.results import write_results, write_run

from tests.plugins.allure.test_allure import HOSTILE, call, case, make_run, tool
from tests.reports.runs import TASKS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001049444154789c63f8cfc000440c"
    "100a001fee03fd8b5f14d40000000049454e44ae426082"
)
"""Two by two red points."""


@pytest.fixture(scope="module")
def command() -> str:
    found = find_command()
    if found is None:
        pytest.skip("there is no allure command here; install it with: npm install allure")
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory, command) -> Path:
    """Two runs of a model, and the dashboards of both. In the second one more case passes."""
    runs = tmp_path_factory.mktemp("runs")
    for name, status in (("first", "wrong"), ("second", "passed")):
        records = [
            case("a", events=[call(), tool(), call("", reply="three")]),
            case("b", status, labels=("other_arguments",), explanation="q: expected 'coffee'"),
            case(
                HOSTILE,
                "wrong",
                labels=("unknown_tool",),
                explanation=HOSTILE,
                events=[call(HOSTILE, HOSTILE, HOSTILE)],
            ),
            case("drawn", "wrong", events=[tool(result="{RUN}/files/plot.png", kind="image")], labels=("wrong_tool",)),
            case("c", "broken", error="tool server: gone", cause="http 500"),
        ]
        gates = [{"text": "wild.Single-Tool>=40", "problem": "gate wild.Single-Tool>=40: Single-Tool is 25.00"}]
        run = make_run(runs / name, records, missing=[("wild", "d", 1)], gates=gates)
        (run / "files").mkdir()
        (run / "files" / "plot.png").write_bytes(PICTURE)
        (run / "report.html").write_text(f"<title>{name}</title>")
        said = write_results(run, run / "allure", tasks=TASKS)
        assert "dashboard/index.html" in said
    return runs


@pytest.fixture(scope="module")
def site(runs):
    handler = functools.partial(_Quiet, directory=str(runs))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


class Looker:
    """A page of the browser that keeps what went wrong in it."""

    def __init__(self, page, site: str) -> None:
        self.page, self.site = page, site
        self.wrong: list[str] = []
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((site, "data:", "blob:")) else self.wrong.append(request.url)
            ),
        )
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))

    def open(self, path: str, wait_for: str) -> None:
        self.page.goto(f"{self.site}/{path}")
        self.page.get_by_text(wait_for).first.wait_for(timeout=20_000)


@pytest.fixture
def looker(site):
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; install it with: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here; install the package chromium of your system")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        looker = Looker(browser.new_page(viewport={"width": 1400, "height": 1600}), site)
        yield looker
        browser.close()
    assert looker.wrong == []


def read(runs: Path, path: str):
    return json.loads((runs / "second" / "allure" / "dashboard" / path).read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def version3(command, request):
    if (
        "runs" in request.fixturenames
        and not (request.getfixturevalue("runs") / "second" / "allure" / "dashboard" / "awesome").is_dir()
    ):
        pytest.skip("these look at the pages of version 3")


def test_counts_equal_those_of_the_summary(runs):
    counts = json.loads((runs / "second" / "summary.json").read_text())["tasks"]["wild"]
    shown = read(runs, "awesome/widgets/statistic.json")
    assert {key: shown[key] for key in ("total", "passed", "failed", "broken", "skipped")} == {
        "total": counts["planned"], "passed": counts["passed"], "failed": counts["wrong"],
        "broken": counts["broken"], "skipped": counts["missing"],
    }  # fmt: skip


def test_the_counts_are_seen_in_the_browser_by_benchmark_and_by_capability(looker):
    for tree, first in (("awesome", "WildToolBench"), ("capabilities", "tool use")):
        looker.open(f"second/allure/dashboard/{tree}/", first)
        text = looker.page.inner_text("body")
        seen = {word: int(count) for word, count in re.findall(r"(Total|Passed|Failed|Broken|Skipped)\s+(\d+)", text)}
        assert seen == {"Total": 6, "Passed": 2, "Failed": 2, "Broken": 1, "Skipped": 1}


@pytest.mark.parametrize("page", ["", "awesome/", "capabilities/"])
def test_every_page_says_that_wrong_answers_are_results_and_broken_cases_faults(looker, page):
    looker.open(f"second/allure/dashboard/{page}", "m · second")
    assert looker.page.get_by_role("note").inner_text() == (
        "2 of 6 cases passed. 2 have a wrong answer: Allure calls these failed, but they are results of the model"
        " and no faults of the run. 1 broken case is a fault of the run. 1 missing case was not attempted: the run"
        " ended early."
    )
    if not page:
        assert looker.page.get_by_text("By benchmark · m · second · 2 wrong answers, 1 fault, 1 missing").count() == 1


def test_categories_are_the_kinds_of_failures(runs):
    nodes = read(runs, "awesome/widgets/categories.json")["nodes"].values()
    counts = {node["name"]: node["statistic"]["total"] for node in nodes if node["type"] == "category"}
    assert counts == {"Wrong tool": 2, "Tool or tool server": 1}


def test_the_trend_has_both_runs_once_and_the_figures_of_each(runs):
    write_results(runs / "second", runs / "second" / "allure", tasks=TASKS)
    [file] = (runs / "allure-history").glob("m-*.jsonl")
    history = [json.loads(text) for text in file.read_text().splitlines()]
    assert [point["name"] for point in history] == ["m · first", "m · second"]
    assert [point["metrics"][f"{file.stem}/capability.tool use"] for point in history] == [25.0, 50.0]


def test_a_case_that_turned_is_marked(runs):
    turned = {one["name"]: one.get("transition") for one in _cases(runs)}
    assert turned["b"] == "fixed"


def test_a_case_links_to_our_transcript_and_shows_its_picture(runs, looker):
    [drawn] = [one for one in _cases(runs) if one["name"] == "drawn"]
    looker.open(f"second/allure/dashboard/awesome/#{drawn['id']}", "drawn")
    with looker.page.context.expect_page() as opened:
        looker.page.get_by_test_id("test-result-meta-link").click()
    opened.value.wait_for_load_state()
    assert opened.value.url == f"{looker.site}/second/report.html#case=wild/drawn/1"
    assert opened.value.title() == "second"
    looker.page.goto(f"{looker.site}/second/allure/dashboard/awesome/#{drawn['id']}/attachments")
    looker.page.get_by_text("plot.png").first.click()
    picture = looker.page.locator("img[src*='data/attachments'], img[src^='blob:']").first
    picture.wait_for(timeout=20_000)
    looker.page.wait_for_function("[...document.images].some(image => image.naturalWidth === 2)")


def test_hostile_texts_do_nothing(runs, looker):
    [hostile] = [one for one in _cases(runs) if "script" in one["name"]]
    looker.open(f"second/allure/dashboard/awesome/#{hostile['id']}", "onerror")
    assert looker.page.locator("img[src='x']").count() == 0


def test_no_page_names_another_host_as_a_source(runs):
    for page in (runs / "second" / "allure" / "dashboard").rglob("index.html"):
        assert not re.search(
            r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", page.read_text(encoding="utf-8")
        ), page


def _cases(runs: Path) -> list[dict]:
    folder = runs / "second" / "allure" / "dashboard" / "awesome" / "data" / "test-results"
    return [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]


# -- two models and two selections in one dashboard, by Allure's own commands


@pytest.fixture(scope="module")
def together(tmp_path_factory, command) -> Path:
    """The folder of the runs. Each has left its results in ``all``."""
    runs = tmp_path_factory.mktemp("together")
    for name, model, samples, right in (
        ("one", "org/m", "abcd", "a"),
        ("two", "n", "abcd", "abc"),
        ("few", "n", "ab", ""),
    ):
        cases = [case(each, "passed" if each in right else "wrong", labels=("wrong_tool",)) for each in samples]
        problem = None if right else "gate wild.Task>=40: Task is 0.00"
        run = make_run(runs / name, cases, model=model, gates=[{"text": "wild.Task>=40", "problem": problem}])
        write_run(run, runs / "all", tasks=TASKS)
    allure(command, "generate", "--config", runs / "all" / "allurerc.mjs", cwd=runs)
    return runs


def allure(command: str, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    quiet = {**os.environ, "ALLURE_NO_ANALYTICS": "1", "NO_COLOR": "1"}
    return subprocess.run([command, *map(str, words)], cwd=cwd, env=quiet, capture_output=True, text=True, check=False)


def widget(together: Path, name: str):
    return json.loads((together / "all" / "dashboard" / "awesome" / "widgets" / f"{name}.json").read_text())


@pytest.fixture
def summaries(together) -> dict[str, dict]:
    """Run → counts of its only task."""
    return {path.parent.name: json.loads(path.read_text())["tasks"]["wild"] for path in together.glob("*/summary.json")}


def test_each_model_and_selection_is_an_environment_with_the_counts_of_its_summary(together, summaries):
    names = {one["id"]: one["name"] for one in widget(together, "environments") if one["id"] != "default"}
    expected = {"one": "org:m · native · 4 of 4", "two": "n · native · 4 of 4", "few": "n · native · 2 of 4"}
    for run, start in expected.items():
        [found] = [id for id, name in names.items() if name.startswith(start)]
        shown = widget(together, f"{found}/statistic")
        assert [shown.get(key, 0) for key in ("total", "passed", "failed", "broken", "skipped")] == [
            summaries[run][key] for key in ("planned", "passed", "wrong", "broken", "missing")
        ]


def test_no_case_counts_as_the_retry_of_another(together, summaries):
    shown = widget(together, "statistic")
    assert shown["total"] == sum(counts["planned"] for counts in summaries.values()) == 10
    assert not shown.get("retries")
    folder = together / "all" / "dashboard" / "awesome" / "data" / "test-env-groups"
    groups = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    assert {group["name"]: len(group["testResultsByEnv"]) for group in groups} == {"a": 3, "b": 3, "c": 2, "d": 2}


def test_a_failed_gate_is_a_global_error(together):
    [error] = widget(together, "globals")["errors"]
    assert re.fullmatch(r"n · native · 2 of 4 \(.*\): gate wild.Task>=40: Task is 0.00", error["message"])


def test_the_quality_gate_fails_with_the_gate(together, command):
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(node.strip("v\n").split(".")[0]) < 22:
        pytest.skip("Allure's quality gate needs Node 22")
    done = allure(command, "quality-gate", "--config", "all/allurerc.mjs", cwd=together)
    assert done.returncode == 1
    assert "1 quality gate rules have been failed" in done.stderr
    assert "wild.Task>=40" in done.stderr


def test_a_test_plan_of_allure_names_the_ids_of_the_wrong_cases(together, command, tmp_path):
    allure(command, "testplan", together / "all", cwd=tmp_path)
    [plan] = tmp_path.rglob("testplan.json")
    ids = {one["id"] for one in json.loads(plan.read_text())["tests"]}
    assert ids == {allure_id(("wild", sample, 1)) for sample in "abcd"}


def test_the_categories_are_ours_also_with_allures_own_command(together):
    nodes = widget(together, "categories")["nodes"].values()
    assert [node["name"] for node in nodes if node["type"] == "category"] == ["Wrong tool"]
