"""``--cache``: runs that share replies of models and results of tools, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.comparison import compare
from agentgauge_reports.results import read_run

from agentgauge.core.registry import Registry
from tests.model.fault_server import FaultServer, answer, status
from tests.plugin.conftest import say
from tests.plugin.project import Project, Result, records, run_gta, summary, without_times
from tests.plugin.toy import TOY
from tests.reports.runs import chunks, page_data

pytestmark = pytest.mark.slow

SETTINGS = """
[models.m]
url = "{url}"
prices = {{ prompt = 1000.0, completion = 2000.0 }}
"""
COST = 6 * (10 * 1000.0 + 5 * 2000.0) / 1e6  # of six cases: $0.12
CACHED = {"cached_requests": 6, "saved_tokens": 90, "saved_usd": pytest.approx(COST)}


def run(project: Project, url: str, name: str, *arguments: str, model: str = "m", end: int = 0) -> Result:
    (project.path / "agentgauge.toml").write_text(SETTINGS.format(url=url))
    result = project.run("--model", model, "--run-dir", name, "--cache=kept", *arguments)
    assert result.status == end, result.output
    return result


def told(result: Result) -> str:
    return " ".join(result.output.split())


def usage(project: Project, name: str) -> dict[str, Any]:
    return summary(project.path / name)["usage"]


def without_cost(found: Any) -> Any:
    """A summary without what a cache changes."""
    if isinstance(found, dict):
        gone = {*CACHED, "usd", "times"}
        return {key: without_cost(value) for key, value in without_times(found).items() if key not in gone}
    return [without_cost(value) for value in found] if isinstance(found, list) else found


@pytest.mark.uses("budget")  # which says what prices are
def test_the_second_run_sends_nothing_and_says_so(project, endpoint):
    first = run(project, endpoint.url, "one")
    again = run(project, endpoint.url, "two", "-n", "2", "-v")
    assert len(endpoint.requests) == 6
    assert "answered by --cache" not in told(first) and not set(CACHED) & set(usage(project, "one"))
    assert without_cost(summary(project.path / "one")) == without_cost(summary(project.path / "two"))
    paid, free = usage(project, "one"), usage(project, "two")
    assert (paid["usd"], free["usd"]) == (pytest.approx(COST), 0.0)
    assert {key: free[key] for key in CACHED} == CACHED
    assert free["times"]["cached"]["seconds"] > 0 and "cached" not in paid["times"]
    assert "an estimate" in told(first) and "what it answers costs nothing" in told(first)
    assert (
        "cost: $0.0000, $0.0240 per passed case; 6 of 6 requests were answered by --cache, which first cost $0.1200"
        " (the cost per passed case counts it)"
    ) in told(again)
    assert "what came from --cache first took" in told(again)


@pytest.mark.uses("page")
def test_events_page_and_rows_show_the_first_seconds(project, endpoint):
    run(project, endpoint.url, "one")
    run(project, endpoint.url, "two")
    took = {one["sample"]: one["transcript"]["events"][0]["seconds"] for one in records(project.path / "one")}
    for one in records(project.path / "two"):
        (event,) = one["transcript"]["events"]
        assert event["detail"]["cached"] == pytest.approx(took[one["sample"]], abs=0.05)
        assert event["seconds"] <= one["transcript"]["seconds"]
    page = project.path / "two" / "report.html"
    times = page_data(page, "times")
    assert times["cached"] == 6 and times["latency"]["case"] == {}
    assert times["latency"]["model"]["m"][-1] == pytest.approx(max(took.values()), abs=0.05)
    assert all(isinstance(case["seconds"][0], list) for chunk in chunks(page) for case in chunk)
    tasks = Registry([TOY])
    found = read_run(project.path / "two", tasks)
    assert [sample.cached_requests for sample in found.samples] == [1] * 6
    assert all(call.cached is not None for call in found.calls)
    (compared,) = compare([project.path / "one", project.path / "two"], project.path, tasks=tasks)["comparisons"]
    assert any(text.startswith("two: 6 of 6 requests were answered by --cache") for text in compared["warnings"])


def test_another_model_seed_or_address_is_asked(project, endpoint):
    run(project, endpoint.url, "one")
    run(project, endpoint.url, "k2", "--attempts=2")
    assert len(endpoint.requests) == 12  # only the second attempts
    run(project, endpoint.url, "again", "--attempts=2")
    assert len(endpoint.requests) == 12
    run(project, endpoint.url, "warm", "--temperature=0.5")
    assert len(endpoint.requests) == 18
    project.run("--model=n", f"--model-url={endpoint.url}", "--cache=kept", "--run-dir=other")
    assert len(endpoint.requests) == 24
    with FaultServer(choose=say) as server:
        run(project, server.url, "moved")
        assert len(server.requests) == 6


def test_only_what_is_lacking_is_sent_and_faults_are_not_kept(project, endpoint):
    run(project, endpoint.url, "part", "--limit=2")
    endpoint.choose = lambda seen: status(400)
    broken = run(project, endpoint.url, "run", end=1)
    assert "4 broken" in broken.output
    endpoint.choose = say
    endpoint.requests.clear()
    resumed = project.run("--resume=run", "--cache=kept")
    assert resumed.status == 0 and len(endpoint.requests) == 4, resumed.output
    assert usage(project, "run")["cached_requests"] == 2


@pytest.mark.uses("recording")
def test_a_recording_of_cached_replies_is_whole(project, endpoint):
    run(project, endpoint.url, "one")
    run(project, endpoint.url, "two", "--record=tape.jsonl")
    assert len(endpoint.requests) == 6
    result = project.run("--replay=tape.jsonl", "--run-dir=three")
    assert result.status == 0, result.output
    assert (
        without_cost(summary(project.path / "one"))["tasks"] == without_cost(summary(project.path / "three"))["tasks"]
    )


@pytest.mark.uses("budget")
def test_a_budget_counts_what_the_run_pays(project, endpoint):
    run(project, endpoint.url, "one")
    run(project, endpoint.url, "two", "--budget=20tok")
    assert usage(project, "two")["requests"] == 6


def test_runs_at_the_same_time_share_a_cache(project, endpoint):
    (project.path / "agentgauge.toml").write_text(SETTINGS.format(url=endpoint.url))
    for name in ("one", "two"):
        result = project.run("--model=m", "--model=baseline", f"--run-dir={name}", "--cache=kept", "-n", "2")
        assert result.status == 0, result.output
    assert len(endpoint.requests) == 6
    assert summary(project.path / "two" / "m")["usage"]["cached_requests"] == 6


def test_no_secret_enters_the_folder(project, endpoint):
    key = "sk-" + "a1" * 12
    (project.path / "agentgauge.toml").write_text(SETTINGS.format(url=endpoint.url) + 'key_env = "MY_KEY"\n')
    endpoint.choose = lambda seen: say(seen) if "word1" not in json.dumps(seen.body) else answer(f"the key is {key}")
    result = project.run("--model=m", "--run-dir=run", "--cache=kept", env={"MY_KEY": key})
    assert result.status == 0 and len(endpoint.requests) == 6, result.output
    kept = "".join(file.read_text() for file in (project.path / "kept").iterdir())
    assert key not in kept and "[key]" in kept


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(
            ("--replay=tape.jsonl",),
            "--cache and --replay cannot be used together: a replayed run has all its replies",
            marks=pytest.mark.uses("recording"),
        ),
        (("--rescore=one",), "--cache and --rescore cannot be used together: a rescored run asks no model"),
        pytest.param(
            ("--gate=no significant regression against one",),
            "--cache and --gate 'no significant regression against one' cannot be used together: replies from the cache"
            " may be those of the other run",
            marks=pytest.mark.uses("gates"),
        ),
        (("--cache=file",), "--cache {here}/file cannot be used (File exists); give a folder that can be written"),
    ],
)
def test_what_a_cache_cannot_be_used_with_is_refused(project, endpoint, arguments, says):
    run(project, endpoint.url, "one")
    (project.path / "file").write_text("")
    sent = len(endpoint.requests)
    model = () if "--rescore=one" in arguments or "--replay=tape.jsonl" in arguments else ("--model=m",)
    result = project.run(*model, "--cache=kept", *arguments, "--run-dir=two")
    assert result.status == 4 and says.format(here=project.path) in told(result), result.output
    assert len(endpoint.requests) == sent and not (project.path / "two").exists()


@pytest.mark.uses("gates")
def test_a_run_with_replies_of_an_earlier_one_passes_no_gate_against_it(project, endpoint):
    run(project, endpoint.url, "one")
    run(project, endpoint.url, "two")
    for start in ("--resume=two", "--rescore=two"):
        result = project.run(start, "--gate=no significant regression against one")
        assert result.status == 1 and "replies from --cache are those of an earlier run" in told(result), result.output


@pytest.mark.uses("recording")
def test_a_recording_is_the_same_with_a_cache(project, endpoint):
    run(project, endpoint.url, "one", "--record=cold.jsonl")
    run(project, endpoint.url, "two", "--record=warm.jsonl")
    assert project.run("--replay=warm.jsonl", "--run-dir=three").status == 0
    assert without_times(usage(project, "three")) == without_times(usage(project, "one"))


def test_a_second_run_calls_no_deterministic_tool(tmp_path: Path) -> None:
    plan = ("-m", "gta_atomic_e2e", "-k", "19 or 29", "--model", "oracle", "--cache", str(tmp_path / "kept"))
    for name in ("cold", "warm"):
        run_gta(*plan, "--run-dir", name, cwd=tmp_path)
    events = {
        name: [event for one in records(tmp_path / name) for event in one["transcript"]["events"]]
        for name in ("cold", "warm")
    }
    calls = {name: [event for event in found if event["kind"] == "tool"] for name, found in events.items()}
    assert not any("cached" in event["detail"] for event in calls["cold"])
    pure = {event["name"] for event in calls["warm"] if "cached" in event["detail"]}
    assert "OCR" in pure and "Calculator" in {event["name"] for event in calls["warm"]} - pure
    assert [event["detail"]["result"] for event in calls["warm"]] == [
        event["detail"]["result"] for event in calls["cold"]
    ]
    assert not (tmp_path / "kept" / "replies.jsonl").exists()  # embedded models are not kept
