"""Frames around what a tested model or its tools wrote, in the prompt of another model such as a judge.

Two things keep a text inside its frame: no line of it looks like a line of the prompt, because each has ``> `` before
it, and the lines around it have a mark that its writer cannot put into it.
"""

from __future__ import annotations

import hashlib
import json

from agentgauge.core.types import Json

MARK = "mark"
"""The slot of a prompt for the mark. A prompt without it has no frames."""

FRAMED = "-framed"
"""Ends the version of a judge's prompt with frames. Runs before November 2026 had none."""


def mark_of(content: Json) -> str:
    """A digest of everything that a prompt is filled with and shows, so that a replay has it again.

    The author of a part cannot put the mark there: that would change what it is the digest of.
    """
    return hashlib.sha256(json.dumps(["frame", content], sort_keys=True).encode()).hexdigest()[:20]


def begin(mark: str) -> str:
    return f"[begin {mark}]"


def end(mark: str) -> str:
    return f"[end {mark}]"


def quoted(text: str) -> str:
    """Each line behind a sign; whatever a reader may take for the end of a line is one."""
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])


def framing_note(version: str) -> str:
    """What the board says of a judge's prompt."""
    if version.endswith(FRAMED):
        return (
            "the judge's prompt frames what the agent wrote, which the published one does not (--prompts replaces it)"
        )
    return "the judge's prompt has no frame around what the agent wrote, so that it can give the judge instructions"
