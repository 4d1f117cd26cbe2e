"""Outputs that an agent has delivered earlier: good ones, odd ones and hostile ones."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.agents import AgentAnswer, AgentTask
from agentgauge.core.case import Case
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.types import Usage
from agentgauge.plugins.agents.answer import MOST
from agentgauge.plugins.agents.delivered import DeliveredAgent
from agentgauge.plugins.agents.logs import AgentLogs
from agentgauge.plugins.agents.settings import read_outputs

from .agents import NAME, TASK, Model, case

WHERE = f"{NAME}/0"


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def solve(path: Path, folder: Path, *, turns: int = 1, task: AgentTask = TASK) -> tuple[AgentAnswer, Case]:
    """The answer to the last turn, and the case."""
    _, given = read_outputs(str(path))
    one = case(folder / "run", Model())

    async def run() -> AgentAnswer:
        agent = DeliveredAgent(given.outputs, AgentLogs(folder / "logs"))
        return [await agent(one, task) for _ in range(turns)][-1]

    return asyncio.run(run()), one


def taken(one: Case) -> list[str]:
    return sorted(str(path.relative_to(one.folder)) for path in one.folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"0/final.txt": " done \n"}, "done"),
        ({"0/answer.txt": "text", "0/final.txt": "final"}, "text"),
        ({"0/answer.json": '{"content": "json"}', "0/answer.txt": "text"}, "json"),
        ({"0/final.txt": "of the sample", f"{WHERE}/final.txt": "of the task"}, "of the task"),
        ({"0/final.txt": ""}, ""),
        ({"0/files/a.md": "only a file"}, ""),
        ({"0/final.txt": b"caf\xe9"}, "caf�"),
    ],
)
def test_the_answer_is_the_first_file_that_exists(files: dict[str, str | bytes], text: str, tmp_path: Path) -> None:
    write(tmp_path / "mine", files)
    assert solve(tmp_path / "mine", tmp_path)[0].reply.text == text


def test_calls_of_functions_are_an_answer(tmp_path: Path) -> None:
    call = {"name": "book", "arguments": {"day": 3}}
    write(tmp_path / "mine", {"0/answer.json": json.dumps({"content": None, "tool_calls": [call]})})
    answer, one = solve(tmp_path / "mine", tmp_path)
    assert [(made.name, made.arguments) for made in answer.reply.tool_calls] == [("book", '{"day": 3}')]
    assert one.events[0].detail["tool_calls"] == [{"name": "book", "arguments": '{"day": 3}'}]


def test_each_turn_of_the_user_has_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "mine", {"0/final.txt": "one", "0/turn2/final.txt": "two"})
    assert solve(tmp_path / "mine", tmp_path, turns=2)[0].reply.text == "two"
    third, _ = solve(tmp_path / "mine", tmp_path, turns=3)
    assert (third.reply.text, third.was_asked) == ("", False)
    assert "nothing for turn 3" in (tmp_path / "logs" / NAME / "0-a1.log").read_text()


@pytest.mark.parametrize(
    ("files", "figures", "says"),
    [
        ({"run.json": '{"elapsed_sec": 2.5, "usd": 0.5}'}, (2.5, Usage(1, usd=0.5)), ""),
        (
            {"run.json": '{"usd": 1, "elapsed_sec": 4}', "usage.json": '{"usd": 2, "prompt_tokens": 7}'},
            (4, Usage(1, prompt_tokens=7, usd=2)),
            "",
        ),
        ({"run.json": '{"status": "ok"}'}, (0, Usage()), ""),
        ({"usage.json": '{"usd": -1}'}, (0, Usage()), "its usage.json is not used: usd must be a number from 0"),
        ({"usage.json": '{"usd": true}'}, (0, Usage()), "usd must be a number"),
        ({"usage.json": '{"usd": 1e999}'}, (0, Usage()), "its usage.json is not used"),
        ({"usage.json": "[" * 100_000}, (0, Usage()), "its usage.json is not used"),
        ({"run.json": "[]"}, (0, Usage()), "its run.json is not used: it must be an object"),
        ({"trajectory.json": "{}"}, (0, Usage()), "its trajectory.json is not used"),
    ],
)
def test_time_and_cost_are_what_the_agent_says(
    files: dict[str, str | bytes], figures: tuple[float, Usage], says: str, tmp_path: Path
) -> None:
    write(tmp_path / "mine" / "0", {"final.txt": "done", **files})
    answer, one = solve(tmp_path / "mine", tmp_path)
    assert (one.events[0].seconds, one.usage, answer.reply.usage) == (*figures, figures[1])
    log = tmp_path / "logs" / NAME / "0-a1.log"
    assert says in log.read_text() if says else not log.exists()


def test_a_trajectory_gives_the_steps(tmp_path: Path) -> None:
    steps = [{"source": "user", "message": "hi"}, {"source": "agent", "message": "hello"}]
    write(tmp_path / "mine" / "0", {"final.txt": "hello"})
    (tmp_path / "mine" / "0" / "trajectory.json").write_text(
        json.dumps({"schema_version": "ATIF-v1.2", "steps": steps})
    )
    _, one = solve(tmp_path / "mine", tmp_path)
    assert [(event.name, event.detail["reply"]) for event in one.events] == [("mine", "hello")]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("answer.json", b"[1]", "its answer.json is not an answer: it must be an object"),
        ("answer.json", b"[" * 100_000, "its answer.json is not an answer"),
        ("answer.json", b'{"content": "x", "tool_calls": [3]}', "tool_calls[0] names no function"),
        ("answer.txt", b"x" * (MOST + 1), "its answer.txt is no plain file of at most 4 MiB"),
    ],
)
def test_an_answer_that_is_none_breaks_the_case(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    write(tmp_path / "mine", {f"0/{name}": content})
    with pytest.raises(Fault) as fault:
        solve(tmp_path / "mine", tmp_path)
    assert says in str(fault.value) and fault.value.cause == "agent failed"


@pytest.mark.parametrize("linked", ["0", NAME, f"{WHERE}", "0/final.txt", f"{WHERE}/final.txt"])
def test_a_link_is_no_output(linked: str, tmp_path: Path) -> None:
    write(tmp_path / "gold", {"final.txt": "gold", "0/final.txt": "gold"})
    write(tmp_path / "mine", {"1/final.txt": "of another sample"})
    link = tmp_path / "mine" / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "gold" / ("final.txt" if linked.endswith("final.txt") else ""))
    with pytest.raises(Fault, match=r"has delivered nothing: there is no|is no plain file"):
        solve(tmp_path / "mine", tmp_path)


def test_hostile_files_are_left_where_they_are(tmp_path: Path) -> None:
    left = tmp_path / "mine" / "0" / "files"
    write(left, {"deep/report.md": "good", os.fsdecode(b"\xff.md"): "no name"})
    (left / "passwd").symlink_to("/etc/passwd")
    (left / "etc").symlink_to("/etc")
    os.mkfifo(left / "pipe")
    os.mkfifo(tmp_path / "mine" / "0" / "run.json")
    _, one = solve(tmp_path / "mine", tmp_path)
    assert taken(one) == ["files/deep/report.md"]


def test_a_folder_of_files_that_is_a_link_delivers_none(tmp_path: Path) -> None:
    write(tmp_path / "mine", {"0/final.txt": "done"})
    (tmp_path / "mine" / "0" / "files").symlink_to("/etc")
    _, one = solve(tmp_path / "mine", tmp_path)
    assert taken(one) == []


CHANGES: list[dict[str, str | bytes]] = [
    {"0/final.txt": "other"},
    {"0/files/deep/a.md": "other"},
    {"0/files/more.md": "more"},
    {"0/turn2/answer.txt": "second"},
    {"0/usage.json": "{}"},
    {f"{NAME}/1/final.txt": "of another sample"},
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_is_of_everything_that_is_read(change: dict[str, str | bytes], tmp_path: Path) -> None:
    write(tmp_path / "mine", {"0/final.txt": "done", "0/files/deep/a.md": "a"})
    before = read_outputs(str(tmp_path / "mine"))[0]
    write(tmp_path / "mine", {"pack.json": "not read", "0/work/notes.txt": "not read"})
    assert read_outputs(str(tmp_path / "mine"))[0] == before
    write(tmp_path / "mine", change)
    after = read_outputs(str(tmp_path / "mine"))[0]
    assert after.digest != before.digest and after.name == before.name == "mine"


# -- Eval packs.


def write_pack(folder: Path, **more: Any) -> Path:
    """A pack of one sample, with a file."""
    write(folder, {"0/files/deep/a.md": "a"})
    task = {
        "task_id": 0,
        "origin_prompt": ["hello"],
        "assistant_outputs": [[{"role": "assistant", "content": "done"}], [{"role": "assistant", "content": "later"}]],
        "attached_files": ["0/files/deep/a.md"],
        "full_tree": [],
        "meta": {"usd": 0.5, "elapsed_sec": 2},
    }
    whole = {key: more.pop(key) for key in ("base_dir", "schema_version") if key in more}
    (folder / "pack.json").write_text(json.dumps({"schema_version": 1, "tasks": [task | more], **whole}))
    return folder / "pack.json"


def test_a_pack_is_outputs(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "mine")
    answer, one = solve(path, tmp_path)
    assert (answer.reply.text, taken(one)) == ("done", ["files/deep/a.md"])
    assert (one.usage, one.events[0].seconds) == (Usage(1, usd=0.5), 2)
    assert not solve(path, tmp_path, turns=2)[0].was_asked
    assert read_outputs(str(path))[0].name == "mine"
    assert read_outputs(str(path.rename(tmp_path / "mine" / "manus.json")))[0].name == "manus"


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        ([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}], "a"),
        ([[{"role": "assistant", "content": "a"}, {"role": "assistant", "content": " "}]], "a"),
        ("plain", "plain"),
        ([], ""),
        (None, ""),
        ({"role": "user", "content": "a"}, ""),
    ],
)
def test_shapes_of_a_trace(outputs: Any, text: str, tmp_path: Path) -> None:
    assert solve(write_pack(tmp_path / "mine", assistant_outputs=outputs), tmp_path)[0].reply.text == text


@pytest.mark.parametrize(
    ("name", "as_file"),
    [("0/a.md", "files/a.md"), ("a.md", "files/a.md"), ("0/files/files", "files/files"), ("files/a.md", "files/a.md")],
)
def test_files_of_a_pack_are_named_as_they_were_delivered(name: str, as_file: str, tmp_path: Path) -> None:
    path = write_pack(tmp_path / "mine", attached_files=name)
    write(tmp_path / "mine", {name: "x"})
    assert taken(solve(path, tmp_path)[1]) == [as_file]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"attached_files": ["/etc/passwd"]}, 'its file "/etc/passwd" lies outside'),
        ({"attached_files": ["0/../../secret"]}, "lies outside"),
        ({"attached_files": ["0/link"]}, "is reached by a link"),
        ({"attached_files": ["0/none.md"]}, "is missing"),
        ({"attached_files": ["a\0b"]}, "lies outside"),
        ({"origin_prompt": "something else"}, 'it was asked "something else", but the sample'),
    ],
)
def test_a_pack_that_cannot_be_used_breaks_the_case(more: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = write_pack(tmp_path / "mine", **more)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "mine" / "0" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(Fault, match="the agent's outputs cannot be used") as fault:
        solve(path, tmp_path)
    assert says in str(fault.value)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"base_dir": ".."}, "base_dir is '..', which is not in the pack's own folder"),
        ({"schema_version": 2}, "schema_version"),
        ({"task_id": "seven"}, "task_id"),
    ],
)
def test_a_file_that_is_no_pack_is_refused(more: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as problem:
        read_outputs(str(write_pack(tmp_path / "mine", **more)))
    assert says in str(problem.value) and str(problem.value).startswith("--agent-outputs: ")
