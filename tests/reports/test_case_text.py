"""``agentgauge show``: cases as text."""

from __future__ import annotations

import pytest
from agentgauge_reports.case_text import transcript

from agentgauge.cli.main import main
from agentgauge.core.types import Event
from tests.reports.runs import made

SEARCH = {"name": "search", "arguments": '{"q": "tea"}'}
OFFERED = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": [{"type": "text", "text": "tea?"}, {"type": "image_url"}]},
]
AGAIN = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": SEARCH}]},
    {"role": "tool", "content": "3 found"},
]


def call(reply=None, calls=(SEARCH,), messages=(), **detail) -> Event:
    return Event("model", "m", 100.0, 0.5, {"messages": messages, "reply": reply, "tool_calls": calls, **detail})


SEARCHED = Event("tool", "search", 101.0, 0.25, {"arguments": {"q": "tea"}, "result": [{"content": "3 found"}]})

ASKED = [("system", "rules"), ("user", "tea?\n[image_url]"), ("m (0.50 s)", '→ search({"q": "tea"})')]
RESULT = ("tool search (0.25 s)", '{"q": "tea"}\n→ 3 found')
ENDED = ("m (0.50 s)", "three")


@pytest.mark.parametrize(
    ("events", "parts"),
    [
        pytest.param(
            [call(messages=OFFERED), SEARCHED, call("three", (), AGAIN)], [*ASKED, RESULT, ENDED], id="all is said once"
        ),
        pytest.param(
            [call("no", (), OFFERED), call("three", (), AGAIN)],
            [
                *ASKED[:2],
                ("m (0.50 s)", "no"),
                ("assistant (given)", '→ search({"q": "tea"})'),
                ("tool (given)", "3 found"),
                ENDED,
            ],
            id="the benchmark gives the right call in place of the model's",
        ),
        pytest.param(
            [call("thr", (), finish_reason="length", max_tokens=4)],
            [("m (0.50 s), cut at max_tokens 4", "thr")],
            id="a reply that was cut",
        ),
        pytest.param(
            [Event("tool", "search", 1.0, 0.0, {"arguments": {}}, "no such index")],
            [("tool search (0.00 s)", "{}"), ("error", "no such index")],
            id="a tool that fails",
        ),
        pytest.param([call("", ())], [("m (0.50 s)", "(empty)")], id="nothing came"),
    ],
)
def test_a_transcript(events, parts):
    assert transcript(events) == "\n\n".join(f"── {head}\n{body}" for head, body in parts)


@pytest.fixture
def run(tmp_path):
    return made(tmp_path / "run", {"a": "p", "b": "wp", "c": "b", "d": "-"}, events=[call("so", ())])


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ((), ["wrong   t/b/1", "broken  t/c/1  model m: HTTP 500"]),
        (("t/a",), ["passed  t/a/1"]),
        (("t/b",), ["wrong  t/b/1", "passed  t/b/2"]),
        (("t/b/2",), ["passed  t/b/2"]),
        (("test_t.py::test[c]",), ["broken  t/c/1"]),
        (("t/[ab]", "t/c"), ["passed  t/a/1", "wrong  t/b/1", "passed  t/b/2", "broken  t/c/1"]),
    ],
)
def test_cases_by_name_pattern_and_node_id(run, names, shown, capsys):
    assert main(["show", str(run), *names]) == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if line.startswith(("passed", "wrong", "broken"))]
    assert [line.split() for line in heads] == [line.split() for line in shown]
    assert out.count("── m (0.50 s)\nso") == (len(shown) if names else 0)


def test_a_case_says_what_it_cost_and_why(run, capsys):
    main(["show", str(run), "t/c"])
    assert capsys.readouterr().out.startswith(
        "broken  t/c/1\n1 request · 10 + 2 tokens · 1.5 s\n\nmodel m: HTTP 500\n\n── m"
    )


@pytest.mark.parametrize("name", ["t/e", "d", "t/d"])
def test_a_case_that_is_not_there(run, name, capsys):
    assert main(["show", str(run), name]) == 4
    assert f"has no attempted case {name!r}" in capsys.readouterr().err


def test_a_run_that_was_never_finished_is_named_with_what_to_do(run, capsys):
    (run / "records.jsonl").unlink()
    assert main(["show", str(run)]) == 4
    assert f"the run was never finished: continue with --resume={run}" in capsys.readouterr().err
