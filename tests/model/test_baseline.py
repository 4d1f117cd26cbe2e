"""``baseline``: replies in the form that a request asks for, arguments from the question, and the floor that they
make."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.model.embedded.baseline import baseline_reply

QUESTIONS = json.dumps(["Which is it?\nA. red\nB. blue", "How many boats are there?\nA. 7\nB. 12"])
OUTPUTS = f"The outputs:\nboats 12\ncolour blue\nNow answer these multiple-choice questions:\n\n{QUESTIONS}\n"
PLANS = "# Functions\n- find_hut(name): Finds a hut.\n- book_bed(hut): Books a bed.\n\n# Plans\nPlan 1: find_hut\n"
PLANS += "Plan 2: find_hut -> book_bed\n\n# Request\nBook a bed in the hut.\n\n# Answer\nChosen Plan: N"


def said(text: str) -> str:
    return baseline_reply(ChatRequest(({"role": "user", "content": text},))).text


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        (PLANS, "Chosen Plan: 2"),
        ("Chosen Plan: N", "Chosen Plan: 1"),
        (OUTPUTS, '["B", "B"]'),
        ("Answer the multiple-choice questions.", '["A"]'),
    ],
)
def test_a_choice(asked: str, reply: str) -> None:
    assert said(asked) == reply


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        ("Work out (12 - 7/10) / 7.", "113/70"),
        ("Work out 30.5 - 0.25.", "30.25"),
        ("What is the remainder when 17 is divided by 5?", "2"),
        ("What is the greatest common divisor of 12 and 18?", "6"),
        ("Is 4 a factor of 10? Answer True or False.", "True"),
        ("Name the town.", "0"),
        ("What is the remainder when 17 is divided by 0?", "0"),
    ],
)
def test_a_problem_in_mathematics(problem: str, answer: str) -> None:
    reply = said(f"Solve it.\n\n#PROBLEM#: {problem}\n\n#THOUGHTS# your steps\n#ANSWER#: your answer")
    assert reply.startswith("#THOUGHTS# ") and reply.endswith(f"\n#ANSWER#: {answer}")


def test_a_program_does_what_is_said_of_its_output() -> None:
    problem = "Print the sum of the numbers."
    program = said(f"{problem}\nReply in one fence that begins with ```python.")
    code = program.removeprefix("```python\n").removesuffix("```")
    printed = subprocess.run([sys.executable, "-c", code], input="2\n3 4\n", capture_output=True, text=True, check=True)
    output = said(f"#PROBLEM#\n{problem}\n\n#INPUT#\n2\n3 4\n\nEnd with\n\n#ANSWER#: the output")
    assert output.endswith(f"#ANSWER#: {printed.stdout.strip()}") and printed.stdout == "9\n"


def test_cells_of_a_notebook() -> None:
    (cell,) = json.loads(said('# Request\nDraw the counts.\n\n# Reply\nA cell is an object with "cell_type".'))
    assert cell["cell_type"] == "code" and cell["metadata"] == {}
    compile("".join(cell["source"]), "cell", "exec")
    (cell,) = json.loads(said('# Request\nCount them.\n\n# Reply\nA cell is an object with "cell_type".'))
    assert "".join(cell["source"]).count("print(") == 1  # a kernel may cut its output between two, now here, now there


def tool(name: str, description: str, required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


DATE = {"type": "string", "description": "Date as YYYY-MM-DD."}
TRAINS = tool(
    "search_trains", "Trains between two stations.", ("origin", "destination", "date"),
    origin={"type": "string"}, destination={"type": "string"}, date=DATE, direct_only={"type": "boolean"},
)  # fmt: skip
BOOK = tool(
    "book_room", "Books a room.", ("room", "guests"),
    room={"type": "string", "enum": ["garden", "sea"]}, guests={"type": "integer", "description": "Number of people."},
)  # fmt: skip
WEATHER = tool("weather", "The weather of a city.", ("city",), city={"type": "string"})
PARCEL = tool("track_parcel", "Where a parcel is.", ("parcel_id",), parcel_id={"type": "string"})
TODAY = {"role": "system", "content": "Today is Friday, 2025-03-14."}


def calls(question: str, *past: Mapping[str, Any]) -> Any:
    """The calls for a question, or the text instead."""
    request = ChatRequest((TODAY, {"role": "user", "content": question}, *past), tools=(TRAINS, BOOK, WEATHER, PARCEL))
    reply = baseline_reply(request)
    assert reply == baseline_reply(request)
    return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] or reply.text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which trains go from Oslo to Bergen on 21 March?",
         [("search_trains", {"origin": "Oslo", "destination": "Bergen", "date": "2025-03-21"})]),
        ("Which direct trains go from Oslo to Bergen tomorrow?",
         [("search_trains", {"origin": "Oslo", "destination": "Bergen", "date": "2025-03-15", "direct_only": True})]),
        ("Book the sea room for two people.", [("book_room", {"room": "sea", "guests": 2})]),
        ("Please book a room.", "Could you tell me the room and the guests?"),
        ("What is the weather in Oslo, Lima and Rome?",
         [("weather", {"city": "Oslo"}), ("weather", {"city": "Lima"}), ("weather", {"city": "Rome"})]),
        ("Where is parcel QX-4519 now?", [("track_parcel", {"parcel_id": "QX-4519"})]),
        ("Thank you!", "I could not find this out."),
    ],
)  # fmt: skip
def test_a_call_from_the_question(question: str, expected: Any) -> None:
    assert calls(question) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("HTTP 503: try again", [("track_parcel", {"parcel_id": "QX"})]),
        ('{"error": "unknown"}', [("track_parcel", {"parcel_id": "QX-4519"})]),
        ("It lies in Oslo.", "It lies in Oslo."),
    ],
)
def test_a_failed_call_is_repeated(result: str, expected: Any) -> None:
    function = {"name": "track_parcel", "arguments": '{"parcel_id": "QX"}'}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    past = (call, {"role": "tool", "tool_call_id": "c", "content": result})
    assert calls("Where is parcel QX-4519?", *past) == expected


UNREADABLE = {
    *(
        "format_error",
        "no_answer",
        "no_cells",
        "unanswered",
        "empty_reply",
        "no_action",
        "invalid_action",
        "invalid_json",
    ),
    *("unreadable", "unreadable_arguments", "unreadable_call", "unreadable_calls"),
}


@pytest.mark.heavy
@pytest.mark.uses("page")
def test_the_floor(tmp_path: Path) -> None:
    """On the bundled samples no reply is unreadable, and of each benchmark some cases pass."""
    benches = ("--pyargs", "bench_gta", "bench_wild", "bench_mmau")
    words = (*benches, "-q", "-n2", "--model=baseline", f"--run-dir={tmp_path / 'run'}")
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    records = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    assert len(records) == 675 and {one["status"] for one in records} == {"passed", "wrong"}
    assert not [one["sample"] for one in records if UNREADABLE & set(one["score"]["labels"])]
    passed = {one["task"].partition(".")[0] for one in records if one["status"] == "passed"}
    assert passed == {"gta_atomic", "wild", "mmau"}
    shares = [sum(one["status"] == "passed" for one in records if one["task"].startswith(name)) / count
              for name, count in (("wild", 64), ("mmau", 513))]  # fmt: skip
    assert all(0.1 <= share <= 0.35 for share in shares)
    from agentgauge_reports.page.floor import FILE, measured

    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert measured(summary) == json.loads(FILE.read_text()), "python -m agentgauge_reports.page.floor RUN writes it"
