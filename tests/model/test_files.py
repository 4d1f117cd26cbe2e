"""Files in messages, and whether a model sees pictures."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import random
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageStat

from agentgauge.core.chat import ChatRequest, LocalFile
from agentgauge.core.errors import ModelFault, ReplayMiss, UsageProblem
from agentgauge.core.pictures import flattened
from agentgauge.model.files import rendering
from agentgauge.model.files.references import LARGEST, read_file
from agentgauge.model.vision_probe import NUMBER, Sight, sees_pictures
from agentgauge.replies.store import Replies
from tests.model import fault_server as serve
from tests.model.fault_server import FaultServer, Seen, answer, status
from tests.model.files_server import FilesServer, ask, client, own, part, pdf, png, request, response, said
from tests.model.talking import spec_at, talk_to
from tests.packages import absent

pytestmark = pytest.mark.slow


def _chat(asked: ChatRequest, **table: Any) -> list[dict[str, Any]]:
    """The parts that a chat completion of this request goes out with, the first text left out."""
    with FaultServer([serve.answer()]) as server:
        ask(own(server.url, **table), asked)
    parts: list[dict[str, Any]] = server.requests[0].body["messages"][0]["content"]
    assert parts[0] == {"type": "text", "text": "Look."}
    return parts[1:]


def _inside(part: Mapping[str, Any]) -> tuple[str, bytes]:
    head, _, data = part["image_url"]["url"].partition(";base64,")
    return head.removeprefix("data:"), base64.b64decode(data)


def _saved(image: Image.Image, form: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def _noise(side: int) -> Image.Image:
    return Image.frombytes("L", (side, side), random.Random(side).randbytes(side * side))


@pytest.mark.parametrize(
    ("form", "media"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")]
)
def test_a_whole_picture_goes_inside_the_request_as_it_is_whatever_its_name_says(
    tmp_path: Path, form: str, media: str
) -> None:
    content = _saved(Image.new("RGB", (8, 8), "red"), form)
    assert [_inside(shown) for shown in _chat(request(part(tmp_path / "a.png", content)))] == [(media, content)]


_TEXT = Image.new("RGBA", (200, 60), (0, 0, 0, 0))
ImageDraw.Draw(_TEXT).text((10, 10), "Total 45", fill="white", font_size=36)
_UPSIDE_DOWN = Image.Exif()
_UPSIDE_DOWN[0x0112] = 3
SHOWN = {
    "transparent": _saved(_TEXT, "PNG"),
    "upside down": _saved(_TEXT.convert("RGB"), "JPEG", exif=_UPSIDE_DOWN),
    "16 bits": _saved(_TEXT.convert("L").convert("I").point(lambda value: value * 257).convert("I;16"), "PNG"),
    "CMYK": _saved(_TEXT.convert("RGB").convert("CMYK"), "JPEG"),
}


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (_saved(Image.new("RGBA", (9, 8), (255, 255, 255, 0)), "BMP"), (9, 8)),
        (_saved(Image.new("RGBA", (9, 8), (0, 0, 0, 0)), "TIFF"), (9, 8)),
        (
            _saved(Image.new("L", (9, 8), 255), "GIF", save_all=True, append_images=[Image.new("L", (9, 8))]),
            (9, 8),
        ),
        (_saved(Image.new("1", (9000, 90), "white"), "PNG"), (2048, 41)),
        (_saved(Image.new("L", (1200, 3)), "PNG"), (1200, 24)),
    ],
    ids=["BMP", "transparent TIFF", "moving GIF", "too wide", "too thin"],
)
def test_a_picture_that_endpoints_do_not_take_is_drawn_again(
    tmp_path: Path, content: bytes, size: tuple[int, int]
) -> None:
    ((media, drawn),) = [_inside(shown) for shown in _chat(request(part(tmp_path / "a.png", content)))]
    image = Image.open(io.BytesIO(drawn))
    assert (media, image.format, image.size, image.getpixel((0, 0))) == ("image/jpeg", "JPEG", size, (255, 255, 255))


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_is_drawn_again_as_tools_see_it_where_endpoints_might_see_another(tmp_path: Path, name: str) -> None:
    content = SHOWN[name]
    ((media, drawn),) = [_inside(shown) for shown in _chat(request(part(tmp_path / "a.png", content)))]
    seen = flattened(Image.open(io.BytesIO(content)))
    difference = ImageChops.difference(Image.open(io.BytesIO(drawn)), seen)
    assert media == "image/jpeg" and max(ImageStat.Stat(difference).mean) < 4


def test_the_pages_of_a_pdf_follow_a_line_that_counts_them(tmp_path: Path) -> None:
    line, *pages = _chat(request(part(tmp_path / "x.pdf", pdf(2), name="report.docx")))
    assert line == {"type": "text", "text": "[report.docx: 2 pages follow as images]"}
    assert [(media, Image.open(io.BytesIO(data)).size) for media, data in map(_inside, pages)] == [
        ("image/jpeg", (1000, 500))
    ] * 2


def test_the_values_of_form_fields_are_drawn(tmp_path: Path) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas")
    stream = io.BytesIO()
    form = canvas.Canvas(stream)
    form.acroForm.textfield(name="a", value="MMMMM", x=0, y=0, width=200, height=40, borderStyle="solid", borderWidth=0)
    form.drawString(0, 800, "form")
    form.save()
    _, page = _chat(request(part(tmp_path / "x.pdf", stream.getvalue())))
    drawn = Image.open(io.BytesIO(_inside(page)[1])).convert("L").crop((0, 1200, 1000, 1410))
    assert drawn.getextrema()[0] < 100


def test_pages_beyond_the_twentieth_are_left_out_and_counted(tmp_path: Path) -> None:
    line, *pages = _chat(request(part(tmp_path / "x.pdf", pdf(23))))
    assert line == {"type": "text", "text": "[x.pdf: 23 pages, of which 20 follow as images; 3 left out]"}
    assert len(pages) == 20


def test_a_pdf_goes_whole_to_an_endpoint_that_reads_them(tmp_path: Path) -> None:
    (shown,) = _chat(request(part(tmp_path / "x.pdf", pdf(), name="report.docx")), pdf="file")
    data = "data:application/pdf;base64," + base64.b64encode(pdf()).decode()
    assert shown == {"type": "file", "file": {"filename": "report.docx.pdf", "file_data": data}}


BROKEN = {
    "cut picture": ("a.png", _saved(_noise(64), "PNG")[:-2000]),
    "no picture": ("a.png", b"<svg/>"),
    "empty": ("a.png", b""),
    "no PDF": ("a.pdf", b"hello"),
    "damaged PDF": ("a.pdf", b"%PDF-1.4\n%%EOF\n"),
    "PDF without pages": ("a.pdf", pdf(0)),
}


@pytest.mark.parametrize("table", [{}, {"pdf": "file"}, {"api": "responses"}], ids=["pages", "file", "responses"])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_damaged_file_is_replaced_by_its_sentence_and_by_nothing_without_one(
    tmp_path: Path, broken: str, table: dict[str, Any]
) -> None:
    name, content = BROKEN[broken]
    asked = request(part(tmp_path / name, content, instead="It could not be shown."), part(tmp_path / name))
    with FilesServer(answers=[serve.data(serve.completion() | response(said("ok")))]) as server:
        ask(own(server.url, **table), asked)
    assert server.uploaded == []
    body = server.asked[0].body
    parts = (body.get("messages") or body["input"])[0]["content"]
    assert [shown["text"] for shown in parts] == ["Look.", "It could not be shown."]


def test_what_cannot_be_read_has_no_content(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(LARGEST + 1)
    (tmp_path / "good").write_bytes(b"1")
    found = {name: read_file(str(tmp_path / name)) for name in ("pipe", "folder", "large", "missing", "a\0b", "good")}
    assert [name for name, content in found.items() if content is not None] == ["good"]


def test_a_file_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    real = rendering.sandbox.run_async

    async def counted(*args: Any, **options: Any) -> Any:
        runs.append(options["stdin"])
        return await real(*args, **options)

    monkeypatch.setattr(rendering.sandbox, "run_async", counted)
    asked = request(
        part(tmp_path / "a.png", png(1)), part(tmp_path / "b.png", png(1)), part(tmp_path / "c.png", png(2))
    )
    with FaultServer([serve.answer()]) as server:
        ask(own(server.url), asked, asked)
    assert sorted(runs) == sorted([png(1), png(2)])


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent(monkeypatch, "PIL", "pypdfium2")
    with pytest.raises(UsageProblem, match=r"needs pillow and pypdfium2; pip install 'agentgauge\[tools\]'"):
        ask(own("http://127.0.0.1:9/v1"), request(part(tmp_path / "a.png", png())))


@pytest.mark.uses("recording")
def test_a_replay_knows_files_by_their_content(tmp_path: Path) -> None:
    from agentgauge.plugins.recording.cassette import Cassette, RecordingModel, ReplayModel, begin

    here, there, cassette = tmp_path / "here", tmp_path / "there", tmp_path / "cassette.jsonl"
    here.mkdir()
    there.mkdir()
    begin(cassette, {})

    async def record(url: str) -> None:
        model = RecordingModel(client(own(url, api="responses")), Replies(cassette, {}))
        await model.complete(request(part(here / "a.png", png(1)), part(here / "gone.png")))
        await model.close()

    def replayed(*parts: LocalFile) -> str:
        return asyncio.run(ReplayModel(Cassette(cassette, {}), "m").complete(request(*parts))).text

    with FilesServer() as server:
        asyncio.run(record(server.url))
    (here / "a.png").unlink()
    assert replayed(part(there / "other.png", png(1), name="a.png"), part(there / "gone.png")) == "ok"
    assert len(server.uploaded) == 1  # nobody was asked
    same = there / "other.png"
    for other in (
        part(there / "a.png", png(2)),
        part(same, name="b.png"),
        part(same, name="a.png", instead="x"),
        part(there / "gone.png"),
    ):
        with pytest.raises(ReplayMiss, match="number 1 of the messages differs"):
            replayed(other, part(there / "gone.png"))
    assert (
        str(here) not in cassette.read_text()
        and json.loads(cassette.read_text().splitlines()[1])["outcome"]["reply"]["text"] == "ok"
    )


# -- the probe


def probe(server: FaultServer) -> Sight:
    found = talk_to(spec_at(server.url), sees_pictures)
    assert isinstance(found, Sight)
    return found


def refuses_pictures(connection: socket.socket, seen: Seen, stopped: threading.Event) -> bool:
    shown = "image_url" in json.dumps(seen.body)
    act = status(400, "this model is not multimodal") if shown else answer("I see no picture.")
    return act(connection, seen, stopped)


@pytest.mark.parametrize("said", ["472", "The number is **472**.", "4 7 2", "4, 7, 2"])
def test_a_model_that_names_what_the_picture_shows_sees(said: str) -> None:
    with FaultServer([answer(said)]) as server:
        assert probe(server).sees is True
        assert len(server.requests) == 1


@pytest.mark.parametrize("said", ["123", "14725", "It may be a house."])
def test_a_model_that_replies_what_is_not_shown_and_understands_the_question_does_not_see(said: str) -> None:
    with FaultServer([answer(said), answer("The number is 815.")]) as server:
        found = probe(server)
        assert found.sees is False
        assert repr(said) in found.why
        assert found.usage.requests == 2


@pytest.mark.parametrize(
    "said",
    [
        "I cannot see pictures.",
        "I'm sorry, but I can't view images.",
        "I am unable to directly view the picture.",
        "There is no image attached.",
        "You did not attach a picture.",
        "No image was provided.",
    ],
)
def test_a_model_that_says_so_does_not_see(said: str) -> None:
    with FaultServer([answer(said)]) as server:
        assert probe(server).sees is False


def test_of_a_model_that_says_the_same_to_everything_nothing_is_known() -> None:
    with FaultServer([answer("banana")]) as server:
        assert probe(server).sees is None


def test_an_endpoint_that_refuses_pictures_and_nothing_else_does_not_see() -> None:
    with FaultServer([refuses_pictures]) as server:
        found = probe(server)
        assert found.sees is False
        assert "takes no pictures" in found.why
        assert "this model is not multimodal" in found.why
        assert len(server.requests) == 2


@pytest.mark.parametrize("code", [401, 404, 500])
def test_an_endpoint_that_answers_nothing_is_not_called_blind(code: int) -> None:
    with FaultServer([status(code)]) as server, pytest.raises(ModelFault, match=f"HTTP {code}"):
        probe(server)


@pytest.mark.parametrize("code", [429, 503])
def test_an_endpoint_that_is_busy_for_a_while_is_not_called_blind(code: int) -> None:
    with FaultServer([status(code), answer("I see no picture.")]) as server, pytest.raises(ModelFault):
        probe(server)


@pytest.mark.parametrize(
    "message",
    [
        {"text": ""},
        {"text": None, "refusal": "I must not."},
        {"text": '{"score": 9, "reason": "x"}'},
        {"text": '```json\n{"score": 9}\n```'},
    ],
)
def test_an_empty_refused_or_bound_reply_tells_nothing(message: dict[str, Any]) -> None:
    with FaultServer([answer(**message)]) as server:
        found = probe(server)
        assert found.sees is None
        assert found.why


def test_the_picture_is_a_picture() -> None:
    image = pytest.importorskip("PIL.Image")
    with FaultServer([answer(NUMBER)]) as server:
        probe(server)
        part = server.requests[0].body["messages"][0]["content"][1]
    shown = image.open(io.BytesIO(base64.b64decode(part["image_url"]["url"].partition(",")[2])))
    shown.load()
    assert shown.size == (460, 180)
    assert set(shown.tobytes()) == {0, 255}
