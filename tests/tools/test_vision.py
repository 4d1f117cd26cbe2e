"""Tools that look at pictures: by a vision model, and the measure of sharpness."""

from __future__ import annotations

import re
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageFilter

from agentgauge.core.errors import ToolError, ToolFault, ToolUnavailable
from agentgauge.core.pictures import fitted
from tests.packages import absent
from tests.tools import tiny_vision
from tests.tools.servers import canned_server, http
from tool_impls.base import BASIC, READY, BenchTool
from tool_impls.perception import vision
from tool_impls.perception.quality import ImageQualityTest, laplacian_variance
from tool_impls.perception.vision import (
    LONGEST,
    PACKAGES,
    SHORTEST,
    ImageDescription,
    LocalVision,
    RegionAttributeDescription,
    VideoDescription,
)
from tool_impls.settings import ToolSettings
from tool_impls.video.frames import spread

installed = pytest.mark.skipif(
    any(find_spec(name) is None for name in PACKAGES), reason="agentgauge[vision] is not installed"
)

RED, BLUE = Image.new("RGB", (40, 30), "red"), Image.new("RGB", (64, 64), "blue")
URL = {"url": "http://127.0.0.1:1/v1", "model": "seer"}
TOOLS = (ImageDescription, RegionAttributeDescription, VideoDescription)


def vision_settings(**values: Any) -> ToolSettings:
    return ToolSettings(tables={"vision": values})


# --- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
def test_endpoint_comes_before_the_basic_mode(tool: type[BenchTool]) -> None:
    settings = ToolSettings(basic=True, tables={"vision": URL})
    assert (tool.back_end(settings), tool.backend(settings), tool.on_device(settings)) == (
        READY,
        "endpoint seer",
        False,
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_configured_is_basic_or_told(tool: type[BenchTool]) -> None:
    assert (tool.back_end(ToolSettings(basic=True)), tool.backend(ToolSettings(basic=True))) == (BASIC, "basic")
    assert (
        tool.back_end(ToolSettings())
        == "unavailable: name its weights in [tools.vision]: a local folder, or qwen3-vl-4b-instruct (about 9 GB),"
        " which `agentgauge fetch qwen3-vl-4b-instruct` brings; or an OpenAI-compatible endpoint (url, model, key_env);"
        " or set basic = true in [tools]"
    )


@installed
@pytest.mark.parametrize(
    ("config", "told"),
    [
        (None, "has no usable config.json"),
        ("{", "has no usable config.json"),
        ("[]", "has no usable config.json"),
        ('{"architectures": []}', "has no usable config.json"),
        ('{"model_type": "llama", "vocab_size": 5}', "must name a model that sees pictures; model is llama"),
    ],
    ids=["none", "broken", "list", "no type", "text only"],
)
def test_folder_that_is_no_vision_model_is_refused(tmp_path: Path, config: str | None, told: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    if config is not None:
        (folder / "config.json").write_text(config)
    settings = ToolSettings(basic=True, tables={"vision": {"weights": str(folder)}})
    assert told in ImageDescription.back_end(settings) and ImageDescription.back_end(settings).startswith(
        "unavailable: "
    )


def test_endpoint_and_weights_together_are_refused(tmp_path: Path) -> None:
    state = ImageDescription.back_end(vision_settings(**URL, weights=str(tmp_path)))
    assert (
        state == "unavailable: [tools.vision] names an endpoint (url) and a local model (weights); take one of them out"
    )


@installed
def test_names_on_the_hub_need_leave_to_download() -> None:
    assert ImageDescription.back_end(vision_settings(weights="some/model")).startswith(
        "unavailable: weights in [tools.vision] names nothing that exists"
    )
    allowed = vision_settings(weights="some/model", allow_download=True)
    assert (ImageDescription.back_end(allowed), ImageDescription.backend(allowed)) == (READY, "transformers some/model")
    assert (ImageDescription.weights(allowed), ImageDescription.on_device(allowed)) == ((), True)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent(monkeypatch, "transformers")
    state = ImageDescription.back_end(vision_settings(weights=str(tmp_path)))
    assert state.endswith("need the Python package transformers; install agentgauge[vision]")


def test_answer_of_an_endpoint_is_as_long_as_the_settings_say() -> None:
    reply = http(
        200, {"choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop", "index": 0}]}
    )
    with canned_server({"/v1/chat/completions": [reply]}) as server:
        vision.vision_model(vision_settings(url=f"{server.url}/v1", model="m", max_tokens=7), "cpu").ask(RED, "What?")
    assert server.requests[0].json()["max_tokens"] == 7


# --- a local model -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen3-VL of two layers with random weights, its processor, and a tokenizer whose tokens are bytes."""
    for package in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(package)
    return tiny_vision.seer(tmp_path_factory.mktemp("vision") / "seer")


def test_local_model_answers_from_picture_and_question(weights: Path) -> None:
    settings = vision_settings(weights=str(weights), max_tokens=12)
    assert (ImageDescription.state(settings), ImageDescription.backend(settings)) == (READY, "transformers seer")
    assert (ImageDescription.weights(settings), ImageDescription.on_device(settings)) == ((weights,), True)
    seer = vision.vision_model(settings, "cpu")
    answers = [seer.ask(RED, "What is it?"), seer.ask(BLUE, "What is it?"), seer.ask(RED, "How many?")]
    assert len(set(answers)) == 3 and all(answers)
    assert seer.ask(RED, "What is it?") == answers[0]


@pytest.mark.usefixtures("no_network")
def test_local_model_contacts_no_host(weights: Path) -> None:
    assert LocalVision(weights, "cpu", batch=1, max_tokens=3).ask(BLUE, "What?")


def test_tools_of_a_process_share_one_model(weights: Path) -> None:
    settings = vision_settings(weights=str(weights), max_tokens=8)
    assert vision.vision_model(settings, "cpu") is vision.vision_model(settings, "cpu")
    tool, other = ImageDescription(settings), RegionAttributeDescription(settings)
    tool.setup("cpu")
    other.setup("cpu")
    assert tool._model is other._model
    described = tool.apply(Path(), image=RED)
    assert described == vision.vision_model(settings, "cpu").ask(RED, "Describe this picture in detail.")
    assert other.apply(Path(), image=RED, bbox="0 0 20 20", attribute="colour") != described


def test_answer_is_the_same_alone_and_among_others(weights: Path) -> None:
    seer = LocalVision(weights, "cpu", batch=4, max_tokens=10)
    red, blue = fitted(RED, LONGEST, SHORTEST), fitted(BLUE, LONGEST, SHORTEST)
    questions = [(red, "What?"), (blue, "What is it then, and what for?"), (red, "Why?")]
    alone = [seer._answers([question]) for question in questions]
    assert [[answer] for answer in seer._answers(questions)] == alone


def test_questions_of_many_threads_are_answered_together(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seer = LocalVision(weights, "cpu", batch=3, max_tokens=4)
    sizes: list[int] = []
    gate = threading.Event()
    plain = seer._generate

    def generate(questions: Any) -> list[str]:
        gate.wait(10)
        sizes.append(len(questions))
        return plain(questions)

    monkeypatch.setattr(seer, "_generate", generate)
    answers: dict[str, str] = {}
    asked = [
        threading.Thread(target=lambda text=text: answers.update({text: seer.ask(RED, text)})) for text in "abcdefg"
    ]
    for thread in asked:
        thread.start()
    while len(seer._batched._waiting) < len(asked) - 1:
        threading.Event().wait(0.01)
    gate.set()
    for thread in asked:
        thread.join(60)
    assert sizes == [1, 3, 3]
    assert answers == {text: plain([(fitted(RED, LONGEST, SHORTEST), text)])[0] for text in "abcdefg"}


def test_batch_that_does_not_fit_is_halved(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    seer = LocalVision(weights, "cpu", batch=4, max_tokens=4)
    sizes: list[int] = []

    def generate(questions: Any) -> list[str]:
        sizes.append(len(questions))
        if len(questions) > 2 or questions[0][1] == "huge":
            raise torch.OutOfMemoryError("too much")
        return [text for _, text in questions]

    monkeypatch.setattr(seer, "_generate", generate)
    assert seer._answers([(RED, text) for text in "abcde"]) == list("abcde")
    assert sizes == [5, 2, 3, 1, 2]
    with pytest.raises(ToolFault, match=r"^the model of \[tools.vision\] ran out of memory on cpu over one call"):
        seer._answers([(RED, "huge")])


def test_a_model_that_does_not_fit_into_memory_is_told(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(self: Any, device: str) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has ...")

    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(ToolUnavailable, match=r"^the model of \[tools.vision\] ran .* on cpu: it needed 1.50 GiB more"):
        LocalVision(weights, "cpu", 1, 4)


def test_weights_that_do_not_load_are_told(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((weights / "config.json").read_bytes())
    with pytest.raises(ToolUnavailable, match=r"the weights of \[tools.vision\] cannot be loaded: "):
        LocalVision(tmp_path, "cpu", 1, 4)


def test_model_without_a_chat_template_is_refused(weights: Path, tmp_path: Path) -> None:
    for path in weights.iterdir():
        if path.name != "chat_template.jinja":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ToolUnavailable, match="chat template"):
        LocalVision(tmp_path, "cpu", 1, 4)


# --- videos --------------------------------------------------------------------------------------------------------

SHADES = [(200, 30, 30), (30, 160, 40), (40, 60, 200), (240, 240, 240)]


def film(path: Path, count: int, rate: int = 10) -> Path:
    """A video of 64 by 48 pixels whose frames take the SHADES in turn."""
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(count):
            frame = av.VideoFrame.from_image(Image.new("RGB", (64, 48), SHADES[number % len(SHADES)]))
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


class Scripted:
    """Answers with the colour that it sees."""

    def __init__(self) -> None:
        self.questions: set[str] = set()

    def ask(self, image: Image.Image, question: str) -> str:
        self.questions.add(question)
        red, green, blue = image.convert("RGB").getpixel((32, 24))  # type: ignore[misc]
        return (
            f" a {'red' if red > 120 > green else 'green' if green > 120 > red else 'blue' if blue > 120 > red else 'white'}\n"  # noqa: E501
            " field "
        )


def describe(video: Path, asker: Any = None, settings: ToolSettings | None = None, **values: Any) -> str:
    tool = VideoDescription(settings or ToolSettings(basic=True))
    tool._model = asker
    return tool.apply(video.parent, video=video, **values)


def test_frames_are_captioned_in_order(tmp_path: Path) -> None:
    asker = Scripted()
    assert describe(film(tmp_path / "a.mp4", 12), asker).splitlines() == [
        "Frame 0: a red field", "Frame 5: a green field", "Frame 10: a blue field",
    ]  # fmt: skip
    assert len(asker.questions) == 1
    lines = describe(film(tmp_path / "a.mp4", 12), asker, frame_skip=3).splitlines()
    assert lines == [
        "Frame 0: a red field",
        "Frame 3: a white field",
        "Frame 6: a blue field",
        "Frame 9: a green field",
    ]


@pytest.mark.parametrize(
    ("count", "every", "limit", "numbers"),
    [
        (12, 5, 16, [0, 5, 10]),
        (40, 1, 4, [0, 10, 20, 30]),
        (40, 2, 16, [0, 2, 4, 6, 10, 12, 14, 16, 20, 22, 24, 26, 30, 32, 34, 36]),
        (7, 1, 0, [0, 1, 2, 3, 4, 5, 6]),
        (7, 100, 16, [0]),
        (1, 1, 1, [0]),
    ],
)
def test_frames_are_spread_evenly_below_the_limit(
    tmp_path: Path, count: int, every: int, limit: int, numbers: list[int]
) -> None:
    frames = list(spread(film(tmp_path / "a.mp4", count), limit or sys.maxsize, every))
    assert [frame.number for frame in frames] == numbers
    for frame in frames:
        seen = frame.image.getpixel((32, 24))
        assert all(abs(one - other) < 25 for one, other in zip(seen, SHADES[frame.number % 4], strict=True))


def test_limit_is_an_option(tmp_path: Path) -> None:
    settings = ToolSettings(tables={"VideoDescription": {"max_frames": 2}})
    lines = describe(film(tmp_path / "a.mp4", 20), Scripted(), settings, frame_skip=1).splitlines()
    assert lines == ["Frame 0: a red field", "Frame 10: a blue field"]


def test_basic_description_tells_size_length_and_colours(tmp_path: Path) -> None:
    lines = describe(film(tmp_path / "a.mp4", 12)).splitlines()
    assert lines[0] == "A video of 64 by 48 pixels, 1.2 s long." and len(lines) == 4
    for line, number, name in zip(lines[1:], (0, 5, 10), ("red", "green", "blue"), strict=True):
        found = re.fullmatch(rf"Frame {number}: mean colour \((\d+), (\d+), (\d+)\), {name}", line)
        assert found and all(
            abs(int(text) - value) < 25 for text, value in zip(found.groups(), SHADES[number % 4], strict=True)
        )


@pytest.mark.parametrize("asker", [None, Scripted()], ids=["basic", "model"])
@pytest.mark.parametrize("skip", [0, -3])
def test_frames_cannot_be_skipped_backwards(tmp_path: Path, skip: int, asker: Any) -> None:
    with pytest.raises(ToolError, match=f"frame_skip must be at least 1; got {skip}"):
        describe(tmp_path / "gone.mp4", asker, frame_skip=skip)


@pytest.mark.parametrize("content", [b"", b"no video" * 99, None, "cut"])
@pytest.mark.parametrize("asker", [None, Scripted()], ids=["basic", "model"])
def test_broken_video_is_refused_by_name(tmp_path: Path, content: bytes | str | None, asker: Any) -> None:
    path = tmp_path / "clip.mp4"
    if content == "cut":
        path.write_bytes(film(tmp_path / "whole.mp4", 5).read_bytes()[:200])
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(ToolError, match=r"clip\.mp4") as caught:
        describe(path, asker)
    assert str(tmp_path) not in str(caught.value)


def test_failure_of_the_model_ends_the_call(tmp_path: Path) -> None:
    class Broken:
        def ask(self, image: Image.Image, question: str) -> str:
            raise ToolFault("the vision endpoint answered HTTP 500", cause="http 500")

    with pytest.raises(ToolFault, match="HTTP 500"):
        describe(film(tmp_path / "a.mp4", 12), Broken())


# -- ImageQualityTest


def judged(image: Image.Image) -> str:
    return ImageQualityTest(ToolSettings()).apply(Path(), image=image)


def grey(*rows: tuple[int, ...]) -> Image.Image:
    picture = Image.new("L", (len(rows[0]), len(rows)))
    picture.putdata([value for row in rows for value in row])
    return picture


def by_hand(values: list[list[int]]) -> float:
    """The definition, pixel by pixel, in fractions' place with whole numbers."""
    height, width = len(values), len(values[0])

    def at(y: int, x: int) -> int:
        y, x = (abs(place) if place < size else 2 * (size - 1) - place for place, size in ((y, height), (x, width)))
        return values[max(y, 0)][max(x, 0)]

    edges = [
        at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1) - 4 * at(y, x)
        for y in range(height)
        for x in range(width)
    ]
    mean = sum(edges) / len(edges)
    return sum((edge - mean) ** 2 for edge in edges) / len(edges)


@pytest.mark.parametrize(
    ("picture", "answer"),
    [
        (grey((7, 7, 7), (7, 7, 7)), "Laplacian variance: 0.00, Blurry: True"),
        # one bright pixel in the middle: -40 there, 20 beside it because the border is mirrored, 0 in the corners
        (grey((0, 0, 0), (0, 10, 0), (0, 0, 0)), "Laplacian variance: 335.80, Blurry: False"),
        # across: 2 * 10 - 0 at the dark end, 2 * 0 - 2 * 10 at the bright one
        (grey((0, 10)), "Laplacian variance: 400.00, Blurry: False"),
        (grey((0, 5)), "Laplacian variance: 100.00, Blurry: False"),
        (grey((0, 4)), "Laplacian variance: 64.00, Blurry: True"),
        (grey((9,)), "Laplacian variance: 0.00, Blurry: True"),
    ],
)
def test_variance_of_small_pictures(picture: Image.Image, answer: str) -> None:
    assert judged(picture) == answer


@pytest.mark.parametrize(
    ("colour", "level"),
    [
        ((255, 255, 255), 255),
        ((255, 0, 0), 76),
        ((0, 255, 0), 150),
        ((0, 0, 255), 29),
        ((10, 20, 30), 18),
        ((0, 0, 250), 29),
        ((1, 2, 1), 2),
    ],
)
def test_colours_become_grey_by_rule(colour: tuple[int, int, int], level: int) -> None:
    picture = Image.new("RGB", (2, 1))
    picture.putpixel((1, 0), colour)
    assert laplacian_variance(picture) == (2 * level) ** 2


@pytest.mark.parametrize("height", [2, 7, 255, 256, 257, 513])
def test_the_whole_picture_counts_however_it_is_cut_into_bands(height: int) -> None:
    values = [[(37 * x * x + 11 * y * x + 5 * y) % 256 for x in range(9)] for y in range(height)]
    assert laplacian_variance(grey(*map(tuple, values))) == pytest.approx(by_hand(values), rel=1e-12)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "CMYK", "1", "I;16"])
def test_every_kind_of_picture_is_taken(mode: str) -> None:
    assert judged(Image.new(mode, (5, 4))) == "Laplacian variance: 0.00, Blurry: True"


def test_blurring_lowers_it() -> None:
    sharp = grey(*(tuple(255 * ((x // 4 + y // 4) % 2) for x in range(64)) for y in range(64)))
    assert judged(sharp).endswith("Blurry: False")
    assert judged(sharp.filter(ImageFilter.GaussianBlur(6))).endswith("Blurry: True")


def test_agrees_with_opencv_on_grey_pictures() -> None:
    cv2 = pytest.importorskip("cv2")
    numpy = pytest.importorskip("numpy")
    pixels = numpy.random.default_rng(3).integers(0, 256, (37, 53), dtype=numpy.uint8)
    assert laplacian_variance(Image.fromarray(pixels)) == pytest.approx(
        cv2.Laplacian(pixels, cv2.CV_64F).var(), rel=1e-12
    )
