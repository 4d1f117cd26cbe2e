"""The client of tool servers: which files it reads, where it puts what it gets, and what it makes of failures."""

from __future__ import annotations

import asyncio
import base64
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import AgentGaugeError, ToolError, ToolFault
from agentgauge.core.tools import OwnFiles, Parameter, Tool, ToolOutput
from tests.tools.servers import Answer, Last, canned_server, http, web_server
from tool_impls.server.app import running
from tool_impls.server.client import ToolServerBox
from tool_impls.server.command import build
from tool_impls.server.protocol import write_document
from tool_impls.settings import ToolSettings

LOOK = Tool("Look", "", (Parameter("image", "image"), Parameter("text", "word", optional=True)), (Parameter("text"),))
SAY = Tool("Say", "", (Parameter("text", "word"),), (Parameter("text"),))
PAINT = Tool("Paint", "", (), (Parameter("image"),))
FILES = Tool(
    "Files",
    "",
    (),
    (Parameter("audio"), Parameter("file", filetype="application/pdf"), Parameter("file"), Parameter("video")),
)
DOCUMENT = write_document([LOOK, SAY, PAINT, FILES])
CODED = base64.b64encode(b"bytes").decode()


def call(
    url: str, name: str, arguments: Mapping[str, Any], folder: Path, *readable: Path, times: int = 1, **options: Any
) -> Any:
    """The outputs of the last call, or the error of the first that failed."""

    async def run() -> Any:
        box = ToolServerBox(url, **{"retry_seconds": 0.5, **options})
        try:
            for _ in range(times):
                result = await box.call(name, arguments, folder=folder, readable=readable)
            return result
        except AgentGaugeError as error:
            return error
        finally:
            await box.close()

    return asyncio.run(run())


def answering(answer: Answer, *more: Answer, name: str = "Say") -> dict[str, list[Answer]]:
    return {"/openapi.json": [http(200, DOCUMENT)], f"/{name}": [answer, *more]}


# --- files it reads ------------------------------------------------------------------------------------------------


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """A case's folder, a data set, and what lies beside them."""
    for name in ("case", "data/sub", "data-private", "secret"):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        "case/own.png",
        "data/a.png",
        "data/sub/b.png",
        "data-private/c.png",
        "secret/key.png",
        "secret/d.png",
    ):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "data/link.png").symlink_to(tmp_path / "secret/key.png")
    (tmp_path / "data/inner.png").symlink_to(tmp_path / "data/sub/b.png")
    (tmp_path / "data/out").symlink_to(tmp_path / "secret")
    return {"root": tmp_path, "case": tmp_path / "case", "data": tmp_path / "data"}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("case/own.png", b"case/own.png"),
        ("data/a.png", b"data/a.png"),
        ("data/sub/../a.png", b"data/a.png"),
        ("data/inner.png", b"data/sub/b.png"),
    ],
)
@pytest.mark.parametrize("relative", [False, True])
def test_files_of_the_case_and_of_the_data_set_are_sent(
    places: dict[str, Path], path: str, content: bytes, relative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(places["root"])
    with canned_server(answering(http(200, '"ok"'), name="Look")) as server:
        image = path if relative else str(places["root"] / path)
        assert call(server.url, "Look", {"image": image}, places["case"], places["data"]) == (ToolOutput("text", "ok"),)
    assert content in server.requests[-1].body


@pytest.mark.parametrize(
    "path",
    [
        "secret/key.png",
        "data/../secret/key.png",
        "data/link.png",
        "data/out/d.png",
        "data-private/c.png",
        "../../../../etc/passwd",
        "nowhere.png",
        "data/../nowhere.png",
    ],
)
def test_other_files_are_refused_whether_they_exist_or_not(places: dict[str, Path], path: str) -> None:
    with canned_server(answering(http(200, '"ok"'), name="Look")) as server:
        error = call(server.url, "Look", {"image": str(places["root"] / path)}, places["case"], places["data"])
    assert isinstance(error, ToolError) and "is not one of the files of this task" in str(error)
    assert [request.path for request in server.requests] == ["/openapi.json"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("data/missing.png", "there is no file"),
        ("data", "IsADirectoryError"),
        ("a\0b", "ValueError"),
        (7, "TypeError"),
        (None, "TypeError"),
    ],
)
def test_what_is_no_file_is_refused(places: dict[str, Path], value: Any, told: str) -> None:
    value = str(places["root"] / value) if isinstance(value, str) else value
    with canned_server(answering(http(200, '"ok"'), name="Look")) as server:
        error = call(server.url, "Look", {"image": value}, places["case"], places["data"])
    assert isinstance(error, ToolError) and told in str(error)


# --- files it writes -----------------------------------------------------------------------------------------------


def test_pictures_are_numbered_in_the_cases_folder(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    with canned_server(answering(http(200, f'"{CODED}"'), name="Paint")) as server:
        (output,) = call(server.url, "Paint", {}, folder, times=3)
    assert output == ToolOutput("image", str(folder / "image" / "0003.png"))
    assert [path.name for path in sorted((folder / "image").iterdir())] == ["0001.png", "0002.png", "0003.png"]
    assert (folder / "image" / "0001.png").read_bytes() == b"bytes"


def test_other_files_go_to_folders_by_kind(tmp_path: Path) -> None:
    with canned_server(answering(http(200, [CODED] * 4), name="Files")) as server:
        outputs = call(server.url, "Files", {}, tmp_path)
    assert [(output.type, str(Path(output.content).relative_to(tmp_path))) for output in outputs] == [
        ("audio", "audio/0001.wav"),
        ("file", "application/0001.pdf"),
        ("file", "file/0001.bin"),
        ("video", "video/0001.mp4"),
    ]


def test_file_type_of_a_server_cannot_leave_the_folder(tmp_path: Path) -> None:
    evil = Tool("Evil", "", (), (Parameter("file", filetype="../../up/../../x"),))
    with canned_server(
        {"/openapi.json": [http(200, write_document([evil]))], "/Evil": [http(200, f'"{CODED}"')]}
    ) as server:
        (output,) = call(server.url, "Evil", {}, tmp_path / "case")
    assert Path(output.content).is_relative_to(tmp_path / "case")


# --- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "text"), [("3", "3"), ("true", "True"), ("2.5", "2.5"), ('"a"', "a"), ("null", "None")]
)
def test_results_become_text(tmp_path: Path, body: str, text: str) -> None:
    with canned_server(answering(http(200, body))) as server:
        assert call(server.url, "Say", {"word": "x"}, tmp_path) == (ToolOutput("text", text),)


def test_arguments_that_a_tool_has_not_are_refused(tmp_path: Path) -> None:
    with canned_server(answering(http(200, '"ok"'))) as server:
        error = call(server.url, "Say", {"word": "x", "loud": True}, tmp_path)
    assert isinstance(error, ToolError) and str(error) == "Say has no input 'loud'; it takes 'word'"


def test_unknown_tool_is_refused(tmp_path: Path) -> None:
    with canned_server(answering(http(200))) as server:
        error = call(server.url, "Sing", {}, tmp_path)
    assert isinstance(error, ToolError) and "known are Look, Say, Paint, Files" in str(error)


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            http(400, {"detail": "ValueError('odd')"}, "Bad Request"),
            "Bad Request.\nResponse: {'detail': \"ValueError('odd')\"}",
        ),
        (http(408, {"detail": "too slow"}, "Request Timeout"), "too slow"),
        (http(422, {"detail": [{"loc": ["body", "word"]}]}), "'loc': ['body', 'word']"),
        (http(400, "<h1>no</h1>", kind="text/html"), "<h1>no</h1>"),
    ],
)
def test_refusals_are_told_to_the_model(tmp_path: Path, answer: bytes, told: str) -> None:
    with canned_server(answering(answer)) as server:
        error = call(server.url, "Say", {"word": "x"}, tmp_path)
    assert isinstance(error, ToolError) and str(error).startswith("the call of Say failed: ") and told in str(error)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (http(500, {"detail": "search is down"}), "http 500"),
        (http(503, {"detail": "queue"}), "http 503"),
        (http(404, {"detail": "Not Found"}), "http 404"),
        (http(413, {"detail": "too large"}), "http 413"),
        (http(307, headers="Location: /elsewhere\r\n"), "http 307"),
        (http(200, "<html>"), "protocol"),
        (http(200, ""), "protocol"),
        (b"this is no HTTP\r\n\r\n", "protocol"),
        (Last(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), "connection"),
        (b"", "connection"),
    ],
)
def test_faults_of_the_server_are_not_the_models(tmp_path: Path, answer: bytes, cause: str) -> None:
    with canned_server(answering(answer)) as server:
        error = call(server.url, "Say", {"word": "x"}, tmp_path)
    assert isinstance(error, ToolFault) and error.cause == cause


@pytest.mark.parametrize("body", ['"not base64!"', "3", "null", "[]"])
def test_picture_that_is_none_is_a_fault(tmp_path: Path, body: str) -> None:
    with canned_server(answering(http(200, body), name="Paint")) as server:
        error = call(server.url, "Paint", {}, tmp_path)
    assert isinstance(error, ToolFault) and error.cause == "protocol"


@pytest.mark.parametrize("answer", [http(404), http(200, "<html>"), http(200, {"no": "paths"})])
def test_something_else_on_the_address_is_a_fault(tmp_path: Path, answer: bytes) -> None:
    with canned_server({"/openapi.json": [answer]}) as server:
        assert isinstance(call(server.url, "Say", {"word": "x"}, tmp_path), ToolFault)


def test_silence_is_a_fault_and_not_asked_again(tmp_path: Path) -> None:
    def silent(_: object) -> bytes:
        time.sleep(0.6)
        return http(200, '"late"')

    with canned_server(answering(silent)) as server:
        error = call(server.url, "Say", {"word": "x"}, tmp_path, answer_seconds=0.2)
    assert isinstance(error, ToolFault) and error.cause == "timeout"
    assert len(server.requests) == 2


def test_long_call_that_is_cut_off_is_tried_again(tmp_path: Path) -> None:
    """However long it had been running: a server that was killed may be back in a second."""

    def cut_off(_: object) -> bytes:
        time.sleep(0.3)  # longer than the client goes on trying to connect
        return b""

    with canned_server(answering(cut_off, http(200, '"back"'))) as server:
        assert call(server.url, "Say", {"word": "x"}, tmp_path, retry_seconds=0.25) == (ToolOutput("text", "back"),)
    with canned_server(answering(cut_off)) as server:
        assert isinstance(call(server.url, "Say", {"word": "x"}, tmp_path, retry_seconds=0.25), ToolFault)
    assert len(server.requests) == 1 + 3


@pytest.mark.parametrize("lost", [1, 2])
def test_lost_connection_is_tried_again(tmp_path: Path, lost: int) -> None:
    with canned_server(answering(*[b""] * lost, http(200, '"back"'))) as server:
        assert call(server.url, "Say", {"word": "x"}, tmp_path) == (ToolOutput("text", "back"),)


def test_server_that_stays_away_is_a_fault_after_a_while(tmp_path: Path) -> None:
    with canned_server({}) as server:
        pass
    start = time.monotonic()
    error = call(server.url, "Say", {"word": "x"}, tmp_path)
    assert isinstance(error, ToolFault) and error.cause == "connection" and "cannot be reached" in str(error)
    assert 0.2 < time.monotonic() - start < 2


def test_server_that_comes_back_is_found(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
    answered = threading.Event()

    async def serve_late() -> None:
        await asyncio.sleep(0.4)
        async with running(build(ToolSettings(), ["Calculator"]), ("127.0.0.1", port)):
            await asyncio.to_thread(answered.wait, 10)

    thread = threading.Thread(target=asyncio.run, args=(serve_late(),))
    thread.start()
    result = call(f"http://127.0.0.1:{port}", "Calculator", {"expression": "6*7"}, tmp_path, retry_seconds=5.0)
    answered.set()
    thread.join(10)
    assert result == (ToolOutput("text", "42"),)


def test_both_ends_together(tmp_path: Path) -> None:
    """Our client on our server, with a picture going in and another coming out; the list of tools is asked for once."""
    from PIL import Image

    (tmp_path / "data").mkdir()
    Image.new("RGB", (20, 10), "white").save(tmp_path / "data" / "in.png")

    async def run(url: str) -> Any:
        box = ToolServerBox(url + "/")
        try:
            catalog = await box.catalog()
            arguments = {"image": str(tmp_path / "data" / "in.png"), "bbox": "(2, 2, 8, 8)", "annotation": "été ✓"}
            outputs = await asyncio.gather(
                *(
                    box.call("DrawBox", arguments, folder=tmp_path / f"case{i}", readable=[tmp_path / "data"])
                    for i in range(8)
                )
            )
            return catalog, outputs
        finally:
            await box.close()

    settings = ToolSettings()
    with web_server(lambda: build(settings, ["DrawBox", "Calculator"]).application()) as url:
        catalog, outputs = asyncio.run(run(url))
    assert list(catalog) == ["DrawBox", "Calculator"] and catalog["DrawBox"].inputs[2].optional
    assert [output.content for (output,) in outputs] == [
        str(tmp_path / f"case{i}" / "image" / "0001.png") for i in range(8)
    ]
    with Image.open(outputs[0][0].content) as picture:
        assert (picture.size, picture.getpixel((2, 2)), picture.getpixel((15, 5))) == (
            (20, 10),
            (255, 0, 0),
            (255, 255, 255),
        )


@pytest.mark.parametrize(
    ("tool", "values"),
    [
        ("Say", {"word": "a\ud800b"}),
        ("Look", {"image": "data/a.png", "word": "a\ud800b"}),
        ("Look", {"image": "a\ud800b"}),
    ],
)
def test_half_a_surrogate_pair_is_refused(
    tool: str, values: dict[str, str], places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model may write one as an escape; no form can hold it."""
    monkeypatch.chdir(places["root"])
    with canned_server(answering(http(200, '"ok"'), name=tool)) as server:
        error = call(server.url, tool, values, places["case"], places["data"])
    assert isinstance(error, ToolError) and "cannot be" in str(error)


SAVING = [
    {"output_dir": "/tmp/agentgauge-evil"},
    {"output_dir": "../../.."},
    {"filename": "../evil"},
    {"filename": "/tmp/agentgauge-evil.png"},
    {"output_dir": "..", "filename": "..\\evil"},
    {"output_dir": "x" * 5000, "filename": "y" * 5000},
    {"output_dir": "a\0b", "filename": "a\0b"},
]


def test_no_path_of_a_model_leaves_the_folder_of_its_sample(tmp_path: Path) -> None:
    """The inputs that our server's DrawBox offers beyond the data set's: where to save, and under which name."""
    from PIL import Image

    Image.new("RGB", (20, 10)).save(tmp_path / "in.png")
    folder = tmp_path / "samples" / "case"
    with web_server(lambda: build(ToolSettings(), ["DrawBox"]).application()) as url:
        for saving in SAVING:
            arguments = {"image": str(tmp_path / "in.png"), "bbox": "2 2 8 8", **saving}
            result = call(url, "DrawBox", arguments, folder, tmp_path)
            assert isinstance(result, ToolError) or Path(result[0].content).is_relative_to(folder), saving
            made = [path for path in tmp_path.rglob("*") if path.is_file()]
            assert all(path.is_relative_to(folder) for path in made if path.name != "in.png"), saving
    assert not list(Path("/tmp").glob("agentgauge-evil*"))


def test_what_a_tool_says_of_its_result_comes_beside_it(tmp_path: Path) -> None:
    """From a worker process, through the header of the answer."""
    title = "\U00012000"  # cuneiform, which no usual font has
    code = f"def solution():\n    figure = plt.figure()\n    plt.title({title!r})\n    return figure"

    async def called(url: str) -> tuple[ToolOutput, ...]:
        box = ToolServerBox(url)
        try:
            return await box.call("Plot", {"command": code}, folder=tmp_path, readable=())
        finally:
            await box.close()

    with web_server(lambda: build(ToolSettings(), ["Plot"]).application()) as url:
        picture, note = asyncio.run(called(url))
    assert picture.type == "image" and Path(picture.content).is_file()
    assert note.type == "text" and note.content.endswith(f"that no font of this machine has: {title}.")


# --- calls of a project's own tests --------------------------------------------------------------------------------


async def own_call(url: str, name: str, arguments: Mapping[str, Any], folder: Path, *readable: Path) -> Any:
    """The outputs of the call, or its error."""
    box = ToolServerBox(url)
    try:
        return await box.call(name, arguments, folder=folder, readable=OwnFiles(readable))
    except AgentGaugeError as error:
        return error
    finally:
        await box.close()


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ("receipt.png", None),
        ("made.png", None),
        ("image/made.png", None),
        ("given/receipt.png", None),
        (
            "two.png",
            "image: 'two.png' names several files: {root}/given/two.png, {root}/case/image/two.png; give the path",
        ),
        (
            "other.png",
            "image: there is no file 'other.png' in {cwd}; files of this test: made.png, receipt.png, two.png",
        ),
        ("/etc/passwd", "image: '/etc/passwd' is not one of the files of this task"),
        (7, "image: 7 cannot be read as a file (TypeError)"),
    ],
)
def test_a_name_is_enough_for_a_file_of_an_own_test(tmp_path: Path, named: Any, error: str | None) -> None:
    for path in ("given/receipt.png", "given/two.png", "given/hidden.png", "case/image/made.png", "case/image/two.png"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    files = (tmp_path / "given/receipt.png", tmp_path / "given/two.png")
    with canned_server(answering(http(200, '"read"'), name="Look")) as server:
        result = asyncio.run(own_call(server.url, "Look", {"image": named}, tmp_path / "case", *files))
    if error is None:
        assert result == (ToolOutput("text", "read"),)
        assert str(named).rpartition("/")[2].encode() in server.requests[-1].body  # its content is its name
    else:
        assert str(result).startswith(error.format(root=tmp_path, cwd=Path.cwd()))


@pytest.mark.parametrize(
    ("status", "detail", "told"),
    [
        (400, "ToolError('SyntaxError: invalid syntax')", "Say: SyntaxError: invalid syntax"),
        (400, "ValueError(\"it is 'wrong'\")", "Say: ValueError: it is 'wrong'"),
        (400, "ValueError('one', 2)", "Say: ValueError('one', 2)"),
        (408, "ToolTimeout('Say did not finish')", "Say: Say did not finish"),
        (400, "Say is disabled in this run: no key", "Say: Say is disabled in this run: no key"),
        (422, [{"loc": ["body", "word"], "msg": "Field required"}], "Say: word: Field required"),
    ],
)
def test_errors_of_own_tests_are_in_plain_words(tmp_path: Path, status: int, detail: Any, told: str) -> None:
    with canned_server(answering(http(status, {"detail": detail}))) as server:
        result = asyncio.run(own_call(server.url, "Say", {"word": "x"}, tmp_path))
    assert (type(result), str(result)) == (ToolError, told)
