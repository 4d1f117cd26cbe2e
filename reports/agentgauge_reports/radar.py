"""Capabilities as pictures: one axis each, from 0 in the middle to 100 at the rim."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_SIZE, _RADIUS = 680, 200  # pixels
_WIDTH, _HEIGHT, _PAGE_RADIUS = 640, 460, 150  # user units of the drawing
_X, _Y = _WIDTH / 2, _HEIGHT / 2
_GRID, _INK, _FILL = "#c8c8c8", "#222222", "#2f6fb0"


def radar(scores: Mapping[str, Mapping[str, Any]]) -> str:
    """An SVG file. A score without a value is no point of the line: its axis is dashed and says "incomplete"."""
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
        x, y = _at((middle, middle), _RADIUS, place, len(names), 100)
        dash = ' stroke-dasharray="4 4"' if value is None else ""
        parts.append(f'<line x1="{middle}" y1="{middle}" x2="{x:.1f}" y2="{y:.1f}" stroke="{_GRID}"{dash}/>')
        if value is not None:
            points.append(_at((middle, middle), _RADIUS, place, len(names), min(max(value, 0), 100)))
        x, y = _at((middle, middle), _RADIUS, place, len(names), 116)
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


def page_radar(capabilities: Sequence[Mapping[str, Any]]) -> str:
    """An SVG element with a bar for each 95 % interval. Its colours are the page's style sheet's.

    ``capabilities``: ``{"name", "value", "low", "high"}`` each; a capability without a value has a dashed axis and no
    point. The result is empty without capabilities; fewer than three make no area.
    """
    if not capabilities:
        return ""
    count = len(capabilities)
    known = [(place, one) for place, one in enumerate(capabilities) if one["value"] is not None]
    values = ", ".join(f"{one['name']} {one['value']:.0f}" for _, one in known)
    parts = [
        f'<svg class="radar" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(f"Capabilities, 0 to 100: {values}")}">'
    ]
    for share in (25, 50, 75, 100):
        parts.append(f'<circle class="grid" cx="{_X:g}" cy="{_Y:g}" r="{_PAGE_RADIUS * share / 100:g}"/>')
        parts.append(f'<text class="scale" x="{_X + 3:g}" y="{_Y - _PAGE_RADIUS * share / 100 + 11:g}">{share}</text>')
    for place, one in enumerate(capabilities):
        x, y = _page_at(place, count, 100)
        dashed = " dashed" if one["value"] is None else ""
        parts.append(f'<line class="grid{dashed}" x1="{_X:g}" y1="{_Y:g}" x2="{x:.1f}" y2="{y:.1f}"/>')
        parts += _label(place, count, one)
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_page_at(place, count, one["value"]) for place, one in known))
    if len(known) >= 3:
        parts.append(f'<polygon class="area" points="{corners}"/>')
    for place, one in known:
        if one.get("low") is not None:
            (x1, y1), (x2, y2) = (
                _page_at(place, count, one["low"]),
                _page_at(place, count, one["high"]),
            )
            parts.append(f'<line class="interval" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
        x, y = _page_at(place, count, one["value"])
        parts.append(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
    return "".join([*parts, "</svg>"])


def _label(place: int, count: int, one: Mapping[str, Any]) -> list[str]:
    x, y = _page_at(place, count, 113)
    anchor = "middle" if abs(x - _X) < 12 else "start" if x > _X else "end"
    value = "no case" if one["value"] is None else f"{one['value']:.1f}"
    lift = -14 if y < _Y - 60 else 0
    return [
        f'<text class="axis" x="{x:.1f}" y="{y + lift:.1f}" text-anchor="{anchor}">{escape(str(one["name"]))}</text>',
        f'<text class="value" x="{x:.1f}" y="{y + lift + 16:.1f}" text-anchor="{anchor}">{value}</text>',
    ]


def _page_at(place: int, count: int, share: float) -> tuple[float, float]:
    return _at((_X, _Y), _PAGE_RADIUS, place, count, share)


def _at(middle: tuple[float, float], radius: float, place: int, count: int, share: float) -> tuple[float, float]:
    """The point on an axis; the first axis points upwards."""
    angle = 2 * math.pi * place / count - math.pi / 2
    return middle[0] + radius * share / 100 * math.cos(angle), middle[1] + radius * share / 100 * math.sin(angle)
