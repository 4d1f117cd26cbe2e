"""GTA-Atomic's data and prompts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.react import React
from agentgauge.core.errors import DataProblem, Fault, UsageProblem
from agentgauge.core.types import ROOT_TOKEN
from bench_gta.atomic import data
from bench_gta.atomic.prompts import Prompts, load_prompts

Write = Callable[..., Path]


def test_ids_and_tags(write: Write) -> None:
    rows = data.index(write()).rows
    assert [(row.id, row.position) for row in rows] == [("3", 0), ("5", 1), ("9", 2)]
    assert rows[0].tags == ("OCR", "Calculator", "perception", "logic", "objective", "tools_2", "steps_3")
    assert rows[1].tags == ("OCR", "perception", "subjective", "tools_1", "steps_2")
    assert rows[2].tags == ("DrawBox", "operation", "image_generation", "tools_1", "steps_2")


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("image/a.png", True),
        ("./image/a.png", False),
        ("image//a.png", False),
        ("image/../image/a.png", False),
        ("image/b.png", False),
        ("image", False),
        ("", False),
        (3, False),
        (["image/a.png"], False),
        ("image/a\0.png", False),
    ],
)
def test_only_exact_paths_of_files_are_resolved(
    value: Any, resolved: bool, write: Write, samples: dict[str, Any]
) -> None:
    samples["3"]["dialogs"][1]["tool_calls"][0]["function"]["arguments"] = {"image": value}
    root = write(samples)
    index = data.index(root)
    loaded = data.resolve(data.load(index, index.rows[0], "t"), ROOT_TOKEN)
    assert loaded.dialogs[1]["tool_calls"][0]["function"]["arguments"]["image"] == (
        f"{ROOT_TOKEN}/{value}" if resolved else value
    )


def test_files_are_absolute_and_normal(write: Write, samples: dict[str, Any]) -> None:
    samples["3"]["files"][0]["path"] = "./image/a.png"
    root = write(samples)
    index = data.index(root)
    assert data.resolve(data.load(index, index.rows[0], "t")).files == [f"{root}/image/a.png"]


def change(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(samples: dict[str, Any]) -> None:
        part: Any = samples
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (change("x", to={}), "key 'x' must be an integer"),
        (change("5", to=[]), "sample '5': must be an object"),
        (change("5", "tools", to=None), "sample '5', tools: must be a list"),
        (change("5", "tools", 0, to={}), r"sample '5', tools\[0\]: must be an object with a text 'name'"),
        (change("5", "tools", 0, to={"name": "Solver"}), r"tools\[0\].name: the tool 'Solver' is not in toolmeta.json"),
        (change("5", "files", 0, "path", to=3), r"files\[0\]: must be an object with the texts"),
        (change("5", "files", 0, "path", to="image/no.png"), r"files\[0\].path: the file 'image/no.png' is missing"),
        (change("5", "files", 0, "path", to="../secret"), r"files\[0\].path: '../secret' must be a path relative"),
        (
            change("5", "files", 0, "path", to="/etc/hostname"),
            r"files\[0\].path: '/etc/hostname' must be a path relative",
        ),
        (change("5", "dialogs", 1, to="x"), r"dialogs\[1\]: must be an object with the role"),
        (change("5", "dialogs", 0, "content", to=None), r"dialogs\[0\].content: must be a string"),
        (
            change("5", "dialogs", 1, "tool_calls", 0, "function", "arguments", to="[]"),
            r"dialogs\[1\].tool_calls\[0\]: must hold a function",
        ),
        (change("5", "dialogs", 1, "tool_calls", to="x"), r"dialogs\[1\].tool_calls\[0\]: must hold a function"),
        (change("5", "dialogs", 2, "content", to=3), r"dialogs\[2\].content: must be an object with 'type'"),
        (change("5", "dialogs", 3, "content", to=None), r"dialogs\[3\]: must hold 'tool_calls' or a text"),
        (change("5", "dialogs", to=[]), "dialogs: must hold a user turn"),
        (change("5", "gt_answer", to="x"), "gt_answer: must be an object with a 'whitelist', a list of texts, or null"),
        (
            change("5", "gt_answer", to={"whitelist": ["x", "y"]}),
            "gt_answer: must hold a 'whitelist'.*this one is flat",
        ),
        (change("5", "gt_answer", to={"blacklist": []}), "gt_answer: must hold a 'whitelist'"),
        (change("5", "gt_answer", to=[1]), "gt_answer: must be"),
    ],
)
def test_damage_names_the_record_and_the_field(
    damage: Callable[[Any], None], told: str, write: Write, samples: dict[str, Any]
) -> None:
    damage(samples)
    with pytest.raises(DataProblem, match=told) as problem:
        data.index(write(samples))
    assert "\n" not in str(problem.value) and "dataset.json" in str(problem.value)


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ("[", "must hold one JSON object"),
        ({"OCR": {"name": "ocr"}}, "has the other name 'ocr'"),
        ({"OCR": {"name": "OCR", "inputs": [{"type": "picture"}]}}, "the tool 'OCR': a tool parameter must be"),
    ],
)
def test_a_damaged_toolmeta_is_told(meta: Any, told: str, write: Write) -> None:
    with pytest.raises(DataProblem, match=told):
        data.index(write(meta=meta))


def test_samples_stay_as_they_were_read(write: Write) -> None:
    root = write()
    index = data.index(root)
    before = data.load(index, index.rows[1], "t")
    (root / "dataset.json").write_text("{}")
    assert data.load(index, index.rows[1], "t") == before


def test_the_bundled_data_is_sound() -> None:
    index = data.index(Path(data.__file__).parent / "mini")
    assert len(index.rows) >= 24
    assert {"objective", "subjective", "image_generation"} <= {tag for row in index.rows for tag in row.tags}


def test_a_picture_that_is_gone_is_no_fault_of_the_model(write: Write) -> None:
    index = data.index(write())
    sample = data.load(index, index.rows[0], "gta_atomic.step")
    data.require_files(sample)
    (index.root / sample.payload["files"][0]["path"]).unlink()
    with pytest.raises(Fault, match="is missing below"):
        data.require_files(sample)


def test_a_text_of_the_users_replaces_ours_and_changes_the_version(tmp_path: Path) -> None:
    (tmp_path / "files_note.txt").write_text("Files: \n")
    prompts = load_prompts(tmp_path)
    assert prompts.files_note == "Files: "
    assert prompts.summarise == Prompts().summarise
    assert prompts.version != Prompts().version == load_prompts(None).version


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("filesnote.txt", "x", "filesnote.txt is not a prompt text; accepted are call_protocol.txt"),
        ("files_note.md", "x", "is not a prompt text"),
        ("call_protocol.txt", "{tools}", "unknown slot {tools}"),
        ("call_protocol.txt", "{thought.x}", "unknown slot"),
        ("call_protocol.txt", "{}", "unknown slot"),
        ("call_protocol.txt", "{thought!r}", "unknown slot"),
        ("call_protocol.txt", "{thought", "a literal brace is written twice"),
    ],
)
def test_unusable_texts_are_refused(name: str, text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageProblem) as problem:
        load_prompts(tmp_path)
    assert told in str(problem.value)


def test_our_protocol_names_every_marker() -> None:
    ours = Prompts()
    (message,) = React(ours.call_protocol, ours.parameter_description, "", "").request([], []).messages
    for marker in ("Thought:", "Action:", "Action Input:", "Response:", "Final Answer:"):
        assert marker in message["content"]
    assert "{" not in message["content"]
