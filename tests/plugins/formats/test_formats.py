"""A run in tables and the command that writes the formats."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest
from agentgauge_reports.formats.known import FORMATS, encoded, writer
from agentgauge_reports.load import Omitted
from agentgauge_reports.tables import rows as table_rows

from agentgauge.cli.main import main
from agentgauge.core.published import Published
from agentgauge.core.types import Event
from tests.packages import absent
from tests.plugin.toy import toy
from tests.reports.runs import INSTALLED, known, mostly_broken_run, page_data, record, write_run

HOSTILE = Event("tool", "OCR", 1.0, 0.5, {"arguments": {"a": 1}, "result": [{"type": "text", "content": "=1+\ud800"}]})


ROW = {"edition": "of 50% & more", "model": "other_model", "Acc": 50.0}
TOLD = toy(published=Published(dialects=("native",), rows=[ROW]))
"""With published rows, beside which a run of the bundled data may not stand."""
TASKS = known(TOLD)


@pytest.fixture(autouse=True)
def is_installed(installed) -> None:
    installed(TOLD)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    cases = [record(0, events=[HOSTILE]), record(1, passed=False)]
    return write_run(tmp_path / "run", [*cases, *(replace(case, attempt=2) for case in cases)], model="my_model")


def test_csv_has_a_file_each(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--format", "csv", "--output", str(tmp_path / "out")]) == 0
    files = [Path(line) for line in capsys.readouterr().out.split()]
    assert [file.name for file in files] == ["samples.csv", "calls.csv", "metrics.csv"]
    samples, calls, metrics = ([*csv.DictReader(io.StringIO(file.read_text()))] for file in files)
    assert [(row["sample"], row["attempt"], row["passed"], row["labels"]) for row in samples] == [
        ("s0", "1", "True", "[]"),
        ("s1", "1", "False", '["wrong_answer"]'),
        ("s0", "2", "True", "[]"),
        ("s1", "2", "False", '["wrong_answer"]'),
    ]
    assert [row["output"] for row in calls] == ['"=1+?"'] * 2  # no spreadsheet takes it for a formula
    assert [(row["key"], row["value"], row["n"], float(row["low"]) < 50) for row in metrics[:1]] == [
        ("toy.say.Acc", "50.0", "2", True)
    ]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("x\r=cmd|' /C calc'!A0", '"""x\\r=cmd|\' /C calc\'!A0"""'),
        ("a\r\nb", '"""a\\r\\nb"""'),
        ("-1+1", '"""-1+1"""'),
        ("-1.50", "-1.50"),
        ("a\nb", '"a\nb"'),
    ],
)
def test_csv_is_safe_in_a_spreadsheet(text: str, cell: str, tmp_path: Path) -> None:
    said = Event("tool", "OCR", 1.0, 0.5, {"arguments": {}, "result": [{"type": "text", "content": text}]})
    run = write_run(tmp_path / "run", [record(0, events=[said])], model=text)
    _, calls, _ = writer("csv")(run, tmp_path / "out", Omitted(), TASKS)
    assert f",{cell},".encode() in calls.read_bytes()
    assert f",{cell}," in table_rows(run, "csv", tasks=TASKS)


def test_parquet_has_the_same_with_types(run: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    files = writer("parquet")(run, tmp_path / "out", Omitted(), TASKS)
    samples, calls, metrics = map(polars.read_parquet, files)
    assert samples["passed"].to_list() == [True, False, True, False]
    assert calls["output"].to_list() == ["=1+?"] * 2
    assert {"value", "low", "high", "n", "broken"} <= set(metrics.columns)
    assert metrics.filter(polars.col("name") == "pass@2")["value"].to_list() == [50]


def test_parquet_without_its_package(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    absent(monkeypatch, "polars")
    assert main(["report", str(run), "--format", "parquet", "--output", str(tmp_path / "out")]) == 4
    assert "pip install 'agentgauge[frames]'" in capsys.readouterr().err


@pytest.mark.uses("page")
def test_figures_of_a_mostly_broken_task_are_nowhere(tmp_path: Path) -> None:
    from agentgauge_reports.page.page import write_page

    run = mostly_broken_run(tmp_path / "run")
    (log,) = writer("eval")(run, tmp_path / "run.eval", Omitted(), TASKS)
    with ZipFile(log) as archive:
        (score,) = json.loads(archive.read("header.json"))["results"]["scores"]
    assert score["metrics"] == {}
    summary = json.loads((run / "summary.json").read_text())
    assert {"metrics", "pass", "breakdowns"} <= summary["tasks"]["toy.say"].keys()
    assert [
        table for table in json.loads(table_rows(run, "json", tasks=TASKS)) if "keyword" not in table["table"]
    ] == []
    (task,) = page_data(write_page(run, tmp_path / "page.html", tasks=TASKS))["tasks"]
    assert task["broken"] == 3 and task["pass"] is None


def test_json_lines_stay_lines() -> None:
    text = encoded({"a": "x\u2028y\x85z\ud800"})
    assert len(text.decode().splitlines()) == 1 and json.loads(text) == {"a": "x\u2028y\x85z?"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--format", "csv"), "--format csv needs a folder to write to; give --output DIR"),
        (("--format", "eval"), "--format eval needs a file to write to; give --output FILE.eval"),
        (("--format", "atif", "--output", "out", "--data", "x"), "formats of the original benchmarks, not with atif"),
        (("--format", "csv", "--output", "run"), "holds files already, such as"),
        (("--format", "atif", "--output", "run/run.json"), "is a file; give an empty folder"),
        (("--format", "atif", "--output", "run/run.json/x"), "cannot be made (Not a directory)"),
    ],
)
def test_what_cannot_be_written_is_told(
    run: Path, words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    assert main(["report", "run", *words]) == 4
    assert told in capsys.readouterr().err


def test_prediction_files_may_not_take_the_name_of_a_format(run: Path, installed, capsys) -> None:
    wild = INSTALLED["wild"]
    exporters = {"csv": lambda results, folder, *, model, scoring: []}
    installed(replace(wild, files=replace(wild.files, exporters=exporters)))
    assert main(["report", str(run), "--format", "csv", "--output", "out"]) == 4
    assert "the task wild has prediction files named csv" in capsys.readouterr().err


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_record_is_named_and_the_others_are_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = Event("model", "m", 1.0, 0.5, {"messages": [], "reply": "x" * 9000})
    run = write_run(tmp_path / "run", [record(0, events=[long]), record(1)])
    lines = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text(lines[0].replace('"zstd":"', '"zstd":"AAAA') + lines[1][:40] + "\n")
    output = tmp_path / ("run.eval" if name == "eval" else "out")
    assert main(["report", str(run), "--format", name, "--output", str(output)]) == 1
    told = capsys.readouterr().err
    assert "records.jsonl is damaged in line 2" in told
    assert "toy.say s0 (" in told
