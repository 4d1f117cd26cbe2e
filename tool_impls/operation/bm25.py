"""Ranking a folder of short texts against a query with BM25 (Robertson and others, k1 = 1.5, b = 0.75)."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Self

K1 = 1.5
B = 0.75
SNIPPET = 400  # characters of a text that are shown
WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


@dataclass(frozen=True, slots=True)
class Entry:
    title: str  # first line of the file
    body: str  # the rest, on one line
    counts: Counter[str]  # words of both
    length: int  # number of words


class Library:
    """The texts of a folder, indexed."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self._holders = Counter(word for entry in entries for word in entry.counts)  # texts that hold a word
        self._mean = sum(entry.length for entry in entries) / len(entries) if entries else 1.0

    @classmethod
    def read(cls, folder: Path) -> Self:
        """All ``.txt`` and ``.md`` files below the folder, by name; the first line is the title."""
        entries = []
        for path in sorted(path for path in folder.rglob("*") if path.suffix in {".txt", ".md"} and path.is_file()):
            title, _, body = path.read_text(encoding="utf-8").strip().partition("\n")
            found = words(f"{title} {body}")
            entries.append(Entry(title.lstrip("# ").strip(), " ".join(body.split()), Counter(found), len(found)))
        return cls(entries)

    def search(self, query: str, k: int) -> list[str]:
        """``title: snippet`` of the best texts, at most ``k``; texts without any word of the query are left out."""
        terms = set(words(query))
        scored = [(self._score(terms, entry), entry) for entry in self._entries]
        best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])  # ties in order of names
        return [f"{entry.title}: {snippet(entry.body, terms)}" for _, entry in best[:k]]

    def _score(self, terms: set[str], entry: Entry) -> float:
        total = 0.0
        for term in terms:
            count, holders = entry.counts[term], self._holders[term]
            if count:
                rarity = math.log(1 + (len(self._entries) - holders + 0.5) / (holders + 0.5))
                total += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * entry.length / self._mean))
        return total


def snippet(body: str, terms: set[str]) -> str:
    """The body, or from its sentence with the most words of the query on, cut at a word."""
    if len(body) <= SNIPPET:
        return body
    sentences = [(hit.start(), hit[0]) for hit in re.finditer(r"[^.!?]+[.!?]*\s*", body)]
    start = max(sentences, key=lambda pair: (len(terms & set(words(pair[1]))), -pair[0]), default=(0, ""))[0]
    part = body[start : start + SNIPPET]
    return part if start + SNIPPET >= len(body) else part.rsplit(" ", 1)[0] + " ..."
