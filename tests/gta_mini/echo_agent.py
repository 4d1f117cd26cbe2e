"""An agent that does nothing but write the request itself into files of the names that it asks for, with any picture
in them."""

from __future__ import annotations

import csv
import re
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentgauge.core.types import Sample
from tests.gta_mini.workflow_agent import Done
from tests.tools.media import make_video
from tool_impls.documents import TOOLS
from tool_impls.settings import ToolSettings

NAMED = re.compile(r"(?<![\w/])\w+\.(?:pdf|docx|pptx|xlsx|csv|html|png|mp3|mp4)\b")
KINDS = {
    "PDF": "a.pdf",
    "Word document": "a.docx",
    "Excel": "a.xlsx",
    "HTML": "a.html",
    "chart": "a.png",
    "diagram": "b.png",
}
"""What a request says → the file that is made where it names none."""


def echo(sample: Sample, folder: Path) -> Done:
    """Every file that the requests name or ask for, and the last request as the answer."""
    folder.mkdir()
    requests = [turn["content"] for turn in sample.payload["dialogs"] if turn["role"] == "user"]
    request = "\n\n".join(requests)
    names = dict.fromkeys(NAMED.findall(request))
    wanted = [
        name
        for word, name in KINDS.items()
        if word in request and not any(Path(known).suffix == Path(name).suffix for known in names)
    ]
    picture = folder / "picture.jpg"
    _picture(picture)
    for name in [*names, *wanted]:
        MAKERS[Path(name).suffix](folder / name, request, picture)
    return Done(sample, requests[-1], tuple(sorted(path for path in folder.iterdir() if path != picture)))


def _picture(path: Path) -> None:
    """A hill below the sky: nothing that a task is about."""
    from PIL import Image, ImageDraw

    image = Image.effect_noise((480, 360), 30).convert("RGB")
    ImageDraw.Draw(image).ellipse((60, 200, 700, 700), (40, 140, 60))
    image.save(path)


def _document(name: str) -> Callable[[Path, str, Path], None]:
    def make(path: Path, request: str, picture: Path) -> None:
        content = f"{request}\n\n![picture]({picture})"
        _tool(name).apply(path.parent, content=content, filename=path.name, render_markdown=True).replace(path)

    return make


def _slides(path: Path, request: str, picture: Path) -> None:
    from pptx import Presentation

    presentation = Presentation()
    for part in re.split(r"[,;:.]\s", request):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = slide.placeholders[1].text = part
        slide.shapes.add_picture(str(picture), 0, 0)
    presentation.save(str(path))


def _workbook(path: Path, request: str, picture: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for part in re.split(r"[.]\s", request):
        book.active.append(re.split(r"[,;:]\s", part))
    book.save(path)


def _table(path: Path, request: str, picture: Path) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(re.split(r"[,;:]\s", part) for part in re.split(r"[.]\s", request))


def _page(path: Path, request: str, picture: Path) -> None:
    path.write_text(
        f"<h1>{request}</h1><table><tr><td>{request}</table><p>{request}<a href='#'>{request}</a><img src=a.png>"
    )


def _image(path: Path, request: str, picture: Path) -> None:
    from PIL import Image

    Image.open(picture).save(path)


def _sound(path: Path, request: str, picture: Path) -> None:
    with wave.open(str(path), "wb") as file:  # readers go by the content
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(b"\x00\x10\x00\xf0" * 24_000)


def _film(path: Path, request: str, picture: Path) -> None:
    make_video(path, 30)


MAKERS: dict[str, Callable[[Path, str, Path], None]] = {
    **{
        ".pdf": _document("PdfFileGenerator"),
        ".docx": _document("DocxFileGenerator"),
        ".pptx": _slides,
        ".xlsx": _workbook,
    },
    **{".csv": _table, ".html": _page, ".png": _image, ".mp3": _sound, ".mp4": _film},
}


def _tool(name: str) -> Any:
    return next(kind for kind in TOOLS if kind.meta.name == name)(ToolSettings())
