"""The program that ``rendering`` runs in the sandbox: the file is standard input, the output is one JSON object a line.

A picture: ``{"fits": media type}`` if it may be sent as it is, else ``{"jpeg": base64}``. A PDF: ``{"pages": n}``, then
``{"jpeg": base64}`` for each page, empty for one that cannot be drawn. No output for a file that cannot be read.
"""

from __future__ import annotations

import base64
import io
import json
import runpy
import sys
from collections.abc import Mapping
from typing import Any

MEDIA = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
MAX_PICTURE = 3_500_000  # bytes; some endpoints take no picture of more than 5 MB, counted as base64
MAX_SIDE = 8000  # pixels
MAX_PIXELS = 64_000_000  # of a picture that is decoded; a few kilobytes may claim billions
WIDTH = 1000  # pixels of a page
SMALLER = 2048  # pixels a side of a picture that is drawn again
TALLEST = 3  # times its width, for a page
QUALITY = 88


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def encoded(image: Any) -> str:
    """As JPEG, of an RGB picture."""
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=QUALITY)
    return base64.b64encode(stream.getvalue()).decode("ascii")


def picture(content: bytes, pictures: Mapping[str, Any]) -> None:
    """``pictures``: the names of ``agentgauge.core.pictures``."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # we look ourselves
    image = Image.open(io.BytesIO(content))
    if image.width * image.height > MAX_PIXELS:
        return
    form, still = image.format, getattr(image, "n_frames", 1) == 1
    image.load()  # the whole of it: a header alone says nothing
    small = len(content) <= MAX_PICTURE and max(image.size) <= min(MAX_SIDE, pictures["STRETCHED"] * min(image.size))
    if form in MEDIA and still and small and pictures["is_plain"](image):
        say(fits=MEDIA[form])
    else:
        say(jpeg=encoded(pictures["fitted"](image, SMALLER)))


def pages(content: bytes, limit: int) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument(content)
    document.init_forms()  # else the values of form fields are not drawn
    if document.formenv:
        pypdfium2.raw.FPDF_SetFormFieldHighlightAlpha(document.formenv, 0)
    say(pages=len(document))
    for number in range(min(limit, len(document))):
        try:
            page = document[number]
            across, down = page.get_size()
            scale = min(WIDTH / max(across, 1.0), TALLEST * WIDTH / max(down, 1.0))
            say(jpeg=encoded(page.render(scale=scale).to_pil()))
        except pypdfium2.PdfiumError:
            say(jpeg="")


def main() -> None:
    order = json.loads(sys.argv[1])
    sys.path += order["path"]
    content = sys.stdin.buffer.read()
    if order["kind"] == "picture":
        picture(content, runpy.run_path(order["pictures"]))
    else:
        pages(content, order["pages"])


if __name__ == "__main__":
    main()
