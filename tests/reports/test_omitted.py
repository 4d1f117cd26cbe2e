"""No record keeps the others from being shown: a case whose part of a report fails says so in its place."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from agentgauge_reports.items import items
from agentgauge_reports.load import Omitted, load_run

from agentgauge.cli.main import main
from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Event
from tests.plugin.toy import toy
from tests.reports.runs import chunks, known, record, write_run

DEEP = 900
"""Levels that can be written from one depth of the call stack, and not read from another."""


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def artifacts(output, score, scoring):
    """Those of one case cannot be made, whatever the reason."""
    if output == "bad":
        raise LookupError("no artifact")
    if output == "full":
        raise OSError(28, "No space left on device")
    return ()


REFUSING = toy(shown={"artifacts": artifacts})
TASKS = known(REFUSING)


TALK = Event("model", "m", 1.0, 0.5, {"messages": [{"role": "user", "content": "hello"}], "reply": "hi"})


@pytest.fixture(params=["page part", "deep", "damaged frame", "half a record"])
def run(request, tmp_path) -> Path:
    """Three cases, the second of which cannot be shown."""
    bad = record(1, output="bad", events=[TALK])
    made = write_run(tmp_path / "run", [record(0, events=[TALK]), bad, record(2, events=[TALK])])
    about = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(json.dumps({**about, "configs": {}}))
    file = made / "records.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    if request.param == "deep":  # what was said of an older version
        lines[1] = lines[1].replace('"output":"bad"', f'"output":{nested(DEEP * 100)}')
    elif request.param == "damaged frame":
        begin = lines[1].index('"output":')
        lines[1] = lines[1][:begin] + '"zstd":"AAAA"}}\n'
    elif request.param == "half a record":
        lines[1] = lines[1][:60] + "\n"
    file.write_text("".join(lines))
    return made


@pytest.mark.uses("page")
def test_the_page_shows_the_other_cases_and_says_why_it_does_not_show_one(run, capsys, request, installed):
    installed(REFUSING)
    page = run / "report.html"
    status = main(["report", str(run), "--html"])
    told = [case["said"] for chunk in chunks(page) for case in chunk]
    assert len(told) == 3
    assert "steps" in told[0] and "steps" in told[2]
    err = capsys.readouterr().err
    if "half a record" in request.node.name:  # it is as if it had not been attempted
        assert (told[1], status) == ({}, 1)
        assert "records.jsonl is damaged in line 2" in err and f"--resume={run}" in err
    else:
        assert told[1]["unshown"].startswith("This case cannot be shown here (")
        assert (status, err.count("\n")) == (0, 1)
        assert "1 case cannot be shown in this report, the first of them toy.say s1 (" in err


@pytest.mark.uses("allure", "formats")
def test_allure_results_and_a_log_have_the_other_cases_too(run, tmp_path, request):
    from agentgauge_reports.allure.results import write_run as write_allure
    from agentgauge_reports.formats import evallog

    omitted = Omitted()
    assert write_allure(run, tmp_path / "allure", tasks=TASKS, omitted=omitted) == 3
    found = [json.loads(file.read_text()) for file in (tmp_path / "allure").glob("*-result.json")]
    by_name = {one["name"].partition(":")[0]: one for one in found}
    assert len(by_name) == 3 and "steps" in by_name["s0"] and len(omitted.sentences("x")) == 1
    log = Omitted()
    archive = zipfile.ZipFile(*evallog.write(run, tmp_path / "run.eval", log, TASKS))
    names = [name for name in archive.namelist() if name.startswith("samples/")]
    if "half a record" in request.node.name:
        assert by_name["s1"]["status"] == "skipped"
        assert len(names) == 2 and log.problems
        return
    assert len(names) == 3
    if "page part" in request.node.name:
        assert by_name["s1"]["statusDetails"]["message"] == (
            "This case cannot be shown here (LookupError: no artifact); its record is in records.jsonl."
        )
        return  # a log has no artifacts
    told = json.loads(archive.read("samples/toy.say/s1_epoch_1.json"))
    assert told["metadata"]["unshown"].startswith("This case cannot be shown here (")
    assert sum("cannot be shown" in sentence for sentence in log.sentences("x")) == 1


def test_tables_over_runs_pass_over_a_damaged_record(run, request):
    text = items([run], tasks=TASKS)
    assert ("is damaged in line 2" in text) == ("half a record" in request.node.name)
    assert "3 samples over 1 run of models" in text
    if "half a record" in request.node.name:
        with pytest.raises(UsageProblem, match="is damaged in line 2"):
            load_run(run, tasks=TASKS)


@pytest.mark.uses("page")
def test_records_of_unknown_tasks_are_not_shown(tmp_path):
    from agentgauge_reports.page.page import write_page

    run = write_run(tmp_path / "run", [record(0), record(1)])
    file = run / "records.jsonl"
    known = file.read_text()
    file.write_text(known + known.splitlines()[0].replace("toy.say", "toy.gone") + "\n")
    write_page(run, run / "report.html", tasks=TASKS)
    assert [case.sample for case in load_run(run, tasks=TASKS).cases] == ["s0", "s1"]


@pytest.mark.uses("page")
def test_a_full_disk_is_no_fault_of_a_case(tmp_path):
    from agentgauge_reports.page.page import write_page

    run = write_run(tmp_path / "run", [record(0), record(1, output="full")])
    with pytest.raises(OSError, match="No space"):
        write_page(run, run / "report.html", tasks=TASKS)
