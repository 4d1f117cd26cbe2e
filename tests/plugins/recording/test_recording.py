"""Cassettes: recording and replay, and files that are none or that somebody has changed."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import AgentGaugeError, ModelFault, ReplayMiss, ToolError, ToolFault, UsageProblem
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from agentgauge.core.types import Usage
from agentgauge.plugins.recording.cassette import (
    Cassette,
    RecordingModel,
    RecordingToolBox,
    ReplayModel,
    ReplayToolBox,
    begin,
    recorded_settings,
)
from agentgauge.replies.store import Replies
from tests.model.mutating import mutated, written


def _tokens(place: Path) -> dict[str, str]:
    return {str(place / "data"): "{ROOT}", str(place / "run"): "{RUN}"}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The cassette, where it is recorded, and where it is replayed."""
    here, there = tmp_path / "here", tmp_path / "the other place"
    for place in (here, there):
        (place / "data").mkdir(parents=True)
    cassette = tmp_path / "cassette.jsonl"
    begin(cassette, {"model": "m"})
    return cassette, here, there


@dataclass
class FakeModel:
    """Answers from a list; an error in it is raised."""

    answers: list[ChatReply | AgentGaugeError]
    name: str = "m"
    fingerprint: str = "f"

    async def complete(self, request: ChatRequest) -> ChatReply:
        answer = self.answers.pop(0)
        if isinstance(answer, AgentGaugeError):
            raise answer
        return answer

    async def close(self) -> None: ...


@dataclass
class FakeBox:
    """A tool that draws, one that refuses, one that breaks, one that gives back its input."""

    async def catalog(self) -> Mapping[str, Tool]:
        return {"Draw": Tool("Draw", "draws", (Parameter("image", "image"),), (Parameter("image"),))}

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        if name == "Refuse":
            raise ToolError(f"{arguments['image']} is no picture")
        if name == "Break":
            raise ToolFault("the server is gone", cause="connection")
        if name == "Same":
            return (ToolOutput("image", arguments["image"]),)
        (folder / "sub").mkdir(parents=True, exist_ok=True)
        (folder / "sub" / "out.png").write_bytes(b"\x89PNG\x00")
        return (ToolOutput("text", "done"), ToolOutput("image", str(folder / "sub" / "out.png")))

    async def close(self) -> None: ...


def _request(place: Path, turn: int = 0, text: str = "Look at", **changes: Any) -> ChatRequest:
    message = {"role": "user", "content": f"{text} `{place / 'data' / 'a.png'}`"}
    return replace(
        ChatRequest(({"role": "system", "content": "s"}, message), seed=5, case=CaseKey("toy", "1", 1, turn)), **changes
    )


def _record(cassette: Path, here: Path, *answers: ChatReply | AgentGaugeError) -> None:
    async def main() -> None:
        writer = Replies(cassette, _tokens(here))
        model = RecordingModel(FakeModel(list(answers)), writer)
        for turn, answer in enumerate(answers):
            expected = pytest.raises(type(answer)) if isinstance(answer, AgentGaugeError) else nullcontext()
            with expected:
                assert await model.complete(_request(here, turn)) == answer
        await model.close()
        writer.close()

    asyncio.run(main())


def _replay(cassette: Path, there: Path, request: ChatRequest) -> ChatReply:
    return asyncio.run(ReplayModel(Cassette(cassette, _tokens(there)), "m").complete(request))


def test_replies_come_back_with_the_paths_of_the_other_place(places: tuple[Path, Path, Path]) -> None:
    cassette, here, there = places
    arguments = json.dumps({"image": str(here / "data" / "a.png")})
    reply = ChatReply("é\u2028", (ToolCall("OCR", arguments, "c1"),), None, "tool_calls", Usage(1, 2, 3, 0.5))
    _record(cassette, here, reply, ChatReply(refusal="no"))
    moved = replace(reply, tool_calls=(ToolCall("OCR", arguments.replace(str(here), str(there)), "c1"),))
    assert _replay(cassette, there, _request(there)) == moved
    assert _replay(cassette, there, _request(there, 1)) == ChatReply(refusal="no")
    assert str(here) not in cassette.read_text()


def test_a_fault_comes_back_as_the_same_fault(places: tuple[Path, Path, Path]) -> None:
    cassette, here, there = places
    _record(cassette, here, ModelFault("the endpoint answered HTTP 500", cause="http 500"))
    with pytest.raises(ModelFault, match="HTTP 500") as fault:
        _replay(cassette, there, _request(there))
    assert fault.value.cause == "http 500"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"case": CaseKey("toy", "2")}, "toy 2, attempt 1, turn 1: nothing was recorded for it"),
        ({"case": CaseKey("toy", "1", 2)}, "toy 1, attempt 2, turn 1: nothing was recorded"),
        ({"case": CaseKey("toy", "1", 1, 4)}, "turn 5: nothing was recorded"),
        ({"text": "Read"}, "number 2 of the messages differs"),
        ({"messages": ({"role": "system", "content": "s"},)}, "there are 1 messages, and 2 were recorded"),
        ({"seed": 6}, "the settings differ"),
        ({"tools": ({"type": "function"},)}, "the tools differ"),
    ],
)
def test_a_miss_says_what_differs(places: tuple[Path, Path, Path], changes: dict[str, Any], said: str) -> None:
    cassette, here, there = places
    _record(cassette, here, ChatReply("a"))
    with pytest.raises(ReplayMiss) as miss:
        _replay(cassette, there, _request(there, **changes))
    assert said in str(miss.value) and str(cassette) in str(miss.value)


def test_the_later_recording_of_a_request_counts(places: tuple[Path, Path, Path]) -> None:
    cassette, here, there = places
    _record(cassette, here, ChatReply("old"))
    _record(cassette, here, ChatReply("new"))
    assert _replay(cassette, there, _request(there)).text == "new"


def test_tools_come_back_with_files_errors_and_faults(places: tuple[Path, Path, Path]) -> None:
    cassette, here, there = places

    async def use(box: RecordingToolBox | ReplayToolBox, place: Path) -> list[Any]:
        results: list[Any] = [await box.catalog(), await box.catalog()]
        image = str(place / "data" / "a.png")
        for name in ("Draw", "Refuse", "Break", "Same", "Draw"):
            try:
                outputs = await box.call(name, {"image": image}, folder=place / "run" / "files" / "1", readable=())
                results.append([(output.type, output.content.replace(str(place), "")) for output in outputs])
            except (ToolError, ToolFault) as error:
                results.append((type(error), str(error).replace(str(place), ""), getattr(error, "cause", None)))
        return results

    writer = Replies(cassette, _tokens(here))
    recorded = asyncio.run(use(RecordingToolBox(FakeBox(), writer), here))
    writer.close()
    replayed = asyncio.run(use(ReplayToolBox(Cassette(cassette, _tokens(there))), there))
    assert replayed == recorded
    assert recorded[2] == [("text", "done"), ("image", "/run/files/1/sub/out.png")] and recorded[4][2] == "connection"
    assert (there / "run/files/1/sub/out.png").read_bytes() == b"\x89PNG\x00"


def test_a_tool_miss_names_call_and_difference(places: tuple[Path, Path, Path]) -> None:
    cassette, here, there = places
    folder = Path("run") / "files" / "1"
    writer = Replies(cassette, _tokens(here))
    asyncio.run(RecordingToolBox(FakeBox(), writer).call("Draw", {"image": "x"}, folder=here / folder, readable=()))
    writer.close()
    box = ReplayToolBox(Cassette(cassette, _tokens(there)))
    with pytest.raises(ReplayMiss, match=r"tool call 1 \(Draw\) of \{RUN\}/files/1: the arguments differ"):
        asyncio.run(box.call("Draw", {"image": "y"}, folder=there / folder, readable=()))
    with pytest.raises(ReplayMiss, match=r"tool call 2 .*nothing was recorded"):
        asyncio.run(box.call("Draw", {"image": "x"}, folder=there / folder, readable=()))
    with pytest.raises(ReplayMiss, match="no list of tools"):
        asyncio.run(box.catalog())


def test_a_recorded_file_name_cannot_lead_out_of_the_folder(places: tuple[Path, Path, Path]) -> None:
    cassette, here, there = places
    writer = Replies(cassette, _tokens(here))
    asyncio.run(RecordingToolBox(FakeBox(), writer).call("Draw", {}, folder=here / "run", readable=()))
    writer.close()
    cassette.write_text(cassette.read_text().replace("sub/out.png", "../../evil.png"))
    with pytest.raises(ReplayMiss, match="outside of its case's folder"):
        asyncio.run(
            ReplayToolBox(Cassette(cassette, _tokens(there))).call("Draw", {}, folder=there / "run", readable=())
        )
    assert not list(there.parent.rglob("evil.png"))


def test_a_truncated_last_line_is_ignored_and_taken_off_on_the_next_recording(places: tuple[Path, Path, Path]) -> None:
    cassette, here, there = places
    _record(cassette, here, ChatReply("whole"))
    with cassette.open("a") as stream:
        stream.write('{"key": "0123')
    assert _replay(cassette, there, _request(there)).text == "whole"
    begin(cassette, {"model": "m"})
    _record(cassette, here, ChatReply("again"))
    assert _replay(cassette, there, _request(there)).text == "again"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1: this is not a cassette"),
        ('{"x": 1}\n', "line 1: this is not a cassette"),
        ('{"replies": 99}\n', "has format 99, and this version reads 1 and 2"),
        ('{"replies": 2}\n{"key": 1}\n', "line 2: this is not an exchange"),
        ('{"cassette": 1}\n{"kind": "model"}\n', "line 2: this is not an exchange"),
        ('{"cassette": 1}\n{"kind": \n{}\n', "line 2: this is not an exchange"),
    ],
)
def test_a_damaged_cassette_is_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "cassette.jsonl"
    path.write_text(content)
    with pytest.raises(UsageProblem) as problem:
        Cassette(path, {})
    assert said in str(problem.value)


def test_a_missing_cassette_and_one_of_another_model_are_refused(
    places: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(UsageProblem, match="make one with --record"):
        Cassette(tmp_path / "none", {})
    with pytest.raises(UsageProblem, match="recorded with other settings"):
        begin(places[0], {"model": "other"})
    with pytest.raises(UsageProblem, match="cannot be written"):
        begin(places[0] / "below", {"model": "m"})


def test_two_folders_need_two_placeholders() -> None:
    with pytest.raises(ValueError, match="same placeholder"):
        PathPlaceholders({"/a": "{ROOT}", "/b": "{ROOT}"})


@given(
    st.recursive(
        st.text(alphabet='ab/ `"é', max_size=12),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
def test_packing_is_undone_by_unpacking(value: Any) -> None:
    placeholders = PathPlaceholders({"/a/b": "{ROOT}", "/a": "{RUN}"})
    assert placeholders.to_paths(placeholders.to_placeholders(value)) == value


EARLIER = """{"cassette": 1, "settings": {}}
{"kind":"model","key":"wild/1/1/0","parts":{"messages":["2a309eadaf6fed13"],"tools":"4f53cda18c2baa0c","settings":"ab21d1e4d2a62867"},\
"outcome":{"reply":{"text":"","tool_calls":[{"name":"OCR","arguments":"{}","id":"call_0","flaw":"id"},\
{"name":"","arguments":"","id":"call_1","flaw":"function"}],"refusal":null,"finish_reason":"stop",\
"usage":{"requests":0,"prompt_tokens":0,"completion_tokens":0,"usd":0.0},"reasoning":"Hm."}}}
"""


def test_a_cassette_of_an_earlier_version_replays(tmp_path: Path) -> None:
    """Recorded when every request had a seed, and calls said what was made up of them."""
    (file := tmp_path / "earlier.jsonl").write_text(EARLIER)
    request = ChatRequest(({"role": "user", "content": "Hi"},), seed=7, case=CaseKey("wild", "1"))
    reply = asyncio.run(ReplayModel(Cassette(file, {}), "m").complete(request))
    assert reply == ChatReply(tool_calls=(ToolCall("OCR", "{}", "call_0"),), reasoning="Hm.")
    assert (reply.message["content"], reply.message["reasoning_content"]) == (None, "Hm.")


EARLIER_EXCHANGES = Path(__file__).parent / "earlier" / "exchanges-1.jsonl"
"""Recorded by an earlier version, in format 1, with ``_record`` and a box: an old reply, its successor, a fault, a list
of tools, four calls, and half a line."""


async def all_exchanges(cassette: Path, there: Path) -> list[Any]:
    replayed = Cassette(cassette, _tokens(there))
    model, box = ReplayModel(replayed, "m"), ReplayToolBox(replayed)
    arguments, folder = {"image": str(there / "data" / "a.png")}, there / "run" / "files" / "1"
    found: list[Any] = [await box.catalog(), await model.complete(_request(there))]
    with pytest.raises(ModelFault, match="HTTP 500"):
        await model.complete(_request(there, 1))
    found += [[output.content for output in await box.call("Draw", arguments, folder=folder, readable=())]]
    with pytest.raises(ToolError, match=r"a\.png is no picture"):
        await box.call("Refuse", arguments, folder=folder, readable=())
    with pytest.raises(ToolFault, match="the server is gone"):
        await box.call("Break", arguments, folder=folder, readable=())
    found += [[output.content for output in await box.call("Same", arguments, folder=folder, readable=())]]
    with pytest.raises(ReplayMiss, match=r"tool call 5 .*: nothing was recorded for it"):
        await box.call("Same", arguments, folder=folder, readable=())
    with pytest.raises(ReplayMiss, match="number 2 of the messages differs"):
        await model.complete(_request(there, text="Read"))
    return found


def test_cassettes_of_format_1_are_read_and_converted_where_a_recording_goes_on(
    places: tuple[Path, Path, Path],
) -> None:
    cassette, here, there = places
    before = EARLIER_EXCHANGES.read_bytes()
    cassette.write_bytes(before)
    found = asyncio.run(all_exchanges(cassette, there))
    assert found[0]["Draw"].description == "draws" and str(there) in found[1].tool_calls[0].arguments
    assert (found[1].text, found[1].usage, found[1].reasoning) == ("é\u2028", Usage(1, 2, 3, 0.5), "hm")
    assert (there / "run/files/1/sub/out.png").read_bytes() == b"\x89PNG\x00"
    assert cassette.read_bytes() == before

    (link := cassette.with_name("link")).symlink_to(cassette)
    with pytest.raises(UsageProblem, match="recorded with other settings"):
        begin(link, {"model": "other"})
    assert cassette.read_bytes() == before
    begin(link, {"model": "m"})
    assert link.is_symlink() and recorded_settings(cassette) == {"model": "m"}
    lines = [json.loads(line) for line in cassette.read_text().split("\n")[:-1]]
    assert lines[0] == {"replies": 2, "settings": {"model": "m"}} and len(lines) == 8
    assert all(list(line) == ["key", "about", "outcome"] for line in lines[1:])
    assert asyncio.run(all_exchanges(cassette, there)) == found
    _record(cassette, here, ChatReply("newer"))
    assert _replay(cassette, there, _request(there)).text == "newer"
    assert sorted(path.name for path in cassette.parent.iterdir()) == [
        *("cassette.jsonl", "here", "link", "the other place"),
    ]


def test_a_damaged_cassette_of_format_1_is_not_converted(tmp_path: Path) -> None:
    (file := tmp_path / "a.jsonl").write_text('{"cassette": 1}\n{"kind": "model"}\n')
    with pytest.raises(UsageProblem, match="line 2: this is not an exchange"):
        begin(file, {})
    assert file.read_text() == '{"cassette": 1}\n{"kind": "model"}\n'


def test_what_came_is_recorded_as_it_came(tmp_path: Path) -> None:
    begin(file := tmp_path / "new.jsonl", {})
    extra, received = (
        {"extra_content": {"signature": "s"}},
        {"content": None, "tool_calls": [{"id": None, "function": None, "type": None}]},
    )
    replies = [ChatReply(tool_calls=(ToolCall("OCR", "{}", "c", extra),)), ChatReply(received=received)]
    requests = [
        ChatRequest(({"role": "user", "content": "Hi"},), case=CaseKey("wild", "1", turn=turn)) for turn in range(2)
    ]
    recording = RecordingModel(FakeModel(list(replies)), Replies(file, {}))
    assert [asyncio.run(recording.complete(request)) for request in requests] == replies
    replay = ReplayModel(Cassette(file, {}), "m")
    assert [asyncio.run(replay.complete(request)) for request in requests] == replies


# -- changed files

ASKED = ChatRequest(({"role": "user", "content": "Hi"},), case=CaseKey("wild", "1"))
REPLY = ChatReply(
    "text",
    (ToolCall("OCR", "{}", "c", {"function": {"x": 1}}),),
    None,
    "stop",
    Usage(1, 7, 3, 0.1),
    "hm",
    extra={"a": [1]},
)


def recorded(folder: Path) -> list[dict[str, Any]]:
    """The lines of a cassette with a reply, a list of tools and a result."""
    begin(file := folder / "whole.jsonl", {})
    writer = Replies(file, {})
    box = RecordingToolBox(FakeBox(), writer)

    async def record() -> None:
        await RecordingModel(FakeModel([REPLY]), writer).complete(ASKED)
        await box.catalog()
        await box.call("Refuse", {"image": "x"}, folder=folder / "files", readable=[])

    with pytest.raises(ToolError):
        asyncio.run(record())
    return [json.loads(line) for line in file.read_text().splitlines()]


async def replayed_changed(file: Path, folder: Path) -> list[Any]:
    try:
        reader = Cassette(file, {})
    except UsageProblem as problem:
        return [problem]
    box = ReplayToolBox(reader)
    found: list[Any] = []
    for act in (
        lambda: ReplayModel(reader, "m").complete(ASKED),
        box.catalog,
        lambda: box.call("Refuse", {"image": "x"}, folder=folder / "files", readable=[]),
    ):
        try:
            found.append(await act())
        except (ReplayMiss, ToolError, ToolFault) as problem:
            found.append(problem)
    return found


def test_no_changed_line_is_an_internal_error(tmp_path: Path) -> None:
    lines = recorded(tmp_path)
    lines[3]["outcome"] = {
        "outputs": [{"type": "image", "file": "a.png", "data": "AAAA"}, {"type": "text", "content": "7"}]
    }
    whole = asyncio.run(replayed_changed(write(tmp_path, [json.dumps(line) for line in lines]), tmp_path))
    assert whole[0] == REPLY and whole[2] == (
        ToolOutput("image", str(tmp_path / "files/a.png")),
        ToolOutput("text", "7"),
    )
    for seed in range(200):
        chance = random.Random(seed)
        number = chance.choice((1, 1, 1, 2, 3))
        changed = [json.dumps(line) for line in lines]
        outcome = {**lines[number], "outcome": mutated(chance, lines[number]["outcome"])}
        changed[number] = written(outcome if chance.random() < 0.8 else mutated(chance, lines[number]))
        file = write(tmp_path, changed)
        for one in asyncio.run(replayed_changed(file, tmp_path)):
            if isinstance(one, ReplayMiss | UsageProblem):
                assert "\n" not in str(one) and len(str(one)) < 500 and "http" not in str(one), (seed, one)
            if isinstance(one, ChatReply):
                assert 0 <= one.usage.prompt_tokens <= 1e12 and isinstance(one.message, dict), seed


def write(folder: Path, lines: list[str]) -> Path:
    (file := folder / "changed.jsonl").write_text("\n".join(lines) + "\n", "utf-8", "surrogatepass")
    return file


HEADERS = [
    ("[" * 100_000, "nested too deep"),
    ('{"cassette": 1, "settings": ' + '{"a":' * 500 + "1" + "}" * 501, "nested too deep"),
    ('{"cassette": 1, "settings": {"attempts": ' + "9" * 4299 + "}}", "a number of more than 300 digits"),
    ('{"cassette": 1, "settings": {"attempts": ' + "9" * 4301 + "}}", "a number of more than 4300 digits"),
    ('{"cassette": 1, "settings": [1]}', "this is not a cassette"),
    ("\ud800", "this is not a cassette"),
    ("", "this is not a cassette"),
]


@pytest.mark.parametrize(("header", "says"), HEADERS, ids=range(len(HEADERS)))
def test_what_is_no_header(header: str, says: str, tmp_path: Path) -> None:
    (file := tmp_path / "a.jsonl").write_text(header, "utf-8", "surrogatepass")
    with pytest.raises(UsageProblem, match=f"a.jsonl, line 1: .*{says}"):
        recorded_settings(file)


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (tmp_path / "pipe", "is a pipe"),
        (Path("/dev/zero"), "is a device"),
        (tmp_path, "Is a directory"),
        (tmp_path / ("x" * 300), "File name too long"),
        (tmp_path / "a\0b", "it has a NUL"),
    ):
        with pytest.raises(UsageProblem, match=why):
            recorded_settings(path)
        with pytest.raises(UsageProblem, match=why):
            begin(path, {})


def test_a_tool_of_a_cassette_has_its_form(tmp_path: Path) -> None:
    assert (
        Tool("Draw", "draws", (Parameter("image", "image"),), (Parameter("image"),))
        == asyncio.run(replayed_changed(write(tmp_path, [json.dumps(line) for line in recorded(tmp_path)]), tmp_path))[
            1
        ]["Draw"]
    )
