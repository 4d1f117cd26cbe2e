"""Which record of a case counts, and which lines do not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentgauge.core.types import Record, Score
from agentgauge.store import RunFolder
from agentgauge.store.folder import LEFT_OUT
from agentgauge.store.jsonl import decoded
from agentgauge.store.records import left_out_notes

ORDER = {("t", f"s{number}", 1): number for number in range(20)}
RECORDS = [
    ("gw0", "s1", "passed", 1.0),
    ("gw0", "s0", "broken", 2.0),
    ("gw1", "s2", "wrong", 3.0),
    ("gw1", "s0", "passed", 1.5),  # finished: beats the broken one, though that is later
    ("gw0", "s3", "broken", 4.0),
    ("gw1", "s3", "broken", 5.0),  # the latest
    ("gw1", "s4", "wrong", 6.0),
    ("gw0", "s4", "wrong", 5.5),
    ("gw0", "unplanned", "passed", 7.0),
]


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.create()
    return made


def write(folder: RunFolder, worker: str, sample: str, status: str, at: float) -> Path:
    appender = folder.appender(worker)
    score = Score(status == "passed", {"right": 1.0}, explanation=f"{worker} said so")
    line = appender.append(Record("t", sample, 1, "c", status, score=score, worker=worker, finished=at))
    appender.close()
    return line.file


def test_the_best_record_of_each_case_counts(folder):
    for one in RECORDS:
        write(folder, *one)
    merged = folder.merge_records(ORDER)
    assert [(case.sample, case.finished, case.status) for case in merged.values()] == [
        ("s0", 1.5, "passed"),
        ("s1", 1.0, "passed"),
        ("s2", 3.0, "wrong"),
        ("s3", 5.0, "broken"),
        ("s4", 6.0, "wrong"),
        ("unplanned", 7.0, "passed"),
    ]


def line(**changed) -> bytes:
    """A record with something wrong in it."""
    data = {"task": "t", "sample": "s9", "attempt": 1, "config": "c", "status": "wrong", "finished": 1.0}
    return json.dumps({**data, "score": None, "transcript": None, **changed}).encode() + b"\n"


DAMAGED = {
    "garbled": b"\x00\xff{{{\n",
    "half a line": b'{"task":"t","sample":"s1"\n',
    "no object": b"[1, 2]\n",
    "no record": b'{"task": "t"}\n',
    "another status": line(status="odd"),
    "an id that is no text": line(sample=9),
    "an attempt that is no number": line(attempt="1"),
    "an end that is no time": line(finished="x"),
    "tokens that are no numbers": line(transcript={"usage": [], "seconds": 1.0, "seed": 1}),
    "deeper than Python reads": b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "a score of texts": line(score={"passed": False, "values": {"a": "b"}, "labels": []}),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_line_is_set_aside_and_costs_no_other_record(folder, kind):
    file = write(folder, "main", "s0", "passed", 1.0)
    with file.open("ab") as stream:
        stream.write(DAMAGED[kind])
    write(folder, "main", "s1", "passed", 1.0)
    left_out = []
    assert [case.sample for case in folder.merge_records(ORDER, left_out).values()] == ["s0", "s1"]
    assert (folder.path / LEFT_OUT).read_bytes() == DAMAGED[kind]
    (sentence,) = left_out_notes(folder.path, left_out, LEFT_OUT)
    expected = rf"main.jsonl is damaged in line 2 \(.*\); kept in {LEFT_OUT}; .* with --resume={folder.path}$"
    assert re.search(expected, sentence)
    assert [line.number for line in left_out] == [2]
    again = []
    assert len(folder.merge_records(ORDER, again)) == 2
    assert not again


def test_records_of_other_settings_are_set_aside(folder):
    """Two runs wrote into one folder. The finished record of the other takes no place of this run's broken one."""
    folder.write_json("run.json", {"configs": {"t": "c"}})
    write(folder, "gw0", "s0", "broken", 1.0)
    appender = folder.appender("gw1")
    cases = (("t", "s0", 1, "other"), ("unknown", "s0", 1, "c"))
    foreign = [Record(*case, "passed", finished=2.0) for case in cases]
    for record in foreign:
        appender.append(record)
    appender.close()
    left_out = []
    assert [(case.sample, case.status) for case in folder.merge_records(ORDER, left_out).values()] == [("s0", "broken")]
    (sentence,) = left_out_notes(folder.path, left_out, LEFT_OUT)
    assert "gw1.jsonl has 2 records of other settings (model, data, options), which are not this run's; " in sentence
    assert [decoded(line) for line in (folder.path / LEFT_OUT).read_bytes().splitlines()] == foreign


def test_a_torn_end_is_passed_over(folder):
    file = write(folder, "main", "s0", "passed", 1.0)
    with file.open("a") as stream:
        stream.write('{"task":"t","sam')
    assert [case.sample for case in folder.merge_records(ORDER).values()] == ["s0"]
