"""DrawBox and AddText, by pixels."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentgauge.core.errors import ToolError
from tool_impls import fonts
from tool_impls.arguments import crop, font_size, numbers, read_box
from tool_impls.operation.drawing import AddText, DrawBox
from tool_impls.settings import ToolSettings

SCRATCH = Path()  # these tools write nothing


def draw(image: Image.Image, **values: Any) -> Any:
    return DrawBox(ToolSettings()).apply(SCRATCH, image=image, **values)


def write(image: Image.Image, **values: Any) -> Any:
    return AddText(ToolSettings()).apply(SCRATCH, image=image, **values)


def inked(image: Image.Image) -> tuple[int, int, int, int] | None:
    """The box around everything that is not white."""
    from PIL import ImageChops

    return ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(1, 2, 3, 4)", [1, 2, 3, 4]),
        ("x1=1", [1, 1]),
        ("1e3", [1, 3]),
        ("[.5;-7 +8.25]", [0.5, -7, 8.25]),
        ("(1, 2, 3, 4), score 91", [1, 2, 3, 4, 91]),
        ("none", []),
    ],
)
def test_every_decimal_number_counts(text: str, found: list[float]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize("text", ["", "1 2 3", "(1, 2, 3, 4), score 91", "a box"])
def test_box_needs_exactly_four_numbers(text: str) -> None:
    with pytest.raises(ToolError, match="exactly four numbers"):
        read_box(text)


FAR = "9" * 400  # read as infinity


@pytest.mark.parametrize(("height", "size"), [(336, 18), (335, 17), (672, 36), (18, 1), (1, 1)])
def test_font_grows_with_the_picture(height: int, size: int) -> None:
    assert font_size(height) == size


@pytest.mark.parametrize("tool", [DrawBox, AddText])
def test_characters_that_pillows_font_lacks_are_drawn_or_named(
    tool: type[DrawBox | AddText], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(fonts, "_wide", tuple)  # a machine without Chinese fonts

    def drawn(text: str, height: int = 336) -> Any:
        values = {"annotation": text, "bbox": "5,99,9,99"} if tool is DrawBox else {"text": text, "position": "lm"}
        return tool(ToolSettings()).apply(SCRATCH, image=Image.new("RGB", (336, height), "white"), **values)

    assert drawn("Цена").tobytes() != drawn("Цинк").tobytes()  # no boxes, and no note
    assert drawn("été, 5 €", height=9).size == (336, 9)
    result, note = drawn("价 é 格")
    assert result.size == (336, 336) and note.endswith("no font of this machine has: 价, 格.")


@pytest.mark.parametrize(
    ("bbox", "size"),
    [
        ("0,0,4,3", (4, 3)),
        ("1.9 1.9 3.9 2.9", (2, 1)),
        ("-5,-5,2,2", (2, 2)),
        ("2,2,99,99", (2, 1)),
        ("4,3,0,0", (4, 3)),
        (f"0,0,2,{FAR}", (2, 3)),
    ],
)
def test_crop_is_cut_to_integers_and_to_the_picture(bbox: str, size: tuple[int, int]) -> None:
    assert crop(Image.new("RGB", (4, 3)), bbox).size == size


@pytest.mark.parametrize("bbox", ["1,1,1,3", "9,9,12,12", "-4,-4,-1,-1"])
def test_empty_crop_is_refused(bbox: str) -> None:
    with pytest.raises(ToolError, match="covers no part"):
        crop(Image.new("RGB", (4, 3)), bbox)


R, P, W = (255, 0, 0), (255, 191, 191), (255, 255, 255)  # outline; red at 64/255 over white; white


def test_box_is_outlined_and_tinted() -> None:
    picture = draw(Image.new("RGB", (6, 5), "white"), bbox="(1, 1, 4, 3)")
    rows = [[picture.getpixel((x, y)) for x in range(6)] for y in range(5)]
    assert rows == [[W] * 6, [W, R, R, R, R, W], [W, R, P, P, R, W], [W, R, R, R, R, W], [W] * 6]


@pytest.mark.parametrize(
    ("bbox", "sentence"),
    [
        ("4 3 1 1", "x1 must be greater than or equal to x0"),
        ("4, 1, 1, 3", "x1 must be greater than or equal to x0"),
        ("1, 3, 4, 1", "y1 must be greater than or equal to y0"),
        ("1.6 1 1.2 3", "x1 must be greater than or equal to x0"),
        ("900000 1 800000 3", "x1 must be greater than or equal to x0"),
        (f"{FAR} 1 5 3", "x1 must be greater than or equal to x0"),
    ],
)
def test_reversed_corners_are_refused_with_pillows_sentence(bbox: str, sentence: str) -> None:
    """As by the released tool; a failed call counts in the score."""
    with pytest.raises(ToolError) as caught:
        draw(Image.new("RGB", (6, 5), "white"), bbox=bbox)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("bbox", ["1 1 1 1", "1 1 4 1", "1 1 1 3"])
def test_a_box_without_extent_is_drawn(bbox: str) -> None:
    assert draw(Image.new("RGB", (6, 5), "white"), bbox=bbox).getpixel((1, 1)) == R


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1", "CMYK"])
def test_result_is_rgb_whatever_comes_in_and_the_input_stays(mode: str) -> None:
    image = Image.new(mode, (6, 5), "white" if mode == "RGBA" else 0)
    before = image.tobytes()
    assert draw(image, bbox="1,1,3,3").mode == "RGB"
    assert image.tobytes() == before


@pytest.mark.parametrize("bbox", ["-10, -10, 900, 900", f"0 0 {'9' * 30} {'9' * 30}", f"-{'9' * 30} 0 2 2"])
def test_box_may_reach_beyond_the_picture(bbox: str) -> None:
    assert draw(Image.new("RGB", (6, 5), "white"), bbox=bbox).getpixel((1, 1)) in (R, P)


def test_label_stands_above_the_corner() -> None:
    plain = draw(Image.new("RGB", (200, 336), "white"), bbox="50,100,90,120")
    picture = draw(Image.new("RGB", (200, 336), "white"), bbox="50,100,90,120", annotation="cat")
    assert inked(plain) == (50, 100, 91, 121)
    left, top, _, bottom = inked(picture) or (0, 0, 0, 0)
    assert bottom == 121 and left >= 50
    label = inked(picture.crop((0, 0, 200, 96)))
    assert label is not None and label[3] <= 95 and top >= 95 - 18


@pytest.mark.parametrize(
    ("position", "place"),
    [
        ("lt", "left top"),
        ("lm", "left middle"),
        ("lb", "left bottom"),
        ("mt", "middle top"),
        ("mm", "middle middle"),
        ("mb", "middle bottom"),
        ("rt", "right top"),
        ("rm", "right middle"),
        ("rb", "right bottom"),
    ],
)
def test_two_letters_place_a_text(position: str, place: str) -> None:
    image = Image.new("RGB", (400, 336), "white")
    left, top, right, bottom = inked(write(image, text="HHH", position=position)) or (0, 0, 0, 0)
    margin = 400 // 20
    across, down = place.split()
    assert {"left": abs(left - margin), "middle": abs((left + right) / 2 - 200), "right": abs(right - (400 - margin))}[
        across
    ] <= 3
    assert {"top": abs(top - margin), "middle": abs((top + bottom) / 2 - 168), "bottom": abs(bottom - (336 - margin))}[
        down
    ] <= 3


def test_two_numbers_are_the_lower_left_corner() -> None:
    left, _, _, bottom = inked(write(Image.new("RGB", (400, 336), "white"), text="HHH", position="(60, 90)")) or (
        0,
        0,
        0,
        0,
    )
    assert abs(left - 60) <= 3 and abs(bottom - 90) <= 3


@pytest.mark.parametrize("position", ["tm", "top", "", "1", "1 2 3", "LT", " lt", "mm\n", "center"])
def test_other_positions_are_refused(position: str) -> None:
    with pytest.raises(ToolError, match="position must be"):
        write(Image.new("RGB", (40, 30)), text="x", position=position)


@pytest.mark.parametrize(("color", "pixel"), [("blue", (0, 0, 255)), ("#00ff00", (0, 255, 0)), ("red", (255, 0, 0))])
def test_color_is_used(color: str, pixel: tuple[int, int, int]) -> None:
    picture = write(Image.new("RGB", (400, 400), "white"), text="HHH", position="mm", color=color)
    assert pixel in [value for _, value in picture.getcolors(4096) or []]


def test_default_color_is_red() -> None:
    picture = write(Image.new("RGB", (400, 400), "white"), text="HHH", position="mm")
    assert (255, 0, 0) in [value for _, value in picture.getcolors(4096) or []]


def test_unknown_color_is_refused() -> None:
    with pytest.raises(ToolError, match="'blurple'"):
        write(Image.new("RGB", (40, 30)), text="x", position="mm", color="blurple")


def test_transparent_pictures_stay_transparent_beside_what_is_drawn() -> None:
    clear, opaque = Image.new("RGBA", (60, 40), (0, 0, 0, 0)), Image.new("RGBA", (60, 40), "white")
    boxed, plain = draw(clear, bbox="10 10 30 30"), draw(opaque, bbox="10 10 30 30")
    assert (boxed.mode, plain.mode) == ("RGBA", "RGB")
    assert [boxed.getpixel(point) for point in ((0, 0), (10, 10), (20, 20))] == [
        (0, 0, 0, 0),
        (255, 0, 0, 255),
        (255, 0, 0, 64),
    ]
    assert plain.getpixel((20, 20)) == (255, 191, 191)
    written = write(clear, text="Total", position="mm", color="lime")
    assert {pixel[:3] for _, pixel in written.getcolors(9999) or [] if pixel[3]} == {(0, 255, 0)}


def test_pictures_that_cameras_took_on_their_side_are_upright() -> None:
    exif, stream = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (20, 40), "white").save(stream, "JPEG", exif=exif)
    drawn = draw(Image.open(stream), bbox="30 5 38 15")
    assert drawn.size == (40, 20) and drawn.getpixel((30, 5)) == (255, 0, 0) and not drawn.getexif()


@pytest.mark.parametrize("position", ["lm", "mm", "rm"])
def test_text_of_several_lines_is_written_in_the_middle(position: str) -> None:
    assert inked(write(Image.new("RGB", (100, 60), "white"), text="one\ntwo", position=position)) is not None


@pytest.mark.parametrize("position", ["lt", "mt", "rt", "lb", "mb", "rb", "5 25"])
@pytest.mark.parametrize("text", ["one\ntwo", "one\n"])
def test_text_of_several_lines_is_refused_elsewhere_with_pillows_sentence(text: str, position: str) -> None:
    with pytest.raises(ToolError) as caught:
        write(Image.new("RGB", (100, 60), "white"), text=text, position=position)
    assert str(caught.value) == "anchor not supported for multiline text"


def test_label_of_several_lines_is_refused() -> None:
    with pytest.raises(ToolError, match="anchor not supported for multiline text"):
        draw(Image.new("RGB", (100, 60), "white"), bbox="10 20 30 40", annotation="one\ntwo")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"filename": "my box"}, "my box.png"),
        ({"filename": "a.PNG"}, "a.png"),
        ({"output_dir": "/somewhere/else"}, "image_with_box.png"),
    ],
)
def test_picture_gets_the_name_that_was_asked_for(tmp_path: Path, asked: dict[str, str], name: str) -> None:
    found: Any = DrawBox(ToolSettings()).apply(tmp_path, image=Image.new("RGB", (40, 30)), bbox="1 1 9 9", **asked)
    assert found == tmp_path / name
    with Image.open(found) as picture:
        assert (picture.size, picture.getpixel((1, 1))) == ((40, 30), (255, 0, 0))


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a\\b", ".."])
def test_name_with_folders_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolError, match="plain name without folders"):
        AddText(ToolSettings()).apply(
            tmp_path, image=Image.new("RGB", (40, 30)), text="x", position="mm", filename=name
        )
