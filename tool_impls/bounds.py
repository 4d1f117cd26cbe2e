"""Limits for the size of files that tools take and make (docs/benchmarks/tools.md#tools-of-gta-workflow).

A model, an agent or its program has made or chosen these files. The sizes that a file declares are checked before
anything is decoded: a PNG of a few kilobytes may hold billions of pixels. A larger file is a ToolError, which the model
reads. ``documents.guard`` limits the unpacking of office files.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import displayed

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE_PIXELS = 64_000_000
"""Pixels of a picture that a tool takes or returns. Decoded, a pixel takes three or four bytes."""

PLOT_PIXELS = 36_000_000
"""Pixels of a figure that code has drawn: 20 by 20 inches at 300 dots an inch. Four such calls run at a time."""

FRAME_PIXELS = 64_000_000  # of a video's frame
FILE_BYTES = 256 << 20  # of a document that a tool reads
RESULT_BYTES = 256 << 20  # of a file that a tool makes. It is held in memory, as base64 too, while it is sent
SOUND_SAMPLES = 100_000_000  # of all channels of a sound, held in memory: 400 MB, 19 minutes of stereo at 44.1 kHz
RECORDING_SECONDS = 2 * 3600  # of a recording whose speech is written down: 700 MB while it is decoded
PDF_PAGES = 1_000  # of a PDF that is read, unless the settings say otherwise
FRAMES = "frames"
PAGE_SIDE = 2_000  # pixels of the longer side of a PDF's page when it is rendered, however large the page claims to be
_SMALLER = "are taken, so scale it down"
_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")  # of the usual pictures
_PROGRAMS = ("EPS",)  # Pillow has another program run what such a file holds


class Unreadable(ToolError):
    """A file is no picture."""


def read_picture(source: Path | BytesIO, what: str) -> Image:
    """The picture in a file, as ``agentgauge.core.pictures.displayed`` gives it; of several the first, with their
    number as ``info[FRAMES]``. Raises as ``opened_picture``.
    """
    with opened_picture(source, what) as image:
        made = displayed(image)
        if image.format != "MPO":  # whose other pictures are previews and measurements of the camera
            with suppress(Exception):  # of any kind: a later frame may be damaged
                made.info[FRAMES] = getattr(image, "n_frames", 1)
        return made


@contextmanager
def opened_picture(
    source: Path | BytesIO, what: str, most: int = PICTURE_PIXELS, then: str = _SMALLER
) -> Iterator[Image]:
    """A picture whose header alone has been read.

    ``what`` names it in messages, ``then`` says what happens to ``most`` pixels. Raises ToolError for a larger picture,
    and Unreadable for a file that is no picture, also if only decoding shows that.
    """
    limit_pillow()
    from PIL import Image

    try:
        with Image.open(source) as image:
            check_pixels(what, *image.size, most, then)
            if image.format in _PROGRAMS:
                raise ToolError(f"{what} is an {image.format} file, which is a program and not run; give a PNG or JPEG")
            yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):  # at twice the limit, by the header
        found = _millions(2 * PICTURE_PIXELS)
        raise ToolError(f"{what} has more than {found} pixels; at most {_millions(most)} {then}") from None
    except (ToolError, MemoryError):
        raise
    except Exception as error:  # of any kind: each format has a decoder of its own
        raise Unreadable(f"{what} is not a picture that can be read: {_reason(error, source)}") from None


def _reason(error: Exception, source: Path | BytesIO) -> str:
    """Why Pillow cannot read a file, and what to do."""
    from PIL import UnidentifiedImageError

    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror[:1].lower()}{error.strerror[1:]}"
    with source.open("rb") if isinstance(source, Path) else BytesIO(source.getvalue()) as stream:
        begin = stream.read(8)
    if not begin:
        return "the file is empty"
    known = begin.startswith(_BEGINNINGS)
    if isinstance(error, NotImplementedError) or (isinstance(error, UnidentifiedImageError) and not known):
        return "its content is of no kind that is known here; give a PNG, JPEG, WebP, GIF, BMP or TIFF file"
    if isinstance(error, EOFError) or "truncated" in str(error):
        return "the file ends too early; give it as a whole"
    return "it is damaged, or of a form that is not known here; save it anew as PNG or JPEG"


def check_pixels(what: str, width: int, height: int, most: int = PICTURE_PIXELS, then: str = _SMALLER) -> None:
    """Raises ToolError for more than ``most`` pixels."""
    if width * height > most:
        raise ToolError(f"{what} has {width} by {height} pixels; at most {_millions(most)} {then}")


def check_result(size: int) -> None:
    """Raises ToolError for more bytes than a result may have."""
    if size > RESULT_BYTES:
        most = RESULT_BYTES >> 20
        raise ToolError(f"the result has {size >> 20} MB; at most {most} MB are given back, so make a smaller one")


@lru_cache(maxsize=1)
def limit_pillow() -> None:
    """Let Pillow refuse pictures with more than twice the accepted pixels, because libraries of documents open pictures
    by themselves, and let it not grumble about oddities of files.
    """
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = PICTURE_PIXELS
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)  # we refuse them
    warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")


def _millions(pixels: int) -> str:
    return f"{pixels / 10**6:g} million"
