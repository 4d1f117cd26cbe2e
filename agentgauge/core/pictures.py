"""Pictures as a viewer displays them, whatever their file's mode, orientation, colour profile and transparency.

Uses Pillow and nothing else, because programs in the sandbox load this file by its path.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image, Transpose

STRETCHED = 50  # times as long as it is wide; some models refuse pictures of 200

WHITE, DARK, MIDDLE = 255, 64, 128  # grey levels that transparent parts are shown on, the preferred first
CONTRAST = 96  # levels between an edge and the background, for the edge to be seen
UNSEEN = 0.02  # share of the edges that the preferred background may hide more than another

_ORIENTATION = 0x0112  # the EXIF tag that says how the camera was held
_PREMULTIPLIED = {"La": "LA", "RGBa": "RGBA"}
_USUAL = ("1", "L", "P", "RGB", "RGBA")  # modes of pictures that every program shows alike
_PROFILED = ("L", "RGB", "CMYK")  # modes whose numbers a colour profile explains


def displayed(image: Image) -> Image:
    """A new picture: upright, in sRGB with 8 bits, in mode RGB, or in RGBA if some of it is transparent.

    A file with several frames or pages shows the one that it stands at, which is the first when it has been opened.
    """
    image.load()  # turns a TIFF upright, and takes its tag away
    turn, alpha = _turn(image), _alpha(image)
    made = _in_rgb(image)
    if alpha is not None:
        made.putalpha(alpha)
    if turn is not None:
        made = made.transpose(turn)
    made.info = {}
    return made


def flattened(image: Image) -> Image:
    """As ``displayed``, but always in RGB: transparent parts get a grey level that the edges of the rest stand out
    from.
    """
    from PIL import Image as Images

    made = displayed(image)
    if made.mode == "RGB":
        return made
    ground = Images.new("RGB", made.size, (_background(made),) * 3)
    ground.paste(made, (0, 0), made)
    return ground


def fitted(image: Image, longest: int, shortest: int = 1) -> Image:
    """As ``flattened``, in a size and a shape that vision models take: scaled down to ``longest`` pixels a side; a
    picture that is thin, or has a side of less than ``shortest`` pixels, gets a white border.
    """
    from PIL import Image as Images

    made = flattened(image)
    made.thumbnail((longest, longest))
    width, height = made.size
    wide, high = max(width, shortest, -(-height // STRETCHED)), max(height, shortest, -(-width // STRETCHED))
    if (wide, high) == (width, height):
        return made
    card = Images.new("RGB", (wide, high), "white")
    card.paste(made, ((wide - width) // 2, (high - height) // 2))
    return card


def is_plain(image: Image) -> bool:
    """Whether the picture's file may be shown as it is, because no program can show it in another way."""
    image.load()
    usual = image.mode in _USUAL and _profile(image) is None
    return usual and _turn(image) is None and _alpha(image) is None


def _turn(image: Image) -> Transpose | None:
    """What makes the picture upright; None if it is. Damaged EXIF data says nothing."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    try:
        return turns.get(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # of any kind: the tags are as the file has them
        return None


def _alpha(image: Image) -> Image | None:
    """How opaque each pixel is; None if all are."""
    if not image.has_transparency_data:
        return None
    if _is_deep(image):
        levels = [255] * 65536
        levels[image.info["transparency"]] = 0
        alpha = image.convert("I").point(levels, "L")
    else:
        if image.mode not in ("LA", "PA", "RGBA"):
            image = image.convert(_PREMULTIPLIED.get(image.mode, "RGBA"))
        alpha = image.getchannel("A")
    return None if alpha.getextrema()[0] == 255 else alpha


def _in_rgb(image: Image) -> Image:
    """A copy in RGB, without regard to transparency."""
    if _is_deep(image):
        return _eight_bits(image).convert("RGB")
    profile = _profile(image)
    if image.has_transparency_data and image.mode != "RGBA":
        image = image.convert(_PREMULTIPLIED.get(image.mode, image.mode)).convert("RGBA")
    if profile is not None:
        from PIL import ImageCms

        numbers = image if image.mode in _PROFILED else image.convert("RGB")
        try:
            made = ImageCms.profileToProfile(numbers, profile, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except ImageCms.PyCMSError:  # a profile for other colours than the picture's, which viewers ignore, too
            made = None
        if made is not None:
            return made
    return image.convert("RGB")


def _profile(image: Image) -> Any:
    """The colour profile of the picture (``ImageCms.ImageCmsProfile``); None for sRGB, and for one that is damaged."""
    from PIL import ImageCms

    data = image.info.get("icc_profile")
    if not data:
        return None
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(data))
        return None if "sRGB" in ImageCms.getProfileDescription(profile) else profile
    except (ImageCms.PyCMSError, ImportError, OSError, TypeError):  # Pillow may be built without the library
        return None


def _is_deep(image: Image) -> bool:
    return image.mode in ("I", "F") or image.mode.startswith("I;16")


def _eight_bits(image: Image) -> Image:
    """A grey picture with numbers of 16 or 32 bits or fractions, in mode L.

    Numbers do not say where white is: it is the end of the narrowest usual range that holds them all; for other numbers
    it is the highest.
    """
    numbers = image if image.mode == "F" else image.convert("I")
    low: Any
    high: Any
    low, high = numbers.getextrema()
    if not math.isfinite(high - low):  # a scientific picture marks pixels without a value so; Pillow draws them black
        known = list(filter(math.isfinite, memoryview(numbers.tobytes()).cast("f"))) or [0.0]
        low, high = min(known), max(known)
    ranges = (1, 255, 65535) if image.mode == "F" else (255, 4095, 65535)
    top = next((top for top in ranges if low >= 0 and high <= top), None)
    base, span = (0, top) if top else (low, high - low)
    scale = 255 / span if span else 0
    return numbers.point(lambda value: value * scale + (0.5 - base * scale)).convert("L")


def _background(image: Image) -> int:
    """The grey level that hides the fewest edges of an RGBA picture: white for dark text, dark grey for light text, and
    between them for a mixture. Edges are visible pixels whose upper left neighbour is not visible.
    """
    from PIL import ImageChops

    alpha = image.getchannel("A")
    most: Any = alpha.getextrema()[1]
    least = max(1, most // 2)
    visible = alpha.point(lambda value: 255 if value >= least else 0)
    edges = ImageChops.darker(visible, ImageChops.difference(visible, ImageChops.offset(visible, 1, 1)))
    levels = image.convert("RGB").convert("L").histogram(edges)
    hidden = [sum(levels[max(0, ground - CONTRAST + 1) : ground + CONTRAST]) for ground in (WHITE, DARK, MIDDLE)]
    bearable = min(hidden) + UNSEEN * sum(levels)
    return next(ground for ground, count in zip((WHITE, DARK, MIDDLE), hidden, strict=True) if count <= bearable)
