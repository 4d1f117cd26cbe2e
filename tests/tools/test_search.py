"""GoogleSearch: local texts, Serper's replies, and Serper's faults on a loopback server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError, ToolFault
from tests.model.fault_server import FaultServer, silence
from tests.tools.servers import canned_server, http
from tool_impls.operation import search
from tool_impls.operation.search import NOTHING, SERPER_KEY, GoogleSearch, Library, format_items, read_serper, snippet
from tool_impls.settings import ToolSettings

TEXTS = {
    "tower.txt": "Eiffel Tower\nThe Eiffel Tower in Paris is 330 metres high.\nIt was finished in 1889.",
    "paris.md": "# Paris\nParis is the capital of France.",
    "lima.txt": "Lima\nLima is the capital of Peru.",
    "sub/zürich.txt": "Zürich\nDie größte Stadt der Schweiz.",
    "picture.png": "Paris Paris Paris",
}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("height of the eiffel tower", ["Eiffel Tower", "Lima", "Paris"]),
        ("capital PERU", ["Lima", "Paris"]),
        ("zürich", ["Zürich"]),
        ("ZÜRICH Größte", ["Zürich"]),
        ("quantum", []),
        ("", []),
        ("?!", []),
    ],
)
def test_texts_are_ranked(texts: Path, query: str, titles: list[str]) -> None:
    assert [hit.partition(":")[0] for hit in Library.read(texts).search(query, 10)] == titles


def test_k_limits_the_hits(texts: Path) -> None:
    assert len(Library.read(texts).search("capital", 1)) == 1


def test_folder_search_has_the_released_form(texts: Path) -> None:
    tool = GoogleSearch(ToolSettings(tables={"GoogleSearch": {"folder": str(texts)}}))
    tool.setup()
    assert (
        tool.apply(Path(), query="capital of Peru")
        == "1 - Lima: Lima is the capital of Peru.\n\n2 - Paris: Paris is the capital of France.\n\n"
    )
    assert tool.apply(Path(), query="quantum") == NOTHING


def test_empty_folder_finds_nothing(tmp_path: Path) -> None:
    assert Library.read(tmp_path).search("anything", 3) == []


def test_snippet_starts_where_the_query_is_answered() -> None:
    body = "Filler sentence here. " * 40 + "The bridge opened in 1932. " + "More filler. " * 40
    assert snippet(body, {"bridge", "opened"}).startswith("The bridge opened in 1932.")
    assert snippet(body, {"bridge"}).endswith(" ...") and len(snippet(body, {"bridge"})) <= 404


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], NOTHING),
        (["a: b"], "1 - a: b\n\n"),
        (["a\nb", "c"], "1 - a b\n\n2 - c\n\n"),
        (["x" * 1494], "1 - " + "x" * 1494 + "\n\n"),
        (["x" * 1495], "1 - " + "x" * 1495 + "\n..."),
    ],
)
def test_items_are_numbered_and_cut(items: list[str], text: str) -> None:
    assert format_items(items) == text


@pytest.mark.parametrize(
    ("data", "k", "items"),
    [
        ({}, 10, []),
        ({"organic": [{"title": "T", "snippet": "S", "link": "http://x"}]}, 10, ["T: S"]),
        ({"organic": [{"title": "T", "snippet": "S"}] * 3}, 2, ["T: S", "T: S"]),
        (
            {"organic": [{"title": "T", "attributes": {"Born": "1900", "Died": "1990"}}]},
            1,
            ["T: (Born: 1900, Died: 1990)"],
        ),
        ({"answerBox": {"answer": "42"}}, 1, ["Answer box: 42"]),
        ({"answerBox": {"snippet": "a text", "title": "t"}}, 1, ["Answer box: a text"]),
        (
            {
                "knowledgeGraph": {
                    "title": "Lima",
                    "type": "City",
                    "description": "In Peru.",
                    "attributes": {"Area": "2,672"},
                }
            },
            1,
            ["Lima knowledge graph: City. In Peru.(Area: 2,672)"],
        ),
        (
            {
                "organic": [{"title": "T", "snippet": "S"}],
                "knowledgeGraph": {"title": "G"},
                "answerBox": {"answer": "A"},
            },
            1,
            ["Answer box: A", "G knowledge graph: . ", "T: S"],
        ),
    ],
)
def test_serper_reply_is_read(data: Any, k: int, items: list[str]) -> None:
    assert read_serper(data, k) == items


@pytest.fixture
def serper(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], GoogleSearch]:
    monkeypatch.setenv(SERPER_KEY, "secret-key")
    monkeypatch.setattr(search, "PAUSE", 0.01)
    monkeypatch.setattr(search, "SECONDS", 0.3)
    return lambda url: GoogleSearch(ToolSettings(tables={"GoogleSearch": {"url": f"{url}/search"}}))


OK = http(200, {"organic": [{"title": "T", "snippet": "S"}]})


def test_serper_is_asked_with_key_query_and_number(serper: Callable[[str], GoogleSearch]) -> None:
    with canned_server({"/search": [OK]}) as server:
        assert serper(server.url).apply(Path(), query="què?", k=3) == "1 - T: S\n\n"
    (request,) = server.requests
    assert (request.method, request.json()) == ("POST", {"q": "què?", "num": 3})
    assert request.headers["x-api-key"] == "secret-key"


@pytest.mark.parametrize("first", [http(500), http(429), http(200, "<html>"), http(200, [1]), b""])
def test_serper_is_asked_again_after_a_fault(serper: Callable[[str], GoogleSearch], first: bytes) -> None:
    with canned_server({"/search": [first, OK]}) as server:
        assert serper(server.url).apply(Path(), query="q") == "1 - T: S\n\n"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "asked", "cause"),
    [
        (http(500, "secret-key"), 3, "http 500"),
        (http(401, "secret-key"), 1, "http 401"),
        (http(200, "no json"), 3, "connection"),
        (http(200, "3"), 3, "protocol"),
    ],
)
def test_lasting_faults_are_not_the_models(
    serper: Callable[[str], GoogleSearch], answer: bytes, asked: int, cause: str
) -> None:
    with canned_server({"/search": [answer]}) as server, pytest.raises(ToolFault) as caught:
        serper(server.url).apply(Path(), query="q")
    assert len(server.requests) == asked
    assert caught.value.cause == cause
    assert "secret-key" not in str(caught.value)


def test_silence_is_a_fault(serper: Callable[[str], GoogleSearch]) -> None:
    with FaultServer([silence()]) as server, pytest.raises(ToolFault, match="no answer"):
        serper(server.url).apply(Path(), query="q")


@pytest.mark.parametrize("k", [0, -1, 101])
def test_k_out_of_range_is_the_models_doing(k: int) -> None:
    with pytest.raises(ToolError, match="k must be"):
        GoogleSearch(ToolSettings()).apply(Path(), query="q", k=k)


def test_refused_query_is_the_models_doing(serper: Callable[[str], GoogleSearch]) -> None:
    with canned_server({"/search": [http(400)]}) as server, pytest.raises(ToolError, match="refused the query"):
        serper(server.url).apply(Path(), query="")
