"""The part of an executed notebook that the QA model sees: one cell, with its pictures as separate parts (MMAU spec
7.2, 7.3).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_mmau.fixes import PARITY, Fixes

IMAGES = ("image/jpeg", "image/png", "image/gif")  # in this order within an output; others are no images
PLOTLY = "application/vnd.plotly.v1+json"
_HTML = "text/html"
_SCRIPT = "plotly.js"

Render = Callable[[Any], str]
"""A Plotly figure as JSON to a PNG picture as base64 text."""


class NoPicture(RuntimeError):
    """Plotly figures cannot be drawn here."""


class NoFigure(ValueError):
    """An output of a cell with the type of a Plotly figure is no Plotly figure."""


@dataclass(frozen=True, slots=True)
class Shown:
    """``images`` are data URIs; the cell has ``<image_k>``, k from 1, in their places."""

    cell: Any
    images: tuple[str, ...] = ()


def last_with_output(cells: Sequence[Any], start: int = 0) -> Mapping[str, Any] | None:
    """The last code cell from ``start`` on that has outputs, even if it comes before the model's cells [Q28]; None if
    there is none."""
    for cell in reversed(cells[start:]):
        if isinstance(cell, Mapping) and cell.get("cell_type") == "code" and cell.get("outputs"):
            return cell
    return None


def whole(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """The cell, with the pieces in which a stream came put together (strict)."""
    found: list[dict[str, Any]] = []
    for output in cell["outputs"]:
        last = found[-1] if found else {}
        if output["output_type"] == "stream" == last.get("output_type") and output["name"] == last["name"]:
            found[-1] = {**output, "text": last["text"] + output["text"]}
        else:
            found.append(output)
    return {**cell, "outputs": found}


def organise(
    cell: Mapping[str, Any] | None, *, image_expected: bool, render: Render | None = None, fixes: Fixes = PARITY
) -> Shown:
    """The cell as the QA model sees it. Where an image is expected, streams and errors are dropped; else the cell is
    unchanged. A picture that is no text, such as a list of lines, is what Python prints of it.

    Raises what ``render`` (default ``plotly_picture``) raises for a Plotly figure.
    """
    if cell is None or not image_expected or not cell.get("outputs"):
        return Shown(cell)
    images: list[str] = []
    outputs = [
        {**output, "data": _without_images(output["data"], images, render or plotly_picture, fixes)}
        for output in cell["outputs"]
        if "data" in output
    ]
    return Shown({**cell, "outputs": outputs}, tuple(images))


def _without_images(data: Mapping[str, Any], images: list[str], render: Render, fixes: Fixes) -> dict[str, Any]:
    left = dict(data)
    for kind in IMAGES:
        if kind in left:
            left[kind] = _placed(images, kind, (_joined if fixes.whole_outputs else str)(left[kind]))
    if PLOTLY in left:
        left[PLOTLY] = _placed(images, "image/png", render(left[PLOTLY]))
        left.pop(_HTML, None)
    if _SCRIPT in _joined(left.get(_HTML, "")):
        del left[_HTML]
    return left


def _placed(images: list[str], kind: str, content: str) -> str:
    images.append(
        f"data:{kind};base64,{content}".encode("ascii", "replace").decode("ascii")
    )  # a cell may display anything
    return f"<image_{len(images)}>"


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def plotly_picture(figure: Any) -> str:
    """A Plotly figure drawn with plotly and kaleido. Raises NoPicture without them, NoFigure for what is none."""
    try:
        from plotly.io import from_json, to_image  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise _no_picture(error) from error
    try:
        drawable = from_json(json.dumps(figure))
    except Exception as error:  # plotly has no class of its own for these
        raise NoFigure(f"what a cell shows as a Plotly figure is none ({type(error).__name__})") from error
    try:
        return base64.b64encode(to_image(drawable, format="png")).decode("ascii")
    except Exception as error:  # kaleido raises what it likes, such as for a missing browser
        raise _no_picture(error) from error


def _no_picture(error: Exception) -> NoPicture:
    return NoPicture(f"a Plotly figure cannot be drawn ({type(error).__name__}: {error}); install plotly and kaleido")
