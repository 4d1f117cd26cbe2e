"""The pictures can be made again, and what the renderer calls true is what it drew."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="the pictures need agentgauge[tools]")
pytest.importorskip("matplotlib", reason="the pictures need agentgauge[tools]")

from bundled_data.gta_atomic import charts, printed, scenes
from bundled_data.gta_atomic.build import build, file_name
from bundled_data.gta_atomic.canvas import Picture
from bundled_data.gta_atomic.dialog import Bench, Dialog, box_text, row_box

pytestmark = pytest.mark.slow

MINI = Path(__file__).parents[2] / "bench_gta" / "atomic" / "mini"
IMAGES = MINI / "image"
RENDERERS = [printed.receipt_market, scenes.shapes, charts.chart_rain, charts.formula_pair]


def encoded(picture: Picture) -> bytes:
    stream = io.BytesIO()
    picture.image.save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize("render", RENDERERS, ids=lambda f: f.__name__)
def test_a_picture_is_the_same_each_time(render: Callable[[], Picture]) -> None:
    assert encoded(render()) == encoded(render())


@pytest.mark.parametrize("render", RENDERERS, ids=lambda f: f.__name__)
def test_the_stored_picture_is_what_the_script_draws(render: Callable[[], Picture]) -> None:
    """Other library versions may smooth edges differently, so the mean difference is bounded, not the bytes."""
    from PIL import Image, ImageChops, ImageStat

    drawn = render().image
    with Image.open(IMAGES / file_name(render.__name__)) as stored:
        assert stored.size == drawn.size
        difference = ImageStat.Stat(ImageChops.difference(stored.convert("RGB"), drawn)).mean
    assert max(difference) < 6  # grey levels of 255; JPEG alone makes about 2


@pytest.mark.parametrize(
    "render", [scenes.fruit_crates, scenes.parking, scenes.harbour, scenes.street, printed.weather_station]
)
def test_boxes_lie_inside_their_picture(render: Callable[[], Picture]) -> None:
    picture = render()
    assert picture.boxes
    for left, top, right, bottom in picture.boxes.values():
        assert 0 <= left < right <= picture.image.width and 0 <= top < bottom <= picture.image.height


@pytest.mark.parametrize(
    ("render", "name", "colour"),
    [
        (scenes.parking, "red car", 0),
        (scenes.parking, "green car", 1),
        (scenes.parking, "blue car", 2),
        (scenes.street, "door 7", 1),
    ],
)
def test_a_box_holds_the_thing_it_names(render: Callable[[], Picture], name: str, colour: int) -> None:
    """In the middle of the box the named colour, one of red, green and blue, is the strongest."""
    picture = render()
    left, top, right, bottom = picture.boxes[name]
    pixel = picture.image.getpixel((left + (right - left) // 3, top + (bottom - top) * 3 // 5))
    assert max(range(3), key=lambda channel: pixel[channel]) == colour


def test_row_box_covers_all_texts_of_the_row() -> None:
    text = "(10, 10, 60, 30) Monday\n(100, 12, 180, 31) closed\n(10, 50, 70, 70) Tuesday\n(100, 51, 190, 72) 9 to 5"
    assert box_text(row_box(text, "Tuesday", margin=2)) == "(8, 48, 192, 74)"


@pytest.mark.parametrize("name", ["GoogleSearch", "Calculator"])
def test_stored_returns_are_what_the_tools_return_today(name: str, tmp_path: Path) -> None:
    bench, checked = Bench(MINI), 0
    for sample in json.loads((MINI / "dataset.json").read_text(encoding="utf-8")).values():
        for turn, following in zip(sample["dialogs"], sample["dialogs"][1:], strict=False):
            function = turn["tool_calls"][0]["function"] if "tool_calls" in turn else {"name": None}
            if function["name"] == name:
                assert bench.run(name, function["arguments"], tmp_path) == following["content"]["content"]
                checked += 1
    assert checked >= 5


def test_stored_text_of_a_picture_is_what_reading_it_gives_today(tmp_path: Path) -> None:
    """The texts and their order; the boxes may differ by a pixel with other library versions."""
    pytest.importorskip("rapidocr", reason="reading pictures needs agentgauge[tools]")
    stored = next(
        turn["content"]["content"]
        for sample in json.loads((MINI / "dataset.json").read_text(encoding="utf-8")).values()
        for turn in sample["dialogs"]
        if turn["role"] == "tool" and "BOX OFFICE" in turn["content"]["content"]
    )
    read = Bench(MINI).run("OCR", {"image": "image/price_board.jpg"}, tmp_path)
    assert [line.partition(") ")[2] for line in read.splitlines()] == [
        line.partition(") ")[2] for line in stored.splitlines()
    ]


def test_a_return_that_does_not_lead_to_the_answer_stops_the_build() -> None:
    dialog = Dialog(Bench(MINI), MINI, {})
    with pytest.raises(ValueError, match=r"returned '4', wanted '5'"):
        dialog.call("Add.", "Calculator", expression="2 + 2", returns="5")
    with pytest.raises(ValueError, match=r"\['krone'\]"):
        dialog.call("Which?", "GoogleSearch", query="Estonia currency", k=1, shows=["krone"])


def test_a_tool_that_cannot_run_here_needs_a_return_by_hand() -> None:
    dialog = Dialog(Bench(MINI), MINI, {})
    with pytest.raises(ValueError, match="MathOCR cannot run here"):
        dialog.call("Read.", "MathOCR", image="image/formula_area.jpg")
    assert dialog.call("Read.", "MathOCR", image="image/formula_area.jpg", returns="x") == "x"


def test_what_the_bundled_detector_finds_must_come_and_what_it_does_not_know_is_taken_on_trust() -> None:
    dialog = Dialog(Bench(MINI), MINI, {})
    assert dialog.call("Count.", "CountGivenObject", image="image/shapes.jpg", text="circle", returns="5") == "5"
    with pytest.raises(ValueError, match="returned '5', wanted '6'"):
        dialog.call("Count.", "CountGivenObject", image="image/shapes.jpg", text="circle", returns="6")
    assert dialog.call("Count.", "CountGivenObject", image="image/harbour_boats.jpg", text="boat", returns="3") == "3"


def test_a_folder_with_other_data_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "mine.jpg").touch()
    with pytest.raises(ValueError, match="holds no folder search/"):
        build(tmp_path)
    assert (tmp_path / "image" / "mine.jpg").exists()
