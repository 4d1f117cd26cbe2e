"""Replacing our wording, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge.agent.react import React
from agentgauge.core.errors import UsageProblem
from bench_gta.atomic.prompts import Prompts, load_prompts


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


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="does not exist"):
        load_prompts(tmp_path / "no")


def test_our_protocol_names_every_marker() -> None:
    ours = Prompts()
    (message,) = React(ours.call_protocol, ours.parameter_description, "", "").request([], []).messages
    for marker in ("Thought:", "Action:", "Action Input:", "Response:", "Final Answer:"):
        assert marker in message["content"]
    assert "{" not in message["content"]
