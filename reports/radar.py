"""Capabilities as a picture: one axis each, from 0 in the middle to 100 at the rim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

_SIZE, _RADIUS = 680, 200  # pixels
_GRID, _INK, _FILL = "#c8c8c8", "#222222", "#2f6fb0"


def radar(scores: Mapping[str, Mapping[str, Any]]) -> str:
    """An SVG page. A score without a value is no point of the line: its axis is dashed and says that it is
    incomplete."""
    names = list(scores)
    middle = _SIZE / 2
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" font-family="sans-serif"'
            ' font-size="13">'
        ),
        f'<rect width="{_SIZE}" height="{_SIZE}" fill="white"/>',
    ]
    for share in (25, 50, 75, 100):
        parts.append(
            f'<circle cx="{middle}" cy="{middle}" r="{_RADIUS * share / 100:.1f}" fill="none" stroke="{_GRID}"/>'
        )
        parts.append(
            f'<text x="{middle + 3}" y="{middle - _RADIUS * share / 100 + 12:.1f}" fill="#707070"'
            f' font-size="10">{share}</text>'
        )
    points = []
    for place, name in enumerate(names):
        value = scores[name]["value"]
        x, y = _at(place, len(names), 100)
        dash = ' stroke-dasharray="4 4"' if value is None else ""
        parts.append(f'<line x1="{middle}" y1="{middle}" x2="{x:.1f}" y2="{y:.1f}" stroke="{_GRID}"{dash}/>')
        if value is not None:
            points.append(_at(place, len(names), min(max(value, 0), 100)))
        x, y = _at(place, len(names), 116)
        anchor = "middle" if abs(x - middle) < 30 else "start" if x > middle else "end"
        words = name.replace("_", " ").split(" with")  # the long names on two lines
        shown = "incomplete" if value is None else f"{value:.1f}"
        lines = [words[0], *(f"with{word}" for word in words[1:]), shown]
        for number, line in enumerate(lines):
            weight = ' font-weight="bold"' if number == len(lines) - 1 else ""
            height = y + 15 * (number - (len(lines) - 1) / 2)
            style = f'text-anchor="{anchor}" fill="{_INK}"{weight}'
            parts.append(f'<text x="{x:.1f}" y="{height:.1f}" {style}>{escape(line)}</text>')
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    if len(points) == len(names):  # only a complete picture has an area
        parts.append(
            f'<polygon points="{outline}" fill="{_FILL}" fill-opacity="0.25" stroke="{_FILL}" stroke-width="2"/>'
        )
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_FILL}"/>' for x, y in points]
    return "\n".join([*parts, "</svg>", ""])


def _at(place: int, count: int, share: float) -> tuple[float, float]:
    """The point on an axis; the first axis points upwards."""
    angle = 2 * math.pi * place / count - math.pi / 2
    return _SIZE / 2 + _RADIUS * share / 100 * math.cos(angle), _SIZE / 2 + _RADIUS * share / 100 * math.sin(angle)
