"""The Chinese README says what the English one does: the same commands, tables, links, names and figures."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.docs.pages import text

ENGLISH, CHINESE = "README.md", "README.zh.md"


def commands(page: str) -> list[str]:
    return re.findall(r"^    \S.*", page, re.MULTILINE)


def links(page: str) -> Counter[str]:
    return Counter(link for link in re.findall(r"\]\(([^)\s]+)\)", page) if "README" not in link)


def code(page: str) -> Counter[str]:
    return Counter(re.findall(r"`([^`]+)`", page))


def figures(page: str) -> list[list[str]]:
    """Of each row of a table: its first cell, and its numbers."""
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    return [[cells[0].strip(), *re.findall(r"\d[\d,]*", " ".join(cells))] for cells in rows[1:]]


def numbers(page: str) -> set[str]:
    return set(re.findall(r"(?<![\w.-])\d+(?![\w-])", re.sub(r"`.*?`", "", page)))


def headings(page: str) -> int:
    return len(re.findall(r"^#+ ", page, re.MULTILINE))


@pytest.mark.parametrize("part", [commands, links, code, figures, numbers, headings])
def test_both_readmes_have_the_same(part) -> None:
    found = part(text(ENGLISH))
    assert found
    assert part(text(CHINESE)) == found
