"""What an agent says about its own time and cost, in files that it or its runner wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentgauge.core.text import parse_json
from agentgauge.core.types import MOST, Json, Usage
from agentgauge.plugins.agents.deliveries import plain_file

RECORD, USAGE = "run.json", "usage.json"
_MOST_BYTES = 1 << 20
_FIGURES = ("elapsed_sec", "usd", "prompt_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class OwnFigures:
    """Time and cost as the agent states them; they are not checked."""

    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)  # one request, if there is any figure of it


def read_figures(folder: Path, names: tuple[str, ...]) -> tuple[OwnFigures, str]:
    """Those of the files in a folder, a later one before an earlier one; and what is wrong with them, or an empty
    text."""
    found: dict[str, Json] = {}
    wrong = []
    for name in names:
        if (content := plain_file(folder / name, _MOST_BYTES)) is None:
            continue
        try:
            found |= _figures(parse_json(content))
        except (ValueError, RecursionError) as error:
            wrong.append(f"its {name} is not used: {error}")
    return _own(found), "; ".join(wrong)


def figures_of(meta: Json) -> tuple[OwnFigures, str]:
    """Those of an object, and what is wrong with it, or an empty text."""
    try:
        return _own(_figures(meta)), ""
    except ValueError as error:
        return OwnFigures(), f"its time and cost are not used: {error}"


def _figures(data: Json) -> dict[str, float]:
    """Raises ValueError."""
    if not isinstance(data, Mapping):
        raise ValueError("it must be an object")
    found = {name: data[name] for name in _FIGURES if data.get(name) is not None}
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            raise ValueError(f"{name} must be a number from 0 to {MOST:.0e}")
    return found


def _own(found: Mapping[str, float]) -> OwnFigures:
    seconds, usd, prompt, completion = (found.get(name, 0.0) for name in _FIGURES)
    asked = any(name in found for name in _FIGURES[1:])
    return OwnFigures(seconds, Usage(int(asked), int(prompt), int(completion), usd))
