"""Results of pure tools that are kept: when a call is worked out again, and what a bad entry or folder does."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from tests.tools.test_faults import Running, post
from tool_impls import registry
from tool_impls.base import BenchTool
from tool_impls.fingerprint import result_identity
from tool_impls.registry import OURS
from tool_impls.server.call import Answer, Call
from tool_impls.server.client import ToolServerBox
from tool_impls.server.result_cache import ResultCache
from tool_impls.server.result_store import ResultStore
from tool_impls.settings import ToolSettings

ROOT = Path(__file__).parents[2]

# --- through a server ----------------------------------------------------------------------------------------------

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
def Late(word: str) -> str:
    "Takes too long."
    count("Late", word)
    raise TimeoutError("late")

@tool(**shared, pure=True)
def Where(word: str, folder: Path) -> str:
    "Names the folder of its call."
    count("Where", word)
    return f"it lies in {folder}"

@tool(**shared, pure=True)
def Note(word: str, folder: Path) -> File:
    "Writes a text to a file."
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
NAMES = "Upper,Drawn,Fails,Late,Where,Note,Size"


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Running]:
    """A server whose cache lies in ``folder``, and whose tools note there what they work out."""
    (folder / "counted.py").write_text(COUNTED)
    extra = ("--extra", str(folder / "counted.py"), "--tools", NAMES)
    running = Running(*extra, *arguments, XDG_CACHE_HOME=str(folder / "cache"), COUNT=str(folder / "count"))
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Running]:
    with serving(place) as running:
        yield running


def times(folder: Path, *words: str) -> int:
    """How often a tool has worked out a word."""
    return (folder / "count").read_text().splitlines().count(" ".join(words))


def call(running: Running, folder: Path, *calls: tuple[str, str]) -> list[Any]:
    """The outputs, or errors, of calls of a tool with a word that are sent at once."""

    async def one(box: ToolServerBox, name: str, word: str) -> ToolOutput | Exception:
        try:
            return (await box.call(name, {"word": word}, folder=folder / "out", readable=[folder]))[0]
        except (ToolError, ToolFault) as error:
            return error

    async def every() -> list[ToolOutput | Exception]:
        box = ToolServerBox(running.url)
        try:
            return await asyncio.gather(*(one(box, *each) for each in calls))
        finally:
            await box.close()

    return asyncio.run(every())


def test_only_good_results_of_pure_tools_are_kept_for_the_next_server(server: Running, place: Path) -> None:
    (place / "a.txt").write_text("abc")
    pure = [("Upper", "a"), ("Note", "a"), ("Size", str(place / "a.txt"))]
    others = [("Drawn", "a"), ("Fails", "a"), ("Late", "a"), ("Where", "a")]
    first = call(server, place, *pure, *others)
    with serving(place) as other:
        hits = call(other, place, *pure)
        started = [task.read_text() for task in Path(f"/proc/{other.process.pid}/task").glob("*/children")]
        again = call(other, place, *others)
    assert "".join(started) == "", "a hit started a process"
    assert list(map(content, hits)) == list(map(content, first[:3]))
    assert [output.cached for output in first[:4]] == [None] * 4 and hits[0].cached >= 0.2
    assert [times(place, tool, Path(word).name) for tool, word in (*pure, *others)] == [1] * 3 + [2] * 4
    assert [isinstance(one, ToolError) for one in again] == [False, True, True, False]
    assert again[0].cached is None and again[3].cached is None


def content(output: ToolOutput) -> Any:
    """Of a file its bytes and the name that its tool gave it, without the number that tells it from the first."""
    path = Path(output.content)
    return output.content if output.type == "text" else (path.read_bytes(), path.name.replace("-2", ""))


def test_equal_calls_at_a_time_are_worked_out_once_and_counted(server: Running, place: Path) -> None:
    def counted() -> list[float]:
        lines = dict(line.rsplit(" ", 1) for line in server.get("/metrics").decode().splitlines() if "Upper" in line)
        return [float(lines.get(f'agentgauge_tool_cache_total{{found="{one}",tool="Upper"}}', 0)) for one in FOUND]

    before = counted()
    found = call(server, place, *[("Upper", "b")] * 4, ("Upper", "c"))
    assert [output.content for output in found] == ["B", "B", "B", "B", "C"]
    assert sorted(output.cached is None for output in found[:4]) == [False] * 3 + [True]
    assert (times(place, "Upper", "b"), times(place, "Upper", "c")) == (1, 1)
    assert [after - earlier for earlier, after in zip(before, counted(), strict=True)] == [3, 2]


FOUND = ("hit", "miss")


def test_a_call_that_fails_leaves_its_equals_to_be_worked_out(server: Running, place: Path) -> None:
    found = call(server, place, *[("Fails", "b")] * 3)
    assert all(isinstance(one, ToolError) for one in found) and times(place, "Fails", "b") == 3


def test_the_folder_is_the_user_s_alone_and_entries_are_data(server: Running, place: Path) -> None:
    call(server, place, ("Note", "z"))
    folder = place / "cache" / "agentgauge" / "tools"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600} and folder.stat().st_mode & 0o77 == 0
    entries = [path.read_bytes().partition(b"\n") for path in folder.iterdir()]
    assert all(json.loads(head).keys() == {"names", "raw", "seconds", "digest"} for head, _, _ in entries)
    assert b"z" + bytes(range(256)) in [body for _, _, body in entries]


def test_one_setting_switches_it_off(tmp_path: Path) -> None:
    (tmp_path / "off.toml").write_text("[tools]\ncache_mb = 0\n")
    with serving(tmp_path, "--settings", str(tmp_path / "off.toml")) as running:
        found = [*call(running, tmp_path, ("Upper", "a")), *call(running, tmp_path, ("Upper", "a"))]
        assert "tool_cache_total{" not in running.get("/metrics").decode()
    assert [output.cached for output in found] == [None, None]
    assert times(tmp_path, "Upper", "a") == 2 and not (tmp_path / "cache" / "agentgauge" / "tools").exists()


def test_a_file_of_the_server_s_folder_is_read_anew(tmp_path: Path) -> None:
    """It did not come with the call, and may change at any time."""
    (tmp_path / "data").mkdir()
    sizes = []
    with serving(tmp_path, "--files", str(tmp_path / "data")) as running:
        for text in ("a", "abc"):
            (tmp_path / "data" / "a.txt").write_text(text)
            sizes.append(post(f"{running.url}/Size", aiohttp.FormData({"word": "a.txt"})))
    assert sizes == [(200, 1), (200, 3)]


# --- the folder ----------------------------------------------------------------------------------------------------

KEYS = [f"{number:064x}" for number in range(40)]


def answer(number: int, size: int = 100) -> Answer:
    return Answer(200, bytes([number]) * size, ("a.bin", None), True, 1.5)


def kept(answer: Answer) -> Answer:
    return Answer(200, answer.body, answer.names, answer.raw, answer.seconds, cached=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content.replace(b"1.5", b"2.5"),
        lambda content: content.replace(b"a.bin", b"b.bin"),
        lambda content: b"[]\n" + content,
        lambda content: b"null\n",
        lambda content: b'{"digest": 1}\n',
        lambda content: b"\x80\x04pickled\n",
        lambda content: b"[" * 100_000,
    ],
)
def test_a_damaged_entry_is_a_miss_and_is_removed(damage: Any, tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "tools", 10**6)
    store.keep(KEYS[1], answer(1))
    assert store.find(KEYS[1]) == kept(answer(1))
    entry = tmp_path / "tools" / KEYS[1]
    entry.write_bytes(damage(entry.read_bytes()))
    assert store.find(KEYS[1]) is None and not entry.exists()
    store.keep(KEYS[1], answer(1))
    assert store.find(KEYS[1]) == kept(answer(1))


def test_an_entry_under_another_key_is_a_miss(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "tools", 10**6)
    store.keep(KEYS[1], answer(1))
    (tmp_path / "tools" / KEYS[1]).rename(tmp_path / "tools" / KEYS[2])
    assert store.find(KEYS[2]) is None


def test_no_path_of_an_entry_is_trusted(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "tools", 10**6)
    store.keep(KEYS[1], Answer(200, b"x", ("../../.bashrc", "/etc/passwd"), True))
    found = store.find(KEYS[1])
    assert found is not None and found.names == (".bashrc", "passwd")


def test_what_was_used_least_recently_goes_first(tmp_path: Path) -> None:
    """40 entries of 10 kB where 200 kB are kept; the first is used again and again."""
    store = ResultStore(tmp_path / "tools", 200_000)
    for number, key in enumerate(KEYS):
        store.keep(key, answer(number, 9_000))
        os.utime(tmp_path / "tools" / key, (number, number))
        assert store.find(KEYS[0]) is not None, number
    left = {path.name for path in (tmp_path / "tools").iterdir()}
    size = sum(path.stat().st_size for path in (tmp_path / "tools").iterdir())
    assert size <= 200_000 * 1.05 and len(left) > 10
    assert left == {KEYS[0], *KEYS[-len(left) + 1 :]}


def test_a_result_that_would_fill_the_folder_is_not_kept(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "tools", 200_000)
    store.keep(KEYS[1], answer(1, 20_000))
    assert store.find(KEYS[1]) is None


def test_what_a_killed_server_left_half_written_goes_in_the_end(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir(mode=0o700)
    (tmp_path / "tools" / f".{KEYS[1]}-abc").write_bytes(bytes(150_000))
    os.utime(tmp_path / "tools" / f".{KEYS[1]}-abc", (1, 1))
    store = ResultStore(tmp_path / "tools", 200_000)
    for number, key in enumerate(KEYS[:10]):
        store.keep(key, answer(number, 9_000))
    assert sorted(path.name for path in (tmp_path / "tools").iterdir()) == KEYS[:10]


def test_several_servers_share_the_folder(tmp_path: Path) -> None:
    """Four at once, with less room than they want: an answer that is found is always the right one."""
    wrong: list[int] = []

    def serve(seed: int) -> None:
        store, draw = ResultStore(tmp_path / "tools", 100_000), random.Random(seed)
        for _ in range(150):
            number = draw.randrange(40)
            found = store.find(KEYS[number])
            if found is None:
                store.keep(KEYS[number], answer(number, 4_000))
            elif found != kept(answer(number, 4_000)):
                wrong.append(number)

    threads = [threading.Thread(target=serve, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("kind", ["open to others", "a link", "a file"])
def test_a_folder_that_is_not_the_user_s_alone_is_not_used(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "tools"
    if kind == "a file":
        folder.write_text("")
    else:
        (tmp_path / "other").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "other") if kind == "a link" else folder.mkdir()
    if kind == "open to others":
        folder.chmod(0o770)
    store = ResultStore(folder, 10**6)
    for number in range(3):
        store.keep(KEYS[number], answer(number))
        assert store.find(KEYS[number]) is None
    (logged,) = caplog.messages
    assert str(folder) in logged and "cache_mb = 0 in [tools]" in logged


def test_a_write_that_fails_is_logged_once_and_leaves_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = ResultStore(tmp_path / "tools", 10**6)
    store.keep(KEYS[0], answer(0))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))  # as on a full disk: a file ends in the middle
    try:
        for key in KEYS[1:4]:
            store.keep(key, answer(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in (tmp_path / "tools").iterdir()] == [KEYS[0]]
    (logged,) = caplog.messages
    assert (
        "results of tools cannot be kept in" in logged
        and "raise the limit of file sizes (ulimit -f), or set cache_mb = 0" in logged
    )
    assert store.find(KEYS[0]) == kept(answer(0))


# --- what makes two calls equal -------------------------------------------------------------------------------------

SEES = Tool(
    "Sees",
    "Takes everything.",
    (
        Parameter("image", "image"),
        Parameter("text", "video", attach="file"),
        Parameter("text", "paths", optional=True, attach="files"),
        Parameter("int", "number", optional=True),
    ),
    (Parameter("text"),),
)


def call_of(folder: Path, *, image: bytes = b"i", video: bytes = b"v", name: str = "v.mp4", **changed: Any) -> Call:
    """A call whose uploads lie below ``folder``."""
    folder.mkdir()
    (folder / "content").write_bytes(image)
    (folder / name).write_bytes(video)
    (folder / "a.csv").write_bytes(changed.pop("paths_content", b"p"))
    files = {f"/runs/{folder.name}/{name}": str(folder / name), "a.csv": str(folder / "a.csv")}
    values = {"image": str(folder / "content"), "video": f"/runs/{folder.name}/{name}", "paths": "a.csv", "number": 1}
    return Call("Sees", str(folder), values | changed.pop("values", {}), files, **changed)


@pytest.mark.parametrize(
    ("changed", "equal"),
    [
        ({}, True),
        ({"image": b"j"}, False),
        ({"video": b"w"}, False),
        ({"name": "w.mp4"}, False),
        ({"paths_content": b"q"}, False),
        ({"values": {"number": 2}}, False),
        ({"values": {"number": None}}, False),
        ({"values": {"paths": "a.csv, "}}, False),
        ({"raw": True}, False),
    ],
)
def test_calls_are_equal_by_what_the_tool_sees_of_them(changed: dict[str, Any], equal: bool, tmp_path: Path) -> None:
    cache = ResultCache(ResultStore(tmp_path / "tools", 10**6), {"Sees": str}, tmp_path, lambda tool, found: None)
    runs = []

    async def run() -> Answer:
        runs.append(1)
        return Answer(200, b'"seen"')

    async def both() -> None:
        for call in (call_of(tmp_path / "one"), call_of(tmp_path / "two", **changed)):
            await cache.answer(SEES, call, run)

    asyncio.run(both())
    assert len(runs) == (1 if equal else 2)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[BenchTool]:
    """A tool in a package of its own, with an option and weights."""
    package = tmp_path / "my_pure_tools"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("BIG = 1\n")
    (package / "mine.py").write_text(
        "from pathlib import Path\n"
        "from tool_impls import base\n"
        "from tool_impls.options import Option\n"
        "class Mine(base.BenchTool):\n"
        "    meta = base.tool('Mine', 'Mine.', (), base.TEXT_OUT)\n"
        "    category = 'logic'\n"
        "    pure = True\n"
        "    options = (Option('size', 'int', 1, 'a size'),)\n"
        "    @classmethod\n"
        "    def weights(cls, settings): return (Path(__file__).parents[1] / 'weights',)\n"
        "    def apply(self, folder, /): return 'x'\n"
    )
    (tmp_path / "weights").write_bytes(b"w")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("my_pure_tools", "my_pure_tools.mine"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    kind: type[BenchTool] = import_module("my_pure_tools.mine").Mine
    monkeypatch.setitem(registry.TOOLS, "Mine", kind)
    return kind


def write(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)

    return change


@pytest.mark.parametrize(
    ("change", "changed", "differs"),
    [
        (write("other.txt", "x"), {}, False),
        (write("my_pure_tools/mine.py", "edited"), {}, True),
        (write("my_pure_tools/helper.py", "BIG = 2"), {}, True),
        (write("my_pure_tools/__pycache__/helper.pyc", "compiled"), {}, False),
        (write("weights", "v"), {}, True),
        (write("some_package-2.0.dist-info/METADATA", ""), {}, True),
        (write("other.txt", "x"), {"tables": {"Mine": {"size": 2}}}, True),
        (write("other.txt", "x"), {"tables": {"OCR": {"paragraphs": False}}}, False),
        (write("other.txt", "x"), {"cache_mb": 7}, False),
        (write("other.txt", "x"), {"disable": frozenset({"Mine"})}, True),
    ],
)
def test_a_change_of_what_results_follow_from_changes_the_identity(
    change: Callable[[Path], None], changed: dict[str, Any], differs: bool, mine: type[BenchTool], tmp_path: Path
) -> None:
    before = result_identity(ToolSettings(), "Mine", "cpu")
    assert before == result_identity(ToolSettings(), "Mine", "cpu") != result_identity(ToolSettings(), "Mine", "cuda")
    change(tmp_path)
    assert (result_identity(ToolSettings(**changed), "Mine", "cpu") != before) is differs


def test_our_own_code_is_part_of_the_identity(mine: type[BenchTool], tmp_path: Path) -> None:
    """Of a copy, whose files are changed: a tool of the package, and what tools use of agentgauge."""
    ask = (
        "import sys; sys.path.insert(0, sys.argv[1]); from tool_impls.fingerprint import result_identity;"
        "from tool_impls.settings import ToolSettings; print(result_identity(ToolSettings(), 'OCR', ''))"
    )
    copy = tmp_path / "copy"
    for package in ("agentgauge", "tool_impls"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))

    def identity() -> str:
        command = [sys.executable, "-B", "-c", ask, str(copy)]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    found = [identity(), identity()]
    for file in ("tool_impls/perception/ocr.py", "agentgauge/core/tools.py"):
        (copy / file).write_text((copy / file).read_text() + "# changed\n")
        found.append(identity())
    assert found[0] == found[1] and len(set(found)) == 3


# --- which tools are pure -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Calculator", "Solver", "Plot", "Prover", "GoogleSearch", "MathOCR", "TextToImage"])
def test_what_runs_code_searches_draws_or_asks_is_never_kept(name: str) -> None:
    assert not OURS[name].pure


@pytest.mark.parametrize(
    ("name", "tables", "expected"),
    [
        ("ImageDescription", {}, True),
        ("ImageDescription", {"vision": {"weights": "/models/some"}}, True),
        ("ImageDescription", {"vision": {"url": "http://127.0.0.1:1/v1"}}, False),
        ("ImageDescription", {"vision": {"weights": "some/name", "allow_download": True}}, False),
        ("CountGivenObject", {"vision": {"url": "http://127.0.0.1:1/v1"}}, False),
        ("TextToBbox", {"detection": {"weights": "shapes"}}, True),
        ("TextToBbox", {"detection": {"weights": "some/name", "allow_download": True}}, False),
        ("OCR", {"vision": {"url": "http://127.0.0.1:1/v1"}}, True),
        ("Plot", {}, False),
    ],
)
def test_results_of_a_service_or_of_weights_on_the_hub_are_not_kept(
    name: str, tables: dict[str, dict[str, Any]], expected: bool
) -> None:
    assert OURS[name].is_kept(ToolSettings(basic=True, tables=tables)) is expected
