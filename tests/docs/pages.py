"""The pages for readers, and what tests want to know of them."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.without_plugin import GONE

of_all_plugins = pytest.mark.skipif(GONE in os.environ, reason="the page speaks of the plugin that was deleted")
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def without_code(page: str) -> str:
    """A page without its fenced and indented blocks and without code in the text."""
    page = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"^    .*$", "", page, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", page)


def block(page: str, containing: str) -> str:
    """The fenced block that holds a text."""
    return next(found for found in blocks(page, r"\w*") if containing in found)


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks that are marked with a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


def rows(page: str, *heads: str) -> list[list[str]]:
    """The cells of the table whose first heads are these."""
    lines = page.splitlines()
    start = next(place for place, line in enumerate(lines) if _cells(line)[: len(heads)] == list(heads))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append(_cells(line))
    return found


def anchors(page: str) -> set[str]:
    """What the headings of a page are linked by, as on GitHub."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE), flags=re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def _cells(line: str) -> list[str]:
    """The cells of a table's line; an escaped bar is no border."""
    return (
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if line.startswith("|")
        else []
    )


def commands(page: str, program: str) -> list[list[str]]:
    """The words of each command of a program that a page shows: in indented and fenced blocks, and in the text."""
    page = page.replace("\\\n", " ")
    lines = re.findall(r"^ {4}(.*)$", page, flags=re.MULTILINE)
    lines += [line for text in blocks(page, r"(?:sh|text|toml)?") for line in text.splitlines()]
    lines += re.findall(rf"`({program} [^`\n]+)`", page)
    lines = [re.sub(r" > \S+$", "", line) for line in lines]  # where a shell writes the output
    start = re.compile(rf"^(?:[\w-]+\$ +)?(?:[A-Z_]+=\S+(?: token\))? +)?(?:\S*bin/)?{program} (?P<words>.*)$")
    parts = [part.strip() for line in lines for part in line.split(" && ")]
    return [shlex.split(found["words"], comments=True) for part in parts if (found := start.match(part))]
