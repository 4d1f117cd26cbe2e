"""Calls of deterministic tools: which are equal, which results are kept, and what a server must tell of a tool."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import CachingToolBox, ToolOutput
from tests.tools.servers import canned_server, http
from tests.tools.test_client import DOCUMENT
from tests.tools.test_faults import Running
from tool_impls.availability import served_fingerprints
from tool_impls.base import REPEATABLE
from tool_impls.registry import TOOLS
from tool_impls.server.client import ToolServerBox, server_fingerprints
from tool_impls.settings import ToolSettings

of_cache = pytest.importorskip("agentgauge.plugins.cache.cache", reason="the plugin cache is deleted")
RESULTS, Cache = of_cache.RESULTS, of_cache.Cache

COUNTED = """
import os, time
from pathlib import Path

from agentgauge.core.tools import Parameter
from agentgauge.tools import File, ToolError, tool
from tool_impls import base

shared = {"category": "logic", "variables": ("COUNT",), "concurrency": 4}

def count(*words):
    with open(os.environ["COUNT"], "a") as file:
        print(*words, file=file)

@tool(**shared, pure=True)
def Upper(word: str) -> str:
    "Writes a word large."
    count("Upper", word)
    time.sleep(0.2)
    return word.upper()

@tool(**shared)
def Drawn(word: str) -> str:
    "Is not pure."
    count("Drawn", word)
    return word

@tool(**shared, pure=True)
def Fails(word: str) -> str:
    "Refuses every word."
    count("Fails", word)
    raise ToolError("no")

@tool(**shared, pure=True)
def Note(word: str, folder: Path) -> File:
    "Writes bytes to a file."
    count("Note", word)
    (folder / "note.txt").write_bytes(word.encode() + bytes(range(256)))
    return folder / "note.txt"

class Size(base.BenchTool):
    meta = base.tool("Size", "Counts the bytes of a file.", (base.path("word"),), Parameter("int"))
    category = "logic"
    pure = True
    variables = ("COUNT",)

    def apply(self, folder, /, word):
        count("Size", word.name)
        return word.stat().st_size
"""


@contextmanager
def serving(folder: Path, code: str = COUNTED) -> Iterator[Running]:
    (folder / "counted.py").write_text(code)
    more = ("--extra", str(folder / "counted.py"), "--tools", "Upper,Drawn,Fails,Note,Size")
    running = Running(*more, XDG_CACHE_HOME=str(folder / "cache"), COUNT=str(folder / "count"))
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    folder = tmp_path_factory.mktemp("tools")
    with serving(folder) as running:
        yield running, folder / "count"


def call(url: str, kept: Path, case: Path, *calls: tuple[str, Mapping[str, Any]], at_once: bool = False) -> list[Any]:
    """The outputs of each call, or its error, in a run of its own. ``kept``: the folder of the cache."""
    case.mkdir(parents=True, exist_ok=True)

    async def run() -> list[Any]:
        box = ToolServerBox(url)
        assert isinstance(box, CachingToolBox)
        cache = Cache(kept, RESULTS, {str(case): "{RUN}"}, kept)
        box.results = cache

        async def one(name: str, arguments: Mapping[str, Any]) -> Any:
            try:
                return await box.call(name, arguments, folder=case, readable=[])
            except ToolError as error:
                return error

        try:
            if at_once:
                return await asyncio.gather(*(one(*each) for each in calls))
            return [await one(*each) for each in calls]
        finally:
            await box.close()
            cache.close()

    return asyncio.run(run())


def counted(count: Path) -> list[str]:
    """What the tools have worked on since the last call of this."""
    words = count.read_text().splitlines() if count.exists() else []
    count.write_text("")
    return words


def test_a_later_run_gets_the_result_with_its_first_seconds(server: tuple[Running, Path], tmp_path: Path) -> None:
    running, count = server
    calls = [("Upper", {"word": "a"}), ("Drawn", {"word": "b"}), ("Fails", {"word": "c"})]
    first = call(running.url, tmp_path, tmp_path / "one", *calls)
    again = call(running.url, tmp_path, tmp_path / "two", *calls)
    assert counted(count) == ["Upper a", "Drawn b", "Fails c", "Drawn b", "Fails c"]
    assert first[:2] == again[:2] == [(ToolOutput("text", "A"),), (ToolOutput("text", "b"),)]
    assert str(first[2]) == str(again[2])
    assert first[0][0].cached is None and again[0][0].cached >= 0.2 and again[1][0].cached is None


def test_produced_files_are_made_anew_under_names_that_are_free(server: tuple[Running, Path], tmp_path: Path) -> None:
    running, count = server
    note = ("Note", {"word": "x"})
    content = b"x" + bytes(range(256))
    for case, names in (("one", ["note.txt"]), ("two", ["note.txt", "note-2.txt"])):
        made = call(running.url, tmp_path, tmp_path / case, *[note] * len(names))
        paths = [Path(output.content) for (output,) in made]
        assert [path.name for path in paths] == names
        assert all(path.is_relative_to(tmp_path / case) and path.read_bytes() == content for path in paths)
    assert counted(count) == ["Note x"]


def test_files_count_by_name_and_content(server: tuple[Running, Path], tmp_path: Path) -> None:
    running, count = server
    for case, name, content in (("a", "f", "12"), ("b", "f", "12"), ("c", "f", "13"), ("d", "g", "12")):
        (tmp_path / case).mkdir()
        (tmp_path / case / name).write_text(content)
        ((output,),) = call(running.url, tmp_path, tmp_path / case, ("Size", {"word": str(tmp_path / case / name)}))
        assert output.content == "2"
    assert counted(count) == ["Size f", "Size f", "Size g"]
    (tmp_path / "secret").write_text("12")  # its content is known, and still it is not the case's
    (refused,) = call(running.url, tmp_path, tmp_path / "a", ("Size", {"word": str(tmp_path / "secret")}))
    assert "is not one of the files of this task" in str(refused)


def test_equal_calls_at_once_are_made_once(server: tuple[Running, Path], tmp_path: Path) -> None:
    running, count = server
    words = [("Upper", {"word": word}) for word in ("p", "q", "p", "p")]
    found = call(running.url, tmp_path, tmp_path / "case", *words, at_once=True)
    assert sorted(counted(count)) == ["Upper p", "Upper q"]
    assert [output.content for (output,) in found] == ["P", "Q", "P", "P"]
    assert [output.cached is None for (output,) in found] == [True, True, False, False]


def test_a_changed_tool_works_again(tmp_path: Path) -> None:
    upper = ("Upper", {"word": "w"})
    for code, expected in ((COUNTED, "W"), (COUNTED.replace("word.upper()", "word.title() + '!'"), "W!")):
        with serving(tmp_path, code) as running:
            (((output,)),) = call(running.url, tmp_path / "kept", tmp_path / "case", upper)
            assert (output.content, output.cached) == (expected, None)
            told = json.loads(running.get("/tools"))
            assert [name for name in told if REPEATABLE in told[name]] == ["Upper", "Fails", "Note", "Size"]
            assert REPEATABLE not in server_fingerprints(running.url, ["Upper"])["Upper"]


@pytest.mark.parametrize(
    "tools",
    [
        http(404),
        http(500),
        http(200, "no JSON"),
        http(200, []),
        http(200, {"Say": 3}),
        http(200, {"Say": {"version": 1}}),
        http(200, {"Say": {REPEATABLE: True}}),
    ],
    ids=["none", "error", "text", "list", "number", "silent", "no digest"],
)
def test_results_of_a_server_that_does_not_tell_are_not_kept(tmp_path: Path, tools: bytes) -> None:
    with canned_server({"/openapi.json": [http(200, DOCUMENT)], "/tools": [tools], "/Say": [http(200, '"hm"')]}) as own:
        for _ in range(2):
            call(own.url, tmp_path / "kept", tmp_path / "case", ("Say", {"word": "x"}))
    assert [request.path for request in own.requests].count("/Say") == 2
    assert not (tmp_path / "kept").exists()


def test_a_server_of_ones_own_may_tell_it(tmp_path: Path) -> None:
    answers = {"/openapi.json": [http(200, DOCUMENT)], "/Say": [http(200, '"one"'), http(200, '"two"')]}
    said = []
    for told in ("v1", "v1", "v2"):
        with canned_server({**answers, "/tools": [http(200, {"Say": {REPEATABLE: told}})]}) as own:
            ((output,),) = call(own.url, tmp_path / "kept", tmp_path / "case", ("Say", {"word": "x"}))
            said.append(output.content)
    assert said == ["one", "one", "two"]


@pytest.mark.parametrize(
    ("tables", "repeatable"),
    [({}, True), ({"speech": {"allow_download": True}}, False), ({"speech": {"url": "http://x"}}, False)],
)
def test_services_and_downloads_are_asked_each_time(tables: dict[str, Any], repeatable: bool) -> None:
    assert TOOLS["SpeechToText"].is_repeatable(ToolSettings(tables=tables)) is repeatable
    assert not TOOLS["Calculator"].is_repeatable(ToolSettings())


def test_cards_count_and_numbers_of_devices_do_not() -> None:
    found = [
        served_fingerprints(ToolSettings(), ["OCR"], {"OCR": device})["OCR"][REPEATABLE]
        for device in ("cpu", "cuda:0 (A)", "cuda:1 (A)", "cuda:0 (B)")
    ]
    assert found[1] == found[2] and len(set(found)) == 3
