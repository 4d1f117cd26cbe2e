"""Files that are no pictures, too large pictures and results, and pictures as viewers display them."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import struct
import zlib
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageStat

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.pictures import flattened
from agentgauge.core.tools import Parameter
from agentgauge.model.files.rendering import FileRenderer
from bench_gta.workflow.facts import facts
from tool_impls import bounds, model_sources
from tool_impls.documents import writing
from tool_impls.logic import code_tools
from tool_impls.logic.code_tools import Plot
from tool_impls.operation.drawing import AddText, DrawBox
from tool_impls.server import calls
from tool_impls.server.calls import QueuedCall, ToolRunner
from tool_impls.settings import ToolSettings
from tool_impls.video.tools import TextToVideoTool

# -- limits for what tools take and make


pytestmark = [
    pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:PIL"),
]

SIDES = [9_000, 13_000, 20_000, 2**31 - 1]  # pixels; below, between and above what Pillow itself warns of and refuses


@cache
def huge(side: int) -> bytes:
    """A whole PNG file of one colour, a bit a pixel; of more than 400 million pixels only the beginning."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packer = zlib.compressobj(9)
    row = bytes(1 + (min(side, 20_000) + 7) // 8)
    data = b"".join(packer.compress(row) for _ in range(min(side, 20_000))) + packer.flush()
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0))
        + chunk(b"IDAT", data)
        + chunk(b"IEND", b"")
    )


@pytest.fixture(params=SIDES)
def bomb(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PNG of fewer than 100 KB; decoding it, or any other picture, fails the test."""

    def decoded(image: Any, *_: Any, **__: Any) -> None:
        raise AssertionError(f"a picture of {image.size} pixels is decoded")

    path = tmp_path / "huge.png"
    path.write_bytes(huge(request.param))
    assert path.stat().st_size < 100_000
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", decoded)
    return path


TOO_LARGE = r"at most \d+ million|is not a picture that can be read"  # the latter of a side that no PNG can have


def test_as_an_input(bomb: Path) -> None:
    with pytest.raises(ToolError, match=TOO_LARGE):
        bounds.read_picture(bomb, "image")


def test_as_a_result(bomb: Path) -> None:
    with pytest.raises(ToolError, match=TOO_LARGE):
        calls.content(Parameter("image"), bomb)


def test_in_a_document(bomb: Path) -> None:
    with pytest.raises(ToolError, match=TOO_LARGE):
        writing.load(bomb)


def test_from_an_endpoint(bomb: Path) -> None:
    reply = SimpleNamespace(data=[SimpleNamespace(b64_json=base64.b64encode(bomb.read_bytes()).decode())])
    with pytest.raises(ToolFault, match="without a usable result"):
        model_sources._picture(reply)


FORGED = """
import os
for number in range(3, 10):
    try:
        os.write(number, b'{"png": "CONTENT"}')
    except OSError:
        pass
os._exit(0)
"""


@pytest.mark.parametrize("side", [6_100, *SIDES[1:]])
def test_from_the_code_of_plot(side: int, tmp_path: Path) -> None:
    """The code answers by itself, so no check in its own process helps."""
    content = base64.b64encode(huge(side)).decode()
    with pytest.raises(ToolError, match=rf"(at most 36 million are taken; choose a smaller figsize)|{TOO_LARGE}"):
        code_tools.plot(FORGED.replace("CONTENT", content), folder=tmp_path)
    assert not list(tmp_path.glob("*.png"))


def test_what_is_large_and_honest_is_drawn(tmp_path: Path) -> None:
    code = "def solution():\n    figure = plt.figure(figsize=(20, 20), dpi=200)\n    return figure"
    with Image.open(code_tools.plot(code, folder=tmp_path)) as image:
        assert image.size == (4000, 4000)


@pytest.mark.parametrize("side", SIDES)
def test_as_a_deliverable(side: int, tmp_path: Path) -> None:
    (tmp_path / "huge.png").write_bytes(huge(side))
    (found,) = facts([tmp_path / "huge.png"], folder=tmp_path)
    assert "million" in found.broken or "not a picture" in found.broken


@pytest.mark.parametrize("side", SIDES)
def test_where_it_is_shown_to_a_model(side: int) -> None:
    async def show() -> Any:
        return await FileRenderer().picture(huge(side))

    assert asyncio.run(show()) is None


def test_a_picture_that_is_a_program_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n%%EOF\n"
    (tmp_path / "a.png").write_bytes(eps)
    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", lambda *_, **__: pytest.fail("Ghostscript is started"))
    with pytest.raises(ToolError, match="image is an EPS file, which is a program and not run"):
        bounds.read_picture(tmp_path / "a.png", "image")


def test_a_picture_in_memory_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(ToolError, match="8001 by 8000 pixels; at most 64 million"):
        calls.content(Parameter("image"), Image.new("1", (8001, 8000)))
    assert calls.content(Parameter("image"), Image.new("1", (30, 20))).startswith(b"\x89PNG")


def test_a_result_of_too_many_bytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with path.open("wb") as file:
        file.truncate(bounds.RESULT_BYTES + 1)
    with pytest.raises(ToolError, match="the result has 256 MB; at most 256 MB are given back"):
        calls.content(Parameter("audio"), path)


def test_a_video_that_becomes_too_large_is_not_written_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "RESULT_BYTES", 5_000)
    tool = TextToVideoTool(ToolSettings())
    with pytest.raises(ToolError, match="make a smaller one"):
        tool.apply(tmp_path, "a film", num_frames=3600, resolution="256,256")
    assert (tmp_path / "text_to_video.mp4").stat().st_size < 25_000


# -- files that are no pictures


def png_of(image: Image.Image, form: str = "PNG") -> bytes:
    stream = BytesIO()
    image.save(stream, form)
    return stream.getvalue()


GREY = Image.linear_gradient("L").resize((50, 40))
UNREADABLE = {
    "nothing": (b"", "the file is empty"),
    "a text": (b"no picture", "its content is of no kind that is known here; give a PNG, JPEG, WebP, GIF, BMP or TIFF"),
    "half a header": (png_of(GREY)[:20], "it is damaged, or of a form that is not known here; save it anew"),
    "half a PNG": (png_of(GREY)[:-30], "the file ends too early; give it as a whole"),
    "half a JPEG": (png_of(GREY, "JPEG")[:-80], "the file ends too early"),
    "another byte": (png_of(GREY).replace(b"IDAT", b"IDAX"), "it is damaged"),
    "half an AVIF": (png_of(GREY, "AVIF")[:-40], "it is damaged"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_picture_is_told_with_the_reason(tmp_path: Path, name: str) -> None:
    data, reason = UNREADABLE[name]
    (tmp_path / "a.png").write_bytes(data)
    for source in (tmp_path / "a.png", BytesIO(data)):
        with pytest.raises(bounds.Unreadable) as caught:
            bounds.read_picture(source, "image")
        assert str(caught.value).startswith(f"image is not a picture that can be read: {reason}")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(bounds.Unreadable, match="image is not a picture that can be read: no such file or directory"):
        bounds.read_picture(tmp_path / "a.png", "image")


MOVING = ("TIFF", "GIF", "WEBP", "PNG")
FORMS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "ICO", "TGA", "PPM", "DDS", "BLP", "AVIF", "JPEG2000", "SGI")


@pytest.mark.parametrize("form", FORMS)
def test_changed_files_are_pictures_or_refused(form: str) -> None:
    """Never another exception: each format has a decoder of its own, with errors of its own."""
    sound = png_of(GREY.convert("P") if form == "BLP" else GREY.convert("RGB"), form)
    for seed in range(150):
        numbers, data = random.Random(seed), bytearray(sound)
        for _ in range(numbers.choice((1, 2, 8))):
            place = numbers.randrange(min(len(data), numbers.choice((64, len(data)))))
            if numbers.random() < 0.7:
                data[place] = numbers.randrange(256)
            else:
                del data[place : place + numbers.randrange(1, 9)]
        with suppress(ToolError):
            assert flattened(bounds.read_picture(BytesIO(data), "image")).mode == "RGB"


@pytest.mark.parametrize(
    ("form", "count", "note"),
    [
        *((form, 3, "image has 3 pages or frames, of which this tool takes the first only.") for form in MOVING),
        *((form, 1, "") for form in MOVING),
        ("MPO", 3, ""),  # a photo with its previews
    ],
)
def test_pictures_that_a_tool_does_not_take_are_told_of(form: str, count: int, note: str, tmp_path: Path) -> None:
    frames = [Image.new("RGB", (30, 20), (80 * place, 0, 0)) for place in range(count)]
    frames[0].save(tmp_path / "a", form, save_all=True, append_images=frames[1:])
    call = QueuedCall("DrawBox", str(tmp_path), {"image": str(tmp_path / "a"), "bbox": "1 1 5 5"})
    answer = ToolRunner([DrawBox(ToolSettings())]).run(call, lambda: None)
    assert (answer.status, answer.note) == (200, note)


# -- the reference pictures


PICTURES = Path(__file__).parent / "pictures"
SIZE = (240, 180)  # of the reference pictures, in pixels
TOLERANCE = 6.0  # of 255, mean over a cell: letters of another font version may move by a pixel
CHART = """```python
def solution():
    figure, axis = plt.subplots()
    axis.bar(["a", "b", "c"], [3, 1, 2], color=["tab:blue", "tab:orange", "tab:green"])
    axis.set_ylabel("pieces")
    return figure
```"""


def sheet() -> Image.Image:
    image = Image.new("RGB", (480, 360), "white")
    ImageDraw.Draw(image).ellipse((60, 80, 220, 240), fill=(70, 130, 190))
    return image


def box(folder: Path) -> Image.Image:
    return DrawBox(ToolSettings()).apply(folder, image=sheet(), bbox="(60, 80, 220, 240)", annotation="disc")


def words(folder: Path) -> Image.Image:
    return AddText(ToolSettings()).apply(folder, image=sheet(), text="bottom right", position="rb", color="green")


def chart(folder: Path) -> Image.Image:
    with Image.open(Plot(ToolSettings()).apply(folder, command=CHART)) as image:
        return image.convert("RGB")


@pytest.mark.parametrize("draw", [box, words, chart], ids=lambda draw: draw.__name__)
def test_picture_looks_as_the_one_that_was_looked_at(tmp_path: Path, draw) -> None:
    drawn = draw(tmp_path).resize(SIZE, Image.Resampling.BOX)
    path = PICTURES / f"{draw.__name__}.png"
    if os.environ.get("AGENTGAUGE_DRAW"):
        drawn.quantize(32).save(path, optimize=True)
    with Image.open(path) as kept:
        difference = ImageChops.difference(drawn, kept.convert("RGB"))
    assert max(ImageStat.Stat(difference).mean) < TOLERANCE
    # No place may be altogether different, however small its part of the picture is.
    cells = difference.convert("L").resize((12, 9), Image.Resampling.BOX)
    assert max(cells.tobytes()) < 8 * TOLERANCE
