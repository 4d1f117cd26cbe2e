"""What is read of a run's records while they are written comes to the same as reading them all at the end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from harness.errors import UsageProblem
from harness.store import RunFolder, gathering
from harness.types import Record, Score

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


@pytest.mark.parametrize("seed", range(8))
def test_what_was_read_early_comes_to_what_is_read_at_the_end(folder, tmp_path, seed):
    """However many lines are taken, and whenever."""
    chance = random.Random(seed)
    early, waiting = folder.gathering(), dict.fromkeys((folder.path / "records" / f"gw{number}.jsonl" for number in (0, 1)), 0)
    for one in RECORDS:
        waiting[write(folder, *one)] += 1
        file = chance.choice(list(waiting))
        count = chance.randint(0, waiting[file])
        if count:
            early.take(file, count)
            waiting[file] -= count
    at_once = RunFolder(folder.path.rename(tmp_path / "at once"))
    merged = at_once.merge_records(ORDER)
    assert [(record.sample, record.worker, record.status) for record, _, _ in merged] == [
        ("s0", "gw1", "passed"),
        ("s1", "gw0", "passed"),
        ("s2", "gw1", "wrong"),
        ("s3", "gw1", "broken"),
        ("s4", "gw1", "wrong"),
        ("unplanned", "gw0", "passed"),
    ]
    text = (at_once.path / "records.jsonl").read_bytes()
    (at_once.path / "records.jsonl").unlink()
    for one in RECORDS:
        write(folder, *one)
    assert folder.merge_records(ORDER, early) == merged
    assert (folder.path / "records.jsonl").read_bytes() == text


def test_nothing_is_read_twice(folder, monkeypatch):
    early, read, outlined = folder.gathering(), [], gathering.outlined
    monkeypatch.setattr(gathering, "outlined", lambda text: read.append(text) or outlined(text))
    for number in range(10):
        file = write(folder, "main", f"s{number}", "passed", 1.0)
    early.take(file, 7)
    assert len(read) == 7
    assert len(folder.merge_records(ORDER, early)) == 10
    assert len(read) == len(set(read)) == 10


def test_a_damaged_line_is_told_with_its_number_and_the_way_out(folder):
    early = folder.gathering()
    file = write(folder, "main", "s0", "passed", 1.0)
    early.take(file, 1)
    with file.open("a") as stream:
        stream.write('{"task": 1}\n')
    write(folder, "main", "s1", "passed", 1.0)
    with pytest.raises(UsageProblem, match=r"main.jsonl is damaged in line 2: .*; take that line out and go on with --resume="):
        early.take(file, 2)


def test_a_torn_end_is_passed_over(folder):
    early = folder.gathering()
    file = write(folder, "main", "s0", "passed", 1.0)
    early.take(file, 1)
    with file.open("a") as stream:
        stream.write('{"task":"t","sam')
    assert [record.sample for record, _, _ in folder.merge_records(ORDER, early)] == ["s0"]
