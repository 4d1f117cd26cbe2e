"""Every benchmark's explanations name the true reason, whatever the reply is and whatever the dialect.

Each kind of reply answers every request of one sample of each task; the explanation and the labels must say what is
wrong with it, and must not say what is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from agentgauge_reports.results import read_run

from agentgauge.core.task_registry import known_tasks
from bench_wild.data import resolve
from tests.plugin.project import GTA, PYTEST, ROOT, python, records

TASKS = {
    "gta_atomic.step": "bench_gta/test_step.py::test_step_by_step",
    "gta_atomic.e2e": "bench_gta/test_e2e.py::test_end_to_end",
    "gta_workflow": "bench_gta/test_workflow.py::test_workflow",
    "wild": "bench_wild/test_wild.py::test_task",
}
"""Task → its test."""
BROKEN_CALL = {  # in each dialect, without the end of the arguments
    "native": {"tool_calls": [{"name": "NAME", "arguments": '{"image": "im'}]},
    "react": {"text": 'Thought: I look.\nAction: NAME\nAction Input: {"image": "im'},
    "qwen": {"text": '<tool_call>\n{"name": "NAME", "arguments": {"image": "im'},
}
UNKNOWN_CALL = {
    "native": {"tool_calls": [{"name": "Nosuch", "arguments": "{}"}]},
    "react": {"text": "Thought: I look.\nAction: Nosuch\nAction Input: {}"},
    "qwen": {"text": '<tool_call>\n{"name": "Nosuch", "arguments": {}}\n</tool_call>'},
}
CUT = {"finish_reason": "length"}


def replies(dialect: str, name: str) -> dict[str, Any]:
    """Kind of reply → the reply. ``name``: of a tool on offer."""
    call = json.loads(json.dumps(BROKEN_CALL[dialect]).replace("NAME", name))
    return {
        "cut text": {"text": "I think that", **CUT},
        "cut call": {**call, **CUT},
        "cut empty": {"text": "", **CUT},
        "empty": "",
        "unreadable": call,
        "no call": "I do not know.",
        "unknown tool": UNKNOWN_CALL[dialect],
        "refusal": {"refusal": "I cannot help with this."},
        "filtered": {"text": "", "finish_reason": "content_filter"},
    }


KINDS = tuple(replies("native", "x"))


def tool_of(task: str, sample: Any) -> str:
    """A tool that the sample offers."""
    if task == "wild":
        return str(resolve(sample)[0].tools[0]["function"]["name"])
    return "OCR"


@pytest.fixture(scope="module", params=list(BROKEN_CALL))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    dialect, folder = request.param, tmp_path_factory.mktemp("reasons")
    script: dict[str, list[Any]] = {}
    nodes = []
    for name, test in TASKS.items():
        task = known_tasks()[name]
        index = task.data.index(task.data.bundled)
        rows = [row for row in index.rows if name != "wild" or row.id.endswith("-t1")]
        for row, kind in zip(rows, KINDS, strict=False):
            tool = tool_of(name, task.data.load(index, row, name))
            script[f"{name}/{escape(row.id)}"] = [replies(dialect, tool)[kind]]
            nodes.append(f"{ROOT / test}[{row.id}]")
    (folder / "script.json").write_text(json.dumps({"replies": script}))
    words = (f"--dialect={dialect}", "--model=scripted:script.json", "--data=mini", "--run-dir=run")
    done = python(*PYTEST, *GTA[:-1], *nodes, *words, cwd=folder)
    assert done.status == 0, done.output
    return dialect, folder / "run"


def told(folder: Path, kind: str) -> Mapping[str, tuple[list[str], str]]:
    """Task → labels and explanation of its wrong case with replies of this kind."""
    script = json.loads((folder.parent / "script.json").read_text())["replies"]
    place = KINDS.index(kind)
    samples = {name: [key for key in script if key.startswith(f"{name}/")][place] for name in TASKS}
    return {
        one["task"]: (one["score"]["labels"], one["score"]["explanation"])
        for one in records(folder)
        if samples[one["task"]] == f"{one['task']}/{escape(one['sample'])}" and one["status"] == "wrong"
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("cut")])
def test_a_reply_that_was_cut_is_the_first_reason(run: tuple[str, Path], kind: str) -> None:
    found = told(run[1], kind)
    assert {"gta_atomic.step", "gta_atomic.e2e", "gta_workflow"} <= found.keys()
    for task, (labels, text) in found.items():
        first = text.splitlines()[0]
        assert labels[0] == "reply_cut" and " cut at " in first, (task, labels, text)
        assert (", before any text or call" in first) == (kind == "cut empty"), (task, text)
    limit = "max_tokens 4096" if "gta_workflow" in found else ""
    assert limit in found["gta_workflow"][1]
    assert "the endpoint's limit" in found["gta_atomic.e2e"][1]


def test_an_empty_reply_is_called_empty(run: tuple[str, Path]) -> None:
    for task, (labels, text) in told(run[1], "empty").items():
        assert "without any text or call" in text or "neither content nor calls" in text, (task, labels, text)
        assert "wrong tool" not in text and "reply_cut" not in labels


def test_a_call_that_cannot_be_read_is_not_a_wrong_tool_or_a_refused_argument(run: tuple[str, Path]) -> None:
    for task, (labels, text) in told(run[1], "unreadable").items():
        if task == "gta_workflow":
            assert "unreadable_calls" in labels and "replies held no call that could be read" in text
            continue
        readable = {"unreadable_call", "invalid_json", "needless_call", "no_question", "wrong_tool"}
        assert readable & {*labels}, (task, labels, text)
        assert "argument_error" not in labels and "refused its arguments" not in text
        if run[0] == "qwen":
            assert labels[0] == "unreadable_call", (task, labels, text)
            assert "although it looks like one" in text


def test_a_tool_that_is_not_on_offer_is_called_so(run: tuple[str, Path]) -> None:
    for task, (labels, text) in told(run[1], "unknown tool").items():
        assert {"invalid_action", "unknown_tool"} & {*labels}, (task, labels, text)
        assert "not on offer" in text or "not offered" in text, (task, text)
        assert "could be read" not in text and "can be read" not in text, (task, text)


def test_a_text_without_a_call_is_no_tool_call(run: tuple[str, Path]) -> None:
    for task, (labels, text) in told(run[1], "no call").items():
        assert "tool call" not in text.replace("neither a call", "") or "NoAction" in text, (task, text)
        assert not {"reply_cut", "refused", "unreadable_call", "invalid_json"} & {*labels}


@pytest.mark.parametrize(("kind", "words"), [("refusal", "refusal"), ("filtered", "ended by a content filter")])
def test_a_refusal_is_called_one(run: tuple[str, Path], kind: str, words: str) -> None:
    found = told(run[1], kind)
    assert len(found) >= 3
    for task, (labels, text) in found.items():
        assert labels[0] == "refused" and words in text.splitlines()[0], (task, labels, text)


def test_replies_without_a_call_are_not_counted_as_tool_calls(run: tuple[str, Path]) -> None:
    text = told(run[1], "empty")["gta_atomic.e2e"][1]
    assert "after 10 replies without a usable call" in text and "NoAction" not in text


def test_frames_and_exported_formats_hold_how_replies_ended(run: tuple[str, Path], tmp_path: Path) -> None:
    found = read_run(run[1])
    cut = [one for one in found.samples if one.cut_replies]
    assert {one.kind for one in cut if one.status == "wrong"} == {"reply_cut"}
    for form, place in (("eval", "run.eval"), ("atif", "atif"), ("every-eval-ever", "shared")):
        words = ("report", str(run[1]), "--format", form, "--output", place)
        done = python("-m", "agentgauge.cli.main", *words, cwd=tmp_path)
        assert done.status == 0, done.output
    with ZipFile(tmp_path / "run.eval") as archive:
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
    reasons = {choice["stop_reason"] for one in samples for choice in one["output"]["choices"]}
    assert {"max_tokens", "content_filter", "stop"} <= reasons
    steps = [step for file in (tmp_path / "atif").rglob("*.json") for step in json.loads(file.read_text())["steps"]]
    assert {"finish_reason": "length"} in [step.get("extra") for step in steps]
    lines = [line for file in (tmp_path / "shared").rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert any("length" in json.loads(line)["metadata"]["finish_reasons"] for line in lines)
