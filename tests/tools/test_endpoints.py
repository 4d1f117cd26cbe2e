"""Tools that ask an OpenAI-compatible endpoint, and what they do without one (the basic mode)."""

from __future__ import annotations

import base64
import io
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from agentgauge.core.errors import ToolError, ToolFault
from tests.tools.servers import Canned, canned_server, http
from tool_impls.availability import fingerprints
from tool_impls.base import BenchTool
from tool_impls.creativity.generate import ImageStylization, TextToImage, effect, text_card
from tool_impls.model_sources import ServiceEndpoint, endpoint_state, png
from tool_impls.perception.detection.tools import CountGivenObject
from tool_impls.perception.mathocr import MathOCR
from tool_impls.perception.quality import colour_name, main_colours
from tool_impls.perception.vision import ImageDescription, RegionAttributeDescription
from tool_impls.settings import ToolSettings

KEY = "sk-very-secret"
PICTURE = Image.new("RGB", (8, 6), (40, 90, 210))
CHAT, MAKE, EDIT = "/v1/chat/completions", "/v1/images/generations", "/v1/images/edits"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISION_KEY", KEY)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MATHPIX_APP_ID", "MATHPIX_APP_KEY"):
        monkeypatch.delenv(name, raising=False)


def said(text: object) -> bytes:
    return http(200, {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]})  # fmt: skip


def made(image: Image.Image) -> bytes:
    return http(200, {"created": 1, "data": [{"b64_json": base64.b64encode(png(image)).decode()}]})


def use(kind: type[BenchTool], server: Canned, **values: Any) -> Any:
    endpoint = {"url": f"{server.url}/v1", "model": "some-model", "key_env": "VISION_KEY"}
    tool = kind(ToolSettings(tables={"vision": endpoint, "image": endpoint}))
    tool.setup()
    return tool.apply(Path(), **values)


def asked(server: Canned) -> tuple[str, Image.Image]:
    """The question and the picture of the last request."""
    content = server.requests[-1].json()["messages"][0]["content"]
    data = content[1]["image_url"]["url"].removeprefix("data:image/png;base64,")
    return content[0]["text"], Image.open(io.BytesIO(base64.b64decode(data)))


def test_description_is_the_models_answer() -> None:
    with canned_server({CHAT: [said(" A blue field. \n")]}) as server:
        assert use(ImageDescription, server, image=PICTURE) == "A blue field."
    question, picture = asked(server)
    assert "detail" in question and (picture.mode, picture.size, picture.tobytes()) == (
        "RGB",
        (8, 6),
        PICTURE.tobytes(),
    )
    request = server.requests[-1]
    assert request.headers["authorization"] == f"Bearer {KEY}" and request.json()["model"] == "some-model"


def test_a_key_in_the_answer_is_replaced() -> None:
    with canned_server({CHAT: [said(f"A blue picture, {KEY}.")]}) as server:
        assert use(ImageDescription, server, image=PICTURE) == "A blue picture, [key]."


def test_an_address_is_shown_and_stored_without_its_login() -> None:
    tables = {"vision": {"url": "http://me:pw@host/v1", "model": "m"}}
    stored = fingerprints(ToolSettings(tables=tables), ["ImageDescription"])
    assert stored["ImageDescription"]["options"]["vision.url"] == "http://host/v1"
    assert endpoint_state(ServiceEndpoint("ftp://me:pw@host", "m"), "vision").endswith("got 'ftp://host'")
    assert "pw" not in repr(ServiceEndpoint("http://me:pw@host/v1", "m"))


def test_large_pictures_are_sent_smaller() -> None:
    with canned_server({CHAT: [said("large")]}) as server:
        use(ImageDescription, server, image=Image.new("RGB", (5000, 10)))
    assert asked(server)[1].size == (2048, 41)  # some models refuse thinner ones


def test_region_is_cropped_and_its_attribute_asked() -> None:
    with canned_server({CHAT: [said("blue")]}) as server:
        assert (
            use(RegionAttributeDescription, server, image=PICTURE, bbox="(1, 1, 4, 3)", attribute="the colour")
            == "blue"
        )
    question, picture = asked(server)
    assert "the colour" in question and picture.size == (3, 2)


@pytest.mark.parametrize(
    ("answer", "count"),
    [("3", 3), ("There are 12 cats and 4 dogs.", 12), ("none", 0), ("", 0), ("1,000", 1), ("minus -2", 2)],
)
def test_count_is_the_first_number_in_the_answer(answer: str, count: int) -> None:
    with canned_server({CHAT: [said(answer)]}) as server:
        assert use(CountGivenObject, server, image=PICTURE, text="cat") == count
    assert "cat" in asked(server)[0]


@pytest.mark.parametrize(("bbox", "size"), [("0 0 2 2", (2, 2)), (None, (8, 6)), ("", (8, 6))])
def test_count_looks_at_the_box_only(bbox: str | None, size: tuple[int, int]) -> None:
    with canned_server({CHAT: [said("1")]}) as server:
        use(CountGivenObject, server, image=PICTURE, text="cat", bbox=bbox)
    assert asked(server)[1].size == size


def test_formula_is_asked_for_as_latex() -> None:
    with canned_server({CHAT: [said(r"\frac{1}{2}")]}) as server:
        assert use(MathOCR, server, image=PICTURE) == r"\frac{1}{2}"
    assert "LaTeX" in asked(server)[0]


def test_picture_is_made_from_keywords() -> None:
    with canned_server({MAKE: [made(PICTURE)]}) as server:
        result = use(TextToImage, server, keywords="sun, sea")
    assert (result.mode, result.tobytes()) == ("RGB", PICTURE.tobytes())
    assert server.requests[-1].json() == {
        "model": "some-model",
        "prompt": "sun, sea",
        "n": 1,
        "response_format": "b64_json",
    }


def test_picture_is_changed_by_an_instruction() -> None:
    with canned_server({EDIT: [made(Image.new("RGB", (2, 2), "red"))]}) as server:
        result = use(ImageStylization, server, image=PICTURE, instruction="make it red")
    assert result.getpixel((0, 0)) == (255, 0, 0)
    request = server.requests[-1]
    form = message_from_bytes(b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n" + request.body)
    fields = {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in form.get_payload()
    }
    assert fields["prompt"] == b"make it red" and fields["model"] == b"some-model"
    assert b"PNG" in fields["image"]


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (http(401, {"error": {"message": f"wrong key {KEY}"}}), ToolFault, "HTTP 401"),
        (http(404, "<html>"), ToolFault, "HTTP 404"),
        (http(400, {"error": {"message": f"refused, {KEY}"}}), ToolError, "refused the request"),
        (http(200, "<html>", kind="text/html"), ToolFault, "vision endpoint"),
        (http(200, '{"choices": ['), ToolFault, "vision endpoint"),
        (http(200, {"choices": []}), ToolFault, "without a usable result"),
        (http(200, {}), ToolFault, "without a usable result"),
        (said(None), ToolFault, "without a usable result"),
    ],
)
def test_failures_of_the_endpoint(answer: bytes, error: type[Exception], told: str) -> None:
    with canned_server({CHAT: [answer]}) as server, pytest.raises(error) as caught:
        use(ImageDescription, server, image=PICTURE)
    assert told in str(caught.value) and KEY not in str(caught.value)


def test_endpoint_is_asked_again_after_a_server_error() -> None:
    with canned_server({CHAT: [http(500, headers="retry-after-ms: 1\r\n"), said("fine")]}) as server:
        assert use(ImageDescription, server, image=PICTURE) == "fine"
    assert len(server.requests) == 2


def test_endpoint_that_is_not_there_is_a_fault() -> None:
    with canned_server({}) as server:
        pass
    with pytest.raises(ToolFault, match="cannot be reached"):
        use(ImageDescription, server, image=PICTURE)


@pytest.mark.parametrize(
    "data", [[], [{"url": "http://elsewhere/x.png"}], [{"b64_json": "###"}], [{"b64_json": "QUJD"}]]
)
def test_answer_without_a_picture_is_a_fault(data: Any) -> None:
    with (
        canned_server({MAKE: [http(200, {"created": 1, "data": data})]}) as server,
        pytest.raises(ToolFault, match="image endpoint"),
    ):
        use(TextToImage, server, keywords="sea")


# --- the basic mode ------------------------------------------------------------------------------------------------

BASIC = ToolSettings(basic=True)


def basic(kind: type[BenchTool], **values: Any) -> Any:
    tool = kind(BASIC)
    tool.setup()
    return tool.apply(Path(), **values)


def sign() -> Image.Image:
    image = Image.new("RGB", (300, 100), (245, 225, 50))
    ImageDraw.Draw(image).text((40, 30), "EXIT 12", fill="black", font=ImageFont.load_default(40))
    return image


def test_basic_description_tells_size_colours_and_text() -> None:
    text = basic(ImageDescription, image=sign())
    assert text.startswith("A picture of 300 by 100 pixels, mainly yellow") and text.endswith("It reads: EXIT 12")


def test_basic_description_without_text() -> None:
    assert basic(ImageDescription, image=PICTURE) == "A picture of 8 by 6 pixels, mainly blue. It holds no text."


def test_basic_region_is_described_by_itself() -> None:
    assert basic(RegionAttributeDescription, image=sign(), bbox="0 0 20 20", attribute="colour") == (
        "A picture of 20 by 20 pixels, mainly yellow. It holds no text."
    )


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ((255, 255, 255), "white"),
        ((0, 0, 0), "black"),
        ((250, 10, 10), "red"),
        ((30, 60, 200), "blue"),
        ((0, 128, 0), "green"),
    ],
)
def test_colours_have_names(colour: tuple[int, int, int], name: str) -> None:
    assert colour_name(colour) == name


def test_main_colours_come_in_order_and_specks_are_left_out() -> None:
    image = Image.new("RGB", (100, 100), "white")
    image.paste((215, 30, 35), (0, 0, 100, 40))
    image.paste((40, 90, 210), (0, 99, 3, 100))
    assert main_colours(image) == ["white", "red"]


def test_card_shows_its_words_and_is_the_same_every_time() -> None:
    from tool_impls.perception.ocr import reader

    card = basic(TextToImage, keywords="golden sunset, beach")
    assert card.tobytes() == text_card("golden sunset, beach").tobytes() != text_card("beach").tobytes()
    assert [line.text for line in reader().lines(card)] == ["golden sunset", "beach"]


@pytest.mark.parametrize("keywords", ["", "x" * 5000, "日本, café", "a,,b,\n"])
def test_card_takes_any_words(keywords: str) -> None:
    assert (text_card(keywords).mode, text_card(keywords).size) == ("RGB", (512, 512))


@pytest.mark.parametrize(
    ("instruction", "pixel"),
    [
        ("Make it grey", (89, 89, 89)),
        ("turn it BLACK AND WHITE", (89, 89, 89)),
        ("invert the colours", (215, 165, 45)),
        ("a sepia photo", (125, 111, 86)),
        ("blur it", (40, 90, 210)),
        ("as a pencil sketch", (255, 255, 255)),
    ],
)
def test_effects(instruction: str, pixel: tuple[int, int, int]) -> None:
    result = effect(Image.new("RGB", (30, 30), (40, 90, 210)), instruction)
    assert (result.mode, result.size) == ("RGB", (30, 30))
    found = result.getpixel((15, 15))
    assert max(abs(a - b) for a, b in zip(found, pixel, strict=True)) <= 2, found


def test_sketch_draws_the_edges_dark() -> None:
    image = Image.new("RGB", (30, 30), "white")
    image.paste((0, 0, 0), (0, 0, 15, 30))
    result = effect(image, "sketch")
    row = [result.getpixel((x, 15))[0] for x in range(30)]
    assert min(row[13:17]) < 150 and min(row[2:12] + row[18:28]) > 200


@pytest.mark.parametrize("instruction", ["", "turn it into a Van Gogh", "add a hat"])
def test_other_instructions_are_refused(instruction: str) -> None:
    with pytest.raises(ToolError, match="without an image model"):
        basic(ImageStylization, image=PICTURE, instruction=instruction)
