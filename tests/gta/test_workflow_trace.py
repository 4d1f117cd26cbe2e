"""Recorded steps, their compression, the files that they name, and prediction files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import DataProblem
from bench_gta.workflow import run
from bench_gta.workflow.trace import attached_files, compress, error_step, opening, until_error

NOTE = "Files: "


@pytest.mark.parametrize(("dialect", "role"), [("react", "user"), ("native", "system"), ("hermes", "system")])
def test_files_are_announced_by_the_user_under_react_only(dialect: str, role: str) -> None:
    assert opening("Go.", ["/d/a.csv", "/d/b.png"], note=NOTE, dialect=dialect) == [
        {"role": role, "content": "Files: `/d/a.csv`, `/d/b.png`"},
        {"role": "user", "content": "Go."},
    ]


def test_earlier_turns_have_announced_the_files() -> None:
    first = opening("One.", ["/d/a.csv"], note=NOTE, dialect="react")
    assert opening("Two.", ["/d/a.csv"], note=NOTE, dialect="react", memory=first) == [
        *first,
        {"role": "user", "content": "Two."},
    ]


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        ([], 0),
        ([[], [error_step("KeyError", "x")], ["never"]], 2),
        ([[{"role": "assistant", "content": "x"}, error_step("KeyError", "x")], []], 2),
        ([["text"], [{"meta": "error"}], [{"meta": {"type": "thought"}}]], 3),
    ],
)
def test_a_turn_that_begins_with_an_error_is_the_last(turns: Any, kept: int) -> None:
    assert until_error(turns) == turns[:kept]


def call(name: str = "OCR") -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": {}}}]}


@pytest.mark.parametrize(
    ("output", "success"),
    [
        ("all is well", True),
        ("an ERROR", False),
        ("Bad Request", False),
        ("unauthorized", False),
        ("bad reque\u017ft", True),  # in lower case the long s stays what it is, and is no s
        ("TRACEBAC\u212a", False),  # the Kelvin sign is a k in lower case
        ("\u0130NVALID", True),  # a capital I with a dot becomes two signs in lower case
        ([{"content": {"deep": ["NOT FOUND"]}}], False),
        ("errors", True),
        ("5000", True),
        ("code 500.", False),
        ("", False),
        (" ", True),
    ],
)
def test_an_output_is_read_in_lower_case(output: Any, success: bool) -> None:
    (done, *_) = compress([call(), {"role": "tool", "content": output}])
    assert done["tool_calls_summary"][0]["success"] is success


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's output folder beside files that are none of its business."""
    (tmp_path / "private.txt").write_text("not yours")
    out = tmp_path / "out"
    for name in (
        "b.wav",
        "a.csv",
        "data.csv",
        "notes",
        "site/index.html",
        ".hidden",
        ".git/config",
        "__pycache__/x.pyc",
    ):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("x")
    return out


def names(folder: Path, *steps: Any) -> list[str]:
    found = attached_files([steps], extended=True, folder=folder)
    return [path.removeprefix(f"{folder}/") for path in found]


def test_every_visible_file_is_delivered_in_order(folder: Path) -> None:
    assert names(folder) == ["a.csv", "b.wav", "data.csv", "notes", "site/index.html"]


@pytest.mark.parametrize(
    ("step", "first"),
    [
        ({"role": "tool", "content": [{"type": "audio", "content": "{out}/b.wav"}]}, "b.wav"),
        ({"role": "assistant", "content": "I wrote `site/index.html`."}, "site/index.html"),
        ({"role": "assistant", "content": "See [the page](sandbox:/mnt/data/index.html)."}, "site/index.html"),
        ({"role": "assistant", "content": "All rows are in data.csv"}, "data.csv"),
        ({"role": "assistant", "content": "Nothing of note: notes_old, xb.wav"}, "a.csv"),
    ],
)
def test_files_that_the_run_speaks_of_come_first(step: Any, first: str, folder: Path) -> None:
    content = step["content"]
    if isinstance(content, list):
        content[0]["content"] = content[0]["content"].format(out=folder)
    found = names(folder, step)
    assert found[0] == first
    assert sorted(found) == ["a.csv", "b.wav", "data.csv", "notes", "site/index.html"]


@pytest.mark.parametrize(
    "path",
    ["{above}/private.txt", "../private.txt", "{out}/../private.txt", "{out}/missing.pdf", "sandbox:/missing.pdf"],
)
def test_naming_a_file_does_not_deliver_it(path: str, folder: Path) -> None:
    step = {"role": "tool", "content": path.format(above=folder.parent, out=folder)}
    assert names(folder, step) == names(folder)


def test_links_are_not_followed(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "private.txt")
    (folder / "up").symlink_to(folder.parent, target_is_directory=True)
    assert not {"link.txt", "up/private.txt"} & set(names(folder, {"role": "tool", "content": f"{folder}/link.txt"}))


DIALOGS = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "ref"},
    {"role": "user", "content": "two"},
]
TURNS = [[{"role": "tool", "content": "o/a.png"}], [{"role": "assistant", "content": "done"}]]
SOUND = {"full_tree": [], "origin_prompt": ["q"], "assistant_outputs": [[]]}


def test_a_record_of_ours_names_its_task() -> None:
    record = run.record(DIALOGS, TURNS, [{"id": "1"}], task_id="7")
    assert (record["task_id"], record["attached_files"], record["origin_prompt"]) == ("7", ["o/a.png"], ["one", "two"])
    assert record["gold"] == [[DIALOGS[1]], []]


def test_turns_that_were_not_run_are_not_in_the_record() -> None:
    record = run.record(DIALOGS, TURNS[:1], [])
    assert (record["origin_prompt"], record["attached_files"]) == (["one"], ["o/a.png"])


def test_records_are_read_in_the_order_of_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({str(place): {**SOUND, "origin_prompt": str(place)} for place in (10, 2, 0)}))
    assert [record["origin_prompt"] for record in run.read_predictions(path)] == ["0", "2", "10"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "must hold one JSON object"),
        ('{"0": {', "is damaged"),
        ({"x": SOUND}, "the key 'x' must be a position such as '0'"),
        ({"²": SOUND}, "the key '²' must be a position"),
        ({"9" * 5000: SOUND}, "must be a position"),
        ({"1": SOUND, "01": SOUND}, "the position 1 occurs twice"),
        ({"0": []}, "record '0': must be an object, not list"),
        ({"0": {"prediction": []}}, "record '0': has no 'full_tree'"),
        ({"0": {"full_tree": [], "origin_prompt": "q"}}, "record '0': has no 'assistant_outputs'"),
        ({"0": {**SOUND, "assistant_outputs": "x"}}, "record '0', assistant_outputs: must be a list"),
        ({"0": {**SOUND, "prediction": {}}}, "record '0', prediction: must be a list"),
        ({"0": {**SOUND, "origin_prompt": None}}, "record '0', origin_prompt: must be"),
        ({"0": {**SOUND, "attached_files": 3}}, "record '0', attached_files: must be a list of paths, or one path"),
        ({"0": {**SOUND, "delivered": None}}, "record '0', delivered: must be a list of paths, or one path"),
        ({"0": {**SOUND, "delivered": [3]}}, "record '0', delivered: must be a list of paths, or one path"),
    ],
)
def test_a_damaged_file_is_told(content: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(DataProblem, match=told) as problem:
        run.read_predictions(path)
    assert str(path) in str(problem.value)
