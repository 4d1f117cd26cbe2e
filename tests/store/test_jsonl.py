"""Records on disk: where each one is, which of several counts, and what a summary copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgauge.core.types import Event, Record, Score, Transcript, Usage
from agentgauge.store import RunFolder, jsonl
from agentgauge.store.jsonl import CaseOutline, encoded_line, outlined


def record(sample: str = "s1", status: str = "passed", finished: float = 1.0, **fields) -> Record:
    return Record("toy.say", sample, 1, "c0ffee", status, finished=finished, **fields)


FULL = record(
    transcript=Transcript(
        {"answer": "é"},
        (
            Event("model", "m", 1.0, 0.5, {"messages": [{"role": "user", "content": "say é"}]}),
            Event("tool", "OCR", 2.0, 0.1, {}, "refused"),
        ),
        Usage(1, 10, 5, 0.25),
        0.6,
        7,
    ),
    score=Score(False, {"right": 0.0}, ("wrong_answer",), "expected x"),
    tags=("odd",),
)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.create()
    return made


@pytest.mark.parametrize(
    "written",
    [FULL, record(), record(status="broken", error="no answer", cause="timeout")],
    ids=["full", "bare", "broken"],
)
def test_a_record_reads_back_as_it_was_written(folder, written):
    appender = folder.appender("gw0")
    first, second = appender.append(written), appender.append(written)
    appender.close()
    assert first.read() == second.read() == written
    assert (first.start, second.start) == (0, first.size)


def test_an_appender_goes_on_behind_what_is_there(folder):
    for sample in ("s1", "s2"):
        appender = folder.appender("gw0")
        line = appender.append(record(sample))
        appender.close()
        assert line.read().sample == sample


@pytest.mark.parametrize(
    ("records", "winner"),
    [
        ([record(finished=1.0), record(finished=2.0)], 2.0),
        ([record(finished=2.0), record(finished=1.0)], 2.0),
        ([record(finished=1.0), record(status="broken", finished=2.0)], 1.0),
        ([record(status="broken", finished=1.0), record(status="broken", finished=2.0)], 2.0),
        ([record(status="broken", finished=2.0), record(status="wrong", finished=1.0)], 1.0),
    ],
)
def test_of_several_records_a_finished_one_counts_and_then_the_latest(folder, records, winner):
    for number, each in enumerate(records):
        appender = folder.appender(f"gw{number}")
        appender.append(each)
        appender.close()
    assert [line.read().finished for line in folder.lines().values()] == [winner]


def test_lines_are_in_the_order_of_the_plan_and_a_torn_one_is_passed_over(folder):
    appender = folder.appender("gw0")
    for sample in ("s3", "s1", "s2"):
        appender.append(record(sample))
    appender.close()
    with (folder.path / "records" / "gw0.jsonl").open("ab") as stream:
        stream.write(b'{"task": "toy.say", "sample": "s4"')
    order = {("toy.say", "s2", 1): 0, ("toy.say", "s3", 1): 1}
    lines = folder.lines(order)
    assert [sample for _, sample, _ in lines] == ["s2", "s3", "s1"]
    folder.merge_records(order)
    merged = (folder.path / "records.jsonl").read_text().splitlines()
    assert [json.loads(line)["sample"] for line in merged] == ["s2", "s3", "s1"]


def test_outlines_hold_equal_values_once_and_no_others():
    """1, 1.0 and True are equal, and written differently."""
    kinds = ({"right": 1.0}, {"right": 1.0}, {"right": 1}, {"right": True}, {"wrong": 1.0}, {"right": 1.0, "all": 1.0})
    lines = [encoded_line(record(score=Score(True, values))) for values in kinds]
    held = [CaseOutline.of(outlined(line), Path(), 0, len(line)).score.values for line in lines]
    assert list(map(repr, held)) == list(map(repr, kinds))
    assert len({id(values) for values in held}) == 5


def test_a_record_that_could_not_be_read_again_is_not_written(monkeypatch):
    monkeypatch.setattr(jsonl, "LONGEST", 5_000)
    record = Record("t", "s0", 1, "c", "passed", Transcript("x" * 5_000), Score(True))
    with pytest.raises(ValueError, match="it is longer than 64 MB"):
        encoded_line(record)
