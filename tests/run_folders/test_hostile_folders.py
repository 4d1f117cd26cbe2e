"""Run folders that are damaged or made up: what cannot be read is said in one sentence, and the rest is shown."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import zstandard
from agentgauge_reports.leaderboard import leaderboard
from agentgauge_reports.results import read_run

from agentgauge.cli.main import main
from agentgauge.core import files
from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.run.live import LiveRun
from agentgauge.run.preflight import reported_names
from agentgauge.store import RunFolder
from agentgauge.store.folder import file_name
from agentgauge.store.jsonl import decoded
from tests.conftest import PLUGINS
from tests.run_folders.hostile import ESCAPES, change, rich, write

INSTALLED = Registry.installed()
FORMATS = ("csv", "eval", "atif", "every-eval-ever") if "formats" in PLUGINS else ()
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return rich(tmp_path_factory.mktemp("hostile") / "whole")


@pytest.fixture
def run(whole, tmp_path) -> Path:
    return shutil.copytree(whole, tmp_path / "runs" / "run")


def said(capsys, *words: object) -> tuple[int, str]:
    """The exit status of a command, and what it printed."""
    status = main(list(map(str, words)))
    told = capsys.readouterr()
    assert not UNSAFE.search(told.out + told.err)
    assert status in (0, 1, 4)
    assert status != 4 or len(told.err.splitlines()) == 1, told.err
    return status, told.out + told.err


def edited(run: Path, file: str, way: str, value: Any) -> Path:
    """The run with another value in a JSON file. ``way``: the names, with slashes between."""
    data = json.loads((run / file).read_text())
    *names, last = way.split("/")
    place = data
    for name in names:
        place = place[name]
    place[last] = value
    write(run / file, json.dumps(data))
    return run


def edited_record(run: Path, number: int, **changed: Any) -> Path:
    lines = (run / "records.jsonl").read_text().splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | changed)
    write(run / "records.jsonl", "".join(f"{line}\n" for line in lines))
    return run


FIGURE = "tasks/wild/metrics/Single-Tool/value"


def test_a_run_is_not_begun_on_records_that_are_no_file(run):
    (run / "records.jsonl").unlink()
    (run / "records.jsonl").mkdir()
    with pytest.raises(UsageProblem, match=r"records\.jsonl is not a plain"):
        RunFolder(run).refuse_odd_records()


@pytest.mark.uses("allure")
def test_what_lies_beside_the_records_may_be_odd(run, whole, capsys):
    (run / "leaderboard.md").unlink()
    (run / "outside").mkdir()
    (run / "outside" / "gw0.jsonl").write_text("{}\n[]\n" + "[" * 100_000 + "\n")
    (run / "records").write_text("no folder")
    assert said(capsys, "report", run, "--allure", run.parent / "allure")[0] == 0
    assert said(capsys, "merge", run.parent / "merged", run, whole)[0] == 0
    (run / "outside" / "gw1.jsonl").mkdir()
    status, told = said(capsys, "merge", run.parent / "again", run, whole)
    assert status == 4 and "gw1.jsonl is not a plain file" in told


DEEP = json.loads("[" * 50 + "]" * 50)
BAD_JSON = [
    ("run.json", b"[1]", "run.json cannot be read: it is a list and must be an object"),
    ("run.json", b"null", "run.json cannot be read: it is null and must be"),
    ("run.json", b"{", "run.json cannot be read: it is not JSON: Expecting"),
    ("run.json", b'{"a": %s}' % (b"1" * 4_299), "it holds a number of 4299 digits"),
    ("summary.json", b"[" * 100_000, "summary.json cannot be read: it is nested too deep"),
    ("summary.json", b'{"a": "\xff"}', "summary.json cannot be read: it is not UTF-8 from byte 7 on"),
    ("planned.json", b'[["t", "s", 0, "n"]]', "planned.json is not a plan of cases: 2 is 0 and must be"),
    ("records.jsonl", b"{}\n", "records.jsonl is damaged in line 1 (it has no task)"),
]
BAD_VALUES = [
    ("summary.json", "x", DEEP, "it is nested deeper than 32 levels"),
    ("summary.json", FIGURE, True, "Single-Tool.value is true and must be a number"),
    ("summary.json", FIGURE, 1e308, "value is 1e+308 and must be 1e+15 or less"),
    ("summary.json", FIGURE, 10**399, "must be a number"),
    ("summary.json", "tasks/wild/passed", "4", 'wild.passed is "4" and must be an integer'),
    ("summary.json", "tasks/wild", {}, "summary.json cannot be read: it has no tasks.wild."),
    ("summary.json", "run/data", {}, "run.data has no mmau."),
    ("summary.json", "usage/usd", float("inf"), "usage.usd is null and must be a number"),
    ("run.json", "started", 1e15, "started is 1000000000000000.0 and must be"),
    ("run.json", "rescore", "a\0b", 'rescore is "a\\u0000b" and must be without NUL'),
    ("run.json", "settings", None, "settings is null and must be an object"),
    ("run.json", "settings", [], "settings is a list and must be an object"),
    pytest.param(
        *("run.json", "settings/gates", [[]], "settings.gates.0 is a list and must be a string"),
        marks=pytest.mark.uses("gates"),
    ),
    pytest.param(
        *("run.json", "settings/batch", "yes", 'settings.batch is "yes" and must be true or false'),
        marks=pytest.mark.uses("batch"),
    ),
    ("run.json", "settings/agent", {"name": "a", "text": 1}, "settings.agent.text is 1 and must be a string"),
]
BAD_RECORDS = [
    ({"finished": 1e308}, "finished is 1e+308 and must be"),
    ({"finished": float("nan")}, "finished is NaN and must be a finite number"),
    ({"status": ["passed"]}, "status is a list and must be"),
    ({"score": 3}, "score is 3 and must be"),
    ({"task": "../../wild"}, 'task is "../../wild" and must be a name without a slash'),
    ({"attempt": True}, "attempt is true and must be an integer"),
]


def refused(run: Path, whole: Path, sentence: str, capsys) -> None:
    for words in (("compare", whole, run), ("merge", run.parent / "out", whole, run)):
        status, told = said(capsys, *words)
        assert status == 4
        assert sentence in told
        assert str(run) in told
    with pytest.raises(UsageProblem, match=re.escape(sentence)):
        read_run(run)


@pytest.mark.parametrize(("file", "content", "sentence"), BAD_JSON)
def test_a_file_that_cannot_be_read_is_named_in_one_sentence(run, whole, file, content, sentence, capsys):
    (run / file).write_bytes(content)
    refused(run, whole, sentence, capsys)


SHOWN = b'{"models": {"": {"name": "m", "sees": %s, "why": ""}}, "pictures": {"gta_atomic": {"cases": 2, "role": %s}}}'


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("vision.json", b'{"models": 3}', "vision.json cannot be read: models is 3 and must be"),
        ("vision.json", SHOWN % (b'"a"', b'""'), 'sees is "a" and must be'),
        ("vision.json", SHOWN % (b"false", b'"judge"'), "must be an object whose models have the role 'judge'"),
        ("models.json", b'{"": 3}', "models.json cannot be read: "),
    ],
)
def test_what_only_a_run_reads_is_checked_too(run, file, content, sentence):
    (run / file).write_bytes(content)
    with pytest.raises(UsageProblem, match=re.escape(sentence)):
        RunFolder(run).read_json(file)


@pytest.mark.parametrize(("role", "reads"), [("", True), ("judge", False)])
def test_what_a_run_knew_of_its_models_eyes_is_checked(run, role, reads):
    vision = json.loads(SHOWN % (b"false", json.dumps(role).encode()))
    write(run / "vision.json", json.dumps(vision))
    edited(run, "run.json", "settings/vision", vision)
    for file in ("vision.json", "run.json"):
        with contextlib.nullcontext() if reads else pytest.raises(UsageProblem, match="have the role 'judge'"):
            RunFolder(run).read_json(file)


def test_a_damaged_list_of_model_names_is_as_none(run):
    for content in (b"", b"[3]", b'{"": 3}', b'{"": "m"}'):
        (run / "models.json").write_bytes(content)
        assert reported_names(run) == ({"": "m"} if content.endswith(b'"m"}') else {})


@pytest.mark.parametrize(("file", "way", "value", "sentence"), BAD_VALUES)
def test_a_wrong_value_is_named_in_one_sentence(run, whole, file, way, value, sentence, capsys):
    refused(edited(run, file, way, value), whole, sentence, capsys)


@pytest.mark.parametrize(("changed", "sentence"), BAD_RECORDS)
def test_a_wrong_value_of_a_record_is_named_with_its_line(run, whole, changed, sentence, capsys):
    refused(edited_record(run, 2, **changed), whole, f"records.jsonl is damaged in line 3 ({sentence}", capsys)


@pytest.mark.parametrize("file", ["run.json", "summary.json", "planned.json", "records.jsonl"])
def test_a_folder_in_the_place_of_a_file_is_named(run, whole, file, capsys):
    (run / file).unlink()
    (run / file).mkdir()
    refused(run, whole, f"{file} is not a plain file; move it away", capsys)


@pytest.mark.uses("page")
def test_a_damaged_record_takes_no_other_with_it(run, capsys):
    edited_record(run, 2, finished=1e308)
    assert said(capsys, "report", run, "--html")[0] == 1
    page = (run / "report.html").read_text()
    samples = [json.loads(line)["sample"] for line in (run / "records.jsonl").read_text().splitlines()]
    assert all(f'"{sample}"' in page for sample in samples)


def test_figures_that_are_no_numbers_have_no_value(run):
    edited(run, "summary.json", FIGURE, float("nan"))
    assert read_run(run).metrics["wild.Single-Tool"].value is None


@pytest.mark.uses("view")
def test_a_run_that_is_made_up_takes_no_other_from_the_list(whole, tmp_path):
    from agentgauge_reports.view.runs import Runs

    runs = tmp_path / "runs"
    for name in ("good", "figure", "live", b"not utf-8 \xff".decode("utf-8", "surrogateescape")):
        shutil.copytree(whole, runs / name)
    edited(runs / "figure", "summary.json", FIGURE, True)
    edited(runs / "live", "run.json", "finished", None)
    edited_record(runs / "live", 0, transcript=None, finished=1e308)
    told = {entry["name"]: entry for entry in json.loads(json.dumps(Runs(runs, INSTALLED).list(), allow_nan=False))}
    assert {name: bool(entry["problem"]) for name, entry in told.items()} == {
        "good": False, "figure": True, "live": False, "not utf-8 \\udcff": True,
    }  # fmt: skip
    assert "is not UTF-8; rename it" in told["not utf-8 \\udcff"]["problem"]
    live = LiveRun(runs / "live")
    live.read(0.0)
    assert sum(json.loads(json.dumps(live.state(), allow_nan=False))["counts"].values()) == 7


@pytest.mark.parametrize(
    "words", [("compare",), ("report", "--items"), ("report", "--table=md"), ("report", "--table=json")]
)
def test_no_text_of_a_run_steers_the_terminal(run, whole, words, capsys):
    edited(run, "summary.json", "run/model", f"m{ESCAPES}")
    edited(run, "summary.json", "run/prompts", {f"p{ESCAPES}": "1"})
    edited_record(run, -1, sample=f"s{ESCAPES}")
    status, told = said(capsys, *words, run, *([whole] if words == ("compare",) else []))
    assert status == 0, told
    if words[-1] == "--table=json":
        assert any(ESCAPES in row["model"] for table in json.loads(told) for row in table["rows"])


@pytest.mark.parametrize("name", ["m\n# H", "<img src=x>", "![p](http://127.0.0.1/p)", "[l](javascript:f())"])
def test_no_name_of_a_run_is_markup_in_tables(run, name, capsys):
    edited(run, "summary.json", "run/model", name)
    columns = json.loads((run / "summary.json").read_text())["tasks"]["wild"]["breakdowns"][0] | {"title": name}
    edited(run, "summary.json", "tasks/wild/breakdowns", [columns])
    status, told = said(capsys, "report", run, "--table", "md")
    pages = [told, leaderboard(json.loads((run / "summary.json").read_text()), INSTALLED)]
    assert status == 0
    assert not any(re.search(r"^# H|<img|\]\(http|\]\(j", page, re.MULTILINE) for page in pages)


@pytest.mark.uses("formats")
def test_a_call_of_an_odd_form_is_no_traceback(run, capsys):
    said_before = json.loads((run / "records.jsonl").read_text().splitlines()[0])["transcript"]
    event = {"kind": "tool", "name": "t", "start": 1.0, "seconds": 1.0, "detail": {"result": "a text"}}
    edited_record(run, 0, transcript=said_before | {"events": [event]})
    status, told = said(capsys, "report", run, "--format", "csv", "--output", run.parent / "csv")
    assert status == 0 and "1 case cannot be shown in this report" in told
    with pytest.raises(UsageProblem, match=r"cannot be read: .* run this case again with --resume"):
        list(read_run(run).calls)


def test_a_message_of_a_run_steers_no_terminal(run, capsys):
    edited(run, "summary.json", "tasks", {ESCAPES: {}})
    status, told = said(capsys, "report", run, "--items")
    assert status == 4 and "␛[31mred" in told


@pytest.mark.parametrize(("model", "size"), [("x" * 5_000, 200), ("é" * 5_000, 200), ("gpt-4o", 6)])
def test_a_long_name_of_a_model_fits_the_name_of_a_folder(model, size):
    assert len(file_name(model).encode()) == size


LINES = [b"1\n", b"x" * 50 + b"\n", b"2\n", b"y" * 50, b"\n", b"3\x85 4\n", b"z" * 200]


def test_lines_have_a_bound(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "LONGEST", 20)
    (tmp_path / "lines").write_bytes(b"".join(LINES))
    with files.open_plain(tmp_path / "lines") as stream:
        found = [(line.number, line.start, line.size, line.is_whole, line.kept) for line in files.lines(stream)]
    assert found == [
        (1, 0, 2, True, b"1\n"),
        (2, 2, 51, True, None),
        (3, 53, 2, True, b"2\n"),
        (4, 55, 51, True, None),
        (5, 106, 5, True, b"3\x85 4\n"),
        (6, 111, 200, False, None),
    ]


def test_a_long_line_takes_no_memory(run):
    file = run / "records.jsonl"
    size = file.stat().st_size
    with file.open("ab") as stream:
        stream.truncate(size + 6 * files.LONGEST)
        stream.seek(0, 2)
        stream.write(b"\n")
    tracemalloc.start()
    problems: list[str] = []
    count = len(list(RunFolder(run).outlines(problems)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8
    assert "is damaged in line 9 (it is longer than 64 MB)" in problems[0]
    assert peak < 3 * files.LONGEST


def test_a_compressed_transcript_is_bounded(run):
    frame = zstandard.ZstdCompressor().compress(b" " * (files.LONGEST + 1))
    record = json.loads((run / "records.jsonl").read_text().splitlines()[0])
    said = {key: value for key, value in record["transcript"].items() if key not in ("output", "events")}
    edited_record(run, 0, transcript={**said, "zstd": base64.b64encode(frame).decode()})
    with pytest.raises(ValueError, match="a compressed transcript is longer than 64 MB"):
        decoded((run / "records.jsonl").read_bytes().splitlines()[0])


# -- the fuzzer


def readers(run: Path, other: Path, out: Path, capsys) -> Iterator[Callable[[], object]]:
    """What reads a run folder; none may raise. The first ones are quick."""
    if find_spec("agentgauge_reports.view.plugin"):
        from agentgauge_reports.view.runs import Runs

        yield lambda: json.dumps(Runs(run.parent, INSTALLED).list(), allow_nan=False)

    def live() -> None:
        state = LiveRun(run)
        state.read(0.0)
        json.dumps(state.state(), allow_nan=False)

    def python() -> None:
        with contextlib.suppress(UsageProblem):
            found = read_run(run)
            assert [*found.metrics, *found.samples, *found.calls]

    yield live
    yield python
    command = partial(said, capsys)
    for words in (
        ("compare", other, run),
        ("report", run, "--items"),
        ("report", run, "--table", "md"),
        *([("report", run, "--html", out / "page.html", "--embed")] if "page" in PLUGINS else []),
        ("report", run, "--format", "wild", "--output", out / "wild"),
        ("merge", out / "merged", run, other),
        *([("report", run, "--allure", out / "allure")] if "allure" in PLUGINS else []),
        ("report", run, "--table", "csv"),
        ("compare", run, other, "--format", "html", "--output", out / "c.html"),
        ("report", run, "--items", "--json"),
        *(("report", run, "--format", name, "--output", out / name) for name in FORMATS),
    ):
        yield partial(command, *words)


QUICK = 5


def _read_changed(seed: int, whole: Path, tmp_path: Path, capsys, *, every: bool) -> None:
    place = tmp_path / str(seed)
    run = shutil.copytree(whole, place / "runs" / "run")
    told = change(run, random.Random(seed))
    (place / "out").mkdir()
    for number, read in enumerate(readers(run, whole, place / "out", capsys)):
        if every or number < QUICK or number % 14 == seed % 14:
            try:
                read()
            except Exception as error:
                raise AssertionError(f"seed {seed} ({told}), reader {number}: {error!r}") from error
    shutil.rmtree(place)


def test_no_change_of_a_run_folder_ends_a_reader_with_a_traceback(whole, tmp_path, capsys):
    for seed in (*range(40), 1_750):  # the last one names a task in planned.json that no other file knows
        _read_changed(seed, whole, tmp_path, capsys, every=False)
    _read_changed(1_885, whole, tmp_path, capsys, every=True)  # a step of a prediction becomes a text
    _read_changed(1_968, whole, tmp_path, capsys, every=True)  # an end of pass@k's interval has another name


@pytest.mark.long
def test_no_change_at_all_does(whole, tmp_path, capsys):
    for seed in range(1_000, 2_500):
        _read_changed(seed, whole, tmp_path, capsys, every=True)
