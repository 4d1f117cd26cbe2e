"""Drawings of the page. Their colours are the style sheet's, so that they fit the dark and the light page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _RADIUS = 640, 460, 150  # user units of the drawing
_X, _Y = _WIDTH / 2, _HEIGHT / 2


def radar(capabilities: Sequence[Mapping[str, Any]]) -> str:
    """An SVG element: one axis per capability from 0 in the middle to 100 at the rim, its 95 % interval as a bar.

    ``capabilities``: ``{"name", "value", "low", "high"}`` each; those without a value have a dashed axis and no point.
    Empty where there are none; fewer than three make no area.
    """
    if not capabilities:
        return ""
    count = len(capabilities)
    known = [(place, one) for place, one in enumerate(capabilities) if one["value"] is not None]
    said = ", ".join(f"{one['name']} {one['value']:.0f}" for _, one in known)
    parts = [
        f'<svg class="radar" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(f"Capabilities, 0 to 100: {said}")}">'
    ]
    for share in (25, 50, 75, 100):
        parts.append(f'<circle class="grid" cx="{_X:g}" cy="{_Y:g}" r="{_RADIUS * share / 100:g}"/>')
        parts.append(f'<text class="scale" x="{_X + 3:g}" y="{_Y - _RADIUS * share / 100 + 11:g}">{share}</text>')
    for place, one in enumerate(capabilities):
        x, y = _at(place, count, 100)
        dashed = " dashed" if one["value"] is None else ""
        parts.append(f'<line class="grid{dashed}" x1="{_X:g}" y1="{_Y:g}" x2="{x:.1f}" y2="{y:.1f}"/>')
        parts += _label(place, count, one)
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_at(place, count, one["value"]) for place, one in known))
    if len(known) >= 3:
        parts.append(f'<polygon class="area" points="{corners}"/>')
    for place, one in known:
        if one.get("low") is not None:
            (x1, y1), (x2, y2) = _at(place, count, one["low"]), _at(place, count, one["high"])
            parts.append(f'<line class="interval" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
        x, y = _at(place, count, one["value"])
        parts.append(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
    return "".join([*parts, "</svg>"])


def _label(place: int, count: int, one: Mapping[str, Any]) -> list[str]:
    x, y = _at(place, count, 113)
    anchor = "middle" if abs(x - _X) < 12 else "start" if x > _X else "end"
    value = "no case" if one["value"] is None else f"{one['value']:.1f}"
    lift = -14 if y < _Y - 60 else 0
    return [
        f'<text class="axis" x="{x:.1f}" y="{y + lift:.1f}" text-anchor="{anchor}">{escape(str(one["name"]))}</text>',
        f'<text class="value" x="{x:.1f}" y="{y + lift + 16:.1f}" text-anchor="{anchor}">{value}</text>',
    ]


def _at(place: int, count: int, share: float) -> tuple[float, float]:
    """The point on an axis; the first axis points upwards."""
    angle = 2 * math.pi * place / count - math.pi / 2
    return _X + _RADIUS * share / 100 * math.cos(angle), _Y + _RADIUS * share / 100 * math.sin(angle)
