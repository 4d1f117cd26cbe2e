"""The line that stands for a question, and what was expected beside what came, in the list of cases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agentgauge_reports.page import questions as module
from agentgauge_reports.page.answers import expected_and_got
from agentgauge_reports.page.opening import opening
from agentgauge_reports.page.questions import Questions
from agentgauge_reports.page.transcript import PageFiles, transcript

from agentgauge.core.text import compared
from agentgauge.core.types import Event, Record, Score, Transcript
from tests.plugin.toy import TOY
from tests.reports.runs import TASKS, page_data, record, write_run

PROMPT = "Solve this.\n\n# Sum\n"
PLAN = "Choose a plan.\n# Functions\n- {0}()\n# Request\nDo {0}.\n# Answer\nOnly the number."
CELL = '{{"source": ["{0}"]}}\n["Which of {0}?"]'


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ([("a", "How far?\nIn km."), ("b", "How high?")], ["How far?", "How high?"]),
        ([("a", PROMPT + "1 + 1"), ("b", PROMPT + "2 + 2"), ("c", PROMPT + "3")], ["1 + 1", "2 + 2", "3"]),
        ([("a", PROMPT + "1"), ("a", PROMPT + "1"), ("b", PROMPT + "2"), ("a", PROMPT + "1")], ["1", "1", "2", "1"]),
        ([("a", "Text A\nWho?"), ("b", "Text A\nWhy?"), ("c", "Text B\nHow?")], ["Who?", "Why?", "Text B"]),
        ([("a", "Text A\nQuestion: Who?"), ("b", "Text B\nQuestion: Why?")], ["Who?", "Why?"]),
        ([("a", PLAN.format("x")), ("b", PLAN.format("y"))], ["Do x.", "Do y."]),
        ([("a", PLAN.format("x"))], ["Do x."]),
        ([("a", "#PROBLEM#: 1 + 1\n#ANSWER#")], ["1 + 1"]),
        ([("a", "Question: 1?\nQuestion: 2?"), ("b", "Question: 1?\nQuestion: 3?")], ["2?", "3?"]),
        ([("a", "# Task\nDo it.\nx"), ("b", "# Task\nDo it.\ny")], ["x", "y"]),
        ([("a", CELL.format("x")), ("b", CELL.format("y"))], ['["Which of x?"]', '["Which of y?"]']),
        ([("a", "same"), ("b", "same")], ["same", "same"]),
        ([("a", "a task for you"), ("b", "Problem children")], ["a task for you", "Problem children"]),
        ([("a", ""), ("b", PROMPT + "1"), ("c", PROMPT + "2")], ["", "1", "2"]),
        ([("a", "x" * 200)], ["x" * 159 + "…"]),
    ],
    ids=[
        *("plain", "one prompt for all", "attempts", "a text for several questions", "named by its line"),
        *("named by a heading", "alone", "marked", "examples before it", "a heading of all", "code before it"),
        *("the same question", "no headings", "not asked", "long"),
    ],
)
def test_a_question_is_the_line_that_sets_its_sample_apart(asked, lines):
    questions = Questions()
    for sample, text in asked:
        questions.add("t", sample, text)
    assert questions.lines() == lines


def test_later_samples_are_judged_by_the_first_ones(monkeypatch):
    monkeypatch.setattr(module, "HELD", 2)
    questions = Questions()
    for number in range(4):
        questions.add("t", str(number), f"{PROMPT}{number}")
    assert questions._tasks["t"].samples == {}
    assert questions.lines() == ["0", "1", "2", "3"]


def test_what_another_model_was_asked_is_no_question(tmp_path):
    def said(role, user, reply):
        return Event(
            "model", "m", 0, 0, {"role": role, "messages": [{"role": "user", "content": user}], "reply": reply}
        )

    events = [said("--user-model", "Play a reader.", "A book!"), said("", "A book!", "Which one?")]
    data = page_data(write_page_of(tmp_path, record(0, events=events)))
    assert data["texts"][data["cases"]["question"][0]] == "A book!"


def write_page_of(path, *records):
    from agentgauge_reports.page.page import write_page

    run = write_run(path / "run", records)
    return write_page(run, run / "report.html", tasks=TASKS)


# -- what was expected and what came

ADD, MUL = (
    [{"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": {"a": 1}}}]}]
    for name in ("Add", "Mul")
)
REPLY = Event("model", "m", 0, 0, {"messages": [], "reply": "It is\n4.", "finish_reason": "stop"})
CALL = Event(
    "model", "m", 0, 0, {"messages": [], "reply": "", "tool_calls": [{"name": "Add", "arguments": '{"a": 2}'}]}
)
TEXT = {"role": "assistant", "content": "It is 4."}
JUDGE = Event("model", "j", 0, 0, {"messages": [], "reply": "wrong", "role": "--judge"})


@pytest.mark.parametrize(
    ("status", "explanation", "output", "events", "answers"),
    [
        ("wrong", compared("no", "'3'", "'4'"), None, [REPLY], ("'3'", "'4'")),
        ("wrong", "unreadable\n  expected: '3'", None, [REPLY], ("'3'", "It is · 4.")),
        ("wrong", "no", {"gold": ADD, "prediction": MUL}, [], ("Add(a=1)", "Mul(a=1)")),
        (
            "wrong",
            f"step 1\n  ! a  1   got 2\n{compared('step 2', 'Mul()', 'Div()')}",
            {"gold": ADD, "prediction": MUL},
            [],
            ("Add(a=1)", "Mul(a=1)"),
        ),
        ("wrong", "no", {"gold": ADD, "prediction": []}, [], ("Add(a=1)", "nothing")),
        ("wrong", "no", None, [REPLY, JUDGE], ("", "It is · 4.")),
        ("passed", "", {"gold": ADD, "prediction": ADD}, [CALL], ("Add(a=1)", "Add(a=1)")),
        ("passed", "", {"gold": ADD, "prediction": [TEXT]}, [REPLY], ("", "It is · 4.")),
        ("passed", "", None, [CALL], ("", "Add(a=2)")),
        ("broken", "", None, [], ("", "")),
    ],
    ids=[
        "verdict",
        "half a verdict",
        "gold",
        "gold of the first finding",
        "nothing came",
        "last reply",
        "passed",
        "a text as a call",
        "passed without gold",
        "broken",
    ],
)
def test_what_was_expected_and_what_came(tmp_path, status, explanation, output, events, answers):
    one = Record(
        "toy.say", "s", 1, "c", status, Transcript(output, tuple(events)), Score(False, explanation=explanation)
    )
    files = PageFiles(tmp_path, {"settings": {"data": "mini"}}, TASKS, tmp_path / "report-data")
    shown, _ = transcript(one, TOY, files, "parity")
    assert expected_and_got(one, shown) == answers


# -- the first sentence


def test_the_first_sentence_names_no_reason_without_one_and_counts_broken_cases(tmp_path):
    from agentgauge_reports.load import load_run

    wrong = record(0, passed=False)
    cases = [replace(wrong, score=replace(wrong.score, labels=())), record(1)]
    broken = replace(record(2), status="broken", score=None, error="HTTP 500", cause="http 500")
    said = "m passed 1 of 2 finished cases on the bundled samples of Toy"
    assert opening(load_run(write_run(tmp_path / "one", cases), tasks=TASKS)) == f"{said}."
    found = opening(load_run(write_run(tmp_path / "two", [*cases, broken]), tasks=TASKS))
    assert found.startswith(f"{said}; 1 broken case counts in the figures, too. Most frequent failure:")


@pytest.mark.parametrize(
    ("passed", "tags", "sentence"),
    [
        ((True,), lambda number: (), "m passed 1 of 1 finished case on the bundled samples of Toy."),
        ((False, True), lambda number: (), "Most frequent failure: Wrong answer (1)."),
        ((True,) * 12, lambda number: ("even", "odd")[number % 2 :][:1], "m passed 12 of 12 finished cases"),
        (
            (True, False) * 8,
            lambda number: ("even", "odd")[number % 2 :][:1],
            "Best at even (100 % passed), worst at odd (0 %).",
        ),
        ((True,) * 7 + (False,) * 9, lambda number: ("even", "odd")[number % 2 :][:1], "Nothing stands out:"),
    ],
    ids=["one case", "one failure", "alike", "apart", "overlapping"],
)
def test_the_first_sentence_says_what_stands_out(tmp_path, passed, tags, sentence):
    from agentgauge_reports.load import load_run

    cases = [record(number, passed=one, tags=tags(number)) for number, one in enumerate(passed)]
    said = opening(load_run(write_run(tmp_path / "run", cases), tasks=TASKS))
    assert sentence in said and ("stands out" in said) == ("stands out" in sentence)
