"""Pictures of every mode, orientation and profile, as a viewer displays them."""

from __future__ import annotations

import io
import struct
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageCms, ImageDraw, ImageFont, ImageOps, ImageStat

from agentgauge.core.pictures import DARK, MIDDLE, WHITE, displayed, fitted, flattened, is_plain

COLOURS = Image.merge(
    "RGB", (Image.linear_gradient("L"), Image.linear_gradient("L").rotate(90), Image.radial_gradient("L"))
).resize((64, 48))
GREY = ImageOps.autocontrast(COLOURS.convert("L"))  # from black to white
CLEAR = (0, 0, 0, 0)


def saved(image: Image.Image, form: str = "PNG", **options: Any) -> Image.Image:
    """The picture as it comes out of a file."""
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return Image.open(stream)


def deep(scale: float, offset: float = 0, mode: str = "I") -> Image.Image:
    return GREY.convert(mode).point(lambda value: value * scale + offset)


def in_lab() -> Image.Image:
    profiles = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    made = ImageCms.profileToProfile(COLOURS, *profiles, outputMode="LAB")
    assert made is not None
    return made


MODES = {
    "L": (saved(GREY), GREY),
    "LA": (saved(GREY.convert("LA")), GREY),
    "La": (GREY.convert("LA").convert("La"), GREY),
    "P": (saved(GREY.convert("P")), GREY),
    "PA": (GREY.convert("P").convert("PA"), GREY),
    "RGBA": (saved(COLOURS.convert("RGBA")), COLOURS),
    "RGBa": (COLOURS.convert("RGBA").convert("RGBa"), COLOURS),
    "CMYK of a JPEG, which Adobe's programs invert": (saved(COLOURS.convert("CMYK"), "JPEG", quality=95), COLOURS),
    "CMYK of a TIFF": (saved(COLOURS.convert("CMYK"), "TIFF"), COLOURS),
    "YCbCr": (saved(COLOURS.convert("YCbCr"), "TIFF"), COLOURS),
    "LAB": (saved(in_lab(), "TIFF"), COLOURS),
    "HSV": (COLOURS.convert("HSV"), COLOURS),
    "I;16 of a PNG": (saved(deep(257).convert("I;16")), GREY),
    "I;16B of a TIFF": (saved(deep(257).convert("I;16B"), "TIFF"), GREY),
    "I;16 of 12 bits": (saved(deep(4095 / 255).convert("I;16"), "TIFF"), GREY),
    "I;16 of 8 bits": (saved(GREY.convert("I;16")), GREY),
    "I of a PGM": (saved(deep(257), "PPM"), GREY),
    "I of a TIFF": (saved(deep(257), "TIFF"), GREY),
    "F up to 1": (saved(deep(1 / 255, mode="F"), "TIFF"), GREY),
    "F up to 255": (saved(deep(1, mode="F"), "TIFF"), GREY),
    "F from -3 to 3": (saved(deep(6 / 255, -3, "F"), "TIFF"), GREY),
}


@pytest.mark.parametrize("name", MODES)
def test_modes_become_rgb_of_the_same_look(name: str) -> None:
    image, wanted = MODES[name]
    made = displayed(image)
    assert made.mode == "RGB" and made.size == wanted.size
    assert max(ImageStat.Stat(ImageChops.difference(made, wanted.convert("RGB"))).mean) < 3


@pytest.mark.parametrize("place", [(0, 0), (5, 5)])
@pytest.mark.parametrize("missing", [float("nan"), float("inf"), float("-inf")])
def test_pixels_without_a_value_spoil_no_others(missing: float, place: tuple[int, int]) -> None:
    image = deep(6 / 255, -3, "F")
    image.putpixel(place, missing)
    made = displayed(saved(image, "TIFF"))
    assert max(ImageStat.Stat(ImageChops.difference(made, GREY.convert("RGB"))).mean) < 3
    assert displayed(Image.new("F", (2, 2), missing)).mode == "RGB"


def test_black_and_white_stay_so() -> None:
    bits = GREY.convert("1")
    assert displayed(saved(bits)).tobytes() == bits.convert("RGB").tobytes()
    assert displayed(saved(Image.new("I;16", (2, 2), 0))).getpixel((0, 0)) == (0, 0, 0)


def corner() -> Image.Image:
    image = Image.new("RGB", (48, 24), "white")
    image.paste("red", (0, 0, 12, 12))
    return image


TURNED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
"""EXIF orientation → how the pixels lie in the file."""


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", TURNED)
def test_every_orientation_is_made_upright_once(orientation: int, form: str) -> None:
    exif, turn = Image.Exif(), TURNED[orientation]
    exif[0x0112] = orientation
    image = saved(corner() if turn is None else corner().transpose(turn), form, exif=exif)
    if form != "TIFF":  # which Pillow turns by itself
        assert is_plain(image) == (orientation == 1)
    made = displayed(displayed(image))
    red, green, _ = made.getpixel((5, 5))  # type: ignore[misc]
    assert made.size == (48, 24) and red > 200 and green < 90 and "exif" not in made.info


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
@pytest.mark.parametrize("data", [b"", b"MM\0*\xff\xff\xff\xff no", b"II*\0\x08\0\0\0\x01\0", b"no tags at all"])
def test_damaged_orientations_say_nothing(data: bytes) -> None:
    assert displayed(saved(corner(), "JPEG", exif=b"Exif\0\0" + data)).size == (48, 24)


def profile(*columns: tuple[float, float, float]) -> bytes:
    """A colour profile (ICC version 2) with these primaries in XYZ and a linear response."""

    def fixed(*numbers: float) -> bytes:
        return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(number * 65536) for number in numbers))

    white = fixed(0.9642, 1, 0.8249)
    tags = {b"desc": b"desc\0\0\0\0" + struct.pack(">I", 5) + b"mine\0" + bytes(83), b"wtpt": white}
    tags |= {name: fixed(*column) for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns, strict=True)}
    tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), b"curv" + bytes(8))
    table, body, start = b"", b"", 128 + 4 + 12 * len(tags)
    for name, data in tags.items():
        table += name + struct.pack(">2I", start + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    size = struct.pack(">I", start + len(body))
    head = size + bytes(4) + b"\x02\x10\0\0mntrRGB XYZ " + bytes(12) + b"acsp" + bytes(28) + white[8:]
    return head + bytes(128 - len(head)) + struct.pack(">I", len(tags)) + table + body


RED, GREEN, BLUE = (0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141)  # of sRGB
SWAPPED = profile(BLUE, GREEN, RED)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_colour_profiles_are_followed(form: str) -> None:
    image = saved(Image.new("RGB", (16, 16), "red"), form, icc_profile=SWAPPED)
    red, _, blue = displayed(image).getpixel((8, 8))  # type: ignore[misc]
    assert blue > 240 and red < 20 and not is_plain(image) and "icc_profile" not in displayed(image).info


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "1", "CMYK"])
def test_profiles_that_say_nothing_about_a_mode_are_left_alone(mode: str) -> None:
    plain, image = Image.new(mode, (9, 9)), Image.new(mode, (9, 9))
    for data in (b"", b"no profile", ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()):
        image.info["icc_profile"] = data
        assert displayed(image).tobytes() == displayed(plain).tobytes()


def test_srgb_changes_no_pixel() -> None:
    image = saved(COLOURS, icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    assert is_plain(image) and displayed(image).tobytes() == COLOURS.tobytes()


# --- transparency --------------------------------------------------------------------------------------------------


def words(*parts: tuple[int, Any], ground: Any = CLEAR) -> Image.Image:
    image = Image.new("RGBA", (400, 80), ground)
    for x, colour in parts:
        ImageDraw.Draw(image).text((x, 16), "Total 45", fill=colour, font=ImageFont.load_default(36))
    return image


def bars() -> Image.Image:
    image = words((10, "black"))
    ImageDraw.Draw(image).rectangle((250, 5, 390, 75), fill="yellow")
    return image


GROUNDS = {
    "black text": (words((10, "black")), WHITE),
    "white text": (words((10, "white")), DARK),
    "white text, with white below what is clear": (words((10, "white"), ground=(255, 255, 255, 0)), DARK),
    "black text, with white below what is clear": (words((10, "black"), ground=(255, 255, 255, 0)), WHITE),
    "faint white text": (words((10, (255, 255, 255, 90))), DARK),
    "red text": (words((10, "red")), WHITE),
    "yellow text": (words((10, "yellow")), DARK),
    "black and white text": (words((10, "black"), (220, "white")), MIDDLE),
    "a chart with black and yellow": (bars(), MIDDLE),
    "nothing": (words(), WHITE),
    "white text in LA": (saved(words((10, "white")).convert("LA")), DARK),
    "white text in P": (saved(words((10, "white")).quantize(32)), DARK),
    "white text, one colour clear": (saved(words((10, "white")).convert("RGB"), transparency=(0, 0, 0)), DARK),
    "white text, one grey clear": (saved(words((10, "white")).convert("L"), transparency=0), DARK),
    "white text, one grey of 16 bits clear": (
        saved(words((10, "white")).convert("L").convert("I;16"), transparency=0),
        DARK,
    ),
    "white text in a GIF": (saved(words((10, "white")).convert("L").convert("P"), "GIF", transparency=0), DARK),
    "white text in WebP": (saved(words((10, "white")), "WEBP", lossless=True), DARK),
    "white text in RGBa": (words((10, "white")).convert("RGBa"), DARK),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_what_is_transparent_gets_a_background_that_the_rest_stands_out_from(name: str) -> None:
    image, ground = GROUNDS[name]
    assert displayed(image).mode == "RGBA" and not is_plain(image)
    assert flattened(image).mode == "RGB" and flattened(image).getpixel((0, 0)) == (ground,) * 3


def test_what_is_opaque_has_no_transparency() -> None:
    image = saved(COLOURS.convert("RGBA"))
    assert displayed(image).mode == "RGB" and is_plain(image)


@pytest.mark.parametrize("form", ["GIF", "TIFF", "WEBP", "PNG"])
def test_the_first_of_several_frames_is_shown(form: str) -> None:
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("red", "lime", "blue")]
    image = saved(frames[0], form, save_all=True, append_images=frames[1:])
    red, green, _ = displayed(image).getpixel((5, 5))  # type: ignore[misc]
    assert red > 200 and green < 90


@pytest.mark.parametrize(
    ("size", "result"),
    [
        ((40, 40), (40, 40)),
        ((5000, 4000), (2048, 1638)),
        ((1, 1), (32, 32)),
        ((3000, 2), (2048, 41)),
        ((3, 400), (32, 400)),
    ],
)
def test_pictures_get_a_size_that_every_model_takes(size: tuple[int, int], result: tuple[int, int]) -> None:
    assert fitted(Image.new("L", size), 2048, 32).size == result


def test_functions_leave_the_given_picture_alone() -> None:
    for image in (COLOURS.copy(), words((10, "black"))):
        before = image.tobytes()
        for function in (displayed, flattened, lambda image: fitted(image, 8)):
            function(image).paste("red", (0, 0, 5, 5))
        assert image.tobytes() == before
