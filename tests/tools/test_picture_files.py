"""Files of pictures that are damaged, cut off, something else or several pictures: one sentence says so."""

from __future__ import annotations

import random
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import flattened
from tool_impls import bounds
from tool_impls.operation.drawing import DrawBox
from tool_impls.server.calls import QueuedCall, ToolRunner
from tool_impls.settings import ToolSettings

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:PIL")


def png_of(image: Image.Image, form: str = "PNG") -> bytes:
    stream = BytesIO()
    image.save(stream, form)
    return stream.getvalue()


GREY = Image.linear_gradient("L").resize((50, 40))
UNREADABLE = {
    "nothing": (b"", "the file is empty"),
    "a text": (b"no picture", "its content is of no kind that is known here; give a PNG, JPEG, WebP, GIF, BMP or TIFF"),
    "half a header": (
        png_of(GREY)[:20],
        "it is damaged, or of a form that is not known here; save it anew",
    ),
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
