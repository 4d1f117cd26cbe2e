"""VideoClip, VideoOCR, AddTextVideoTool and TextToVideoTool, on films whose frames show their numbers."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from tests.tools import media
from tests.tools.media import RATE, SIZE, make_video, number_of, tone
from tool_impls import fonts
from tool_impls.audio import sound_file as sound
from tool_impls.base import BenchTool
from tool_impls.perception.ocr import Block
from tool_impls.settings import ToolSettings
from tool_impls.video import frames, video_file
from tool_impls.video.frames import Timing, spread
from tool_impls.video.tools import TextToVideoTool, VideoClip, VideoOCR, drawn, read_size
from tool_impls.video.video_text import AddTextVideoTool, default_name

av = pytest.importorskip("av")
numpy = pytest.importorskip("numpy")

CUTTERS: tuple[type[BenchTool], ...] = (VideoClip, AddTextVideoTool, VideoOCR)


def run(
    kind: type[BenchTool], folder: Path, options: dict[str, Any] | None = None, released: bool = False, **values: Any
) -> Any:
    (folder / "out").mkdir(exist_ok=True)
    settings = ToolSettings(released=released, tables={kind.meta.name: options or {}})
    return kind(settings).apply(folder / "out", **values)


def images(path: Path) -> list[Any]:
    return [frame.image for frame in frames.frames(path)]


def numbers(path: Path) -> list[int]:
    return [number_of(image) for image in images(path)]


def length(path: Path) -> float:
    """Seconds from the first frame to the end of the last one."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return float(stream.duration * stream.time_base)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 frames, 10 a second, 440 Hz."""
    return make_video(tmp_path_factory.mktemp("film") / "film.mp4", 40, sound=tone(4))


# --- frames
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "limit", "expected"),
    [(1, 4, [0, 1, 2, 3]), (15, None, [0, 15, 30]), (15, 2, [0, 15]), (39, None, [0, 39]), (40, None, [0]), (1, 0, [])],
)
def test_every_so_many_frames(film: Path, every: int, limit: int | None, expected: list[int]) -> None:
    found = list(frames.frames(film, every, limit))
    assert [frame.number for frame in found] == expected == [number_of(frame.image) for frame in found]
    assert [frame.seconds for frame in found] == pytest.approx([number / 10 for number in expected])


@pytest.mark.parametrize(
    ("limit", "every", "expected"),
    [(4, 1, [0, 10, 20, 30]), (3, 5, [0, 10, 25]), (1, 1, [0]), (99, 8, [0, 8, 16, 24, 32])],
)
def test_spread_frames_lie_evenly_over_the_film(film: Path, limit: int, every: int, expected: list[int]) -> None:
    found = list(spread(film, limit, every))
    assert [frame.number for frame in found] == expected == [number_of(frame.image) for frame in found]


@pytest.mark.parametrize("every", [0, -3])
def test_frames_cannot_be_skipped_backwards(film: Path, tmp_path: Path, every: int) -> None:
    for call in (
        lambda: frames.frames(film, every),
        lambda: spread(film, 4, every),
        lambda: run(VideoOCR, tmp_path, video=film, frame_skip=every),
    ):
        with pytest.raises(ToolError, match=f"frame_skip must be at least 1; got {every}"):
            call()


@pytest.fixture(scope="module", params=["mp4", "mkv", "avi", "ts"])
def long_film(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """380 frames, of which each twelfth is a key frame."""
    path = tmp_path_factory.mktemp("long") / f"a.{request.param}"
    return make_video(path, 380, options={"g": "12", "bf": "2", "sc_threshold": "0"})


@pytest.mark.parametrize("first", [0, 299, 300, 301, 359, 360, 361, 372, 379, 380, 500])
def test_late_frames_are_found_by_key_frames(long_film: Path, first: int) -> None:
    found = [(number, number_of(picture.to_image())) for number, picture in frames.video_frames(long_film, first)]
    assert found == [(number, number % 256) for number in range(first, 380)]  # a frame shows eight bits


def test_late_frames_are_not_reached_by_decoding_all_before(long_film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, counts = frames.decoded, [0]

    def counted(*values: Any) -> Any:
        for frame in decoded(*values):
            counts[0] += 1
            yield frame

    monkeypatch.setattr(frames, "decoded", counted)
    assert len(list(frames.video_frames(long_film, 370))) == 10 and counts[0] <= 10 + frames.LEAD + 12


# --- VideoClip
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "name", "kept"),
    [
        (None, None, "clip_0_10.mp4", range(40)),
        (0.0, 1.0, "clip_0_1.mp4", range(10)),
        (1.0, 2.5, "clip_1_2.5.mp4", range(10, 25)),
        (0.29, 0.61, "clip_0.29_0.61.mp4", range(2, 6)),  # cut to whole frames, not rounded
        (0.15, 0.25, "clip_0.15_0.25.mp4", range(1, 2)),
        (3.5, 60.0, "clip_3.5_60.mp4", range(35, 40)),
    ],
)
def test_clip_holds_the_frames_between_the_times(
    film: Path, tmp_path: Path, start: float | None, end: float | None, name: str, kept: range
) -> None:
    made = run(VideoClip, tmp_path, video=film, start_time=start, end_time=end)
    assert (made.name, made.parent) == (name, tmp_path / "out")
    assert numbers(made) == list(kept)
    assert length(made) == pytest.approx(len(kept) / 10)
    with av.open(str(made)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt, stream.width, stream.height) == ("h264", "yuv420p", *SIZE)


@pytest.mark.parametrize(
    ("start", "end", "told"),
    [
        (2.0, 2.0, "0 <= start_time < end_time.*got 2, 2"),
        (-0.5, 2.0, "got -0.5, 2"),
        (11.0, None, "got 11, 10"),
        (float("nan"), 2.0, "got nan, 2"),
        (0.0, float("inf"), "got 0, inf"),
        (4.0, 5.0, "start_time 4 is after the end of film.mp4"),
        (0.11, 0.12, "there is no frame from 0.11 to 0.12 seconds: film.mp4 has 10 frames a second"),
    ],
)
def test_impossible_times_are_refused(
    film: Path, tmp_path: Path, start: float | None, end: float | None, told: str
) -> None:
    with pytest.raises(ToolError, match=told):
        run(VideoClip, tmp_path, video=film, start_time=start, end_time=end)


@pytest.mark.parametrize("kind", [VideoClip, AddTextVideoTool], ids=lambda kind: kind.meta.name)
@pytest.mark.parametrize(
    ("released", "options", "heard"), [(False, {}, True), (True, {}, False), (True, {"sound": True}, True)]
)
def test_sound_is_kept_unless_the_released_tool_is_wanted(
    film: Path, tmp_path: Path, kind: type[BenchTool], released: bool, options: dict[str, Any], heard: bool
) -> None:
    made = run(kind, tmp_path, options, released, video=film, filename="a.mp4")
    assert video_file.has_sound(made) is heard
    if heard:
        track = sound.read(made)
        assert track.seconds == pytest.approx(4, abs=0.05) and media.pitch(
            track.samples[0], track.rate
        ) == pytest.approx(440, abs=2)


def flash(pixels: Any, number: int) -> None:
    if number in range(14, 17):
        pixels[20:] = 255


@pytest.mark.parametrize(("start", "late"), [(0.0, 300), (0.5, 300), (1.0, 2)])
def test_sound_stays_in_step_with_the_pictures(
    tmp_path: Path, start: float, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = numpy.zeros((2, 3 * RATE), dtype=numpy.float32)
    samples[:, round(1.4 * RATE) : round(1.7 * RATE)] = tone(0.3, (500, 500))
    path = make_video(tmp_path / "a.mp4", 30, paint=flash, sound=samples, options={"g": "5"})
    monkeypatch.setattr(frames, "LATE", late)
    made = run(VideoClip, tmp_path, video=path, start_time=start, end_time=2.5)
    bright = [place / 10 for place, image in enumerate(images(made)) if image.getpixel((50, 50))[0] > 200]
    track = sound.read(made)
    loud = numpy.flatnonzero(numpy.abs(track.samples[0]) > 0.1) / track.rate
    assert bright == pytest.approx([1.4 - start, 1.5 - start, 1.6 - start])
    assert (loud[0], loud[-1]) == pytest.approx((1.4 - start, 1.7 - start), abs=0.03)
    assert track.seconds == pytest.approx(2.5 - start, abs=0.05) and track.samples.shape[0] == 2


def test_frames_that_are_shown_at_odd_times_stay_so(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mkv", 6, ticks=[0, 1, 2, 12, 13, 20])
    made = run(VideoClip, tmp_path, video=path, end_time=90.0)
    assert numbers(made) == [0, 1, 2, 3, 4, 5]
    assert [frame.seconds for frame in frames.frames(made)] == pytest.approx([0, 0.1, 0.2, 1.2, 1.3, 2.0])


@pytest.fixture(scope="module", params=["mp4", "mkv"])
def uneven(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """12 frames at uneven times, as in a recording of a screen, where one stays for 5 s, and 1.2 s of sound."""
    path = tmp_path_factory.mktemp("uneven") / f"a.{request.param}"
    return make_video(path, 12, ticks=UNEVEN, sound=tone(4))


UNEVEN = [0, 1, 2, 3, 4, 5, 10, 60, 62, 63, 64, 80]  # tenths of a second


@pytest.mark.parametrize(
    ("start", "end", "kept", "shown", "seconds"),
    [
        (0.0, 0.5, [0, 1, 2, 3, 4], [0, 0.1, 0.2, 0.3, 0.4], 0.5),
        (0.2, 6.2, [2, 3, 4, 5, 6, 7], [0, 0.1, 0.2, 0.3, 0.8, 5.8], 6.0),
        (2.0, 5.0, [6], [0], 3.0),  # within the frame that stays
        (2.0, 6.15, [6, 7], [0, 4.0], 4.15),
        (5.0, 6.3, [6, 7, 8], [0, 1.0, 1.2], 1.3),
        (6.0, 9.0, [7, 8, 9, 10, 11], [0, 0.2, 0.3, 0.4, 2.0], 2.1),
        (7.0, 60.0, [10, 11], [0, 1.0], 1.1),
    ],
)
def test_parts_of_uneven_films_are_cut_by_time(
    uneven: Path, tmp_path: Path, start: float, end: float, kept: list[int], shown: list[float], seconds: float
) -> None:
    made = run(VideoClip, tmp_path, video=uneven, start_time=start, end_time=end, filename="b.mp4")
    assert numbers(made) == kept
    assert [frame.seconds for frame in frames.frames(made)] == pytest.approx(shown, abs=0.002)
    assert length(made) == pytest.approx(seconds, abs=0.11)  # the last frame of a file may lack its time
    if start < 1:
        assert sound.read(made).seconds == pytest.approx(min(seconds, 1.2 - start), abs=0.05)


def test_parts_after_the_end_of_uneven_films_are_refused(uneven: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="start_time 9 is after the end of a"):
        run(VideoClip, tmp_path, video=uneven, start_time=9.0, end_time=10.0)


@pytest.mark.parametrize(
    ("limit", "every", "expected"),
    [(4, 1, [0, 6, 7]), (2, 1, [0, 6]), (3, 4, [0, 4, 8]), (2, 4, [0, 4]), (99, 1, [*range(12)]), (99, 5, [0, 5, 10])],
)
def test_frames_of_uneven_films_are_spread_over_their_length(
    uneven: Path, limit: int, every: int, expected: list[int]
) -> None:
    found = list(spread(uneven, limit, every))
    assert [frame.number for frame in found] == expected == [number_of(frame.image) for frame in found]


def test_parts_of_constant_films_are_those_of_the_release() -> None:
    """int(start * rate) up to but without int(end * rate), where these are no matter of rounding."""
    for rate in (Fraction(10), Fraction(25), Fraction(30000, 1001), Fraction(60)):
        for unit in (0.0, 0.001):  # the times of Matroska are whole milliseconds
            times = [round(float(number / rate) / (unit or 1e-9)) * (unit or 1e-9) for number in range(600)]
            timing = Timing(times, float(600 / rate), rate, range(600))
            for start, end in (
                (0.0, 1.0),
                (0.29, 0.61),
                (0.15, 0.25),
                (1.0, 2.5),
                (2.013, 3.517),
                (0.11, 0.12),
                (3.0, 9.0),
            ):
                assert timing.part(start, end) == (int(start * float(rate)), int(end * float(rate))), (rate, start, end)


def test_damage_before_a_part_does_not_move_it(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.avi", 60, codec="mjpeg", pix_fmt="yuvj420p")
    content = bytearray(path.read_bytes())
    starts = [place for place in range(len(content)) if content[place : place + 3] == b"\xff\xd8\xff"]
    for place in starts[5:9]:
        content[place : place + 600] = bytes(600)
    path.write_bytes(content)
    made = run(VideoClip, tmp_path, video=path, start_time=2.0, end_time=3.0)
    assert numbers(made) == [*range(20, 30)]


def test_odd_sides_get_one_more_row_and_column(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.avi", 3, size=(99, 65), codec="mpeg4")
    made = run(VideoClip, tmp_path, video=path, filename="b")
    assert numbers(made) == [0, 1, 2]
    picture = images(made)[0]
    assert picture.size == (100, 66)
    assert max(abs(a - b) for a, b in zip(picture.getpixel((99, 65)), (90, 120, 90), strict=True)) < 8


@pytest.mark.parametrize(("rotation", "place"), [(90, (6, 89)), (180, (89, 57)), (-90, (57, 6)), (0, (6, 6))])
def test_films_on_their_side_are_put_upright(tmp_path: Path, rotation: int, place: tuple[int, int]) -> None:
    path = make_video(tmp_path / "a.mp4", 2, rotation=rotation, paint=_dark_corner)

    def corner(image: Any) -> bool:
        return image.size == ((64, 96) if rotation % 180 else (96, 64)) and image.getpixel(place)[1] < 60

    assert corner(images(path)[0])
    assert corner(images(run(VideoClip, tmp_path, video=path))[0])
    assert corner(images(run(AddTextVideoTool, tmp_path, video=path, position="20,40", filename="c"))[0])


def _dark_corner(pixels: Any, number: int) -> None:
    pixels[:] = 200
    pixels[:12, :12] = 0


@pytest.mark.parametrize(
    ("codec", "pix_fmt", "name", "space"),
    [
        ("libx264", "yuv420p", "a.mp4", None),
        ("libx264", "yuv420p", "a.mp4", 1),
        ("libx264", "yuv444p", "a.mp4", 5),
        ("mjpeg", "yuvj420p", "a.avi", None),
        ("ffv1", "bgr0", "a.mkv", None),
        ("libx264", "yuv420p10le", "a.mkv", 1),
    ],
)
@pytest.mark.parametrize("kind", [VideoClip, AddTextVideoTool], ids=lambda kind: kind.meta.name)
def test_colours_stay(
    tmp_path: Path, kind: type[BenchTool], codec: str, pix_fmt: str, name: str, space: int | None
) -> None:
    wanted = [(200, 40, 40), (40, 180, 60), (30, 60, 210), (230, 210, 60)]

    def paint(pixels: Any, number: int) -> None:
        for place, colour in enumerate(wanted):
            pixels[:, place * 24 : place * 24 + 24] = colour

    path = make_video(tmp_path / name, 2, codec=codec, pix_fmt=pix_fmt, paint=paint, colorspace=space)
    for source in (
        path,
        run(kind, tmp_path, video=path, filename="b", **({"text": " "} if kind is AddTextVideoTool else {})),
    ):
        picture = images(source)[0]
        for place, colour in enumerate(wanted):
            assert (
                max(abs(a - b) for a, b in zip(picture.getpixel((place * 24 + 12, 32)), colour, strict=True)) <= 10
            ), (source.name, colour)


def test_long_parts_are_refused(film: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"may be 2 seconds long; from 1 to 3\.5 it is longer"):
        run(VideoClip, tmp_path, {"max_seconds": 2.0}, video=film, start_time=1.0, end_time=3.5)
    assert len(numbers(run(VideoClip, tmp_path, {"max_seconds": 2.0}, video=film, start_time=1.0, end_time=3.0))) == 20
    with pytest.raises(ToolError, match=r"film\.mp4 is longer than 2 seconds"):
        run(AddTextVideoTool, tmp_path, {"max_seconds": 2.0}, video=film)


def test_same_clip_is_the_same_file(film: Path, tmp_path: Path) -> None:
    first, second = (run(VideoClip, tmp_path, video=film, end_time=1.0).read_bytes() for _ in range(2))
    assert first == second


# --- AddTextVideoTool
# --------------------------------------------------------------------------------------------------


def plain(path: Path, size: tuple[int, int] = (320, 120)) -> Path:
    return make_video(path, 3, size=size, paint=lambda pixels, number: pixels.fill(60))


def changed(image: Any) -> tuple[int, int, int, int] | None:
    """The box around what is not dark grey any more."""
    mask = numpy.abs(numpy.asarray(image, dtype=int) - 60).max(axis=2) > 60
    ys, xs = numpy.nonzero(mask)
    return (int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1) if xs.size else None


@pytest.mark.parametrize(
    ("values", "box"),
    [
        ({"text": "HHH"}, (52, 29, 112, 50)),
        ({"text": "HHH", "position": "100,100"}, (102, 79, 162, 100)),
        ({"text": "HHH", "position": "(10, 60)", "font_scale": 2.0}, (15, 18, 134, 60)),
        ({"text": "HHH", "font": 1}, (51, 41, 77, 50)),
        ({"text": "H\nH"}, (52, 29, 69, 88)),
    ],
)
def test_text_stands_where_it_should(tmp_path: Path, values: dict[str, Any], box: tuple[int, ...]) -> None:
    made = run(AddTextVideoTool, tmp_path, video=plain(tmp_path / "a.mp4"), **values)
    for image in images(made):
        assert changed(image) == pytest.approx(box, abs=3)
        assert image.getpixel((5, 5)) == pytest.approx((60, 60, 60), abs=3)


@pytest.mark.parametrize(
    ("color", "pixel"),
    [(None, (255, 255, 255)), ("0,0,255", (255, 0, 0)), ("[255, 0, 0]", (0, 0, 255)), ("0,255,0", (0, 255, 0))],
)
def test_colour_is_blue_green_red(tmp_path: Path, color: str | None, pixel: tuple[int, int, int]) -> None:
    made = run(
        AddTextVideoTool,
        tmp_path,
        video=plain(tmp_path / "a.mp4"),
        text="█",
        position="40,100",
        font_scale=3.0,
        color=color,
    )
    left, top, right, bottom = changed(images(made)[1]) or (0, 0, 0, 0)
    assert images(made)[1].getpixel(((left + right) // 2, (top + bottom) // 2)) == pytest.approx(pixel, abs=12)


def test_thick_strokes_cover_more(tmp_path: Path) -> None:
    path = plain(tmp_path / "a.mp4")
    covered = []
    for thickness in (0, 2, 5, 9):
        image = images(
            run(
                AddTextVideoTool, tmp_path, video=path, text="Hi", font_scale=2.0, position="20,90", thickness=thickness
            )
        )[0]
        covered.append(int((numpy.asarray(image)[..., 0] > 150).sum()))
    assert covered[0] == covered[1] < covered[2] < covered[3]


@pytest.mark.parametrize("position", ["-500,-500", "9999999999999,50", "50,-20"])
def test_text_outside_the_frame_changes_nothing(tmp_path: Path, position: str) -> None:
    made = run(AddTextVideoTool, tmp_path, video=plain(tmp_path / "a.mp4"), text="HHH", position=position)
    assert [changed(image) for image in images(made)] == [None] * 3


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"position": "50"}, "position must be two numbers.*got '50'"),
        ({"position": "left"}, "position must be two numbers"),
        ({"position": "1,2,3"}, "position must be two numbers"),
        ({"color": "red"}, "color must be three numbers.*got 'red'"),
        ({"color": "0,0,256"}, "color must be three numbers from 0 to 255"),
        ({"color": "0,-1,0"}, "color must be three numbers from 0 to 255"),
        ({"font_scale": 0.0}, "font_scale must be above 0.*got 0"),
        ({"font_scale": float("nan")}, "font_scale must be above 0"),
        ({"font_scale": 1e9}, "at most 20"),
        ({"thickness": -1}, "thickness must be from 0 to 50; got -1"),
        ({"thickness": 10**9}, "thickness must be from 0"),
        ({"font": 8}, "font must be a number from 0 to 7"),
        ({"font": -1}, "font must be"),
        ({"text": "x" * 501}, "text may have 500 characters; got 501"),
        ({"filename": "../a"}, "plain name"),
    ],
)
def test_values_are_checked_before_the_film_is_opened(tmp_path: Path, values: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        run(AddTextVideoTool, tmp_path, video=tmp_path / "none.mp4", **values)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hello, World!", "video_with_text_Hello_World"),
        ("a/b: c?", "video_with_text_ab_c"),
        ("one two three four five six", "video_with_text_one_two_three_four_f"),
        ("你好", "video_with_text_你好"),
        ("!!!", "video_with_text"),
    ],
)
def test_default_name_follows_the_text(text: str, name: str) -> None:
    assert default_name(text) == name


@pytest.mark.parametrize("font", [0, 1, 2, 3, 4, 5, 6, 7, 16, 23])
def test_every_font_number_writes(tmp_path: Path, font: int) -> None:
    assert changed(images(run(AddTextVideoTool, tmp_path, video=plain(tmp_path / "a.mp4"), text="Hg", font=font))[0])


def ink(text: str) -> Any:
    from PIL import Image

    mask = Image.new("L", (200, 60))
    fonts.Pen(32).write(mask, 5, 40, text)
    return mask


@pytest.mark.parametrize("text", ["Grüße", "Привет", "Ελλάδα", "你好", "こんにちは", "한국"])
def test_letters_of_other_scripts_are_no_empty_boxes(text: str) -> None:
    if not all(any(fonts._has(font, sign) for font in fonts.Pen(32)._fonts) for sign in text):
        pytest.skip("no font of this system has such letters")
    assert len({bytes(ink(sign).tobytes()) for sign in text}) == len(set(text))
    assert all(bytes(ink(sign).tobytes()) != bytes(ink("\U0010fffe").tobytes()) for sign in text)


@pytest.mark.parametrize(
    ("kind", "values"),
    [(AddTextVideoTool, {"text": "a \U00012000 b"}), (TextToVideoTool, {"description": "a \U00012000 b"})],
)
def test_letters_that_no_font_has_are_named(tmp_path: Path, kind: type[BenchTool], values: dict[str, Any]) -> None:
    given = {"video": plain(tmp_path / "a.mp4")} if kind is AddTextVideoTool else {}
    made, note = run(kind, tmp_path, **given, **values)
    assert made.is_file()
    assert note == "The video shows boxes in place of characters that no font of this machine has: \U00012000."


def test_font_of_the_settings_comes_first(tmp_path: Path) -> None:
    (path,) = fonts._bundled(True, True, False) or pytest.skip("matplotlib is not installed")
    film = plain(tmp_path / "a.mp4")
    own = images(run(AddTextVideoTool, tmp_path, {"font_file": path}, video=film, text="Hg"))[0]
    assert own.tobytes() != images(run(AddTextVideoTool, tmp_path, video=film, text="Hg"))[0].tobytes()
    (tmp_path / "bad.ttf").write_bytes(b"no font")
    with pytest.raises(ToolError, match="no font file that can be read"):
        run(AddTextVideoTool, tmp_path, {"font_file": str(tmp_path / "bad.ttf")}, video=film)


# --- TextToVideoTool
# ---------------------------------------------------------------------------------------------------


def square(image: Any) -> tuple[float, float, tuple[int, ...]]:
    """Centre and colour of what is coloured."""
    pixels = numpy.asarray(image, dtype=int)
    ys, xs = numpy.nonzero(pixels.max(axis=2) - pixels.min(axis=2) > 60)
    return float(xs.mean()), float(ys.mean()), image.getpixel((int(xs.mean()), int(ys.mean())))


def test_square_moves_right_and_up_and_changes_its_colour(tmp_path: Path) -> None:
    made = run(TextToVideoTool, tmp_path, description="A fox")
    shown = images(made)
    assert made.name == "text_to_video.mp4" and len(shown) == 8 and shown[0].size == (128, 128) and length(made) == 1.0
    places = [square(image) for image in shown]
    assert all(one[0] < other[0] and one[1] > other[1] for one, other in pairwise(places))
    assert len({colour for _, _, colour in places}) == 8
    assert shown[0].getpixel((120, 5)) == pytest.approx((240, 240, 240), abs=4)


@pytest.mark.parametrize("size", [(128, 128), (320, 64), (64, 320), (1000, 700)])
@pytest.mark.parametrize("words", ["a fox jumps over the lazy dog now and then", "W" * 50, "x"])
def test_words_stand_at_the_bottom_left(size: tuple[int, int], words: str) -> None:
    picture = drawn(words, 0, 8, size)
    assert picture.tobytes() == drawn(words[:32], 0, 8, size).tobytes()
    assert len(words) < 32 or picture.tobytes() != drawn(words[:31], 0, 8, size).tobytes()
    ys, xs = numpy.nonzero(numpy.asarray(picture).max(axis=2) < 150)
    assert xs.min() <= 8 and ys.min() >= size[1] * 0.66 and xs.max() < size[0] - 2 and ys.max() < size[1] - 2


def test_the_smallest_picture_has_a_square() -> None:
    assert square(drawn("a long description of nothing much", 0, 8, (16, 16)))[0] < 8


@pytest.mark.parametrize(
    ("resolution", "size"),
    [
        ("320,240", (320, 240)),
        (" (64, 48) ", (64, 48)),
        ("64x48", (64, 48)),
        ("1,1", (16, 16)),
        ("0,40", (16, 40)),
        ("large", (128, 128)),
        ("", (128, 128)),
        ("64", (128, 128)),
        ("-5,64", (128, 128)),
        ("1,2,3", (128, 128)),
    ],
)
def test_a_resolution_that_is_none_means_the_usual_one(resolution: str, size: tuple[int, int]) -> None:
    assert read_size(resolution) == size


def test_frames_rate_and_name_are_as_wanted(tmp_path: Path) -> None:
    made = run(
        TextToVideoTool, tmp_path, description="x", num_frames=5, resolution="33,17", fps=25, filename="my film.mp4"
    )
    assert made.name == "my film.mp4" and length(made) == pytest.approx(0.2) and images(made)[0].size == (34, 18)
    with av.open(str(made)) as container:
        assert container.streams.video[0].average_rate == Fraction(25) and container.streams.video[0].frames == 5
    assert len(images(run(TextToVideoTool, tmp_path, description="", num_frames=0))) == 1


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"fps": 0}, "fps must be from 1 to 240; got 0"),
        ({"fps": 10**6}, "fps must be"),
        ({"num_frames": 10**9}, "num_frames may be 3600 at most"),
        ({"resolution": "99999,99999"}, "resolution may be 2048 pixels a side"),
        ({"filename": "a/b"}, "plain name"),
    ],
)
def test_boundless_wishes_are_refused(tmp_path: Path, values: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        run(TextToVideoTool, tmp_path, description="x", **values)


def test_same_words_give_the_same_file(tmp_path: Path) -> None:
    first, second = (run(TextToVideoTool, tmp_path, description="A fox").read_bytes() for _ in range(2))
    assert first == second


# --- VideoOCR
# ----------------------------------------------------------------------------------------------------------


class Spy:
    """A reader that tells the number of a frame, twice, and nothing for multiples of three."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def lines(self, image: Any) -> list[Block]:
        self.read.append(number := number_of(image))
        return [] if number % 3 == 0 else [Block(1, 2, 3, 4, str(number), 2), Block(5, 6, 7, 8, "|", 2)]


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    found = Spy()
    monkeypatch.setattr("tool_impls.perception.ocr.reader", lambda device: found)
    return found


def test_lines_have_the_released_form(film: Path, tmp_path: Path, spy: Spy) -> None:
    told = run(VideoOCR, tmp_path, video=film, frame_skip=13)
    assert (
        told
        == "Frame 0: \nFrame 13: (1, 2, 3, 4) 13 | (5, 6, 7, 8) |\nFrame 26: (1, 2, 3, 4) 26 | (5, 6, 7, 8) |\nFrame"
        " 39: "
    )


def test_every_frame_is_read_unless_told_otherwise(film: Path, tmp_path: Path, spy: Spy) -> None:
    assert [line.split(":")[0] for line in run(VideoOCR, tmp_path, video=film).splitlines()] == [
        f"Frame {n}" for n in range(40)
    ]
    assert spy.read == list(range(40))


def test_a_note_says_where_reading_stopped(film: Path, tmp_path: Path, spy: Spy) -> None:
    lines = run(VideoOCR, tmp_path, {"max_frames": 2}, video=film, frame_skip=5).splitlines()
    assert lines == [
        "Frame 0: ",
        "Frame 5: (1, 2, 3, 4) 5 | (5, 6, 7, 8) |",
        "(stopped before frame 10: only 2 frames are read at a time; a larger frame_skip reaches further)",
    ]
    assert spy.read == [0, 5]
    assert "stopped" not in run(VideoOCR, tmp_path, {"max_frames": 40}, video=film)


def test_pictures_that_stay_are_read_once_and_left_out_if_wanted(tmp_path: Path, spy: Spy) -> None:
    shown = [1, 1, 1, 2, 2, 3, 3, 3, 1, 1]

    def paint(pixels: Any, number: int) -> None:
        pixels[:] = media.numbered(shown[number])

    path = make_video(tmp_path / "a.mp4", 10, paint=paint)
    lines = run(VideoOCR, tmp_path, video=path).splitlines()
    texts = {1: "(1, 2, 3, 4) 1 | (5, 6, 7, 8) |", 2: "(1, 2, 3, 4) 2 | (5, 6, 7, 8) |", 3: ""}
    assert lines == [f"Frame {place}: {texts[number]}" for place, number in enumerate(shown)]
    assert spy.read == [1, 2, 3, 1]
    quiet = run(VideoOCR, tmp_path, {"skip_same": True}, video=path).splitlines()
    assert [line.split(":")[0] for line in quiet] == ["Frame 0", "Frame 3", "Frame 5", "Frame 8"]


def test_text_of_a_film_is_read(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    path = make_video(tmp_path / "a.mp4", 4, size=(320, 120), paint=lambda pixels, number: pixels.fill(20))
    told = run(
        VideoOCR,
        tmp_path,
        video=run(AddTextVideoTool, tmp_path, video=path, text="Station 42", position="40,80"),
        frame_skip=2,
    )
    first, second = told.splitlines()
    assert first.startswith("Frame 0: (") and first.endswith(") Station 42") and second.startswith("Frame 2: (")
    x1, y1, x2, y2 = (int(value) for value in first[len("Frame 0: (") :].split(")")[0].split(", "))
    assert 30 <= x1 <= 44 and 45 <= y1 <= 62 and 180 <= x2 <= 215 and 78 <= y2 <= 92


# --- whatever a file may hold
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CUTTERS, ids=lambda kind: kind.meta.name)
@pytest.mark.parametrize("content", list(media.BROKEN))
def test_what_is_no_film_is_refused_by_name(tmp_path: Path, kind: type[BenchTool], content: str) -> None:
    (tmp_path / "film.mp4").write_bytes(media.BROKEN[content])
    with pytest.raises(ToolError, match=r"^film\.mp4 is not a video that can be read") as caught:
        run(kind, tmp_path, video=tmp_path / "film.mp4")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("kind", CUTTERS, ids=lambda kind: kind.meta.name)
def test_songs_and_their_covers_are_no_films(tmp_path: Path, kind: type[BenchTool]) -> None:
    song = media.make_sound(tmp_path / "song.mp3", tone(1), codec="libmp3lame")
    with pytest.raises(ToolError, match=r"song\.mp3 holds no pictures: it has no video track"):
        run(kind, tmp_path, video=song)


@pytest.mark.parametrize("kind", CUTTERS, ids=lambda kind: kind.meta.name)
def test_huge_frames_are_refused_before_they_take_memory(
    tmp_path: Path, kind: type[BenchTool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "FRAME_PIXELS", 95 * 64)
    for name, codec, pix_fmt in (
        ("a.mp4", "libx264", "yuv420p"),
        ("a.avi", "mjpeg", "yuvj420p"),
        ("a.mov", "png", "rgb24"),
    ):
        path = make_video(tmp_path / name, 2, codec=codec, pix_fmt=pix_fmt)
        with pytest.raises(ToolError, match=rf"^a\{path.suffix}"):
            run(kind, tmp_path, video=path)


def test_damage_in_the_middle_costs_no_more_than_that(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.ts", 40, codec="mpeg2video", options={"g": "5"})
    content = bytearray(path.read_bytes())
    for place in range(len(content) // 2, len(content) // 2 + 1500):
        content[place] ^= 0x55
    path.write_bytes(content)
    assert len(numbers(run(VideoClip, tmp_path, video=path))) >= 20


def test_truncated_film_gives_what_is_left(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mkv", 40, options={"g": "5"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    left = numbers(run(VideoClip, tmp_path, video=path))
    assert 1 < len(left) < 40 and left == list(range(len(left)))


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
@pytest.mark.parametrize(
    ("name", "codecs"),
    [
        ("a.webm", ["-c:v", "libvpx", "-c:a", "libvorbis"]),
        ("a.mpg", ["-c:v", "mpeg2video", "-c:a", "mp2"]),
        ("a.avi", ["-c:v", "mpeg4", "-c:a", "libmp3lame"]),
        ("a.mov", ["-c:v", "libx264", "-c:a", "pcm_s16le", "-pix_fmt", "yuv420p"]),
        ("a.wmv", ["-c:v", "wmv2", "-c:a", "wmav2"]),
        ("a.flv", ["-c:v", "flv", "-c:a", "libmp3lame", "-ar", "44100"]),
    ],
)
def test_films_of_other_programs_are_cut_and_labelled(tmp_path: Path, name: str, codecs: list[str]) -> None:
    sources = [
        "-f",
        "lavfi",
        "-i",
        "testsrc=size=160x120:rate=25:duration=2",
        "-f",
        "lavfi",
        "-i",
        "sine=frequency=660:duration=2",
    ]
    subprocess.run(
        ["ffmpeg", "-v", "error", *sources, *codecs, "-metadata", "title=Größe", str(tmp_path / name)],
        check=True,
        timeout=60,
    )
    made = run(VideoClip, tmp_path, video=tmp_path / name, start_time=0.4, end_time=1.4)
    assert len(images(made)) == 25 and length(made) == pytest.approx(1.0, abs=0.01)
    track = sound.read(made)
    assert track.seconds == pytest.approx(1, abs=0.06) and media.pitch(track.samples[0], track.rate) == pytest.approx(
        660, abs=4
    )
    assert len(images(run(AddTextVideoTool, tmp_path, video=tmp_path / name, filename="b"))) in (49, 50)
