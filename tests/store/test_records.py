"""Records: lines of JSON, files of workers, and how they are merged."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
import zstandard
from agentgauge_reports.load import load_run
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.core.types import Event, Record, Score, Transcript, Usage
from agentgauge.store import RunFolder, jsonl, plain
from agentgauge.store.folder import LEFT_OUT
from agentgauge.store.jsonl import LONG, CaseOutline, decoded, encoded_line, outlined
from agentgauge.store.records import left_out_notes

# -- Records on disk: where each one is, which of several counts, and what a summary copies.
from tests.reports.runs import made as run_made


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


# -- The merged file takes the place of the workers' files, and a kill at any moment loses nothing.


pytestmark = pytest.mark.slow

SAMPLES = [f"s{number}" for number in range(40)]
ORDER = {("t", sample, 1): place for place, sample in enumerate(reversed(SAMPLES))}


def fill(folder_merging: RunFolder, worker: str, samples: list[str], status: str = "passed", at: float = 1.0) -> None:
    appender = folder_merging.appender(worker)
    for sample in samples:
        appender.append(
            Record("t", sample, 1, "c", status, Transcript(sample * (5000 if sample == "s7" else 5)), finished=at)
        )
    appender.close()


@pytest.fixture
def folder_merging(tmp_path) -> RunFolder:
    """Two workers' files, some cases in both, some broken in one."""
    made = RunFolder(tmp_path / "run")
    made.create()
    fill(made, "gw0", SAMPLES[:25])
    fill(made, "gw1", SAMPLES[25:])
    fill(made, "gw1", SAMPLES[:10], "broken", 2.0)
    return made


def test_one_copy_of_each_record_is_left(folder_merging):
    merged = folder_merging.merge_records(ORDER)
    assert [path.name for path in folder_merging.path.iterdir()] == ["records.jsonl"]
    assert [case.sample for case in merged.values()] == SAMPLES[::-1]
    assert list(merged.values()) == list(folder_merging.outlines())
    assert {line.status for line in folder_merging.lines().values()} == {"passed"}


def test_what_comes_later_is_merged_into_what_is_there(folder_merging):
    fill(folder_merging, "gw2", ["new"], "broken", 1.0)
    folder_merging.merge_records(ORDER)
    fill(folder_merging, "gw0", ["new", "s3"], "wrong", 3.0)
    folder_merging.merge_records({**ORDER, ("t", "new", 1): 100})
    found = [(case.sample, case.status) for case in folder_merging.outlines()]
    assert len(found) == 41
    assert found[-1] == ("new", "wrong")
    assert ("s3", "wrong") in found
    before = (folder_merging.path / "records.jsonl").read_bytes()
    folder_merging.merge_records({**ORDER, ("t", "new", 1): 100})
    assert (folder_merging.path / "records.jsonl").read_bytes() == before


def test_a_worker_that_is_still_writing_loses_nothing(folder_merging, monkeypatch):
    appender = folder_merging.appender("gw0")
    write = RunFolder.write_records

    def late(self, lines):
        appender.append(Record("t", "late", 1, "c", "passed"))
        write(self, lines)

    monkeypatch.setattr(RunFolder, "write_records", late)
    assert len(folder_merging.merge_records(ORDER)) == 40
    monkeypatch.undo()
    appender.close()
    assert [path.name for path in (folder_merging.path / "records").iterdir()] == ["gw0.jsonl"]
    assert ("t", "late", 1) in folder_merging.lines()
    assert len(folder_merging.lines()) == 41


def killed_at(call: int, folder_merging: RunFolder) -> bool:
    """Merge in a process that is killed at its so manieth change of the disk. False where it has fewer."""
    child = os.fork()
    if child == 0:
        left = [call]

        def counted(function):
            def step(*arguments, **named):
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
                return function(*arguments, **named)

            return step

        os.pread, os.fsync = counted(os.pread), counted(os.fsync)
        for name in ("replace", "unlink", "rmdir"):
            setattr(Path, name, counted(getattr(Path, name)))
        try:
            folder_merging.merge_records(ORDER)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)  # by other tests; the fork needs no thread
def test_a_kill_at_any_moment_of_merging_loses_nothing(folder_merging, tmp_path):
    whole = RunFolder(Path(shutil.copytree(folder_merging.path, tmp_path / "whole")))
    whole.merge_records(ORDER)
    expected = (whole.path / "records.jsonl").read_bytes()
    states, call = set(), 0
    while True:
        again = RunFolder(Path(shutil.copytree(folder_merging.path, tmp_path / f"at{call}")))
        if not killed_at(call, again):
            break
        states.add(tuple(sorted(path.name for path in again.path.rglob("*.jsonl"))))
        assert {line.status for line in again.lines().values()} == {"passed"}
        assert len(again.lines()) == 40
        again.merge_records(ORDER)
        assert (again.path / "records.jsonl").read_bytes() == expected
        assert [path.name for path in again.path.iterdir()] == ["records.jsonl"]
        call += 1
    assert call == 40 + 2 + 1 + 2 + 1  # read, sync, replace, unlink, rmdir
    assert states == {
        ("gw0.jsonl", "gw1.jsonl"),
        ("gw0.jsonl", "gw1.jsonl", "records.jsonl"),
        ("gw1.jsonl", "records.jsonl"),
        ("records.jsonl",),
    }


@pytest.mark.parametrize("size", [0, 10, 70_000, 200_000])
def test_a_torn_end_is_cut_off_however_long_it_is(tmp_path, size):
    folder_merging = RunFolder(tmp_path / "run")
    folder_merging.create()
    file = folder_merging.path / "records" / "gw0.jsonl"
    for before in ([], ["s1", "s2"]):
        file.unlink(missing_ok=True)
        fill(folder_merging, "gw0", before)
        whole = file.read_bytes()
        with file.open("ab") as stream:
            stream.write(b"x" * size)
        fill(folder_merging, "gw0", ["s3"])
        assert file.read_bytes().startswith(whole + b'{"task":"t","sample":"s3"')
        assert [sample for _, sample, _ in folder_merging.lines()] == [*before, "s3"]


def test_a_full_disk_leaves_no_half_line_that_would_spoil_the_next_record(tmp_path, monkeypatch):
    appender, write, full = RunFolder(tmp_path).appender("gw0"), os.write, []

    def half(file: int, data: memoryview) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        full.append(data)
        return write(file, data[: len(data) // 2])

    first = appender.append(Record("t", "s1", 1, "c", "passed"))
    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space"):
        appender.append(Record("t", "s2", 1, "c", "passed"))
    monkeypatch.undo()
    third = appender.append(Record("t", "s3", 1, "c", "passed"))
    appender.close()
    assert (first.read().sample, third.read().sample) == ("s1", "s3")
    assert [sample for _, sample, _ in RunFolder(tmp_path).lines()] == ["s1", "s3"]


# -- Which record of a case counts, and which lines do not.


MERGE_ORDER = {("t", f"s{number}", 1): number for number in range(20)}
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
def merged(tmp_path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.create()
    return made


def write(merged: RunFolder, worker: str, sample: str, status: str, at: float) -> Path:
    appender = merged.appender(worker)
    score = Score(status == "passed", {"right": 1.0}, explanation=f"{worker} said so")
    line = appender.append(Record("t", sample, 1, "c", status, score=score, worker=worker, finished=at))
    appender.close()
    return line.file


def test_the_best_record_of_each_case_counts(merged):
    for one in RECORDS:
        write(merged, *one)
    merged = merged.merge_records(MERGE_ORDER)
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
def test_a_damaged_line_is_set_aside_and_costs_no_other_record(merged, kind):
    file = write(merged, "main", "s0", "passed", 1.0)
    with file.open("ab") as stream:
        stream.write(DAMAGED[kind])
    write(merged, "main", "s1", "passed", 1.0)
    left_out = []
    assert [case.sample for case in merged.merge_records(MERGE_ORDER, left_out).values()] == [
        "s0",
        "s1",
    ]
    assert (merged.path / LEFT_OUT).read_bytes() == DAMAGED[kind]
    (sentence,) = left_out_notes(merged.path, left_out, LEFT_OUT)
    expected = rf"main.jsonl is damaged in line 2 \(.*\); kept in {LEFT_OUT}; .* with --resume={merged.path}$"
    assert re.search(expected, sentence)
    assert [line.number for line in left_out] == [2]
    again = []
    assert len(merged.merge_records(MERGE_ORDER, again)) == 2
    assert not again


def test_records_of_other_settings_are_set_aside(merged):
    """Two runs wrote into one folder. The finished record of the other takes no place of this run's broken one."""
    merged.write_json("run.json", {"configs": {"t": "c"}})
    write(merged, "gw0", "s0", "broken", 1.0)
    appender = merged.appender("gw1")
    cases = (("t", "s0", 1, "other"), ("unknown", "s0", 1, "c"))
    foreign = [Record(*case, "passed", finished=2.0) for case in cases]
    for record in foreign:
        appender.append(record)
    appender.close()
    left_out = []
    assert [(case.sample, case.status) for case in merged.merge_records(MERGE_ORDER, left_out).values()] == [
        ("s0", "broken")
    ]
    (sentence,) = left_out_notes(merged.path, left_out, LEFT_OUT)
    assert "gw1.jsonl has 2 records of other settings (model, data, options), which are not this run's; " in sentence
    assert [decoded(line) for line in (merged.path / LEFT_OUT).read_bytes().splitlines()] == foreign


def test_a_torn_end_is_passed_over(merged):
    file = write(merged, "main", "s0", "passed", 1.0)
    with file.open("a") as stream:
        stream.write('{"task":"t","sam')
    assert [case.sample for case in merged.merge_records(MERGE_ORDER).values()] == ["s0"]


# -- Long transcripts are compressed on disk; lines of every layout read alike.


TALK = "all work and no play makes Jack a dull boy\n" * 400
NOISE = "".join(f"{number * 2654435761 % 2**32:08x}" for number in range(4000))


def record_packed(said: str, sample: str = "s1") -> Record:
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
    line = encoded_line(record_packed(said))
    assert (b'"zstd":' in line) == compressed
    assert line.count(b"\n") == 1
    assert decoded(line) == record_packed(said)
    assert line == encoded_line(record_packed(said))


def test_what_stands_beside_a_compressed_transcript_is_legible():
    data = json.loads(encoded_line(record_packed(TALK)))
    assert sorted(data["transcript"]) == ["seconds", "seed", "usage", "zstd"]
    assert data["score"]["explanation"] == "why"
    said = json.loads(
        zstandard.decompress(base64.b64decode(data["transcript"]["zstd"]))
    )  # as docs/how-a-run-works.md#the-run-folder has it
    assert said == {"output": {"answer": "é"}, "events": record_packed(TALK).to_json()["transcript"]["events"]}
    assert plain(data) == record_packed(TALK).to_json() | {"tags": ["odd"], "score": data["score"]}


@pytest.mark.parametrize("said", ["short", TALK], ids=["plain", "compressed"])
def test_an_outline_is_the_record_without_texts(said):
    found = CaseOutline.of(outlined(encoded_line(record_packed(said))), Path("r.jsonl"), 3, 5)
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
    folder = RunFolder(run_made(tmp_path / "run", {"s1": "p", "s2": "p", "s3": "w"}))
    folder.write_json("run.json", {**folder.read_json("run.json"), "configs": {"t": "c"}})
    old = "".join(f"{old_line(sample)}\n" for sample in ("s1", "s2"))
    (folder.path / "records.jsonl").write_text(old)
    appender = folder.appender("main")
    appender.append(
        Record("t", "s3", 1, "c", "wrong", record_packed(TALK).transcript, Score(False, {"right": 0.0}), finished=6.0)
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
    run = load_run(folder.path, tasks=Registry())
    with run.reading() as read:
        assert [read(case).transcript.usage.requests for case in run.cases] == [1, 1, 1]
        assert read(run.cases[2]).transcript == record_packed(TALK).transcript


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("AAAA", "cannot be read"),
        ("!!!", "cannot be read"),
        (base64.b64encode(zstandard.compress(b"{")).decode(), "Expecting"),
    ],
)
def test_a_damaged_frame_is_a_value_error(damage, told):
    data = json.loads(encoded_line(record_packed(TALK)))
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
