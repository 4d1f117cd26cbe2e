"""GoogleSearch: the web through Serper, or a folder of texts ranked by BM25 (docs/benchmarks/tools.md#search).

Both put their findings into the released form: ``N - text`` and an empty line for each, cut at 1500 characters.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.text import read_text
from tool_impls import base
from tool_impls.settings import Option, ToolSettings

SERPER_KEY = "SERPER_API_KEY"
SERPER_URL = "https://google.serper.dev/search"
FOLDER = Option("folder", "path", None, "a folder of text files, searched instead of the web")
URL = Option("url", "text", SERPER_URL, "another address that speaks Serper's protocol")
NOTHING = "No good search result was found."
LENGTH = 1500  # characters
SECONDS = 5.0  # for one request, as released
TRIES = 3
PAUSE = 0.5  # seconds before the second try, doubled for the third
MOST = 100  # hits that one request may ask for
K1, B = 1.5, 0.75  # of BM25 (Robertson and others)
SNIPPET = 400  # characters of a text that are shown


def format_items(items: list[str]) -> str:
    """Numbered items, each followed by an empty line; a fixed sentence for none."""
    if not items:
        return NOTHING
    text = "".join(f"{number} - {' '.join(item.splitlines())}\n\n" for number, item in enumerate(items, 1))
    return text if len(text) <= LENGTH else text[:LENGTH] + "..."


def read_serper(data: Mapping[str, Any], k: int) -> list[str]:
    """The findings of a Serper reply: answer box, knowledge graph, then up to ``k`` hits."""
    items = []
    if isinstance(box := data.get("answerBox"), Mapping) and (
        answer := box.get("answer") or box.get("snippet") or box.get("title")
    ):
        items.append(f"Answer box: {answer}")
    if isinstance(graph := data.get("knowledgeGraph"), Mapping):
        kind, description = graph.get("type", ""), graph.get("description", "")
        items.append(f"{graph.get('title', '')} knowledge graph: {kind}. {description}{_attributes(graph)}")
    for hit in list(data.get("organic") or [])[:k]:
        items.append(f"{hit.get('title', '')}: {hit.get('snippet', '')}{_attributes(hit)}")
    return items


def _attributes(entry: Mapping[str, Any]) -> str:
    attributes = entry.get("attributes")
    if not isinstance(attributes, Mapping) or not attributes:
        return ""
    return f"({', '.join(f'{key}: {value}' for key, value in attributes.items())})"


class GoogleSearch(base.BenchTool):
    meta = base.tool(
        "GoogleSearch",
        "Searches the web. The answer is a numbered list of short texts.",
        (base.text("query", "What to search for."), base.optional("int", "k", 10, "How many results to show.")),
        base.TEXT_OUT,
    )
    category = "operation"
    options = (FOLDER, URL)
    concurrency = 8
    variables = (SERPER_KEY,)
    _library: Library | None = None

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        if folder := settings.value(cls.meta.name, FOLDER):
            if Path(folder).is_dir():
                return base.substitute("local texts")
            return base.unavailable(f"[tools.GoogleSearch] names no folder: {folder}")
        if os.environ.get(SERPER_KEY):
            return base.READY
        other = "folder in [tools.GoogleSearch] to search local texts instead"
        return base.unavailable(f"set the environment variable {SERPER_KEY}, or {other}")

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        return "BM25 over local texts" if settings.value(cls.meta.name, FOLDER) else "Serper"

    def setup(self, device: str = "cpu") -> None:
        if folder := self.option("folder"):
            self._library = Library.read(Path(folder))

    def apply(self, folder: Path, /, query: str, k: int = 10) -> str:
        if not 1 <= k <= MOST:
            raise ToolError(f"k must be from 1 to {MOST}; got {k}")
        if self._library is not None:
            return format_items(self._library.search(query, k))
        return format_items(read_serper(asyncio.run(self._serper(query, k)), k))

    async def _serper(self, query: str, k: int) -> Mapping[str, Any]:
        """Ask Serper. Retries faults of the network and of the service; raises ToolFault when that does not help."""
        import aiohttp

        headers = {"X-API-KEY": os.environ.get(SERPER_KEY, "")}
        problem, cause = "", ""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session:
            for attempt in range(TRIES):
                if attempt:
                    await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
                try:
                    async with session.post(self.option("url"), json={"q": query, "num": k}, headers=headers) as reply:
                        if reply.status == 200:
                            data = await reply.json(content_type=None)
                            if isinstance(data, Mapping):
                                return data
                            problem, cause = "answered with something other than a JSON object", "protocol"
                        else:
                            problem = cause = f"http {reply.status}"
                            if reply.status == 400:
                                raise ToolError("the search service refused the query (HTTP 400)")
                            if reply.status < 500 and reply.status != 429:
                                break
                except TimeoutError:
                    problem, cause = f"gave no answer within {SECONDS:g} s", "timeout"
                except (aiohttp.ClientError, ValueError) as error:
                    problem, cause = f"cannot be read ({type(error).__name__})", "connection"
        raise ToolFault(f"the search service failed: {problem}; check {SERPER_KEY} and the network", cause=cause)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


@dataclass(frozen=True, slots=True)
class SearchText:
    title: str  # first line of the file
    body: str  # the rest, on one line
    counts: Counter[str]  # words of both
    length: int  # number of words


class Library:
    """The texts of a folder, indexed and ranked by BM25."""

    def __init__(self, entries: list[SearchText]) -> None:
        self._entries = entries
        self._holders = Counter(word for entry in entries for word in entry.counts)  # texts that hold a word
        self._mean = sum(entry.length for entry in entries) / len(entries) if entries else 1.0

    @classmethod
    def read(cls, folder: Path) -> Self:
        """All ``.txt`` and ``.md`` files below the folder, by name; the first line is the title."""
        entries = []
        for path in sorted(path for path in folder.rglob("*") if path.suffix in {".txt", ".md"} and path.is_file()):
            title, _, body = read_text(path).strip().partition("\n")
            found = words(f"{title} {body}")
            entries.append(SearchText(title.lstrip("# ").strip(), " ".join(body.split()), Counter(found), len(found)))
        return cls(entries)

    def search(self, query: str, k: int) -> list[str]:
        """``title: snippet`` of the best texts, at most ``k``; texts without any word of the query are left out."""
        terms = set(words(query))
        scored = [(self._score(terms, entry), entry) for entry in self._entries]
        best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])  # ties in order of names
        return [f"{entry.title}: {snippet(entry.body, terms)}" for _, entry in best[:k]]

    def _score(self, terms: set[str], entry: SearchText) -> float:
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
