"""Long transcripts are compressed on disk; lines of every layout read alike."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import zstandard
from agentgauge_reports.load import load_run
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Event, Record, Score, Transcript, Usage
from agentgauge.store import RunFolder, plain
from agentgauge.store.jsonl import LONG, decoded, encoded_line, outlined
from agentgauge.store.outline import CaseOutline
from tests.reports.runs import made

TALK = "all work and no play makes Jack a dull boy\n" * 400
NOISE = "".join(f"{number * 2654435761 % 2**32:08x}" for number in range(4000))


def record(said: str, sample: str = "s1") -> Record:
    told = Transcript(
        {"answer": "é"},
        (Event("model", "m", 1.0, 0.5, {"messages": [], "reply": said}),),
        Usage(1, 10, 5, 0.25),
        0.6,
        7,
    )
    return Record(
        "toy.say", sample, 1, "c", "wrong", told, Score(False, {"right": 0.0}, ("wrong_answer",), "why"), tags=("odd",)
    )


@pytest.mark.parametrize(
    ("said", "compressed"),
    [
        ("short", False),
        (TALK, True),
        (TALK[: LONG // 2], False),
        (NOISE, True),
        (base64.b85encode(NOISE.encode()).decode()[:9000], False),
    ],
    ids=["short", "long", "below the limit", "hexadecimal", "saves too little"],
)
def test_a_transcript_is_compressed_where_it_is_long_and_that_saves_half(said, compressed):
    said = said if said != NOISE else said * 2
    line = encoded_line(record(said))
    assert (b'"zstd":' in line) == compressed
    assert line.count(b"\n") == 1
    assert decoded(line) == record(said)
    assert line == encoded_line(record(said))


def test_what_stands_beside_a_compressed_transcript_is_legible():
    data = json.loads(encoded_line(record(TALK)))
    assert sorted(data["transcript"]) == ["seconds", "seed", "usage", "zstd"]
    assert data["score"]["explanation"] == "why"
    said = json.loads(
        zstandard.decompress(base64.b64decode(data["transcript"]["zstd"]))
    )  # as docs/how-a-run-works.md has it
    assert said == {"output": {"answer": "é"}, "events": record(TALK).to_json()["transcript"]["events"]}
    assert plain(data) == record(TALK).to_json() | {"tags": ["odd"], "score": data["score"]}


@pytest.mark.parametrize("said", ["short", TALK], ids=["plain", "compressed"])
def test_an_outline_is_the_record_without_texts(said):
    found = CaseOutline.of(outlined(encoded_line(record(said))), Path("r.jsonl"), 3, 5)
    assert (found.usage, found.seconds) == (Usage(1, 10, 5, 0.25), 0.6)
    assert found.score == Score(False, {"right": 0.0}, ("wrong_answer",))
    assert (*found.id, found.status, found.tags) == ("toy.say", "s1", 1, "wrong", ("odd",))
    assert (found.file, found.start, found.size) == (Path("r.jsonl"), 3, 5)


HOSTILE = st.sampled_from(
    [
        '","transcript":{"usage":',
        ',"seed":1,',
        ',"output":',
        "}}",
        '\\"',
        "\\",
        "\ud800",
        "\u2028",
        '"zstd":"',
        "é",
        "x" * 9000,
        "\n",
    ]
)
TEXT = st.lists(HOSTILE | st.text(max_size=5), max_size=6).map("".join)
NESTED = {"transcript": {"usage": {"requests": 1}, "seed": 2, "output": 3}, "seed": 4}


@given(TEXT, TEXT, TEXT, st.booleans())
def test_no_text_of_a_record_is_taken_for_its_layout(sample, said, explanation, nested):
    output = {"a": 1, **NESTED, "said": said} if nested else said
    events = (Event("tool", said, 0.0, 0.0, {"arguments": NESTED, said: [explanation]}, said),)
    score = Score(True, {said: 1.0, "transcript": 2.0}, (said,), explanation)
    whole = Record(
        "t", sample, 1, "c", "passed", Transcript(output, events, Usage(3), 0.5, 9), score, said, said, (said,)
    )
    line = encoded_line(whole)
    assert decoded(line) == whole
    assert outlined(line)["transcript"]["usage"]["requests"] == 3
    assert "output" not in outlined(line)["transcript"]
    assert CaseOutline.of(outlined(line), Path(), 0, len(line)).id == (whole.task, whole.sample, whole.attempt)


def old_line(sample: str) -> str:
    """As versions before this one wrote it: the transcript in the middle, its output first."""
    told = {
        "output": NESTED,
        "events": [],
        "usage": {"requests": 1, "prompt_tokens": 10, "completion_tokens": 5, "usd": 0.25},
    }
    score = {"passed": True, "values": {"right": 1.0}, "labels": [], "explanation": ""}
    return json.dumps(
        {
            **{"task": "t", "sample": sample, "attempt": 1, "config": "c", "status": "passed"},
            "transcript": {**told, "seconds": 0.6, "seed": 7},
            **{"score": score, "error": None, "cause": None, "tags": [], "worker": "main", "finished": 5.0},
        }
    )


def test_a_folder_of_an_older_version_is_read_with_new_lines_in_it(tmp_path):
    """It has every record twice, in the worker's file and in the merged one."""
    folder = RunFolder(made(tmp_path / "run", {"s1": "p", "s2": "p", "s3": "w"}))
    folder.write_json("run.json", {**folder.read_json("run.json"), "configs": {"t": "c"}})
    old = "".join(f"{old_line(sample)}\n" for sample in ("s1", "s2"))
    (folder.path / "records.jsonl").write_text(old)
    appender = folder.appender("main")
    appender.append(
        Record("t", "s3", 1, "c", "wrong", record(TALK).transcript, Score(False, {"right": 0.0}), finished=6.0)
    )
    appender.close()
    with (folder.path / "records" / "main.jsonl").open("a") as stream:
        stream.write(old)
    lines = folder.lines()
    assert [(case[1], line.status, line.tokens, line.usd) for case, line in lines.items()] == [
        ("s1", "passed", 15, 0.25),
        ("s2", "passed", 15, 0.25),
        ("s3", "wrong", 15, 0.25),
    ]
    assert lines["t", "s1", 1].read().transcript.output == NESTED
    folder.merge_records({})
    run = load_run(folder.path)
    with run.reading() as read:
        assert [read(case).transcript.usage.requests for case in run.cases] == [1, 1, 1]
        assert read(run.cases[2]).transcript == record(TALK).transcript


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("AAAA", "cannot be read"),
        ("!!!", "cannot be read"),
        (base64.b64encode(zstandard.compress(b"{")).decode(), "Expecting"),
    ],
)
def test_a_damaged_frame_is_a_value_error(damage, told):
    data = json.loads(encoded_line(record(TALK)))
    data["transcript"]["zstd"] = damage
    with pytest.raises(ValueError, match=told):
        plain(data)


def test_a_damaged_file_is_told_with_the_way_out(tmp_path):
    folder = RunFolder(tmp_path)
    with pytest.raises(
        UsageProblem, match=r"records.jsonl does not exist; the run was never finished: continue with --resume="
    ):
        list(folder.outlines())
    (tmp_path / "records.jsonl").write_text('{"task": "t"}\n')
    with pytest.raises(
        UsageProblem, match=r"records.jsonl is damaged in line 1 \(it has no sample\); continue with --resume="
    ):
        list(folder.outlines())
    problems = []
    assert list(folder.outlines(problems)) == []
    assert len(problems) == 1 and "records.jsonl is damaged in line 1" in problems[0]
