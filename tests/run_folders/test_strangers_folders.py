"""Run folders of strangers: no field, text or link in them brings other files of this machine into a report."""

from __future__ import annotations

import base64
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.load import RunFiles

from agentgauge.cli.main import main
from agentgauge.core.registry import Registry

SOURCE = Path(__file__).parent / "2026-11" / "gta"
SECRET = "do not show this"
INSTALLED = Registry.installed()
MINI = {"settings": {"data": "mini"}}


@pytest.fixture
def home(tmp_path) -> Path:
    """A folder of the reader's."""
    home = tmp_path / "home"
    (home / "files").mkdir(parents=True)
    for name in ("secret.json", "files/secret.json", "dataset.json", "toolmeta.json"):
        (home / name).write_text(f'{{"secret": "{SECRET}"}}')
    return home


@pytest.fixture
def run(tmp_path) -> Path:
    return shutil.copytree(SOURCE, tmp_path / "run")


def edited(run: Path, **values: Any) -> None:
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(about | values))


def linked(run: Path, text: str, **about: Any) -> dict[str, str]:
    """The files of a text that are put into a page."""
    from agentgauge_reports.page.transcript import PageFiles

    files = PageFiles(run, MINI | about, INSTALLED, None)
    files.links("gta_atomic.e2e", [text])
    return files.embedded


@pytest.mark.uses("page")
def test_files_are_those_in_the_run_folder(run, home):
    (run / "files" / "a.json").write_text("{}")
    (run / "files" / "link.json").symlink_to(home / "secret.json")
    (run / "files" / "folder").symlink_to(home)
    (run / "files" / "circle.json").symlink_to("circle.json")
    assert linked(run, "{RUN}/files/a.json")
    for name in (
        "files/link.json",
        "files/folder/secret.json",
        "files/circle.json",
        "../home/secret.json",
        "files/\0.json",
    ):
        assert not linked(run, f"{{RUN}}/files/{name}"), name
        assert RunFiles(run, {}).find(f"{{RUN}}/files/{name}") is None
    shutil.rmtree(run / "files")
    (run / "files").symlink_to(home / "files")
    assert not linked(run, "{RUN}/files/secret.json")


@pytest.mark.parametrize("words", ["merge out run copy", "report --format gta_workflow --output out run"])
@pytest.mark.parametrize(
    ("below", "sentence"),
    [
        ("files", "is a link or lies behind one; put the folder there"),
        ("files/gta_workflow/8-a1", "is a link or lies behind one"),
        ("files/gta_workflow/8-a1/pipe", "pipe is no file, but a pipe, socket or device; remove it"),
    ],
)
def test_no_folder_behind_a_link_is_copied(run, home, below, sentence, words, capsys, monkeypatch):
    monkeypatch.chdir(run.parent)
    shutil.copytree(run, "copy")
    shutil.copytree(run / "files" / "gta_workflow", home / "gta_workflow")
    if below.endswith("pipe"):
        os.mkfifo(run / below)
    else:
        shutil.rmtree(run / below)
        (run / below).symlink_to(home)
    assert main(words.split()) == 4
    assert sentence in capsys.readouterr().err
    assert not list(Path("out").rglob("*secret*"))


@pytest.mark.uses("page")
def test_a_run_scores_no_other_folder_again_than_a_run(run, home):
    text = "See {RUN}/files/secret.json {RUN}/secret.json"
    assert not linked(run, text, rescore=str(home))
    (home / "run.json").write_text("{}")
    assert len(linked(run, text, rescore=str(home))) == 1


@pytest.mark.uses("page")
def test_data_that_only_run_json_names_is_not_shown(run, home, monkeypatch):
    from agentgauge_reports.page.transcript import PageFiles

    used = {"gta_atomic.e2e": {"folder": str(home), "official": True, "fingerprint": None}}
    files = PageFiles(run, MINI | {"data": used}, INSTALLED, None)
    assert files.links("gta_atomic.e2e", ["{ROOT}/secret.json"]) == {}
    assert f"only run.json names {home}; if that is your data set, set AGENTGAUGE_DATA={home}" in files.problem
    monkeypatch.setenv("AGENTGAUGE_DATA", str(home))
    assert linked(run, "{ROOT}/secret.json", data=used)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("--html out/page.html --embed", marks=pytest.mark.uses("page")),
        pytest.param("--allure out", marks=pytest.mark.uses("allure")),
        pytest.param("--format csv --output out/csv", marks=pytest.mark.uses("formats")),
    ],
)
def test_no_report_holds_files_of_this_machine(run, home, words, capsys, monkeypatch):
    monkeypatch.chdir(run.parent)
    paths = ["{RUN}/secret.json", "{ROOT}/secret.json", str(home / "secret.json"), "{RUN}/../home/secret.json"]
    event = {"kind": "tool", "name": "OCR", "start": 1.0, "seconds": 1.0}
    texts = [[{"type": "text", "content": f"See {path}"}, {"type": "text", "content": path}] for path in paths]
    events = [event | {"detail": {"arguments": {}, "result": result}} for result in texts]
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for line in lines:
        line["status"], said = "wrong", line["transcript"]
        said.pop("zstd", None)
        said |= {"events": events, "output": None}
    (run / "records.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    used = json.loads((run / "run.json").read_text())["data"]
    data = {name: one | {"folder": str(home), "official": True} for name, one in used.items()}
    edited(run, rescore=str(home), data=data)
    main(["report", *words.split(), str(run)])
    written = b"".join(file.read_bytes() for file in Path("out").rglob("*") if file.is_file())
    assert written, capsys.readouterr().err
    assert SECRET.encode() not in written
    assert base64.b64encode((home / "secret.json").read_bytes()) not in written
