"""PptxFileGenerator (GTA tools spec 5.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name
from tool_impls.documents.markdown import Picture, with_pictures
from tool_impls.documents.pictures import DocumentPictures, PreparedPicture
from tool_impls.documents.words import check_length, clean, columns
from tool_impls.documents.writing import FILENAME, IMAGE_PATHS, OUTPUT_DIR, FileGenerator, without_times

MOST_SLIDES = 500
WIDTH, HEIGHT = 10.0, 7.5  # inches of a slide
LEFT, TOP = 1.0, 3.5  # inches, of the first picture
PICTURE_WIDTH, GAP = 4.0, 0.25  # inches
BULLET = re.compile(r"([ \t]*)(?:[-*\u2022][ \t]+)?(.*)")  # a sign that the layout puts there itself
BODY_HEIGHT = 4.9  # inches, where a slide has no picture
SIZES = (32, 28, 24, 20, 18, 16, 14, 12, 10, 8)  # points of the text, the first being the layout's own
TITLE_SIZES = (44, 36, 32, 28, 24, 20)
TITLE_HEIGHT = 1.6  # inches
SLIDES = (
    'The slides as JSON: a list of objects such as {"title": "Results", "content": "First point\\nSecond'
    ' point {{image_1}}"}. {{image_1}} stands for the first picture of image_paths, and so on.'
)


class Line(NamedTuple):
    text: str
    level: int  # from 0


class Slide(NamedTuple):
    title: str
    lines: tuple[Line, ...]
    pictures: tuple[Picture, ...]


class PptxFileGenerator(FileGenerator):
    """Writes a presentation. Each line becomes a paragraph; text shrinks until it fits. Several pictures stand side by
    side.
    """

    meta = base.tool(
        "PptxFileGenerator",
        "Makes a PowerPoint presentation from titles and texts, with pictures.",
        (base.text("slides_content_str", SLIDES), FILENAME, IMAGE_PATHS, OUTPUT_DIR),
        Parameter("file", filetype="application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    )
    packages = ("pptx", "PIL")
    library = "python-pptx"

    def apply(
        self,
        folder: Path,
        /,
        slides_content_str: str,
        filename: str,
        image_paths: str = "",
        output_dir: str | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> Path:
        import pptx

        path = folder / file_name(filename, "slides", ".pptx")
        slides = read_slides(slides_content_str)
        album = DocumentPictures(image_paths, files or {})
        presentation = pptx.Presentation()
        for slide in slides:
            _add(presentation, slide, album)
        presentation.save(str(path))
        without_times(path)
        return path


def read_slides(text: str) -> list[Slide]:
    """The slides in a JSON text. Raises ToolError naming the slide that is wrong."""
    check_length("slides_content_str", text)
    try:
        slides = json.loads(text)
    except ValueError as error:
        advice = 'give a list of slides such as [{"title": "Results", "content": "Text"}]'
        raise ToolError(f"slides_content_str is not valid JSON ({error}); {advice}") from None
    except RecursionError:
        advice = "give a list of objects with title and content"
        raise ToolError(f"slides_content_str is nested too deeply; {advice}") from None
    if not isinstance(slides, list):
        raise ToolError("slides_content_str must be a list of slides, each an object with title and content")
    if not 1 <= len(slides) <= MOST_SLIDES:
        raise ToolError(f"slides_content_str must hold 1 to {MOST_SLIDES} slides; got {len(slides):,}")
    return [_read_slide(slide, index) for index, slide in enumerate(slides, start=1)]


def _read_slide(slide: Any, index: int) -> Slide:
    if not isinstance(slide, dict) or not {"title", "content"} & set(slide):
        raise ToolError(f"slide {index} of slides_content_str must be an object with title and content")
    title, content = slide.get("title") or "", slide.get("content") or ""
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        content = "\n".join(content)
    for name, value in (("title", title), ("content", content)):
        if not isinstance(value, str):
            raise ToolError(f"{name} of slide {index} must be a text; got {value!r:.80}")
    lines: list[Line] = []
    pictures: list[Picture] = []
    for part in with_pictures(clean(content), paths=False):
        if isinstance(part, Picture):
            pictures.append(part)
        else:
            lines += [_line(line) for line in part.split("\n") if line.strip()]
    return Slide(" ".join(clean(title).split()), tuple(lines), tuple(pictures))


def _line(text: str) -> Line:
    match = BULLET.fullmatch(text.rstrip())
    indent, rest = (match[1], match[2]) if match else ("", text)
    return Line(rest.strip() or text.strip(), min(len(indent.expandtabs(4)) // 2, 4))


def _add(presentation: Any, slide: Slide, album: DocumentPictures) -> None:
    from pptx.util import Inches, Pt

    made = presentation.slides.add_slide(presentation.slide_layouts[1])
    made.shapes.title.text = slide.title
    size = _size([Line(slide.title, 0)], TITLE_SIZES, TITLE_HEIGHT)
    if size < TITLE_SIZES[0]:
        for paragraph in made.shapes.title.text_frame.paragraphs:
            paragraph.font.size = Pt(size)
    pictures = [ready for picture in slide.pictures if isinstance(ready := album.find(picture), PreparedPicture)]
    body = made.placeholders[1]
    if not slide.lines:
        body.element.getparent().remove(body.element)  # else the slide invites to fill it in
    else:
        room = TOP - 1.55 if pictures else BODY_HEIGHT
        if pictures:
            body.left, body.top, body.width, body.height = Inches(0.5), Inches(1.5), Inches(WIDTH - 1), Inches(room)
        _fill(body.text_frame, slide.lines, room)
    for ready, (left, top, width, height) in zip(pictures, _places(pictures), strict=True):
        made.shapes.add_picture(ready.stream(), Inches(left), Inches(top), Inches(width), Inches(height))


def _fill(frame: Any, lines: Sequence[Line], room: float) -> None:
    from pptx.util import Pt

    size = _size(lines, SIZES, room)
    for index, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
        paragraph.text = line.text
        paragraph.level = line.level
        if size < SIZES[0]:
            paragraph.font.size = Pt(size)


def _size(lines: Sequence[Line], sizes: Sequence[int], room: float) -> int:
    """The first of the sizes at which the lines fit into so many inches, else the last."""
    return next((size for size in sizes if _height(lines, size) <= room), sizes[-1])


def _height(lines: Sequence[Line], size: int) -> float:
    """About how many inches the lines take at a size in points."""
    total = 0.0
    for line in lines:
        room = (WIDTH - 1.7 - 0.5 * line.level) * 72 / (size * 0.52)  # half-width signs in a line
        total += -(-columns(line.text) // max(int(room), 1)) * 1.2 + 0.25
    return total * size / 72


def _places(pictures: Sequence[PreparedPicture]) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height in inches: side by side in equal slots, in as few rows as leave them well visible."""
    if not pictures:
        return []
    rows = 1 if len(pictures) <= 3 else 2 if len(pictures) <= 10 else 3
    across = -(-len(pictures) // rows)
    slot = min(PICTURE_WIDTH, (WIDTH - 2 * (LEFT if across < 3 else 0.5) - GAP * (across - 1)) / across)
    tall = (HEIGHT - TOP - GAP * rows) / rows
    left = LEFT if across < 3 else 0.5
    places = []
    for number, ready in enumerate(pictures):
        width, height = ready.fitted(slot, tall)
        row, column = divmod(number, across)
        places.append((left + column * (slot + GAP), TOP + row * (tall + GAP), width, height))
    return places
