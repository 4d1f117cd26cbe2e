"""A run as Allure results: what each case carries, what is cut, and what the run adds."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from agentgauge_reports.allure.content import limits, mime_type, steps
from agentgauge_reports.allure.dashboard import make_dashboard
from agentgauge_reports.allure.identity import Identity
from agentgauge_reports.allure.results import write_run
from agentgauge_reports.allure.run_files import history, name_of
from agentgauge_reports.load import load_run
from agentgauge_reports.text import cut

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import clean
from agentgauge.core.types import Event, Record, Score, Transcript, Usage
from tests.reports.runs import TASKS

HOSTILE = "</script><img src=x onerror=alert(1)>\x00\x1b[31m\u202eright to left\ud800"
MATH = {"value": 50.0, "missing": [], "low": 40.0, "high": 60.0}
DATA = {"official": False, "fingerprint": "f", "samples": 4, "left_out": []}


def call(name="search", arguments='{"q": "tea"}', reply=None, at=100.0, messages=()):
    detail = {
        "messages": list(messages),
        "reply": reply,
        "tool_calls": [{"name": name, "arguments": arguments}] if name else [],
    }
    return Event("model", "m", at, 0.5, detail)


def tool(name="search", result="3 found", at=101.0, error=None, kind="text"):
    outputs = [] if error else [{"type": kind, "content": result}]
    return Event("tool", name, at, 0.25, {"arguments": {"q": "tea"}, "result": outputs}, error)


def case(
    sample, status="passed", *, task="wild", events=(), output=None, labels=(), explanation="", attempt=1, **more
) -> Record:
    score = None if status == "broken" else Score(status == "passed", {"task": 1.0}, labels, explanation)
    said = Transcript(output, tuple(events), Usage(2, 30, 4, 0.5), 3.0)
    return Record(
        task, sample, attempt, "c", status, said, score, tags=("single", "first", "session1"), finished=110.0, **more
    )


def make_run(path: Path, records: list[Record], missing=(), model="m", **about) -> Path:
    """A finished run's folder, as far as reports read it."""
    path.mkdir(parents=True)
    tasks = dict.fromkeys([record.task for record in records] + [name for name, *_ in missing])
    counts = {
        name: {
            "planned": sum(record.task == name for record in records) + sum(case[0] == name for case in missing),
            "missing": sum(case[0] == name for case in missing),
            "metrics": {"Task": {"value": 25.0, "low": 10.0, "high": 60.0, "n": 4}} if name == "wild" else {},
            **{
                status: sum(record.task == name and record.status == status for record in records)
                for status in ("passed", "wrong", "broken")
            },
        }
        for name in tasks
    }
    run = {
        "model": model,
        "dialect": "native",
        "scoring": "parity",
        "attempts": 1,
        "agentgauge": "0.1.0",
        "data": dict.fromkeys(tasks, DATA),
        "tools": {"OCR": "basic"},
        "options": {"--wild": "a\\b"},
    }
    (path / "summary.json").write_text(
        json.dumps(
            {
                "run": run,
                "tasks": counts,
                "capabilities": {"Apple MMAU": {"domains": {"math": MATH}}},
                "usage": {"usd": 0.5, "prompt_tokens": 30},
            }
        )
    )
    (path / "run.json").write_text(
        json.dumps({"started": 90.0, "finished": 120.0, "settings": {"options": {}}, **about})
    )
    (path / "leaderboard.md").write_text("# m\n")
    planned = [(record.task, record.sample, record.attempt) for record in records] + list(missing)
    plan = [[*case, f"test_{case[0]}.py::test_task[{case[1]}]"] for case in planned]
    (path / "planned.json").write_text(json.dumps(plan))
    (path / "records.jsonl").write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    return path


def results(folder: Path) -> dict[str, dict]:
    found = [json.loads(path.read_text()) for path in folder.glob("*-result.json")]
    return {f"{labels(result, 'task')[0]}/{result['name']}": result for result in found}


def labels(result: dict, name: str) -> list[str]:
    return [label["value"] for label in result["labels"] if label["name"] == name]


@pytest.fixture
def told(tmp_path) -> dict[str, dict]:
    records = [
        case("a", events=[call(), tool(), call("", reply="three")]),
        case("b", "wrong", labels=("other_arguments",), explanation="q: expected 'coffee'"),
        case("c", "broken", error="model endpoint: http 500", cause="http 500"),
        case("a", "wrong", attempt=2, labels=("a label of nobody",)),
    ]
    write_run(make_run(tmp_path / "runs" / "one", records, missing=[("wild", "d", 1)]), tmp_path / "out", tasks=TASKS)
    found = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*-result.json")]
    return {result["name"]: result for result in found}


def test_every_planned_case_has_a_result_with_its_status(told):
    assert {name: result["status"] for name, result in told.items()} == {
        "a": "passed", "a (attempt 2)": "failed", "b": "failed", "c": "broken", "d": "skipped",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fault", "message"),
    [
        ("b", ["wrong_argument"], "Wrong argument: q: expected 'coffee'"),
        ("a (attempt 2)", ["other"], "Other: nothing more is known"),
        ("c", ["endpoint"], "Model endpoint: model endpoint: http 500"),
        ("d", [], "not attempted"),
    ],
)
def test_a_case_that_did_not_pass_says_why(told, name, fault, message):
    assert labels(told[name], "fault") == fault
    assert told[name]["statusDetails"]["message"] == message


def test_a_result_has_its_places_steps_times_and_a_link_to_the_transcript(told):
    result = told["a"]
    assert result["titlePath"][1] == labels(result, "epic")[0] == "WildToolBench"
    assert result["titlePath"][:1] == labels(result, "environment") == labels(result, "subSuite")
    assert labels(result, "story") == ["session1"]
    assert labels(result, "parentSuite") == ["tool use"]
    assert labels(result, "tag") == ["single", "first"]
    assert [step["name"] for step in result["steps"]] == ["model: search", "tool: search", "model: three"]
    assert (result["start"], result["stop"], result["steps"][1]["start"], result["steps"][1]["stop"]) == (
        100_000,
        103_000,
        101_000,
        101_250,
    )
    assert result["links"][0]["url"] == "../../../runs/one/report.html#case=wild/a/1"
    assert result["fullName"] == "test_wild.py::test_task[a]"
    assert result["descriptionHtml"] == (
        "<p>2 requests, 30 + 4 tokens, 3.0 s, 0.5000 US dollars</p><p><code>test_wild.py::test_task[a]</code></p>"
    )


def test_title_and_description_hold_the_question(tmp_path):
    said = [
        {"role": "user", "content": "an example"},
        {"role": "user", "content": "Which <tea>\nis it?"},
    ]
    write_run(
        make_run(tmp_path / "run", [case("7", events=[call(messages=said), call()])]), tmp_path / "out", tasks=TASKS
    )
    [result] = results(tmp_path / "out").values()
    assert result["name"] == "sample 7: Which <tea> is it?"
    assert "Which &lt;tea&gt;\nis it?</p>" in result["descriptionHtml"]


@pytest.mark.parametrize(
    ("task", "severity"),
    [
        ("wild", "critical"),
        ("gta_atomic.step", "normal"),
        ("gta_atomic.e2e", "critical"),
        ("mmau.math_standard", "critical"),
        ("mmau.ds_retry", "normal"),
    ],
)
def test_a_case_is_as_severe_as_its_task_declares(tmp_path, task, severity):
    write_run(make_run(tmp_path / "run", [case("a", task=task)]), tmp_path / "out", tasks=TASKS)
    [result] = results(tmp_path / "out").values()
    assert labels(result, "severity") == [severity]


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({}, True),
        ({"scoring": "strict"}, True),
        ({"model": "n"}, False),
        ({"dialect": "react"}, False),
        ({"data": {"wild": {**DATA, "fingerprint": "g"}}}, False),
        ({"samples": ("a", "c")}, False),
    ],
)
def test_a_case_is_the_same_to_allure_with_the_same_model_dialect_data_and_selection(tmp_path, changed, is_same):
    def told(name, samples=("a", "b"), **settings):
        run = make_run(tmp_path / name, [case(sample) for sample in samples])
        summary = json.loads((run / "summary.json").read_text())
        summary["run"] |= settings
        (run / "summary.json").write_text(json.dumps(summary))
        write_run(run, tmp_path / f"out-{name}", tasks=TASKS)
        return results(tmp_path / f"out-{name}")["wild/a"]

    first, second = told("first"), told("second", **changed)
    assert first["testCaseId"] == second["testCaseId"] == labels(second, "ALLURE_ID")[0]
    equal = [first[key] == second[key] for key in ("uuid", "historyId", "parameters")]
    assert equal == [is_same] * 3
    assert (labels(first, "environment") == labels(second, "environment")) is is_same


@pytest.mark.parametrize("model", ["m", "org/a model", "../..", "ü" * 100, "x" * 300])
def test_the_name_and_the_id_of_an_environment_are_such_as_allure_takes(tmp_path, model):
    same = Identity.of(load_run(make_run(tmp_path / "run", [case("a")], model=model), tasks=TASKS))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", same.id)
    assert re.fullmatch(r"[^/\\]{1,64}", same.name)


def test_written_again_results_replace_themselves(tmp_path):
    run = make_run(tmp_path / "run", [case("a", events=[call()]), case("b", "wrong")])
    write_run(run, tmp_path / "out", tasks=TASKS)
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    write_run(run, tmp_path / "out", tasks=TASKS)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first


def test_hostile_texts_become_harmless_text(tmp_path):
    record = case(
        HOSTILE, "wrong", events=[call(HOSTILE, HOSTILE, HOSTILE), tool(HOSTILE, HOSTILE)], explanation=HOSTILE
    )
    write_run(make_run(tmp_path / "run", [record], model=HOSTILE), tmp_path / "out", tasks=TASKS)
    for path in (tmp_path / "out").iterdir():
        text = path.read_bytes().decode("utf-8")
        assert not {"\x00", "\x1b", "\u202e"} & set(text), path.name
        assert path.suffix != ".json" or json.loads(text)
    [result] = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*-result.json")]
    assert "<img" not in result["descriptionHtml"]
    assert {one["type"] for one in result["attachments"]} == {"text/plain"}


DELIVERED = {
    "report.pdf": "application/pdf", "plot.png": "image/png", "speech.wav": "audio/wav", "clip.mp4": "video/mp4", "table.csv": "text/csv",  # noqa: E501
    "letter.docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "slides.pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "book.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "page.html": "text/plain", "drawing.svg": "text/plain", "unknown.qqq": "application/octet-stream", "NOTES.MD": "text/markdown",  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), DELIVERED.items())
def test_files_are_attached_with_a_type_that_opens_them_and_runs_nothing(name, kind):
    assert mime_type(name) == kind


def test_pictures_of_a_case_that_did_not_pass_are_attached(tmp_path):
    def drawn(sample, status):
        return case(sample, status, events=[tool(result=f"{{RUN}}/files/{sample}.png", kind="image")])

    run = make_run(
        tmp_path / "run", [drawn("a", "wrong"), drawn("b", "passed"), drawn("..", "wrong"), drawn("x\0", "wrong")]
    )
    (run / "files").mkdir()
    for name in ("files/a.png", "files/b.png"):
        (run / name).write_bytes(b"\x89PNG a picture")
    write_run(run, tmp_path / "out", tasks=TASKS)
    found = results(tmp_path / "out")
    assert [one["name"] for one in found["wild/a"]["attachments"]] == ["transcript", "a.png"]
    source = tmp_path / "out" / found["wild/a"]["attachments"][1]["source"]
    assert source.suffix == ".png"
    assert source.read_bytes() == b"\x89PNG a picture"
    assert [len(found[name]["attachments"]) for name in sorted(found)] == [1, 2, 1, 1]


def test_files_outside_the_run_are_never_attached(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    run = make_run(tmp_path / "run", [case("a", "wrong", events=[tool(result="{RUN}/../secret.png", kind="image")])])
    write_run(run, tmp_path / "out", tasks=TASKS)
    assert not list((tmp_path / "out").glob("*.png"))


def test_a_file_for_which_there_is_no_room_is_named_instead(tmp_path):
    run = make_run(tmp_path / "run", [case("a", "wrong", events=[tool(result="{RUN}/big.png", kind="image")])])
    with (run / "big.png").open("wb") as file:
        file.truncate(30_000_001)
    write_run(run, tmp_path / "out", tasks=TASKS)
    [result] = results(tmp_path / "out").values()
    told = "big.png (30,000,001 bytes) is not attached; it is at big.png in the run&#x27;s folder"
    assert told in result["descriptionHtml"]


def test_long_texts_are_cut_in_the_middle_and_say_so():
    text = cut("a" * 5000 + "b" * 5000, 900)
    assert text.startswith("a" * 600 + "\n[… 9,100 characters left out …]\n")
    assert text.endswith("b" * 300)
    assert cut("ä" * 100, 300) == "ä" * 100


def test_steps_shorten_their_texts_before_any_is_left_out():
    events = [call("", reply="word " * 100, at=float(number)) for number in range(5)]
    assert {len(step["parameters"][0]["value"]) for step in steps(events, 50_000)} == {200}
    assert {len(step["parameters"][0]["value"]) for step in steps(events, 1_400)} == {80}


@pytest.mark.parametrize("cases", [1, 100, 8_000])
def test_limits_of_all_cases_together_stay_within_those_of_the_run(cases):
    each = limits(cases)
    assert cases * (each.transcript + each.steps + each.message) <= 32_000_000


def test_environment_is_one_line_a_fact_and_backslashes_survive(tmp_path):
    write_run(make_run(tmp_path / "run", [case("a")]), tmp_path / "out", tasks=TASKS)
    lines = (tmp_path / "out" / "environment.properties").read_text().splitlines()
    assert lines == [
        "failed=wrong answers: results of the model, no faults of the run",
        "broken=faults of the run: endpoint, tools, sandbox, data",
        *("model=m", "dialect=native"),
        "figure.wild.Task=25.0 % (95 % 10.0 to 60.0, n 4)",
        *("usage.US_dollars=0.5", "usage.prompt_tokens=30", "usage.completion_tokens=0", "usage.requests=0"),
        *("scoring=parity", "attempts=1", "agentgauge=0.1.0"),
        *("data.wild=bundled f", "tool.OCR=basic", "option.wild=a\\\\b"),
    ]


def test_where_runs_of_a_folder_differ_the_environment_has_what_each_has(tmp_path):
    for model in ("m", "n"):
        write_run(make_run(tmp_path / f"run-{model}", [case("a")], model=model), tmp_path / "out", tasks=TASKS)
    lines = (tmp_path / "out" / "environment.properties").read_text().splitlines()
    assert "model=run-m: m | run-n: n" in lines
    assert "dialect=native" in lines
    assert json.loads((tmp_path / "out" / "executor.json").read_text())["buildName"] == "run-m | run-n"


def test_gates_and_figures_are_metrics_that_the_quality_gate_reads(tmp_path):
    gates = [
        {"text": "wild.Task>=40", "problem": "gate wild.Task>=40: Task is 25.00"},
        {"text": "wild.Task>=20", "problem": None},
    ]
    run = make_run(
        tmp_path / "run", [case("a"), case("b", "broken", error="tool server: gone", cause="timeout")], gates=gates
    )
    write_run(run, tmp_path / "out", tasks=TASKS)
    same = Identity.of(load_run(run, tasks=TASKS))
    read = {
        name: json.loads((tmp_path / "out" / name).read_text())
        for name in (f"{same.id}-perf.json", f"{same.id}-globals.json", f"agentgauge-{same.id}.json")
    }
    perf, said, about = read.values()
    assert {metric["key"]: (metric["title"], metric["value"]) for metric in perf} == {
        f"{same.id}/{key}": shown
        for key, shown in {
            "wild.Task": ("Task (95 % 10.0 to 60.0, n 4)", 25.0),
            "Apple MMAU.domains.math": ("math (95 % 40.0 to 60.0)", 50.0),
            "capability.tool use": ("tool use (95 % 56.4 to 100.0, n 1)", 100.0),
            "usage.US dollars": ("US dollars", 0.5),
            "usage.prompt tokens": ("prompt tokens", 30.0),
            "usage.completion tokens": ("completion tokens", 0.0),
            "usage.requests": ("requests", 0.0),
            "gate.wild.Task>=40": ("wild.Task>=40", 0.0),
            "gate.wild.Task>=20": ("wild.Task>=20", 1.0),
            "cases.unfinished": ("broken or missing", 1.0),
        }.items()
    }
    assert about["gates"] == [
        {"id": f"{same.name}: unfinished", "metricMax": {"key": f"{same.id}/cases.unfinished", "value": 0}},
        {"id": f"{same.name}: wild.Task>=40", "metricMin": {"key": f"{same.id}/gate.wild.Task>=40", "value": 1}},
        {"id": f"{same.name}: wild.Task>=20", "metricMin": {"key": f"{same.id}/gate.wild.Task>=20", "value": 1}},
    ]
    assert said["errors"] == [{"message": f"{same.name}: gate wild.Task>=40: Task is 25.00"}]


def test_runs_have_one_history_if_they_have_the_same_model_and_cases(tmp_path):
    def place(folder, *runs):
        for name, model, samples in runs:
            if not (tmp_path / "runs" / name).exists():
                make_run(tmp_path / "runs" / name, [case(sample) for sample in samples], model=model)
            write_run(tmp_path / "runs" / name, tmp_path / folder, tasks=TASKS)
        return history(tmp_path / folder).resolve().relative_to(tmp_path)

    one, two, three, four = ("one", "m", "ab"), ("two", "m", "ab"), ("three", "m", "a"), ("four", "../..", "ab")
    assert place("1", one) == place("2", two)
    places = [place("1", one), place("3", three), place("4", four), place("5", one, three), place("6", one, four)]
    assert len({*places}) == 5
    assert {path.parent.as_posix() for path in places} == {"runs/allure-history"}
    assert name_of(tmp_path / "5") == "m · three | m · one"


def test_without_the_command_one_is_told_how_to_make_the_dashboard(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run = load_run(make_run(tmp_path / "run", [case("a")]), tasks=TASKS)
    assert (
        make_dashboard(run, tmp_path / "out dir")[1]
        .strip()
        .startswith(f"npx allure generate --config '{tmp_path}/out dir/allurerc.mjs'")
    )


def test_a_command_that_fails_is_told_in_a_sentence(tmp_path, monkeypatch):
    script = tmp_path / "bin" / "allure"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n[ $1 = --version ] && echo 3.1.0 && exit 0\necho 'no room' >&2\nexit 7\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    run = make_run(tmp_path / "run", [case("a")])
    write_run(run, tmp_path / "out", tasks=TASKS)
    with pytest.raises(UsageProblem, match=r"allure generate failed in .*out: no room"):
        make_dashboard(load_run(run, tasks=TASKS), tmp_path / "out")


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageProblem, match="cannot be written"):
        write_run(make_run(tmp_path / "run", [case("a")]), tmp_path / "file" / "out", tasks=TASKS)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[1mb", "a␛[1mb"), ("a\u202eb\u2066c", "abc"), ("\ud800", "\ufffd"), ("שלום\tä\n", "שלום\tä\n")],
)
def test_clean_texts_steer_nothing_and_keep_every_script(text, shown):
    assert clean(text) == shown
